/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_docs.c - what the program knows, the documents know: figures, options and verbs in the man
 * page word for word, verbs and signals in README.md.
 *
 * opts.c is included for its tables, which are its own.
 */
/* units: figures.c hook_table.c hooks.c caps.c log.c parse.c sanitize.c text.c */
#include "../../src/opts.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char *man, *man_text, *readme;

static char *read_file(const char *name)
{
	const char *slash = strrchr(__FILE__, '/');
	char path[512], *text;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%.*s../../%s", (int)(slash ? slash - __FILE__ + 1 : 0),
		 __FILE__, name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(fstat(fileno(f), &st), 0);
	text = calloc(1, st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, st.st_size, f), st.st_size);
	fclose(f);
	return text;
}

/* What follows a backslash in roff, as the reader sees it. Returns its length. */
static size_t escape(const char *s, char **out)
{
	if (*s == '-') {
		*(*out)++ = '-';
		return 1;
	}
	if (!strncmp(s, "(ga", 3)) {
		*(*out)++ = '`';
		return 3;
	}
	if (*s == 'f')
		return 2;
	fail_msg("the man page has '\\%.3s', which this test does not know", s);
	return 0;
}

/* Adds one line of the page as the reader sees it: requests go, their words stay. */
static void add_line(char **out, const char *s, const char *end)
{
	bool macro = *s == '.';

	if (end - s >= 3 && !strncmp(s, ".\\\"", 3))
		return;
	while (macro && s < end && *s != ' ')
		s++;
	*(*out)++ = ' ';
	while (s < end) {
		if (*s == '\\')
			s += 1 + escape(s + 1, out);
		else if (macro && *s == '"')
			s++;
		else
			*(*out)++ = *s++;
	}
}

static char *plain(const char *page)
{
	char *text = calloc(1, 2 * strlen(page) + 1), *out = text;
	const char *s, *end;

	assert_non_null(text);
	for (s = page; *s; s = *end ? end + 1 : end) {
		end = strchrnul(s, '\n');
		add_line(&out, s, end);
	}
	return text;
}

/* Spaces are one space, the first letter may be a capital, as at the start of a sentence. */
static bool holds(const char *text, const char *want)
{
	const char *s, *w;

	for (s = text; *s; s++) {
		const char *p = s + 1;

		if (tolower(*s) != tolower(*want))
			continue;
		for (w = want + 1; *w; w++, p++) {
			if (*p == ' ' && *w == ' ')
				while (p[1] == ' ')
					p++;
			if (*p != *w)
				break;
		}
		if (!*w)
			return true;
	}
	return false;
}

static void in_man(const char *what, const char *text)
{
	if (!holds(man_text, text))
		fail_msg("docs/folioscope.8: %s: lacks '%s' (docs/gen-figures.sh writes figures)",
			 what, text);
}

static void figure_in_man(const struct figure_info *f)
{
	const char *name = f->json ?: f->metric;
	char title[128];

	snprintf(title, sizeof(title), "\n.BR %s \" (%s)\"\n", name, f->unit);
	if (!strstr(man, title))
		fail_msg("docs/folioscope.8: lacks figure '%s'; run docs/gen-figures.sh", name);
	in_man(name, f->help);
	in_man(name, f->formula);
	in_man(name, f->blind);
	if (f->metric)
		in_man(name, f->metric);
}

static void figures_in_man(void **state)
{
	size_t i;

	for (i = 0; i < FIGS; i++)
		figure_in_man(&figures[i]);
	for (i = 0; i < GAUGES; i++)
		figure_in_man(&gauges[i]);
}

/* "--max-series" stands there as "\-\-max\-series", in a line that begins an entry. */
static const char *option_entry(const struct opt *o)
{
	char want[64] = "\\-\\-", *w = want + strlen(want);
	const char *p, *s;

	for (s = o->name; *s; s++) {
		if (*s == '-')
			*w++ = '\\';
		*w++ = *s;
	}
	*w = 0;
	for (p = strstr(man, "\n.TP\n.BR \\-"); p; p = strstr(p + 1, "\n.TP\n.BR \\-")) {
		const char *line = p + strlen("\n.TP\n"), *end = strchrnul(line, '\n');
		const char *at = memmem(line, end - line, want, strlen(want));

		if (at && strchr(" \"[\n", at[strlen(want)]))
			return line;
	}
	return NULL;
}

static void options_in_man(void **state)
{
	char form[16];
	size_t i;

	for (i = 0; i < NOPTS; i++) {
		const struct opt *o = &opts[i];
		const char *entry;

		if (!o->help)
			continue;
		entry = option_entry(o);
		if (!entry)
			fail_msg("docs/folioscope.8: lacks option --%s", o->name);
		snprintf(form, sizeof(form), ".BR \\-%c,", o->id);
		if (o->id < 256 && strncmp(entry, form, strlen(form) - 1))
			fail_msg("docs/folioscope.8: --%s: lacks -%c", o->name, o->id);
		in_man(o->name, o->help);
	}
}

static bool in_list(const char *list, const char *end, const char *name)
{
	size_t len = strlen(name);

	for (; list + len <= end; list++)
		if (!strncmp(list, name, len) && !isalpha(list[len]) && !isalpha(list[-1]))
			return true;
	return false;
}

/* The brackets behind an option name its verbs: (heat, run), (all), (all but export). */
static void verbs_of_options(void **state)
{
	size_t i;
	int v;

	for (i = 0; i < NOPTS; i++) {
		const char *entry, *end, *list;
		bool but;

		if (!opts[i].help)
			continue;
		entry = option_entry(&opts[i]);
		assert_non_null(entry);
		end = strchrnul(entry, '\n');
		list = memrchr(entry, '(', end - entry);
		if (!list)
			fail_msg("docs/folioscope.8: --%s: lacks its verbs in brackets", opts[i].name);
		but = !strncmp(list, "(all", 4);
		for (v = 0; v < VERBS; v++)
			if (in_list(list, end, verbs[v].name) == but && (opts[i].verbs & (1U << v)))
				fail_msg("docs/folioscope.8: --%s: is an option of %s, too",
					 opts[i].name, verbs[v].name);
			else if (in_list(list, end, verbs[v].name) != but &&
				 !(opts[i].verbs & (1U << v)))
				fail_msg("docs/folioscope.8: --%s: is no option of %s",
					 opts[i].name, verbs[v].name);
	}
}

static void verbs_in_man(void **state)
{
	char entry[64];
	int v;

	for (v = 0; v < VERBS; v++) {
		snprintf(entry, sizeof(entry), "\n.TP\n.B %s\n", verbs[v].name);
		if (!strstr(man, entry))
			fail_msg("docs/folioscope.8: lacks verb %s", verbs[v].name);
		in_man(verbs[v].name, verbs[v].summary);
	}
}

static void provenances_in_man(void **state)
{
	int p;

	for (p = 0; p < PROVS; p++) {
		char entry[64];

		snprintf(entry, sizeof(entry), "\n.B %s\n", prov_names[p]);
		if (strstr(man, entry))
			continue;
		snprintf(entry, sizeof(entry), "\n.BR %s \" (", prov_names[p]);
		if (!strstr(man, entry))
			fail_msg("docs/folioscope.8: lacks provenance %s", prov_names[p]);
	}
}

static void readme_names_all(void **state)
{
	char word[64];
	int i;

	for (i = 0; i < VERBS; i++) {
		snprintf(word, sizeof(word), "folioscope %s", verbs[i].name);
		if (!strstr(readme, word))
			fail_msg("README.md: lacks an example of `%s`", word);
	}
	for (i = 0; i < SIGNALS; i++)
		if (!strstr(readme, signals[i].name))
			fail_msg("README.md: lacks signal %s", signals[i].name);
	for (i = 0; i < PROVS; i++)
		if (!strstr(readme, prov_names[i]))
			fail_msg("README.md: lacks provenance %s", prov_names[i]);
}

static int read_all(void **state)
{
	man = read_file("docs/folioscope.8");
	man_text = plain(man);
	readme = read_file("README.md");
	return 0;
}

static int free_all(void **state)
{
	free(man);
	free(man_text);
	free(readme);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_in_man),
		cmocka_unit_test(options_in_man),
		cmocka_unit_test(verbs_of_options),
		cmocka_unit_test(verbs_in_man),
		cmocka_unit_test(provenances_in_man),
		cmocka_unit_test(readme_names_all),
	};

	return cmocka_run_group_tests(tests, read_all, free_all);
}
