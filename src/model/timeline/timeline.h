/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events -> a timeline: named marks, each emitted as soon as it is known, in bounded memory.  A
 * writer (export/perfetto.h) needs no knowledge of events.
 *
 *   tracks     threads: schedulers, dirty schedulers, others
 *   slices     a process on its scheduler, a collection inside, tasks of a port
 *   flows      a message, from its send to its receive
 *   instants   every other event, with its fields; samples, with their stacks
 *   counters   mailboxes that grow
 */
#ifndef EBEAM_MODEL_TIMELINE_H
#define EBEAM_MODEL_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

enum timeline_type {
	TIMELINE_NODE,	/* name of the node; before all others */
	TIMELINE_TRACK, /* name of a track, and `number` as its sort key; before its first mark */
	/* Both in order of time; TIMELINE_END ends the slice of its track that began last. */
	TIMELINE_BEGIN,
	TIMELINE_END,
	TIMELINE_SLICE, /* a whole slice, when it has ended */
	TIMELINE_INSTANT,
	/* Both ends of an arrow with the id `number`, each within a slice that was emitted
	 * before. */
	TIMELINE_FLOW_BEGIN,
	TIMELINE_FLOW_END,
	TIMELINE_COUNTER, /* value is `number` */
};

struct timeline_fact {
	const char *name;
	const char *text; /* NULL = a number; `len` bytes, not terminated */
	size_t len;
	uint64_t number;
};

struct timeline_mark {
	enum timeline_type type;
	int os_pid;
	uint32_t os_tid;      /* the track; 0 = the node */
	uint64_t ts_ns;	      /* since the start of the recording */
	uint64_t duration_ns; /* TIMELINE_SLICE */
	uint64_t number;
	const char *name;     /* NULL = a sample without stack */
	const char *category; /* NULL = none */
	const struct timeline_fact *facts;
	unsigned int nr_facts;
	uint32_t stack; /* of the dictionary; 0 = none */
};

/* The mark and all that it points to are valid during the call only. */
typedef void timeline_fn(void *arg, const struct timeline_mark *mark);

struct timeline_share {
	const char *event;
	double seen; /* share of events that was seen, < 1 */
};

struct timeline_summary {
	const char *node, *otp, *untested; /* "" = not known */
	uint64_t start_epoch_ns;
	uint64_t lost;				      /* events */
	uint64_t unmatched;			      /* sends without a flow */
	struct timeline_share shares[NR_EVENT_KINDS]; /* kinds not watched all the time */
	unsigned int nr_shares;
};

struct timeline;
struct event;
struct event_stream;

/* Borrows the stream, which must have taken each record before it is passed on. */
struct timeline *timeline_open(const struct event_stream *s, timeline_fn *give, void *arg);
void timeline_close(struct timeline *t); /* NULL ok */
void timeline_event(struct timeline *t, enum event_kind kind, const struct event *ev);
/* For any other record: samples and coverage are used. */
void timeline_other(struct timeline *t, const struct event *ev);
/* Ends open slices, with the last marks.  The summary borrows from the stream. */
void timeline_finish(struct timeline *t, struct timeline_summary *summary);

#endif
