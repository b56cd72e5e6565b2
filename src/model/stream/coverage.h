/* SPDX-License-Identifier: BSD-2-Clause */
/* When which kinds of events were watched: throttling may have disabled probes between sampling
 * windows, or for good.  From REC_COVERAGE records; a kind without one was watched all the time. */
#ifndef EBEAM_MODEL_COVERAGE_H
#define EBEAM_MODEL_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"

/* A further kind: calls of C functions, of which throttling samples a part, as of events. */
#define COVERAGE_CALLS NR_EVENT_KINDS

/* How evenly events came while a kind was watched: sums over its sampling windows, of which long
 * ones are divided into pieces. */
struct coverage_spread {
	uint64_t seen, steps, since_ns; /* open piece: events; steps and time at its begin */
	unsigned int nr;		/* closed pieces */
	double n, w, nn, nw, ww;	/* sums of events and steps of pieces, and of products */
	uint64_t missed;		/* missed steps up to its last window */
	double gap, gaps; /* sums of missed steps between windows, and of their squares */
};

struct coverage {
	struct {
		struct coverage_spread spread;
		enum coverage_state state;
		bool known;	      /* there was a REC_COVERAGE of the kind */
		uint32_t share_ppm;   /* of the last such record */
		uint64_t last_off_ns; /* 0 = never */
		uint64_t watched_ns;  /* reading of coverage_clock() at since_ns */
		uint64_t since_ns;
		/* Steps of work in which the kind was not watched, up to step work_then. */
		uint64_t missed, work_then;
		uint64_t mark_missed, mark_watched_ns;
	} kinds[NR_EVENT_KINDS + 1];
	uint64_t work, reported_ns; /* steps of the node so far; time of that record */
	bool marked;
	uint64_t mark_work, mark_ns;
};

void coverage_init(struct coverage *c);
void coverage_take(struct coverage *c, enum event_kind kind, enum coverage_state state,
		   uint32_t share_ppm, uint64_t ts_ns);
/* Steps of the node's work so far, and those in which a kind was not watched; to be called before
 * coverage_take() of the same record.  0 = not known. */
void coverage_take_work(struct coverage *c, uint64_t work, uint64_t ts_ns);
void coverage_take_missed(struct coverage *c, enum event_kind kind, uint64_t missed);
/* From here on shares refer to the time since this call: for answers about an interval. */
void coverage_mark(struct coverage *c);
/* Estimated share of a kind's events that was seen: 0 < share <= 1; since the mark, if there is one
 * and the kind was watched since then, else since the beginning. */
double coverage_share(const struct coverage *c, enum event_kind kind);
/* The same since the beginning, even if there is a mark. */
double coverage_share_total(const struct coverage *c, enum event_kind kind);
/* Whether the kind was on at any time since the mark. */
bool coverage_watched(const struct coverage *c, enum event_kind kind);
/* The smallest share of several kinds (bit set). */
double coverage_share_of(const struct coverage *c, uint64_t kinds);
/* Counts an event of the kind, as coverage_error() needs it. */
void coverage_seen(struct coverage *c, enum event_kind kind);
/*
 * The 95 % confidence interval of a count that was scaled by coverage_share() is count / factor to
 * count * factor.  Derived from how much the events per step of work differ between sampling
 * windows, and from the gaps between these.  1 = exact; 0 = not known, as there was one window
 * only, or no event.
 */
double coverage_error(const struct coverage *c, enum event_kind kind);
/* True if times with more events were watched for shorter, as bursts exhaust the token bucket: then
 * the estimate is too low by more than the error. */
bool coverage_is_cut(const struct coverage *c, enum event_kind kind);
/* Whether an event was counted, since the mark if there is one. */
bool coverage_any_seen(const struct coverage *c, enum event_kind kind);
/* True if events of the kind may be missing between since_ns and now, so that state of since_ns is
 * not valid. */
bool coverage_gap(const struct coverage *c, enum event_kind kind, uint64_t since_ns);
/* A clock that stops while the kind is not watched: durations are differences of readings.
 * ts_ns is not before the last record.  *resumed (NULL ok): its reading when watching last
 * began; 0 = it never stopped. */
uint64_t coverage_clock(const struct coverage *c, enum event_kind kind, uint64_t ts_ns,
			uint64_t *resumed);
/* Off for good: too expensive; or the probes could not be attached again. */
bool coverage_dropped(const struct coverage *c, enum event_kind kind);
bool coverage_failed(const struct coverage *c, enum event_kind kind);

#endif
