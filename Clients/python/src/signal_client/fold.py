# SPDX-License-Identifier: MIT
"""One subscription across all connections, and the fold of its events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

FeedState = Literal["connecting", "live", "stale", "ended"]
Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A property as it was at its last change; `cursor` is what a condition takes."""

    value: Any
    revision: int
    cursor: str
    time: str | None = None
    expires: str | None = None


class Change:
    """What has changed: an event of the protocol (§3.3), or the difference that a snapshot makes."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    @property
    def type(self) -> str:
        """`didSet`, `didDelete`, `didExpire` or `didExit`."""
        return str(self.event["type"])

    @property
    def path(self) -> str:
        return str(self.event["path"])

    @property
    def value(self) -> Any:
        """The new value; None when there is none, or it is not known."""
        return self.event.get("value")

    @property
    def old_value(self) -> Any:
        return self.event.get("oldValue")

    @property
    def is_set(self) -> bool:
        """Whether the property is there, and matches."""
        return self.type == "didSet"

    @property
    def entered(self) -> bool:
        """Whether the old value did not match the filter."""
        return bool(self.event.get("entered"))

    @property
    def op(self) -> str | None:
        """How the property left the filter: `set`, `delete` or `expire`."""
        return self.event.get("op")

    @property
    def reason(self) -> str | None:
        return self.event.get("reason")

    @property
    def revision(self) -> int | None:
        return self.event.get("revision")

    @property
    def time(self) -> str | None:
        return self.event.get("time")

    @property
    def expires(self) -> str | None:
        return self.event.get("expires")

    def __repr__(self) -> str:
        return f"Change({dict(self.event)!r})"


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON, where `1`, `1.0` and `true` are three."""
    return one is other or json.dumps(one) == json.dumps(other)


class Owner(Protocol):
    """Who is told what the fold makes of the events."""

    def deliver(self, changes: Sequence[Event]) -> None:
        """The changes of one revision, or messages of signals."""

    def turned(self, state: FeedState, reason: Exception | None) -> None:
        """The subscription has another state."""

    def reached(self, revision: int | None, epoch: str) -> None:
        """Everything up to this revision has been delivered."""


class Subscription:
    """A fold.

        connecting ── ok ─▶ snapshot ── live ─▶ live ── lost ─▶ stale ── ok ─▶ missed, or reset ── live ─▶ live

    A snapshot is applied at its `live`, a transaction or a gap at its last event. So what is shown is the state of one
    revision, and what a lost connection has cut is sent again as a whole.
    """

    def __init__(self, command: Mapping[str, Any], owner: Owner) -> None:
        self.command = command
        self.owner = owner
        self.state: FeedState = "connecting"
        self.known: dict[str, Entry] = {}
        self.left_out = 0
        # Whether it was live, or has had all it wanted.
        self.was_ready = False
        # Events that have been applied, for `take`.
        self._taken = 0
        self._cursor: str | None = None
        # The audience goes with the cursor: what is offered counts from the end of the snapshot on.
        self._audience: str | None = None
        self._offered: str | None = None
        self._snapshot: dict[str, Event] | None = None
        self._unit: list[Event] = []

    def begin(self) -> dict[str, Any] | None:
        """The command for a new connection; None when it has had all it wanted, and only its `end` was lost."""
        self._unit = []
        self._snapshot = None
        command = {"type": "subscribe", **self.command}
        if self._taken > 0 and "take" in command:
            command["take"] -= self._taken
            if command["take"] == 0:
                return None
        if self._cursor is not None:
            command["since"] = self._cursor
            if self._audience is not None:
                command["audience"] = self._audience
        return command

    def granted(self, reply: Event) -> None:
        self._offered = reply.get("audience")
        if "recovered" not in reply and self.command.get("initial", True):
            self._snapshot = {}

    def turn(self, state: FeedState, reason: Exception | None = None) -> None:
        if self.state not in (state, "ended"):
            self.state = state
            self.owner.turned(state, reason)

    def receive(self, event: Event, epoch: str) -> None:
        match event["type"]:
            case "didSet" if self._snapshot is not None:
                self._snapshot[event["path"]] = event
            case "didSet" | "didDelete" | "didExpire" | "didExit":
                self._unit.append(event)
                if not event.get("more"):
                    self._finish(event["revision"], epoch)
            case "gap":
                self.left_out += event["count"]
                if not event.get("more"):
                    self._finish(event["to"], epoch)
            case "reset":
                self._offered = event.get("audience", self._offered)
                self._snapshot = {}
                self._unit = []
            case "live":
                self._replace(epoch, is_whole=True)
                self._reach(event["revision"], epoch)
                self.was_ready = True
                self.turn("live")
            case "bookmark":
                self._reach(event["revision"], epoch)
            case "signal":
                self.owner.deliver([event])
            case "end":
                self._replace(epoch, is_whole=False)
                self._finish(event.get("revision"), epoch)
                self.was_ready = True
                self.turn("ended")

    def _replace(self, epoch: str, *, is_whole: bool) -> None:
        """A snapshot takes the place of what is known; one cut by `take` says nothing of what it does not hold."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None:
            return
        self._taken += len(snapshot)
        changes: list[Event] = []
        for path, event in snapshot.items():
            before = self.known.get(path)
            self._keep(event, epoch)
            if before is None:
                changes.append(event)
            elif not same(before.value, event["value"]):
                changes.append({**event, "oldValue": before.value})
        if is_whole:
            kind = "didExit" if "where" in self.command else "didDelete"
            for path in [path for path in self.known if path not in snapshot]:
                changes.append({"type": kind, "path": path, "oldValue": self.known.pop(path).value})
        if changes:
            self.owner.deliver(changes)

    def _finish(self, revision: int | None, epoch: str) -> None:
        unit, self._unit = self._unit, []
        self._taken += len(unit)
        changes: list[Event] = []
        for event in unit:
            before = self.known.get(event["path"])
            if event["type"] == "didSet":
                self._keep(event, epoch)
            elif before is not None:
                del self.known[event["path"]]
            elif "where" not in self.command or event["type"] == "didExit":
                # The end of what was never shown is news only to a filter that asks for ends.
                continue
            changes.append(event if before is None or "oldValue" in event else {**event, "oldValue": before.value})
        if changes:
            self.owner.deliver(changes)
        self._reach(revision, epoch)

    def _reach(self, revision: int | None, epoch: str) -> None:
        # Signals have no cursor, although their `live` has a revision; nor has an `end` in the midst of a snapshot.
        if "match" in self.command and revision is not None:
            self._cursor = f"{epoch}.{revision}"
            self._audience = self._offered
        self.owner.reached(revision, epoch)

    def _keep(self, event: Event, epoch: str) -> None:
        revision = event["revision"]
        self.known[event["path"]] = Entry(
            event["value"], revision, f"{epoch}.{revision}", event.get("time"), event.get("expires"))
