#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the Debian package: what lintian says of it, and in a Debian of its own, which is started with systemd, that it is
# installed, served from, upgraded and purged, and that nothing is left behind then. Needs root, debootstrap, lintian and
# systemd-container, and the network for the first time.
#
#   scripts/package-check.sh PACKAGE.deb NEWER.deb [ROOT]
#
# ROOT is where that Debian is made, or has been made before (.build/debian).
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { echo "usage: scripts/package-check.sh PACKAGE.deb NEWER.deb [ROOT]" >&2; exit 64; }
package=$(realpath "$1")
newer=$(realpath "$2")
base=${3:-.build/debian}

missing=""
for tool in debootstrap lintian systemd-nspawn:systemd-container nsenter:util-linux; do
  command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
[ -z "$missing" ] || { echo "Missing:$missing. Install these packages (Debian's names) and try again." >&2; exit 1; }

fail() {
  echo "FAILED: $1" >&2
  exit 1
}
pass() { echo "ok: $1"; }

# lintian does not want to be root. What it may say is in Packaging/debian/lintian-overrides, with reasons.
work=$(mktemp -d)
chmod 755 "$work"
cp "$package" "$work/package.deb"
verdict=$(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work" TMPDIR=/tmp \
  lintian --display-info --pedantic --fail-on none "$work/package.deb" 2>&1) || fail "lintian: $verdict"
rm -r "$work"
[ -z "$verdict" ] || fail "lintian says: $verdict"
pass "lintian, with its informational and pedantic tags"

if [ ! -x "$base/usr/bin/curl" ]; then
  debootstrap --variant=minbase --include=systemd,adduser,ca-certificates,curl,tzdata bookworm "$base"
  # What the package needs: the container has no network.
  libraries=$(dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//')
  # $libraries is a list of words.
  # shellcheck disable=SC2086
  chroot "$base" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $libraries >/dev/null
fi

root=$(mktemp -d "${base%/*}/debian-check.XXXXXX")
root=$(realpath "$root")
machine=""
clean() {
  [ -z "$machine" ] || kill "$machine" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$root" "$root.log" "$root.before" "$root.after" "$root.users"
}
trap clean EXIT
trap 'exit 1' INT TERM
chmod 755 "$root"
cp -a "$base/." "$root"
mkdir "$root/packages"
cp "$package" "$root/packages/package.deb"
cp "$newer" "$root/packages/newer.deb"

# A /run of its own, as this system may not be one of systemd's; it wants that to be in memory.
unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs tmpfs /run && exec systemd-nspawn --quiet --directory="$1" \
  --boot --register=no --keep-unit --private-network --setenv="checked_root=$1" --console=pipe --kill-signal=SIGKILL' sh "$root" </dev/null >"$root.log" 2>&1 &
machine=$!

# The first process of the container has the variable that systemd-nspawn was given.
leader=""
inside() { nsenter --target "$leader" --all --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive "$@"; }
within=0
until [ -n "$leader" ] && inside systemctl is-system-running 2>/dev/null | grep -q -e running -e degraded; do
  within=$((within + 1))
  [ $within -lt 120 ] || fail "the container does not start: $(cat "$root.log")"
  sleep 0.5
  for process in $(pgrep -x systemd || true); do
    if tr '\0' '\n' <"/proc/$process/environ" | grep -q -x "checked_root=$root"; then leader=$process; fi
  done
done
pass "systemd $(inside systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') runs in the container"

# Everything but what apt and dpkg keep for themselves, logs, and copies that adduser makes of its files.
files() { inside find / -xdev \( -path /packages -o -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log \
  -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd/timers \
  -o -path /var/tmp -o -path /etc/passwd- -o -path /etc/group- -o -path /etc/shadow- -o -path /etc/gshadow- \) -prune -o -print | sort; }
files >"$root.before"
inside sh -c 'cat /etc/passwd /etc/group' >"$root.users"

ask() { inside curl --silent --show-error --fail --max-time 20 "$@"; }
serving() { [ "$(inside systemctl show --property ActiveState --value signal-server)" = active ]; }

inside apt-get install -y -qq /packages/package.deb >/dev/null
serving || fail "it does not run after its installation: $(inside journalctl --no-pager --unit signal-server)"
pass "installed: systemd has been notified that it serves"
[ "$(inside stat -c '%U:%G %a' /var/lib/signal-server)" = "signal-server:signal-server 700" ] || fail "the folder of its store"
inside sh -c 'ps -o user= -p "$(systemctl show --property MainPID --value signal-server)" 2>/dev/null \
  || stat -c %U "/proc/$(systemctl show --property MainPID --value signal-server)"' | grep -q '^signal-server' || fail "its user"
inside sh -c 'grep -q "^CapEff:.0000000000000000" "/proc/$(systemctl show --property MainPID --value signal-server)/status"' ||
  fail "it has capabilities"
inside dpkg-query --show --showformat '${Conffiles}' signal-server | grep -q /etc/signal-server.yaml || fail "its conffile"
inside test -s /usr/share/bash-completion/completions/signal-server || fail "its completion"
pass "a user without rights, a folder of its own, a conffile"
inside systemd-analyze verify signal-server.service 2>&1 | grep -v "Command 'man " | grep . && fail "systemd-analyze verify"
pass "systemd-analyze verify; $(inside systemd-analyze security --no-pager signal-server | tail -n 1)"

ask -X PUT http://127.0.0.1:8080/properties/kept -d 1
[ "$(ask http://127.0.0.1:8080/properties/kept)" = 1 ] || fail "a property"
inside signal-server list | grep -q kept || fail "the program finds the server"
# LimitNICE cannot be raised where the system of this check may not do that itself; Dispatch logs it, and goes on.
inside journalctl --no-pager --unit signal-server | grep -v 'Failed to set thread priority' |
  grep -i -e failed -e error -e warning && fail "its log"
pass "a property is set and read; nothing is wrong in its log"

before=$(inside systemctl show --property MainPID --value signal-server)
inside sed -i 's/^  level: info/  level: debug/' /etc/signal-server.yaml
inside systemctl reload signal-server
serving || fail "it does not run after a reload"
[ "$(inside systemctl show --property MainPID --value signal-server)" = "$before" ] || fail "a reload is no restart"
within=0
until inside journalctl --no-pager --unit signal-server | grep -q 'changed=.*log.level'; do
  within=$((within + 1))
  [ $within -lt 60 ] || fail "the reload has changed nothing: $(inside journalctl --no-pager --unit signal-server)"
  sleep 0.5
done
pass "reloaded"

inside apt-get install -y -qq -o Dpkg::Options::=--force-confdef /packages/newer.deb >/dev/null
serving || fail "it does not run after its upgrade"
[ "$(inside systemctl show --property MainPID --value signal-server)" != "$before" ] || fail "an upgrade restarts it"
[ "$(ask http://127.0.0.1:8080/properties/kept)" = 1 ] || fail "the property is lost by the upgrade"
inside grep -q '^  level: debug' /etc/signal-server.yaml || fail "the changed settings are lost by the upgrade"
pass "upgraded: the store and the changed settings are kept"

# The documented place, which has to be one that the unit lets it write to.
log=/var/log/signal-server/audit.log
inside sed -i "/^audit:/,/^[a-z]/ s|^  file: \"\"|  file: $log|" /etc/signal-server.yaml
inside systemctl restart signal-server || fail "it does not start with an audit log"
within=0
until inside grep -q '"event":"started"' "$log"; do
  within=$((within + 1))
  [ $within -lt 60 ] || fail "nothing is in its audit log: $(inside journalctl --no-pager --unit signal-server)"
  sleep 0.5
done
[ "$(inside stat -c '%U:%G %a' "$log")" = "signal-server:signal-server 600" ] || fail "whose its audit log is"
pass "an audit log in /var/log/signal-server"

inside sh -c 'kill -KILL "$(systemctl show --property MainPID --value signal-server)"'
within=0
until serving && [ "$(ask http://127.0.0.1:8080/properties/kept 2>/dev/null)" = 1 ]; do
  within=$((within + 1))
  [ $within -lt 60 ] || fail "it does not come back when it is killed"
  sleep 0.5
done
pass "killed, and started again by systemd"

inside apt-get remove -y -qq signal-server >/dev/null
inside systemctl is-active --quiet signal-server && fail "it runs after its removal"
inside test -s /var/lib/signal-server/state.sqlite || fail "its removal has removed the store"
inside test -s "$log" || fail "its removal has removed the audit log"
inside apt-get purge -y -qq signal-server >/dev/null
# Not among the files that are compared: other programs write logs meanwhile.
inside test -e /var/log/signal-server && fail "the audit log is left"
files >"$root.after"
left=$(diff "$root.before" "$root.after" || true)
[ -z "$left" ] || fail "after the purge there is another set of files: $left"
inside sh -c 'cat /etc/passwd /etc/group' | cmp -s - "$root.users" || fail "its user is left"
pass "removed, then purged: nothing is left, neither files nor user"
