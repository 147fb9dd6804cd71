#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs all tests, or those chosen by flags of swift test, and says at the end what failed: thousands of lines
# of what passed are in between.
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh
swift build --build-tests

log=.build/tests.log
status=.build/tests.status
# Some tests stop a process on purpose; a backtrace of each would take most of the time.
export SWIFT_BACKTRACE=enable=no
{
  result=0
  swift test --skip-build --parallel "$@" || result=$?
  echo "$result" >"$status"
} 2>&1 | tee "$log"

result=$(cat "$status")
[ "$result" = 0 ] || {
  echo "Failed, of the log in $log:"
  grep -A 2 "recorded an issue" "$log" || tail -n 20 "$log"
}
exit "$result"
