#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the container image signal-server:latest with whichever of the usual tools is here.
#
#   scripts/image.sh [--base FOLDER [--binary FILE]]
#
# With --base no registry is asked for anything: the program is built here, or is FILE, and what else is in the image comes
# from the Debian in FOLDER, which debootstrap makes when it is not there (as root). What is built here needs the same
# release of Debian.
set -eu
cd "$(dirname "$0")/.."

base=""
binary=""
while [ $# -gt 0 ]; do
  case "$1" in
  --base) base=${2:?--base takes a folder} ;;
  --binary) binary=${2:?--binary takes a file} ;;
  *)
    echo "usage: scripts/image.sh [--base FOLDER [--binary FILE]]" >&2
    exit 64
    ;;
  esac
  shift 2
done
if [ -n "$binary" ] && [ -z "$base" ]; then
  echo "--binary goes with --base: otherwise the program is built in the image." >&2
  exit 64
fi

tool=""
for candidate in docker podman buildah; do
  command -v "$candidate" >/dev/null || continue
  # The other two need no daemon.
  if [ "$candidate" = docker ] && ! docker version >/dev/null 2>&1; then
    echo "docker is here, but no daemon answers it: trying podman and buildah." >&2
    continue
  fi
  tool=$candidate
  break
done
if [ -z "$tool" ]; then
  echo "None of docker (with its daemon running), podman and buildah is here to build an image with." >&2
  exit 1
fi
format=""
# The other format has no place for the health check.
[ "$tool" = docker ] || format="--format=docker"
[ -n "$base" ] || exec "$tool" build $format --file Dockerfile --tag signal-server:latest .

if [ -z "$binary" ]; then
  scripts/prepare.sh
  swift build -c release --static-swift-stdlib --disable-local-rpath --product signal-server -Xlinker -z -Xlinker now
  binary=.build/release/signal-server
fi
if [ ! -e "$base/usr/share/zoneinfo" ]; then
  debootstrap --variant=minbase \
    --include=ca-certificates,libsqlite3-0,libssl3,libstdc++6,libyaml-0-2,tzdata,zlib1g bookworm "$base"
fi
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
scripts/image-files.sh "$binary" "$files/image" "$base"
# The last stage of the Dockerfile, with these files instead of those of the stage before it.
sed -n '/^FROM scratch$/,$p' Dockerfile | sed 's|^COPY --from=build \(.*\)/image/|COPY \1image/|' >"$files/Dockerfile"
"$tool" build $format --file "$files/Dockerfile" --tag signal-server:latest "$files"
echo "signal-server:latest: $(du -s -k --apparent-size "$files/image/root" | cut -f 1) KiB"
