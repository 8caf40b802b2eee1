#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make install` puts everything under DESTDIR and PREFIX, and what it put there works.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make --no-print-directory OUT="$out" install DESTDIR="$dir" PREFIX=/opt/f >/dev/null
for file in bin/folioscope bin/folio-bench share/man/man8/folioscope.8 share/man/man8/folio-bench.8 \
	share/bash-completion/completions/folioscope; do
	[[ -f $dir/opt/f/$file ]] || { echo "missing: $file"; exit 1; }
done
[[ $(find "$dir" -type f | wc -l) -eq 5 ]]
"$dir/opt/f/bin/folioscope" --version | grep -q '^folioscope [0-9]'
man --warnings -l "$dir/opt/f/share/man/man8/folioscope.8" >/dev/null 2>"$dir/man.err"
[[ ! -s $dir/man.err ]] || { cat "$dir/man.err"; exit 1; }
