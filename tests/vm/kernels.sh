#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kernels.sh LABEL - make sure a kernel is in the cache and print its directory, which holds
# vmlinuz, vmlinux, config and lib/modules/VERSION.
#
# Labels: debian-6.1, debian-6.12 (Debian 12 packages, unpacked and not installed), or the absolute
# path of such a directory for a self-built kernel: vmlinuz or vmlinux, lib/modules optional.
# The cache is keyed by package version. Without network the newest cached version serves.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# Newest package whose name matches. Signed kernels first: under lockdown the unsigned ones load no
# modules.
newest_package()
{
	local suffix found

	for suffix in '' -unsigned; do
		found=$(apt-cache search --names-only "^$1$suffix\$" | cut -d' ' -f1 | sort -V |
			tail -n1)
		[[ -z $found ]] || { echo "$found"; return; }
	done
}

candidate_version()
{
	apt-cache policy "$1" | sed -n 's/^ *Candidate: //p'
}

# extract_vmlinux VMLINUZ OUTPUT: entered by QEMU directly (PVH), vmlinux saves the emulated CPU the
# decompression, which takes longer than the rest of the boot.
extract_vmlinux()
{
	local magic tool offset

	for magic in '\xfd7zXZ\x00:xz' '\x28\xb5\x2f\xfd:zstd' '\x1f\x8b\x08:gzip'; do
		tool=${magic##*:}
		while read -r offset; do
			# The payload is followed by its length: the tool complains after the end.
			tail -c+$((offset + 1)) "$1" | "$tool" -dc >"$2" 2>/dev/null || true
			[[ $(head -c4 "$2" | tr -d '\0') == $'\x7fELF' ]] && return
		done < <(LC_ALL=C grep -abPo "${magic%:*}" "$1" | cut -d: -f1 || true)
	done
	rm -f "$2"
	say "$1: compression not known, booting the compressed image"
}

# unpack DEB DIR
unpack()
{
	local work=$1.d version

	dpkg-deb -x "$1" "$work"
	mkdir -p "$work/out/lib"
	mv "$work"/boot/vmlinuz-* "$work/out/vmlinuz"
	mv "$work"/boot/config-* "$work/out/config"
	mv "$work/lib/modules" "$work/out/lib/modules"
	version=$(ls "$work/out/lib/modules")
	depmod -b "$work/out" "$version"
	extract_vmlinux "$work/out/vmlinuz" "$work/out/vmlinux"
	publish "$work/out" "$2"
}

debian_kernel()
{
	local label=$1 pattern=$2 package version dir tmp

	package=$(newest_package "$pattern")
	if [[ -n $package ]]; then
		version=$(candidate_version "$package")
		dir=$VM_CACHE/kernels/$label/${package}_$version
		[[ ! -d $dir ]] || { echo "$dir"; return; }
		say "downloading $package $version"
		tmp=$(scratch)
		# shellcheck disable=SC2064 # the value of now is meant
		trap "rm -rf '$tmp'" EXIT
		if (cd "$tmp" && apt-get -qq -o APT::Sandbox::User=root download "$package=$version") >&2
		then
			unpack "$tmp"/*.deb "$dir"
			echo "$dir"
			return
		fi
	fi
	mkdir -p "$VM_CACHE/kernels/$label"
	dir=$(find "$VM_CACHE/kernels/$label" -mindepth 1 -maxdepth 1 | sort -V | tail -n1)
	[[ -n $dir ]] || die "$label: not available and none cached; try apt-get update"
	say "$label: using the cached ${dir##*/}"
	echo "$dir"
}

case ${1-} in
debian-6.1)	debian_kernel "$1" 'linux-image-6\.1\.0-[0-9]+-amd64' ;;
debian-6.12)	debian_kernel "$1" 'linux-image-6\.12\.[0-9]+\+deb12-amd64' ;;
/*)		[[ -f $1/vmlinuz || -f $1/vmlinux ]] || die "$1: no vmlinuz there"
		echo "$1" ;;
*)		say "usage: kernels.sh debian-6.1 | debian-6.12 | /DIRECTORY"
		exit 2 ;;
esac
