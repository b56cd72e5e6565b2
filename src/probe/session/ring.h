/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of all CPUs as one source of raw records in order of time.
 *
 * A record is complete in its ring a moment after its time was taken, so a drain that began at T
 * has seen everything older than T minus a small window; younger records wait for the next drain.
 * A record that is later still gets a later time and is counted (COUNTER_LATE).
 */
#ifndef EBEAM_PROBE_RING_H
#define EBEAM_PROBE_RING_H

#include <stdbool.h>

#include "event/source.h"

struct ring_set;

int ring_set_open(struct ring_set **out, const int *fds, unsigned int nr, struct error *err);
void ring_set_close(struct ring_set *r);
struct source *ring_set_source(struct ring_set *r);
/* Merges records that user space makes with those of the rings: before each drain `next` is called
 * until it returns false, each time for one record up to until_ns. */
void ring_set_feed(struct ring_set *r,
		   bool (*next)(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out),
		   void *ctx);
/* How long a record waits for older ones; default 10 ms. */
void ring_set_window(struct ring_set *r, uint64_t window_ns);
/* Records newer than until_ns are held back until this is called again, or ring_set_finish(). */
void ring_set_hold(struct ring_set *r, uint64_t until_ns);
/* Time up to which records are out, if the source was drained of all; 0 = none are. */
uint64_t ring_set_released(const struct ring_set *r);
/* `peek` is called with each record as it is found in its ring: unordered and without delay. */
void ring_set_peek(struct ring_set *r, void (*peek)(void *ctx, const struct rec_header *rec),
		   void *ctx);
/* No new records arrive from now on: releases all. */
void ring_set_finish(struct ring_set *r);
uint64_t ring_set_late(const struct ring_set *r);

#endif
