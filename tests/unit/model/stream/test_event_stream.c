/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model/stream/event_stream and model/stream/coverage: records that the enricher made, and
 * foreign ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/enrich.h"
#include "model/stream/event_stream.h"

struct fixture {
	struct enrich *enrich;
	struct event_stream stream;
	unsigned int events;
	struct event last;
	enum event_kind kind;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->enrich = enrich_open(NULL, NULL);
	event_stream_open(&f->stream);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	event_stream_close(&f->stream);
	enrich_close(f->enrich);
	free(f);
	return 0;
}

static void take_all(struct fixture *f)
{
	struct source *s = enrich_source(f->enrich);
	const struct rec_header *rec;
	struct error err;

	while (s->next(s, &rec, &err) == 1)
		f->events += event_stream_take(&f->stream, rec, &f->last, &f->kind);
}

/* An event with its kind's name under string id `kind_id`. */
static void take_event(struct fixture *f, uint32_t kind_id, uint64_t ts_ns, uint8_t nr_values)
{
	struct {
		struct rec_event rec;
		uint64_t values[EVENT_MAX_FIELDS];
	} r = {.rec = {.h = {.type = REC_EVENT,
			     .size = (uint32_t)(sizeof(r.rec) + 8u * nr_values),
			     .ts_ns = ts_ns},
		       .kind = kind_id,
		       .nr_values = nr_values}};

	for (unsigned int i = 0; i < nr_values; i++)
		r.values[i] = 100 + i;
	f->events += event_stream_take(&f->stream, &r.rec.h, &f->last, &f->kind);
}

static void facts_of_a_recording(void **state)
{
	struct fixture *f = *state;

	enrich_add_meta(f->enrich, "node", "a@b");
	enrich_add_meta(f->enrich, "otp", "27");
	enrich_add_meta(f->enrich, "os_pid", "4711");
	enrich_add_meta(f->enrich, "schedulers", "8");
	enrich_add_meta(f->enrich, "start_ns", "123456789012");
	enrich_add_meta(f->enrich, "start_epoch_ns", "1700000000000000000");
	enrich_add_meta(f->enrich, "duration_ns", "5000");
	enrich_add_meta(f->enrich, "watched", "long_gc process_spawn what_we_do_not_know ");
	enrich_add_meta(f->enrich, "unprobed", "long_gc ");
	enrich_add_meta(f->enrich, "something else", "x");
	assert_true(f->stream.watched == (1ull << NR_EVENT_KINDS) - 1); /* not reported yet */
	enrich_add_counter(f->enrich, COUNTER_EVENTS_LOST, 7, 1);
	enrich_add_counter(f->enrich, COUNTER_EVENTS_LOST, 9, 2);
	enrich_add_end(f->enrich, 3);
	assert_false(f->stream.ended);
	take_all(f);
	assert_string_equal(f->stream.node, "a@b");
	assert_string_equal(f->stream.otp, "27");
	assert_int_equal(f->stream.os_pid, 4711);
	assert_int_equal(f->stream.schedulers, 8);
	assert_true(f->stream.start_ns == 123456789012);
	assert_true(f->stream.start_epoch_ns == 1700000000000000000);
	assert_true(f->stream.duration_ns == 5000);
	assert_true(f->stream.watched == (1ull << EVENT_LONG_GC | 1ull << EVENT_PROCESS_SPAWN));
	assert_true(f->stream.unprobed == 1ull << EVENT_LONG_GC);
	assert_true(f->stream.counters[COUNTER_EVENTS_LOST] == 9);
	assert_true(f->stream.ended);
	assert_int_equal(f->events, 0);
	assert_true(f->stream.refused == 0 && f->stream.unknown == 0);
}

static void long_values_are_cut(void **state)
{
	struct fixture *f = *state;
	char text[2 * EVENT_STREAM_TEXT];

	memset(text, 'n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	enrich_add_meta(f->enrich, "node", text);
	enrich_add_meta(f->enrich, "otp", text);
	take_all(f);
	assert_int_equal(strlen(f->stream.node), EVENT_STREAM_TEXT - 1);
	assert_int_equal(strlen(f->stream.otp), sizeof(f->stream.otp) - 1);
}

static void kinds_by_name(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(names_define_string(f->stream.names, 1, "port_exit", 9), 0);
	assert_int_equal(names_define_string(f->stream.names, 2, "of_the_future", 13), 0);
	take_event(f, 1, 50, 2);
	assert_int_equal(f->events, 1);
	assert_int_equal(f->kind, EVENT_PORT_EXIT);
	assert_true(event_value(&f->last, 1) == 101);
	assert_true(event_value(&f->last, 2) == EVENT_UNKNOWN);
	assert_int_equal(event_value_id(&f->last, 0), 100);
	assert_int_equal(event_value_id(&f->last, 2), 0);
	take_event(f, 2, 60, 0);
	take_event(f, 2, 61, 0);
	take_event(f, 77, 62, 0);
	assert_int_equal(f->events, 1);
	assert_true(f->stream.unknown == 3);
	take_event(f, 1, 40, 0);
	assert_true(f->stream.last_ns == 50);
}

static void words(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(names_define_string(f->stream.names, 1, "out_exiting", 11), 0);
	assert_int_equal(names_define_string(f->stream.names, 2, "outer", 5), 0);
	for (int i = 0; i < 2; i++) { /* looked up, and remembered */
		assert_int_equal(event_stream_word(&f->stream, 1), EVENT_WORD_OUT_EXITING);
		assert_int_equal(event_stream_word(&f->stream, 2), EVENT_WORD_NONE);
		assert_int_equal(event_stream_word(&f->stream, 3), EVENT_WORD_NONE);
	}
}

static void processes_by_name(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(names_define_string(f->stream.names, 1, "<0.80.0>", 8), 0);
	assert_int_equal(names_define_string(f->stream.names, 2, "logger", 6), 0);
	assert_int_equal(names_define_process(f->stream.names, 1, 0x503, 1, 2, 0, 0), 0);
	assert_true(event_stream_is_process(&f->stream, 1, "<0.80.0>"));
	assert_true(event_stream_is_process(&f->stream, 1, "0.80.0"));
	assert_true(event_stream_is_process(&f->stream, 1, "logger"));
	assert_false(event_stream_is_process(&f->stream, 1, "0.80.00"));
	assert_false(event_stream_is_process(&f->stream, 1, ""));
	assert_false(event_stream_is_process(&f->stream, 0, "logger"));
}

static void add_coverage(struct fixture *f, enum coverage_state state, uint32_t share_ppm,
			 uint64_t ts_ns)
{
	const struct rec_raw_coverage raw = {
		.h = {.ts_ns = ts_ns}, .state = state, .share_ppm = share_ppm};

	enrich_add_coverage(f->enrich, EVENT_MESSAGE_SEND, &raw);
}

static void damaged_records(void **state)
{
	struct fixture *f = *state;
	struct rec_coverage c = {.h = {.type = REC_COVERAGE, .size = sizeof(c)},
				 .state = NR_COVERAGE_STATES};

	assert_false(event_stream_take(&f->stream, &c.h, &f->last, &f->kind));
	assert_true(f->stream.refused == 1);
	c.state = COVERAGE_OFF;
	c.share_ppm = 1000001;
	assert_false(event_stream_take(&f->stream, &c.h, &f->last, &f->kind));
	assert_true(f->stream.refused == 2);
	c.share_ppm = 5;
	c.kind = 99; /* no such string: a kind of another version */
	assert_false(event_stream_take(&f->stream, &c.h, &f->last, &f->kind));
	assert_true(f->stream.refused == 2);
	c.h.size = 24;
	assert_false(event_stream_take(&f->stream, &c.h, &f->last, &f->kind));
	assert_true(f->stream.refused == 3);
}

static void add_work(struct fixture *f, enum event_kind kind, enum coverage_state state,
		     uint64_t work, uint64_t missed, uint64_t ts_ns)
{
	const struct rec_raw_coverage raw = {
		.h = {.ts_ns = ts_ns}, .state = state, .work = work, .missed = missed};

	enrich_add_coverage(f->enrich, kind, &raw);
	take_all(f);
}

/* Answers about spans: each is scaled by what was seen in it, not since the start. */
static void shares_of_spans(void **state)
{
	struct fixture *f = *state;
	struct coverage *c = &f->stream.coverage;
	const enum event_kind kind = EVENT_MESSAGE_SEND;

	/* The first is watched all the time, for long. */
	add_work(f, NR_EVENT_KINDS, COVERAGE_ON, 1000000, 0, 1000);
	coverage_mark(c);
	assert_true(coverage_share(c, kind) == 1);
	/* Three quarters of the second are missed. */
	add_work(f, kind, COVERAGE_OFF, 1025000, 0, 1100);
	assert_true(coverage_share(c, kind) == 1);
	add_work(f, NR_EVENT_KINDS, COVERAGE_ON, 1100000, 0, 1500);
	assert_true(coverage_share(c, kind) == 0.25);
	assert_true(coverage_share(c, EVENT_MESSAGE_RECEIVE) == 1);
	coverage_mark(c);
	/* Off until half of the third is done, then on again: nothing of that is reported twice. */
	add_work(f, kind, COVERAGE_ON, 1150000, 125000, 1750);
	add_work(f, NR_EVENT_KINDS, COVERAGE_ON, 1200000, 0, 2000);
	assert_true(coverage_share(c, kind) == 0.5);
	coverage_mark(c);
	add_work(f, NR_EVENT_KINDS, COVERAGE_ON, 1300000, 0, 3000);
	assert_true(coverage_share(c, kind) == 1);
	coverage_mark(c);
	/* The node does next to nothing: by time. */
	add_work(f, kind, COVERAGE_OFF, 1300010, 125000, 3250);
	add_work(f, NR_EVENT_KINDS, COVERAGE_ON, 1300020, 0, 4000);
	assert_true(coverage_share(c, kind) == 0.25);
	coverage_mark(c);
	assert_false(coverage_watched(c, kind));
	assert_true(coverage_watched(c, EVENT_MESSAGE_RECEIVE));
	assert_true(coverage_share(c, kind) == coverage_share_total(c, kind));
	assert_true(coverage_share(c, EVENT_MESSAGE_RECEIVE) == 1);
	/* Less work than was reported before, and less missed: nothing wraps. */
	add_work(f, kind, COVERAGE_ON, 5, 5, 5000);
	assert_true(coverage_share(c, kind) > 0 && coverage_share(c, kind) <= 1);
}

static void what_was_watched(void **state)
{
	struct fixture *f = *state;
	const struct coverage *c = &f->stream.coverage;

	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) == 1);
	assert_false(coverage_gap(c, EVENT_MESSAGE_SEND, 0));
	add_coverage(f, COVERAGE_OFF, 250000, 1000);
	take_all(f);
	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) == 0.25);
	assert_true(coverage_share(c, EVENT_MESSAGE_RECEIVE) == 1);
	assert_true(coverage_share_of(c, 1ull << EVENT_MESSAGE_SEND |
						 1ull << EVENT_MESSAGE_RECEIVE) == 0.25);
	assert_true(coverage_share_of(c, 1ull << EVENT_MESSAGE_RECEIVE) == 1);
	assert_true(coverage_gap(c, EVENT_MESSAGE_SEND, 5000)); /* it is off */
	add_coverage(f, COVERAGE_ON, 200000, 3000);
	take_all(f);
	assert_true(coverage_gap(c, EVENT_MESSAGE_SEND, 2000)); /* it was, after that */
	assert_false(coverage_gap(c, EVENT_MESSAGE_SEND, 3000));
	assert_false(coverage_gap(c, EVENT_MESSAGE_RECEIVE, 0));
	assert_false(coverage_dropped(c, EVENT_MESSAGE_SEND));
	add_coverage(f, COVERAGE_DROPPED, 0, 4000);
	take_all(f);
	assert_true(coverage_dropped(c, EVENT_MESSAGE_SEND));
	assert_false(coverage_failed(c, EVENT_MESSAGE_SEND));
	add_coverage(f, COVERAGE_FAILED, 0, 5000);
	take_all(f);
	assert_true(coverage_dropped(c, EVENT_MESSAGE_SEND));
	assert_true(coverage_failed(c, EVENT_MESSAGE_SEND));
	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(facts_of_a_recording), CASE(long_values_are_cut),
		CASE(kinds_by_name),	    CASE(words),
		CASE(processes_by_name),    CASE(damaged_records),
		CASE(what_was_watched),	    CASE(shares_of_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
