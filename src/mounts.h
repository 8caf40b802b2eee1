/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mounts.h - where a file of a super block is seen on this host, and the names that come from it.
 * Device numbers are the kernel's: major << 20 | minor of super_block.s_dev. Paths are raw bytes.
 */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <linux/types.h>
#include <stddef.h>

#include "fs_abi.h"

struct mount {
	__u32 id, parent;
	__u32 dev;
	const char *root;	/* directory (or file) of the super block that is mounted */
	const char *point;	/* where */
	const char *fstype;
};

/* The mount table of one moment. Owns its strings. Zeroed is an empty table. */
struct mounts {
	struct mount *v;	/* as in the file: a mount stands behind the one it covers */
	size_t n;
	__u32 *by_parent;	/* indexes into v, sorted by parent */
	char *text;
	size_t malformed;	/* lines left out */
};

/*
 * Parses the text of /proc/PID/mountinfo. Lines that are none are left out and counted.
 * 0 or -ENOMEM, with an empty table.
 */
int mounts_parse(struct mounts *m, const char *text, size_t len);

/* The same from /proc/self/mountinfo. -errno. */
int mounts_load(struct mounts *m);
void mounts_free(struct mounts *m);

/*
 * The path on this host of rel ("/a/b", from the super block's root) on dev, to be freed. Of the
 * mounts that show the file and are not covered by others: the one with the shortest root
 * (the whole file system before a bind mount of a part), then the shortest mount point, then the
 * latest. NULL: no mount shows it (or no memory).
 */
char *mounts_path(const struct mounts *m, __u32 dev, const char *rel);

/* "ext4"; NULL: dev is not mounted. */
const char *mounts_fstype(const struct mounts *m, __u32 dev);

/* "/dev/vda" from sysfs, to be freed; NULL: unknown. */
char *mounts_bdev_name(__u32 dev);

/*
 * The name of a ring record of reclen bytes (not trusted), to be freed:
 *     /mnt/a/b		the file is seen there
 *     /mnt/a/b (deleted)	it was; ROW_DELETED tells it from a name that ends so
 *     [8:1]/a/b		no mount shows it
 *     [8:1]/.../b		the record holds the end of its path only
 *     memfd:x (deleted), x	on a mount of the kernel's own
 *     /dev/vda			the cache of a block device (/dev/block/8:1 when it has no name)
 *     [8:1 inode 1234]	no name at all
 * bdev_name: as mounts_bdev_name(), which NULL stands for. Sets ROW_DELETED in *row_flags and
 * leaves the other bits. NULL: no such record, or no memory.
 */
char *name_assemble(const struct fs_name *n, size_t reclen, const struct mounts *m,
		    char *(*bdev_name)(__u32 dev), __u32 *row_flags);

#endif
