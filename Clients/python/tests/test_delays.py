# SPDX-License-Identifier: MIT
"""Delays that a server names are obeyed."""

import asyncio
import http
import time

import pytest
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Response

from signal_client import connect
from signal_client.wire import delay_in_reason, named_delay


@pytest.mark.parametrize("text, seconds", [
    ("0", 0), ("30", 30), ("3601", 3600), ("9" * 400, 3600), ("", 0), ("-1", 0), ("1.5", 0), ("1e9", 0), ("³", 0),
    ("Fri, 31 Dec 1999 23:59:59 GMT", 0)])
def test_sensible(text, seconds):
    assert named_delay(text) == seconds


@pytest.mark.parametrize("reason, seconds", [
    ("too much, connect again in 30 s", 30), ("in 5 s", 5), ("5 s", 0), ("s", 0), ("", 0), ("in 5", 0), ("in five s", 0)])
def test_reasons(reason, seconds):
    assert delay_in_reason(reason) == seconds


async def times(on_connection, process_request=None):
    """When a client connects first, and again."""
    came = []
    connections = set()

    def request(connection, request):
        # Some versions ask twice about a connection.
        if connection not in connections:
            connections.add(connection)
            came.append(time.monotonic())
        return process_request and process_request(connection, request)

    async with serve(on_connection, "127.0.0.1", 0, subprotocols=["signal.v1.json"], process_request=request) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"http://127.0.0.1:{port}", min_delay=0.01):
            while len(came) < 2:
                await asyncio.sleep(0.01)
    return came


def test_reason_of_4029():
    async def refuse(socket):
        await socket.close(4029, "too much, connect again in 1 s")

    first, second = asyncio.run(asyncio.wait_for(times(refuse), 20))
    assert second - first >= 0.9


def test_retry_after():
    async def never(socket):
        await socket.wait_closed()

    def refuse(connection, request):
        headers = Headers({"Retry-After": "1", "Connection": "close", "Content-Length": "0"})
        return Response(http.HTTPStatus.TOO_MANY_REQUESTS.value, "Too Many Requests", headers, b"")

    first, second = asyncio.run(asyncio.wait_for(times(never, refuse), 20))
    assert second - first >= 0.9
