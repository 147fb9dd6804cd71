# SPDX-License-Identifier: MIT
"""The client through cuts, silences, kills and restarts of a real server.

What it shows must end as the store's state, and nothing may be told twice. Every value is set once, so one that is told
again is a fault. The variables CUTS and SEED choose.
"""

import asyncio
import os
import random
import signal
from collections import Counter

import pytest
from real_server import PROPERTIES, Proxy, Server, Writer
from support import BINARY, needs_server, until

from signal_client import SignalError, connect

CUTS = int(os.environ.get("CUTS", "200"))
SEED = int(os.environ.get("SEED", "1"))


class Record:
    """Folds what a watch tells, and objects to what cannot be."""

    def __init__(self, watch, is_filtered=False):
        self.watch = watch
        self.is_filtered = is_filtered
        self.told = {}
        self.seen = set()
        self.count = 0
        self.faults = []
        watch.subscribe(lambda _, changes: [self.take(change) for change in changes])

    def take(self, change):
        self.count += 1
        before = self.told.get(change.path)
        if change.is_set:
            if (change.path, change.value) in self.seen:
                self.faults.append(f"{change.path} was told to be {change.value} twice")
            self.seen.add((change.path, change.value))
            self.told[change.path] = change.value
            if not self.is_filtered and before is not None and change.old_value != before:
                self.faults.append(f"{change.path} was {before}, not {change.old_value}")
        elif self.told.pop(change.path, None) is None:
            self.faults.append(f"{change.type} of {change.path}, which was not there")


async def survive(keeps):
    chance = random.Random(SEED)
    server = Server(BINARY, keeps)
    proxy = Proxy(server)
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    writer = Writer(server, chance)
    outcomes = Counter()
    sets = set()
    try:
        async with connect(await proxy.listen(), min_delay=0.005, max_delay=0.04, timeout=0.2, silence=0.1,
                           on_error=errors.append) as client:
            odds = client.watch("a/**", where="value % 2 == 1")
            records = [Record(client.watch("a/**")), Record(odds, is_filtered=True)]
            paced = client.watch("a/**", max_rate=50)
            properties = [client.property(f"a/{number}") for number in range(PROPERTIES)]
            for member in properties:
                member.subscribe(lambda _: None)
            iterated = {}

            async def iterate():
                async for change in client.watch("a/**"):
                    if change.is_set:
                        iterated[change.path] = change.value
                    else:
                        iterated.pop(change.path, None)

            async def set_one():
                try:
                    await chance.choice(properties).set(writer.value(), if_none_match=chance.choice([None, "*"]))
                    outcomes["ok"] += 1
                except SignalError as error:
                    outcomes[error.outcome] += 1

            iteration = asyncio.create_task(iterate())
            writing = asyncio.create_task(writer.run())
            for _ in range(CUTS):
                task = asyncio.create_task(set_one())
                sets.add(task)
                task.add_done_callback(sets.discard)
                await asyncio.sleep(chance.uniform(0, 0.06))
                kind = chance.randrange(10)
                if kind < 6:
                    proxy.cut()
                elif kind == 6:
                    proxy.is_mute = True
                    await until(lambda: client.state != "live", lambda: "the silence is noticed")
                    proxy.speak()
                else:
                    # In a thread: the server closes connections in good order, which takes this loop.
                    await asyncio.to_thread(server.stop, chance.choice([signal.SIGKILL, signal.SIGTERM]))
                    await asyncio.to_thread(server.start)
            writer.is_writing = False
            await writing
            await asyncio.gather(*sets)
            await until(lambda: client.state == "live", lambda: client.state)
            store = server.values("a/**")
            odd = {path: value for path, value in store.items() if value % 2 == 1}

            def shown():
                return {
                    "all": dict(records[0].watch.items()), "told": records[0].told, "paced": dict(paced.items()),
                    "iterated": iterated, "properties": {one.path: one.value for one in properties if one.exists},
                }

            await until(lambda: all(values == store for values in shown().values()), lambda: f"{store}\n{shown()}")
            await until(lambda: dict(records[1].watch.items()) == odd)
            assert records[1].told == odd
            assert [record.faults for record in records] == [[], []]
        await iteration
        assert errors == []
        print(f"{CUTS} cuts, {writer.last} values, {records[0].count} changes told, sets {dict(outcomes)}")
    finally:
        await proxy.close()
        server.remove()


@needs_server
@pytest.mark.parametrize("keeps", [True, False], ids=["keeping the store", "forgetting the store"])
def test_through_cuts_and_restarts(keeps):
    asyncio.run(survive(keeps))
