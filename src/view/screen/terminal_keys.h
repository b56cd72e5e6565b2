/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to terminal.c and terminal_keys.c. */
#ifndef EBEAM_VIEW_TERMINAL_KEYS_H
#define EBEAM_VIEW_TERMINAL_KEYS_H

#include <curses.h>

#include "view/screen/terminal.h"

/* Reads the next key from curses; `input` is a window that does not wait.  False: none. */
bool terminal_read_key(WINDOW *input, struct terminal_key *out);

#endif
