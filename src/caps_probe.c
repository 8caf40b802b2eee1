/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * caps_probe.c - reads the running kernel's BTF, symbols and models, and tries with tiny programs
 * which kinds of hook it lets us have. Whatever cannot be read leaves its reason in struct caps.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "caps.h"

#define TRIAL_TP "task_newtask"

/* Called seldom, so that an empty program on one of them for a moment costs nobody anything. */
static const char *const trial_funcs[] = {
	"filemap_splice_read", "generic_file_splice_read", "shmem_file_read_iter", "filemap_fault",
};

/*
 * The whole of a file as text, NUL-terminated, unpacked if it is compressed. NULL and errno.
 * Reads to the end: files of /proc have no size.
 */
static char *read_text(const char *path)
{
	size_t size = 1 << 14, len = 0;
	char *text = NULL, *bigger;
	int n, err = 0;
	gzFile f;

	errno = 0;
	f = gzopen(path, "rb");
	if (!f) {
		errno = errno ? errno : ENOMEM;
		return NULL;
	}
	do {
		size *= 2;
		bigger = realloc(text, size);
		if (!bigger) {
			err = ENOMEM;
			break;
		}
		text = bigger;
		errno = 0;
		n = gzread(f, text + len, size - len - 1);
		if (n < 0)
			err = errno ? errno : EIO;
		else
			len += n;
	} while (!err && n && (size_t)n == size - (len - n) - 1);
	gzclose(f);
	if (err) {
		free(text);
		errno = err;
		return NULL;
	}
	text[len] = '\0';
	return text;
}

/* The kernel's options, or what uname -v says of them. NULL: unknown. */
static char *read_config(const struct utsname *uts)
{
	const char *line = "# CONFIG_PREEMPTION is not set\n";
	char path[160], *text = read_text("/proc/config.gz");

	if (text)
		return text;
	snprintf(path, sizeof(path), "/boot/config-%s", uts->release);
	text = read_text(path);
	if (text)
		return text;
	if (strstr(uts->version, "PREEMPT_RT"))
		line = "CONFIG_PREEMPT_RT=y\n";
	else if (strstr(uts->version, "PREEMPT_DYNAMIC"))
		line = "CONFIG_PREEMPT_DYNAMIC=y\n";
	else if (strstr(uts->version, "PREEMPT_LAZY"))
		line = "CONFIG_PREEMPT_LAZY=y\n";
	else if (strstr(uts->version, "PREEMPT"))
		line = "CONFIG_PREEMPT=y\n";
	return strdup(line);
}

static void read_models(struct caps *c, const struct utsname *uts)
{
	char *sched = read_text("/sys/kernel/debug/sched/preempt");
	char *cmdline = read_text("/proc/cmdline");
	char *lockdown = read_text("/sys/kernel/security/lockdown");
	char *config = read_config(uts);

	c->preempt = caps_parse_preempt(sched, cmdline, config);
	if (lockdown)
		c->lockdown = caps_parse_lockdown(lockdown);
	else if (cmdline && strstr(cmdline, "lockdown=confidentiality"))
		c->lockdown = LOCKDOWN_CONFIDENTIALITY;
	else if (cmdline && strstr(cmdline, "lockdown=integrity"))
		c->lockdown = LOCKDOWN_INTEGRITY;
	free(sched);
	free(cmdline);
	free(lockdown);
	free(config);
}

static bool find_livepatch(void)
{
	struct dirent *e;
	bool found = false;
	DIR *dir = opendir("/sys/kernel/livepatch");

	while (dir && !found && (e = readdir(dir)))
		found = e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return found;
}

static void set_ability(struct ability *a, int err, const char *stage)
{
	a->err = abs(err);
	a->stage = err ? stage : NULL;
}

/* Loads "return 0". btf_id: of the target, 0 where the type has none. A descriptor or -errno. */
static int load_trial(enum bpf_prog_type type, enum bpf_attach_type attach, int btf_id)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach,
		    .attach_btf_id = btf_id);
	int fd;

	if (type == BPF_PROG_TYPE_SYSCALL)
		opts.prog_flags = BPF_F_SLEEPABLE;
	fd = bpf_prog_load(type, "fs_trial", "GPL", insns, sizeof(insns) / sizeof(insns[0]), &opts);
	return fd < 0 ? -errno : fd;
}

/* Programs of type TRACING, whose target is an id in the kernel's own BTF. Load only. */
static int try_load_btf(struct ability *a, const struct btf *own, const char *target, __u32 kind,
			enum bpf_attach_type attach)
{
	int id = own ? btf__find_by_name_kind(own, target, kind) : -ENOENT;
	int fd = id > 0 ? load_trial(BPF_PROG_TYPE_TRACING, attach, id) : -ENOENT;

	set_ability(a, fd < 0 ? fd : 0, "load");
	return fd;
}

/* The first function of the list that is there. NULL: none. */
static const char *find_trial_func(const struct btf *own)
{
	size_t i;

	for (i = 0; own && i < sizeof(trial_funcs) / sizeof(trial_funcs[0]); i++)
		if (btf__find_by_name_kind(own, trial_funcs[i], BTF_KIND_FUNC) > 0)
			return trial_funcs[i];
	return NULL;
}

static void try_fentry(struct ability *a, const struct btf *own, const char *func)
{
	int link, fd;

	if (!func) {
		set_ability(a, ENOENT, "load");
		return;
	}
	fd = try_load_btf(a, own, func, BTF_KIND_FUNC, BPF_TRACE_FENTRY);
	if (fd < 0)
		return;
	/* Older than bpf_link_create() for tracing, and understood by all. */
	link = bpf_raw_tracepoint_open(NULL, fd);
	set_ability(a, link < 0 ? errno : 0, "attach");
	if (link >= 0)
		close(link);
	close(fd);
}

static void try_raw_tp(struct ability *a)
{
	int link, fd = load_trial(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);

	if (fd < 0) {
		set_ability(a, fd, "load");
		return;
	}
	link = bpf_raw_tracepoint_open(TRIAL_TP, fd);
	set_ability(a, link < 0 ? errno : 0, "attach");
	if (link >= 0)
		close(link);
	close(fd);
}

/* A kprobe as a perf event, disabled. A descriptor or -errno; -ENODEV: kernel without kprobes. */
static int open_kprobe(const char *func)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	char *text = read_text("/sys/bus/event_source/devices/kprobe/type");
	int fd;

	if (!text)
		return errno == ENOENT ? -ENODEV : -errno;
	attr.type = strtoul(text, NULL, 10);
	free(text);
	attr.config1 = (__u64)(unsigned long)func;	/* kprobe_func */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void try_kprobe(struct ability *a, const char *func)
{
	int event, fd;

	event = open_kprobe(func ? func : trial_funcs[0]);
	if (event < 0) {
		set_ability(a, event, "open");
		return;
	}
	fd = load_trial(BPF_PROG_TYPE_KPROBE, 0, 0);
	if (fd < 0)
		set_ability(a, fd, "load");
	else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, fd) < 0)
		set_ability(a, errno, "attach");
	else
		set_ability(a, 0, NULL);
	close(event);
	if (fd >= 0)
		close(fd);
}

static void try_abilities(struct caps *c, const struct btf *own)
{
	const char *func = find_trial_func(own);
	int fd;

	fd = try_load_btf(&c->tp_btf, own, "btf_trace_" TRIAL_TP, BTF_KIND_TYPEDEF,
			  BPF_TRACE_RAW_TP);
	if (fd >= 0)
		close(fd);
	fd = try_load_btf(&c->iter, own, "bpf_iter_task", BTF_KIND_FUNC, BPF_TRACE_ITER);
	if (fd >= 0)
		close(fd);
	fd = load_trial(BPF_PROG_TYPE_SYSCALL, 0, 0);
	set_ability(&c->syscall, fd < 0 ? fd : 0, "load");
	if (fd >= 0)
		close(fd);
	try_fentry(&c->fentry, own, func);
	try_raw_tp(&c->raw_tp);
	try_kprobe(&c->kprobe, func);
}

int caps_read(struct caps *c, const char *btf_path, bool probe)
{
	struct btf *own = NULL;
	struct utsname uts;
	char *text;
	int err = 0;

	memset(c, 0, sizeof(*c));
	if (!uname(&uts))
		snprintf(c->kernel, sizeof(c->kernel), "%s", uts.release);
	else
		memset(&uts, 0, sizeof(uts));
	c->btf = btf_path ? btf__parse(btf_path, NULL) : btf__load_vmlinux_btf();
	if (!c->btf)
		c->btf_err = errno;
	else
		c->rdonly_cast = btf__find_by_name_kind(c->btf, "bpf_rdonly_cast",
							BTF_KIND_FUNC) > 0;
	text = read_text("/proc/kallsyms");
	if (text)
		err = caps_take_ksyms(c, text);
	else
		c->ksym_err = errno;
	if (err == -ENOMEM) {
		caps_free(c);
		return err;
	}
	if (err)
		c->ksym_err = -err;
	read_models(c, &uts);
	c->livepatched = find_livepatch();
	if (!probe)
		return 0;
	/* Targets are ids of the kernel's own BTF, whatever file describes its types to us. */
	if (btf_path)
		own = btf__load_vmlinux_btf();
	try_abilities(c, btf_path ? own : c->btf);
	btf__free(own);
	return 0;
}
