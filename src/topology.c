/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * topology.c - cores, last-level caches and nodes from sysfs.
 *
 * A list found for one CPU places all its members, so that the files read are a few a group and
 * not a dozen a CPU: 7,000 instead of 80,000 for 8192 CPUs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "topology.h"

/* As in cpus.c: longer than any list. */
#define LIST_MAX (256U << 10)
#define CACHE_INDEXES 16
/* A first-level cache is a core's own: alone it says nothing about other cores. */
#define LLC_LEVEL_MIN 2UL

const char *const distance_names[DISTANCES] = {
	[DIST_SAME] = "same", [DIST_SMT] = "smt",	[DIST_LLC] = "llc",
	[DIST_NODE] = "node", [DIST_REMOTE] = "remote", [DIST_UNKNOWN] = "unknown",
};

struct loader {
	struct topology *t;
	int root;		/* directory */
	struct cpus online;	/* those with a topology directory */
	struct cpus list;	/* the last one read */
	char *text;		/* LIST_MAX */
};

/* The file's text with its NUL, its length, or -errno. */
static ssize_t text_read(struct loader *l, const char *path)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = openat(l->root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, l->text + len, LIST_MAX - 1 - len);
		if (n < 0)
			n = -errno;
		else
			len += (size_t)n;
	} while (n > 0 && len < LIST_MAX - 1);
	close(fd);
	l->text[len] = '\0';
	return n < 0 ? n : (ssize_t)len;
}

/*
 * Reads a list into l->list: 1, 0 where there is no such file or the kernel would not answer (the
 * CPU may go away while we read), -errno where the text is no list.
 */
static int list_read(struct loader *l, const char *path)
{
	ssize_t len = text_read(l, path);
	int err;

	if (len < 0)
		return 0;
	err = cpus_parse(&l->list, l->text, (size_t)len);
	return err ? err : 1;
}

/* A number, or ULONG_MAX. */
static unsigned long number_read(struct loader *l, const char *path)
{
	char *end;
	unsigned long v;

	if (text_read(l, path) <= 0 || l->text[0] < '0' || l->text[0] > '9')
		return ULONG_MAX;
	v = strtoul(l->text, &end, 10);
	return *end == '\n' || !*end ? v : ULONG_MAX;
}

/* "cpu12" with prefix "cpu": 12. -1: another name. -ERANGE: more than we can count. */
static int name_number(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	unsigned long v;
	char *end;

	if (strncmp(name, prefix, n) || name[n] < '0' || name[n] > '9')
		return -1;
	v = strtoul(name + n, &end, 10);
	if (*end)
		return -1;
	return v < CPUS_MAX ? (int)v : -ERANGE;
}

/* Numbers of the directories prefixN below root/name. -errno; -ERANGE. */
static int dir_numbers(struct loader *l, const char *name, const char *prefix, struct cpus *out)
{
	struct dirent *d;
	int fd, nr, err = 0;
	DIR *dir;

	memset(out, 0, sizeof(*out));
	fd = openat(l->root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while ((d = readdir(dir))) {
		nr = name_number(d->d_name, prefix);
		if (nr >= 0)
			out->bits[nr / 64] |= 1ULL << (nr % 64);
		else if (nr == -ERANGE)
			err = nr;
	}
	closedir(dir);
	return err;
}

/* Makes the online CPUs of l->list a group. One that is in a group stays there. */
static void group_place(struct loader *l, enum topology_level level)
{
	__u32 id = TOPOLOGY_NONE;

	for (int i = cpus_next(&l->list, 0); i >= 0; i = cpus_next(&l->list, i + 1)) {
		if ((__u32)i >= l->t->ncpus)
			break;
		if (!cpus_test(&l->online, (__u32)i))
			continue;
		if (id == TOPOLOGY_NONE)
			id = (__u32)i;
		if (l->t->cpu[i].id[level] == TOPOLOGY_NONE)
			l->t->cpu[i].id[level] = id;
	}
}

/* Places a CPU by the first of two files (new name, old name) that lists it. */
static int place_by_list(struct loader *l, int cpu, enum topology_level level,
			 const char *const names[2])
{
	char path[96];
	int have;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "cpu/cpu%d/topology/%s", cpu, names[i]);
		have = list_read(l, path);
		if (have < 0)
			return have;
		if (have && cpus_test(&l->list, (__u32)cpu)) {
			group_place(l, level);
			return 0;
		}
	}
	return 0;
}

/* The cache of the highest level; index directories are numbered without gaps. */
static int place_by_cache(struct loader *l, int cpu)
{
	unsigned long level, best = LLC_LEVEL_MIN - 1;
	int best_index = -1, have;
	char path[96];

	for (int i = 0; i < CACHE_INDEXES; i++) {
		snprintf(path, sizeof(path), "cpu/cpu%d/cache/index%d/level", cpu, i);
		level = number_read(l, path);
		if (level == ULONG_MAX)
			break;
		if (level > best) {
			best = level;
			best_index = i;
		}
	}
	if (best_index < 0)
		return 0;
	snprintf(path, sizeof(path), "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, best_index);
	have = list_read(l, path);
	if (have > 0 && cpus_test(&l->list, (__u32)cpu))
		group_place(l, TOPOLOGY_LLC);
	return have < 0 ? have : 0;
}

static int place_by_node(struct loader *l)
{
	struct cpus nodes;
	char path[96];
	int have;

	if (dir_numbers(l, "node", "node", &nodes))
		return 0;	/* a kernel without NUMA */
	for (int n = cpus_next(&nodes, 0); n >= 0; n = cpus_next(&nodes, n + 1)) {
		snprintf(path, sizeof(path), "node/node%d/cpulist", n);
		have = list_read(l, path);
		if (have < 0)
			return have;
		for (int i = have ? cpus_next(&l->list, 0) : -1; i >= 0 && (__u32)i < l->t->ncpus;
		     i = cpus_next(&l->list, i + 1)) {
			l->t->numa |= cpus_test(&l->online, (__u32)i);
			/* numa=fake= lists a CPU in several. */
			if (cpus_test(&l->online, (__u32)i) &&
			    l->t->cpu[i].id[TOPOLOGY_NODE] == TOPOLOGY_NONE)
				l->t->cpu[i].id[TOPOLOGY_NODE] = (__u32)n;
		}
	}
	return 0;
}

static int cpu_place(struct loader *l, int cpu)
{
	static const char *const core[2] = { "core_cpus_list", "thread_siblings_list" };
	static const char *const package[2] = { "package_cpus_list", "core_siblings_list" };
	const __u32 *id = l->t->cpu[cpu].id;
	int err = 0;

	if (id[TOPOLOGY_CORE] == TOPOLOGY_NONE)
		err = place_by_list(l, cpu, TOPOLOGY_CORE, core);
	if (!err && id[TOPOLOGY_LLC] == TOPOLOGY_NONE)
		err = place_by_cache(l, cpu);
	if (!err && !l->t->numa && id[TOPOLOGY_NODE] == TOPOLOGY_NONE)
		err = place_by_list(l, cpu, TOPOLOGY_NODE, package);
	if (id[TOPOLOGY_LLC] == TOPOLOGY_NONE)
		l->t->llc_unknown = true;
	return err;
}

static int cpus_alloc(struct topology *t, __u32 ncpus)
{
	struct topology_cpu *cpu = realloc(t->cpu, ncpus * sizeof(*cpu));

	if (!cpu)
		return -ENOMEM;
	/* Every id TOPOLOGY_NONE. */
	memset(cpu + t->ncpus, 0xff, (ncpus - t->ncpus) * sizeof(*cpu));
	t->cpu = cpu;
	t->ncpus = ncpus;
	return 0;
}

static int tree_read(struct loader *l)
{
	struct cpus present;
	char path[64];
	int err;

	err = dir_numbers(l, "cpu", "cpu", &present);
	if (err)
		return err;
	if (cpus_last(&present) < 0)
		return -ENOENT;
	err = cpus_alloc(l->t, (__u32)cpus_last(&present) + 1);
	if (err)
		return err;
	for (int i = cpus_next(&present, 0); i >= 0; i = cpus_next(&present, i + 1)) {
		snprintf(path, sizeof(path), "cpu/cpu%d/topology", i);
		if (!faccessat(l->root, path, F_OK, 0))
			l->online.bits[i / 64] |= 1ULL << (i % 64);
	}
	l->t->online = (__u32)cpus_count(&l->online);
	err = place_by_node(l);
	for (int i = cpus_next(&l->online, 0); !err && i >= 0; i = cpus_next(&l->online, i + 1))
		err = cpu_place(l, i);
	return err;
}

static int tree_load(struct topology *t, const char *root, struct cpus *online)
{
	struct loader *l;
	int err;

	memset(t, 0, sizeof(*t));
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->t = t;
	l->text = malloc(LIST_MAX);
	l->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->root < 0)
		err = -errno;
	else
		err = l->text ? tree_read(l) : -ENOMEM;
	if (!err)
		*online = l->online;
	if (l->root >= 0)
		close(l->root);
	free(l->text);
	free(l);
	if (err)
		topology_free(t);
	return err;
}

int topology_load(struct topology *t, const char *root)
{
	struct cpus online;

	return tree_load(t, root, &online);
}

/*
 * Keeps the offline CPUs of one level where they were. Ids are CPU numbers of online members, so
 * a group's id changes when that member goes: map[] leads from the old id to the new one, by any
 * member that is online now. A group without such a member keeps its id, which no new group can
 * have, since that CPU is offline.
 */
static void level_keep(struct topology *t, const struct topology *old, const struct cpus *online,
		       enum topology_level level, __u32 *map)
{
	bool numbered = level == TOPOLOGY_NODE && old->numa;	/* node numbers do not change */
	__u32 was;

	memset(map, 0xff, old->ncpus * sizeof(*map));
	for (__u32 i = 0; i < old->ncpus; i++) {
		was = old->cpu[i].id[level];
		if (!numbered && was != TOPOLOGY_NONE && cpus_test(online, i))
			map[was] = t->cpu[i].id[level];
	}
	for (__u32 i = 0; i < old->ncpus; i++) {
		was = old->cpu[i].id[level];
		if (was == TOPOLOGY_NONE || cpus_test(online, i))
			continue;
		t->cpu[i].id[level] = numbered || map[was] == TOPOLOGY_NONE ? was : map[was];
	}
}

int topology_update(struct topology *t, const char *root)
{
	struct topology now;
	struct cpus online;
	__u32 *map = NULL;
	int err;

	err = tree_load(&now, root, &online);
	if (err)
		return err;
	if (now.ncpus < t->ncpus)
		err = cpus_alloc(&now, t->ncpus);
	if (t->ncpus) {
		map = malloc(t->ncpus * sizeof(*map));
		err = map ? err : -ENOMEM;
	}
	if (err) {
		topology_free(&now);
		free(map);
		return err;
	}
	for (int level = 0; t->ncpus && level < TOPOLOGY_LEVELS; level++)
		level_keep(&now, t, &online, (enum topology_level)level, map);
	free(map);
	topology_free(t);
	*t = now;
	return 0;
}

void topology_free(struct topology *t)
{
	free(t->cpu);
	memset(t, 0, sizeof(*t));
}

enum distance topology_distance(const struct topology *t, __u32 a, __u32 b)
{
	static const enum distance shared[TOPOLOGY_LEVELS] = { DIST_SMT, DIST_LLC, DIST_NODE };
	const __u32 *x, *y;

	if (a == b)
		return DIST_SAME;
	if (a >= t->ncpus || b >= t->ncpus)
		return DIST_UNKNOWN;
	x = t->cpu[a].id;
	y = t->cpu[b].id;
	for (int i = 0; i < TOPOLOGY_LEVELS; i++) {
		if (x[i] == y[i] && x[i] != TOPOLOGY_NONE)
			return shared[i];
	}
	if (x[TOPOLOGY_NODE] == TOPOLOGY_NONE || y[TOPOLOGY_NODE] == TOPOLOGY_NONE)
		return DIST_UNKNOWN;
	return DIST_REMOTE;
}

static int group_order(const void *a, const void *b)
{
	const struct topology_group *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* One group a CPU to begin with; how many there are. */
static size_t groups_single(const struct topology *t, enum topology_level level, const __u64 *value,
			    size_t n, struct topology_group *g)
{
	size_t used = 0;
	__u32 id;

	for (size_t i = 0; i < n; i++) {
		id = i < t->ncpus ? t->cpu[i].id[level] : TOPOLOGY_NONE;
		if (id == TOPOLOGY_NONE && !value[i])
			continue;
		g[used++] = (struct topology_group){ .id = id, .cpus = 1, .sum = value[i] };
	}
	return used;
}

int topology_group(const struct topology *t, enum topology_level level, const __u64 *value,
		   size_t n, struct topology_group **out, size_t *nout)
{
	struct topology_group *g;
	size_t singles, used = 0;

	*out = NULL;
	*nout = 0;
	if (n > SIZE_MAX / sizeof(*g))
		return -ENOMEM;
	g = malloc(n ? n * sizeof(*g) : sizeof(*g));
	if (!g)
		return -ENOMEM;
	singles = groups_single(t, level, value, n, g);
	qsort(g, singles, sizeof(*g), group_order);
	for (size_t i = 0; i < singles; i++) {
		if (!used || g[used - 1].id != g[i].id) {
			g[used++] = g[i];
			continue;
		}
		g[used - 1].cpus++;
		if (__builtin_add_overflow(g[used - 1].sum, g[i].sum, &g[used - 1].sum))
			g[used - 1].sum = ~0ULL;
	}
	*out = g;
	*nout = used;
	return 0;
}
