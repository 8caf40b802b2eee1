#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# check.sh [OUT [SETUP_GLOB]] - run the live tests built in OUT (default out) on several kernels.
# check.sh OUT kernel - on the project's own kernel, which tests/kernel/build.sh builds if need be.
#
# Every line of a guest is prefixed with its setup, and shown when the guest has ended. The last line is the sum of all; the exit status
# is 1 if anything failed or a guest had no results. Full output and kernel logs: OUT/vm.
# FOLIOSCOPE_VM_TIMEOUT: seconds for each guest (900).
set -euo pipefail
. "$(dirname "$0")/common.sh"

# setup (the kernel's label, then kernel arguments) : test programs. preempt=full repeats what counts
# events; names, options and the like do not depend on it. views attaches while others read: there the
# emulator hangs in 6.1's patching of function entries, and renderers do not depend on the kernel.
SETUPS=(
	'debian-6.1:access grace hotplug names refcount run scope state table'
	'debian-6.12:*'
	'debian-6.12 preempt=full:access grace scope state'
	'debian-6.12 lockdown=confidentiality:lockdown'
)
out=${1-out}
selected=${2-*}
smp=2
if [[ $selected == kernel ]]; then
	SETUPS=('test-kernel:access grace refcount state')
	smp=4
	selected='*'
	own_kernel=$("$VM_DIR/../kernel/build.sh")
fi
passed=0 failed=0 skipped=0

count()
{
	grep -ac "^$1 " "$output" || true
}

# Uses what run_setup set. What the guest prints goes to $output.
run_guest()
{
	"$VM_DIR/run.sh" --kernel "$label" --append "$append" --smp "$smp" --name "$name" \
		--logs "$out/vm" --timeout "${FOLIOSCOPE_VM_TIMEOUT:-900}" --out "$out" \
		--add "$VM_DIR/guest-tests.sh:/vm/tests" -- /vm/tests "$programs" >"$output"
}

# run_setup SETUP PROGRAMS
run_setup()
{
	local setup=$1 programs=$2 label=${1%% *} append='' name=${1// /-} status attempt p f s

	[[ $setup == "$label" ]] || append=${setup#* }
	output=$out/vm/$name.out
	[[ $label != test-kernel ]] || label=$own_kernel
	# Now and then the emulator runs a stale translation of code that the kernel is just patching, and
	# the kernel finds its own breakpoint unexpected, or waits for ever. Three times is no accident.
	for attempt in 1 2 3; do
		status=0
		run_guest || status=$?
		[[ $status -eq 125 && $attempt -lt 3 ]] || break
		cp "$out/vm/$name.log" "$out/vm/$name.$attempt.log"
		echo "$setup: the guest ended early (kernel log $out/vm/$name.$attempt.log); it runs again"
	done
	sed -E -e '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/d' -e "s/^/$setup: /" "$output"
	p=$(count PASS) f=$(count FAIL) s=$(count SKIP)
	if [[ $status -ne 0 ]]; then
		echo "$setup: FAIL guest: status $status, kernel log $out/vm/$name.log"
		f=$((f + 1))
	elif [[ $((p + f + s)) -eq 0 ]]; then
		echo "$setup: FAIL guest: no results"
		f=1
	fi
	grep -aE 'WARNING: CPU|BUG: |rcu: .* stall' "$out/vm/$name.log" |
		sed "s/^/$setup: kernel: /" || true
	echo "$setup: $p passed, $f failed, $s skipped"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

compgen -G "$out/tests/live/*" >/dev/null || die "$out/tests/live: no tests there"
mkdir -p "$out/vm"
for setup in "${SETUPS[@]}"; do
	# shellcheck disable=SC2053 # a glob
	[[ ${setup%%:*} != $selected ]] || run_setup "${setup%%:*}" "${setup#*:}"
done
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
