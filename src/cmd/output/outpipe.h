/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard output of a stream of events or of answers, which may be a pipe to something slow: what
 * cannot be written at once waits here, so that signals, deadlines and the budget of the probes go
 * on, and what does not fit is lost in the rings, where it is counted.
 */
#ifndef EBEAM_CMD_OUTPIPE_H
#define EBEAM_CMD_OUTPIPE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct outpipe;

/* Over a FILE that the caller keeps, and does not use meanwhile.  0 or -ENOMEM. */
int outpipe_open(struct outpipe **out, FILE *target, struct error *err);
/* What still waits is dropped; NULL ok. */
void outpipe_close(struct outpipe *o);
/* To write to: never blocks.  Errors of the target show in it. */
FILE *outpipe_file(struct outpipe *o);
/* Writes what can be written at once.  True: so much waits that no more should be made. */
bool outpipe_full(struct outpipe *o);
/* The same, true if anything waits. */
bool outpipe_waits(struct outpipe *o);
/* Negative errno of a write to the target that failed, else 0. */
int outpipe_error(struct outpipe *o);
/* Writes all that waits, however long it takes.  0 or negative errno. */
int outpipe_finish(struct outpipe *o);

#endif
