# SPDX-License-Identifier: MIT
"""What goes over a connection: addresses, commands that wait for their replies, and what close codes mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

Advice = Literal["now", "later", "never", "token"]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write: the cursor after it, and whether, or how much, it has changed."""

    cursor: str
    changed: bool | int
    expires: str | None = None


@dataclass(eq=False, slots=True)
class Pending:
    """A command and who waits for its reply."""

    type: str
    text: str
    resolve: Callable[[Mapping[str, Any]], None]
    reject: Callable[[Exception], None]
    id: int | None = None
    timer: asyncio.TimerHandle | None = field(default=None)

    def stop(self) -> None:
        if self.timer:
            self.timer.cancel()


def address(url: str) -> str:
    """Where the live protocol is, at a server's address."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"{url!r} is no address of a server: it begins with http, https, ws or wss")
    path = parts.path.rstrip("/").removesuffix("/events") + "/events"
    query = "&".join(filter(None, [parts.query, urlencode({"batch": "true"})]))
    return urlunsplit((scheme, parts.netloc, path, query, ""))


def advice(code: int) -> Advice:
    """What a close code asks for: to connect now, later, never, or with another token (§7)."""
    if code == 4008:
        return "now"
    if code == 4401:
        return "token"
    is_refusal = code in (1002, 1003) or 1007 <= code <= 1010
    is_final = code == 1000 or 3000 <= code < 4000 or 4400 <= code < 5000
    return "never" if is_refusal or is_final else "later"


def named_delay(seconds: str) -> float:
    """The delay that a server names, as in `Retry-After`: an hour at most. A date is not read, as clocks differ."""
    return min(float(seconds), 3600) if seconds.isascii() and seconds.isdigit() else 0


def delay_in_reason(reason: str) -> float:
    """The delay in the reason of 4029: `too much, connect again in 30 s`."""
    words = reason.split()
    return named_delay(words[-2]) if len(words) > 2 and words[-3] == "in" and words[-1] == "s" else 0
