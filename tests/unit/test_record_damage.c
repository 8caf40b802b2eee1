/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_record_damage.c - a record that is cut, changed, foreign or made up is noticed and never
 * believed; one of another version is read as far as it can be.
 */
/* units: record.c record_block.c record_rows.c snapshot.c */
#include <errno.h>

#include "record_helpers.h"

/* ---- damage ---- */

#define SMALL 3

static struct bytes small_record(struct snapshot s[SMALL])
{
	rng_state = 4242;
	for (size_t i = 0; i < SMALL; i++) {
		random_snapshot(&s[i], i ? &s[i - 1] : NULL, 4);
		/* Few bytes, so that every one can be tried. */
		s[i].nhooks = s[i].nhooks > 1 ? 1 : s[i].nhooks;
	}
	return record_of(s, SMALL);
}

/* Ends of the blocks of a good file. Returns how many. */
static size_t block_ends(const struct bytes *b, size_t *ends)
{
	size_t at = HEADER, n = 0;
	__u32 stored;

	while (at < b->len) {
		memcpy(&stored, b->p + at + 4, 4);	/* these tests run on little-endian only */
		at += 16 + stored;
		ends[n++] = at;
	}
	assert_int_equal(at, b->len);
	return n;
}

static void cut_anywhere(void **state)
{
	size_t ends[SMALL + 1], whole;
	struct snapshot s[SMALL];
	struct bytes b = small_record(s);
	struct outcome o;

	assert_int_equal(block_ends(&b, ends), SMALL + 1);
	for (int unfinished = 0; unfinished < 2; unfinished++) {
		b.p[12] = (__u8)unfinished;
		for (size_t len = 0; len < b.len; len++) {
			bool boundary = len == HEADER;

			for (whole = 0; whole < SMALL && ends[whole] <= len; whole++)
				boundary |= ends[whole] == len;
			o = read_bytes(b.p, len, s, SMALL);
			assert_int_equal(o.opened, len >= HEADER);
			assert_int_equal(o.good, whole);
			assert_false(o.wrong);
			if (!o.opened)
				continue;
			/* Between blocks only the mark tells that there should be more. */
			assert_int_equal(o.last, unfinished && boundary ? 0 : -EBADMSG);
			assert_true(!o.last || strstr(o.error, "cut short"));
			assert_int_equal(o.incomplete, unfinished);
		}
	}
	free(b.p);
	free_all(s, SMALL);
}

static void flip_any_bit(void **state)
{
	size_t ends[SMALL + 1], whole;
	struct snapshot s[SMALL];
	struct bytes b = small_record(s);
	struct outcome o;

	block_ends(&b, ends);
	for (size_t i = 0; i < b.len; i++) {
		/* All bits where structure is, one bit of the packed rest to save time. */
		for (int bit = 0; bit < 8; bit += i % 3 && i > HEADER + 16 ? 5 : 1) {
			b.p[i] ^= (__u8)(1 << bit);
			o = read_bytes(b.p, b.len, s, SMALL);
			b.p[i] ^= (__u8)(1 << bit);
			for (whole = 0; whole <= SMALL && ends[whole] <= i; whole++)
				;
			assert_false(o.wrong);
			if (i >= 12 && i < HEADER)	/* flags and reserved: no harm */
				assert_true(o.good == SMALL && o.last == 0);
			else if (i < 12)
				assert_true(!o.opened || (o.good == 0 && o.last == -EBADMSG));
			else
				assert_true(o.good == whole && o.last == -EBADMSG);
		}
	}
	free(b.p);
	free_all(s, SMALL);
}

/* A block that is missing, doubled or in another place has a good checksum all the same. */
static void whole_blocks_moved(void **state)
{
	size_t ends[SMALL + 1], first;
	struct snapshot s[SMALL];
	struct bytes b = small_record(s);
	struct outcome o;
	__u8 *p = malloc(b.len * 2);

	block_ends(&b, ends);
	first = ends[0] - HEADER;
	memcpy(p, b.p, HEADER);
	memcpy(p + HEADER, b.p + ends[0], b.len - ends[0]);
	o = read_bytes(p, b.len - first, s, SMALL);
	assert_true(o.last == -EBADMSG && !o.good && !o.wrong);
	memcpy(p, b.p, ends[0]);
	memcpy(p + ends[0], b.p + HEADER, b.len - HEADER);
	o = read_bytes(p, b.len + first, s, SMALL);
	assert_true(o.last == -EBADMSG && o.good == 1 && !o.wrong);
	free(p);
	free(b.p);
	free_all(s, SMALL);
}

static void foreign_files(void **state)
{
	static const __u8 zeros[70000];
	static const struct {
		const char *what;
		const void *p;
		size_t len;
		const char *want;
	} t[] = {
		{ "empty", "", 0, "empty" },
		{ "ELF", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\1\0\0\0\0\0\0\0", 28,
		  "not a folioscope" },
		{ "text", "The quick brown fox jumps over the lazy dog\n", 44,
		  "not a folioscope" },
		{ "short text", "hello\n", 6, "not a folioscope" },
		{ "gzip",
		  "\037\213\010\0\0\0\0\0\0\003\313H\315\311\311\347\002\0\040\060:6\6\0\0\0",
		  26,
		  "not a folioscope" },
		{ "zeros", zeros, sizeof(zeros), "not a folioscope" },
		{ "magic in DOS text", "FOLIOSC\r\n\1\0\030\0\0\0\0\0\0\0\0\0\0\0\0", 25,
		  "not a folioscope" },
		{ "part of the magic", "FOLIOS", 6, "not a folioscope" },
		{ "magic only", "FOLIOSC\n", 8, "cut short" },
		{ "newer", "FOLIOSC\n\011\0\030\0\0\0\0\0\0\0\0\0\0\0\0\0", 24,
		  "version 9 is newer than this program knows (1)" },
		{ "much newer", "FOLIOSC\n\0\1\030\0\0\0\0\0\0\0\0\0\0\0\0\0", 24,
		  "version 256 is newer" },
		{ "version 0", "FOLIOSC\n\0\0\030\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "damaged" },
		{ "short header", "FOLIOSC\n\1\0\027\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "damaged" },
		{ "huge header", "FOLIOSC\n\1\0\0\377\0\0\0\0\0\0\0\0\0\0\0\0", 24, "damaged" },
		{ "long header", "FOLIOSC\n\1\0\050\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "cut short" },
	};
	char err[128];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct outcome o = read_bytes(t[i].p, t[i].len, NULL, 0);

		if (o.opened || !strstr(o.error, t[i].want))
			fail_msg("%s: '%s'", t[i].what, o.error);
	}
	assert_null(record_open("/dev/zero", err, sizeof(err)));
	assert_string_equal(err, "not a folioscope record");
	assert_null(record_open("/", err, sizeof(err)));
	assert_string_equal(err, "Is a directory");
}

/* ---- hand-made files ---- */

struct made {
	__u8 p[8192];
	size_t len;
	size_t section;		/* where the open one began */
	bool closed;		/* none is open */
};

static void put(struct made *m, __u64 v, size_t bytes)
{
	memcpy(m->p + m->len, &v, bytes);
	m->len += bytes;
}

static void put_zeros(struct made *m, size_t bytes)
{
	memset(m->p + m->len, 0, bytes);
	m->len += bytes;
}

static void section(struct made *m, __u32 id)
{
	m->closed = false;
	put(m, id, 4);
	put(m, 0, 4);
	m->section = m->len;
}

static void section_end(struct made *m)
{
	__u32 len = (__u32)(m->len - m->section);

	memcpy(m->p + m->section - 4, &len, 4);
	m->closed = true;
}

static void put_head(struct made *m, __u32 index, size_t more)
{
	section(m, 1);
	put(m, index, 4);
	put(m, 77, 4);			/* seq */
	put(m, 0, 4);
	put(m, 0, 8);
	put(m, 0, 8);
	put(m, 3, 2);
	memcpy(m->p + m->len, "6.x", 3);
	m->len += 3;
	put(m, 4096, 4);
	put(m, 2, 4);
	put(m, 0, 8);
	put(m, 0, 4);
	put(m, 0, 8);
	put(m, 0, 8);
	put(m, ~0ULL, more);
	section_end(m);
}

/* A row of the figures that were announced, with path kind and path. */
static void put_row(struct made *m, __u64 ino, size_t nfigs, __u8 kind, const char *path)
{
	size_t at = m->len;
	__u32 len;

	put(m, 0, 4);
	put(m, ino, 8);
	put(m, 8 << 20, 4);
	put(m, 0, 8);
	put(m, 0, 4);			/* scope */
	put(m, 0, 8);
	put(m, 0, 8);
	put(m, 0, 8);
	for (size_t i = 0; i < nfigs; i++)
		put(m, 100 + i, 8);
	put(m, kind, 1);
	if (path) {
		put(m, strlen(path), 2);
		memcpy(m->p + m->len, path, strlen(path));
		m->len += strlen(path);
	}
	len = (__u32)(m->len - at - 4);
	memcpy(m->p + at, &len, 4);
}

static void seal(__u8 *block, size_t stored)
{
	__u32 crc = (__u32)crc32(crc32(0, block, 12), block + 16, (uInt)stored);

	memcpy(block + 12, &crc, 4);
}

static size_t put_block(__u8 *to, __u32 type, const void *raw, size_t len, __u32 claim)
{
	uLongf stored = compressBound(len);
	__u32 h[3] = { type };

	assert_int_equal(compress(to + 16, &stored, raw, len), Z_OK);
	h[1] = (__u32)stored;
	h[2] = claim;
	memcpy(to, h, 12);
	seal(to, stored);
	return 16 + stored;
}

static size_t put_header(__u8 *to)
{
	memcpy(to, "FOLIOSC\n\1\0\030\0\1\0\0\0\0\0\0\0\0\0\0\0", HEADER);
	return HEADER;
}

/* Reads one hand-made payload. */
static int read_made(const struct made *m, struct snapshot *got, char *error, size_t size)
{
	__u8 file[16384];
	size_t len = put_header(file);
	struct record_reader *r;
	int ret;

	len += put_block(file + len, 1, m->p, m->len, (__u32)m->len);
	r = record_open_fd(memory_file(file, len), error, (size_t)size);
	assert_non_null(r);
	ret = record_read(r, got);
	snprintf(error, size, "%s", record_error(r));
	record_reader_close(r);
	return ret;
}

/* From an older program with fewer figures, and from a later one with more of everything. */
static void other_versions(void **state)
{
	struct made m = { .len = 0 };
	struct snapshot got;
	char err[256];

	put_head(&m, 0, 8);		/* 8 bytes more than known */
	section(&m, 900);		/* a section not known */
	put(&m, ~0ULL, 8);
	section_end(&m);
	section(&m, 2);			/* a provenance and a figure not known */
	put(&m, 3, 2);
	put(&m, FIG_PAGES, 2);
	put(&m, 1000, 2);
	put(&m, FIG_MARKS, 2);
	put(&m, PROV_SAMPLED, 4);
	put(&m, 16, 4);
	put(&m, PROV_MEASURED, 4);
	put(&m, 0, 4);
	put(&m, 99, 4);
	put(&m, 0, 4);
	section_end(&m);
	section(&m, 4);
	put(&m, 2, 2);
	put(&m, 1000, 2);
	put(&m, FIG_PAGES, 2);
	put(&m, 1, 4);
	put_row(&m, 5, 2, 2, "/x");
	section_end(&m);
	assert_int_equal(read_made(&m, &got, err, sizeof(err)), 1);
	assert_int_equal(got.seq, 77);
	assert_int_equal(got.possible_cpus, 2);
	assert_int_equal(got.prov[FIG_PAGES], PROV_SAMPLED);
	assert_int_equal(got.sample_n[FIG_PAGES], 16);
	assert_int_equal(got.prov[FIG_MARKS], PROV_UNAVAILABLE);
	assert_int_equal(got.nrows, 1);
	assert_string_equal(got.rows[0].path, "/x");
	assert_int_equal(got.rows[0].v[FIG_PAGES], 101);
	assert_int_equal(got.rows[0].v[FIG_ACCESSES], 0);
	snapshot_free(&got);
}

/* ---- made to hurt ---- */

static void begin_rows(struct made *m, __u32 count)
{
	section(m, 4);
	put(m, 1, 2);
	put(m, FIG_PAGES, 2);
	put(m, count, 4);
}

static void huge_row_count(struct made *m)
{
	begin_rows(m, ~0U);
}

static void more_rows_than_bytes(struct made *m)
{
	begin_rows(m, 30);
	put_row(m, 5, 1, 0, NULL);
}

static void rows_out_of_order(struct made *m)
{
	begin_rows(m, 2);
	put_row(m, 5, 1, 0, NULL);
	put_row(m, 4, 1, 0, NULL);
}

static void row_twice(struct made *m)
{
	begin_rows(m, 2);
	put_row(m, 5, 1, 0, NULL);
	put_row(m, 5, 1, 0, NULL);
}

static void same_path_as_none(struct made *m)
{
	begin_rows(m, 1);
	put_row(m, 5, 1, 1, NULL);
}

static void path_kind_unknown(struct made *m)
{
	begin_rows(m, 1);
	put_row(m, 5, 1, 3, NULL);
}

static void path_longer_than_row(struct made *m)
{
	begin_rows(m, 1);
	put_row(m, 5, 1, 2, NULL);
}

static void path_with_nul(struct made *m)
{
	begin_rows(m, 1);
	put_row(m, 5, 1, 2, "/ax");
	m->p[m->len - 1] = 0;
}

static void scope_unknown(struct made *m)
{
	begin_rows(m, 1);
	put_row(m, 5, 1, 0, NULL);
	m->p[m->len - 57 + 20] = FS_SCOPES;
}

static void too_many_figures(struct made *m)
{
	section(m, 4);
	put(m, 257, 2);
	put_zeros(m, 2 * 257 + 4);
}

static void removed_row_unknown(struct made *m)
{
	section(m, 5);
	put(m, 1, 4);
	put(m, 24, 4);
	put(m, 5, 8);
	put(m, 0, 8);
	put(m, 0, 8);
}

static void put_cpu(struct made *m, __u32 cpu)
{
	put(m, 72, 4);
	put(m, cpu, 4);
	put(m, 0, 4);
	put_zeros(m, 64);
}

static void cpus_out_of_order(struct made *m)
{
	section(m, 6);
	put(m, 2, 4);
	put_cpu(m, 1);
	put_cpu(m, 1);
}

static void cpu_too_large(struct made *m)
{
	section(m, 6);
	put(m, 1, 4);
	put_cpu(m, 65536);
}

static void too_many_cpus(struct made *m)
{
	section(m, 6);
	put(m, 65537, 4);
}

static void string_too_long(struct made *m)
{
	section(m, 10);
	put(m, 1, 4);
	put(m, 50, 4);
	put(m, 32, 2);
	for (int i = 0; i < 6; i++)
		put(m, 0x4141414141414141, 8);
}

static void string_with_nul(struct made *m)
{
	section(m, 10);
	put(m, 1, 4);
	put(m, 21, 4);
	put(m, 3, 2);
	put(m, 'a' | 'b' << 16, 3);
	put_zeros(m, 16);
}

static void too_many_buckets(struct made *m)
{
	section(m, 8);
	put(m, 1, 2);
	put(m, 700, 4);
	put_zeros(m, 60);
	put(m, 65, 2);
	put_zeros(m, 638);
}

static void item_longer_than_section(struct made *m)
{
	section(m, 7);
	put(m, 1, 4);
	put(m, ~0U, 4);
}

static void section_longer_than_block(struct made *m)
{
	put(m, 10, 4);
	put(m, 5, 4);
	put(m, 0, 4);
}

static void section_twice(struct made *m)
{
	section(m, 10);
	put(m, 0, 4);
	section_end(m);
	section(m, 10);
	put(m, 0, 4);
}

static void head_cut(struct made *m)
{
	m->len -= 9;
}

static void trailing_bytes(struct made *m)
{
	section(m, 10);
	put(m, 0, 4);
	section_end(m);
	put(m, 0, 3);
}

static void hostile_payloads(void **state)
{
	static const struct {
		const char *what;
		void (*make)(struct made *m);
	} t[] = {
#define T(f) { #f, f }
		T(huge_row_count), T(more_rows_than_bytes), T(rows_out_of_order), T(row_twice),
		T(same_path_as_none), T(path_kind_unknown), T(path_longer_than_row),
		T(path_with_nul), T(scope_unknown), T(too_many_figures), T(removed_row_unknown),
		T(cpus_out_of_order), T(cpu_too_large), T(too_many_cpus), T(string_too_long),
		T(string_with_nul),
		T(too_many_buckets), T(item_longer_than_section), T(section_longer_than_block),
		T(section_twice), T(head_cut), T(trailing_bytes),
#undef T
	};
	struct snapshot got;
	char err[256];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct made m = { .len = 0 };
		int ret;

		put_head(&m, 0, 0);
		/* The head alone is a snapshot: what makes it bad is what follows. */
		assert_int_equal(read_made(&m, &got, err, sizeof(err)), 1);
		snapshot_free(&got);
		t[i].make(&m);
		if (!m.closed)
			section_end(&m);
		ret = read_made(&m, &got, err, sizeof(err));
		if (ret != -EBADMSG || strncmp(err, "block at byte 24: ", 18))
			fail_msg("%s: %d '%s'", t[i].what, ret, err);
		assert_one_line(err);
	}
}

static void wrong_places(void **state)
{
	struct made m = { .len = 0 };
	struct snapshot got;
	char err[256];

	put_head(&m, 1, 0);
	assert_int_equal(read_made(&m, &got, err, sizeof(err)), -EBADMSG);
	assert_string_equal(err, "block at byte 24: it is snapshot 1 where 0 should be");
	m.len = 0;
	section(&m, 10);
	put(&m, 0, 4);
	section_end(&m);
	assert_int_equal(read_made(&m, &got, err, sizeof(err)), -EBADMSG);
	m.len = 0;
	assert_int_equal(read_made(&m, &got, err, sizeof(err)), -EBADMSG);
}

static void unknown_blocks_are_skipped(void **state)
{
	struct snapshot s[SMALL];
	struct bytes b = small_record(s);
	size_t ends[SMALL + 1], len, from = HEADER;
	__u8 *p = malloc(b.len + 4096);
	struct outcome o;

	block_ends(&b, ends);
	memcpy(p, b.p, HEADER);
	len = HEADER;
	for (int i = 0; i <= SMALL; i++) {
		len += put_block(p + len, 1000, "not for us", 10, 10);
		memcpy(p + len, b.p + from, ends[i] - from);
		len += ends[i] - from;
		from = ends[i];
	}
	o = read_bytes(p, len, s, SMALL);
	assert_true(o.last == 0 && o.good == SMALL && !o.wrong);
	/* But not when their checksum is wrong: their type may be what is damaged. */
	p[HEADER + 17] ^= 1;
	o = read_bytes(p, len, s, SMALL);
	assert_true(o.last == -EBADMSG && o.good == 0);
	free(p);
	free(b.p);
	free_all(s, SMALL);
}

/* A header that grew in a later version is skipped to its end. */
static void longer_header(void **state)
{
	struct snapshot s[SMALL];
	struct bytes b = small_record(s);
	__u8 *p = malloc(b.len + 100);
	struct outcome o;

	memcpy(p, b.p, HEADER);
	memset(p + HEADER, 0xee, 100);
	p[10] = HEADER + 100;
	memcpy(p + HEADER + 100, b.p + HEADER, b.len - HEADER);
	o = read_bytes(p, b.len + 100, s, SMALL);
	assert_true(o.last == 0 && o.good == SMALL && !o.wrong);
	free(p);
	free(b.p);
	free_all(s, SMALL);
}

static void bombs(void **state)
{
	static const struct {
		const char *what;
		size_t real;
		__u32 claim;
		const char *want;
	} t[] = {
		{ "more than announced", 40 << 20, 1 << 20, "does not unpack" },
		{ "more than announced, a little", 1001, 1000, "does not unpack" },
		{ "less than announced", 999, 1000, "does not unpack" },
		{ "announced past the limit", 10, 300 << 20, "out of range" },
		{ "announced all there is", 10, ~0U, "out of range" },
		{ "impossible ratio", 10, 256 << 20, "more than it can hold" },
	};
	/* Never written to: pages of zeros that take no memory. */
	void *zeros = mmap(NULL, 40 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u8 *p = malloc(compressBound(40 << 20) + 1000);

	assert_true(zeros != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		size_t len = put_header(p);
		struct outcome o;

		len += put_block(p + len, 1, zeros, t[i].real, t[i].claim);
		o = read_bytes(p, len, NULL, 0);
		if (o.last != -EBADMSG || o.good || o.wrong || !strstr(o.error, t[i].want))
			fail_msg("%s: %d '%s'", t[i].what, o.last, o.error);
	}
	free(p);
	munmap(zeros, 40 << 20);
}

static void bytes_behind_the_stream(void **state)
{
	struct made m = { .len = 0 };
	__u8 p[2048];
	size_t len = put_header(p), block;
	struct outcome o;

	put_head(&m, 0, 0);
	block = put_block(p + len, 1, m.p, m.len, (__u32)m.len);
	memset(p + len + block, 0, 3);
	p[len + 4] += 3;
	seal(p + len, block - 16 + 3);
	o = read_bytes(p, len + block + 3, NULL, 0);
	assert_true(o.last == -EBADMSG && strstr(o.error, "does not unpack"));
}

/* A stored length without the bytes: what arrives is what costs memory. */
static void claimed_length(void **state)
{
	__u8 p[64] = { 0 };
	size_t len = put_header(p);
	struct outcome o;

	p[len] = 1;
	p[len + 7] = 16;		/* 256 MiB */
	p[len + 11] = 16;
	o = read_bytes(p, sizeof(p), NULL, 0);
	assert_true(o.last == -EBADMSG && strstr(o.error, "cut short"));
	p[len + 4] = 1;			/* and one */
	o = read_bytes(p, sizeof(p), NULL, 0);
	assert_true(o.last == -EBADMSG && strstr(o.error, "out of range"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(flip_any_bit),
		cmocka_unit_test(whole_blocks_moved),
		cmocka_unit_test(foreign_files),
		cmocka_unit_test(other_versions),
		cmocka_unit_test(hostile_payloads),
		cmocka_unit_test(wrong_places),
		cmocka_unit_test(unknown_blocks_are_skipped),
		cmocka_unit_test(longer_header),
		cmocka_unit_test(bombs),
		cmocka_unit_test(bytes_behind_the_stream),
		cmocka_unit_test(claimed_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
