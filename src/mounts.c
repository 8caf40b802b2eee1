/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mounts.c - mount table and file names. All input is foreign: mountinfo text, ring records.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"
#include "parse.h"
#include "snapshot.h"

#define MAJOR_MAX 0xfffU
#define MINOR_MAX 0xfffffU
#define TEXT_MAX (256UL << 20)	/* no mountinfo is larger; a guard against endless files */

#define DEV_MAJOR(dev) ((dev) >> 20)
#define DEV_MINOR(dev) ((dev) & MINOR_MAX)

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Undoes the kernel's \ooo in place. \000 cannot be in a name and stays as it is. */
static void unescape(char *s)
{
	char *to = s;
	int c;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && is_octal(s[2]) &&
		    is_octal(s[3])) {
			c = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			if (c) {
				*to++ = (char)c;
				s += 4;
				continue;
			}
		}
		*to++ = *s++;
	}
	*to = '\0';
}

static int parse_u32(const char *s, __u32 max, __u32 *out)
{
	__u64 v;
	int err = parse_u64(s, 0, max, &v);

	if (!err)
		*out = (__u32)v;
	return err;
}

static int parse_dev(char *s, __u32 *dev)
{
	char *minor_text = strchr(s, ':');
	__u32 major_no, minor_no;

	if (!minor_text)
		return -EINVAL;
	*minor_text++ = '\0';
	if (parse_u32(s, MAJOR_MAX, &major_no) || parse_u32(minor_text, MINOR_MAX, &minor_no))
		return -EINVAL;
	*dev = major_no << 20 | minor_no;
	return 0;
}

/* "36 35 98:0 /root /point rw,noatime [tag[:value] ...] - fstype source options", cut up. */
static int parse_line(char *line, struct mount *out)
{
	enum { ID, PARENT, DEV, ROOT, POINT, OPTIONS, FIELDS };
	char *field[FIELDS], *rest = line, *fstype;

	for (int i = 0; i < FIELDS; i++) {
		field[i] = strsep(&rest, " ");
		if (!rest)
			return -EINVAL;
	}
	do {
		fstype = strsep(&rest, " ");
		if (!rest)
			return -EINVAL;
	} while (strcmp(fstype, "-"));
	fstype = strsep(&rest, " ");
	if (parse_u32(field[ID], ~0U, &out->id) || parse_u32(field[PARENT], ~0U, &out->parent) ||
	    parse_dev(field[DEV], &out->dev) || !*field[ROOT] || *field[POINT] != '/')
		return -EINVAL;
	/* A root such as "net:[4026531840]" shows no file but covers its mount point. */
	unescape(field[ROOT]);
	unescape(field[POINT]);
	unescape(fstype);
	out->root = field[ROOT];
	out->point = field[POINT];
	out->fstype = fstype;
	return 0;
}

static int by_parent(const void *a, const void *b, void *arg)
{
	const __u32 *x = a, *y = b;
	const struct mount *v = arg;

	if (v[*x].parent != v[*y].parent)
		return v[*x].parent < v[*y].parent ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int index_mounts(struct mounts *m)
{
	m->by_parent = reallocarray(NULL, m->n ? m->n : 1, sizeof(*m->by_parent));
	if (!m->by_parent)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		m->by_parent[i] = (__u32)i;
	qsort_r(m->by_parent, m->n, sizeof(*m->by_parent), by_parent, m->v);
	return 0;
}

int mounts_parse(struct mounts *m, const char *text, size_t len)
{
	size_t lines = 1;
	char *line, *rest;

	memset(m, 0, sizeof(*m));
	if (len > TEXT_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	m->text = malloc(len + 1);
	m->v = reallocarray(NULL, lines, sizeof(*m->v));
	if (!m->text || !m->v)
		goto no_memory;
	memcpy(m->text, text, len);
	m->text[len] = '\0';
	rest = m->text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (parse_line(line, &m->v[m->n]))
			m->malformed++;
		else
			m->n++;
	}
	if (index_mounts(m))
		goto no_memory;
	return 0;

no_memory:
	mounts_free(m);
	return -ENOMEM;
}

/* The whole of a file whose size is not known beforehand, to be freed. NULL: errno. */
static char *read_all(const char *path, size_t *len)
{
	size_t cap = 0, used = 0;
	char *buf = NULL, *p;
	ssize_t n;
	int fd, saved;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (cap - used < 4096) {
			cap = cap ? cap * 2 : 16384;
			p = cap > TEXT_MAX ? NULL : realloc(buf, cap);
			if (!p) {
				errno = ENOMEM;
				goto fail;
			}
			buf = p;
		}
		n = read(fd, buf + used, cap - used - 1);
		if (n < 0)
			goto fail;
		used += (size_t)n;
	} while (n);
	close(fd);
	buf[used] = '\0';
	*len = used;
	return buf;

fail:
	saved = errno;
	free(buf);
	close(fd);
	errno = saved;
	return NULL;
}

int mounts_load(struct mounts *m)
{
	char *text;
	size_t len;
	int err;

	memset(m, 0, sizeof(*m));
	text = read_all("/proc/self/mountinfo", &len);
	if (!text)
		return -errno;
	err = mounts_parse(m, text, len);
	free(text);
	return err;
}

void mounts_free(struct mounts *m)
{
	free(m->v);
	free(m->by_parent);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

/* Whether path is prefix or below it, by whole components. */
static bool is_under(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!strcmp(prefix, "/"))
		return true;
	return !strncmp(path, prefix, len) && (!path[len] || path[len] == '/');
}

/* First place in by_parent of mounts whose parent is id. */
static size_t first_child(const struct mounts *m, __u32 id)
{
	size_t lo = 0, hi = m->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->v[m->by_parent[mid]].parent < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whether a lookup that walks down path meets b before a. Equal points: the later one covers. */
static bool met_before(const struct mount *b, const struct mount *a)
{
	return !a || strlen(b->point) <= strlen(a->point);
}

/* The child of cur that a lookup of path enters first; NULL: it stays in cur. */
static const struct mount *step_down(const struct mounts *m, const struct mount *cur,
				     const char *path)
{
	const struct mount *next = NULL, *c;

	for (size_t i = first_child(m, cur->id); i < m->n; i++) {
		c = &m->v[m->by_parent[i]];
		if (c->parent != cur->id)
			break;
		if (c != cur && is_under(path, c->point) && met_before(c, next))
			next = c;
	}
	return next;
}

static bool has_parent(const struct mounts *m, const struct mount *c)
{
	if (c->parent == c->id)
		return false;
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].id == c->parent)
			return true;
	}
	return false;
}

/* The mount in which a lookup of path ends, as the kernel would walk it. */
static const struct mount *mount_at(const struct mounts *m, const char *path)
{
	const struct mount *cur = NULL, *next;
	size_t steps;

	/* The mount under our root directory has its parent outside the table. */
	for (size_t i = 0; i < m->n; i++) {
		if (is_under(path, m->v[i].point) && met_before(&m->v[i], cur) &&
		    !has_parent(m, &m->v[i]))
			cur = &m->v[i];
	}
	/* A real table is a tree; the limit is for one that is not. */
	for (steps = 0; cur && steps < m->n; steps++) {
		next = step_down(m, cur, path);
		if (!next)
			break;
		cur = next;
	}
	return cur;
}

/* Whether a is the better mount to name a file by: the whole file system before a bind of a part. */
static bool preferred(const struct mount *a, const struct mount *b)
{
	size_t ra, rb;

	if (!b)
		return true;
	ra = strlen(a->root);
	rb = strlen(b->root);
	if (ra != rb)
		return ra < rb;
	return strlen(a->point) <= strlen(b->point);
}

/* mnt->point + rel without mnt->root. */
static char *join(const struct mount *mnt, const char *rel)
{
	const char *point = mnt->point[1] ? mnt->point : "";
	char *path;

	if (mnt->root[1])
		rel += strlen(mnt->root);
	if (!strcmp(rel, "/"))
		rel = "";
	if (!*point && !*rel)
		rel = "/";
	return asprintf(&path, "%s%s", point, rel) < 0 ? NULL : path;
}

char *mounts_path(const struct mounts *m, __u32 dev, const char *rel)
{
	const struct mount *best = NULL;
	char *best_path = NULL, *path;

	if (rel[0] != '/')
		return NULL;
	for (size_t i = 0; i < m->n; i++) {
		const struct mount *c = &m->v[i];

		if (c->dev != dev || !is_under(rel, c->root) || !preferred(c, best))
			continue;
		path = join(c, rel);
		if (!path || mount_at(m, path) != c) {
			free(path);
			continue;
		}
		free(best_path);
		best_path = path;
		best = c;
	}
	return best_path;
}

const char *mounts_fstype(const struct mounts *m, __u32 dev)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].dev == dev)
			return m->v[i].fstype;
	}
	return NULL;
}

char *mounts_bdev_name(__u32 dev)
{
	char file[64], *text, *line, *rest, *name = NULL;
	size_t len;

	snprintf(file, sizeof(file), "/sys/dev/block/%u:%u/uevent", DEV_MAJOR(dev), DEV_MINOR(dev));
	text = read_all(file, &len);
	rest = text;
	while (!name && (line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "DEVNAME=", 8) && asprintf(&name, "/dev/%s", line + 8) < 0)
			name = NULL;
	}
	free(text);
	return name;
}

static char *bdev_path(__u32 rdev, char *(*bdev_name)(__u32 dev))
{
	char *name = bdev_name ? bdev_name(rdev) : mounts_bdev_name(rdev);

	if (!name && asprintf(&name, "/dev/block/%u:%u", DEV_MAJOR(rdev), DEV_MINOR(rdev)) < 0)
		name = NULL;
	return name;
}

/*
 * Turns the record's components, leaf first, into "/a/b". NULL: no memory; "" without components.
 * The root's own name is "/", which is no component.
 */
static char *join_components(const char *text, size_t len)
{
	char *path = malloc(len + 2), *to = path;
	size_t end = len, start;

	if (!path)
		return NULL;
	while (end) {
		if (!text[end - 1])	/* only the last may lack its NUL */
			end--;
		for (start = end; start && text[start - 1]; start--)
			;
		if (end > start && !(end - start == 1 && text[start] == '/')) {
			*to++ = '/';
			to = mempcpy(to, text + start, end - start);
		}
		end = start;
	}
	*to = '\0';
	return path;
}

/* The whole name; NULL: no memory. */
static char *live_name(const struct fs_name *n, const struct mounts *m, const char *rel)
{
	const char *dots = n->flags & FS_NAME_CUT ? "/..." : "";
	char *name = NULL;
	int len;

	if (n->flags & FS_NAME_KERN_MOUNT) {
		len = asprintf(&name, "%s%s", *dots ? "..." : "", *dots ? rel : rel + 1);
		return len < 0 ? NULL : name;
	}
	if (!*dots)
		name = mounts_path(m, n->key.dev, rel);
	if (name)
		return name;
	len = asprintf(&name, "[%u:%u]%s%s", DEV_MAJOR(n->key.dev), DEV_MINOR(n->key.dev), dots,
		       rel);
	return len < 0 ? NULL : name;
}

static char *nameless(const struct fs_name *n)
{
	char *name;
	int len = asprintf(&name, "[%u:%u inode %llu]", DEV_MAJOR(n->key.dev),
			   DEV_MINOR(n->key.dev), (unsigned long long)n->key.ino);

	return len < 0 ? NULL : name;
}

static bool is_deleted(const struct fs_name *n, const char *name)
{
	if (n->flags & FS_NAME_UNLINKED)
		return true;
	/* A memfd never had a link; its i_nlink says so on most kernels. */
	return (n->flags & FS_NAME_KERN_MOUNT) && !strncmp(name, "memfd:", 6);
}

char *name_assemble(const struct fs_name *n, size_t reclen, const struct mounts *m,
		    char *(*bdev_name)(__u32 dev), __u32 *row_flags)
{
	char *rel, *name;

	if (reclen < offsetof(struct fs_name, path) || n->type != FS_EVT_NAME ||
	    n->len > FS_NAME_BYTES || n->len > reclen - offsetof(struct fs_name, path))
		return NULL;
	if (n->file_flags & FS_FILE_BDEV)
		return bdev_path(n->rdev, bdev_name);
	if (n->flags & FS_NAME_NO_DENTRY)
		rel = calloc(1, 1);
	else
		rel = join_components(n->path, n->len);
	if (!rel)
		return NULL;
	name = *rel ? live_name(n, m, rel) : nameless(n);
	free(rel);
	if (name && is_deleted(n, name))
		*row_flags |= ROW_DELETED;
	return name;
}
