/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long time slices, collections and calls of NIFs without a probe: a thread reads every
 * SLICE_WATCH_PERIOD_NS what each scheduler is in the middle of.  The same thing at two samples is
 * a long one, whose stack is taken while it lasts.  So everything of at least twice the time
 * between two samples is seen, whatever the limit on the overhead of probes; how long it took is
 * known up to those between the samples around its ends, which come with it (error_ns).  Which BIF
 * it is in is sure from a third sample on: see running_stack.h.
 */
#ifndef EBEAM_PROBE_SLICE_WATCH_H
#define EBEAM_PROBE_SLICE_WATCH_H

#include <stdbool.h>

#include "abi/record.h"
#include "beam/node/node.h"
#include "beam/sched/running.h"
#include "beam/sched/running_stack.h"

#define SLICE_WATCH_PERIOD_NS 2000000u
/* What lasts from here on is seen, all of it, at that period. */
#define SLICE_WATCH_LEAST_NS 5000000u

struct slice_watch;

/* Which kinds of events there are, as a bit set. */
#define SLICE_WATCH_KINDS                                                                          \
	(1ull << EVENT_LONG_SCHEDULE | 1ull << EVENT_LONG_GC | 1ull << EVENT_GC_MINOR_END |        \
	 1ull << EVENT_GC_MAJOR_END | 1ull << EVENT_NIF_RETURN)

struct slice_watch_config {
	uint64_t kinds;		 /* of SLICE_WATCH_KINDS */
	uint64_t longer_than_ns; /* what took that long; SLICE_WATCH_LEAST_NS or more */
	bool unsure;		 /* and what may have, so that none is missing */
	bool realtime;		 /* the thread is a real-time one (SCHED_RR) */
};

/* Borrows the node.  ERROR_KIND_FAILED, ERROR_KIND_UNSUPPORTED. */
int slice_watch_open(struct slice_watch **out, struct beam_node *n, const struct running_code *code,
		     const struct slice_watch_config *config, struct error *err);
void slice_watch_close(struct slice_watch *w); /* NULL ok */
/* Ends that.  What is under way is then as long as it was seen. */
void slice_watch_end(struct slice_watch *w);

/* Something that has ended: its stack (NULL = it could not be read), then the event, of the same
 * time and thread, as of probes. */
struct long_slice {
	struct rec_raw_sample *stack;
	struct rec_raw_event *event;
	/* Of a slice of a port: its texts, which become strings of the event; else NULL. */
	struct running_port *port;
};
bool slice_watch_next(struct slice_watch *w, struct long_slice *out); /* false: no more now */
void slice_watch_free(struct long_slice *s);			      /* what *s points to */

/* The longest time between two samples since the last such question. */
uint64_t slice_watch_longest_gap(struct slice_watch *w);

#endif
