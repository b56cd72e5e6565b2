/* SPDX-License-Identifier: BSD-2-Clause */
/* Carriers by allocator: how many were created and destroyed, left to the pool and fetched from it,
 * with their bytes.  From the events of carriers, whose times do not matter. */
#ifndef EBEAM_MODEL_CARRIER_STATS_H
#define EBEAM_MODEL_CARRIER_STATS_H

#include <stdint.h>

#include "abi/record.h"
#include "base/histogram.h"
#include "base/vec.h"

struct event;
struct event_stream;

/* Kinds of events that carrier_stats_take() counts. */
#define CARRIER_STATS_KINDS                                                                        \
	(1ull << EVENT_CARRIER_CREATE | 1ull << EVENT_CARRIER_DESTROY |                            \
	 1ull << EVENT_CARRIER_RESIZE | 1ull << EVENT_CARRIER_POOL_PUT |                           \
	 1ull << EVENT_CARRIER_POOL_GET)

/* Ten types of allocators, and one row for unknown and further types. */
#define CARRIER_TYPES 16

struct carrier_count {
	uint64_t created, created_bytes, destroyed, destroyed_bytes;
};

struct carrier_row {
	uint32_t type; /* string id, "eheap_alloc"; 0 = not known, or more than CARRIER_TYPES */
	/* Carriers for many blocks; for single blocks. */
	struct carrier_count mbcs, sbcs;
	uint64_t resized, grown_bytes, shrunk_bytes; /* single-block carriers */
	uint64_t pool_put, pool_put_bytes, pool_get, pool_get_bytes;
};

struct carrier_stats {
	struct event_stream *stream;
	VEC(struct carrier_row) rows; /* in order of their first event */
	struct histogram sizes;	      /* of created carriers, bytes */
};

void carrier_stats_open(struct carrier_stats *s, struct event_stream *stream);
void carrier_stats_close(struct carrier_stats *s);
/* Resets all counts, for the next interval. */
void carrier_stats_restart(struct carrier_stats *s);

/* An event of CARRIER_STATS_KINDS; others are ignored. */
void carrier_stats_take(struct carrier_stats *s, enum event_kind kind, const struct event *ev);

/* Scales the counts of a row to estimates of all events, kind by kind, if some were sampled. */
void carrier_row_scale(const struct carrier_stats *s, struct carrier_row *r);
/* Created and destroyed carriers, of both sorts. */
uint64_t carrier_row_churn(const struct carrier_row *r);
/* Bytes by which the carriers of the row grew (negative: shrank). */
int64_t carrier_row_delta(const struct carrier_row *r);

#endif
