#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes docs/openapi.yaml into the sources, from where the server serves it. A test compares the two.
set -eu
cd "$(dirname "$0")/.."

# Takes a part from the standard input: its file, its name, and what it is.
embed() {
  {
    printf '%s\n' '// SPDX-License-Identifier: MIT' '' 'extension OpenAPIDocument {' \
      "  /// $3 of docs/openapi.yaml, put here by scripts/embed-openapi.sh." "  static let $2: StaticString = #\"\"\""
    sed 's/^\(.\)/    \1/'
    printf '%s\n' '' '    """#' '}'
  } >"Sources/SignalHTTP/API/OpenAPIDocument+$1.swift"
}

sed '/^  \/events:/,$d' docs/openapi.yaml | embed Properties properties 'The head and the paths of properties'
sed -n '/^  \/events:/,/^components:/p' docs/openapi.yaml | sed '$d' | embed Paths paths 'The other paths'
sed -n '/^components:/,$p' docs/openapi.yaml | embed Components components 'The components'
