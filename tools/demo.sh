#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# demo.sh OUT - the main job on real input: two threads reading 16 bytes of one page, observed.
set -eu

out=$1
if [ "$(id -u)" != 0 ]; then
	echo "folioscope: demo: needs root to load BPF programs" >&2
	exit 4
fi
dir=$(mktemp -d /var/tmp/folioscope-demo.XXXXXX)
trap 'rm -rf "$dir"' EXIT
last=$(($(nproc) - 1))
echo "# folioscope run -- folio-bench pread --threads 2 --count 1000000 (16 bytes at offset 0)"
"$out/folioscope" run -- "$out/folio-bench" pread --file "$dir/hot.db" --create --size 64K \
	--threads 2 --cpus "0,$last" --count 1000000 --phases 2 --drain
