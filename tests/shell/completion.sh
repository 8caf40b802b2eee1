#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What bash completion offers, with the words split as bash splits them (at spaces, and at =).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
program=$(realpath "$1/folioscope")
# shellcheck source=completion/folioscope.bash
. completion/folioscope.bash
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
touch "$dir/one.fsr"
failed=0

# offers WANT WORD... - the last WORD is being typed; WANT must be among the offers. !WANT: must not.
offers()
{
	local want=$1 found=no

	shift
	COMP_WORDS=("$program" "$@") COMP_CWORD=$# COMPREPLY=()
	_folioscope
	printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "${want#!}" && found=yes
	if [[ ($want == !* && $found == yes) || ($want != !* && $found == no) ]]; then
		echo "folioscope $*: want $want, got: ${COMPREPLY[*]}"
		failed=1
	fi
}

offers heat h
offers help h
offers '!top' h
offers --version --v
offers probe help p
offers --fail-on-loss heat --f
offers '!--record' heat --
offers --record run --
offers pages heat --sort p
offers pages heat -s p
offers pages heat --sort = p
offers hot_pages top --sort =
offers '!accesses' heat --sort p
offers json heat --format ''
offers callbacks probe --explain c
offers --basename heat --explain --b
offers access.read export --require acc
offers access.read=tp_btf probe --backend access.r
offers tp_btf heat --backend access.read = t
offers '!kprobe' heat --backend access.read = t
offers access.marks= heat --hook ''
offers cgroup= heat -f c
offers "$dir/one.fsr" heat --filter path = "$dir/o"
offers "$dir/one.fsr" heat --filter = path = "$dir/o"
offers "$dir/one.fsr" heat -i "$dir/o"
offers "$dir/one.fsr" heat --json = "$dir/o"
offers "$dir/one.fsr" run --json "$dir/o"
offers "$dir/one.fsr" heat "$dir/o"
offers '!5' heat -t ''
offers bash run -- bas
offers bash run -q bas
offers bash run -d 1 --sort pages --filter pid = 1 bas
offers bash record -o f --json = x -- bas
offers "$dir/one.fsr" run -- cat "$dir/o"
offers '!--record' run -- cat --r
exit $failed
