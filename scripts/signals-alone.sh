#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs Examples/Signals, a package that wants signals and nothing else, in two ways: beside this checkout, and from
# a tagged clone as from a registry. Nothing else of ours or of others may be checked out for it; how long the release build
# of the clone took is told.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A package beside another is known by the name of its folder.
own=$(basename "$root" | tr '[:upper:]' '[:lower:]')

# check FOLDER: the package in FOLDER was resolved to this package alone, and says what it should.
check() {
  others=$(grep -o '"identity" *: *"[^"]*"' "$1/.build/workspace-state.json" | grep -v "\"\($own\|signal-server\)\"" || true)
  for checkout in "$1"/.build/checkouts/*; do
    case "$checkout" in
    */signal-server | */'*') ;;
    *) others="$others $checkout" ;;
    esac
  done
  if [ -n "$others" ]; then
    echo "checked out beside signal-server: $others" >&2
    exit 1
  fi
  "$1/.build/release/thermostat" >"$work/said"
  printf 'heater: off → on\nheater: on → off\nProperty<Bool>(false), 2 observers\n' | diff - "$work/said"
}

cp -R Examples/Signals "$work/beside"
sed -i "s|path: \"../..\"|path: \"$root\"|" "$work/beside/Package.swift"
swift build -c release --package-path "$work/beside"
check "$work/beside"

# What is here, committed or not, as version 1.0.0 of a repository of its own.
mkdir "$work/signal-server"
git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
  tar --null -T - -cf - | tar -xf - -C "$work/signal-server"
git -C "$work/signal-server" init -q
git -C "$work/signal-server" add -A
git -C "$work/signal-server" -c user.name=test -c user.email=test@localhost commit -qm "version"
git -C "$work/signal-server" tag 1.0.0
cp -R Examples/Signals "$work/tagged"
sed -i "s|\.package(name: \"signal-server\", path: \"../..\"|.package(url: \"file://$work/signal-server\", from: \"1.0.0\"|" \
  "$work/tagged/Package.swift"
begin=$(date +%s)
swift build -c release --package-path "$work/tagged"
end=$(date +%s)
check "$work/tagged"
echo "Signals alone: built in $((end - begin)) s, nothing else checked out."
