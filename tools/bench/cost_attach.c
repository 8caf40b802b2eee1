// SPDX-License-Identifier: GPL-2.0-only
/* cost_attach.c - programs and their attachment (cost.h), by descriptors alone. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backlog.h"
#include "cost.h"
#include "fs_abi.h"
#include "hotbits.h"
#include "probes.skel.h"
#include "tree.h"

#define BPFTRACE_WAIT_MS 15000

const char *const kind_names[] = {
	[KIND_TP_BTF] = "tp_btf", [KIND_RAW_TP] = "raw_tp", [KIND_FENTRY] = "fentry",
	[KIND_KPROBE] = "kprobe", [KIND_TRACEPOINT] = "tracepoint",
};

int attach_empty_prog(enum hook_kind kind, const char *target)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	enum bpf_attach_type attach_type = kind == KIND_TP_BTF ? BPF_TRACE_RAW_TP : BPF_TRACE_FENTRY;
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	enum bpf_prog_type type = BPF_PROG_TYPE_TRACING;
	int fd;

	switch (kind) {
	case KIND_TP_BTF:
	case KIND_FENTRY:
		opts.expected_attach_type = attach_type;
		fd = libbpf_find_vmlinux_btf_id(target, attach_type);
		if (fd < 0)
			return fd;
		opts.attach_btf_id = fd;
		break;
	case KIND_RAW_TP:
		type = BPF_PROG_TYPE_RAW_TRACEPOINT;
		break;
	case KIND_KPROBE:
		type = BPF_PROG_TYPE_KPROBE;
		break;
	case KIND_TRACEPOINT:
		type = BPF_PROG_TYPE_TRACEPOINT;
		break;
	}
	fd = bpf_prog_load(type, "cost_empty", "GPL", insns, ARRAY_SIZE(insns), &opts);
	return fd < 0 ? -errno : fd;
}

static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int n = -1;

	if (!f)
		return -errno;
	if (fscanf(f, "%d", &n) != 1)
		n = -EIO;
	fclose(f);
	return n;
}

static int attach_perf(struct perf_event_attr *attr, int prog_fd)
{
	int fd, err;

	attr->size = sizeof(*attr);
	/* The program belongs to the event and runs on all CPUs, whatever CPU is named here. */
	fd = syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int attach_tracepoint(int prog_fd, const char *target)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	/* Where it is mounted of old, and where bpftrace looks for it. */
	static const char *const tracefs[] = { "tracing", "debug/tracing" };
	char path[160];
	int id = -ENOENT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tracefs) && id < 0; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/%s/events/filemap/%s/id", tracefs[i],
			 target);
		id = read_number(path);
	}
	if (id < 0)
		return id;
	attr.config = id;
	return attach_perf(&attr, prog_fd);
}

static int attach_kprobe(int prog_fd, const char *target)
{
	struct perf_event_attr attr = { .config1 = (__u64)(unsigned long)target };
	int type = read_number("/sys/bus/event_source/devices/kprobe/type");

	if (type < 0)
		return type;
	attr.type = type;
	return attach_perf(&attr, prog_fd);
}

int attach(enum hook_kind kind, int prog_fd, const char *target)
{
	int fd;

	switch (kind) {
	case KIND_TRACEPOINT:
		return attach_tracepoint(prog_fd, target);
	case KIND_KPROBE:
		return attach_kprobe(prog_fd, target);
	default:
		fd = bpf_raw_tracepoint_open(kind == KIND_RAW_TP ? target : NULL, prog_fd);
		return fd < 0 ? -errno : fd;
	}
}

/* ---- bpftrace ---- */

/* A tracepoint program that has appeared after the one with id `after`. */
static int new_tracepoint_prog(__u32 after)
{
	struct bpf_prog_info info;
	__u32 id = after, len;
	int fd;

	while (!bpf_prog_get_next_id(id, &id)) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    info.type == BPF_PROG_TYPE_TRACEPOINT)
			return fd;
		close(fd);
	}
	return -ENOENT;
}

static pid_t start_bpftrace(void)
{
	static const char script[] = "tracepoint:filemap:" READ_TP
				     " { @[args->s_dev, args->i_ino] = count(); }";
	pid_t pid = fork();
	int null;

	if (pid)
		return pid;
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execlp("bpftrace", "bpftrace", "-e", script, NULL);
	_exit(127);
}

int attach_bpftrace_prog(void)
{
	__u32 last = 0, next;
	int fd = -ENOENT, ms, status;
	pid_t pid;

	while (!bpf_prog_get_next_id(last, &next))
		last = next;
	pid = start_bpftrace();
	if (pid < 0)
		return -errno;
	for (ms = 0; fd < 0 && ms < BPFTRACE_WAIT_MS; ms += 50) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return -ENOENT;	/* not installed, or it does not work here */
		usleep(50000);
		fd = new_tracepoint_prog(last);
	}
	/* The program and its map live on with our descriptor; its attachment ends here. */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return fd;
}

/* ---- ours ---- */

/* As tracer.c does it for a session. */
static int configure(const struct cost *c, struct probes_bpf *skel, unsigned int setup)
{
	int err;

	skel->rodata->cfg_rdonly_cast = c->caps.rdonly_cast;
	skel->rodata->cfg_probe_read = c->caps.lockdown != LOCKDOWN_CONFIDENTIALITY;
	skel->rodata->cfg_nr_cpus = c->nr_cpus;
	skel->rodata->cfg_set_bits = c->tables.set_bits;
	skel->rodata->cfg_hot_test = setup & SETUP_HOT;
	skel->rodata->cfg_tmpfs = setup & SETUP_TMPFS;
	skel->rodata->cfg_filter = setup & (SETUP_IN | SETUP_OUT) ? FS_FILTER_TREE : 0;
	skel->rodata->cfg_outside = true;
	memcpy((void *)&skel->rodata->cfg_hot, &c->hot, sizeof(c->hot));
	skel->data_access_ctl->access_ctl.mglru = hotbits_mglru_on();
	err = bpf_map__set_max_entries(skel->maps.access_slots,
				       2 * (c->nr_cpus << c->tables.set_bits));
	err = err ?: bpf_map__set_max_entries(skel->maps.access_cpus, c->nr_cpus);
	err = err ?: bpf_map__set_max_entries(skel->maps.access_spill0, c->tables.spill_entries);
	err = err ?: bpf_map__set_max_entries(skel->maps.access_spill1, c->tables.spill_entries);
	if (!err && backlog_configure(skel, &c->caps, c->nr_cpus) == -ENOMEM)
		err = -ENOMEM;
	return err;
}

/* The switch program compares with a thread that is never there: the usual case. */
static int forge_kthread(struct probes_bpf *skel)
{
	struct fs_rcu_state st = { .gp_kthread = 1 };
	__u32 zero = 0;

	return bpf_map_update_elem(bpf_map__fd(skel->maps.backlog_state), &zero, &st, BPF_ANY);
}

struct probes_bpf *attach_ours(const struct cost *c, const char *prog, enum hook_kind kind,
			       const char *target, unsigned int setup, int *err)
{
	struct probes_bpf *skel = probes_bpf__open();
	struct bpf_program *p;

	*err = skel ? 0 : -errno;
	if (!skel)
		return NULL;
	p = bpf_object__find_program_by_name(skel->obj, prog);
	if (!p) {
		*err = -ESRCH;
		goto fail;
	}
	bpf_program__set_autoload(p, true);
	if (kind == KIND_TP_BTF || kind == KIND_FENTRY)
		*err = bpf_program__set_attach_target(p, 0, target);
	*err = *err ?: configure(c, skel, setup);
	*err = *err ?: probes_bpf__load(skel);
	*err = *err ?: forge_kthread(skel);
	if (!*err && (setup & SETUP_IN))
		*err = tree_add_one(skel, getpid());
	if (!*err)
		return skel;
fail:
	probes_bpf__destroy(skel);
	return NULL;
}

int attach_ours_fd(const struct probes_bpf *skel, const char *prog)
{
	return bpf_program__fd(bpf_object__find_program_by_name(skel->obj, prog));
}

void attach_ours_close(struct probes_bpf *skel)
{
	probes_bpf__destroy(skel);
}
