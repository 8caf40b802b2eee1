#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench.sh OUT [TABLES [ROWS]] - what the programs of the build in OUT cost: tables (a) program bodies,
# (b) a whole workload, (c) snapshots, on stdout. TABLES: any of a, b and c (all). ROWS: those of
# table (a) with this in their name (all). As root; it takes two minutes.
# Builds OUT/folio-cost from this directory and the objects of the program.
set -euo pipefail

fail()
{
	echo "bench.sh: $*" >&2
	exit 1
}

[[ $# -ge 1 ]] || fail "usage: bench.sh OUT [TABLES [ROWS]]"
out=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
[[ -e $out/probes.skel.h && -e $out/src/tracer.o ]] || fail "$out: no build there; run make first"

objects=()
for object in "$out"/src/*.o; do
	[[ $object == */main.o ]] || objects+=("$object")
done
${CC:-cc} -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-I"$top/include" -I"$top/src" -I"$out" "$top"/tools/bench/*.c "${objects[@]}" \
	-lbpf -lelf -lz -lm -ljansson -lncursesw -ltinfo -pthread -o "$out/folio-cost"
[[ -z ${BENCH_BUILD_ONLY:-} ]] || exit 0
[[ $(id -u) = 0 ]] || fail "must be root to load programs"
dir=$(mktemp -d -p "${TMPDIR:-/var/tmp}" folioscope-cost.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP PIPE
shift
"$out/folio-cost" "$dir" "$@"
