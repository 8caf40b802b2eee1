// SPDX-License-Identifier: GPL-2.0-only
/* backlog_data.c - the parts of backlog.h that need no kernel. */
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "backlog.h"
#include "gp_math.h"

int backlog_percpu_offset(const struct btf *btf, const char *var, __s64 *offset)
{
	const struct btf_type *sec, *t;
	const struct btf_var_secinfo *v;
	const char *name;
	int id, i;

	if (!btf)
		return -ENOENT;
	id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	if (id < 0)
		return -ENOENT;
	sec = btf__type_by_id(btf, (__u32)id);
	for (i = 0, v = btf_var_secinfos(sec); i < btf_vlen(sec); i++, v++) {
		t = btf__type_by_id(btf, v->type);
		name = t ? btf__name_by_offset(btf, t->name_off) : NULL;
		if (name && !strcmp(name, var)) {
			*offset = v->offset;
			return 0;
		}
	}
	return -ENOENT;
}

/* Read without a lock: a list that is just being changed may look shorter than nothing. */
static __u64 gauge(__s64 v)
{
	return v > 0 ? (__u64)v : 0;
}

void backlog_note(struct backlog *b)
{
	unsigned int i;

	for (i = 0; i < b->ncpus; i++) {
		const struct fs_rcu_cpu *c = &b->cpus[i];

		if ((c->flags & FS_RCU_VALID) && gauge(c->len) > b->peak[i])
			b->peak[i] = gauge(c->len);
	}
	if (!b->begun && b->state->valid) {
		b->gp_first = b->state->gp_seq;
		b->exp_first = b->state->exp_seq;
		b->begun = true;
	}
}

static void fill_cpu(struct snap_cpu *out, const struct fs_rcu_cpu *c, __u64 peak)
{
	int i;

	out->flags |= CPU_BACKLOG_VALID;
	if (c->flags & FS_RCU_KVFREE)
		out->flags |= CPU_KVFREE_VALID;
	if (c->flags & FS_RCU_OFFLOADED)
		out->flags |= CPU_OFFLOADED;
	/* len has counted the bypass list in (rcu_nocb_try_bypass() adds to both). */
	out->callbacks = gauge(c->len);
	for (i = 0; i < 4; i++)
		out->seg[i] = gauge(c->seg[i]);
	/* What is in the bypass list has no grace period yet, like the last segment. */
	if (c->flags & FS_RCU_BYPASS)
		out->seg[3] += gauge(c->bypass);
	out->kvfree = c->flags & FS_RCU_KVFREE ? gauge(c->kvfree) : 0;
	out->peak_callbacks = peak;
	out->invoked = c->invoked;
}

static void fill_count(struct snap_grace *g, __u64 first, __u64 last)
{
	g->count_prov = PROV_MEASURED;
	g->started = gp_seq_started(first, last);
	g->completed = gp_seq_completed(first, last);
}

void backlog_fill(const struct backlog *b, struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->ncpus; i++) {
		unsigned int cpu = s->cpus[i].cpu;

		if (cpu < b->ncpus && (b->cpus[cpu].flags & FS_RCU_VALID))
			fill_cpu(&s->cpus[i], &b->cpus[cpu], b->peak[cpu]);
	}
	if (b->begun) {
		fill_count(&s->grace[FS_GP_NORMAL], b->gp_first, b->state->gp_seq);
		fill_count(&s->grace[FS_GP_EXPEDITED], b->exp_first, b->state->exp_seq);
	}
}
