/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often events of the VM happen: a row for each kind, with values of the last interval and
 * since watching began.  Values of kinds that throttling sampled are estimates of all events,
 * except `seen` and `lost`.
 *
 * Order of calls: init, add; in each interval: take or count, lost; at its end: step, then the rows
 * are read.
 */
#ifndef EBEAM_MODEL_EVENT_RATES_H
#define EBEAM_MODEL_EVENT_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/config.h"
#include "abi/record.h"
#include "model/stream/coverage.h"

struct event;

enum event_rate_state {
	EVENT_RATE_ON,
	EVENT_RATE_SAMPLED, /* watched for a part of the time */
	EVENT_RATE_DROPPED, /* disabled for good: see `why` */
	EVENT_RATE_MISSING, /* not available: see `why` */
	EVENT_RATE_WAITING, /* its probes are not attached yet */
	NR_EVENT_RATE_STATES
};
const char *event_rate_state_name(enum event_rate_state state); /* "on", "sampled", ... */

struct event_rate {
	enum event_kind kind;
	const char *name; /* name of the kind: "gc_minor_end" */
	const char *group;
	enum event_rate_state state;
	/* Per second, in the last interval in which the kind was watched; NAN = not watched yet, or
	 * dropped. */
	double rate;
	double bytes; /* bytes copied, reclaimed, ... per second; NAN = the kind has no size */
	double time;  /* duration of its events, in cores: 0.01 is 10 ms a second; NAN */
	uint64_t longest_ns; /* longest event since watching began; 0 = none, or no durations */
	double total;	     /* estimate since watching began; NAN */
	uint64_t seen;	     /* events seen since watching began */
	uint64_t lost;	     /* not in `seen`: lost as rings were full; EVENT_UNKNOWN */
	double share;	     /* 0..1: part of the interval that was watched; NAN */
	double cost;   /* percent of the node's own CPU; NAN = not known.  Set by the caller */
	char why[128]; /* why it is missing or dropped; "" */
};

struct event_rates {
	uint64_t kinds; /* bit set: kinds that have a row */
	struct event_rate rows[NR_EVENT_KINDS];
	unsigned int nr; /* rows */
	/* By kind: since the end of the last interval in which it was watched. */
	struct {
		uint64_t count, bytes, ns, lost;
	} now[NR_EVENT_KINDS];
	struct event_count counted[NR_EVENT_KINDS]; /* totals at the last event_rates_count() */
	bool no_sums;				    /* without sums of bytes and times */
	bool lost_known;			    /* event_rates_lost() was called */
	double unwatched_s[NR_EVENT_KINDS];	    /* since the last interval with a rate */
	uint64_t longest_ns[NR_EVENT_KINDS], seen[NR_EVENT_KINDS], lost[NR_EVENT_KINDS];
};

/* `kinds` (bit set) get a row, in state EVENT_RATE_WAITING. */
void event_rates_init(struct event_rates *r, uint64_t kinds);
/* More kinds get a row; existing rows stay. */
void event_rates_add(struct event_rates *r, uint64_t kinds);
/* The row of a kind; NULL = it has none. */
struct event_rate *event_rates_row(struct event_rates *r, enum event_kind kind);
void event_rates_miss(struct event_rates *r, enum event_kind kind, const char *why);

void event_rates_take(struct event_rates *r, enum event_kind kind, const struct event *ev);
/* Instead of event_rates_take(), if events are counted elsewhere: `all` since watching began. */
void event_rates_count(struct event_rates *r, enum event_kind kind, const struct event_count *all);
/* Sets the number of events that were lost since watching began. */
void event_rates_lost(struct event_rates *r, enum event_kind kind, uint64_t lost);
/* Ends an interval of so many seconds (> 0), and marks the coverage (coverage_mark()), which was
 * also marked at its beginning.  Missing kinds stay missing; all others count as watched. */
void event_rates_step(struct event_rates *r, struct coverage *c, double seconds);
/* Makes the rates unknown, as the interval was too long to be recent; totals stay. */
void event_rates_forget(struct event_rates *r);

/* Messages sent per second; if that is not known, queued per second; NAN. */
double event_rates_messages(struct event_rates *r);

#endif
