#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# selfcheck.sh - runs as root inside a booted test kernel, under busybox sh or any other:
# one line "missing: ..." per ability the tests rely on and the kernel lacks; exit 1 if any.
# It looks at the running kernel; only what shows no face there is read from /proc/config.gz.

checked=0
missing=0

# need DESCRIPTION COMMAND...: the ability is there when the command succeeds.
need()
{
	what=$1
	shift
	checked=$((checked + 1))
	"$@" > /dev/null 2>&1 && return
	echo "missing: $what"
	missing=$((missing + 1))
}

mounted()
{
	grep -q "^[^ ]* $1 " /proc/mounts 2> /dev/null && return
	mkdir -p "$1" 2> /dev/null
	mount -t "$2" none "$1" 2> /dev/null
}

has_option() { case $options in *" CONFIG_$1=y "*) ;; *) return 1 ;; esac; }
has_file_system() { grep -qw "$1" /proc/filesystems; }
has_controller() { grep -q "^$1[[:space:]].*[[:space:]]1\$" /proc/cgroups; }
at_least() { [ "$(cat "$2")" -ge "$1" ]; }

has_syscall() { case $syscalls in *" $1 "*) ;; *) return 1 ;; esac; }

kprobe_works()
{
	echo 'p:folioscope_selfcheck vfs_read' >> "$tracing/kprobe_events" &&
		echo '-:folioscope_selfcheck' >> "$tracing/kprobe_events"
}

lru_gen_on() { [ $(($(cat /sys/kernel/mm/lru_gen/enabled) & 1)) -eq 1 ]; }

# A machine with one CPU has nothing to unplug.
hotplug_works()
{
	[ -d /sys/devices/system/cpu/cpu1 ] || return 0
	echo 0 > /sys/devices/system/cpu/cpu1/online &&
		echo 1 > /sys/devices/system/cpu/cpu1/online
}

# The value in force is in brackets; "none" must have been a choice.
lockdown_offered()
{
	grep -q 'none.*integrity.*confidentiality' /sys/kernel/security/lockdown
}

huge_tmpfs_works()
{
	mkdir -p /tmp/selfcheck && mount -t tmpfs -o huge=always none /tmp/selfcheck &&
		umount /tmp/selfcheck && rmdir /tmp/selfcheck
}

tracing=/sys/kernel/tracing
mounted /proc proc
mounted /sys sysfs
mounted /dev devtmpfs
mounted $tracing tracefs
mounted /sys/kernel/debug debugfs
mounted /sys/kernel/security securityfs
mounted /sys/kernel/config configfs

# Read once: both are long. A system call left out keeps a weak symbol, "W".
options=" $(zcat /proc/config.gz | grep '=y$' | tr '\n' ' ')"
syscalls=" $(sed -n 's/.* T __x64_sys_//p' /proc/kallsyms | tr '\n' ' ')"

for event in set mod unfreeze mod_and_test mod_and_return mod_unless freeze; do
	need "tracepoint page_ref_$event (DEBUG_PAGE_REF)" \
		test -d "$tracing/events/page_ref/page_ref_$event"
done
for event in grace_period exp_grace_period callback kvfree_callback batch_start batch_end \
	invoke_callback segcb_stats barrier; do
	need "tracepoint rcu_$event (RCU_TRACE)" test -d "$tracing/events/rcu/rcu_$event"
done
need "system call tracepoints (FTRACE_SYSCALLS)" test -d $tracing/events/syscalls/sys_enter_read
need "function tracer on folio_mark_accessed" \
	grep -qx folio_mark_accessed $tracing/available_filter_functions
need "kprobe events" kprobe_works
need "uprobe events" test -e $tracing/uprobe_events
need "data symbols in /proc/kallsyms (KALLSYMS_ALL)" grep -q ' d rcu_state$' /proc/kallsyms
need "kernel BTF" test -s /sys/kernel/btf/vmlinux
need "BPF file system" has_file_system bpf
need "BPF JIT, switched on" at_least 1 /proc/sys/net/core/bpf_jit_enable
need "perf events" test -e /proc/sys/kernel/perf_event_paranoid

for option in BPF_EVENTS CGROUP_BPF FPROBE DYNAMIC_FTRACE_WITH_DIRECT_CALLS FAIR_GROUP_SCHED \
	RCU_NOCB_CPU RCU_LAZY UNWINDER_ORC; do
	need "$option" has_option $option
done

need "choice of preemption at run time (PREEMPT_DYNAMIC)" \
	test -e /sys/kernel/debug/sched/preempt
need "room for 64 CPUs" at_least 63 /sys/devices/system/cpu/kernel_max
need "CPU hotplug" hotplug_works
need "NUMA" test -d /sys/devices/system/node/node0
need "task I/O accounting" grep -q '^syscr: [1-9]' /proc/self/io
need "delay accounting" test -e /proc/sys/kernel/task_delayacct
need "pressure stall information" test -e /proc/pressure/memory
need "soft lockup detector" test -e /proc/sys/kernel/soft_watchdog
need "hung task detector" test -e /proc/sys/kernel/hung_task_timeout_secs
for controller in memory cpu cpuset blkio pids; do
	need "cgroup controller $controller" has_controller $controller
done
for ns in cgroup ipc mnt net pid user uts; do
	need "namespace $ns" test -e /proc/self/ns/$ns
done

need "multi-generational LRU, switched on" lru_gen_on
need "control of the multi-generational LRU" test -e /sys/kernel/debug/lru_gen
need "memory compaction" test -e /proc/sys/vm/compact_memory
need "page migration" has_syscall move_pages
need "transparent huge pages" test -e /sys/kernel/mm/transparent_hugepage/enabled
need "huge tmpfs" huge_tmpfs_works
need "idle page tracking" test -e /sys/kernel/mm/page_idle/bitmap
need "/proc/kpageflags" test -e /proc/kpageflags
need "memory failure handling" test -e /sys/devices/system/memory/hard_offline_page
need "memory hotplug" test -e /sys/devices/system/memory/block_size_bytes
need "contiguous memory allocator" grep -q '^CmaTotal:' /proc/meminfo
need "swap" test -e /proc/swaps
need "lockdown" lockdown_offered

for call in bpf perf_event_open io_uring_setup io_submit membarrier memfd_create rseq \
	userfaultfd open_by_handle_at epoll_wait eventfd2 signalfd4 timerfd_create fadvise64 \
	madvise cachestat shmat unshare inotify_init1 fanotify_init; do
	need "system call $call" has_syscall $call
done
for fs in ext4 xfs btrfs overlay tmpfs hugetlbfs ramfs devtmpfs configfs securityfs cgroup2; do
	need "file system $fs" has_file_system $fs
done

need "UNIX sockets" test -e /proc/net/unix
need "TCP" test -e /proc/net/tcp
need "loop devices" test -d /sys/block/loop0
need "RAM disks" test -d /sys/block/ram0
need "null_blk devices that can be made to fail" test -d /sys/kernel/config/nullb
need "virtio over PCI" test -d /sys/bus/pci/drivers/virtio-pci
need "virtio disks" test -d /sys/bus/virtio/drivers/virtio_blk
need "virtio consoles" test -d /sys/bus/virtio/drivers/virtio_console
need "second serial port" test -e /sys/class/tty/ttyS1

if [ $missing -gt 0 ]; then
	echo "selfcheck: $missing of $checked abilities missing"
	exit 1
fi
echo "selfcheck: all $checked abilities present"
