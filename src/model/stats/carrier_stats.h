/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carriers by allocator: how many were made and given back, left to the pool and taken from there,
 * with their bytes.  From events of carriers; a model without time.
 */
#ifndef EBEAM_MODEL_CARRIER_STATS_H
#define EBEAM_MODEL_CARRIER_STATS_H

#include <stdint.h>

#include "abi/record.h"
#include "base/histogram.h"
#include "base/vec.h"

struct event;
struct event_stream;

/* Kinds that it takes. */
#define CARRIER_STATS_KINDS                                                                        \
	(1ull << EVENT_CARRIER_CREATE | 1ull << EVENT_CARRIER_DESTROY |                            \
	 1ull << EVENT_CARRIER_RESIZE | 1ull << EVENT_CARRIER_POOL_PUT |                           \
	 1ull << EVENT_CARRIER_POOL_GET)

/* Types of allocators: ten, and one that is not known; more than that are counted with the last. */
#define CARRIER_TYPES 16

struct carrier_count {
	uint64_t created, created_bytes, destroyed, destroyed_bytes;
};

struct carrier_row {
	uint32_t type; /* string id, "eheap_alloc"; 0 = not known, or more than CARRIER_TYPES */
	/* For many blocks; for single ones. */
	struct carrier_count mbcs, sbcs;
	uint64_t resized, grown_bytes, shrunk_bytes; /* single blocks that got another size */
	uint64_t pool_put, pool_put_bytes, pool_get, pool_get_bytes;
};

struct carrier_stats {
	struct event_stream *stream;
	VEC(struct carrier_row) rows; /* in order of their first event */
	struct histogram sizes;	      /* of those that were created, bytes */
};

void carrier_stats_open(struct carrier_stats *s, struct event_stream *stream);
void carrier_stats_close(struct carrier_stats *s);
/* Forgets what was counted, for the next interval. */
void carrier_stats_restart(struct carrier_stats *s);

/* An event of CARRIER_STATS_KINDS; others are ignored. */
void carrier_stats_take(struct carrier_stats *s, enum event_kind kind, const struct event *ev);

/* Makes of what was seen what it stands for, kind by kind, if some was sampled. */
void carrier_row_scale(const struct carrier_stats *s, struct carrier_row *r);
/* Carriers made and given back, of both kinds. */
uint64_t carrier_row_churn(const struct carrier_row *r);
/* By how much the bytes have changed. */
int64_t carrier_row_delta(const struct carrier_row *r);

#endif
