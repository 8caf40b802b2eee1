/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sites.c - kernel symbols, and stacks to the functions that get and put.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sites.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT_FIRST (8U << 20)	/* most kernels' kallsyms fit at once */
#define TEXT_MAX (256U << 20)
/* No function is longer: an address farther from a symbol is in something without one. */
#define FUNCTION_MAX (1U << 20)

struct sym {
	__u64 addr;
	__u32 name;		/* offset in text */
	__u32 rank;		/* which of several at one address is shown: the lowest */
};

struct ksyms {
	char *text;		/* owned; names are cut out in place */
	struct sym *sym;	/* owned; ascending, one an address */
	size_t n;
	bool hidden;		/* while parsing: a text symbol had address 0 */
};

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Up to 16 hexadecimal digits and a space: what follows, or NULL. */
static char *address_parse(char *s, const char *end, __u64 *addr)
{
	char *first = s;

	for (*addr = 0; s < end && s - first < 16 && hex_digit(*s) >= 0; s++)
		*addr = *addr << 4 | (__u64)hex_digit(*s);
	return s > first && s < end && *s == ' ' ? s + 1 : NULL;
}

static int type_rank(char type)
{
	switch (type) {
	case 'T':
		return 0;
	case 'W':
	case 'w':
		return 1;
	case 't':
		return 2;
	default:
		return -1;	/* data */
	}
}

/* Cuts what the compiler added to make a part or a copy of a function. */
static void suffix_cut(char *name)
{
	static const char *const words[] = { ".cold", ".part.", ".isra.", ".constprop.", ".llvm." };

	for (char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		for (size_t i = 0; dot > name && i < ARRAY_SIZE(words); i++) {
			if (starts(dot, words[i])) {
				*dot = '\0';
				return;
			}
		}
	}
}

static char *word_end(char *s, const char *end)
{
	while (s < end && (unsigned char)*s > ' ')
		s++;
	return s;
}

/*
 * Makes "name[.suffix]\t[module]" at s "name [module]", NUL-terminated, in place. False: no name.
 * end points at the line feed, or at the NUL after the text.
 */
static bool name_cut(char *s, char *end)
{
	char *name_end = word_end(s, end), *module = name_end, *module_end;

	while (module < end && (*module == '\t' || *module == ' '))
		module++;
	module_end = word_end(module, end);
	*name_end = '\0';
	/* Padding before functions, 6.x: an address in it belongs to nothing called. */
	if (name_end == s || starts(s, "__pfx_") || starts(s, "__cfi_"))
		return false;
	suffix_cut(s);
	if (module == module_end || *module != '[')
		return true;
	/* There is room: name, a blank and the module took more before. */
	*module_end = '\0';
	name_end = s + strlen(s);
	*name_end = ' ';
	memmove(name_end + 1, module, (size_t)(module_end - module) + 1);
	return true;
}

static void line_parse(struct ksyms *k, char *line, char *end)
{
	struct sym *sym = &k->sym[k->n];
	__u64 addr;
	int rank;
	char *s;

	s = address_parse(line, end, &addr);
	if (!s || end - s < 3 || s[1] != ' ')
		return;
	rank = type_rank(s[0]);
	s += 2;
	if (rank < 0 || !name_cut(s, end))
		return;
	if (!addr) {
		k->hidden = true;
		return;
	}
	*sym = (struct sym){ .addr = addr, .name = (__u32)(s - k->text), .rank = (__u32)rank };
	k->n++;
}

static int sym_order(const void *a, const void *b, void *text)
{
	const struct sym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp((const char *)text + x->name, (const char *)text + y->name);
}

static void syms_sort(struct ksyms *k)
{
	struct sym *shrunk;
	size_t used = 0;

	qsort_r(k->sym, k->n, sizeof(*k->sym), sym_order, k->text);
	for (size_t i = 0; i < k->n; i++) {
		if (!used || k->sym[used - 1].addr != k->sym[i].addr)
			k->sym[used++] = k->sym[i];
	}
	k->n = used;
	shrunk = realloc(k->sym, used * sizeof(*k->sym));
	if (shrunk)
		k->sym = shrunk;
}

/* Takes text, len bytes and a NUL, over; frees it on error. */
static int syms_adopt(struct ksyms **out, char *text, size_t len)
{
	struct ksyms *k = calloc(1, sizeof(*k));
	char *end = text + len, *line_end;
	size_t lines = 1;
	int err = -ENOMEM;

	*out = NULL;
	if (!k) {
		free(text);
		return err;
	}
	k->text = text;
	for (const char *s = text; (s = memchr(s, '\n', (size_t)(end - s))); s++)
		lines++;
	k->sym = malloc(lines * sizeof(*k->sym));
	if (!k->sym)
		goto out;
	for (char *s = text; s < end; s = line_end + 1) {
		line_end = memchr(s, '\n', (size_t)(end - s));
		if (!line_end)
			line_end = end;
		line_parse(k, s, line_end);
	}
	err = k->n ? 0 : k->hidden ? -EACCES : -ENODATA;
	if (err)
		goto out;
	syms_sort(k);
	*out = k;
	return 0;
out:
	ksyms_free(k);
	return err;
}

int ksyms_parse(struct ksyms **out, const char *text, size_t len)
{
	char *copy;

	*out = NULL;
	if (len > TEXT_MAX)
		return -EFBIG;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return syms_adopt(out, copy, len);
}

/* All of a file whose size is not known, with a NUL. */
static int file_read(int fd, char **out, size_t *len)
{
	size_t size = TEXT_FIRST, used = 0;
	char *text = malloc(size), *larger;
	ssize_t n;

	for (; text; used += (size_t)n) {
		n = read(fd, text + used, size - 1 - used);
		if (n < 0) {
			n = -errno;
			free(text);
			return (int)n;
		}
		if (!n) {
			text[used] = '\0';
			*out = text;
			*len = used;
			return 0;
		}
		if (used + (size_t)n < size - 1)
			continue;
		if (size >= TEXT_MAX) {
			free(text);
			return -EFBIG;
		}
		size *= 2;
		larger = realloc(text, size);
		if (!larger)
			break;
		text = larger;
	}
	free(text);
	return -ENOMEM;
}

int ksyms_load(struct ksyms **out, const char *path)
{
	size_t len = 0;
	char *text = NULL;
	int fd, err;

	*out = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = file_read(fd, &text, &len);
	close(fd);
	return err ? err : syms_adopt(out, text, len);
}

const char *ksyms_errstr(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "the kernel hides its addresses; it takes CAP_SYSLOG and "
		       "kernel.kptr_restrict below 2";
	case -ENODATA:
	case -ENOENT:
		return "the kernel lists no functions; it needs CONFIG_KALLSYMS and /proc mounted";
	case -EFBIG:
		return "the list of kernel functions is implausibly long";
	case -ENOMEM:
		return "no memory for the kernel's function names; about 30 MB are needed";
	default:
		return "the list of kernel functions cannot be read";
	}
}

size_t ksyms_count(const struct ksyms *k)
{
	return k->n;
}

const char *ksyms_name(const struct ksyms *k, __u64 addr)
{
	size_t low = 0, high = k->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (k->sym[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || addr - k->sym[low - 1].addr >= FUNCTION_MAX)
		return NULL;
	return k->text + k->sym[low - 1].name;
}

void ksyms_free(struct ksyms *k)
{
	if (!k)
		return;
	free(k->text);
	free(k->sym);
	free(k);
}

/* Between the function that is traced and the program. */
static bool is_tracing(const char *name)
{
	static const char *const prefixes[] = {
		"bpf_prog_",	  "bpf_trace_run",    "__bpf_trace_",	"__traceiter_",
		"__page_ref_",	  "trace_call_bpf",   "bpf_trampoline", "bpf_dispatcher_",
		"__bpf_prog_",	  "__bpf_tramp_",     "bpf_get_stack",	"perf_trace_",
		"kprobe_",	  "kretprobe_",	      "arch_rethook_",	"rethook_",
		"fprobe_",	  "ftrace_",	      "arch_ftrace_",	"__ftrace_",
		"opt_pre_handler", "optimized_callback",
	};
	const char *module = strchr(name, '[');

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (starts(name, prefixes[i]))
			return true;
	}
	return module && (!strcmp(module, "[bpf]") || starts(module, "[__builtin__"));
}

/* Does nothing but get or put what it is given: who called it is what matters. */
static bool is_wrapper(const char *name)
{
	static const char *const prefixes[] = { "folio_try_get", "folio_ref_", "page_ref_" };
	static const char *const names[] = {
		"folio_get", "folio_put", "folio_put_refs", "folio_put_testzero", "__folio_put",
		"__folio_put_small", "__folio_put_large", "folios_put", "folios_put_refs",
		"folio_batch_release", "__folio_batch_release", "pagevec_release",
		"__pagevec_release", "release_pages", "put_pages_list", "get_page", "try_get_page",
		"get_page_unless_zero", "put_page", "__put_page", "put_page_testzero",
		"try_get_folio", "try_grab_folio", "try_grab_folio_fast", "gup_put_folio",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (starts(name, prefixes[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

const char *sites_caller(const struct ksyms *k, const __u64 *addr, size_t depth)
{
	const char *name, *best = NULL;
	bool named = false;

	for (size_t i = 0; k && i < depth && addr[i]; i++) {
		/*
		 * All but the innermost are return addresses, and where the call was the last
		 * instruction of its function they are the next one's.
		 */
		name = ksyms_name(k, addr[i] - (i > 0));
		if (!name) {
			/* Programs have no names with bpf_jit_kallsyms = 0; others must have. */
			if (named)
				break;
			continue;
		}
		named = true;
		if (is_tracing(name))
			continue;
		best = name;
		if (!is_wrapper(name))
			break;
	}
	return best ? best : SITE_UNKNOWN;
}

/* One stack, resolved; later one site of one file. */
struct entry {
	struct fs_key key;
	const char *name;
	__u64 gets, puts;
};

static __u64 add_sat(__u64 a, __u64 b)
{
	__u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? ~0ULL : sum;
}

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int d = memcmp(&x->key, &y->key, sizeof(x->key));

	return d ? d : strcmp(x->name, y->name);
}

/* Most first, then by name. */
static int entry_rank(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	__u64 nx = add_sat(x->gets, x->puts), ny = add_sat(y->gets, y->puts);

	if (nx != ny)
		return nx > ny ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int file_rank(const void *a, const void *b)
{
	const struct site_file *x = a, *y = b;
	__u64 nx = add_sat(x->gets, x->puts), ny = add_sat(y->gets, y->puts);

	if (nx != ny)
		return nx > ny ? -1 : 1;
	return memcmp(&x->file, &y->file, sizeof(x->file));
}

/* Stacks to entries, one for each file and name; how many. */
static size_t entries_fill(struct entry *e, const struct ksyms *k, const struct site_stack *in,
			   size_t n)
{
	size_t filled = 0, used = 0;

	for (size_t i = 0; i < n; i++) {
		if (!in[i].gets && !in[i].puts)
			continue;
		e[filled++] = (struct entry){ .key = in[i].file, .gets = in[i].gets,
					      .puts = in[i].puts,
					      .name = sites_caller(k, in[i].addr, in[i].depth) };
	}
	qsort(e, filled, sizeof(*e), entry_order);
	for (size_t i = 0; i < filled; i++) {
		if (!used || entry_order(&e[used - 1], &e[i])) {
			e[used++] = e[i];
			continue;
		}
		e[used - 1].gets = add_sat(e[used - 1].gets, e[i].gets);
		e[used - 1].puts = add_sat(e[used - 1].puts, e[i].puts);
	}
	return used;
}

/* One file from its n entries. */
static int file_fill(struct site_file *f, struct entry *e, size_t n, size_t top)
{
	size_t keep = top && top < n ? top : n;

	qsort(e, n, sizeof(*e), entry_rank);
	f->file = e->key;
	f->site = calloc(keep, sizeof(*f->site));
	if (!f->site)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		f->gets = add_sat(f->gets, e[i].gets);
		f->puts = add_sat(f->puts, e[i].puts);
		if (i >= keep) {
			f->other_gets = add_sat(f->other_gets, e[i].gets);
			f->other_puts = add_sat(f->other_puts, e[i].puts);
			continue;
		}
		f->site[i] = (struct site){ strdup(e[i].name), e[i].gets, e[i].puts };
		f->nsites = i + 1;
		if (!f->site[i].name)
			return -ENOMEM;
	}
	return 0;
}

static size_t files_count(const struct entry *e, size_t n)
{
	size_t files = 0;

	for (size_t i = 0; i < n; i++)
		files += !i || memcmp(&e[i - 1].key, &e[i].key, sizeof(e->key));
	return files;
}

int sites_make(struct sites *out, const struct ksyms *k, const struct site_stack *in, size_t n,
	       size_t top)
{
	struct entry *e;
	size_t used, end;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (!n)
		return 0;
	e = calloc(n, sizeof(*e));
	if (!e)
		return -ENOMEM;
	used = entries_fill(e, k, in, n);
	if (used) {
		out->file = calloc(files_count(e, used), sizeof(*out->file));
		err = out->file ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < used; i = end) {
		for (end = i + 1; end < used && !memcmp(&e[i].key, &e[end].key, sizeof(e->key));)
			end++;
		err = file_fill(&out->file[out->nfiles++], e + i, end - i, top);
	}
	free(e);
	if (err)
		sites_free(out);
	else if (out->nfiles)
		qsort(out->file, out->nfiles, sizeof(*out->file), file_rank);
	return err;
}

void sites_free(struct sites *s)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		for (size_t j = 0; j < s->file[i].nsites; j++)
			free(s->file[i].site[j].name);
		free(s->file[i].site);
	}
	free(s->file);
	memset(s, 0, sizeof(*s));
}
