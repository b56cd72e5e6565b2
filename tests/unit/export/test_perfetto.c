/* SPDX-License-Identifier: BSD-2-Clause */
/* model/timeline, export/perfetto: events in, a time line out; whatever comes, its slices nest. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/compiler.h"
#include "export/perfetto.h"
#include "model/stream/event_stream.h"
#include "model/timeline/flows.h"
#include "model/timeline/timeline.h"

enum {
	STR_IN = 1,
	STR_OUT,
	STR_A,
	STR_B,
	STR_NAME,
	STR_THREAD,
	STR_EXITED,
	STR_SCHEDULED,
	STR_GC_END
};
enum { PROC_A = 1, PROC_B };

struct fix {
	struct event_stream stream;
	struct perfetto *p;
	struct timeline *t;
	char *bytes;
	size_t size;
	FILE *f;
};

static int set_up(void **state)
{
	static const char *const texts[] = {
		"in",	       "out",	     "<0.1.0>",		  "<0.2.0>",	 "name",
		"1_scheduler", "out_exited", "process_scheduled", "gc_minor_end"};
	struct fix *f = calloc(1, sizeof(*f));

	event_stream_open(&f->stream);
	for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(
			names_define_string(f->stream.names, i + 1, texts[i], strlen(texts[i])), 0);
	names_define_process(f->stream.names, PROC_A, 0x13, STR_A, STR_NAME, 0, 0);
	names_define_process(f->stream.names, PROC_B, 0x23, STR_B, 0, 0, 0);
	names_define_thread(f->stream.names, 1, 77, THREAD_NORMAL, 1, STR_THREAD);
	names_define_thread(f->stream.names, 2, 78, THREAD_DIRTY_CPU, 2, STR_THREAD);
	f->stream.start_ns = 1000;
	f->stream.os_pid = 4711;
	f->f = open_memstream(&f->bytes, &f->size);
	f->p = perfetto_open(f->f, f->stream.names);
	f->t = timeline_open(&f->stream, perfetto_mark, f->p);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fix *f = *state;

	timeline_close(f->t);
	perfetto_close(f->p);
	fclose(f->f);
	free(f->bytes);
	event_stream_close(&f->stream);
	free(f);
	return 0;
}

static void give(struct fix *f, enum event_kind kind, uint64_t ts_ns, uint32_t process,
		 uint32_t thread, uint64_t value0, uint64_t value1)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = ts_ns};

	ev.u.vm.process = process;
	ev.u.vm.thread = thread;
	ev.u.vm.nr_values = 2;
	ev.u.vm.values[0] = value0;
	ev.u.vm.values[1] = value1;
	timeline_event(f->t, kind, &ev);
}

static void gc_end(struct fix *f, enum event_kind kind, uint64_t ts_ns, uint32_t thread,
		   uint64_t duration_ns)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = ts_ns};

	ev.u.vm.process = PROC_A;
	ev.u.vm.thread = thread;
	ev.u.vm.nr_values = 4;
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, RECLAIMED)] = 100;
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, HEAP)] = 233;
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, DURATION)] = duration_ns;
	timeline_event(f->t, kind, &ev);
}

static void cover(struct fix *f, uint32_t kind, enum coverage_state state, uint64_t ts_ns)
{
	struct event ev = {.type = REC_COVERAGE, .ts_ns = ts_ns};

	ev.u.coverage.kind = kind;
	ev.u.coverage.state = state;
	coverage_take(&f->stream.coverage,
		      kind == STR_SCHEDULED ? EVENT_PROCESS_SCHEDULED : EVENT_GC_MINOR_END, state,
		      250000, ts_ns);
	timeline_other(f->t, &ev);
}

static json_int_t ns_of(const json_t *e, const char *key)
{
	return llround(1000 * json_number_value(json_object_get(e, key)));
}

static bool is_ph(const json_t *e, char ph)
{
	return json_string_value(json_object_get(e, "ph"))[0] == ph;
}

/* The whole as JSON; slices nest on each track, and time does not go backwards. */
static json_t *finish(struct fix *f)
{
	struct timeline_summary summary;
	struct error err;
	json_error_t why;
	json_t *top, *list, *e;
	json_int_t last[128] = {0}, edge[128] = {0}; /* ns; edge: of B and E */
	int open[128] = {0};
	size_t i;

	timeline_finish(f->t, &summary);
	assert_int_equal(perfetto_finish(f->p, &summary, &err), 0);
	top = json_loadb(f->bytes, f->size, JSON_REJECT_DUPLICATES, &why);
	if (!top)
		fail_msg("%s: %s", why.text, f->bytes);
	list = json_object_get(top, "traceEvents");
	json_array_foreach(list, i, e)
	{
		json_int_t tid = json_integer_value(json_object_get(e, "tid"));
		const char *name = json_string_value(json_object_get(e, "name"));
		json_int_t ts = ns_of(e, "ts");

		if (!is_ph(e, 'M'))
			assert_true(json_is_number(json_object_get(e, "ts")));
		if (!strchr("BEXi", json_string_value(json_object_get(e, "ph"))[0]))
			continue;
		assert_true(tid >= 0 && tid < 128);
		/* Of collections only the end is in order; the beginning in the same slice. */
		if (is_ph(e, 'X') && strncmp(name, "GC ", 3) == 0) {
			assert_true(ts >= edge[tid]);
			ts += ns_of(e, "dur");
		} else if (is_ph(e, 'i') && strncmp(name, "gc_", 3) == 0) {
			continue;
		} else if (strchr("BE", json_string_value(json_object_get(e, "ph"))[0])) {
			edge[tid] = ts;
		}
		assert_true(ts >= last[tid]);
		last[tid] = ts;
		open[tid] += is_ph(e, 'B') - is_ph(e, 'E');
		assert_true(open[tid] >= 0);
	}
	for (size_t t = 0; t < ARRAY_SIZE(open); t++)
		assert_int_equal(open[t], 0);
	return top;
}

static size_t count(const json_t *top, char ph)
{
	json_t *e;
	size_t i, n = 0;

	json_array_foreach(json_object_get(top, "traceEvents"), i, e) n += is_ph(e, ph);
	return n;
}

static const json_t *nth(const json_t *top, char ph, size_t n)
{
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(top, "traceEvents"), i, e)
	{
		if (is_ph(e, ph) && n-- == 0)
			return e;
	}
	fail_msg("no such %c", ph);
	return NULL;
}

static const char *text(const json_t *e, const char *key)
{
	return json_string_value(json_object_get(e, key));
}

static void slices(void **state)
{
	struct fix *f = *state;
	const json_t *e;
	json_t *top;

	give(f, EVENT_PROCESS_SCHEDULED, 2500, PROC_A, 1, STR_IN, 0);
	give(f, EVENT_GC_MINOR_START, 3000, PROC_A, 1, 5, 233);
	give(f, EVENT_PROCESS_SCHEDULED, 3100, PROC_B, 2, STR_IN, 0);
	gc_end(f, EVENT_GC_MINOR_END, 4000, 1, 990);
	give(f, EVENT_PROCESS_SCHEDULED, 5000, PROC_A, 1, STR_OUT, 0);
	top = finish(f);
	assert_int_equal(count(top, 'B'), 2);
	assert_int_equal(count(top, 'E'), 2); /* B's is ended with the file */
	e = nth(top, 'B', 0);
	assert_string_equal(text(e, "name"), "name");
	assert_true(json_number_value(json_object_get(e, "ts")) == 1.5); /* us since the start */
	assert_int_equal(json_integer_value(json_object_get(e, "tid")), 77);
	assert_int_equal(json_integer_value(json_object_get(e, "pid")), 4711);
	assert_string_equal(text(nth(top, 'B', 1), "name"), "<0.2.0>");
	e = nth(top, 'X', 0);
	assert_string_equal(text(e, "name"), "GC minor");
	assert_int_equal(ns_of(e, "ts"), 2010);
	assert_int_equal(ns_of(e, "dur"), 990);
	e = json_object_get(e, "args");
	assert_int_equal(json_integer_value(json_object_get(e, "reclaimed")), 100);
	assert_int_equal(json_integer_value(json_object_get(e, "need")), 5);
	assert_int_equal(json_integer_value(json_object_get(e, "heap")), 233);
	assert_int_equal(json_integer_value(json_object_get(e, "heap_before")), 233);
	assert_string_equal(text(json_object_get(nth(top, 'M', 1), "args"), "name"), "scheduler 1");
	assert_string_equal(text(json_object_get(nth(top, 'M', 3), "args"), "name"), "dirty cpu 2");
	json_decref(top);
}

/* Lost events: ends without beginnings, beginnings without ends. */
static void losses(void **state)
{
	struct fix *f = *state;
	json_t *top;

	give(f, EVENT_PROCESS_SCHEDULED, 2000, PROC_A, 1, STR_OUT, 0);
	give(f, EVENT_GC_MAJOR_END, 2100, PROC_A, 1, 1, 1);
	give(f, EVENT_PROCESS_SCHEDULED, 2200, PROC_A, 1, STR_IN, 0);
	give(f, EVENT_GC_MINOR_START, 2300, PROC_A, 1, 1, 1);
	give(f, EVENT_GC_MINOR_START, 2400, PROC_A, 1, 1, 1);
	give(f, EVENT_PROCESS_SCHEDULED, 2500, PROC_B, 1, STR_IN, 0);
	give(f, EVENT_GC_MINOR_START, 2600, PROC_A, 1, 1, 1);
	give(f, EVENT_PROCESS_SCHEDULED, 2700, PROC_B, 1, STR_EXITED, 0);
	give(f, EVENT_PORT_SCHEDULED, 2800, 0, 1, 0, 0);
	give(f, EVENT_MESSAGE_RECEIVE, 2900, PROC_A, 1, STR_B, 3);
	give(f, EVENT_PROCESS_SCHEDULED, 3000, 99, 99, STR_IN, 0); /* nobody knows them */
	top = finish(f);
	assert_int_equal(count(top, 's'), 0);
	/* The end of the major collection, of which no time is known, and what has no end. */
	assert_int_equal(count(top, 'i'), 4);
	json_decref(top);
}

/* A collection of 300 ms: whole, wherever its beginning stands, and without it. */
static void long_collections(void **state)
{
	struct fix *f = *state;
	json_t *top;

	give(f, EVENT_PROCESS_SCHEDULED, 2000, PROC_A, 1, STR_IN, 0);
	give(f, EVENT_PROCESS_SPAWN, 200000000, PROC_B, 1, 0, 0);
	give(f, EVENT_GC_MAJOR_START, 5000, PROC_A, 1, 5, 233);
	gc_end(f, EVENT_GC_MAJOR_END, 300005000, 1, 300000000);
	gc_end(f, EVENT_GC_MINOR_END, 300009000, 1, 1000);
	give(f, EVENT_PROCESS_SCHEDULED, 300010000, PROC_A, 1, STR_OUT, 0);
	top = finish(f);
	assert_int_equal(count(top, 'X'), 2);
	assert_string_equal(text(nth(top, 'X', 0), "name"), "GC major");
	assert_int_equal(ns_of(nth(top, 'X', 0), "ts"), 4000);
	assert_int_equal(ns_of(nth(top, 'X', 0), "dur"), 300000000);
	assert_int_equal(ns_of(nth(top, 'X', 1), "ts"), 300007000);
	assert_null(json_object_get(json_object_get(nth(top, 'X', 1), "args"), "need"));
	json_decref(top);
}

/* What is open when its kind is not watched any more ends there; ends of others say nothing. */
static void gaps(void **state)
{
	struct fix *f = *state;
	const json_t *e;
	json_t *top;

	give(f, EVENT_PROCESS_SCHEDULED, 2000, PROC_A, 1, STR_IN, 0);
	give(f, EVENT_PROCESS_SCHEDULED, 2100, PROC_B, 2, STR_IN, 0);
	give(f, EVENT_GC_MINOR_START, 2200, PROC_A, 1, 5, 233);
	cover(f, STR_SCHEDULED, COVERAGE_ON, 2500);
	cover(f, STR_GC_END, COVERAGE_OFF, 2600);
	cover(f, STR_SCHEDULED, COVERAGE_OFF, 3000);
	/* It goes on after its slice was cut: what is left of it. */
	gc_end(f, EVENT_GC_MINOR_END, 3500, 1, 1300);
	cover(f, STR_SCHEDULED, COVERAGE_ON, 9000);
	give(f, EVENT_PROCESS_SCHEDULED, 9100, PROC_B, 1, STR_OUT, 0);
	give(f, EVENT_PROCESS_SCHEDULED, 9200, PROC_A, 1, STR_IN, 0);
	give(f, EVENT_PROCESS_SCHEDULED, 9300, PROC_B, 1, STR_OUT, 0);
	give(f, EVENT_PROCESS_SCHEDULED, 9400, PROC_B, 1, STR_IN, 0);
	give(f, EVENT_PROCESS_SCHEDULED, 9500, PROC_B, 1, STR_OUT, 0);
	top = finish(f);
	assert_int_equal(count(top, 'B'), 4);
	for (size_t i = 0; i < 4; i++) {
		static const json_int_t ends[] = {2000, 2000, 8300, 8500};

		e = nth(top, 'E', i);
		assert_int_equal(ns_of(e, "ts"), ends[i]);
		assert_string_equal(text(e, "name"), i == 0 || i == 2 ? "name" : "<0.2.0>");
		assert_int_equal(json_object_get(e, "args") != NULL, i == 3);
	}
	assert_int_equal(count(top, 'i'), 1); /* the beginning of that collection */
	assert_int_equal(ns_of(nth(top, 'X', 0), "ts"), 2000);
	e = json_object_get(json_object_get(top, "otherData"), "sampled");
	assert_int_equal(json_object_size(e), 2);
	assert_true(json_number_value(json_object_get(e, "process_scheduled")) == 0.25);
	json_decref(top);
}

static void messages(void **state)
{
	struct fix *f = *state;
	json_t *top;

	for (unsigned int i = 0; i < 3; i++)
		give(f, EVENT_MESSAGE_SEND, 2000 + 100 * i, PROC_A, 1, PROC_B, 10);
	give(f, EVENT_MESSAGE_RECEIVE, 3000, PROC_B, 2, STR_A, 2);
	give(f, EVENT_MESSAGE_RECEIVE, 3100, PROC_B, 2, STR_A, 1);
	give(f, EVENT_MESSAGE_RECEIVE, 3200, PROC_A, 2, STR_A, 1);
	top = finish(f);
	assert_int_equal(count(top, 'X'), 6);
	assert_int_equal(count(top, 's'), 2);
	assert_int_equal(count(top, 'f'), 2);
	assert_true(json_number_value(json_object_get(nth(top, 's', 1), "ts")) == 1.1);
	assert_true(json_number_value(json_object_get(nth(top, 'f', 1), "ts")) == 2.1);
	assert_int_equal(json_integer_value(json_object_get(nth(top, 's', 1), "id")),
			 json_integer_value(json_object_get(nth(top, 'f', 1), "id")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(top, "otherData"),
							    "messages_without_flow")),
			 1);
	json_decref(top);
}

/* Every other kind, whatever it is. */
static void instants(void **state)
{
	struct fix *f = *state;
	size_t nr = 0;
	json_t *top;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (event_rows[kind].group == EVENT_GROUP_PORT && kind == EVENT_PORT_SCHEDULED)
			continue;
		if (event_rows[kind].group == EVENT_GROUP_GC || kind == EVENT_PROCESS_SCHEDULED ||
		    event_rows[kind].group == EVENT_GROUP_MESSAGE)
			continue;
		give(f, (enum event_kind)kind, 2000 + (uint64_t)kind, PROC_A, 1, 0, 0);
		nr++;
	}
	top = finish(f);
	assert_int_equal(count(top, 'i'), nr);
	assert_string_equal(text(nth(top, 'i', 0), "name"), "process_spawn");
	assert_string_equal(text(json_object_get(nth(top, 'i', 0), "args"), "pid"), "<0.1.0>");
	json_decref(top);
}

static void mailboxes(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_EVENT};
	json_t *top;

	ev.u.vm.process = PROC_A;
	ev.u.vm.thread = 1;
	ev.u.vm.nr_values = 3;
	for (uint64_t i = 0; i < 4000; i++) {
		ev.ts_ns = 2000 + 1000 * i;
		ev.u.vm.values[EVENT_AT(MESSAGE_QUEUED, QUEUE_LEN)] = i;
		timeline_event(f->t, EVENT_MESSAGE_QUEUED, &ev);
	}
	top = finish(f);
	assert_int_equal(count(top, 'C'), 4); /* from 16 on, one each millisecond */
	assert_string_equal(text(nth(top, 'C', 0), "name"), "name: mailbox");
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(nth(top, 'C', 0), "args"), "messages")),
			 16);
	json_decref(top);
}

static void samples(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_SAMPLE, .ts_ns = 2000};
	json_t *top;

	ev.u.sample.thread = 1;
	ev.u.sample.process = PROC_A;
	ev.u.sample.weight = 1;
	ev.u.sample.kind = SAMPLE_GC;
	timeline_other(f->t, &ev);
	top = finish(f);
	assert_int_equal(count(top, 'i'), 1);
	assert_string_equal(text(nth(top, 'i', 0), "cat"), "gc");
	json_decref(top);
}

static void nothing(void **state)
{
	struct fix *f = *state;
	json_t *top = finish(f);

	assert_int_equal(json_array_size(json_object_get(top, "traceEvents")), 0);
	json_decref(top);
}

static void flows_are_bounded(void **state)
{
	struct flows *f = flows_open();
	struct flow_point at = {.ts_ns = 1, .tid = 2};

	UNUSED(state);
	for (uint64_t i = 0; i < FLOWS_MAX + 10ull; i++) {
		at.ts_ns = i;
		flows_begin(f, 1, 2, &at);
	}
	flows_begin(f, 0, 2, &at);
	assert_int_equal(flows_end(f, 2, 1, &at), 0);
	for (uint64_t i = 0; i < FLOWS_MAX; i++) {
		assert_true(flows_end(f, 1, 2, &at) == i + 1);
		assert_true(at.ts_ns == i);
	}
	assert_int_equal(flows_end(f, 1, 2, &at), 0);
	assert_true(flows_unmatched(f) == 11);
	flows_begin(f, 1, 2, &at); /* places are used again */
	assert_true(flows_end(f, 1, 2, &at) > 0);
	for (uint32_t i = 1; i < FLOWS_MAX + 10; i++) {
		flows_begin(f, i, i, &at);
		flows_end(f, i, i, &at);
	}
	flows_close(f);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(slices),		CASE(losses),
		CASE(messages),		CASE(instants),
		CASE(long_collections), CASE(gaps),
		CASE(mailboxes),	CASE(samples),
		CASE(nothing),		cmocka_unit_test(flows_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
