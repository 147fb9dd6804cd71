#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the console in a browser, and says what cannot be tested here.
#
# console.sh SERVER [ARGUMENTS OF PYTEST]: the signal-server to try. PYTHON names a Python with pytest, playwright and
# axe-playwright-python; without it an environment is made, from PyPI, in .build/console. CHROMIUM is the browser.
set -eu
cd "$(dirname "$0")/.."
SIGNAL_SERVER=$(realpath "$1")
export SIGNAL_SERVER
shift

if ! command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null; then
  echo "console: skipped, there is no ${CHROMIUM:-/usr/bin/chromium} (CHROMIUM names another)"
  exit 0
fi
python=${PYTHON:-}
if [ -z "$python" ]; then
  python=.build/console/bin/python
  [ -x "$python" ] || python3 -m venv .build/console
  "$python" -c 'import axe_playwright_python, playwright, pytest' 2>/dev/null \
    || "$python" -m pip install --quiet axe-playwright-python playwright pytest
fi
python=$(realpath -s "$python")
cd Tests/Console
exec "$python" -m pytest -q -p no:cacheprovider "$@"
