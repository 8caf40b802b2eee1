/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * harness.h - what the live tests share: the runner, programs run and their output kept, reports
 * read strictly and checked for what must hold in every one of them.
 *
 * Each test runs in a process of its own with a scratch directory of its own; fail() and skip() end
 * it, so nothing has to be freed or undone. Mounts are made after own_mounts() and vanish with the
 * process; what else a test leaves running is killed by the runner.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

struct live_test {
	const char *name;
	void (*run)(void);
	unsigned int seconds;	/* time limit; 0: the usual one */
};

/* The function's name is the test's. */
#define TEST(fn) { .name = #fn, .run = fn }
#define TEST_LONG(fn, s) { .name = #fn, .run = fn, .seconds = s }

/* What a test file's main() returns. */
int live_main(int argc, char **argv, const struct live_test *tests, size_t n);

_Noreturn void fail(const char *fmt, ...) PRINTF(1, 2);
_Noreturn void skip(const char *fmt, ...) PRINTF(1, 2);

#define CHECK(cond, ...)				\
	do {						\
		if (!(cond))				\
			fail(__VA_ARGS__);		\
	} while (0)

/* ---- surroundings ---- */

bool in_vm(void);
bool kernel_is(const char *prefix);	/* of uname -r */
bool lockdown_confidential(void);
bool has_program(const char *name);
unsigned int cpus_online(void);

/* Strings that live until the test ends. */
char *text(const char *fmt, ...) PRINTF(1, 2);
/* A path in this test's scratch directory. */
char *scratch(const char *fmt, ...) PRINTF(1, 2);
/* The same on tmpfs. */
char *scratch_tmpfs(const char *fmt, ...) PRINTF(1, 2);

/* A file's bytes, with a NUL behind them. fail() when it cannot be read. */
char *slurp(const char *path, size_t *len);
void put_file(const char *path, const char *fmt, ...) PRINTF(2, 3);
bool exists(const char *path);
void make_dir(const char *path);
/* Waits for a condition on a file for some seconds; false: it did not come true. */
bool wait_file(const char *path, double seconds);
bool wait_gone(const char *path, double seconds);
void pause_ms(unsigned int ms);
void own_mounts(void);
/* Empties the per-CPU LRU batches. */
void drain_lru(void);

/* ---- programs ---- */

struct proc {
	pid_t pid;
	int status;		/* as a shell has it: 128 + N for signal N */
	char *out, *err;	/* what it wrote, NUL-terminated, once it has ended */
	size_t out_len, err_len;
	char *out_path, *err_path;
};

/*
 * Command lines are words, split at spaces, with '...' for a word that holds some. As first word
 * "folioscope" and "bench" stand for the programs under test.
 */
struct proc *start(const char *fmt, ...) PRINTF(1, 2);
struct proc *start_argv(char **argv);
void finish(struct proc *p);
void stop(struct proc *p, int signo);
struct proc *run(const char *fmt, ...) PRINTF(1, 2);
/* run(), and the exit status must be this one. */
struct proc *run_status(int want, const char *fmt, ...) PRINTF(2, 3);

/*
 * Reads the file again and again, a thousand times each, until it is stopped. With pauses: an emulated
 * CPU that runs nothing but a function whose code is being patched can hang.
 */
struct proc *start_reader(const char *file);

/* How often a line end is in a text. */
unsigned int lines(const char *s);

/* ---- reports ---- */

struct report {
	json_t *root;
	struct proc *proc;	/* of folioscope; out is CMD's stdout */
	char *json;		/* the report's file */
};

/* folioscope run --json --top 0 -q OPTIONS -- CMD; CMD ends with 0; the report is checked. */
struct report *observe(const char *options, const char *cmd, ...) PRINTF(2, 3);
/* Strict: no duplicate keys, no control bytes; then report_check(). */
struct report *report_load(const char *path);
/* What holds in every report: sums, no negative number, null only where unavailable. */
void report_check(const json_t *root);

/* report_get(root, "grace.normal.completed"); fail() when it is missing. */
json_t *report_get(const json_t *root, const char *path);
/* fail() when it is null. */
long long report_int(const json_t *root, const char *path);

/* The only row of this path, or of this file as stat() has it; NULL: none. fail(): several. */
json_t *row_find(const struct report *r, const char *path);
json_t *row_stat(const struct report *r, const char *path);
/* row_find(), and it joins with stat; fail() when there is none. */
json_t *row_of(const struct report *r, const char *path);
long long row_int(const json_t *row, const char *figure);
/* row's dev and ino are those of path. */
bool row_joins(const json_t *row, const char *path);

/* All losses that can make a count smaller. */
long long lost_sum(const struct report *r);
/* Exactly want; with losses at most that much less. */
void expect_count(const struct report *r, const json_t *row, const char *figure, long long want);
/* accesses and pages of a file, and that the workload's own arithmetic says the same. */
void expect_file(const struct report *r, const char *path, long long accesses, long long pages);

/* The signal's line in hooks[]; fail() when it is missing. */
json_t *hook_of(const struct report *r, const char *signal);
/* fail() unless it is attached: a test must not pass because a hook is missing. */
void need_hook(const struct report *r, const char *signal);

/* ---- outputs ---- */

/* fail() when there is a control byte besides line ends, or invalid UTF-8. */
void check_clean(const char *what, const char *s, size_t len);
/* Strictly the Prometheus text format; by promtool, too, where it is installed. */
void check_prometheus(const char *what, const char *s, size_t len);

#endif
