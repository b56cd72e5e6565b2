/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_follow.h. */
#include "model/stream/call_follow.h"

#include <string.h>

#include "base/compiler.h"

bool call_follow_is_sure(const struct event_stream *s)
{
	return (s->watched & CALL_FOLLOW_KINDS) == CALL_FOLLOW_KINDS;
}

static uint64_t epid_of(const struct event_stream *s, uint32_t process)
{
	const struct name_process *p = names_process(s->names, process);

	return p ? p->epid : 0;
}

/* While exceptions are not watched, ends of calls are unknown; later, of those under way then. */
static void take_kinds(struct call_pairs *c, const struct event *ev, uint64_t kinds)
{
	if (!kinds)
		return;
	call_pairs_blind(c, kinds, ev->u.coverage.state != COVERAGE_ON, ev->ts_ns);
}

void call_follow_coverage(struct call_pairs *c, const struct event_stream *s,
			  const struct event *ev)
{
	const char *name = names_string(s->names, ev->u.coverage.kind);
	int kind = name ? event_kind_find(name, strlen(name)) : -1;

	if (!name)
		return;
	if (strcmp(name, EVENT_CALL_GAPS_NAME) == 0)
		call_pairs_gap(c, &(struct call_gap){
					  .site = ev->u.coverage.work,
					  .from_ns = ev->u.coverage.missed,
					  .to_ns = ev->ts_ns,
					  .os_tid = ev->u.coverage.os_tid,
				  });
	else if (strcmp(name, EVENT_CALLS_NAME) == 0)
		call_pairs_watch_c(c, ev->u.coverage.state == COVERAGE_ON, ev->ts_ns);
	else if (kind >= 0)
		take_kinds(c, ev, CALL_FOLLOW_KINDS & 1ull << kind);
}

void call_follow_hit(struct call_pairs *c, const struct event_stream *s, const struct event *ev)
{
	const unsigned int *hit_ns = s->calls.hit_ns;

	/* The cost of an event's hit is not known: that of a call is assumed. */
	if (ev->type == REC_CALL)
		call_pairs_hit(c, epid_of(s, ev->u.call.process),
			       hit_ns[event_stream_call_is_c(s, ev)]);
	else
		call_pairs_hit(c, epid_of(s, ev->u.vm.process), hit_ns[0] ? hit_ns[0] : hit_ns[1]);
}

void call_follow_begin(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		       struct call_under_way *call)
{
	const struct name_thread *t = names_thread(s->names, ev->u.call.thread);

	call->os_tid = t ? t->os_tid : 0;
	call->slice = ev->u.call.slice;
	call->function = ev->u.call.function;
	call->height = ev->u.call.height;
	call->site = ev->u.call.site;
	call->ts_ns = ev->ts_ns;
	call->c_code = event_stream_call_is_c(s, ev);
	call_pairs_only_last(c, !call_follow_is_sure(s));
	call_pairs_begin(c, epid_of(s, ev->u.call.process), call, ev->u.call.flags & CALL_ENDS);
}

bool call_follow_end(struct call_pairs *c, const struct event_stream *s, const struct event *ev,
		     struct call_under_way *out)
{
	const struct call_return end = {
		.epid = epid_of(s, ev->u.call.process),
		.height = ev->u.call.height,
		.site = ev->u.call.site,
		.ts_ns = ev->ts_ns,
		.slice = ev->u.call.slice,
		.c_code = event_stream_call_is_c(s, ev),
	};

	if (ev->u.call.flags & CALL_GOES_ON) {
		call_pairs_drop_c(c, end.epid);
		return false;
	}
	return call_pairs_end(c, &end, out);
}

bool call_follow_event(struct call_pairs *c, const struct event_stream *s, enum event_kind kind,
		       const struct event *ev, struct call_under_way *out)
{
	uint64_t epid = epid_of(s, ev->u.vm.process), height;

	if (kind == EVENT_PROCESS_HIBERNATE) {
		/* hibernate/0 (OTP 28) keeps the stack; it has no function to continue with. */
		if (event_value_id(ev, EVENT_AT(PROCESS_HIBERNATE, ENTRY)) != 0)
			call_pairs_drop(c, epid);
		return false;
	}
	if (kind != EVENT_PROCESS_EXCEPTION)
		return false;
	height = event_value(ev, EVENT_AT(PROCESS_EXCEPTION, HEIGHT));
	if (height == EVENT_UNKNOWN) {
		call_pairs_drop(c, epid);
		return false;
	}
	return call_pairs_unwind(c, epid, height, ev->ts_ns, out);
}
