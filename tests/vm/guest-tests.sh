#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# guest-tests.sh PROGRAMS - runs in the guest: the live test programs named in PROGRAMS, or all for *.
# A program that ends without its summary line counts as one failed test.
set -uo pipefail

for program in /usr/lib/folioscope/tests/*; do
	[[ $1 == '*' || " $1 " == *" ${program##*/} "* ]] || continue
	"$program" 2>&1 | tee /run/last-output
	status=${PIPESTATUS[0]}
	failed=$(sed -nE 's/^[0-9]+ passed, ([0-9]+) failed, [0-9]+ skipped$/\1/p' /run/last-output)
	if [[ -z $failed ]]; then
		echo "FAIL ${program##*/}: exit status $status and no summary"
	elif [[ $status -ne 0 && $failed -eq 0 ]]; then
		echo "FAIL ${program##*/}: exit status $status and no failed test"
	fi
done
