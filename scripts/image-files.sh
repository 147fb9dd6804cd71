#!/bin/sh
# SPDX-License-Identifier: MIT
# Lays out what the container image is made of: FOLDER/root, the program with the libraries that it needs, authorities to
# trust and time zones, and FOLDER/data, the volume. There is no shell in it, and nothing else to run.
#
#   scripts/image-files.sh PROGRAM FOLDER [BASE]
#
# All but the program comes from BASE, a Debian that has libsqlite3-0, libssl3, libstdc++6, libyaml-0-2, zlib1g,
# ca-certificates and tzdata; this one unless given.
set -eu
program=${1:?the program}
folder=${2:?the folder}
base=${3:-}

rm -rf "$folder"
root=$folder/root
mkdir -p "$folder/data" "$root/tmp" "$root/usr/bin" "$root/etc/ssl/certs" "$root/usr/lib/ssl" "$root/usr/share"
chmod 1777 "$root/tmp"
chmod 700 "$folder/data"
strip -o "$root/usr/bin/signal-server" "$program"

# "libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x...)", and the loader, which stands alone.
for library in $(ldd "$program" | sed -n 's/^.*=> \(\/[^ ]*\) .*$/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*$/\1/p'); do
  # The system of the base may keep its libraries below /usr, with a link at the top that the image needs not.
  [ -e "$base$library" ] || { echo "$base has no $library" >&2; exit 1; }
  mkdir -p "$root${library%/*}"
  cp -L "$base$library" "$root$library"
done

cp "$base/etc/ssl/certs/ca-certificates.crt" "$root/etc/ssl/certs/ca-certificates.crt"
# Where OpenSSL looks by default.
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
cp -a "$base/usr/share/zoneinfo" "$root/usr/share/zoneinfo"
rm -rf "$root/usr/share/zoneinfo/posix" "$root/usr/share/zoneinfo/right"
printf 'root:x:0:0:root:/:/sbin/nologin\nsignal-server:x:65532:65532::/data:/sbin/nologin\nnobody:x:65534:65534::/:/sbin/nologin\n' \
  >"$root/etc/passwd"
printf 'root:x:0:\nsignal-server:x:65532:\nnogroup:x:65534:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
