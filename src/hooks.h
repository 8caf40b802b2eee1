/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooks.h - the hook table and the planner. Both are pure: they know the kernel through
 * struct caps only, so they are tested on saved kernels.
 *
 * A family is a set of signals. A signal has variants (backends), best first; a variant has one
 * or more hooks, all of which must attach. The planner orders the usable variants of each signal,
 * exactness before cost, and says in words why each of the others is not usable. tracer.c then
 * takes the first that really loads and attaches.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "caps.h"

enum family { FAM_ACCESS, FAM_BACKLOG, FAM_GRACE, FAM_REFCOUNT, FAMILIES };

enum signal_id {
	SIG_ACCESS_READ,
	SIG_ACCESS_FAULT,
	SIG_ACCESS_LIFECYCLE,	/* inserted, removed, written */
	SIG_ACCESS_MARKS,
	SIG_ACCESS_TMPFS,
	SIG_ACCESS_TREE,	/* fork, for the process-tree filter */
	SIG_BACKLOG,
	SIG_GRACE_COUNT,	/* gp_seq and expedited_sequence */
	SIG_GRACE_NORMAL,
	SIG_GRACE_EXPEDITED,
	SIG_REFCOUNT_OPS,
	SIGNALS,
};

struct signal_info {
	const char *name;	/* "access.read" */
	enum family family;
	bool required;		/* without it the whole family is off */
	const char *gives;	/* for `probe` */
	bool user;		/* --hook may name a function for it */
};

extern const char *const family_names[FAMILIES];
extern const struct signal_info signals[SIGNALS];

enum backend {
	BK_TP_BTF, BK_RAW_TP, BK_FENTRY, BK_FEXIT, BK_KPROBE, BK_ITER, BK_SYSCALL, BACKENDS,
};
extern const char *const backend_names[BACKENDS];

#define HOOK_CANDIDATES 3

struct hook {
	enum backend bk;
	const char *prog;	/* BPF program name */
	const char *target[HOOK_CANDIDATES];	/* function or tracepoint; candidates in order */
	/*
	 * Expected prototype as caps_func_proto() prints it; alternatives separated by '|'.
	 * NULL: none to check (iterators, syscall programs).
	 */
	const char *proto;
	bool if_present;	/* may be absent from the kernel; must attach where it exists */
	bool in_btf;		/* raw_tp: what BTF does not have is not there */
	bool exact_only;	/* left out (as if absent) unless every op is followed (--exact) */
};

#define VARIANT_HOOKS 10

enum variant_need {
	NEED_REQUEST = 1 << 0,		/* only when asked for by name (taxes the machine) */
	NEED_PROBE_READ = 1 << 1,	/* refused under lockdown=confidentiality */
	NEED_KSYM_ADDR = 1 << 2,	/* needs the address of a symbol (ksym) */
	NEED_SYSCR = 1 << 3,		/* needs task_struct.ioac.syscr; without: degraded */
	NEED_BACKLOG = 1 << 4,		/* finds rcu_state by what SIG_BACKLOG finds */
	NEED_ACCESS = 1 << 5,		/* is told of reads by SIG_ACCESS_READ and SIG_ACCESS_FAULT */
};

/* A type the programs cannot do without. A list ends with .type == NULL. */
struct type_need {
	const char *type;	/* struct; TYPE_PERCPU: member is a per-CPU variable */
	const char *member;	/* NULL: the type alone */
	const char *config;	/* option that makes it; NULL: no single one */
};

#define TYPE_PERCPU ".percpu"

/* What a backend of refcount.ops knows. */
enum ref_backend {
	REFS_NONE,
	REFS_PAGE_REF,		/* every get and put */
	REFS_FUNCTIONS,		/* gets of lookups; puts of reads, of batches and the last one */
	REFS_DERIVED,		/* a get and a put for each folio of an access; bounces of gets */
};

struct variant {
	enum signal_id signal;
	const char *name;		/* "tp_btf", "kprobe", "kthread-work", "sequence", ... */
	struct hook hooks[VARIANT_HOOKS];	/* ends with .prog == NULL */
	unsigned int needs;		/* enum variant_need */
	const char *request;		/* NEED_REQUEST: the option that asks */
	const char *ksym;		/* NEED_KSYM_ADDR */
	const char *ksym_also;		/* must be listed too; NULL: none */
	const struct type_need *types;	/* NULL: none */
	/* Only where this function has this prototype; NULL: everywhere. */
	const char *when_func, *when_proto;
	const char *config;		/* option that makes its targets; for the reason */
	/*
	 * One task at a time calls the targets: the guard that a preempted fentry program leaves
	 * set is met by nobody, so it loses nothing on any kernel.
	 */
	bool serial;
	bool requesters;		/* grace.expedited: runs in the requester's context */
	enum ref_backend ref;		/* refcount.ops */
	unsigned int cost_ns;		/* per event, measured or estimated, for `probe` */
	unsigned int rank;		/* smaller is more exact; equal ranks: cheaper first */
	const char *caveat;		/* what it does not see, in words; NULL: nothing */
};

extern const struct variant variants[];
extern const size_t nvariants;

/* --hook SIGNAL=FUNCTION[:ARG], ARG is 0-based. */
struct user_hook {
	enum signal_id signal;
	char function[64];
	unsigned int arg;
};

struct plan_opts {
	unsigned long long requested;	/* bit per signal: NEED_REQUEST variants allowed */
	/* Outlives the plan. What exceeds PLAN_VARIANTS with the table's own is ignored. */
	const struct user_hook *user;
	size_t nuser;
	bool exact;			/* hook.exact_only */
};

/* The judgement on one variant. */
struct verdict {
	const struct variant *variant;
	bool usable;
	bool degraded;			/* usable, but loses events here */
	const char *target[VARIANT_HOOKS];	/* chosen; NULL: none, or hook left out */
	unsigned long long ksym_addr;	/* NEED_KSYM_ADDR */
	int user_arg;			/* argument position of a user hook, -1: the table's own */
	char reason[200];		/* why not usable, or why degraded; "" otherwise */
};

#define PLAN_VARIANTS 12

struct plan {
	struct {
		/* Usable ones first, best first; then the others in table order. */
		struct verdict v[PLAN_VARIANTS];
		size_t n;
		size_t nusable;
	} sig[SIGNALS];
};

/*
 * Pure. fentry is exact and cheapest where the kernel is not preemptible (none, voluntary), and
 * loses time slices where it is (full, lazy) or may be (unknown): there it ranks behind what is
 * exact and is degraded (but see variant.serial). A user's hook comes before the table's variants:
 * a verdict has one for each of the signal's variants, with target[0] his function.
 */
void hooks_plan(const struct variant *table, size_t n, const struct caps *caps,
		const struct plan_opts *opts, struct plan *plan);

/* Parses --hook. 0, or -EINVAL with a line in err. */
int hooks_parse_user(const char *arg, struct user_hook *out, char *err, size_t errlen);

/*
 * A failed load or attach in words: what it means and what can be done, e.g. stage "load", EPERM
 * under lockdown. buf always gets a line without newline.
 */
void hooks_explain_errno(int err, const char *stage, enum backend bk, const struct caps *caps,
			 char *buf, size_t size);

#endif
