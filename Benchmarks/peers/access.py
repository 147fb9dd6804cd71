#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rules, tokens, quotas, the audit log and metrics cost the server, beside the same without them.

    python3 Benchmarks/peers/access.py [--server .build/release/signal-server] [--rounds 5] [--seconds 2] [words …]

    audience   fan-out of one property to 10 000 subscribers with tokens, whom the same rule allows
    own        10 000 users who watch their own paths, each update for one of them, 256 in flight
    audiences  an event that 10, 100 and 1000 different audiences see, beside as many subscribers of one audience
    rules      with 50 rules: subscriptions; `get` and `set` over WebSocket; GET and PUT
    audit      PUT with an audit log, of what it notes by default and of every write
    quotas     PUT beneath two quotas
    metrics    GET, and fan-out to 1000 subscribers, with metrics that are asked for each second

The ways take turns in every round, on servers of their own with one loop, in one order and then in the other. Times are the
processor's, of the server; both sides have the same tokens. Before a word is measured, clients with
other tokens show that its rules refuse and hide what they should. Needs Linux, a C compiler, and wrk for requests.
"""

import argparse
import base64
import datetime
import hashlib
import hmac
import json
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import servers
from compare import build, now
from hostile import Client
from report import machine, verdict
from scenarios import Run, delivered, put_script, request, wrk
from servers import Failed, Ruler, SignalServer, output

SECRET = secrets.token_hex(32)
# Whoever has this role writes, everywhere.
WRITES = 'auth.role == "publisher"'
# Values that the audiences of a value see, and do not.
SEEN, HIDDEN = {"n": 1}, {"n": -10**9}


# Goals: what comes out, beside what it may be.


def at_most_times(most):
    return lambda factor, _: f"≤ {most:g} ×: {verdict(factor <= most)}"


def at_most_more(most, parts=1):
    """So many microseconds more, each of the parts that are there more."""
    def text(_, difference):
        each = f"{difference / parts:.2f} µs for each of {parts}, " if parts > 1 else ""
        return f"{each}≤ {most:g} µs: {verdict(difference / parts <= most)}"

    return text


def token(subject, **claims):
    """A JSON Web Token that is good for a day."""
    def part(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=")

    claims = {"sub": str(subject), "exp": int(time.time()) + 86400, **claims}
    text = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims, separators=(",", ":")).encode())
    return (text + b"." + part(hmac.digest(SECRET.encode(), text, hashlib.sha256))).decode()


PUBLISHER = token("publisher", role="publisher")


class AccessRun(Run):
    """What the words have in common: the servers that run, and the times of the ways by the rows of the table."""

    def __init__(self, options, folder, results):
        super().__init__(options, self.keep, folder)
        self.results, self.rows, self.goals = results, {}, {}
        self.secret = os.path.join(folder, "secret")
        with open(os.open(self.secret, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(SECRET)

    def keep(self, row, way, value):
        entry = {"row": row, "server": way, "value": value, "date": now()}
        self.results.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self.results.flush()
        self.rows.setdefault(row, {}).setdefault(way, []).append(value)
        print(f"{row}: {way}: {value:.3f}", flush=True)

    def serve(self, rules=None, **settings):
        """A server that knows the tokens, with rules or without."""
        settings["auth"] = {"jwt": {"keys": [{"secret-file": self.secret}]}}
        if rules is not None:
            settings["access"] = {"rules": rules}
        path = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return self.start(SignalServer(1, "--config", path))

    def tokens(self, all_tokens):
        """A file for the ruler: the subscribers', and behind them the publisher's."""
        path = os.path.join(self.folder, "tokens")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{one}\n" for one in [*all_tokens, PUBLISHER])
        return path

    def compare(self, row, ways, goal=None):
        """Measures each way in each round; the first is the one that the others stand beside."""
        self.goals[row] = goal
        names = list(ways)
        for number in range(self.options.rounds):
            for name in names if number % 2 == 0 else reversed(names):
                self.keep(row, name, ways[name]())


def subscription(match):
    return f"/events?match={match}&initial=false&oldValue=false"


# Before anything is measured: that the rules are in effect.


def subscribe(server, proof, match):
    """A WebSocket of whoever has the token that is subscribed to a pattern, and what the server has said to that."""
    client = Client(server.port)
    client.upgrade()
    client.command(id=1, type="auth", token=proof)
    client.command(id=2, type="subscribe", match=[match], initial=False)
    while (message := client.message()).get("id") != 2:
        pass
    while message["type"] == "ok" and client.message()["type"] != "live":
        pass
    return client, message


def check_refused(server, proof, match):
    client, message = subscribe(server, proof, match)
    client.socket.close()
    if message.get("error", {}).get("code") != "forbidden":
        raise Failed(f"a subscription to {match} is not refused: {message}")


def check_hidden(server, proof, match, hidden, seen):
    """Of two writes of what was not there, a path and a value each, the subscription tells the second alone."""
    client, message = subscribe(server, proof, match)
    for path, value in (hidden, seen):
        request(server, "PUT", f"/properties/{path}", json.dumps(value), PUBLISHER)
    event = client.message()
    client.socket.close()
    if (event.get("path"), event.get("value")) != seen:
        raise Failed(f"{match}: {message}, and then {event}")


def check_audiences(server, proofs, match, count):
    """Those who have the tokens are so many audiences, by the word that the server has for each."""
    words = set()
    for proof in proofs:
        client, message = subscribe(server, proof, match)
        words.add(message["audience"])
        client.socket.close()
    if len(words) != count:
        raise Failed(f"{len(words)} audiences instead of {count}")


# What is measured.


def audience(run):
    """Everybody may see the property: because of who they are, and because of its value."""
    count = run.options.subscribers
    by_role = [{"match": "updates/**", "read": 'auth.role == "viewer"', "write": WRITES}]
    by_value = [{"match": "updates/**", "read": "value.n >= auth.least", "write": WRITES}]
    ways = {"without": run.serve(), "a rule on the role": run.serve(by_role),
            "a rule on the value": run.serve(by_value)}
    viewers = [token(n, role="viewer", least=0) for n in range(count)]
    check_refused(ways["a rule on the role"], token("other", role="other"), "updates/a")
    check_hidden(ways["a rule on the value"], viewers[0], "updates/a", ("updates/a", HIDDEN), ("updates/a", SEEN))
    check_audiences(ways["a rule on the value"], viewers[:20], "updates/a", 1)
    proofs = run.tokens(viewers)
    for window in (1, 16):
        def measure(server, window=window):
            return delivered(server, "updates/a", "--subscribers", count, "--connecting", 256, "--tokens", proofs,
                             "--window", window, "--seconds", run.options.seconds, path=subscription("updates/a"))

        run.compare(f"fan-out to {count} of one audience, {window} in flight: per delivery",
                    {name: lambda server=server: measure(server) for name, server in ways.items()}, at_most_times(1.03))


def own(run):
    """Each user's own paths: watched by their names, and as what is left of all users' for whom may see no more."""
    count = run.options.subscribers
    rules = [{"match": "users/{id}/**", "read": "auth.sub == id", "write": WRITES}]
    free, ruled = run.serve(), run.serve(rules)
    users = [token(n) for n in range(count)]
    check_refused(ruled, users[0], "users/1/**")
    for match, name in (("users/0/**", "b"), ("users/**", "c")):
        check_hidden(ruled, users[0], match, (f"users/1/{name}", HIDDEN), (f"users/0/{name}", SEEN))
    proofs = run.tokens(users)

    def measure(server, match):
        return delivered(server, "users/{i}/a", "--subscribers", count, "--connecting", 256, "--tokens", proofs, "--to-one",
                         "--window", 256, "--seconds", run.options.seconds, path=subscription(match))

    run.compare(f"{count} users, each its own path, 256 in flight: per update", {
        "without": lambda: measure(free, "users/{i}/**"),
        "a rule, `users/7/**`": lambda: measure(ruled, "users/{i}/**"),
        "a rule, `users/**`": lambda: measure(ruled, "users/**")}, at_most_times(1.2))


def audiences(run):
    """A bound of its own for each audience, beneath what every value has: all conditions are asked, and all hold."""
    rules = [{"match": "updates/**", "read": "value.n >= auth.least", "write": WRITES}]
    server = run.serve(rules)
    check_hidden(server, token(0, least=0), "updates/a", ("updates/a", HIDDEN), ("updates/a", SEEN))
    for count in (10, 100, 1000):
        several = [token(n, least=-1 - n) for n in range(count)]
        single = [token(n, least=-1) for n in range(count)]
        check_audiences(server, several, "updates/a", count)
        check_audiences(server, single, "updates/a", 1)

        def measure(proofs, window, count=count):
            # What an event costs, not a delivery.
            return count * delivered(
                server, "updates/a", "--subscribers", count, "--tokens", run.tokens(proofs), "--window", window,
                "--seconds", run.options.seconds, path=subscription("updates/a"))

        for window in (1, 16):
            run.compare(f"an event to {count} subscribers, {window} in flight", {
                "one audience": lambda proofs=single, window=window: measure(proofs, window),
                f"{count} audiences": lambda proofs=several, window=window: measure(proofs, window)},
                at_most_more(2, count - 1))


def fifty_rules():
    """Of an installation with many areas: what matches comes last, and a denial for everybody is looked at, too."""
    areas = [{"match": f"area{n}/{{id}}/**", "read": 'auth.sub == id || auth.role == "staff"', "write": "auth.sub == id",
              "validate": "size(path) < 200"} for n in range(48)]
    return [*areas, {"match": "**/secret", "deny-read": 'auth.role != "auditor"'},
            {"match": "bench/**", "read": 'auth.role == "viewer"', "write": 'auth.role in ["viewer", "publisher"]',
             "validate": "size(path) < 200"}]


def rules(run):
    free, ruled = run.serve(), run.serve(fifty_rules())
    viewer = token("viewer", role="viewer")
    check_refused(ruled, token("other", role="other"), "bench/0/value")
    check_refused(ruled, viewer, "area1/other/x")
    check_hidden(ruled, viewer, "**", ("bench/secret", HIDDEN), ("bench/a", SEEN))
    count = max(1000, run.options.subscribers // 2)

    def subscribed(server, name):
        """Microseconds of a WebSocket with a subscription, from the connection on."""
        proofs = [token(name(n), role="viewer") for n in range(count)]
        before = server.cpu()
        with Ruler(server, "bench/{i}", "--subscribers", count, "--connecting", 256, "--updates", 0, "--tokens",
                   run.tokens(proofs), path=subscription("bench/{i}")) as ruler:
            ruler.ready()
            return (server.cpu() - before) * 1e6 / count

    def command(server, verb):
        before = server.cpu()
        said = output(Ruler.commands, "--port", str(server.port), "--verb", verb, "--token", viewer, "--seconds",
                      str(run.options.seconds))
        if not said.startswith("{"):
            raise Failed(said.strip())
        return (server.cpu() - before) * 1e6 / json.loads(said)["answers"]

    def requests(server, script=None):
        answered, _, cpu = wrk(run, server, "/properties/bench/0/value", script, token=viewer)
        return cpu * 1e6 / answered

    def pair(row, goal, measure, *more):
        run.compare(row, {"without": lambda: measure(free, *more), "50 rules": lambda: measure(ruled, *more)}, goal)

    wide, narrow = at_most_more(30), at_most_more(1)
    pair("a WebSocket with a subscription, of somebody new", wide, subscribed, lambda n: f"{n}-{secrets.token_hex(4)}")
    pair("a WebSocket with a subscription, of somebody who is there", wide, subscribed, lambda _: "viewer")
    pair("`set` of 200 bytes over WebSocket", None, command, "set")
    pair("`get` of 200 bytes over WebSocket", narrow, command, "get")
    pair("PUT of 200 bytes", None, requests, put_script())
    pair("GET of 200 bytes", narrow, requests)


def puts(run, row, ways):
    """PUT of 200 bytes to a user's property."""
    def measure(server):
        answered, _, cpu = wrk(run, server, "/properties/users/ann/x", put_script(), token=PUBLISHER)
        return cpu * 1e6 / answered

    run.compare(row, {name: lambda server=server: measure(server) for name, server in ways.items()})


def audit(run):
    files = [os.path.join(run.folder, name) for name in ("audit-default", "audit-writes")]
    writes = ["refusals", "failures", "tokens", "limits", "settings", "writes"]
    puts(run, "PUT of 200 bytes, audit log", {
        "without": run.serve(), "what it notes by default": run.serve(audit={"file": files[0]}),
        "and every write": run.serve(audit={"file": files[1], "events": writes})})
    run.stop_all()
    noted = {"write": 0, "dropped": 0}
    with open(files[1], encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if entry["event"] in noted:
                noted[entry["event"]] += entry.get("count", 1)
    if not noted["write"]:
        raise Failed("the audit log has noted no write")
    share = noted["dropped"] / sum(noted.values())
    print(f"the audit log has {noted['write']} writes; {share:.0%} are counted as dropped", flush=True)


def quotas(run):
    limited = run.serve(quotas=[{"match": "users/{id}/**", "properties": 1000, "bytes": "1MiB"},
                                {"match": "**", "bytes": "256MiB"}, {"match": "full/**", "properties": 1}])
    request(limited, "PUT", "/properties/full/a", "1", PUBLISHER)
    try:
        request(limited, "PUT", "/properties/full/b", "1", PUBLISHER)
    except Failed as refused:
        if "quota_exceeded" not in str(refused):
            raise
    else:
        raise Failed("the quotas are not in effect")
    puts(run, "PUT of 200 bytes, quotas", {"without": run.serve(), "beneath two": limited})


def metrics(run):
    silent, told = run.serve(metrics=False), run.serve(metrics=True)
    request(told, "GET", "/metrics")
    for server in (silent, told):
        request(server, "PUT", "/properties/bench/x", '"0123456789abcdefgh"', PUBLISHER)

    def scraped(measure):
        """Measures while somebody asks for the metrics each second, from the beginning on."""
        ended = threading.Event()

        def scrape():
            while True:
                request(told, "GET", "/metrics")
                if ended.wait(1):
                    return

        thread = threading.Thread(target=scrape)
        thread.start()
        try:
            return measure(told)
        finally:
            ended.set()
            thread.join()

    def requests(server):
        answered, _, cpu = wrk(run, server, "/properties/bench/x", token=PUBLISHER)
        return cpu * 1e6 / answered

    def fanned(server):
        return delivered(server, "bench/x", "--subscribers", 1000, "--window", 16, "--seconds", run.options.seconds,
                         path=subscription("bench/x"))

    for row, measure in (("GET, metrics", requests), ("fan-out to 1000, 16 in flight, metrics: per delivery", fanned)):
        run.compare(row, {"without": lambda measure=measure: measure(silent),
                          "asked for each second": lambda measure=measure: scraped(measure)}, at_most_times(1.01))


WORDS = {"audience": audience, "own": own, "audiences": audiences, "rules": rules, "audit": audit, "quotas": quotas,
         "metrics": metrics}
def table(run):
    """The medians, and those of the rounds' differences and ratios to the first way."""
    lines = ["| | µs | | µs | more, µs | ratio | goal |", "|---|--:|---|--:|--:|--:|---|"]
    for row, by in run.rows.items():
        (first, base), *ways = by.items()
        for way, values in ways:
            factor = statistics.median(value / other for value, other in zip(values, base))
            difference = statistics.median(value - other for value, other in zip(values, base))
            goal = run.goals[row](factor, difference) if run.goals[row] else ""
            lines.append(f"| {row}: {first} | {statistics.median(base):.2f} | {way} | {statistics.median(values):.2f} | "
                         f"{difference:+.2f} | {factor:.3f} | {goal} |")
    return "\n".join(lines)


def main():
    root = os.path.dirname(os.path.dirname(servers.HERE))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="word", help=", ".join(WORDS))
    parser.add_argument("--server", default=os.path.join(root, ".build/release/signal-server"))
    parser.add_argument("--results", default=os.devnull, help="the file that results are appended to")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement (default: 2)")
    parser.add_argument("--subscribers", type=int, default=10000, help="of audience and own (default: 10000)")
    parser.set_defaults(peers="")
    options = parser.parse_args()
    unknown = [word for word in options.words if word not in WORDS]
    if unknown:
        parser.error(f"no such word: {', '.join(unknown)}; there are: {', '.join(WORDS)}")
    SignalServer.binary = os.path.abspath(options.server)
    # Being ended is an exception like another, so that what was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = tempfile.mkdtemp(prefix="ruler-")
    is_wrong = False
    try:
        Ruler.binary, Ruler.commands = build(folder, "fanout.c"), build(folder, "commands.c")
        with open(options.results, "a", encoding="utf-8") as results:
            run = AccessRun(options, folder, results)
            begin = datetime.datetime.now()
            for word in options.words or WORDS:
                try:
                    WORDS[word](run)
                except (Failed, OSError, subprocess.SubprocessError) as error:
                    is_wrong = True
                    print(f"{word} failed: {error}", file=sys.stderr)
                finally:
                    run.stop_all()
            print(f"\n{machine()}; {options.rounds} rounds of {options.seconds:g} s, from {begin:%Y-%m-%d %H:%M} on\n")
            print(table(run))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
