# SPDX-License-Identifier: MIT
"""The server of this repository to try, and waiting."""

from __future__ import annotations

import asyncio
import os
import pathlib
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = pathlib.Path(os.environ.get("SIGNAL_SERVER", ROOT / ".build/release/signal-server"))
needs_server = pytest.mark.skipif(not BINARY.exists(), reason=f"there is no {BINARY}: make build")


async def until(condition, what=lambda: "it", seconds=15.0):
    """Waits until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        await asyncio.sleep(0.01)
