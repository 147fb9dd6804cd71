# SPDX-License-Identifier: MIT
"""What is still there after parts of a cluster have ended: resume and power of cluster.py."""

import asyncio
import fcntl
import json
import os
import random
import statistics
import struct
import subprocess
import threading
import time

from faults import wound
from hostile import frame, handshake

SUBSCRIBERS = 1_000


class Counter(threading.Thread):
    """Counts up a property, some times a second, at any node; each number is set once."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.ends = threading.Event()
        self.value = 0

    def run(self):
        while not self.ends.is_set():
            number = self.value + 1
            condition = f"value%20%3D%3D%20{self.value}" if self.value else "value%20%3D%3D%20null"
            try:
                status, _, body = self.cluster.ask(
                    random.randrange(len(self.cluster.nodes)), "PUT", f"/properties/resume?if={condition}", str(number))
            except OSError:
                continue
            # A number that is there already was set by an attempt whose answer did not come.
            if status in (201, 204) or status == 412 and (json.loads(body).get("current") or {}).get("value") == number:
                self.value = number
                time.sleep(0.2)
            elif status != 503:
                self.cluster.note(f"the counter: {status} for {number}: {body[:300]}")
                return
            else:
                time.sleep(0.02)


class Subscriber:
    """Follows the counter at one node after another, by its cursor; must be told each number once."""

    def __init__(self, cluster, number):
        self.cluster, self.name = cluster, f"subscriber {number}"
        self.generator = random.Random(number)
        self.epoch = self.cursor = self.value = None
        self.resumed = self.resets = 0

    async def follow(self):
        index = self.generator.randrange(len(self.cluster.nodes))
        while not self.cluster.ends.is_set():
            try:
                async with asyncio.timeout(self.generator.uniform(3, 12)):
                    await self.stay(index)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)
            index = (index + self.generator.randrange(1, len(self.cluster.nodes))) % len(self.cluster.nodes)

    async def stay(self, index):
        reader, writer = await asyncio.open_connection(self.cluster.hosts[index], self.cluster.ports[index])
        try:
            command = {"id": 1, "type": "subscribe", "match": "resume", "oldValue": False}
            if self.cursor:
                command["since"] = self.cursor
            writer.write(handshake() + frame(json.dumps(command).encode()))
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head:
                raise OSError(head.decode())
            while not self.cluster.ends.is_set():
                first, size = await reader.readexactly(2)
                if size == 126:
                    size = int.from_bytes(await reader.readexactly(2), "big")
                payload = await reader.readexactly(size)
                if first & 15 == 1:
                    self.take(json.loads(payload))
                elif first & 15 == 9:
                    writer.write(bytes([0x8A, 0x80 | size]) + bytes(4) + payload)
        finally:
            writer.transport.abort()

    def take(self, message):
        kind = message["type"]
        if kind == "hello":
            self.epoch = message["epoch"]
        elif kind == "ok":
            self.resumed += message.get("recovered", False)
        elif kind == "reset":
            self.resets += 1
            self.cluster.note(f"{self.name} was reset: {message}")
            self.value = None
        elif kind == "didSet":
            value = message["value"]
            if self.value is not None and value != self.value + 1:
                self.cluster.note(f"{self.name} was told {value} after {self.value}")
            self.value = value
        elif kind not in ("live", "bookmark"):
            self.cluster.note(f"{self.name} was told {message}")
        if kind in ("didSet", "live", "bookmark"):
            self.cursor = f"{self.epoch}.{message['revision']}"


def resume(run):
    with run.cluster(sync="always", settings=["--cluster-snapshot-every", "1MiB"]) as cluster:
        subscribers = [Subscriber(cluster, number) for number in range(SUBSCRIBERS)]

        async def all_of_them():
            await asyncio.gather(*(subscriber.follow() for subscriber in subscribers))

        crowd = threading.Thread(target=lambda: asyncio.run(all_of_them()), daemon=True)
        counter = Counter(cluster)
        crowd.start()
        counter.start()
        generator, count = random.Random(1), 0
        end = time.monotonic() + run.options.resume_seconds
        while time.monotonic() < end and not cluster.faults:
            time.sleep(generator.uniform(0.5, 2))
            wound(cluster, generator)
            count += 1
        counter.ends.set()
        counter.join()
        end = time.monotonic() + 30
        while any(subscriber.value != counter.value for subscriber in subscribers) and time.monotonic() < end:
            time.sleep(0.1)
        cluster.ends.set()
        crowd.join(timeout=30)
        behind = [(subscriber.name, subscriber.value) for subscriber in subscribers if subscriber.value != counter.value]
        if behind:
            cluster.note(f"{len(behind)} subscribers were not told {counter.value}, such as {behind[:3]}")
        run.figure("resume.faults", "resume: faults", count, "")
        run.figure("resume.changes", f"resume: changes told to each of {SUBSCRIBERS}", counter.value, "")
        run.figure("resume.resumes", "resume: subscriptions that went on at another node",
                   sum(subscriber.resumed for subscriber in subscribers), "", least=1000)
        run.figure("resume.resets", "resume: false resets", sum(subscriber.resets for subscriber in subscribers), "", most=0)
        run.figure("resume.wrong", "resume: holes, repeats, and what else is wrong", len(cluster.faults), "", most=0)


class Disk:
    """A file system of its own, on a file, that can lose what was not synced."""

    # FS_IOC_GOINGDOWN, and its flag for a log that is not flushed either.
    GOING_DOWN, NO_FLUSH = 2 << 30 | 4 << 16 | ord("X") << 8 | 125, 2

    def __init__(self, folder):
        self.image, self.folder = folder + ".image", folder
        os.mkdir(folder)
        with open(self.image, "wb") as file:
            file.truncate(2 << 30)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.folder], check=True)

    def unmount(self):
        subprocess.run(["umount", self.folder], check=True)

    def cut(self):
        """The power is gone: from now on nothing gets to the disk."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(descriptor, self.GOING_DOWN, struct.pack("I", self.NO_FLUSH))
        os.close(descriptor)


class Adder(threading.Thread):
    """Sets one new property after another at any node, and keeps which ones were acknowledged."""

    def __init__(self, cluster, prefix):
        super().__init__(daemon=True)
        self.cluster, self.prefix = cluster, prefix
        self.ends = threading.Event()
        self.acknowledged = []
        self.start()

    def run(self):
        number = 0
        while not self.ends.is_set():
            number += 1
            path = f"{self.prefix}/{number}"
            try:
                index = random.randrange(len(self.cluster.nodes))
                if self.cluster.ask(index, "PUT", f"/properties/{path}", "1")[0] == 201:
                    self.acknowledged.append(path)
            except OSError:
                pass


def paths(cluster, index):
    """All properties that a node has, and the epoch."""
    found, after = set(), ""
    while after is not None:
        query = f"/properties?match=power/**&limit=1000&fields=path" + (f"&after={after}" if after else "")
        status, fields, body = cluster.ask(index, "GET", query)
        if status != 200:
            raise RuntimeError(f"{query}: {status}: {body[:300]}")
        page = json.loads(body)
        found.update(each["path"] for each in page["properties"])
        after = page.get("next")
    return found, fields["Signal-Revision"].split(".")[0]


def power(run):
    if os.geteuid() != 0:
        print("power needs root, for file systems of its own: skipped")
        return
    disks = []

    def prepare(cluster):
        for index in range(len(cluster.engines)):
            disk = Disk(cluster.store(index))
            disks.append(disk)
            cluster.at_end.append(disk.unmount)

    acknowledged, lost, epochs, times = set(), set(), set(), []
    try:
        with run.cluster(sync="always", prepare=prepare, settings=["--cluster-log-bytes", "256MiB"]) as cluster:
            for cut in range(run.options.cuts):
                adders = [Adder(cluster, f"power/{cut}/{number}") for number in range(8)]
                time.sleep(random.uniform(1, 4))
                for process in cluster.engines + cluster.nodes:
                    process.process.kill()
                for disk in disks:
                    disk.cut()
                for adder in adders:
                    adder.ends.set()
                for process in cluster.engines + cluster.nodes:
                    process.process.wait()
                for adder in adders:
                    adder.join()
                    acknowledged.update(adder.acknowledged)
                for disk in disks:
                    disk.unmount()
                    disk.mount()
                begin = time.monotonic()
                cluster.start()
                times.append(time.monotonic() - begin)
                found, epoch = paths(cluster, cut % len(cluster.nodes))
                epochs.add(epoch)
                if acknowledged - found - lost:
                    cluster.note(f"cut {cut}: {len(acknowledged - found)} of {len(acknowledged)} acknowledged writes are lost")
                lost |= acknowledged - found
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"power cannot make file systems of its own here ({error}): skipped")
        return
    run.figure("power.cuts", "power: cuts of all machines", len(times), "")
    run.figure("power.writes", "power: acknowledged writes", len(acknowledged), "")
    run.figure("power.lost", "power: … of which are lost", len(lost), "", most=0)
    run.figure("power.epochs", "power: histories that clients saw", len(epochs), "", most=1)
    run.figure("power.ready", "power: all nodes are ready after", statistics.median(times), "s")
    run.figure("power.ready.max", "power: … the longest", max(times), "s")


WORDS = {"resume": resume, "power": power}
