# SPDX-License-Identifier: MIT
"""The table: which rows there are, what each must show, and how results become Markdown."""

import json
import os
import platform
import statistics

NAMES = {"signal": "Signal Server", "uws": "µWebSockets", "nats": "NATS", "mosquitto": "Mosquitto",
         "redis": "Redis (TCP)", "nginx": "nginx", "etcd": "etcd",
         "proxied": "nginx in front", "plain": "without TLS", "before": "without TLS, before"}

# Key: what is shown, unit, decimals, goals. A goal is ("peer", name, factor): at most so many times the peer's;
# ("row", key, factor): at most so many times our own value in another row; ("limit", number): at most that.
ROWS = {
    "fanout1.cpu": ("Fan-out, 1 in flight: CPU per delivery", "µs", 2,
                    [("peer", "uws", 1.05), ("peer", "nats", 0.7), ("peer", "mosquitto", 0.7)]),
    "fanout1.rate": ("… deliveries per second", "k/s", 0, []),
    "fanout16.cpu": ("Fan-out, 16 in flight: CPU per delivery", "µs", 3, [("peer", "uws", 1)]),
    "fanout16.rate": ("… deliveries per second", "k/s", 0, []),
    "fanout64.cpu": ("Fan-out, 64 in flight: CPU per delivery", "µs", 3, [("peer", "nats", 1 / 3)]),
    "fanout64.rate": ("… deliveries per second", "k/s", 0, []),
    "fanout256.cpu": ("Fan-out, 256 in flight: CPU per delivery", "µs", 3, [("peer", "nats", 1 / 3)]),
    "fanout256.rate": ("… deliveries per second", "k/s", 0, []),
    "latency.p50": ("Fan-out, 100 updates/s: latency p50", "ms", 2, []),
    "latency.p99": ("… latency p99", "ms", 2, [("peer", "uws", 1.3), ("peer", "nats", 1)]),
    "latency.cpu": ("… CPU per delivery", "µs", 2, []),
    "get.cpu": ("GET, 64 connections: CPU per request", "µs", 2, [("peer", "nginx", 1.05)]),
    "get.rate": ("… requests per second", "k/s", 1, []),
    "put.cpu": ("PUT of 200 B, nobody watches: CPU per request", "µs", 2, [("row", "get.cpu", 1.5)]),
    "put.rate": ("… requests per second", "k/s", 1, []),
    "put10.cpu": ("PUT of 200 B, 10 watchers: CPU per request", "µs", 2, []),
    "put10.rate": ("… requests per second", "k/s", 1, []),
    "durable16.time": ("Durable write of 200 B, 16 connections: time for each", "µs", 1, [("peer", "redis", 1 / 1.1)]),
    "durable16.cpu": ("… CPU for each", "µs", 1, []),
    "durable64.time": ("… 64 connections: time for each", "µs", 1,
                       [("peer", "redis", 1), ("peer", "etcd", 1 / 4), ("peer", "nats", 1 / 8)]),
    "durable64.cpu": ("… CPU for each", "µs", 1, [("row", "durable.none64.cpu", 2.1)]),
    "durable256.time": ("… 256 connections: time for each", "µs", 1, [("peer", "redis", 1 / 0.9)]),
    "durable256.cpu": ("… CPU for each", "µs", 1, [("row", "durable.none256.cpu", 1.5)]),
    "durable.none64.cpu": ("In the same rounds in memory only, 64 connections: CPU for each", "µs", 1, []),
    "durable.none256.cpu": ("… 256 connections", "µs", 1, []),
    "durable.disk": ("Bytes on disk for each byte of a change, 64 in flight", "×", 1, [("limit", 4)]),
    "durable.interval64.cpu": ("… `data.sync: 100ms`, 64 connections", "µs", 1, [("row", "durable.none64.cpu", 1.2)]),
    "durable.interval256.cpu": ("… 256 connections", "µs", 1, [("row", "durable.none256.cpu", 1.2)]),
    "durable.none.fan": ("Fan-out to 1000 at 100 updates/s in memory only: CPU per delivery", "µs", 2, []),
    "durable.interval.fan": ("… `data.sync: 100ms`", "µs", 2, [("row", "durable.none.fan", 1.1)]),
    "durable.commit.fan": ("… `data.sync: commit`", "µs", 2, [("row", "durable.none.fan", 1.1)]),
    "durable.none.p99": ("The same in memory only: latency p99", "ms", 2, []),
    "durable.interval.p99": ("… `data.sync: 100ms`", "ms", 2, []),
    "durable.commit.p99": ("… `data.sync: commit`", "ms", 2, []),
    "command.get.cpu": ("`get` on a WebSocket, 64 × 16 in flight: CPU per command", "µs", 2, [("peer", "redis", 1.5)]),
    "command.get.rate": ("… commands per second", "k/s", 0, []),
    "command.set.cpu": ("`set` of 200 B, likewise: CPU per command", "µs", 2, [("peer", "redis", 1.5)]),
    "command.set.rate": ("… commands per second", "k/s", 0, []),
    "allocations.get": ("GET: allocations per request", "", 2, [("limit", 0.1)]),
    "allocations.put": ("PUT of 200 B: allocations per request", "", 2, [("limit", 4.1)]),
    "idle.memory": ("Idle WebSocket with a subscription: resident memory", "B", 0, [("limit", 2048)]),
    "idle.cpu": ("… CPU of all of them", "%", 2, [("limit", 1)]),
    "storm.cpu": ("Connect storm: CPU per handshake, subscription, snapshot of 10", "µs", 1, [("limit", 100)]),
    "storm.bare": ("… without a snapshot", "µs", 1, []),
    "storm.p99": ("… p99 of a bystander's events meanwhile", "ms", 1, [("limit", 20)]),
    "single.cpu": ("One subscriber, 10 000 updates/s: CPU per update and delivery", "µs", 1, []),
    "paths.cpu": ("10 000 subscribers, each its own path, 10 000 updates/s", "µs", 1, [("row", "single.cpu", 2)]),
    "filters.cpu": ("10 000 subscribers to `**`, each its own filter, 10 000 updates/s", "µs", 1,
                    [("row", "single.cpu", 2)]),
    "narrow.cpu": ("Fan-out to 1000 in the same rounds, 1 in flight: CPU per delivery", "µs", 2, []),
    "wide.cpu": ("Fan-out to 10 000: CPU per delivery", "µs", 2, []),
    "single256.cpu": ("One subscriber, 256 in flight: CPU per update and delivery", "µs", 2, []),
    "paths256.cpu": ("10 000 subscribers, each its own path, 256 in flight", "µs", 2,
                     [("row", "narrow.cpu", 2), ("row", "wide.cpu", 2)]),
    "filters256.cpu": ("10 000 subscribers to `**`, each its own filter, 256 in flight", "µs", 2,
                       [("row", "narrow.cpu", 2), ("row", "wide.cpu", 2)]),
    "properties.memory": ("A million properties of 50 B: memory each, beyond path and value", "B", 0,
                          [("limit", 250)]),
    "properties.empty": ("PUT into an almost empty store: CPU per request", "µs", 2, []),
    "properties.same": ("… the same paths, beside the million", "µs", 2, [("row", "properties.empty", 1.2)]),
    "properties.random": ("… any of the million", "µs", 2, [("row", "properties.empty", 1.2)]),
    "properties.page": ("Page of 1000 from the middle of them", "ms", 2, [("limit", 5)]),
    "properties.subscribe": ("Subscribing to a pattern for 1000 of them, with snapshot", "ms", 2, []),
    "loops.fanout1": ("Two loops: fan-out, 1 in flight, CPU per delivery, to that of one loop", "×", 2,
                      [("limit", 1.15)]),
    "loops.fanout16": ("… 16 in flight", "×", 2, [("limit", 1.15)]),
    "loops.get": ("… GET, CPU per request", "×", 2, [("limit", 1.15)]),
    "start.listening": ("Start until `listening`", "ms", 1, [("limit", 50)]),
    "start.size": ("Binary, stripped", "MB", 1, []),
    "start.static-size": ("Binary with the standard library in it, stripped", "MB", 1, [("limit", 25)]),
    "soak.memory": ("Soak: growth of resident memory from the first quarter to the last", "%", 1, [("limit", 2)]),
    "soak.descriptors": ("Soak: growth of open descriptors", "", 0, [("limit", 0)]),
    "soak.cpu": ("Soak: CPU", "%", 0, []),
    "tls.fanout1": ("Fan-out to 1000 with TLS, 1 in flight: CPU per delivery", "µs", 2,
                    [("peer", "uws", 1), ("peer", "nats", 0.5), ("peer", "proxied", 0.8)]),
    "tls.fanout16": ("… 16 in flight", "µs", 2, [("peer", "uws", 1), ("peer", "nats", 0.5), ("peer", "proxied", 0.8)]),
    "tls.full": ("TLS handshake and subscription: CPU of each", "µs", 0, [("peer", "uws", 1.1)]),
    "tls.resumed": ("… with a resumed session", "µs", 0, [("row", "tls.full", 0.65)]),
    "tls.p99": ("p99 of a bystander's events beside the full ones", "ms", 1, [("limit", 20), ("peer", "uws", 1.25)]),
    "tls.old.full": ("Handshake of TLS 1.2 alone: CPU of each", "µs", 0, []),
    "tls.old.resumed": ("… with a resumed session", "µs", 0, []),
    "tls.idle": ("Idle WebSocket with a subscription: resident memory", "B", 0, []),
}

MARKS = ("<!-- results: begin -->", "<!-- results: end -->")


def unit(row):
    return ROWS[row][1]


def read(path):
    """The values by row and server, the versions, and the commands."""
    values, versions, commands = {}, {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "row" in entry:
                values.setdefault(entry["row"], {}).setdefault(entry["server"], []).append(entry["value"])
            elif "version" in entry:
                versions[entry["server"]] = entry["version"]
            else:
                commands.append((entry["date"], entry["command"]))
    return values, versions, commands


def ratio(ours, theirs):
    """The median of the ratios of the rounds; a round's values lie close together in time. Nothing when it has none."""
    if len(ours) == len(theirs) and all(theirs):
        return statistics.median(a / b for a, b in zip(ours, theirs))
    other = statistics.median(theirs)
    return statistics.median(ours) / other if other else None


def goal_text(goal, row, values):
    """A goal in words, with what came out."""
    kind, *rest = goal
    ours = values[row]["signal"]
    if kind == "limit":
        return f"≤ {rest[0]:g} {unit(row)}: {verdict(statistics.median(ours) <= rest[0])}".replace(" :", ":")
    other = values.get(row, {}).get(rest[0]) if kind == "peer" else values.get(rest[0], {}).get("signal")
    name = NAMES[rest[0]] if kind == "peer" else f"“{ROWS[rest[0]][0].split(':')[0]}”"
    quotient = ratio(ours, other) if other else None
    if quotient is None:
        return f"≤ {rest[1]:.3g} × {name}: not measured"
    return f"≤ {rest[1]:.3g} × {name}: {quotient:.2f}, {verdict(quotient <= rest[1])}"


def cell(by, name, decimals):
    """A median; beside a peer's, ours divided by it."""
    if name not in by:
        return "–"
    text = f"{statistics.median(by[name]):.{decimals}f}"
    quotient = ratio(by["signal"], by[name]) if name != "signal" and "signal" in by else None
    return text if quotient is None else f"{text} ({quotient:.2f})"


def verdict(good):
    return "met" if good else "**missed**"


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}"


def markdown(values, versions, commands):
    """The table of results, as they are read of a file."""
    columns = [name for name in NAMES if any(name in by for by in values.values())]
    lines = [f"- Machine: {machine()}",
             "- Versions: " + ", ".join(f"{NAMES[name]}: {version}" for name, version in sorted(versions.items()))]
    if commands:
        lines.append(f"- Date: {commands[0][0]} to {commands[-1][0]}")
        lines.append("- Commands: " + ", ".join(f"`{text}`" for text in dict.fromkeys(text for _, text in commands)))
    lines += ["", "| Scenario | Unit | " + " | ".join(NAMES[name] for name in columns) + " | Goal |",
              "|---|---|" + "--:|" * len(columns) + "---|"]
    for row, (what, unit_, decimals, goals) in ROWS.items():
        by = values.get(row)
        if not by:
            continue
        cells = [cell(by, name, decimals) for name in columns]
        texts = [goal_text(goal, row, values) for goal in goals] if "signal" in by else []
        lines.append(f"| {what} | {unit_} | " + " | ".join(cells) + " | " + "; ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def insert(path, table):
    """Replaces what is between the marks of a text."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + MARKS[0] + "\n\n" + table + "\n" + MARKS[1] + after)
