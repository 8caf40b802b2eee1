// SPDX-License-Identifier: GPL-2.0-only
/* cost_body.c - table (a): ns an event of each program's body (cost.h). */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cost.h"
#include "log.h"

#define RATIO_AIM 0.45

struct body {
	const char *what;
	const char *prog;
	enum hook_kind kind;
	const char *target;
	unsigned int setup;
	const struct work *work;
	double aim;		/* body minus empty, ns; 0: none is set */
	bool beside_bpftrace;
};

#define READ(what, setup, work, aim) \
	{ what, "access_read_tp", KIND_TP_BTF, READ_TP, setup, &work, aim, true }
#define TP(what, prog, target, setup, work) \
	{ what, prog, KIND_TP_BTF, target, setup, &work, 0, false }

static const struct body bodies[] = {
	READ("read at index 0", 0, work_read_first, 45),
	READ("read elsewhere", 0, work_read_later, 85),
	READ("read at index 0, hot test", SETUP_HOT, work_read_first, 130),
	READ("read elsewhere, hot test", SETUP_HOT, work_read_later, 130),
	READ("read at index 0, in the tree", SETUP_IN, work_read_first, 0),
	READ("read elsewhere, in the tree", SETUP_IN, work_read_later, 0),
	READ("read at index 0, outside the tree", SETUP_OUT, work_read_first, 0),
	READ("read at index 0, hot test, tree", SETUP_HOT | SETUP_IN, work_read_first, 0),
	READ("read elsewhere, hot test, tree", SETUP_HOT | SETUP_IN, work_read_later, 0),
	READ("lookups of a read of 64 pages", 0, work_read_many, 0),
	READ("... with the hot test", SETUP_HOT, work_read_many, 0),
	TP("fault of one page", "access_fault_tp", "mm_filemap_fault", 0, work_fault),
	TP("... with the hot test", "access_fault_tp", "mm_filemap_fault", SETUP_HOT, work_fault),
	TP("fault-around of 16 pages", "access_mapped_tp", "mm_filemap_map_pages", 0, work_mapped),
	TP("... with the hot test", "access_mapped_tp", "mm_filemap_map_pages", SETUP_HOT,
	   work_mapped),
	TP("page inserted", "access_insert_tp", "mm_filemap_add_to_page_cache", 0, work_lifecycle),
	TP("page removed", "access_remove_tp", "mm_filemap_delete_from_page_cache", 0,
	   work_lifecycle),
	TP("page dirtied", "access_dirty_tp", "writeback_dirty_folio", 0, work_lifecycle),
	{ "tmpfs read by system call", "access_tmpfs_syscall", KIND_RAW_TP, "sys_exit", SETUP_TMPFS,
	  &work_tmpfs, 0, false },
	{ "... any other call (getppid)", "access_tmpfs_syscall", KIND_RAW_TP, "sys_exit",
	  SETUP_TMPFS, &work_getppid, 0, false },
	TP("fork, parent in the tree", "access_fork_tp", "task_newtask", SETUP_IN, work_fork),
	TP("fork, parent outside", "access_fork_tp", "task_newtask", SETUP_OUT, work_fork),
	TP("context switch (grace.normal)", "grace_normal_switch_tp", "sched_switch", 0,
	   work_switch),
	{ "read by function at index 0", "access_read_fentry", KIND_FENTRY, "filemap_read", 0,
	  &work_read_first, 0, false },
	{ "... with the hot test", "access_read_fentry", KIND_FENTRY, "filemap_read", SETUP_HOT,
	  &work_read_first, 0, false },
	{ "read by function at index 0", "access_read_kprobe", KIND_KPROBE, "filemap_read", 0,
	  &work_read_first, 0, false },
	{ "... with the hot test", "access_read_kprobe", KIND_KPROBE, "filemap_read", SETUP_HOT,
	  &work_read_first, 0, false },
	{ "mark by function", "access_marks_fentry", KIND_FENTRY, "folio_mark_accessed", SETUP_HOT,
	  &work_read_many, 0, false },
};

enum { EMPTY, OURS, EMPTY_TP, BPFTRACE, SIDES };	/* EMPTY_TP: on bpftrace's kind of hook */

struct side {
	enum hook_kind kind;
	int prog_fd;		/* negative: not measured */
	double ns[ROUNDS];
	size_t n;
	double min, med;
};

static int run_stats(int prog_fd, __u64 *runs, __u64 *ns)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	*runs = info.run_cnt;
	*ns = info.run_time_ns;
	return 0;
}

static int measure(struct side *s, const struct body *b)
{
	__u64 runs = 0, ns = 0, runs0 = 0, ns0 = 0;
	int link = attach(s->kind, s->prog_fd, b->target), err;

	if (link < 0)
		return link;
	b->work->run(b->work->n / 10 + 1);
	err = run_stats(s->prog_fd, &runs0, &ns0);
	b->work->run(b->work->n);
	err = err ?: run_stats(s->prog_fd, &runs, &ns);
	close(link);
	if (!err && runs > runs0)
		s->ns[s->n++] = (double)(ns - ns0) / (runs - runs0);
	return err;
}

/* What the statistics themselves take, which an empty program shows, is taken off both. */
static double ratio(const struct side *s)
{
	return (s[OURS].min - s[EMPTY].min) / (s[BPFTRACE].min - s[EMPTY_TP].min);
}

static void print_row(struct cost *c, const struct body *b, const struct side *s)
{
	const struct side *e = &s[EMPTY], *o = &s[OURS], *t = &s[BPFTRACE];
	bool ok = o->min - e->min <= b->aim, ratio_ok = !t->n || ratio(s) <= RATIO_AIM;

	printf("%-34s %-7s %4.0f %4.0f  %5.0f %5.0f  %5.0f %5.0f", b->what, kind_names[b->kind],
	       e->min, e->med, o->min, o->med, o->min - e->min, o->med - e->med);
	if (b->aim)
		printf(" %4.0f %-3s", b->aim, ok ? "yes" : "NO");
	else if (t->n)
		printf(" %8s", "");
	if (t->n)
		printf("  %5.0f %5.0f  %4.2f %4.2f", t->min, t->med, o->min / t->min, ratio(s));
	if (t->n && b->aim)
		printf(" %s", ratio_ok ? "yes" : "NO");
	printf("\n");
	fflush(stdout);
	if (b->aim && !(ok && ratio_ok))
		c->missed = true;
}

static int measure_body(struct cost *c, const struct body *b)
{
	struct side s[SIDES] = {
		{ .kind = b->kind, .prog_fd = -1 },
		{ .kind = b->kind, .prog_fd = -1 },
		{ .kind = KIND_TRACEPOINT, .prog_fd = -1 },
		{ .kind = KIND_TRACEPOINT, .prog_fd = b->beside_bpftrace ? c->bpftrace_fd : -1 },
	};
	struct probes_bpf *skel;
	const char *stage = "load";
	int err, i, round;

	skel = attach_ours(c, b->prog, b->kind, b->target, b->setup, &err);
	if (skel) {
		s[OURS].prog_fd = attach_ours_fd(skel, b->prog);
		s[EMPTY].prog_fd = attach_empty_prog(b->kind, b->target);
		if (s[BPFTRACE].prog_fd >= 0)
			s[EMPTY_TP].prog_fd = attach_empty_prog(KIND_TRACEPOINT, b->target);
		err = s[EMPTY].prog_fd < 0 ? s[EMPTY].prog_fd : 0;
		stage = "measure";
	}
	for (round = 0; round < ROUNDS && !err; round++)
		for (i = 0; i < SIDES && !err; i++)
			if (s[i].prog_fd >= 0)
				err = measure(&s[i], b);
	if (!err && (!s[OURS].n || !s[EMPTY].n))
		err = -ENODATA;
	if (err) {
		printf("%-34s %-7s n/a: %s: %s\n", b->what, kind_names[b->kind], stage, errstr(err));
	} else {
		for (i = 0; i < SIDES; i++)
			stat_of(s[i].ns, s[i].n, &s[i].min, &s[i].med);
		print_row(c, b, s);
	}
	if (s[EMPTY].prog_fd >= 0)
		close(s[EMPTY].prog_fd);
	if (s[EMPTY_TP].prog_fd >= 0)
		close(s[EMPTY_TP].prog_fd);
	if (skel)
		attach_ours_close(skel);
	return err == -ENOMEM ? err : 0;
}

int cost_bodies(struct cost *c)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = 0;
	size_t i;

	if (stats < 0)
		return -errno;
	printf("(a) Program bodies, ns an event: minimum and median of %d rounds in turns. The kernel's "
	       "statistics\n    are in all of them; net: without, i.e. less an empty program on the same "
	       "hook. Aim of net: %.2f.\n"
	       "%-34s %-7s %9s  %11s  %11s %8s  %11s  ours/bpftrace\n"
	       "%-34s %-7s %9s  %11s  %11s %8s  %11s   raw  net\n", ROUNDS, RATIO_AIM,
	       "", "", "empty", "ours", "ours-empty", "", "bpftrace",
	       "event", "hook", "min  med", "min   med", "min   med", "aim    ", "min   med");
	for (i = 0; i < ARRAY_SIZE(bodies) && !err; i++)
		if (!c->only || strstr(bodies[i].what, c->only) || strstr(bodies[i].prog, c->only))
			err = measure_body(c, &bodies[i]);
	close(stats);
	return err;
}
