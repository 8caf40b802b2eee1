// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmd_probe.c - what works on this kernel: every backend of every signal, planned, loaded, attached.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "hotbits.h"
#include "log.h"
#include "output.h"
#include "sanitize.h"
#include "session.h"
#include "tracer.h"

/* The judgement on one backend after the trial. */
struct row {
	const struct signal_info *signal;
	const struct verdict *v;
	char target[96];
	bool works, chosen;
	char reason[224];
};

struct matrix {
	const struct tracer *t;
	struct row rows[SIGNALS * PLAN_VARIANTS];
	size_t n;
};

static const char *const lockdown_names[] = {
	[LOCKDOWN_NONE] = "none", [LOCKDOWN_INTEGRITY] = "integrity",
	[LOCKDOWN_CONFIDENTIALITY] = "confidentiality",
};

static void join_targets(const struct verdict *v, char *buf, size_t size)
{
	size_t n = 0;
	int i;

	buf[0] = 0;
	for (i = 0; i < VARIANT_HOOKS && v->variant->hooks[i].prog && n < size; i++) {
		const char *target = v->target[i] ?: v->variant->hooks[i].target[0];

		if (target && !(v->usable && !v->target[i]))
			n += snprintf(buf + n, size - n, "%s%s", n ? "+" : "", target);
	}
}

static void judge(struct tracer *t, const struct tracer_opts *opts, enum signal_id sig,
		  const struct verdict *v, struct row *r)
{
	const char *stage;
	char why[160];
	int err;

	memset(r, 0, sizeof(*r));
	r->signal = &signals[sig];
	r->v = v;
	join_targets(v, r->target, sizeof(r->target));
	snprintf(r->reason, sizeof(r->reason), "%s", v->reason);
	if (!v->usable)
		return;
	r->chosen = t->sig[sig].chosen == v;
	err = r->chosen ? 0 : tracer_try(t, opts, sig, v, &stage);
	r->works = !err;
	if (err) {
		hooks_explain_errno(err, stage, v->variant->hooks[0].bk, &t->caps, why, sizeof(why));
		snprintf(r->reason, sizeof(r->reason), "%s: %s", stage, why);
	} else if (!r->reason[0] && v->variant->caveat) {
		snprintf(r->reason, sizeof(r->reason), "%s", v->variant->caveat);
	}
}

static const char *row_state(const struct row *r)
{
	return r->chosen ? "chosen" : r->works ? "works" : "no";
}

static int write_text(FILE *out, void *ctx)
{
	const struct matrix *m = ctx;
	const struct caps *c = &m->t->caps;
	const struct signal_info *last = NULL;
	size_t i;

	fprintf(out, "kernel %s, preemption %s, lockdown %s, MGLRU %s, %u possible CPU%s\n",
		c->kernel, preempt_names[c->preempt], lockdown_names[c->lockdown],
		m->t->hot.style == FS_LRU_CLASSIC ? "absent" : hotbits_mglru_on() ? "on" : "off",
		m->t->nr_cpus, m->t->nr_cpus == 1 ? "" : "s");
	if (c->livepatched)
		fprintf(out, "livepatched: functions may be replaced; the canary decides\n");
	fprintf(out, "cost: ns an event, attached and run on a reference machine; estimates for fentry and kprobe\n");
	for (i = 0; i < m->n; i++) {
		const struct row *r = &m->rows[i];
		char cost[16] = "";

		if (r->signal != last)
			fprintf(out, "\n%s: %s%s\n", r->signal->name, r->signal->gives,
				r->signal->required ? "" : " (optional)");
		last = r->signal;
		if (r->v->variant->cost_ns)
			snprintf(cost, sizeof(cost), "%u ns", r->v->variant->cost_ns);
		fprintf(out, "  %-6s %-18s %7s  %s\n", row_state(r), r->v->variant->name, cost,
			r->target);
		if (r->reason[0])
			fprintf(out, "  %-6s   %s\n", "", r->reason);
	}
	return 0;
}

static int dump_json(FILE *out, json_t *root)
{
	int err;

	if (!root)
		return -ENOMEM;
	err = json_dumpf(root, out, JSON_INDENT(2)) || fputc('\n', out) == EOF ? -EIO : 0;
	json_decref(root);
	return err;
}

static int write_json(FILE *out, void *ctx)
{
	const struct matrix *m = ctx;
	const struct caps *c = &m->t->caps;
	json_t *rows = json_array(), *root;
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct row *r = &m->rows[i];

		json_array_append_new(rows, json_pack(
			"{s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:s, s:s?}", "signal", r->signal->name,
			"family", family_names[r->signal->family], "backend", r->v->variant->name,
			"target", r->target, "required", r->signal->required, "degraded",
			r->works && r->v->degraded, "cost_ns", (int)r->v->variant->cost_ns, "state",
			row_state(r), "reason", r->reason[0] ? r->reason : NULL));
	}
	root = json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:o}", "schema", "folioscope-probe/1",
			 "kernel", c->kernel, "preemption", preempt_names[c->preempt], "lockdown",
			 lockdown_names[c->lockdown], "mglru", (int)hotbits_mglru_on(),
			 "possible_cpus", (int)m->t->nr_cpus, "backends", rows);
	return dump_json(out, root);
}

/* ---- a recording: the hooks as they were when it was made ---- */

static int write_recorded_text(FILE *out, void *ctx)
{
	const struct snapshot *s = ctx;
	char line[SNAP_REASON * 2];
	size_t i;

	sanitize(line, sizeof(line), s->kernel, strlen(s->kernel));
	fprintf(out, "recorded on kernel %s, %u possible CPU%s\n\n", line, s->possible_cpus,
		s->possible_cpus == 1 ? "" : "s");
	for (i = 0; i < s->nhooks; i++) {
		const struct snap_hook *h = &s->hooks[i];
		char raw[SNAP_REASON + 256];

		snprintf(raw, sizeof(raw), "%-17s %-11s %-12s %s%s%s", h->signal,
			 hook_state_names[h->state], h->backend, h->target,
			 h->reason[0] ? "  " : "", h->reason);
		sanitize(line, sizeof(line), raw, strlen(raw));
		fprintf(out, "%s\n", line);
	}
	return 0;
}

/* A foreign string as JSON: null when empty. */
static json_t *json_foreign(const char *raw)
{
	char text[SNAP_REASON * 4];

	sanitize(text, sizeof(text), raw, strlen(raw));
	return raw[0] ? json_string(text) : json_null();
}

static int write_recorded_json(FILE *out, void *ctx)
{
	const struct snapshot *s = ctx;
	json_t *hooks = json_array(), *root;
	size_t i;

	for (i = 0; i < s->nhooks; i++) {
		const struct snap_hook *h = &s->hooks[i];

		json_array_append_new(hooks, json_pack(
			"{s:o, s:o, s:o, s:s, s:o}", "signal", json_foreign(h->signal), "backend",
			json_foreign(h->backend), "target", json_foreign(h->target), "state",
			hook_state_names[h->state], "reason", json_foreign(h->reason)));
	}
	root = json_pack("{s:s, s:o, s:i, s:o}", "schema", "folioscope-probe/1", "kernel",
			 json_foreign(s->kernel), "possible_cpus", (int)s->possible_cpus, "recorded",
			 hooks);
	return dump_json(out, root);
}

static int probe_recording(const struct config *cfg)
{
	struct snapshot last = {}, next;
	struct session s;
	int status = session_open(&s, cfg, false), got, err = 0;

	if (status)
		return status;
	while ((got = session_next(&s, &next)) > 0) {
		snapshot_free(&last);
		last = next;
	}
	if (last.nhooks)
		err = output_file(cfg->format == FORMAT_JSON ? cfg->json : NULL, false,
				  cfg->format == FORMAT_JSON ? write_recorded_json :
							       write_recorded_text, &last);
	snapshot_free(&last);
	status = got < 0 || err || s.damaged ? EXIT_FAILED : EXIT_FINE;
	session_close(&s);
	return status;
}

int cmd_probe(const struct config *cfg)
{
	struct tracer_opts opts = {
		.btf_path = cfg->btf, .user = cfg->hooks, .nuser = cfg->nhooks,
		.requested = cfg->requested, .backend = cfg->backend, .memory = cfg->memory,
		.filter = FS_FILTER_TREE, .every = cfg->every,
	};
	struct tracer t;
	static struct matrix m;
	int err, s, status = EXIT_FINE;
	size_t i;

	if (cfg->input)
		return probe_recording(cfg);
	err = tracer_open(&t, &opts);
	if (err)
		return err == -EPERM ? EXIT_PERMISSION : err == -ENOENT ? EXIT_UNAVAILABLE :
		       EXIT_FAILED;
	tracer_canary(&t);
	m.t = &t;
	for (s = 0; s < SIGNALS; s++)
		for (i = 0; i < t.plan.sig[s].n; i++)
			judge(&t, &opts, s, &t.plan.sig[s].v[i], &m.rows[m.n++]);
	if (!tracer_family_on(&t, FAM_ACCESS) && !tracer_family_on(&t, FAM_BACKLOG) &&
	    !tracer_family_on(&t, FAM_GRACE))
		status = EXIT_UNAVAILABLE;
	err = output_file(cfg->format == FORMAT_JSON ? cfg->json : NULL, false,
			  cfg->format == FORMAT_JSON ? write_json : write_text, &m);
	tracer_close(&t);
	return err ? EXIT_FAILED : status;
}
