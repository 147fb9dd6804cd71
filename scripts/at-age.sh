#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command as on a machine that was started some seconds ago: at-age.sh SECONDS COMMAND ...
#
# The clocks that count from the start of the machine are moved in a time namespace, which needs Linux 5.6 and root, or a
# user who may make user namespaces. Exit status 77: this machine does not allow it, and nothing was run.
set -eu
age=$1
shift
offset=$((age - $(cut -d . -f 1 /proc/uptime)))
for user in "" "--user --map-current-user"; do
  # $user is a list of words.
  # shellcheck disable=SC2086
  if unshare $user --fork --time --monotonic "$offset" --boottime "$offset" true 2>/dev/null; then
    exec unshare $user --fork --time --monotonic "$offset" --boottime "$offset" "$@"
  fi
done
echo "This machine does not let us move its clocks (unshare --time): not run as $age s after its start: $*" >&2
exit 77
