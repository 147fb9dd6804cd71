#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures CEL beside cel-python (PyPI `cel-python`), in one run, and prints a Markdown table.

Ours is measured by the program of this package; the expressions and values here are the same. A time is that of the
thread's own processor time, the best of five rounds for cel-python and the median of nine for ours.

    swift build -c release --package-path Benchmarks && python3 Benchmarks/cel.py
"""

import pathlib
import re
import subprocess
import sys
import time

CASES = [
    ("value > 21.0", {"value": 22.5}),
    (
        "value.temp > 21.0 && oldValue.temp <= 21.0",
        {"value": {"temp": 22.5, "unit": "C"}, "oldValue": {"temp": 20.5, "unit": "C"}},
    ),
    (
        'path.startsWith("a/") && value.tags.exists(t, t == "x")',
        {"path": "a/temperature", "value": {"temp": 22.5, "tags": ["a", "b", "x"]}},
    ),
]


def best(times, work):
    """Nanoseconds of one call of `work`."""
    shortest = float("inf")
    for _ in range(5):
        start = time.thread_time_ns()
        for _ in range(times):
            work()
        shortest = min(shortest, (time.thread_time_ns() - start) / times)
    return shortest


def main():
    try:
        import celpy
    except ImportError:
        sys.exit("cel-python is missing: pip install cel-python")
    program = pathlib.Path(__file__).parent / ".build/release/Benchmarks"
    # Only names of rows about expressions have a backquote.
    output = subprocess.run([program, "`"], check=True, capture_output=True, text=True).stdout
    rows = {}
    for name, own, beside in re.findall(r"^\| (CEL .*?) \| ([\d.]+) \| .*? \| ([\d.]+|–) \|", output, re.M):
        rows[name] = (float(own), beside)
    print(output[: output.index("| Operation")].strip())
    print("\n| Expression | | ns | Swift closure, ns | cel-python, ns | Ratio |\n|---|---|--:|--:|--:|--:|")
    environment = celpy.Environment()
    for source, values in CASES:
        compiled = environment.program(environment.compile(source))
        activation = {name: celpy.json_to_cel(value) for name, value in values.items()}
        assert compiled.evaluate(activation), source
        theirs = {
            "compile": best(20, lambda: environment.program(environment.compile(source))),
            "match": best(200, lambda: compiled.evaluate(activation)),
        }
        for what, nanoseconds in theirs.items():
            own, closure = rows[f"CEL {what} `{source}`"]
            print(f"| `{source}` | {what} | {own:g} | {closure} | {nanoseconds:.0f} | {own / nanoseconds:.5f} |")


if __name__ == "__main__":
    main()
