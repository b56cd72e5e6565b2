/* SPDX-License-Identifier: BSD-2-Clause */
/* What probes took, from hits and clocks as they were read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "probe/limit/hit_account.h"

#define MOST_RUN 5000.0

static struct attach_hits seen;
static struct hit_account_clocks clocks;

static void begin(struct hit_account *t, double most_run_ns)
{
	seen = (struct attach_hits){.hits = 100, .trap_ns = 100 * 600, .run_ns = 100 * 40000};
	clocks = (struct hit_account_clocks){.at_ns = 1000000, .node_ns = 50000000, .work = 5000};
	hit_account_start(t, 2, most_run_ns, &clocks);
	hit_account_skip(t, 0, &seen);
}

/* Hits of 600 ns of trap, each `run_ns` of program. */
static void hit(struct hit_account *t, unsigned int hits, unsigned int run_ns, bool enabled)
{
	seen.hits += hits;
	seen.trap_ns += hits * 600;
	seen.run_ns += (uint64_t)hits * run_ns;
	hit_account_hits(t, 0, &seen, enabled);
}

static struct hit_account_step step(struct hit_account *t, uint64_t ns, uint64_t node_ns)
{
	struct hit_account_step s;

	clocks.at_ns += ns;
	clocks.node_ns += node_ns;
	clocks.work += (double)node_ns / 10;
	hit_account_step(t, &clocks, &s);
	return s;
}

/* What disabled programs run for is no measure of what they run for while their events come. */
static void test_tails(void **state)
{
	struct hit_account t;
	struct hit_account_step s;

	UNUSED(state);
	begin(&t, MOST_RUN);
	for (unsigned int i = 0; i < 20; i++) {
		hit(&t, 1000, 20000, true);
		s = step(&t, 10000000, 25000000);
		assert_true(s.cost_ns[0] == 1000 * 20600.0);
		assert_true(s.tail_ns[0] == 0);
		hit(&t, 500, 150, false);
		s = step(&t, 10000000, 10000000);
		assert_true(s.cost_ns[0] == 0);
		assert_true(s.tail_ns[0] == 500 * 750.0);
	}
	assert_int_equal(t.total.hits, 20 * 1500);
	/* Both in one step. */
	hit(&t, 500, 150, false);
	hit(&t, 1000, 20000, true);
	s = step(&t, 10000000, 25000000);
	assert_true(s.cost_ns[0] == 1000 * 20600.0);
	assert_true(s.tail_ns[0] == 500 * 750.0);
}

/* A program that is preempted for ms at times did not take those. */
static void test_preempted(void **state)
{
	struct hit_account t;
	struct hit_account_step s;

	UNUSED(state);
	begin(&t, MOST_RUN);
	for (unsigned int i = 0; i < 20; i++) {
		hit(&t, 100, i % 3 ? 30000 : 400, true);
		s = step(&t, 10000000, 5000000);
		assert_true(s.cost_ns[0] == 100 * 1000.0);
	}
}

/* Few hits are added up until they show something; until then no program takes too long, unless
 * it walks stacks. */
static void test_few(void **state)
{
	struct hit_account t;
	struct hit_account_step s;

	UNUSED(state);
	begin(&t, MOST_RUN);
	hit(&t, 10, 30000, true);
	s = step(&t, 10000000, 5000000);
	assert_true(s.cost_ns[0] == 10 * (600 + MOST_RUN));
	hit(&t, 10, 30000, true);
	s = step(&t, 10000000, 5000000);
	assert_true(s.cost_ns[0] == 10 * 30600.0);
	hit(&t, 5, 90000, true);
	s = step(&t, 10000000, 5000000);
	assert_true(s.cost_ns[0] == 5 * 30600.0);

	begin(&t, 10 * MOST_RUN);
	hit(&t, 10, 30000, true);
	s = step(&t, 10000000, 5000000);
	assert_true(s.cost_ns[0] == 10 * 30600.0);
}

/* What ebeam needs to switch probes is paid, but is no CPU of the node. */
static void test_switching(void **state)
{
	struct hit_account t;
	struct hit_account_step s;

	UNUSED(state);
	begin(&t, MOST_RUN);
	clocks.switch_ns += 4000000;
	s = step(&t, 10000000, 3000000);
	assert_true(s.spent_ns == 4000000);
	assert_true(s.own_ns == 3000000);
	assert_true(t.total.own_ns == 3000000);
	assert_true(t.total.probes_ns == 0);
	hit(&t, 1000, 400, true);
	clocks.switch_ns += 500000;
	s = step(&t, 10000000, 9000000);
	assert_true(s.spent_ns == 1500000);
	assert_true(s.own_ns == 8000000);
	/* The first ones are nobody's. */
	clocks.switch_ns += 7000000;
	hit_account_forget_switches(&t, clocks.switch_ns);
	s = step(&t, 10000000, 9000000);
	assert_true(s.spent_ns == 0);
	assert_true(t.total.spent_ns == 5500000);
}

/* The node's clock moves in ticks: its own time never falls, and nothing is counted twice. */
static void test_ticks(void **state)
{
	struct hit_account t;
	struct hit_account_step s;

	UNUSED(state);
	begin(&t, MOST_RUN);
	hit(&t, 1000, 400, true);
	s = step(&t, 2000000, 0);
	assert_true(s.own_ns == 0);
	s = step(&t, 2000000, 4000000);
	assert_true(s.own_ns == 3000000);
	assert_true(t.total.own_ns == 3000000);
}

/* It cannot be read, or goes back: what it was. */
static void test_work(void **state)
{
	struct hit_account t;

	UNUSED(state);
	begin(&t, MOST_RUN);
	step(&t, 10000000, 10000);
	assert_true(t.total.work == 1000);
	assert_true(hit_account_work(&t, clocks.work + 5) == 1005);
	assert_true(hit_account_work(&t, -1) == 1000);
	assert_true(hit_account_work(&t, 10) == 1000);
}

/* Stretches with probes and without show what they truly cost; a stretch ends by itself at last. */
static void test_factor(void **state)
{
	struct hit_account t;

	UNUSED(state);
	begin(&t, MOST_RUN);
	/* A unit of work is 100 ns, and one hit of 1000 ns as calibrated, which are 2000. */
	for (unsigned int i = 0; i < 40; i++) {
		struct hit_account_step s;

		hit(&t, 1000, 400, true);
		clocks.work += 1000;
		clocks.node_ns += 2100000;
		clocks.at_ns += 3000000;
		hit_account_step(&t, &clocks, &s);
		hit_account_switches(&t);
		clocks.work += 50000;
		clocks.node_ns += 5000000;
		clocks.at_ns += 600000000;
		hit_account_step(&t, &clocks, &s);
	}
	assert_in_range((unsigned long)(1000 * t.total.factor), 1990, 2010);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_tails),  cmocka_unit_test(test_preempted),
	cmocka_unit_test(test_few),    cmocka_unit_test(test_switching),
	cmocka_unit_test(test_ticks),  cmocka_unit_test(test_work),
	cmocka_unit_test(test_factor),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
