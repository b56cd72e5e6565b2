/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * INT, TERM and HUP, and the unfinished files that must not outlive the program.
 *
 * Until signals_catch(), any of these signals removes the unfinished files and ends the program
 * with 128 + signal.  After it, the first one makes a descriptor readable, and the second one ends
 * the program in the same way, at once, whatever it is doing: so the second Ctrl-C also works while
 * an output is being written.  A signal within SIGNALS_SAME_NS after the first is ignored as a
 * repetition: timeout(1) signals its child and then the child's process group, and sudo(8) may pass
 * on what the terminal has already sent.
 *
 * This module has global state, as a signal handler has no argument.
 */
#ifndef EBEAM_CMD_SIGNALS_H
#define EBEAM_CMD_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

#define SIGNALS_SAME_NS 200000000u

/* To be called once, at the start of main(): ignores SIGPIPE (writes fail with EPIPE instead), and
 * removes unfinished files at exit. */
void signals_setup(void);

/* From now on the first signal only makes the descriptor (an eventfd) readable; it stays open
 * until the program ends.  Descriptor or negative errno; the same one on every call. */
int signals_catch(struct error *err);

/* Sets a function that the handler of a signal that ends the program calls: it must be
 * async-signal-safe, like terminal_restore().  NULL = none. */
typedef void signals_fn(void);
void signals_before_end(signals_fn *fn);

/*
 * Registers a file that a signal that ends the program removes, and exit(3) unless `keep_at_exit`.
 * `path` must stay valid until signals_release_file().  Returns a slot number, or -EMFILE.
 */
int signals_remove_file(const char *path, bool keep_at_exit);
void signals_release_file(int slot); /* a negative slot is ignored */

#endif
