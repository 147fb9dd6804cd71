#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The snippets of docs/proxies.md in the real nginx, Caddy and HAProxy, in front of a real server.

    apt-get install nginx libnginx-mod-stream caddy haproxy openssl
    swift build && Tests/Outside/proxies.py [--server .build/debug/signal-server] [nginx caddy haproxy]

For each proxy, without and with TLS: a page's own write, a foreign origin and a foreign host refused, events over
WebSocket, the delay of server-sent events, requests on connections behind streams that have ended, and whom the server takes
for the client. For nginx and HAProxy also the PROXY protocol, before HTTP and before TLS. Exits with 1 when a check fails. Needs Python 3.9 and nothing else.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "signals.example.com"
PATIENCE = 10
FAILURES = []
# Another address of this machine than that of the proxies, which are trusted.
CLIENT = "127.0.0.2"


def check(what, holds, detail=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}{': ' + str(detail) if detail != '' else ''}", flush=True)
    if not holds:
        FAILURES.append(what)


def free_ports(count):
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = [holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ports


class Wire:
    """A connection on which HTTP/1.1 is spoken by hand."""

    def __init__(self, port, tls=False, authority=None):
        plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(CLIENT, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(plain, server_hostname=NAME)
        else:
            self.socket = plain
        self.file = self.socket.makefile("rb")
        self.authority = authority or f"127.0.0.1:{port}"

    def send(self, method, target, body=None, **fields):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {fields.pop('Host', self.authority)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode())

    def head(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the connection ended before a response")
        status = int(line.split()[1])
        fields = {}
        while (line := self.file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        return status, fields

    def chunk(self):
        size = int(self.file.readline().split(b";")[0], 16)
        data = self.file.read(size)
        self.file.readline()
        return data

    def response(self):
        status, fields = self.head()
        body = b""
        if status == 204 or status == 304:
            pass
        elif fields.get("transfer-encoding") == "chunked":
            while data := self.chunk():
                body += data
        elif "content-length" in fields:
            body = self.file.read(int(fields["content-length"]))
        else:
            body = self.file.read()
        return status, fields, body

    def ask(self, method, target, body=None, **fields):
        self.send(method, target, body, **fields)
        return self.response()

    def close(self):
        self.file.close()
        self.socket.close()


class WebSocket:
    def __init__(self, wire, target, **fields):
        key = base64.b64encode(os.urandom(16)).decode()
        wire.send(
            "GET", target, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13", Sec_WebSocket_Key=key,
            **fields)
        self.wire = wire
        self.status, self.fields = wire.head()

    def message(self):
        while True:
            first, length = self.wire.file.read(2)
            if length == 126:
                length = int.from_bytes(self.wire.file.read(2), "big")
            elif length == 127:
                length = int.from_bytes(self.wire.file.read(8), "big")
            data = self.wire.file.read(length)
            if first & 15 == 1:
                return json.loads(data)


class Server:
    """A server that trusts proxies on 127.0.0.1, and takes the PROXY protocol on two of its ports."""

    def __init__(self, binary, folder, pem, key):
        both = folder / "server.pem"
        both.touch(0o600)
        both.write_text(pem.read_text() + key.read_text())
        settings = folder / "server.yaml"
        settings.write_text(f"""listen:
  - url: http://127.0.0.1:0
  - url: http://127.0.0.1:0
    proxy-protocol: true
  - url: https://127.0.0.1:0
    certificates: [{both}]
    proxy-protocol: true
trusted-proxies: [127.0.0.1]
hosts: [{NAME}]
log: {{level: debug, format: json}}
""")
        self.log_path = folder / "server.log"
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [binary, "serve", "--config", str(settings)], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port, self.proxied_port, self.proxied_tls_port = [
            int(re.search(r":(\d+)$", self.process.stdout.readline()).group(1)) for _ in range(3)]

    def clients(self, path):
        """Whom the log names for refused requests of a path, without ports."""
        found = []
        for line in self.log_path.read_text().splitlines():
            if line.startswith("{") and json.loads(line).get("path") == path:
                found.append(re.sub(r":\d+$", "", json.loads(line)["peer"]))
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()


class Proxy:
    """One of the programs, with its snippet, on ports of this machine that are free."""

    def __init__(self, program, folder, server_port, plain_port, tls_port, pem, key):
        snippet = self.snippet(program)

        def replace(old, new):
            nonlocal snippet
            assert old in snippet, f"{program}: the snippet has no {old!r}"
            snippet = snippet.replace(old, new)

        replace("127.0.0.1:8080", f"127.0.0.1:{server_port}")
        path = folder / f"{program}.conf"
        if program == "nginx":
            replace("listen 80;", f"listen 127.0.0.1:{plain_port};")
            replace("listen 443 ssl http2;", f"listen 127.0.0.1:{tls_port} ssl http2;")
            replace(f"/etc/ssl/{NAME}.pem", str(pem))
            replace(f"/etc/ssl/{NAME}.key", str(key))
            path.write_text(self.nginx(folder, snippet))
            command = self.nginx_command(folder, path)
        elif program == "caddy":
            # Two sites, as no certificate can be got here and no address of everyone's may be bound.
            replace(f"{NAME} {{", "SITE")
            site = snippet.split("SITE", 1)[1]
            path.write_text(
                "{\n  admin off\n  auto_https off\n}\n"
                f"http://{NAME}:{plain_port} {{\n  bind 127.0.0.1{site}"
                f"https://{NAME}:{tls_port} {{\n  bind 127.0.0.1\n  tls {pem} {key}{site}")
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]
        else:
            replace("bind :80", f"bind 127.0.0.1:{plain_port}")
            replace("bind :443", f"bind 127.0.0.1:{tls_port}")
            both = folder / "both.pem"
            both.write_text(pem.read_text() + key.read_text())
            replace(f"/etc/ssl/{NAME}.pem", str(both))
            path.write_text(snippet)
            command = ["haproxy", "-q", "-db", "-f", str(path)]
        self.start(command, folder, plain_port)

    def start(self, command, folder, port):
        self.log = open(folder / f"{pathlib.Path(command[0]).name}.log", "wb")
        environment = dict(os.environ, XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder), HOME=str(folder))
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env=environment)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{command[0]} did not start:\n{pathlib.Path(self.log.name).read_text()}")
                time.sleep(0.05)

    @staticmethod
    def snippet(program):
        text = (ROOT / "docs/proxies.md").read_text()
        return re.search(rf"^```{program}\n(.*?)^```$", text, re.M | re.S).group(1)

    @staticmethod
    def nginx(folder, servers):
        return (
            f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\n  access_log off;\n"
            + "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + servers + "}\n")

    @staticmethod
    def nginx_command(folder, path):
        binary = shutil.which("nginx") or "/usr/sbin/nginx"
        return [binary, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(path)]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


def connections_to(port):
    """Connections that were made to a port, those included that have ended in the last minute."""
    peers = set()
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            _, local, remote = line.split()[:3]
            if int(remote.split(":")[1], 16) == port:
                peers.add(local)
            elif int(local.split(":")[1], 16) == port:
                peers.add(remote)
    return len(peers)


def event_delays(server_port, port, tls, authority, count=100):
    """Milliseconds from before a write, made at the server itself, until its event has come through the proxy."""
    stream = Wire(port, tls, authority)
    stream.send("GET", "/events?match=delay&initial=false")
    status, fields = stream.head()
    chunked = fields.get("transfer-encoding") == "chunked"

    def lines():
        pending = b""
        while True:
            data = stream.chunk() if chunked else stream.file.read1()
            if not data:
                return
            pending += data
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                yield line

    events = (json.loads(line[6:]) for line in lines() if line.startswith(b"data: "))
    while next(events)["type"] != "live":
        pass
    direct = Wire(server_port)
    delays = []
    for number in range(count):
        begun = time.perf_counter()
        direct.ask("PUT", "/properties/delay", str(number))
        while next(events).get("value") != number:
            pass
        delays.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.002)
    stream.close()
    direct.close()
    return delays


def lost_behind_streams(port, tls, authority, count=1000, connections=8):
    """Requests that got no answer, out of so many, each sent on a connection whose last response was a stream."""
    lost = []

    def run(share):
        wire = None
        for number in range(share):
            try:
                wire = wire or Wire(port, tls, authority)
                status, fields, body = wire.ask("GET", "/events?match=there&take=1")
                assert status == 200 and b"that was all" in body, (status, body)
                if fields.get("connection", "").lower() == "close":
                    wire = Wire(port, tls, authority)
                status, _, body = wire.ask("POST", "/signals/bell", str(number))
                assert status == 204, (status, body)
            except Exception as error:  # Whatever it is, the request is lost.
                lost.append(repr(error))
                wire = None

    threads = [threading.Thread(target=run, args=(count // connections,)) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lost


def try_proxy(program, server, port, tls):
    scheme = "https" if tls else "http"
    authority = f"{NAME}:{port}"
    own = f"{scheme}://{authority}"
    print(f"{program}, {scheme}", flush=True)
    wire = Wire(port, tls, authority)
    status, _, body = wire.ask("PUT", "/properties/there", "1", Origin=own)
    check("a page of the server's own origin writes", status in (201, 204), status)
    status, _, body = wire.ask("PUT", "/properties/there", "2", Origin=f"{scheme}://evil.example")
    check("a page of another origin does not", status == 403, status)
    wire.close()
    wire = Wire(port, tls, authority)
    status, _, body = wire.ask("GET", "/properties/there", Host=f"evil.example:{port}")
    # Caddy has no site of that name, and answers by itself: 200 without anything in it.
    check("a name that is not served is refused", status == 421 or body == b"", status)
    wire.close()

    path = f"/{program}-{scheme}"
    wire = Wire(port, tls, authority)
    wire.ask("GET", path)
    status, _, body = wire.ask(
        "GET", path, Forwarded="for=203.0.113.7;proto=https", X_Forwarded_For="203.0.113.7", X_Forwarded_Proto="ftp")
    wire.close()
    clients = server.clients(path)
    check("the client is who it is, whatever it says", clients == [CLIENT, CLIENT], f"{clients} {status}")
    status, fields, _ = Wire(port, tls, authority).ask("GET", "/health/live")
    check("HSTS with TLS only", ("strict-transport-security" in fields) == tls, fields.get("strict-transport-security"))

    live = WebSocket(Wire(port, tls, authority), "/events?match=there", Origin=own)
    check("a WebSocket opens", live.status == 101, live.status)
    if live.status == 101:
        while live.message()["type"] != "live":
            pass
        Wire(server.port).ask("PUT", "/properties/there", json.dumps(program + scheme))
        check("and gets events", live.message().get("value") == program + scheme)
        live.wire.close()

    delays = event_delays(server.port, port, tls, authority)
    median = statistics.median(delays)
    check("server-sent events: p50 below 20 ms", median < 20, f"p50 {median:.2f} ms, max {max(delays):.2f} ms")
    before = connections_to(server.port)
    lost = lost_behind_streams(port, tls, authority)
    made = connections_to(server.port) - before
    check("1000 requests behind finished streams: 0 lost", not lost, f"{len(lost)} lost {lost[:2] if lost else ''}")
    check("on connections that were used again", made < 100, f"{made} new ones to the server for 2000 requests")


def try_bare_nginx(server, folder):
    """`proxy_pass` and nothing else: not what the page says, but what people try first, so the answers have to help."""
    print("nginx with proxy_pass alone", flush=True)
    (port,) = free_ports(1)
    path = folder / "bare.conf"
    path.write_text(Proxy.nginx(folder, f"""server {{
      listen 127.0.0.1:{port};
      location / {{ proxy_pass http://127.0.0.1:{server.port}; }}
    }}
    """))
    proxy = Proxy.__new__(Proxy)
    proxy.start(Proxy.nginx_command(folder, path), folder, port)
    authority = f"{NAME}:{port}"
    status, _, body = Wire(port, authority=authority).ask("PUT", "/properties/there", "1", Origin=f"http://{authority}")
    check("a write of its own origin is refused, and told why", status == 403 and b"Host" in body, status)
    live = WebSocket(Wire(port, authority=authority), "/events?match=there")
    check("a WebSocket is refused at once", live.status == 426, live.status)
    delays = event_delays(server.port, port, False, authority)
    check("server-sent events are not held back", statistics.median(delays) < 20, f"p50 {statistics.median(delays):.2f} ms")
    proxy.stop()


def try_proxy_protocol(program, version, server, folder):
    """A proxy of TCP in front of the two ports that require a header."""
    print(f"{program}, PROXY protocol {version}", flush=True)
    plain_port, tls_port = free_ports(2)
    path = folder / f"{program}-{version}.conf"
    if program == "nginx":
        module = "/usr/lib/nginx/modules/ngx_stream_module.so"
        load = f"load_module {module};\n" if os.path.exists(module) else ""
        servers = "".join(
            f"server {{ listen 127.0.0.1:{port}; proxy_pass 127.0.0.1:{target}; proxy_protocol on; }}\n"
            for port, target in [(plain_port, server.proxied_port), (tls_port, server.proxied_tls_port)])
        path.write_text(
            f"{load}daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
            f"stream {{\n{servers}}}\n")
        command = Proxy.nginx_command(folder, path)
    else:
        word = "send-proxy" if version == 1 else "send-proxy-v2"
        sections = "".join(
            f"listen l{port}\n  bind 127.0.0.1:{port}\n  server s 127.0.0.1:{target} {word} check inter 200\n"
            for port, target in [(plain_port, server.proxied_port), (tls_port, server.proxied_tls_port)])
        path.write_text(
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 330s\n  timeout server 330s\n" + sections)
        command = ["haproxy", "-q", "-db", "-f", str(path)]
    proxy = Proxy.__new__(Proxy)
    proxy.start(command, folder, plain_port)
    try:
        for port, tls in [(plain_port, False), (tls_port, True)]:
            authority = f"{NAME}:{port}"
            target = f"/{program}-{version}-{tls}"
            wire = Wire(port, tls, authority)
            wire.ask("GET", target, X_Forwarded_For="203.0.113.7")
            clients = server.clients(target)
            check(f"the client is known{' behind TLS' if tls else ''}", clients == [CLIENT], clients)
            wire.close()
            live = WebSocket(Wire(port, tls, authority), "/events?match=proxied")
            while live.status == 101 and live.message()["type"] != "live":
                pass
            Wire(server.port).ask("PUT", "/properties/proxied", json.dumps(target))
            check("and gets events", live.status == 101 and live.message().get("value") == target, live.status)
    finally:
        proxy.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default=str(ROOT / ".build/debug/signal-server"))
    parser.add_argument("proxies", nargs="*", default=["nginx", "caddy", "haproxy"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        pem, key = folder / "certificate.pem", folder / "certificate.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(pem)],
            check=True, capture_output=True)
        for program in options.proxies:
            plain_port, tls_port = free_ports(2)
            server = Server(options.server, folder, pem, key)
            try:
                proxy = Proxy(program, folder, server.port, plain_port, tls_port, pem, key)
                try:
                    try_proxy(program, server, plain_port, False)
                    try_proxy(program, server, tls_port, True)
                finally:
                    proxy.stop()
                if program == "nginx":
                    try_bare_nginx(server, folder)
                    try_proxy_protocol("nginx", 1, server, folder)
                if program == "haproxy":
                    try_proxy_protocol("haproxy", 1, server, folder)
                    try_proxy_protocol("haproxy", 2, server, folder)
            finally:
                server.stop()
    print("all hold" if not FAILURES else f"{len(FAILURES)} do not hold")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
