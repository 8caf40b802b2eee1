#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# install-packages.sh LIST... - installs with apt the packages named in the lists that are missing.
# A list has one package a line. Nothing missing: no root, no network needed.
set -eu

missing=
# shellcheck disable=SC2013 # one word a line
for package in $(cat "$@"); do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "folioscope: apt-get: not found; this needs a Debian system, or install by hand:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "folioscope: apt-get: needs root; run this as root, or install:$missing" >&2
	exit 1
fi
echo "  APT     $missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 $missing >"$log" 2>&1
}
# Package lists may be missing or old: fetch them once, then try again.
if ! install && ! { apt-get update >>"$log" 2>&1 && install; }; then
	tail -n 5 "$log" >&2
	echo "folioscope: apt-get: install failed:$missing" >&2
	exit 1
fi
