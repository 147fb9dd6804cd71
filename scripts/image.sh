#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the container image with whichever of the usual tools is here.
set -eu
cd "$(dirname "$0")/.."

for tool in docker podman buildah; do
  command -v "$tool" >/dev/null || continue
  # The other two need no daemon.
  if [ "$tool" = docker ] && ! docker version >/dev/null 2>&1; then
    echo "docker is here, but no daemon answers it: trying podman and buildah." >&2
    continue
  fi
  format=""
  # The other format has no place for the health check.
  [ "$tool" = docker ] || format="--format=docker"
  exec "$tool" build $format --file Dockerfile --tag signal-server:latest .
done
echo "None of docker (with its daemon running), podman and buildah is here to build an image with." >&2
exit 1
