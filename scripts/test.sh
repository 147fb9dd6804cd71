#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs all tests, or those chosen by flags of swift test, and says at the end what failed: thousands of lines
# of what passed are in between. When the test process dies by a signal, it says which test was running.
#
# With AGE=SECONDS the tests run as on a machine that was started so long ago (scripts/at-age.sh).
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh
swift build --build-tests

log=.build/tests.log
status=.build/tests.status
events=.build/tests.events
# Some tests stop a process on purpose; a backtrace of each would take most of the time.
export SWIFT_BACKTRACE=enable=no

aged=""
[ -z "${AGE:-}" ] || aged="scripts/at-age.sh $AGE"
{
  result=0
  # $aged is a list of words.
  # shellcheck disable=SC2086
  $aged swift test --skip-build --parallel "$@" || result=$?
  echo "$result" >"$status"
} 2>&1 | tee "$log"

result=$(cat "$status")
[ "$result" = 0 ] && exit 0

echo "Failed, of the log in $log:"
grep -A 2 "recorded an issue" "$log" || tail -n 20 "$log" | cut -c 1-400
if grep -q "unexpected signal" "$log"; then
  # In parallel hundreds of tests have begun and not ended; one at a time, it is the last one that began.
  echo "The tests died by a signal. Running them again, one at a time, to find the one that was running:"
  rm -f "$events"
  # shellcheck disable=SC2086
  $aged swift test --skip-build --no-parallel --event-stream-output-path "$events" --event-stream-version 0 "$@" \
    >"$log.serial" 2>&1 || true
  if grep -q "unexpected signal" "$log.serial"; then
    echo "Died in: $(sed -n 's|\\/|/|g; s/.*"kind":"testStarted".*"testID":"\([^"]*\)".*/\1/p' "$events" | tail -n 1)"
  else
    echo "One at a time, none dies: it takes several at once. The log is $log.serial."
  fi
fi
exit "$result"
