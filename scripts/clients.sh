#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the clients against a server, and says what cannot be tested here.
#
# clients.sh SERVER: the signal-server to try. CUTS (200) is how often the connection is cut in each of the long tests.
set -eu
cd "$(dirname "$0")/.."
SIGNAL_SERVER=$(realpath "$1")
export SIGNAL_SERVER
status=0

if ! command -v node >/dev/null; then
  echo "clients: JavaScript is skipped, there is no node"
elif [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
  echo "clients: JavaScript is skipped, node $(node --version) is older than 20"
else
  node Clients/javascript/test/run.js || status=1
  if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    echo "clients: JavaScript in a browser is skipped, there is no ${CHROMIUM:-chromium} (CHROMIUM names another)"
  else
    "${PYTHON:-python3}" Clients/conformance/play.py -- node --no-warnings --experimental-websocket \
      Clients/javascript/test/browser.js || status=1
  fi
fi

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "clients: Python is skipped, there is no $python of 3.11 or newer (PYTHON names another)"
elif ! "$python" -c 'import websockets.asyncio.client' 2>/dev/null; then
  echo "clients: Python is skipped, $python has no package websockets of 13 or newer (PYTHON names another)"
elif ! "$python" -c 'import pytest' 2>/dev/null; then
  echo "clients: Python is skipped, $python has no package pytest (PYTHON names another)"
else
  (cd Clients/python && "$python" -m pytest -q -p no:cacheprovider) || status=1
fi
adapter=$(dirname "$SIGNAL_SERVER")/client-adapter
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "clients: Swift is skipped, there is no $python of 3.11 or newer (PYTHON names another)"
elif [ ! -x "$adapter" ]; then
  echo "clients: Swift is skipped, there is no $adapter (swift build -c release --product client-adapter)"
else
  "$python" Clients/conformance/play.py -- "$adapter" || status=1
  "$python" Clients/conformance/cuts.py --server "$SIGNAL_SERVER" --cuts "${CUTS:-200}" -- "$adapter" || status=1
fi
exit $status
