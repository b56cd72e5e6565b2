/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often events of the VM happen: a row for each kind, of the interval that ended last and since
 * watching began.  Of kinds that a budget watched for a part of the time only, what was seen is
 * scaled by that part; `seen` and `lost` are not.
 *
 * Order:  open  ->  kinds  ->  take or count ..., lost ...  ->  step  ->  row  ->  take ...
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
	EVENT_RATE_SAMPLED, /* for a part of the time */
	EVENT_RATE_DROPPED, /* no more, for good: `why` */
	EVENT_RATE_MISSING, /* `why` */
	EVENT_RATE_WAITING, /* its probes are not there yet */
	NR_EVENT_RATE_STATES
};
const char *event_rate_state_name(enum event_rate_state state); /* "on", "sampled", ... */

struct event_rate {
	enum event_kind kind;
	const char *name; /* of the kind: "gc_minor_end" */
	const char *group;
	enum event_rate_state state;
	/* By second, of the last interval in which the kind was watched; NAN = none, or no more. */
	double rate;
	double bytes;	     /* that its events are about: copied, reclaimed, ...; NAN = no such */
	double time;	     /* that they took, of one core: 0.01 is 10 ms a second; NAN */
	uint64_t longest_ns; /* of one of them, since watching began; 0 = none, or no such */
	double total;	     /* since watching began, as far as there is a rate; NAN */
	uint64_t seen;	     /* the same, as counted */
	uint64_t lost;	     /* beside those, as rings were full; EVENT_UNKNOWN = not known */
	double share;	     /* 0..1, that was watched of that interval; NAN */
	double cost;	     /* percent of the node's own CPU; NAN = not known.  The caller's */
	char why[128];	     /* it is missing or dropped; "" */
};

struct event_rates {
	uint64_t kinds; /* bit set, those with a row */
	struct event_rate rows[NR_EVENT_KINDS];
	unsigned int nr; /* rows */
	/* Of the interval under way, by kind. */
	struct {
		uint64_t count, bytes, ns, lost;
	} now[NR_EVENT_KINDS];
	struct event_count counted[NR_EVENT_KINDS]; /* up to the last event_rates_count() */
	bool no_sums;			    /* nobody adds up: there are no bytes and times */
	bool lost_known;		    /* event_rates_lost() was called */
	double unwatched_s[NR_EVENT_KINDS]; /* since the last interval with a rate */
	uint64_t longest_ns[NR_EVENT_KINDS], seen[NR_EVENT_KINDS], lost[NR_EVENT_KINDS];
};

/* Nothing is known of these kinds (bit set): they wait. */
void event_rates_init(struct event_rates *r, uint64_t kinds);
/* More kinds have a row; those that have one keep it. */
void event_rates_add(struct event_rates *r, uint64_t kinds);
/* NULL: it has no row. */
struct event_rate *event_rates_row(struct event_rates *r, enum event_kind kind);
void event_rates_miss(struct event_rates *r, enum event_kind kind, const char *why);

void event_rates_take(struct event_rates *r, enum event_kind kind, const struct event *ev);
/* Instead, where events are counted elsewhere: so many since watching began, and what they
 * reported. */
void event_rates_count(struct event_rates *r, enum event_kind kind, const struct event_count *all);
/* So many were lost since watching began. */
void event_rates_lost(struct event_rates *r, enum event_kind kind, uint64_t lost);
/*
 * Ends an interval of so many seconds (> 0), and marks the coverage (coverage_mark()), which was
 * marked at its beginning.  Kinds that are missing stay so; all others are watched.
 */
void event_rates_step(struct event_rates *r, struct coverage *c, double seconds);
/* The rates of that interval say nothing, as it was too long; what is since the beginning stays. */
void event_rates_forget(struct event_rates *r);

/* Of the rows: messages that were sent; where that is not known, that were queued; NAN. */
double event_rates_messages(struct event_rates *r);

#endif
