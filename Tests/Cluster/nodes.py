# SPDX-License-Identifier: MIT
"""Clusters of nodes and engines that are started, broken and asked, for programs that test or measure them."""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

HOST = "127.0.0.1"


def find_engine():
    """The server of NATS that is in PATH, or named by NATS_SERVER; says so when there is none."""
    nats = os.environ.get("NATS_SERVER") or shutil.which("nats-server")
    if not nats:
        print("there is no nats-server, in PATH or named by NATS_SERVER: skipped")
    return nats


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Process:
    """A program that is started, stopped, killed and started again; with several commands each time by any of them."""

    def __init__(self, name, log, *commands):
        self.name, self.commands, self.log = name, commands, log
        self.process = None

    def start(self):
        self.process = subprocess.Popen(random.choice(self.commands), stdout=self.log, stderr=self.log)

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
    """Nodes and their engines, in a folder of their own, and what was found to be wrong about them."""

    def __init__(self, binary, nats, nodes=3, engines=1, sync="always", loops=2, machines=False, settings=(), other=None):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="cluster-")
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.faults = []
        self.lock = threading.Lock()
        self.ends = threading.Event()
        # What is done when everything has ended, before the folder is removed.
        self.at_end = []
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w") as file:
            file.write("a secret of tests\n")
        os.chmod(secret, 0o600)
        self.network = Network(nodes) if machines else None
        self.hosts = [self.network.address(index) if self.network else HOST for index in range(nodes)]
        addresses = [self.hosts[index] if self.network else HOST for index in range(engines)]
        self.engine_ports = [4222 if self.network else free_port() for _ in addresses]
        routes = [6222 if self.network else free_port() for _ in addresses]

        def on_machine(index, command):
            return self.network.command(index, command) if self.network else command

        self.engines = []
        for index, host in enumerate(addresses):
            path = os.path.join(self.folder, f"n{index}.conf")
            with open(path, "w") as file:
                file.write(f'server_name: n{index}\nlisten: "{host}:{self.engine_ports[index]}"\nmax_payload: 8MB\n'
                           f'jetstream {{ store_dir: "{self.store(index)}", sync_interval: {sync} }}\n')
                if engines > 1:
                    urls = ", ".join(f"nats://{host}:{port}" for host, port in zip(addresses, routes))
                    file.write(f'cluster {{ name: faults, listen: "{host}:{routes[index]}", routes: [{urls}] }}\n')
            self.engines.append(Process(f"n{index}", self.log, on_machine(index, [nats, "-c", path])))
        if self.network:
            # All clients come from one address, which is none of a node's own.
            names = ("requests", "bytes", "connections", "arrivals", "subscriptions")
            settings = [*settings, *(part for name in names for part in (f"--limits-address-{name}", "0"))]
        self.ports = [8080 if self.network else free_port() for _ in range(nodes)]
        urls = ",".join(f"nats://{host}:{port}" for host, port in zip(addresses, self.engine_ports))
        self.nodes = [
            Process("abcdefgh"[index], self.log, *(on_machine(index, [
                program, "serve", "--host", self.hosts[index], "--port", str(self.ports[index]), "--loops", str(loops),
                "--log-level", "info", "--access-open", "true", "--cluster-name", "faults",
                "--cluster-node", "abcdefgh"[index], "--cluster-engine", urls, "--cluster-secret-file", secret,
                "--cluster-replicas", str(engines), *settings]) for program in filter(None, [binary, other])))
            for index in range(nodes)]

    def store(self, index):
        """The folder in which an engine keeps the log."""
        return os.path.join(self.folder, f"js{index}")

    def start(self, nodes=None):
        """Starts the engines and the nodes, or only so many of these, and waits until they are ready."""
        for engine in self.engines:
            engine.start()
        time.sleep(0.5)
        for node in self.nodes[:nodes]:
            node.start()
        for index in range(len(self.nodes[:nodes])):
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
        return subprocess.run([self.binary, "cluster", name, "--server", url], capture_output=True, check=False)

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
        for action in self.at_end:
            action()
        self.log.close()
        if not self.faults:
            shutil.rmtree(self.folder, ignore_errors=True)
