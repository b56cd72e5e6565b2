/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records from several rings, each roughly in order, as one stream in order of time.  Holds copies
 * of what was drained until its time has come; knows nothing of the kernel.
 *
 *   reorder_add() all that a drain finds  ->  reorder_release() what is old enough  ->
 *   reorder_next() until NULL  ->  the next drain
 *
 * A record that comes with a time before one that went out already is given that one's time and
 * REC_LATE, and counted.  But the beginning of a collection, which is reported at its end, keeps
 * its time: it then comes after events that are newer.
 */
#ifndef EBEAM_PROBE_REORDER_H
#define EBEAM_PROBE_REORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/record.h"

/* Bytes held, if nothing else is said; the drain stops when it is reached and goes on when some
 * went out. */
#define REORDER_MAX_SIZE ((size_t)64 << 20)

struct reorder;

void reorder_open(struct reorder **out);
void reorder_close(struct reorder *r); /* NULL ok */
/* Rings of so many bytes in all: a drain must find room for what they hold next to what waits from
 * the one before.  If it stops before it has seen them all, what is in the others comes late. */
void reorder_expect(struct reorder *r, size_t rings);

/* Copies one record of at most `size` bytes; what is no record is dropped.  False if no more
 * should be added before something went out. */
bool reorder_add(struct reorder *r, const void *data, size_t size);

/* Everything up to this time may go out. */
void reorder_release(struct reorder *r, uint64_t limit_ns);

/* The next record that may go out, valid until the following call of any function; else NULL. */
const struct rec_header *reorder_next(struct reorder *r);

uint64_t reorder_late(const struct reorder *r); /* records that were given a later time */

#endif
