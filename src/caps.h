/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * caps.h - what a kernel offers to hook: prototypes from BTF, symbols from kallsyms, abilities
 * from trial loads. Filled for the running kernel or from saved files (tests), then only read.
 */
#ifndef CAPS_H
#define CAPS_H

#include <stdbool.h>
#include <stddef.h>

struct btf;

enum preempt_model { PREEMPT_UNKNOWN, PREEMPT_NONE, PREEMPT_VOLUNTARY, PREEMPT_FULL, PREEMPT_LAZY };
enum lockdown { LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

struct ksym {
	unsigned long long addr;	/* 0 where the reader may not see addresses */
	char type;
	const char *name;		/* into struct caps' text */
};

/* Abilities found by trial: 0 usable, else the errno of the trial and the stage it failed in. */
struct ability {
	int err;
	const char *stage;		/* "load", "attach", "open" */
};

struct caps {
	struct btf *btf;		/* NULL: no BTF */
	int btf_err;			/* why not */
	struct ksym *ksyms;		/* sorted by name */
	size_t nksyms;
	char *ksym_text;
	int ksym_err;
	enum preempt_model preempt;
	enum lockdown lockdown;
	bool livepatched;		/* /sys/kernel/livepatch has an entry */
	bool rdonly_cast;		/* kfunc bpf_rdonly_cast exists */
	struct ability tp_btf, raw_tp, fentry, kprobe, iter, syscall;
	char kernel[96];		/* release */
};

/*
 * The running kernel. btf_path: --btf FILE, or NULL for the kernel's own. Does trial loads when
 * probe is true. 0, or -errno only when nothing at all can be known (-ENOMEM).
 */
int caps_read(struct caps *c, const char *btf_path, bool probe);
/*
 * A saved kernel: raw BTF file and kallsyms text, each may be NULL. Abilities are left usable,
 * models NONE. -errno, and *c is empty.
 */
int caps_load(struct caps *c, const char *btf_file, const char *kallsyms_file);
void caps_free(struct caps *c);

/*
 * The C prototype of a kernel function or of a BPF tracepoint (typedef btf_trace_NAME, without
 * its hidden first argument), types as the kernel spells them after resolving typedefs of
 * integers: "void (struct folio *)". -ENOENT: no such; -E2BIG: buf too small.
 */
int caps_func_proto(const struct caps *c, const char *func, char *buf, size_t size);
int caps_tp_proto(const struct caps *c, const char *tp, char *buf, size_t size);

/* The type of one argument (0-based) of a function, spelled alike. -ERANGE: it has fewer. */
int caps_func_arg(const struct caps *c, const char *func, unsigned int arg, char *buf, size_t size);

/*
 * Whether a struct or union of that name exists and, member not NULL, has that member, perhaps
 * inside an anonymous one. 0 or -ENOENT.
 */
int caps_member(const struct caps *c, const char *type, const char *member);
/* Offset of a per-CPU variable as BTF has it; only differences mean anything. -ENOENT. */
int caps_percpu_offset(const struct caps *c, const char *var, unsigned int *offset);

/* The exact symbol (the first of several), or NULL. Symbols of modules are not kept. */
const struct ksym *caps_ksym(const struct caps *c, const char *name);
/*
 * The one symbol NAME.suffix (.isra.0, .constprop.0, .part.0, .llvm.N, .cold is never one);
 * NULL: none or several. *untrusted: its arguments may differ from the prototype.
 */
const struct ksym *caps_ksym_suffixed(const struct caps *c, const char *name, bool *untrusted);

/* Takes over text as in /proc/kallsyms, malloc()ed; frees it also on failure. -ENOMEM, -EINVAL. */
int caps_take_ksyms(struct caps *c, char *text);

/*
 * Pure parsers, for tests. Text as in /sys/kernel/debug/sched/preempt, /proc/cmdline and
 * /proc/config.gz (unpacked); NULL: not readable.
 */
enum preempt_model caps_parse_preempt(const char *sched_preempt, const char *cmdline,
				      const char *config);
enum lockdown caps_parse_lockdown(const char *text);

extern const char *const preempt_names[];	/* by enum preempt_model */

#endif
