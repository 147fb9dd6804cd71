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
    # In a copy of the tree, with a lock that the sanitizer sees in every target that has one: scripts/tsan/Mutex.swift.
    tree=.build/tsan-tree
    mkdir -p "$tree"
    git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read |
      tar --extract --directory "$tree"
    # Signals is a module of its own within a folder.
    for folder in Sources/* Sources/SignalStore/Signals Tests/*; do
      ! grep -rq 'Mutex[<(]' "$folder" --include='*.swift' || cp scripts/tsan/Mutex.swift "$tree/$folder/"
    done
    # Some imports are wider than they need be with it; that is no error there.
    sed -i 's/treatAllWarnings(as: .error)/treatAllWarnings(as: .warning)/' "$tree/Package.swift"
    export SWIFT_BACKTRACE=enable=no
    # Not optimized: then it does not see that a copy of an array was released before its storage is changed in place.
    # The tests that read the sources would read the copy's, which imports what the lock needs.
    test_tree() { swift test --package-path "$tree" --sanitize=thread "$@"; }
    if [ $# -gt 0 ]; then
      test_tree --skip ArchitectureTests "$@"
    else
      # By themselves: they have limits of time, and share the threads of tasks with tests that wait on them.
      tasks='^(SignalClientTests|SignalServerTests\.BenchTests)'
      test_tree --skip ArchitectureTests --skip "$tasks"
      test_tree --skip-build --filter "$tasks"
    fi
    ;;
  address)
    # Only an optimized build sees reads out of bounds, and the runtime itself leaks at exit.
    # Foundation, which only tests use, copies directory entries by the size of their type.
    mkdir -p .build
    echo "interceptor_via_lib:libFoundation.so" >.build/asan.suppressions
    export ASAN_OPTIONS="detect_leaks=0:suppressions=$PWD/.build/asan.suppressions"
    exec swift test --sanitize=address -c release -Xswiftc -enable-testing --scratch-path .build/asan "$@"
    ;;
  *)
    echo "usage: scripts/sanitize.sh thread|address [flags of swift test]" >&2
    exit 64
    ;;
esac
