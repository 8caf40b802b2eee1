/* SPDX-License-Identifier: GPL-2.0-only */
/* test_sanitize.c - foreign strings made harmless, whatever the bytes and whatever the locale. */
/* units: sanitize.c log.c */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <cmocka.h>

#include "fixture_snapshot.h"
#include "log.h"
#include "sanitize.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define LIT(s) s, sizeof(s) - 1

static const struct {
	const char *src;
	size_t len;
	const char *want;
	size_t width;
} cases[] = {
	{ LIT(""), "", 0 },
	{ LIT("plain /path"), "plain /path", 11 },
	{ LIT("a\\b"), "a\\\\b", 4 },
	{ LIT("\x1b[31m"), "\\x1B[31m", 8 },
	{ LIT("a\0b"), "a\\x00b", 6 },
	{ LIT("\r\n\t\x7f"), "\\x0D\\x0A\\x09\\x7F", 16 },
	{ LIT("\x9b"), "\\x9B", 4 },
	{ LIT("\xc2\x9b"), "\\xC2\\x9B", 8 },
	{ LIT("\xc2\xa0\xc3\xa9"), "\xc2\xa0\xc3\xa9", 2 },
	{ LIT("\xc2\xad"), "\\u{00AD}", 8 },			/* soft hyphen */
	{ LIT("\xe2\x80\xae"), "\\u{202E}", 8 },		/* right-to-left override */
	{ LIT("\xe2\x80\x8b"), "\\u{200B}", 8 },		/* zero width space */
	{ LIT("\xe2\x80\xa8"), "\\u{2028}", 8 },		/* line separator */
	{ LIT("\xe2\x81\xa6"), "\\u{2066}", 8 },		/* isolate */
	{ LIT("\xef\xbb\xbf"), "\\u{FEFF}", 8 },		/* BOM */
	{ LIT("\xef\xb8\x8f"), "\\u{FE0F}", 8 },		/* variation selector */
	{ LIT("\xee\x80\x80"), "\\u{E000}", 8 },		/* private use */
	{ LIT("\xef\xbf\xbf"), "\\u{FFFF}", 8 },		/* noncharacter */
	{ LIT("\xcd\xb8"), "\\u{0378}", 8 },			/* unassigned */
	{ LIT("\xf3\xa0\x81\x81"), "\\u{E0041}", 9 },		/* tag */
	{ LIT("\xf4\x8f\xbf\xbf"), "\\u{10FFFF}", 10 },
	{ LIT("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80", 16 },	/* beyond U+10FFFF */
	{ LIT("\xc0\xaf"), "\\xC0\\xAF", 8 },			/* overlong '/' */
	{ LIT("\xe0\x80\xaf"), "\\xE0\\x80\\xAF", 12 },
	{ LIT("\xf0\x80\x80\xaf"), "\\xF0\\x80\\x80\\xAF", 16 },
	{ LIT("\xed\xa0\x80"), "\\xED\\xA0\\x80", 12 },		/* surrogate */
	{ LIT("\xe2\x82"), "\\xE2\\x82", 8 },			/* cut */
	{ LIT("\xe2\x82x"), "\\xE2\\x82x", 9 },
	{ LIT("\xe6\x97\xa5\xe6\x9c\xac"), "\xe6\x97\xa5\xe6\x9c\xac", 4 },
	{ LIT("e\xcc\x81"), "e\xcc\x81", 1 },			/* combining acute */
	{ LIT("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80", 2 },	/* emoji */
};

static void test_cases(void **state)
{
	char buf[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t need = sanitize(buf, sizeof(buf), cases[i].src, cases[i].len);

		assert_string_equal(buf, cases[i].want);
		assert_int_equal(need, strlen(cases[i].want));
		assert_int_equal(sanitize_width(buf), cases[i].width);
	}
}

static void test_locale_does_not_matter(void **state)
{
	static const char *const names[] = { "C", "C.UTF-8" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_non_null(setlocale(LC_ALL, names[i]));
		test_cases(state);
	}
	setlocale(LC_ALL, "C");
}

/* Truncation is at a unit: what is there is a prefix, and the length needed is still told. */
static void test_truncated(void **state)
{
	static const char src[] = "a\x1b\xc3\xa9\xe2\x80\xae\\z";
	static const char full[] = "a\\x1B\xc3\xa9\\u{202E}\\\\z";
	static const size_t ends[] = { 0, 1, 5, 7, 15, 17, 18 };	/* where units end */
	char buf[64];
	size_t size, i, want;

	for (size = 0; size < sizeof(full) + 3; size++) {
		memset(buf, '#', sizeof(buf));
		assert_int_equal(sanitize(buf, size, src, sizeof(src) - 1), sizeof(full) - 1);
		assert_int_equal(buf[size], '#');
		if (!size)
			continue;
		for (want = 0, i = 0; i < ARRAY_SIZE(ends); i++)
			want = ends[i] < size ? ends[i] : want;
		assert_int_equal(strlen(buf), want);
		assert_memory_equal(buf, full, want);
	}
}

static void assert_harmless(const char *s)
{
	mbstate_t st = { 0 };
	const char *p = s;
	size_t n;

	/* The C library's own decoder and tables agree that all of it is printable. */
	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	while (*p) {
		wchar_t c;

		n = mbrtowc(&c, p, strlen(p), &st);
		assert_true(n > 0 && n <= 4);
		assert_true(wcwidth(c) >= 0);
		p += n;
	}
	setlocale(LC_ALL, "C");
}

/* Undoes the escapes; what comes out must be what went in. */
static size_t undo(char *out, const char *s)
{
	size_t len = 0;

	while (*s) {
		unsigned int v;
		int n = 0;

		if (*s != '\\') {
			out[len++] = *s++;
		} else if (s[1] == '\\') {
			out[len++] = '\\';
			s += 2;
		} else if (sscanf(s, "\\x%2X%n", &v, &n) == 1 && n == 4) {
			out[len++] = v;
			s += 4;
		} else {
			assert_int_equal(sscanf(s, "\\u{%X}%n", &v, &n), 1);
			assert_true(n > 0 && v >= 0x80);
			if (v < 0x800) {
				out[len++] = 0xc0 | v >> 6;
			} else if (v < 0x10000) {
				out[len++] = 0xe0 | v >> 12;
				out[len++] = 0x80 | (v >> 6 & 0x3f);
			} else {
				out[len++] = 0xf0 | v >> 18;
				out[len++] = 0x80 | (v >> 12 & 0x3f);
				out[len++] = 0x80 | (v >> 6 & 0x3f);
			}
			out[len++] = 0x80 | (v & 0x3f);
			s += n;
		}
	}
	return len;
}

static void check_any(const char *src, size_t len)
{
	char *safe = sanitize_dup(src, len), *back;
	size_t n;

	assert_non_null(safe);
	assert_harmless(safe);
	back = malloc(strlen(safe) + 1);
	n = undo(back, safe);
	assert_int_equal(n, len);
	assert_memory_equal(back, src, len);
	free(back);
	free(safe);
}

static void test_any_bytes(void **state)
{
	/* Leads and continuations often enough that sequences really form. */
	static const unsigned char pool[] = {
		0x00, 0x0a, 0x1b, 0x2f, 0x41, 0x5c, 0x78, 0x7b, 0x7f, 0x80, 0x8b, 0x9b, 0xa8,
		0xae, 0xbb, 0xbf, 0xc0, 0xc2, 0xcd, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf3, 0xf4, 0xff,
	};
	char src[24];
	int round, i;
	size_t len;

	srand(1);
	for (round = 0; round < 20000; round++) {
		len = rand() % sizeof(src);
		for (i = 0; i < (int)len; i++)
			src[i] = round & 1 ? pool[rand() % sizeof(pool)] : rand();
		check_any(src, len);
	}
	for (i = 0; i < (int)FIX_HOSTILE; i++)
		check_any(fix_hostile[i], strlen(fix_hostile[i]));
}

/* Every code point: our width is that of the C library, or it is escaped. */
static void test_every_code_point(void **state)
{
	unsigned int differ = 0;
	char buf[16], mb[8];
	uint32_t c;

	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	for (c = 0xa0; c < 0x110000; c++) {
		mbstate_t st = { 0 };
		size_t len;
		int want;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		len = wcrtomb(mb, c, &st);
		assert_true(len != (size_t)-1);
		sanitize(buf, sizeof(buf), mb, len);
		if (buf[0] == '\\')
			continue;
		want = wcwidth(c);
		differ += want != (int)sanitize_width(buf);
	}
	setlocale(LC_ALL, "C");
	/* Versions of Unicode disagree on a few; more would be a broken table. */
	assert_true(differ < 40);
}

static const struct {
	const char *s;
	size_t width;
	const char *want;
} ellipses[] = {
	{ "/a/b/c", 6, "/a/b/c" },
	{ "/a/b/c", 5, "/a\xe2\x80\xa6/c" },
	{ "/a/b/c", 4, "/\xe2\x80\xa6/c" },
	{ "/a/b/c", 2, "\xe2\x80\xa6" "c" },
	{ "/a/b/c", 1, "\xe2\x80\xa6" },
	{ "/a/b/c", 0, "" },
	{ "", 0, "" },
	/* An escape goes whole or not at all, also when that leaves a column empty. */
	{ "ab\\x1Bcd", 7, "ab\xe2\x80\xa6" "cd" },
	{ "\\x1Babcdefgh", 10, "\\x1B\xe2\x80\xa6" "defgh" },
	{ "\\x1Babcdefgh", 8, "\xe2\x80\xa6" "efgh" },
	{ "\\u{202E}abc", 5, "\xe2\x80\xa6" "bc" },
	/* Wide characters do not fit by halves; a combining mark keeps to its letter. */
	{ "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4, "\xe2\x80\xa6\xe8\xaa\x9e" },
	{ "abce\xcc\x81" "d", 3, "a\xe2\x80\xa6" "d" },
};

static void test_ellipsis(void **state)
{
	char buf[64];
	size_t i, size;

	for (i = 0; i < ARRAY_SIZE(ellipses); i++) {
		sanitize_ellipsis(buf, sizeof(buf), ellipses[i].s, ellipses[i].width);
		assert_string_equal(buf, ellipses[i].want);
		assert_true(sanitize_width(buf) <= ellipses[i].width);
		for (size = 1; size < 16; size++) {
			memset(buf, '#', sizeof(buf));
			sanitize_ellipsis(buf, size, ellipses[i].s, ellipses[i].width);
			assert_int_equal(buf[size], '#');
			assert_true(strlen(buf) < size);
			assert_harmless(buf);
		}
	}
}

static void test_ellipsis_of_anything(void **state)
{
	char safe[512], buf[512];
	size_t i, width;

	for (i = 0; i < FIX_HOSTILE; i++) {
		sanitize(safe, sizeof(safe), fix_hostile[i], strlen(fix_hostile[i]));
		for (width = 0; width < 60; width++) {
			sanitize_ellipsis(buf, sizeof(buf), safe, width);
			assert_true(sanitize_width(buf) <= width);
			assert_harmless(buf);
		}
	}
}

static const struct {
	int err;
	const char *want;
} errors[] = {
	{ EPERM, "EPERM (Operation not permitted)" },
	{ -ENOENT, "ENOENT (No such file or directory)" },
	{ 524, "ENOTSUPP (Not supported by this kernel)" },
	{ -524, "ENOTSUPP (Not supported by this kernel)" },
	{ 4000, "errno 4000" },
	{ 0, "no error" },
};

static void test_errstr(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		assert_string_equal(errstr(errors[i].err), errors[i].want);
	assert_string_equal(errstr(-2147483647 - 1), "errno -2147483648");
}

/* What a log call writes to stderr. */
static void logged(char *buf, size_t size, void (*call)(void))
{
	int saved = dup(STDERR_FILENO), fd[2];
	ssize_t n;

	assert_int_equal(pipe(fd), 0);
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	call();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = read(fd[0], buf, size - 1);
	close(fd[0]);
	buf[n > 0 ? n : 0] = '\0';
}

static void call_warn(void)
{
	log_warn("%s: open: %s; skipped\n", "a\nb\x1b", errstr(-EPERM));
}

static void call_info(void)
{
	log_info("too quiet");
}

static void test_log(void **state)
{
	char buf[256];

	log_threshold = LOG_WARN;
	errno = EDOM;
	logged(buf, sizeof(buf), call_warn);
	assert_string_equal(buf, "folioscope: a b : open: EPERM (Operation not permitted); "
				 "skipped\n");
	logged(buf, sizeof(buf), call_info);
	assert_string_equal(buf, "");
	log_threshold = LOG_INFO;
	logged(buf, sizeof(buf), call_info);
	assert_string_equal(buf, "folioscope: too quiet\n");
	log_threshold = LOG_QUIET;
	logged(buf, sizeof(buf), call_warn);
	assert_string_equal(buf, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_locale_does_not_matter),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_every_code_point),
		cmocka_unit_test(test_ellipsis),
		cmocka_unit_test(test_ellipsis_of_anything),
		cmocka_unit_test(test_errstr),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
