#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What TLS costs the server, beside the same without it, and with nginx in front that ends TLS.

    python3 Benchmarks/peers/tls.py [--server .build/release/signal-server] [--before another] [--rounds 5] [--seconds 3]

Fan-out to 1000 subscribers by `signal-server bench`, with 1 and 16 updates in flight; handshakes by `openssl s_time`, full and
resumed; the memory of 1000 idle WebSockets with a subscription each. The ways take turns in every round, and a number is
the median of the rounds. Times are the processor's, of the server and, where it is there, of nginx. With --before the same is
measured of another binary without TLS. Needs Linux, openssl, and nginx for its rows.
"""

import argparse
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBSCRIBERS = 1000
UPGRADE = (
    b"GET /events?match=bench/** HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")


def processor_microseconds(pids):
    """What the threads of some processes have used."""
    total = 0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1000


def resident(pids):
    return sum(int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * 4096


class Way:
    """A way to a server of its own: its URL, and whose time and memory it takes."""

    def __init__(self, name, binary, url, pids):
        self.name, self.binary, self.url, self.pids = name, binary, url, pids
        self.port = int(url.rsplit(":", 1)[1])
        self.is_secured = url.startswith("https")


def start(binary, pem, scheme):
    process = subprocess.Popen(
        [binary, "serve", "--listen", f"{scheme}://127.0.0.1:0", "--tls-certificates", str(pem), "--loops", "1",
         "--log-level", "error"], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def start_nginx(folder, pem, upstream):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
    path = folder / "nginx.conf"
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path.write_text(f"""daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 9000; }}
http {{ access_log off; {temporary}
  map $http_upgrade $connection_upgrade {{ default upgrade; "" ""; }}
  upstream s {{ server {upstream}; keepalive 32; }}
  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {pem}; ssl_certificate_key {pem};
    ssl_session_cache shared:a:10m; ssl_protocols TLSv1.2 TLSv1.3;
    location / {{
      proxy_pass http://s; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; proxy_buffering off;
    }}
  }}
}}
""")
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([binary, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(path)])
    while not (workers := pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
        time.sleep(0.05)
    return process, int(workers[0]), f"https://127.0.0.1:{port}"


def fanout(way, pem, window, seconds):
    """Microseconds per delivery, the sum over the processes: `bench` measures one at a time."""
    total = 0
    for pid in way.pids:
        command = [way.binary, "bench", "fanout", "--server", way.url, "--subscribers", str(SUBSCRIBERS), "--window",
                   str(window), "--seconds", str(seconds), "--pid", str(pid), "--json"]
        run = subprocess.run(
            command + (["--ca", str(pem)] if way.is_secured else []), capture_output=True, text=True, check=True)
        total += json.loads(run.stdout)["serverMicrosecondsPerDelivery"]
    return total


def handshakes(way, version, resumes, seconds):
    """Microseconds per connection that ends behind its handshake."""
    before = processor_microseconds(way.pids)
    run = subprocess.run(
        ["openssl", "s_time", "-connect", f"127.0.0.1:{way.port}", "-reuse" if resumes else "-new", "-time",
         str(max(1, round(seconds)))] + ([] if version == "1.3" else ["-tls1_2"]),
        capture_output=True, text=True, check=True)
    count = int(re.search(r"(\d+) connections in \d+ real", run.stdout).group(1))
    return (processor_microseconds(way.pids) - before) / count


def connect(way, context):
    plain = socket.create_connection(("127.0.0.1", way.port))
    return context.wrap_socket(plain, server_hostname="localhost") if way.is_secured else plain


def idle(way, context):
    """Bytes per WebSocket with a subscription."""
    def open_one():
        wire = connect(way, context)
        wire.sendall(UPGRADE)
        received = b""
        while b'"live"' not in received:
            received += wire.recv(65536)
        return wire

    kept = [open_one() for _ in range(100)]
    before = resident(way.pids)
    kept += [open_one() for _ in range(SUBSCRIBERS)]
    time.sleep(0.3)
    return (resident(way.pids) - before) / SUBSCRIBERS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default=str(ROOT / ".build/release/signal-server"))
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    values = {}

    def keep(row, way, value):
        values.setdefault(row, {}).setdefault(way.name, []).append(value)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pem = folder / "signal.pem"
        subprocess.run([options.server, "certificate", "self-signed", "--output", str(pem)], check=True, capture_output=True)
        context = ssl.create_default_context(cafile=str(pem))
        processes, ways = [], []
        kinds = [("plain", options.server, "http"), ("TLS", options.server, "https")]
        if options.before:
            kinds.insert(0, ("plain, before", options.before, "http"))
        for name, binary, scheme in kinds:
            process, url = start(binary, pem, scheme)
            processes.append(process)
            ways.append(Way(name, binary, url, [process.pid]))
        if shutil.which("nginx") or pathlib.Path("/usr/sbin/nginx").exists():
            process, behind = start(options.server, pem, "http")
            nginx, worker, url = start_nginx(folder, pem, behind.split("//")[1])
            processes += [nginx, process]
            ways.append(Way("nginx in front", options.server, url, [worker, process.pid]))
        try:
            # First, as later memory that was freed is used again.
            for way in ways:
                keep("an idle WebSocket with a subscription: bytes", way, idle(way, context))
            for _ in range(options.rounds):
                for window in (1, 16):
                    for way in ways:
                        # The updates come through nginx, too, which passes those of a connection on one by one.
                        if window == 1 or len(way.pids) == 1:
                            row = f"fan-out, {window} in flight: µs per delivery"
                            keep(row, way, fanout(way, pem, window, options.seconds))
                for version in ("1.3", "1.2"):
                    for resumes in (False, True):
                        for way in ways:
                            if way.is_secured:
                                row = f"handshake of TLS {version}, {'resumed' if resumes else 'full'}: µs"
                                keep(row, way, handshakes(way, version, resumes, options.seconds))
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
                process.wait(20)
    names = [way.name for way in ways]
    print("| | " + " | ".join(names) + " |\n|---|" + "--:|" * len(names))
    for row, cells in values.items():
        texts = [f"{statistics.median(cells[name]):.2f}" if name in cells else "–" for name in names]
        print(f"| {row} | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    main()
