// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_names.c - which row a file is, and what it is called: mounts, links, deleted files, inodes
 * used again, file systems whose device numbers differ from stat's, and names made to hurt.
 */
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define EVIL_NAMES 36	/* of folio-bench evil-names */

static bool is_deleted(const json_t *row)
{
	return json_is_true(report_get(row, "deleted"));
}

/* Where nothing sees tmpfs without being asked. */
static const char *tmpfs_option(void)
{
	return kernel_is("6.18") ? "--tmpfs-syscalls" : "";
}

static void make_file(const char *path)
{
	run_status(0, "bench pread --file %s --create --size 64K", path);
}

/* ---- the same name, the same file ---- */

static void same_name(void)
{
	char *a = scratch("a/data.db"), *b = scratch("b/data.db"), *bench = getenv("FOLIO_BENCH");
	struct report *r;

	make_dir(scratch("a"));
	make_dir(scratch("b"));
	make_file(a);
	make_file(b);
	r = observe("", "sh -c '%s pread --file %s --count 10; %s pread --file %s --count 20'", bench,
		    a, bench, b);
	expect_count(r, row_of(r, a), "accesses", 10);
	expect_count(r, row_of(r, b), "accesses", 20);
}

static void hard_links(void)
{
	char *a = scratch("a"), *b = scratch("b"), *bench = getenv("FOLIO_BENCH");
	struct report *r;
	json_t *row;

	make_file(a);
	CHECK(!link(a, b), "link");
	r = observe("", "sh -c '%s pread --file %s --count 10; %s pread --file %s --count 20'", bench,
		    a, bench, b);
	row = row_stat(r, a);
	CHECK(row, "no row joins with stat");
	expect_count(r, row, "accesses", 30);
	CHECK(row == row_find(r, a) || row == row_find(r, b), "path %s",
	      json_string_value(report_get(row, "path")));
	CHECK(!is_deleted(row), "deleted");
}

/* One of two names goes: the other is left, so the file is not deleted. */
static void hard_link_removed(void)
{
	char *a = scratch("a"), *b = scratch("b");
	struct report *r;
	json_t *row;

	make_file(a);
	CHECK(!link(a, b), "link");
	r = observe("", "sh -c '%s pread --file %s --count 10 && rm %s'", getenv("FOLIO_BENCH"), a, a);
	row = row_stat(r, b);
	CHECK(row, "no row joins with stat");
	expect_count(r, row, "accesses", 10);
	CHECK(!is_deleted(row), "deleted, though %s is left", b);
}

/* The inode number is used again at once; the generation tells the files apart. */
static void recreated(void)
{
	char *file = scratch("file");
	struct report *r = observe("", "bench churn --file %s --count 5", file);
	json_t *row, *gens = json_object();
	unsigned int found = 0;
	const char *path;
	size_t i;

	json_array_foreach(report_get(r->root, "files"), i, row) {
		path = json_string_value(report_get(row, "path"));
		if (!path || strncmp(path, file, strlen(file)))
			continue;
		found++;
		CHECK(row_int(row, "accesses") == 1, "%s: accesses %lld", path, row_int(row, "accesses"));
		CHECK(row_int(row, "inserted_pages") == 1, "%s: inserted_pages %lld", path,
		      row_int(row, "inserted_pages"));
		CHECK(is_deleted(row), "%s: not deleted", path);
		json_object_set_new(gens, text("%lld.%lld", row_int(row, "ino"),
					       row_int(row, "generation")), json_true());
	}
	CHECK(found == 5, "%u rows of 5 files", found);
	CHECK(json_object_size(gens) == 5, "%zu different inodes and generations of 5",
	      json_object_size(gens));
}

/* ---- files without a name ---- */

/* Opened, deleted, and read through the descriptor; held open until the end. */
static void deleted_open(void)
{
	char *file = scratch("file");
	struct report *r;
	struct stat st;
	json_t *row, *found = NULL;
	size_t i;

	make_file(file);
	CHECK(!stat(file, &st), "stat");
	r = observe("", "sh -c 'exec 3<%s; rm %s; %s pread --file /proc/self/fd/3 --count 10; "
		    "sleep 0.1'", file, file, getenv("FOLIO_BENCH"));
	json_array_foreach(report_get(r->root, "files"), i, row)
		if (row_int(row, "ino") == (long long)st.st_ino && row_int(row, "accesses") == 10)
			found = row;
	CHECK(found, "no row of the deleted file");
	CHECK(is_deleted(found), "%s: not deleted", json_string_value(report_get(found, "path")));
	CHECK(strstr(json_string_value(report_get(found, "path")), file), "path %s",
	      json_string_value(report_get(found, "path")));
}

/* Read under its name, then deleted, and its inode is gone at the end. */
static void deleted_gone(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;

	make_file(file);
	r = observe("", "bench pread --file %s --count 10 --unlink", file);
	row = row_find(r, file) ?: row_find(r, text("%s (deleted)", file));
	CHECK(row, "no row of the deleted file");
	expect_count(r, row, "accesses", 10);
	CHECK(is_deleted(row), "%s: not deleted", file);
}

/* A name that says so itself is no deleted file. */
static void not_deleted(void)
{
	char *file = scratch("file (deleted)");
	struct report *r;
	json_t *row;

	make_file(scratch("file"));
	CHECK(!rename(scratch("file"), file), "rename");
	r = observe("", "bench pread --file '%s' --count 10", file);
	row = row_of(r, file);
	expect_count(r, row, "accesses", 10);
	CHECK(!is_deleted(row), "deleted");
}

/* memfd_create(2) is in no shell: the test program itself is the workload. */
static int memfd_reads(void)
{
	int fd = memfd_create("folioscope-memfd", 0), i;
	char c[16] = "x";

	if (fd < 0 || ftruncate(fd, 65536) || pwrite(fd, c, sizeof(c), 0) != sizeof(c))
		return 1;
	for (i = 0; i < 10; i++)
		if (pread(fd, c, sizeof(c), 0) != sizeof(c))
			return 1;
	return 0;
}

static void memfd(void)
{
	struct report *r = observe(tmpfs_option(), "%s --memfd", text("/proc/%d/exe", getpid()));
	json_t *row, *found = NULL;
	const char *path;
	size_t i;

	need_hook(r, "access.tmpfs");
	json_array_foreach(report_get(r->root, "files"), i, row) {
		path = json_string_value(report_get(row, "path"));
		if (path && strstr(path, "memfd:folioscope-memfd"))
			found = row;
	}
	CHECK(found, "no row of the memfd");
	expect_count(r, found, "accesses", 10);
	CHECK(is_deleted(found), "not deleted");
}

/* ---- mounts ---- */

/* ext4, on it a tmpfs, in that a bind mount of an ext4 directory. */
static void across_mounts(void)
{
	char *bench = getenv("FOLIO_BENCH"), *on_tmpfs = scratch("t/file");
	char *bound = scratch("t/bound/sub/file"), *plain = scratch("src/sub/file");
	struct report *r;
	const char *path;
	json_t *row;

	own_mounts();
	make_dir(scratch("src"));
	make_dir(scratch("src/sub"));
	make_dir(scratch("t"));
	make_file(plain);
	CHECK(!mount("folioscope", scratch("t"), "tmpfs", 0, "size=4m"), "mount tmpfs");
	make_dir(scratch("t/bound"));
	CHECK(!mount(scratch("src"), scratch("t/bound"), NULL, MS_BIND, NULL), "bind mount");
	make_file(on_tmpfs);
	r = observe(tmpfs_option(), "sh -c '%s pread --file %s --count 10; "
		    "%s pread --file %s --count 20; %s pread --file %s --count 5'", bench, on_tmpfs,
		    bench, bound, bench, plain);
	need_hook(r, "access.tmpfs");
	expect_count(r, row_of(r, on_tmpfs), "accesses", 10);
	row = row_stat(r, bound);
	CHECK(row, "no row joins with stat of the bound file");
	expect_count(r, row, "accesses", 25);
	path = json_string_value(report_get(row, "path"));
	CHECK(path && (!strcmp(path, bound) || !strcmp(path, plain)), "path %s", path ?: "null");
}

/* A file below a mount point is not what is seen there. */
static void covered(void)
{
	char *file = scratch("m/file");
	struct report *r;
	const char *path;
	json_t *row;
	int fd;

	own_mounts();
	make_dir(scratch("m"));
	make_file(file);
	fd = open(file, O_RDONLY);
	CHECK(fd >= 0, "open");
	CHECK(!mount("folioscope", scratch("m"), "tmpfs", 0, "size=1m"), "mount tmpfs");
	r = observe("", "bench pread --file /proc/%d/fd/%d --count 10", getpid(), fd);
	row = row_stat(r, text("/proc/%d/fd/%d", getpid(), fd));
	CHECK(row, "no row joins with stat");
	expect_count(r, row, "accesses", 10);
	path = json_string_value(report_get(row, "path"));
	CHECK(!path || strcmp(path, file), "path %s, which is covered by another mount", path);
}

/* The page cache belongs to the file below. */
static void overlay(void)
{
	struct report *r;
	json_t *row;

	own_mounts();
	make_dir(scratch("lower"));
	make_dir(scratch("upper"));
	make_dir(scratch("work"));
	make_dir(scratch("merged"));
	make_file(scratch("lower/below"));
	if (in_vm())
		run("modprobe overlay");
	CHECK(!mount("overlay", scratch("merged"), "overlay", 0,
		     text("lowerdir=%s,upperdir=%s,workdir=%s", scratch("lower"), scratch("upper"),
			  scratch("work"))), "mount overlay");
	make_file(scratch("merged/above"));
	r = observe("", "sh -c '%s pread --file %s --count 10; %s pread --file %s --count 20'",
		    getenv("FOLIO_BENCH"), scratch("merged/below"), getenv("FOLIO_BENCH"),
		    scratch("merged/above"));
	row = row_stat(r, scratch("lower/below"));
	CHECK(row, "no row joins with stat of the lower file");
	expect_count(r, row, "accesses", 10);
	row = row_stat(r, scratch("upper/above"));
	CHECK(row, "no row joins with stat of the upper file");
	expect_count(r, row, "accesses", 20);
}

/* ---- btrfs ---- */

/* A directory on btrfs: the guest's disk, or an image on a loop device. */
static char *btrfs_dir(void)
{
	char *dir;

	if (in_vm()) {
		CHECK(exists("/mnt/btrfs"), "no /mnt/btrfs in this guest");
		return text("/mnt/btrfs");
	}
	if (!has_program("mkfs.btrfs"))
		skip("mkfs.btrfs is not installed");
	own_mounts();
	dir = scratch("btrfs");
	make_dir(dir);
	run_status(0, "truncate -s 256M %s", scratch("image"));
	run_status(0, "mkfs.btrfs -q %s", scratch("image"));
	if (run("mount -o loop %s %s", scratch("image"), dir)->status)
		skip("a btrfs image cannot be mounted here");
	return dir;
}

static void subvolume_make(const char *dir, const char *name, const char *from)
{
	struct btrfs_ioctl_vol_args args = {}, *a = &args;
	struct btrfs_ioctl_vol_args_v2 v2 = {};
	int fd = open(dir, O_RDONLY | O_DIRECTORY), err;

	CHECK(fd >= 0, "%s: open", dir);
	if (!from) {
		snprintf(a->name, sizeof(a->name), "%s", name);
		err = ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, a);
	} else {
		snprintf(v2.name, sizeof(v2.name), "%s", name);
		v2.fd = open(text("%s/%s", dir, from), O_RDONLY | O_DIRECTORY);
		err = ioctl(fd, BTRFS_IOC_SNAP_CREATE_V2, &v2);
	}
	CHECK(!err, "btrfs: make the subvolume %s", name);
	close(fd);
}

/* A snapshot has its origin's inode numbers and generations. */
static void btrfs_snapshot(void)
{
	char *dir = btrfs_dir(), *bench = getenv("FOLIO_BENCH");
	char *origin = text("%s/sub/file", dir), *copy = text("%s/snap/file", dir);
	struct report *r;

	subvolume_make(dir, "sub", NULL);
	make_file(origin);
	sync();
	subvolume_make(dir, "snap", "sub");
	r = observe("", "sh -c '%s pread --file %s --count 10; %s pread --file %s --count 20'", bench,
		    origin, bench, copy);
	expect_count(r, row_of(r, origin), "accesses", 10);
	expect_count(r, row_of(r, copy), "accesses", 20);
	CHECK(row_int(row_of(r, origin), "ino") == row_int(row_of(r, copy), "ino"),
	      "the snapshot has other inode numbers: this test shows nothing");
	CHECK(!json_is_true(report_get(row_of(r, copy), "dev_unknown")), "dev_unknown");
}

static void btrfs_counts(void)
{
	char *file = text("%s/file", btrfs_dir());
	struct report *r = observe("", "bench readonce --file %s --create --size 256K --count 10 "
				   "--unlink", file);
	json_t *row = row_find(r, file) ?: row_find(r, text("%s (deleted)", file));

	CHECK(row, "no row");
	expect_count(r, row, "accesses", 10);
	expect_count(r, row, "pages", 640);
}

static void xfs_counts(void)
{
	static const char file[] = "/mnt/xfs/folioscope-test";
	struct report *r;

	if (!in_vm())
		skip("no xfs here; the guests have one");
	CHECK(exists("/mnt/xfs"), "no /mnt/xfs in this guest");
	r = observe("", "bench readonce --file %s --create --size 256K --count 10", file);
	expect_file(r, file, 10, 640);
	r = observe("", "bench coldread --file %s --create --size 8M", file);
	expect_file(r, file, 8, 2048);
	expect_count(r, row_of(r, file), "inserted_pages", 4096);
	unlink(file);
}

/* ---- names that hurt ---- */

static unsigned int rows_below(const struct report *r, const char *dir)
{
	unsigned int n = 0;
	const char *path;
	json_t *row;
	size_t i;

	json_array_foreach(report_get(r->root, "files"), i, row) {
		path = json_string_value(report_get(row, "path"));
		if (!path || strncmp(path, dir, strlen(dir)) || path[strlen(dir)] != '/')
			continue;
		CHECK(row_int(row, "accesses") == 1, "%s: accesses %lld", path, row_int(row, "accesses"));
		n++;
	}
	return n;
}

static void evil_names(void)
{
	char *dir = scratch("evil"), *rec = scratch("rec");
	struct report *r = observe(text("--record %s", rec), "bench evil-names --dir %s", dir);
	struct proc *p;

	need_hook(r, "access.read");
	CHECK(rows_below(r, dir) == EVIL_NAMES, "%u rows of %d files", rows_below(r, dir), EVIL_NAMES);
	p = run_status(0, "folioscope run -i %s --top 0", rec);
	check_clean("text", p->out, p->out_len);
	CHECK(strstr(p->out, "red"), "text: the names are missing");
	p = run_status(0, "folioscope top -b -i %s --top 0 --basename", rec);
	check_clean("top", p->out, p->out_len);
	p = run_status(0, "folioscope export --once -i %s --top 0", rec);
	check_prometheus("export", p->out, p->out_len);
	CHECK(strstr(p->out, "red"), "export: the names are missing");
}

/* The command line, the process's name and messages are foreign text, too. */
static void evil_command(void)
{
	char *argv[] = { "folioscope", "run", "--", scratch("\033]0;x\007\x9b" "31m\n\"$(id)"), NULL };
	struct proc *p = start_argv(argv);

	finish(p);
	CHECK(p->status == 127, "status %d", p->status);
	check_clean("message", p->err, p->err_len);
	CHECK(lines(p->err) == 1, "message: %u lines", lines(p->err));
}

static const struct live_test tests[] = {
	TEST(same_name),
	TEST(hard_links),
	TEST(hard_link_removed),
	TEST(recreated),
	TEST(deleted_open),
	TEST(deleted_gone),
	TEST(not_deleted),
	TEST(memfd),
	TEST(across_mounts),
	TEST(covered),
	TEST(overlay),
	TEST(btrfs_snapshot),
	TEST(btrfs_counts),
	TEST(xfs_counts),
	TEST(evil_names),
	TEST(evil_command),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--memfd"))
		return memfd_reads();
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
