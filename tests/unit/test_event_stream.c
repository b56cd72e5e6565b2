/* SPDX-License-Identifier: BSD-2-Clause */
/* model/event_stream and model/coverage: records that the enricher made, and foreign ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/enrich.h"
#include "model/event_stream.h"

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

	assert_int_equal(enrich_open(&f->enrich, NULL, NULL), 0);
	assert_int_equal(event_stream_open(&f->stream), 0);
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
	enrich_add_meta(f->enrich, "something else", "x");
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

static void what_was_watched(void **state)
{
	struct fixture *f = *state;
	const struct coverage *c = &f->stream.coverage;

	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) == 1);
	assert_false(coverage_gap(c, EVENT_MESSAGE_SEND, 0));
	enrich_add_coverage(f->enrich, EVENT_MESSAGE_SEND, COVERAGE_OFF, 250000, 1000);
	take_all(f);
	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) == 0.25);
	assert_true(coverage_share(c, EVENT_MESSAGE_RECEIVE) == 1);
	assert_true(coverage_share_of(c, 1ull << EVENT_MESSAGE_SEND |
						 1ull << EVENT_MESSAGE_RECEIVE) == 0.25);
	assert_true(coverage_share_of(c, 1ull << EVENT_MESSAGE_RECEIVE) == 1);
	assert_true(coverage_gap(c, EVENT_MESSAGE_SEND, 5000)); /* it is off */
	enrich_add_coverage(f->enrich, EVENT_MESSAGE_SEND, COVERAGE_ON, 200000, 3000);
	take_all(f);
	assert_true(coverage_gap(c, EVENT_MESSAGE_SEND, 2000)); /* it was, after that */
	assert_false(coverage_gap(c, EVENT_MESSAGE_SEND, 3000));
	assert_false(coverage_gap(c, EVENT_MESSAGE_RECEIVE, 0));
	assert_false(coverage_dropped(c, EVENT_MESSAGE_SEND));
	enrich_add_coverage(f->enrich, EVENT_MESSAGE_SEND, COVERAGE_DROPPED, 0, 4000);
	take_all(f);
	assert_true(coverage_dropped(c, EVENT_MESSAGE_SEND));
	assert_true(coverage_share(c, EVENT_MESSAGE_SEND) > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(facts_of_a_recording), CASE(long_values_are_cut),
		CASE(kinds_by_name),	    CASE(words),
		CASE(processes_by_name),    CASE(damaged_records),
		CASE(what_was_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
