# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# common.sh - sourced by the scripts in this directory.

# shellcheck disable=SC2034 # used by those that source it
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VM_CACHE=${FOLIOSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/folioscope}

say() { echo "${0##*/}: $*" >&2; }
die() { say "$@"; exit 1; }

# Scratch directory inside the cache, so that a finished result can be renamed into place.
scratch()
{
	mkdir -p "$VM_CACHE/tmp"
	mktemp -d "$VM_CACHE/tmp/XXXXXX"
}

# publish SRC DST: several runs may make the same cache entry at once; the first one wins.
publish()
{
	mkdir -p "$(dirname "$2")"
	mv -nT "$1" "$2" 2>/dev/null || true
	[[ -e $2 ]] || die "cannot write $2"
}
