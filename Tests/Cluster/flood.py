# SPDX-License-Identifier: MIT
"""Many writes a second at a cluster that is being broken, and watchers who have to hear of each of them once.

Each writer sends numbered values over a WebSocket to one node after another without waiting for answers; none is sent twice. So
each number that was acknowledged has to be told exactly once, everywhere as the revision that its writer was told; one whose fate
is unknown at most once; and one that was refused never.
"""

import array
import base64
import json
import os
import random
import select
import socket
import threading
import time

# Paths of one writer.
PATHS = 50
# Writes of one writer that are under way.
WINDOW = 256

UNKNOWN, ACKNOWLEDGED, REFUSED = 0, 1, 2


class Live:
    """A WebSocket that sends and takes many messages at once."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=3)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /events?batch=true HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise OSError(head.split(b"\r\n")[0].decode())
        self.buffer = bytearray(rest)

    def fill(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise OSError("the server has closed the connection")
        self.buffer += data

    def send(self, *messages, opcode=1):
        """Sends messages, whose masks are zero."""
        frames = bytearray()
        for message in messages:
            frames.append(0x80 | opcode)
            if len(message) < 126:
                frames.append(0x80 | len(message))
            else:
                frames.append(0x80 | 126)
                frames += len(message).to_bytes(2, "big")
            frames += bytes(4)
            frames += message
        self.socket.sendall(frames)

    def receive(self, seconds):
        """All messages that have come, after at most so long."""
        messages = self.take()
        if not messages and select.select([self.socket], [], [], seconds)[0]:
            self.fill()
            messages = self.take()
        return messages

    def take(self):
        messages, buffer, start = [], self.buffer, 0
        while len(buffer) >= start + 2:
            length, body = buffer[start + 1], start + 2
            if length == 126:
                length, body = int.from_bytes(buffer[body:body + 2], "big"), body + 2
            elif length == 127:
                length, body = int.from_bytes(buffer[body:body + 8], "big"), body + 8
            if len(buffer) < body + length:
                break
            opcode, payload = buffer[start] & 15, bytes(buffer[body:body + length])
            start = body + length
            if opcode == 1:
                messages += json.loads(b"[" + payload.replace(b"\n", b",") + b"]")
            elif opcode == 8:
                raise OSError(f"closed: {payload}")
            elif opcode == 9:
                self.send(payload, opcode=10)
        del buffer[:start]
        return messages

    def close(self):
        self.socket.close()


class FloodWriter(threading.Thread):
    """Sends numbers at a rate, and notes what it is told of each."""

    def __init__(self, cluster, number, rate, seed):
        super().__init__(daemon=True)
        self.cluster, self.number, self.rate = cluster, number, rate
        self.generator = random.Random(seed * 100 + 50 + number)
        # What became of each number, from 1, and as which revision.
        self.states, self.revisions = bytearray(1), array.array("Q", [0])
        self.acknowledged, self.refused = 0, 0

    def run(self):
        while not self.cluster.ends.is_set():
            index = self.generator.randrange(len(self.cluster.nodes))
            try:
                live = Live(self.cluster.hosts[index], self.cluster.ports[index])
            except OSError:
                time.sleep(0.05)
                continue
            try:
                self.write(live, time.monotonic() + self.generator.uniform(1, 4))
            except OSError:
                pass
            finally:
                live.close()

    def write(self, live, end):
        begin, sent, last = time.monotonic(), 0, 0
        under_way = 0
        while True:
            now = time.monotonic()
            ends = now >= end or self.cluster.ends.is_set()
            # Whoever has not answered by then may still do what it was asked for.
            if ends and (under_way == 0 or now >= end + 2):
                return
            due = 0 if ends else min(WINDOW - under_way, int((now - begin) * self.rate) - sent)
            if due > 0:
                first = len(self.states)
                self.states += bytes(due)
                self.revisions.extend([0] * due)
                sent, under_way = sent + due, under_way + due
                live.send(*(b'{"id":%d,"type":"set","path":"flood/%d/%d","value":%d}' %
                            (number, self.number, number % PATHS, number) for number in range(first, first + due)))
            for message in live.receive(0.005):
                if "id" not in message:
                    continue
                under_way -= 1
                last = self.take(message, last)

    def take(self, message, last):
        """Notes a reply, and returns the revision that the next one of the connection is above."""
        number = message["id"]
        if message["type"] == "ok":
            self.states[number], self.revisions[number] = ACKNOWLEDGED, message["revision"]
            self.acknowledged += 1
            if message["revision"] <= last:
                self.cluster.note(f"flood {self.number}: {number} is revision {message['revision']}, behind {last}")
            return message["revision"]
        code = message.get("error", {}).get("code")
        if code == "no_leader":
            self.states[number] = REFUSED
            self.refused += 1
        elif code != "no_answer":
            self.cluster.note(f"flood {self.number}: {message}")
        return last

    @property
    def unknown(self):
        return len(self.states) - 1 - self.acknowledged - self.refused


class FloodWatcher(threading.Thread):
    """Hears of all of it at one node, and resumes at another one after a while, or when the connection breaks."""

    def __init__(self, cluster, number, writers, seed):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.generator = random.Random(seed * 100 + 80 + number)
        self.heard = [array.array("Q") for _ in range(writers)]
        self.epoch, self.revision = None, 0
        # Behind the first and up to the second of these, events may have been left out: the state was sent instead.
        self.omitted = []
        self.is_snapshot = False
        self.events, self.resumed, self.resets = 0, 0, 0
        # Where it ends.
        self.last = None

    @property
    def is_done(self):
        return self.last is not None and self.revision >= self.last

    def run(self):
        index = self.number
        while not self.is_done:
            index = (index + 1) % len(self.cluster.nodes)
            try:
                self.listen(index)
            except OSError:
                time.sleep(0.05)

    def listen(self, index):
        live = Live(self.cluster.hosts[index], self.cluster.ports[index])
        try:
            end = time.monotonic() + self.generator.uniform(2, 10)
            request = {"id": 1, "type": "subscribe", "match": "flood/**", "oldValue": False, "bookmark": 1,
                       "fields": ["path", "value", "revision"], "delivery": {"mode": "all"}}
            if self.epoch:
                request["since"] = f"{self.epoch}.{self.revision}"
                self.resumed += 1
            self.is_snapshot = not self.epoch
            if self.is_snapshot:
                self.omitted.append([self.revision, None])
            live.send(json.dumps(request).encode())
            while time.monotonic() < end and not self.is_done:
                for message in live.receive(0.2):
                    self.take(message)
        finally:
            live.close()

    def take(self, message):
        kind = message["type"]
        if kind == "didSet":
            self.take_set(message)
        elif kind == "hello":
            self.heard_of(message["epoch"])
        elif kind == "live":
            if self.is_snapshot:
                self.omitted[-1][1] = message["revision"]
                self.revision = message["revision"]
            self.is_snapshot = False
        elif kind == "bookmark":
            self.revision = max(self.revision, message["revision"])
        elif kind == "reset":
            self.resets += 1
            if not (self.cluster.network and message["reason"] == "future"):
                self.cluster.note(f"flood watcher {self.number} was reset: {message}")
            # A node that is cut off does not have yet what was heard elsewhere, and shows what it has.
            self.omitted.append([min(self.revision, message["revision"]), None])
            self.is_snapshot = True
        elif kind != "ok":
            self.cluster.note(f"flood watcher {self.number}: {message}")

    def heard_of(self, epoch):
        if self.epoch not in (None, epoch):
            self.cluster.note(f"flood watcher {self.number}: the epoch is {epoch}, and was {self.epoch}")
        self.epoch = epoch

    def take_set(self, message):
        revision = message["revision"]
        if self.is_snapshot:
            return
        if revision <= self.revision:
            self.cluster.note(f"flood watcher {self.number}: revision {revision} behind {self.revision}")
        self.revision = revision
        parts = message["path"].split("/")
        if len(parts) < 3:
            return
        self.events += 1
        heard, number = self.heard[int(parts[1])], message["value"]
        if number >= len(heard):
            heard.extend([0] * (number + 1000 - len(heard)))
        # Only behind a reset is anything told twice, and then as it was told before.
        if heard[number] != 0 and (heard[number] != revision or self.resets == 0):
            self.cluster.note(f"flood watcher {self.number}: {number} of writer {parts[1]} is revision {revision}, and was "
                              f"{heard[number]}")
        heard[number] = revision

    def may_lack(self, revision):
        return any(begin < revision <= (end or revision) for begin, end in self.omitted)


class Flood:
    """Writers and watchers."""

    def __init__(self, cluster, rate, seed, writers=4, watchers=3):
        self.cluster = cluster
        self.writers = [FloodWriter(cluster, number, rate / writers, seed) for number in range(writers)]
        self.watchers = [FloodWatcher(cluster, number, writers, seed) for number in range(watchers)]

    def start(self):
        for watcher in self.watchers:
            watcher.start()
        time.sleep(0.5)
        for writer in self.writers:
            writer.start()

    def check(self):
        """Waits until everybody has heard everything, and compares it with what the writers were told."""
        for writer in self.writers:
            writer.join(timeout=30)
        revision = None
        end = time.monotonic() + 30
        while revision is None and time.monotonic() < end:
            try:
                status, fields, _ = self.cluster.ask(0, "PUT", "/properties/flood/end?always=true", "1")
                if status in (201, 204):
                    revision = int(fields["ETag"].strip('"').split(".")[1])
            except OSError:
                pass
            if revision is None:
                time.sleep(0.2)
        for watcher in self.watchers:
            watcher.last = revision
        for watcher in self.watchers:
            watcher.join(timeout=60)
            if not watcher.is_done:
                self.cluster.note(f"flood watcher {watcher.number} has got to {watcher.revision}, and not to {revision}")
        for writer in self.writers:
            for watcher in self.watchers:
                self.compare(writer, watcher)

    def compare(self, writer, watcher):
        heard = watcher.heard[writer.number]
        heard.extend([0] * (len(writer.states) - len(heard)))
        faults = 0
        for number, (state, revision) in enumerate(zip(writer.states, writer.revisions)):
            told = heard[number]
            if state == ACKNOWLEDGED:
                is_right = told == revision or told == 0 and watcher.may_lack(revision)
            elif state == REFUSED:
                is_right = told == 0
            else:
                # All who have heard of it have heard of it as the same revision.
                if told and not revision:
                    writer.revisions[number] = told
                is_right = told == 0 or told == writer.revisions[number]
            if not is_right:
                faults += 1
                if faults <= 5:
                    self.cluster.note(f"{number} of flood {writer.number}, state {state}: revision {revision}; watcher {watcher.number} "
                                      f"has heard of {told}")

    def said(self, seconds):
        acknowledged = sum(writer.acknowledged for writer in self.writers)
        return (f"flood: {acknowledged} writes acknowledged ({acknowledged / seconds:.0f}/s), "
                f"{sum(writer.unknown for writer in self.writers)} unknown, {sum(writer.refused for writer in self.writers)} refused, "
                f"{sum(watcher.events for watcher in self.watchers)} events heard, "
                f"{sum(watcher.resumed for watcher in self.watchers)} resumes, "
                f"{sum(watcher.resets for watcher in self.watchers)} resets")
