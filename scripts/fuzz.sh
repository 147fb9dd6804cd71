#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes one target for a number of seconds: scripts/fuzz.sh Frames 60. New inputs join the corpus of the target; a crash
# leaves its input in Fuzz/ and ends with an error.
set -eu
cd "$(dirname "$0")/.."
