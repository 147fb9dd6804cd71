#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs all tests, or those chosen by --filter and --skip as swift test has them, and says at the end what
# failed: thousands of lines of what passed are in between. When the test process dies by a signal, or does not end, it
# says which test was running.
#
# With AGE=SECONDS the tests run as on a machine that was started so long ago (scripts/at-age.sh); they may take
# LIMIT seconds (1200).
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh
swift build --build-tests

log=.build/tests.log
status=.build/tests.status
events=.build/tests.events
# Some tests stop a process on purpose; a backtrace of each would take most of the time.
export SWIFT_BACKTRACE=enable=no NO_COLOR=1

limit=${LIMIT:-1200}
# Not by swift test, which holds output back, and leaves the tests running when it is stopped itself.
tests=$(swift build --show-bin-path)/signal-serverPackageTests.xctest
aged=""
[ -z "${AGE:-}" ] || aged="scripts/at-age.sh $AGE"
# Hundreds of servers and their clients are open at once, and a user has 1024 descriptors at first.
# shellcheck disable=SC3045
descriptors=$(ulimit -H -n)
[ "$descriptors" != unlimited ] && [ "$descriptors" -lt 65536 ] || descriptors=65536
# shellcheck disable=SC3045
ulimit -n "$descriptors"
run() {
  # $aged is a list of words.
  # shellcheck disable=SC2086
  timeout -k 10 "$limit" $aged "$tests" --testing-library swift-testing "$@" || result=$?
}
{
  result=0
  if [ $# -gt 0 ]; then
    run "$@"
  else
    # By themselves: they are tasks with limits of time, and many of the others block the threads of tasks.
    tasks='^(SignalClientTests|SignalServerTests\.BenchTests)'
    run --skip "$tasks"
    [ "$result" != 0 ] || run --filter "$tasks"
  fi
  echo "$result" >"$status"
} 2>&1 | tee "$log"

result=$(cat "$status")
[ "$result" = 0 ] && exit 0

# 124 is what timeout says, 137 when the tests did not even end when told to.
if [ "$result" = 124 ] || [ "$result" = 137 ]; then
  echo "The tests did not end within $limit s. These had begun:"
  # A line is "<sign> Test <name> started." or "<sign> Test <name> passed after ...", a case of a test aside.
  sed -n 's/^[^ ]* Test \(".*"\) started\.$/+\1/p; s/^[^ ]* Test \(".*"\) \(with .*\)\{0,1\}\(passed\|failed\) after .*/-\1/p' "$log" \
    | awk '{ name = substr($0, 2); count[name] += /^\+/ ? 1 : -1 }
           END { for (name in count) if (count[name] > 0) print "  " name }'
  exit "$result"
fi

echo "Failed, of the log in $log:"
grep -A 2 "recorded an issue" "$log" || tail -n 20 "$log" | cut -c 1-400
if [ "$result" -gt 128 ]; then
  # In parallel hundreds of tests have begun and not ended; one at a time, it is the last one that began.
  echo "The tests died by a signal. Running them again, one at a time, to find the one that was running:"
  rm -f "$events"
  # shellcheck disable=SC2086
  if ! $aged "$tests" --testing-library swift-testing --no-parallel --event-stream-output-path "$events" \
    --event-stream-version 0 "$@" >"$log.serial" 2>&1 && ! tail -n 1 "$log.serial" | grep -q "Test run with"; then
    echo "Died in: $(sed -n 's|\\/|/|g; s/.*"kind":"testStarted".*"testID":"\([^"]*\)".*/\1/p' "$events" | tail -n 1)"
  else
    echo "One at a time, none dies: it takes several at once. The log is $log.serial."
  fi
fi
exit "$result"
