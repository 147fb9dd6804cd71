#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds every example; the one with actors must do without any annotation that switches checks off.
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh
if grep -rnE '@unchecked|@preconcurrency|nonisolated\(unsafe\)' Examples/Sources/actors; then
  echo "Examples/Sources/actors: switches a check off" >&2
  exit 1
fi
swift build --package-path Examples
exec scripts/signals-alone.sh
