#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""1000 requests by aiohttp, each on a connection whose last response was a stream of events that has ended.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install aiohttp
    make run            # in another terminal
    /tmp/venv/bin/python Tests/Outside/reuse.py [http://127.0.0.1:8080]

Exits with 1 when a request is lost, or when connections were not reused.
"""

import asyncio
import sys

import aiohttp

URL = sys.argv[1].rstrip("/") if len(sys.argv) > 1 else "http://127.0.0.1:8080"
COUNT = 1000


async def main():
    opened = 0

    async def count(session, context, params):
        nonlocal opened
        opened += 1

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(count)
    lost = []
    # One connection, so that each request takes the one that the stream before has left.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1), trace_configs=[trace]) as session:
        async with session.put(f"{URL}/properties/reuse", data="1") as response:
            assert response.status in (201, 204), response.status
        for number in range(COUNT):
            try:
                async with session.get(f"{URL}/events?match=reuse&take=1") as stream:
                    assert b"that was all" in await stream.read()
                # POST, because a lost request of another method is sent again by the library.
                async with session.post(f"{URL}/signals/reuse", data=str(number)) as response:
                    assert response.status == 204, response.status
            except (aiohttp.ClientError, AssertionError) as error:
                lost.append(repr(error))
        async with session.delete(f"{URL}/properties/reuse") as response:
            assert response.status == 204, response.status
    print(f"aiohttp {aiohttp.__version__}: {COUNT} requests behind streams, {len(lost)} lost, {opened} connections", *lost[:2])
    return 1 if lost or opened > 1 else 0


sys.exit(asyncio.run(main()))
