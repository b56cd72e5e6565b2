/* SPDX-License-Identifier: BSD-2-Clause */
/* Between terminal.c and terminal_keys.c; for nobody else. */
#ifndef EBEAM_VIEW_TERMINAL_KEYS_H
#define EBEAM_VIEW_TERMINAL_KEYS_H

#include <curses.h>

#include "view/screen/terminal.h"

/* The next key that curses has, of a window that does not wait; false: none. */
bool terminal_read_key(WINDOW *input, struct terminal_key *out);

#endif
