/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_sites.c - kernel symbols from text, the function behind a stack, and sums by file.
 */
/* units: sites.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sites.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- symbols ---- */

/* Not in order, as /proc/kallsyms is not past the kernel itself. */
static const char symbols[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 t first_local\n"
	"ffffffff81001000 t __pfx_folio_put\n"
	"ffffffff81001010 T folio_put\n"
	"ffffffff81001100 T __folio_put\n"
	"ffffffff81001200 T folios_put_refs\n"
	"ffffffff81001300 T release_pages\n"
	"ffffffff81001400 t folio_batch_move_lru.part.0\n"
	"ffffffff81001500 T filemap_get_read_batch\n"
	"ffffffff81001600 T filemap_read\n"
	"ffffffff81001700 T truncate_inode_pages_range\n"
	"ffffffff81001800 T bpf_trace_run3\n"
	"ffffffff81001900 T __bpf_trace_page_ref_mod_unless\n"
	"ffffffff81001a00 T __traceiter_page_ref_mod_unless\n"
	"ffffffff81001b00 T __page_ref_mod_unless\n"
	"ffffffff81001c00 T folio_try_get_rcu\n"
	"ffffffff81001d00 t filemap_read.cold\n"
	"ffffffff81001e00 W weak_one\n"
	"ffffffff81001e00 t weak_alias\n"
	"ffffffff81001f00 D some_data\n"
	"ffffffff81002000 t folio_batch_move_lru.constprop.0\n"
	"ffffffff81002100 t rust.odd$name\n"
	"ffffffffc0200000 t ext4_file_read_iter\t[ext4]\n"
	"ffffffffc0200100 t ext4_truncate.isra.0\t[ext4]\n"
	"ffffffffc0200200 t filemap_read\t[other]\n"
	"ffffffffc0100000 t bpf_prog_6deef7357e7b4530_refs_mod\t[bpf]\n"
	"ffffffffc0110000 t odd_program\t[bpf]\n"
	"ffffffffc0120000 t ftrace_trampoline\t[__builtin__ftrace]\n";

#define RUN3 0xffffffff81001805ULL
#define ITER 0xffffffff81001a05ULL
#define PAGE_REF 0xffffffff81001b05ULL
#define PROG 0xffffffffc0100020ULL
#define UNKNOWN 0xffffffffc0900000ULL

static struct ksyms *parse(const char *text)
{
	struct ksyms *k = NULL;

	assert_int_equal(ksyms_parse(&k, text, strlen(text)), 0);
	assert_non_null(k);
	return k;
}

static void names(void **state)
{
	static const struct {
		__u64 addr;
		const char *want;
	} t[] = {
		{ 0, NULL },
		{ 0xffffffff80ffffffULL, NULL },
		{ 0xffffffff81000000ULL, "_stext" },		/* global before local */
		{ 0xffffffff8100100fULL, "_stext" },		/* padding is nobody's */
		{ 0xffffffff81001010ULL, "folio_put" },
		{ 0xffffffff810010ffULL, "folio_put" },
		{ 0xffffffff81001450ULL, "folio_batch_move_lru" },
		{ 0xffffffff81001d10ULL, "filemap_read" },
		{ 0xffffffff81001e00ULL, "weak_one" },
		{ 0xffffffff81001f08ULL, "weak_one" },		/* data is no function */
		{ 0xffffffff81002110ULL, "rust.odd$name" },
		{ 0xffffffff811020ffULL, "rust.odd$name" },
		{ 0xffffffff81202100ULL, NULL },		/* too far from anything */
		{ 0xffffffffc0200000ULL, "ext4_file_read_iter [ext4]" },
		{ 0xffffffffc0200101ULL, "ext4_truncate [ext4]" },
		{ ~0ULL, NULL },
	};
	struct ksyms *k = parse(symbols);
	const char *name;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		name = ksyms_name(k, t[i].addr);
		if (!t[i].want)
			assert_null(name);
		else if (!name || strcmp(name, t[i].want))
			fail_msg("%llx: %s, not %s", t[i].addr, name, t[i].want);
	}
	assert_int_equal(ksyms_count(k), 24);
	ksyms_free(k);
}

/* The same line alone: what it gives. */
static void lines(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *want;	/* at 0x1000 */
	} t[] = {
		{ "1000 T a", 0, "a" },
		{ "1000 T a\n", 0, "a" },
		{ "\n\n1000 t a\n\n", 0, "a" },
		{ "0000000000001000 t a", 0, "a" },
		{ "1000 t a.isra.0.cold\t[m]", 0, "a [m]" },
		{ "1000 t a.llvm.123", 0, "a" },
		{ "1000 t a.b.part.0", 0, "a.b" },
		{ "1000 t .part.0", 0, ".part.0" },
		{ "1000 t a.partial", 0, "a.partial" },
		{ "1000 t a\t[m]\ttrailing", 0, "a [m]" },
		{ "1000 t a  [m]", 0, "a [m]" },
		{ "1000 t a\tm", 0, "a" },
		{ "1000 t a\r\n", 0, "a" },
		{ "1000 w a", 0, "a" },
		{ "", -ENODATA, NULL },
		{ "\n", -ENODATA, NULL },
		{ "1000", -ENODATA, NULL },
		{ "1000 ", -ENODATA, NULL },
		{ "1000 T", -ENODATA, NULL },
		{ "1000 T ", -ENODATA, NULL },
		{ "1000 T \t[m]", -ENODATA, NULL },
		{ "1000 TT a", -ENODATA, NULL },
		{ "1000\tT a", -ENODATA, NULL },
		{ " 1000 T a", -ENODATA, NULL },
		{ "0x1000 T a", -ENODATA, NULL },
		{ "00000000000001000 T a", -ENODATA, NULL },	/* 17 digits */
		{ "1000 d a", -ENODATA, NULL },
		{ "1000 t __pfx_a", -ENODATA, NULL },
		{ "0 T a", -EACCES, NULL },
		{ "0 T a\n0 t b\t[m]\n", -EACCES, NULL },
		{ "0 T a\n1000 T b\n", 0, "b" },
		{ "0 D a\n", -ENODATA, NULL },
	};
	struct ksyms *k;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		k = (void *)1;
		assert_int_equal(ksyms_parse(&k, t[i].text, strlen(t[i].text)), t[i].err);
		if (t[i].err) {
			assert_null(k);
			continue;
		}
		assert_string_equal(ksyms_name(k, 0x1000), t[i].want);
		ksyms_free(k);
	}
	ksyms_free(NULL);
}

/* Every prefix of the text, and the text with every byte changed: no crash, names that end. */
static void mangled(void **state)
{
	static const char bytes[] = { '\0', '\n', '\t', ' ', '.', '[', 'T', '0', (char)0xff };
	char text[sizeof(symbols)];
	struct ksyms *k;
	size_t len = sizeof(symbols) - 1;

	for (size_t i = 0; i < len * (1 + sizeof(bytes)); i++) {
		memcpy(text, symbols, sizeof(symbols));
		if (i >= len)
			text[i % len] = bytes[i / len - 1];
		if (ksyms_parse(&k, text, i < len ? i : len))
			continue;
		for (__u64 a = 0xffffffff81000000ULL; a < 0xffffffff81003000ULL; a += 0x400) {
			const char *name = ksyms_name(k, a);

			assert_true(!name || strlen(name) < 80);
		}
		ksyms_free(k);
	}
}

static void files(void **state)
{
	char path[] = "/tmp/sites.XXXXXX";
	int fd = mkstemp(path);
	struct ksyms *k;
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	assert_int_equal(ksyms_load(&k, path), -ENODATA);
	/* More than fits the first buffer, to see it grow. */
	for (unsigned int i = 0; i < 300000; i++)
		fprintf(f, "ffffffff%08x t a_function_with_a_rather_long_name_%u\n", i * 16, i);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(ksyms_load(&k, path), 0);
	assert_int_equal(ksyms_count(k), 300000);
	assert_string_equal(ksyms_name(k, 0xffffffff00000000ULL + 299999 * 16 + 5),
			    "a_function_with_a_rather_long_name_299999");
	ksyms_free(k);
	unlink(path);
	assert_int_equal(ksyms_load(&k, path), -ENOENT);
	assert_null(k);
	assert_int_equal(ksyms_load(&k, "/"), -EISDIR);
}

static void errors(void **state)
{
	static const int errs[] = { -EACCES, -EPERM, -ENODATA, -ENOENT, -EFBIG, -ENOMEM, -EIO };

	assert_non_null(strstr(ksyms_errstr(-EACCES), "kptr_restrict"));
	for (size_t i = 0; i < ARRAY_SIZE(errs); i++)
		assert_true(strlen(ksyms_errstr(errs[i])) > 10);
}

/* Three saved kernels: what hooks.md says of them. */
static void saved(void **state)
{
	static const char *const kernels[] = { "debian-6.1", "debian-6.12", "restricted-6.18" };
	char path[96];
	struct ksyms *k;

	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		snprintf(path, sizeof(path), "tests/unit/data/%s.kallsyms", kernels[i]);
		assert_int_equal(ksyms_load(&k, path), 0);
		assert_true(ksyms_count(k) > 100);
		ksyms_free(k);
	}
}

/* ---- callers ---- */

static void callers(void **state)
{
	static const struct {
		__u64 addr[8];
		const char *want;
	} t[] = {
		/* A get by the read path, seen through a tracepoint. */
		{ { PROG, RUN3, ITER, PAGE_REF, 0xffffffff81001520, 0xffffffff81001620 },
		  "filemap_get_read_batch" },
		/* Program without a name (bpf_jit_kallsyms = 0). */
		{ { UNKNOWN, RUN3, PAGE_REF, 0xffffffff81001520 }, "filemap_get_read_batch" },
		/* Wrappers, one in the other. */
		{ { PROG, RUN3, PAGE_REF, 0xffffffff81001210, 0xffffffff81001310,
		    0xffffffff81001420 }, "folio_batch_move_lru" },
		{ { PROG, RUN3, PAGE_REF, 0xffffffff81001c10, 0xffffffff81001620 },
		  "filemap_read" },
		/* A call that is the last thing in its function: still that one. */
		{ { PROG, RUN3, 0xffffffff81001100, 0xffffffff81001600 },
		  "filemap_get_read_batch" },
		/* Innermost frame: exactly that address. */
		{ { 0xffffffff81001600 }, "filemap_read" },
		/* A module's function; another module's that is named like one of the kernel's. */
		{ { PROG, RUN3, 0xffffffffc0200110 }, "ext4_truncate [ext4]" },
		{ { PROG, RUN3, 0xffffffffc0200210 }, "filemap_read [other]" },
		/* Tracing without a telling name. */
		{ { 0xffffffffc0110010, 0xffffffffc0120010, 0xffffffff81001620 }, "filemap_read" },
		/* Nothing but wrappers: the outermost. Nothing but tracing, or nothing. */
		{ { PROG, RUN3, PAGE_REF, 0xffffffff81001020, 0xffffffff81001310 },
		  "release_pages" },
		{ { PROG, RUN3, PAGE_REF }, SITE_UNKNOWN },
		{ { UNKNOWN, UNKNOWN }, SITE_UNKNOWN },
		{ { 0 }, SITE_UNKNOWN },
		/* A caller without a name is not passed over in favour of the next. */
		{ { PROG, RUN3, PAGE_REF, UNKNOWN, 0xffffffff81001620 }, SITE_UNKNOWN },
		/* 0 ends the stack. */
		{ { PROG, 0, 0xffffffff81001620 }, SITE_UNKNOWN },
	};
	struct ksyms *k = parse(symbols);

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_string_equal(sites_caller(k, t[i].addr, ARRAY_SIZE(t[i].addr)), t[i].want);
	assert_string_equal(sites_caller(k, t[0].addr, 4), SITE_UNKNOWN);
	assert_string_equal(sites_caller(k, NULL, 0), SITE_UNKNOWN);
	assert_string_equal(sites_caller(NULL, t[0].addr, 8), SITE_UNKNOWN);
	ksyms_free(k);
}

/* ---- sums ---- */

static const __u64 read_stack[] = { PROG, RUN3, PAGE_REF, 0xffffffff81001520 };
static const __u64 other_read_stack[] = { PROG, RUN3, ITER, PAGE_REF, 0xffffffff81001530 };
static const __u64 put_stack[] = { PROG, RUN3, PAGE_REF, 0xffffffff81001020, 0xffffffff81001620 };
static const __u64 cold_stack[] = { PROG, RUN3, PAGE_REF, 0xffffffff81001d20 };
static const __u64 lru_stack[] = { PROG, RUN3, PAGE_REF, 0xffffffff81001210, 0xffffffff81002010 };
static const __u64 unknown_stack[] = { UNKNOWN };

#define STACK(file_ino, stack, g, p) \
	{ .file = { .ino = file_ino }, .addr = stack, .depth = ARRAY_SIZE(stack), .gets = g, \
	  .puts = p }

static const struct site_stack stacks[] = {
	STACK(7, read_stack, 10, 0),
	STACK(7, put_stack, 0, 9),
	STACK(9, read_stack, 500, 0),
	STACK(7, other_read_stack, 5, 0),
	STACK(7, lru_stack, 3, 3),
	STACK(9, unknown_stack, 1, 2),
	STACK(7, cold_stack, 0, 1),
	STACK(8, read_stack, 0, 0),
	STACK(3, unknown_stack, 1, 0),
};

static void check_site(const struct site_file *f, size_t i, const char *name, __u64 gets,
		       __u64 puts)
{
	assert_true(i < f->nsites);
	assert_string_equal(f->site[i].name, name);
	assert_int_equal(f->site[i].gets, gets);
	assert_int_equal(f->site[i].puts, puts);
}

static void sums(void **state)
{
	struct ksyms *k = parse(symbols);
	struct sites s;

	assert_int_equal(sites_make(&s, k, stacks, ARRAY_SIZE(stacks), 0), 0);
	ksyms_free(k);		/* names are copies */
	assert_int_equal(s.nfiles, 3);
	assert_int_equal(s.file[0].file.ino, 9);
	assert_int_equal(s.file[0].gets, 501);
	check_site(&s.file[0], 0, "filemap_get_read_batch", 500, 0);
	check_site(&s.file[0], 1, SITE_UNKNOWN, 1, 2);
	assert_int_equal(s.file[1].file.ino, 7);
	assert_int_equal(s.file[1].nsites, 3);
	check_site(&s.file[1], 0, "filemap_get_read_batch", 15, 0);
	check_site(&s.file[1], 1, "filemap_read", 0, 10);
	check_site(&s.file[1], 2, "folio_batch_move_lru", 3, 3);
	assert_int_equal(s.file[1].other_gets | s.file[1].other_puts, 0);
	assert_int_equal(s.file[2].file.ino, 3);
	sites_free(&s);
	assert_null(s.file);
}

static void top(void **state)
{
	struct ksyms *k = parse(symbols);
	struct sites s;

	assert_int_equal(sites_make(&s, k, stacks, ARRAY_SIZE(stacks), 1), 0);
	assert_int_equal(s.file[1].nsites, 1);
	assert_int_equal(s.file[1].gets, 18);
	assert_int_equal(s.file[1].puts, 13);
	assert_int_equal(s.file[1].other_gets, 3);
	assert_int_equal(s.file[1].other_puts, 13);
	sites_free(&s);
	/* Without names everything is one unknown site, and nothing is lost. */
	assert_int_equal(sites_make(&s, NULL, stacks, ARRAY_SIZE(stacks), 10), 0);
	assert_int_equal(s.file[1].nsites, 1);
	check_site(&s.file[1], 0, SITE_UNKNOWN, 18, 13);
	sites_free(&s);
	ksyms_free(k);
}

static void edges(void **state)
{
	static const struct site_stack big[] = {
		STACK(1, unknown_stack, ~0ULL, ~0ULL), STACK(1, unknown_stack, 1, 1),
		STACK(2, unknown_stack, 5, 0),
	};
	struct sites s;

	assert_int_equal(sites_make(&s, NULL, NULL, 0, 10), 0);
	assert_int_equal(s.nfiles, 0);
	sites_free(&s);
	assert_int_equal(sites_make(&s, NULL, &stacks[7], 1, 10), 0);	/* neither gets nor puts */
	assert_int_equal(s.nfiles, 0);
	sites_free(&s);
	assert_int_equal(sites_make(&s, NULL, big, ARRAY_SIZE(big), 10), 0);
	assert_int_equal(s.nfiles, 2);
	assert_int_equal(s.file[0].file.ino, 1);
	assert_int_equal(s.file[0].gets, ~0ULL);
	sites_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(lines),
		cmocka_unit_test(mangled),
		cmocka_unit_test(files),
		cmocka_unit_test(errors),
		cmocka_unit_test(saved),
		cmocka_unit_test(callers),
		cmocka_unit_test(sums),
		cmocka_unit_test(top),
		cmocka_unit_test(edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
