# SPDX-License-Identifier: MIT
"""Measures Signal Server beside other servers, in turns in one run, and writes a table.

    python3 compare.py fanout get put                   # run some scenarios, append to the results, print the table
    python3 compare.py --rounds 1 --seconds 0.5 all     # all of them, briefly, to see that they work
    python3 compare.py report                           # the table of all results so far, as Markdown

Every round measures each server once, in the order of the names, so that a machine that becomes slower does so for all
of them. A cell of the table is the median of the rounds. See docs/performance.md for what is measured and how.
"""

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

import report
import scenarios
import servers


def build(folder, source, *options):
    """Compiles a program or a library of this folder; they are small enough to do so in every run."""
    binary = os.path.join(folder, os.path.splitext(source)[0])
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        sys.exit("A C compiler is missing, for the rulers.")
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", binary, os.path.join(servers.HERE, source), *options],
                   check=True)
    return binary


def arguments():
    root = os.path.dirname(os.path.dirname(servers.HERE))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", default=[], metavar="SCENARIO",
                        help="report, all, or some of: " + " ".join(scenarios.ALL))
    parser.add_argument("--server", default=os.path.join(root, ".build/release/signal-server"),
                        help="the binary to measure")
    parser.add_argument("--static", help="a binary linked statically, for its size and start")
    parser.add_argument("--peers", default="uws,nats,mosquitto,redis,nginx,etcd", help="which peers, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement (default: 2)")
    parser.add_argument("--subscribers", type=int, default=1000, help="of fanout and latency")
    parser.add_argument("--windows", default="1,16,64,256", help="updates in flight in fanout, with commas")
    parser.add_argument("--connections", type=int, default=15000, help="of idle (default: 15000)")
    parser.add_argument("--storm", type=int, default=10000, help="handshakes of storm; subscribers of paths, filters")
    parser.add_argument("--properties", type=int, default=1000000, help="of properties (default: 1000000)")
    parser.add_argument("--minutes", type=float, default=10, help="of soak (default: 10)")
    parser.add_argument("--results", default="results.jsonl", help="the file that results are appended to")
    parser.add_argument("--output", help="write the table there, between its two marks")
    return parser.parse_args()


def main():
    options = arguments()
    words = options.words or ["report"]
    wanted = list(scenarios.ALL) if "all" in words else [word for word in words if word != "report"]
    unknown = [word for word in wanted if word not in scenarios.ALL]
    if unknown:
        sys.exit(f"No such scenario: {', '.join(unknown)}. There are: report, all, {', '.join(scenarios.ALL)}.")
    servers.SignalServer.binary = os.path.abspath(options.server)
    servers.MicroWebSockets.python = sys.executable
    # Being ended is an exception like another, so that what was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = tempfile.mkdtemp(prefix="ruler-")
    failed = False
    try:
        if wanted:
            servers.Ruler.binary = build(folder, "fanout.c")
            servers.Ruler.commands = build(folder, "commands.c")
            servers.SignalServer.allocations = build(folder, "allocations.c", "-shared", "-fPIC", "-ldl")
        with open(options.results, "a", encoding="utf-8") as file:
            def keep(row, server, value, **more):
                entry = {"row": row, "server": server, "value": value, "date": now(), **more}
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                file.flush()
                print(f"{row:18} {server:10} {value:12.4g} {report.unit(row):6}",
                      " ".join(f"{k}={v:.5g}" if isinstance(v, float) else f"{k}={v}" for k, v in more.items()),
                      flush=True)

            run = scenarios.Run(options, keep, folder)
            for word in wanted:
                try:
                    scenarios.ALL[word](run)
                except (servers.Failed, OSError, subprocess.SubprocessError) as error:
                    failed = True
                    print(f"{word} failed: {error}", file=sys.stderr)
                    traceback.print_exc()
                finally:
                    run.stop_all()
            if wanted:
                for name, version in run.versions.items():
                    file.write(json.dumps({"server": name, "version": version}) + "\n")
                file.write(json.dumps({"command": command(), "date": now()}) + "\n")
        table = report.markdown(*report.read(options.results))
        if options.output:
            report.insert(options.output, table)
        else:
            print("\n" + table)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def command():
    """The command, without the paths of this machine."""
    shown, hide = [], False
    for argument in sys.argv[1:]:
        if hide:
            hide = False
            continue
        hide = argument in ("--server", "--before", "--static", "--results", "--output")
        if not hide:
            shown.append(argument)
    return " ".join(["python3", os.path.basename(sys.argv[0]), *shown])


if __name__ == "__main__":
    main()
