#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What compression costs and saves: fan-out to 1000 subscribers, plain, each message by itself, and in the group's window.

The three run in turns against servers of their own, and each number is the median of the rounds. Called by hand:

    python3 Benchmarks/peers/compression.py .build/release/signal-server --rounds 5
    python3 Benchmarks/peers/compression.py NEW --base OLD      # another build, without compression, beside it
"""
import argparse, json, os, pathlib, statistics, subprocess, tempfile, time, urllib.request

PATH = "plant/hall/machine7/temperature"
WAYS = {
    "off": None,
    "plain": None,
    "alone": "permessage-deflate; server_no_context_takeover",
    "window": "permessage-deflate; client_max_window_bits",
}


def start(binary, port, way):
    flags = [] if way in ("off", "base") else ["--compression", "all"]
    server = subprocess.Popen(
        [binary, "serve", "--port", str(port), "--loops", "1", "--log-level", "error", *flags])
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live").read()
            return server
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{binary} does not answer")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(ruler, server, port, extensions, window, seconds, subscribers):
    command = [ruler, "--peer", "signal", "--port", str(port), "--subscribers", str(subscribers), "--window", str(window),
               "--seconds", str(seconds), "--size", "24", "--channel", PATH,
               "--path", f"/events?match={PATH}&initial=false&oldValue=false", "--pause"]
    if extensions:
        command += ["--extensions", extensions]
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdout.readline()
    before = processor_seconds(server.pid)
    run.stdin.write("\n")
    run.stdin.flush()
    result = json.loads(run.stdout.readline())
    used = processor_seconds(server.pid) - before
    run.stdin.write("\n")
    run.stdin.close()
    run.wait()
    if result["stalled"] or result["delivered"] < result["expected"]:
        raise SystemExit(f"stalled: {result}")
    return result["bytes"] / result["delivered"], used / result["delivered"] * 1e6


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--base", help="a server to measure without compression")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=2)
    arguments.add_argument("--subscribers", type=int, default=1000)
    arguments.add_argument("--port", type=int, default=18480)
    options = arguments.parse_args()
    ways = ({"base": None} if options.base else {}) | WAYS
    with tempfile.TemporaryDirectory() as folder:
        ruler = f"{folder}/fanout"
        subprocess.run(
            ["cc", "-O2", "-o", ruler, str(pathlib.Path(__file__).with_name("fanout.c"))], check=True)
        ports = {way: options.port + index for index, way in enumerate(ways)}
        servers = {way: start(options.base if way == "base" else options.binary, ports[way], way) for way in ways}
        try:
            for window in (1, 16):
                rounds = {way: [] for way in ways}
                for _ in range(options.rounds):
                    for way, extensions in ways.items():
                        rounds[way].append(measure(
                            ruler, servers[way], ports[way], extensions, window, options.seconds, options.subscribers))
                for way, values in rounds.items():
                    size = statistics.median(value[0] for value in values)
                    cost = statistics.median(value[1] for value in values)
                    ratio = statistics.median(value[1] / plain[1] for value, plain in zip(values, rounds["plain"]))
                    print(f"{window:3} in flight  {way:7} {size:7.1f} bytes  {cost:7.3f} us per delivery  {ratio:5.2f} x plain")
        finally:
            for server in servers.values():
                server.terminate()


main()
