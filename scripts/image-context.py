#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that .dockerignore admits whatever the Dockerfile copies, which otherwise only an image that is built would tell."""

import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def sources(dockerfile):
    """What is copied from the folder that the image is built from."""
    for line in re.sub(r"\\\n", " ", dockerfile).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0].upper() not in ("COPY", "ADD") or any(word.startswith("--from=") for word in words):
            continue
        yield from (word.strip("/") for word in words[1:-1] if not word.startswith("--"))


def matcher(pattern):
    """A pattern of .dockerignore also matches what is beneath what it names."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    text = re.sub(r"\*\*/|\*\*|\*|\?|[^*?]+", lambda part: parts.get(part[0], re.escape(part[0])), pattern.strip("/"))
    return re.compile(f"{text}(?:/.*)?")


def is_admitted(path, rules):
    """The last rule that matches decides."""
    admitted = True
    for rule in rules:
        if matcher(rule.removeprefix("!")).fullmatch(path):
            admitted = rule.startswith("!")
    return admitted


def main():
    lines = [line.strip() for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()]
    rules = [line for line in lines if line and not line.startswith("#")]
    found = list(sources((ROOT / "Dockerfile").read_text(encoding="utf-8")))
    faults = [f"{path}: .dockerignore leaves it out" for path in found if not is_admitted(path, rules)]
    faults += [f"{path}: there is no such file" for path in found if not (ROOT / path).exists()]
    for fault in faults:
        print(f"Dockerfile: {fault}", file=sys.stderr)
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
