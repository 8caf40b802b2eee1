/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_mounts.c - mountinfo, the path of a file through it, and names from ring records.
 */
/* units: mounts.c parse.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "mounts.h"
#include "snapshot.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DEV(major_no, minor_no) ((__u32)(major_no) << 20 | (minor_no))

/* A host: ext4 root, /data hidden by a second mount, bind mounts, btrfs subvolumes, overlay. */
static const char host[] =
	"1 1 0:2 / / rw - rootfs none rw\n"
	"20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"21 20 0:5 / /proc rw - proc proc rw\n"
	"22 20 8:2 / /data rw - ext4 /dev/sda2 rw\n"
	"23 22 8:3 / /data rw - xfs /dev/sda3 rw\n"
	"24 20 8:1 /srv/www /mnt/www rw master:1 propagate_from:2 - ext4 /dev/sda1 rw\n"
	"25 20 8:1 /etc/conf\\040file /mnt/one rw - ext4 /dev/sda1 rw\n"
	"26 20 0:40 /@home /home rw - btrfs /dev/sdb rw,subvol=/@home\n"
	"27 20 0:40 /@ /mnt/sub rw - btrfs /dev/sdb rw\n"
	"28 20 0:50 / /var/lib/merged rw - overlay overlay rw,lowerdir=/a:/b\n"
	"29 20 8:4 / /odd\\011name\\134x\\012y rw - vfat /dev/sdc rw\n"
	"30 20 8:5 / /a rw - ext4 /dev/sdd rw\n"
	"31 30 8:6 / /a/b rw - ext4 /dev/sde rw\n"
	"32 20 8:7 /sub /long/point rw - ext4 /dev/sdf rw\n"
	"33 20 8:7 /sub /pt rw - ext4 /dev/sdf rw\n"
	"34 20 259:1048575 / /nvme rw - ext4 /dev/nvme rw\n"
	"35 20 0:60 /gone//deleted /mnt/gone rw - tmpfs tmpfs rw\n"
	"36 20 8:8 / /blank rw -  /dev/sdg rw\n"
	"37 20 8:9 / /mnt/over rw - ext4 /dev/sdh rw\n"
	"38 20 0:61 / /mnt rw - tmpfs tmpfs rw\n"
	"39 38 8:9 / /mnt/again rw - ext4 /dev/sdh rw\n"
	"40 20 0:4 net:[4026531840] /run/netns/x rw - nsfs nsfs rw\n";

static const struct {
	const char *what;
	__u32 dev;
	const char *rel, *want;	/* NULL: not shown */
} paths[] = {
	{ "plain", DEV(8, 1), "/usr/bin/x", "/usr/bin/x" },
	{ "the root itself", DEV(8, 1), "/", "/" },
	{ "below a mount point that is covered", DEV(8, 1), "/data/x", NULL },
	{ "at a mount point that is covered", DEV(8, 1), "/data", NULL },
	{ "equal start is not below", DEV(8, 1), "/database", "/database" },
	{ "mounted over", DEV(8, 2), "/f", NULL },
	{ "mounted over another", DEV(8, 3), "/f", "/data/f" },
	{ "its root", DEV(8, 3), "/", "/data" },
	{ "btrfs subvolume", DEV(0, 40), "/@home/u/f", "/home/u/f" },
	{ "its root", DEV(0, 40), "/@home", "/home" },
	{ "subvolume that starts alike", DEV(0, 40), "/@homestead/f", NULL },
	{ "subvolume that is not mounted", DEV(0, 40), "/@snap/f", NULL },
	{ "overlay", DEV(0, 50), "/f", "/var/lib/merged/f" },
	{ "escapes", DEV(8, 4), "/f", "/odd\tname\\x\ny/f" },
	{ "parent of a nested mount", DEV(8, 5), "/f", "/a/f" },
	{ "covered by a nested mount", DEV(8, 5), "/b/f", NULL },
	{ "nested", DEV(8, 6), "/f", "/a/b/f" },
	{ "nested, name of the parent's", DEV(8, 6), "/b/f", "/a/b/b/f" },
	{ "shorter mount point wins", DEV(8, 7), "/sub/f", "/pt/f" },
	{ "above the mounted root", DEV(8, 7), "/f", NULL },
	{ "large numbers", DEV(259, 1048575), "/f", "/nvme/f" },
	{ "deleted bind source", DEV(0, 60), "/gone/f", NULL },
	{ "hidden with its parent, seen elsewhere", DEV(8, 9), "/f", "/mnt/again/f" },
	{ "bind mount hidden by a mount above it", DEV(8, 1), "/srv/www/f", "/srv/www/f" },
	{ "name space", DEV(0, 4), "/x", NULL },
	{ "covered by a name space", DEV(8, 1), "/run/netns/x", NULL },
	{ "unknown device", DEV(8, 99), "/f", NULL },
	{ "not a path", DEV(8, 1), "f", NULL },
	{ "empty", DEV(8, 1), "", NULL },
};

static void parse(struct mounts *m, const char *text)
{
	assert_int_equal(mounts_parse(m, text, strlen(text)), 0);
}

static void check_path(const struct mounts *m, const char *what, __u32 dev, const char *rel,
		       const char *want)
{
	char *got = mounts_path(m, dev, rel);

	if (!got != !want || (got && strcmp(got, want)))
		fail_msg("%s: '%s' is '%s', want '%s'", what, rel, got ? got : "NULL",
			 want ? want : "NULL");
	free(got);
}

static void host_paths(void **state)
{
	struct mounts m;

	parse(&m, host);
	assert_int_equal(m.n, 22);
	assert_int_equal(m.malformed, 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		check_path(&m, paths[i].what, paths[i].dev, paths[i].rel, paths[i].want);
	assert_string_equal(mounts_fstype(&m, DEV(0, 40)), "btrfs");
	assert_string_equal(mounts_fstype(&m, DEV(8, 3)), "xfs");
	assert_string_equal(mounts_fstype(&m, DEV(8, 8)), "");
	assert_null(mounts_fstype(&m, DEV(8, 99)));
	mounts_free(&m);
	assert_int_equal(m.n, 0);
}

static void bind_mounts(void **state)
{
	struct mounts m;

	parse(&m, "20 1 8:1 / / rw - ext4 a rw\n"
		  "24 20 8:1 /srv/www /w rw - ext4 a rw\n"
		  "25 20 8:1 /etc/conf\\040file /one rw - ext4 a rw\n"
		  "26 20 8:1 /etc /e1 rw - ext4 a rw\n"
		  "27 20 8:1 /etc /e2 rw - ext4 a rw\n");
	check_path(&m, "shortest root", DEV(8, 1), "/srv/www/f", "/srv/www/f");
	check_path(&m, "not below it", DEV(8, 1), "/srv/wwwx", "/srv/wwwx");
	mounts_free(&m);
	/* Only parts of the file system are mounted. */
	parse(&m, "20 1 8:2 / / rw - ext4 a rw\n"
		  "24 20 8:1 /srv /s rw - ext4 a rw\n"
		  "25 20 8:1 /srv/www /w rw - ext4 a rw\n"
		  "26 20 8:1 /etc/conf\\040file /one rw - ext4 a rw\n"
		  "27 20 8:1 /etc /e1 rw - ext4 a rw\n"
		  "28 20 8:1 /etc /e2 rw - ext4 a rw\n");
	check_path(&m, "shortest of two", DEV(8, 1), "/srv/www/f", "/s/www/f");
	check_path(&m, "a directory before a file", DEV(8, 1), "/etc/conf file", "/e2/conf file");
	check_path(&m, "equal in all: the latest", DEV(8, 1), "/etc/f", "/e2/f");
	mounts_free(&m);
}

/* In a container the root mount's parent is outside, and the root may be stacked. */
static void stacked_roots(void **state)
{
	struct mounts m;

	parse(&m, "100 50 8:1 /docker/root / rw - ext4 a rw\n"
		  "101 100 8:2 / / rw - ext4 b rw\n"
		  "102 101 8:3 / /x rw - ext4 c rw\n");
	check_path(&m, "covered root", DEV(8, 1), "/docker/root/f", NULL);
	check_path(&m, "root on top", DEV(8, 2), "/f", "/f");
	check_path(&m, "below it", DEV(8, 3), "/f", "/x/f");
	mounts_free(&m);
	/* Two with the same parent and point: the later is on top. */
	parse(&m, "1 0 8:1 / / rw - ext4 a rw\n"
		  "2 1 8:2 / /d rw - ext4 b rw\n"
		  "3 1 8:3 / /d rw - ext4 c rw\n");
	check_path(&m, "earlier", DEV(8, 2), "/f", NULL);
	check_path(&m, "later", DEV(8, 3), "/f", "/d/f");
	mounts_free(&m);
}

static void not_a_tree(void **state)
{
	struct mounts m;

	/* Parents in a ring: no way in from the root. */
	parse(&m, "1 2 8:1 / / rw - ext4 a rw\n2 1 8:2 / / rw - ext4 b rw\n");
	check_path(&m, "ring", DEV(8, 1), "/f", NULL);
	mounts_free(&m);
	/* A ring that can be entered must still end. */
	parse(&m, "1 0 8:1 / / rw - ext4 a rw\n"
		  "2 1 8:2 / / rw - ext4 b rw\n"
		  "1 2 8:3 / / rw - ext4 c rw\n");
	free(mounts_path(&m, DEV(8, 1), "/f"));
	mounts_free(&m);
}

static void malformed_lines(void **state)
{
	static const char *const bad[] = {
		"x",
		"20 1 8:1 / / rw",
		"20 1 8:1 / / rw shared:1 ext4 a rw",
		"20 1 8:1 / / rw -",
		"20 1 81 / / rw - ext4 a rw",
		"20 1 8: / / rw - ext4 a rw",
		"20 1 4096:1 / / rw - ext4 a rw",
		"20 1 8:1048576 / / rw - ext4 a rw",
		"20 1 -8:1 / / rw - ext4 a rw",
		"4294967296 1 8:1 / / rw - ext4 a rw",
		"20 1 8:1 / none rw - ext4 a rw",
		"20 1 8:1  / rw - ext4 a rw",
		"20  1 8:1 / / rw - ext4 a rw",
	};
	struct mounts m;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s\n9 1 8:1 / / rw - ext4 a rw\n%s", bad[i], bad[i]);
		parse(&m, text);
		if (m.n != 1 || m.malformed != 2)
			fail_msg("'%s': %zu taken, %zu not", bad[i], m.n, m.malformed);
		mounts_free(&m);
	}
	parse(&m, "");
	check_path(&m, "empty table", DEV(8, 1), "/f", NULL);
	mounts_free(&m);
	/* Escapes that are none stay: too short, too large, NUL. */
	parse(&m, "9 1 8:1 / /\\04\\400\\000\\08x rw - ext4 a rw\n");
	assert_string_equal(m.v[0].point, "/\\04\\400\\000\\08x");
	mounts_free(&m);
}

/* The real table must show a file that certainly exists. */
static void this_machine(void **state)
{
	struct mounts m;
	struct stat st;

	assert_int_equal(mounts_load(&m), 0);
	assert_true(m.n > 0);
	assert_int_equal(stat("/proc/self/mountinfo", &st), 0);
	check_path(&m, "/proc", DEV(major(st.st_dev), minor(st.st_dev)), "/version",
		   "/proc/version");
	assert_string_equal(mounts_fstype(&m, DEV(major(st.st_dev), minor(st.st_dev))), "proc");
	mounts_free(&m);
	assert_null(mounts_bdev_name(DEV(4095, 1048575)));
}

/* ---- ring records ---- */

static char *sda(__u32 dev)
{
	assert_int_equal(dev, DEV(8, 16));
	return strdup("/dev/sdb");
}

static char *no_name(__u32 dev)
{
	return NULL;
}

#define BYTES(s) s, sizeof(s) - 1

static const struct {
	const char *what;
	__u32 flags, file_flags, dev;
	const char *path;	/* components, leaf first */
	size_t len;
	const char *want;
	__u32 row_flags;
	char *(*bdev)(__u32 dev);
} names[] = {
	{ "plain", 0, 0, DEV(8, 3), BYTES("f\0d\0"), "/data/d/f", 0, NULL },
	{ "with the root's own name", 0, 0, DEV(8, 3), BYTES("f\0d\0/\0"), "/data/d/f", 0, NULL },
	{ "the root", 0, 0, DEV(8, 3), BYTES("/\0"), "[8:3 inode 1234]", 0, NULL },
	{ "last NUL missing", 0, 0, DEV(8, 3), BYTES("f\0d"), "/data/d/f", 0, NULL },
	{ "empty components", 0, 0, DEV(8, 3), BYTES("\0f\0\0\0d\0\0"), "/data/d/f", 0, NULL },
	{ "deleted", FS_NAME_UNLINKED, 0, DEV(8, 3), BYTES("f\0"), "/data/f",
	  ROW_DELETED, NULL },
	{ "only named so", 0, 0, DEV(8, 3), BYTES("f (deleted)\0"), "/data/f (deleted)", 0, NULL },
	{ "not mounted", 0, 0, DEV(8, 99), BYTES("b\0a\0"), "[8:99]/a/b", 0, NULL },
	{ "not mounted, deleted", FS_NAME_UNLINKED, 0, DEV(8, 99), BYTES("b\0a\0"),
	  "[8:99]/a/b", ROW_DELETED, NULL },
	{ "cut", FS_NAME_CUT, 0, DEV(8, 1), BYTES("b\0a\0"), "[8:1]/.../a/b", 0, NULL },
	{ "cut, deleted", FS_NAME_CUT | FS_NAME_UNLINKED, 0, DEV(8, 1), BYTES("b\0"),
	  "[8:1]/.../b", ROW_DELETED, NULL },
	{ "memfd", FS_NAME_KERN_MOUNT | FS_NAME_UNLINKED, 0, DEV(0, 1), BYTES("memfd:x\0"),
	  "memfd:x", ROW_DELETED, NULL },
	{ "memfd without the flag", FS_NAME_KERN_MOUNT, 0, DEV(0, 1), BYTES("memfd:x\0/\0"),
	  "memfd:x", ROW_DELETED, NULL },
	{ "a slash in a memfd's name", FS_NAME_KERN_MOUNT, 0, DEV(0, 1), BYTES("memfd:a/b\0"),
	  "memfd:a/b", ROW_DELETED, NULL },
	{ "a file named memfd:", 0, 0, DEV(8, 3), BYTES("memfd:x\0"), "/data/memfd:x", 0, NULL },
	{ "internal", FS_NAME_KERN_MOUNT, 0, DEV(0, 1), BYTES("dev\0/\0"), "dev", 0, NULL },
	{ "internal, unlinked", FS_NAME_KERN_MOUNT | FS_NAME_UNLINKED, 0, DEV(0, 1),
	  BYTES("SYSV0\0"), "SYSV0", ROW_DELETED, NULL },
	{ "internal, cut", FS_NAME_KERN_MOUNT | FS_NAME_CUT, 0, DEV(0, 1), BYTES("b\0a\0"),
	  ".../a/b", 0, NULL },
	{ "block device", 0, FS_FILE_BDEV, DEV(0, 6), BYTES(""), "/dev/sdb", 0, sda },
	{ "block device without a name", 0, FS_FILE_BDEV, DEV(0, 6), BYTES("x\0"),
	  "/dev/block/8:16", 0, no_name },
	{ "no dentry", FS_NAME_NO_DENTRY, 0, DEV(8, 1), BYTES("x\0"), "[8:1 inode 1234]", 0, NULL },
	{ "no dentry, deleted", FS_NAME_NO_DENTRY | FS_NAME_UNLINKED, 0, DEV(8, 1), BYTES(""),
	  "[8:1 inode 1234]", ROW_DELETED, NULL },
	{ "empty", 0, 0, DEV(8, 1), BYTES(""), "[8:1 inode 1234]", 0, NULL },
	{ "odd bytes", 0, 0, DEV(8, 3), BYTES("\xff\n\x1b[0m\0"), "/data/\xff\n\x1b[0m", 0, NULL },
};

static void ring_names(void **state)
{
	const size_t head = offsetof(struct fs_name, path);
	struct mounts m;

	parse(&m, host);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* Exactly as long as the record, so that the sanitizer sees a byte too many. */
		struct fs_name *n = calloc(1, head + names[i].len);
		__u32 flags = ROW_TMPFS;
		char *got;

		n->type = FS_EVT_NAME;
		n->len = (__u32)names[i].len;
		n->key.dev = names[i].dev;
		n->key.ino = 1234;
		n->rdev = DEV(8, 16);
		n->flags = names[i].flags;
		n->file_flags = names[i].file_flags;
		memcpy(n->path, names[i].path, names[i].len);
		got = name_assemble(n, head + names[i].len, &m, names[i].bdev, &flags);
		if (!got || strcmp(got, names[i].want) ||
		    flags != (names[i].row_flags | ROW_TMPFS))
			fail_msg("%s: '%s' flags %x, want '%s'", names[i].what, got ? got : "NULL",
				 flags, names[i].want);
		free(got);
		free(n);
	}
	mounts_free(&m);
}

static void bad_records(void **state)
{
	const size_t head = offsetof(struct fs_name, path);
	struct fs_name n = { .type = FS_EVT_NAME, .len = 2, .path = "f" };
	struct mounts m = { 0 };
	__u32 flags = 0;

	n.flags = FS_NAME_UNLINKED;
	assert_null(name_assemble(&n, 0, &m, NULL, &flags));
	assert_null(name_assemble(&n, head - 1, &m, NULL, &flags));
	assert_null(name_assemble(&n, head + 1, &m, NULL, &flags));
	n.len = FS_NAME_BYTES + 1;
	assert_null(name_assemble(&n, sizeof(n) + 8, &m, NULL, &flags));
	n.len = ~0U;
	assert_null(name_assemble(&n, sizeof(n), &m, NULL, &flags));
	n.len = 2;
	n.type = FS_EVT_MAX;
	assert_null(name_assemble(&n, sizeof(n), &m, NULL, &flags));
	assert_int_equal(flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_paths),
		cmocka_unit_test(bind_mounts),
		cmocka_unit_test(stacked_roots),
		cmocka_unit_test(not_a_tree),
		cmocka_unit_test(malformed_lines),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(ring_names),
		cmocka_unit_test(bad_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
