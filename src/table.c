// SPDX-License-Identifier: GPL-2.0-only
/* table.c - see table.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define TABLE_FIRST_SIZE 1024

static bool is_free(const struct file *f)
{
	return !f->key.ino && !f->key.dev;
}

static bool same_file(const struct fs_key *a, const struct fs_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen && a->subdev == b->subdev;
}

static size_t key_hash(const struct fs_key *k)
{
	__u64 h = k->ino ^ ((__u64)k->dev << 32) ^ ((__u64)k->gen << 17) ^ k->subdev;

	h *= 0x9e3779b97f4a7c15ULL;
	return h >> 20;
}

/* The file's place, or the free one where it belongs. There is always a free one. */
static struct file *find(struct file *files, size_t size, const struct fs_key *key)
{
	size_t i = key_hash(key) & (size - 1);

	while (!is_free(&files[i]) && !same_file(&files[i].key, key))
		i = (i + 1) & (size - 1);
	return &files[i];
}

int table_init(struct table *t, size_t max_files)
{
	memset(t, 0, sizeof(*t));
	t->files = calloc(TABLE_FIRST_SIZE, sizeof(*t->files));
	if (!t->files)
		return -ENOMEM;
	t->size = TABLE_FIRST_SIZE;
	t->max = max_files;
	return 0;
}

void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->size; i++)
		free(t->files[i].path);
	free(t->files);
	memset(t, 0, sizeof(*t));
}

/* Still in the tables of the running generation: forgetting it would count it twice. */
static bool is_live(const struct file *f)
{
	int i;

	for (i = 0; i < FS_WORDS; i++)
		if (f->cur[i])
			return true;
	return false;
}

static __u64 all_words(const struct file *f)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < FS_WORDS; i++)
		sum += f->base[i] + f->cur[i];
	return sum;
}

/* What a forgotten file takes from the rows; pages stand for the events that moved them. */
static __u64 all_events(const struct file *f)
{
	return f->base[FS_W_ACCESSES] + f->base[FS_W_MARKS] + f->base[FS_W_INSERTED] +
	       f->base[FS_W_REMOVED] + f->base[FS_W_WRITTEN];
}

/*
 * Moves all files to a table of the given size, but those last touched before oldest. One that
 * has grown since the last pass ended stays: touched does not know yet.
 */
static int rebuild(struct table *t, size_t size, __u32 oldest)
{
	struct file *files = calloc(size, sizeof(*files));
	size_t i;

	if (!files)
		return -ENOMEM;
	t->used = 0;
	for (i = 0; i < t->size; i++) {
		struct file *f = &t->files[i];

		if (is_free(f))
			continue;
		if (f->touched < oldest && !is_live(f) && all_words(f) == f->seen) {
			free(f->path);
			t->forgotten++;
			if (!t->forget_after)
				t->lost += all_events(f);
			continue;
		}
		*find(files, size, &f->key) = *f;
		t->used++;
	}
	free(t->files);
	t->files = files;
	t->size = size;
	return 0;
}

struct file *table_file(struct table *t, const struct fs_key *key, bool create)
{
	struct file *f;

	if (!key->ino && !key->dev)
		return NULL;
	f = find(t->files, t->size, key);
	if (!is_free(f))
		return f;
	if (!create)
		return NULL;
	if ((t->used + 1) * 4 > t->size * 3) {
		if (rebuild(t, t->size * 2, 0))
			return NULL;
		f = find(t->files, t->size, key);
	}
	f->key = *key;
	f->key.scope = FS_SCOPE_IN;
	f->birth = f->touched = t->pass;
	t->used++;
	return f;
}

struct file *table_next(const struct table *t, size_t *i)
{
	for (; *i < t->size; ++*i)
		if (!is_free(&t->files[*i]))
			return &t->files[*i];
	return NULL;
}

void table_begin(struct table *t)
{
	t->pass++;
	table_rewind(t);
}

void table_rewind(struct table *t)
{
	size_t i;

	for (i = 0; i < t->size; i++)
		memset(t->files[i].cur, 0, sizeof(t->files[i].cur));
	memset(t->cur, 0, sizeof(t->cur));
}

static int add(struct table *t, const struct fs_key *key, __u64 inode, __u32 flags, const __u64 *w,
	       bool final)
{
	__u64 *total = (final ? t->base : t->cur)[key->scope & 1], *to = NULL;
	struct file *f;
	int i;

	if (key->scope == FS_SCOPE_IN) {
		f = table_file(t, key, true);
		if (!f)
			return -ENOMEM;
		to = final ? f->base : f->cur;
		f->inode = inode;
		f->flags |= flags;
	}
	for (i = 0; i < FS_WORDS; i++) {
		__u64 n = __atomic_load_n(&w[i], __ATOMIC_RELAXED);

		total[i] += n;
		if (to)
			to[i] += n;
	}
	return 0;
}

int table_add_sets(struct table *t, const struct fs_set *sets, size_t n, bool final)
{
	size_t i, way;
	int err = 0;

	for (i = 0; i < n; i++) {
		for (way = 0; way < FS_WAYS; way++) {
			const struct fs_slot *s = &sets[i].way[way];
			__u32 state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);

			/* Ways fill in order, and only a draining frees them. */
			if (state == FS_SLOT_FREE)
				break;
			if (state != FS_SLOT_OWNED)
				continue;
			err = add(t, &s->key, s->inode, s->flags, s->w, final);
			if (err)
				return err;
		}
	}
	return 0;
}

int table_add_spill(struct table *t, const struct fs_key *key, const struct fs_spill *s, bool final)
{
	return add(t, key, s->inode, s->flags, s->w, final);
}

static int compare_u32(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* Keeps about three quarters of the limit: those that grew most recently. */
static void forget(struct table *t)
{
	size_t i, n = 0, keep = t->max - t->max / 4;
	__u32 *passes, oldest;
	struct file *f;

	passes = malloc(t->used * sizeof(*passes));
	if (!passes)
		return;
	for (i = 0; (f = table_next(t, &i)); i++)
		passes[n++] = f->touched;
	qsort(passes, n, sizeof(*passes), compare_u32);
	oldest = passes[n - keep];
	/* All of one age: nothing says which to drop, so the newest pass stays whole. */
	if (oldest < t->pass)
		oldest++;
	free(passes);
	rebuild(t, t->size, oldest);
}

void table_end(struct table *t)
{
	struct file *f;
	size_t i;

	t->idle = 0;
	for (i = 0; (f = table_next(t, &i)); i++) {
		__u64 sum = all_words(f);

		f->grew = sum - f->seen;
		f->seen = sum;
		if (f->grew)
			f->touched = t->pass;
		t->idle += t->forget_after && t->pass - f->touched > t->forget_after;
	}
	if (t->max && t->used > t->max)
		forget(t);
}

void table_drop_idle(struct table *t)
{
	if (t->forget_after && t->pass > t->forget_after)
		rebuild(t, t->size, t->pass - t->forget_after);
}

void table_totals(const struct table *t, const struct fs_cpu *cpus, size_t n,
		  __u64 total[FS_SCOPES][FS_WORDS], struct fs_cpu *rest)
{
	size_t i, scope, w;

	memset(rest, 0, sizeof(*rest));
	for (i = 0; i < n; i++) {
		for (scope = 0; scope < FS_SCOPES; scope++)
			for (w = 0; w < FS_WORDS; w++)
				rest->other[scope][w] += __atomic_load_n(&cpus[i].other[scope][w],
									 __ATOMIC_RELAXED);
		rest->map_full += cpus[i].map_full;
		rest->names_lost += cpus[i].names_lost;
		rest->witness_lost += cpus[i].witness_lost;
		rest->spilled += cpus[i].spilled;
	}
	for (scope = 0; scope < FS_SCOPES; scope++)
		for (w = 0; w < FS_WORDS; w++)
			total[scope][w] = t->base[scope][w] + t->cur[scope][w] +
					  rest->other[scope][w];
}
