#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays scenarios.json against a client: a scripted server on one side, an adapter that drives the client on the other.

    play.py [--only NAME] -- node --experimental-websocket Clients/javascript/test/adapter.js

README.md beside this says what an adapter has to do. One line is printed for each scenario, `ok` or `not ok` with the
step that failed; the exit code is 1 when one did. Needs nothing but Python 3.11.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time

HOST = "127.0.0.1"
PATIENCE = 10.0
LIMITS = {"messageBytes": 2000, "subscriptions": 128, "patterns": 32, "filterBytes": 4096, "backlogBytes": 1048576,
          "conflatedBytes": 8388608}


class Failed(Exception):
    """What the client did is not what the scenario says."""


class Gone(Exception):
    """The client has ended its connection; the argument is its close code, or None."""


class Connection:
    """The server's end of a WebSocket (RFC 6455), one frame at a time."""

    def __init__(self, peer):
        self.peer = peer
        self.input = b""
        self.is_closing = False

    def fill(self, count, deadline):
        while len(self.input) < count:
            self.peer.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self.peer.recv(65536)
            except TimeoutError:
                raise Failed("nothing came from the client") from None
            except ConnectionError:
                raise Gone(None) from None
            if not data:
                raise Gone(None)
            self.input += data

    def take(self, count, deadline):
        self.fill(count, deadline)
        data, self.input = self.input[:count], self.input[count:]
        return data

    def head(self, deadline):
        """The request line and the fields, in lower case."""
        while b"\r\n\r\n" not in self.input:
            self.fill(len(self.input) + 1, deadline)
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        line, *fields = head.decode().split("\r\n")
        return line, {name.strip().lower(): value.strip() for name, value in (field.split(":", 1) for field in fields)}

    def frame(self, opcode, payload):
        size = len(payload)
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size)
        if size > 65535:
            length = b"\x7f" + struct.pack(">Q", size)
        self.peer.sendall(bytes([0x80 | opcode]) + length + payload)

    def text(self, *messages):
        self.frame(1, "\n".join(json.dumps(message) for message in messages).encode())

    def receive(self, deadline):
        """The next message, parsed; raises Gone when the client closes."""
        while True:
            first, second = self.take(2, deadline)
            size = second & 0x7F
            if size > 125:
                wide = 2 if size == 126 else 8
                size = int.from_bytes(self.take(wide, deadline), "big")
            mask = self.take(4, deadline)
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.take(size, deadline)))
            match first & 0xF:
                case 1:
                    return json.loads(payload)
                case 8:
                    # The answer to a close is the last frame of all.
                    if not self.is_closing:
                        self.frame(8, payload[:2])
                    raise Gone(int.from_bytes(payload[:2], "big") if payload else None)
                case 9:
                    self.frame(10, payload)

    def close(self, code, reason=""):
        self.is_closing = True
        self.frame(8, struct.pack(">H", code) + reason.encode())
        deadline = time.monotonic() + PATIENCE
        try:
            while True:
                self.receive(deadline)
        except (Gone, Failed, OSError):
            self.peer.close()

    def drop(self):
        # A reset, as of a line that has broken.
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()


class Server:
    """A server that says what it is told to say."""

    def __init__(self):
        self.listener = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{self.listener.getsockname()[1]}"
        self.refusal = None

    def accept(self, deadline):
        """The next WebSocket; requests that are none are answered as this server would."""
        while True:
            self.listener.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                peer, _ = self.listener.accept()
            except TimeoutError:
                raise Failed("the client did not connect") from None
            connection = Connection(peer)
            line, fields = connection.head(deadline)
            if not line.split(" ")[1].startswith("/events"):
                raise Failed(f"the client asked for {line}")
            if "upgrade" not in fields:
                other = {"status": 405, "code": "method_not_allowed", "detail": "the route has no such method"}
                self.answer(peer, self.refusal or other)
                continue
            if self.refusal:
                self.answer(peer, self.refusal)
                return None
            key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
            protocol = "Sec-WebSocket-Protocol: signal.v1.json\r\n" if "sec-websocket-protocol" in fields else ""
            peer.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{protocol}"
                         f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

    @staticmethod
    def answer(peer, problem):
        body = json.dumps({"type": "about:blank", "title": problem["code"], "temporary": False} | problem).encode()
        peer.sendall(f"HTTP/1.1 {problem['status']} Refused\r\nContent-Type: application/problem+json\r\n"
                     f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        peer.close()


class Adapter:
    """The client under test: a line of JSON for each command, and one back for each `show`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(self, command):
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed(f"the adapter has ended ({self.process.wait()})") from None

    def show(self):
        self.do({"do": "show"})
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise Failed("the adapter shows nothing")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the adapter has ended ({self.process.wait()})")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "no exit"


def fits(expected, got):
    """Whether all that is expected is there; "$absent" is a member that must not be, "$any" one that must."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return all(name not in got if value == "$absent" else name in got and fits(value, got[name])
                   for name, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(fits, expected, got))
    return expected == "$any" or (expected == got and isinstance(expected, bool) == isinstance(got, bool))


class Play:
    """One scenario, step by step."""

    def __init__(self, command):
        self.server = Server()
        self.adapter = Adapter(command)
        self.connection = None
        self.counted = {}

    def run(self, scenario):
        for number, step in enumerate(scenario["steps"], 1):
            (name, argument), = step.items()
            try:
                getattr(self, name)(argument)
            except Gone as gone:
                raise Failed(f"step {number}, {json.dumps(step)}: the client closed ({gone.args[0]})") from None
            except (Failed, OSError) as failed:
                raise Failed(f"step {number}, {json.dumps(step)}: {failed}") from None
        left = {name: told[self.counted[name]:] for name, told in self.told().items() if name in self.counted}
        if any(left.values()):
            raise Failed(f"told at the end, and by no step: {left}")

    def end(self):
        """What the adapter ended with; no server is there any more that it could wait for."""
        self.server.listener.close()
        if self.connection:
            self.connection.peer.close()
        return self.adapter.end()

    def told(self):
        return {name: view["told"] for name, view in self.adapter.show()["views"].items()}

    # ------------------------------------------------------------------------------------------------ the client

    def client(self, command):
        if command["do"] == "connect":
            command = {"url": self.server.url, "minDelay": 400, "maxDelay": 800, "timeout": 1500} | command
        self.adapter.do(command)

    def show(self, expected):
        """Waits until the client shows this; what is told must be exactly what has been told since the last time."""
        views = expected.get("views", {})
        deadline = time.monotonic() + PATIENCE
        while True:
            shown = self.adapter.show()
            told = {name: shown["views"][name]["told"][self.counted.get(name, 0):] for name in views}
            if all(self.views_fit(view, shown["views"][name], told[name]) for name, view in views.items()) \
                    and fits({name: value for name, value in expected.items() if name != "views"}, shown):
                for name, view in views.items():
                    if "told" in view:
                        self.counted[name] = len(shown["views"][name]["told"])
                return
            if time.monotonic() > deadline:
                seen = {name: view | {"told": told.get(name, view["told"])} for name, view in shown["views"].items()}
                raise Failed(f"the client shows {json.dumps(shown | {'views': seen})}")
            time.sleep(0.01)

    @staticmethod
    def views_fit(expected, view, told):
        """`values` is the whole map; objects elsewhere may have more members than are expected."""
        return expected.get("values", view.get("values")) == view.get("values") and fits(expected, view | {"told": told})

    # ------------------------------------------------------------------------------------------------ the server

    def open(self, hello):
        """The client connects and is greeted."""
        self.accept({})
        self.connection.text({"type": "hello", "limits": LIMITS} | hello)

    def accept(self, argument):
        self.server.refusal = None
        self.connection = self.server.accept(time.monotonic() + argument.get("within", PATIENCE * 1000) / 1000)

    def refuse(self, problem):
        self.server.refusal = problem
        self.server.accept(time.monotonic() + PATIENCE)
        # A client that could not read why may ask once more, without an upgrade.
        self.quiet(300)

    def noConnection(self, milliseconds):
        if not self.quiet(milliseconds):
            raise Failed("the client connected")

    def quiet(self, milliseconds):
        """Whether no WebSocket is asked for so long; other requests are answered."""
        try:
            self.server.accept(time.monotonic() + milliseconds / 1000)
        except Failed:
            return True
        return False

    def answer(self, exchanges):
        """Takes commands, in any order, and replies to each, in theirs."""
        waiting = list(exchanges) if isinstance(exchanges, list) else [exchanges]
        deadline = time.monotonic() + PATIENCE
        while waiting:
            command = self.connection.receive(deadline)
            index = next((index for index, exchange in enumerate(waiting) if fits(exchange["expect"], command)), None)
            if index is None:
                raise Failed(f"the client sent {json.dumps(command)}")
            reply = waiting.pop(index).get("reply")
            if reply is not None:
                self.connection.text({"id": command["id"]} | reply)

    def nothing(self, milliseconds):
        try:
            command = self.connection.receive(time.monotonic() + milliseconds / 1000)
        except Failed:
            return
        raise Failed(f"the client sent {json.dumps(command)}")

    def send(self, messages):
        for message in messages if isinstance(messages, list) else [messages]:
            self.connection.text(message)

    def batch(self, messages):
        self.connection.text(*messages)

    def close(self, argument):
        self.connection.close(argument["code"], argument.get("reason", ""))

    def drop(self, _):
        self.connection.drop()

    def gone(self, argument):
        """The client ends the connection, with this close code if it has to be one."""
        try:
            while True:
                self.connection.receive(time.monotonic() + argument.get("within", PATIENCE * 1000) / 1000)
        except Gone as gone:
            if "code" in argument and gone.args[0] != argument["code"]:
                raise Failed(f"it closed with {gone.args[0]}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="the scenarios whose name has this in it")
    parser.add_argument("adapter", nargs="+", help="the command that drives the client")
    options = parser.parse_args()
    scenarios = json.loads((pathlib.Path(__file__).parent / "scenarios.json").read_text(encoding="utf-8"))["scenarios"]
    failures = 0
    chosen = [scenario for scenario in scenarios if not options.only or options.only in scenario["name"]]
    for scenario in chosen:
        play = Play(options.adapter)
        fault = None
        try:
            play.run(scenario)
        except Failed as failed:
            fault = failed
        status = play.end()
        if fault is None and status != 0:
            fault = f"the adapter ended with {status}"
        failures += fault is not None
        print(f"not ok {scenario['name']}: {fault}" if fault else f"ok {scenario['name']}", flush=True)
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
