/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_hooks.c - plans for three saved kernels against golden files, and for kernels changed in
 * the ways that broke other tools: a new argument, a missing or renamed symbol, no BTF, lockdown.
 */
/* units: caps.c hooks.c hook_table.c */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooks.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const kernels[] = { "debian-6.1", "debian-6.12", "restricted-6.18" };
enum { D61, D612, R618, KERNELS };

static struct caps saved[KERNELS];
static struct plan plan;

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

static int load(struct caps *c, int kernel)
{
	int err = caps_load(c, data_path(kernels[kernel], ".btf"),
			    data_path(kernels[kernel], ".kallsyms"));

	if (!err && kernel == R618) {
		c->fentry = (struct ability){ EPERM, "load" };
		c->kprobe = (struct ability){ ENODEV, "open" };
	}
	return err;
}

static int load_all(void **state)
{
	int i, err = 0;

	libbpf_set_print(NULL);
	for (i = 0; i < KERNELS && !err; i++)
		err = load(&saved[i], i);
	return err;
}

static int free_all(void **state)
{
	int i;

	for (i = 0; i < KERNELS; i++)
		caps_free(&saved[i]);
	return 0;
}

static char *read_file(const char *path)
{
	char *text = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "r");

	if (f && getdelim(&text, &cap, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* Kallsyms of a kernel, without one symbol and with more lines. */
static void edit_ksyms(struct caps *c, int kernel, const char *without, const char *more)
{
	char *text = read_file(data_path(kernels[kernel], ".kallsyms")), *edited, *p;
	char word[128];

	assert_non_null(text);
	assert_true(asprintf(&edited, "%s%s", text, more) > 0);
	free(text);
	snprintf(word, sizeof(word), " %s\n", without);
	p = strstr(edited, word);
	assert_non_null(p);
	p[1] = '%';		/* no name begins so */
	free(c->ksyms);
	free(c->ksym_text);
	assert_int_equal(caps_take_ksyms(c, edited), 0);
}

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

/* The verdict on a variant by name (the first one), and its place. */
static struct verdict *find_verdict(enum signal_id sig, const char *name, size_t *place)
{
	size_t i;

	for (i = 0; i < plan.sig[sig].n; i++) {
		if (strcmp(plan.sig[sig].v[i].variant->name, name))
			continue;
		if (place)
			*place = i;
		return &plan.sig[sig].v[i];
	}
	fail_msg("%s %s: no verdict", signals[sig].name, name);
	return NULL;
}

static void unusable(enum signal_id sig, const char *name, const char *reason)
{
	const struct verdict *v = find_verdict(sig, name, NULL);
	size_t i;

	if (v->usable)
		fail_msg("%s %s is usable", signals[sig].name, name);
	contains(v->reason, reason);
	for (i = 0; i < VARIANT_HOOKS; i++)
		assert_null(v->target[i]);
}

static void plan_for(const struct caps *c)
{
	hooks_plan(variants, nvariants, c, NULL, &plan);
}

static void print_verdict(FILE *out, const struct verdict *v)
{
	const struct hook *h = v->variant->hooks;
	int i;

	fprintf(out, "%-17s %-18s %s", signals[v->variant->signal].name, v->variant->name,
		!v->usable ? "no" : v->degraded ? "degraded" : "yes");
	for (i = 0; v->usable && i < VARIANT_HOOKS && h[i].prog; i++)
		fprintf(out, "\n    %s %s on %s", backend_names[h[i].bk], h[i].prog,
			v->target[i] ? v->target[i] : h[i].target[0] ? "nothing" : "request");
	if (v->ksym_addr)
		fprintf(out, "\n    %s at %#llx", v->variant->ksym, v->ksym_addr);
	fprintf(out, "%s%s\n", v->reason[0] ? "\n    " : "", v->reason);
}

static void print_plan(FILE *out, const struct plan *p)
{
	size_t sig, i;

	for (sig = 0; sig < SIGNALS; sig++)
		for (i = 0; i < p->sig[sig].n; i++)
			print_verdict(out, &p->sig[sig].v[i]);
}

static char *plan_text(struct caps *c)
{
	static const enum preempt_model models[] = {
		PREEMPT_NONE, PREEMPT_VOLUNTARY, PREEMPT_FULL, PREEMPT_UNKNOWN,
	};
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (i = 0; i < COUNT(models); i++) {
		c->preempt = models[i];
		plan_for(c);
		fprintf(out, "%s== preemption model %s\n", i ? "\n" : "", preempt_names[models[i]]);
		print_plan(out, &plan);
	}
	c->preempt = PREEMPT_NONE;
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_golden(void **state)
{
	char *got, *want;
	FILE *f;
	int i;

	for (i = 0; i < KERNELS; i++) {
		got = plan_text(&saved[i]);
		if (getenv("UPDATE_PLANS")) {
			f = fopen(data_path(kernels[i], ".plan"), "w");
			assert_non_null(f);
			assert_true(fputs(got, f) >= 0);
			assert_int_equal(fclose(f), 0);
		}
		want = read_file(data_path(kernels[i], ".plan"));
		assert_non_null(want);
		if (strcmp(got, want))
			fail_msg("%s: the plan is not that of the file, but:\n%s", kernels[i], got);
		free(got);
		free(want);
	}
}

/* What the golden files must say, so that an update cannot slip a wrong choice in. */
static void test_choices(void **state)
{
	static const struct {
		int kernel;
		enum preempt_model preempt;
		enum signal_id sig;
		const char *first;	/* NULL: none */
		bool degraded;
	} rows[] = {
		{ D61, PREEMPT_VOLUNTARY, SIG_ACCESS_READ, "fentry", false },
		{ D61, PREEMPT_FULL, SIG_ACCESS_READ, "kprobe", false },
		{ D61, PREEMPT_LAZY, SIG_ACCESS_FAULT, "kprobe", false },
		{ D61, PREEMPT_UNKNOWN, SIG_ACCESS_MARKS, "kprobe", false },
		{ D612, PREEMPT_NONE, SIG_ACCESS_READ, "tp_btf", false },
		{ D612, PREEMPT_FULL, SIG_ACCESS_READ, "tp_btf", false },
		{ D612, PREEMPT_FULL, SIG_ACCESS_TMPFS, "kprobe", false },
		/* only one task calls rcu_gp_init: nothing to lose */
		{ D612, PREEMPT_FULL, SIG_GRACE_NORMAL, "fexit", false },
		{ D61, PREEMPT_NONE, SIG_GRACE_EXPEDITED, "workqueue", false },
		{ D612, PREEMPT_NONE, SIG_GRACE_EXPEDITED, "kthread_work", false },
		{ R618, PREEMPT_NONE, SIG_ACCESS_READ, "tp_btf", false },
		{ R618, PREEMPT_NONE, SIG_ACCESS_MARKS, NULL, false },
		{ R618, PREEMPT_NONE, SIG_ACCESS_TMPFS, NULL, false },
		{ R618, PREEMPT_NONE, SIG_BACKLOG, "rcu_data", false },
		{ R618, PREEMPT_NONE, SIG_GRACE_COUNT, "sequence", false },
		{ R618, PREEMPT_NONE, SIG_GRACE_NORMAL, "gp_kthread", false },
		{ R618, PREEMPT_NONE, SIG_GRACE_EXPEDITED, "kthread_work", false },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		struct caps *c = &saved[rows[i].kernel];
		const struct verdict *v = &plan.sig[rows[i].sig].v[0];

		c->preempt = rows[i].preempt;
		plan_for(c);
		c->preempt = PREEMPT_NONE;
		if (!plan.sig[rows[i].sig].nusable != !rows[i].first)
			fail_msg("row %zu: %zu usable", i, plan.sig[rows[i].sig].nusable);
		if (rows[i].first) {
			assert_string_equal(v->variant->name, rows[i].first);
			assert_int_equal(v->degraded, rows[i].degraded);
		}
	}
}

static void test_request(void **state)
{
	struct plan_opts opts = { .requested = 1ULL << SIG_ACCESS_TMPFS };
	struct caps *c = &saved[R618];

	plan_for(c);
	unusable(SIG_ACCESS_TMPFS, "syscalls", "only when asked for (--tmpfs-syscalls): adds its cost");
	opts.requested = ~opts.requested;
	hooks_plan(variants, nvariants, c, &opts, &plan);
	unusable(SIG_ACCESS_TMPFS, "syscalls", "only when asked for");
	opts.requested = ~opts.requested;
	hooks_plan(variants, nvariants, c, &opts, &plan);
	assert_int_equal(plan.sig[SIG_ACCESS_TMPFS].nusable, 1);
	assert_string_equal(plan.sig[SIG_ACCESS_TMPFS].v[0].variant->name, "syscalls");
	assert_string_equal(plan.sig[SIG_ACCESS_TMPFS].v[0].target[0], "sys_exit");
}

/* A raw tracepoint that BTF does not know may exist all the same. */
static void test_raw_tp_assumed(void **state)
{
	struct plan_opts opts = { .requested = ~0ULL };
	struct caps c = { .btf = btf__new_empty() };

	hooks_plan(variants, nvariants, &c, &opts, &plan);
	assert_true(find_verdict(SIG_ACCESS_TMPFS, "syscalls", NULL)->usable);
	unusable(SIG_ACCESS_TREE, "tp_btf", "task_newtask: no such tracepoint in this kernel");
	caps_free(&c);
}

/* Every row: named, ending in its array, checked against a prototype, with a known symbol. */
static void test_table(void **state)
{
	const struct hook *h;
	size_t i, k;

	for (i = 0; i < nvariants; i++) {
		assert_true(variants[i].signal < SIGNALS);
		assert_true(!i || variants[i].signal >= variants[i - 1].signal);
		assert_non_null(variants[i].hooks[0].prog);
		assert_true(!(variants[i].needs & NEED_KSYM_ADDR) == !variants[i].ksym);
		assert_true(!variants[i].when_func == !variants[i].when_proto);
		for (k = 0; k < VARIANT_HOOKS && variants[i].hooks[k].prog; k++) {
			h = &variants[i].hooks[k];
			/* the kernel cuts program names there, and bpftool shows them */
			assert_true(strlen(h->prog) < 32);
			if (h->bk != BK_SYSCALL)
				assert_non_null(h->target[0]);
			if (h->bk != BK_SYSCALL && h->bk != BK_ITER)
				assert_non_null(h->proto);
			if (h->bk == BK_KPROBE)
				assert_true(variants[i].needs & NEED_PROBE_READ);
		}
	}
	for (i = 0; i < SIGNALS; i++) {
		assert_non_null(signals[i].name);
		assert_non_null(signals[i].gives);
		assert_true(!strncmp(signals[i].name, family_names[signals[i].family],
				     strlen(family_names[signals[i].family])));
	}
}

/* K6: one argument more than expected. */
static void add_filemap_read(struct btf *btf, int extra)
{
	int size = btf__add_int(btf, "unsigned long", 8, 0);
	int ssize = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int kiocb = btf__add_ptr(btf, btf__add_struct(btf, "kiocb", 8));
	int iter = btf__add_ptr(btf, btf__add_struct(btf, "iov_iter", 8));
	int proto = btf__add_func_proto(btf, ssize);
	int err;

	err = btf__add_func_param(btf, "iocb", kiocb) | btf__add_func_param(btf, "iter", iter) |
	      btf__add_func_param(btf, "already_read", ssize);
	if (extra)
		err |= btf__add_func_param(btf, "flags", size);
	assert_int_equal(err, 0);
	assert_true(btf__add_func(btf, "filemap_read", BTF_FUNC_STATIC, proto) > 0);
}

static void test_extra_argument(void **state)
{
	static const char more[] = "filemap_read: unknown prototype: long (struct kiocb *, "
				   "struct iov_iter *, long, unsigned long)";
	struct caps c = { .preempt = PREEMPT_NONE, .btf = btf__new_empty() };

	add_filemap_read(c.btf, 0);
	plan_for(&c);
	assert_true(find_verdict(SIG_ACCESS_READ, "fentry", NULL)->usable);
	assert_true(find_verdict(SIG_ACCESS_READ, "kprobe", NULL)->usable);
	caps_free(&c);

	c = (struct caps){ .preempt = PREEMPT_NONE, .btf = btf__new_empty() };
	add_filemap_read(c.btf, 1);
	plan_for(&c);
	unusable(SIG_ACCESS_READ, "fentry", more);
	unusable(SIG_ACCESS_READ, "kprobe", more);
	assert_int_equal(plan.sig[SIG_ACCESS_READ].nusable, 0);
	caps_free(&c);
}

static void test_extra_tp_argument(void **state)
{
	struct caps c = { .preempt = PREEMPT_NONE, .btf = btf__new_empty() };
	int args, err, i, folio;

	for (args = 1; args <= 2; args++) {
		folio = btf__add_ptr(c.btf, btf__add_struct(c.btf, "folio", 64));
		i = btf__add_func_proto(c.btf, 0);
		err = btf__add_func_param(c.btf, NULL, folio);
		for (int k = 0; k < args; k++)
			err |= btf__add_func_param(c.btf, NULL, folio);
		assert_int_equal(err, 0);
		i = btf__add_ptr(c.btf, i);
		assert_true(btf__add_typedef(c.btf, args == 1 ?
					     "btf_trace_mm_filemap_add_to_page_cache" :
					     "btf_trace_mm_filemap_delete_from_page_cache", i) > 0);
	}
	plan_for(&c);
	unusable(SIG_ACCESS_LIFECYCLE, "tp_btf", "mm_filemap_delete_from_page_cache: unknown "
		 "prototype: void (struct folio *, struct folio *)");
	caps_free(&c);
}

/* K2: a symbol that is not there is named, with what was tried, and the next variant is taken. */
static void test_missing_symbol(void **state)
{
	static const struct variant table[] = {
		{
			.signal = SIG_ACCESS_READ, .name = "two",
			.hooks = { { BK_FENTRY, "p", { "gone_read", "filemap_fault" },
				     .proto = NULL } },
		}, {
			.signal = SIG_ACCESS_READ, .name = "none",
			.hooks = { { BK_FENTRY, "p", { "gone_read", "lost_read" },
				     .proto = NULL } },
		},
	};
	struct caps c;

	hooks_plan(table, COUNT(table), &saved[D612], NULL, &plan);
	assert_string_equal(find_verdict(SIG_ACCESS_READ, "two", NULL)->target[0], "filemap_fault");
	assert_string_equal(find_verdict(SIG_ACCESS_READ, "two", NULL)->reason, "");
	unusable(SIG_ACCESS_READ, "none", "gone_read: no such function in this kernel; "
		 "lost_read: no such function in this kernel");

	assert_int_equal(load(&c, D61), 0);
	edit_ksyms(&c, D61, "filemap_read", "");
	plan_for(&c);
	unusable(SIG_ACCESS_READ, "fentry", "filemap_read: inlined, no symbol in kallsyms");
	unusable(SIG_ACCESS_READ, "kprobe", "filemap_read: inlined, no symbol in kallsyms");
	assert_true(find_verdict(SIG_ACCESS_FAULT, "fentry", NULL)->usable);
	caps_free(&c);
}

/* A second hook that may be absent is left out where it is, and binding where it is not. */
static void test_if_present(void **state)
{
	struct verdict *v;
	struct caps c;

	plan_for(&saved[D61]);
	v = find_verdict(SIG_ACCESS_READ, "fentry", NULL);
	assert_true(v->usable);
	assert_null(v->target[1]);
	plan_for(&saved[D612]);
	assert_string_equal(find_verdict(SIG_ACCESS_READ, "fentry", NULL)->target[1],
			    "filemap_splice_read");
	assert_int_equal(load(&c, D612), 0);
	edit_ksyms(&c, D612, "filemap_splice_read", "");
	plan_for(&c);
	unusable(SIG_ACCESS_READ, "fentry", "filemap_splice_read: inlined");
	caps_free(&c);
	/* a symbol without a prototype exists all the same */
	assert_int_equal(load(&c, D61), 0);
	edit_ksyms(&c, D61, "folio_mark_accessed", "ffffffff81000010 T filemap_splice_read\n");
	plan_for(&c);
	unusable(SIG_ACCESS_READ, "fentry", "filemap_splice_read: no such function");
	caps_free(&c);
}

/* K8 */
static void test_suffix(void **state)
{
	static const struct {
		const char *lines, *kprobe, *reason;	/* kprobe target, or why not */
	} rows[] = {
		{ "1 t folio_mark_accessed.isra.0\n", NULL,
		  "exists only as folio_mark_accessed.isra.0, whose arguments may differ" },
		{ "1 t folio_mark_accessed.constprop.0\n", NULL, "arguments may differ" },
		{ "1 t folio_mark_accessed.isra.0\n2 t folio_mark_accessed.isra.1\n", NULL,
		  "inlined" },
		{ "1 t folio_mark_accessed.llvm.77\n2 t folio_mark_accessed.llvm.77.cold\n",
		  "folio_mark_accessed.llvm.77", NULL },
		{ "1 t folio_mark_accessed\n2 t folio_mark_accessed\n", NULL,
		  "2 functions have that name" },
	};
	struct verdict *v;
	struct caps c;
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(load(&c, D612), 0);
		edit_ksyms(&c, D612, "folio_mark_accessed", rows[i].lines);
		plan_for(&c);
		assert_false(find_verdict(SIG_ACCESS_MARKS, "fentry", NULL)->usable);
		v = find_verdict(SIG_ACCESS_MARKS, "kprobe", NULL);
		if (rows[i].kprobe) {
			assert_true(v->usable);
			assert_string_equal(v->target[0], rows[i].kprobe);
			unusable(SIG_ACCESS_MARKS, "fentry", "which only a kprobe finds");
		} else {
			unusable(SIG_ACCESS_MARKS, "kprobe", rows[i].reason);
		}
		caps_free(&c);
	}
}

/* K13 */
static void test_no_btf(void **state)
{
	struct caps c;
	size_t sig, i;

	assert_int_equal(caps_load(&c, NULL, data_path(kernels[D61], ".kallsyms")), 0);
	plan_for(&c);
	for (sig = 0; sig < SIGNALS; sig++) {
		assert_int_equal(plan.sig[sig].nusable, 0);
		assert_true(plan.sig[sig].n > 0);
		for (i = 0; i < plan.sig[sig].n; i++) {
			contains(plan.sig[sig].v[i].reason, "ENOENT");
			contains(plan.sig[sig].v[i].reason, "CONFIG_DEBUG_INFO_BTF");
			contains(plan.sig[sig].v[i].reason, "--btf FILE");
		}
	}
	caps_free(&c);
}

static void test_lockdown(void **state)
{
	struct caps *c = &saved[D61];
	static const struct variant reads[] = {
		{
			.signal = SIG_ACCESS_READ, .name = "reads", .needs = NEED_PROBE_READ,
			.hooks = { { BK_FENTRY, "p", { "filemap_read" }, .proto = NULL } },
		},
	};

	c->lockdown = LOCKDOWN_CONFIDENTIALITY;
	plan_for(c);
	unusable(SIG_ACCESS_READ, "kprobe", "lockdown=confidentiality");
	unusable(SIG_ACCESS_MARKS, "kprobe", "kprobes are refused under lockdown");
	assert_true(find_verdict(SIG_ACCESS_READ, "fentry", NULL)->usable);
	hooks_plan(reads, 1, c, NULL, &plan);
	unusable(SIG_ACCESS_READ, "reads", "reads of kernel memory by address");
	c->lockdown = LOCKDOWN_INTEGRITY;
	hooks_plan(reads, 1, c, NULL, &plan);
	assert_int_equal(plan.sig[SIG_ACCESS_READ].nusable, 1);
	plan_for(c);
	assert_true(find_verdict(SIG_ACCESS_READ, "kprobe", NULL)->usable);
	c->lockdown = LOCKDOWN_NONE;
}

/* Addresses: hidden, not listed, no list at all. */
static void test_symbol_addresses(void **state)
{
	struct caps c;
	size_t i;

	assert_int_equal(load(&c, D612), 0);
	plan_for(&c);
	assert_int_equal(find_verdict(SIG_GRACE_EXPEDITED, "kthread_work", NULL)->ksym_addr,
			 caps_ksym(&c, "wait_rcu_exp_gp")->addr);
	assert_int_equal(find_verdict(SIG_BACKLOG, "rcu_data-kallsyms", NULL)->ksym_addr,
			 caps_ksym(&c, "__per_cpu_offset")->addr);
	for (i = 0; i < c.nksyms; i++)
		c.ksyms[i].addr = 0;
	plan_for(&c);
	unusable(SIG_GRACE_EXPEDITED, "kthread_work", "wait_rcu_exp_gp: address hidden");
	unusable(SIG_BACKLOG, "rcu_data-kallsyms", "kptr_restrict");
	assert_true(find_verdict(SIG_GRACE_EXPEDITED, "functions", NULL)->usable);
	c.nksyms = 0;
	c.ksym_err = EACCES;
	plan_for(&c);
	unusable(SIG_GRACE_EXPEDITED, "kthread_work", "/proc/kallsyms: EACCES");
	assert_true(find_verdict(SIG_ACCESS_READ, "fentry", NULL)->usable);
	caps_free(&c);

	plan_for(&saved[R618]);
	unusable(SIG_BACKLOG, "rcu_data-kallsyms", "__per_cpu_offset: not in kallsyms");
	unusable(SIG_GRACE_EXPEDITED, "workqueue",
		 "wait_rcu_exp_gp is void (struct kthread_work *) here");
}

/* Without FAIR_GROUP_SCHED, TASK_IO_ACCOUNTING and kallsyms: small BTF made by hand. */
static void test_config_dependent(void **state)
{
	struct caps c = { .preempt = PREEMPT_NONE, .btf = btf__new_empty() };
	int ulong = btf__add_int(c.btf, "unsigned long", 8, 0);
	int mapping = btf__add_ptr(c.btf, btf__add_struct(c.btf, "address_space", 8));
	int proto = btf__add_func_proto(c.btf, 0), i, err;
	struct verdict *v;

	err = btf__add_func_param(c.btf, NULL, mapping) |
	      btf__add_func_param(c.btf, NULL, mapping) |
	      btf__add_func_param(c.btf, NULL, ulong) | btf__add_func_param(c.btf, NULL, ulong);
	assert_int_equal(err, 0);
	i = btf__add_ptr(c.btf, proto);
	assert_true(btf__add_typedef(c.btf, "btf_trace_mm_filemap_get_pages", i) > 0);
	btf__add_struct(c.btf, "rcu_segcblist", 16);
	assert_int_equal(btf__add_field(c.btf, "len", ulong, 0, 0), 0);
	assert_int_equal(btf__add_field(c.btf, "seglen", ulong, 64, 0), 0);
	btf__add_struct(c.btf, "rcu_data", 16);
	assert_int_equal(btf__add_field(c.btf, "cblist", ulong, 0, 0), 0);
	assert_int_equal(btf__add_field(c.btf, "cpu", ulong, 64, 0), 0);
	btf__add_struct(c.btf, "task_struct", 8);
	assert_int_equal(btf__add_field(c.btf, "se", ulong, 0, 0), 0);
	btf__add_struct(c.btf, "sched_entity", 8);
	plan_for(&c);

	v = find_verdict(SIG_ACCESS_READ, "tp_btf", NULL);
	assert_true(v->usable);
	assert_true(v->degraded);
	contains(v->reason, "CONFIG_TASK_IO_ACCOUNTING");
	unusable(SIG_BACKLOG, "rcu_data",
		 "sched_entity.cfs_rq: not in BTF (CONFIG_FAIR_GROUP_SCHED)");
	unusable(SIG_GRACE_COUNT, "sequence", "rcu_data.mynode: not in BTF");
	caps_free(&c);

	/* no route to any base: nothing that starts from one */
	assert_int_equal(load(&c, D61), 0);
	c.iter = (struct ability){ EINVAL, "load" };
	edit_ksyms(&c, D61, "__per_cpu_offset", "");
	plan_for(&c);
	assert_int_equal(plan.sig[SIG_BACKLOG].nusable, 0);
	unusable(SIG_GRACE_COUNT, "sequence", "backlog.cpus is not available");
	unusable(SIG_GRACE_NORMAL, "gp_kthread", "backlog.cpus is not available");
	assert_true(find_verdict(SIG_GRACE_NORMAL, "fexit", NULL)->usable);
	caps_free(&c);
}

/* A lossy variant ranks behind a costlier one that sees all, whatever the reason. */
static void test_lossy_last(void **state)
{
	static const struct variant table[] = {
		{
			.signal = SIG_ACCESS_MARKS, .name = "cheap", .cost_ns = 1,
			.hooks = { { BK_FENTRY, "p", { "folio_mark_accessed" }, .proto = NULL } },
		}, {
			.signal = SIG_ACCESS_MARKS, .name = "dear", .cost_ns = 900, .rank = 5,
			.hooks = { { BK_KPROBE, "p", { "folio_mark_accessed" }, .proto = NULL } },
		}, {
			.signal = SIG_ACCESS_MARKS, .name = "serial", .cost_ns = 950, .rank = 5,
			.serial = true,
			.hooks = { { BK_FEXIT, "p", { "folio_mark_accessed" }, .proto = NULL } },
		},
	};
	static const struct {
		enum preempt_model preempt;
		const char *order[3];
	} rows[] = {
		{ PREEMPT_NONE, { "cheap", "dear", "serial" } },
		{ PREEMPT_VOLUNTARY, { "cheap", "dear", "serial" } },
		{ PREEMPT_FULL, { "dear", "serial", "cheap" } },
		{ PREEMPT_LAZY, { "dear", "serial", "cheap" } },
		{ PREEMPT_UNKNOWN, { "dear", "serial", "cheap" } },
	};
	size_t i, k;

	for (i = 0; i < COUNT(rows); i++) {
		saved[D61].preempt = rows[i].preempt;
		hooks_plan(table, COUNT(table), &saved[D61], NULL, &plan);
		for (k = 0; k < 3; k++)
			assert_string_equal(plan.sig[SIG_ACCESS_MARKS].v[k].variant->name,
					    rows[i].order[k]);
		assert_int_equal(find_verdict(SIG_ACCESS_MARKS, "cheap", NULL)->degraded,
				 rows[i].preempt != PREEMPT_NONE &&
				 rows[i].preempt != PREEMPT_VOLUNTARY);
	}
	saved[D61].preempt = PREEMPT_NONE;
}

static void test_user_hooks(void **state)
{
	static const struct {
		const char *function;
		unsigned int arg;
		const char *reason;	/* NULL: usable */
	} rows[] = {
		{ "mark_page_accessed", 0, NULL },
		{ "filemap_migrate_folio", 2, NULL },
		{ "filemap_migrate_folio", 0, "argument 0 is struct address_space *, neither" },
		{ "filemap_migrate_folio", 5, "has no argument 5" },
		{ "rcu_gp_init", 0, "has no argument 0" },
		{ "no_such_function", 0, "no_such_function: no such function in this kernel" },
		{ "folio_put", 0, "3 functions have that name" },
	};
	struct user_hook user = { .signal = SIG_ACCESS_MARKS };
	struct plan_opts opts = { .user = &user, .nuser = 1 };
	struct verdict *v = plan.sig[SIG_ACCESS_MARKS].v;
	size_t i, k, named;

	for (i = 0; i < COUNT(rows); i++) {
		snprintf(user.function, sizeof(user.function), "%s", rows[i].function);
		user.arg = rows[i].arg;
		hooks_plan(variants, nvariants, &saved[D612], &opts, &plan);
		assert_int_equal(plan.sig[SIG_ACCESS_MARKS].n, 4);
		assert_int_equal(plan.sig[SIG_ACCESS_MARKS].nusable, rows[i].reason ? 2 : 4);
		for (k = named = 0; k < 4; k++) {
			if (v[k].user_arg < 0) {
				assert_string_equal(v[k].target[0], "folio_mark_accessed");
				continue;
			}
			named++;
			assert_int_equal(v[k].user_arg, rows[i].arg);
			if (rows[i].reason) {
				assert_false(v[k].usable);
				contains(v[k].reason, rows[i].reason);
			} else {
				assert_true(k < 2);
				assert_string_equal(v[k].target[0], rows[i].function);
			}
		}
		assert_int_equal(named, 2);
	}
}

static void test_user_order(void **state)
{
	struct user_hook user[PLAN_VARIANTS] = {
		{ SIG_ACCESS_MARKS, "mark_page_accessed", 0 },
		{ SIG_ACCESS_MARKS, "filemap_migrate_folio", 1 },
		{ SIG_ACCESS_MARKS, "filemap_migrate_folio", 2 },
	};
	static const struct {
		const char *name, *target;
		int arg;
	} want[] = {
		{ "kprobe", "mark_page_accessed", 0 }, { "fentry", "mark_page_accessed", 0 },
		{ "kprobe", "filemap_migrate_folio", 1 }, { "fentry", "filemap_migrate_folio", 1 },
		{ "kprobe", "filemap_migrate_folio", 2 }, { "fentry", "filemap_migrate_folio", 2 },
		{ "kprobe", "folio_mark_accessed", -1 }, { "fentry", "folio_mark_accessed", -1 },
	};
	struct plan_opts opts = { .user = user, .nuser = 3 };
	const struct verdict *v = plan.sig[SIG_ACCESS_MARKS].v;
	size_t i;

	saved[D612].preempt = PREEMPT_FULL;
	hooks_plan(variants, nvariants, &saved[D612], &opts, &plan);
	saved[D612].preempt = PREEMPT_NONE;
	assert_int_equal(plan.sig[SIG_ACCESS_MARKS].n, COUNT(want));
	for (i = 0; i < COUNT(want); i++) {
		assert_string_equal(v[i].variant->name, want[i].name);
		assert_string_equal(v[i].target[0], want[i].target);
		assert_int_equal(v[i].user_arg, want[i].arg);
		assert_int_equal(v[i].degraded, !strcmp(want[i].name, "fentry"));
	}

	/* too many: the table's own keep their places */
	for (i = 0; i < PLAN_VARIANTS; i++)
		user[i] = user[0];
	opts.nuser = PLAN_VARIANTS;
	hooks_plan(variants, nvariants, &saved[D612], &opts, &plan);
	assert_int_equal(plan.sig[SIG_ACCESS_MARKS].n, PLAN_VARIANTS);
	assert_int_equal(v[PLAN_VARIANTS - 2].user_arg, -1);
	assert_int_equal(v[PLAN_VARIANTS - 1].user_arg, -1);
	assert_int_equal(v[PLAN_VARIANTS - 3].user_arg, 0);
}

static void test_parse_user(void **state)
{
	static const struct {
		const char *arg, *function, *err;
		unsigned int pos;
	} rows[] = {
		{ "access.marks=folio_mark_accessed", "folio_mark_accessed", NULL, 0 },
		{ "access.marks=a1_:5", "a1_", NULL, 5 },
		{ "access.marks", NULL, "'access.marks' is not SIGNAL=FUNCTION[:ARG]", 0 },
		{ "", NULL, "is not SIGNAL=FUNCTION", 0 },
		{ "access.mark=f", NULL, "'access.mark' is no signal", 0 },
		{ "access.markss=f", NULL, "'access.markss' is no signal", 0 },
		{ "=f", NULL, "'' is no signal", 0 },
		{ "access.read=f", NULL, "access.read takes no function", 0 },
		{ "access.marks=", NULL, "'' is not the name", 0 },
		{ "access.marks=:1", NULL, "'' is not the name", 0 },
		{ "access.marks=1f", NULL, "'1f' is not the name", 0 },
		{ "access.marks=f-g:1", NULL, "'f-g' is not the name", 0 },
		{ "access.marks=f ", NULL, "'f ' is not the name", 0 },
		{ "access.marks=f:", NULL, "'' is not the number", 0 },
		{ "access.marks=f:6", NULL, "'6' is not the number of an argument (0 to 5)", 0 },
		{ "access.marks=f:-1", NULL, "'-1' is not the number", 0 },
		{ "access.marks=f:01", NULL, "'01' is not the number", 0 },
		{ "access.marks=f:1:2", NULL, "'1:2' is not the number", 0 },
		{ "access.marks=f:x", NULL, "'x' is not the number", 0 },
		/* 63 letters fit, 64 do not */
		{ "access.marks=a23456789012345678901234567890123456789012345678901234567890123",
		  "a23456789012345678901234567890123456789012345678901234567890123", NULL, 0 },
		{ "access.marks=a234567890123456789012345678901234567890123456789012345678901234",
		  NULL, "is not the name", 0 },
	};
	struct user_hook u;
	char err[200];
	size_t i;
	int ret;

	for (i = 0; i < COUNT(rows); i++) {
		err[0] = '\0';
		ret = hooks_parse_user(rows[i].arg, &u, err, sizeof(err));
		if (ret != (rows[i].err ? -EINVAL : 0))
			fail_msg("'%s': %d %s", rows[i].arg, ret, err);
		if (rows[i].err) {
			contains(err, "--hook: ");
			contains(err, rows[i].err);
			continue;
		}
		assert_string_equal(u.function, rows[i].function);
		assert_int_equal(u.arg, rows[i].pos);
		assert_int_equal(u.signal, SIG_ACCESS_MARKS);
	}
}

/* K14, K11 */
static void test_errno_words(void **state)
{
	static const struct {
		int err;
		const char *stage;
		enum backend bk;
		enum lockdown lockdown;
		const char *name, *words;
	} rows[] = {
		{ EPERM, "load", BK_FENTRY, LOCKDOWN_NONE, "EPERM", "function tracing is refused" },
		{ EPERM, "load", BK_FEXIT, LOCKDOWN_INTEGRITY, "EPERM",
		  "function tracing is refused" },
		{ EPERM, "load", BK_TP_BTF, LOCKDOWN_NONE, "EPERM", "CAP_BPF and CAP_PERFMON" },
		{ EPERM, "load", BK_TP_BTF, LOCKDOWN_INTEGRITY, "EPERM", "lockdown refuses it" },
		{ EPERM, "open", BK_KPROBE, LOCKDOWN_NONE, "EPERM", "run as root" },
		{ EPERM, "attach", BK_KPROBE, LOCKDOWN_CONFIDENTIALITY, "EPERM",
		  "lockdown=confidentiality" },
		{ EACCES, "load", BK_TP_BTF, LOCKDOWN_NONE, "EACCES", "verifier" },
		{ EACCES, "open", BK_KPROBE, LOCKDOWN_NONE, "EACCES", "perf_event_paranoid" },
		{ 524, "attach", BK_FENTRY, LOCKDOWN_NONE, "ENOTSUPP", "more than 6 arguments" },
		{ 524, "load", BK_ITER, LOCKDOWN_NONE, "ENOTSUPP", "not supported" },
		{ EOPNOTSUPP, "open", BK_KPROBE, LOCKDOWN_NONE, "NOTSUP", "no kprobe can be set" },
		{ ESRCH, "load", BK_TP_BTF, LOCKDOWN_NONE, "ESRCH", "type or symbol" },
		{ EBUSY, "attach", BK_FENTRY, LOCKDOWN_NONE, "EBUSY",
		  "copy of an inline function" },
		{ EINVAL, "load", BK_TP_BTF, LOCKDOWN_CONFIDENTIALITY, "EINVAL",
		  "lockdown=confidentiality" },
		{ EINVAL, "load", BK_FENTRY, LOCKDOWN_NONE, "EINVAL", "argument it cannot trace" },
		{ EINVAL, "attach", BK_KPROBE, LOCKDOWN_NONE, "EINVAL", "kprobe blacklist" },
		{ ENODEV, "open", BK_KPROBE, LOCKDOWN_NONE, "ENODEV", "CONFIG_KPROBE_EVENTS" },
		{ ENOENT, "load", BK_SYSCALL, LOCKDOWN_NONE, "ENOENT",
		  "symbol that the program names" },
		{ ENOENT, "attach", BK_RAW_TP, LOCKDOWN_NONE, "ENOENT",
		  "no such function or tracepoint" },
		{ EADDRNOTAVAIL, "open", BK_KPROBE, LOCKDOWN_NONE, "EADDRNOTAVAIL", "several" },
		{ E2BIG, "load", BK_TP_BTF, LOCKDOWN_NONE, "E2BIG", "too large or too complex" },
		{ ENOSPC, "load", BK_TP_BTF, LOCKDOWN_NONE, "ENOSPC", "verifier's log" },
		{ ENOMEM, "load", BK_TP_BTF, LOCKDOWN_NONE, "ENOMEM", "memory" },
		{ ENOSYS, "load", BK_TP_BTF, LOCKDOWN_NONE, "ENOSYS", "CONFIG_BPF_SYSCALL" },
		{ EIO, "load", BK_TP_BTF, LOCKDOWN_NONE, "EIO", "Input/output error" },
		{ 9999, "load", BK_TP_BTF, LOCKDOWN_NONE, "unknown error", "9999" },
	};
	struct caps c = { 0 };
	char got[256], negative[256];
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		c.lockdown = rows[i].lockdown;
		hooks_explain_errno(rows[i].err, rows[i].stage, rows[i].bk, &c, got, sizeof(got));
		contains(got, rows[i].name);
		contains(got, rows[i].words);
		contains(got, rows[i].stage);
		contains(got, backend_names[rows[i].bk]);
		contains(got, "; the next backend is tried");
		assert_null(strchr(got, '\n'));
		hooks_explain_errno(-rows[i].err, rows[i].stage, rows[i].bk, &c, negative,
				    sizeof(negative));
		assert_string_equal(got, negative);
	}
	hooks_explain_errno(EPERM, NULL, BK_TP_BTF, NULL, got, 8);
	assert_string_equal(got, "tp_btf:");
}

/* A trial that failed keeps its stage and reason; a negative errno is the same. */
static void test_abilities(void **state)
{
	struct caps c;

	assert_int_equal(load(&c, D612), 0);
	c.fentry = (struct ability){ 524, "attach" };
	c.kprobe = (struct ability){ -EPERM, "open" };
	c.raw_tp = (struct ability){ EINVAL, NULL };
	plan_for(&c);
	unusable(SIG_ACCESS_MARKS, "fentry", "fentry: attach: ENOTSUPP: this kernel cannot trace");
	unusable(SIG_GRACE_NORMAL, "fexit", "fexit: attach: ENOTSUPP");
	unusable(SIG_ACCESS_MARKS, "kprobe", "kprobe: open: EPERM: ");
	unusable(SIG_GRACE_EXPEDITED, "kthread_work", "raw_tp: load: EINVAL");
	assert_true(find_verdict(SIG_ACCESS_READ, "tp_btf", NULL)->usable);
	caps_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_raw_tp_assumed),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_extra_argument),
		cmocka_unit_test(test_extra_tp_argument),
		cmocka_unit_test(test_missing_symbol),
		cmocka_unit_test(test_if_present),
		cmocka_unit_test(test_suffix),
		cmocka_unit_test(test_no_btf),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_symbol_addresses),
		cmocka_unit_test(test_config_dependent),
		cmocka_unit_test(test_lossy_last),
		cmocka_unit_test(test_user_hooks),
		cmocka_unit_test(test_user_order),
		cmocka_unit_test(test_parse_user),
		cmocka_unit_test(test_errno_words),
		cmocka_unit_test(test_abilities),
	};

	return cmocka_run_group_tests(tests, load_all, free_all);
}
