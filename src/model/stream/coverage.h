/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When which kinds of events were watched: throttling may have disabled probes between sampling
 * windows, or for good.  From REC_COVERAGE records; a kind without any was watched all the time.
 */
#ifndef EBEAM_MODEL_COVERAGE_H
#define EBEAM_MODEL_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"

/* Beside the kinds of events: calls of C functions, which a budget samples as it does these. */
#define COVERAGE_CALLS NR_EVENT_KINDS

/* How evenly events came while a kind was watched: sums over its slices, long ones in pieces. */
struct coverage_spread {
	uint64_t seen, steps, since_ns; /* of the piece that is open: events, watched steps then */
	unsigned int nr;		/* pieces that are closed */
	double n, w, nn, nw, ww;	/* sums of events and steps of each, and of products */
	uint64_t missed;		/* steps up to its last slice; and between its slices: */
	double gap, gaps;		/* sums of steps, of their squares */
};

struct coverage {
	struct {
		struct coverage_spread spread;
		enum coverage_state state;
		bool known;	      /* a record was seen */
		uint32_t share_ppm;   /* of the last one */
		uint64_t last_off_ns; /* 0 = never */
		uint64_t watched_ns;  /* up to since_ns, from the time when there was no record */
		uint64_t since_ns;
		/* Steps of the node's work that went by unwatched: up to work_then. */
		uint64_t missed, work_then;
		uint64_t mark_missed, mark_watched_ns;
	} kinds[NR_EVENT_KINDS + 1];
	uint64_t work, reported_ns; /* what the node did so far, in steps; when that was reported */
	bool marked;
	uint64_t mark_work, mark_ns;
};

void coverage_init(struct coverage *c);
void coverage_take(struct coverage *c, enum event_kind kind, enum coverage_state state,
		   uint32_t share_ppm, uint64_t ts_ns);
/* What the node did so far, and how much of that while a kind was not watched, both up to a record;
 * before coverage_take() of the same record.  0 = not known. */
void coverage_take_work(struct coverage *c, uint64_t work, uint64_t ts_ns);
void coverage_take_missed(struct coverage *c, enum event_kind kind, uint64_t missed);
/* From here on shares are those of what happens since: for answers about a span. */
void coverage_mark(struct coverage *c);
/* Estimated part of the events of a kind that was seen, since the mark if there is one and if it
 * was watched since: 0 < share <= 1. */
double coverage_share(const struct coverage *c, enum event_kind kind);
/* The same since the start, whatever was marked. */
double coverage_share_total(const struct coverage *c, enum event_kind kind);
/* Was the kind on at any time since the mark? */
bool coverage_watched(const struct coverage *c, enum event_kind kind);
/* The least share of several kinds (bit set). */
double coverage_share_of(const struct coverage *c, uint64_t kinds);
/* An event of the kind was taken, by whoever wants to know coverage_error(). */
void coverage_seen(struct coverage *c, enum event_kind kind);
/*
 * How far off a count of the events of a kind may be that was scaled by coverage_share(): 95 of 100
 * times the truth lies between count / factor and count * factor.  From how much the slices in
 * which it was watched differ, as work against events, and the gaps between them.  1 = exact; 0 =
 * nobody can say, as there was but one slice, or nothing was seen.
 */
double coverage_error(const struct coverage *c, enum event_kind kind);
/* The more of them came the shorter was it watched, as bursts spend a budget: such a count is too
 * low, by more than the error says. */
bool coverage_is_cut(const struct coverage *c, enum event_kind kind);
/* Was any taken, since the mark if there is one? */
bool coverage_any_seen(const struct coverage *c, enum event_kind kind);
/* Events of the kind may be missing between since_ns and now: what began then is forgotten. */
bool coverage_gap(const struct coverage *c, enum event_kind kind, uint64_t since_ns);
/*
 * A clock that stands still while the kind is not watched, for how long something lasted: the
 * difference of two readings.  ts_ns is not before the last record.  *resumed (NULL ok): what it
 * showed when watching began again, or had begun; 0 = it never stopped.
 */
uint64_t coverage_clock(const struct coverage *c, enum event_kind kind, uint64_t ts_ns,
			uint64_t *resumed);
/* Off for good: as it is too expensive, or as its probes cannot be put on any more. */
bool coverage_dropped(const struct coverage *c, enum event_kind kind);
bool coverage_failed(const struct coverage *c, enum event_kind kind);

#endif
