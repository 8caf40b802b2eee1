/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * caps.c - questions to a kernel's BTF and symbol table. The running kernel is read in
 * caps_probe.c; nothing here makes a system call except to open saved files.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"

#define TYPE_DEPTH 32	/* nested pointers, qualifiers, anonymous members; guards against loops */

const char *const preempt_names[] = {
	[PREEMPT_UNKNOWN] = "unknown", [PREEMPT_NONE] = "none", [PREEMPT_VOLUNTARY] = "voluntary",
	[PREEMPT_FULL] = "full", [PREEMPT_LAZY] = "lazy",
};

/* A string that grows in a buffer of fixed size; over: it did not fit. */
struct text {
	char *buf;
	size_t size, len;
	bool over;
};

__attribute__((format(printf, 2, 3)))
static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->size - t->len) {
		t->over = true;
		t->len = t->size - 1;
	} else {
		t->len += n;
	}
}

/* gcc says "long unsigned int", clang "unsigned long": one spelling for both. */
static void put_int(struct text *t, const struct btf *btf, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(btf, type->name_off);
	bool is_unsigned = false, is_signed = false;
	const char *base = NULL;
	int longs = 0;
	char copy[64], *save, *word;

	if (btf_int_encoding(type) & BTF_INT_BOOL) {
		put(t, "bool");
		return;
	}
	snprintf(copy, sizeof(copy), "%s", name);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (!strcmp(word, "unsigned"))
			is_unsigned = true;
		else if (!strcmp(word, "signed"))
			is_signed = true;
		else if (!strcmp(word, "long"))
			longs++;
		else if (strcmp(word, "int"))
			base = word;
	}
	put(t, "%s", is_unsigned ? "unsigned " : is_signed && base ? "signed " : "");
	if (longs)
		put(t, "%s", longs > 1 ? "long long" : "long");
	else
		put(t, "%s", base ? base : "int");
}

/* A typedef of a number is spelled as the number, any other keeps its name. */
static void put_typedef(struct text *t, const struct btf *btf, const struct btf_type *type)
{
	const struct btf_type *base = type;
	int depth;

	for (depth = 0; base && depth < TYPE_DEPTH && btf_is_typedef(base); depth++)
		base = btf__type_by_id(btf, base->type);
	if (base && btf_is_int(base))
		put_int(t, btf, base);
	else if (base && btf_is_any_enum(base) && base->name_off)
		put(t, "enum %s", btf__name_by_offset(btf, base->name_off));
	else
		put(t, "%s", btf__name_by_offset(btf, type->name_off));
}

static void put_type(struct text *t, const struct btf *btf, __u32 id, int depth)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name, *tag = "enum";

	if (!id) {
		put(t, "void");
		return;
	}
	if (!type || depth > TYPE_DEPTH) {
		put(t, "?");
		return;
	}
	name = btf__name_by_offset(btf, type->name_off);
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		put_int(t, btf, type);
		return;
	case BTF_KIND_PTR:
		put_type(t, btf, type->type, depth + 1);
		put(t, "%s", t->len && t->buf[t->len - 1] == '*' ? "*" : " *");
		return;
	case BTF_KIND_TYPEDEF:
		put_typedef(t, btf, type);
		return;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE: {
		const struct btf_type *inner = btf__type_by_id(btf, type->type);

		/* A qualifier of the argument itself is no part of a prototype. */
		if (!type->type || (inner && !btf_is_ptr(inner)))
			put(t, "%s", btf_is_const(type) ? "const " : "volatile ");
		put_type(t, btf, type->type, depth + 1);
		return;
	}
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		put_type(t, btf, type->type, depth + 1);
		return;
	case BTF_KIND_FUNC_PROTO:
		put(t, "function");
		return;
	case BTF_KIND_ARRAY:
		put_type(t, btf, btf_array(type)->type, depth + 1);
		put(t, "[]");
		return;
	case BTF_KIND_FLOAT:
		put(t, "%s", name);
		return;
	case BTF_KIND_STRUCT:
		tag = "struct";
		break;
	case BTF_KIND_UNION:
		tag = "union";
		break;
	case BTF_KIND_FWD:
		tag = btf_kflag(type) ? "union" : "struct";
		break;
	}
	put(t, "%s %s", tag, *name ? name : "(anonymous)");
}

/* The FUNC_PROTO that a FUNC, or a typedef of a pointer to a function, leads to. */
static const struct btf_type *find_proto(const struct caps *c, const char *name, __u32 kind)
{
	const struct btf_type *type;
	int id, depth;

	if (!c->btf)
		return NULL;
	id = btf__find_by_name_kind(c->btf, name, kind);
	if (id <= 0)
		return NULL;
	type = btf__type_by_id(c->btf, id);
	for (depth = 0; type && depth < TYPE_DEPTH && !btf_is_func_proto(type); depth++) {
		if (!btf_is_func(type) && !btf_is_typedef(type) && !btf_is_ptr(type))
			return NULL;
		type = btf__type_by_id(c->btf, type->type);
	}
	return type && btf_is_func_proto(type) ? type : NULL;
}

static int print_proto(const struct btf *btf, const struct btf_type *proto, int skip, char *buf,
		       size_t size)
{
	const struct btf_param *arg = btf_params(proto);
	struct text t = { .buf = buf, .size = size };
	int i, n = btf_vlen(proto);

	put_type(&t, btf, proto->type, 0);
	put(&t, " (");
	for (i = skip; i < n; i++) {
		if (i > skip)
			put(&t, ", ");
		if (!arg[i].type && i == n - 1)
			put(&t, "...");
		else
			put_type(&t, btf, arg[i].type, 0);
	}
	put(&t, n <= skip ? "void)" : ")");
	return t.over ? -E2BIG : 0;
}

int caps_func_proto(const struct caps *c, const char *func, char *buf, size_t size)
{
	const struct btf_type *proto = find_proto(c, func, BTF_KIND_FUNC);

	return proto ? print_proto(c->btf, proto, 0, buf, size) : -ENOENT;
}

int caps_tp_proto(const struct caps *c, const char *tp, char *buf, size_t size)
{
	const struct btf_type *proto;
	char name[128];

	if (snprintf(name, sizeof(name), "btf_trace_%s", tp) >= (int)sizeof(name))
		return -ENOENT;
	proto = find_proto(c, name, BTF_KIND_TYPEDEF);
	return proto ? print_proto(c->btf, proto, 1, buf, size) : -ENOENT;
}

int caps_func_arg(const struct caps *c, const char *func, unsigned int arg, char *buf, size_t size)
{
	const struct btf_type *proto = find_proto(c, func, BTF_KIND_FUNC);
	struct text t = { .buf = buf, .size = size };

	if (!proto)
		return -ENOENT;
	if (arg >= btf_vlen(proto))
		return -ERANGE;
	put_type(&t, c->btf, btf_params(proto)[arg].type, 0);
	return t.over ? -E2BIG : 0;
}

static bool has_member(const struct btf *btf, const struct btf_type *type, const char *member,
		       int depth)
{
	const struct btf_member *m = btf_members(type);
	const struct btf_type *inner;
	int i;

	for (i = 0; i < btf_vlen(type); i++) {
		if (m[i].name_off) {
			if (!strcmp(btf__name_by_offset(btf, m[i].name_off), member))
				return true;
			continue;
		}
		inner = btf__type_by_id(btf, m[i].type);
		if (inner && btf_is_composite(inner) && depth < TYPE_DEPTH &&
		    has_member(btf, inner, member, depth + 1))
			return true;
	}
	return false;
}

int caps_member(const struct caps *c, const char *type, const char *member)
{
	int id;

	if (!c->btf)
		return -ENOENT;
	id = btf__find_by_name_kind(c->btf, type, BTF_KIND_STRUCT);
	if (id <= 0)
		id = btf__find_by_name_kind(c->btf, type, BTF_KIND_UNION);
	if (id <= 0)
		return -ENOENT;
	if (!member)
		return 0;
	return has_member(c->btf, btf__type_by_id(c->btf, id), member, 0) ? 0 : -ENOENT;
}

int caps_percpu_offset(const struct caps *c, const char *var, unsigned int *offset)
{
	const struct btf_type *sec, *type;
	const struct btf_var_secinfo *info;
	int id, i;

	if (!c->btf)
		return -ENOENT;
	id = btf__find_by_name_kind(c->btf, ".data..percpu", BTF_KIND_DATASEC);
	if (id <= 0)
		return -ENOENT;
	sec = btf__type_by_id(c->btf, id);
	info = btf_var_secinfos(sec);
	for (i = 0; i < btf_vlen(sec); i++) {
		type = btf__type_by_id(c->btf, info[i].type);
		if (type && !strcmp(btf__name_by_offset(c->btf, type->name_off), var)) {
			*offset = info[i].offset;
			return 0;
		}
	}
	return -ENOENT;
}

/* First symbol whose name is not less than this one. */
static size_t ksym_lower_bound(const struct caps *c, const char *name)
{
	size_t lo = 0, hi = c->nksyms, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(c->ksyms[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct ksym *caps_ksym(const struct caps *c, const char *name)
{
	size_t i = ksym_lower_bound(c, name);

	return i < c->nksyms && !strcmp(c->ksyms[i].name, name) ? &c->ksyms[i] : NULL;
}

const struct ksym *caps_ksym_suffixed(const struct caps *c, const char *name, bool *untrusted)
{
	const struct ksym *found = NULL;
	char prefix[256];
	size_t i, len;

	len = snprintf(prefix, sizeof(prefix), "%s.", name);
	if (len >= sizeof(prefix))
		return NULL;
	for (i = ksym_lower_bound(c, prefix); i < c->nksyms; i++) {
		const struct ksym *k = &c->ksyms[i];

		if (strncmp(k->name, prefix, len))
			break;
		/* The unlikely half of a function; a static variable. Neither is the function. */
		if (strstr(k->name, ".cold") || !strchr("tTwW", k->type))
			continue;
		if (found)
			return NULL;
		found = k;
	}
	/* .llvm.N only renames; .isra, .constprop and .part change what is passed. */
	if (found)
		*untrusted = strncmp(found->name + len, "llvm.", 5) ||
			     strchr(found->name + len + 5, '.');
	return found;
}

/* One line, terminated: "ffffffff81234560 t name" or "... name\t[module]". 0: not to be kept. */
static int parse_ksym(char *line, struct ksym *k)
{
	char *end;

	/* A module's or a BPF program's: in no BTF we read, and a name may come twice. */
	if (strchr(line, '\t'))
		return 0;
	errno = 0;
	k->addr = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return -EINVAL;
	k->type = end[1];
	k->name = end + 3;
	return 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ksym *)a)->name, ((const struct ksym *)b)->name);
}

int caps_take_ksyms(struct caps *c, char *text)
{
	size_t lines = 0, n = 0;
	char *p, *next;
	int err = 0;

	for (p = text; *p; p++)
		lines += *p == '\n';
	c->ksyms = calloc(lines + 1, sizeof(*c->ksyms));
	if (!c->ksyms) {
		free(text);
		return -ENOMEM;
	}
	c->ksym_text = text;
	for (p = text; *p && err >= 0; p = next) {
		next = p + strcspn(p, "\n");
		if (*next)
			*next++ = '\0';
		err = parse_ksym(p, &c->ksyms[n]);
		n += err > 0;
	}
	if (err < 0) {
		free(c->ksyms);
		free(text);
		c->ksyms = NULL;
		c->ksym_text = NULL;
		return err;
	}
	qsort(c->ksyms, n, sizeof(*c->ksyms), by_name);
	c->nksyms = n;
	return 0;
}

static int load_ksyms(struct caps *c, const char *path)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *f = fopen(path, "r");

	if (!f)
		return -errno;
	/* No NUL in text: the whole file. */
	len = getdelim(&text, &cap, '\0', f);
	fclose(f);
	if (len <= 0) {
		free(text);
		return -EINVAL;
	}
	return caps_take_ksyms(c, text);
}

int caps_load(struct caps *c, const char *btf_file, const char *kallsyms_file)
{
	int err = 0;

	memset(c, 0, sizeof(*c));
	c->preempt = PREEMPT_NONE;
	snprintf(c->kernel, sizeof(c->kernel), "saved");
	if (btf_file) {
		c->btf = btf__parse(btf_file, NULL);
		err = c->btf ? 0 : -errno;
	} else {
		c->btf_err = ENOENT;
	}
	if (!err && kallsyms_file)
		err = load_ksyms(c, kallsyms_file);
	else if (!err)
		c->ksym_err = ENOENT;
	if (err)
		caps_free(c);
	else
		c->rdonly_cast = find_proto(c, "bpf_rdonly_cast", BTF_KIND_FUNC) != NULL;
	return err;
}

void caps_free(struct caps *c)
{
	btf__free(c->btf);
	free(c->ksyms);
	free(c->ksym_text);
	memset(c, 0, sizeof(*c));
}

/* The model named by the first len bytes of word. */
static enum preempt_model preempt_by_name(const char *word, size_t len)
{
	enum preempt_model m;

	for (m = PREEMPT_NONE; m <= PREEMPT_LAZY; m++)
		if (strlen(preempt_names[m]) == len && !strncmp(preempt_names[m], word, len))
			return m;
	return PREEMPT_UNKNOWN;
}

/* "none voluntary (full)": the marked one is in force. */
static enum preempt_model preempt_marked(const char *text)
{
	const char *open = strchr(text, '(');
	const char *close = open ? strchr(open, ')') : NULL;

	return close ? preempt_by_name(open + 1, close - open - 1) : PREEMPT_UNKNOWN;
}

/* The last preempt= that names a model; what follows "--" is for init. */
static enum preempt_model preempt_cmdline(const char *p)
{
	enum preempt_model found = PREEMPT_UNKNOWN, m;
	size_t len;

	for (; *(p += strspn(p, " \n")); p += len) {
		len = strcspn(p, " \n");
		if (len == 2 && !strncmp(p, "--", 2))
			break;
		if (len <= 8 || strncmp(p, "preempt=", 8))
			continue;
		m = preempt_by_name(p + 8, len - 8);
		if (m != PREEMPT_UNKNOWN)
			found = m;
	}
	return found;
}

static bool config_has(const char *config, const char *line)
{
	size_t len = strlen(line);
	const char *p;

	for (p = config; (p = strstr(p, line)); p += len)
		if ((p == config || p[-1] == '\n') && (!p[len] || p[len] == '\n'))
			return true;
	return false;
}

static enum preempt_model preempt_config(const char *config)
{
	static const struct {
		const char *line;
		enum preempt_model model;
	} lines[] = {
		{ "CONFIG_PREEMPT_RT=y", PREEMPT_FULL },
		{ "CONFIG_PREEMPT_LAZY=y", PREEMPT_LAZY },
		{ "CONFIG_PREEMPT_NONE=y", PREEMPT_NONE },
		{ "CONFIG_PREEMPT_VOLUNTARY=y", PREEMPT_VOLUNTARY },
		{ "CONFIG_PREEMPT=y", PREEMPT_FULL },
		/* None or voluntary: alike for us. */
		{ "# CONFIG_PREEMPTION is not set", PREEMPT_NONE },
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (config_has(config, lines[i].line))
			return lines[i].model;
	return PREEMPT_UNKNOWN;
}

enum preempt_model caps_parse_preempt(const char *sched_preempt, const char *cmdline,
				      const char *config)
{
	enum preempt_model m = PREEMPT_UNKNOWN;

	if (sched_preempt)
		m = preempt_marked(sched_preempt);
	/* Any other kernel does not know the parameter. */
	if (m == PREEMPT_UNKNOWN && cmdline && config &&
	    config_has(config, "CONFIG_PREEMPT_DYNAMIC=y"))
		m = preempt_cmdline(cmdline);
	if (m == PREEMPT_UNKNOWN && config)
		m = preempt_config(config);
	return m;
}

enum lockdown caps_parse_lockdown(const char *text)
{
	if (text && strstr(text, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	if (text && strstr(text, "[integrity]"))
		return LOCKDOWN_INTEGRITY;
	return LOCKDOWN_NONE;
}
