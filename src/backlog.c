// SPDX-License-Identifier: GPL-2.0-only
/* backlog.c - the parts of backlog.h that talk to the kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "backlog.h"
#include "fs_abi.h"
#include "fs_hot.h"
#include "probes.skel.h"

static __u64 symbol(const struct caps *caps, const char *name)
{
	const struct ksym *k = caps_ksym(caps, name);

	return k ? k->addr : 0;
}

/* By the run queue of a CPU's own thread: distances in the per-CPU area are all that is needed. */
static bool configure_by_rq(struct probes_bpf *skel, const struct caps *caps)
{
	__s64 rq, rdp;

	if (backlog_percpu_offset(caps->btf, "runqueues", &rq) ||
	    backlog_percpu_offset(caps->btf, "rcu_data", &rdp))
		return false;
	skel->rodata->cfg_backlog_by_rq = true;
	skel->rodata->cfg_backlog_rq_to_rdp = rdp - rq;
	return true;
}

static bool configure_by_symbol(struct probes_bpf *skel, const struct caps *caps)
{
	__u64 table = symbol(caps, "__per_cpu_offset"), rdp = symbol(caps, "rcu_data");

	if (!table || !rdp)
		return false;
	skel->rodata->cfg_backlog_percpu_offset = table;
	skel->rodata->cfg_backlog_rdp_sym = rdp;
	return true;
}

/* kvfree_rcu's per-CPU state; its figure alone is unavailable without. */
static void configure_krc(struct probes_bpf *skel, const struct caps *caps)
{
	__s64 rdp, krc;

	if (backlog_percpu_offset(caps->btf, "rcu_data", &rdp) ||
	    backlog_percpu_offset(caps->btf, "krc", &krc)) {
		rdp = (__s64)symbol(caps, "rcu_data");
		krc = (__s64)symbol(caps, "krc");
		if (!rdp || !krc)
			return;
	}
	skel->rodata->cfg_backlog_has_krc = true;
	skel->rodata->cfg_backlog_rdp_to_krc = krc - rdp;
}

int backlog_configure(struct probes_bpf *skel, const struct caps *caps, unsigned int nr_cpu_ids)
{
	bool by_rq, by_symbol;
	int err;

	if (!nr_cpu_ids)
		return -EINVAL;
	by_rq = configure_by_rq(skel, caps);
	by_symbol = configure_by_symbol(skel, caps);
	if (!by_rq && !by_symbol)
		return -ENOENT;
	configure_krc(skel, caps);
	err = bpf_map__set_max_entries(skel->maps.backlog_cpus, nr_cpu_ids);
	if (err)
		return err;
	skel->rodata->cfg_backlog_cpus = nr_cpu_ids;
	return 0;
}

/* *out stays NULL on failure. */
static int map_array(const struct bpf_map *map, size_t len, const void **out)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

int backlog_open(struct backlog *b, struct probes_bpf *skel, unsigned int nr_cpu_ids)
{
	int err;

	memset(b, 0, sizeof(*b));
	b->ncpus = nr_cpu_ids;
	b->sample_fd = bpf_program__fd(skel->progs.backlog_sample);
	if (b->sample_fd < 0)
		return -ENOENT;
	b->peak = calloc(nr_cpu_ids, sizeof(*b->peak));
	if (!b->peak)
		return -ENOMEM;
	err = map_array(skel->maps.backlog_cpus, nr_cpu_ids * sizeof(*b->cpus),
			(const void **)&b->cpus);
	if (!err)
		err = map_array(skel->maps.backlog_state, sizeof(*b->state),
				(const void **)&b->state);
	if (err)
		goto fail;
	if (bpf_program__fd(skel->progs.backlog_find_iter) < 0)
		return 0;
	/* Kept open: making iterators from a link needs no privilege. */
	b->find = bpf_program__attach_iter(skel->progs.backlog_find_iter, NULL);
	if (b->find)
		return 0;
	err = -errno;
fail:
	backlog_close(b);
	return err;
}

void backlog_close(struct backlog *b)
{
	bpf_link__destroy(b->find);
	if (b->cpus)
		munmap((void *)b->cpus, b->ncpus * sizeof(*b->cpus));
	if (b->state)
		munmap((void *)b->state, sizeof(*b->state));
	free(b->peak);
	memset(b, 0, sizeof(*b));
}

/* The iterator writes nothing: reading it to its end is what runs it. */
static int run_iterator(struct bpf_link *link)
{
	char buf[64];
	ssize_t n;
	int fd, err = 0;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf));
		err = n < 0 ? -errno : 0;
	} while (n > 0 || err == -EINTR || err == -EAGAIN);
	close(fd);
	return err;
}

int backlog_find(struct backlog *b)
{
	unsigned int i;
	int err = 0;

	if (b->find)
		err = run_iterator(b->find);
	if (!err)
		err = backlog_sample(b);
	if (err)
		return err;
	for (i = 0; i < b->ncpus; i++)
		if (b->cpus[i].flags & FS_RCU_VALID)
			return 0;
	return -ENOENT;
}

int backlog_sample(struct backlog *b)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	err = bpf_prog_test_run_opts(b->sample_fd, &opts);
	if (err)
		return err;
	backlog_note(b);
	return 0;
}
