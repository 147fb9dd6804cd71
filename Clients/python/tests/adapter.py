# SPDX-License-Identifier: MIT
"""Drives the client for Clients/conformance: a line of JSON on the standard input for each command."""

import asyncio
import json
import sys
from typing import Any

from signal_client import Change, Client, Message, SignalError, connect

NAMES = {"ifMatch": "if_match", "ifNoneMatch": "if_none_match", "if": "if_", "maxRate": "max_rate",
         "oldValue": "old_value", "minDelay": "min_delay", "maxDelay": "max_delay"}


def arguments(options: dict[str, Any] | None) -> dict[str, Any]:
    """Options by the names that they have in Python, with lengths of time in seconds."""
    return {NAMES.get(name, name): value / 1000 if name in ("timeout", "minDelay", "maxDelay", "silence") else value
            for name, value in (options or {}).items()}


def code(error: Exception | None) -> str | None:
    return error.code if isinstance(error, SignalError) else error and repr(error)


class Adapter:
    def __init__(self) -> None:
        self.client: Client | None = None
        self.errors: list[str | None] = []
        self.feeds: dict[str, Any] = {}
        self.told: dict[str, list[Any]] = {}
        self.stops: dict[str, Any] = {}
        self.outcomes: dict[str, Any] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def connect(self, url, token=None, tokens=None, **options):
        remaining = list(tokens or [])

        async def following():
            return remaining.pop(0) if len(remaining) > 1 else remaining[0]

        self.client = connect(
            url, token=following if tokens else token, on_error=lambda error: self.errors.append(code(error)),
            **arguments(options))
        await self.client.__aenter__()

    def add(self, name, feed, told):
        self.told[name] = []
        self.feeds[name] = feed
        self.stops[name] = feed.subscribe(lambda *values: self.told[name].extend(told(*values)))

    async def watch(self, name, match, options=None):
        def told(_, changes: list[Change]):
            return [change.event for change in changes]
        self.add(name, self.client.watch(match, **arguments(options)), told)

    async def property(self, name, path):
        member = self.client.property(path)
        self.add(name, member, lambda value: [{"value": value} if member.exists else {}])

    async def listen(self, name, match):
        def told(message: Message):
            members = {"path": message.path, "message": message.message}
            return [members | {"remembered": True} if message.remembered else members]
        self.add(name, self.client.listen(match), told)

    async def cancel(self, view):
        feed = self.feeds[view]
        feed.cancel() if hasattr(feed, "cancel") else self.stops[view]()

    def start(self, name, command):
        async def run():
            try:
                result = await command
                members = {member: getattr(result, member, None) for member in ("cursor", "changed", "expires")}
                self.outcomes[name] = {"ok": members if members["cursor"] else result}
            except SignalError as error:
                self.outcomes[name] = {"error": error.code, "outcome": error.outcome}
        task = asyncio.create_task(run())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def set(self, name, path, value, view=None, options=None):
        options = arguments(options)
        command = self.feeds[view].set(value, **options) if view else self.client.set(path, value, **options)
        self.start(name, command)

    async def update(self, name, view, add):
        self.start(name, self.feeds[view].update(lambda value: (value or 0) + add))

    async def delete(self, name, path, options=None):
        self.start(name, self.client.delete(path, **arguments(options)))

    async def get(self, name, path):
        self.start(name, self.client.get(path))

    async def send(self, name, path, message):
        self.start(name, self.client.send(path, message))

    async def onDisconnect(self, name, operations):
        self.start(name, self.client.on_disconnect(operations))

    async def close(self):
        await self.client.close()

    async def show(self):
        views = {}
        for name, feed in self.feeds.items():
            view = {"state": feed.state, "error": code(feed.error), "told": self.told[name]}
            if hasattr(feed, "left_out"):
                view |= {"values": dict(feed.items()), "leftOut": feed.left_out}
            elif getattr(feed, "exists", False):
                view["value"] = feed.value
            views[name] = view
        error = self.client.error
        shown = {"state": self.client.state, "error": code(error), "errors": self.errors, "views": views,
                 "outcomes": self.outcomes}
        if isinstance(error, SignalError) and error.close_code:
            shown["closeCode"] = error.close_code
        print(json.dumps(shown), flush=True)


async def main() -> None:
    adapter = Adapter()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        if "as" in command:
            command["name"] = command.pop("as")
        await getattr(adapter, command.pop("do"))(**command)
    if adapter.client:
        await adapter.client.close()


asyncio.run(main())
