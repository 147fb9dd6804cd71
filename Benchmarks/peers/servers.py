# SPDX-License-Identifier: MIT
"""The servers that are measured: how each is started, spoken to, and looked at from outside, and the ruler.

Every server listens on 127.0.0.1 only, keeps its files in a folder that is removed, and is stopped by its process id.
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TICK = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A measurement that did not come to its end; the message says why."""


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def output(*command):
    """What a command prints, on either stream."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def processor_time(pids):
    """The seconds of processor time that all threads of the processes have used, in user and in system mode."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICK


def resident_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


def ask_nats(port, subject, body=b""):
    """The answer of a NATS server to one request."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB %s answer %d\r\n%s\r\n'
                           % (subject.encode(), len(body), body))
        file = connection.makefile("rb")
        for line in file:
            if line.startswith(b"MSG "):
                return json.loads(file.read(int(line.split()[-1])))
    raise Failed(f"NATS ended the connection instead of answering {subject}")


class Server:
    """A server that runs, or can be run."""

    name = title = peer = ""
    path = "/"
    pem = ""  # a certificate with its key, for TLS on its port

    def __init__(self):
        self.process = None
        self.port = self.publish_port = 0
        self.folder = ""

    # What the kinds of servers say of themselves.

    def missing(self):
        """Why it cannot be measured here, or nothing."""
        return None if shutil.which(self.program()) else f"{self.program()} is not installed"

    def program(self):
        return self.name

    def version(self):
        return ""

    def command(self):
        raise NotImplementedError

    def environment(self):
        """What is added to the environment of the process."""
        return {}

    def channel(self, name):
        """The name of a channel whose levels are joined by slashes."""
        return name

    def subscription(self, name):
        """The address of a WebSocket that is subscribed to the channel."""
        return self.path

    # What is the same for all of them.

    def start(self):
        """Starts it, and waits until it accepts connections."""
        self.folder = tempfile.mkdtemp(prefix="peers-")
        self.port = free_port()
        self.publish_port = self.port
        log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder,
                                        env={**os.environ, **self.environment()})
        log.close()
        for port in {self.port, self.publish_port}:
            self.wait_for(port)
        return self

    def wait_for(self, port):
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
            text = log.read()[-500:]
        self.stop()
        raise Failed(f"{self.title} did not start: {text}")

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self):
        """The processes that do the work."""
        return [self.process.pid]

    def cpu(self):
        """The seconds of processor time that the processes have used."""
        return processor_time(self.pids())

    def memory(self):
        """The bytes of memory that are resident, without what the kernel keeps for its sockets."""
        return sum(map(resident_memory, self.pids()))

    def written(self):
        """The bytes that the process has given the disk, or will."""
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as file:
            return int(re.search(r"^write_bytes: (\d+)", file.read(), re.MULTILINE)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def write(self, name, text):
        """Writes a file into its folder, and returns the path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class SignalServer(Server):
    """The server of this repository."""

    name, title, peer = "signal", "Signal Server", "signal"
    binary = allocations = ""

    def __init__(self, loops=1, *settings, counts_allocations=False):
        super().__init__()
        self.loops = loops
        self.settings = settings
        self.counts_allocations = counts_allocations

    def missing(self):
        if os.access(self.binary, os.X_OK):
            return None
        return f"{self.binary} is not there: swift build -c release --product signal-server"

    def version(self):
        return output(self.binary, "--version").strip()

    def command(self):
        listen = ["--listen", f"https://127.0.0.1:{self.port}", "--tls-certificates", self.pem]
        return [self.binary, "serve", *(listen if self.pem else ["--port", str(self.port)]), "--loops", str(self.loops),
                "--log-level", "error", *self.settings]

    def environment(self):
        if not self.counts_allocations:
            return {}
        return {"LD_PRELOAD": self.allocations, "ALLOCATIONS": os.path.join(self.folder, "allocations")}

    def subscription(self, name):
        return f"/events?match={name}&initial=false&oldValue=false"

    def allocated(self):
        """How often the process has asked the allocator for memory."""
        with open(os.path.join(self.folder, "allocations"), "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder)


class MicroWebSockets(Server):
    """µWebSockets by its binding for Python: one topic, published by PUT, and another of which nothing is heard."""

    name, title, peer = "uws", "µWebSockets", "ws"
    python = "python3"

    def missing(self):
        if importlib.util.find_spec("socketify"):
            return None
        return "socketify is not installed (pip install socketify, and the system library libuv1)"

    def version(self):
        from importlib.metadata import version
        return "socketify " + version("socketify")

    def command(self):
        return [self.python, os.path.join(HERE, "uws.py"), str(self.port), *([self.pem] if self.pem else [])]

    def subscription(self, name):
        return f"/{name}"


class Nats(Server):
    name, title, peer = "nats", "NATS", "nats"

    def program(self):
        return "nats-server"

    def version(self):
        return output("nats-server", "--version").strip()

    def command(self):
        self.publish_port = free_port()
        tls = f'tls {{ cert_file: "{self.pem}", key_file: "{self.pem}" }}' if self.pem else "no_tls: true"
        return ["nats-server", "-c", self.write("nats.conf", (
            f'port: {self.publish_port}\nhost: "127.0.0.1"\n'
            f'websocket {{ port: {self.port}, host: "127.0.0.1", {tls} }}\n'))]

    def channel(self, name):
        return name.replace("/", ".")


class Mosquitto(Server):
    name, title, peer, path = "mosquitto", "Mosquitto", "mqtt", "/mqtt"

    def version(self):
        return output("mosquitto", "-h").splitlines()[0].replace(" version", "")

    def command(self):
        self.publish_port = free_port()
        return ["mosquitto", "-c", self.write("mosquitto.conf", (
            f"listener {self.publish_port} 127.0.0.1\nlistener {self.port} 127.0.0.1\nprotocol websockets\n"
            "allow_anonymous true\nmax_queued_messages 0\nset_tcp_nodelay true\n"))]


class Redis(Server):
    name, title, peer = "redis", "Redis (TCP)", "redis"

    def program(self):
        return "redis-server"

    def version(self):
        return "redis " + re.search(r"v=(\S+)", output("redis-server", "--version"))[1]

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--protected-mode", "no",
                "--save", "", "--maxclients", "15000"]


class DurableRedis(Redis):
    """Redis that answers a write when it is on disk."""

    def command(self):
        return [*super().command(), "--appendonly", "yes", "--appendfsync", "always", "--dir", self.folder]


class DurableNats(Nats):
    """NATS with a stream that confirms a message when it is on disk."""

    def missing(self):
        if why := super().missing():
            return why
        number = tuple(map(int, re.search(r"v(\d+)\.(\d+)", self.version()).groups()))
        return None if number >= (2, 10) else f"{self.version()} cannot sync each message (2.10 can)"

    def command(self):
        return ["nats-server", "-c", self.write("nats.conf", (
            f'port: {self.port}\nhost: "127.0.0.1"\n'
            f'jetstream {{ store_dir: "{self.folder}", sync_interval: always }}\n'))]

    def start(self):
        super().start()
        said = ask_nats(self.port, "$JS.API.STREAM.CREATE.BENCH", json.dumps({
            "name": "BENCH", "subjects": ["bench.>"], "storage": "file", "max_msgs_per_subject": 1,
            "num_replicas": 1}).encode())
        if "config" not in said:
            raise Failed(f"{self.title} has no stream: {said}")
        return self


class Etcd(Server):
    """etcd, over its gateway for JSON."""

    name, title = "etcd", "etcd"

    def version(self):
        return output("etcd", "--version").splitlines()[0].replace(" Version:", "")

    def command(self):
        # Another port than the clients': nobody else listens on it, as there is one member.
        clients, members = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{free_port()}"
        return ["etcd", "--data-dir", self.folder, "--log-level", "error", "--listen-client-urls", clients,
                "--advertise-client-urls", clients, "--listen-peer-urls", members,
                "--initial-advertise-peer-urls", members, "--initial-cluster", f"default={members}"]


class Nginx(Server):
    """nginx with workers that serve one small file."""

    name, title = "nginx", "nginx"

    def __init__(self, workers=1):
        super().__init__()
        self.workers = workers

    def version(self):
        return output("nginx", "-v").strip().replace("nginx version: nginx/", "nginx ")

    def site(self):
        """What it serves, in its configuration."""
        self.write("x", '"0123456789abcdefgh"')
        return f"server {{ listen 127.0.0.1:{self.port}; root {self.folder}; default_type text/plain; }}"

    def command(self):
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return ["nginx", "-c", self.write("nginx.conf", (
            f"worker_processes {self.workers}; daemon off; user root; pid {self.folder}/pid; error_log {self.folder}/errors;"
            "worker_rlimit_nofile 20000; events { worker_connections 9000; }"
            f"http {{ access_log off; keepalive_requests 1000000000; {temporary} {self.site()} }}"))]

    def start(self):
        super().start()
        os.chmod(self.folder, 0o755)
        return self

    def pids(self):
        main = self.process.pid
        with open(f"/proc/{main}/task/{main}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]


class Ruler:
    """A run of `fanout` against a server. Between `ready` and `result` it publishes; until `close` it stays."""

    binary = commands = ""

    def __init__(self, server, channel, *options, path=None):
        self.command = [self.binary, "--pause", "--peer", server.peer, "--port", str(server.port),
                        "--publish-port", str(server.publish_port), "--channel", server.channel(channel),
                        "--path", path or server.subscription(channel), *(["--tls"] if server.pem else []),
                        *map(str, options)]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def line(self, what):
        text = self.process.stdout.readline()
        if not text:
            raise Failed(f"{what}: {self.process.stderr.read()[-300:].strip()}")
        report = json.loads(text)
        if report["stalled"]:
            self.close()
            raise Failed(f"{what} stalled: {text.strip()}")
        return report

    def ready(self):
        """Waits until all subscribers are there."""
        return self.line("connecting")

    def go(self):
        """Lets it publish."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self):
        """Lets it publish, and waits for the end."""
        self.go()
        return self.line("publishing")

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.communicate("\n\n", timeout=20)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
