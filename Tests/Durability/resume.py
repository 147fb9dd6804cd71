#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thousand clients with filters that resume across restarts of a server, orderly ones and kills: no hole, no repeat, no reset.

    python3 Tests/Durability/resume.py .build/release/signal-server [--restarts 10] [--clients 1000] [--seed N]

Writers count up over HTTP, each its own property and only from the number that they know, so that every number is set once.
Each client watches a counter, or all of them, for the numbers that leave a certain rest, as server-sent events, and resumes
from its cursor, soon or after seconds. It has to be told each of its numbers once and in order, up to the last. Exits with 1
and says what is wrong otherwise.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

HOST = "127.0.0.1"
COUNTERS = 8
# How long everybody may take to be told the last numbers, in seconds.
PATIENCE = 60


class Trial:
    """The server, what it has taken, and what clients found wrong."""

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="resume-")
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]
        self.process = None
        self.faults = []
        self.ends = False
        self.counted = [0] * COUNTERS
        self.joined = self.resumed = self.told = 0

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.options.binary, "serve", "--port", str(self.port), "--loops", "2", "--log-level", "warning",
                 "--data-dir", os.path.join(self.folder, "data"), "--data-sync", self.options.sync],
                stdout=log, stderr=log)

    async def ask(self, method, target, body=b""):
        """Status and body of an answer, over a connection of its own; OSError when there is none."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            writer.write(f"{method} {target} HTTP/1.0\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            head, _, content = (await reader.read()).partition(b"\r\n\r\n")
            if not head:
                raise ConnectionResetError("no answer")
            return int(head.split()[1]), content
        finally:
            writer.close()

    async def count(self, index):
        """Counts up."""
        path = f"/properties/c/{index}"
        while not self.ends:
            number = self.counted[index]
            condition = f"value == {number}" if number else "value == null"
            try:
                status, body = await self.ask("PUT", f"{path}?if={quote(condition)}", b"%d" % (number + 1))
            except OSError:
                await asyncio.sleep(0.02)
                continue
            # Set by an attempt whose answer did not come.
            is_there = status == 412 and (json.loads(body).get("current") or {}).get("value") == number + 1
            if status in (201, 204) or is_there:
                self.counted[index] += 1
            elif status != 503:
                self.faults.append(f"c/{index} was {number}, and the answer to the next is {status} {body!r}")
                return
            await asyncio.sleep(0.02)

    async def client(self, index):
        """Watches, and resumes; tells of what is missing or comes twice."""
        divisor = 2 + index % 23
        rest = index % divisor
        paths = [f"c/{n}" for n in range(COUNTERS)] if index % 10 == 0 else [f"c/{index % COUNTERS}"]
        match = "c/*" if index % 10 == 0 else paths[0]
        next_numbers = {path: rest or divisor for path in paths}
        target = f"/events?match={match}&where={quote(f'value % {divisor} == {rest}')}&initial=false&oldValue=false"
        cursor = ""

        def is_done():
            return self.ends and all(next_numbers[path] > self.counted[int(path[2:])] for path in paths)

        def hear(event):
            if event["type"] == "didSet":
                path, value = event["path"], event["value"]
                if value != next_numbers[path]:
                    self.faults.append(f"client {index} was told {path} = {value}, where {next_numbers[path]} is next")
                next_numbers[path] = value + divisor
                self.told += 1
            elif event["type"] in ("reset", "gap", "error"):
                self.faults.append(f"client {index}, at {cursor}: {event}")

        while not is_done():
            writer = None
            try:
                reader, writer = await asyncio.open_connection(HOST, self.port)
                since = f"Last-Event-ID: {cursor}\r\n" if cursor else ""
                writer.write(f"GET {target} HTTP/1.0\r\nAccept: text/event-stream\r\n{since}\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
                self.resumed += cursor != ""
                while not is_done():
                    # What is not ended by an empty line has not been told.
                    for line in (await asyncio.wait_for(reader.readuntil(b"\n\n"), 1)).splitlines():
                        if line.startswith(b"id: "):
                            self.joined += not cursor
                            cursor = line[4:].decode()
                        elif line.startswith(b"data: "):
                            hear(json.loads(line[6:]))
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(self.random.choice([0.01, 0.1, 1, 3]))
            except asyncio.TimeoutError:
                pass
            finally:
                if writer:
                    writer.close()

    async def run(self):
        self.start()
        clients = [asyncio.create_task(self.client(index)) for index in range(self.options.clients)]
        while self.joined < self.options.clients:
            await asyncio.sleep(0.1)
        writers = [asyncio.create_task(self.count(index)) for index in range(COUNTERS)]
        for restart in range(self.options.restarts):
            await asyncio.sleep(self.random.uniform(1, 4))
            self.process.send_signal(signal.SIGKILL if restart % 2 else signal.SIGTERM)
            await asyncio.to_thread(self.process.wait)
            self.start()
        await asyncio.sleep(2)
        self.ends = True
        await asyncio.gather(*writers)
        end = time.monotonic() + PATIENCE
        done, missing = await asyncio.wait(clients, timeout=max(0, end - time.monotonic()))
        self.faults += [f"a client: {one.exception()}" for one in done if one.exception()]
        if missing:
            self.faults.append(f"{len(missing)} clients were not told everything within {PATIENCE} s")
        for task in missing:
            task.cancel()

    def report(self):
        print(f"{self.options.restarts} restarts, {self.options.clients} clients, which resumed {self.resumed} times; "
              f"{sum(self.counted)} values, of which they were told {self.told}; seed {self.options.seed}")
        for fault in self.faults[:20]:
            print(f"  {fault}")
        return 1 if self.faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--sync", default="commit")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    trial = Trial(parser.parse_args())
    try:
        asyncio.run(trial.run())
        return trial.report()
    finally:
        if trial.process:
            trial.process.kill()
            trial.process.wait()
        shutil.rmtree(trial.folder, ignore_errors=True)


sys.exit(main())
