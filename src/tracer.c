// SPDX-License-Identifier: GPL-2.0-only
/* tracer.c - see tracer.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backlog.h"
#include "hotbits.h"
#include "log.h"
#include "tracer.h"
#include "fs_abi.h"
#include "probes.skel.h"

#define SITE_STACKS 8192	/* different stacks */
#define SITES_MAX 16384		/* of files */
#define FOLIOS_MAX 65536
#define POSSIBLE_CPUS "/sys/devices/system/cpu/possible"

/* libbpf speaks one level lower than we do: what it calls a warning is a detail of ours. */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *line, *rest;

	if (log_threshold < LOG_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (*line)
			log_debug("%s", line);
	free(text);
	return 0;
}

static struct bpf_program *find_prog(struct probes_bpf *skel, const char *name)
{
	return bpf_object__find_program_by_name(skel->obj, name);
}

static bool is_wanted(const struct tracer_opts *opts, enum signal_id sig)
{
	return sig != SIG_ACCESS_TREE || (opts->filter & FS_FILTER_TREE);
}

/* Whether a variant of access.* runs as fentry where it can be preempted in the middle. */
static bool is_preemptible(const struct tracer *t)
{
	int s, i;

	if (t->caps.preempt == PREEMPT_NONE || t->caps.preempt == PREEMPT_VOLUNTARY)
		return false;
	for (s = 0; s < SIGNALS; s++) {
		const struct verdict *v = t->sig[s].chosen;

		for (i = 0; v && i < VARIANT_HOOKS && v->variant->hooks[i].prog; i++)
			if (v->variant->hooks[i].bk == BK_FENTRY)
				return true;
	}
	return false;
}

static void configure_refs(struct tracer *t, struct probes_bpf *skel, const struct tracer_opts *opts)
{
	const struct verdict *refs = t->sig[SIG_REFCOUNT_OPS].chosen;

	skel->rodata->cfg_ref_every = opts->every;
	skel->rodata->cfg_ref_every_bits = __builtin_ctz(opts->every ?: 1);
	skel->rodata->cfg_ref_set_bits = t->tables.witness_bits;
	skel->rodata->cfg_ref_sites = opts->sites;
	skel->rodata->cfg_ref_folios_ino = opts->folios_ino;
	skel->rodata->cfg_ref_folios_dev = opts->folios_dev;
	skel->rodata->cfg_ref_derived = refs && refs->variant->ref == REFS_DERIVED;
}

/* Maps of the family refcount; none of them is of a size that matters without it. */
static int size_ref_maps(struct tracer *t, struct probes_bpf *skel, const struct tracer_opts *opts)
{
	bool on = t->sig[SIG_REFCOUNT_OPS].chosen;
	int err;

	err = bpf_map__set_max_entries(skel->maps.refcount_cpus, t->nr_cpus);
	if (!on)
		return err;
	err = err ?: bpf_map__set_max_entries(skel->maps.refcount_witness,
					      1U << t->tables.witness_bits);
	if (opts->every > 1)
		err = err ?: bpf_map__set_max_entries(skel->maps.refcount_groups,
						      t->tables.group_entries);
	if (opts->sites) {
		err = err ?: bpf_map__set_max_entries(skel->maps.refcount_stacks, SITE_STACKS);
		err = err ?: bpf_map__set_max_entries(skel->maps.refcount_sites, SITES_MAX);
	}
	if (opts->folios_ino)
		err = err ?: bpf_map__set_max_entries(skel->maps.refcount_folios, FOLIOS_MAX);
	return err;
}

/*
 * Relocations against the kernel's types. libbpf looks into modules (btrfs) for types that vmlinux
 * lacks, which takes CAP_SYS_ADMIN; without it vmlinux alone must do, given as a file.
 */
static struct probes_bpf *open_skel(const struct tracer_opts *opts)
{
	LIBBPF_OPTS(bpf_object_open_opts, oo);
	__u32 id = 0;

	if (opts->btf_path)
		oo.btf_custom_path = opts->btf_path;
	else if (bpf_btf_get_next_id(0, &id) == -EPERM)
		oo.btf_custom_path = "/sys/kernel/btf/vmlinux";
	return probes_bpf__open_opts(&oo);
}

/* Settings that programs read as constants, and the sizes of maps. */
static int configure(struct tracer *t, struct probes_bpf *skel, const struct tracer_opts *opts)
{
	const struct verdict *marks = t->sig[SIG_ACCESS_MARKS].chosen;
	__u32 sets = t->nr_cpus << t->tables.set_bits;
	int err;

	skel->rodata->cfg_rdonly_cast = t->caps.rdonly_cast;
	skel->rodata->cfg_probe_read = t->caps.lockdown != LOCKDOWN_CONFIDENTIALITY;
	skel->rodata->cfg_nr_cpus = t->nr_cpus;
	skel->rodata->cfg_set_bits = t->tables.set_bits;
	skel->rodata->cfg_atomic = is_preemptible(t);
	skel->rodata->cfg_filter = opts->filter;
	skel->rodata->cfg_outside = opts->outside;
	skel->rodata->cfg_tmpfs = t->sig[SIG_ACCESS_TMPFS].chosen != NULL;
	skel->rodata->cfg_hot_test = t->hot_known;
	skel->rodata->cfg_marks_arg = marks && marks->user_arg > 0 ? marks->user_arg : 0;
	configure_refs(t, skel, opts);
	if (opts->comm)
		snprintf((char *)skel->rodata->cfg_comm, sizeof(skel->rodata->cfg_comm), "%s",
			 opts->comm);
	memcpy((void *)&skel->rodata->cfg_hot, &t->hot, sizeof(t->hot));
	skel->data_access_ctl->access_ctl.mglru = hotbits_mglru_on();
	if (t->sig[SIG_GRACE_EXPEDITED].chosen)
		skel->rodata->grace_exp_func = t->sig[SIG_GRACE_EXPEDITED].chosen->ksym_addr;

	err = bpf_map__set_max_entries(skel->maps.access_slots, 2 * sets);
	err = err ?: bpf_map__set_max_entries(skel->maps.access_cpus, t->nr_cpus);
	err = err ?: bpf_map__set_max_entries(skel->maps.access_spill0, t->tables.spill_entries);
	err = err ?: bpf_map__set_max_entries(skel->maps.access_spill1, t->tables.spill_entries);
	err = err ?: size_ref_maps(t, skel, opts);
	/* -ENOENT: no way to the data; the planner has left the family out, too. */
	if (!err && backlog_configure(skel, &t->caps, t->nr_cpus) == -ENOMEM)
		err = -ENOMEM;
	return err;
}

/* The planner found nothing to attach to, and that is fine. */
static bool is_left_out(const struct verdict *v, int i)
{
	const struct hook *h = &v->variant->hooks[i];

	return !v->target[i] && (h->if_present || h->exact_only);
}

/* Marks the programs of one verdict for loading, with their targets. */
static int select_progs(struct probes_bpf *skel, const struct verdict *v)
{
	int i, err = 0;

	for (i = 0; i < VARIANT_HOOKS && v->variant->hooks[i].prog && !err; i++) {
		const struct hook *h = &v->variant->hooks[i];
		struct bpf_program *p = find_prog(skel, h->prog);

		if (!p)
			return -ESRCH;
		if (is_left_out(v, i))
			continue;
		bpf_program__set_autoload(p, true);
		if (h->bk == BK_TP_BTF || h->bk == BK_FENTRY || h->bk == BK_FEXIT)
			err = bpf_program__set_attach_target(p, 0, v->target[i]);
	}
	return err;
}

static struct bpf_link *attach_hook(struct bpf_program *p, const struct hook *h, const char *target)
{
	switch (h->bk) {
	case BK_TP_BTF:
	case BK_FENTRY:
	case BK_FEXIT:
		return bpf_program__attach_trace(p);
	case BK_RAW_TP:
		return bpf_program__attach_raw_tracepoint(p, target);
	case BK_KPROBE:
		return bpf_program__attach_kprobe(p, false, target);
	default:
		errno = EINVAL;
		return NULL;
	}
}

static void detach_signal(struct tracer_signal *s)
{
	int i;

	for (i = 0; i < VARIANT_HOOKS; i++) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
		s->progs[i] = NULL;
	}
}

/* Gives up the signal's variant for a reason and takes the next usable one. */
static void fall_back(struct tracer *t, enum signal_id sig, int err, const char *stage,
		      const char *target, enum backend bk)
{
	struct tracer_signal *s = &t->sig[sig];
	char why[160];

	hooks_explain_errno(err, stage, bk, &t->caps, why, sizeof(why));
	snprintf(s->reason, sizeof(s->reason), "%s %s via %s: %s", stage, target ?: "?",
		 backend_names[bk], why);
	log_info("%s: %s", signals[sig].name, s->reason);
	detach_signal(s);
	s->next++;
	s->chosen = !s->forced && s->next < t->plan.sig[sig].nusable ? &t->plan.sig[sig].v[s->next] : NULL;
}

/* Attaches every hook of a signal, or none. */
static int attach_signal(struct tracer *t, enum signal_id sig)
{
	struct tracer_signal *s = &t->sig[sig];
	const struct verdict *v = s->chosen;
	int i, err;

	for (i = 0; i < VARIANT_HOOKS && v->variant->hooks[i].prog; i++) {
		const struct hook *h = &v->variant->hooks[i];

		if (is_left_out(v, i))
			continue;
		s->progs[i] = find_prog(t->skel, h->prog);
		if (h->bk == BK_ITER || h->bk == BK_SYSCALL)
			continue;
		s->links[i] = attach_hook(s->progs[i], h, v->target[i]);
		if (!s->links[i]) {
			err = -errno;
			fall_back(t, sig, err, "attach", v->target[i], h->bk);
			return err;
		}
	}
	return 0;
}

/* Attaches what select_progs() chose and lets it go again. */
static int trial_attach(struct probes_bpf *skel, const struct verdict *v)
{
	struct bpf_link *links[VARIANT_HOOKS] = {};
	int i, err = 0;

	for (i = 0; i < VARIANT_HOOKS && v->variant->hooks[i].prog && !err; i++) {
		const struct hook *h = &v->variant->hooks[i];

		if (is_left_out(v, i) || h->bk == BK_ITER || h->bk == BK_SYSCALL)
			continue;
		links[i] = attach_hook(find_prog(skel, h->prog), h, v->target[i]);
		if (!links[i])
			err = -errno;
	}
	for (i = 0; i < VARIANT_HOOKS; i++)
		bpf_link__destroy(links[i]);
	return err;
}

int tracer_try(struct tracer *t, const struct tracer_opts *opts, enum signal_id sig,
	       const struct verdict *v, const char **stage)
{
	const struct verdict *chosen = t->sig[sig].chosen;
	struct table_size full = t->tables;
	struct probes_bpf *skel = open_skel(opts);
	int err;

	*stage = "open";
	if (!skel)
		return -errno;
	/* Small maps: only the programs are of interest. */
	t->tables.set_bits = t->tables.witness_bits = 0;
	t->tables.spill_entries = t->tables.group_entries = TABLE_SPILL_MIN;
	t->sig[sig].chosen = v;
	*stage = "load";
	err = configure(t, skel, opts);
	err = err ?: select_progs(skel, v);
	err = err ?: probes_bpf__load(skel);
	if (!err) {
		*stage = "attach";
		err = trial_attach(skel, v);
	}
	t->tables = full;
	t->sig[sig].chosen = chosen;
	probes_bpf__destroy(skel);
	return err;
}

/* Loading failed as a whole: every signal whose variant fails alone moves on. Number that moved. */
static int blame(struct tracer *t, const struct tracer_opts *opts)
{
	int s, err, moved = 0;
	const char *stage;

	for (s = 0; s < SIGNALS; s++) {
		if (!t->sig[s].chosen)
			continue;
		err = tracer_try(t, opts, s, t->sig[s].chosen, &stage);
		if (!err)
			continue;
		fall_back(t, s, err, stage, t->sig[s].chosen->target[0],
			  t->sig[s].chosen->variant->hooks[0].bk);
		moved++;
	}
	return moved;
}

static int load_all(struct tracer *t, const struct tracer_opts *opts)
{
	int s, err;

	t->skel = open_skel(opts);
	if (!t->skel)
		return -errno;
	err = configure(t, t->skel, opts);
	for (s = 0; s < SIGNALS && !err; s++)
		if (t->sig[s].chosen)
			err = select_progs(t->skel, t->sig[s].chosen);
	/* Of access.query: heat and size of the rows shown. */
	if (!err && !t->caps.syscall.err)
		bpf_program__set_autoload(t->skel->progs.access_query_files, true);
	return err ?: probes_bpf__load(t->skel);
}

static void unload(struct tracer *t)
{
	int s;

	for (s = 0; s < SIGNALS; s++)
		detach_signal(&t->sig[s]);
	probes_bpf__destroy(t->skel);
	t->skel = NULL;
}

/* A family that lost a required signal is off: half a family would give half numbers. */
static void drop_broken_families(struct tracer *t, const struct tracer_opts *opts)
{
	int s, o;

	for (s = 0; s < SIGNALS; s++) {
		if (!signals[s].required || t->sig[s].chosen || !is_wanted(opts, s))
			continue;
		for (o = 0; o < SIGNALS; o++) {
			bool derives = t->sig[o].chosen &&
				t->sig[o].chosen->variant->needs & NEED_ACCESS &&
				signals[s].family == FAM_ACCESS;

			if ((signals[o].family != signals[s].family && !derives) ||
			    !t->sig[o].chosen)
				continue;
			t->sig[o].chosen = NULL;
			snprintf(t->sig[o].reason, sizeof(t->sig[o].reason),
				 "%s is unavailable; the family %s is off", signals[s].name,
				 family_names[signals[s].family]);
		}
	}
}

/* Load and attach until all that is left holds. Each round gives up at least one variant. */
static int settle(struct tracer *t, const struct tracer_opts *opts)
{
	int err, s;
	bool again;

	for (;;) {
		drop_broken_families(t, opts);
		err = load_all(t, opts);
		if (err) {
			unload(t);
			if (err == -ENOMEM || !blame(t, opts))
				return err;
			continue;
		}
		again = false;
		for (s = 0; s < SIGNALS; s++)
			if (t->sig[s].chosen && attach_signal(t, s))
				again = true;
		if (!again)
			return 0;
		unload(t);
	}
}

_Static_assert(sizeof(((struct verdict *)0)->reason) <= SNAP_REASON, "a verdict's reason fits");

/* The variant that --backend names, or none. */
static void choose_forced(struct tracer *t, enum signal_id sig, const char *name)
{
	struct tracer_signal *s = &t->sig[sig];
	size_t i;

	s->forced = true;
	if (!strcmp(name, "none")) {
		snprintf(s->reason, sizeof(s->reason), "--backend none: off, as asked for");
		return;
	}
	snprintf(s->reason, sizeof(s->reason), "--backend %s: no such backend for this signal", name);
	for (i = 0; i < t->plan.sig[sig].n; i++) {
		const struct verdict *v = &t->plan.sig[sig].v[i];

		if (strcmp(v->variant->name, name))
			continue;
		if (v->usable)
			s->chosen = v;
		/* The plan is part of *t, like the reason: not for snprintf() of itself. */
		memcpy(s->reason, v->reason, sizeof(v->reason));
		return;
	}
}

/* Why none of the signal's variants is usable: each by name. */
static void all_reasons(const struct plan *plan, enum signal_id sig, char *buf, size_t size)
{
	size_t i, n = 0;

	for (i = 0; i < plan->sig[sig].n && n < size; i++) {
		const struct verdict *v = &plan->sig[sig].v[i];
		const char *name = v->variant->name;
		bool named = !strncmp(v->reason, name, strlen(name));

		n += snprintf(buf + n, size - n, "%s%s%s%s", n ? "; " : "", named ? "" : name,
			      named ? "" : ": ", v->reason);
	}
}

static void first_choices(struct tracer *t, const struct tracer_opts *opts)
{
	int s;

	for (s = 0; s < SIGNALS; s++) {
		struct tracer_signal *sig = &t->sig[s];

		memset(sig, 0, sizeof(*sig));
		if (!is_wanted(opts, s))
			snprintf(sig->reason, sizeof(sig->reason), "not asked for");
		else if (opts->backend && opts->backend[s])
			choose_forced(t, s, opts->backend[s]);
		else if (t->plan.sig[s].nusable)
			sig->chosen = &t->plan.sig[s].v[0];
		else
			all_reasons(&t->plan, s, sig->reason, sizeof(sig->reason));
	}
}

/* The states after attaching; the canary may lower them. */
static void set_states(struct tracer *t)
{
	int s;

	for (s = 0; s < SIGNALS; s++) {
		struct tracer_signal *sig = &t->sig[s];

		if (!sig->chosen) {
			sig->state = HOOK_UNAVAILABLE;
			continue;
		}
		sig->state = sig->chosen->degraded ? HOOK_DEGRADED : HOOK_ATTACHED;
		snprintf(sig->reason, sizeof(sig->reason), "%s",
			 sig->chosen->degraded ? sig->chosen->reason : "");
	}
}

static int set_cgroup(struct tracer *t, const char *path)
{
	__u32 zero = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = bpf_map_update_elem(bpf_map__fd(t->skel->maps.access_cgroup), &zero, &fd, BPF_ANY);
	close(fd);
	return err;
}

/* An array of maps: updating it makes the kernel wait for running programs (kernel/bpf/syscall.c). */
static int make_barrier(struct tracer *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	t->barrier_inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fs_barrier_in", 4, 4, 1, NULL);
	if (t->barrier_inner < 0)
		return -errno;
	opts.inner_map_fd = t->barrier_inner;
	t->barrier_map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "fs_barrier", 4, 4, 1, &opts);
	return t->barrier_map < 0 ? -errno : 0;
}

int tracer_barrier(struct tracer *t)
{
	__u32 zero = 0;

	return bpf_map_update_elem(t->barrier_map, &zero, &t->barrier_inner, BPF_ANY);
}

/* A function that the user named and that cannot serve is worth a line: another takes its place. */
static void warn_user_hooks(const struct tracer *t)
{
	size_t i;
	int s;

	for (s = 0; s < SIGNALS; s++)
		for (i = 0; i < t->plan.sig[s].n; i++)
			if (t->plan.sig[s].v[i].user_arg >= 0 && !t->plan.sig[s].v[i].usable)
				log_warn("--hook %s: %s; the built-in ones are tried", signals[s].name,
					 t->plan.sig[s].v[i].reason);
}

/* Why nothing can be observed at all; 0 when something can. */
static int check_possible(const struct tracer *t)
{
	const struct caps *c = &t->caps;

	if (!c->btf) {
		log_error("BTF: open: %s; the kernel needs CONFIG_DEBUG_INFO_BTF, or give --btf FILE",
			  errstr(c->btf_err));
		return -ENOENT;
	}
	if (c->tp_btf.err == EPERM && c->syscall.err == EPERM) {
		log_error("BPF: %s: EPERM; run as root, or allow it for all who run this file: "
			  "setcap cap_bpf,cap_perfmon=ep FILE (a recording needs neither: -i FILE)",
			  c->tp_btf.stage ?: "load");
		return -EPERM;
	}
	if (c->lockdown == LOCKDOWN_CONFIDENTIALITY)
		log_warn("lockdown: confidentiality; kernel strings cannot be read, so files have no names; "
			 "counting goes on with typed loads");
	return 0;
}

static int open_tables(struct tracer *t, const struct tracer_opts *opts)
{
	struct cpus possible;
	int err = cpus_load(&possible, POSSIBLE_CPUS);

	if (err) {
		log_error("%s: read: %s", POSSIBLE_CPUS, errstr(err));
		return err;
	}
	t->nr_cpus = cpus_last(&possible) + 1;
	err = table_size(opts->memory, t->nr_cpus, &t->tables);
	if (err)
		log_error("--memory: %llu bytes are too few for %u CPUs; %llu would do",
			  (unsigned long long)opts->memory, t->nr_cpus,
			  (unsigned long long)t->tables.bytes);
	return err;
}

int tracer_open(struct tracer *t, const struct tracer_opts *opts)
{
	struct plan_opts po = {
		.requested = opts->requested, .user = opts->user, .nuser = opts->nuser,
		.exact = opts->every == 1,
	};
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };
	int err;

	/* What follows every reference wants to see all of them. */
	if (opts->every == 1 || opts->sites || (opts->backend && opts->backend[SIG_REFCOUNT_OPS]))
		po.requested |= 1ULL << SIG_REFCOUNT_OPS;
	memset(t, 0, sizeof(*t));
	t->stats_fd = t->barrier_map = t->barrier_inner = -1;
	t->every = opts->every;
	libbpf_set_print(libbpf_print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	setrlimit(RLIMIT_MEMLOCK, &lim);	/* before 5.11 maps count against it */

	err = caps_read(&t->caps, opts->btf_path, true);
	err = err ?: check_possible(t);
	err = err ?: open_tables(t, opts);
	if (err)
		goto out;
	t->hot_known = !hotbits_from_btf(t->caps.btf, &t->hot);
	hooks_plan(variants, nvariants, &t->caps, &po, &t->plan);
	warn_user_hooks(t);
	first_choices(t, opts);
	err = settle(t, opts);
	if (err) {
		log_error("BPF: load: %s; nothing is observed", errstr(err));
		goto out;
	}
	set_states(t);
	err = make_barrier(t);
	if (!err && opts->cgroup && (opts->filter & FS_FILTER_CGROUP)) {
		err = set_cgroup(t, opts->cgroup);
		if (err)
			log_error("%s: use as a cgroup: %s", opts->cgroup, errstr(err));
	}
	if (!err && opts->run_stats) {
		t->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (t->stats_fd < 0)
			log_warn("run statistics: enable: %s; program times are unavailable",
				 errstr(errno));
	}
out:
	if (err)
		tracer_close(t);
	return err;
}

void tracer_close(struct tracer *t)
{
	unload(t);
	if (t->stats_fd >= 0)
		close(t->stats_fd);
	if (t->barrier_map >= 0)
		close(t->barrier_map);
	if (t->barrier_inner >= 0)
		close(t->barrier_inner);
	caps_free(&t->caps);
	t->stats_fd = t->barrier_map = t->barrier_inner = -1;
}

bool tracer_family_on(const struct tracer *t, enum family fam)
{
	int s;

	for (s = 0; s < SIGNALS; s++)
		if (signals[s].family == fam && signals[s].required && !t->sig[s].chosen)
			return false;
	return true;
}

__u64 tracer_misses(const struct tracer *t, enum signal_id sig)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < VARIANT_HOOKS; i++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (t->sig[sig].progs[i] &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(t->sig[sig].progs[i]), &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

void tracer_hook_line(const struct tracer *t, enum signal_id sig, struct snap_hook *out)
{
	const struct tracer_signal *s = &t->sig[sig];
	size_t n = 0;
	int i;

	memset(out, 0, sizeof(*out));
	snprintf(out->signal, sizeof(out->signal), "%s", signals[sig].name);
	out->state = s->state;
	snprintf(out->reason, sizeof(out->reason), "%s", s->reason);
	if (!s->chosen || s->state == HOOK_UNAVAILABLE)
		return;
	snprintf(out->backend, sizeof(out->backend), "%s", s->chosen->variant->name);
	for (i = 0; i < VARIANT_HOOKS && s->chosen->variant->hooks[i].prog; i++)
		if (s->chosen->target[i] && n < sizeof(out->target))
			n += snprintf(out->target + n, sizeof(out->target) - n, "%s%s",
				      n ? "+" : "", s->chosen->target[i]);
	out->misses = tracer_misses(t, sig);
}
