#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures clusters: nodes and engines on this machine, beside the goals.

    python3 Benchmarks/peers/cluster.py [--server .build/release/signal-server] [--results FILE] [words …]

    latency    a set over a WebSocket, one in flight, at the leader and through a follower; beside them messages of
               512 bytes to a stream of the engine alone
    rate       the same with 64 and 256 in flight
    follower   processor time of a follower, and of the leader, for each commit
    join       a new node beside a million properties and 100 000 records behind the snapshot
    takeover   how long writes wait when the leading node, or the leader of the stream, ends
    ttl        10 000 times to live and 1 000 timers that come due around the leader's end
    presence   a node with 1 000 connections that is killed
    resume     1 000 subscribers that move from node to node while faults happen
    power      power cuts of all machines, with storage that forgets what was not synced; needs root

Prints a line for each figure, and one with WRONG for what must not be; then the exit status is 1. With 77 and one line it
ends when there is no nats-server (in PATH, or named by NATS_SERVER). What is measured several times is shown as median.
"""

import argparse
import contextlib
import datetime
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "Tests", "Cluster")]
import outages  # noqa: E402
import recovery  # noqa: E402
from compare import build, now  # noqa: E402
from hostile import Client  # noqa: E402
from nodes import Cluster, find_engine  # noqa: E402
from report import verdict  # noqa: E402
from servers import ask_nats, processor_time  # noqa: E402

# `sync_interval` of the engines, and what the nodes are told of it.
SYNCS = {"delayed": "2m", "1s": "1s", "always": "always"}


class Run:
    """What the words have in common."""

    def __init__(self, options, nats, folder, results):
        self.options, self.nats, self.results = options, nats, results
        self.ruler = build(folder, "commands.c")
        self.is_wrong = False

    @contextlib.contextmanager
    def cluster(self, nodes=3, engines=3, sync="delayed", started=None, prepare=None, settings=()):
        """A cluster that runs, all of its nodes or so many; when it is left, it is ended."""
        if sync != "always":
            settings = ["--cluster-engine-sync", "delayed", *settings]
        cluster = Cluster(self.options.server, self.nats, nodes, engines, SYNCS[sync], loops=1, settings=settings)
        try:
            if prepare:
                prepare(cluster)
            cluster.start(started)
            yield cluster
        finally:
            self.is_wrong |= bool(cluster.faults)
            cluster.end()

    def figure(self, row, what, value, unit, most=None, least=None):
        """Shows and keeps one figure, beside its goal."""
        goal = ""
        if most is not None:
            goal = f"≤ {most:g}: {verdict(value <= most)}"
        elif least is not None:
            goal = f"≥ {least:g}: {verdict(value >= least)}"
        digits = f"{value:.4g}" if value < 1000 else f"{value:.0f}"
        print(f"{what:74} {digits:>9} {unit:4} {goal}", flush=True)
        self.results.write(json.dumps({"row": row, "server": "signal", "value": value, "date": now()}) + "\n")
        self.results.flush()

    def commands(self, port, connections, window, *more):
        """A run of the ruler: sets, so many in flight on each of so many connections."""
        done = subprocess.run(
            [self.ruler, "--port", str(port), "--verb", "set", "--connections", str(connections), "--window", str(window),
             "--seconds", str(self.options.seconds), *more], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)


def places(cluster):
    """The ports of the leader, of a follower, and of the engine that leads a stream beside the log."""
    leader = cluster.leader()
    return {"leader": cluster.ports[leader], "follower": cluster.ports[(leader + 1) % len(cluster.nodes)],
            "engine": stream_of_its_own(cluster)}


AT = {"leader": "at the leader", "follower": "through a follower", "engine": "messages to the engine alone"}

# How messages of about the size of a record are sent to the engine.
MESSAGES = {"engine": ["--peer", "nats", "--size", "512"]}


def latency(run):
    for engines in (1, 3):
        for sync in SYNCS:
            with run.cluster(engines=engines, sync=sync) as cluster:
                ports = places(cluster)
                said = {place: [] for place in ports}
                for _ in range(run.options.rounds):
                    for place, port in ports.items():
                        said[place].append(run.commands(port, 1, 1, *MESSAGES.get(place, [])))
            for place, results in said.items():
                name = f"latency, {engines} engine{'s' if engines > 1 else ''}, {sync}, {AT[place]}"
                row = f"latency.{engines}.{sync}.{place}"
                goal = None if place == "engine" else 4 if sync == "always" else 0.6
                for key, what, unit, most in (("p50_ms", "p50", "ms", goal), ("p99_ms", "p99", "ms", None),
                                              ("per_s", "rate with 1", "/s", None)):
                    value = statistics.median(result[key] for result in results)
                    run.figure(f"{row}.{what.split()[0]}", f"{name}: {what}", value, unit, most=most)


def rate(run):
    for sync in ("delayed", "always"):
        with run.cluster(sync=sync) as cluster:
            ports = places(cluster)
            for flight in (64, 256):
                said = {place: [] for place in ports}
                for _ in range(run.options.rounds):
                    for place, port in ports.items():
                        said[place].append(run.commands(port, flight // 16, 16, *MESSAGES.get(place, []))["per_s"])
                for place, values in said.items():
                    goal = 60 if place != "engine" and flight == 256 and sync == "delayed" else None
                    run.figure(f"rate.{sync}.{flight}.{place}", f"rate, {flight} in flight, {sync}, {AT[place]}",
                               statistics.median(values) / 1000, "k/s", least=goal)
                ratio = statistics.median(ours / raw for ours, raw in zip(said["leader"], said["engine"]))
                run.figure(f"rate.{sync}.{flight}.ratio", f"rate, {flight} in flight, {sync}: leader to engine", ratio, "")


def stream_of_its_own(cluster):
    """A replicated stream beside the log, and the port of the engine that leads it."""
    said = ask_nats(cluster.engine_ports[0], "$JS.API.STREAM.CREATE.BENCH", json.dumps({
        "name": "BENCH", "subjects": ["bench.>"], "storage": "file", "max_bytes": 1 << 28, "discard": "old",
        "num_replicas": len(cluster.engines)}).encode())
    if "config" not in said:
        raise RuntimeError(f"the engine has no stream: {said}")
    return cluster.engine_ports[int(outages.stream(cluster, "BENCH")["cluster"]["leader"][1:])]


def follower(run):
    with run.cluster() as cluster:
        leader = cluster.leader()
        others = [node.process.pid for index, node in enumerate(cluster.nodes) if index != leader]
        pid = cluster.nodes[leader].process.pid
        for connections, window in ((1, 1), (4, 16), (16, 16)):
            costs, own = [], []
            for _ in range(run.options.rounds):
                before, mine = processor_time(others), processor_time([pid])
                count = run.commands(cluster.ports[leader], connections, window)["answers"]
                # What is on its way to the followers still.
                time.sleep(0.2)
                costs.append((processor_time(others) - before) / len(others) / count * 1e6)
                own.append((processor_time([pid]) - mine) / count * 1e6)
            flight = connections * window
            run.figure(f"follower.{flight}", f"follower, {flight} in flight at the leader: CPU for each commit",
                       statistics.median(costs), "µs", most=5 if flight == 256 else None)
            run.figure(f"follower.{flight}.leader", f"follower, {flight} in flight: CPU of the leader, with the answer",
                       statistics.median(own), "µs")


def fill(port, count):
    """So many properties, by transactions of a thousand, several under way."""
    client = Client(port)
    bodies = [json.dumps({"operations": [
        {"op": "set", "path": f"fill/{first // 1000}/{number}", "value": f"{number:050}"}
        for number in range(first, first + 1000)]}).encode() for first in range(0, count, 1000)]
    for first in range(0, len(bodies), 8):
        for body in bodies[first:first + 8]:
            client.send("POST", "/transactions", body)
        for _ in bodies[first:first + 8]:
            status, answer = client.receive()
            if status != 200:
                raise RuntimeError(f"a transaction of the filling was answered {status}: {answer[:300]}")


def join(run):
    settings = ["--store-properties", "1100000"]
    with run.cluster(nodes=4, started=3, settings=settings) as cluster:
        port = cluster.ports[cluster.leader()]
        begin = time.monotonic()
        fill(port, run.options.properties)
        print(f"  {run.options.properties} properties are set after {time.monotonic() - begin:.1f} s", flush=True)
        # Each set that is alone in flight is a record. A node loads the older of two snapshots, made every 50 000 records.
        state = outages.stream(cluster)["state"]
        while state["first_seq"] == 1 or state["messages"] < run.options.records:
            run.commands(port, 4, 1)
            state = outages.stream(cluster)["state"]
        print(f"  {state['messages']} records are in the log after {time.monotonic() - begin:.1f} s", flush=True)
        times = []
        for _ in range(run.options.rounds):
            begin = time.monotonic()
            cluster.nodes[3].start()
            cluster.await_ready(3, 120)
            times.append(time.monotonic() - begin)
            _, fields, _ = cluster.ask(3, "GET", "/properties?limit=1")
            _, others, _ = cluster.ask(0, "GET", "/properties?limit=1")
            if fields["Signal-Revision"] != others["Signal-Revision"]:
                cluster.note(f"the new node is ready at {fields['Signal-Revision']}, others are at {others['Signal-Revision']}")
            cluster.nodes[3].kill()
        run.figure("join.records", "join: records behind the snapshot, at most", state["messages"], "")
        run.figure("join.median", "join: a new node is ready", statistics.median(times), "s", most=8)
        run.figure("join.max", "join: … the slowest", max(times), "s")


WORDS = {"latency": latency, "rate": rate, "follower": follower, "join": join, **outages.WORDS,
         **recovery.WORDS}


def main():
    root = os.path.dirname(os.path.dirname(HERE))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="word", help=", ".join(WORDS))
    parser.add_argument("--server", default=os.path.join(root, ".build/release/signal-server"))
    parser.add_argument("--results", default=os.devnull, help="the file that results are appended to")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement of speed (default: 3)")
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement (default: 2)")
    parser.add_argument("--properties", type=int, default=1_000_000, help="of join (default: 1000000)")
    parser.add_argument("--records", type=int, default=95_000, help="of join, at least (default: 95000)")
    parser.add_argument("--times", type=int, default=5, help="of each outage of takeover (default: 5)")
    parser.add_argument("--resume-seconds", type=float, default=90, help="of resume (default: 90)")
    parser.add_argument("--cuts", type=int, default=10, help="of power (default: 10)")
    options = parser.parse_args()
    unknown = [word for word in options.words if word not in WORDS]
    if unknown:
        parser.error(f"no such word: {', '.join(unknown)}; there are: {', '.join(WORDS)}")
    nats = find_engine()
    if not nats:
        return 77
    # Being ended is an exception like another, so that what was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = tempfile.mkdtemp(prefix="ruler-")
    try:
        with open(options.results, "a", encoding="utf-8") as results:
            run = Run(options, nats, folder, results)
            begin = datetime.datetime.now()
            for word in options.words or WORDS:
                WORDS[word](run)
            print(f"{options.rounds} rounds of {options.seconds:g} s, from {begin:%Y-%m-%d %H:%M} on", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if run.is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
