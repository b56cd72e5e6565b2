/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See terminal.h.  Curses writes with blocking write(2), until all is written.  So, once curses has
 * set the terminal up, its descriptor is replaced by a file in memory: each frame is copied from
 * there to tty.out, and sent through a descriptor of our own that does not block.  The modes of the
 * terminal are restored here, and not by curses, too.
 */
#include "view/screen/terminal.h"

#include <curses.h>
#include <term.h>
#undef columns /* macros of term.h */
#undef lines

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "view/screen/screen_style.h"
#include "view/screen/terminal_keys.h"
#include "view/screen/tty.h"

#define ESCAPE_DELAY_MS 25  /* bytes that follow Escape within this time belong to its sequence */
#define SHOW_WAIT_MS	30  /* longest wait until the terminal has taken the bytes of a frame */
#define CLOSE_WAIT_MS	300 /* the same for the last bytes, which restore the terminal */

struct terminal {
	struct tty tty;
	int memory;	   /* memfd with the output of curses */
	FILE *in, *curses; /* input and output of curses; the latter becomes `memory` */
	SCREEN *screen;
	WINDOW *input; /* a pad: reading from it never draws */
	char *locale;  /* LC_CTYPE before terminal_open() */
	unsigned rows, columns;
	bool utf8, mouse, suspended, anew, said_gone;
	bool own_ground; /* -1 is the terminal's default colour (use_default_colors()) */
	int depth;	 /* colours; 0 = none are used */
	int pairs[NR_SCREEN_STYLES][NR_SCREEN_STYLES]; /* by style and ground; -1 = not made yet */
	struct screen *shown;			       /* the last screen given to curses */
};

/* Moves the output of curses from `memory` to tty.out. */
static void collect(struct terminal *t)
{
	off_t size = lseek(t->memory, 0, SEEK_END);
	struct strbuf *out = &t->tty.out;

	if (size <= 0)
		return;
	strbuf_grow(out, (size_t)size);
	if (pread(t->memory, out->buf + out->len, (size_t)size, 0) == size) {
		out->len += (size_t)size;
		out->buf[out->len] = '\0';
	} else {
		t->anew = true; /* output of curses is lost: the next frame is sent whole */
	}
	if (ftruncate(t->memory, 0) == 0)
		lseek(t->memory, 0, SEEK_SET);
}

bool terminal_pending(const struct terminal *t)
{
	return tty_pending(&t->tty);
}

void terminal_flush(struct terminal *t)
{
	tty_send(&t->tty, 0);
}

void terminal_restore(void)
{
	tty_restore();
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A type to use if the host has no entry for `type`: modern terminals are compatible with xterm. */
static const char *stand_in(const char *type)
{
	static const char *const alike[] = {"alacritty", "contour", "foot",    "ghostty", "iterm",
					    "kitty",	 "konsole", "mintty",  "rio",	  "rxvt",
					    "st-",	 "vte",	    "wezterm", "xterm",	  "gnome"};

	for (size_t i = 0; i < ARRAY_SIZE(alike); i++)
		if (strncmp(type, alike[i], strlen(alike[i])) == 0)
			return "xterm-256color";
	if (strncmp(type, "tmux", 4) == 0 || strncmp(type, "screen", 6) == 0)
		return "screen";
	return NULL;
}

/* Terminfo entries for hosts without a terminfo database, such as a container with ebeam only. */
static const struct {
	const char *type, *entry; /* entry: "b64:...", a value that TERMINFO may have */
} built_in[] = {
#include "terminfo.h"
};

/* Sets TERMINFO to a built-in entry, for curses.  It stays set: ebeam starts no other program. */
static bool use_built_in(const char *type, int fd)
{
	int found = 0;

	for (size_t i = 0; type && i < ARRAY_SIZE(built_in); i++) {
		if (strcmp(type, built_in[i].type) != 0)
			continue;
		setenv("TERMINFO", built_in[i].entry, 1);
		return setupterm(type, fd, &found) == OK;
	}
	return false;
}

/* Sets *type (NULL = $TERM) to the terminal type to use, or fails.  Before newterm() only. */
static int choose_type(const char **type, int fd, struct error *err)
{
	const char *wanted = *type, *place;
	int found = 0;

	if (!wanted)
		wanted = getenv("TERM");
	if (!wanted || !*wanted)
		return error_set(err, ERROR_KIND_FAILED, -ENOTTY,
				 "TERM is not set: set it to the type of the terminal, "
				 "xterm-256color for example");
	*type = wanted;
	if (setupterm(wanted, fd, &found) != OK) {
		const char *other = stand_in(wanted);

		*type = other ? other : wanted;
		if ((!other || setupterm(other, fd, &found) != OK) && !use_built_in(*type, fd))
			return error_set(err, ERROR_KIND_FAILED, -ENOTTY,
					 "terminals of type '%s' are not known here: set TERM to a "
					 "similar type, xterm for example",
					 wanted);
	}
	place = tigetstr("cup");
	del_curterm(cur_term);
	if (!place || place == (char *)-1)
		return error_set(err, ERROR_KIND_FAILED, -ENOTTY,
				 "a terminal of type '%s' cannot place the cursor, which a full "
				 "screen needs: set TERM to its true type, xterm for example",
				 wanted);
	return 0;
}

static FILE *open_stream(const struct tty *tty, const char *mode)
{
	int fd = fcntl(tty->fd, F_DUPFD_CLOEXEC, 3);
	FILE *f = fd < 0 ? NULL : fdopen(fd, mode);

	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int open_files(struct terminal *t, struct error *err)
{
	t->memory = memfd_create("screen", MFD_CLOEXEC);
	t->in = open_stream(&t->tty, "r");
	t->curses = open_stream(&t->tty, "w");
	if (t->in && t->curses && t->memory >= 0)
		return 0;
	return error_set(err, ERROR_KIND_FAILED, -errno, "cannot open the terminal: %s",
			 error_text(errno));
}

static void add_sequence(struct strbuf *out, const char *sequence)
{
	if (!sequence || sequence == (char *)-1)
		return;
	while (*sequence) {
		const char *end = strncmp(sequence, "$<", 2) == 0 ? strchr(sequence, '>') : NULL;

		if (end) /* skips a padding delay */
			sequence = end + 1;
		else
			strbuf_addch(out, *sequence++);
	}
}

/* Sets the bytes that terminal_restore() sends. */
static void remember(const struct terminal *t, bool mouse)
{
	struct strbuf leave = STRBUF_INIT;

	if (mouse)
		strbuf_addstr(&leave, "\033[?1000l\033[?1006l");
	add_sequence(&leave, tigetstr("sgr0"));
	add_sequence(&leave, tigetstr("rmkx"));
	add_sequence(&leave, tigetstr("rmcup"));
	add_sequence(&leave, tigetstr("cnorm"));
	tty_remember(&t->tty, leave.buf);
	strbuf_free(&leave);
}

/* Calls newterm(), and restores the signal handlers that it replaces. */
static void start_screen(struct terminal *t, const char *type)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGTTOU, SIGWINCH};
	struct sigaction old[ARRAY_SIZE(signals)];

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], NULL, &old[i]);
	t->screen = newterm(type, t->curses, t->in);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &old[i], NULL);
}

static void start_colors(struct terminal *t, bool wanted)
{
	for (int i = 0; i < NR_SCREEN_STYLES; i++)
		for (int j = 0; j < NR_SCREEN_STYLES; j++)
			t->pairs[i][j] = -1;
	t->depth = 0;
	if (!wanted || !has_colors() || start_color() != OK || COLORS < 8)
		return;
	t->own_ground = use_default_colors() == OK;
	t->depth = COLORS;
}

static void start_modes(struct terminal *t, bool mouse)
{
	cbreak();
	noecho();
	nonl();
	typeahead(-1); /* do not delay drawing while keys are typed */
	curs_set(0);
	leaveok(stdscr, TRUE);
	t->input = newpad(1, 1);
	keypad(t->input, TRUE);
	nodelay(t->input, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	if (mouse && tigetstr("kmous") != (char *)-1 && tigetstr("kmous")) {
		mousemask(BUTTON1_PRESSED | BUTTON2_PRESSED | BUTTON3_PRESSED | BUTTON4_PRESSED |
				  BUTTON5_PRESSED,
			  NULL);
		mouseinterval(0);
		t->mouse = true;
	}
	tcgetattr(t->tty.fd, &t->tty.during);
	t->tty.during.c_iflag &= ~(tcflag_t)(IXON | IXOFF); /* Ctrl-S does not stop the output */
	tcsetattr(t->tty.fd, TCSANOW, &t->tty.during);
}

/* Switches mouse reports to decimal numbers (SGR mode, 1006): the older format ends at column 223,
 * and the terminfo entries of tmux and screen do not switch.  A terminal without it keeps the
 * older. */
static void ask_reports(struct terminal *t, bool wanted)
{
	if (t->mouse)
		strbuf_addstr(&t->tty.out, wanted ? "\033[?1006h" : "\033[?1006l");
}

static bool measure(struct terminal *t)
{
	struct winsize size = {0};
	unsigned rows, columns;

	if (ioctl(t->tty.fd, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80}; /* a serial line */
	rows = MIN((unsigned)size.ws_row, SCREEN_MAX_ROWS);
	columns = MIN((unsigned)size.ws_col, SCREEN_MAX_COLUMNS);
	if (rows == t->rows && columns == t->columns)
		return false;
	t->rows = rows;
	t->columns = columns;
	resize_term((int)rows, (int)columns);
	screen_resize(t->shown, rows, columns);
	t->anew = true;
	return true;
}

static int start(struct terminal *t, const struct terminal_options *o, struct error *err)
{
	const char *type = o->type;
	int rc = tty_open(&t->tty, o->fd, err);

	if (!rc)
		rc = choose_type(&type, t->tty.fd, err);
	if (!rc)
		rc = open_files(t, err);
	if (rc)
		return rc;
	start_screen(t, type);
	if (!t->screen)
		return error_set(err, ERROR_KIND_FAILED, -ENOTTY,
				 "cannot set up a terminal of type '%s'", type);
	remember(t, o->mouse);
	start_colors(t, o->color);
	start_modes(t, o->mouse);
	if (dup2(t->memory, fileno(t->curses)) < 0)
		return error_set(err, ERROR_KIND_FAILED, -errno, "dup2: %s", error_text(errno));
	ask_reports(t, true);
	terminal_flush(t);
	measure(t);
	return 0;
}

/* Does wcrtomb() write UTF-8?  Tested by a call: the static program always does, whatever the
 * locale (static_locale.c). */
static bool writes_utf8(void)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = {0};

	return wcrtomb(bytes, 0xe9, &state) == 2 && memcmp(bytes, "\xc3\xa9", 2) == 0;
}

/* Chooses the locale; true = UTF-8.  If the environment asks for UTF-8 and its locale is not
 * installed, any other UTF-8 locale is used.  With another encoding only ASCII is written. */
static bool choose_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *wanted = NULL;

	if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names) && (!wanted || !*wanted); i++)
		wanted = getenv(names[i]);
	if (wanted && (strcasestr(wanted, "utf-8") || strcasestr(wanted, "utf8"))) {
		setlocale(LC_CTYPE, "C.UTF-8");
		return writes_utf8();
	}
	setlocale(LC_CTYPE, "C");
	return false;
}

int terminal_open(struct terminal **out, const struct terminal_options *o, struct error *err)
{
	struct terminal *t;
	int rc;

	*out = NULL;
	if (tty_remembered())
		return error_set(err, ERROR_KIND_FAILED, -EBUSY, "a terminal is open already");
	t = xcalloc(1, sizeof(*t));
	t->memory = -1;
	screen_open(&t->shown, 1, 1);
	t->locale = xstrdup(setlocale(LC_CTYPE, NULL));
	t->utf8 = choose_locale();
	rc = start(t, o, err);
	if (rc)
		terminal_close(t);
	else
		*out = t;
	return rc;
}

/* Leaves the full screen and restores the terminal's modes. */
static void leave(struct terminal *t)
{
	if (t->suspended)
		return;
	t->suspended = true;
	endwin();
	collect(t);
	ask_reports(t, false);
	tty_send(&t->tty, CLOSE_WAIT_MS);
	if (tty_remembered()) /* no signal handler has restored them */
		tcsetattr(t->tty.fd, TCSANOW, &t->tty.before);
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	if (t->screen) {
		leave(t);
		if (!terminal_pending(t))
			tty_forget();
		tty_restore(); /* without effect unless bytes of leave() are still to be sent */
		if (t->input)
			delwin(t->input);
		delscreen(t->screen);
	}
	setlocale(LC_CTYPE, t->locale);
	if (t->in)
		fclose(t->in);
	if (t->curses)
		fclose(t->curses);
	if (t->memory >= 0)
		close(t->memory);
	tty_close(&t->tty);
	screen_close(t->shown);
	free(t->locale);
	free(t);
}

int terminal_fd(const struct terminal *t)
{
	return t->tty.fd;
}

void terminal_size(const struct terminal *t, unsigned *rows, unsigned *columns)
{
	*rows = t->rows;
	*columns = t->columns;
}

bool terminal_utf8(const struct terminal *t)
{
	return t->utf8;
}

bool terminal_color(const struct terminal *t)
{
	return t->depth > 0;
}

/* ---- suspending ------------------------------------------------------------------------------ */

void terminal_suspend(struct terminal *t)
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, old;
	sigset_t stop, before;

	leave(t);
	/* Not SIGSTOP: the kernel does not stop an orphaned process group with SIGTSTP, which no
	 * shell would continue. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &usual, &old);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTSTP, &old, NULL);
	terminal_resume(t);
}

void terminal_resume(struct terminal *t)
{
	/* The shell has changed the modes. */
	tcsetattr(t->tty.fd, TCSANOW, &t->tty.during);
	t->suspended = false;
	t->anew = true;
	ask_reports(t, true); /* the next terminal_key() finds out if the size has changed */
}

void terminal_redraw(struct terminal *t)
{
	t->anew = true;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The number that this terminal has for a colour of the palette; for -1 without default colours
 * `otherwise`. */
static int color_of(const struct terminal *t, int16_t color, int otherwise)
{
	if (color < 0)
		return t->own_ground ? -1 : otherwise;
	return t->depth > 256 ? (int)style_rgb(color) : color; /* TERM=xterm-direct and its like */
}

static int pair_of(struct terminal *t, const struct screen_cell *cell)
{
	const struct cell_style *style = screen_style_of(cell->style);
	const struct cell_style *behind = cell->ground ? screen_style_of(cell->ground) : NULL;
	int *pair = &t->pairs[cell->style][cell->ground];
	struct style_colors colors;

	if (*pair >= 0)
		return *pair;
	colors = t->depth >= 256 ? style->of_256 : style->of_8;
	if (behind)
		colors.ground = t->depth >= 256 ? behind->of_256.ink : behind->of_8.ink;
	*pair = 0;
	if (colors.ink >= 0 || colors.ground >= 0)
		*pair = alloc_pair(color_of(t, colors.ink, COLOR_WHITE),
				   color_of(t, colors.ground, COLOR_BLACK));
	*pair = MAX(*pair, 0); /* alloc_pair() fails if no pair is left: default colours */
	return *pair;
}

static attr_t attributes_of(const struct terminal *t, const struct screen_cell *cell)
{
	const struct cell_style *style = screen_style_of(cell->style);
	unsigned flags = t->depth ? style->color_attributes : style->plain_attributes;
	attr_t attributes = A_NORMAL;

	/* 8 colours have no grey: dim and bold instead. */
	if (t->depth && t->depth < 256 && style->of_8.ink < 0 && style->of_8.ground < 0)
		flags |= style->plain_attributes & (STYLE_DIM | STYLE_BOLD);
	attributes |= flags & STYLE_BOLD ? A_BOLD : 0;
	attributes |= flags & STYLE_DIM ? A_DIM : 0;
	attributes |= flags & STYLE_REVERSE ? A_REVERSE : 0;
	attributes |= flags & STYLE_UNDERLINE ? A_UNDERLINE : 0;
	return attributes;
}

/* Does wcwidth(3), which curses and many terminals use, agree with the width of the cell?  Else the
 * character would shift the rest of the row. */
static bool is_agreed(const struct screen_cell *cell)
{
	if (wcwidth((wchar_t)cell->c[0]) != cell->width)
		return false;
	for (int i = 1; i < SCREEN_CELL_CHARS && cell->c[i]; i++)
		if (wcwidth((wchar_t)cell->c[i]) != 0)
			return false;
	return true;
}

static void put_text(struct terminal *t, int row, int column, const wchar_t *text,
		     const struct screen_cell *cell)
{
	int pair = t->depth ? pair_of(t, cell) : 0;
	cchar_t c;

	if (setcchar(&c, text, attributes_of(t, cell), 0, &pair) == OK)
		mvadd_wch(row, column, &c); /* draws the last cell of the screen, but returns ERR */
}

static void put_cell(struct terminal *t, unsigned row, unsigned column,
		     const struct screen_cell *cell)
{
	wchar_t text[SCREEN_CELL_CHARS + 1] = {0};

	if (cell->width == 0)
		return;
	if ((cell->c[0] < 0x7f && !cell->c[1]) || is_agreed(cell)) {
		for (int i = 0; i < SCREEN_CELL_CHARS; i++)
			text[i] = (wchar_t)cell->c[i];
		put_text(t, (int)row, (int)column, text, cell);
		return;
	}
	for (int i = 0; i < cell->width; i++)
		put_text(t, (int)row, (int)column + i, L"?", cell);
}

/* Gives curses the cells of a row that have changed. */
static void put_row(struct terminal *t, const struct screen *s, unsigned row)
{
	unsigned columns = MIN(t->columns, screen_columns(s));
	bool before = false; /* the cell to the left has changed */

	for (unsigned column = 0; column < columns; column++) {
		const struct screen_cell *cell = screen_at(s, row, column);
		bool changed = t->anew ||
			       memcmp(cell, screen_at(t->shown, row, column), sizeof(*cell)) != 0;

		/* Curses has blanked the cell next to a wide character that was overwritten. */
		if (changed || before)
			put_cell(t, row, column, cell);
		before = changed;
	}
}

bool terminal_show(struct terminal *t, const struct screen *s)
{
	unsigned rows = MIN(t->rows, screen_rows(s));

	if (t->suspended || t->tty.gone)
		return false;
	tty_send(&t->tty, SHOW_WAIT_MS);
	if (terminal_pending(t) || t->tty.gone)
		return false;
	if (t->anew) {
		erase();
		clearok(stdscr, TRUE);
	}
	for (unsigned row = 0; row < rows; row++)
		put_row(t, s, row);
	t->anew = false;
	screen_copy(t->shown, s);
	wnoutrefresh(stdscr);
	doupdate();
	collect(t);
	tty_send(&t->tty, SHOW_WAIT_MS);
	return !t->tty.gone;
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool terminal_key(struct terminal *t, struct terminal_key *out)
{
	if (tty_is_gone(&t->tty)) {
		*out = (struct terminal_key){.kind = TERMINAL_KEY_GONE};
		t->said_gone = !t->said_gone; /* so that a loop over all keys ends */
		return t->said_gone;
	}
	if (t->suspended)
		return false;
	if (measure(t)) {
		*out = (struct terminal_key){.kind = TERMINAL_KEY_RESIZE};
		return true;
	}
	return terminal_read_key(t->input, out);
}
