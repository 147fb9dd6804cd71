# SPDX-License-Identifier: MIT
"""The server of this repository, and a proxy on the way to it that can be cut."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = pathlib.Path(os.environ.get("SIGNAL_SERVER", ROOT / ".build/release/signal-server"))
needs_server = pytest.mark.skipif(not BINARY.exists(), reason=f"there is no {BINARY}: make build")


class Server:
    """One process after the other; `keeps` lets a start find what was there before."""

    def __init__(self, keeps=False, *flags):
        self.folder = tempfile.mkdtemp(prefix="signal-client-")
        self.flags = [*(["--data-dir", f"{self.folder}/data"] if keeps else []), *flags]
        self.process = None
        self.port = 0
        self.start()

    def start(self):
        command = [BINARY, "serve", "--port", "0", "--log-level", "error", *self.flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.port = urllib.parse.urlsplit(line.split()[-1]).port
                return
        raise RuntimeError("the server did not start")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        self.process.stdout.close()

    def remove(self):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder)

    def request(self, method, target, value=None):
        """The parsed body of the answer; OSError when there is none, ValueError when it is a refusal."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, target, None if value is None else json.dumps(value))
            answer = connection.getresponse()
            body = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise ValueError(f"{method} {target}: {answer.status} {body!r}")
        return json.loads(body) if body else None

    def values(self, match):
        page = self.request("GET", f"/properties?limit=1000&match={urllib.parse.quote(match)}")
        return {item["path"]: item["value"] for item in page["properties"]}


class Proxy:
    """Passes bytes on to where the server listens at that moment."""

    def __init__(self, server):
        self.server = server
        self.writers = set()
        self.is_mute = False
        self.listener = None

    async def listen(self):
        self.listener = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        return "http://127.0.0.1:%d" % self.listener.sockets[0].getsockname()[1]

    async def accept(self, near_reader, near_writer):
        writers = {near_writer}
        self.writers |= writers
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            writers.add(far_writer)
            self.writers.add(far_writer)
            await asyncio.gather(self.pass_on(near_reader, far_writer), self.pass_on(far_reader, near_writer))
        except OSError:
            pass
        finally:
            self.writers -= writers
            for writer in writers:
                writer.transport.abort()

    async def pass_on(self, reader, writer):
        while data := await reader.read(65536):
            if not self.is_mute:
                writer.write(data)
                await writer.drain()
        writer.write_eof()

    def cut(self):
        """Ends all connections without a word."""
        for writer in list(self.writers):
            writer.transport.abort()

    def speak(self):
        self.cut()
        self.is_mute = False

    async def close(self):
        self.listener.close()
        self.cut()
        await asyncio.sleep(0.05)


async def until(condition, what=lambda: "it", seconds=15.0):
    """Waits until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        await asyncio.sleep(0.01)
