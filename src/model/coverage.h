/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When which kinds of events were watched: a budget may have switched probes off for slices of the
 * time, or for good.  From REC_COVERAGE records; a kind without any was watched all the time.
 */
#ifndef EBEAM_MODEL_COVERAGE_H
#define EBEAM_MODEL_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"

struct coverage {
	struct {
		enum coverage_state state;
		bool told;	      /* a record was seen */
		uint32_t share_ppm;   /* of the last one */
		uint64_t last_off_ns; /* 0 = never */
		uint64_t watched_ns;  /* up to since_ns, from the time when there was no record */
		uint64_t since_ns;
	} kinds[NR_EVENT_KINDS];
};

void coverage_init(struct coverage *c);
void coverage_take(struct coverage *c, enum event_kind kind, enum coverage_state state,
		   uint32_t share_ppm, uint64_t ts_ns);
/* Estimated part of the events of a kind that was seen: 0 < share <= 1. */
double coverage_share(const struct coverage *c, enum event_kind kind);
/* The least share of several kinds (bit set). */
double coverage_share_of(const struct coverage *c, uint64_t kinds);
/* Events of the kind may be missing between since_ns and now: what began then is forgotten. */
bool coverage_gap(const struct coverage *c, enum event_kind kind, uint64_t since_ns);
/*
 * A clock that stands still while the kind is not watched, for how long something lasted: the
 * difference of two readings.  ts_ns is not before the last record.  *resumed (NULL ok): what it
 * showed when watching began again, or had begun; 0 = it never stopped.
 */
uint64_t coverage_clock(const struct coverage *c, enum event_kind kind, uint64_t ts_ns,
			uint64_t *resumed);
bool coverage_dropped(const struct coverage *c, enum event_kind kind);

#endif
