/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/event_rates: events by second, of what was watched all of the time, or some of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/stats/event_rates.h"
#include "model/top/top_frame.h"

#define BIT(kind) (1ull << EVENT_##kind)
#define MS	  1000000ull

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-6 * (1 + fabs(b)));
}

static struct event_rate row(struct event_rates *r, enum event_kind kind)
{
	const struct event_rate *found = event_rates_row(r, kind);

	assert_non_null(found);
	return *found;
}

static void take(struct event_rates *r, enum event_kind kind, unsigned int times, unsigned int nr,
		 const uint64_t *values)
{
	struct event ev = {.type = REC_EVENT, .u.vm = {.nr_values = nr}};

	memcpy(ev.u.vm.values, values, nr * sizeof(*values));
	while (times--)
		event_rates_take(r, kind, &ev);
}

/* Numbers of fields: { to, size } and { reclaimed, heap, old heap, duration }. */
static const uint64_t message[] = {0, 5}, unknown_size[] = {0, EVENT_UNKNOWN},
		      gc[] = {100, 1, 1, 2000000}, gc_unknown[] = {EVENT_UNKNOWN, 1, 1, 5000000};

static void test_watched(void **state)
{
	struct event_rates r;
	struct event_rate m;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(MESSAGE_SEND) | BIT(GC_MINOR_END) | BIT(GC_MAJOR_END));
	assert_int_equal(r.nr, 3);
	m = row(&r, EVENT_MESSAGE_SEND);
	assert_int_equal(m.state, EVENT_RATE_WAITING);
	assert_true(isnan(m.rate) && isnan(m.total) && isnan(m.share));
	assert_true(isnan(event_rates_messages(&r)));

	take(&r, EVENT_MESSAGE_SEND, 30, 2, message);
	take(&r, EVENT_MESSAGE_SEND, 10, 2, unknown_size);
	take(&r, EVENT_GC_MINOR_END, 3, 4, gc);
	take(&r, EVENT_GC_MINOR_END, 1, 4, gc_unknown);
	take(&r, EVENT_GC_MAJOR_END, 1, 2, gc); /* of a version without durations */
	event_rates_step(&r, &c, 0.5);
	m = row(&r, EVENT_MESSAGE_SEND);
	assert_int_equal(m.state, EVENT_RATE_ON);
	assert_string_equal(m.name, "message_send");
	assert_string_equal(m.group, "message");
	assert_near(m.rate, 80);
	assert_near(m.bytes, 30 * 5 * 8 / 0.5);
	assert_near(m.total, 40);
	assert_near(m.share, 1);
	assert_int_equal(m.seen, 40);
	assert_int_equal(m.lost, EVENT_UNKNOWN);
	assert_true(isnan(m.time) && isnan(m.cost));
	m = row(&r, EVENT_GC_MINOR_END);
	assert_near(m.rate, 8);
	assert_near(m.time, 0.011 / 0.5);
	assert_int_equal(m.longest_ns, 5000000);
	assert_near(m.bytes, 300 * 8 / 0.5);
	assert_near(row(&r, EVENT_GC_MAJOR_END).rate, 2);
	assert_near(event_rates_messages(&r), 80);

	/* The next interval begins anew; what is since the beginning does not. */
	take(&r, EVENT_GC_MINOR_END, 1, 4, gc);
	event_rates_step(&r, &c, 1);
	m = row(&r, EVENT_MESSAGE_SEND);
	assert_near(m.rate, 0);
	assert_near(m.total, 40);
	m = row(&r, EVENT_GC_MINOR_END);
	assert_near(m.rate, 1);
	assert_int_equal(m.longest_ns, 5000000);
	assert_near(m.total, 5);
}

static void test_lost(void **state)
{
	struct event_rates r;
	struct event_rate m;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(MESSAGE_SEND));
	take(&r, EVENT_MESSAGE_SEND, 30, 2, message);
	event_rates_lost(&r, EVENT_MESSAGE_SEND, 10);
	event_rates_lost(&r, EVENT_MESSAGE_SEND, 15);
	event_rates_lost(&r, EVENT_MESSAGE_SEND, 12); /* counters only grow */
	event_rates_step(&r, &c, 1);
	m = row(&r, EVENT_MESSAGE_SEND);
	assert_near(m.rate, 45);
	assert_near(m.bytes, 45 * 40);
	assert_near(m.total, 45);
	assert_int_equal(m.seen, 30);
	assert_int_equal(m.lost, 15);
	event_rates_lost(&r, EVENT_MESSAGE_SEND, 15);
	event_rates_step(&r, &c, 1);
	assert_near(row(&r, EVENT_MESSAGE_SEND).rate, 0);
	assert_int_equal(row(&r, EVENT_MESSAGE_SEND).lost, 15);
}

/* On for a tenth of the work of the first second, not at all in the second, then dropped. */
static void test_sampled(void **state)
{
	const enum event_kind kind = EVENT_MESSAGE_QUEUED;
	struct event_rates r;
	struct event_rate m;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(MESSAGE_QUEUED));
	take(&r, kind, 50, 2, message);
	coverage_take_work(&c, 100000, 100 * MS);
	coverage_take_missed(&c, kind, 0);
	coverage_take(&c, kind, COVERAGE_OFF, 1000000, 100 * MS);
	coverage_take_work(&c, 1000000, 1000 * MS);
	event_rates_step(&r, &c, 1);
	m = row(&r, kind);
	assert_int_equal(m.state, EVENT_RATE_SAMPLED);
	assert_near(m.share, 0.1);
	assert_near(m.rate, 500);
	assert_near(m.total, 500);
	assert_int_equal(m.seen, 50);
	assert_near(event_rates_messages(&r), 500);

	coverage_take_work(&c, 2000000, 2000 * MS);
	event_rates_step(&r, &c, 1);
	m = row(&r, kind);
	assert_int_equal(m.state, EVENT_RATE_SAMPLED);
	assert_near(m.rate, 500);
	assert_near(m.total, 500);

	/* A window again, of which a part is counted before it is reported that it is open: the
	 * second without counts as this one. */
	take(&r, kind, 100, 2, message);
	event_rates_step(&r, &c, 0);
	assert_near(row(&r, kind).rate, 500);
	coverage_take_work(&c, 2500000, 2500 * MS);
	coverage_take_missed(&c, kind, 2400000);
	coverage_take(&c, kind, COVERAGE_ON, 40000, 2500 * MS);
	take(&r, kind, 200, 2, message);
	coverage_take_work(&c, 3000000, 3000 * MS);
	event_rates_step(&r, &c, 1);
	m = row(&r, kind);
	assert_near(m.share, 0.5);
	assert_near(m.rate, 600);
	assert_near(m.total, 500 + 600 * 2);

	coverage_take_missed(&c, kind, 2400000);
	coverage_take(&c, kind, COVERAGE_DROPPED, 40000, 3000 * MS);
	event_rates_step(&r, &c, 1);
	m = row(&r, kind);
	assert_int_equal(m.state, EVENT_RATE_DROPPED);
	assert_true(isnan(m.rate) && isnan(m.bytes));
	assert_near(m.total, 1700);
	assert_string_equal(m.why, "costs more than --max-overhead even in short sampling windows");
}

/* What was watched of the interval in which a kind is dropped counts; why it is, is reported. */
static void test_dropped(void **state)
{
	struct event_rates r;
	struct event_rate m;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(MESSAGE_QUEUED) | BIT(GC_MINOR_END));
	take(&r, EVENT_MESSAGE_QUEUED, 50, 2, message);
	take(&r, EVENT_GC_MINOR_END, 10, 4, gc);
	coverage_take_work(&c, 500000, 500 * MS);
	coverage_take_missed(&c, EVENT_MESSAGE_QUEUED, 0);
	coverage_take_missed(&c, EVENT_GC_MINOR_END, 0);
	coverage_take(&c, EVENT_MESSAGE_QUEUED, COVERAGE_DROPPED, 1000000, 500 * MS);
	coverage_take(&c, EVENT_GC_MINOR_END, COVERAGE_FAILED, 1000000, 500 * MS);
	coverage_take_work(&c, 1000000, 1000 * MS);
	for (unsigned int i = 2; i < 5; i++) {
		event_rates_step(&r, &c, 1);
		m = row(&r, EVENT_MESSAGE_QUEUED);
		assert_int_equal(m.state, EVENT_RATE_DROPPED);
		assert_string_equal(
			m.why, "costs more than --max-overhead even in short sampling windows");
		assert_true(isnan(m.rate) && isnan(m.bytes));
		assert_near(m.share, 0);
		assert_near(m.total, 100);
		assert_int_equal(m.seen, 50);
		m = row(&r, EVENT_GC_MINOR_END);
		assert_int_equal(m.state, EVENT_RATE_DROPPED);
		assert_string_equal(m.why, "its probes could not be placed again");
		assert_true(isnan(m.time));
		assert_near(m.total, 20);
		coverage_take_work(&c, i * 1000000ull, i * 1000 * MS);
	}
}

/* A capture may hold any number. */
static void test_greatest(void **state)
{
	static const uint64_t huge[] = {0, UINT64_MAX - 1},
			      whole[] = {1ull << 61, 1, 1, 1ull << 63};
	const double most = 18446744073709551615.0;
	struct event_rates r;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(MESSAGE_SEND) | BIT(GC_MINOR_END));
	take(&r, EVENT_MESSAGE_SEND, 1, 2, huge);
	take(&r, EVENT_MESSAGE_SEND, 1, 2, message);
	take(&r, EVENT_GC_MINOR_END, 3, 4, whole);
	event_rates_step(&r, &c, 1);
	assert_near(row(&r, EVENT_MESSAGE_SEND).bytes, most);
	assert_near(row(&r, EVENT_GC_MINOR_END).bytes, most);
	assert_near(row(&r, EVENT_GC_MINOR_END).time, most / 1e9);
	assert_true(row(&r, EVENT_GC_MINOR_END).longest_ns == 1ull << 63);
}

static void test_forget(void **state)
{
	struct event_rates r;
	struct event_rate m;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(&r, BIT(GC_MINOR_END));
	take(&r, EVENT_GC_MINOR_END, 10, 4, gc);
	event_rates_step(&r, &c, 100);
	event_rates_forget(&r);
	m = row(&r, EVENT_GC_MINOR_END);
	assert_true(isnan(m.rate) && isnan(m.bytes) && isnan(m.time));
	assert_near(m.total, 10);
	assert_int_equal(m.state, EVENT_RATE_ON);
	take(&r, EVENT_GC_MINOR_END, 3, 4, gc);
	event_rates_step(&r, &c, 1);
	m = row(&r, EVENT_GC_MINOR_END);
	assert_near(m.rate, 3);
	assert_near(m.total, 13);
}

static void test_missing(void **state)
{
	char why[400];
	struct event_rates r;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	event_rates_init(&r, BIT(PORT_OPEN) | BIT(PORT_EXIT));
	event_rates_miss(&r, EVENT_PORT_OPEN, "no symbol erts_open_driver");
	event_rates_miss(&r, EVENT_PORT_EXIT, why);
	event_rates_miss(&r, EVENT_GC_MAJOR_END, why); /* has no row */
	event_rates_step(&r, &c, 1);
	assert_int_equal(row(&r, EVENT_PORT_OPEN).state, EVENT_RATE_MISSING);
	assert_string_equal(row(&r, EVENT_PORT_OPEN).why, "no symbol erts_open_driver");
	assert_int_equal(strlen(row(&r, EVENT_PORT_EXIT).why), 127);
	assert_true(isnan(row(&r, EVENT_PORT_OPEN).rate));
	assert_null(event_rates_row(&r, EVENT_GC_MAJOR_END));
}

static void test_add(void **state)
{
	const uint64_t all = (1ull << NR_EVENT_KINDS) - 1;
	struct event_rates r;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	event_rates_init(&r, 0);
	assert_int_equal(r.nr, 0);
	event_rates_add(&r, BIT(PROCESS_SPAWN));
	take(&r, EVENT_PROCESS_SPAWN, 7, 0, message);
	event_rates_add(&r, all);
	event_rates_add(&r, all);
	assert_int_equal(r.nr, NR_EVENT_KINDS);
	event_rates_step(&r, &c, 1);
	assert_near(row(&r, EVENT_PROCESS_SPAWN).rate, 7);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		assert_string_equal(row(&r, (enum event_kind)kind).name, event_rows[kind].name);
}

/* Counted elsewhere: sums since watching began, of which each interval gets what is new. */
static void test_counted(void **state)
{
	struct event_count n = {.produced = 5, .size = 10, .ns = 3000, .longest_ns = 2000};
	struct event_rates r;
	struct coverage c;

	UNUSED(state);
	coverage_init(&c);
	event_rates_init(&r, BIT(GC_MINOR_END) | BIT(PROCESS_SPAWN));
	event_rates_count(&r, EVENT_GC_MINOR_END, &n);
	event_rates_count(&r, EVENT_PROCESS_SPAWN, &n);
	event_rates_step(&r, &c, 1);
	assert_near(row(&r, EVENT_GC_MINOR_END).rate, 5);
	assert_near(row(&r, EVENT_GC_MINOR_END).bytes, 80);
	assert_near(row(&r, EVENT_GC_MINOR_END).time, 3e-6);
	assert_int_equal(row(&r, EVENT_GC_MINOR_END).longest_ns, 2000);
	assert_true(isnan(row(&r, EVENT_PROCESS_SPAWN).bytes));
	n.produced = 25;
	n.size = 12;
	event_rates_count(&r, EVENT_GC_MINOR_END, &n);
	event_rates_step(&r, &c, 2);
	assert_near(row(&r, EVENT_GC_MINOR_END).rate, 10);
	assert_near(row(&r, EVENT_GC_MINOR_END).bytes, 8);
	assert_near(row(&r, EVENT_GC_MINOR_END).time, 0);
	assert_near(row(&r, EVENT_GC_MINOR_END).total, 25);
	assert_int_equal(row(&r, EVENT_GC_MINOR_END).seen, 25);
	/* Nobody adds up: that is not nothing. */
	r.no_sums = true;
	event_rates_count(&r, EVENT_GC_MINOR_END, &n);
	event_rates_step(&r, &c, 1);
	assert_near(row(&r, EVENT_GC_MINOR_END).rate, 0);
	assert_true(isnan(row(&r, EVENT_GC_MINOR_END).bytes));
	assert_true(isnan(row(&r, EVENT_GC_MINOR_END).time));
}

/* What the header learns of it: only what the counters of the node do not tell. */
static void test_frame(void **state)
{
	struct top_totals before, now;
	struct top_frame f;
	float last;

	UNUSED(state);
	top_frame_init(&f);
	top_totals_init(&before);
	top_totals_init(&now);
	before.counters[TOP_RATE_GCS] = 0;
	now.counters[TOP_RATE_GCS] = 10;
	before.read_ns = 1000 * MS;
	now.read_ns = 2000 * MS;
	top_frame_update(&f, NULL, &before);
	top_frame_update(&f, &before, &now);
	top_frame_learn_rate(&f, TOP_RATE_GCS, 99);
	top_frame_learn_rate(&f, TOP_RATE_MESSAGES, 1234);
	top_frame_learn_rate(&f, TOP_RATE_PORT_IN, NAN);
	assert_near(f.rates[TOP_RATE_GCS], 10);
	assert_near(f.rates[TOP_RATE_MESSAGES], 1234);
	assert_int_equal(f.rates_history[TOP_RATE_MESSAGES].nr, 1);
	assert_int_equal(top_ring_copy(&f.rates_history[TOP_RATE_MESSAGES], &last, 1), 1);
	assert_near((double)last, 1234);
	assert_true(isnan(f.rates[TOP_RATE_PORT_IN]));
	top_frame_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watched), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_sampled), cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_missing), cmocka_unit_test(test_greatest),
		cmocka_unit_test(test_forget),	cmocka_unit_test(test_add),
		cmocka_unit_test(test_frame),	cmocka_unit_test(test_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
