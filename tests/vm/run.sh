#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# run.sh [OPTION]... -- COMMAND... - boot a kernel in QEMU and run COMMAND in it as root.
#
#   --kernel LABEL     see kernels.sh (debian-6.12)
#   --append ARGS      more kernel arguments
#   --smp N, --mem M   CPUs (2), memory (1024M)
#   --timeout S        seconds for boot and COMMAND together (300)
#   --add FILE:PATH    put a file and its shared libraries at PATH in the guest; may be repeated
#   --out DIR          add a build's programs: folioscope and folio-bench in /usr/bin, the live
#                      tests in /usr/lib/folioscope/tests
#   --name NAME        name of the kernel log (the kernel's label)
#   --logs DIR         directory of the kernel log (logs in the cache)
#
# stdout is COMMAND's stdout and stderr, nothing else. The exit status is COMMAND's; 125: there is
# none, because of a panic, the timeout or a QEMU that would not start.
# In the guest: /mnt/ext4, /mnt/xfs, /mnt/btrfs on disks (fresh in each run), /tmp on tmpfs.
set -euo pipefail
. "$(dirname "$0")/common.sh"

kernel=debian-6.12 append='' smp=2 mem=1024M timeout=300 name='' logs=$VM_CACHE/logs
add=()

add_build()
{
	local file

	for file in "$1"/folioscope "$1"/folio-bench; do
		[[ ! -x $file ]] || add+=("$file:/usr/bin/${file##*/}")
	done
	for file in "$1"/tests/live/*; do
		[[ ! -f $file || ! -x $file ]] || add+=("$file:/usr/lib/folioscope/tests/${file##*/}")
	done
}

fail()
{
	say "$name: $*"
	exit 125
}

# Empty file systems, made once. Runs leave them alone (snapshot=on).
make_disks()
{
	local tmp

	[[ ! -d $disks ]] || return 0
	tmp=$(scratch)
	truncate -s 384M "$tmp"/{ext4,xfs,btrfs}
	mke2fs -qt ext4 -E lazy_itable_init=0,lazy_journal_init=0 "$tmp/ext4"
	mkfs.xfs -q "$tmp/xfs"
	mkfs.btrfs -q "$tmp/btrfs" >/dev/null
	publish "$tmp" "$disks"
}

# Copy COMMAND's output until the line with its status, which goes to $work/status.
# -u: a line is passed on when it is complete.
relay()
{
	sed -un -e '/\x04vm-exit [0-9]*$/!{p;b}' -e 'h;s/.*\x04vm-exit //' -e "w $work/status" \
		-e 'g;s/\x04vm-exit.*//;/./p;q'
}

while [[ $# -gt 0 && $1 != -- ]]; do
	[[ $# -ge 2 ]] || die "$1: no value"
	case $1 in
	--kernel)	kernel=$2 ;;
	--append)	append=$2 ;;
	--smp)		smp=$2 ;;
	--mem)		mem=$2 ;;
	--timeout)	timeout=$2 ;;
	--add)		add+=("$2") ;;
	--out)		add_build "$2" ;;
	--name)		name=$2 ;;
	--logs)		logs=$2 ;;
	*)		die "$1: unknown option" ;;
	esac
	shift 2
done
[[ $# -ge 2 ]] || die "usage: run.sh [OPTION]... -- COMMAND..."
shift
: "${name:=${kernel##*/}}"
name=${name//[^A-Za-z0-9.=_-]/_}

dir=$("$VM_DIR/kernels.sh" "$kernel")
image=$dir/vmlinux
[[ -f $image ]] || image=$dir/vmlinuz
disks=$VM_CACHE/disks-1
make_disks
work=$(scratch)
qemu=
# Nothing in the guest is worth a clean shutdown. $qemu is timeout(1), which passes TERM on.
trap '[[ -z $qemu ]] || { kill "$qemu" && wait "$qemu"; } 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$logs"
log=$logs/$name.log
: >"$log"

printf '#!/bin/bash\nexec' >"$work/command"
printf ' %q' "$@" >>"$work/command"
chmod +x "$work/command"
"$VM_DIR/initramfs.sh" "$dir" "$work/initramfs" "${add[@]}" "$work/command:/vm/command"

# No 5-level page tables, which few machines have.
# shellcheck disable=SC2054 # the commas are QEMU's
args=(-nodefaults -no-user-config -no-reboot -display none -accel 'tcg,thread=multi' -cpu max,la57=off
      -smp "$smp" -m "$mem" -kernel "$image" -initrd "$work/initramfs"
      -append "console=ttyS0 loglevel=5 panic=-1 oops=panic rootfstype=ramfs $append"
      -serial "file:$log"
      -device virtio-serial-pci -chardev file,id=output,path=/proc/self/fd/1
      -device virtserialport,chardev=output,nr=1)
for fs in ext4 xfs btrfs; do
	args+=(-drive "if=none,id=$fs,file=$disks/$fs,format=raw,snapshot=on,cache=unsafe"
	       -device "virtio-blk-pci,drive=$fs,serial=$fs")
done

mkfifo "$work/output"
relay <"$work/output" &
relay=$!
TMPDIR=$work timeout -k 5 "$timeout" qemu-system-x86_64 "${args[@]}" \
	</dev/null >"$work/output" 2>"$work/errors" &
qemu=$!
wait "$relay"
if [[ -s $work/status ]]; then
	exit "$(cat "$work/status")"
fi

status=0
wait "$qemu" || status=$?
qemu=
tail -n 100 "$log" >&2
cat "$work/errors" >&2
panic=$(grep -am1 -o 'Kernel panic.*' "$log" || true)
if [[ $status -eq 124 || $status -eq 137 ]]; then
	fail "timeout after $timeout s"
elif [[ -n $panic ]]; then
	fail "$panic"
fi
fail "the guest ended without a status (QEMU exit $status)"
