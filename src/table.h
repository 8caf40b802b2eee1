/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - the files seen so far and their counters, gathered from the memory that BPF programs
 * write (fs_abi.h). Knows no BPF: it reads slots and spill entries where they are handed to it, so
 * that it is tested against a writer thread.
 *
 * Reading protocol. Places keep their key and only grow within a generation, and each event is in
 * exactly one place; so one pass over them, in any order, gives rows and totals that agree and that
 * never go back from pass to pass, whatever runs meanwhile. To make room the caller switches the
 * generation, waits until no program can reach the old tables, folds them in for good (final), and
 * clears them.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "fs_abi.h"

/* One file, inside the filter. */
struct file {
	struct fs_key key;
	__u64 inode;
	__u32 flags;		/* enum fs_file_flag */
	__u32 row_flags;	/* enum snap_row_flag, from its name and state */
	__u32 birth;		/* pass in which it appeared */
	__u32 touched;		/* pass in which a counter last grew */
	__u64 base[FS_WORDS];	/* from generations already drained */
	__u64 cur[FS_WORDS];	/* from the running generation, as of this pass */
	__u64 seen;		/* base + cur of the pass before, all words added: growth detector */
	__u64 grew;		/* by how much they grew in the last pass */
	char *path;		/* raw, owned; NULL: unknown */
};

struct table {
	struct file *files;	/* open addressing; key.dev | key.ino == 0: free */
	size_t size;		/* power of two */
	size_t used;
	size_t max;		/* beyond this, drained files least recently touched are forgotten */
	__u64 forgotten;	/* files dropped; their counts stay in the totals, as other */
	__u64 lost;		/* their events, where a file belongs to the whole window */
	__u32 forget_after;	/* passes after which an idle file may go; 0: only for want of room */
	size_t idle;		/* files idle for that long, as of the last pass */
	__u64 base[FS_SCOPES][FS_WORDS];	/* all that was drained */
	__u64 cur[FS_SCOPES][FS_WORDS];		/* all of the running generation, as of this pass */
	__u32 pass;
};

int table_init(struct table *t, size_t max_files);
void table_free(struct table *t);

/* Begins a pass: cur counters are zeroed, pass is raised. */
void table_begin(struct table *t);
/* Begins the same pass again: cur counters are zeroed. */
void table_rewind(struct table *t);

/* Adds the owned slots of n sets. final: to base, and they will be cleared by the caller. -ENOMEM. */
int table_add_sets(struct table *t, const struct fs_set *sets, size_t n, bool final);
/* Adds one spill entry. */
int table_add_spill(struct table *t, const struct fs_key *key, const struct fs_spill *s, bool final);

/* Ends a pass: marks what grew, forgets what is too much. */
void table_end(struct table *t);

/* Drops the files that have been idle for forget_after passes. Of use when all has been drained. */
void table_drop_idle(struct table *t);

/*
 * The file with this key (its scope is ignored: rows are those inside the filter), made when
 * create is true. NULL: absent, or no memory. Valid until the next call that may add.
 */
struct file *table_file(struct table *t, const struct fs_key *key, bool create);

/* Next file at or after *i, NULL at the end; for (i = 0; (f = table_next(t, &i)); i++). */
struct file *table_next(const struct table *t, size_t *i);

/*
 * Totals of this pass: all places added so far and what n CPUs counted outside of them; the sums
 * over the CPUs into *rest.
 */
void table_totals(const struct table *t, const struct fs_cpu *cpus, size_t n,
		  __u64 total[FS_SCOPES][FS_WORDS], struct fs_cpu *rest);

#endif
