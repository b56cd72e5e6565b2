/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the records of a stream say of how calls end -> call_pairs: ends and exceptions, stacks that
 * were given up, and when which of that may have been missed.  The same for whoever pairs calls.
 */
#ifndef EBEAM_MODEL_CALL_FOLLOW_H
#define EBEAM_MODEL_CALL_FOLLOW_H

#include <stdbool.h>

#include "model/stream/call_pairs.h"
#include "model/stream/event_stream.h"

/* Events without which nobody can say for sure which call an end belongs to. */
#define CALL_FOLLOW_KINDS (1ull << EVENT_PROCESS_EXCEPTION | 1ull << EVENT_PROCESS_HIBERNATE)

/* Are they there? */
bool call_follow_is_sure(const struct event_stream *s);
/* Every record of what was watched, after the stream took it. */
void call_follow_coverage(struct call_pairs *c, const struct event_stream *s,
			  const struct event *ev);
/* A call, the end of one, or an event of CALL_FOLLOW_KINDS, before anything else is made of it:
 * what the hit itself took. */
void call_follow_hit(struct call_pairs *c, const struct event_stream *s, const struct event *ev);
/* `call` takes over the rest of what is known of it; takes over call->args. */
void call_follow_begin(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		       struct call_under_way *call);
/* The next call that ended with an end, or with an event of CALL_FOLLOW_KINDS. */
bool call_follow_end(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		     struct call_under_way *out);
bool call_follow_event(struct call_pairs *c, const struct event_stream *s, enum event_kind kind,
		       const struct event *ev, struct call_under_way *out);

#endif
