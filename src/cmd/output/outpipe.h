/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A buffer in front of standard output, which may be a pipe to a slow reader: data that cannot be
 * written at once is kept here, so that signals, deadlines and the overhead controller are not
 * blocked.  When it is full, no more records are taken from the rings, which count what they lose.
 */
#ifndef EBEAM_CMD_OUTPIPE_H
#define EBEAM_CMD_OUTPIPE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct outpipe;

/* Borrows `target`, which the caller must not use meanwhile.  0 or -ENOMEM. */
int outpipe_open(struct outpipe **out, FILE *target, struct error *err);
/* Drops data that is not written yet; NULL ok. */
void outpipe_close(struct outpipe *o);
/* The FILE to write to; it never blocks.  It reports errors of the target. */
FILE *outpipe_file(struct outpipe *o);
/* Writes what can be written at once.  True: so much is left that the caller should add no more. */
bool outpipe_full(struct outpipe *o);
/* As outpipe_full(), but true if any byte is left. */
bool outpipe_waits(struct outpipe *o);
/* Negative errno of a write to the target that failed, else 0. */
int outpipe_error(struct outpipe *o);
/* Writes all that is left, however long it takes.  0 or negative errno. */
int outpipe_finish(struct outpipe *o);

#endif
