/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The budget against simulated nodes, whose CPU time, hits and slowing down follow from the duties
 * that it gives them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/budget.h"

#define S 1000000000ull

/* A node whose work comes in units (a message, say) of own CPU time, with hits of each source. */
struct sim {
	double unit_ns;	    /* CPU time of its own for one unit */
	double units_per_s; /* that come from outside; 0 = as many as `cpus` can do */
	double cpus;	    /* threads that run at most */
	double hits_of_unit[8];
	double units, own_ns, spent_ns; /* done so far, in truth */
	double last_units;
	uint32_t seed;
	double noise; /* of the load: 0.2 = up to 20 % more or less in an interval */
};

static double noise(struct sim *m)
{
	m->seed = m->seed * 1103515245u + 12345u;
	return 1 + m->noise * ((m->seed >> 16) % 2001 / 1000.0 - 1);
}

/* One second.  A source with duty d is on from the start of the interval until d of it. */
static bool run(struct sim *m, struct budget *b)
{
	struct budget_seen seen[8] = {0};
	double hits[8] = {0}, own_on[8] = {0}, at = 0, busy = 0, unit_ns = m->unit_ns,
	       factor = noise(m);

	m->last_units = 0;
	while (at < 1) {
		double end = 1, cost = 0, units, own;

		for (unsigned int i = 0; i < b->nr; i++) {
			double duty = b->sources[i].duty;

			if (duty <= at)
				continue;
			end = fmin(end, duty);
			cost += m->hits_of_unit[i] * b->sources[i].ns_per_hit;
		}
		units = (end - at) * m->cpus * (double)S / (unit_ns + cost);
		if (m->units_per_s > 0)
			units = fmin(units, m->units_per_s * (end - at));
		units *= factor;
		own = units * unit_ns;
		for (unsigned int i = 0; i < b->nr; i++) {
			if (b->sources[i].duty <= at)
				continue;
			hits[i] += units * m->hits_of_unit[i];
			own_on[i] += own;
		}
		busy += own + units * cost;
		m->own_ns += own;
		m->spent_ns += units * cost;
		m->units += units;
		m->last_units += units;
		at = end;
	}
	for (unsigned int i = 0; i < b->nr; i++) {
		seen[i].hits = (uint64_t)hits[i];
		seen[i].on_ns = (uint64_t)(b->sources[i].duty * (double)S);
		seen[i].own_on_ns = (uint64_t)own_on[i];
	}
	return budget_update(b, seen, S, (uint64_t)busy);
}

static void assert_near(double value, double want, double tolerance, const char *what)
{
	if (fabs(value - want) > tolerance * fabs(want))
		fail_msg("%s: %g, want %g within %g %%", what, value, want, 100 * tolerance);
}

/* Two processes that send each other messages as fast as they can; three probes on each message. */
static const struct sim ping_pong = {.unit_ns = 900, .cpus = 1, .hits_of_unit = {1, 1, 1, 0.001}};

static void ping_pong_budget(struct budget *b, double percent, double ns_per_hit)
{
	budget_init(b, percent, 4);
	for (unsigned int i = 0; i < 4; i++)
		b->sources[i].ns_per_hit = ns_per_hit;
}

static void test_ping_pong(void **state)
{
	struct sim m = ping_pong;
	struct budget b;
	double duty;

	UNUSED(state);
	ping_pong_budget(&b, 1, 700);
	assert_true(run(&m, &b));
	assert_true(b.spent_percent > 100); /* nobody knew */
	for (unsigned int i = 0; i < 10; i++) {
		run(&m, &b);
		assert_true(b.spent_percent < 1.2);
	}
	duty = b.sources[0].duty;
	assert_true(b.is_sampling);
	for (unsigned int i = 0; i < 50; i++) {
		double own = m.own_ns, spent = m.spent_ns;

		assert_false(run(&m, &b)); /* the load stays: so do the duties */
		assert_true((m.spent_ns - spent) / (m.own_ns - own) <= 0.0101);
	}
	assert_true(b.spent_percent > 0.6); /* and the limit is used */
	assert_true(b.sources[0].duty == duty && b.sources[2].duty == duty);
	/* What is cheap is always on. */
	assert_true(b.sources[3].duty == 1);
	/* Far fewer messages while it is probed, and yet the totals are right. */
	assert_near(b.sources[0].total_hits, m.units, 0.01, "estimated messages");
	assert_near(b.sources[3].total_hits, m.units * 0.001, 0.01, "counted collections");
	assert_near(budget_sampled_percent(&b.sources[0]), 100 * (1 + 60 * duty) / 61, 0.2,
		    "sampled");
}

/* At 9 us a hit, single-stepped, it takes three intervals to see what the node does unprobed. */
static void test_single_stepped(void **state)
{
	struct sim m = ping_pong;
	struct budget b;

	UNUSED(state);
	m.hits_of_unit[1] = m.hits_of_unit[2] = m.hits_of_unit[3] = 0;
	ping_pong_budget(&b, 1.5, 9178);
	for (unsigned int i = 0; i < 20; i++)
		run(&m, &b);
	assert_false(b.sources[0].dropped);
	assert_true(b.sources[0].duty < 0.02);
	assert_true(b.spent_percent <= 1.5);
}

/* With too little for three such, the dearest go, one after the other, until it is enough. */
static void test_drop(void **state)
{
	struct sim m = ping_pong;
	struct budget b;
	unsigned int dropped = 0;

	UNUSED(state);
	ping_pong_budget(&b, 0.25, 700);
	b.sources[1].ns_per_hit = 36712;
	b.sources[2].ns_per_hit = 36000;
	for (unsigned int i = 0; i < 40; i++)
		run(&m, &b);
	assert_true(b.sources[1].dropped);
	assert_true(b.sources[1].duty == 0);
	assert_false(b.sources[0].dropped);
	assert_false(b.sources[3].dropped);
	for (unsigned int i = 0; i < 4; i++)
		dropped += b.sources[i].dropped;
	assert_true(dropped <= 2);
	assert_true(b.spent_percent <= 1.0);
	/* Dropped is dropped, however idle the node gets. */
	m.units_per_s = 1;
	for (unsigned int i = 0; i < 40; i++)
		run(&m, &b);
	assert_true(b.sources[1].dropped && b.sources[1].duty == 0);
	assert_true(b.sources[0].duty == 1);
}

/* One short burst drops nothing. */
static void test_burst(void **state)
{
	struct sim m = {.unit_ns = 900, .cpus = 1, .units_per_s = 1000, .hits_of_unit = {1}};
	struct budget b;

	UNUSED(state);
	budget_init(&b, 1, 1);
	b.sources[0].ns_per_hit = 700;
	assert_false(run(&m, &b));
	m.units_per_s = 0;
	m.hits_of_unit[0] = 100;
	assert_true(run(&m, &b));
	assert_true(b.sources[0].duty < 0.05);
	m.units_per_s = 1000;
	m.hits_of_unit[0] = 1;
	for (unsigned int i = 0; i < 30; i++)
		run(&m, &b);
	assert_false(b.sources[0].dropped);
	assert_true(b.sources[0].duty == 1);
	assert_false(b.is_sampling);
}

/* A node with little to do keeps its probes. */
static void test_idle(void **state)
{
	struct sim m = {.unit_ns = 5000, .cpus = 2, .units_per_s = 500, .hits_of_unit = {1, 2}};
	struct budget b;

	UNUSED(state);
	budget_init(&b, 1, 2);
	b.sources[0].ns_per_hit = b.sources[1].ns_per_hit = 650;
	for (unsigned int i = 0; i < 10; i++)
		assert_false(run(&m, &b));
	assert_true(b.sources[0].duty == 1 && b.sources[1].duty == 1);
	assert_near(b.sources[0].total_hits, 5000, 0.001, "hits");
	assert_int_equal(b.sources[1].counted, 10000);
	assert_true(budget_sampled_percent(&b.sources[0]) == 100);
}

/* Near the limit, with a load that goes up and down: few changes, and on average it holds. */
static void test_noise(void **state)
{
	UNUSED(state);
	for (unsigned int load = 10; load <= 40; load += 2) {
		struct sim m = {.unit_ns = 20000,
				.cpus = 2,
				.units_per_s = load * 1000,
				.hits_of_unit = {0.25, 0.1},
				.noise = 0.2,
				.seed = load};
		struct budget b;
		unsigned int changes = 0;

		budget_init(&b, 1, 2);
		b.sources[0].ns_per_hit = b.sources[1].ns_per_hit = 700;
		for (unsigned int i = 0; i < 10; i++)
			run(&m, &b);
		m.own_ns = m.spent_ns = 0;
		for (unsigned int i = 0; i < 300; i++)
			changes += run(&m, &b);
		if (changes > 15)
			fail_msg("%u changes at %u000 units a second", changes, load);
		assert_true(m.spent_ns / m.own_ns <= 0.0101);
		assert_false(b.sources[0].dropped || b.sources[1].dropped);
	}
}

/* The height of the cut: equal costs for the dear ones, the cheap untouched. */
static void test_cut(void **state)
{
	struct budget_seen seen[4];
	struct budget b;

	UNUSED(state);
	budget_init(&b, 1, 4);
	for (unsigned int i = 0; i < 4; i++) {
		b.sources[i].ns_per_hit = 1000;
		seen[i] = (struct budget_seen){.on_ns = S};
	}
	seen[0].hits = 1000;  /* 1 ms */
	seen[1].hits = 2000;  /* 2 ms */
	seen[2].hits = 40000; /* 40 ms */
	seen[3].hits = 57000; /* 57 ms: 100 ms in all, with 900 ms left for the node */
	assert_true(budget_update(&b, seen, S, 1000 * 1000000));
	/* 9 ms, less headroom: 8.1; without the cheap ones 5.1 for two. */
	assert_true(b.sources[0].duty == 1 && b.sources[1].duty == 1);
	assert_near(b.sources[2].duty, 2.55 / 40, 1e-6, "third");
	assert_near(b.sources[3].duty, 2.55 / 57, 1e-6, "fourth");
}

static void test_edges(void **state)
{
	struct budget_seen seen[BUDGET_MAX_SOURCES + 1];
	struct budget b;

	UNUSED(state);
	budget_init(&b, 1, BUDGET_MAX_SOURCES + 1);
	assert_int_equal(b.nr, BUDGET_MAX_SOURCES);
	memset(seen, 0xff, sizeof(seen));
	assert_false(budget_update(&b, seen, 0, 0));
	/* Absurd numbers: duties stay in range. */
	for (unsigned int i = 0; i < BUDGET_MAX_SOURCES; i++)
		b.sources[i].ns_per_hit = 1e6;
	for (unsigned int round = 0; round < 10; round++) {
		budget_update(&b, seen, S, 0);
		for (unsigned int i = 0; i < b.nr; i++) {
			assert_true(b.sources[i].duty >= 0 && b.sources[i].duty <= 1);
			assert_true(b.sources[i].dropped == (b.sources[i].duty == 0));
		}
	}
	/* Off in an interval: what is known of it stays, and is counted on. */
	budget_init(&b, 1, 1);
	b.sources[0].ns_per_hit = 1;
	seen[0] = (struct budget_seen){.hits = 100, .on_ns = S};
	budget_update(&b, seen, S, S);
	seen[0] = (struct budget_seen){0};
	budget_update(&b, seen, S, S);
	assert_near(b.sources[0].total_hits, 200, 1e-9, "total");
	assert_int_equal(b.sources[0].counted, 100);
	assert_true(budget_sampled_percent(&b.sources[0]) == 50);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ping_pong), cmocka_unit_test(test_single_stepped),
	cmocka_unit_test(test_drop),	  cmocka_unit_test(test_burst),
	cmocka_unit_test(test_idle),	  cmocka_unit_test(test_noise),
	cmocka_unit_test(test_cut),	  cmocka_unit_test(test_edges),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
