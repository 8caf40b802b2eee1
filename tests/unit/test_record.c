/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_record.c - what is recorded is read back equal, whatever becomes of the disk meanwhile.
 */
/* units: record.c record_block.c record_rows.c snapshot.c */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "record_helpers.h"

/* ---- round trips ---- */

static void round_trips(void **state)
{
	static const size_t sizes[] = { 0, 1, 5, 60, 3000 };
	struct snapshot s[12];
	struct outcome o;
	struct bytes b;

	rng_state = 0x1234567;
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(s); i++)
			random_snapshot(&s[i], i ? &s[i - 1] : NULL, sizes[k]);
		b = record_of(s, ARRAY_SIZE(s));
		o = read_bytes(b.p, b.len, s, ARRAY_SIZE(s));
		assert_int_equal(o.last, 0);
		assert_false(o.wrong);
		assert_int_equal(o.good, ARRAY_SIZE(s));
		assert_false(o.incomplete);
		assert_string_equal(o.error, "");
		free(b.p);
		free_all(s, ARRAY_SIZE(s));
	}
}

static void paths_and_stdout(void **state)
{
	char path[] = "/tmp/folioscope-record-XXXXXX", err[128];
	struct record_reader *r;
	struct record_writer *w;
	struct snapshot s, got;
	int out;

	close(mkstemp(path));
	unlink(path);
	rng_state = 99;
	random_snapshot(&s, NULL, 4);
	w = record_create(path);
	assert_int_equal(record_write(w, &s), 0);
	/* Readable while it grows, and known to be unfinished. */
	r = record_open(path, err, sizeof(err));
	assert_int_equal(record_read(r, &got), 1);
	assert_true(equal(&got, &s));
	snapshot_free(&got);
	assert_int_equal(record_read(r, &got), 0);
	assert_true(record_incomplete(r));
	record_reader_close(r);
	assert_int_equal(record_close(w), 0);

	/* "-": stdout stays open for others. */
	out = dup(STDOUT_FILENO);
	assert_true(freopen(path, "w", stdout) != NULL);
	w = record_create("-");
	assert_int_equal(record_write(w, &s), 0);
	assert_int_equal(record_close(w), 0);
	dup2(out, STDOUT_FILENO);
	close(out);
	r = record_open(path, err, sizeof(err));
	assert_non_null(r);
	assert_false(record_incomplete(r));
	record_reader_close(r);
	unlink(path);
	assert_null(record_open(path, err, sizeof(err)));
	assert_string_equal(err, "No such file or directory");
	assert_null(record_create("/nonexistent/x"));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(record_close(NULL), 0);
	record_reader_close(NULL);
	snapshot_free(&s);
}

/* An interval in which little happened must cost little. */
static void only_changes_are_written(void **state)
{
	struct snapshot s[2];
	struct bytes one, two;

	rng_state = 5;
	random_snapshot(&s[0], NULL, 5000);
	assert_int_equal(snapshot_copy(&s[1], &s[0]), 0);
	s[1].rows[17].v[FIG_PAGES]++;
	one = record_of(s, 1);
	two = record_of(s, 2);
	assert_true(one.len > 500000);
	assert_true(two.len - one.len < 5000);
	free(one.p);
	free(two.p);
	free_all(s, 2);
}

/* Whatever lies behind the end of a string stays here. */
static void nothing_leaks(void **state)
{
	struct snap_hook hook = { .signal = "a\0SECRET", .reason = "b\0SECRET" };
	struct snap_requester req = { .comm = "c\0SECRET" };
	struct snap_prog prog = { .name = "d\0SECRET" };
	struct snapshot s = { .kernel = "6\0SECRET", .hooks = &hook, .nhooks = 1, .progs = &prog,
			      .nprogs = 1 }, got;
	struct bytes b;
	struct record_reader *r;
	char err[128];

	s.grace[0].req = &req;
	s.grace[0].nreq = 1;
	b = record_of(&s, 1);
	r = record_open_fd(memory_file(b.p, b.len), err, sizeof(err));
	assert_int_equal(record_read(r, &got), 1);
	assert_string_equal(got.hooks[0].signal, "a");
	assert_int_equal(got.hooks[0].signal[2] | got.hooks[0].reason[2], 0);
	assert_int_equal(got.grace[0].req[0].comm[2] | got.progs[0].name[2] | got.kernel[2], 0);
	snapshot_free(&got);
	record_reader_close(r);
	free(b.p);
}

/* ---- writing that fails ---- */

static void full_device(void **state)
{
	assert_null(record_create("/dev/full"));
	assert_int_equal(errno, ENOSPC);
}

/* The disk fills up in the middle of a block and has room again later. */
static void file_too_large(void **state)
{
	struct rlimit old, small;
	struct snapshot s[3];
	struct outcome o;
	struct bytes b;
	int fd = memory_file("", 0), keep = dup(fd), again;
	struct record_writer *w = record_create_fd(fd);

	signal(SIGXFSZ, SIG_IGN);
	rng_state = 31;
	for (size_t i = 0; i < 3; i++)
		random_snapshot(&s[i], i ? &s[i - 1] : NULL, 50);
	assert_int_equal(record_write(w, &s[0]), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = (rlim_t)lseek(keep, 0, SEEK_END) + 100;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(record_write(w, &s[1]), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);

	/* As if the recorder had died here. */
	b = contents(keep);
	assert_int_equal(b.len, small.rlim_cur - 100);
	o = read_bytes(b.p, b.len, s, 3);
	assert_true(o.last == 0 && o.good == 1 && o.incomplete);
	free(b.p);

	assert_int_equal(record_write(w, &s[2]), 0);
	assert_int_equal(record_close(w), -EFBIG);
	snapshot_free(&s[1]);
	s[1] = s[2];
	b = contents(keep);
	again = memory_file(b.p, b.len);
	o = read_fd(again, s, 2);
	/* Two whole ones, and the mark says that something is missing. */
	assert_true(o.last == 0 && o.good == 2 && !o.wrong && o.incomplete);
	free(b.p);
	close(keep);
	free_all(s, 2);
}

/* A file of earlier records would be spoilt by writing into its middle. */
static void appending(void **state)
{
	char path[] = "/tmp/folioscope-append-XXXXXX";
	int fd = mkstemp(path), append = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct record_writer *w = record_create_fd(append);
	struct snapshot s;
	struct outcome o;
	struct bytes b;
	struct stat st;

	rng_state = 77;
	random_snapshot(&s, NULL, 5);
	assert_int_equal(record_write(w, &s), 0);
	assert_int_equal(record_close(w), 0);
	o = read_fd(fd, &s, 1);
	assert_true(o.last == 0 && o.good == 1 && !o.wrong && !o.incomplete);
	/* The mark was left alone: written here it would land behind the end. */
	b = record_of(&s, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, b.len);
	free(b.p);
	unlink(path);
	snapshot_free(&s);
}

static void refused(void **state)
{
	struct snapshot good, bad;
	int fd = memory_file("", 0), keep = dup(fd);
	struct record_writer *w = record_create_fd(fd);
	struct snap_hook *hooks = calloc(5000, sizeof(*hooks));
	struct snap_cpu cpus[2] = { { .cpu = 1 }, { .cpu = 1 } };
	struct snap_row rows[2] = { { .path = NULL }, { .path = NULL } };
	struct outcome o;

	rng_state = 8;
	random_snapshot(&good, NULL, 20);
	bad = (struct snapshot){ .rows = rows, .nrows = 2 };
	assert_int_equal(record_write(w, &bad), -EINVAL);
	bad = (struct snapshot){ .cpus = cpus, .ncpus = 2 };
	assert_int_equal(record_write(w, &bad), -EINVAL);
	cpus[1].cpu = 65536;
	assert_int_equal(record_write(w, &bad), -EINVAL);
	bad = (struct snapshot){ .possible_cpus = 65537 };
	assert_int_equal(record_write(w, &bad), -EINVAL);
	bad = (struct snapshot){ .hooks = hooks, .nhooks = 5000 };
	assert_int_equal(record_write(w, &bad), -E2BIG);
	rows[1].key.ino = 1;
	rows[1].path = malloc(70001);
	memset(rows[1].path, 'p', 70000);
	rows[1].path[70000] = '\0';
	bad = (struct snapshot){ .rows = rows, .nrows = 2 };
	assert_int_equal(record_write(w, &bad), -E2BIG);
	/* None of them left a trace. */
	assert_int_equal(record_write(w, &good), 0);
	lseek(keep, 0, SEEK_SET);
	o = read_fd(dup(keep), &good, 1);
	assert_true(o.last == 0 && o.good == 1 && !o.wrong);
	assert_int_equal(record_close(w), -EINVAL);
	free(rows[1].path);
	free(hooks);
	close(keep);
	snapshot_free(&good);
}

/* ---- pipes ---- */

static void through_a_pipe(void **state)
{
	struct snapshot s[3];
	struct record_writer *w;
	struct outcome o;
	int fds[2];

	rng_state = 11;
	for (size_t i = 0; i < 3; i++)
		random_snapshot(&s[i], i ? &s[i - 1] : NULL, 10);
	assert_int_equal(pipe(fds), 0);
	w = record_create_fd(fds[1]);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(record_write(w, &s[i]), 0);
	assert_int_equal(record_close(w), 0);
	/* The mark could not be cleared, but the end block is there. */
	o = read_fd(fds[0], s, 3);
	assert_true(o.last == 0 && o.good == 3 && !o.wrong && !o.incomplete);
	free_all(s, 3);
}

static void reader_goes_away(void **state)
{
	struct record_writer *w;
	struct snapshot s;
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	rng_state = 12;
	random_snapshot(&s, NULL, 10);
	assert_int_equal(pipe(fds), 0);
	w = record_create_fd(fds[1]);
	assert_int_equal(record_write(w, &s), 0);
	close(fds[0]);
	assert_int_equal(record_write(w, &s), -EPIPE);
	assert_int_equal(record_write(w, &s), -EPIPE);
	assert_int_equal(record_close(w), -EPIPE);
	snapshot_free(&s);
}

/* A block that went out in part cannot be taken back from a pipe: nothing may follow it. */
static void pipe_stuck_half_way(void **state)
{
	struct record_writer *w;
	struct snapshot s;
	int fds[2];
	char drain[4096];

	rng_state = 13;
	random_snapshot(&s, NULL, 2000);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	w = record_create_fd(fds[1]);
	assert_int_equal(record_write(w, &s), -EAGAIN);
	while (read(fds[0], drain, sizeof(drain)) > 0)
		;
	assert_int_equal(record_write(w, &s), -EAGAIN);
	assert_int_equal(read(fds[0], drain, 1), -1);
	assert_int_equal(record_close(w), -EAGAIN);
	close(fds[0]);
	snapshot_free(&s);
}

/* A reader that is fed byte by byte loses nothing between its calls. */
static void slow_feed(void **state)
{
	struct snapshot s[2], got;
	struct record_reader *r;
	struct bytes b;
	char err[128];
	size_t good = 0;
	int fds[2], ret = -EAGAIN;

	rng_state = 14;
	random_snapshot(&s[0], NULL, 3);
	random_snapshot(&s[1], &s[0], 3);
	b = record_of(s, 2);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(write(fds[1], b.p, HEADER), HEADER);
	r = record_open_fd(fds[0], err, sizeof(err));
	assert_non_null(r);
	for (size_t i = HEADER; i < b.len; i++) {
		ret = record_read(r, &got);
		assert_int_equal(ret, -EAGAIN);
		assert_int_equal(write(fds[1], b.p + i, 1), 1);
		ret = record_read(r, &got);
		if (ret == 1) {
			assert_true(good < 2 && equal(&got, &s[good]));
			snapshot_free(&got);
			good++;
		} else if (i < b.len - 1) {
			assert_int_equal(ret, -EAGAIN);
		}
	}
	assert_int_equal(ret, 0);	/* the end block ends it, while the pipe is still open */
	assert_int_equal(good, 2);
	record_reader_close(r);
	close(fds[1]);
	free(b.p);
	free_all(s, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(paths_and_stdout),
		cmocka_unit_test(only_changes_are_written),
		cmocka_unit_test(nothing_leaks),
		cmocka_unit_test(full_device),
		cmocka_unit_test(file_too_large),
		cmocka_unit_test(appending),
		cmocka_unit_test(refused),
		cmocka_unit_test(through_a_pipe),
		cmocka_unit_test(reader_goes_away),
		cmocka_unit_test(pipe_stuck_half_way),
		cmocka_unit_test(slow_feed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
