# SPDX-License-Identifier: MIT
"""What clients feel when parts of a cluster end: takeover, ttl and presence of cluster.py."""

import bisect
import datetime
import io
import json
import signal
import statistics
import threading
import time

from hostile import Client
from servers import ask_nats

# How many times to live, timers and presences there are.
TTLS, TIMERS, PRESENCES = 10_000, 1_000, 1_000


def stream(cluster, name="SIGNAL_faults"):
    """What an engine that runs says of a stream."""
    port = next(port for port, engine in zip(cluster.engine_ports, cluster.engines) if engine.is_running)
    return ask_nats(port, f"$JS.API.STREAM.INFO.{name}")


def await_copies(cluster, seconds=60):
    """Waits until the log has a leader and all of its copies are current."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            said = stream(cluster).get("cluster", {})
        except OSError as error:
            # The one that is asked has just been started.
            said = {"error": str(error)}
        copies = said.get("replicas", [])
        if "leader" in said and all(copy["current"] and not copy.get("offline") for copy in copies):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the copies of the log are not current after {seconds} s: {said}")


class Pulse(threading.Thread):
    """Writes at one node, one after another, and notes when each write was acknowledged."""

    def __init__(self, cluster, index):
        super().__init__(daemon=True)
        self.cluster, self.index = cluster, index
        self.ends = threading.Event()
        self.times = [time.monotonic()]
        self.start()

    def run(self):
        number = 0
        while not self.ends.is_set():
            number += 1
            try:
                status = self.cluster.ask(self.index, "PUT", f"/properties/pulse/{self.index}", str(number))[0]
            except OSError:
                status = 0
            if status in (201, 204):
                self.times.append(time.monotonic())
            else:
                time.sleep(0.005)

    def stop(self):
        self.ends.set()
        self.join()


def outage(cluster, end_something, survivors):
    """The longest time between two acknowledged writes around something that ends, at any of the surviving nodes."""
    pulses = [Pulse(cluster, index) for index in survivors]
    time.sleep(0.5)
    begin = time.monotonic()
    end_something()
    # The outage, if there is one, has begun by then; and it is over when all have been acknowledged just now.
    time.sleep(max(0, begin + 3 - time.monotonic()))
    while any(time.monotonic() - pulse.times[-1] > 0.2 for pulse in pulses):
        if time.monotonic() > begin + 60:
            raise RuntimeError("writes are not acknowledged a minute later")
        time.sleep(0.01)
    for pulse in pulses:
        pulse.stop()
    longest = 0
    for pulse in pulses:
        times = pulse.times[max(0, bisect.bisect(pulse.times, begin) - 1):]
        longest = max(longest, *(after - before for before, after in zip(times, times[1:])))
    return longest


def others(cluster, index):
    return [other for other in range(len(cluster.nodes)) if other != index]


def takeover(run):
    with run.cluster(sync="always") as cluster:
        def end_node(number):
            leader = cluster.leader()
            node = cluster.nodes[leader]
            took = outage(cluster, lambda: node.send(number), others(cluster, leader))
            node.process.wait(timeout=30)
            expect_another(leader)
            node.start()
            cluster.await_ready(leader, 30)
            return took

        def step_down():
            leader = cluster.leader()
            took = outage(cluster, lambda: cluster.verb(leader, "step-down"), others(cluster, leader))
            expect_another(leader)
            return took

        def expect_another(leader):
            if cluster.leader() == leader:
                cluster.note(f"{cluster.nodes[leader].name} leads as before")

        def end_engine(number):
            await_copies(cluster)
            engine = cluster.engines[int(stream(cluster)["cluster"]["leader"][1:])]
            took = outage(cluster, lambda: engine.send(number), range(len(cluster.nodes)))
            engine.process.wait(timeout=30)
            engine.start()
            await_copies(cluster)
            return took

        for row, what, goal, end in (
                ("node.kill", "the leading node is killed", 1.6, lambda: end_node(signal.SIGKILL)),
                ("node.term", "the leading node is stopped (SIGTERM)", 0.5, lambda: end_node(signal.SIGTERM)),
                ("node.step-down", "the leading node steps down", 0.5, step_down),
                ("engine.kill", "the leader of the stream is killed", 10, lambda: end_engine(signal.SIGKILL)),
                ("engine.term", "the leader of the stream is stopped (SIGTERM)", 0.5, lambda: end_engine(signal.SIGTERM))):
            times = [end() for _ in range(run.options.times)]
            run.figure(f"takeover.{row}.median", f"takeover, {what}: writes wait", statistics.median(times), "s")
            run.figure(f"takeover.{row}.max", "takeover, … the longest", max(times), "s", most=goal)


class Recorder(threading.Thread):
    """Keeps what one node tells a WebSocket, with the time at which it came, to be looked at later."""

    def __init__(self, port, *subscriptions):
        super().__init__(daemon=True)
        self.client = Client(port)
        self.client.upgrade()
        self.client.message()
        for number, members in enumerate(subscriptions):
            self.client.command(id=number, type="subscribe", initial=False, **members)
        self.pieces, self.ends, self.times = [], [], []
        self.length = 0
        self.start()

    def run(self):
        while piece := self.receive():
            self.times.append(time.time())
            self.length += len(piece)
            self.ends.append(self.length)
            self.pieces.append(piece)

    def receive(self):
        try:
            return self.client.file.read1(1 << 20)
        except (OSError, ValueError):
            return b""

    def messages(self):
        """Ends the connection; all messages, each with the time when it was there."""
        self.client.socket.shutdown(2)
        self.join()
        file = self.client.file = io.BytesIO(b"".join(self.pieces))
        said = []
        while file.tell() < self.length:
            try:
                message = self.client.message()
            except ConnectionError:
                break
            said.append((self.times[bisect.bisect_left(self.ends, file.tell())], message))
        return said


def seconds(text):
    """A time of the protocol, as a number."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def written(moment):
    """A number as a time of the protocol."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).isoformat(timespec="milliseconds")


def judge(cluster, what, due, heard):
    """How late the latest of what was due came; says what did not come, or came twice or early."""
    missing = [name for name in due if name not in heard]
    twice = [name for name, times in heard.items() if len(times) > 1]
    early = [(name, due[name], times[0]) for name, times in heard.items() if times[0] < due.get(name, 0)]
    for kind, names in (("did not come", missing), ("came more than once", twice), ("came early", early)):
        if names:
            cluster.note(f"{len(names)} of {len(due)} {what} {kind}, such as {names[:3]}")
    return max(times[0] - due[name] for name, times in heard.items() if name in due)


def arrange(port, turn, middle):
    """Sets what comes due from one second before the middle until three seconds after it."""
    client = Client(port)
    for first in range(0, TTLS, 1000):
        operations = [{"op": "set", "path": f"ttl/{turn}/{number}", "value": number,
                       "ttl": f"{round((middle - 1 + 4 * number / TTLS - time.time()) * 1000)}ms"}
                      for number in range(first, first + 1000)]
        status, answer = client.ask("POST", "/transactions", json.dumps({"operations": operations}).encode())
        if status != 200:
            raise RuntimeError(f"{status}: {answer[:300]}")
    # In another order than that of their names, and many under way.
    moments = {f"timers/{turn}/{number}": written(middle - 1 + 4 * (number * 7 % TIMERS) / TIMERS)
               for number in range(TIMERS)}
    names = list(moments)
    for first in range(0, TIMERS, 50):
        for name in names[first:first + 50]:
            client.send("PUT", f"/timers/{name}", json.dumps({"at": moments[name]}).encode())
        for name in names[first:first + 50]:
            status, answer = client.receive()
            if status != 201:
                raise RuntimeError(f"{status}: {answer[:300]}")
    return {name: seconds(moment) for name, moment in moments.items()}


def ttl(run):
    waits, late = [], {"times to live": [], "timers": []}
    with run.cluster(sync="always") as cluster:
        for turn in range(run.options.rounds):
            leader = cluster.leader()
            survivors = others(cluster, leader)
            recorder = Recorder(cluster.ports[survivors[0]], {"match": f"ttl/{turn}/*", "oldValue": False},
                                {"signals": f"timers/{turn}/*"})
            middle = time.time() + 12
            timers = arrange(cluster.ports[leader], turn, middle)
            if time.time() > middle - 1.5:
                raise RuntimeError("what is to come due was not set in time")

            def end(node=cluster.nodes[leader], middle=middle):
                time.sleep(middle - time.time())
                node.kill()

            waits.append(outage(cluster, end, survivors[1:]))
            time.sleep(max(0, middle + 3 + waits[-1] + 1 - time.time()))
            due, ended, fired = {}, {}, {}
            for moment, message in recorder.messages():
                if message["type"] == "didSet":
                    due[message["path"]] = seconds(message["expires"])
                elif message["type"] == "didExpire":
                    ended.setdefault(message["path"], []).append(moment)
                elif message["type"] == "signal":
                    fired.setdefault(message["path"], []).append(moment)
                elif message["type"] not in ("ok", "live"):
                    cluster.note(f"the watcher was told {message}")
            for what, known, heard, count in (("times to live", due, ended, TTLS), ("timers", timers, fired, TIMERS)):
                if len(known) != count:
                    cluster.note(f"{len(known)} of {count} {what} were told")
                late[what].append(judge(cluster, what, known, heard))
            cluster.nodes[leader].start()
            cluster.await_ready(leader, 30)
    run.figure("ttl.outage", "ttl, the leading node is killed: writes wait", statistics.median(waits), "s")
    for what, values in late.items():
        row = "ttl" if what == "times to live" else "timers"
        run.figure(f"{row}.latest", f"ttl, {what}: the latest came after", max(values), "s")
        beyond = max(value - wait for value, wait in zip(values, waits))
        run.figure(f"{row}.beyond", f"ttl, {what}: the latest, beyond the wait of writes", 1000 * beyond, "ms", most=100)


def attend(port, names):
    """Connections that are present by these names, each with something that is to be done when it ends."""
    clients = []
    for name in names:
        client = Client(port)
        client.upgrade()
        client.command(id=1, type="onDisconnect", operations=[{"op": "set", "path": f"gone/{name}", "value": name}])
        client.command(id=2, type="set", path=f"presence/{name}", value="here", hold=True)
        clients.append(client)
    for client in clients:
        client.message()
        for _ in range(2):
            if (reply := client.message())["type"] != "ok":
                raise RuntimeError(str(reply))
    return clients


def presence(run):
    with run.cluster(sync="always") as cluster:
        for what in ("follower", "leader"):
            times = []
            for turn in range(run.options.rounds):
                leader = cluster.leader()
                victim = leader if what == "leader" else others(cluster, leader)[0]
                witness, third = [index for index in others(cluster, victim) if index != leader or what == "follower"]
                names = [f"{what}{turn}/{number}" for number in range(PRESENCES)]
                clients = attend(cluster.ports[victim], names)
                staying = attend(cluster.ports[third], [f"{what}{turn}/stays{number}" for number in range(10)])
                recorder = Recorder(cluster.ports[witness], {"match": [f"presence/{what}{turn}/*", f"gone/{what}{turn}/*"]})
                time.sleep(1)
                begin = time.time()
                cluster.nodes[victim].kill()
                time.sleep(10)
                ended, done = {}, {}
                for moment, message in recorder.messages():
                    if message["type"] in ("didExpire", "didSet"):
                        kind, name = message["path"].split("/", 1)
                        (ended if kind == "presence" else done).setdefault(name, []).append(moment)
                for kind, heard in (("presences", ended), ("operations", done)):
                    if more := heard.keys() - set(names):
                        cluster.note(f"{len(more)} {kind} ended of who was there, such as {sorted(more)[:3]}")
                    times.append(judge(cluster, kind, dict.fromkeys(names, begin), heard) if heard else 10)
                for client in clients + staying:
                    client.file.close()
                    client.socket.close()
                cluster.nodes[victim].start()
                cluster.await_ready(victim, 30)
            run.figure(f"presence.{what}.max", f"presence, a {what} is killed: the last of {PRESENCES} is gone",
                       max(times), "s", most=6)


WORDS = {"takeover": takeover, "ttl": ttl, "presence": presence}
