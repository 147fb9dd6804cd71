#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks a cluster in many ways while it is written to and watched, and checks that nothing that was told is lost.

    python3 Tests/Cluster/faults.py .build/release/signal-server --seconds 60 [--engines 1|3] [--nodes 3] [--seed N] [--machines]

A checker beside the cluster: it knows only what the nodes have told it. Each writer owns a counter and appends to it on any
node, on the condition that nobody else has (If-Match), so that a write that was lost, or carried out twice, is seen at once.
Watchers follow all counters at one node after another, resuming by cursor, and must hear of every change exactly once, in
the same order at all nodes. Nodes and engines are killed, stopped for a while, and started again. With --machines, which needs root
and as many engines as nodes, each node and its engine are in a network namespace of their own, and networks are cut between these:
one machine from all others, or two from each other, while clients reach all of them. Exits with 1 and says what is wrong when
something is; with 77 and one line when there is no nats-server (in PATH, or named by NATS_SERVER).
"""

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HOST = "127.0.0.1"


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Process:
    """A program that is started, stopped, killed and started again."""

    def __init__(self, name, command, log):
        self.name, self.command, self.log = name, command, log
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def send(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        if self.process:
            self.process.wait()

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None


class Network:
    """Machines that reach each other over a bridge, each a network namespace; made and removed with ip(8)."""

    def __init__(self, count):
        self.name = f"sf{os.getpid() % 10000}"
        self.prefix = f"10.213.{os.getpid() % 250 + 1}"
        self.count = count
        self.cuts = set()
        try:
            self.ip("link", "add", self.name, "type", "bridge")
            self.ip("address", "add", f"{self.prefix}.1/24", "dev", self.name)
            self.ip("link", "set", self.name, "up")
            for index in range(count):
                space, cable = self.space(index), f"{self.name}v{index}"
                self.ip("netns", "add", space)
                self.ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
                self.ip("link", "set", cable, "master", self.name, "up")
                self.ip("-n", space, "address", "add", f"{self.address(index)}/24", "dev", "eth0")
                self.ip("-n", space, "link", "set", "eth0", "up")
                self.ip("-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.end()
            raise

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True)

    def space(self, index):
        return f"{self.name}m{index}"

    def address(self, index):
        return f"{self.prefix}.{index + 2}"

    def command(self, index, command):
        return ["ip", "netns", "exec", self.space(index), *command]

    def cut(self, a, b):
        """Nothing passes between two machines any more."""
        for one, other in ((a, b), (b, a)):
            if (one, other) not in self.cuts:
                self.ip("-n", self.space(one), "route", "add", "blackhole", self.address(other) + "/32")
                self.cuts.add((one, other))

    def mend(self):
        for one, other in self.cuts:
            self.ip("-n", self.space(one), "route", "del", "blackhole", self.address(other) + "/32")
        self.cuts = set()

    def end(self):
        for index in range(self.count):
            subprocess.run(["ip", "netns", "del", self.space(index)], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.name], stderr=subprocess.DEVNULL)


class Cluster:
    def __init__(self, options, nats):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="cluster-faults-")
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.faults = []
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.random = random.Random(options.seed)
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w") as file:
            file.write("a secret of tests\n")
        os.chmod(secret, 0o600)
        self.network = Network(options.nodes) if options.machines else None
        self.hosts = [self.network.address(index) if self.network else HOST for index in range(options.nodes)]
        engines = [self.hosts[index] if self.network else HOST for index in range(options.engines)]
        clients = [4222 if self.network else free_port() for _ in engines]
        routes = [6222 if self.network else free_port() for _ in engines]

        def on_machine(index, command):
            return self.network.command(index, command) if self.network else command

        self.engines = []
        for index, host in enumerate(engines):
            path = os.path.join(self.folder, f"n{index}.conf")
            with open(path, "w") as file:
                file.write(f'server_name: n{index}\nlisten: "{host}:{clients[index]}"\nmax_payload: 8MB\n'
                           f'jetstream {{ store_dir: "{self.folder}/js{index}", sync_interval: {options.sync} }}\n')
                if options.engines > 1:
                    urls = ", ".join(f"nats://{host}:{port}" for host, port in zip(engines, routes))
                    file.write(f'cluster {{ name: faults, listen: "{host}:{routes[index]}", routes: [{urls}] }}\n')
            self.engines.append(Process(f"n{index}", on_machine(index, [nats, "-c", path]), self.log))
        self.ports = [8080 if self.network else free_port() for _ in range(options.nodes)]
        urls = ",".join(f"nats://{host}:{port}" for host, port in zip(engines, clients))
        self.nodes = [
            Process("abcdefgh"[index], on_machine(index, [
                options.binary, "serve", "--host", self.hosts[index], "--port", str(self.ports[index]), "--loops", "2",
                "--log-level", "info", "--access-open", "true", "--cluster-name", "faults",
                "--cluster-node", "abcdefgh"[index], "--cluster-engine", urls, "--cluster-secret-file", secret,
                "--cluster-replicas", str(options.engines), "--cluster-snapshot-every", options.snapshot_every]), self.log)
            for index in range(options.nodes)]

    def start(self):
        for engine in self.engines:
            engine.start()
        time.sleep(0.5)
        for node in self.nodes:
            node.start()
        for index in range(len(self.nodes)):
            self.await_ready(index, 30)

    def await_ready(self, index, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.ask(index, "GET", "/health/ready", timeout=1)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.faults.append("not ready")
        raise SystemExit(f"node {self.nodes[index].name} was not ready in {seconds} s: see {self.folder}/log")

    def ask(self, index, method, path, body=None, headers=None, timeout=12):
        connection = http.client.HTTPConnection(self.hosts[index], self.ports[index], timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def verb(self, index, name):
        url = f"http://{self.hosts[index]}:{self.ports[index]}"
        return subprocess.run([self.options.binary, "cluster", name, "--server", url], capture_output=True, check=False)

    def note(self, fault):
        with self.lock:
            self.faults.append(fault)
        print("WRONG:", fault, flush=True)

    def leader(self):
        for index in range(len(self.nodes)):
            try:
                status = json.loads(self.ask(index, "GET", "/health/ready", timeout=1)[2]).get("cluster", {})
                for other, node in enumerate(self.nodes):
                    if node.name == status.get("leader"):
                        return other
            except (OSError, ValueError):
                pass
        return None

    def end(self):
        for process in self.nodes + self.engines:
            process.send(signal.SIGCONT)
            process.kill()
        if self.network:
            self.network.end()
        self.log.close()
        if not self.faults:
            shutil.rmtree(self.folder, ignore_errors=True)


class Writer(threading.Thread):
    """Owns a counter: each write is its next number, if nobody else has written."""

    def __init__(self, cluster, number):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.path = f"/properties/counters/w{number}"
        self.value, self.tag = 0, None
        self.acknowledged, self.unknown, self.refused = 0, 0, 0
        # Numbers whose write may still be carried out.
        self.open = set()
        self.longest = 0.0

    def run(self):
        generator = random.Random(self.cluster.options.seed * 100 + self.number)
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

    def __init__(self, cluster, writers, number):
        super().__init__(daemon=True)
        self.cluster, self.writers, self.number = cluster, writers, number
        self.answered, self.refused = 0, 0

    def run(self):
        generator = random.Random(self.cluster.options.seed * 1000 + self.number)
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
    options = cluster.options
    kinds = ["kill leader", "kill node", "stop leader", "stop node", "term leader", "step down leader"]
    if options.engines > 1:
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
    parser.add_argument("--snapshot-every", default="1MiB")
    parser.add_argument("--calm", action="store_true", help="break nothing")
    options = parser.parse_args()
    if options.machines and options.engines != options.nodes:
        parser.error("--machines needs as many engines as nodes")
    nats = os.environ.get("NATS_SERVER") or shutil.which("nats-server")
    if not nats:
        print("there is no nats-server, in PATH or named by NATS_SERVER: skipped")
        return 77
    print(f"seed {options.seed}", flush=True)
    cluster = Cluster(options, nats)
    try:
        begin = time.monotonic()
        cluster.start()
        print(f"{options.nodes} nodes are ready after {time.monotonic() - begin:.1f} s", flush=True)
        writers = [Writer(cluster, number) for number in range(options.writers)]
        watchers = [Watcher(cluster, number) for number in range(3)]
        readers = [Reader(cluster, writers, number) for number in range(2)]
        threads = watchers + writers + readers
        for thread in threads:
            thread.start()
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
