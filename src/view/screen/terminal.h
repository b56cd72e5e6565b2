/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interactive terminal: shows a screen, and reads keys.  It is the only user of curses, which
 * knows the types of terminals and sends only what has changed.
 *
 * Nothing here blocks for long: output that a slow or stopped terminal does not take is buffered,
 * one frame at most, and later frames are skipped meanwhile.  The end of the terminal is reported
 * as a key (TERMINAL_KEY_GONE).
 *
 * Only one terminal may be open at a time: curses, the locale and the state to restore belong to
 * the process.  terminal_open() registers an exit(3) handler that restores the terminal; a signal
 * handler that ends the program must call terminal_restore().
 */
#ifndef EBEAM_VIEW_TERMINAL_H
#define EBEAM_VIEW_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "view/screen/screen.h"

struct terminal;

struct terminal_options {
	int fd;		  /* of the terminal, open for reading and writing; borrowed */
	const char *type; /* NULL = $TERM */
	bool color;	  /* use colours; false (NO_COLOR): only bold and reverse */
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
	TERMINAL_KEY_MOUSE,    /* at row, column a button was pressed or the wheel turned */
	TERMINAL_KEY_RESIZE,   /* terminal_size() has changed: draw again */
	TERMINAL_KEY_GONE,     /* hung up; each second call returns false, to end loops over keys */
};

struct terminal_key {
	enum terminal_key_kind kind;
	uint32_t c;
	unsigned row, column;
	unsigned button; /* 1 to 3; 0 = the wheel */
	int wheel;	 /* -1 = up, 1 = down */
};

/*
 * Sets up the terminal.  Fails with ERROR_KIND_FAILED, and the terminal unchanged, if `fd` is no
 * terminal, if its type is unknown, or if it cannot move the cursor ("dumb").
 */
int terminal_open(struct terminal **out, const struct terminal_options *o, struct error *err);
void terminal_close(struct terminal *t); /* restores the terminal; NULL ok */

/* A descriptor that is readable when terminal_key() may return a key.  After SIGWINCH
 * terminal_key() is to be called, too. */
int terminal_fd(const struct terminal *t);
void terminal_size(const struct terminal *t, unsigned *rows, unsigned *columns);
bool terminal_utf8(const struct terminal *t);  /* for screen_set_utf8() */
bool terminal_color(const struct terminal *t); /* for screen_set_color() */

/* False: the screen was not shown, as an earlier frame is not sent yet, or the terminal is
 * suspended or gone. */
bool terminal_show(struct terminal *t, const struct screen *s);
/* The next terminal_show() sends the whole screen: for Ctrl-L. */
void terminal_redraw(struct terminal *t);
/* True while a part of a frame is not sent yet.  terminal_show() sends it first; or wait for
 * terminal_fd() to be writable, and call terminal_flush(). */
bool terminal_pending(const struct terminal *t);
void terminal_flush(struct terminal *t);

/* The next key, if there is one: does not wait. */
bool terminal_key(struct terminal *t, struct terminal_key *out);

/* For SIGTSTP: restores the terminal, stops the process, and sets the terminal up again when the
 * process continues.  terminal_resume() only does the last, for SIGCONT after SIGSTOP.  A screen
 * must be shown after both. */
void terminal_suspend(struct terminal *t);
void terminal_resume(struct terminal *t);

/* Restores the terminal, if one is open.  Async-signal-safe; also called at exit(3). */
void terminal_restore(void);

#endif
