// SPDX-License-Identifier: GPL-2.0-only
/* collector.c - see collector.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "fs_hot.h"
#include "hotbits.h"
#include "log.h"
#include "probes.skel.h"

#define ONLINE_CPUS "/sys/devices/system/cpu/online"
#define MAX_FILES 65536		/* rows kept in memory: about 20 MiB at most */
#define IDLE_FILES 4096		/* so many that stopped growing are worth a grace period to drop */
#define QUERY_FILES 1024	/* rows whose cached pages are asked for in one snapshot */
#define SPILL_BATCH 256

static __u64 now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static size_t page_round(size_t n)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (n + page - 1) / page * page;
}

static size_t sets_per_generation(const struct tracer *t)
{
	return (size_t)t->nr_cpus << t->tables.set_bits;
}

/* ---- names ---- */

static int on_name(void *ctx, void *data, size_t len)
{
	struct collector *c = ctx;
	const struct fs_name *n = data;
	__u32 row_flags = 0;
	struct file *f;
	char *path;

	if (len < offsetof(struct fs_name, path) || n->type != FS_EVT_NAME) {
		c->names_bad++;
		return 0;
	}
	if (n->key.scope != FS_SCOPE_IN)
		return 0;
	if (c->mounts_stale) {
		mounts_free(&c->mounts);
		mounts_load(&c->mounts);
		c->mounts_stale = false;
	}
	path = name_assemble(n, len, &c->mounts, mounts_bdev_name, &row_flags);
	f = path ? table_file(&c->table, &n->key, true) : NULL;
	if (!f) {
		free(path);
		return 0;
	}
	/* Each CPU names a file. One that saw it only go found no name left: the older one is better. */
	if (f->path && (n->flags & FS_NAME_NO_DENTRY)) {
		free(path);
		f->row_flags |= row_flags;
		return 0;
	}
	free(f->path);
	f->path = path;
	f->row_flags = row_flags;
	return 0;
}

static void take_names(struct collector *c)
{
	c->mounts_stale = true;
	ring_buffer__consume(c->names);
}

/* ---- opening ---- */

static void *map_memory(const struct bpf_map *m, size_t bytes, bool writable)
{
	void *p = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
		       bpf_map__fd(m), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Kernel memory of all our maps, from fdinfo: what nobody else accounts for. */
static __u64 maps_bytes(const struct bpf_object *obj)
{
	const struct bpf_map *m;
	__u64 sum = 0, v;
	char path[64], line[128];
	FILE *f;

	bpf_object__for_each_map(m, obj) {
		if (bpf_map__fd(m) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(m));
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "memlock: %llu", &v) == 1)
				sum += v;
		if (f)
			fclose(f);
	}
	return sum;
}

static int open_access(struct collector *c)
{
	struct tracer *t = c->tracer;
	int err = table_init(&c->table, MAX_FILES);

	if (err)
		return err;
	c->slots_bytes = page_round(2 * sets_per_generation(t) * sizeof(struct fs_set));
	c->slots = map_memory(t->skel->maps.access_slots, c->slots_bytes, true);
	c->cpus_bytes = page_round(t->nr_cpus * sizeof(struct fs_cpu));
	c->cpus = map_memory(t->skel->maps.access_cpus, c->cpus_bytes, false);
	if (!c->slots || !c->cpus)
		return -errno;
	c->names = ring_buffer__new(bpf_map__fd(t->skel->maps.access_names), on_name, c, NULL);
	if (!c->names)
		return -errno;
	c->mounts_stale = true;
	return 0;
}

/* Where RCU's data cannot be found all that reads them is off: no row of zeroes instead. */
static void open_backlog(struct collector *c)
{
	struct tracer *t = c->tracer;
	int s, err = backlog_open(&c->backlog, t->skel, t->nr_cpus);

	err = err ?: backlog_find(&c->backlog);
	c->has_backlog = !err;
	if (!err)
		return;
	log_warn("backlog: find per-CPU data: %s; the family is off", errstr(err));
	backlog_close(&c->backlog);
	for (s = 0; s < SIGNALS; s++) {
		struct tracer_signal *sig = &t->sig[s];

		if (!sig->chosen ||
		    (s != SIG_BACKLOG && !(sig->chosen->variant->needs & NEED_BACKLOG)))
			continue;
		sig->state = HOOK_UNAVAILABLE;
		snprintf(sig->reason, sizeof(sig->reason), "find per-CPU data: %s", errstr(err));
	}
}

int collector_open(struct collector *c, struct tracer *t, __u32 forget_after)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->tracer = t;
	err = open_access(c);
	c->table.forget_after = forget_after;
	if (!err && t->sig[SIG_BACKLOG].chosen)
		open_backlog(c);
	err = err ?: refs_open(&c->refs, t);
	if (!err) {
		err = grace_open(&c->grace, bpf_map__fd(t->skel->maps.grace_stat),
				 bpf_map__fd(t->skel->maps.grace_requesters));
		c->has_grace = !err;
	}
	if (err) {
		log_error("maps: open: %s", errstr(err));
		collector_close(c);
		return err;
	}
	cpus_load(&c->online, ONLINE_CPUS);
	c->map_bytes = maps_bytes(t->skel->obj);
	return 0;
}

void collector_close(struct collector *c)
{
	if (c->slots)
		munmap(c->slots, c->slots_bytes);
	if (c->cpus)
		munmap(c->cpus, c->cpus_bytes);
	ring_buffer__free(c->names);
	refs_close(&c->refs);
	mounts_free(&c->mounts);
	table_free(&c->table);
	if (c->has_backlog)
		backlog_close(&c->backlog);
	if (c->has_grace)
		grace_close(&c->grace);
	memset(c, 0, sizeof(*c));
}

int collector_fd(const struct collector *c)
{
	return c->names ? ring_buffer__epoll_fd(c->names) : -1;
}

/* ---- sampling ---- */

void collector_sample(struct collector *c)
{
	struct cpus online;

	if (!cpus_load(&online, ONLINE_CPUS) && !cpus_equal(&online, &c->online)) {
		c->online = online;
		c->hotplug = true;
		refs_hotplug(&c->refs);
		if (c->has_backlog)
			backlog_find(&c->backlog);
	}
	if (c->has_backlog)
		backlog_sample(&c->backlog);
	c->tracer->skel->data_access_ctl->access_ctl.mglru = hotbits_mglru_on();
	take_names(c);
}

/* ---- rows ---- */

static struct bpf_map *spill_map(const struct tracer *t, __u32 gen)
{
	return gen ? t->skel->maps.access_spill1 : t->skel->maps.access_spill0;
}

/* Adds all entries of a spill hash. Preallocated and without deletions: none is missed or met twice. */
static int read_spill(struct collector *c, __u32 gen, bool final, size_t *entries)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	int fd = bpf_map__fd(spill_map(c->tracer, gen)), err = 0;
	struct fs_spill *vals = malloc(SPILL_BATCH * sizeof(*vals));
	struct fs_key *keys = malloc(SPILL_BATCH * sizeof(*keys));
	__u32 token = 0, n, i, batch = SPILL_BATCH;
	bool first = true;

	*entries = 0;
	while (vals && keys) {
		n = batch;
		err = bpf_map_lookup_batch(fd, first ? NULL : &token, &token, keys, vals, &n, &opts);
		if (err == -ENOSPC && batch < 65536) {
			/* One bucket holds more than the batch. */
			void *k = realloc(keys, 2 * batch * sizeof(*keys));
			void *v = realloc(vals, 2 * batch * sizeof(*vals));

			keys = k ?: keys;
			vals = v ?: vals;
			if (!k || !v)
				break;
			batch *= 2;
			continue;
		}
		if (err && err != -ENOENT)
			break;
		for (i = 0; i < n; i++)
			table_add_spill(&c->table, &keys[i], &vals[i], final);
		*entries += n;
		first = false;
		if (err == -ENOENT) {
			err = 0;
			break;
		}
	}
	if (!vals || !keys)
		err = -ENOMEM;
	free(vals);
	free(keys);
	return err;
}

static void clear_spill(struct collector *c, __u32 gen)
{
	int fd = bpf_map__fd(spill_map(c->tracer, gen));
	struct fs_key key;

	while (!bpf_map_get_next_key(fd, NULL, &key))
		if (bpf_map_delete_elem(fd, &key))
			break;
}

static int read_generation(struct collector *c, __u32 gen, bool final, size_t *entries)
{
	size_t n = sets_per_generation(c->tracer);
	int err = read_spill(c, gen, final, entries);

	return err ?: table_add_sets(&c->table, c->slots + gen * n, n, final);
}

/*
 * Makes room: programs write the other tables from now on; once none can reach the old ones they
 * are folded into the files' base counts and cleared.
 */
static int rotate(struct collector *c)
{
	struct fs_ctl *ctl = &c->tracer->skel->data_access_ctl->access_ctl;
	__u32 old = ctl->generation;
	size_t n = sets_per_generation(c->tracer), entries;
	int err;

	__atomic_store_n(&ctl->generation, !old, __ATOMIC_SEQ_CST);
	err = tracer_barrier(c->tracer);
	if (err) {
		__atomic_store_n(&ctl->generation, old, __ATOMIC_SEQ_CST);
		return err;
	}
	c->our_periods++;
	err = read_generation(c, old, true, &entries);
	if (err)
		c->torn = true;
	clear_spill(c, old);
	memset(c->slots + old * n, 0, n * sizeof(*c->slots));
	return err;
}

/* The tables are short of room when files found none, or many share the spill hash. */
static bool needs_room(const struct collector *c, const struct fs_cpu *rest, size_t entries)
{
	return rest->map_full != c->last_full || entries > c->tracer->tables.spill_entries / 2 ||
	       rest->spilled - c->last_spilled > 100000 || c->table.used > c->table.max ||
	       c->table.idle > IDLE_FILES;
}

static void fill_figures(const __u64 *a, const __u64 *b, __u64 *v)
{
	int w;

	/* Words and figures share their first ids (asserted below). */
	for (w = 0; w <= FS_W_UNTESTED; w++)
		v[w] = a[w] + (b ? b[w] : 0);
	v[FIG_WINDOW] = a[FS_W_WINDOW] + (b ? b[FS_W_WINDOW] : 0);
}

_Static_assert((int)FS_W_ACCESSES == FIG_ACCESSES && (int)FS_W_HOT_ACCESSES == FIG_HOT_ACCESSES &&
	       (int)FS_W_MARKS_HOT == FIG_MARKS_HOT && (int)FS_W_WRITTEN == FIG_WRITTEN &&
	       (int)FS_W_UNTESTED == FIG_UNTESTED, "words and figures share ids");

static int make_rows(struct collector *c, struct snapshot *s)
{
	struct file *f;
	size_t i;

	s->rows = calloc(c->table.used ?: 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (i = 0; (f = table_next(&c->table, &i)); i++) {
		struct snap_row *r = &s->rows[s->nrows];

		fill_figures(f->base, f->cur, r->v);
		r->key = f->key;
		r->birth = f->birth;
		r->flags = f->row_flags;
		if (f->flags & FS_FILE_SHMEM)
			r->flags |= ROW_TMPFS;
		if (f->flags & FS_FILE_SUBDEV_UNKNOWN)
			r->flags |= ROW_DEV_UNKNOWN;
		if (f->path && !(r->path = strdup(f->path)))
			return -ENOMEM;
		s->nrows++;
	}
	return 0;
}

/* A row and how much its file grew. */
struct grown {
	size_t row;
	__u64 by;
};

static int by_growth(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;

	return x->by < y->by ? 1 : x->by > y->by ? -1 : x->row < y->row ? -1 : x->row > y->row;
}

/* Asks about n files, at most FS_QUERY_BATCH; false: the kernel does not answer. */
static bool query_batch(struct collector *c, struct snapshot *s, const struct grown *g, size_t n)
{
	struct fs_file_query *q = c->tracer->skel->data_access_query->access_query;
	LIBBPF_OPTS(bpf_test_run_opts, run);
	size_t i;

	for (i = 0; i < FS_QUERY_BATCH; i++) {
		struct file *f = i < n ? table_file(&c->table, &s->rows[g[i].row].key, false) : NULL;

		q[i].inode = f ? f->inode : 0;
		if (f)
			q[i].key = f->key;
	}
	if (bpf_prog_test_run_opts(bpf_program__fd(c->tracer->skel->progs.access_query_files), &run))
		return false;
	for (i = 0; i < n; i++) {
		struct snap_row *r = &s->rows[g[i].row];

		if (!q[i].valid)
			continue;
		r->cached_pages = q[i].cached_pages;
		r->size_bytes = q[i].size;
		r->flags |= ROW_CACHED_VALID | (q[i].nlink ? 0 : ROW_DELETED);
	}
	return true;
}

/* What the files hold now, of those that grew most: at most QUERY_FILES. */
static void query_rows(struct collector *c, struct snapshot *s)
{
	struct grown *g = calloc(s->nrows ?: 1, sizeof(*g));
	size_t i, n = s->nrows < QUERY_FILES ? s->nrows : QUERY_FILES;

	if (!g || bpf_program__fd(c->tracer->skel->progs.access_query_files) < 0)
		n = 0;
	for (i = 0; n && i < s->nrows; i++) {
		struct file *f = table_file(&c->table, &s->rows[i].key, false);

		g[i] = (struct grown){ i, f ? f->grew : 0 };
	}
	if (n < s->nrows && n)
		qsort(g, s->nrows, sizeof(*g), by_growth);
	for (i = 0; i < n; i += FS_QUERY_BATCH)
		if (!query_batch(c, s, g + i, n - i < FS_QUERY_BATCH ? n - i : FS_QUERY_BATCH))
			break;
	free(g);
}

static int read_access(struct collector *c, struct snapshot *s)
{
	__u64 total[FS_SCOPES][FS_WORDS];
	struct fs_cpu rest;
	size_t entries;
	__u32 gen = c->tracer->skel->data_access_ctl->access_ctl.generation;
	int err, scope;

	table_begin(&c->table);
	err = read_generation(c, gen, false, &entries);
	if (err)
		return err;
	table_totals(&c->table, c->cpus, c->tracer->nr_cpus, total, &rest);
	if (needs_room(c, &rest, entries)) {
		err = rotate(c);
		if (!err) {
			/* Everything counted so far is base now; what came meanwhile is in the new tables. */
			table_rewind(&c->table);
			table_drop_idle(&c->table);
			err = read_generation(c, !gen, false, &entries);
			table_totals(&c->table, c->cpus, c->tracer->nr_cpus, total, &rest);
		}
		if (err)
			log_warn("tables: make room: %s; files that find none count as other",
				 errstr(err));
	}
	c->last_full = rest.map_full;
	c->last_spilled = rest.spilled;
	take_names(c);
	table_end(&c->table);
	for (scope = 0; scope < FS_SCOPES; scope++)
		fill_figures(total[scope], NULL, s->total[scope]);
	/* Forgotten files are in other, like those that found no room. */
	s->lost.map_full = rest.map_full + c->table.lost;
	s->lost.ring_full = rest.names_lost;
	s->lost.witness = rest.witness_lost;
	err = make_rows(c, s);
	if (!err)
		query_rows(c, s);
	return err ?: refs_read(&c->refs, &c->table, total, s);
}

/* ---- the rest of a snapshot ---- */

static enum prov signal_prov(const struct tracer *t, enum signal_id sig)
{
	if (t->sig[sig].state == HOOK_UNAVAILABLE)
		return PROV_UNAVAILABLE;
	return t->sig[sig].state == HOOK_DEGRADED ? PROV_LOWER_BOUND : PROV_MEASURED;
}

static void fill_provenance(const struct tracer *t, struct snapshot *s)
{
	enum prov touch = signal_prov(t, SIG_ACCESS_READ);
	enum prov marks = signal_prov(t, SIG_ACCESS_MARKS);
	enum prov life = signal_prov(t, SIG_ACCESS_LIFECYCLE);

	if (touch == PROV_MEASURED && t->sig[SIG_ACCESS_FAULT].state == HOOK_DEGRADED)
		touch = PROV_LOWER_BOUND;
	s->prov[FIG_ACCESSES] = s->prov[FIG_PAGES] = touch;
	s->prov[FIG_HOT_PAGES] = s->prov[FIG_HOT_ACCESSES] = t->hot_known ? touch : PROV_UNAVAILABLE;
	s->prov[FIG_UNTESTED] = s->prov[FIG_WINDOW] = touch;
	s->prov[FIG_MARKS] = marks;
	s->prov[FIG_MARKS_HOT] = t->hot_known ? marks : PROV_UNAVAILABLE;
	s->prov[FIG_INSERTED] = s->prov[FIG_REMOVED] = s->prov[FIG_WRITTEN] = life;
	refs_provenance(t, s);
}

static int fill_cpus(struct collector *c, struct snapshot *s)
{
	__u32 i;

	s->cpus = calloc(c->tracer->nr_cpus, sizeof(*s->cpus));
	if (!s->cpus)
		return -ENOMEM;
	s->ncpus = c->tracer->nr_cpus;
	for (i = 0; i < s->ncpus; i++) {
		s->cpus[i].cpu = i;
		s->cpus[i].flags = cpus_test(&c->online, i) ? CPU_ONLINE : 0;
	}
	return 0;
}

static void fill_grace(struct collector *c, struct snapshot *s)
{
	const struct tracer *t = c->tracer;
	struct grace_hooks hooks[FS_GPS] = {
		[FS_GP_NORMAL] = { .latency = t->sig[SIG_GRACE_NORMAL].state != HOOK_UNAVAILABLE },
		[FS_GP_EXPEDITED] = {
			.latency = t->sig[SIG_GRACE_EXPEDITED].state != HOOK_UNAVAILABLE,
			.requesters = t->sig[SIG_GRACE_EXPEDITED].chosen &&
				      t->sig[SIG_GRACE_EXPEDITED].chosen->variant->requesters,
		},
	};

	if (c->has_backlog) {
		backlog_sample(&c->backlog);
		backlog_fill(&c->backlog, s);
	}
	if (c->has_grace && grace_fill(&c->grace, hooks, s))
		s->grace[FS_GP_EXPEDITED].req_prov = PROV_UNAVAILABLE;
	s->grace[FS_GP_NORMAL].ours = c->our_periods;
}

static int fill_hooks(const struct tracer *t, struct snapshot *s)
{
	size_t i;

	s->hooks = calloc(SIGNALS, sizeof(*s->hooks));
	if (!s->hooks)
		return -ENOMEM;
	for (i = 0; i < SIGNALS; i++) {
		struct snap_hook *h = &s->hooks[s->nhooks];

		/* The tree signal exists only where a process filter asks for it. */
		if (i == SIG_ACCESS_TREE && !t->sig[i].chosen &&
		    !strcmp(t->sig[i].reason, "not asked for"))
			continue;
		tracer_hook_line(t, i, h);
		if (signals[i].family == FAM_ACCESS || signals[i].family == FAM_REFCOUNT)
			s->lost.recursion_misses += h->misses;
		s->nhooks++;
	}
	return 0;
}

static int fill_progs(const struct tracer *t, struct snapshot *s)
{
	struct bpf_program *p;
	size_t n = 0;

	bpf_object__for_each_program(p, t->skel->obj)
		n += bpf_program__fd(p) >= 0;
	s->progs = calloc(n ?: 1, sizeof(*s->progs));
	if (!s->progs)
		return -ENOMEM;
	s->run_stats = t->stats_fd >= 0;
	bpf_object__for_each_program(p, t->skel->obj) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (bpf_program__fd(p) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		snprintf(s->progs[s->nprogs].name, sizeof(s->progs[0].name), "%s",
			 bpf_program__name(p));
		s->progs[s->nprogs].runs = info.run_cnt;
		s->progs[s->nprogs++].ns = info.run_time_ns;
	}
	return 0;
}

static void fill_self(const struct collector *c, struct snapshot *s)
{
	struct rusage ru;
	struct utsname un;

	getrusage(RUSAGE_SELF, &ru);
	s->self_cpu_ns = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000ULL +
			 (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000ULL;
	s->map_bytes = c->map_bytes;
	if (!uname(&un))
		snprintf(s->kernel, sizeof(s->kernel), "%s", un.release);
	s->page_size = sysconf(_SC_PAGESIZE);
	s->possible_cpus = c->tracer->nr_cpus;
	s->filtered = c->tracer->skel->rodata->cfg_filter != 0;
	s->machine = s->filtered && c->tracer->skel->rodata->cfg_outside;
}

int collector_snapshot(struct collector *c, struct snapshot *s)
{
	int err;

	memset(s, 0, sizeof(*s));
	collector_sample(c);
	s->mono_ns = now_ns(CLOCK_MONOTONIC);
	s->wall_ns = now_ns(CLOCK_REALTIME);
	s->seq = c->seq++;
	err = fill_cpus(c, s);
	if (!err && (tracer_family_on(c->tracer, FAM_ACCESS) ||
		     tracer_family_on(c->tracer, FAM_REFCOUNT)))
		err = read_access(c, s);
	if (err)
		goto out;
	fill_provenance(c->tracer, s);
	fill_grace(c, s);
	err = fill_hooks(c->tracer, s);
	err = err ?: fill_progs(c->tracer, s);
	if (err)
		goto out;
	fill_self(c, s);
	c->torn_count += c->torn;
	s->lost.torn = c->torn_count;
	s->flags = (c->torn ? SNAP_TORN : 0) | (c->hotplug ? SNAP_HOTPLUG : 0);
	c->torn = c->hotplug = false;
out:
	if (err) {
		log_error("snapshot: read: %s", errstr(err));
		snapshot_free(s);
	}
	return err;
}
