// SPDX-License-Identifier: GPL-2.0-only
/*
 * canary.c - proves that attached access hooks really fire (tracer_canary() in tracer.h): a
 * function that is livepatched, or called by another path on this kernel, attaches and is silent.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tracer.h"
#include "tree.h"
#include "probes.skel.h"

/* A file of ours that is not on tmpfs or overlayfs (whose cache belongs to another inode). */
static int open_suitable(const char *path)
{
	struct statfs fs;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return fd;
	close(fd);
	return -1;
}

/* Our executable, else one of the libraries it maps. -1: all are unsuitable. */
static int open_canary(void)
{
	int fd = open_suitable("/proc/self/exe");
	char line[4352], *path;
	FILE *maps;

	if (fd >= 0)
		return fd;
	maps = fopen("/proc/self/maps", "re");
	while (maps && fd < 0 && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		path = strchr(line, '/');
		if (path)
			fd = open_suitable(path);
	}
	if (maps)
		fclose(maps);
	return fd;
}

/* The words of the file on all CPUs, as programs have them now. */
static void peek(const struct tracer *t, const struct fs_set *slots, __u32 dev, __u64 ino,
		 __u64 w[FS_WORDS])
{
	size_t n = (size_t)t->nr_cpus << t->tables.set_bits, i, way, k;

	memset(w, 0, sizeof(__u64) * FS_WORDS);
	for (i = 0; i < n; i++) {
		for (way = 0; way < FS_WAYS; way++) {
			const struct fs_slot *s = &slots[i].way[way];

			if (s->state != FS_SLOT_OWNED || s->key.ino != ino ||
			    (s->key.dev != dev && s->key.subdev != dev))
				continue;
			for (k = 0; k < FS_WORDS; k++)
				w[k] += s->w[k];
		}
	}
}

static void silent(struct tracer_signal *s)
{
	if (!s->chosen || s->state == HOOK_UNAVAILABLE)
		return;
	s->state = HOOK_DEGRADED;
	snprintf(s->reason, sizeof(s->reason),
		 "attached, but silent when folioscope used a file of its own; figures may be far too low");
}

static void unverified(struct tracer_signal *s, const char *why)
{
	if (!s->chosen || s->state != HOOK_ATTACHED)
		return;
	s->state = HOOK_UNVERIFIED;
	snprintf(s->reason, sizeof(s->reason), "%s", why);
}

static void send_canary(struct tracer *t, const struct fs_set *slots, int fd, const struct stat *st)
{
	__u32 dev = major(st->st_dev) << 20 | minor(st->st_dev);
	__u64 before[FS_WORDS], read_w[FS_WORDS], mapped[FS_WORDS];
	volatile char byte;
	char *page;

	peek(t, slots, dev, st->st_ino, before);
	if (pread(fd, (char *)&byte, 1, 0) != 1)
		return;
	peek(t, slots, dev, st->st_ino, read_w);
	if (read_w[FS_W_ACCESSES] == before[FS_W_ACCESSES])
		silent(&t->sig[SIG_ACCESS_READ]);

	page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return;
	byte = *(volatile char *)page;
	(void)byte;
	munmap(page, 1);
	peek(t, slots, dev, st->st_ino, mapped);
	if (mapped[FS_W_ACCESSES] == read_w[FS_W_ACCESSES])
		silent(&t->sig[SIG_ACCESS_FAULT]);
	if (mapped[FS_W_MARKS] == before[FS_W_MARKS])
		silent(&t->sig[SIG_ACCESS_MARKS]);
}

void tracer_canary(struct tracer *t)
{
	size_t bytes = ((size_t)2 * t->nr_cpus << t->tables.set_bits) * sizeof(struct fs_set);
	__u32 filter = t->skel->rodata->cfg_filter;
	const char *why = "no file to try the hook on: all of folioscope's own are on tmpfs or overlayfs";
	struct fs_set *slots = NULL;
	struct stat st;
	int fd = -1;

	if (!tracer_family_on(t, FAM_ACCESS))
		return;
	if (filter && !t->skel->rodata->cfg_outside && (filter & ~FS_FILTER_TREE))
		why = "the filter leaves folioscope itself out, so the hook could not be tried";
	else
		fd = open_canary();
	if (fd >= 0 && !fstat(fd, &st)) {
		slots = mmap(NULL, bytes, PROT_READ, MAP_SHARED,
			     bpf_map__fd(t->skel->maps.access_slots), 0);
		if (slots == MAP_FAILED)
			slots = NULL;
	}
	if (slots) {
		tree_add_one(t->skel, getpid());
		send_canary(t, slots, fd, &st);
		tree_remove_one(t->skel, getpid());
		munmap(slots, bytes);
	} else {
		unverified(&t->sig[SIG_ACCESS_READ], why);
		unverified(&t->sig[SIG_ACCESS_FAULT], why);
		unverified(&t->sig[SIG_ACCESS_MARKS], why);
	}
	if (fd >= 0)
		close(fd);
}
