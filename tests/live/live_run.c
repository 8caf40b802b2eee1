// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_run.c - run as a wrapper: CMD's status and signals, what happens when observing or writing is
 * impossible, and that nothing is left behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define NOBODY "setpriv --reuid 65534 --regid 65534 --clear-groups"
#define STATS "/proc/sys/kernel/bpf_stats_enabled"

/* ---- exit status ---- */

static void exit_status(void)
{
	static const int status[] = { 0, 1, 3, 125, 126, 127, 255 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(status); i++)
		run_status(status[i], "folioscope run -q -- sh -c 'exit %d'", status[i]);
}

static void exit_signal(void)
{
	static const int signals[] = { SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGSEGV, SIGABRT, SIGUSR1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		run_status(128 + signals[i], "folioscope run -q -- sh -c 'ulimit -c 0; kill -%d $$'",
			   signals[i]);
}

static void not_found(void)
{
	struct proc *p = run_status(127, "folioscope run -q -- %s", scratch("nothing"));

	CHECK(lines(p->err) == 1, "not one line: %s", p->err);
	p = run_status(127, "folioscope run -q -- no-such-program-anywhere");
	CHECK(lines(p->err) == 1, "not one line: %s", p->err);
}

static void not_executable(void)
{
	struct proc *p;

	put_file(scratch("data"), "no program\n");
	p = run_status(126, "folioscope run -q -- %s", scratch("data"));
	CHECK(lines(p->err) == 1, "not one line: %s", p->err);
}

static void bad_usage(void)
{
	static const char *const cmds[] = {
		"folioscope run", "folioscope run --", "folioscope run --no-such-option -- true",
		"folioscope no-such-verb", "folioscope", "folioscope heat -t x",
		"folioscope run --filter nothing=1 -- true", "folioscope export",
		"folioscope run -i /dev/null -- true", "folioscope run --sort nothing -- true",
		"folioscope record", "folioscope top extra",
	};
	struct proc *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		p = run_status(2, "%s", cmds[i]);
		CHECK(p->err_len && !p->out_len, "%s: help belongs on stderr", cmds[i]);
	}
}

/* CMD's own output is passed through whole, and its stdin is ours. */
static void passes_output(void)
{
	struct proc *p = run_status(0, "folioscope run -q -- sh -c 'echo out; echo err >&2; cat'");

	CHECK(!strcmp(p->out, "out\n"), "stdout: %s", p->out);
	CHECK(!strcmp(p->err, "err\n"), "stderr: %s", p->err);
}

/* ---- signals ---- */

static void forwards(int signo, const char *name)
{
	struct proc *p;

	p = start("folioscope run -q -- sh -c 'trap \"exit 7\" %s; touch %s; "
		  "while :; do sleep 0.05; done'", name, scratch("ready"));
	CHECK(wait_file(scratch("ready"), 20), "CMD was not started");
	stop(p, signo);
	CHECK(p->status == 7, "%s: status %d, not the 7 of CMD's trap", name, p->status);
	unlink(scratch("ready"));
}

static void forwards_signals(void)
{
	forwards(SIGTERM, "TERM");
	forwards(SIGINT, "INT");
	forwards(SIGHUP, "HUP");
	forwards(SIGUSR1, "USR1");
}

/* Not handled by CMD: it dies of it, and so do we, in the way shells tell it. */
static void forwards_default(void)
{
	struct proc *p = start("folioscope run -q -- sh -c 'touch %s; exec sleep 100'",
			       scratch("ready"));

	CHECK(wait_file(scratch("ready"), 20), "CMD was not started");
	pause_ms(100);
	stop(p, SIGTERM);
	CHECK(p->status == 128 + SIGTERM, "status %d", p->status);
}

/* CMD has the signal mask and dispositions of its caller, not ours. */
static void signal_mask(void)
{
	struct proc *bare = run_status(0, "grep Sig /proc/self/status");
	struct proc *p = run_status(0, "folioscope run -q -- grep Sig /proc/self/status");

	CHECK(!strcmp(strstr(bare->out, "SigPnd"), strstr(p->out, "SigPnd")), "%s is not %s", p->out,
	      bare->out);
}

/* No descriptor of ours (BPF maps!) reaches CMD. */
static void descriptors(void)
{
	struct proc *bare = run_status(0, "ls /proc/self/fd");
	struct proc *p = run_status(0, "folioscope run -q -- ls /proc/self/fd");

	CHECK(!strcmp(bare->out, p->out), "CMD has %s, not %s", p->out, bare->out);
}

/* ---- CMD is held until the hooks are live ---- */

/* The first thing CMD does is to be executed: a read, and faults of its program file. */
static void held(void)
{
	char *program = scratch("true");
	struct report *r;
	json_t *row;

	run_status(0, "cp -L /bin/true %s", program);
	r = observe("", "%s", program);
	row = row_of(r, program);
	CHECK(row_int(row, "accesses") >= 1, "accesses %lld", row_int(row, "accesses"));
	CHECK(json_number_value(report_get(r->root, "duration_s")) > 0, "duration");
	CHECK(json_is_false(report_get(r->root, "interval.torn")), "torn");
	CHECK(json_is_false(report_get(r->root, "interval.hotplug")), "hotplug");
}

static void one_read(void)
{
	char *file = scratch("file");
	int i;

	run_status(0, "bench write --file %s --size 64K", file);
	for (i = 0; i < 10; i++)
		expect_file(observe("", "bench pread --file %s", file), file, 1, 1);
}

/* ---- observing is impossible ---- */

/* The program where nobody may execute it. */
static char *program_for_nobody(void)
{
	char *copy = scratch("folioscope");

	run_status(0, "cp %s %s", getenv("FOLIOSCOPE"), copy);
	CHECK(!chmod(copy, 0755), "chmod");
	return copy;
}

static void one_line(const struct proc *p, const char *what, const char *word)
{
	CHECK(lines(p->err) == 1, "%s: not one line: %s", what, p->err);
	CHECK(strstr(p->err, word), "%s: does not say %s: %s", what, word, p->err);
}

static void as_nobody(void)
{
	char *prog = program_for_nobody();

	one_line(run_status(4, NOBODY " %s heat -t 0.1", prog), "heat", "EPERM");
	one_line(run_status(4, NOBODY " %s probe", prog), "probe", "EPERM");
	one_line(run_status(4, NOBODY " %s export --once", prog), "export", "EPERM");
	one_line(run_status(4, NOBODY " %s top -b -n 1", prog), "top", "EPERM");
}

static void as_nobody_run(void)
{
	struct proc *p = run_status(125, NOBODY " %s run -- touch %s", program_for_nobody(),
				    scratch("ran"));

	CHECK(strstr(p->err, "EPERM") && lines(p->err) <= 2, "%s", p->err);
	CHECK(!exists(scratch("ran")), "CMD ran unobserved");
	p = run_status(5, NOBODY " %s run --best-effort -- sh -c 'exit 5'", program_for_nobody());
	CHECK(strstr(p->err, "EPERM") && lines(p->err) <= 2, "%s", p->err);
}

static void without_btf(void)
{
	struct proc *p = run_status(125, "folioscope run --btf /nonexistent -- touch %s",
				    scratch("ran"));

	CHECK(strstr(p->err, "BTF") && lines(p->err) <= 2, "%s", p->err);
	CHECK(!exists(scratch("ran")), "CMD ran unobserved");
	one_line(run_status(3, "folioscope heat --btf /nonexistent"), "heat", "CONFIG_DEBUG_INFO_BTF");
	one_line(run_status(3, "folioscope probe --btf /nonexistent"), "probe", "BTF");
	run_status(0, "folioscope run --best-effort --btf /nonexistent -- touch %s", scratch("ran"));
	CHECK(exists(scratch("ran")), "--best-effort: CMD did not run");
	p = run("folioscope heat --btf /dev/zero -t 0.1");
	CHECK(p->status == 3, "--btf of no BTF file: status %d: %s", p->status, p->err);
}

static void required(void)
{
	struct proc *p;

	run_status(0, "folioscope heat -t 0.1 -q --require access.read,backlog.cpus");
	p = run("folioscope probe --require access.read");
	CHECK(p->status == 2, "probe --require: status %d", p->status);
	if (!kernel_is("6.18"))
		skip("every signal can be had on this kernel");
	one_line(run_status(3, "folioscope heat -t 0.1 --require access.marks"), "heat", "access.marks");
	p = run_status(125, "folioscope run --require access.marks -- touch %s", scratch("ran"));
	CHECK(!exists(scratch("ran")), "CMD ran though a required signal is unavailable");
}

/* ---- writing is impossible ---- */

static void full_disk(void)
{
	struct proc *p;
	struct stat st;

	CHECK(!stat("/dev/full", &st) && S_ISCHR(st.st_mode), "/dev/full: is no device here");
	p = run_status(1, "folioscope run -q --json=/dev/full -- true");
	one_line(p, "run --json", "ENOSPC");
	one_line(run_status(3, "folioscope run -q --json=/dev/full -- sh -c 'exit 3'"), "run 3",
		 "ENOSPC");
	one_line(run_status(1, "folioscope heat -t 0.1 -o /dev/full"), "heat -o", "ENOSPC");
	one_line(run_status(1, "sh -c '%s heat -t 0.1 > /dev/full'", getenv("FOLIOSCOPE")), "heat",
		 "ENOSPC");
	one_line(run_status(1, "sh -c '%s probe > /dev/full'", getenv("FOLIOSCOPE")), "probe",
		 "ENOSPC");
	p = run("folioscope run -q --record /dev/full -- touch %s", scratch("ran"));
	CHECK(p->status == (exists(scratch("ran")) ? 1 : 125), "run --record: status %d", p->status);
	one_line(p, "run --record", "ENOSPC");
}

/* Told before CMD runs, not after. */
static void no_directory(void)
{
	struct proc *p = run("folioscope run -q --json=%s -- true", scratch("no/where"));

	CHECK(p->status == 125, "run --json: status %d", p->status);
	one_line(p, "run --json", "ENOENT");
	p = run("folioscope run -q --record %s -- true", scratch("no/where"));
	CHECK(p->status == 125, "run --record: status %d", p->status);
	one_line(p, "run --record", "ENOENT");
}

/* The disk fills up while it is recorded: CMD goes on, one line tells. */
static void full_disk_recording(void)
{
	struct proc *p;

	p = run("prlimit --fsize=20000 -- %s run -q -d 10ms --record %s -- sh -c 'sleep 1; touch %s'",
		getenv("FOLIOSCOPE"), scratch("rec"), scratch("ran"));
	CHECK(exists(scratch("ran")), "CMD did not end well: status %d: %s", p->status, p->err);
	CHECK(p->status == 1, "status %d: %s", p->status, p->err);
	one_line(p, "run --record", "EFBIG");
}

/* The reader of stdout has gone: it ends soon, without a core dump. */
static void closed_pipe(void)
{
	static const char *const cmds[] = { "top -b -d 0.1", "heat -t 0.5", "probe", "export --once" };
	struct proc *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		p = run("sh -c '{ %s %s; echo $? > %s; } | true'", getenv("FOLIOSCOPE"), cmds[i],
			scratch("status"));
		CHECK(!p->err_len || lines(p->err) == 1, "%s: %s", cmds[i], p->err);
		/* Of the shell: 141 is 128 + SIGPIPE. */
		if (wait_file(scratch("status"), 10))
			CHECK(!strcmp(slurp(scratch("status"), NULL), "1\n") ||
			      !strcmp(slurp(scratch("status"), NULL), "0\n") ||
			      !strcmp(slurp(scratch("status"), NULL), "141\n"), "%s: status %s", cmds[i],
			      slurp(scratch("status"), NULL));
		unlink(scratch("status"));
	}
}

/* ---- nothing stays behind ---- */

/* Ids of one kind (link_id, prog_id, map_id) among the descriptors of a process. */
static size_t bpf_ids(pid_t pid, const char *key, unsigned int *ids, size_t max)
{
	char *dir = text("/proc/%d/fdinfo", pid), *at, *want = text("\n%s:", key);
	struct dirent *e;
	DIR *d = opendir(dir);
	size_t n = 0;

	CHECK(d, "%s: open", dir);
	while ((e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		at = strstr(slurp(text("%s/%s", dir, e->d_name), NULL), want);
		if (at && n < max)
			ids[n++] = (unsigned int)strtoul(at + strlen(want), NULL, 10);
	}
	closedir(d);
	return n;
}

static bool bpf_alive(int cmd, unsigned int id)
{
	union bpf_attr attr = {};
	long fd;

	attr.prog_id = id;
	fd = syscall(__NR_bpf, cmd, &attr, sizeof(attr));
	if (fd >= 0)
		close((int)fd);
	return fd >= 0;
}

static void check_gone(int cmd, const char *what, const unsigned int *ids, size_t n)
{
	int tries = 250;
	size_t i;

	for (i = 0; i < n; i++) {
		while (bpf_alive(cmd, ids[i]) && tries--)
			pause_ms(20);
		CHECK(!bpf_alive(cmd, ids[i]), "%s %u is still there", what, ids[i]);
	}
}

static unsigned int dirs_below(const char *root)
{
	struct proc *p = run("find %s -xdev -type d", root);

	return lines(p->out);
}

static void leaves_nothing(int signo)
{
	unsigned int links[64], progs[64], maps[64], cgroups = dirs_below("/sys/fs/cgroup");
	char *stats = slurp(STATS, NULL);
	size_t nlinks, nprogs, nmaps;
	struct proc *p;

	p = start("folioscope run --stats -q -- sh -c 'touch %s; exec sleep 2'", scratch("ready"));
	CHECK(wait_file(scratch("ready"), 20), "CMD was not started");
	nlinks = bpf_ids(p->pid, "link_id", links, ARRAY_SIZE(links));
	nprogs = bpf_ids(p->pid, "prog_id", progs, ARRAY_SIZE(progs));
	nmaps = bpf_ids(p->pid, "map_id", maps, ARRAY_SIZE(maps));
	CHECK(nlinks > 3 && nprogs > 3 && nmaps > 3, "%zu links, %zu programs, %zu maps while it ran",
	      nlinks, nprogs, nmaps);
	CHECK(bpf_alive(BPF_LINK_GET_FD_BY_ID, links[0]), "link %u is not there while it runs", links[0]);
	stop(p, signo);
	check_gone(BPF_LINK_GET_FD_BY_ID, "link", links, nlinks);
	check_gone(BPF_PROG_GET_FD_BY_ID, "program", progs, nprogs);
	check_gone(BPF_MAP_GET_FD_BY_ID, "map", maps, nmaps);
	CHECK(!strcmp(stats, slurp(STATS, NULL)), "%s has changed", STATS);
	CHECK(dirs_below("/sys/fs/cgroup") <= cgroups, "a cgroup is left behind");
}

static void after_kill(void)
{
	leaves_nothing(SIGKILL);
}

static void after_term(void)
{
	leaves_nothing(SIGTERM);
}

static void after_fault(void)
{
	leaves_nothing(SIGSEGV);
}

/* Nothing but what was asked for is in the directory. */
static void no_files(void)
{
	make_dir(scratch("dir"));
	run_status(0, "sh -c 'cd %s && %s run --json=a.json --record a.rec -o a.txt -- true'",
		   scratch("dir"), getenv("FOLIOSCOPE"));
	CHECK(!strcmp(run_status(0, "ls -A %s", scratch("dir"))->out, "a.json\na.rec\na.txt\n"), "%s",
	      run_status(0, "ls -A %s", scratch("dir"))->out);
}

static const struct live_test tests[] = {
	TEST(exit_status),
	TEST(exit_signal),
	TEST(not_found),
	TEST(not_executable),
	TEST(bad_usage),
	TEST(passes_output),
	TEST(forwards_signals),
	TEST(forwards_default),
	TEST(signal_mask),
	TEST(descriptors),
	TEST(held),
	TEST(one_read),
	TEST(as_nobody),
	TEST(as_nobody_run),
	TEST(without_btf),
	TEST(required),
	TEST(full_disk),
	TEST(full_disk_recording),
	TEST(no_directory),
	TEST(closed_pipe),
	TEST(after_kill),
	TEST(after_term),
	TEST(after_fault),
	TEST(no_files),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
