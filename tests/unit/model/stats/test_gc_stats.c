/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/gc_stats: collections added up, from made-up events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/catalogue.h"
#include "event/event.h"
#include "model/stats/gc_stats.h"
#include "model/stream/event_stream.h"

struct fixture {
	struct event_stream stream;
	struct names *n; /* of the stream */
	uint32_t busy, other, normal, dirty, stack, native_stack, function;
	struct gc_stats s;
};

static uint32_t string(struct names *n, const char *s)
{
	return names_intern_string(n, s, strlen(s), NULL);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint32_t native, frame;

	event_stream_open(&f->stream);
	f->n = f->stream.names;
	f->busy = names_intern_process(f->n, 1, string(f->n, "<0.80.0>"), string(f->n, "busy"), 0,
				       0, NULL);
	f->other = names_intern_process(f->n, 2, string(f->n, "<0.81.0>"), 0, 0, 0, NULL);
	f->normal = names_intern_thread(f->n, 10, THREAD_NORMAL, 1, 0, NULL);
	f->dirty = names_intern_thread(f->n, 11, THREAD_DIRTY_CPU, 1, 0, NULL);
	f->function = names_intern_function(f->n, string(f->n, "m"), string(f->n, "f"), 2,
					    FRAME_ERLANG, NULL);
	native = names_intern_function(f->n, string(f->n, "beam.smp"), string(f->n, "gc"), -1,
				       FRAME_NATIVE, NULL);
	frame = names_intern_frame(f->n, f->function, 0, 0, NULL);
	f->stack = names_intern_stack(f->n, 0, frame, NULL);
	frame = names_intern_frame(f->n, native, 0, 0, NULL);
	f->native_stack = names_intern_stack(f->n, f->stack, frame, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gc_stats_close(&f->s);
	event_stream_close(&f->stream);
	free(f);
	return 0;
}

struct made {
	enum event_kind kind;
	uint32_t process, thread, stack;
	uint64_t reclaimed, heap, old_heap, ns;
};

static bool add(struct fixture *f, const struct made *m)
{
	const struct event ev = {
		.type = REC_EVENT,
		.u.vm = {.process = m->process,
			 .thread = m->thread,
			 .stack = m->stack,
			 .nr_values = 4,
			 .values = {m->reclaimed, m->heap, m->old_heap, m->ns}},
	};

	return gc_stats_take(&f->s, m->kind, &ev);
}

static void adds_up(void **state)
{
	struct fixture *f = *state;
	const struct made made[] = {
		{EVENT_GC_MINOR_END, f->busy, f->normal, 0, 100, 233, 0, 1000},
		{EVENT_GC_MINOR_END, f->busy, f->normal, 0, 50, 610, 400, 3000},
		{EVENT_GC_MAJOR_END, f->busy, f->normal, 0, 7, 233, 10, 2000},
		{EVENT_GC_MAJOR_END, f->other, f->dirty, 0, EVENT_UNKNOWN, 5000, EVENT_UNKNOWN,
		 10000},
	};
	const struct gc_count *busy, *other;

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_NAME, 0, 0);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		assert_true(add(f, &made[i]));
	busy = &f->s.counts.data[process_groups_of(&f->s.groups, f->busy)];
	other = &f->s.counts.data[process_groups_of(&f->s.groups, f->other)];
	assert_int_equal(busy->minor, 2);
	assert_int_equal(busy->major, 1);
	assert_int_equal(busy->dirty, 0);
	assert_int_equal(busy->total_ns, 6000);
	assert_int_equal(busy->max_ns, 3000);
	assert_int_equal(busy->reclaimed, 157);
	assert_int_equal(busy->heap, 233);
	assert_int_equal(busy->old_heap, 10);
	assert_int_equal(busy->max_heap, 1010);
	assert_int_equal(other->dirty, 1);
	assert_int_equal(other->unknown, 1);
	assert_int_equal(other->reclaimed, 0);
	assert_int_equal(other->max_heap, 0);
	assert_int_equal(f->s.total.minor + f->s.total.major, 4);
	assert_int_equal(f->s.total.total_ns, 16000);
	assert_int_equal(f->s.total.dirty_ns, 10000);
	assert_int_equal(f->s.minor.nr, 2);
	assert_int_equal(f->s.major.nr, 1);
	assert_int_equal(f->s.dirty.nr, 1);
	assert_int_equal(f->s.dirty.max, 10000);
}

/* Minor, found no room, and went on as a major one: two collections, one pause. */
static void minor_that_became_major(void **state)
{
	struct fixture *f = *state;
	const struct made minor = {EVENT_GC_MINOR_END, f->busy, f->normal, 0, 0, 233, 0, 0};
	const struct made major = {EVENT_GC_MAJOR_END, f->busy, f->normal, 0, 9, 233, 0, 5000};

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_PROCESS, 0, 0);
	assert_true(add(f, &minor));
	assert_true(add(f, &major));
	assert_int_equal(f->s.total.minor, 1);
	assert_int_equal(f->s.total.major, 1);
	assert_int_equal(f->s.minor.nr, 0);
	assert_int_equal(f->s.total.continued, 1);
	assert_int_equal(f->s.major.nr, 1);
}

static void only_longer_ones(void **state)
{
	struct fixture *f = *state;
	struct made m = {EVENT_GC_MINOR_END, f->busy, f->normal, 0, 1, 233, 0, 1000};

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_NAME, 0, 1000);
	assert_false(add(f, &m));
	m.ns = EVENT_UNKNOWN;
	assert_false(add(f, &m));
	m.ns = 1001;
	assert_true(add(f, &m));
	assert_int_equal(f->s.total.minor, 1);
	m.kind = EVENT_GC_MINOR_START;
	assert_false(add(f, &m));
	gc_stats_restart(&f->s);
	assert_int_equal(f->s.total.minor, 0);
	assert_int_equal(f->s.counts.len, 0);
	assert_int_equal(f->s.longer_than_ns, 1000);
}

static void by_function(void **state)
{
	struct fixture *f = *state;
	struct made m = {EVENT_GC_MINOR_END, f->busy, f->normal, f->stack, 1, 233, 0, 10};
	uint32_t group;

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_FUNCTION, 0, 0);
	assert_true(add(f, &m));
	m.stack = f->native_stack;
	m.process = f->other;
	assert_true(add(f, &m));
	m.stack = 0;
	assert_true(add(f, &m));
	group = process_groups_of_function(&f->s.groups, f->function);
	assert_int_equal(f->s.counts.data[group].minor, 2);
	assert_int_equal(f->s.counts.data[PROCESS_GROUP_REST].minor, 1);
}

static void more_groups_than_there_may_be(void **state)
{
	struct fixture *f = *state;
	struct made m = {EVENT_GC_MINOR_END, f->busy, f->normal, 0, 1, UINT64_MAX - 1, 5, 10};

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_PROCESS, 2, 0);
	assert_true(add(f, &m));
	m.process = f->other;
	assert_true(add(f, &m));
	m.process = 4711; /* unknown */
	assert_true(add(f, &m));
	assert_int_equal(f->s.counts.data[PROCESS_GROUP_REST].minor, 2);
	assert_int_equal(f->s.groups.overflows, 1);
	assert_int_equal(f->s.total.minor, 3);
	assert_true(f->s.total.max_heap == UINT64_MAX);
}

/* Words that were new; captures of older versions do not have them. */
static void allocated(void **state)
{
	struct fixture *f = *state;
	struct event ev = {.type = REC_EVENT, .u.vm = {.process = f->busy, .thread = f->normal}};
	const struct gc_count *c = &f->s.total;

	gc_stats_open(&f->s, &f->stream, PROCESS_GROUP_NAME, 0, 0);
	assert_true(gc_stats_take(&f->s, EVENT_GC_MINOR_END, &ev));
	assert_int_equal(c->reported, 0);
	ev.u.vm.nr_values = EVENT_AT(GC_MINOR_END, ALLOCATED) + 1;
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, ALLOCATED)] = 40;
	assert_true(gc_stats_take(&f->s, EVENT_GC_MINOR_END, &ev));
	assert_true(gc_stats_take(&f->s, EVENT_GC_MAJOR_END, &ev));
	assert_int_equal(c->reported, 2);
	assert_int_equal(c->allocated, 80);
	assert_int_equal(f->s.counts.data[process_groups_of(&f->s.groups, f->busy)].allocated, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(allocated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(adds_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(minor_that_became_major, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_longer_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_groups_than_there_may_be, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
