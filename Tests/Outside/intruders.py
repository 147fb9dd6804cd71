#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages of others in Chromium that want what the user of the browser may have.

    python3 Tests/Outside/intruders.py .build/release/signal-server

Needs Chromium and websockets (PyPI), for its DevTools protocol. The browser has a cookie that the server takes for the user.
Pages of a listed origin, of another site, of another port of the same machine, of no origin (a sandboxed frame, a data: URL),
and of a name that was rebound to the server's address, each try all that a page can: to read by fetch, by EventSource and
by WebSocket, to write by WebSocket, by fetch with and without a preflight, by a form and by a beacon; what is open to
everybody, and what is the user's alone. They try it at two servers. The guarded one must let the listed origin alone do
it, and the log must have a refusal for each of the others; at the careless one, whose `hosts` and `origins` let them
in, they must succeed, or they would have failed at the guarded one for another reason. Exits with 1 and says what is wrong
otherwise.
"""

import base64
import hashlib
import hmac
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

# Names that the browser takes for this machine.
LISTED, OTHER, REBOUND = "listed.example", "intruder.example", "rebound.example"
AREAS = ("open", "own")
READS = ("fetch", "EventSource", "WebSocket")
WRITES = ("socket", "put", "post", "form", "beacon")
# What they may have. Cookies are not sent to the rebound name, and count for those origins only that are listed by name.
MAY = {
    "guarded": {"a listed origin": AREAS, "another site": (), "another port of the same host": (), "a sandboxed frame": (),
                "a data: URL": (), "a rebound name": ()},
    "careless": {"a listed origin": ("open",), "another site": AREAS, "another port of the same host": AREAS,
                 "a sandboxed frame": ("open",), "a data: URL": ("open",), "a rebound name": ("open",)},
}
FAILURES = []

# What a page tries; it answers which reads brought the treasure.
ATTACK = r"""
const within = (time, promise) => Promise.race([promise, new Promise(done => setTimeout(done, time, null))])
const anyhow = request => request("include").catch(() => request("omit"))
const attack = (server, area, tag) => {
  const loot = name => `${area}/loot/${tag}/${name}`
  const transaction = name => ({ operations: [{ op: "set", path: loot(name), value: "=" }] })
  const has = text => String(text).includes("treasure")
  const safely = action => within(3000, Promise.resolve().then(action).catch(() => false))
  const read = {
    fetch: () => anyhow(credentials => fetch(`${server}/properties/${area}/chest`, { credentials })).then(r => r.text()).then(has),
    EventSource: () => new Promise(done => [true, false].forEach(withCredentials => {
      const stream = new EventSource(`${server}/events?match=${area}/chest`, { withCredentials })
      stream.onmessage = event => { if (has(event.data)) done(true) }
    })),
    WebSocket: () => new Promise(done => {
      const socket = new WebSocket(`${server.replace("http", "ws")}/events?match=${area}/chest`)
      socket.onopen = () => socket.send(JSON.stringify({ id: 1, type: "set", path: loot("socket"), value: "=" }))
      socket.onmessage = event => { if (has(event.data)) done(true) }
      socket.onerror = () => done(false)
    }),
  }
  const write = {
    put: () => anyhow(credentials => fetch(`${server}/properties/${loot("put")}`, { method: "PUT", body: '"="', credentials })),
    post: () => fetch(`${server}/transactions`, {
      method: "POST", mode: "no-cors", credentials: "include", headers: { "Content-Type": "text/plain" },
      body: JSON.stringify(transaction("post")),
    }),
    form: () => new Promise(done => {
      const [name, value] = JSON.stringify(transaction("form")).split("=")
      const frame = Object.assign(document.createElement("iframe"), { name: tag + area })
      document.documentElement.append(frame)
      const form = Object.assign(document.createElement("form"), {
        method: "POST", action: `${server}/transactions`, enctype: "text/plain", target: tag + area })
      form.append(Object.assign(document.createElement("input"), { name, value }))
      document.documentElement.append(form)
      frame.onload = done
      form.submit()
    }),
    beacon: () => navigator.sendBeacon(`${server}/transactions`, JSON.stringify(transaction("beacon"))),
  }
  return Promise.all([
    ...Object.entries(read).map(async ([name, action]) => [name, !!await safely(action)]),
    ...Object.values(write).map(action => safely(action).then(() => null)),
  ]).then(all => Object.fromEntries(all.filter(Boolean)))
}
"""

# The same in a sandboxed frame of the page.
FRAMED = r"""
const framed = (...given) => new Promise(done => {
  addEventListener("message", event => done(event.data))
  const frame = document.createElement("iframe")
  frame.sandbox = "allow-scripts allow-forms"
  frame.srcdoc = `<script>${ATTACK}; attack(...${JSON.stringify(given)}).then(all => parent.postMessage(all, "*"))<${"/"}script>`
  document.documentElement.append(frame)
})
"""


def check(what, holds, detail=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        FAILURES.append(what)


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Pages(http.server.ThreadingHTTPServer):
    """An empty page for whatever name it is asked by."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!doctype html><title>A page</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self, port):
        super().__init__((HOST, port), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


def web_token(key, claims):
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    signed = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(key, signed, hashlib.sha256).digest())).decode()


class Server:
    def __init__(self, binary, folder, name, port, key_file, admin, hosts, origins):
        self.port, self.admin = port, admin
        self.url = f"http://{HOST}:{port}"
        settings = os.path.join(folder, f"{name}.yaml")
        with open(settings, "w") as file:
            file.write(f"""host: {HOST}
port: {port}
hosts: {json.dumps(hosts)}
origins: {json.dumps(origins)}
auth: {{jwt: {{keys: [{{secret-file: {key_file}}}]}}, cookie: session}}
access:
  admin: auth.id == "admin"
  rules:
    - {{match: "open/**", read: "true", write: "true"}}
    - {{match: "own/**", read: auth.id == "ann", write: auth.id == "ann"}}
log: {{level: debug, format: json}}
""")
        self.log = os.path.join(folder, f"{name}.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([binary, "serve", "--config", settings], stdout=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + 30
        while True:
            try:
                for area in AREAS:
                    assert self.ask("PUT", f"/properties/{area}/chest", '"treasure"')[0] == 201
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit(f"The server does not start; see {self.log}.")
                time.sleep(0.05)

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            connection.request(method, target, body, {"Authorization": f"Bearer {self.admin}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def refusals(self):
        with open(self.log) as log:
            lines = [json.loads(line) for line in log if line.startswith("{")]
        return [line.get("code") for line in lines if line.get("code")]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def try_all(page, server, tag, call="attack"):
    """What a page gets of each area: the names of what has succeeded."""
    if call == "framed":
        page.evaluate(f"window.framed = (ATTACK => {{ {FRAMED}; return framed }})({json.dumps(ATTACK)}); null")
    else:
        page.evaluate(f"window.attack = (() => {{ {ATTACK}; return attack }})(); null")
    got = {}
    for area in AREAS:
        before = len(server.refusals())
        read = page.evaluate(f"{call}({json.dumps(server.url)}, {json.dumps(area)}, {json.dumps(tag)})")
        # For a beacon nobody can wait.
        time.sleep(0.5)
        written = [name for name in WRITES
                   if server.ask("GET", f"/properties/{area}/loot/{tag}/{name}")[0] == 200]
        got[area] = [name for name in READS if read[name]] + written
        got[area, "refused"] = server.refusals()[before:]
    return got


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = tempfile.mkdtemp(prefix="intruders-")
    key = os.urandom(32).hex().encode()
    key_file = os.path.join(folder, "shared.key")
    with open(os.open(key_file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(key)
    end = int(time.time()) + 3600
    admin, user = (web_token(key, {"sub": name, "exp": end}) for name in ("admin", "ann"))
    pages = Pages(0)
    port = pages.server_address[1]
    # Browsers begin to keep cookies from other sites, and pages from the machine they run on; the server must not need that.
    os.makedirs(os.path.join(folder, "chromium/Default"))
    with open(os.path.join(folder, "chromium/Default/Preferences"), "w") as file:
        json.dump({"profile": {"cookie_controls_mode": 0}}, file)
    browser = Browser(folder, f"--host-resolver-rules=MAP *.example {HOST}",
                      "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessChecks")
    servers = {}
    try:
        # The pages of the rebound name come from the intruder's own server, whose address and port are then taken.
        ports = {"guarded": free_port(), "careless": free_port()}
        rebound = {}
        for name, its_port in ports.items():
            before = Pages(its_port)
            rebound[name] = browser.open(f"http://{REBOUND}:{its_port}/")
            while rebound[name].evaluate("document.title") != "A page":
                time.sleep(0.05)
            before.end()
        listed, other, near = (f"http://{name}:{port}" for name in (LISTED, OTHER, HOST))
        servers["guarded"] = Server(sys.argv[1], folder, "guarded", ports["guarded"], key_file, admin, [], [listed])
        servers["careless"] = Server(
            sys.argv[1], folder, "careless", ports["careless"], key_file, admin, ["*"], ["*", other, near])
        tabs = {
            "a listed origin": (browser.open(listed), "attack"),
            "another site": (browser.open(other), "attack"),
            "another port of the same host": (browser.open(near), "attack"),
            "a sandboxed frame": (browser.open(other), "framed"),
            "a data: URL": (browser.open("data:text/html,<title>A page</title>"), "attack"),
        }
        everything = [*READS, *WRITES]
        for kind, server in servers.items():
            tabs["a rebound name"] = (rebound[kind], "attack")
            print(f"The {kind} server:")
            for tag, (what, (page, call)) in enumerate(tabs.items()):
                while page.evaluate("document.title") != "A page":
                    time.sleep(0.05)
                page.command("Network.setCookie", name="session", value=user, url=server.url, sameSite="None", secure=True)
                if what == "a rebound name":
                    server.url = f"http://{REBOUND}:{server.port}"
                got = try_all(page, server, f"t{tag}", call)
                print(f" {what}:")
                for area in AREAS:
                    wanted = everything if area in MAY[kind][what] else []
                    check(f"{area}: {'all' if wanted else 'nothing'} is had", got[area] == wanted,
                          "" if got[area] == wanted else f"had {got[area]}, refused {got[area, 'refused']}")
                    if kind == "guarded" and not MAY[kind][what]:
                        code = "misdirected" if what == "a rebound name" else "origin_refused"
                        count = got[area, "refused"].count(code)
                        # WebSocket, post, form and beacon; preflights are answered without a permission.
                        check(f"{area}: refused as {code}", count >= 4, f"{count} times")
    finally:
        browser.close()
        for server in servers.values():
            server.stop()
        pages.end()
    if FAILURES:
        sys.exit(f"{len(FAILURES)} wrong. See {folder}.")
    shutil.rmtree(folder)


main()
