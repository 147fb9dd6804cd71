#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""permessage-deflate (RFC 7692) as the cases 12 and 13 of Autobahn try it, and what breaks it.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install websockets aiohttp
    /tmp/venv/bin/python Tests/Outside/deflate.py .build/release/signal-server [--quick]

Values from 16 B to 128 KiB, random and compressible, in one frame and in fragments, many behind one another, go to the server
from one connection and come back as events on it and on a second one, equal, so that windows are shared. Over a client that
is written here, with each combination of the four parameters, whose decompressor takes no distance beyond the window that was
agreed upon; over `websockets` and `aiohttp` with the combinations that they have; over the WebSockets of node and
Chromium, where they are there. No answer may exceed its offer. Then bombs, reserved bits and damaged messages, each of which
must be closed with its code, and the next client served. What the server holds is looked at all the way. `--quick` tries
a tenth of the combinations. Exits with 1 and says what is wrong otherwise.
"""

import argparse
import asyncio
import base64
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import aiohttp
import websockets.extensions.permessage_deflate
import websockets.sync.client

from chromium import HOST, Browser

TARGET = "/events?match=d/*&initial=false&oldValue=false"
SIZES = (16, 64, 256, 257, 1024, 4096, 8192, 16384, 60000, 65536, 131072)
MESSAGE_BYTES = 1 << 20 | 1 << 16
BITS = range(8, 16)
MIB = 1 << 20
FAILURES = []


def check(what, holds, detail=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail != '' else ''}", flush=True)
    if not holds:
        FAILURES.append(what)


class Server:
    def __init__(self, binary, folder, *arguments):
        self.log = os.path.join(folder, "server.log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--port", "0", "--loops", "1", "--origins", "*", "--log-level", "warning",
                 "--store-history-bytes", "4MiB", *arguments], stdout=subprocess.PIPE, stderr=log, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline()).group(1))

    def memory(self, what="VmRSS"):
        """What the process holds, or has held at most (VmHWM), in bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{what}:\s+(\d+)", status.read()).group(1)) << 10

    def sent(self):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return int(re.search(r"^signal_sent_bytes_total (\d+)", text, re.M).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def parameters(field):
    """The parameters of one permessage-deflate, or None for none."""
    if not field:
        return None
    name, *rest = [part.strip() for part in field.split(";")]
    assert name == "permessage-deflate", field
    found = {}
    for part in rest:
        key, _, value = part.partition("=")
        assert key not in found, f"{key} stands twice in {field}"
        found[key] = int(value.strip('"')) if value else None
    return found


def exceeds(offer, answer):
    """In what an answer is not one to the offer (RFC 7692 §7.1)."""
    offered, agreed = parameters(offer), parameters(answer)
    if agreed is None:
        return "nothing was agreed upon"
    if unknown := agreed.keys() - {"server_no_context_takeover", "client_no_context_takeover",
                                   "server_max_window_bits", "client_max_window_bits"}:
        return f"unknown {unknown}"
    if "server_no_context_takeover" in offered and "server_no_context_takeover" not in agreed:
        return "server_no_context_takeover is not kept"
    most, bits = offered.get("server_max_window_bits", 15), agreed.get("server_max_window_bits")
    if "server_max_window_bits" in offered and not 8 <= (bits or 99) <= most:
        return f"server_max_window_bits={bits} for {most}"
    if "client_max_window_bits" in agreed and not (
            "client_max_window_bits" in offered
            and 8 <= (agreed["client_max_window_bits"] or 99) <= (offered["client_max_window_bits"] or 15)):
        return f"client_max_window_bits={agreed['client_max_window_bits']}"
    return None


def frame(payload, opcode=1, first=0x80):
    """A masked frame; `first` has FIN and the reserved bits."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    else:
        length = struct.pack(">BH", 0xFE, size) if size < 65536 else struct.pack(">BQ", 0xFF, size)
    mask = os.urandom(4)
    key = (mask * (size // 4 + 1))[:size]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
    return bytes([first | opcode]) + length + mask + masked


def deflated(data, bits=15):
    # zlib has no window of 8 bits, but refers back by 262 bytes less than its window: with 9 bits by 250 at most.
    compressor = zlib.compressobj(9, zlib.DEFLATED, -max(bits, 9))
    return (compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


class Closed(Exception):
    pass


class Wire:
    """RFC 6455 and 7692 by hand."""

    def __init__(self, port, offer=None, fields="", target=TARGET):
        self.socket = socket.create_connection((HOST, port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.offer = offer
        if offer:
            fields += f"Sec-WebSocket-Extensions: {offer}\r\n"
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {target} HTTP/1.1\r\nHost: {HOST}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{fields}\r\n").encode())
        self.status = int(self.file.readline().split()[1])
        self.answer = None
        while (line := self.file.readline().strip().decode()) != "":
            if line.lower().startswith("sec-websocket-extensions:"):
                self.answer = line.partition(":")[2].strip()
        self.agreed = parameters(self.answer)
        self.compressed = self.referring = 0
        if self.agreed is not None:
            self.bits = self.agreed.get("server_max_window_bits", 15)
            offered = re.search(r"client_max_window_bits=(\d+)", offer)
            self.own_bits = min(self.agreed.get("client_max_window_bits") or 15, int(offered[1]) if offered else 15)
            self.decompressor = zlib.decompressobj(-self.bits)

    def inflate(self, data):
        """Gives out so little at a time that nothing is found but in the window."""
        if "server_no_context_takeover" in self.agreed:
            self.decompressor = zlib.decompressobj(-self.bits)
        tail, pieces = data + b"\0\0\xff\xff", []
        try:
            zlib.decompress(data + b"\0\0\xff\xff\1\0\0\xff\xff", -15)
        except zlib.error:
            self.referring += 1
        step = 1 if len(data) <= 4096 else 256
        while tail:
            pieces.append(self.decompressor.decompress(tail, step))
            tail = self.decompressor.unconsumed_tail
        while piece := self.decompressor.decompress(b"", 4096):
            pieces.append(piece)
        return b"".join(pieces)

    def send(self, text, fragments=1):
        data = text.encode()
        first = 0
        if self.agreed is not None:
            data, first = deflated(data, self.own_bits), 0x40
        step = max(1, -(-len(data) // fragments))
        pieces = [data[at:at + step] for at in range(0, len(data), step)]
        for number, piece in enumerate(pieces):
            end = 0x80 if number == len(pieces) - 1 else 0
            # What is in between does not disturb a message.
            between = frame(b"", 10) if number == 1 else b""
            self.socket.sendall(between + frame(piece, 0 if number else 1, end | (0 if number else first)))

    def recv(self):
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                raise Closed(1006)
            size = head[1]
            if size > 125:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            data = self.file.read(size)
            opcode, reserved = head[0] & 15, head[0] & 0x70
            if opcode == 8:
                raise Closed(int.from_bytes(data[:2], "big"))
            assert reserved == 0 or reserved == 0x40 and opcode == 1 and self.agreed is not None, f"reserved bits {head.hex()}"
            assert head[0] & 0x80 and opcode in (1, 9, 10), f"the server has sent {head.hex()}"
            if opcode == 1:
                self.compressed += reserved == 0x40
                return (self.inflate(data) if reserved else data).decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Websockets:
    def __init__(self, port, **given):
        factory = websockets.extensions.permessage_deflate.ClientPerMessageDeflateFactory(**given)
        self.stack = contextlib.ExitStack()
        self.client = self.stack.enter_context(websockets.sync.client.connect(
            f"ws://{HOST}:{port}{TARGET}", extensions=[factory], compression=None, max_size=None))
        self.offer = self.client.request.headers["Sec-WebSocket-Extensions"]
        self.answer = self.client.response.headers.get("Sec-WebSocket-Extensions")

    def send(self, text, fragments=1):
        step = -(-len(text) // fragments)
        self.client.send(text if fragments == 1 else [text[at:at + step] for at in range(0, len(text), step)])

    def recv(self):
        return self.client.recv(timeout=20)

    def close(self):
        self.stack.close()


class Aiohttp:
    loop = asyncio.new_event_loop()

    def __init__(self, port, bits):
        async def connect():
            trace = aiohttp.TraceConfig()
            trace.on_request_end.append(self.note)
            self.session = aiohttp.ClientSession(trace_configs=[trace])
            return await self.session.ws_connect(f"http://{HOST}:{port}{TARGET}", compress=bits, max_msg_size=0)

        self.client = self.loop.run_until_complete(connect())

    async def note(self, session, context, given):
        self.offer = given.response.request_info.headers["Sec-WebSocket-Extensions"]
        self.answer = given.response.headers.get("Sec-WebSocket-Extensions")

    def send(self, text, fragments=1):
        self.loop.run_until_complete(self.client.send_str(text))

    def recv(self):
        return self.loop.run_until_complete(asyncio.wait_for(self.client.receive_str(), 20))

    def close(self):
        async def end():
            await self.client.close()
            await self.session.close()

        self.loop.run_until_complete(end())


def text_of(size, is_random, number):
    if is_random:
        return base64.b64encode(random.randbytes(size))[:size].decode()
    return (f'{number}: {{"temperature": 21.5, "humidity": 40}} ' * (size // 20 + 1))[:size]


NUMBERS = itertools.count(1)


def messages(sizes):
    """Paths and values of each kind, in one frame and in several; the paths are the same each time, the values new."""
    kinds = itertools.product(sizes, (False, True), (1, 3))
    return [(f"d/{at}", text_of(size, is_random, next(NUMBERS)), fragments)
            for at, (size, is_random, fragments) in enumerate(kinds)]


def exchange(clients, given, batch=5):
    """Sets from both of the clients in turn; what is wrong with what comes back to each of them, or None."""
    for begin in range(0, len(given), batch):
        part = given[begin:begin + batch]
        for number, (path, value, fragments) in enumerate(part):
            clients[number % 2].send(json.dumps({"id": number, "type": "set", "path": path, "value": value}), fragments)
        for which, client in enumerate(clients):
            replies, events = list(range(which, len(part), 2)), {path: value for path, value, _ in part}
            while replies or events:
                message = json.loads(client.recv())
                if message["type"] == "ok":
                    is_right = message["id"] == (replies.pop(0) if replies else None)
                else:
                    is_right = message["type"] == "didSet" and events.pop(message["path"], None) == message["value"]
                if not is_right:
                    return f"not what was set: {json.dumps(message)[:200]}"
    return None


def combinations(own_bits):
    """The four parameters, as `websockets` calls them."""
    for server_bits, client_bits, server_alone, client_alone in itertools.product(
            (None, *BITS), own_bits, (False, True), (False, True)):
        yield {"server_max_window_bits": server_bits, "client_max_window_bits": client_bits,
               "server_no_context_takeover": server_alone, "client_no_context_takeover": client_alone}


def offer_of(given):
    return "; ".join(["permessage-deflate"] + [
        name if value is True else f"{name}={value}" for name, value in given.items() if value not in (None, False)])


def try_client(name, server, makes, sizes, many=0):
    """Each of `makes` gives a client; two of the same share what is sent. Then come so many small values at once."""
    begun, wrong, count, compressed, referring = time.monotonic(), [], 0, 0, 0
    for make in makes:
        clients = []
        try:
            for _ in range(2):
                clients.append(make())
            for client in clients:
                while '"live"' not in client.recv():
                    pass
            fault = (exceeds(clients[0].offer, clients[0].answer) or exchange(clients, messages(sizes))
                     or exchange(clients, messages(range(16, 16 + many // 4)), many or 1))
            if not fault and getattr(clients[0], "compressed", 1) == 0:
                fault = "nothing was compressed"
            compressed += getattr(clients[0], "compressed", 0)
            referring += getattr(clients[0], "referring", 0)
        except (Closed, AssertionError, OSError, zlib.error, ValueError, TypeError, TimeoutError, aiohttp.ClientError,
                websockets.exceptions.WebSocketException) as error:
            fault = repr(error)
        if fault:
            wrong.append(f"{clients[0].offer if clients else ''}: {fault}")
        count += 1
        for client in clients:
            with contextlib.suppress(Exception):
                client.close()
    detail = "; ".join(wrong[:5]) or f"{time.monotonic() - begun:.0f} s, RSS {server.memory() // MIB} MiB" + (
        f", {compressed} messages compressed, {referring} with what was before" if compressed else "")
    check(f"{name}: {count} combinations, {len(sizes) * 4 + many} values each", not wrong, detail)
    return referring


# The same in a browser and in node: two sockets, each value comes back to both.
SCRIPT = r"""
const trial = async (url, count, sizes) => {
  const open = () => new Promise((done, failed) => {
    const socket = new WebSocket(url)
    const got = new Map()
    socket.onmessage = event => {
      const message = JSON.parse(event.data)
      if (message.type === "didSet") got.set(message.path, message.value)
      if (message.type === "live") done({ socket, got })
    }
    socket.onerror = () => failed(new Error("refused"))
  })
  const pair = [await open(), await open()]
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  const random = size => Array.from({ length: size }, () => letters[Math.random() * 64 | 0]).join("")
  const alike = (size, round) => `${round} and the temperature is 21.5 `.repeat(size / 20 + 1).slice(0, size)
  let wrong = 0, bytes = 0
  for (let round = 0; round < count; round++) {
    for (const size of sizes) {
      const sent = new Map([["d/0", random(size)], ["d/1", alike(size, `${size} ${round}`)]])
      for (const [path, value] of sent) {
        bytes += value.length
        pair[round % 2].socket.send(JSON.stringify({ id: 1, type: "set", path, value }))
      }
      const end = Date.now() + 10000
      const is = () => pair.every(({ got }) => [...sent].every(([path, value]) => got.get(path) === value))
      while (!is() && Date.now() < end) await new Promise(done => setTimeout(done, 1))
      if (!is()) wrong += 1
    }
  }
  const extensions = pair[0].socket.extensions
  pair.forEach(({ socket }) => socket.close())
  return { extensions, wrong, bytes }
}
"""


def judge(name, server, before, result):
    offer = "permessage-deflate; client_max_window_bits"
    fault = exceeds(offer, result["extensions"]) or (f"{result['wrong']} values did not come back" if result["wrong"] else None)
    # To two clients, of values of which half are alike: without compression this would be above 2.
    ratio = (server.sent() - before) / result["bytes"]
    check(f"{name}: {result['extensions']}", not fault and ratio < 1.8,
          fault or f"{ratio:.2f} bytes sent for each of the values")


def try_node(server, sizes):
    if not shutil.which("node"):
        return print("  --   there is no node")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    url = f"ws://{HOST}:{server.port}{TARGET}"
    script = f"{SCRIPT}; trial({json.dumps(url)}, 20, {json.dumps(sizes)}).then(got => console.log(JSON.stringify(got)))"
    before = server.sent()
    for flags in ([], ["--experimental-websocket"]):
        done = subprocess.run(["node", *flags, "-e", script], capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            return judge(f"node {version}", server, before, json.loads(done.stdout))
        if "WebSocket is not defined" not in done.stderr:
            break
    return check(f"node {version}", False, done.stderr[-500:])


def try_chromium(server, sizes, folder):
    browser = Browser(folder)
    try:
        page = browser.open("about:blank")
        before = server.sent()
        url = f"ws://{HOST}:{server.port}{TARGET}"
        result = page.evaluate(f"(() => {{ {SCRIPT}; return trial({json.dumps(url)}, 20, {json.dumps(sizes)}) }})()")
        judge("Chromium", server, before, result)
    finally:
        browser.close()


def try_offers(server):
    """What is answered to offers that are not quite right."""
    always = "client_no_context_takeover"
    for offer, wanted in {
        "permessage-deflate; server_max_window_bits=7": None,
        "permessage-deflate; server_max_window_bits=16": None,
        "permessage-deflate; server_max_window_bits=08": None,
        "permessage-deflate; server_max_window_bits": None,
        "permessage-deflate; server_max_window_bits=8; server_max_window_bits=8": None,
        "permessage-deflate; client_max_window_bits=7": None,
        "permessage-deflate; client_max_window_bits=16": None,
        "permessage-deflate; client_no_context_takeover=1": None,
        "permessage-deflate; server_no_context_takeover=true": None,
        "permessage-deflate; unknown": None,
        "x-webkit-deflate-frame": None,
        "permessage-bzip2": None,
        'permessage-deflate; server_max_window_bits="10"': {always: None, "server_max_window_bits": 10},
        "permessage-deflate; unknown, permessage-deflate; server_max_window_bits=9":
            {always: None, "server_max_window_bits": 9},
        "permessage-deflate; server_max_window_bits=16, permessage-deflate": {always: None},
        "permessage-bzip2,permessage-deflate": {always: None},
    }.items():
        client = Wire(server.port, offer)
        check(f"offer {offer}", client.status == 101 and client.agreed == wanted, client.answer)
        client.close()
    for offer in ("permessage-deflate; =10", "permessage-deflate; server_max_window_bits=", "permessage-deflate; a b", "/"):
        client = Wire(server.port, offer)
        check(f"offer {offer}", client.status == 400, client.status)
        client.close()


def bomb(unit, end=b""):
    """1 GiB of one byte, and an end, compressed."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    # A part that refers to nothing before it can be repeated.
    part = compressor.compress(unit * (16 * MIB)) + compressor.flush(zlib.Z_FULL_FLUSH)
    data = part * 64 + deflated(end)
    assert len(data) < MESSAGE_BYTES, len(data)
    return data


def try_malformed(server, plain):
    """What breaks the protocol, with the close code of docs/protocol.md §7; `plain` is a server that compresses nothing."""
    command = b'{"id":1,"type":"ping"}'
    ping = deflated(command)
    zeros, spaces = bomb(b"\0"), bomb(b" ", command)
    referring = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = json.dumps({"id": 1, "type": "ping", "x": text_of(300, True, 1)}).encode()
    before, again = [(referring.compress(text) + referring.flush(zlib.Z_SYNC_FLUSH))[:-4] for _ in range(2)]
    offer = "permessage-deflate"
    third = len(zeros) // 3
    cases = [
        ("a bomb of zeros", offer, [frame(zeros, first=0xC0)], 1009),
        ("a bomb that is a command", offer, [frame(spaces, first=0xC0)], 1009),
        ("a bomb in fragments", offer, [
            frame(zeros[:third], first=0x40), frame(zeros[third:2 * third], 0, 0), frame(zeros[2 * third:], 0)], 1009),
        ("a byte more than there may be", offer, [frame(deflated(b" " * (MESSAGE_BYTES + 1)), first=0xC0)], 1009),
        ("more bytes than there may be, compressed", offer, [frame(os.urandom(MESSAGE_BYTES + 1), first=0xC0)], 1009),
        ("blocks without content", offer, [frame(b"\0\0\0\xff\xff" * 20000, first=0xC0)], 1007),
        ("RSV1 without an agreement", None, [frame(ping, first=0xC0)], 1002),
        ("RSV2", offer, [frame(b"{}", first=0xA0)], 1002),
        ("RSV3", offer, [frame(b"{}", first=0x90)], 1002),
        ("RSV1 and RSV2", offer, [frame(ping, first=0xE0)], 1002),
        ("RSV2 without an agreement", None, [frame(b"{}", first=0xA0)], 1002),
        ("RSV3 without an agreement", None, [frame(b"{}", first=0x90)], 1002),
        ("RSV1 on a ping", offer, [frame(b"", 9, 0xC0)], 1002),
        ("RSV1 on a close", offer, [frame(b"\x03\xe8", 8, 0xC0)], 1002),
        ("RSV1 on a continuation", offer, [frame(ping[:4], first=0x40), frame(ping[4:], 0, 0xC0)], 1002),
        ("RSV1 on a continuation alone", offer, [frame(b'{"id"', first=0), frame(ping, 0, 0xC0)], 1002),
        ("bytes that are not deflate", offer, [frame(b"\xff" * 100, first=0xC0)], 1007),
        ("an end in a block", offer, [frame(ping[:-3], first=0xC0)], 1007),
        ("a distance beyond the message", offer, [frame(before, first=0xC0), frame(again, first=0xC0)], 1007),
        ("text that is not UTF-8", offer, [frame(deflated(b'"\xc3\x28"'), first=0xC0)], 1007),
        ("a binary message", offer, [frame(ping, 2, 0xC0)], 1003),
    ]
    bystander = Wire(server.port, offer)
    for name, its_offer, frames, code in cases:
        client = Wire(server.port, its_offer)
        closed = None
        try:
            with contextlib.suppress(ConnectionError):
                for data in frames:
                    client.socket.sendall(data)
            while True:
                client.recv()
        except Closed as error:
            closed = error.args[0]
        except OSError as error:
            closed = repr(error)
        client.close()
        check(f"{name} is closed with {code}", closed == code and answers(Wire(server.port, offer)), closed)
    for name, data in (("RSV1 where compression is off", frame(ping, first=0xC0)), ("RSV2 there", frame(b"{}", first=0xA0))):
        client = Wire(plain.port, offer)
        client.socket.sendall(data)
        try:
            while True:
                client.recv()
        except Closed as error:
            code = error.args[0]
        check(f"{name} is closed with 1002", client.answer is None and code == 1002 and answers(Wire(plain.port, offer)), code)
        client.close()
    # What is allowed, for which the above may be mistaken.
    for name, data in {
        "fragments of a byte": frame(ping[:1], first=0x40) + b"".join(
            frame(ping[at:at + 1], 0, 0) for at in range(1, len(ping))) + frame(b"", 0),
        "an empty fragment before it and behind it": frame(b"", first=0x40) + frame(ping, 0, 0) + frame(b"", 0),
        "one that is not compressed": frame(b'{"id":1,"type":"ping"}'),
        "as many bytes as there may be": frame(deflated(command.rjust(MESSAGE_BYTES)), first=0xC0),
        "a final block": frame(zlib.compress(command, wbits=-15) + b"\0", first=0xC0),
        "a block without compression": frame(
            bytes([0, len(command), 0, 255 - len(command), 255]) + command + b"\0", first=0xC0),
        "blocks without content before it": frame(b"\0\0\0\xff\xff" * 1000 + ping, first=0xC0),
    }.items():
        client = Wire(server.port, offer)
        client.socket.sendall(data)
        check(f"{name} is a message", answers(client, 0))
    check("one that has looked on is served", answers(bystander))
    crowd = [Wire(server.port, offer) for _ in range(16)]
    for client in crowd:
        client.socket.sendall(frame(zeros, first=0xC0))
    codes = []
    for client in crowd:
        try:
            while True:
                client.recv()
        except Closed as error:
            codes.append(error.args[0])
        client.close()
    check("16 bombs at once are closed with 1009", codes == [1009] * 16, sorted(set(codes)))


def answers(client, asks=1):
    """Whether a client gets an answer to a ping, which it sends or has sent."""
    try:
        if asks:
            client.send('{"id":1,"type":"ping"}')
        while '"id":1,' not in (message := client.recv()):
            pass
        return '"ok"' in message
    except (Closed, OSError):
        return False
    finally:
        client.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    seed = random.randrange(1 << 32)
    random.seed(seed)
    folder = tempfile.mkdtemp(prefix="deflate-")
    server = Server(options.binary, folder, "--compression", "all")
    plain = Server(options.binary, folder)
    few = 10 if options.quick else 1
    try:
        print(f"Values there and back (seed {seed}):")
        # What is allocated once is allocated now.
        try_client("by hand, all sizes", server, [lambda: Wire(server.port, "permessage-deflate")] * 3, SIZES, 1000)
        at_first = server.memory()
        by_hand = [lambda offer=offer_of(given): Wire(server.port, offer) for given in combinations((None, True, *BITS))]
        referring = try_client("by hand", server, by_hand[::few], SIZES)
        check("messages refer to those before them", referring > 0)
        by_library = [lambda given=given: Websockets(server.port, **given) for given in combinations((None, True, *BITS[1:]))]
        try_client(f"websockets {websockets.__version__}", server, by_library[::few], SIZES[1::2])
        try_client("the same, many", server, by_library[:3], SIZES, 1000)
        by_aiohttp = [lambda bits=bits: Aiohttp(server.port, bits) for bits in BITS[1:]]
        try_client(f"aiohttp {aiohttp.__version__}", server, by_aiohttp, SIZES, 1000)
        try_node(server, SIZES)
        try_chromium(server, SIZES, folder)
        held = server.memory()
        check("the server holds no more", held < at_first + 24 * MIB, f"{at_first // MIB} MiB, then {held // MIB} MiB")
        print("Offers:")
        try_offers(server)
        print("What breaks it:")
        most = server.memory("VmHWM")
        try_malformed(server, plain)
        check("bombs take no memory", server.memory("VmHWM") < most + 64 * MIB and server.memory() < held + 24 * MIB,
              f"{held // MIB} MiB before, {server.memory() // MIB} MiB after, "
              f"{server.memory('VmHWM') // MIB} MiB at most, {most // MIB} MiB before")
    finally:
        server.stop()
        plain.stop()
    check("the server's log warns of nothing", os.path.getsize(server.log) == 0, f"{os.path.getsize(server.log)} bytes")
    if FAILURES:
        sys.exit(f"{len(FAILURES)} wrong. See {folder}.")
    shutil.rmtree(folder)


main()
