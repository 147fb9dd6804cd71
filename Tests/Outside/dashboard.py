#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A dashboard that stays open in a browser while its server is killed and restarted: no hole, no repeat, no reset.

    python3 Tests/Outside/dashboard.py .build/release/signal-server [--restarts 10] [--seconds 2]

Needs Chromium and websockets (PyPI), for its DevTools protocol. A page of another origin watches counters in two ways: by
Clients/javascript, and by the browser's own EventSource. Writers count up over HTTP, each its own property, and ask what
there is when they do not know whether a write was carried out. Every other restart is a SIGKILL, the others a SIGTERM.
At the end both ways must have seen each number of each counter once and in order, up to the last acknowledged one, and no
`reset` or `gap`. Exits with 1 and says what is wrong otherwise.
"""

import argparse
import functools
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from chromium import HOST, Browser

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTERS = 5

PAGE = """<!doctype html>
<title>Dashboard</title>
<script type="module">
import { connect } from "./signal-client.js"
const url = new URLSearchParams(location.search).get("server")
const seen = { client: {}, stream: {}, unexpected: [], connections: 0, states: [] }
window.seen = seen
const note = (way, path, value) => (seen[way][path] ??= []).push(value)

// What the server sends is looked at, too: the client would show a `reset` as the difference that it makes.
class Observed extends WebSocket {
  constructor(...given) {
    super(...given)
    seen.connections += 1
    this.addEventListener("message", event => {
      const message = JSON.parse(event.data)
      if (["reset", "gap", "error"].includes(message.type)) seen.unexpected.push(message)
    })
  }
}
const client = connect(url, { WebSocket: Observed, minDelay: 50, maxDelay: 200 })
client.subscribe(state => seen.states.push(state))
client.watch("counter/*").subscribe((watch, changes) => {
  for (const change of changes) note("client", change.path, change.value)
})

const stream = new EventSource(url + "/events?match=counter/*")
stream.onmessage = event => {
  const message = JSON.parse(event.data)
  if (["reset", "gap"].includes(message.type)) seen.unexpected.push(message)
  if (message.value !== undefined) note("stream", message.path, message.value)
}
stream.addEventListener("gap", event => seen.unexpected.push(JSON.parse(event.data)))
stream.addEventListener("reset", event => seen.unexpected.push(JSON.parse(event.data)))
stream.addEventListener("end", event => seen.unexpected.push(JSON.parse(event.data)))
</script>
"""


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Server:
    """The server under test, on one port and one folder through all its restarts."""

    def __init__(self, binary, folder, origin):
        self.port = free_port()
        self.command = [binary, "serve", "--port", str(self.port), "--data-dir", os.path.join(folder, "data"),
                        "--origins", origin, "--log-level", "warning"]
        self.log = open(os.path.join(folder, "server.log"), "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.request("GET", "/health/ready")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        sys.exit(f"The server does not start; see {self.log.name}.")

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait(60)

    def request(self, method, target, body=None):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Writer(threading.Thread):
    """Counts one property up for as long as it may."""

    def __init__(self, server, number, ends):
        super().__init__()
        self.server, self.target, self.ends = server, f"/properties/counter/{number}", ends
        self.path = f"counter/{number}"
        self.last = 0

    def run(self):
        while not self.ends.is_set():
            try:
                status, body = self.server.request("PUT", self.target, str(self.last + 1))
                if status not in (201, 204):
                    raise RuntimeError(f"PUT {self.target}: {status} {body}")
                self.last += 1
            except (OSError, http.client.HTTPException):
                self.find_out()
            time.sleep(0.005)

    def find_out(self):
        """What there is, when it is not known whether the last write was carried out."""
        while True:
            try:
                status, body = self.server.request("GET", self.target)
                self.last = int(body) if status == 200 else 0
                return
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)


def serve_page(folder):
    """Serves the page from a port of its own; gives back its origin."""
    with open(os.path.join(folder, "index.html"), "w") as file:
        file.write(PAGE)
    shutil.copy(os.path.join(ROOT, "Clients/javascript/signal-client.js"), folder)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    pages = http.server.ThreadingHTTPServer((HOST, 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    return f"http://{HOST}:{pages.server_address[1]}"


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


def faults(seen, writers):
    for way in ("client", "stream"):
        for writer in writers:
            got = seen[way].get(writer.path, [])
            wanted = list(range(got[0] if got else 1, writer.last + 1))
            if got != wanted or not wanted:
                wrong = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
                yield f"{way}: {writer.path}: at {wrong} of {len(wanted)}: {got[wrong:wrong + 5]}, not {wanted[wrong:wrong + 5]}"
    yield from (f"the page was sent {message}" for message in seen["unexpected"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2, help="between two restarts")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="dashboard-")
    os.mkdir(os.path.join(folder, "pages"))
    origin = serve_page(os.path.join(folder, "pages"))
    server = Server(options.binary, folder, origin)
    ends = threading.Event()
    writers = [Writer(server, number, ends) for number in range(COUNTERS)]
    browser = Browser(folder)
    page = browser.open(f"{origin}/?server=http://{HOST}:{server.port}")
    try:
        for writer in writers:
            writer.start()
        wait_until(lambda: page.evaluate("Object.keys(window.seen?.stream ?? {}).length") == COUNTERS, 30)
        for number in range(options.restarts):
            time.sleep(options.seconds)
            server.stop(signal.SIGKILL if number % 2 else signal.SIGTERM)
            server.start()
        time.sleep(options.seconds)
        ends.set()
        for writer in writers:
            writer.join()
        is_caught_up = "%s.every(([path, last]) => seen.client[path]?.at(-1) == last && seen.stream[path]?.at(-1) == last)"
        last = json.dumps([[writer.path, writer.last] for writer in writers])
        wait_until(lambda: page.evaluate(is_caught_up % last), 30)
        seen = json.loads(page.evaluate("JSON.stringify(seen)"))
    finally:
        ends.set()
        browser.close()
        server.stop(signal.SIGTERM)
    wrong = list(faults(seen, writers))
    print(f"{options.restarts} restarts, {seen['connections']} connections of the client, states {seen['states'].count('stale')} "
          f"times stale; {sum(writer.last for writer in writers)} writes, "
          f"{sum(map(len, seen['client'].values()))} seen by the client, {sum(map(len, seen['stream'].values()))} by EventSource")
    if wrong:
        sys.exit("\n".join(wrong) + f"\nSee {folder}.")
    shutil.rmtree(folder)


main()
