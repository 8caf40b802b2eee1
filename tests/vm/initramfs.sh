#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# initramfs.sh KERNEL_DIR OUTPUT [FILE:GUEST_PATH]... - build the initramfs of a test guest.
#
# It is a chain of cpio archives: Debian's tools and the kernel's modules, both from the cache, and
# the files given, with the shared libraries they need. Not compressed: unpacking costs the emulated
# CPU more than reading.
set -euo pipefail
. "$(dirname "$0")/common.sh"

TOOLS=(bash bpftool mke2fs mkfs.btrfs mkfs.xfs modprobe prlimit setpriv taskset unshare)
# With what they ask for by alias or softdep; what they depend on follows from modules.dep.
MODULES=(virtio_pci virtio_blk virtio_console ext4 xfs btrfs overlay loop brd
	 crc32c_generic crc32c_intel crc32_pclmul blake2b_generic xxhash_generic sha256_generic)

# One layout for all archives: were /lib a directory in a later one, it would replace the link.
new_stage()
{
	mkdir -p "$1"/usr/{bin,lib,lib64}
	ln -s bin "$1/usr/sbin"
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$1"
}

archive()
{
	(cd "$1" && find . -print0 | LC_ALL=C sort -z |
		cpio --null -o -H newc -R 0:0 --quiet --reproducible) >"$1.cpio"
}

# put STAGE FILE GUEST_PATH: a file and its shared libraries.
put()
{
	local libs lib

	mkdir -p "$1$(dirname "$3")"
	cp -L --remove-destination "$2" "$1$3"
	libs=$(ldd "$2" 2>/dev/null) || return 0	# static, or a script
	[[ $libs != *'not found'* ]] || die "$2: shared library not found"
	while read -r lib; do
		mkdir -p "$1${lib%/*}"
		cp -L "$lib" "$1$lib"
	done < <(grep -o '/[^ ]*' <<<"$libs")
}

stage_base()
{
	local tool

	new_stage "$1"
	mkdir -p "$1"/{dev,etc,mnt,proc,root,run,sys,tmp,usr/share,vm}
	cp "$VM_DIR/init" "$1/init"
	echo 'root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/:/bin/false' >"$1/etc/passwd"
	echo 'root:x:0:
nogroup:x:65534:' >"$1/etc/group"
	echo '127.0.0.1 localhost vm' >"$1/etc/hosts"
	put "$1" "$(type -P busybox)" /usr/bin/busybox
	for tool in $(busybox --list); do
		[[ $tool == busybox ]] || ln -s busybox "$1/usr/bin/$tool"
	done
	for tool in "${TOOLS[@]}"; do
		put "$1" "$(type -P "$tool")" "/usr/bin/$tool"
	done
	cp -r /lib/terminfo "$1/usr/share/terminfo"
}

# stage_modules STAGE KERNEL_DIR VERSION
stage_modules()
{
	local from=$2/lib/modules/$3 to=$1/lib/modules/$3 file

	new_stage "$1"
	mkdir -p "$to"
	cp "$from"/modules.{order,builtin,builtin.modinfo} "$to"
	while read -r file; do
		mkdir -p "$to/${file%/*}"
		case $file in
		*.xz)	xz -dc "$from/$file" >"$to/${file%.xz}" ;;
		*.zst)	zstd -qdc "$from/$file" >"$to/${file%.zst}" ;;
		*.gz)	gzip -dc "$from/$file" >"$to/${file%.gz}" ;;
		*)	cp "$from/$file" "$to/$file" ;;
		esac
	done < <(printf '%s\n' "${MODULES[@]}" | module_closure "$from/modules.dep")
	depmod -b "$1" "$3"
}

# Module names on stdin, files on stdout. Names not in modules.dep are built in or do not exist.
module_closure()
{
	awk 'NR == FNR { want[$1]; next }
	     { name = $1; gsub(/.*\/|\.ko.*/, "", name); gsub(/-/, "_", name) }
	     name in want { gsub(/:/, ""); for (i = 1; i <= NF; i++) print $i }' - "$1" | sort -u
}

# cached KIND KEY_TEXT COMMAND...: run COMMAND STAGE ... unless its archive is in the cache; print
# the archive's path.
cached()
{
	local kind=$1 entry

	entry=$VM_CACHE/initramfs/$kind-$(cat - "$0" "$VM_DIR/init" <<<"$2" | sha256sum |
		cut -c1-16).cpio
	shift 2
	if [[ ! -f $entry ]]; then
		"$1" "$work/$kind" "${@:2}"
		archive "$work/$kind"
		publish "$work/$kind.cpio" "$entry"
	fi
	echo "$entry"
}

[[ $# -ge 2 ]] || die "usage: initramfs.sh KERNEL_DIR OUTPUT [FILE:GUEST_PATH]..."
kernel=$1
output=$2
shift 2
work=$(scratch)
trap 'rm -rf "$work"' EXIT

mapfile -t packages <"$VM_DIR/packages"
versions=$(dpkg-query -W "${packages[@]}") || die "install what tests/vm/packages lists"
parts=("$(cached base "$versions" stage_base)")
if [[ -d $kernel/lib/modules ]]; then
	version=$(find "$kernel/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | tail -n1)
	key=$(find "$kernel/lib/modules" -printf '%p %s %T@\n')
	parts+=("$(cached modules "$key" stage_modules "$kernel" "$version")")
fi
if [[ $# -gt 0 ]]; then
	new_stage "$work/files"
	for file; do
		put "$work/files" "${file%%:*}" "${file#*:}"
	done
	archive "$work/files"
	parts+=("$work/files.cpio")
fi
cat "${parts[@]}" >"$output"
