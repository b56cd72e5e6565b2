/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events -> a time line: marks with names, each given away as soon as it is known, in bounded
 * memory.  Who writes one (export/perfetto.h) needs to know nothing of events.
 *
 *   tracks     threads: schedulers, dirty schedulers, others
 *   slices     a process on its scheduler, a collection inside, tasks of a port
 *   flows      a message, from its sending to its receiving
 *   instants   every other event, with its fields; samples, with their stacks
 *   counters   mailboxes that grow
 */
#ifndef EBEAM_MODEL_TIMELINE_H
#define EBEAM_MODEL_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

enum timeline_type {
	TIMELINE_NODE,	/* its name; before all others */
	TIMELINE_TRACK, /* its name, and `number` by which tracks are sorted; before its first */
	/* Begins and ends come in order of time; an end is that of the slice that began last. */
	TIMELINE_BEGIN,
	TIMELINE_END,
	TIMELINE_SLICE, /* whole, when it has ended */
	TIMELINE_INSTANT,
	/* The ends of an arrow that has the id `number`, each at a slice that was written
	 * before. */
	TIMELINE_FLOW_BEGIN,
	TIMELINE_FLOW_END,
	TIMELINE_COUNTER, /* is `number` now */
};

struct timeline_fact {
	const char *name;
	const char *text; /* NULL = a number; ends after `len` bytes, not with a 0 */
	size_t len;
	uint64_t number;
};

struct timeline_mark {
	enum timeline_type type;
	int os_pid;
	uint32_t os_tid;      /* the track; 0 = of the node */
	uint64_t ts_ns;	      /* since the start of the recording */
	uint64_t duration_ns; /* TIMELINE_SLICE */
	uint64_t number;
	const char *name;     /* NULL = of a sample without stack */
	const char *category; /* NULL = none */
	const struct timeline_fact *facts;
	unsigned int nr_facts;
	uint32_t stack; /* of the dictionary; 0 = none */
};

/* All that the mark points to is gone when this returns. */
typedef void timeline_fn(void *arg, const struct timeline_mark *mark);

struct timeline_share {
	const char *event;
	double seen; /* part of what happened, < 1 */
};

struct timeline_summary {
	const char *node, *otp, *untested; /* "" = not known */
	uint64_t start_epoch_ns;
	uint64_t lost;				      /* events */
	uint64_t unmatched;			      /* messages without a flow */
	struct timeline_share shares[NR_EVENT_KINDS]; /* kinds not watched all the time */
	unsigned int nr_shares;
};

struct timeline;
struct event;
struct event_stream;

/* Borrows the stream, which has taken what is given here. */
struct timeline *timeline_open(const struct event_stream *s, timeline_fn *give, void *arg);
void timeline_close(struct timeline *t); /* NULL ok */
void timeline_event(struct timeline *t, enum event_kind kind, const struct event *ev);
/* Any other record: samples and what was watched are looked at. */
void timeline_other(struct timeline *t, const struct event *ev);
/* Ends what is open: the last marks.  The summary borrows from the stream. */
void timeline_finish(struct timeline *t, struct timeline_summary *summary);

#endif
