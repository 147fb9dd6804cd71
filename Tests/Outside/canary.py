#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tickets that are used again, and secrets looked for in everything that a server writes.

    python3 Tests/Outside/canary.py .build/release/signal-server

Needs websockets (PyPI). Tokens, JSON Web Tokens, cookies and tickets, good ones and bad ones, whole and damaged, are given
in each place where a client may put them, also where none belongs: the query, the userinfo, other fields, broken heads,
commands that are none. Each is a text of its own, so that one that is found says where it came from. They are looked for in
the log at the level `trace`, the audit log with all its events, the folders of data, the answers, /metrics, what
administrators are shown, the command line and the name of the process, and what the verbs print. A canary in a path,
which logs do name, has to be found. Takes 40 s, for a ticket that is too old. Exits with 1 and says what is wrong.
"""

import base64
import concurrent.futures
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import websockets.exceptions
import websockets.sync.client

HOST = "127.0.0.1"
ORIGIN = "http://listed.example"
FAILURES = []
ANSWERS = {}


def check(what, holds, detail=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail != '' else ''}", flush=True)
    if not holds:
        FAILURES.append(what)


def canary():
    return "cnry" + secrets.token_hex(10)


def forged(identifier="ann", secret=None):
    return f"sgn_{identifier}_{(secret or canary()).ljust(43, 'A')}"


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def web_token(key, claims, algorithm="HS256"):
    signed = part(json.dumps({"alg": algorithm}).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(key, signed, hashlib.sha256).digest())).decode()


def address(place):
    """An address of this machine for each place: what one address does often is counted in the audit log, not written."""
    return f"127.0.1.{1 + list(ANSWERS).index(place)}"


def ask(place, port, head, body="", whole=True):
    """The answer to a head that is sent as it is; only its status line and fields when it does not end."""
    answer = b""
    ANSWERS.setdefault(place, [])
    # Where a head is refused before it has come as a whole, the connection may be reset.
    with socket.create_connection((HOST, port), 10, (address(place), 0)) as connection, contextlib.suppress(ConnectionError):
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        connection.sendall(f"{head}\r\nHost: {HOST}:{port}\r\nConnection: close\r\n{length}\r\n{body}".encode())
        while (whole or b"\r\n\r\n" not in answer) and (piece := connection.recv(65536)):
            answer += piece
    ANSWERS[place].append(answer)
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0, answer.partition(b"\r\n\r\n")[2]


def speak(place, port, messages, target="/events", **given):
    """The answers to messages over a WebSocket, or the status with which it was refused."""
    ANSWERS.setdefault(place, [])
    try:
        with websockets.sync.client.connect(
                f"ws://{HOST}:{port}{target}", source_address=(address(place), 0), **given) as client:
            got = [client.recv(timeout=5)]
            for message in messages:
                client.send(message)
                got.append(client.recv(timeout=5))
    except websockets.exceptions.InvalidStatus as error:
        got = [str(error.response.status_code), str(error.response.headers), error.response.body.decode()]
    except (websockets.exceptions.ConnectionClosed, TimeoutError, websockets.exceptions.InvalidHandshake) as error:
        got = [repr(error)]
    ANSWERS[place].append("\n".join(got).encode())
    return got


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.tokens, self.audit, self.log = folder / "tokens.json", folder / "audit.log", folder / "server.log"
        self.key = os.urandom(32).hex().encode()
        with open(os.open(folder / "shared.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(self.key)
        self.token = {name: self.verb("token", "create", "--file", self.tokens, "--id", name, "--claim", f"role={role}")
                      for name, role in (("root", "admin"), ("ann", "user"), ("gone", "user"))}
        settings = folder / "server.yaml"
        settings.write_text(f"""listen:
  - url: http://{HOST}:0
  - url: http://{HOST}:0
    redirect: https://live.example
  - url: http://{HOST}:0
    proxy-protocol: true
trusted-proxies: [127.0.0.0/8]
origins: ["{ORIGIN}"]
auth: {{tokens: {self.tokens}, jwt: {{keys: [{{secret-file: {folder}/shared.key}}]}}, cookie: session}}
access:
  admin: auth.role == "admin"
  rules:
    - {{match: "a/**", read: auth.role == "user" || auth.sub == "ann", write: auth.role == "user"}}
audit: {{file: {self.audit}, events: [refusals, failures, sessions, tokens, limits, settings, writes]}}
log: {{level: trace, requests: all}}
data: {{dir: {folder}/data}}
""")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--config", settings], stdout=subprocess.PIPE, stderr=log, text=True)
        self.ports = [int(re.search(r":(\d+)$", self.process.stdout.readline()).group(1)) for _ in range(3)]
        self.port = self.ports[0]

    def verb(self, *arguments, **environment):
        done = subprocess.run([self.binary, *map(str, arguments)], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=30)
        self.printed = done.stdout + done.stderr
        return done.stdout.strip()

    def ticket(self, token, origin=None):
        status, body = ask("a ticket that was made", self.port, "POST /auth/tickets HTTP/1.1\r\n"
                           f"Authorization: Bearer {token}" + (f"\r\nOrigin: {origin}" if origin else ""))
        assert status in (200, 201), body
        # This answer is the one place for it.
        ANSWERS["a ticket that was made"].pop()
        return json.loads(body)["ticket"]

    def use(self, ticket, origin=None):
        return ask("ticket", self.port, f"GET /events?match=a/**&ticket={ticket} HTTP/1.1"
                   + (f"\r\nOrigin: {origin}" if origin else ""), whole=False)[0]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def try_tickets(server, given):
    token = server.token["ann"]

    def ticket(name, *arguments):
        given[f"ticket {name}"] = made = server.ticket(*arguments)
        return made

    old = ticket("that was too old", token)
    made = time.monotonic()
    once = ticket("used again", token)
    check("a ticket is good", server.use(once) == 200)
    check("and not again", [server.use(once) for _ in range(3)] == [401] * 3)
    spoken = ticket("of a WebSocket", token)
    target = f"/events?match=a/**&ticket={spoken}"
    check("a ticket is good for a WebSocket", '"hello"' in speak("ticket", server.port, [], target)[0])
    check("and not again", speak("ticket", server.port, [], target)[0] == "401" and server.use(spoken) == 401)
    good = []
    for number in range(30):
        raced, start = ticket(f"used at once {number}", token), threading.Barrier(16)
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            good.append(list(threads.map(lambda _: (start.wait(), server.use(raced))[1], range(16))).count(200))
    check("of 16 uses at once one is good, 30 times", good == [1] * 30, "" if good == [1] * 30 else good)
    page = [ticket(f"of a page {number}", token, ORIGIN) for number in range(4)]
    check("a page's ticket is good for its origin", server.use(page[0], ORIGIN) == 200)
    check("not for no origin", server.use(page[1]) == 401)
    check("not for another one", server.use(page[2], f"http://{HOST}:{server.port}") == 401)
    check("not for one that is not listed", server.use(page[3], "http://intruder.example") in (401, 403))
    reading = ticket("for a property", token)
    check("a ticket is for no property", ask("ticket", server.port, f"GET /properties/a/x?ticket={reading} HTTP/1.1")[0] == 400)
    both = ticket("beside a token", token)
    check("nor good beside another proof", ask("ticket", server.port, f"GET /events?match=a/**&ticket={both} HTTP/1.1\r\n"
                                               f"Authorization: Bearer {token}")[0] == 400)
    revoked = ticket("of a token that is gone", server.token["gone"])
    server.verb("token", "revoke", "gone", "--file", server.tokens)
    time.sleep(2)
    check("nor when its token is gone", server.use(revoked) == 401)
    young = ticket("that is 25 s old", token)
    time.sleep(25)
    check("a ticket is good after 25 s", server.use(young) == 200)
    time.sleep(max(0, made + 31 - time.monotonic()))
    check("but not after 30", server.use(old) == 401)


def try_secrets(server, given):
    def bad(place, make=lambda secret: secret):
        given[place] = secret = canary()
        return make(secret)

    ann = server.token["ann"]
    web = web_token(server.key, {"sub": "ann", "exp": int(time.time()) + 600, "note": "canary"})
    given["a good JSON Web Token"] = web
    # Good ones, where they belong: so that what follows is refused for what it is.
    get = "GET /properties/a/x HTTP/1.1"
    for name, proof in (("token", ann), ("web token", web)):
        check(f"a good {name} is served", ask("good", server.port, f"{get}\r\nAuthorization: Bearer {proof}")[0] == 404)
    check("a good cookie is served", ask("good", server.port, f"{get}\r\nCookie: session={web}\r\nOrigin: {ORIGIN}")[0] == 404)
    said = speak("good", server.port, [f'{{"id":1,"type":"auth","token":"{ann}"}}'])
    check("a WebSocket is told who it is", '"ok"' in said[-1])
    server.verb("set", "a/y", "1", "--server", f"http://{HOST}:{server.port}", SIGNAL_TOKEN=ann)
    ANSWERS["good"].append(server.printed.encode())

    # Bad ones, and good ones where they do not belong.
    fields = {
        "token": lambda s: f"Authorization: Bearer {forged(secret=s)}",
        "token with a letter too few": lambda s: f"Authorization: Bearer {forged(secret=s + '_AAAA')[:-1]}",
        "token with a letter too many": lambda s: f"Authorization: Bearer {forged(secret='AA_' + s)}A",
        "token that stands twice": lambda s: f"Authorization: Bearer {forged(secret=s)}{forged(secret=s)}",
        "tokens with a point between them": lambda s: f"Authorization: Bearer {forged(secret=s)}.{forged('bob')}",
        "token without its id": lambda s: f"Authorization: Bearer sgn_{s}",
        "token that is none": lambda s: f"Authorization: Bearer {s}",
        "token without its scheme": lambda s: f"Authorization: {forged(secret=s)}",
        "password": lambda s: f"Authorization: Basic {s}",
        "two tokens": lambda s: f"Authorization: Bearer {forged(secret=s)}\r\nAuthorization: Bearer {forged(secret=s)}",
        "signature": lambda s: f"Authorization: Bearer {web.rpartition('.')[0]}.{s}",
        "claims": lambda s: f"Authorization: Bearer {web_token(b'', {'sub': s})}",
        "claims of no algorithm": lambda s: f"Authorization: Bearer {web_token(b'', {'sub': s}, 'none')}",
        "cookie": lambda s: f"Cookie: session={s}\r\nOrigin: {ORIGIN}",
        "cookie that does not count": lambda s: f"Cookie: session={s}",
        "name of a cookie": lambda s: f"Cookie: {s}=1",
        "Host": lambda s: f"Host: user:{s}@{HOST}",
        "Origin": lambda s: f"Origin: http://user:{s}@intruder.example",
        "Referer": lambda s: f"Referer: http://{HOST}/?token={s}",
        "X-Forwarded-For": lambda s: f"X-Forwarded-For: {s}",
        "Forwarded": lambda s: f"Forwarded: for={s}",
        "traceparent": lambda s: f"traceparent: 00-{s}-{s}-01",
        "If-None-Match": lambda s: f"If-None-Match: {s}",
        "If-Match": lambda s: f"If-Match: \"{s}\"",
        "X-Api-Key": lambda s: f"X-Api-Key: {s}",
        "field without a colon": lambda s: f"Authorization Bearer {s}",
        "field with a space before its colon": lambda s: f"Authorization : Bearer {s}",
        "folded field": lambda s: f"Authorization: Bearer\r\n {s}",
        "field with a zero byte": lambda s: f"Authorization: Bearer {s}\0",
        "head that is too large": lambda s: f"Authorization: Bearer {s}{'A' * 20000}",
        "Expect": lambda s: f"Expect: {s}",
        "Transfer-Encoding": lambda s: f"Transfer-Encoding: {s}",
        "Content-Encoding": lambda s: f"Content-Encoding: {s}",
        "Upgrade": lambda s: f"Upgrade: {s}\r\nConnection: Upgrade",
    }
    for place, make in fields.items():
        ask(place, server.port, f"{get}\r\n{bad(place, make)}")
    lines = {
        "parameter": lambda s: f"GET /properties/a/x?token={s} HTTP/1.1",
        "parameter of events": lambda s: f"GET /events?match=**&access_token={s} HTTP/1.1",
        "ticket that is none": lambda s: f"GET /events?match=**&ticket={s} HTTP/1.1",
        "ticket twice": lambda s: f"GET /events?ticket={s}&ticket={s} HTTP/1.1",
        "fragment": lambda s: f"GET /properties/a/x#{s} HTTP/1.1",
        "query that is no form data": lambda s: f"GET /properties/a/x?%zz{s} HTTP/1.1",
        "userinfo": lambda s: f"GET http://ann:{s}@{HOST}/properties/a/x HTTP/1.1",
        "userinfo of CONNECT": lambda s: f"CONNECT ann:{s}@{HOST}:80 HTTP/1.1",
        "query of a path that is not there": lambda s: f"GET /nowhere?token={s} HTTP/1.1",
        "query of another method": lambda s: f"DELETE /events?token={s} HTTP/1.1",
        "target that is too long": lambda s: f"GET /properties/a/x?token={s}{'A' * 9000} HTTP/1.1",
        "query of no version": lambda s: f"GET /properties/a/x?token={s}",
        "query with a space": lambda s: f"GET /properties/a/x?token={s} x HTTP/1.1",
    }
    for place, make in lines.items():
        ask(place, server.port, bad(place, make))
    bodies = {
        "body that is no JSON": ("PUT /properties/a/x", lambda s: f'{{"token":"{s}'),
        "body of a transaction": ("POST /transactions", lambda s: f'{{"token":"{s}"}}'),
    }
    for place, (line, make) in bodies.items():
        ask(place, server.port, f"{line} HTTP/1.1\r\nAuthorization: Bearer {ann}", bad(place, make))
    ask("redirect", server.ports[1], f"{get}\r\n{bad('redirect', fields['token'])}")
    ask("query of a redirect", server.ports[1], f"PUT /properties/a/x?token={bad('query of a redirect')} HTTP/1.1")
    ask("PROXY", server.ports[2], f"PROXY TCP4 {bad('PROXY')} 127.0.0.1 1 2\r\n{get}")
    commands = {
        "auth": lambda s: f'{{"id":1,"type":"auth","token":"{forged(secret=s)}"}}',
        "auth of nothing": lambda s: f'{{"id":1,"type":"auth","token":"{s}"}}',
        "auth with another member": lambda s: f'{{"id":1,"type":"auth","token":"{forged(secret=s)}","more":1}}',
        "auth of a list": lambda s: f'{{"id":1,"type":"auth","token":["{s}"]}}',
        "auth that is no JSON": lambda s: f'{{"id":1,"type":"auth","token":"{s}',
        "command that is none": lambda s: f'{{"id":1,"type":"login","token":"{s}"}}',
        "no command": lambda s: s,
        "binary message": lambda s: s.encode(),
    }
    for place, make in commands.items():
        speak(place, server.port, [bad(place, make)])
    speak("subprotocol", server.port, [], subprotocols=[bad("subprotocol")])
    speak("two subprotocols", server.port, [], subprotocols=["signal.v1.json", bad("two subprotocols")])
    speak("query of a WebSocket", server.port, [], f"/events?token={bad('query of a WebSocket')}")
    token = bad("field of a WebSocket", lambda s: forged(secret=s))
    speak("field of a WebSocket", server.port, [], additional_headers={"Authorization": f"Bearer {token}"})
    for place, verb in (("SIGNAL_TOKEN", ["get", "a/x"]), ("SIGNAL_TOKEN of watch", ["watch", "a/**"])):
        server.verb(*verb, "--server", f"http://{HOST}:{server.port}", SIGNAL_TOKEN=bad(place, lambda s: forged(secret=s)))
        ANSWERS[place] = [server.printed.encode()]
    # A file of tokens that cannot be used: the log says so.
    kept = server.tokens.read_bytes()
    server.tokens.write_text(bad("file of tokens", lambda s: f'{{"tokens":[{{"id":"ann","token":"{forged(secret=s)}"}}, {s}'))
    time.sleep(2)
    server.tokens.write_bytes(kept)
    time.sleep(2)


def look(server, given, control):
    """Where each secret was found that must be nowhere, and whether the one was that must be in the logs."""
    texts = {f"answer: {place}": b"\n".join(answers) for place, answers in ANSWERS.items()}
    root = server.token["root"]
    for target in ("/metrics", "/server", "/server/settings", "/server/connections", "/auth/me"):
        status, texts[target] = ask("of administrators", server.port, f"GET {target} HTTP/1.1\r\nAuthorization: Bearer {root}")
        check(f"administrators are shown {target}", status == 200)
    process = pathlib.Path(f"/proc/{server.process.pid}")
    for name in ("cmdline", "comm", "status"):
        texts[f"/proc/…/{name}"] = (process / name).read_bytes()
    for task in (process / "task").iterdir():
        texts[f"the name of thread {task.name}"] = (task / "comm").read_bytes()
    server.stop()
    texts["standard output"] = server.process.stdout.read().encode()
    # The key is what was given, and not what was written.
    texts |= {str(file.relative_to(server.folder)): file.read_bytes() for file in server.folder.rglob("*")
              if file.is_file() and file.name != "shared.key"}
    for name in ("server.log", "audit.log"):
        check(f"{name} names paths", control.encode() in texts[name])
    failed = texts["audit.log"].count(b'"authentication-failed"')
    check("failures are noted", failed > 5, f"{failed} of them, {len(texts['server.log'])} bytes of log")
    found = []
    for place, secret in given.items():
        # Of a token the random part; of a JSON Web Token the signature; in the forms that a log may give it.
        core = secret[-43:].encode()
        forms = {core, core.hex().encode(), base64.b64encode(secret.encode()).rstrip(b"=")}
        if len(core) == 43:
            raw = base64.urlsafe_b64decode(core + b"=")
            forms |= {raw, raw.hex().encode(), base64.b64encode(raw)}
        found += [f"{place}: in {name}" for name, text in texts.items() if any(form in text for form in forms)]
    check(f"{len(given)} secrets are in none of {len(texts)} texts", not found, "".join(f"\n         {line}" for line in found))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="canary-"))
    server = Server(sys.argv[1], folder)
    given = {f"token of {name}": token for name, token in server.token.items()}
    given["key of the JSON Web Tokens"] = server.key.decode()
    try:
        control = canary()
        ask("control", server.port, f"PUT /properties/{control} HTTP/1.1\r\nAuthorization: Bearer {server.token['ann']}", "1")
        print("Secrets:")
        try_secrets(server, given)
        print("Tickets:")
        try_tickets(server, given)
        print("What was written:")
        look(server, given, control)
    finally:
        server.process.kill()
        server.process.wait()
    if FAILURES:
        sys.exit(f"{len(FAILURES)} wrong. See {folder}.")
    shutil.rmtree(folder)


main()
