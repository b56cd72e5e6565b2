/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a terminal: its output buffer, its modes, and how they are restored when the
 * program ends in any way.  It never blocks for long.  terminal.c decides what is shown.
 */
#ifndef EBEAM_VIEW_TTY_H
#define EBEAM_VIEW_TTY_H

#include <stdbool.h>
#include <termios.h>

#include "base/error.h"
#include "base/strbuf.h"

struct tty {
	int fd; /* opened here, non-blocking; the caller's descriptor stays blocking */
	bool gone;
	struct termios before, during;
	struct strbuf out; /* the bytes from `sent` on are still to be sent */
	size_t sent;
};

/* The caller keeps owning fd.  Reads the modes to tty->before; does not change them. */
int tty_open(struct tty *tty, int fd, struct error *err);
void tty_close(struct tty *tty); /* tty->fd -1 is allowed */

/* Sends as much as the terminal takes within wait_ms; sets `gone` if it has been hung up. */
void tty_send(struct tty *tty, int wait_ms);
bool tty_pending(const struct tty *tty);
/* Has the terminal been hung up? */
bool tty_is_gone(struct tty *tty);

/*
 * Sets what the next tty_restore() does: it sends `leave` (NUL-terminated) and sets the modes
 * tty->before.  exit(3) calls tty_restore(), which then does nothing if it or tty_forget() was
 * called before.
 */
void tty_remember(const struct tty *tty, const char *leave);
bool tty_remembered(void);
void tty_forget(void);
void tty_restore(void); /* async-signal-safe */

#endif
