/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the records of a stream that matter for the ends of calls to call_pairs: returns,
 * exceptions, dropped stacks, and when some of these may have been missed.  Shared by all that
 * pair calls. */
#ifndef EBEAM_MODEL_CALL_FOLLOW_H
#define EBEAM_MODEL_CALL_FOLLOW_H

#include <stdbool.h>

#include "model/stream/call_pairs.h"
#include "model/stream/event_stream.h"

/* Events without which it is not certain which call a return ends. */
#define CALL_FOLLOW_KINDS (1ull << EVENT_PROCESS_EXCEPTION | 1ull << EVENT_PROCESS_HIBERNATE)

/* True if all of these events are watched. */
bool call_follow_is_sure(const struct event_stream *s);
/* To be called for each REC_COVERAGE, after event_stream_take(). */
void call_follow_coverage(struct call_pairs *c, const struct event_stream *s,
			  const struct event *ev);
/* To be called for each call, return, or event of CALL_FOLLOW_KINDS, before the functions below:
 * counts the cost of its hit. */
void call_follow_hit(struct call_pairs *c, const struct event_stream *s, const struct event *ev);
/* Begins a call.  Fills in the rest of `call` from the event; takes ownership of call->args. */
void call_follow_begin(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		       struct call_under_way *call);
/* Sets *out to the next call that a return ends (call_follow_event(): that an event of
 * CALL_FOLLOW_KINDS ends); false if there is none (more). */
bool call_follow_end(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		     struct call_under_way *out);
bool call_follow_event(struct call_pairs *c, const struct event_stream *s, enum event_kind kind,
		       const struct event *ev, struct call_under_way *out);

#endif
