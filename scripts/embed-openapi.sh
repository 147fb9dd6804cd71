#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes docs/openapi.yaml into the sources, from where the server serves it. A test compares the two.
set -eu
cd "$(dirname "$0")/.."
folder=Sources/SignalHTTP/API

# Takes a part from the standard input: its name, and what it is.
embed() {
  printf '%s\n' '// SPDX-License-Identifier: MIT' '' 'extension OpenAPIDocument {' \
    "  /// $2 of docs/openapi.yaml, put here by scripts/embed-openapi.sh." "  static let $1: StaticString = #\"\"\""
  sed 's/^\(.\)/    \1/'
  printf '%s\n' '' '    """#' '}'
}

sed '/^components:/,$d' docs/openapi.yaml | embed paths 'The paths' >"$folder/OpenAPIDocument+Paths.swift"
sed -n '/^components:/,$p' docs/openapi.yaml | embed components 'The components' \
  >"$folder/OpenAPIDocument+Components.swift"
