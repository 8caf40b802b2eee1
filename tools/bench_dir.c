/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_dir.c - workloads over many files of a directory: made before the phase, each then read
 * once a round. Hostile names are what a terminal, a JSON parser and a scraper must survive.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const evil_names[] = {
	"\033[31mred\033[0m",
	"\033]0;title\007",
	"\033[2J\033[H",
	"new\nline",
	"return\rover",
	"tab\tstop",
	"bell\007 backspace\b delete\177",
	"double\"quote",
	"single'quote",
	"back\\slash\\",
	"c1-\x9b" "31m-byte",		/* a control sequence introducer in one byte */
	"c1-\xc2\x9b" "31m-utf8",	/* the same as U+009B */
	"rtl-\xe2\x80\xae" "cod.exe",	/* U+202E: what follows is shown backwards */
	"isolate-\xe2\x81\xa6" "x",
	"bad-\xff\xc0\x80",		/* never valid; overlong NUL */
	"cut-\xe2\x80",			/* a character without its end */
	"surrogate-\xed\xa0\x80",
	"beyond-\xf4\x90\x80\x80",	/* above U+10FFFF */
	"line-separator-\xe2\x80\xa8" "x",
	"zero-width-\xe2\x80\x8b-\xef\xbb\xbf",
	"combining-a\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
	"wide-\xe6\x97\xa5\xe6\x9c\xac",
	"-leading-dash",
	"--help",
	" ",
	" spaces ",
	"%s%n%d",
	"$(id)`id`;id|id&",
	"<script>alert(1)<",
	"&lt;b&gt;",
	"label\"} 1\n# HELP x",
	"gone (deleted)",
	"\\x1b[31m",
	"{}[],:",
	"*?",
	"",				/* 255 bytes, see name_of */
};

#define NAME_BYTES 255
#define FILE_BYTES 4096

static unsigned int names_count(const struct bench_cfg *cfg)
{
	return (unsigned int)cfg->files;
}

/* Name of file i; the longest name ends in the middle of a character if it is cut anywhere. */
static void name_of(const struct bench_cfg *cfg, unsigned int i, char name[NAME_BYTES + 1])
{
	if (cfg->wl->need & HOSTILE_NAMES) {
		if (*evil_names[i]) {
			strcpy(name, evil_names[i]);
			return;
		}
		for (i = 0; i < NAME_BYTES - 1; i += 2)
			memcpy(name + i, "\xc3\xa9", 2);
		name[i++] = 'x';
		name[i] = '\0';
		return;
	}
	snprintf(name, NAME_BYTES + 1, "f%07u", i);
}

static int dir_path(const struct bench_cfg *cfg, unsigned int i, char *path, size_t size)
{
	char name[NAME_BYTES + 1];
	int n;

	name_of(cfg, i, name);
	n = snprintf(path, size, "%s/%s", cfg->dir, name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Before every phase, so that all phases read files of the same age. */
static int dir_prepare(struct bench_cfg *cfg)
{
	char path[PATH_MAX];
	unsigned int i;
	int err, fd;

	if (mkdir(cfg->dir, 0755) && errno != EEXIST)
		return bench_error(cfg->dir, "mkdir", -errno);
	for (i = 0; i < names_count(cfg); i++) {
		err = dir_path(cfg, i, path, sizeof(path));
		if (!err)
			err = file_make(path, cfg->size ? cfg->size : FILE_BYTES, cfg->fill, false);
		if (err)
			return bench_error(cfg->dir, "create a file", err);
	}
	fd = open(cfg->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bench_error(cfg->dir, "open", -errno);
	err = syncfs(fd) ? bench_error(cfg->dir, "syncfs", -errno) : 0;
	close(fd);
	return err;
}

static int evil_prepare(struct bench_cfg *cfg)
{
	cfg->files = ARRAY_SIZE(evil_names);
	return dir_prepare(cfg);
}

/* The files are dealt to the workers in turn. */
static int dir_open(struct worker *w)
{
	unsigned int n = names_count(w->cfg), workers = (unsigned int)w->cfg->workers;

	w->round = n > w->id ? (n - w->id + workers - 1) / workers : 0;
	return 0;
}

static int64_t dir_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	ssize_t n;
	int err;

	if (!w->round)
		return worker_fail(w, "no file left for this worker", -ENODATA);
	err = dir_path(cfg, (unsigned int)(w->step % w->round * cfg->workers) + w->id, w->path,
		       sizeof(w->path));
	if (err)
		return err;
	w->fd = open(w->path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0)
		return worker_fail(w, "open", -errno);
	n = pread(w->fd, w->buf, cfg->bs, (off_t)cfg->offset);
	if (n < 0)
		return worker_fail(w, "pread", -errno);
	worker_count(w, cfg->offset, (uint64_t)n);
	close(w->fd);
	w->fd = -1;
	return 1;
}

/* The directory too, when nothing else is in it. */
static void dir_remove(const struct bench_cfg *cfg)
{
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; i < names_count(cfg); i++) {
		if (!dir_path(cfg, i, path, sizeof(path)) && unlink(path) && errno != ENOENT)
			bench_error(cfg->dir, "unlink", -errno);
	}
	if (rmdir(cfg->dir) && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
		bench_error(cfg->dir, "rmdir", -errno);
}

const struct workload dir_workloads[] = {
	{ "many-files", "a round reads --bs bytes (4K) of each of --files files of --size (4K)",
	  NEED_DIR | USES_SIZE, 4096, .prepare = dir_prepare, .open = dir_open, .op = dir_op,
	  .remove = dir_remove },
	{ "evil-names", "many-files, with names made to hurt whoever shows them",
	  NEED_DIR | USES_SIZE | HOSTILE_NAMES, 4096, .prepare = evil_prepare, .open = dir_open,
	  .op = dir_op, .remove = dir_remove },
	{ .name = NULL },
};
