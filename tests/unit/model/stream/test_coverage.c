/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stream/coverage: how far off a count is of which only slices were seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "model/stream/coverage.h"

#define KIND EVENT_MESSAGE_SEND
#define MS   1000000ull

/* A node whose work and events are known: seen in slices only, as the records tell it. */
struct node {
	struct coverage c;
	uint64_t ns, work, missed, events, seen;
	unsigned int seed;
	bool on;
};

static double chance(struct node *n)
{
	n->seed = n->seed * 1103515245u + 12345u;
	return (n->seed >> 8) / (double)(1u << 24);
}

static void start(struct node *n, unsigned int seed)
{
	*n = (struct node){.on = true, .seed = seed};
	coverage_init(&n->c);
	coverage_take_work(&n->c, 0, 0);
}

/* So many ms, each of 1000 steps and of events as that rate says. */
static void live(struct node *n, unsigned int ms, double rate)
{
	for (unsigned int i = 0; i < ms; i++) {
		unsigned int events = (unsigned int)(2 * rate * chance(n));

		n->ns += MS;
		n->work += 1000;
		n->events += events;
		n->missed += n->on ? 0 : 1000;
		n->seen += n->on ? events : 0;
		for (unsigned int k = 0; n->on && k < events; k++)
			coverage_seen(&n->c, KIND);
		if (n->ns % (50 * MS) == 0)
			coverage_take_work(&n->c, n->work, n->ns);
	}
}

static void turn(struct node *n, bool on)
{
	double share = n->work ? 1 - (double)n->missed / (double)n->work : 1;

	coverage_take_work(&n->c, n->work, n->ns);
	coverage_take_missed(&n->c, KIND, n->missed);
	coverage_take(&n->c, KIND, on ? COVERAGE_ON : COVERAGE_OFF, (uint32_t)(share * 1e6), n->ns);
	n->on = on;
}

static void exact_and_unknown(void **state)
{
	struct node n;

	UNUSED(state);
	start(&n, 1);
	live(&n, 500, 10);
	/* Nothing was ever switched. */
	assert_true(coverage_error(&n.c, KIND) == 1);
	/* One slice says nothing of what there is between slices. */
	start(&n, 1);
	live(&n, 3, 10);
	turn(&n, false);
	live(&n, 997, 10);
	turn(&n, false);
	assert_true(coverage_share(&n.c, KIND) < 0.01);
	assert_true(coverage_error(&n.c, KIND) == 0);
	/* Nor do many in which nothing was seen. */
	start(&n, 1);
	for (int i = 0; i < 20; i++) {
		turn(&n, true);
		live(&n, 3, 0);
		turn(&n, false);
		live(&n, 97, 0);
	}
	assert_true(coverage_error(&n.c, KIND) == 0);
	assert_false(coverage_any_seen(&n.c, KIND));
	coverage_seen(&n.c, KIND);
	assert_true(coverage_any_seen(&n.c, KIND));
}

static double sampled_run(struct node *n, unsigned int seed, bool bursts)
{
	double rate = 20;

	start(n, seed);
	for (int i = 0; i < 40; i++) {
		if (bursts)
			rate = chance(n) < 0.3 ? 80 : 4;
		turn(n, true);
		live(n, 4, rate);
		turn(n, false);
		for (int k = 0; k < 6; k++) {
			if (bursts)
				rate = chance(n) < 0.3 ? 80 : 4;
			live(n, 16, rate);
		}
	}
	turn(n, false);
	return coverage_error(&n->c, KIND);
}

/* 95 of 100 is what is promised. */
static void range_holds_the_truth(void **state)
{
	unsigned int within[2] = {0};
	double widest = 0, narrowest = INFINITY;
	struct node n;

	UNUSED(state);
	for (unsigned int run = 0; run < 400; run++) {
		for (int bursts = 0; bursts < 2; bursts++) {
			double factor = sampled_run(&n, run + 1, bursts);
			double off = (double)n.seen / coverage_share(&n.c, KIND) / (double)n.events;

			assert_true(factor > 1);
			within[bursts] += off < factor && off > 1 / factor;
			if (bursts)
				narrowest = MIN(narrowest, factor);
			else
				widest = MAX(widest, factor);
		}
	}
	print_message(
		"of 400 each: %u even, %u in bursts are within; factors up to %.3f, from %.3f\n",
		within[0], within[1], widest, narrowest);
	assert_in_range(within[0], 365, 400);
	assert_in_range(within[1], 365, 400);
	/* What comes in bursts is known less well. */
	assert_true(narrowest > widest);
}

static void of_an_interval(void **state)
{
	struct node n;
	double before;

	UNUSED(state);
	before = sampled_run(&n, 7, true);
	coverage_mark(&n.c);
	assert_true(coverage_error(&n.c, KIND) == 0);
	for (int i = 0; i < 40; i++) {
		turn(&n, true);
		live(&n, 4, 50);
		turn(&n, false);
		live(&n, 96, 50);
	}
	turn(&n, false);
	assert_true(coverage_error(&n.c, KIND) > 1 && coverage_error(&n.c, KIND) < before);
	/* All of it is watched again. */
	turn(&n, true);
	live(&n, 100, 50);
	coverage_take_work(&n.c, n.work, n.ns);
	coverage_mark(&n.c);
	live(&n, 100, 50);
	coverage_take_work(&n.c, n.work, n.ns);
	assert_true(coverage_error(&n.c, KIND) == 1);
}

/* Slices of at least so many ms that end once so many events were seen. */
static bool is_cut_run(unsigned int seed, bool bursts)
{
	struct node n;

	start(&n, seed);
	for (int i = 0; i < 40; i++) {
		unsigned int rate = bursts ? (chance(&n) < 0.3 ? 80 : 0) : 20;
		uint64_t before = n.seen;

		turn(&n, true);
		for (int ms = 0; ms < 40 && n.seen - before < 200; ms++)
			live(&n, 1, rate);
		turn(&n, false);
		live(&n, 100, rate);
	}
	turn(&n, false);
	return coverage_is_cut(&n.c, KIND);
}

static void bursts_cut_slices(void **state)
{
	UNUSED(state);
	for (unsigned int seed = 1; seed <= 100; seed++) {
		assert_true(is_cut_run(seed, true));
		assert_false(is_cut_run(seed, false));
	}
}

/* Five slices, the last followed by a gap that long. */
static double log_error_before(unsigned int after)
{
	struct node n;

	start(&n, 1);
	for (int i = 0; i < 5; i++) {
		turn(&n, true);
		live(&n, 4, 50);
		turn(&n, false);
		live(&n, 10, 50);
	}
	live(&n, after, 50);
	turn(&n, false);
	return log(coverage_error(&n.c, KIND));
}

/* Of one burst, and none for long: they tell no more than one does. */
static void slices_close_together(void **state)
{
	UNUSED(state);
	assert_true(log_error_before(10) > 0);
	assert_true(log_error_before(1000) > 5 * log_error_before(10));
}

/* In millionths a share of 1.5 would be 1 or 2. */
static void small_shares(void **state)
{
	struct node n;

	UNUSED(state);
	start(&n, 1);
	live(&n, 3, 10);
	turn(&n, false);
	live(&n, 2000000 - 3, 0);
	turn(&n, false);
	assert_true(fabs(coverage_share(&n.c, KIND) - 1.5e-6) < 1e-9);
}

/* What records say is not trusted: less missed than before, more than was done. */
static void nonsense(void **state)
{
	struct node n;

	UNUSED(state);
	start(&n, 3);
	coverage_take_work(&n.c, 1000, 10 * MS);
	coverage_take_missed(&n.c, KIND, 5000);
	coverage_seen(&n.c, KIND);
	coverage_take(&n.c, KIND, COVERAGE_ON, 500000, 10 * MS);
	coverage_take_missed(&n.c, KIND, 0);
	coverage_seen(&n.c, KIND);
	coverage_take(&n.c, KIND, COVERAGE_OFF, 500000, 20 * MS);
	coverage_take_missed(&n.c, KIND, UINT64_MAX);
	coverage_take(&n.c, KIND, COVERAGE_ON, 500000, 30 * MS);
	coverage_take(&n.c, KIND, COVERAGE_OFF, 500000, 5 * MS);
	assert_false(isnan(coverage_error(&n.c, KIND)));
	assert_true(coverage_error(&n.c, KIND) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_and_unknown),
		cmocka_unit_test(bursts_cut_slices),
		cmocka_unit_test(slices_close_together),
		cmocka_unit_test(small_shares),
		cmocka_unit_test(range_holds_the_truth),
		cmocka_unit_test(of_an_interval),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
