# SPDX-License-Identifier: MIT
"""What is measured: a scenario starts its servers, measures them in turns, and keeps a value per server and round."""

import http.client
import json
import os
import random
import re
import select
import shutil
import socket
import statistics
import subprocess
import time

from servers import DurableNats, DurableRedis, Etcd, Failed, Mosquitto, MicroWebSockets, Nats, Nginx, Redis, Ruler, SignalServer, output

PEERS = {kind.name: kind for kind in (MicroWebSockets, Nats, Mosquitto, Redis, Nginx)}


class Run:
    """The servers that are running, the options, and where values go."""

    def __init__(self, options, keep, folder):
        self.options = options
        self.keep = keep
        self.folder = folder
        self.running = []
        self.versions = {}
        self.said = set()
        self.wanted = [name for name in options.peers.split(",") if name]

    def start(self, server):
        """Starts a server that has to be there."""
        why = server.missing()
        if why:
            raise Failed(why)
        self.running.append(server)
        self.versions.setdefault(server.name, server.version())
        return server.start()

    def with_peers(self, *names):
        """Our server and those of the peers that are wanted and installed."""
        ours = self.start(SignalServer())
        return [ours, *(self.start(peer) for peer in self.available(*(PEERS[name]() for name in names)))]

    def available(self, *peers):
        """Those that are wanted and installed."""
        found = []
        for peer in peers:
            why = peer.missing() if peer.name in self.wanted else "not wanted"
            if not why:
                found.append(peer)
            elif peer.name in self.wanted and why not in self.said:
                print(f"skipped: {why}")
                self.said.add(why)
        return found

    def rounds(self, all_servers):
        """Each server once per round. A peer that fails is said and left out of that round."""
        for _ in range(self.options.rounds):
            yield from all_servers

    def attempt(self, server, measure):
        """Measures; what a peer fails at is told and costs only that value."""
        try:
            measure(server)
        except Failed as error:
            print(f"{server.title}: {error}", flush=True)

    def stop_all(self):
        while self.running:
            self.running.pop().stop()


def fan(server, channel, *options, path=None):
    """One run of the ruler: its result, and the processor time of the server while it published."""
    with Ruler(server, channel, *options, path=path) as ruler:
        ruler.ready()
        before = server.cpu()
        result = ruler.result()
        return result, server.cpu() - before


def delivered(server, channel, *options, path=None):
    """Microseconds per delivery, of a run in which everybody has got everything that is theirs."""
    result, cpu = fan(server, channel, *options, path=path)
    if result["refused"] or result["closed"] or result["gaps"] or result["delivered"] != result["expected"]:
        raise Failed(f"not everything has arrived: {result}")
    return cpu * 1e6 / result["delivered"]


def paced(run, server):
    """A hundred updates per second: microseconds per delivery, and the ruler's result."""
    result, cpu = fan(server, "updates", "--subscribers", run.options.subscribers, "--window", 64, "--rate", 100,
                      "--seconds", run.options.seconds * 2)
    return cpu * 1e6 / result["delivered"], result


def fanout(run):
    """One property, many subscribers, so many updates in flight."""
    options = run.options
    everyone = run.with_peers("uws", "nats", "mosquitto", "redis")
    for window in options.windows.split(","):
        def measure(server):
            result, cpu = fan(server, "updates", "--subscribers", options.subscribers, "--window", window,
                              "--seconds", options.seconds)
            run.keep(f"fanout{window}.cpu", server.name, cpu * 1e6 / result["delivered"], updates=result["updates"],
                     lost=result["expected"] - result["delivered"], p50=result["p50_us"], p99=result["p99_us"])
            run.keep(f"fanout{window}.rate", server.name, result["deliveries_per_s"] / 1e3)

        for server in run.rounds(everyone):
            run.attempt(server, measure)


def latency(run):
    """A hundred updates per second: the time from when each was due until it arrived."""
    def measure(server):
        cpu, result = paced(run, server)
        run.keep("latency.p50", server.name, result["p50_us"] / 1e3, max_us=result["max_us"])
        run.keep("latency.p99", server.name, result["p99_us"] / 1e3)
        run.keep("latency.cpu", server.name, cpu)

    for server in run.rounds(run.with_peers("uws", "nats", "mosquitto", "redis")):
        run.attempt(server, measure)


def wrk(run, server, target, script=None, connections=64, token=None):
    """Keep-alive requests from one thread: how many there were, how many a second, and the server's processor time.

    A token says who asks.
    """
    if not shutil.which("wrk"):
        raise Failed("wrk is not installed")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(run.options.seconds))}"]
    if script:
        path = os.path.join(run.folder, "script.lua")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        command += ["-s", path]
    if token:
        command += ["-H", f"Authorization: Bearer {token}"]
    before = server.cpu()
    text = subprocess.run([*command, f"http://127.0.0.1:{server.port}{target}"], capture_output=True, text=True,
                          check=True).stdout
    cpu = server.cpu() - before
    if "Non-2xx" in text or "Socket errors" in text:
        raise Failed(text)
    count = int(re.search(r"(\d+) requests in", text)[1])
    return count, float(re.search(r"Requests/sec:\s*([\d.]+)", text)[1]), cpu


def request(server, method, target, body=None, token=None):
    """One request; the body of its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, target, body, {"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status >= 300:
        raise Failed(f"{method} {target}: {answer.status} {content[:200]}")
    return content


def fill_history(server, size):
    """As many changes as the server remembers, so that what they take does not count as growth of something else."""
    fan(server, "warm", "--subscribers", 1, "--updates", 110000, "--window", 256, "--size", size)


def get(run):
    """GET of one value of 20 bytes, beside a static file of as many."""
    def measure(server):
        target = "/x" if server.name == "nginx" else "/properties/x"
        count, rate, cpu = wrk(run, server, target)
        run.keep("get.cpu", server.name, cpu * 1e6 / count, requests=count)
        run.keep("get.rate", server.name, rate / 1e3)

    everyone = run.with_peers("nginx")
    request(everyone[0], "PUT", "/properties/x", '"0123456789abcdefgh"')
    for server in run.rounds(everyone):
        run.attempt(server, measure)


def put_script(path="nil", count=256, method="PUT", body="body"):
    """Requests for wrk: PUT of 200 bytes to the path, an expression of Lua in which n is the request's number.

    So may be what is sent, with `body` as the 200 bytes.

    A body differs from the one before at its path, as an equal value would be no change. All are made beforehand: a
    client that formats each while the server waits measures how the server falls asleep and wakes.
    """
    return """local requests, next = {}, 0
init = function()
  wrk.headers["Content-Type"] = "application/json"
  for n = 1, COUNT do
    local body = string.format('{"ts":1,"n":%d,"pad":"%s"}', 100000000 + n, string.rep("x", 167))
    requests[n] = wrk.format("METHOD", PATH, nil, BODY)
  end
end
request = function()
  next = next % COUNT + 1
  return requests[next]
end
""".replace("COUNT", str(count)).replace("PATH", path).replace("METHOD", method).replace("BODY", body)


def put(run):
    """PUT of 200 bytes to one property, which nobody watches, and which ten watch."""
    server = run.start(SignalServer())
    for _ in range(run.options.rounds):
        count, rate, cpu = wrk(run, server, "/properties/y", put_script())
        run.keep("put.cpu", server.name, cpu * 1e6 / count, requests=count)
        run.keep("put.rate", server.name, rate / 1e3)
        with Ruler(server, "z", "--subscribers", 10, "--updates", 0) as ruler:
            ruler.ready()
            count, rate, cpu = wrk(run, server, "/properties/z", put_script())
            delivered = ruler.result()["before"]
        run.keep("put10.cpu", server.name, cpu * 1e6 / count, requests=count, delivered=delivered)
        run.keep("put10.rate", server.name, rate / 1e3)


def etcd_script():
    """Puts of 200 bytes for etcd's gateway, which takes them in base64; that they are other bytes makes no difference to it."""
    value = """string.format('{"key":"YmVuY2g=","value":"%08d%s"}', n, string.rep("eHh4", 64))"""
    return put_script(method="POST", body=value)


def durable(run):
    """Writes of 200 bytes that are on disk when they are answered, one in flight on each connection; and what that costs
    writers and subscribers."""
    settings = {"none": (), "interval": ("--data-sync", "100ms"), "commit": ("--data-sync", "commit")}
    ours = {}
    for mode, options in settings.items():
        folder = () if mode == "none" else ("--data-dir", os.path.join(run.folder, mode))
        ours[mode] = run.start(SignalServer(1, *folder, *options))
    peers = [run.start(peer) for peer in run.available(DurableRedis(), DurableNats(), Etcd())]

    def measure(server, connections):
        if server.name == "etcd":
            count, rate, cpu = wrk(run, server, "/v3/kv/put", etcd_script(), connections)
            return rate, cpu * 1e6 / count, count
        before = server.cpu()
        result = json.loads(output(
            Ruler.commands, "--peer", "http" if server.name == "signal" else server.peer, "--port", str(server.port),
            "--verb", "set", "--window", "1", "--connections", str(connections), "--seconds", str(run.options.seconds)))
        return result["per_s"], (server.cpu() - before) * 1e6 / result["answers"], result["answers"]

    def measure_durable(server):
        for connections in (16, 64, 256):
            rate, cpu, _ = measure(server, connections)
            run.keep(f"durable{connections}.time", server.name, 1e6 / rate, rate=rate)
            run.keep(f"durable{connections}.cpu", server.name, cpu)

    def measure_disk():
        server = ours["commit"]
        before = server.written()
        _, _, answers = measure(server, 64)
        # A value of 200 bytes at a path of some 14.
        run.keep("durable.disk", "signal", (server.written() - before) / answers / 214)

    def measure_fan(mode):
        cpu, result = paced(run, ours[mode])
        run.keep(f"durable.{mode}.fan", "signal", cpu)
        run.keep(f"durable.{mode}.p99", "signal", result["p99_us"] / 1e3)

    def measure_cost(mode):
        for connections in (64, 256):
            rate, cpu, _ = measure(ours[mode], connections)
            run.keep(f"durable.{mode}{connections}.cpu", "signal", cpu, rate=rate)

    for _ in range(run.options.rounds):
        for mode in ("none", "interval"):
            run.attempt(ours[mode], lambda _: measure_cost(mode))
        for server in (ours["commit"], *peers):
            run.attempt(server, measure_durable)
        run.attempt(ours["commit"], lambda _: measure_disk())
        for mode in settings:
            run.attempt(ours[mode], lambda _: measure_fan(mode))


def commands(run):
    """`get` and `set` of 200 bytes on 64 WebSockets with 16 in flight, beside Redis' GET and SET."""
    def measure(server):
        for verb in ("set", "get"):
            before = server.cpu()
            result = json.loads(output(Ruler.commands, "--peer", server.peer, "--port", str(server.port), "--verb", verb,
                                       "--seconds", str(run.options.seconds)))
            cpu = server.cpu() - before
            run.keep(f"command.{verb}.cpu", server.name, cpu * 1e6 / result["answers"], answers=result["answers"])
            run.keep(f"command.{verb}.rate", server.name, result["per_s"] / 1e3)

    for server in run.rounds(run.with_peers("redis")):
        run.attempt(server, measure)


def allocations(run):
    """What a GET and a PUT of 200 bytes ask of the allocator, while nobody watches."""
    server = run.start(SignalServer(counts_allocations=True))
    request(server, "PUT", "/properties/x", '"01234567890123456"')
    # The history of changes is full, and everything has its size, before it is counted.
    wrk(run, server, "/properties/y", put_script())
    fill_history(server, 20)
    for _ in range(run.options.rounds):
        for row, target, script in (("get", "/properties/x", None), ("put", "/properties/y", put_script())):
            before = server.allocated()
            count, _, _ = wrk(run, server, target, script)
            run.keep(f"allocations.{row}", server.name, (server.allocated() - before) / count, requests=count)


def idle(run):
    """Many WebSockets with one subscription each, and nothing to tell them."""
    options = run.options
    for _ in range(options.rounds):
        for kind in (SignalServer, MicroWebSockets, Nats, Mosquitto):
            if kind is not SignalServer and (kind.name not in run.wanted or kind().missing()):
                continue
            limit = ("--http-connections", str(options.connections + 100))
            server = run.start(kind(1, *limit) if kind is SignalServer else kind())

            def measure(server):
                before = server.memory()
                with Ruler(server, "a", "--subscribers", options.connections, "--updates", 0) as ruler:
                    ruler.ready()
                    time.sleep(3)
                    each = (server.memory() - before) / options.connections
                    cpu, start = server.cpu(), time.monotonic()
                    time.sleep(max(1, options.seconds * 10))
                    cpu = (server.cpu() - cpu) / (time.monotonic() - start)
                run.keep("idle.memory", server.name, each, before_MB=before / 1e6)
                run.keep("idle.cpu", server.name, cpu * 100)

            run.attempt(server, measure)
            run.stop_all()


def retain(server, topics):
    """Publishes a retained message to each topic over MQTT."""
    def packet(kind, rest):
        return bytes([kind, len(rest)]) + rest

    with socket.create_connection(("127.0.0.1", server.publish_port), 5) as connection:
        connection.sendall(packet(0x10, b"\0\4MQTT\4\2\0\0\0\6retain"))
        for topic in topics:
            name = topic.encode()
            connection.sendall(packet(0x31, bytes([0, len(name)]) + name + b'{"ts":1,"pad":"%s"}' % (b"x" * 32)))
        connection.sendall(packet(0xC0, b""))
        answer = b""
        while len(answer) < 6:
            answer += connection.recv(100)


def crowd(count):
    """The options of a ruler with so many handshakes, 256 at a time, that publishes nothing."""
    return ["--subscribers", count, "--connecting", 256, "--updates", 0, "--stall", 15]


def beside_crowd(server, seconds, connect):
    """The result of a bystander that publishes and listens for so long, while a crowd connects."""
    with Ruler(server, "bystander", "--subscribers", 1, "--rate", 100, "--window", 1000, "--seconds",
               max(0.5, seconds)) as bystander:
        bystander.ready()
        bystander.go()
        with connect() as ruler:
            ruler.ready()
            return bystander.line("bystander")


def storm(run):
    """Many handshakes at once, each with a subscription and a snapshot of ten properties, and a bystander."""
    options = run.options
    everyone = run.with_peers("uws", "nats", "mosquitto")
    for server in everyone:
        names = [f"s/{i}" for i in range(10)]
        if server.name == "signal":
            for name in names:
                request(server, "PUT", f"/properties/{name}", '{"ts":1,"pad":"%s"}' % ("x" * 32))
        elif server.name == "mosquitto":
            retain(server, names)

    def connect(server, snapshot):
        many = crowd(options.storm)
        if not snapshot:
            return Ruler(server, "none", *many)
        if server.name == "mosquitto":
            return Ruler(server, "s/#", *many, "--snapshot", 10)
        return Ruler(server, "s", *many, "--snapshot", 10, path="/events?match=s/*&oldValue=false")

    def measure(server):
        took = 0
        for snapshot in (False, True):
            if snapshot and server.name not in ("signal", "mosquitto"):
                continue
            before = server.cpu()
            with connect(server, snapshot) as ruler:
                took = ruler.ready()["connect_s"]
                run.keep("storm.cpu" if snapshot else "storm.bare", server.name,
                         (server.cpu() - before) * 1e6 / options.storm, seconds=took)
            time.sleep(0.5)
        # For about as long as the storm took the last time.
        result = beside_crowd(server, took, lambda: connect(server, server.name in ("signal", "mosquitto")))
        run.keep("storm.p99", server.name, result["p99_us"] / 1e3, p50=result["p50_us"], max_us=result["max_us"],
                 events=result["delivered"])

    for server in run.rounds(everyone):
        run.attempt(server, measure)
        time.sleep(0.5)


def paths(run):
    """Many subscribers, each update for one of them: by paths of their own, by filters of their own, and one alone.

    First one update per second for each of them, then as fast as they are taken with 256 in flight. Beside them, each
    update for all: of a thousand as in `fanout`, and of so many, which is sent to as many sockets.
    """
    options = run.options
    filtered = "/events?match=**&where=value.n%3D%3D{i}&initial=false&oldValue=false&exit=false"
    wide = ["--subscribers", options.storm, "--connecting", 256]
    many = [*wide, "--to-one"]
    speeds = {"": ["--rate", options.storm, "--window", 1000], "256": ["--window", 256]}

    def measure(server):
        kinds = [("paths", "p/{i}", many, None), ("single", "one", ["--subscribers", 1], None)]
        if server.name == "signal":
            kinds.append(("filters", "f/x", many, filtered))
        for kind, channel, subscribers, path in kinds:
            for suffix, speed in speeds.items():
                result, cpu = fan(server, channel, *subscribers, *speed, "--seconds", options.seconds, path=path)
                run.keep(f"{kind}{suffix}.cpu", server.name, cpu * 1e6 / result["delivered"],
                         lost=result["expected"] - result["delivered"], p99=result["p99_us"])
        for row, subscribers in (("narrow.cpu", ["--subscribers", options.subscribers]), ("wide.cpu", wide)):
            result, cpu = fan(server, "wide", *subscribers, "--window", 1, "--seconds", options.seconds)
            run.keep(row, server.name, cpu * 1e6 / result["delivered"])

    for server in run.rounds(run.with_peers("nats", "mosquitto", "redis")):
        run.attempt(server, measure)


def properties(run):
    """A million properties: what they weigh, and whether anything becomes slower among them."""
    options = run.options
    count = options.properties
    server = run.start(SignalServer(1, "--store-properties", str(count + 10000)))
    few_paths = '"/properties/bench/" .. (n % 1000)'
    random_paths = f'"/properties/p/" .. math.random(0, {count // 1000 - 1}) .. "/" .. math.random(0, 999)'

    def set_cost(row, target):
        for _ in range(options.rounds):
            requests, rate, cpu = wrk(run, server, "/", put_script(target, 20000))
            run.keep(row, server.name, cpu * 1e6 / requests, rate=rate)

    fill_history(server, 10)
    set_cost("properties.empty", few_paths)
    before = server.memory()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    value = {"ts": 1, "pad": "x" * 33}
    weight, start, cpu = 0, time.monotonic(), server.cpu()
    for group in range(count // 1000):
        names = [f"p/{group}/{i}" for i in range(1000)]
        weight += sum(map(len, names)) + 50 * len(names)
        body = json.dumps({"operations": [{"op": "set", "path": name, "value": value} for name in names]})
        connection.request("POST", "/transactions", body)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise Failed(f"a transaction was answered with {answer.status}")
    grown = server.memory() - before
    run.keep("properties.memory", server.name, (grown - weight) / count, whole=grown / count,
             load_s=time.monotonic() - start, load_cpu_us=(server.cpu() - cpu) * 1e6 / count)
    set_cost("properties.same", few_paths)
    set_cost("properties.random", random_paths)
    for _ in range(options.rounds):
        times = []
        for _ in range(50):
            after = f"p/{random.randrange(count // 1000)}/{random.randrange(1000)}"
            start = time.monotonic()
            connection.request("GET", f"/properties?match=p/**&limit=1000&after={after}")
            connection.getresponse().read()
            times.append(time.monotonic() - start)
        run.keep("properties.page", server.name, statistics.median(times) * 1e3, max_ms=max(times) * 1e3)
        group = random.randrange(count // 1000)
        with Ruler(server, "none", "--subscribers", 1, "--updates", 0, "--snapshot", 1000,
                   path=f"/events?match=p/{group}/*&oldValue=false") as ruler:
            run.keep("properties.subscribe", server.name, ruler.ready()["connect_s"] * 1e3)
    connection.close()


def loops(run):
    """Two event loops against one: processor time per delivery and per request."""
    options = run.options
    one, two = run.start(SignalServer(1)), run.start(SignalServer(2))
    pairs = [(one, two)]
    for server in (one, two):
        request(server, "PUT", "/properties/x", '"0123456789abcdefgh"')
    if "nginx" in run.wanted and not Nginx().missing():
        pairs.append((run.start(Nginx(1)), run.start(Nginx(2))))

    def per_delivery(server, window):
        result, cpu = fan(server, "updates", "--subscribers", options.subscribers, "--window", window, "--seconds",
                          options.seconds)
        return cpu * 1e6 / result["delivered"]

    def per_request(server, _):
        count, _, cpu = wrk(run, server, "/x" if server.name == "nginx" else "/properties/x")
        return cpu * 1e6 / count

    for row, measure, window in (("loops.fanout1", per_delivery, 1), ("loops.fanout16", per_delivery, 16),
                                 ("loops.get", per_request, 0)):
        for one, two in run.rounds(pairs if measure is per_request else pairs[:1]):
            with_one, with_two = measure(one, window), measure(two, window)
            run.keep(row, one.name, with_two / with_one, one=with_one, two=with_two)


def start(run):
    """The time until the server says that it listens, and the size of its binary."""
    def listening(binary):
        begun = time.monotonic()
        process = subprocess.Popen([binary, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            if not select.select([process.stdout], [], [], 10)[0] or b"listening" not in process.stdout.readline():
                raise Failed("the server did not say that it listens")
            return (time.monotonic() - begun) * 1e3
        finally:
            process.terminate()
            process.stdout.close()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Failed("the server did not stop when it was asked to") from None

    def stripped(binary):
        copy = os.path.join(run.folder, "stripped")
        subprocess.run(["strip", "-o", copy, binary], check=True)
        return os.path.getsize(copy) / 1e6

    run.versions.setdefault("signal", SignalServer().version())
    binary = run.options.static or SignalServer.binary
    listening(binary)
    for _ in range(run.options.rounds):
        times = [listening(binary) for _ in range(10)]
        run.keep("start.listening", "signal", statistics.median(times), max=max(times))
    run.keep("start.size", "signal", stripped(SignalServer.binary))
    if run.options.static:
        run.keep("start.static-size", "signal", stripped(run.options.static))


def soak(run):
    """Half of the load that one loop bears, for minutes, while clients come and go.

    The history is short and all properties are there before, so that memory is at its level after the first minute.
    """
    options = run.options
    server = run.start(SignalServer(1, "--store-history-changes", "10000"))
    fill_history(server, 64)
    for i in range(1000):
        request(server, "PUT", f"/properties/churn/{i}", str(random.random()))
    end = time.monotonic() + options.minutes * 60
    samples, cpu, begun = [], server.cpu(), time.monotonic()
    watchers = Ruler(server, "soak", "--subscribers", 500, "--rate", 200, "--window", 1000, "--seconds",
                     options.minutes * 60, "--stall", 30)
    try:
        watchers.ready()
        watchers.go()
        next_sample = time.monotonic()
        while time.monotonic() < end:
            with Ruler(server, "churn", "--subscribers", 200, "--rate", 50, "--seconds", 1) as churn:
                churn.ready()
                churn.result()
            request(server, "PUT", f"/properties/churn/{random.randrange(1000)}", str(random.random()))
            if time.monotonic() >= next_sample:
                next_sample += min(30, options.minutes * 60 / 20)
                time.sleep(0.5)  # until the server has noticed that the others have gone
                samples.append((server.memory(), server.descriptors()))
                print(f"soak: {len(samples):3} {samples[-1][0] / 1e6:.1f} MB, {samples[-1][1]} descriptors, "
                      f"{(server.cpu() - cpu) / (time.monotonic() - begun) * 100:.0f} % CPU", flush=True)
        used = (server.cpu() - cpu) / (time.monotonic() - begun) * 100
        result = watchers.line("soak")
    finally:
        watchers.close()
    quarter = max(1, len(samples) // 4)
    memory = [sample[0] for sample in samples]
    first, last = statistics.mean(memory[1:1 + quarter]), statistics.mean(memory[-quarter:])
    run.keep("soak.memory", "signal", (last / first - 1) * 100, first_MB=first / 1e6, last_MB=last / 1e6,
             minutes=options.minutes, delivered=result["delivered"], lost=result["expected"] - result["delivered"],
             p99=result["p99_us"])
    run.keep("soak.descriptors", "signal", samples[-1][1] - samples[0][1])
    run.keep("soak.cpu", "signal", used)


ALL = {"fanout": fanout, "latency": latency, "get": get, "put": put, "durable": durable, "commands": commands, "allocations": allocations, "idle": idle,
       "storm": storm, "paths": paths, "properties": properties, "loops": loops, "start": start, "soak": soak}
