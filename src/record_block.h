/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_block.h - the payload of a snapshot block, and how blocks become snapshots again.
 * Used by record.c alone. docs/record-format.md has every field.
 */
#ifndef RECORD_BLOCK_H
#define RECORD_BLOCK_H

#include "snapshot.h"

#define BLOCK_MAX (256U << 20)		/* stored or raw bytes */

enum path_kind {
	PATH_NONE = 0,
	PATH_SAME = 1,		/* as the row had before */
	PATH_GIVEN = 2,
	PATH_KINDS,
};

struct row_delta {
	struct snap_row row;	/* owns its path, which is set for PATH_GIVEN only */
	__u8 path_kind;
};

struct block {
	__u32 index;		/* 0, 1, 2, ... in this file: a block that is missing is noticed */
	struct snapshot s;	/* without rows */
	struct row_delta *delta;	/* new or changed, ascending keys */
	size_t ndelta;
	struct fs_key *gone;	/* ascending */
	size_t ngone;
};

/* All rows as of the last block, ascending keys. Zeroed is empty. */
struct rows {
	struct snap_row *v;
	size_t n;
};

/* A buffer that is kept from block to block. */
struct payload {
	__u8 *p;
	size_t len, cap;
};

/* Payload bytes of b. -E2BIG, -EINVAL (out of order), -ENOMEM. */
int block_encode(struct payload *out, const struct block *b);

/*
 * Fills *b from raw bytes, which may be anything. -EBADMSG with the section at fault in *what;
 * -ENOMEM. To be freed in any case.
 */
int block_decode(struct block *b, const __u8 *raw, size_t len, const char **what);
/* Also frees b->s. */
void block_free(struct block *b);

/*
 * What leads from base to the rows of s: fills b->delta and b->gone. -EINVAL: two rows of one key;
 * -E2BIG: more than STATE_MAX; -ENOMEM.
 */
int rows_diff(struct block *b, const struct rows *base, const struct snapshot *s);

/*
 * Applies b to base, using up the paths in b; next has room for base->n + b->ndelta rows and
 * belongs to base afterwards. -EBADMSG: b does not fit base, which is then of no more use.
 */
int rows_apply(struct rows *base, struct block *b, struct snap_row *next);
/* Room for rows_apply(). NULL: no memory, or more than a record holds. */
struct snap_row *rows_room(const struct rows *base, const struct block *b);
void rows_free(struct rows *r);

#endif
