#!/bin/sh
# SPDX-License-Identifier: MIT
# Tries what describes the interface for programs as programs do: openapi-python-client generates a client from the
# openapi.yaml that a server serves, and client.py uses it; documents.py checks asyncapi.yaml, messages.schema.json and
# the transcripts. Needs python3 with venv, and PyPI for the first time; without them it says so and is no failure.
#
# run.sh [SERVER]: the signal-server to try; what was built last, unless given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$root/.build/openapi
server=${1:-$(ls -t "$root"/.build/release/signal-server "$root"/.build/debug/signal-server 2>/dev/null | head -n 1)}
[ -x "$server" ] || { echo "openapi: there is no server; make build" >&2; exit 1; }

mkdir -p "$work"
# The versions that this was made with; others may generate other names.
packages="openapi-python-client==0.29.1 jsonschema==4.26.0 PyYAML==6.0.3 openapi-spec-validator"
if [ "$(cat "$work/packages" 2>/dev/null)" != "$packages" ]; then
  rm -rf "$work/venv"
  # shellcheck disable=SC2086
  if ! { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q $packages; } >"$work/install.log" 2>&1; then
    echo "openapi: skipped, the Python packages cannot be had (see $work/install.log)"
    exit 0
  fi
  echo "$packages" >"$work/packages"
fi
python=$work/venv/bin/python

# Emptied first: what a run before has written there would be taken for this server's.
: >"$work/server.out"
"$server" serve --port 0 >"$work/server.out" 2>"$work/server.log" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT
address=""
tries=0
while [ -z "$address" ] && [ "$tries" -lt 100 ] && kill -0 "$pid" 2>/dev/null; do
  sleep 0.1
  tries=$((tries + 1))
  address=$(sed -n 's/^listening on //p' "$work/server.out")
done
[ -n "$address" ] || { cat "$work/server.log" >&2; exit 1; }

"$python" "$here/documents.py" "$address" "$root"

rm -rf "$work/generated"
mkdir -p "$work/generated"
"$work/venv/bin/openapi-python-client" generate --url "$address/openapi.yaml" --meta none \
  --output-path "$work/generated/signal_client" >"$work/generate.log" 2>&1 || { cat "$work/generate.log" >&2; exit 1; }
PYTHONPATH=$work/generated "$python" "$here/client.py" "$address"
