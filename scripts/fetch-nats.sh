#!/bin/sh
# fetch-nats.sh DEST VERSION: a nats-server binary into the absolute folder DEST, without root and without touching the system's
# package sources. First Debian 13's package (signature checked against the Debian keyring; it needs only libc >= 2.34), else
# whatever package the system's own sources name. Exit 3: neither can be had. The caller checks the version.
set -eu
dest=$1
want=$2
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || { echo 'no apt-get here' >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/dl"

from_debian() {
  key=$(dpkg -L debian-archive-keyring 2>/dev/null | grep -m1 -E 'debian-archive-keyring\.(gpg|pgp)$' || true)
  [ -n "$key" ] && [ -r "$key" ] || { echo 'no Debian archive keyring' >&2; return 1; }
  uri=$(apt-get indextargets --no-release-info --format '$(SITE)' 2>/dev/null | grep -v security | sed -n 1p)
  [ -n "$uri" ] || { echo 'no apt source to ask' >&2; return 1; }
  printf 'deb [signed-by=%s] %s trixie main\n' "$key" "$uri" >"$work/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$work/lists"; Dir::Cache "$work/cache"; APT::Sandbox::User ""; Acquire::Languages "none";
CONF
  APT_CONFIG=$work/apt.conf apt-get -qq update || return 1
  (cd "$work/dl" && APT_CONFIG=$work/apt.conf apt-get -qq download nats-server/trixie)
}
from_system() { (cd "$work/dl" && apt-get -qq -o APT::Sandbox::User= download nats-server); }

from_debian || from_system || exit 3
deb=$(find "$work/dl" -name 'nats-server_*.deb' | sed -n 1p)
[ -n "$deb" ] || { echo 'apt-get brought no package' >&2; exit 3; }
case $deb in */nats-server_"$want"*) ;; *) echo "got $(basename "$deb"), expected $want" >&2 ;; esac
dpkg-deb -x "$deb" "$work/x"
binary=$(find "$work/x" -name nats-server -type f -perm -u+x | sed -n 1p)
cp "$binary" "$dest/nats-server.tmp"
chmod 755 "$dest/nats-server.tmp"
"$dest/nats-server.tmp" --version
mv "$dest/nats-server.tmp" "$dest/nats-server"   # whole or not at all
