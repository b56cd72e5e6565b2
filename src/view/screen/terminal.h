/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of a person: shows a screen, and says which keys were typed.  The one user of
 * curses, which knows terminals and sends only what changed.
 *
 * Nothing here blocks for long: what a slow or stopped terminal does not take stays in a buffer of
 * one frame, and frames that come meanwhile are left out.  A terminal that is gone is a key.
 *
 * One terminal may be open at a time: curses, the locale of characters and the state that must be
 * put back, however the program ends, belong to the process.  terminal_open() arranges for
 * exit(3); a handler of signals that ends the program calls terminal_restore().
 */
#ifndef EBEAM_VIEW_TERMINAL_H
#define EBEAM_VIEW_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "view/screen/screen.h"

struct terminal;

struct terminal_options {
	int fd;		  /* of the terminal, open for reading and writing; stays the caller's */
	const char *type; /* NULL = $TERM */
	bool color;	  /* if it has any; false (NO_COLOR): bold and reverse alone */
	bool mouse;
};

enum terminal_key_kind {
	TERMINAL_KEY_CHAR, /* c: a character as typed; with Ctrl, letters are 1 to 26 */
	TERMINAL_KEY_UP,
	TERMINAL_KEY_DOWN,
	TERMINAL_KEY_LEFT,
	TERMINAL_KEY_RIGHT,
	TERMINAL_KEY_HOME,
	TERMINAL_KEY_END,
	TERMINAL_KEY_PAGE_UP,
	TERMINAL_KEY_PAGE_DOWN,
	TERMINAL_KEY_ENTER,
	TERMINAL_KEY_ESCAPE,
	TERMINAL_KEY_TAB,
	TERMINAL_KEY_BACKTAB,
	TERMINAL_KEY_BACKSPACE,
	TERMINAL_KEY_INSERT,
	TERMINAL_KEY_DELETE,
	TERMINAL_KEY_FUNCTION, /* c: 1 for F1 to 12 */
	TERMINAL_KEY_MOUSE,    /* pressed at row, column: button, or wheel */
	TERMINAL_KEY_RESIZE,   /* terminal_size() is another; draw anew */
	TERMINAL_KEY_GONE,     /* nothing more comes, and nothing can be shown: every second time */
};

struct terminal_key {
	enum terminal_key_kind kind;
	uint32_t c;
	unsigned row, column;
	unsigned button; /* 1 to 3; 0 = the wheel */
	int wheel;	 /* -1 = up, 1 = down */
};

/*
 * Takes the terminal over.  Fails with ERROR_KIND_FAILED, and the terminal as it was, if `fd` is
 * none, if its type is unknown, or if it cannot place the cursor ("dumb").
 */
int terminal_open(struct terminal **out, const struct terminal_options *o, struct error *err);
void terminal_close(struct terminal *t); /* NULL ok; the terminal is as it was */

/* Readable when terminal_key() has something to say; call that after SIGWINCH, too. */
int terminal_fd(const struct terminal *t);
void terminal_size(const struct terminal *t, unsigned *rows, unsigned *columns);
bool terminal_utf8(const struct terminal *t);  /* for screen_set_utf8() */
bool terminal_color(const struct terminal *t); /* for screen_set_color() */

/* False: not shown, as an earlier frame is still on its way (or it is suspended, or gone). */
bool terminal_show(struct terminal *t, const struct screen *s);
/* All of it anew with the next terminal_show(): after Ctrl-L. */
void terminal_redraw(struct terminal *t);
/* True while a part of a frame is on its way: wait for terminal_fd() to be writable, then call
 * terminal_flush(); or do nothing, terminal_show() sends it first. */
bool terminal_pending(const struct terminal *t);
void terminal_flush(struct terminal *t);

/* The next key, if there is one: does not wait. */
bool terminal_key(struct terminal *t, struct terminal_key *out);

/* For SIGTSTP: gives the terminal back and stops the process; returns when it goes on, with the
 * terminal taken again.  terminal_resume() does the latter alone, for SIGCONT after a SIGSTOP that
 * nobody saw coming; show a screen after both. */
void terminal_suspend(struct terminal *t);
void terminal_resume(struct terminal *t);

/* Puts the terminal back as it was, from a signal handler or at exit; nothing if none is open. */
void terminal_restore(void);

#endif
