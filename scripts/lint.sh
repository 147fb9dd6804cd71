#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the format of the sources given, or of all, the syntax of the scripts, and that an image could be built of what there is.
set -eu
cd "$(dirname "$0")/.."

if ! command -v swift >/dev/null; then
  echo "Swift is missing: install the toolchain from https://www.swift.org/install/linux and put it on the PATH." >&2
  exit 1
fi
[ $# -gt 0 ] || set -- Sources Tests Package.swift
swift format lint --strict --parallel --recursive "$@"

for script in .ci/run scripts/*.sh Packaging/debian/p* Tests/Outside/*/*.sh; do
  sh -n "$script"
done
if command -v python3 >/dev/null; then
  python3 -c 'import ast, sys; [ast.parse(open(name, encoding="utf-8").read(), name) for name in sys.argv[1:]]' \
    Benchmarks/peers/*.py Tests/Outside/*.py Tests/Outside/*/*.py \
    scripts/*.py Tests/Cluster/*.py Tests/Console/*.py Clients/conformance/*.py Clients/python/tests/*.py Clients/python/src/*/*.py
  python3 scripts/image-context.py
fi
if command -v node >/dev/null; then
  for module in Clients/javascript/*.js Clients/javascript/test/*.js Sources/CFiles/console/*.js; do
    # As a module: of what it takes for a script node only looks at the beginning.
    node --input-type=module --check <"$module"
  done
fi
if command -v cc >/dev/null; then
  cc -fsyntax-only -Wall -Wextra -Werror Benchmarks/peers/fanout.c
fi
