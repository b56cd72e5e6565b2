/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long time slices, collections and calls of NIFs, found without a probe: a thread reads every
 * SLICE_WATCH_PERIOD_NS what each scheduler is in the middle of.  What two samples see is long, and
 * its stack is read while it lasts.  So everything is seen that lasts at least twice the time
 * between two samples, whatever the limit on the overhead of probes.  Its duration is known up to
 * the time between the samples around its ends, which is reported, too (error_ns).  Which BIF a
 * process runs is known for sure only from a third sample on: see running_stack.h.
 */
#ifndef EBEAM_PROBE_SLICE_WATCH_H
#define EBEAM_PROBE_SLICE_WATCH_H

#include <stdbool.h>

#include "abi/record.h"
#include "beam/node/node.h"
#include "beam/sched/running.h"
#include "beam/sched/running_stack.h"

#define SLICE_WATCH_PERIOD_NS 2000000u
/* ns: with samples at that period everything is seen that lasts at least so long. */
#define SLICE_WATCH_LEAST_NS 5000000u

struct slice_watch;

/* Bit set of the kinds of events that it can report. */
#define SLICE_WATCH_KINDS                                                                          \
	(1ull << EVENT_LONG_SCHEDULE | 1ull << EVENT_LONG_GC | 1ull << EVENT_GC_MINOR_END |        \
	 1ull << EVENT_GC_MAJOR_END | 1ull << EVENT_NIF_RETURN)

struct slice_watch_config {
	uint64_t kinds;		 /* of SLICE_WATCH_KINDS */
	uint64_t longer_than_ns; /* threshold, SLICE_WATCH_LEAST_NS or more */
	bool unsure;   /* also report what may have lasted so long, within its margin of error */
	bool realtime; /* the thread has real-time priority (SCHED_RR) */
};

/* Borrows the node.  ERROR_KIND_FAILED, ERROR_KIND_UNSUPPORTED. */
int slice_watch_open(struct slice_watch **out, struct beam_node *n, const struct running_code *code,
		     const struct slice_watch_config *config, struct error *err);
void slice_watch_close(struct slice_watch *w); /* NULL ok */
/* Ends the thread.  What is still under way is reported with its duration so far. */
void slice_watch_end(struct slice_watch *w);

/* A span that has ended: its stack (NULL = it could not be read) and the event, with the same time
 * and thread, as a probe would report them. */
struct long_slice {
	struct rec_raw_sample *stack;
	struct rec_raw_event *event;
	/* For a slice of a port: texts that become strings of the event; else NULL. */
	struct running_port *port;
};
bool slice_watch_next(struct slice_watch *w, struct long_slice *out); /* false: no more now */
void slice_watch_free(struct long_slice *s);			      /* what *s points to */

/* Longest time between two samples since the last call. */
uint64_t slice_watch_longest_gap(struct slice_watch *w);

#endif
