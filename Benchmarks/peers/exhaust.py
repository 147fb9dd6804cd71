#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a server does whose clients try to use up its memory.

    sudo python3 Benchmarks/peers/exhaust.py [--server .build/release/signal-server] [--memory 256] [words …]

For each attack, and for all of them at once, a server of its own in a control group (v1 or v2) with so many MiB: what
exceeds that is killed by the system. Meanwhile one connection sends GETs of a small property, 200 a second. Printed are the
most memory that the server had and what its own setting says, p50, p99 and max in milliseconds of the bystander, and how
the server refused. Without root the server is only told its limit, and nothing kills it.
"""

import argparse
import multiprocessing
import os
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Client, request  # noqa: E402
from servers import free_port  # noqa: E402

MIB = 1 << 20


class Group:
    """A control group with a limit of memory; without root, none."""

    def __init__(self, limit):
        self.unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        root = "/sys/fs/cgroup" if self.unified else "/sys/fs/cgroup/memory"
        self.path = f"{root}/signal-exhaust-{os.getpid()}-{time.monotonic_ns()}"
        try:
            os.mkdir(self.path)
            self.write("memory.max" if self.unified else "memory.limit_in_bytes", limit)
            if self.unified:
                self.write("memory.swap.max", 0)
        except OSError:
            self.path = None

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def join(self):
        """Called by the child before it becomes the server."""
        if self.path:
            self.write("cgroup.procs", os.getpid())

    def remove(self):
        if self.path:
            os.rmdir(self.path)


class Server:
    """A server with so much memory."""

    def __init__(self, binary, limit):
        self.group = Group(limit)
        self.port = free_port()
        flags = [] if self.group.path else ["--memory", f"{limit // 4 * 3}"]
        self.process = subprocess.Popen(
            [binary, "serve", "--port", str(self.port), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=self.group.join, text=True)
        self.process.stdout.readline()
        self.peak = 0
        self.log = []
        threading.Thread(target=self.read_log, daemon=True).start()
        threading.Thread(target=self.watch, daemon=True).start()

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line)

    def watch(self):
        while self.process.poll() is None:
            self.peak = max(self.peak, self.resident())
            time.sleep(0.005)

    def resident(self):
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096
        except (OSError, IndexError):
            return 0

    def is_alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.group.remove()


class Bystander(multiprocessing.Process):
    """Asks for a small property, 200 times a second, and times each answer from when it was due.

    A process of its own: the attackers' threads would let it wait for Python's lock.
    """

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.ends = multiprocessing.Event()
        self.times, self.sent = multiprocessing.Pipe(duplex=False)
        self.start()

    def run(self):
        client, times = Client(self.port), []
        due = time.monotonic()
        try:
            while not self.ends.is_set():
                status, _ = client.ask("GET", "/properties/bystander")
                assert status == 200
                times.append(time.monotonic() - due)
                due = max(due + 0.005, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))
        except OSError:
            pass
        self.sent.send(times)

    def stop(self):
        self.ends.set()
        times = self.times.recv()
        self.join()
        return times


def slow_socket(port):
    """A connection that takes little before it is read from."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    return connection


def upgrade(connection):
    """Makes a WebSocket of it, and takes the handshake and the hello."""
    connection.sendall(
        b"GET /events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    received = b""
    while b"hello" not in received:
        piece = connection.recv(4096)
        if not piece:
            raise ConnectionError("no handshake")
        received += piece


def frame(payload, opcode=1, is_last=True):
    """A masked frame, with a mask of zeros."""
    first = (0x80 if is_last else 0) | opcode
    if len(payload) < 126:
        return bytes([first, 0x80 | len(payload)]) + bytes(4) + payload
    if len(payload) < 1 << 16:
        return bytes([first, 0x80 | 126]) + struct.pack(">H", len(payload)) + bytes(4) + payload
    return bytes([first, 0x80 | 127]) + struct.pack(">Q", len(payload)) + bytes(4) + payload


def tolerant(action):
    """Does something that the server may end."""
    try:
        return action()
    except OSError:
        return None


VALUE = b'"' + b"v" * (MIB - 2) + b'"'


def bodies(port, kept):
    """250 unfinished bodies of 1 MiB."""
    for _ in range(250):
        def begin():
            connection = socket.create_connection(("127.0.0.1", port))
            kept.append(connection)
            connection.sendall(request("PUT", "/properties/a", VALUE)[:-1])
        tolerant(begin)


def messages(port, kept):
    """250 unfinished messages of 1 MiB."""
    for _ in range(250):
        def begin():
            connection = socket.create_connection(("127.0.0.1", port))
            kept.append(connection)
            upgrade(connection)
            connection.sendall(frame(b" " * (MIB - 1), is_last=False))
        tolerant(begin)


def slow_subscribers(port, kept, pattern):
    """300 connections that read nothing, each with a list of patterns of its own."""
    for index in range(300):
        def begin(index=index):
            connection = slow_socket(port)
            kept.append(connection)
            upgrade(connection)
            command = '{"id":1,"type":"subscribe","initial":false,"match":["%s","other/%d"]}' % (pattern, index)
            connection.sendall(frame(command.encode()))
        tolerant(begin)
    time.sleep(0.5)


def lists(port, kept):
    """Two PUTs of 1 MiB to 300 slow subscribers with different lists of patterns."""
    slow_subscribers(port, kept, "big/**")
    for index in range(2):
        tolerant(lambda index=index: Client(port).ask("PUT", f"/properties/big/{index}", VALUE))


def pieces(port, kept):
    """Transactions of a thousand values to 300 slow subscribers with different lists of patterns."""
    slow_subscribers(port, kept, "many/**")
    for turn in range(3):
        body = ",".join('{"op":"set","path":"many/%d","value":"%s"}' % (index, str(turn) * 900) for index in range(1000))
        tolerant(lambda body=body: Client(port).ask(
            "POST", "/transactions", ('{"operations":[' + body + "]}").encode(), "Content-Type: application/json\r\n"))


def pointers(port, kept):
    """Three PUTs of 1 MiB to one slow connection with 128 subscriptions that use a pointer."""
    def begin():
        connection = slow_socket(port)
        kept.append(connection)
        upgrade(connection)
        for index in range(128):
            connection.sendall(frame(
                b'{"id":%d,"type":"subscribe","initial":false,"match":"part/**","delivery":{"pointer":"/a"}}' % (index + 1)))
    tolerant(begin)
    time.sleep(0.5)
    for index in range(3):
        value = b'{"a":' + VALUE[:-10] + b'"}'
        tolerant(lambda index=index, value=value: Client(port).ask("PUT", f"/properties/part/{index}", value))


def values(port, _kept):
    """250 values of 1 MiB."""
    for index in range(250):
        tolerant(lambda index=index: Client(port).ask("PUT", f"/properties/value/{index}", VALUE))


def formulas(port, _kept):
    """A thousand formulas of half a MiB each; more is what one commit may compute."""
    body = b'"' + b"f" * (MIB // 4) + b'"'
    tolerant(lambda: Client(port).ask("PUT", "/properties/source", body))
    for turn in range(20):
        for index in range(50):
            tolerant(lambda index=index, turn=turn: Client(port).ask(
                "PUT", f"/properties/formula/{turn}/{index}",
                b"properties['source'] + properties['source']", "Content-Type: application/cel\r\n"))


def subscribers(port, kept):
    """4000 connections with 128 subscriptions each."""
    commands = b"".join(
        frame(b'{"id":%d,"type":"subscribe","initial":false,"match":"crowd/%d/*"}' % (index + 1, index))
        for index in range(128))
    for _ in range(4000):
        def begin():
            connection = slow_socket(port)
            kept.append(connection)
            connection.settimeout(5)
            upgrade(connection)
            connection.sendall(commands)
        tolerant(begin)


def answers(port, kept):
    """300 answers of 1 MiB that nobody reads."""
    tolerant(lambda: Client(port).ask("PUT", "/properties/answer", VALUE))
    for _ in range(300):
        def begin():
            connection = slow_socket(port)
            kept.append(connection)
            connection.sendall(request("GET", "/properties/answer") * 3)
        tolerant(begin)


ATTACKS = [bodies, messages, lists, pieces, pointers, values, formulas, subscribers, answers]


def run(binary, limit, attacks):
    """One row: what became of the server."""
    server = Server(binary, limit)
    client = Client(server.port)
    client.ask("PUT", "/properties/bystander", b"1")
    begin = server.resident()
    bystander = Bystander(server.port)
    kept = []

    def attacking(attack):
        # They would be on other machines: here they share the processors with the server and the bystander, and come last.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        attack(server.port, kept)

    threads = [threading.Thread(target=attacking, args=(attack,)) for attack in attacks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(1)
    times = bystander.stop()
    during = server.resident()
    for connection in kept:
        connection.close()
    time.sleep(2)
    after = server.resident()
    alive = server.is_alive()
    short = sum("memory is short" in line for line in server.log)
    server.stop()
    name = attacks[0].__name__ if len(attacks) == 1 else "all at once"
    times.sort()
    def quantile(share):
        return times[min(len(times) - 1, int(len(times) * share))] * 1000 if times else float("nan")
    print(
        f"{name:12} {'alive' if alive else 'KILLED':7} {begin // MIB:5} {server.peak // MIB:5} {during // MIB:7} {after // MIB:6}"
        f" {quantile(0.5):8.1f} {quantile(0.99):8.1f} {quantile(1):8.1f} {short:6}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=".build/release/signal-server")
    parser.add_argument("--memory", type=int, default=256, help="MiB of the control group")
    parser.add_argument("words", nargs="*", help="of the attacks to try")
    arguments = parser.parse_args()
    chosen = [attack for attack in ATTACKS if not arguments.words or attack.__name__ in arguments.words]
    print(f"{arguments.memory} MiB; memory in MiB, the bystander's times in ms")
    print("attack       server  begin  peak  during  after      p50      p99      max  short")
    for attack in chosen:
        run(arguments.server, arguments.memory * MIB, [attack])
    if len(chosen) > 1:
        run(arguments.server, arguments.memory * MIB, chosen)


if __name__ == "__main__":
    main()
