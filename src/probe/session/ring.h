/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of all CPUs as one source of raw records in order of time.
 *
 * A record is complete in its ring a moment after its time was taken, so a drain that began at T
 * has seen everything older than T minus a small window; younger records wait for the next drain.
 * What comes later than that all the same is clamped and counted (COUNTER_LATE).
 */
#ifndef EBEAM_PROBE_RING_H
#define EBEAM_PROBE_RING_H

#include <stdbool.h>

#include "event/source.h"

struct ring_set;

int ring_set_open(struct ring_set **out, const int *fds, unsigned int nr, struct error *err);
void ring_set_close(struct ring_set *r);
struct source *ring_set_source(struct ring_set *r);
/* Records of user space, which take their places among the others: asked before each drain for
 * those up to a time; false = no more. */
void ring_set_feed(struct ring_set *r,
		   bool (*next)(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out),
		   void *ctx);
/* How long a record waits for older ones; 10 ms if not said. */
void ring_set_window(struct ring_set *r, uint64_t window_ns);
/* Nothing newer than that comes out until that is set again, or finished. */
void ring_set_hold(struct ring_set *r, uint64_t until_ns);
/* Called with each record as it is found in its ring: in no order, and not held. */
void ring_set_peek(struct ring_set *r, void (*peek)(void *ctx, const struct rec_header *rec),
		   void *ctx);
/* From now on nothing new arrives: release everything. */
void ring_set_finish(struct ring_set *r);
uint64_t ring_set_late(const struct ring_set *r);

#endif
