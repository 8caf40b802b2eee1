/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * btf-slice.c - cuts a small BTF out of a kernel's, for test fixtures.
 *
 *	btf-slice IN OUT <LIST
 *
 * IN is raw BTF (/sys/kernel/btf/vmlinux) or an ELF file with a .BTF section. Lines of LIST:
 *	func NAME		a function with its prototype
 *	tp NAME			the typedef btf_trace_NAME of a tracepoint
 *	percpu NAME		a per-CPU variable with its offset
 *	struct NAME MEMBER...	a struct or union with these members only (an inner anonymous one
 *				that holds a member is kept whole)
 * What these refer to comes along; a struct not listed comes without members. Names that IN does
 * not have are reported and left out: that they are absent is what a fixture may be for.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERCPU ".data..percpu"
#define KEEP_MAX 256

/* Members to keep of one struct. */
struct keep {
	__u32 id;
	char *members;			/* " a b c " */
};

struct slice {
	const struct btf *in;
	struct btf *out;
	__u32 *new_id;			/* by id in in; 0: not taken */
	__u32 *order;			/* ids in in, by new id */
	__u32 n;			/* ids given out; types are written in that order */
	struct keep keep[KEEP_MAX];
	size_t nkeep;
	__u32 percpu[KEEP_MAX];		/* variables, ids in in */
	size_t npercpu;
};

/* The id a type has, or will have, in the output. */
static __u32 take(struct slice *s, __u32 id)
{
	if (id && !s->new_id[id]) {
		s->new_id[id] = ++s->n;
		s->order[s->n] = id;
	}
	return s->new_id[id];
}

/* Whether a member of that name, or one inside an anonymous member, is in the list. */
static bool listed(const struct slice *s, const char *members, const struct btf_member *m)
{
	const struct btf_type *inner = btf__type_by_id(s->in, m->type);
	char word[160];
	int i;

	if (m->name_off) {
		snprintf(word, sizeof(word), " %s ", btf__name_by_offset(s->in, m->name_off));
		return strstr(members, word);
	}
	for (i = 0; btf_is_composite(inner) && i < btf_vlen(inner); i++)
		if (listed(s, members, &btf_members(inner)[i]))
			return true;
	return false;
}

static bool wanted(const struct slice *s, const struct btf_type *parent, __u32 id,
		   const struct btf_member *m)
{
	size_t i;

	/* An anonymous struct is copied whole, wherever it is. */
	if (!parent->name_off)
		return true;
	for (i = 0; i < s->nkeep; i++)
		if (s->keep[i].id == id)
			return listed(s, s->keep[i].members, m);
	return false;
}

static int write_struct(struct slice *s, __u32 id, const struct btf_type *t, const char *name)
{
	const struct btf_member *m = btf_members(t);
	int new_id, i, err;

	new_id = btf_is_struct(t) ? btf__add_struct(s->out, name, t->size) :
				    btf__add_union(s->out, name, t->size);
	for (i = 0; new_id > 0 && i < btf_vlen(t); i++) {
		if (!wanted(s, t, id, &m[i]))
			continue;
		err = btf__add_field(s->out, btf__name_by_offset(s->in, m[i].name_off),
				     take(s, m[i].type), btf_member_bit_offset(t, i),
				     btf_member_bitfield_size(t, i));
		if (err)
			return err;
	}
	return new_id;
}

static int write_proto(struct slice *s, const struct btf_type *t)
{
	const struct btf_param *p = btf_params(t);
	int new_id, i, err;

	new_id = btf__add_func_proto(s->out, take(s, t->type));
	for (i = 0; new_id > 0 && i < btf_vlen(t); i++) {
		err = btf__add_func_param(s->out, btf__name_by_offset(s->in, p[i].name_off),
					  take(s, p[i].type));
		if (err)
			return err;
	}
	return new_id;
}

/* Its new id, which take() has given it before, or -errno. */
static int write_type(struct slice *s, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(s->in, id);
	const char *name = btf__name_by_offset(s->in, t->name_off);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return btf__add_int(s->out, name, t->size, btf_int_encoding(t));
	case BTF_KIND_FLOAT:
		return btf__add_float(s->out, name, t->size);
	case BTF_KIND_PTR:
		return btf__add_ptr(s->out, take(s, t->type));
	case BTF_KIND_CONST:
		return btf__add_const(s->out, take(s, t->type));
	case BTF_KIND_VOLATILE:
		return btf__add_volatile(s->out, take(s, t->type));
	case BTF_KIND_RESTRICT:
		return btf__add_restrict(s->out, take(s, t->type));
	case BTF_KIND_TYPE_TAG:
		return btf__add_type_tag(s->out, name, take(s, t->type));
	case BTF_KIND_TYPEDEF:
		return btf__add_typedef(s->out, name, take(s, t->type));
	case BTF_KIND_ARRAY:
		return btf__add_array(s->out, take(s, btf_array(t)->index_type),
				      take(s, btf_array(t)->type), btf_array(t)->nelems);
	case BTF_KIND_ENUM:
		return btf__add_enum(s->out, name, t->size);
	case BTF_KIND_ENUM64:
		return btf__add_enum64(s->out, name, t->size, btf_kflag(t));
	case BTF_KIND_FWD:
		return btf__add_fwd(s->out, name, btf_kflag(t) ? BTF_FWD_UNION : BTF_FWD_STRUCT);
	case BTF_KIND_FUNC:
		return btf__add_func(s->out, name, BTF_FUNC_STATIC, take(s, t->type));
	case BTF_KIND_VAR:
		return btf__add_var(s->out, name, btf_var(t)->linkage, take(s, t->type));
	case BTF_KIND_FUNC_PROTO:
		return write_proto(s, t);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return write_struct(s, id, t, name);
	}
	return -EOPNOTSUPP;
}

static int write_percpu(struct slice *s)
{
	int id = btf__find_by_name_kind(s->in, PERCPU, BTF_KIND_DATASEC);
	const struct btf_var_secinfo *info;
	const struct btf_type *sec;
	int i, err;
	size_t k;

	if (!s->npercpu || id <= 0)
		return 0;
	sec = btf__type_by_id(s->in, id);
	info = btf_var_secinfos(sec);
	err = btf__add_datasec(s->out, PERCPU, sec->size);
	for (i = 0; err >= 0 && i < btf_vlen(sec); i++)
		for (k = 0; err >= 0 && k < s->npercpu; k++)
			if (info[i].type == s->percpu[k])
				err = btf__add_datasec_var_info(s->out, take(s, info[i].type),
								info[i].offset, info[i].size);
	return err < 0 ? err : 0;
}

static int find(const struct btf *in, const char *what, const char *name)
{
	char tp[160];
	int id;

	if (!strcmp(what, "func"))
		return btf__find_by_name_kind(in, name, BTF_KIND_FUNC);
	if (!strcmp(what, "percpu"))
		return btf__find_by_name_kind(in, name, BTF_KIND_VAR);
	if (!strcmp(what, "tp")) {
		snprintf(tp, sizeof(tp), "btf_trace_%s", name);
		return btf__find_by_name_kind(in, tp, BTF_KIND_TYPEDEF);
	}
	id = btf__find_by_name_kind(in, name, BTF_KIND_STRUCT);
	return id > 0 ? id : btf__find_by_name_kind(in, name, BTF_KIND_UNION);
}

/* One line of the list. */
static int select_line(struct slice *s, char *line)
{
	char *save, *what = strtok_r(line, " \t\n", &save);
	char *name = strtok_r(NULL, " \t\n", &save), *member;
	char members[1024] = " ";
	int id;

	if (!what || what[0] == '#')
		return 0;
	if (!name || (strcmp(what, "func") && strcmp(what, "tp") && strcmp(what, "percpu") &&
		      strcmp(what, "struct"))) {
		fprintf(stderr, "btf-slice: '%s': not func, tp, percpu or struct NAME\n", what);
		return -EINVAL;
	}
	id = find(s->in, what, name);
	if (id <= 0) {
		fprintf(stderr, "btf-slice: %s %s: not there; left out\n", what, name);
		return 0;
	}
	if (s->nkeep == KEEP_MAX || s->npercpu == KEEP_MAX)
		return -E2BIG;
	take(s, id);
	if (!strcmp(what, "percpu"))
		s->percpu[s->npercpu++] = id;
	if (strcmp(what, "struct"))
		return 0;
	while ((member = strtok_r(NULL, " \t\n", &save))) {
		if (strlen(members) + strlen(member) + 2 > sizeof(members))
			return -E2BIG;
		strcat(strcat(members, member), " ");
	}
	s->keep[s->nkeep].id = id;
	s->keep[s->nkeep].members = strdup(members);
	return s->keep[s->nkeep++].members ? 0 : -ENOMEM;
}

static int select_types(struct slice *s, FILE *list)
{
	char line[1024];
	int err = 0;

	while (!err && fgets(line, sizeof(line), list))
		err = select_line(s, line);
	return err;
}

static int write_types(struct slice *s)
{
	__u32 i;
	int id;

	/* Writing a type takes those it refers to, which come later in the same order. */
	for (i = 1; i <= s->n; i++) {
		id = write_type(s, s->order[i]);
		if (id < 0)
			return id;
		if ((__u32)id != i)
			return -EBADE;
	}
	return write_percpu(s);
}

static int save(const struct btf *btf, const char *path)
{
	__u32 size;
	const void *data = btf__raw_data(btf, &size);
	FILE *f = fopen(path, "w");
	bool ok;

	if (!data || !f) {
		if (f)
			fclose(f);
		return -errno;
	}
	ok = fwrite(data, 1, size, f) == size;
	if (fclose(f) || !ok)
		return -EIO;
	return 0;
}

int main(int argc, char **argv)
{
	struct slice s = { 0 };
	struct btf *in;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: btf-slice IN OUT <LIST\n");
		return 2;
	}
	in = btf__parse(argv[1], NULL);
	s.in = in;
	s.out = btf__new_empty();
	err = in && s.out ? 0 : -errno;
	if (!err) {
		s.new_id = calloc(btf__type_cnt(in), sizeof(*s.new_id));
		s.order = calloc(btf__type_cnt(in) + 1, sizeof(*s.order));
		err = s.new_id && s.order ? select_types(&s, stdin) : -ENOMEM;
	}
	if (!err)
		err = write_types(&s);
	if (!err)
		err = save(s.out, argv[2]);
	if (err)
		fprintf(stderr, "btf-slice: %s: %s\n", argv[1], strerror(-err));
	while (s.nkeep)
		free(s.keep[--s.nkeep].members);
	free(s.order);
	free(s.new_id);
	btf__free(s.out);
	btf__free(in);
	return err ? 1 : 0;
}
