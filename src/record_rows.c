/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_rows.c - the rows of snapshots as changes from one to the next. Both sides keep the rows
 * of the last block in the order of their keys and apply the same block to them, so the writer
 * always knows what the reader has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record_block.h"

#define STATE_MAX (512UL << 20)		/* rows with their paths in memory */

static int compare_u64(__u64 a, __u64 b)
{
	return a < b ? -1 : a > b;
}

static int key_compare(const struct fs_key *a, const struct fs_key *b)
{
	int c;

	c = compare_u64(a->dev, b->dev);
	c = c ? c : compare_u64(a->ino, b->ino);
	c = c ? c : compare_u64(a->gen, b->gen);
	c = c ? c : compare_u64(a->subdev, b->subdev);
	return c ? c : compare_u64(a->scope, b->scope);
}

static int by_key(const void *a, const void *b)
{
	const struct snap_row *const *x = a, *const *y = b;

	return key_compare(&(*x)->key, &(*y)->key);
}

static bool same_path(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_row(const struct snap_row *a, const struct snap_row *b)
{
	return a->flags == b->flags && a->birth == b->birth && !memcmp(a->v, b->v, sizeof(a->v)) &&
	       a->cached_pages == b->cached_pages && a->size_bytes == b->size_bytes &&
	       same_path(a->path, b->path);
}

static size_t row_bytes(const struct snap_row *row)
{
	return sizeof(*row) + (row->path ? strlen(row->path) + 1 : 0);
}

/* The rows of s in the order of their keys, to be freed. */
static int sort_rows(const struct snapshot *s, const struct snap_row ***out)
{
	const struct snap_row **v;
	size_t bytes = 0;

	v = reallocarray(NULL, s->nrows + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->nrows; i++) {
		v[i] = &s->rows[i];
		bytes += row_bytes(v[i]);
	}
	if (bytes > STATE_MAX) {
		free(v);
		return -E2BIG;
	}
	qsort(v, s->nrows, sizeof(*v), by_key);
	for (size_t i = 1; i < s->nrows; i++) {
		if (!key_compare(&v[i - 1]->key, &v[i]->key)) {
			free(v);
			return -EINVAL;
		}
	}
	*out = v;
	return 0;
}

/* Adds row to the changes; old: as it was, NULL: it is new. */
static int add_delta(struct block *b, const struct snap_row *row, const struct snap_row *old)
{
	struct row_delta *d = &b->delta[b->ndelta];

	if (old && same_row(row, old))
		return 0;
	d->row = *row;
	d->row.path = NULL;
	if (!row->path) {
		d->path_kind = PATH_NONE;
	} else if (old && same_path(row->path, old->path)) {
		d->path_kind = PATH_SAME;
	} else {
		d->path_kind = PATH_GIVEN;
		d->row.path = strdup(row->path);
		if (!d->row.path)
			return -ENOMEM;
	}
	b->ndelta++;
	return 0;
}

int rows_diff(struct block *b, const struct rows *base, const struct snapshot *s)
{
	const struct snap_row **now, *old;
	size_t i = 0, j = 0;
	int err, c;

	err = sort_rows(s, &now);
	if (err)
		return err;
	b->delta = reallocarray(NULL, s->nrows + 1, sizeof(*b->delta));
	b->gone = reallocarray(NULL, base->n + 1, sizeof(*b->gone));
	if (!b->delta || !b->gone)
		err = -ENOMEM;
	while (!err && (i < base->n || j < s->nrows)) {
		old = i < base->n ? &base->v[i] : NULL;
		if (!old)
			c = 1;
		else
			c = j < s->nrows ? key_compare(&old->key, &now[j]->key) : -1;
		if (c < 0)
			b->gone[b->ngone++] = old->key;
		else
			err = add_delta(b, now[j++], c ? NULL : old);
		i += c <= 0;
	}
	free(now);
	return err;
}

struct snap_row *rows_room(const struct rows *base, const struct block *b)
{
	size_t n = base->n + b->ndelta;

	/* Twice: every row of a full state may be replaced by another at once. */
	if (n > 2 * STATE_MAX / sizeof(*base->v))
		return NULL;
	return calloc(n + 1, sizeof(*base->v));
}

/* Moves the row into to; only one of them owns the path afterwards. */
static void move_row(struct snap_row *to, struct snap_row *from)
{
	*to = *from;
	from->path = NULL;
}

static bool ascending(const struct row_delta *d, size_t i)
{
	return !i || key_compare(&d[i - 1].row.key, &d[i].row.key) < 0;
}

/*
 * Merges base and the changes into next. Returns how many rows that makes; -1: they do not fit
 * together. Removed rows must exist, each change must be in its place, and a path can only stay
 * the same where there is one.
 */
static ssize_t merge(struct rows *base, struct block *b, struct snap_row *next)
{
	size_t i = 0, d = 0, g = 0, n = 0;
	struct snap_row *old, *row;
	int c;

	while (i < base->n || d < b->ndelta) {
		old = i < base->n ? &base->v[i] : NULL;
		row = d < b->ndelta ? &b->delta[d].row : NULL;
		c = !old ? 1 : !row ? -1 : key_compare(&old->key, &row->key);
		if (c < 0 && g < b->ngone && !key_compare(&b->gone[g], &old->key)) {
			g++;
			i++;
			continue;
		}
		if (c < 0) {
			move_row(&next[n++], old);
			i++;
			continue;
		}
		if (!ascending(b->delta, d) || (b->delta[d].path_kind == PATH_SAME &&
						(c || !old->path)))
			return -1;
		if (b->delta[d++].path_kind == PATH_SAME) {
			row->path = old->path;
			old->path = NULL;
		}
		move_row(&next[n++], row);
		i += !c;
	}
	return g == b->ngone ? (ssize_t)n : -1;
}

int rows_apply(struct rows *base, struct block *b, struct snap_row *next)
{
	struct rows old = *base;
	size_t bytes = 0;
	ssize_t n;

	n = merge(base, b, next);
	base->v = next;
	/* After a failure some rows were moved: next is zeroed behind them. */
	base->n = n < 0 ? old.n + b->ndelta : (size_t)n;
	rows_free(&old);
	for (size_t i = 0; i < base->n; i++)
		bytes += row_bytes(&base->v[i]);
	return n < 0 || bytes > STATE_MAX ? -EBADMSG : 0;
}

void rows_free(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].path);
	free(r->v);
	memset(r, 0, sizeof(*r));
}
