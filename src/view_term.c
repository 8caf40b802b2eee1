// SPDX-License-Identifier: GPL-2.0-only
/*
 * view_term.c - the terminal of the live screen: curses, and nothing but curses. See view.h.
 *
 * Signals are blocked and read by the caller, so no handler of curses ever runs. stderr, where it
 * is the terminal too, goes to memory meanwhile: a message must not tear the screen, nor be lost.
 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "log.h"
#include "sanitize.h"
#include "view.h"

#define LOG_MOST (64 << 10)	/* bytes of messages kept */
#define ROWS_MOST 1000
#define COLS_MOST 1000

struct view_term {
	FILE *keys;
	bool own_keys;
	SCREEN *screen;
	bool ascii;
	int cursor;			/* as it was; ERR: unknown */
	attr_t look[VIEW_STYLES];
	int log_fd, real_stderr;	/* -1: stderr is not the terminal */
	off_t told;			/* of log_fd, shown already */
};

/* ---- colours ---- */

static void set_looks(struct view_term *t)
{
	enum { GREEN = 1, YELLOW, CYAN_BAR, GREEN_BAR };

	t->look[VIEW_PLAIN] = A_NORMAL;
	t->look[VIEW_DIM] = A_DIM;
	t->look[VIEW_BOLD] = A_BOLD;
	t->look[VIEW_BAR] = A_REVERSE;
	t->look[VIEW_TITLE] = A_REVERSE;
	t->look[VIEW_SORTED] = A_REVERSE | A_BOLD;
	t->look[VIEW_WARN] = A_REVERSE | A_BOLD;
	t->look[VIEW_LOAD] = A_BOLD;
	t->look[VIEW_PEAK] = A_DIM;
	if (getenv("NO_COLOR") || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(GREEN, COLOR_GREEN, -1);
	init_pair(YELLOW, COLOR_BLACK, COLOR_YELLOW);
	init_pair(CYAN_BAR, COLOR_BLACK, COLOR_CYAN);
	init_pair(GREEN_BAR, COLOR_BLACK, COLOR_GREEN);
	t->look[VIEW_TITLE] = COLOR_PAIR(GREEN_BAR);
	t->look[VIEW_SORTED] = COLOR_PAIR(CYAN_BAR);
	t->look[VIEW_WARN] = COLOR_PAIR(YELLOW);
	t->look[VIEW_LOAD] = COLOR_PAIR(GREEN);
	t->look[VIEW_PEAK] = COLOR_PAIR(GREEN) | A_DIM;
}

/* ---- stderr ---- */

static void capture_stderr(struct view_term *t)
{
	if (!isatty(STDERR_FILENO))
		return;
	t->log_fd = memfd_create("folioscope-messages", MFD_CLOEXEC);
	if (t->log_fd < 0)
		return;
	t->real_stderr = dup(STDERR_FILENO);
	fflush(stderr);
	if (t->real_stderr >= 0 && dup2(t->log_fd, STDERR_FILENO) >= 0)
		return;
	close(t->log_fd);
	t->log_fd = -1;
}

static void release_stderr(struct view_term *t)
{
	char buf[4096];
	ssize_t n;

	if (t->real_stderr < 0)
		return;
	fflush(stderr);
	dup2(t->real_stderr, STDERR_FILENO);
	close(t->real_stderr);
	t->real_stderr = -1;
	if (t->log_fd < 0)
		return;
	lseek(t->log_fd, 0, SEEK_SET);
	while ((n = read(t->log_fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, n, stderr);
	close(t->log_fd);
	t->log_fd = -1;
}

bool view_term_message(struct view_term *t, char *buf, size_t size)
{
	char line[4 * VIEW_MESSAGE], *end, *start;
	off_t all;
	ssize_t n;

	if (t->log_fd < 0)
		return false;
	fflush(stderr);
	all = lseek(t->log_fd, 0, SEEK_END);
	if (all <= t->told)
		return false;
	t->told = all;
	n = pread(t->log_fd, line, sizeof(line) - 1, all > (off_t)sizeof(line) - 1 ?
		  all - (off_t)sizeof(line) + 1 : 0);
	if (all > LOG_MOST && !ftruncate(t->log_fd, 0)) {
		lseek(t->log_fd, 0, SEEK_SET);
		t->told = 0;
	}
	if (n <= 0)
		return false;
	while (n && line[n - 1] == '\n')
		n--;
	line[n] = '\0';
	end = line + n;
	start = memrchr(line, '\n', n);
	start = start ? start + 1 : line;
	sanitize(buf, size, start, end - start);
	return true;
}

/* ---- taking over and giving back ---- */

static FILE *open_keys(bool use_stdin, bool *own)
{
	*own = !use_stdin || !isatty(STDIN_FILENO);
	return *own ? fopen("/dev/tty", "re") : stdin;
}

struct view_term *view_term_open(bool use_stdin)
{
	const char *name = getenv("TERM");
	struct view_term *t;

	if (!isatty(STDOUT_FILENO) || !name || !*name || !strcmp(name, "dumb"))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->log_fd = t->real_stderr = -1;
	t->keys = open_keys(use_stdin, &t->own_keys);
	if (t->keys)
		t->screen = newterm(NULL, stdout, t->keys);
	if (!t->screen) {
		if (t->keys)
			log_warn("terminal: TERM is unknown here, or cannot move the cursor; "
				 "batches follow");
		if (t->keys && t->own_keys)
			fclose(t->keys);
		free(t);
		return NULL;
	}
	t->ascii = strcmp(nl_langinfo(CODESET), "UTF-8");
	set_looks(t);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	t->cursor = curs_set(0);
	leaveok(stdscr, TRUE);
	capture_stderr(t);
	return t;
}

void view_term_close(struct view_term *t)
{
	if (!t)
		return;
	if (t->cursor != ERR)
		curs_set(t->cursor);
	endwin();
	delscreen(t->screen);
	release_stderr(t);
	if (t->own_keys)
		fclose(t->keys);
	free(t);
}

void view_term_redo(struct view_term *t)
{
	reset_prog_mode();
	clearok(curscr, TRUE);
	(void)t;
}

void view_term_stop(struct view_term *t)
{
	sigset_t tstp, old;

	endwin();
	/* As the default action does it: an orphan is not stopped, since nobody could wake it. */
	signal(SIGTSTP, SIG_DFL);
	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	view_term_redo(t);
	refresh();
}

/* ---- keys ---- */

bool view_term_ascii(const struct view_term *t)
{
	return t->ascii;
}

int view_term_fd(const struct view_term *t)
{
	return fileno(t->keys);
}

int view_term_key(struct view_term *t)
{
	static const struct {
		int curses, ours;
	} keys[] = {
		{ ERR, VIEW_KEY_NONE }, { KEY_UP, VIEW_KEY_UP }, { KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP }, { KEY_NPAGE, VIEW_KEY_PAGE_DOWN },
		{ KEY_HOME, VIEW_KEY_HOME }, { KEY_END, VIEW_KEY_END },
	};
	int key = getch();
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (key == keys[i].curses)
			return keys[i].ours;
	(void)t;
	return key;
}

/* ---- the screen ---- */

void view_term_size(struct view_term *t, size_t *rows, size_t *cols)
{
	struct winsize ws;
	int y, x;

	getmaxyx(stdscr, y, x);
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_row && ws.ws_col) {
		int row = ws.ws_row < ROWS_MOST ? ws.ws_row : ROWS_MOST;
		int col = ws.ws_col < COLS_MOST ? ws.ws_col : COLS_MOST;

		if ((row != y || col != x) && resizeterm(row, col) == OK)
			clearok(curscr, TRUE);
		getmaxyx(stdscr, y, x);
	}
	*rows = y > 0 ? y : 0;
	*cols = x > 0 ? x : 0;
	(void)t;
}

/*
 * One character, or one escape, of sanitized text. What the terminal's locale cannot show, or
 * shows wider than we reckon, is a question mark of the same width.
 */
static void show_unit(const struct view_term *t, const char *s, size_t len, size_t columns)
{
	mbstate_t state = { 0 };
	wchar_t wc;

	if (!(*s & 0x80)) {
		addnstr(s, len);
		return;
	}
	if (!t->ascii && mbrtowc(&wc, s, len, &state) == len && wcwidth(wc) == (int)columns) {
		addnwstr(&wc, 1);
		return;
	}
	if (columns == 1 && !memcmp(s, "\xe2\x80\xa6", 3))
		addch('~');
	else
		while (columns--)
			addch('?');
}

static void show_line(const struct view_term *t, const struct view_line *l)
{
	size_t at = 0, run, end, n, columns;

	for (run = 0, end = 0; run < l->nruns; run++) {
		attrset(t->look[l->runs[run].style]);
		for (end += l->runs[run].len; at < end; at += n) {
			n = sanitize_unit(l->text + at, &columns);
			show_unit(t, l->text + at, n, columns);
		}
	}
	attrset(A_NORMAL);
}

void view_term_show(struct view_term *t, const struct view_screen *s)
{
	size_t i;

	erase();
	for (i = 0; i < s->rows; i++) {
		move(i, 0);
		show_line(t, &s->lines[i]);
	}
	refresh();
}
