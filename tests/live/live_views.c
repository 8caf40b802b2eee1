// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_views.c - what the verbs print: the probe matrix as each kernel must have it, text, JSON,
 * Prometheus, and the same again from a recording.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* ---- probe ---- */

static const char *const signals[] = {
	"access.read", "access.fault", "access.lifecycle", "access.marks", "access.tmpfs",
	"access.tree", "backlog.cpus", "grace.count", "grace.normal", "grace.expedited",
};

/* The backend each kernel must choose; NULL: unavailable there. First match by release. */
static const struct {
	const char *release, *preempt;	/* NULL: any */
	const char *chosen[ARRAY_SIZE(signals)];
} kernels[] = {
	{ "6.18.", NULL, { "tp_btf", "tp_btf", "tp_btf", NULL, NULL, "tp_btf", "rcu_data",
			   "sequence", "gp_kthread", "kthread_work" } },
	{ "6.12.117-folioscope", NULL, { "tp_btf", "tp_btf", "tp_btf", "fentry", "fentry", "tp_btf",
			   "rcu_data", "sequence", "rcu_trace", "rcu_trace" } },
	{ "6.12.", "full", { "tp_btf", "tp_btf", "tp_btf", "kprobe", "kprobe", "tp_btf",
			   "rcu_data", "sequence", "fexit", "kthread_work" } },
	{ "6.12.", NULL, { "tp_btf", "tp_btf", "tp_btf", "fentry", "fentry", "tp_btf", "rcu_data",
			   "sequence", "fexit", "kthread_work" } },
	{ "6.1.", NULL, { "fentry", "fentry", "tp_btf", "fentry", "fentry", "tp_btf", "rcu_data",
			   "sequence", "fexit", "workqueue" } },
};

static json_t *probe(const char *options)
{
	struct proc *p = run_status(0, "folioscope probe --json %s", options);
	json_t *root = json_loadb(p->out, p->out_len, JSON_REJECT_DUPLICATES, NULL);

	CHECK(root, "probe --json: no JSON: %.200s", p->out);
	check_clean("probe", p->out, p->out_len);
	return root;
}

/* The chosen backend of a signal, or NULL; every other one must work or say why not. */
static const char *chosen_backend(const json_t *root, const char *signal)
{
	const char *state, *reason, *found = NULL, *name;
	unsigned int rows = 0;
	json_t *row;
	size_t i;

	json_array_foreach(report_get(root, "backends"), i, row) {
		if (strcmp(json_string_value(report_get(row, "signal")), signal))
			continue;
		rows++;
		state = json_string_value(report_get(row, "state"));
		reason = json_string_value(report_get(row, "reason"));
		name = json_string_value(report_get(row, "backend"));
		if (!strcmp(state, "no"))
			CHECK(reason && *reason, "%s: %s does not work, for no reason", signal, name);
		if (strcmp(state, "chosen"))
			continue;
		CHECK(!found, "%s: several are chosen", signal);
		CHECK(!json_is_true(report_get(row, "degraded")), "%s: %s is degraded: %s", signal, name,
		      reason ?: "");
		found = name;
	}
	CHECK(rows, "%s: no backend in the matrix", signal);
	return found;
}

static void probe_matrix(void)
{
	json_t *root = probe("");
	const char *preempt = json_string_value(report_get(root, "preemption")), *got, *want;
	size_t k, i;

	for (k = 0; k < ARRAY_SIZE(kernels); k++)
		if (kernel_is(kernels[k].release) &&
		    (!kernels[k].preempt || !strcmp(kernels[k].preempt, preempt)))
			break;
	if (k == ARRAY_SIZE(kernels))
		skip("no table for this kernel: add one");
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		got = chosen_backend(root, signals[i]);
		want = kernels[k].chosen[i];
		CHECK(!strcmp(got ?: "none", want ?: "none"), "%s: %s is chosen, not %s", signals[i],
		      got ?: "none", want ?: "none");
	}
}

/* What a report says of its hooks is what probe says. */
static void probe_agrees(void)
{
	struct report *r = observe("", "true");
	json_t *root = probe(""), *hook;
	const char *chosen, *used;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		hook = hook_of(r, signals[i]);
		chosen = chosen_backend(root, signals[i]);
		used = json_string_value(report_get(hook, "backend"));
		CHECK(!strcmp(chosen ?: "none", used ?: "none"), "%s: probe chooses %s, run uses %s",
		      signals[i], chosen ?: "none", used ?: "none");
		if (chosen)
			need_hook(r, signals[i]);
	}
}

static void probe_requested(void)
{
	const char *chosen = chosen_backend(probe("--tmpfs-syscalls"), "access.tmpfs");

	CHECK(chosen, "access.tmpfs: not to be had even with --tmpfs-syscalls");
	if (kernel_is("6.18"))
		CHECK(!strcmp(chosen, "syscalls"), "access.tmpfs: %s", chosen);
}

/* --hook with a function that does not exist, or has other arguments, is refused in words. */
static void probe_user_hook(void)
{
	struct proc *p = run_status(0, "folioscope probe --hook access.marks=no_such_function");

	CHECK(strstr(p->out, "no_such_function"), "the function is not in the matrix");
	p = run_status(0, "folioscope probe --hook access.marks=filemap_read:1");
	CHECK(strstr(p->out, "filemap_read"), "the function is not in the matrix");
	run_status(2, "folioscope probe --hook access.marks");
	run_status(2, "folioscope probe --hook no.signal=f");
	run_status(2, "folioscope probe --hook 'access.marks=a b'");
}

/* ---- views ---- */

static char *record_pread(void)
{
	char *rec = scratch("rec"), *file = scratch("file");

	run_status(0, "bench write --file %s --size 64K", file);
	run_status(0, "folioscope run -q -d 50ms --json=%s --record %s -- %s pread --file %s "
		   "--threads 2 --count 100000", scratch("A"), rec, getenv("FOLIO_BENCH"), file);
	return rec;
}

static void same_bytes(const char *a, const char *b)
{
	size_t na, nb;
	char *sa = slurp(a, &na), *sb = slurp(b, &nb);

	CHECK(na == nb && !memcmp(sa, sb, na), "%s (%zu bytes) and %s (%zu bytes) differ", a, na, b, nb);
}

static void replay(void)
{
	char *rec = record_pread();

	run_status(0, "folioscope run -q -i %s --json=%s", rec, scratch("B"));
	same_bytes(scratch("A"), scratch("B"));
	run_status(0, "folioscope heat -i %s --json=%s", rec, scratch("C"));
	same_bytes(scratch("A"), scratch("C"));
	/* Through a pipe, too. */
	run_status(0, "sh -c 'cat %s | %s run -q -i - --json=%s'", rec, getenv("FOLIOSCOPE"),
		   scratch("D"));
	same_bytes(scratch("A"), scratch("D"));
}

/* The options as the manual has them: a file name as a word of its own. */
static void replay_words(void)
{
	char *file = scratch("file");

	run_status(0, "bench write --file %s --size 64K", file);
	run_status(0, "folioscope run -q --json %s --record %s -- %s pread --file %s --count 100",
		   scratch("A"), scratch("R"), getenv("FOLIO_BENCH"), file);
	run_status(0, "folioscope run -q -i %s --json %s", scratch("R"), scratch("B"));
	same_bytes(scratch("A"), scratch("B"));
}

static void replay_as_nobody(void)
{
	char *rec = record_pread(), *prog = scratch("folioscope");
	struct proc *p;

	run_status(0, "cp %s %s", getenv("FOLIOSCOPE"), prog);
	CHECK(!chmod(prog, 0755) && !chmod(rec, 0644), "chmod");
	p = run_status(0, "setpriv --reuid 65534 --regid 65534 --clear-groups %s heat -i %s --json",
		       prog, rec);
	CHECK(!p->err_len, "%s", p->err);
	CHECK(!strcmp(p->out, slurp(scratch("A"), NULL)), "not the same as root's");
}

/* All verbs on one recording. */
static void recorded_views(void)
{
	char *rec = record_pread();
	struct proc *p;

	p = run_status(0, "folioscope heat -i %s", rec);
	check_clean("heat", p->out, p->out_len);
	CHECK(strstr(p->out, scratch("file")), "heat: no row of the file");
	p = run_status(0, "folioscope top -b -i %s", rec);
	check_clean("top", p->out, p->out_len);
	p = run_status(0, "folioscope export --once -i %s", rec);
	check_prometheus("export", p->out, p->out_len);
	p = run_status(0, "folioscope export --textfile %s -i %s", scratch("prom"), rec);
	CHECK(!p->out_len, "export --textfile: prints, too");
	CHECK(!exists(scratch("prom.tmp")), "export --textfile: leaves its temporary file");
}

/* Cut anywhere, a recording is one clear line and what precedes the damage. */
static void cut_recording(void)
{
	char *rec = record_pread();
	struct stat st;
	struct proc *p;
	int i;

	CHECK(!stat(rec, &st), "stat");
	for (i = 0; i < 20; i++) {
		run_status(0, "sh -c 'head -c %ld %s > %s'", (long)st.st_size * i / 20, rec,
			   scratch("cut"));
		p = run("folioscope heat -i %s --json=%s -q", scratch("cut"), scratch("json"));
		CHECK(p->status == 1 || p->status == 0, "cut at %d/20: status %d", i, p->status);
		CHECK(lines(p->err) <= 2 && p->err_len, "cut at %d/20: %s", i, p->err);
		unlink(scratch("json"));
	}
	p = run_status(1, "folioscope heat -i %s", getenv("FOLIOSCOPE"));
	CHECK(lines(p->err) == 1, "a foreign file: %s", p->err);
	p = run_status(1, "folioscope heat -i %s", scratch("nothing"));
	CHECK(lines(p->err) == 1, "no file: %s", p->err);
}

static unsigned int count_of(const char *s, const char *word)
{
	unsigned int n = 0;

	for (; (s = strstr(s, word)); s += strlen(word))
		n++;
	return n;
}

static void top_batch(void)
{
	struct proc *p = run_status(0, "sh -c '%s top -b -n 2 -d 0.2 | cat'", getenv("FOLIOSCOPE"));

	CHECK(count_of(p->out, "folioscope: ") == 2, "%u reports", count_of(p->out, "folioscope: "));
	check_clean("top", p->out, p->out_len);
	/* Without a terminal it is a batch all by itself. */
	p = run_status(0, "env TERM=dumb %s top -n 3 -d 0.1", getenv("FOLIOSCOPE"));
	CHECK(count_of(p->out, "folioscope: ") == 3, "%u reports", count_of(p->out, "folioscope: "));
	p = run_status(0, "folioscope top --once -d 0.1");
	CHECK(count_of(p->out, "folioscope: ") == 1, "%u reports", count_of(p->out, "folioscope: "));
}

/* Ended by a signal it prints nothing more and succeeds. */
static void top_stopped(void)
{
	struct proc *p = start("folioscope top -b -d 0.1");

	pause_ms(in_vm() ? 5000 : 1500);
	stop(p, SIGTERM);
	CHECK(!p->status, "status %d: %s", p->status, p->err);
	CHECK(count_of(p->out, "folioscope: ") >= 2, "%u reports", count_of(p->out, "folioscope: "));
}

static void export_once(void)
{
	struct proc *bench, *p;

	run_status(0, "bench write --file %s --size 64K", scratch("file"));
	bench = start_reader(scratch("file"));
	p = run_status(0, "folioscope export --once -t 1");
	stop(bench, SIGKILL);
	check_prometheus("export", p->out, p->out_len);
	CHECK(strstr(p->out, scratch("file")), "no series of the file");
	CHECK(!strstr(p->out, "inode=") && !strstr(p->out, "pid="), "a label that explodes");
}

static void export_textfile(void)
{
	char *file = scratch("node.prom");
	struct stat st;
	size_t len;
	char *s;

	run_status(0, "folioscope export --textfile %s -t 0.2", file);
	s = slurp(file, &len);
	check_prometheus("export", s, len);
	CHECK(!stat(file, &st) && (st.st_mode & 0777) == 0644, "mode %o", st.st_mode & 0777);
}

/*
 * At most so many series, whatever the number of files; the rest is folded into other. The series of
 * the machine alone, which stay in any case, are about 200.
 */
static void export_series(void)
{
	char *rec = scratch("rec");
	unsigned int n;
	struct proc *p;

	run_status(0, "folioscope run -q --record %s -- %s many-files --dir %s --files 400", rec,
		   getenv("FOLIO_BENCH"), scratch("dir"));
	p = run_status(0, "folioscope export --once -i %s --top 0 --max-series 300", rec);
	check_prometheus("export", p->out, p->out_len);
	n = lines(p->out) - count_of(p->out, "# HELP ") - count_of(p->out, "# TYPE ");
	CHECK(n <= 300, "%u series", n);
}

static void helps(void)
{
	static const char *const verbs[] = { "probe", "top", "heat", "run", "record", "export" };
	struct proc *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		p = run_status(0, "folioscope %s --help", verbs[i]);
		CHECK(strstr(p->out, text("folioscope %s", verbs[i])), "%s --help: %s", verbs[i], p->out);
		check_clean(verbs[i], p->out, p->out_len);
	}
	p = run_status(0, "folioscope --help");
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		CHECK(strstr(p->out, verbs[i]), "--help: without %s", verbs[i]);
	p = run_status(0, "folioscope --version");
	CHECK(!strncmp(p->out, "folioscope ", 11) && lines(p->out) == 1, "--version: %s", p->out);
	p = run_status(0, "folioscope run --explain=accesses");
	CHECK(strstr(p->out, "accesses"), "--explain: %s", p->out);
}

/* Kernel memory stays within what was asked for, and is told. */
static void memory_budget(void)
{
	long long bytes = report_int(observe("", "true")->root, "overhead.map_bytes"), small;

	CHECK(bytes > 0 && bytes <= 32 << 20, "map_bytes %lld by default", bytes);
	small = report_int(observe("--memory 4M", "true")->root, "overhead.map_bytes");
	CHECK(small < bytes, "map_bytes %lld with --memory 4M, %lld by default", small, bytes);
}

/* --stats: run times of our programs, of this run only. */
static void run_stats(void)
{
	struct report *r;
	json_t *prog;
	long long ns = 0;
	size_t i;

	run_status(0, "bench write --file %s --size 64K", scratch("file"));
	r = observe("--stats", "bench pread --file %s --count 10000", scratch("file"));
	json_array_foreach(report_get(r->root, "overhead.programs"), i, prog) {
		if (strncmp(json_string_value(report_get(prog, "name")), "access_read", 11))
			continue;
		CHECK(report_int(prog, "runs") >= 10000, "runs %lld", report_int(prog, "runs"));
		ns += report_int(prog, "ns");
	}
	CHECK(ns > 0, "no time of access_read");
}

static const struct live_test tests[] = {
	TEST(probe_matrix),
	TEST(probe_agrees),
	TEST(probe_requested),
	TEST(probe_user_hook),
	TEST(replay),
	TEST(replay_words),
	TEST(replay_as_nobody),
	TEST(recorded_views),
	TEST(cut_recording),
	TEST(top_batch),
	TEST(top_stopped),
	TEST(export_once),
	TEST(export_textfile),
	TEST(export_series),
	TEST(helps),
	TEST(memory_budget),
	TEST(run_stats),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
