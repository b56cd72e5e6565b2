/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long time slices without a probe: a thread looks every SLICE_WATCH_PERIOD_NS what each scheduler
 * runs.  The same slice at two looks is a long one, whose stack is taken while it lasts.  So every
 * slice of at least twice the time between two looks is seen, whatever the limit on the overhead of
 * probes; its time is exact up to that between two looks.
 */
#ifndef EBEAM_PROBE_SLICE_WATCH_H
#define EBEAM_PROBE_SLICE_WATCH_H

#include <stdbool.h>

#include "abi/record.h"
#include "beam/node.h"
#include "beam/running_stack.h"

#define SLICE_WATCH_PERIOD_NS 2000000u
/* Slices from here on are seen all, at that period. */
#define SLICE_WATCH_LEAST_NS 5000000u

struct slice_watch;

/* Slices of at least longer_than_ns.  Borrows the node.  The thread is a real-time one (SCHED_RR),
 * if `realtime`.  ERROR_KIND_FAILED, ERROR_KIND_UNSUPPORTED. */
int slice_watch_open(struct slice_watch **out, struct beam_node *n, const struct running_code *code,
		     uint64_t longer_than_ns, bool realtime, struct error *err);
void slice_watch_close(struct slice_watch *w); /* NULL ok */
/* Ends looking.  Slices that are under way are then as long as they were seen. */
void slice_watch_end(struct slice_watch *w);

/* A slice that has ended: its stack (NULL = it could not be read), then the event, of the same time
 * and thread, as of probes.  Both are the caller's, to be freed. */
struct long_slice {
	struct rec_raw_sample *stack;
	struct rec_raw_event *event;
};
bool slice_watch_next(struct slice_watch *w, struct long_slice *out); /* false: no more now */

/* The longest time between two looks since the last such question. */
uint64_t slice_watch_longest_gap(struct slice_watch *w);

#endif
