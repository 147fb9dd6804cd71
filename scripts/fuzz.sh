#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes one target for a number of seconds, from the inputs in Fuzz/Corpus: scripts/fuzz.sh JSON 60. What is found goes to
# Fuzz/.build/found; an input that breaks something is left there and named, and the exit status is not 0.
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh

target=${1:-}
seconds=${2:-60}
swift build -c release --package-path Fuzz
program=Fuzz/.build/release/Fuzz
# Without a name the program lists the names there are.
[ -n "$target" ] || exec "$program"

found=Fuzz/.build/found/$target
mkdir -p "$found"
# The sanitizer's search for leaks takes the runtime's own for ours.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
set -- -max_total_time="$seconds" -timeout=30 -artifact_prefix="$found-" -print_final_stats=1
[ ! -f "Fuzz/Corpus/$target.dict" ] || set -- "$@" -dict="Fuzz/Corpus/$target.dict"
set -- "$@" "$found"
[ ! -d "Fuzz/Corpus/$target" ] || set -- "$@" "Fuzz/Corpus/$target"
exec "$program" "$target" "$@"
