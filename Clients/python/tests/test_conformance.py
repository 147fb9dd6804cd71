# SPDX-License-Identifier: MIT
"""The scenarios of Clients/conformance."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CONFORMANCE = HERE.parents[1] / "conformance"
NAMES = [scenario["name"] for scenario in json.loads((CONFORMANCE / "scenarios.json").read_text("utf-8"))["scenarios"]]


@pytest.fixture(scope="module")
def played():
    """The line about each scenario."""
    command = [sys.executable, CONFORMANCE / "play.py", "--", sys.executable, HERE / "adapter.py"]
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src")}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
    return output.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_scenario(played, name):
    assert f"ok {name}" in played, [line for line in played if line.startswith(f"not ok {name}")]
