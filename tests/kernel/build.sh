#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build the test kernel: Debian's linux-source-6.12 with ./config on top of
# allnoconfig and ./patches/*.patch applied in order.
#
# The result (vmlinuz, vmlinux.btf, System.map, config, release) is cached in
#   ${FOLIOSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/folioscope}/kernel-<hash of the inputs>
# and that directory is the only line on stdout. Everything else goes to stderr.
#
# Usage: build.sh [--find]
#   --find   do not build: print the directory, or exit 1 when it is not there yet
#
# A first build takes about 10 minutes on two CPUs and 4 GB of disk for the time being. Packages
# that are missing are installed when the caller is root.

set -euo pipefail
exec 3>&1 >&2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${FOLIOSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/folioscope}
source_package=linux-source-6.12
work=$cache/kernel.tmp
log=$cache/kernel.log
child=

say() { printf 'kernel: %s\n' "$*"; }
die() { say "$*"; exit 1; }

is_installed()
{
	[[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# The version in use, or the one that would be installed.
source_version()
{
	if is_installed "$source_package"; then
		dpkg-query -W -f='${Version}' "$source_package"
	else
		apt-cache policy "$source_package" 2>/dev/null | awk '/Candidate:/ { print $2 }'
	fi
}

# Where the kernel made of the present inputs belongs.
result_dir()
{
	local hash

	hash=$({
		source_version
		cd "$here"
		sha256sum build.sh config "${patches[@]}"
	} | sha256sum)
	printf '%s/kernel-%.12s\n' "$cache" "$hash"
}

install_packages()
{
	local package missing=()

	while read -r package; do
		is_installed "$package" || missing+=("$package")
	done < "$here/packages"
	((${#missing[@]})) || return 0

	((EUID == 0)) || die "missing packages; as root: apt-get install ${missing[*]}"
	say "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -qqy --no-install-recommends "${missing[@]}" ||
		{ apt-get update -qq && apt-get install -qqy --no-install-recommends "${missing[@]}"; } ||
		die "apt-get cannot install ${missing[*]}"
}

# Name every line of the fragment $1 that the final configuration $2 does not honour.
check_config()
{
	local line option lost=0

	while read -r line; do
		if [[ $line =~ ^CONFIG_ ]]; then
			grep -qxF -e "$line" "$2" && continue
		elif [[ $line =~ ^'# '(CONFIG_[A-Z0-9_]+)' is not set'$ ]]; then
			option=${BASH_REMATCH[1]}
			grep -q "^$option=" "$2" || continue
		else
			continue
		fi
		say "option not kept: $line"
		lost=1
	done < "$1"
	return "$lost"
}

# In the background, so that a signal ends the wait at once and cleanup() can end make.
run_make()
{
	make -j"$(nproc)" ARCH=x86_64 "$@" >> "$log" 2>&1 &
	child=$!
	wait "$child" || { tail -n 30 "$log"; die "make $*: failed; the whole output is in $log"; }
	child=
}

cleanup()
{
	[[ -z $child ]] || { kill "$child" && wait "$child"; } 2>/dev/null || true
	rm -rf "$work"
}

# The parts left out are large and never read in this configuration; their Kconfig files stay.
unpack()
{
	local patch

	mkdir -p "$work/linux" "$work/out"
	tar -xf "/usr/src/$source_package.tar.xz" -C "$work/linux" --strip-components=1 \
		--exclude='*/drivers/gpu/*.[ch]' --exclude='*/sound/*.[ch]' \
		--exclude='*/Documentation/*.rst' --exclude='*/Documentation/*.yaml' \
		--exclude='*/tools/testing'
	for patch in "${patches[@]}"; do
		say "applying $patch"
		patch -d "$work/linux" -p1 -s --forward < "$here/$patch" || die "$patch does not apply"
	done
}

build()
{
	cd "$work/linux"
	run_make KCONFIG_ALLCONFIG="$here/config" allnoconfig
	run_make olddefconfig
	check_config "$here/config" .config || die "the configuration is not the one asked for"

	say "compiling; make's output is in $log"
	run_make bzImage

	cp arch/x86/boot/bzImage "$work/out/vmlinuz"
	cp .config "$work/out/config"
	cp include/config/kernel.release "$work/out/release"
	cp System.map "$work/out/"
	objcopy --dump-section .BTF="$work/out/vmlinux.btf" vmlinux /dev/null
	chmod 644 "$work/out"/*
}

case $# in
0) find_only= ;;
1) [[ $1 == --find ]] || { say "usage: build.sh [--find]"; exit 2; }; find_only=1 ;;
*) say "usage: build.sh [--find]"; exit 2 ;;
esac

[[ $(uname -m) == x86_64 ]] || die "builds on x86_64 only"
command -v dpkg-query apt-cache > /dev/null || die "needs a Debian system ($source_package)"

cd "$here"
shopt -s nullglob
patches=(patches/*.patch)

result=$(result_dir)
if [[ ! -d $result ]]; then
	[[ -z $find_only ]] || die "not built yet: $result"

	# Children inherit the lock: if this shell is killed, it is free when make has ended.
	mkdir -p "$cache"
	exec 9> "$cache/kernel.lock"
	flock 9
	install_packages
	result=$(result_dir)
fi

if [[ ! -d $result ]]; then
	# A parent make or a kernel developer's environment must not leak into the build.
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CROSS_COMPILE LOCALVERSION \
		KBUILD_OUTPUT KCFLAGS KCPPFLAGS
	export KBUILD_BUILD_USER=folioscope KBUILD_BUILD_HOST=folioscope
	export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'

	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	rm -rf "$work"
	: > "$log"
	SECONDS=0
	say "unpacking $source_package $(source_version)"
	unpack
	build
	mv -T "$work/out" "$result"
	say "built in $SECONDS seconds"
fi

printf '%s\n' "$result" >&3
