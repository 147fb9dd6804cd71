# SPDX-License-Identifier: MIT
"""What clients are tried against: a server of this repository, a proxy on the way to it that can be cut, and a writer past the
proxy. Needs nothing but Python 3.11.
"""

import asyncio
import http.client
import json
import shutil
import signal
import subprocess
import tempfile
import urllib.parse

PROPERTIES = 40


class Server:
    """One process after the other; `keeps` lets a start find what was there before."""

    def __init__(self, binary, keeps=False, *flags):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="signal-client-")
        self.flags = [*(["--data-dir", f"{self.folder}/data"] if keeps else []), *flags]
        self.start()

    def start(self):
        command = [self.binary, "serve", "--port", "0", "--log-level", "error", *self.flags]
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
        """Ends a silence (`is_mute`), and the connections that have suffered it."""
        self.cut()
        self.is_mute = False

    async def close(self):
        self.listener.close()
        self.cut()
        # What passes bytes on ends before the loop does.
        await asyncio.sleep(0.05)


class Writer:
    """Changes the store over HTTP, past the proxy; every value is another one."""

    def __init__(self, server, chance):
        self.server = server
        self.random = chance
        self.last = 0
        self.is_writing = True

    def path(self):
        return f"a/{self.random.randrange(PROPERTIES)}"

    def value(self):
        self.last += 1
        return self.last

    def write(self):
        kind = self.random.randrange(8)
        if kind == 0:
            self.server.request("DELETE", f"/properties/{self.path()}")
        elif kind == 1:
            paths = sorted({self.path() for _ in range(5)})
            operations = [{"op": "set", "path": path, "value": self.value()} for path in paths]
            self.server.request("POST", "/transactions", {"operations": operations})
        else:
            self.server.request("PUT", f"/properties/{self.path()}", self.value())

    async def run(self):
        while self.is_writing:
            try:
                await asyncio.to_thread(self.write)
            except (OSError, ValueError):
                # The server is being killed, or the property was not there.
                await asyncio.sleep(0.002)
