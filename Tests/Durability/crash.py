#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a server at random moments while it is written to, read and watched, and checks that nothing that was told is lost.

    python3 Tests/Durability/crash.py .build/release/signal-server --cuts 20 [--sync commit] [--seed N]

An oracle beside the server: it knows only what the server has told it. Writers own their properties and know of each the
last value that was acknowledged and the one that was not answered; readers know the largest value that was read; watchers
resume from their cursor, fold what they hear, and must never be reset; timers and times to live that were acknowledged are
there until they are due, and gone soon after. Of properties that `--data-rules` calls volatile none survives a cut, and of
those that are kept every 200 ms none is much older than that; who watches them is never reset and ends with what there is. Exits with 1 and says what was lost when something was.
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


class Lost(Exception):
    """Something that was told is not so."""


class Oracle:
    """The server, what it has said, and what was wrong with it."""

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="crash-")
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]
        self.lock = threading.Lock()
        self.faults = []
        self.seen = {}
        self.told = 0
        self.ends = threading.Event()
        self.is_quiet = threading.Event()
        self.cuts = 0
        self.process = None

    # ------------------------------------------------------------------------------------------------- the server

    def start(self):
        """Starts it and waits until it takes requests."""
        command = [self.options.binary, "serve", "--port", str(self.port), "--loops", "2", "--log-level", "warning",
                   "--data-dir", os.path.join(self.folder, "data"), "--data-sync", self.options.sync,
                   "--data-rules", "v/** volatile,e/** every 200ms"]
        log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(3000):
            if self.process.poll() is not None:
                raise Lost(f"the server did not start: exit {self.process.returncode}")
            try:
                if self.request("GET", "/health/ready")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.01)
        raise Lost("the server did not become ready within 30 s")

    def cut(self):
        self.process.kill()
        self.process.wait()
        self.cuts += 1

    def request(self, method, target, body=None, headers=None):
        """Status, fields and body of an answer; OSError when there is none."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def settle(self, path):
        """As `read`, again and again until there is an answer."""
        while True:
            try:
                return self.read(path)
            except OSError:
                if self.ends.is_set() and self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    # ------------------------------------------------------------------------------------------------- what is told

    def fault(self, text):
        with self.lock:
            self.faults.append(text)
        print("LOST:", text, flush=True)

    def saw(self, path, value):
        """Notes a value that was told, by whatever way."""
        with self.lock:
            self.told += 1
            self.seen[path] = max(value, self.seen.get(path, -1))

    def read(self, path):
        """Reads a value, which only grows: a smaller one than was told before it was asked for is a loss."""
        floor = self.seen.get(path, -1)
        status, _, text = self.request("GET", f"/properties/{path}")
        value = int(text) if status == 200 else -1
        if value < floor:
            self.fault(f"{path} is {value} after {floor}")
        self.saw(path, value)
        return value

    # ------------------------------------------------------------------------------------------------- the parties

    def writer(self, index):
        """Counts up in properties of its own; every fifth time in two of them at once."""
        chance = random.Random(self.options.seed * 1000 + index)
        number = 0
        while not self.ends.is_set():
            number += 1
            both = number % 5 == 0
            try:
                if both:
                    operations = [{"op": "set", "path": f"w/{index}/{name}", "value": number} for name in "ab"]
                    status, _, text = self.request("POST", "/transactions", json.dumps({"operations": operations}))
                else:
                    status, _, text = self.request("PUT", f"/properties/w/{index}/n", str(number))
                if status not in (200, 201, 204):
                    raise Lost(f"writer {index}: {status} {text[:200]!r}")
                for name in "ab" if both else "n":
                    self.saw(f"w/{index}/{name}", number)
            except OSError:
                self.compare(index, number, both)
            time.sleep(chance.random() * 0.01)

    def compare(self, index, number, both):
        """After a cut: what was acknowledged is there, what was not may be, and a transaction is whole."""
        names = "ab" if both else "n"
        values = []
        for name in names:
            path = f"w/{index}/{name}"
            known = self.seen.get(path, -1)
            value = self.settle(path)
            if value not in (number, known, self.seen.get(path, -1)):
                self.fault(f"after a cut: {path} is {value}, not {known} or {number}")
            values.append(value)
        if len(set(values)) > 1:
            self.fault(f"half of a transaction: {values}")

    def reader(self, index):
        chance = random.Random(self.options.seed * 2000 + index)
        while not self.ends.is_set():
            path = f"w/{chance.randrange(self.options.writers)}/n"
            try:
                self.read(path)
            except OSError:
                time.sleep(0.02)

    def noise(self, index):
        """Counts up in properties of which not everything is kept."""
        number, told = 0, []
        while not self.ends.is_set():
            number += 1
            try:
                for kind in "ve":
                    status, _, text = self.request("PUT", f"/properties/{kind}/{index}", str(number))
                    if status not in (200, 201, 204):
                        raise Lost(f"noise {index}: {status} {text[:200]!r}")
                told.append((time.monotonic(), number))
            except OSError:
                self.forgotten(index, told)
            time.sleep(0.002)

    def forgotten(self, index, told):
        """After a cut: what is volatile is gone, and of the other nothing that was told long before."""
        end = told[-1][0] if told else 0
        # A busy machine may be late; that the interval is kept is checked elsewhere.
        floor = max((number for moment, number in told if moment < end - 5), default=-1)
        for kind in "ve":
            while True:
                try:
                    status, _, text = self.request("GET", f"/properties/{kind}/{index}")
                    break
                except OSError:
                    if self.ends.is_set() and self.process.poll() is not None:
                        raise
                    time.sleep(0.01)
            if kind == "v" and status != 404:
                self.fault(f"v/{index} has survived a cut")
            elif kind == "e" and (int(text) if status == 200 else -1) < floor:
                self.fault(f"e/{index} is {text!r}, though {floor} was told five seconds before")

    def watcher(self, index, folds, match="w/**"):
        """Folds events of a stream, and resumes."""
        is_kept = match == "w/**"
        fold, cursor = folds[index], None
        while not self.is_quiet.is_set():
            connection = http.client.HTTPConnection(HOST, self.port, timeout=2)
            try:
                headers = {"Accept": "text/event-stream"}
                if cursor:
                    headers["Last-Event-ID"] = cursor
                connection.request("GET", f"/events?match={match}&oldValue=false", headers=headers)
                answer = connection.getresponse()
                for line in answer:
                    if line.startswith(b"id: "):
                        cursor = line[4:].strip().decode()
                    if not line.startswith(b"data: "):
                        continue
                    event = json.loads(line[6:])
                    if event["type"] == "reset":
                        self.fault(f"watcher {index}: reset, {event.get('reason')}, from {headers.get('Last-Event-ID')}")
                        fold.clear()
                    elif event["type"] == "didDelete":
                        fold.pop(event["path"], None)
                    elif event["type"] == "didSet":
                        if is_kept:
                            self.saw(event["path"], event["value"])
                        if is_kept and event["value"] < fold.get(event["path"], -1):
                            self.fault(f"watcher {index}: {event['path']} went back")
                        fold[event["path"]] = event["value"]
                    if self.is_quiet.is_set():
                        break
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.01)
            finally:
                connection.close()

    def compare_noise(self, folds):
        """Those who watch what is not all kept have what there is, once nothing changes any more."""
        for kind, fold in zip("ve", folds):
            status, _, text = self.request("GET", f"/properties?match={kind}/**")
            found = {item["path"]: item["value"] for item in json.loads(text)["properties"]}
            for _ in range(100):
                if dict(fold) == found:
                    break
                time.sleep(0.1)
            if status != 200 or dict(fold) != found:
                self.fault(f"a watcher of {kind}/** has {fold}, and there is {found}")

    def leases(self, kind):
        """Timers or times to live: there until they are due, gone soon after."""
        chance = random.Random(self.options.seed * 3000 + len(kind))
        number, open_ends = 0, {}
        while not self.ends.is_set():
            number += 1
            target = f"/{kind}/lease/{number}"
            length = chance.choice((0.3, 1, 3))
            begun = time.monotonic()
            try:
                if kind == "timers":
                    status, _, _ = self.request("PUT", target, json.dumps({"after": f"{int(length * 1000)}ms"}))
                else:
                    status, _, _ = self.request("PUT", f"{target}?ttl={int(length * 1000)}ms", "1")
                if status in (200, 201, 204):
                    # The server counts from some moment between the two.
                    open_ends[target] = (begun + length, time.monotonic() + length)
            except OSError:
                pass
            for target, (earliest, end) in list(open_ends.items()):
                asked = time.monotonic()
                try:
                    status, _, _ = self.request("GET", target)
                except OSError:
                    continue
                if status == 404:
                    # After a cut it counts by another clock.
                    early = earliest - time.monotonic()
                    if early > 0.02:
                        self.fault(f"{target} is gone {early:.2f} s early")
                    del open_ends[target]
                elif asked > end + 4:
                    self.fault(f"{target} is there {asked - end:.2f} s late")
                    del open_ends[target]
            time.sleep(0.05)

    # ------------------------------------------------------------------------------------------------- the run

    def run(self):
        self.start()
        folds = [{} for _ in range(self.options.watchers)]
        noisy = [{} for _ in range(2)]
        parties = [threading.Thread(target=self.writer, args=(i,)) for i in range(self.options.writers)]
        parties += [threading.Thread(target=self.noise, args=(i,)) for i in range(2)]
        parties += [threading.Thread(target=self.watcher, args=(i, noisy, f"{kind}/**")) for i, kind in enumerate("ve")]
        parties += [threading.Thread(target=self.reader, args=(i,)) for i in range(2)]
        parties += [threading.Thread(target=self.watcher, args=(i, folds)) for i in range(self.options.watchers)]
        parties += [threading.Thread(target=self.leases, args=(kind,)) for kind in ("timers", "properties")]
        for party in parties:
            party.daemon = True
            party.start()
        try:
            for _ in range(self.options.cuts):
                time.sleep(self.random.uniform(0.1, 1.2))
                self.cut()
                if self.random.random() < 0.3:
                    time.sleep(self.random.uniform(0, 0.5))
                self.start()
            time.sleep(1)
            self.ends.set()
            for party in parties[:self.options.writers + 2]:
                party.join(30)
            time.sleep(1)
            self.compare_noise(noisy)
            self.is_quiet.set()
            for party in parties:
                party.join(30)
            self.process.send_signal(signal.SIGTERM)
            status = self.process.wait(30)
            if status != 0:
                self.fault(f"exit {status} at SIGTERM")
            self.start()
            for path in sorted(self.seen):
                self.read(path)
            for fold in folds:
                for path, value in fold.items():
                    if value != self.seen[path]:
                        self.fault(f"a watcher has {value} for {path}, which is {self.seen[path]}")
            self.cut()
        except Lost as error:
            self.fault(str(error))
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        print(f"seed {self.options.seed}: {self.cuts} cuts, {self.told} values told, {len(self.faults)} lost", flush=True)
        if self.faults:
            print("the folder is kept:", self.folder)
            return 1
        shutil.rmtree(self.folder)
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--sync", default="commit")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--watchers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    return Oracle(parser.parse_args()).run()


sys.exit(main())
