#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds every example.
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh
exec swift build --package-path Examples
