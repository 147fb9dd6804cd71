#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks a cluster in many ways while it is written to and watched, and checks that nothing that was told is lost.

    python3 Tests/Cluster/faults.py .build/release/signal-server --seconds 60 [--engines 1|3] [--nodes 3] [--seed N] [--machines]
        [--other binary] [--flood 10000]

A checker beside the cluster: it knows only what the nodes have told it. Each writer owns a counter and appends to it on any
node, on the condition that nobody else has (If-Match), so that a write that was lost, or carried out twice, is seen at once.
Watchers follow all counters at one node after another, resuming by cursor, and must hear of every change exactly once, in
the same order at all nodes. Nodes and engines are killed, stopped for a while, and started again. With --machines, which needs root
and as many engines as nodes, each node and its engine are in a network namespace of their own, and networks are cut between these:
one machine from all others, or two from each other, while clients reach all of them. With --flood, so many writes a second come on
top, whose writers do not wait for answers (flood.py). Exits with 1 and says what is wrong when
something is; with 77 and one line when there is no nats-server (in PATH, or named by NATS_SERVER).
"""

import argparse
import http.client
import json
import random
import signal
import sys
import threading
import time

from flood import Flood
from nodes import Cluster, find_engine


class Writer(threading.Thread):
    """Owns a counter: each write is its next number, if nobody else has written."""

    def __init__(self, cluster, number, seed):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.generator = random.Random(seed * 100 + number)
        self.path = f"/properties/counters/w{number}"
        self.value, self.tag = 0, None
        self.acknowledged, self.unknown, self.refused = 0, 0, 0
        # Numbers whose write may still be carried out.
        self.open = set()
        self.longest = 0.0

    def run(self):
        generator = self.generator
        last = time.monotonic()
        while not self.cluster.ends.is_set():
            index = generator.randrange(len(self.cluster.nodes))
            headers = {"If-Match": self.tag} if self.tag else {"If-None-Match": "*"}
            try:
                status, fields, body = self.cluster.ask(index, "PUT", self.path, str(self.value + 1), headers)
            except OSError:
                self.unknown += 1
                self.open.add(self.value + 1)
                self.find_out(generator, self.value + 1)
                continue
            if status in (201, 204):
                self.value += 1
                self.tag = fields["ETag"]
                self.acknowledged += 1
                self.longest = max(self.longest, time.monotonic() - last)
                last = time.monotonic()
            elif status == 503 and b'"no_leader"' in body:
                self.refused += 1
                time.sleep(0.02)
            elif status == 503 or status == 412 and self.value + 1 in self.open:
                self.unknown += 1
                self.open.add(self.value + 1)
                self.find_out(generator, self.value + 1)
            else:
                self.cluster.note(f"w{self.number}: {status} for {self.value + 1}: {body[:300]}")
                return

    def find_out(self, generator, tried):
        """What became of a write whose outcome is not known: once, if at all; it may also come later."""
        while not self.cluster.ends.is_set():
            time.sleep(0.02)
            try:
                # What this one reads is not older than what was decided before it.
                index = generator.randrange(len(self.cluster.nodes))
                path = f"/properties/barriers/w{self.number}?always=true"
                if self.cluster.ask(index, "PUT", path, "0", timeout=4)[0] not in (201, 204):
                    continue
                status, fields, body = self.cluster.ask(index, "GET", self.path, timeout=4)
            except OSError:
                continue
            value = int(body) if status == 200 else 0 if status == 404 else None
            if value is None:
                continue
            if value == tried:
                self.value, self.tag = tried, fields["ETag"]
            elif value != self.value:
                self.cluster.note(f"w{self.number}: {value} was read; {self.value} was acknowledged, {tried} was tried")
            return


class Reader(threading.Thread):
    """Asks any node for what some writer has been acknowledged, or more: by its cursor, or as fresh."""

    def __init__(self, cluster, writers, seed):
        super().__init__(daemon=True)
        self.cluster, self.writers = cluster, writers
        self.generator = random.Random(seed)
        self.answered, self.refused = 0, 0

    def run(self):
        generator = self.generator
        while not self.cluster.ends.is_set():
            writer = generator.choice(self.writers)
            value, tag = writer.value, writer.tag
            query = f"at={tag.strip(chr(34))}" if tag and generator.random() < 0.5 else "fresh=true"
            # What is acknowledged between the two lines above is newer than the value: more is seen than asked for.
            index = generator.randrange(len(self.cluster.nodes))
            try:
                status, _, body = self.cluster.ask(index, "GET", f"{writer.path}?{query}")
            except OSError:
                continue
            if status in (200, 404):
                self.answered += 1
                if (int(body) if status == 200 else 0) < value:
                    self.cluster.note(f"{query} at {self.cluster.nodes[index].name}: {body} of w{writer.number}, "
                                      f"of which {value} was acknowledged before")
            elif status == 503:
                self.refused += 1
                time.sleep(0.02)
            elif status != 400 or query == "fresh=true":
                self.cluster.note(f"{query}: {status}: {body[:300]}")
            time.sleep(0.005)


class Watcher(threading.Thread):
    """Hears of every change at one node, and resumes at another one when the stream breaks."""

    def __init__(self, cluster, number):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.cursor, self.events, self.values = None, [], {}
        self.resumed, self.resets = 0, 0
        self.revision = 0
        self.is_snapshot = False

    def run(self):
        index = self.number
        while not self.cluster.ends.is_set():
            index = (index + 1) % len(self.cluster.nodes)
            try:
                self.listen(index)
            except (OSError, ValueError):
                time.sleep(0.05)

    def listen(self, index):
        connection = http.client.HTTPConnection(self.cluster.hosts[index], self.cluster.ports[index], timeout=3)
        try:
            headers = {"Last-Event-ID": self.cursor} if self.cursor else {}
            self.is_snapshot = not self.cursor
            connection.request("GET", "/events?match=counters/**&bookmark=1000", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(str(response.status))
            if self.cursor:
                self.resumed += 1
            event, data, name = {}, [], None
            end = time.monotonic() + 4
            while not self.cluster.ends.is_set() and time.monotonic() < end:
                line = response.readline()
                if not line:
                    return
                line = line.decode().rstrip("\r\n")
                if line.startswith("data:"):
                    data.append(line[5:].strip())
                elif line.startswith("id:"):
                    name = line[3:].strip()
                elif not line:
                    if data:
                        self.take(json.loads("\n".join(data)))
                    if name:
                        self.cursor = name
                    data, name = [], None
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def take(self, event):
        kind = event.get("type")
        if kind == "reset":
            self.resets += 1
            if self.cluster.network and event.get("reason") == "future":
                # A node that is cut off does not have yet what was heard elsewhere, and shows what it has: the present
                # state first, in the order of paths.
                self.revision, self.values, self.is_snapshot = 0, {}, True
            else:
                self.cluster.note(f"watcher {self.number} was reset: {event}")
        if kind == "live":
            self.is_snapshot = False
        if kind != "didSet" or "path" not in event:
            return
        path, value, revision = event["path"], event["value"], event["revision"]
        if not self.is_snapshot:
            if revision <= self.revision:
                self.cluster.note(f"watcher {self.number}: revision {revision} after {self.revision}")
            if self.values.get(path, value - 1) + 1 != value:
                self.cluster.note(f"watcher {self.number}: {path} {value} after {self.values.get(path)}")
            self.revision = revision
            self.events.append((revision, path, value))
        else:
            self.revision = max(self.revision, revision)
        self.values[path] = value


def wound(cluster, generator):
    """Does one thing to the cluster, and undoes it after a while."""
    kinds = ["kill leader", "kill node", "stop leader", "stop node", "term leader", "step down leader"]
    if len(cluster.engines) > 1:
        kinds += ["kill engine", "stop engine"]
    else:
        kinds += ["restart engine"]
    if cluster.network:
        kinds += ["cut off leader", "cut off node", "cut two"]
    kind = generator.choice(kinds)
    leader = cluster.leader()
    index = leader if "leader" in kind and leader is not None else generator.randrange(len(cluster.nodes))
    node = cluster.nodes[index]
    engine = generator.choice(cluster.engines)
    print(f"  {kind} ({engine.name if 'engine' in kind else node.name})", flush=True)
    if kind.startswith("kill ") and "engine" not in kind:
        node.kill()
        time.sleep(generator.uniform(0, 2))
        node.start()
        cluster.await_ready(index, 30)
    elif kind.startswith("step down"):
        outcome = cluster.verb(index, "step-down")
        if outcome.returncode != 0:
            print(f"    {outcome.stderr.decode().strip()}", flush=True)
        # Who leads may have changed meanwhile, and a connection may break: a refusal of another kind is wrong.
        if outcome.returncode == 1 and b"decides changes" not in outcome.stderr:
            cluster.note(f"cluster step-down: {outcome.stderr}")
    elif kind.startswith("term"):
        node.send(signal.SIGTERM)
        node.process.wait(timeout=30)
        node.start()
        cluster.await_ready(index, 30)
    elif kind.startswith("stop ") and "engine" not in kind:
        node.send(signal.SIGSTOP)
        time.sleep(generator.uniform(0.5, 4))
        node.send(signal.SIGCONT)
        time.sleep(0.5)
        if not node.is_running:
            node.start()
            cluster.await_ready(index, 30)
    elif kind.startswith("cut"):
        others = [other for other in range(len(cluster.nodes)) if other != index]
        for other in others if "off" in kind else others[:1]:
            cluster.network.cut(index, other)
        time.sleep(generator.uniform(0.5, 8))
        cluster.network.mend()
        time.sleep(0.5)
        for other, each in enumerate(cluster.nodes):
            if not each.is_running:
                each.start()
                cluster.await_ready(other, 60)
    elif kind == "stop engine":
        engine.send(signal.SIGSTOP)
        time.sleep(generator.uniform(0.5, 3))
        engine.send(signal.SIGCONT)
    else:
        engine.kill()
        time.sleep(generator.uniform(0, 1))
        engine.start()
    return kind


def check(cluster, writers, watchers):
    """What all nodes say in the end."""
    lists = []
    for index, node in enumerate(cluster.nodes):
        if not node.is_running:
            node.start()
        cluster.await_ready(index, 30)
    # Everybody has heard of this when it has arrived everywhere.
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if cluster.ask(0, "PUT", "/properties/barriers/end?always=true", "1")[0] in (201, 204):
                break
        except OSError:
            pass
        time.sleep(0.2)
    time.sleep(1)
    for index, node in enumerate(cluster.nodes):
        status = cluster.verb(index, "status")
        if status.returncode != 0 or f"node      {node.name}, ".encode() not in status.stdout:
            cluster.note(f"cluster status of {node.name}: {status.stdout} {status.stderr}")
        _, fields, body = cluster.ask(index, "GET", "/properties?match=counters/**&limit=1000")
        lists.append(json.loads(body))
    if any(each != lists[0] for each in lists[1:]):
        cluster.note(f"the nodes have different properties: {[json.dumps(each)[:300] for each in lists]}")
    values = {each["path"]: each["value"] for each in lists[0].get("properties", lists[0].get("items", []))}
    for writer in writers:
        there = values.get(f"counters/w{writer.number}", 0)
        if there not in (writer.value, writer.value + 1):
            cluster.note(f"w{writer.number}: {there} is there, {writer.value} was acknowledged")
    heard = {}
    for watcher in watchers:
        for revision, path, value in watcher.events:
            if heard.setdefault((revision, path), value) != value:
                cluster.note(f"revision {revision} of {path} is {value} at one node, and another value at another one")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--sync", default="always")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--machines", action="store_true", help="a network namespace for each, and cuts between them")
    parser.add_argument("--other", metavar="binary", help="another build: nodes are started with either, by chance")
    parser.add_argument("--flood", type=float, default=0, metavar="rate", help="writes a second on top, which do not wait")
    parser.add_argument("--snapshot-every", default="1MiB")
    parser.add_argument("--calm", action="store_true", help="break nothing")
    options = parser.parse_args()
    if options.machines and options.engines != options.nodes:
        parser.error("--machines needs as many engines as nodes")
    nats = find_engine()
    if not nats:
        return 77
    print(f"seed {options.seed}", flush=True)
    cluster = Cluster(options.binary, nats, options.nodes, options.engines, options.sync, machines=options.machines,
                      settings=["--cluster-snapshot-every", options.snapshot_every], other=options.other)
    try:
        begin = time.monotonic()
        cluster.start()
        print(f"{options.nodes} nodes are ready after {time.monotonic() - begin:.1f} s", flush=True)
        writers = [Writer(cluster, number, options.seed) for number in range(options.writers)]
        watchers = [Watcher(cluster, number) for number in range(3)]
        readers = [Reader(cluster, writers, options.seed * 1000 + number) for number in range(2)]
        threads = watchers + writers + readers
        for thread in threads:
            thread.start()
        flood = Flood(cluster, options.flood, options.seed) if options.flood else None
        if flood:
            flood.start()
        generator = random.Random(options.seed)
        end = time.monotonic() + options.seconds
        count = 0
        while time.monotonic() < end and not cluster.faults:
            if options.calm:
                time.sleep(0.2)
                continue
            time.sleep(generator.uniform(0.5, 2))
            wound(cluster, generator)
            count += 1
        time.sleep(2)
        cluster.ends.set()
        for thread in threads:
            thread.join(timeout=30)
        check(cluster, writers, watchers)
        if flood:
            flood.check()
            print(flood.said(options.seconds))
        acknowledged = sum(writer.acknowledged for writer in writers)
        print(f"{count} faults, {acknowledged} writes acknowledged ({acknowledged / options.seconds:.0f}/s), "
              f"{sum(writer.unknown for writer in writers)} unknown, {sum(writer.refused for writer in writers)} refused, "
              f"longest gap of a writer {max(writer.longest for writer in writers):.1f} s, "
              f"{sum(reader.answered for reader in readers)} reads of what is acknowledged, "
              f"{sum(reader.refused for reader in readers)} of them refused, "
              f"{sum(len(watcher.events) for watcher in watchers)} events heard, "
              f"{sum(watcher.resumed for watcher in watchers)} resumes, "
              f"{sum(watcher.resets for watcher in watchers)} resets")
        print("WRONG" if cluster.faults else "nothing is lost, doubled or different")
        return 1 if cluster.faults else 0
    finally:
        cluster.end()


if __name__ == "__main__":
    sys.exit(main())
