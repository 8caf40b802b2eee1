/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_caps.c - prototypes, symbols and models of saved and of made-up kernels.
 */
/* units: caps.c */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "caps.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const kernels[] = { "debian-6.1", "debian-6.12", "restricted-6.18" };
enum { D61, D612, R618, KERNELS };

static struct caps saved[KERNELS];

static const char *data_path(const char *name, const char *ext)
{
	static char path[2][512];
	static int turn;
	const char *slash = strrchr(__FILE__, '/');

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%.*sdata/%s%s",
		 (int)(slash ? slash - __FILE__ + 1 : 0), __FILE__, name, ext);
	return path[turn];
}

static int load_all(void **state)
{
	int i, err = 0;

	libbpf_set_print(NULL);
	for (i = 0; i < KERNELS && !err; i++)
		err = caps_load(&saved[i], data_path(kernels[i], ".btf"),
				data_path(kernels[i], ".kallsyms"));
	return err;
}

static int free_all(void **state)
{
	int i;

	for (i = 0; i < KERNELS; i++)
		caps_free(&saved[i]);
	return 0;
}

static void test_protos(void **state)
{
	static const struct {
		int kernel;
		bool tp;
		const char *name, *want;	/* NULL: not there */
	} rows[] = {
		{ D61, false, "filemap_read", "long (struct kiocb *, struct iov_iter *, long)" },
		{ D612, false, "filemap_splice_read", "long (struct file *, long long *, "
		  "struct pipe_inode_info *, unsigned long, unsigned int)" },
		{ D61, false, "filemap_splice_read", NULL },
		{ R618, false, "filemap_map_pages",
		  "unsigned int (struct vm_fault *, unsigned long, unsigned long)" },
		{ D61, false, "rcu_gp_init", "bool (void)" },
		{ D61, false, "wait_rcu_exp_gp", "void (struct work_struct *)" },
		{ D612, false, "wait_rcu_exp_gp", "void (struct kthread_work *)" },
		/* pointers to pointers; typedefs of pointers and unions keep their names */
		{ D61, false, "release_pages", "void (struct page **, int)" },
		{ D612, false, "release_pages", "void (release_pages_arg, int)" },
		{ D61, false, "kvfree_call_rcu", "void (struct callback_head *, rcu_callback_t)" },
		{ D612, false, "filemap_migrate_folio",
		  "int (struct address_space *, struct folio *, struct folio *, "
		  "enum migrate_mode)" },
		{ D612, false, "bpf_rdonly_cast", "void * (const void *, unsigned int)" },
		{ R618, true, "mm_filemap_get_pages",
		  "void (struct address_space *, unsigned long, unsigned long)" },
		{ D61, true, "mm_filemap_get_pages", NULL },
		{ D612, true, "task_newtask", "void (struct task_struct *, unsigned long)" },
		{ R618, true, "task_newtask", "void (struct task_struct *, unsigned long long)" },
		{ R618, true, "sched_switch",
		  "void (bool, struct task_struct *, struct task_struct *, unsigned int)" },
		{ D61, true, "workqueue_execute_end", "void (struct work_struct *, work_func_t)" },
		{ D61, true, "filemap_read", NULL },
		{ D61, false, "mm_filemap_get_pages", NULL },
	};
	char got[512];
	size_t i;
	int err;

	for (i = 0; i < COUNT(rows); i++) {
		const struct caps *c = &saved[rows[i].kernel];

		err = rows[i].tp ? caps_tp_proto(c, rows[i].name, got, sizeof(got)) :
				   caps_func_proto(c, rows[i].name, got, sizeof(got));
		if (err != (rows[i].want ? 0 : -ENOENT))
			fail_msg("%s %s: %d", kernels[rows[i].kernel], rows[i].name, err);
		if (rows[i].want)
			assert_string_equal(got, rows[i].want);
	}
}

static void test_proto_room(void **state)
{
	static const char want[] = "void (struct folio *)";
	char got[64];

	assert_int_equal(caps_func_proto(&saved[D61], "folio_mark_accessed", got, sizeof(want)), 0);
	assert_string_equal(got, want);
	memset(got, '#', sizeof(got));
	assert_int_equal(caps_func_proto(&saved[D61], "folio_mark_accessed", got,
					 sizeof(want) - 1), -E2BIG);
	assert_int_equal(got[sizeof(want) - 1], '#');
	assert_int_equal(caps_func_proto(&saved[D61], "folio_mark_accessed", got, 1), -E2BIG);
	assert_string_equal(got, "");
}

/* clang spells integers in another way, and every kind that an argument can have has a spelling. */
static void test_spelling(void **state)
{
	struct caps c = { .btf = btf__new_empty() };
	int ulong, llong, flag, schar, chr, cint, en, anon, alias;
	int fn, ptr, cptr, vol, arr, fwd, proto;
	char got[512];

	ulong = btf__add_int(c.btf, "unsigned long", 8, 0);
	llong = btf__add_int(c.btf, "long long", 8, BTF_INT_SIGNED);
	flag = btf__add_int(c.btf, "_Bool", 1, BTF_INT_BOOL);
	schar = btf__add_int(c.btf, "signed char", 1, BTF_INT_SIGNED);
	chr = btf__add_int(c.btf, "char", 1, 0);
	cint = btf__add_const(c.btf, btf__add_int(c.btf, "int", 4, BTF_INT_SIGNED));
	en = btf__add_typedef(c.btf, "color_t", btf__add_enum(c.btf, "color", 4));
	anon = btf__add_struct(c.btf, NULL, 8);
	alias = btf__add_typedef(c.btf, "pair_t", anon);
	fn = btf__add_ptr(c.btf, btf__add_func_proto(c.btf, 0));
	ptr = btf__add_ptr(c.btf, 0);
	cptr = btf__add_const(c.btf, btf__add_ptr(c.btf, btf__add_const(c.btf, chr)));
	vol = btf__add_ptr(c.btf, btf__add_volatile(c.btf, chr));
	arr = btf__add_ptr(c.btf, btf__add_array(c.btf, chr, chr, 4));
	fwd = btf__add_ptr(c.btf, btf__add_fwd(c.btf, "far", BTF_FWD_UNION));
	proto = btf__add_func_proto(c.btf, ulong);
	int args[] = { llong, flag, schar, chr, cint, en, anon, alias, fn, ptr, cptr, vol, arr, fwd,
		       0 };
	for (size_t i = 0; i < COUNT(args); i++)
		assert_int_equal(btf__add_func_param(c.btf, args[i] ? "a" : NULL, args[i]), 0);
	assert_true(btf__add_func(c.btf, "all", BTF_FUNC_STATIC, proto) > 0);

	assert_int_equal(caps_func_proto(&c, "all", got, sizeof(got)), 0);
	assert_string_equal(got, "unsigned long (long long, bool, signed char, char, const int, "
			    "enum color, struct (anonymous), pair_t, function *, void *, "
			    "const char *, volatile char *, char[] *, union far *, ...)");
	assert_int_equal(caps_func_arg(&c, "all", 10, got, sizeof(got)), 0);
	assert_string_equal(got, "const char *");
	assert_int_equal(caps_func_arg(&c, "all", COUNT(args), got, sizeof(got)), -ERANGE);
	assert_int_equal(caps_func_arg(&c, "none", 0, got, sizeof(got)), -ENOENT);
	caps_free(&c);
}

static void test_members(void **state)
{
	static const struct {
		const char *type, *member;
		int want;
	} rows[] = {
		{ "sched_entity", "cfs_rq", 0 }, { "sched_entity", "no_such", -ENOENT },
		{ "no_such", "cfs_rq", -ENOENT }, { "rcu_data", NULL, 0 },
		{ "no_such", NULL, -ENOENT },
		/* in a struct in a union, both without a name */
		{ "folio", "mapping", 0 }, { "folio", "__data_racy", -ENOENT },
		{ "task_io_accounting", "syscr", 0 },
	};
	unsigned int offset = 0;
	size_t i, k;

	for (k = 0; k < KERNELS; k++)
		for (i = 0; i < COUNT(rows); i++)
			if (caps_member(&saved[k], rows[i].type, rows[i].member) != rows[i].want)
				fail_msg("%s: %s.%s", kernels[k], rows[i].type, rows[i].member);
	assert_int_equal(caps_percpu_offset(&saved[D61], "rcu_data", &offset), 0);
	assert_int_equal(offset, 207360);
	assert_int_equal(caps_percpu_offset(&saved[D612], "runqueues", &offset), 0);
	assert_int_equal(offset, 221248);
	assert_int_equal(caps_percpu_offset(&saved[D612], "filemap_read", &offset), -ENOENT);
}

static void take(struct caps *c, const char *text, int want)
{
	memset(c, 0, sizeof(*c));
	assert_int_equal(caps_take_ksyms(c, strdup(text)), want);
}

static void test_ksyms(void **state)
{
	const struct ksym *k;
	struct caps c;

	take(&c, "ffffffff81000020 T zed\nffffffff81000010 t abc\n"
		 "ffffffffc0000000 t inmod\t[ext4]\nffffffffc0000010 t bpf_prog_1\t[bpf]\n"
		 "0000000000032a00 A rcu_data", 0);
	assert_int_equal(c.nksyms, 3);
	k = caps_ksym(&c, "abc");
	assert_non_null(k);
	assert_int_equal(k->addr, 0xffffffff81000010ULL);
	assert_int_equal(k->type, 't');
	assert_int_equal(caps_ksym(&c, "rcu_data")->addr, 0x32a00);
	assert_int_equal(caps_ksym(&c, "zed")->type, 'T');
	assert_null(caps_ksym(&c, "inmod"));
	assert_null(caps_ksym(&c, "ab"));
	assert_null(caps_ksym(&c, "abcd"));
	assert_null(caps_ksym(&c, "zzz"));
	caps_free(&c);

	/* kptr_restrict: names without addresses */
	take(&c, "0000000000000000 T abc\n", 0);
	assert_int_equal(caps_ksym(&c, "abc")->addr, 0);
	caps_free(&c);
	take(&c, "", 0);
	assert_null(caps_ksym(&c, "abc"));
	caps_free(&c);
}

static void test_ksyms_bad(void **state)
{
	static const char *const bad[] = {
		"hello\n", "ffffffff81000010\n", "ffffffff81000010 t\n", "ffffffff81000010 t \n",
		"ffffffff81000010 tt abc\n", "1ffffffff81000010 t abc\n", " \n",
		"ffffffff81000010 t abc\n\nffffffff81000020 t def\n",
	};
	struct caps c;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		take(&c, bad[i], -EINVAL);
		assert_null(c.ksyms);
		assert_int_equal(c.nksyms, 0);
	}
}

static void test_suffixes(void **state)
{
	static const struct {
		const char *text, *want;
		bool untrusted;
	} rows[] = {
		{ "1 t foo.isra.0\n", "foo.isra.0", true },
		{ "1 t foo.constprop.0\n", "foo.constprop.0", true },
		{ "1 t foo.part.0\n", "foo.part.0", true },
		{ "1 t foo.part.0.isra.0\n", "foo.part.0.isra.0", true },
		{ "1 t foo.llvm.1234\n", "foo.llvm.1234", false },
		{ "1 t foo.llvm.1234.isra.0\n", "foo.llvm.1234.isra.0", true },
		{ "1 t foo.isra.0\n2 t foo.constprop.0\n", NULL, false },
		{ "1 t foo.cold\n", NULL, false },
		{ "1 t foo.isra.0.cold\n2 t foo.isra.0\n3 t foo.cold.7\n", "foo.isra.0", true },
		{ "1 d foo.12\n2 t foo.isra.0\n", "foo.isra.0", true },
		{ "1 t foo\n2 t foo2.isra.0\n3 t __pfx_foo.isra.0\n", NULL, false },
		{ "", NULL, false },
	};
	const struct ksym *k;
	struct caps c;
	bool untrusted;
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		untrusted = !rows[i].untrusted;
		take(&c, rows[i].text, 0);
		k = caps_ksym_suffixed(&c, "foo", &untrusted);
		if (!rows[i].want != !k)
			fail_msg("row %zu: %s", i, k ? k->name : "none");
		if (k) {
			assert_string_equal(k->name, rows[i].want);
			assert_int_equal(untrusted, rows[i].untrusted);
		}
		caps_free(&c);
	}
	/* as the kernels have them */
	k = caps_ksym_suffixed(&saved[R618], "__migrate_folio", &untrusted);
	assert_string_equal(k->name, "__migrate_folio.isra.0");
	assert_null(caps_ksym_suffixed(&saved[D61], "rcu_gp_init", &untrusted));
}

static void test_load(void **state)
{
	struct caps c;
	char got[16];

	assert_true(caps_load(&c, data_path("nonexistent", ".btf"), NULL) < 0);
	assert_null(c.btf);
	assert_true(caps_load(&c, data_path("README", ""), NULL) < 0);
	assert_true(caps_load(&c, data_path("debian-6.1", ".btf"),
			      data_path("nonexistent", "")) == -ENOENT);
	assert_null(c.btf);

	assert_int_equal(caps_load(&c, NULL, NULL), 0);
	assert_int_equal(c.btf_err, ENOENT);
	assert_int_equal(c.ksym_err, ENOENT);
	assert_int_equal(caps_func_proto(&c, "filemap_read", got, sizeof(got)), -ENOENT);
	assert_int_equal(caps_tp_proto(&c, "sched_switch", got, sizeof(got)), -ENOENT);
	assert_int_equal(caps_member(&c, "folio", NULL), -ENOENT);
	caps_free(&c);
	assert_false(saved[D61].rdonly_cast);
	assert_true(saved[D612].rdonly_cast);
}

static void test_preempt(void **state)
{
	static const char dyn[] = "CONFIG_PREEMPT_DYNAMIC=y\n";
	static const struct {
		const char *sched, *cmdline, *config;
		enum preempt_model want;
	} rows[] = {
		{ "none voluntary (full)\n", NULL, NULL, PREEMPT_FULL },
		{ "none (voluntary) full\n", NULL, NULL, PREEMPT_VOLUNTARY },
		{ "(none) voluntary full lazy\n", NULL, NULL, PREEMPT_NONE },
		{ "none voluntary full (lazy)\n", NULL, NULL, PREEMPT_LAZY },
		{ "(undefined)\n", NULL, NULL, PREEMPT_UNKNOWN },
		{ "none (fu", NULL, NULL, PREEMPT_UNKNOWN },
		{ "()", NULL, NULL, PREEMPT_UNKNOWN },
		/* what is in force beats what was asked for */
		{ "(none) full", "preempt=full", dyn, PREEMPT_NONE },
		{ NULL, "quiet preempt=none", dyn, PREEMPT_NONE },
		{ NULL, "preempt=none preempt=full\n", dyn, PREEMPT_FULL },
		{ NULL, "preempt=full preempt=sideways", dyn, PREEMPT_FULL },
		{ NULL, "xpreempt=full", dyn, PREEMPT_UNKNOWN },
		{ NULL, "init=/x -- preempt=full", dyn, PREEMPT_UNKNOWN },
		{ NULL, "rcu_nocbs=1 preempt=", dyn, PREEMPT_UNKNOWN },
		/* a kernel that is not dynamic ignores it; of one unknown we do not know */
		{ NULL, "preempt=none", "CONFIG_PREEMPT=y\n", PREEMPT_FULL },
		{ NULL, "preempt=none", NULL, PREEMPT_UNKNOWN },
		{ NULL, "quiet", "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
		  PREEMPT_NONE },
		{ NULL, NULL, "CONFIG_X=y\nCONFIG_PREEMPT_VOLUNTARY=y", PREEMPT_VOLUNTARY },
		{ NULL, NULL, "CONFIG_PREEMPT_LAZY=y\n", PREEMPT_LAZY },
		{ NULL, NULL, "CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_LAZY=y\n", PREEMPT_FULL },
		{ NULL, NULL, "# CONFIG_PREEMPTION is not set\n", PREEMPT_NONE },
		{ NULL, NULL, "CONFIG_PREEMPT_NONE_BUILD=y\nXCONFIG_PREEMPT=y\n",
		  PREEMPT_UNKNOWN },
		{ NULL, NULL, "CONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT is not set\n",
		  PREEMPT_UNKNOWN },
		{ NULL, NULL, "", PREEMPT_UNKNOWN },
		{ "", "", "", PREEMPT_UNKNOWN },
		{ NULL, NULL, NULL, PREEMPT_UNKNOWN },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		enum preempt_model got = caps_parse_preempt(rows[i].sched, rows[i].cmdline,
							    rows[i].config);

		if (got != rows[i].want)
			fail_msg("row %zu: %s, not %s", i, preempt_names[got],
				 preempt_names[rows[i].want]);
	}
}

static void test_lockdown(void **state)
{
	assert_int_equal(caps_parse_lockdown("[none] integrity confidentiality\n"), LOCKDOWN_NONE);
	assert_int_equal(caps_parse_lockdown("none [integrity] confidentiality\n"),
			 LOCKDOWN_INTEGRITY);
	assert_int_equal(caps_parse_lockdown("none integrity [confidentiality]\n"),
			 LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(caps_parse_lockdown(""), LOCKDOWN_NONE);
	assert_int_equal(caps_parse_lockdown(NULL), LOCKDOWN_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protos),
		cmocka_unit_test(test_proto_room),
		cmocka_unit_test(test_spelling),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_ksyms),
		cmocka_unit_test(test_ksyms_bad),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_preempt),
		cmocka_unit_test(test_lockdown),
	};

	return cmocka_run_group_tests(tests, load_all, free_all);
}
