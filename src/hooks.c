/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooks.c - judges the variants of the hook table on one kernel and orders them; words for
 * errors. Pure: what it knows of the kernel is in struct caps.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

#define LOSSY_RANK 100		/* a variant that loses events ranks behind all that do not */
#define PROTO_MAX 512
#define USER_ARG_MAX 5		/* arguments that come in registers, where kprobes find them */

#ifndef ENOTSUPP
#define ENOTSUPP 524		/* the kernel's own; libc has no name for it */
#endif

__attribute__((format(printf, 2, 3)))
static bool refuse(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->reason, sizeof(v->reason), fmt, ap);
	va_end(ap);
	return false;
}

static const char *errno_name(int err)
{
	const char *name = err == ENOTSUPP ? "ENOTSUPP" : strerrorname_np(err);

	return name ? name : "unknown error";
}

/* Errors in words. The first row that fits is taken. */
#define BK(b) (1U << (b))
#define BK_FUNC (BK(BK_FENTRY) | BK(BK_FEXIT))
#define BK_ANY (~0U)

static const struct {
	int err;
	const char *stage;		/* NULL: any */
	unsigned int bks;
	enum lockdown lockdown;		/* at least */
	const char *cause;
} causes[] = {
	{ EPERM, NULL, BK(BK_KPROBE), LOCKDOWN_CONFIDENTIALITY,
	  "kprobes are refused under lockdown=confidentiality" },
	{ EPERM, NULL, BK_FUNC, LOCKDOWN_NONE,
	  "function tracing is refused on this kernel, or CAP_BPF and CAP_PERFMON are missing" },
	{ EPERM, NULL, BK_ANY, LOCKDOWN_INTEGRITY,
	  "CAP_BPF and CAP_PERFMON are missing, or lockdown refuses it" },
	{ EPERM, NULL, BK_ANY, LOCKDOWN_NONE, "CAP_BPF and CAP_PERFMON are missing: run as root" },
	{ EACCES, "load", BK_ANY, LOCKDOWN_NONE,
	  "the verifier refused a memory access: the kernel's types are not as expected" },
	{ EACCES, NULL, BK_ANY, LOCKDOWN_NONE,
	  "not permitted (capabilities, or kernel.perf_event_paranoid)" },
	{ ENOTSUPP, NULL, BK_FUNC, LOCKDOWN_NONE,
	  "this kernel cannot trace such a function this way (more than 6 arguments, or an "
	  "architecture without BPF trampolines)" },
	{ ENOTSUPP, NULL, BK_ANY, LOCKDOWN_NONE, "not supported by this kernel" },
	{ EOPNOTSUPP, NULL, BK(BK_KPROBE), LOCKDOWN_NONE, "no kprobe can be set at that place" },
	{ EOPNOTSUPP, NULL, BK_ANY, LOCKDOWN_NONE, "not supported by this kernel" },
	{ ESRCH, NULL, BK_ANY, LOCKDOWN_NONE,
	  "a type or symbol that the program needs is not in the kernel's BTF" },
	{ EBUSY, NULL, BK_ANY, LOCKDOWN_NONE,
	  "not traceable: marked notrace (a copy of an inline function is), or held by another "
	  "tracer" },
	{ EINVAL, NULL, BK_ANY, LOCKDOWN_CONFIDENTIALITY,
	  "reads of kernel memory by address are refused under lockdown=confidentiality" },
	{ EINVAL, "attach", BK(BK_KPROBE), LOCKDOWN_NONE,
	  "the function may not be probed (notrace or on the kprobe blacklist)" },
	{ EINVAL, "open", BK(BK_KPROBE), LOCKDOWN_NONE,
	  "the function may not be probed (notrace or on the kprobe blacklist)" },
	{ EINVAL, NULL, BK_ANY, LOCKDOWN_NONE,
	  "the kernel does not know this kind of program, a helper it calls, or takes an "
	  "argument it cannot trace" },
	{ ENODEV, NULL, BK(BK_KPROBE), LOCKDOWN_NONE,
	  "the kernel has no kprobes (CONFIG_KPROBE_EVENTS)" },
	{ ENOENT, "load", BK_ANY, LOCKDOWN_NONE,
	  "a function, tracepoint or symbol that the program names is not in this kernel" },
	{ ENOENT, NULL, BK_ANY, LOCKDOWN_NONE, "no such function or tracepoint in this kernel" },
	{ EADDRNOTAVAIL, NULL, BK_ANY, LOCKDOWN_NONE, "several functions have that name" },
	{ E2BIG, NULL, BK_ANY, LOCKDOWN_NONE,
	  "the verifier gave up: the program is too large or too complex for this kernel" },
	{ ENOSPC, NULL, BK_ANY, LOCKDOWN_NONE,
	  "the verifier's log did not fit, or the kernel ran out of slots" },
	{ ENOMEM, NULL, BK_ANY, LOCKDOWN_NONE,
	  "no memory for the program or its maps (memory cgroup, or RLIMIT_MEMLOCK)" },
	{ EAGAIN, NULL, BK_ANY, LOCKDOWN_NONE, "interrupted by a signal" },
	{ ENOSYS, NULL, BK_ANY, LOCKDOWN_NONE, "the kernel has no bpf() (CONFIG_BPF_SYSCALL)" },
};

static const char *find_cause(int err, const char *stage, enum backend bk,
			      const struct caps *caps)
{
	enum lockdown lockdown = caps ? caps->lockdown : LOCKDOWN_NONE;
	size_t i;

	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].err == err && causes[i].bks & BK(bk) &&
		    (!causes[i].stage || !strcmp(causes[i].stage, stage)) &&
		    lockdown >= causes[i].lockdown)
			return causes[i].cause;
	return strerror(err);
}

void hooks_explain_errno(int err, const char *stage, enum backend bk, const struct caps *caps,
			 char *buf, size_t size)
{
	err = abs(err);
	if (!stage)
		stage = "load";
	snprintf(buf, size, "%s: %s: %s: %s; the next backend is tried", backend_names[bk], stage,
		 errno_name(err), find_cause(err, stage, bk, caps));
}

static const struct ability *find_ability(const struct caps *c, enum backend bk)
{
	switch (bk) {
	case BK_TP_BTF:
		return &c->tp_btf;
	case BK_RAW_TP:
		return &c->raw_tp;
	case BK_KPROBE:
		return &c->kprobe;
	case BK_ITER:
		return &c->iter;
	case BK_SYSCALL:
		return &c->syscall;
	default:
		return &c->fentry;	/* and fexit: one mechanism */
	}
}

static bool backend_usable(const struct caps *c, const struct variant *variant,
			   const struct hook *hook, struct verdict *v)
{
	const struct ability *a = find_ability(c, hook->bk);
	const char *stage = a->stage ? a->stage : "load";
	int err = abs(a->err);

	if (err)
		return refuse(v, "%s: %s: %s: %s", backend_names[hook->bk], stage, errno_name(err),
			      find_cause(err, stage, hook->bk, c));
	if (c->lockdown < LOCKDOWN_CONFIDENTIALITY)
		return true;
	if (hook->bk == BK_KPROBE)
		return refuse(v, "kprobes are refused under lockdown=confidentiality");
	if (variant->needs & NEED_PROBE_READ)
		return refuse(v, "reads of kernel memory by address are refused under "
			      "lockdown=confidentiality");
	return true;
}

/* Whether got is one of the alternatives in want. */
static bool proto_fits(const char *want, const char *got)
{
	size_t len, got_len = strlen(got);

	for (;; want += len + 1) {
		len = strcspn(want, "|");
		if (len == got_len && !strncmp(want, got, len))
			return true;
		if (!want[len])
			return false;
	}
}

static bool is_text(const struct ksym *k)
{
	return strchr("tTwW", k->type);
}

/*
 * The symbol to attach to: the function itself, or for a kprobe its renamed self. A kernel that
 * lists no symbols is believed: a trial attach will tell.
 */
static const char *resolve_symbol(const struct caps *c, enum backend bk, const char *func,
				  struct verdict *v)
{
	const struct ksym *k = caps_ksym(c, func), *end = c->ksyms + c->nksyms, *s;
	bool untrusted = false;
	int n = 0;

	if (!c->nksyms)
		return func;
	for (s = k; s && s < end && !strcmp(s->name, func); s++)
		n += is_text(s);
	if (n == 1)
		return func;
	if (n > 1) {
		refuse(v, "%s: %d functions have that name", func, n);
		return NULL;
	}
	s = caps_ksym_suffixed(c, func, &untrusted);
	if (!s)
		refuse(v, "%s: inlined, no symbol in kallsyms", func);
	else if (untrusted)
		refuse(v, "%s: exists only as %s, whose arguments may differ", func, s->name);
	else if (bk != BK_KPROBE)
		refuse(v, "%s: named %s, which only a kprobe finds", func, s->name);
	else
		return s->name;
	return NULL;
}

/* One candidate of a hook: what to attach to, or NULL with the reason in v. */
static const char *resolve_target(const struct caps *c, const struct hook *hook,
				  const char *target, struct verdict *v)
{
	bool tp = hook->bk == BK_TP_BTF || hook->bk == BK_RAW_TP;
	char got[PROTO_MAX] = "", iter[128];
	int err;

	if (hook->bk == BK_ITER) {
		snprintf(iter, sizeof(iter), "bpf_iter_%s", target);
		if (!caps_func_proto(c, iter, got, sizeof(got)))
			return target;
		refuse(v, "%s: no such iterator in this kernel", target);
		return NULL;
	}
	err = tp ? caps_tp_proto(c, target, got, sizeof(got)) :
		   caps_func_proto(c, target, got, sizeof(got));
	if (err == -ENOENT && hook->bk == BK_RAW_TP && !hook->in_btf)
		return target;
	if (err == -ENOENT) {
		refuse(v, "%s: no such %s in this kernel", target, tp ? "tracepoint" : "function");
		return NULL;
	}
	if (hook->proto && (err || !proto_fits(hook->proto, got))) {
		refuse(v, "%s: unknown prototype: %s", target, got);
		return NULL;
	}
	return tp ? target : resolve_symbol(c, hook->bk, target, v);
}

/* Leaving out what exists would be a silent gap: only what is in neither list is absent. */
static bool absent(const struct caps *c, const struct hook *hook)
{
	char got[PROTO_MAX];
	int k;

	for (k = 0; k < HOOK_CANDIDATES && hook->target[k]; k++)
		if (caps_func_proto(c, hook->target[k], got, sizeof(got)) != -ENOENT ||
		    caps_ksym(c, hook->target[k]))
			return false;
	return true;
}

/* All candidates of one hook. The reason names each that was tried. */
static bool resolve_hook(const struct caps *c, const struct variant *variant, size_t i,
			 struct verdict *v)
{
	const struct hook *hook = &variant->hooks[i];
	struct verdict one;
	size_t len = 0;
	int k;

	if (!hook->target[0])
		return true;
	v->reason[0] = '\0';
	for (k = 0; k < HOOK_CANDIDATES && hook->target[k]; k++) {
		v->target[i] = resolve_target(c, hook, hook->target[k], &one);
		if (v->target[i]) {
			v->reason[0] = '\0';
			return true;
		}
		if (len < sizeof(v->reason))
			len += snprintf(v->reason + len, sizeof(v->reason) - len, "%s%s",
					len ? "; " : "", one.reason);
	}
	if (hook->if_present && absent(c, hook)) {
		v->reason[0] = '\0';
		return true;
	}
	if (variant->config && len < sizeof(v->reason))
		snprintf(v->reason + len, sizeof(v->reason) - len, " (%s)", variant->config);
	return false;
}

/* A function the user named: its argument must be a folio or a page. */
static bool resolve_user(const struct caps *c, const struct hook *hook,
			 const struct user_hook *user, struct verdict *v)
{
	static const char *const fit[] = {
		"struct folio *", "const struct folio *", "struct page *", "const struct page *",
	};
	char type[PROTO_MAX] = "";
	size_t i;
	int err;

	err = caps_func_arg(c, user->function, user->arg, type, sizeof(type));
	if (err == -ENOENT)
		return refuse(v, "%s: no such function in this kernel", user->function);
	if (err == -ERANGE)
		return refuse(v, "%s: has no argument %u", user->function, user->arg);
	for (i = 0; i < sizeof(fit) / sizeof(fit[0]) && strcmp(type, fit[i]); i++)
		;
	if (i == sizeof(fit) / sizeof(fit[0]))
		return refuse(v, "%s: argument %u is %s, neither struct folio * nor struct page *",
			      user->function, user->arg, type);
	v->target[0] = resolve_symbol(c, hook->bk, user->function, v);
	return v->target[0] != NULL;
}

static bool types_present(const struct caps *c, const struct type_need *t, struct verdict *v)
{
	unsigned int offset;
	bool percpu;
	int err;

	for (; t && t->type; t++) {
		percpu = !strcmp(t->type, TYPE_PERCPU);
		err = percpu ? caps_percpu_offset(c, t->member, &offset) :
			       caps_member(c, t->type, t->member);
		if (!err)
			continue;
		if (percpu)
			return refuse(v, "%s: no such per-CPU variable in BTF", t->member);
		return refuse(v, "%s%s%s: not in BTF%s%s%s", t->type, t->member ? "." : "",
			      t->member ? t->member : "", t->config ? " (" : "",
			      t->config ? t->config : "", t->config ? ")" : "");
	}
	return true;
}

static bool when_fits(const struct caps *c, const struct variant *variant, struct verdict *v)
{
	char got[PROTO_MAX] = "";

	if (!variant->when_func)
		return true;
	if (caps_func_proto(c, variant->when_func, got, sizeof(got)) == -ENOENT)
		return refuse(v, "%s: no such function in this kernel", variant->when_func);
	if (!proto_fits(variant->when_proto, got))
		return refuse(v, "%s is %s here", variant->when_func, got);
	return true;
}

static bool symbol_known(const struct caps *c, const char *name, unsigned long long *addr,
			 struct verdict *v)
{
	const struct ksym *k = caps_ksym(c, name);

	if (!c->nksyms)
		return refuse(v, "%s: /proc/kallsyms: %s", name,
			      c->ksym_err ? errno_name(abs(c->ksym_err)) : "empty");
	if (!k)
		return refuse(v, "%s: not in kallsyms", name);
	if (!k->addr)
		return refuse(v, "%s: address hidden (kernel.kptr_restrict, or CAP_SYSLOG is "
			      "missing)", name);
	*addr = k->addr;
	return true;
}

static bool needs_met(const struct caps *c, const struct variant *variant,
		      const struct plan *plan, struct verdict *v)
{
	unsigned long long ignored;

	if (variant->needs & NEED_KSYM_ADDR) {
		if (!symbol_known(c, variant->ksym, &v->ksym_addr, v))
			return false;
		if (variant->ksym_also && !symbol_known(c, variant->ksym_also, &ignored, v))
			return false;
	}
	if (variant->needs & NEED_BACKLOG && !plan->sig[SIG_BACKLOG].nusable)
		return refuse(v, "no way to rcu_state: %s is not available",
			      signals[SIG_BACKLOG].name);
	if (variant->needs & NEED_ACCESS && !plan->sig[SIG_ACCESS_READ].nusable)
		return refuse(v, "nothing to derive from: %s is not available",
			      signals[SIG_ACCESS_READ].name);
	return true;
}

/* Usable, but does it see all? */
static void find_losses(const struct caps *c, const struct variant *variant, struct verdict *v)
{
	bool loses = !variant->serial && c->preempt != PREEMPT_NONE &&
		     c->preempt != PREEMPT_VOLUNTARY;
	int i;

	if (variant->needs & NEED_SYSCR && (caps_member(c, "task_struct", "ioac") ||
					    caps_member(c, "task_io_accounting", "syscr"))) {
		v->degraded = true;
		refuse(v, "calls cannot be told apart: no task_struct.ioac.syscr "
		       "(CONFIG_TASK_IO_ACCOUNTING)");
		return;
	}
	for (i = 0; loses && i < VARIANT_HOOKS && variant->hooks[i].prog; i++) {
		if (variant->hooks[i].bk != BK_FENTRY && variant->hooks[i].bk != BK_FEXIT)
			continue;
		v->degraded = true;
		refuse(v, "preemption model %s: calls on a CPU go unseen while a preempted "
		       "program there has not ended", preempt_names[c->preempt]);
		return;
	}
}

static bool judge(const struct variant *variant, const struct caps *c,
		  const struct plan_opts *opts, const struct user_hook *user,
		  const struct plan *plan, struct verdict *v)
{
	bool requested = user || (opts && opts->requested & 1ULL << variant->signal);
	size_t i;

	if (!c->btf)
		return refuse(v, "no BTF (%s): kernel without CONFIG_DEBUG_INFO_BTF; give its "
			      "types with --btf FILE", errno_name(abs(c->btf_err)));
	if (variant->needs & NEED_REQUEST && !requested)
		return refuse(v, "only when asked for (%s)%s%s",
			      variant->request ? variant->request : "--backend",
			      variant->caveat ? ": " : "", variant->caveat ? variant->caveat : "");
	for (i = 0; i < VARIANT_HOOKS && variant->hooks[i].prog; i++)
		if (!backend_usable(c, variant, &variant->hooks[i], v))
			return false;
	if (!when_fits(c, variant, v) || !types_present(c, variant->types, v))
		return false;
	if (user && !resolve_user(c, &variant->hooks[0], user, v))
		return false;
	for (i = 0; !user && i < VARIANT_HOOKS && variant->hooks[i].prog; i++)
		if (!(variant->hooks[i].exact_only && !(opts && opts->exact)) &&
		    !resolve_hook(c, variant, i, v))
			return false;
	if (!needs_met(c, variant, plan, v))
		return false;
	find_losses(c, variant, v);
	return true;
}

static void add_verdict(const struct variant *variant, const struct caps *c,
			const struct plan_opts *opts, const struct user_hook *user,
			struct plan *plan, size_t room)
{
	size_t n = plan->sig[variant->signal].n;
	struct verdict *v = &plan->sig[variant->signal].v[n];

	if (n >= room)
		return;
	v->variant = variant;
	v->user_arg = user ? (int)user->arg : -1;
	v->usable = judge(variant, c, opts, user, plan, v);
	if (!v->usable) {
		memset(v->target, 0, sizeof(v->target));
		v->ksym_addr = 0;
		if (user)	/* for those who ask why not */
			v->target[0] = user->function;
	}
	plan->sig[variant->signal].n++;
}

/* Whether a is to be tried before b. Two that are alike stay in order. */
static bool better(const struct verdict *a, const struct verdict *b)
{
	unsigned int ra, rb;

	if (a->usable != b->usable)
		return a->usable;
	if (!a->usable)
		return false;
	if ((a->user_arg >= 0) != (b->user_arg >= 0))
		return a->user_arg >= 0;
	/* Functions the user named are tried in his order, whatever they cost. */
	if (a->user_arg >= 0 && (a->user_arg != b->user_arg || strcmp(a->target[0], b->target[0])))
		return false;
	ra = a->variant->rank + (a->degraded ? LOSSY_RANK : 0);
	rb = b->variant->rank + (b->degraded ? LOSSY_RANK : 0);
	if (ra != rb)
		return ra < rb;
	return a->variant->cost_ns < b->variant->cost_ns;
}

static void sort_verdicts(struct verdict *v, size_t n)
{
	struct verdict moving;
	size_t i, k;

	for (i = 1; i < n; i++) {
		moving = v[i];
		for (k = i; k && better(&moving, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = moving;
	}
}

void hooks_plan(const struct variant *table, size_t n, const struct caps *caps,
		const struct plan_opts *opts, struct plan *plan)
{
	const struct user_hook *user;
	size_t sig, i, u, own;

	memset(plan, 0, sizeof(*plan));
	/* SIG_BACKLOG comes before the signals that need its route. */
	for (sig = 0; sig < SIGNALS; sig++) {
		for (i = own = 0; i < n; i++)
			own += table[i].signal == sig;
		for (u = 0; opts && u < opts->nuser; u++) {
			user = &opts->user[u];
			for (i = 0; i < n; i++)
				if (user->signal == sig && table[i].signal == sig)
					add_verdict(&table[i], caps, opts, user, plan,
						    PLAN_VARIANTS - own);
		}
		for (i = 0; i < n; i++)
			if (table[i].signal == sig)
				add_verdict(&table[i], caps, opts, NULL, plan, PLAN_VARIANTS);
		for (i = 0; i < plan->sig[sig].n; i++)
			plan->sig[sig].nusable += plan->sig[sig].v[i].usable;
		sort_verdicts(plan->sig[sig].v, plan->sig[sig].n);
	}
}

static int parse_signal(const char *arg, size_t len, enum signal_id *signal, char *err,
			size_t errlen)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (strlen(signals[i].name) == len && !strncmp(signals[i].name, arg, len))
			break;
	if (i == SIGNALS) {
		snprintf(err, errlen, "--hook: '%.*s' is no signal", (int)len, arg);
		return -EINVAL;
	}
	if (!signals[i].user) {
		snprintf(err, errlen, "--hook: %s takes no function of yours", signals[i].name);
		return -EINVAL;
	}
	*signal = i;
	return 0;
}

int hooks_parse_user(const char *arg, struct user_hook *out, char *err, size_t errlen)
{
	static const char ident[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_";
	const char *eq = strchr(arg, '='), *func, *num;
	size_t len;
	int ret;

	memset(out, 0, sizeof(*out));
	if (!eq) {
		snprintf(err, errlen, "--hook: '%s' is not SIGNAL=FUNCTION[:ARG]", arg);
		return -EINVAL;
	}
	ret = parse_signal(arg, eq - arg, &out->signal, err, errlen);
	if (ret)
		return ret;
	func = eq + 1;
	len = strspn(func, ident);
	num = func + len;
	if (!len || len >= sizeof(out->function) || (func[0] >= '0' && func[0] <= '9') ||
	    (*num && *num != ':')) {
		snprintf(err, errlen, "--hook: '%.*s' is not the name of a function",
			 (int)strcspn(func, ":"), func);
		return -EINVAL;
	}
	memcpy(out->function, func, len);
	if (!*num)
		return 0;
	if (num[1] < '0' || num[1] > '0' + USER_ARG_MAX || num[2]) {
		snprintf(err, errlen, "--hook: '%s' is not the number of an argument (0 to %d)",
			 num + 1, USER_ARG_MAX);
		return -EINVAL;
	}
	out->arg = num[1] - '0';
	return 0;
}
