#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one bystander feels while clients ask for the most expensive things that the defaults allow.

    python3 Benchmarks/peers/hostile.py [--server .build/release/signal-server] [--seconds 5] [words …]

For each attack a server of its own, with one loop so that nobody is elsewhere: one connection sends GETs of a small property, 200 a second, each timed from when it
was due until its answer; another one is subscribed to a property that is set 50 times a second, and each event is timed
from its PUT. Printed are p50, p99 and max in milliseconds of both, and what the attackers got done.
"""

import argparse
import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servers import free_port  # noqa: E402

# How long an answer is waited for, in seconds, when the attack is over.
PATIENCE = 20

# About as much as one evaluation may cost, whatever the limit is.
HUGE = "value.all(a, value.all(b, a + b >= 0))"


def request(method, target, body=b"", fields=""):
    """The bytes of a request."""
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode() + body


def handshake():
    """The bytes that ask for a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (f"GET /events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode()


class Client:
    """A connection that sends requests one after the other."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)

    def send(self, *parts):
        """Sends a request, and does not wait."""
        self.socket.sendall(request(*parts))

    def receive(self):
        """The status and the content of the next answer."""
        status = self.file.readline()
        if not status:
            raise ConnectionError("the server has closed the connection")
        length = 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return int(status.split()[1]), self.file.read(length)

    def ask(self, *parts):
        """Sends a request and waits for its answer."""
        self.send(*parts)
        return self.receive()

    def upgrade(self):
        """Becomes a WebSocket."""
        self.socket.sendall(handshake())
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def command(self, **members):
        """Sends a command of the live protocol."""
        self.socket.sendall(frame(json.dumps(members).encode()))

    def message(self):
        """The next message of the live protocol."""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                raise ConnectionError("the server has closed the connection")
            length = head[1] & 127
            if length == 126:
                length = int.from_bytes(self.file.read(2), "big")
            elif length == 127:
                length = int.from_bytes(self.file.read(8), "big")
            payload = self.file.read(length)
            # Others are pings, which a measurement of seconds need not answer.
            if head[0] & 15 == 1 and len(payload) == length:
                return json.loads(payload)


def frame(payload):
    """A masked text frame; the mask is zero."""
    size = len(payload)
    if size < 126:
        return bytes([0x81, 0x80 | size, 0, 0, 0, 0]) + payload
    return bytes([0x81, 0x80 | 126]) + size.to_bytes(2, "big") + bytes(4) + payload


def quoted(expression):
    """An expression in a query."""
    return urllib.parse.quote(expression)


# Attacks: each prepares, and returns a function that goes on until it is told to stop, and says what it has done.


def fill(client, count):
    """Properties whose values are arrays, for filters to go through."""
    value = list(range(300))
    for first in range(0, count, 100):
        operations = [{"op": "set", "path": f"p/{n}", "value": value} for n in range(first, min(first + 100, count))]
        client.ask("POST", "/transactions", json.dumps({"operations": operations}).encode())


def again(*parts):
    """Asks for the same again and again."""

    def prepare(port):
        fill(Client(port), 300)

        def run(stop):
            client, count = Client(port), 0
            while not stop.is_set():
                client.ask(*parts)
                count += 1
            return f"{count} answers"

        return run

    return prepare


def subscribed(port, count, expression):
    """A connection with so many subscriptions, each its own expensive filter."""
    client = Client(port)
    client.upgrade()
    client.message()
    for number in range(count):
        client.command(id=number, type="subscribe", match="p/*", where=f"{expression} && {number} >= 0", initial=False)
    replies = 0
    while replies < count:
        replies += "id" in client.message()
    return client


def filters(connections):
    """Transactions of five sets beside connections with 128 expensive filters each."""

    def prepare(port):
        writer = Client(port)
        fill(writer, 5)
        held = [subscribed(port, 128, HUGE) for _ in range(connections)]
        for client in held:
            threading.Thread(target=drain, args=(client,), daemon=True).start()

        def run(stop):
            count = 0
            while not stop.is_set():
                value = [count] + list(range(300))
                operations = [{"op": "set", "path": f"p/{n}", "value": value} for n in range(5)]
                writer.ask("POST", "/transactions", json.dumps({"operations": operations}).encode())
                count += 1
            return f"{count} transactions, {len(held)} connections"

        return run

    return prepare


def drain(client):
    """Reads and throws away."""
    try:
        while client.socket.recv(1 << 16):
            pass
    except OSError:
        pass


def waits(port):
    """PUTs beside 100 requests that wait with an expensive condition."""
    writer = Client(port)
    value = list(range(300))
    writer.ask("PUT", "/properties/w", json.dumps(value).encode())
    target = f"/properties/w?until={quoted(f'{HUGE} && value[0] == -1')}&wait=5m"
    held = [Client(port) for _ in range(100)]
    for client in held:
        client.send("GET", target)

    def run(stop):
        count = 0
        while not stop.is_set():
            value[0] = count
            writer.ask("PUT", "/properties/w", json.dumps(value).encode())
            count += 1
        return f"{count} changes, {len(held)} waits"

    return run


def closing(port):
    """Connections with 128 subscriptions each that close at once."""
    number = 1000
    held = []
    for _ in range(number):
        client = Client(port)
        client.upgrade()
        client.message()
        client.socket.sendall(
            b"".join(
                frame(json.dumps({"id": n, "type": "subscribe", "match": f"q/{n}", "initial": False,
                                  "where": f"value + {len(held)} > 0"}).encode())
                for n in range(128)))
        held.append(client)
    for client in held:
        live = 0
        while live < 128:
            live += client.message()["type"] == "live"

    def run(stop):
        time.sleep(0.5)
        for client in held:
            client.file.close()
            client.socket.close()
        stop.wait()
        return f"{number} connections"

    return run


def patches(number):
    """JSON Patches that do as much as they may, on an array of 200 000 elements; from so many connections."""
    operations = [{"op": "test", "path": "/199999", "value": 0}] * 20
    return patching(number, [0] * 200_000, "application/json-patch+json", [json.dumps(operations).encode()])


def merges(port):
    """Merge patches that change every one of 50 000 members, and back."""
    documents = [json.dumps({str(name): value for name in reversed(range(50_000))}).encode() for value in (1, 2)]
    return patching(1, {str(name): 0 for name in range(50_000)}, "application/merge-patch+json", documents)(port)


def patching(number, value, kind, documents):
    """Connections that patch one large value again and again."""
    def attack(port):
        setter = Client(port)
        setter.ask("PUT", "/properties/big", json.dumps(value).encode())
        statuses = {}

        def one(stop):
            client, turn = Client(port), 0
            while not stop.is_set():
                document = documents[turn % len(documents)]
                status, _ = client.ask("PATCH", "/properties/big", document, f"Content-Type: {kind}\r\n")
                statuses[status] = statuses.get(status, 0) + 1
                turn += 1

        def run(stop):
            threads = [threading.Thread(target=one, args=(stop,), daemon=True) for _ in range(number)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return f"answers: {statuses}"

        return run

    return attack


ATTACKS = {
    "nothing": lambda port: lambda stop: (stop.wait(), "the bystander alone")[1],
    "list": again("GET", f"/properties?limit=1000&where={quoted(HUGE)}"),
    "explain": again("POST", "/expressions/explain", json.dumps({"where": HUGE}).encode()),
    "filters": filters(1),
    "filters-10": filters(10),
    "waits": waits,
    "patches": patches(1),
    "patches-10": patches(10),
    "merges": merges,
    "closing": closing,
}


def percentile(values, share):
    """The value that so many per cent are not above, in milliseconds."""
    values = sorted(values)
    return 1000 * values[min(len(values) - 1, int(len(values) * share / 100))] if values else float("nan")


def asking(client, stop, times):
    """Sends a GET each 5 ms, and notes how long after its time the answer was there."""
    due = time.monotonic()
    while not stop.is_set():
        due += 0.005
        time.sleep(max(0, due - time.monotonic()))
        client.ask("GET", "/properties/bystander")
        times.append(time.monotonic() - due)


def watching(clients, stop, times):
    """Sets a property each 20 ms, and notes how long after that the event was there."""
    watcher, setter = clients
    number = 0
    while not stop.is_set():
        number += 1
        begin = time.monotonic()
        setter.send("PUT", "/properties/watched", str(number).encode())
        while watcher.message().get("value") != number:
            pass
        times.append(time.monotonic() - begin)
        setter.receive()
        time.sleep(0.02)


def quietly(work, *arguments):
    """Ends with the server, when that is ended while somebody still waits."""
    try:
        work(*arguments)
    except (OSError, IndexError):
        pass


def measure(server, name, seconds):
    """One attack; prints its row."""
    port = free_port()
    process = subprocess.Popen(
        [server, "serve", "--port", str(port), "--loops", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                Client(port).ask("PUT", "/properties/bystander", b"1")
                break
            except OSError:
                time.sleep(0.05)
        # Bystanders that are established: a new connection waits behind other new ones.
        asker, watcher, setter = Client(port), Client(port), Client(port)
        for client in (asker, setter):
            client.ask("GET", "/properties/bystander")
        watcher.upgrade()
        watcher.message()
        watcher.command(id=1, type="subscribe", match="watched", initial=False)
        while watcher.message()["type"] != "live":
            pass
        attack = ATTACKS[name](port)
        stop, gets, events, done = threading.Event(), [], [], []
        threads = [
            threading.Thread(target=quietly, args=(asking, asker, stop, gets), daemon=True),
            threading.Thread(target=quietly, args=(watching, (watcher, setter), stop, events), daemon=True),
            threading.Thread(target=lambda: done.append(attack(stop)), daemon=True),
        ]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        # Who still waits has waited for longer than all that.
        for thread, times in zip(threads, (gets, events)):
            if thread.is_alive():
                times.append(PATIENCE)
        cells = [f"{percentile(times, share):.1f}" for times in (gets, events) for share in (50, 99, 100)]
        print(f"| `{name}` | " + " | ".join(cells) + f" | {done[0] if done else 'did not end'} |", flush=True)
    finally:
        process.kill()
        process.wait()


def main():
    """All attacks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=".build/release/signal-server")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("attacks", nargs="*", metavar="word", help=", ".join(ATTACKS))
    options = parser.parse_args()
    print("| Attack | GET p50 | p99 | max | event p50 | p99 | max | |")
    print("|---|--:|--:|--:|--:|--:|--:|---|", flush=True)
    for name in options.attacks or ATTACKS:
        measure(options.server, name, options.seconds)


if __name__ == "__main__":
    main()
