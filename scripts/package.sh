#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the Debian package: signal-server_VERSION_ARCHITECTURE.deb.
#
#   scripts/package.sh [--binary FILE] [--output FOLDER] [--revision REVISION]
#
# Without --binary the program is built here, with the Swift runtime inside. The package needs the libraries of the release
# of Debian on which that is done. The version is the program's; with --revision, -REVISION is added to it. It takes
# dpkg-dev and python3, and no right of root. With SOURCE_DATE_EPOCH equal inputs make equal packages. MAINTAINER is who
# answers for the package: "Name <address>".
set -eu
cd "$(dirname "$0")/.."

binary=""
output=.build/package
revision=""
while [ $# -gt 0 ]; do
  case "$1" in
  --binary) binary=${2:?--binary takes a file} ;;
  --output) output=${2:?--output takes a folder} ;;
  --revision) revision=-${2:?--revision takes a number} ;;
  *)
    echo "usage: scripts/package.sh [--binary FILE] [--output FOLDER] [--revision REVISION]" >&2
    exit 64
    ;;
  esac
  shift 2
done

missing=""
for tool in dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev python3:python3 strip:binutils gzip:gzip; do
  command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
if [ -n "$missing" ]; then
  echo "Missing:$missing. Install these packages (Debian's names) and try again." >&2
  exit 1
fi

if [ -z "$binary" ]; then
  scripts/prepare.sh
  swift build -c release --static-swift-stdlib --disable-local-rpath --product signal-server -Xlinker -z -Xlinker now
  binary=.build/release/signal-server
fi

if readelf --dynamic "$binary" | grep -q 'PATH)'; then
  echo "$binary looks for libraries where Debian has none: build it with --static-swift-stdlib --disable-local-rpath." >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/signal-server
umask 022
# What is not in the history yet is of now.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

version=$("$binary" --version)$revision
architecture=$(dpkg --print-architecture)
maintainer=${MAINTAINER:-"Signal Server authors <maintainers@signal-server.invalid>"}

install -D -m 755 "$binary" "$root/usr/bin/signal-server"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/signal-server"

# The reference of the settings, and what a service has that a program on a command line has not: a place for its store.
mkdir -p "$root/etc"
sed 's|^  dir: ""$|  dir: /var/lib/signal-server|' Config/signal-server.yaml >"$root/etc/signal-server.yaml"
if ! "$binary" serve --config "$root/etc/signal-server.yaml" --print-config | grep -q '^  dir: /var/lib/signal-server '; then
  echo "Config/signal-server.yaml has another form than expected: data.dir is not set in the package." >&2
  exit 1
fi

install -D -m 644 Packaging/debian/signal-server.service "$root/usr/lib/systemd/system/signal-server.service"
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
  "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
scripts/manual.py "$binary" | gzip -9n >"$root/usr/share/man/man1/signal-server.1.gz"
# It is read by a shell, never started.
"$binary" completion bash | sed '1{/^#!/d}' >"$root/usr/share/bash-completion/completions/signal-server"
"$binary" completion zsh >"$root/usr/share/zsh/vendor-completions/_signal-server"
"$binary" completion fish >"$root/usr/share/fish/vendor_completions.d/signal-server.fish"

documents=$root/usr/share/doc/signal-server
mkdir -p "$documents"
# The licence, as the format of the file wants it: each line begun with a space, and empty ones with a dot.
sed -n '/^Permission/,$s/^$/./; /^Permission/,$s/^/ /p' LICENSE >"$work/licence"
sed -e "/^@MIT@$/{r $work/licence" -e 'd;}' Packaging/debian/copyright >"$documents/copyright"
# A package without a source package has its changes in both: those of the package, and those of the program.
{
  echo "signal-server ($version) unstable; urgency=medium"
  echo
  echo "  * What is new stands in /usr/share/doc/signal-server/NEWS.md.gz."
  echo
  echo " -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$documents/changelog${revision:+.Debian}.gz"
gzip -9n <CHANGELOG.md >"$documents/NEWS.md.gz"
[ -z "$revision" ] || cp "$documents/NEWS.md.gz" "$documents/changelog.gz"
install -D -m 644 Packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/signal-server"

# dpkg-shlibdeps wants to be where the sources of a package are.
mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: signal-server\n\nPackage: signal-server\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O signal-server/usr/bin/signal-server 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "dpkg-shlibdeps names no libraries." >&2; exit 1; }

size=$(du -k -s --apparent-size "$root" | cut -f 1)
sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@MAINTAINER@|$maintainer|" \
  -e "s|@SIZE@|$size|" -e "s|@DEPENDS@|$depends|" Packaging/debian/control >"$root/DEBIAN/control"
echo /etc/signal-server.yaml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
  install -m 755 "Packaging/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"

find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$output"
package=$output/signal-server_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package: $(du -k "$package" | cut -f 1) KiB, $size KiB when installed"
