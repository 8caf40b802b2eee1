/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.c - record files: header, blocks, and the input and output around them. The rows of a
 * snapshot are in record_rows.c, its fields in record_block.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "record.h"
#include "record_block.h"

#define MAGIC "FOLIOSC\n"
#define MAGIC_BYTES 8
#define VERSION 1
#define HEADER_BYTES 24
#define HEADER_MAX 4096
#define FLAGS_AT 12
#define FLAG_INCOMPLETE 1U

#define BLOCK_HEADER 16
#define DEFLATE_RATIO 1032U		/* no deflated stream grows by more */

enum block_type {
	BLOCK_SNAPSHOT = 1,
	BLOCK_END = 2,
};

struct record_writer {
	int fd;
	bool regular;		/* can be truncated, and its header written again */
	off_t start, end;	/* regular: of the record, of its last whole block */
	int broken;		/* a block went out in part and stays so */
	int lost;		/* the first error, for record_close() */
	__u32 index;
	struct rows rows;	/* as the reader will have them */
	struct payload raw, out;
};

struct record_reader {
	int fd;
	__u32 flags;
	bool ended;		/* an end block, or a good end of file */
	int err;		/* sticky */
	__u8 *buf;		/* from the start of the block being read */
	size_t have, cap;
	__u64 offset;		/* of buf in the file */
	__u32 index;
	struct rows rows;
	struct payload raw;
	char error[200];
};

static void put_le(__u8 *p, __u64 v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (__u8)(v >> (8 * i));
}

static __u32 get_le32(const __u8 *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (__u32)p[3] << 24;
}

static __u32 block_crc(const __u8 *block, size_t stored)
{
	uLong crc = crc32(crc32(0, NULL, 0), block, 12);

	return (__u32)crc32(crc, block + BLOCK_HEADER, (uInt)stored);
}

/* Makes room for cap bytes. The content is kept. */
static int reserve(__u8 **p, size_t *have, size_t cap)
{
	__u8 *q;

	if (cap <= *have)
		return 0;
	q = realloc(*p, cap);
	if (!q)
		return -ENOMEM;
	*p = q;
	*have = cap;
	return 0;
}

/* ---- writing ---- */

/* *done says how much went out, also on failure. */
static int write_all(int fd, const __u8 *p, size_t len, size_t *done)
{
	ssize_t n;

	for (*done = 0; *done < len; *done += (size_t)n) {
		n = write(fd, p + *done, len - *done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return -errno;
		else if (!n)
			return -EIO;
	}
	return 0;
}

static int write_header(struct record_writer *w)
{
	__u8 h[HEADER_BYTES] = MAGIC;
	size_t done;

	put_le(h + 8, VERSION, 2);
	put_le(h + 10, HEADER_BYTES, 2);
	put_le(h + FLAGS_AT, FLAG_INCOMPLETE, 4);
	return write_all(w->fd, h, sizeof(h), &done);
}

/* Takes a block that went out in part back, if it can be. */
static void take_back(struct record_writer *w, int err, size_t done)
{
	if (!done)
		return;
	if (w->regular && !ftruncate(w->fd, w->end) && lseek(w->fd, w->end, SEEK_SET) == w->end)
		return;
	w->broken = err;
}

/* One block, of what is in w->raw. */
static int write_block(struct record_writer *w, enum block_type type)
{
	uLongf stored = w->raw.len ? compressBound(w->raw.len) : 0;
	size_t done;
	int err;

	err = reserve(&w->out.p, &w->out.cap, BLOCK_HEADER + stored);
	if (err)
		return err;
	/* Fast: rows are many and alike, and whoever records is measuring something else. */
	if (w->raw.len && compress2(w->out.p + BLOCK_HEADER, &stored, w->raw.p, w->raw.len,
				    Z_BEST_SPEED) != Z_OK)
		return -ENOMEM;
	if (stored > BLOCK_MAX)
		return -E2BIG;
	put_le(w->out.p, type, 4);
	put_le(w->out.p + 4, stored, 4);
	put_le(w->out.p + 8, w->raw.len, 4);
	put_le(w->out.p + 12, block_crc(w->out.p, stored), 4);
	err = write_all(w->fd, w->out.p, BLOCK_HEADER + stored, &done);
	if (err)
		take_back(w, err, done);
	else
		w->end += (off_t)(BLOCK_HEADER + stored);
	return err;
}

struct record_writer *record_create_fd(int fd)
{
	struct record_writer *w = calloc(1, sizeof(*w));
	struct stat st;
	int err = -ENOMEM;

	if (!w)
		goto fail;
	w->fd = fd;
	w->start = lseek(fd, 0, SEEK_CUR);
	/* With O_APPEND even pwrite() appends, so the mark could not be cleared. */
	w->regular = !fstat(fd, &st) && S_ISREG(st.st_mode) && w->start >= 0 &&
		     !(fcntl(fd, F_GETFL) & O_APPEND);
	w->end = w->start + HEADER_BYTES;
	err = write_header(w);
	if (!err)
		return w;
fail:
	free(w);
	close(fd);
	errno = -err;
	return NULL;
}

struct record_writer *record_create(const char *path)
{
	int fd;

	/* A copy of stdout: closing it reports late errors and leaves the original open. */
	if (!strcmp(path, "-"))
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? NULL : record_create_fd(fd);
}

/* w->rows follows only when the block is out: the next one then says all that changed since. */
static int write_snapshot(struct record_writer *w, const struct snapshot *s)
{
	struct block b = { .index = w->index, .s = *s };
	struct snap_row *next = NULL;
	int err;

	err = rows_diff(&b, &w->rows, s);
	if (err)
		goto out;
	next = rows_room(&w->rows, &b);
	err = next ? block_encode(&w->raw, &b) : -ENOMEM;
	if (err)
		goto out;
	err = write_block(w, BLOCK_SNAPSHOT);
	if (err)
		goto out;
	w->index++;
	err = rows_apply(&w->rows, &b, next);
	next = NULL;
out:
	free(next);
	memset(&b.s, 0, sizeof(b.s));	/* the caller's */
	block_free(&b);
	return err;
}

int record_write(struct record_writer *w, const struct snapshot *s)
{
	int err = w->broken ? w->broken : write_snapshot(w, s);

	if (err && !w->lost)
		w->lost = err;
	return err;
}

int record_close(struct record_writer *w)
{
	__u8 flags[4] = { 0 };
	int err;

	if (!w)
		return 0;
	err = w->lost;
	w->raw.len = 0;
	if (!err)
		err = write_block(w, BLOCK_END);
	if (!err && w->regular && pwrite(w->fd, flags, sizeof(flags), w->start + FLAGS_AT) != 4)
		err = -EIO;
	if (close(w->fd) && !err)
		err = -errno;
	rows_free(&w->rows);
	free(w->raw.p);
	free(w->out.p);
	free(w);
	return err;
}

/* ---- reading ---- */

/* Ends reading for good: damaged at the block being read. */
__attribute__((format(printf, 2, 3)))
static int damaged(struct record_reader *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(r->error, sizeof(r->error), "block at byte %llu: ", r->offset);
	va_start(ap, fmt);
	vsnprintf(r->error + n, sizeof(r->error) - (size_t)n, fmt, ap);
	va_end(ap);
	r->err = -EBADMSG;
	return r->err;
}

static int failed(struct record_reader *r, int err)
{
	snprintf(r->error, sizeof(r->error), "block at byte %llu: %s", r->offset, strerror(-err));
	/* What was read so far is kept, so that these two can be tried again. */
	if (err != -EINTR && err != -EAGAIN)
		r->err = err;
	return err;
}

/*
 * Reads until the block in r->buf has need bytes. 1: it has; 0: end of file before; -errno.
 * Memory grows with what arrives, not with what a length field claims.
 */
static int fill(struct record_reader *r, size_t need)
{
	size_t want;
	ssize_t n;

	while (r->have < need) {
		want = r->have * 2 > 65536 ? r->have * 2 : 65536;
		if (want > need)
			want = need;
		if (reserve(&r->buf, &r->cap, want))
			return -ENOMEM;
		n = read(r->fd, r->buf + r->have, want - r->have);
		if (n < 0)
			return -errno;
		if (!n)
			return 0;
		r->have += (size_t)n;
	}
	return 1;
}

static void drop_block(struct record_reader *r)
{
	r->offset += r->have;
	r->have = 0;
}

/* Reads one whole block into r->buf and checks it. 1: got one; 0: good end; -errno. */
static int next_block(struct record_reader *r)
{
	__u32 stored, raw;
	int n;

	n = fill(r, BLOCK_HEADER);
	if (n < 0)
		return failed(r, n);
	if (!n && r->have)
		return damaged(r, "the file is cut short");
	if (!n && r->flags & FLAG_INCOMPLETE)
		return 0;
	if (!n)
		return damaged(r, "the file is cut short: its end is missing");
	stored = get_le32(r->buf + 4);
	raw = get_le32(r->buf + 8);
	if (stored > BLOCK_MAX || raw > BLOCK_MAX)
		return damaged(r, "its size is out of range");
	n = fill(r, BLOCK_HEADER + (size_t)stored);
	if (n < 0)
		return failed(r, n);
	if (!n)
		return damaged(r, "the file is cut short");
	if (block_crc(r->buf, stored) != get_le32(r->buf + 12))
		return damaged(r, "its checksum is wrong");
	return 1;
}

/* Inflates the block in r->buf into r->raw: exactly what it announced. */
static int inflate_block(struct record_reader *r)
{
	uLong stored = get_le32(r->buf + 4), used = stored;
	uLongf raw = get_le32(r->buf + 8);
	int ret;

	r->raw.len = raw;
	if (raw > (__u64)stored * DEFLATE_RATIO)
		return damaged(r, "it announces more than it can hold");
	if (reserve(&r->raw.p, &r->raw.cap, raw + 1))
		return failed(r, -ENOMEM);
	ret = uncompress2(r->raw.p, &raw, r->buf + BLOCK_HEADER, &used);
	if (ret == Z_MEM_ERROR)
		return failed(r, -ENOMEM);
	if (ret != Z_OK || raw != r->raw.len || used != stored)
		return damaged(r, "it does not unpack to what it announces");
	return 0;
}

/* The snapshot of block b, after r->rows followed it. Empties b->s on success. */
static int give_snapshot(struct record_reader *r, struct block *b, struct snapshot *s)
{
	struct snapshot rows = { .rows = r->rows.v, .nrows = r->rows.n };
	int err = snapshot_copy(s, &rows);

	if (err)
		return failed(r, err);
	b->s.rows = s->rows;
	b->s.nrows = s->nrows;
	*s = b->s;
	memset(&b->s, 0, sizeof(b->s));
	return 0;
}

static int read_snapshot(struct record_reader *r, struct snapshot *s)
{
	struct snap_row *next;
	struct block b;
	const char *what;
	int err;

	err = inflate_block(r);
	if (err)
		return err;
	err = block_decode(&b, r->raw.p, r->raw.len, &what);
	if (err) {
		err = err == -EBADMSG ? damaged(r, "%s: malformed", what) : failed(r, err);
		goto out;
	}
	if (b.index != r->index) {
		err = damaged(r, "it is snapshot %u where %u should be", b.index, r->index);
		goto out;
	}
	next = rows_room(&r->rows, &b);
	if (!next) {
		err = failed(r, -ENOMEM);
		goto out;
	}
	err = rows_apply(&r->rows, &b, next);
	if (err) {
		damaged(r, "its rows do not follow from those before");
		goto out;
	}
	r->index++;
	err = give_snapshot(r, &b, s);
out:
	block_free(&b);
	return err;
}

int record_read(struct record_reader *r, struct snapshot *s)
{
	int n = 0;

	memset(s, 0, sizeof(*s));
	if (!r->err)
		r->error[0] = '\0';
	while (!r->ended && !r->err) {
		n = next_block(r);
		if (n < 0)
			return n;
		r->ended = !n || get_le32(r->buf) == BLOCK_END;
		if (n && get_le32(r->buf) == BLOCK_END)
			r->flags &= ~FLAG_INCOMPLETE;
		if (n && get_le32(r->buf) == BLOCK_SNAPSHOT) {
			n = read_snapshot(r, s);
			drop_block(r);
			return n ? n : 1;
		}
		drop_block(r);
	}
	return r->err;
}

/* The start of the file up to its first block. NULL: fine; else what is wrong with it. */
static int read_header(struct record_reader *r, char *err, size_t errlen)
{
	__u32 version, bytes;
	int n = fill(r, HEADER_BYTES);
	bool ours = r->have >= MAGIC_BYTES && !memcmp(r->buf, MAGIC, MAGIC_BYTES);

	if (n < 0)
		snprintf(err, errlen, "%s", strerror(-n));
	else if (!n && !r->have)
		snprintf(err, errlen, "not a folioscope record: the file is empty");
	else if (!ours)
		snprintf(err, errlen, "not a folioscope record");
	else if (!n)
		snprintf(err, errlen, "the file is cut short in its header");
	if (n <= 0 || !ours)
		return -1;
	version = r->buf[8] | r->buf[9] << 8;
	bytes = r->buf[10] | r->buf[11] << 8;
	r->flags = get_le32(r->buf + FLAGS_AT);
	if (version > VERSION) {
		snprintf(err, errlen, "version %u is newer than this program knows (%u)", version,
			 VERSION);
		return -1;
	}
	if (!version || bytes < HEADER_BYTES || bytes > HEADER_MAX) {
		snprintf(err, errlen, "the header is damaged");
		return -1;
	}
	n = fill(r, bytes);
	if (n <= 0) {
		snprintf(err, errlen, "%s",
			 n ? strerror(-n) : "the file is cut short in its header");
		return -1;
	}
	drop_block(r);
	return 0;
}

struct record_reader *record_open_fd(int fd, char *err, size_t errlen)
{
	struct record_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		snprintf(err, errlen, "%s", strerror(ENOMEM));
		close(fd);
		return NULL;
	}
	r->fd = fd;
	if (read_header(r, err, errlen)) {
		record_reader_close(r);
		return NULL;
	}
	return r;
}

struct record_reader *record_open(const char *path, char *err, size_t errlen)
{
	int fd;

	if (!strcmp(path, "-"))
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(err, errlen, "%s", strerror(errno));
		return NULL;
	}
	return record_open_fd(fd, err, errlen);
}

const char *record_error(const struct record_reader *r)
{
	return r->error;
}

bool record_incomplete(const struct record_reader *r)
{
	return r->flags & FLAG_INCOMPLETE;
}

void record_reader_close(struct record_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	rows_free(&r->rows);
	free(r->buf);
	free(r->raw.p);
	free(r);
}
