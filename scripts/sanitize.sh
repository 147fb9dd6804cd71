#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs all tests under a sanitizer, in a build folder of its own: scripts/sanitize.sh thread|address [flags of swift test]
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh

sanitizer=$1
shift
case $sanitizer in
  thread)
    exec swift test --sanitize=thread --scratch-path .build/tsan "$@"
    ;;
  address)
    # Only an optimized build sees reads out of bounds, and the runtime itself leaks at exit.
    export ASAN_OPTIONS=detect_leaks=0
    exec swift test --sanitize=address -c release -Xswiftc -enable-testing --scratch-path .build/asan "$@"
    ;;
  *)
    echo "usage: scripts/sanitize.sh thread|address [flags of swift test]" >&2
    exit 64
    ;;
esac
