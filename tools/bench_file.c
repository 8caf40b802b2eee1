/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_file.c - the files under test: made, dropped from the page cache, removed. Nothing here
 * reads file data, so nothing here is an access.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DROP_TRIES 20

int bench_error(const char *subject, const char *what, int err)
{
	fprintf(stderr, "folio-bench: %s: %s: %s\n", subject, what, strerror(-err));
	return err;
}

/* PATH, or PATH.ID where every worker has its own. */
int file_path(const struct bench_cfg *cfg, unsigned int id, char *path, size_t size)
{
	int n = cfg->private ? snprintf(path, size, "%s.%u", cfg->file, id) :
			       snprintf(path, size, "%s", cfg->file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/*
 * Writes data to [from, to) in pieces of chunk bytes. File systems size a folio after the write
 * that makes it, and the kernel maps large folios whole: the piece decides what is observed later.
 */
int file_fill(int fd, uint64_t from, uint64_t to, uint64_t chunk)
{
	unsigned char *buf = malloc(chunk);
	uint64_t i;
	ssize_t n;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	for (i = 0; i < chunk; i++)
		buf[i] = (unsigned char)(i * 31 + (i >> 8) + 1);
	while (!err && from < to) {
		n = pwrite(fd, buf, to - from < chunk ? to - from : chunk, (off_t)from);
		if (n <= 0)
			err = n ? -errno : -EIO;
		else
			from += (uint64_t)n;
	}
	free(buf);
	return err;
}

int file_make(const char *path, uint64_t size, uint64_t chunk, bool sync)
{
	int fd, err;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = file_fill(fd, 0, size, chunk);
	if (!err && sync && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static unsigned int files_count(const struct bench_cfg *cfg)
{
	return cfg->private ? (unsigned int)cfg->workers : 1;
}

int files_create(const struct bench_cfg *cfg)
{
	char path[PATH_MAX];
	unsigned int i;
	int err;

	for (i = 0; i < files_count(cfg); i++) {
		err = file_path(cfg, i, path, sizeof(path));
		if (!err)
			err = file_make(path, cfg->size, cfg->fill, true);
		if (err)
			return bench_error(cfg->file, "create", err);
	}
	return 0;
}

void files_remove(const struct bench_cfg *cfg)
{
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; i < files_count(cfg); i++) {
		if (!file_path(cfg, i, path, sizeof(path)) && unlink(path) && errno != ENOENT)
			bench_error(path, "unlink", -errno);
	}
}

/* Pages of the file in the page cache. Mapping without touching is no access. */
static int64_t resident(int fd, uint64_t size, unsigned int page_shift)
{
	uint64_t pages = expect_pages(0, size, page_shift), i;
	int64_t in = 0;
	unsigned char *vec;
	void *map;

	if (!pages)
		return 0;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	vec = malloc(pages);
	if (!vec || mincore(map, size, vec))
		in = vec ? -errno : -ENOMEM;
	for (i = 0; in >= 0 && i < pages; i++)
		in += vec[i] & 1;
	munmap(map, size);
	free(vec);
	return in;
}

/* Drops one file and proves it: a cold read that is not cold would be a false ground truth. */
static int drop(const char *path, unsigned int page_shift)
{
	struct stat st;
	int64_t left = 0;
	int fd, err = 0, i;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_error(path, "open", -errno);
	if (fsync(fd) || fstat(fd, &st)) {
		err = bench_error(path, "fsync", -errno);
		goto out;
	}
	for (i = 0; i < DROP_TRIES; i++) {
		err = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		left = err ? err : resident(fd, (uint64_t)st.st_size, page_shift);
		if (left <= 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	if (left < 0) {
		err = bench_error(path, "drop", (int)left);
	} else if (left) {
		fprintf(stderr, "folio-bench: %s: drop: %lld pages stay in the page cache\n", path,
			(long long)left);
		err = -EBUSY;
	}
out:
	close(fd);
	return err;
}

int files_drop(struct bench_cfg *cfg)
{
	char path[PATH_MAX];
	unsigned int i;
	int err;

	for (i = 0; i < files_count(cfg); i++) {
		err = file_path(cfg, i, path, sizeof(path));
		if (err)
			return bench_error(cfg->file, "path", err);
		err = drop(path, cfg->page_shift);
		if (err)
			return err;
	}
	return 0;
}

/* Compaction empties the per-CPU LRU batches first; nothing else of it is wanted. */
int lru_drain(void)
{
	static const char path[] = "/proc/sys/vm/compact_memory";
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_error(path, "open", -errno);
	if (write(fd, "1\n", 2) != 2)
		err = bench_error(path, "write", -errno);
	close(fd);
	return err;
}
