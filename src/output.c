// SPDX-License-Identifier: GPL-2.0-only
/* output.c - see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "output.h"
#include "render.h"

/* Columns to fill: the terminal's; 0 (no cut) in a pipe or a file. */
static unsigned int out_width(FILE *out)
{
	struct winsize ws;

	if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &ws) && ws.ws_col)
		return ws.ws_col;
	return 0;
}

struct job {
	const struct config *cfg;
	const struct report *report;
};

static int write_text(FILE *out, void *ctx)
{
	struct job *j = ctx;
	struct text_opts opts = {
		.width = out_width(out),
		.basename = j->cfg->basename,
		.verbose = j->cfg->verbose,
	};

	return render_text(out, j->report, &opts);
}

static int write_json(FILE *out, void *ctx)
{
	return render_json(out, ((struct job *)ctx)->report);
}

static int write_prom(FILE *out, void *ctx)
{
	struct job *j = ctx;

	return render_prom(out, j->report, j->cfg->max_series);
}

static int write_stream(FILE *out, int (*fn)(FILE *out, void *ctx), void *ctx)
{
	int err = fn(out, ctx);

	if (!err && (fflush(out) || ferror(out)))
		err = -(errno ?: EIO);
	return err;
}

/* A new file beside path, under a name nobody can have prepared; to take its place when whole. */
static FILE *open_beside(const char *path, char *tmp, size_t size)
{
	FILE *out;
	int fd;

	if (snprintf(tmp, size, "%s.XXXXXX", path) >= (int)size) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		unlink(tmp);
	}
	return out;
}

static int write_new(const char *path, bool replace, int (*fn)(FILE *out, void *ctx), void *ctx)
{
	char tmp[4096];
	FILE *out;
	int err;

	out = replace ? open_beside(path, tmp, sizeof(tmp)) : fopen(path, "we");
	if (!out)
		return -errno;
	err = write_stream(out, fn, ctx);
	if (replace && !err && (fchmod(fileno(out), 0644) || fsync(fileno(out))))
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	if (replace && !err && rename(tmp, path))
		err = -errno;
	if (replace && err)
		unlink(tmp);
	return err;
}

/* rename() would put a file in the place of a device or a pipe. */
static bool can_replace(const char *path)
{
	struct stat st;

	return lstat(path, &st) || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
}

int output_file(const char *path, bool replace, int (*fn)(FILE *out, void *ctx), void *ctx)
{
	bool to_stdout = !path || !strcmp(path, "-");
	int err;

	if (replace && !can_replace(path)) {
		log_error("%s: replace: it is no regular file; -o FILE writes into it", path);
		return -EINVAL;
	}
	err = to_stdout ? write_stream(stdout, fn, ctx) : write_new(path, replace, fn, ctx);
	/* A reader that has seen enough (head) is no failure of ours to tell. */
	if (err == -EPIPE && to_stdout)
		return err;
	if (err)
		log_error("%s: write: %s; the report is incomplete", to_stdout ? "stdout" : path,
			  errstr(err));
	return err;
}

static bool can_write(const char *path, mode_t mode)
{
	int fd;

	if (!path || !strcmp(path, "-"))
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	if (fd < 0) {
		log_error("%s: open: %s; nothing was started", path, errstr(errno));
		return false;
	}
	close(fd);
	return true;
}

bool output_possible(const struct config *cfg)
{
	/* A recording is for its owner only: it holds names of files. */
	return can_write(cfg->output, cfg->verb == VERB_RECORD ? 0600 : 0666) &&
	       can_write(cfg->json, 0666);
}

static bool has_loss(const struct report *r)
{
	return r->lost.map_full || r->lost.ring_full || r->lost.recursion_misses ||
	       r->lost.torn || r->lost.witness;
}

static int write_all(const struct config *cfg, struct job *j)
{
	bool json_stdout = cfg->format == FORMAT_JSON && (!cfg->json || !strcmp(cfg->json, "-"));
	bool recording = cfg->verb == VERB_RECORD;	/* -o is not for the report */
	int err = 0;

	if (cfg->verb == VERB_EXPORT)
		return cfg->textfile ? output_file(cfg->textfile, true, write_prom, j) :
				       output_file(cfg->output, false, write_prom, j);
	if (cfg->format == FORMAT_JSON)
		err = output_file(json_stdout && !recording ? cfg->output : cfg->json, false,
				  write_json, j);
	if (!json_stdout && !recording && !cfg->quiet && !err)
		err = output_file(cfg->output, false, write_text, j);
	return err;
}

int output_report(const struct config *cfg, const struct snapshot *first,
		  const struct snapshot *last)
{
	struct view view = { .top = cfg->top, .sort = cfg->sort,
			     .paths = cfg->npaths ? cfg->paths : NULL };
	struct report report;
	struct job job = { cfg, &report };
	int err = report_make(&report, first, last, &view);

	if (err) {
		log_error("report: make: %s", errstr(err));
		return EXIT_FAILED;
	}
	err = write_all(cfg, &job);
	if (!err && cfg->fail_on_loss && has_loss(&report)) {
		log_error("losses: some events were not counted (see `lost`); --fail-on-loss");
		err = -EIO;
	}
	report_free(&report);
	return err ? EXIT_FAILED : EXIT_FINE;
}
