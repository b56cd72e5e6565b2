/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges records from several rings, each roughly in order, into one stream in order of time.
 * Holds copies of the records until their time has come; does not use the kernel.
 *
 *   reorder_add() all that a drain finds  ->  reorder_release() what is old enough  ->
 *   reorder_next() until NULL  ->  the next drain
 *
 * A record that is older than one that was returned already gets the time of that one and REC_LATE,
 * and is counted.  Only the beginning of a collection, which is reported at its end, keeps its
 * time: it then comes after events that are newer.
 */
#ifndef EBEAM_PROBE_REORDER_H
#define EBEAM_PROBE_REORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/record.h"

/* Bytes held by default.  A drain stops when they are full, until records were returned. */
#define REORDER_MAX_SIZE ((size_t)64 << 20)

struct reorder;

void reorder_open(struct reorder **out);
void reorder_close(struct reorder *r); /* NULL ok */
/* `rings`: bytes of all rings.  Sets the size so that a drain has room for all that they hold
 * beside what still waits: if it stopped before it had seen all rings, records of the others would
 * be late. */
void reorder_expect(struct reorder *r, size_t rings);

/* Copies one record of at most `size` bytes; ignores what is not a record.  False if nothing more
 * should be added before some were returned. */
bool reorder_add(struct reorder *r, const void *data, size_t size);

/* reorder_next() may return records up to this time. */
void reorder_release(struct reorder *r, uint64_t limit_ns);

/* The next released record, valid until the next call of any function; NULL if there is none. */
const struct rec_header *reorder_next(struct reorder *r);

uint64_t reorder_late(const struct reorder *r); /* records that were given a later time */

#endif
