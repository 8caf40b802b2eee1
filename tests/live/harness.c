// SPDX-License-Identifier: GPL-2.0-only
/* harness.c - see harness.h. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define TEST_DIR "/var/tmp/folioscope-test"
#define TEST_SECONDS 120
#define VM_FACTOR 3	/* emulated CPUs are slow */
#define WORDS_MAX 64
#define VERDICT_FAIL 1
#define VERDICT_SKIP 77

static char scratch_dir[4096], tmpfs_dir[4096];
static int verdict_fd = -1;
static unsigned int programs;	/* started by this test */

/* ---- verdicts ---- */

static _Noreturn void conclude(int status, const char *fmt, va_list ap)
{
	char line[1024], *p;
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	for (p = line; *p; p++)
		if (*p == '\n')
			*p = '|';
	if (n < 0 || write(verdict_fd, line, strlen(line)) < 0)
		_exit(VERDICT_FAIL);
	_exit(status);
}

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	conclude(VERDICT_FAIL, fmt, ap);
}

void skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	conclude(VERDICT_SKIP, fmt, ap);
}

/* ---- surroundings ---- */

bool in_vm(void)
{
	const char *v = getenv("FOLIOSCOPE_VM");

	return v && !strcmp(v, "1");
}

bool kernel_is(const char *prefix)
{
	struct utsname un;

	return !uname(&un) && !strncmp(un.release, prefix, strlen(prefix));
}

bool lockdown_confidential(void)
{
	static const char path[] = "/sys/kernel/security/lockdown";

	return exists(path) && strstr(slurp(path, NULL), "[confidentiality]");
}

bool has_program(const char *name)
{
	char *dirs = text("%s", getenv("PATH") ?: "/usr/bin:/bin"), *dir;

	while ((dir = strsep(&dirs, ":")))
		if (!access(text("%s/%s", dir, name), X_OK))
			return true;
	return false;
}

unsigned int cpus_online(void)
{
	return (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
}

static char *vtext(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		fail("no memory");
	return s;
}

char *text(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vtext(fmt, ap);
	va_end(ap);
	return s;
}

char *scratch(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vtext(fmt, ap);
	va_end(ap);
	return text("%s/%s", scratch_dir, s);
}

char *scratch_tmpfs(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vtext(fmt, ap);
	va_end(ap);
	make_dir(tmpfs_dir);
	return text("%s/%s", tmpfs_dir, s);
}

char *slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 4096, n = 0;
	char *buf = malloc(size + 1);
	ssize_t got;

	if (fd < 0)
		fail("%s: open: %s", path, strerror(errno));
	while (buf && (got = read(fd, buf + n, size - n)) != 0) {
		if (got < 0)
			fail("%s: read: %s", path, strerror(errno));
		n += (size_t)got;
		if (n == size)
			buf = realloc(buf, (size *= 2) + 1);
	}
	close(fd);
	if (!buf)
		fail("no memory");
	buf[n] = 0;
	if (len)
		*len = n;
	return buf;
}

void put_file(const char *path, const char *fmt, ...)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vtext(fmt, ap);
	va_end(ap);
	if (fd < 0 || write(fd, s, strlen(s)) != (ssize_t)strlen(s))
		fail("%s: write: %s", path, strerror(errno));
	close(fd);
}

bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

void make_dir(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		fail("%s: mkdir: %s", path, strerror(errno));
}

void pause_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static bool wait_for(const char *path, bool there, double seconds)
{
	int tries = (int)(seconds * 50 * (in_vm() ? VM_FACTOR : 1));

	while (exists(path) != there) {
		if (!tries--)
			return false;
		pause_ms(20);
	}
	return true;
}

bool wait_file(const char *path, double seconds)
{
	return wait_for(path, true, seconds);
}

bool wait_gone(const char *path, double seconds)
{
	return wait_for(path, false, seconds);
}

void own_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("own mount namespace: %s", strerror(errno));
}

/* What each exiting process does on its CPU. Compaction drains them, too, but it may move folios. */
static void drain_cpu(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;

	if (!pid) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		_exit(sched_setaffinity(0, sizeof(set), &set) != 0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		fail("drain the LRU batches: %s", strerror(errno));
}

void drain_lru(void)
{
	int cpu, n = (int)sysconf(_SC_NPROCESSORS_CONF);

	for (cpu = 0; cpu < n; cpu++)
		drain_cpu(cpu);
}

/* ---- programs ---- */

/* Splits in place. */
static char **split(char *s)
{
	char **argv = calloc(WORDS_MAX, sizeof(*argv)), end;
	int n = 0;

	while (argv && *s) {
		while (*s == ' ')
			s++;
		if (!*s)
			break;
		if (n == WORDS_MAX - 1)
			fail("command line: too many words");
		end = *s == '\'' ? '\'' : ' ';
		s += end == '\'';
		argv[n++] = s;
		s += strcspn(s, (char[]){ end, 0 });
		if (*s)
			*s++ = 0;
	}
	if (!argv)
		fail("no memory");
	return argv;
}

static int open_output(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		fail("%s: create: %s", path, strerror(errno));
	return fd;
}

struct proc *start_argv(char **argv)
{
	struct proc *p = calloc(1, sizeof(*p));
	int out, err, in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (!p || in < 0)
		fail("no memory");
	if (!strcmp(argv[0], "folioscope"))
		argv[0] = getenv("FOLIOSCOPE");
	else if (!strcmp(argv[0], "bench"))
		argv[0] = getenv("FOLIO_BENCH");
	p->out_path = scratch(".out%u", programs);
	p->err_path = scratch(".err%u", programs++);
	out = open_output(p->out_path);
	err = open_output(p->err_path);
	p->pid = fork();
	if (p->pid < 0)
		fail("fork: %s", strerror(errno));
	if (!p->pid) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(err, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in);
	close(out);
	close(err);
	return p;
}

static struct proc *vstart(const char *fmt, va_list ap)
{
	return start_argv(split(vtext(fmt, ap)));
}

struct proc *start(const char *fmt, ...)
{
	struct proc *p;
	va_list ap;

	va_start(ap, fmt);
	p = vstart(fmt, ap);
	va_end(ap);
	return p;
}

struct proc *start_reader(const char *file)
{
	return start("sh -c 'while %s pread --file %s --count 1000 --quiet; do sleep 0.05; done'",
		     getenv("FOLIO_BENCH"), file);
}

void finish(struct proc *p)
{
	int status;

	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("wait: %s", strerror(errno));
	p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	p->out = slurp(p->out_path, &p->out_len);
	p->err = slurp(p->err_path, &p->err_len);
}

void stop(struct proc *p, int signo)
{
	kill(p->pid, signo);
	finish(p);
}

struct proc *run(const char *fmt, ...)
{
	struct proc *p;
	va_list ap;

	va_start(ap, fmt);
	p = vstart(fmt, ap);
	va_end(ap);
	finish(p);
	return p;
}

struct proc *run_status(int want, const char *fmt, ...)
{
	struct proc *p;
	va_list ap;
	char *cmd;

	va_start(ap, fmt);
	cmd = vtext(fmt, ap);
	va_end(ap);
	p = start_argv(split(text("%s", cmd)));
	finish(p);
	CHECK(p->status == want, "`%s`: status %d, not %d: %s", cmd, p->status, want, p->err);
	return p;
}

unsigned int lines(const char *s)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

/* ---- one test in its process ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* In the child: a group of its own, so that all it leaves behind can be ended. */
static _Noreturn void be_test(const struct live_test *t, int fd)
{
	struct statfs fs;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	verdict_fd = fd;
	make_dir(scratch_dir);
	if (statfs(scratch_dir, &fs) || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		fail("%s: not on a disk; set FOLIOSCOPE_TEST_DIR", scratch_dir);
	t->run();
	_exit(0);
}

/* Waits for it to end, not longer than its time. True: it took too long. */
static bool await(pid_t pid, const struct live_test *t, int *status)
{
	unsigned int left = (t->seconds ?: TEST_SECONDS) * 20 * (in_vm() ? VM_FACTOR : 1);
	bool late = false;

	while (!waitpid(pid, status, WNOHANG)) {
		if (!left--) {
			late = true;
			kill(-pid, SIGKILL);
			waitpid(pid, status, 0);
			break;
		}
		pause_ms(50);
	}
	kill(-pid, SIGKILL);
	return late;
}

/* 0 passed, 1 failed, 2 skipped. */
static int run_test(const struct live_test *t, const char *dir)
{
	char why[1024] = "";
	int fds[2], status = 0;
	bool late;
	ssize_t n;
	pid_t pid;

	snprintf(scratch_dir, sizeof(scratch_dir), "%s/%s.%d", dir, t->name, getpid());
	snprintf(tmpfs_dir, sizeof(tmpfs_dir), "/dev/shm/folioscope-test.%s.%d", t->name, getpid());
	fflush(stdout);
	if (pipe2(fds, O_CLOEXEC))
		return 1;
	pid = fork();
	if (!pid)
		be_test(t, fds[1]);
	close(fds[1]);
	late = pid < 0 || await(pid, t, &status);
	n = read(fds[0], why, sizeof(why) - 1);
	close(fds[0]);
	if (!getenv("FOLIOSCOPE_TEST_KEEP"))
		remove_tree(scratch_dir);
	remove_tree(tmpfs_dir);
	if (late)
		snprintf(why, sizeof(why), "took too long");
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "signal %d", WTERMSIG(status));
	else if (!WEXITSTATUS(status))
		return printf("PASS %s\n", t->name), 0;
	else if (WEXITSTATUS(status) == VERDICT_SKIP)
		return printf("SKIP %s: %s\n", t->name, why), 2;
	printf("FAIL %s: %s\n", t->name, n > 0 || *why ? why : "no verdict");
	return 1;
}

/* Where a program under test is: as told, or where the build puts it. */
static void set_program(const char *var, const char *name)
{
	char self[4000], path[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int i;

	if (getenv(var))
		return;
	self[n > 0 ? n : 0] = 0;
	/* OUT/tests/live/NAME */
	for (i = 0; i < 3 && strrchr(self, '/'); i++)
		*strrchr(self, '/') = 0;
	snprintf(path, sizeof(path), "%s/%s", self, name);
	setenv(var, path, 1);
}

static bool selected(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!fnmatch(argv[i], name, 0))
			return true;
	return argc < 2;
}

int live_main(int argc, char **argv, const struct live_test *tests, size_t n)
{
	const char *dir = getenv("FOLIOSCOPE_TEST_DIR") ?: TEST_DIR;
	unsigned int count[3] = {};
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < n; i++)
			printf("%s\n", tests[i].name);
		return 0;
	}
	set_program("FOLIOSCOPE", "folioscope");
	set_program("FOLIO_BENCH", "folio-bench");
	setenv("LC_ALL", "C.UTF-8", 1);
	mkdir(dir, 0755);
	for (i = 0; i < n; i++)
		if (selected(tests[i].name, argc, argv))
			count[run_test(&tests[i], dir)]++;
	printf("%u passed, %u failed, %u skipped\n", count[0], count[1], count[2]);
	return count[1] != 0;
}
