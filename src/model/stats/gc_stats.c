/* SPDX-License-Identifier: BSD-2-Clause */
/* See gc_stats.h. */
#include "model/stats/gc_stats.h"

#include <string.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/stream/event_stream.h"

/* gc_minor_end and gc_major_end have the same fields. */
#define AT(field) EVENT_AT(GC_MINOR_END, field)
_Static_assert(AT(RECLAIMED) == EVENT_AT(GC_MAJOR_END, RECLAIMED), "fields");
_Static_assert(AT(HEAP) == EVENT_AT(GC_MAJOR_END, HEAP), "fields");
_Static_assert(AT(OLD_HEAP) == EVENT_AT(GC_MAJOR_END, OLD_HEAP), "fields");
_Static_assert(AT(ALLOCATED) == EVENT_AT(GC_MAJOR_END, ALLOCATED), "fields");
_Static_assert(AT(DURATION) == EVENT_AT(GC_MAJOR_END, DURATION), "fields");

void gc_stats_open(struct gc_stats *s, const struct event_stream *stream, enum process_group_by by,
		   uint32_t max, uint64_t longer_than_ns)
{
	memset(s, 0, sizeof(*s));
	s->stream = stream;
	process_groups_open(&s->groups, stream->names, by, max);
	s->longer_than_ns = longer_than_ns;
}

void gc_stats_close(struct gc_stats *s)
{
	process_groups_close(&s->groups);
	vec_free(&s->counts);
}

void gc_stats_restart(struct gc_stats *s)
{
	const struct process_groups g = s->groups;
	uint64_t longer_than_ns = s->longer_than_ns;

	gc_stats_close(s);
	gc_stats_open(s, s->stream, g.by, g.max, longer_than_ns);
}

/* The innermost Erlang function of a stack, without frames of the VM below it; 0 = none. */
static uint32_t function_of(const struct names *names, uint32_t stack)
{
	for (const struct name_stack *s; (s = names_stack(names, stack)); stack = s->parent) {
		const struct name_frame *frame = names_frame(names, s->frame);
		const struct name_function *f =
			frame ? names_function(names, frame->function) : NULL;

		if (f && (f->kind == FRAME_ERLANG || f->kind == FRAME_BIF || f->kind == FRAME_NIF))
			return frame->function;
	}
	return 0;
}

static struct gc_count *count_of(struct gc_stats *s, const struct event *ev)
{
	static const struct gc_count none = {.heap = EVENT_UNKNOWN, .old_heap = EVENT_UNKNOWN};
	uint32_t group;

	if (s->groups.by == PROCESS_GROUP_FUNCTION)
		group = process_groups_of_function(&s->groups,
						   function_of(s->stream->names, ev->u.vm.stack));
	else
		group = process_groups_of(&s->groups, ev->u.vm.process);
	while (s->counts.len <= group)
		vec_push(&s->counts, none);
	return &s->counts.data[group];
}

static void add(struct gc_count *c, bool minor, bool dirty, uint64_t ns, const struct event *ev)
{
	uint64_t reclaimed = event_value(ev, AT(RECLAIMED)), both;
	uint64_t allocated = event_value(ev, AT(ALLOCATED));

	*(minor ? &c->minor : &c->major) += 1;
	c->dirty += dirty;
	c->continued += minor && ns == 0;
	c->total_ns += ns;
	c->dirty_ns += dirty ? ns : 0;
	c->max_ns = MAX(c->max_ns, ns);
	if (reclaimed == EVENT_UNKNOWN)
		c->unknown++;
	else
		c->reclaimed += reclaimed;
	c->reported += allocated != EVENT_UNKNOWN;
	c->allocated += allocated == EVENT_UNKNOWN ? 0 : allocated;
	c->heap = event_value(ev, AT(HEAP));
	c->old_heap = event_value(ev, AT(OLD_HEAP));
	if (c->heap == EVENT_UNKNOWN || c->old_heap == EVENT_UNKNOWN)
		return;
	/* Sizes reported by a node may overflow a sum. */
	if (__builtin_add_overflow(c->heap, c->old_heap, &both))
		both = UINT64_MAX;
	c->max_heap = MAX(c->max_heap, both);
}

bool gc_stats_take(struct gc_stats *s, enum event_kind kind, const struct event *ev)
{
	const struct name_thread *t = names_thread(s->stream->names, ev->u.vm.thread);
	bool dirty = t && (t->type == THREAD_DIRTY_CPU || t->type == THREAD_DIRTY_IO);
	bool minor = kind == EVENT_GC_MINOR_END;
	uint64_t ns = event_value(ev, AT(DURATION));

	if (!(GC_STATS_KINDS >> kind & 1))
		return false;
	ns = ns == EVENT_UNKNOWN ? 0 : ns;
	if (s->longer_than_ns && ns <= s->longer_than_ns)
		return false;
	add(count_of(s, ev), minor, dirty, ns, ev);
	add(&s->total, minor, dirty, ns, ev);
	/* A minor collection that became a major one has no pause of its own. */
	if (ns)
		histogram_add(dirty ? &s->dirty : minor ? &s->minor : &s->major, ns, 1);
	return true;
}
