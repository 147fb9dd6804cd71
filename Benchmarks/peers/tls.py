#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What TLS costs the server, beside peers with TLS, the same without it, and nginx in front that ends TLS.

    python3 Benchmarks/peers/tls.py [--server .build/release/signal-server] [--before another] [--rounds 5] [--seconds 3]

All have the same certificate on P-256, and the ruler speaks TLS 1.3 with one cipher suite to each of them. Fan-out, with 1 and
16 updates in flight; handshakes with a subscription, full and resumed, and a bystander beside them; handshakes of TLS 1.2 by
`openssl s_time`; the memory of idle WebSockets. The servers take turns in every round, and a number is the median of the rounds.
With --before the same is measured of another binary without TLS. Needs openssl with its headers, and a peer for its column.
"""

import argparse
import datetime
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import report
from compare import build, command, now
from scenarios import Run, beside_crowd, crowd, delivered
from servers import HERE, Failed, MicroWebSockets, Nats, Nginx, Ruler, SignalServer


class Proxied(Nginx):
    """Our server with nginx in front.

    Updates go past nginx, which would pass those of one connection on one by one. So they are acknowledged before it has
    passed their deliveries on, and the ruler waits for these.
    """

    name, title, peer = "proxied", "nginx in front", "signal"
    subscription = SignalServer.subscription

    def __init__(self):
        super().__init__()
        self.behind = SignalServer()

    def program(self):
        return "nginx"

    def command(self):
        self.publish_port = self.behind.start().port
        return super().command()

    def site(self):
        return f"""server {{
            listen 127.0.0.1:{self.port} ssl; ssl_certificate {self.pem}; ssl_certificate_key {self.pem};
            ssl_session_cache shared:a:10m; ssl_protocols TLSv1.2 TLSv1.3;
            location / {{
              proxy_pass http://127.0.0.1:{self.publish_port}; proxy_http_version 1.1; proxy_set_header Host $http_host;
              proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_buffering off;
            }} }}"""

    def pids(self):
        return [*super().pids(), *self.behind.pids()]

    def stop(self):
        super().stop()
        self.behind.stop()


def measure(run, secured, others):
    """All rows; the servers without TLS have no handshakes of it to resume."""
    options = run.options
    took = {}

    def fanout(server, window):
        pace = ["--in-step"] if server.name == "proxied" else []
        run.keep(f"tls.fanout{window}", server, delivered(
            server, "updates", "--subscribers", options.subscribers, "--window", window, "--seconds", options.seconds, *pace))

    def connect(server, row, *resume):
        before = server.cpu()
        with Ruler(server, "none", *crowd(options.storm), *resume) as ruler:
            ready = ruler.ready()
            if resume and ready["resumed"] < options.storm - 1:
                raise Failed(f"{ready['resumed']} sessions were resumed")
            took[server.name] = ready["connect_s"]
            run.keep(row, server, (server.cpu() - before) * 1e6 / options.storm)

    def bystander(server):
        result = beside_crowd(server, took[server.name], lambda: Ruler(server, "none", *crowd(options.storm)))
        run.keep("tls.p99", server, result["p99_us"] / 1e3)

    def handshake(server, row, option):
        """Of connections that end behind their handshake."""
        before = server.cpu()
        text = subprocess.run(["openssl", "s_time", "-connect", f"127.0.0.1:{server.port}", "-tls1_2", option, "-time",
                               str(max(1, round(options.seconds)))], capture_output=True, text=True, check=True).stdout
        count = int(re.search(r"(\d+) connections in \d+ real", text)[1])
        run.keep(row, server, (server.cpu() - before) * 1e6 / count)

    def idle(server):
        with Ruler(server, "none", *crowd(100)) as first:
            first.ready()
            before = server.memory()
            with Ruler(server, "none", *crowd(options.subscribers)) as ruler:
                ruler.ready()
                time.sleep(0.3)
                run.keep("tls.idle", server, (server.memory() - before) / options.subscribers)

    everyone = secured + others
    enders = [server for server in secured if server.peer == "signal"]  # what ends TLS before our server
    # First, as later memory that was freed is used again.
    for server in everyone:
        idle(server)
    for _ in range(options.rounds):
        for servers, step, *more in (
                (everyone, fanout, 1), (everyone, fanout, 16), (everyone, connect, "tls.full"), (everyone, bystander),
                (secured, connect, "tls.resumed", "--resume"), (enders, handshake, "tls.old.full", "-new"),
                (enders, handshake, "tls.old.resumed", "-reuse")):
            for server in servers:
                run.attempt(server, lambda server: step(server, *more))
                time.sleep(0.5)  # until the server has noticed that its clients have gone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument("--server", default=os.path.join(root, ".build/release/signal-server"))
    parser.add_argument("--before")
    parser.add_argument("--peers", default="uws,nats,proxied", help="which peers, with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--subscribers", type=int, default=1000, help="of the fan-out (default: 1000)")
    parser.add_argument("--storm", type=int, default=2500, help="handshakes (default: 2500)")
    options = parser.parse_args()
    SignalServer.binary = os.path.abspath(options.server)
    MicroWebSockets.python = sys.executable
    # Being ended is an exception like another, so that what was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    values, begun = {}, now()

    def keep(row, server, value):
        values.setdefault(row, {}).setdefault(server.name, []).append(value)
        print(f"{row:16} {server.name:10} {value:12.4g} {report.unit(row)}", flush=True)

    with tempfile.TemporaryDirectory(prefix="ruler-") as folder:
        pem = os.path.join(folder, "pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", pem],
            check=True, capture_output=True)
        Ruler.binary = build(folder, "fanout.c", "-DWITH_TLS", "-lssl", "-lcrypto")
        run = Run(options, keep, folder)
        ours, plain, before = SignalServer(), SignalServer(), SignalServer()
        plain.name, before.name = "plain", "before"
        before.binary = options.before
        secured = [ours, *run.available(MicroWebSockets(), Nats(), Proxied())]
        for server in secured:
            server.pem = pem
        others = [plain, before] if options.before else [plain]
        try:
            for server in secured + others:
                run.start(server)
            measure(run, secured, others)
        finally:
            run.stop_all()
    print("\n" + report.markdown(values, run.versions, [(begun, command()), (now(), command())]))


if __name__ == "__main__":
    main()
