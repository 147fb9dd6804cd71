#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes sure that the toolchain and the system libraries that are linked are here. Libraries are installed by apt, and
# only when pkg-config does not find them; the toolchain is never installed.
set -eu

if ! command -v swift >/dev/null; then
  echo "Swift is missing: install the toolchain from https://www.swift.org/install/linux and put it on the PATH." >&2
  exit 1
fi

# Module of pkg-config : Debian package.
libraries="openssl:libssl-dev yaml-0.1:libyaml-dev sqlite3:libsqlite3-dev zlib:zlib1g-dev"

missing=""
command -v pkg-config >/dev/null || missing="pkg-config"
for library in $libraries; do
  pkg-config --exists "${library%%:*}" 2>/dev/null || missing="$missing ${library#*:}"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  as_root="sudo"
fi
if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
  echo "Missing: $missing. Install these packages (Debian's names) and try again." >&2
  exit 1
fi
echo "Missing: $missing. Installing them with apt."
$as_root apt-get update -qq
# $missing is a list of words.
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
