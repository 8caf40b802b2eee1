/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_run.c - runs one phase: workers as threads or processes, started together through a gate,
 * pinned, taking strict turns if asked. Each worker writes only its own struct; the sum is made
 * when all have ended. The first failure stops everyone.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct crew {
	struct gate gate;
	struct worker w[];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

bool worker_stopped(const struct worker *w)
{
	return atomic_load_explicit(&w->gate->stop, memory_order_relaxed);
}

int worker_fail(struct worker *w, const char *what, int err)
{
	if (!w->err) {
		w->err = err;
		w->what = what;
	}
	atomic_store(&w->gate->stop, 1);
	return err;
}

static int pin(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	cpu_set_t set;

	if (!cfg->ncpus)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cfg->cpu[w->id % cfg->ncpus], &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	snprintf(w->path, sizeof(w->path), "CPU %u", cfg->cpu[w->id % cfg->ncpus]);
	return worker_fail(w, "pin a worker", -errno);
}

static int file_open(const struct bench_cfg *cfg, const char *path)
{
	int flags = O_CLOEXEC;
	int fd;

	flags |= cfg->wl->need & OPEN_WRITE ? O_RDWR | O_CREAT : O_RDONLY;
	if (cfg->wl->need & OPEN_DIRECT)
		flags |= O_DIRECT;
	fd = open(path, flags, 0644);
	return fd < 0 ? -errno : fd;
}

/* What an O_DIRECT descriptor does depends on the file system: tmpfs reads through its cache. */
static int look(struct worker *w)
{
	struct statfs fs;
	struct stat st;

	if (fstat(w->fd, &st) || fstatfs(w->fd, &fs))
		return -errno;
	w->size = (uint64_t)st.st_size;
	w->bypass = (w->cfg->wl->need & OPEN_DIRECT) && fs.f_type != TMPFS_MAGIC;
	return 0;
}

/* Page aligned for O_DIRECT, and touched now so that it does not fault while counting. */
static int buffer_get(struct worker *w)
{
	size_t page = (size_t)1 << w->cfg->page_shift;
	size_t len = (w->cfg->bs + page) & ~(page - 1);
	void *buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		return -errno;
	memset(buf, 1, len);
	w->buf = buf;
	w->buf_len = len;
	return 0;
}

static int worker_set_up(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	int err;

	err = pin(w);
	if (err)
		return err;
	err = buffer_get(w);
	if (err)
		return worker_fail(w, "buffer", err);
	if (cfg->wl->need & (OPEN_READ | OPEN_WRITE)) {
		if (w->fd < 0)
			w->fd = file_open(cfg, w->path);
		if (w->fd < 0)
			return worker_fail(w, "open", w->fd);
		err = look(w);
		if (err)
			return worker_fail(w, "stat", err);
	}
	err = cfg->wl->open ? cfg->wl->open(w) : 0;
	return err ? worker_fail(w, "set up", err) : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void worker_tear_down(struct worker *w)
{
	if (!w->cfg->shared_fd)
		close_fd(&w->fd);
	close_fd(&w->pipe[0]);
	close_fd(&w->pipe[1]);
	close_fd(&w->null);
	if (w->buf)
		munmap(w->buf, w->buf_len);
	w->buf = NULL;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* Waits for this worker's turn. Yields now and then: workers may share a CPU. */
static bool turn_wait(struct worker *w)
{
	unsigned int spins = 0;

	while (atomic_load_explicit(&w->gate->turn, memory_order_acquire) % w->cfg->workers !=
	       w->id) {
		if (worker_stopped(w) || atomic_load(&w->gate->done) == w->cfg->workers)
			return false;
		if (++spins % 64)
			relax();
		else
			sched_yield();
	}
	return true;
}

/*
 * A worker at its end passes its turns on until all are at theirs: where rounds do not divide
 * evenly, others still have some to take.
 */
static void turn_pass_on(struct worker *w)
{
	struct gate *g = w->gate;

	atomic_fetch_add(&g->done, 1);
	while (atomic_load(&g->done) < w->cfg->workers && turn_wait(w)) {
		if (atomic_load(&g->done) < w->cfg->workers)
			atomic_fetch_add_explicit(&g->turn, 1, memory_order_release);
	}
}

static void worker_loop(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t todo;
	int64_t done;

	if (cfg->wl->need & WHOLE)
		todo = 1;
	else if (cfg->ms || __builtin_mul_overflow(cfg->count, w->round, &todo))
		todo = UINT64_MAX;
	for (w->step = 0; w->step < todo && !worker_stopped(w); w->step++) {
		if (cfg->turns && !turn_wait(w))
			break;
		done = cfg->wl->op(w);
		if (cfg->turns)
			atomic_fetch_add_explicit(&w->gate->turn, 1, memory_order_release);
		if (done < 0) {
			worker_fail(w, cfg->wl->name, (int)done);
			break;
		}
		w->ops += (uint64_t)done;
	}
	if (cfg->turns)
		turn_pass_on(w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	int err;

	worker_set_up(w);
	atomic_fetch_add(&w->gate->ready, 1);
	while (!atomic_load(&w->gate->go))
		sched_yield();
	if (!w->err)
		worker_loop(w);
	err = w->cfg->wl->finish ? w->cfg->wl->finish(w) : 0;
	if (err)
		worker_fail(w, "finish", err);
	w->end_ns = now_ns();
	worker_tear_down(w);
	return NULL;
}

static int spawn_process(struct worker *w)
{
	pid_t parent = getpid();

	w->pid = fork();
	if (w->pid)
		return w->pid < 0 ? -errno : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* it died before the line above */
		_exit(1);
	worker_main(w);
	_exit(0);
}

/* A worker process ended already: before the gate opened, or before its time was over. */
static bool process_ended(const struct bench_cfg *cfg)
{
	siginfo_t si = { 0 };

	return cfg->procs && !waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid;
}

/* Until all are ready, or one is dead: nothing else would ever open the gate. */
static void gate_wait(struct crew *c, const struct bench_cfg *cfg, unsigned int started)
{
	while (atomic_load(&c->gate.ready) < started) {
		sched_yield();
		if (process_ended(cfg)) {
			atomic_store(&c->gate.stop, 1);
			break;
		}
	}
}

/* --seconds, in slices so that a failed run does not sit out its time. */
static void run_time(struct crew *c, const struct bench_cfg *cfg, uint64_t end_ns)
{
	uint64_t now, left;
	struct timespec ts = { 0 };

	while (!atomic_load(&c->gate.stop) && !process_ended(cfg)) {
		now = now_ns();
		if (now >= end_ns)
			break;
		left = end_ns - now;
		ts.tv_nsec = left < 100000000 ? (long)left : 100000000;
		nanosleep(&ts, NULL);
	}
	atomic_store(&c->gate.stop, 1);
}

/* In the order in which they end: one that died must stop those that wait for its turn. */
static int reap(struct crew *c, unsigned int started)
{
	int status, err = 0;

	while (started) {
		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		started--;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			atomic_store(&c->gate.stop, 1);
			err = -ECHILD;
			fprintf(stderr, "folio-bench: a worker process died\n");
		}
	}
	return err;
}

static int run_crew(struct crew *c, const struct bench_cfg *cfg, struct phase *ph)
{
	pthread_t *tid = calloc(cfg->workers, sizeof(*tid));
	unsigned int i, started;
	uint64_t start, end = 0;
	int err = 0, rc;

	if (!tid)
		return bench_error("workers", "memory", -ENOMEM);
	for (started = 0; started < cfg->workers; started++) {
		err = cfg->procs ? spawn_process(&c->w[started]) :
			-pthread_create(&tid[started], NULL, worker_main, &c->w[started]);
		if (err) {
			atomic_store(&c->gate.stop, 1);
			bench_error("worker", "start", err);
			break;
		}
	}
	gate_wait(c, cfg, started);
	start = now_ns();
	atomic_store(&c->gate.go, 1);
	if (cfg->ms)
		run_time(c, cfg, start + cfg->ms * 1000000);
	if (cfg->procs) {
		rc = reap(c, started);
		err = err ? err : rc;
	} else {
		for (i = 0; i < started; i++)
			pthread_join(tid[i], NULL);
	}
	for (i = 0; i < started; i++)
		end = c->w[i].end_ns > end ? c->w[i].end_ns : end;
	ph->seconds = end > start ? (double)(end - start) / 1e9 : 0;
	free(tid);
	return err;
}

static int crew_init(struct crew *c, const struct bench_cfg *cfg)
{
	struct worker *w;
	int err, fd = -1;
	unsigned int i;

	for (i = 0; i < cfg->workers; i++) {
		w = &c->w[i];
		w->cfg = cfg;
		w->gate = &c->gate;
		w->id = i;
		w->round = 1;
		w->pipe[0] = w->pipe[1] = w->null = -1;
		err = cfg->file ? file_path(cfg, i, w->path, sizeof(w->path)) : 0;
		if (err)
			return bench_error(cfg->file, "path", err);
		if (cfg->shared_fd && fd < 0) {
			fd = file_open(cfg, w->path);
			if (fd < 0)
				return bench_error(w->path, "open", fd);
		}
		w->fd = fd;
	}
	return 0;
}

static int crew_sum(const struct crew *c, const struct bench_cfg *cfg, struct phase *ph)
{
	const struct worker *w;
	int err = 0;

	for (w = c->w; w < c->w + cfg->workers; w++) {
		ph->ops += w->ops;
		ph->bytes += w->bytes;
		ph->accesses += w->accesses;
		ph->pages += w->pages;
		ph->again += w->again;
		if (w->err && !err)
			err = bench_error(w->path[0] ? w->path : cfg->wl->name, w->what, w->err);
	}
	return err;
}

/* Runs one phase with new workers and new descriptors. */
int bench_phase(struct bench_cfg *cfg, struct phase *ph)
{
	size_t len = sizeof(struct crew) + cfg->workers * sizeof(struct worker);
	struct crew *c;
	int err, rc;

	memset(ph, 0, sizeof(*ph));
	err = cfg->wl->prepare ? cfg->wl->prepare(cfg) : 0;
	if (err)
		return err;
	c = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return bench_error("workers", "memory", -errno);
	err = crew_init(c, cfg);
	if (!err) {
		err = run_crew(c, cfg, ph);
		rc = crew_sum(c, cfg, ph);
		err = err ? err : rc;
	}
	if (cfg->shared_fd && c->w[0].fd >= 0)
		close(c->w[0].fd);
	munmap(c, len);
	return err;
}
