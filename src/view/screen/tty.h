/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a terminal: bytes that wait to be sent, modes, and how it is put back however
 * the program ends.  Knows nothing of what is shown (terminal.c does) and never waits for long.
 */
#ifndef EBEAM_VIEW_TTY_H
#define EBEAM_VIEW_TTY_H

#include <stdbool.h>
#include <termios.h>

#include "base/error.h"
#include "base/strbuf.h"

struct tty {
	int fd; /* our own, which does not block; the caller's other descriptors still do */
	bool gone;
	struct termios before, during;
	struct strbuf out; /* from `sent` on it is still to be sent */
	size_t sent;
};

/* `fd` stays the caller's.  Modes are read, not changed. */
int tty_open(struct tty *tty, int fd, struct error *err);
void tty_close(struct tty *tty); /* fd -1: nothing */

/* Sends what the terminal takes within wait_ms; gone = true if there is none any more. */
void tty_send(struct tty *tty, int wait_ms);
bool tty_pending(const struct tty *tty);
/* Has it been hung up? */
bool tty_is_gone(struct tty *tty);

/*
 * What tty_restore() does from now on: it sends `leave` (NUL-terminated) and sets the modes
 * `before`, once.  At exit(3) it is called, and tty_forget() ends it.
 */
void tty_remember(const struct tty *tty, const char *leave);
bool tty_remembered(void);
void tty_forget(void);
void tty_restore(void); /* async-signal-safe */

#endif
