#!/bin/sh
# Installs the wsh executable of this machine's kind from a place that holds its release archives and SHA256SUMS.
#   WSH_BASE_URL     where the archives are (required unless the publisher of this script sets it below)
#   WSH_VERSION      which version (default: the one this script came with)
#   WSH_INSTALL_DIR  where to (default: ~/.local/bin)
# Nothing is changed unless the archive's checksum is right.
set -eu

base="${WSH_BASE_URL:-@BASE_URL@}"
version="${WSH_VERSION:-@VERSION@}"
dir="${WSH_INSTALL_DIR:-$HOME/.local/bin}"

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

case "$base" in
  http://* | https://* | file://*) ;;
  *) fail "set WSH_BASE_URL to the address of the release archives" ;;
esac

case "$(uname -s)" in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no build for $(uname -s)" ;;
esac
case "$(uname -m)" in
  x86_64 | amd64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no build for $(uname -m)" ;;
esac
libc=
if [ "$os" = linux ] && ldd --version 2>&1 | grep -qi musl; then
  [ "$arch" = x64 ] || fail "there is no build for musl on $arch"
  libc=-musl
fi

if command -v curl >/dev/null 2>&1; then
  get() { curl -fsSL -o "$2" "$1"; }
elif command -v wget >/dev/null 2>&1; then
  get() { wget -q -O "$2" "$1"; }
else
  fail "neither curl nor wget is here"
fi
if command -v sha256sum >/dev/null 2>&1; then
  digest() { sha256sum "$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null 2>&1; then
  digest() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
  fail "neither sha256sum nor shasum is here"
fi

name="wsh-$version-$os-$arch$libc"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT INT TERM
get "$base/$name.tar.gz" "$work/archive.tar.gz" || fail "cannot get $base/$name.tar.gz"
get "$base/SHA256SUMS" "$work/sums" || fail "cannot get $base/SHA256SUMS"
expected="$(grep "  $name.tar.gz\$" "$work/sums" | cut -d ' ' -f 1)"
[ -n "$expected" ] || fail "SHA256SUMS does not list $name.tar.gz"
[ "$(digest "$work/archive.tar.gz")" = "$expected" ] || fail "the checksum of $name.tar.gz is wrong; nothing was installed"
tar -xzf "$work/archive.tar.gz" -C "$work" || fail "cannot unpack $name.tar.gz"

mkdir -p "$dir"
# Renamed into place: a wsh that runs keeps its file.
cp "$work/$name/wsh" "$dir/.wsh.new"
chmod 755 "$dir/.wsh.new"
mv "$dir/.wsh.new" "$dir/wsh"
echo "installed $("$dir/wsh" --version) as $dir/wsh"
case ":$PATH:" in
  *":$dir:"*) ;;
  *) echo "add $dir to your PATH" ;;
esac
