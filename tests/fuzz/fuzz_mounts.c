/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_mounts.c - a mount table and a ring record. Input: mountinfo text up to the first 0 byte,
 * then the record.
 */
/* units: mounts.c parse.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mounts.h"
#include "snapshot.h"
#include "standalone.h"

static char *bdev_name(__u32 dev)
{
	return dev & 1 ? strdup("/dev/x") : NULL;
}

static void record(const struct mounts *m, const uint8_t *data, size_t size)
{
	/* In memory of its own: aligned as in the ring, and no longer than the record. */
	struct fs_name *n = malloc(size + 1);
	__u32 flags = ROW_TMPFS;
	char *name;

	if (!n)
		return;
	memcpy(n, data, size);
	name = name_assemble(n, size, m, bdev_name, &flags);
	if (!(flags & ROW_TMPFS) || flags & ~(__u32)(ROW_TMPFS | ROW_DELETED))
		abort();
	if (name && !*name)
		abort();
	free(name);
	free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t text = strnlen((const char *)data, size);
	struct mounts m;
	char *path;

	if (mounts_parse(&m, (const char *)data, text))
		return 0;
	for (size_t i = 0; i < m.n && i < 8; i++) {
		path = mounts_path(&m, m.v[i].dev, m.v[i].root);
		if (path && path[0] != '/')
			abort();
		free(path);
		free(mounts_path(&m, m.v[i].dev, "/a/b"));
		if (!mounts_fstype(&m, m.v[i].dev))
			abort();
	}
	if (text < size)
		record(&m, data + text + 1, size - text - 1);
	mounts_free(&m);
	return 0;
}
