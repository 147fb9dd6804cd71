#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the documentation of each library to .docs/<library>, with the docc of the toolchain and no plugin.
set -eu
cd "$(dirname "$0")/.."
scripts/prepare.sh

rm -rf .docs
for library in JSON CEL SignalStore SignalHTTP SignalClient; do
  graphs=.docs/.graphs/$library
  mkdir -p "$graphs"
  swift build --target "$library" --scratch-path .build/docs \
    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$PWD/.docs/.graphs/all"
  mv .docs/.graphs/all/"$library"*.symbols.json "$graphs"
  # Who imports the store has the signals too: they are documented as part of it.
  if [ "$library" = SignalStore ]; then
    sed 's/"module":{"name":"Signals"/"module":{"name":"SignalStore"/' .docs/.graphs/all/Signals.symbols.json \
      >"$graphs/Signals.symbols.json"
  fi
  catalog=$(find "Sources/$library" -name '*.docc' | head -n 1)
  # Without a catalog the library's page is made from its declarations alone.
  docc convert ${catalog:+"$catalog"} \
    --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name "$library" --fallback-bundle-identifier "signal-server.$library" \
    --output-path ".docs/$library"
  echo ".docs/$library"
done
rm -rf .docs/.graphs
