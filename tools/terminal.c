/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build/tools/terminal [FILE]: shows a screen with all that can be on one, and which keys it reads,
 * to try a terminal or the drawing; q ends it.  With FILE, what was shown last is there, too, as
 * text.  NO_COLOR is honoured.  Exits 1 if the terminal cannot be used, 3 if it went away.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "lib/zoo.h"
#include "names/utf8.h"
#include "view/screen/terminal.h"

#define KEY_ROW 12

struct trial {
	struct terminal *terminal;
	struct screen *screen;
	const char *path;    /* NULL = none */
	struct strbuf about; /* the last key */
	unsigned nr_keys;
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int signo)
{
	stop_asked |= signo == SIGTSTP;
}

/* What was shown, in one piece. */
static void save(const struct trial *t)
{
	char *temporary;
	FILE *f;

	if (!t->path)
		return;
	temporary = xasprintf("%s.tmp", t->path);
	f = fopen(temporary, "w");
	if (f) {
		screen_write_text(t->screen, f);
		fclose(f);
		rename(temporary, t->path);
	}
	free(temporary);
}

static void show(struct trial *t)
{
	unsigned rows, columns;

	terminal_size(t->terminal, &rows, &columns);
	screen_resize(t->screen, rows, columns);
	screen_set_utf8(t->screen, terminal_utf8(t->terminal));
	screen_set_color(t->screen, terminal_color(t->terminal));
	zoo_draw(t->screen);
	screen_textf(t->screen, KEY_ROW, 2, columns, SCREEN_TITLE, "%ux%u, %u keys", columns, rows,
		     t->nr_keys);
	screen_text(t->screen, KEY_ROW, 30, columns, SCREEN_KEY, t->about.buf, t->about.len);
	if (terminal_show(t->terminal, t->screen))
		save(t);
}

static void describe(struct strbuf *out, const struct terminal_key *key)
{
	static const char *const names[] = {
		[TERMINAL_KEY_UP] = "up",
		[TERMINAL_KEY_DOWN] = "down",
		[TERMINAL_KEY_LEFT] = "left",
		[TERMINAL_KEY_RIGHT] = "right",
		[TERMINAL_KEY_HOME] = "home",
		[TERMINAL_KEY_END] = "end",
		[TERMINAL_KEY_PAGE_UP] = "page up",
		[TERMINAL_KEY_PAGE_DOWN] = "page down",
		[TERMINAL_KEY_ENTER] = "enter",
		[TERMINAL_KEY_ESCAPE] = "escape",
		[TERMINAL_KEY_TAB] = "tab",
		[TERMINAL_KEY_BACKTAB] = "backtab",
		[TERMINAL_KEY_BACKSPACE] = "backspace",
		[TERMINAL_KEY_INSERT] = "insert",
		[TERMINAL_KEY_DELETE] = "delete",
		[TERMINAL_KEY_RESIZE] = "resize",
	};

	strbuf_reset(out);
	if (key->kind == TERMINAL_KEY_CHAR && key->c < 0x20)
		strbuf_addf(out, "control %c", '@' + (int)key->c);
	else if (key->kind == TERMINAL_KEY_CHAR)
		utf8_add(out, key->c);
	else if (key->kind == TERMINAL_KEY_FUNCTION)
		strbuf_addf(out, "F%u", key->c);
	else if (key->kind == TERMINAL_KEY_MOUSE)
		strbuf_addf(out, "mouse row %u column %u button %u wheel %d", key->row, key->column,
			    key->button, key->wheel);
	else if ((size_t)key->kind < ARRAY_SIZE(names))
		strbuf_addstr(out, names[key->kind]);
}

/* Exit code. */
static int run(struct trial *t)
{
	for (;;) {
		struct pollfd p = {.fd = terminal_fd(t->terminal), .events = POLLIN};
		struct terminal_key key;

		if (terminal_pending(t->terminal))
			p.events |= POLLOUT;
		poll(&p, 1, 1000); /* a signal between here and there is seen a second later */
		if (stop_asked) {
			stop_asked = 0;
			terminal_suspend(t->terminal);
		}
		terminal_flush(t->terminal);
		while (terminal_key(t->terminal, &key)) {
			if (key.kind == TERMINAL_KEY_GONE)
				return 3;
			if (key.kind == TERMINAL_KEY_CHAR && key.c == 'q')
				return 0;
			if (key.kind == TERMINAL_KEY_CHAR && key.c == 12)
				terminal_redraw(t->terminal);
			t->nr_keys += key.kind != TERMINAL_KEY_RESIZE;
			if (key.kind != TERMINAL_KEY_RESIZE)
				describe(&t->about, &key);
		}
		show(t);
	}
}

int main(int argc, char **argv)
{
	struct terminal_options o = {
		.fd = STDIN_FILENO, .color = !getenv("NO_COLOR"), .mouse = true};
	struct trial t = {.path = argc > 1 ? argv[1] : NULL, .about = STRBUF_INIT};
	struct sigaction sa = {.sa_handler = on_signal};
	struct error err = {0};
	int rc;

	sigaction(SIGTSTP, &sa, NULL);
	sigaction(SIGWINCH, &sa, NULL);
	signal(SIGHUP, SIG_IGN);
	if (terminal_open(&t.terminal, &o, &err) != 0) {
		fprintf(stderr, "terminal: %s\n", err.msg);
		return 1;
	}
	screen_open(&t.screen, 1, 1);
	show(&t);
	rc = run(&t);
	screen_close(t.screen);
	terminal_close(t.terminal);
	strbuf_free(&t.about);
	return rc;
}
