#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# run.sh OUT SUITE... - runs suites of tests and sums them up. Suites: unit, asan, shell, live, vm,
# kernel. Each test is a line `SUITE: PASS|FAIL|SKIP name`; the last line is the sum, and the exit
# status 1 when anything failed or nothing ran.
set -uo pipefail

out=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
here=$(dirname "$0")

# A cmocka program: TAP to our lines. One that dies without a line for it is a failure, too.
run_unit()
{
	local program=$1 suite=$2 name status lines
	name=$(basename "$program")
	lines=$(CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 "$program" 2>&1)
	status=$?
	grep -aE '^(not )?ok ' <<<"$lines" |
		sed -uE -e "s/^ok [0-9]+ - (.*) # SKIP.*/$suite: SKIP $name.\1/" \
			-e "s/^ok [0-9]+ - (.*)/$suite: PASS $name.\1/" \
			-e "s/^not ok [0-9]+ - (.*)/$suite: FAIL $name.\1/"
	if [[ $status -ne 0 ]]; then
		grep -aqE '^not ok ' <<<"$lines" || echo "$suite: FAIL $name: exit status $status"
		grep -avE '^(ok |1\.\.)' <<<"$lines" | sed 's/^/    /'
	elif ! grep -aqE '^ok ' <<<"$lines"; then
		echo "$suite: FAIL $name: ran no test"
	fi
}

run_shell()
{
	local f
	for f in "$here"/shell/*.sh; do
		if timeout 600 bash "$f" "$out" >"$log.sh" 2>&1; then
			if grep -aq '^SKIP ' "$log.sh"; then
				echo "shell: $(grep -am1 '^SKIP ' "$log.sh")"
			else
				echo "shell: PASS $(basename "$f" .sh)"
			fi
		else
			echo "shell: FAIL $(basename "$f" .sh)"
			sed 's/^/    /' "$log.sh"
		fi
		rm -f "$log.sh"
	done
}

run_live()
{
	local program status
	export FOLIOSCOPE=$out/folioscope FOLIO_BENCH=$out/folio-bench
	for program in "$out"/tests/live/*; do
		timeout 900 "$program" 2>&1 | sed -uE -e '/^[0-9]+ passed, [0-9]+ failed/d' \
			-e 's/^/live: /'
		status=${PIPESTATUS[0]}
		[[ $status -le 1 ]] ||
			echo "live: FAIL $(basename "$program"): exit status $status"
	done
}

run_suite()
{
	local program
	case $1 in
	unit | asan)
		for program in "$out"/tests/"$1"/test_*; do
			run_unit "$program" "$1"
		done
		;;
	shell) run_shell ;;
	live) run_live ;;
	vm) "$here/vm/check.sh" "$out" | sed -uE '/^[0-9]+ passed, [0-9]+ failed/d' ;;
	kernel) "$here/vm/check.sh" "$out" kernel | sed -uE '/^[0-9]+ passed, [0-9]+ failed/d' ;;
	*) echo "$1: FAIL suite: there is no such suite" ;;
	esac
}

out=$(cd "$out" && pwd)
for suite in "$@"; do
	run_suite "$suite" 2>&1 | tee -a "$log"
done

count()
{
	grep -acE "^[^ ].*: $1 " "$log"
}
passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)
if [[ $failed -ne 0 || $skipped -ne 0 ]]; then
	echo
	grep -aE '^[^ ].*: (FAIL|SKIP) ' "$log"
fi
echo
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
