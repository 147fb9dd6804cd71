#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives a client through cuts, silences, kills and restarts of a real server, by the adapter that play.py uses.

    cuts.py --server .build/release/signal-server -- .build/release/client-adapter

What it shows must end as the store's state, what it has told must come to the same, and nothing may be told twice: every
value is set once. Once with a store that survives its server, once with one that does not. Needs nothing but Python 3.11.
"""

import argparse
import asyncio
import json
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from real_server import PROPERTIES, Proxy, Server, Writer


class Adapter:
    """The client under test."""

    async def begin(self, command):
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 28)

    async def do(self, **command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        await self.process.stdin.drain()

    async def show(self):
        await self.do(do="show")
        line = await asyncio.wait_for(self.process.stdout.readline(), 20)
        if not line:
            raise SystemExit(f"the adapter has ended ({await self.process.wait()})")
        return json.loads(line)

    async def until(self, what, condition, seconds=30.0):
        deadline = time.monotonic() + seconds
        while True:
            shown = await self.show()
            if condition(shown):
                return shown
            if time.monotonic() > deadline:
                views = {name: view | {"told": view["told"][-3:]} for name, view in shown["views"].items()}
                raise SystemExit(f"not within {seconds} s: {what}: {json.dumps(shown | {'views': views})}")
            await asyncio.sleep(0.02)


def folded(told, is_filtered):
    """What the changes that a watch has told come to, and what is wrong with them."""
    values, seen, faults = {}, set(), []
    for change in told:
        path = change["path"]
        if change["type"] == "didSet":
            if (path, change["value"]) in seen:
                faults.append(f"{path} was told to be {change['value']} twice")
            seen.add((path, change["value"]))
            if not is_filtered and path in values and change.get("oldValue") != values[path]:
                faults.append(f"{path} was {values[path]}, not {change.get('oldValue')}")
            values[path] = change["value"]
        elif values.pop(path, None) is None:
            faults.append(f"{change['type']} of {path}, which was not there")
    return values, faults


async def survive(options, keeps):
    chance = random.Random(options.seed)
    server = Server(options.server, keeps)
    proxy = Proxy(server)
    adapter = Adapter()
    try:
        await adapter.begin(options.adapter)
        await adapter.do(do="connect", url=await proxy.listen(), minDelay=5, maxDelay=40, timeout=200, silence=100)
        await adapter.do(do="watch", **{"as": "all", "match": "a/**"})
        await adapter.do(do="watch", **{"as": "odd", "match": "a/**", "options": {"where": "value % 2 == 1"}})
        for number in range(PROPERTIES):
            await adapter.do(do="property", **{"as": f"p{number}", "path": f"a/{number}"})
        writer = Writer(server, chance)
        writing = asyncio.create_task(writer.run())
        for number in range(options.cuts):
            one = chance.randrange(PROPERTIES)
            condition = {"options": {"ifNoneMatch": "*"}} if chance.randrange(2) else {}
            command = {"as": f"s{number}", "view": f"p{one}", "path": f"a/{one}", "value": writer.value()}
            await adapter.do(do="set", **command, **condition)
            await asyncio.sleep(chance.uniform(0, 0.06))
            kind = chance.randrange(10)
            if kind < 6:
                proxy.cut()
            elif kind == 6:
                proxy.is_mute = True
                await adapter.until("the silence is noticed", lambda shown: shown["state"] != "live")
                proxy.speak()
            else:
                # In a thread: the server closes connections in good order, which takes this loop.
                await asyncio.to_thread(server.stop, chance.choice([signal.SIGKILL, signal.SIGTERM]))
                await asyncio.to_thread(server.start)
        writer.is_writing = False
        await writing

        def is_done(shown):
            return shown["state"] == "live" and len(shown["outcomes"]) == options.cuts

        await adapter.until("everything is decided", is_done)
        store = server.values("a/**")

        def is_equal(shown):
            views = shown["views"]
            values = {f"a/{n}": views[f"p{n}"]["value"] for n in range(PROPERTIES) if "value" in views[f"p{n}"]}
            odd = {path: value for path, value in store.items() if value % 2 == 1}
            return views["all"]["values"] == store and views["odd"]["values"] == odd and values == store

        shown = await adapter.until(f"the client shows {json.dumps(store)}", is_equal)
        faults = []
        for name, is_filtered in (("all", False), ("odd", True)):
            values, wrong = folded(shown["views"][name]["told"], is_filtered)
            faults += wrong
            if values != shown["views"][name]["values"]:
                faults.append(f"what {name} has told does not come to what it shows")
        for number in range(PROPERTIES):
            told = [change.get("value") for change in shown["views"][f"p{number}"]["told"]]
            if told and told[-1] != store.get(f"a/{number}"):
                faults.append(f"the last value told of a/{number} is {told[-1]}, not {store.get(f'a/{number}')}")
        # That it could not connect is true here, and a client may say so.
        faults += [f"an error where nobody waits: {code}" for code in shown["errors"] if code != "unreachable"]
        outcomes = Counter("ok" if "ok" in outcome else outcome["outcome"] for outcome in shown["outcomes"].values())
        told = len(shown["views"]["all"]["told"])
        adapter.process.stdin.close()
        if status := await adapter.process.wait():
            faults.append(f"the adapter ended with {status}")
        name = "keeping the store" if keeps else "forgetting the store"
        print(f"{'not ok' if faults else 'ok'} {name}: {options.cuts} cuts, {writer.last} values, {told} changes told, "
              f"sets {dict(outcomes)}", *faults[:10], sep="\n  ", flush=True)
        return not faults
    finally:
        await proxy.close()
        if adapter.process.returncode is None:
            adapter.process.kill()
        server.remove()


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=pathlib.Path, required=True, help="the signal-server to try")
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("adapter", nargs="+", help="the command that drives the client")
    options = parser.parse_args()
    outcomes = [await survive(options, keeps) for keeps in (True, False)]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
