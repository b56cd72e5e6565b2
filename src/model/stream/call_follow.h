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

/* Whether these events are watched. */
bool call_follow_is_sure(const struct event_stream *s);
/* For each REC_COVERAGE, after the stream took it. */
void call_follow_coverage(struct call_pairs *c, const struct event_stream *s,
			  const struct event *ev);
/* For each call, return, or event of CALL_FOLLOW_KINDS, before the other functions: counts the cost
 * of its hit. */
void call_follow_hit(struct call_pairs *c, const struct event_stream *s, const struct event *ev);
/* Begins a call.  Fills in the rest of `call` from the event; takes ownership of call->args. */
void call_follow_begin(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		       struct call_under_way *call);
/* The next call that is ended by a return; call_follow_event(): by an event of
 * CALL_FOLLOW_KINDS. */
bool call_follow_end(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		     struct call_under_way *out);
bool call_follow_event(struct call_pairs *c, const struct event_stream *s, enum event_kind kind,
		       const struct event *ev, struct call_under_way *out);

#endif
