/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model/top/top_frame: rates and histories from readings, what is not known, shares of
 * schedulers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "model/top/top_frame.h"

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9 * (1 + fabs(b)));
}

static void test_ring(void **state)
{
	struct top_ring r = {0};
	float out[TOP_HISTORY];

	(void)state;
	assert_int_equal(top_ring_copy(&r, out, TOP_HISTORY), 0);
	for (int i = 0; i < 300; i++)
		top_ring_push(&r, i == 298 ? (double)NAN : i);
	assert_int_equal(top_ring_copy(&r, out, TOP_HISTORY), TOP_HISTORY);
	assert_near(out[0], 180);
	assert_near(out[TOP_HISTORY - 1], 299);
	assert_true(isnan(out[TOP_HISTORY - 2]));
	assert_int_equal(top_ring_copy(&r, out, 3), 3);
	assert_near(out[0], 297);
}

static void test_unknown(void **state)
{
	struct top_totals t;
	struct top_frame f;

	(void)state;
	top_totals_init(&t);
	top_frame_init(&f);
	top_frame_update(&f, NULL, &t);
	top_frame_update(&f, &t, &t);
	for (size_t i = 0; i < NR_TOP_RATES; i++) {
		assert_true(isnan(f.rates[i]));
		assert_int_equal(f.rates_history[i].nr, 1);
	}
	for (size_t i = 0; i < NR_TOP_LIMITS; i++) {
		assert_int_equal(f.limits[i].count, TOP_UNKNOWN);
		assert_int_equal(f.limits[i].limit, TOP_UNKNOWN);
	}
	assert_int_equal(f.run_queue, TOP_UNKNOWN);
	assert_true(isnan(f.os_cpu));
	top_frame_sum_schedulers(&f);
	assert_true(isnan(f.work[TOP_QUEUE_NORMAL]));
	top_frame_free(&f);
}

static void fill(struct top_totals *t, struct top_queue_totals *queues, uint64_t base)
{
	top_totals_init(t);
	for (size_t i = 0; i < NR_TOP_RATES; i++)
		t->counters[i] = base * (i + 1);
	t->memory[TOP_MEMORY_TOTAL] = base;
	t->limits[TOP_LIMIT_PORTS] = (struct top_limit){.count = 3, .limit = 100};
	t->os_cpu_ns = base * 1000000;
	t->os_rss = 4096;
	queues[0] = (struct top_queue_totals){.number = 1, .length = 4, .reductions = base};
	queues[1] = (struct top_queue_totals){.number = 2, .length = 5, .reductions = 2 * base};
	queues[2] = (struct top_queue_totals){.queue = TOP_QUEUE_DIRTY_CPU, .length = 6};
	queues[3] = (struct top_queue_totals){.queue = TOP_QUEUE_DIRTY_IO, .length = 7};
	t->queues = queues;
	t->nr_queues = 4;
}

static void test_rates(void **state)
{
	struct top_queue_totals qa[4], qb[4];
	struct top_totals a, b;
	struct top_frame f;

	(void)state;
	fill(&a, qa, 1000);
	fill(&b, qb, 1500);
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 2, 1, 1);
	a.read_ns = a.os_ns = 1000000000;
	b.read_ns = 3000000000;
	b.os_ns = 5000000000; /* later than the rest */
	top_frame_update(&f, NULL, &a);
	assert_true(isnan(f.interval_s));
	assert_true(isnan(f.rates[0]));
	assert_int_equal(f.rates_history[0].nr, 0);
	top_frame_update(&f, &a, &b);
	assert_near(f.interval_s, 2);
	for (size_t i = 0; i < NR_TOP_RATES; i++)
		assert_near(f.rates[i], 250 * ((double)i + 1));
	assert_near(f.os_cpu, 12.5); /* 500 ms in 4 s */
	assert_int_equal(f.os_rss, 4096);
	assert_int_equal(f.run_queue, 22);
	assert_int_equal(f.run_queues[TOP_QUEUE_NORMAL], 9);
	assert_int_equal(f.run_queues[TOP_QUEUE_DIRTY_IO], 7);
	assert_int_equal(f.limits[TOP_LIMIT_PORTS].limit, 100);
	assert_int_equal(f.memory_history[TOP_MEMORY_TOTAL].nr, 2);
	assert_near(top_frame_scheduler(&f, THREAD_NORMAL, 2)->reductions, 500);
	assert_int_equal(top_frame_scheduler(&f, THREAD_NORMAL, 2)->run_queue, 5);
	assert_true(isnan(top_frame_scheduler(&f, THREAD_DIRTY_CPU, 1)->reductions));
	assert_int_equal(top_frame_scheduler(&f, THREAD_DIRTY_CPU, 1)->run_queue, 6);
	/* Backwards, and a length that is not known. */
	qa[1].length = TOP_UNKNOWN;
	a.read_ns = 4000000000;
	top_frame_update(&f, &b, &a);
	for (size_t i = 0; i < NR_TOP_RATES; i++)
		assert_true(isnan(f.rates[i]));
	assert_int_equal(f.run_queue, TOP_UNKNOWN);
	assert_int_equal(f.run_queues[TOP_QUEUE_NORMAL], TOP_UNKNOWN);
	assert_int_equal(f.run_queues[TOP_QUEUE_DIRTY_CPU], 6);
	/* No time between two readings gives no rate. */
	b.read_ns = a.read_ns;
	top_frame_update(&f, &a, &b);
	assert_true(isnan(f.rates[0]));
	assert_int_equal(f.frames, 4);
	top_frame_free(&f);
}

static void test_schedulers(void **state)
{
	struct top_frame f;
	struct top_scheduler *s;
	float last;

	(void)state;
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 2, 2, 1);
	assert_int_equal(f.nr_schedulers, 5);
	assert_int_equal(f.schedulers[2].type, THREAD_DIRTY_CPU);
	assert_int_equal(f.schedulers[4].number, 1);
	assert_null(top_frame_scheduler(&f, THREAD_NORMAL, 3));
	for (uint16_t i = 1; i <= 2; i++) {
		s = top_frame_scheduler(&f, THREAD_NORMAL, i);
		memset(s->share, 0, sizeof(s->share));
		s->known = true;
		s->share[TOP_SHARE_ERLANG] = 0.25 * i;
		s->share[TOP_SHARE_BUSY_WAIT] = 0.1;
		s->share[TOP_SHARE_WAITING] = 0.9 - 0.25 * i;
	}
	assert_near(top_scheduler_work(top_frame_scheduler(&f, THREAD_NORMAL, 2)), 0.5);
	assert_true(isnan(top_scheduler_work(top_frame_scheduler(&f, THREAD_DIRTY_IO, 1))));
	top_frame_sum_schedulers(&f);
	assert_near(f.work[TOP_QUEUE_NORMAL], 0.375);
	assert_near(f.shares[TOP_QUEUE_NORMAL][TOP_SHARE_BUSY_WAIT], 0.1);
	assert_true(isnan(f.work[TOP_QUEUE_DIRTY_CPU]));
	top_frame_set_schedulers(&f, 3, 0, 0);
	assert_int_equal(f.nr_schedulers, 3);
	assert_int_equal(top_ring_copy(&f.schedulers[1].history, &last, 1), 1);
	assert_near(last, 0.5); /* those that stay keep it */
	assert_false(f.schedulers[2].known);
	top_frame_forget_samples(&f);
	assert_true(isnan(f.work[TOP_QUEUE_NORMAL]));
	assert_true(isnan(f.schedulers[0].share[TOP_SHARE_ERLANG]));
	top_frame_free(&f);
	assert_int_equal(f.nr_schedulers, 0);
}

/* What the VM counted beyond the samples was no waiting; less than was sampled changes nothing. */
static void test_worked(void **state)
{
	struct top_scheduler s = {.known = true};

	(void)state;
	s.share[TOP_SHARE_NIF] = 0.2;
	s.share[TOP_SHARE_BUSY_WAIT] = 0.1;
	s.share[TOP_SHARE_WAITING] = 0.7;
	top_scheduler_worked(&s, NAN);
	top_scheduler_worked(&s, 0.1);
	assert_near(s.share[TOP_SHARE_BLOCKED], 0);
	top_scheduler_worked(&s, 0.5);
	assert_near(s.share[TOP_SHARE_BLOCKED], 0.3);
	assert_near(s.share[TOP_SHARE_WAITING], 0.4);
	assert_near(top_scheduler_work(&s), 0.5);
	/* Not more than the rest. */
	top_scheduler_worked(&s, 3);
	assert_near(s.share[TOP_SHARE_WAITING], 0);
	assert_near(top_scheduler_work(&s), 0.9);
	s.known = false;
	top_scheduler_worked(&s, 1);
	assert_near(s.share[TOP_SHARE_BLOCKED], 0.7);
}

static void test_offline(void **state)
{
	struct top_frame f;

	(void)state;
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 3, 0, 0);
	for (uint32_t i = 0; i < 3; i++) {
		f.schedulers[i].known = true;
		memset(f.schedulers[i].share, 0, sizeof(f.schedulers[i].share));
		f.schedulers[i].share[i == 0 ? TOP_SHARE_GC : TOP_SHARE_WAITING] = 1;
	}
	f.schedulers[2].offline = true;
	top_frame_sum_schedulers(&f);
	assert_near(f.work[TOP_QUEUE_NORMAL], 0.5);
	assert_near(f.shares[TOP_QUEUE_NORMAL][TOP_SHARE_WAITING], 0.5);
	top_frame_free(&f);
}

static void test_held(void **state)
{
	struct top_frame f;
	struct top_held h;

	(void)state;
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 3, 2, 1);
	for (unsigned int q = 0; q < NR_TOP_QUEUES; q++)
		assert_false(top_frame_held(&f, q, &h));
	f.schedulers[2].offline = true;
	f.schedulers[0].at_least_ns = 5000000000;
	f.schedulers[1].at_least_ns = 500000000; /* it may have had no CPU */
	f.schedulers[3].at_least_ns = 9000000000;
	assert_true(top_frame_held(&f, TOP_QUEUE_NORMAL, &h));
	assert_int_equal(h.nr, 1);
	assert_int_equal(h.of, 2);
	assert_int_equal(h.ns, 5000000000);
	f.schedulers[1].at_least_ns = 1000000000;
	assert_true(top_frame_held(&f, TOP_QUEUE_NORMAL, &h));
	assert_int_equal(h.nr, 2);
	assert_int_equal(h.ns, 1000000000);
	/* A dirty one is for work that lasts: it is none if another one is free. */
	assert_false(top_frame_held(&f, TOP_QUEUE_DIRTY_CPU, &h));
	f.schedulers[4].spare = true;
	assert_true(top_frame_held(&f, TOP_QUEUE_DIRTY_CPU, &h));
	assert_int_equal(h.of, 1);
	f.state = TOP_STOPPED; /* which says it all */
	assert_false(top_frame_held(&f, TOP_QUEUE_NORMAL, &h));
	top_frame_free(&f);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(top_rate_name(TOP_RATE_GC_BYTES), "gc_bytes_reclaimed");
	assert_string_equal(top_limit_name(TOP_LIMIT_ETS), "ets");
	assert_string_equal(top_memory_name(TOP_MEMORY_CODE), "code");
	assert_string_equal(top_share_name(TOP_SHARE_WAITING), "waiting");
	assert_string_equal(top_state_name(TOP_EXITED), "exited");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),	cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_rates),	cmocka_unit_test(test_schedulers),
		cmocka_unit_test(test_worked),	cmocka_unit_test(test_held),
		cmocka_unit_test(test_offline), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
