/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The budget against simulated nodes, whose CPU time, hits and slowing down follow from which
 * probes it lets be on, ms by ms.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/limit/budget.h"

#define MS	  1000000.0
#define S	  (1000 * MS)
#define WINDOW_NS (5 * MS)
#define MOST	  64

/* A node whose work comes in units (a message, say) of own CPU time, with hits of each source. */
struct sim {
	double unit_ns;	    /* CPU time of its own for one unit */
	double units_per_s; /* that come from outside; 0 = as many as `cpus` can do */
	double cpus;	    /* threads that run at most */
	double hits_of_unit[MOST], ns_per_hit[MOST];
	double tail_ns;		/* for so long probes are hit when they were put off */
	double placing_ns;	/* CPU of ebeam for each source that is put on or off */
	bool unplaceable[MOST]; /* once sampled */
	double noise;		/* of the load: 0.2 = up to 20 % more or less in 100 ms */
	uint32_t seed;

	struct budget b;
	bool on[MOST];
	uint64_t off_ns[MOST];
	bool waits; /* for a CPU: does nothing */
	uint64_t now_ns;
	double factor;
	/* So far, in truth. */
	double own_ns, spent_ns, allowed_ns;
	double on_ns[MOST];
	unsigned int switches, rounds;
	double placed_ns;    /* CPU for that which budget_pass() has not seen */
	double most_over_ns; /* by which spent was most above allowed */
	uint64_t last_over_ns;
};

static void begin(struct sim *m, double percent, unsigned int nr)
{
	m->now_ns = 1000000000u;
	m->factor = 1;
	budget_init(&m->b, percent, nr, WINDOW_NS, 0, m->seed + 1);
	for (unsigned int i = 0; i < nr; i++)
		m->on[i] = true;
}

/* Takes off, then puts on, as the overhead controller does. */
static void act(struct sim *m)
{
	unsigned int switches = m->switches;
	bool was_in = m->b.in_round;

	budget_step(&m->b, m->now_ns);
	for (unsigned int i = 0; i < m->b.nr; i++) {
		if (m->on[i] && !budget_wants(&m->b, i)) {
			m->on[i] = false;
			m->off_ns[i] = m->now_ns;
			m->switches++;
			budget_ended(&m->b, i);
		} else if (!m->on[i] && budget_wants(&m->b, i) && m->unplaceable[i]) {
			budget_ended(&m->b, i);
		} else if (!m->on[i] && budget_wants(&m->b, i)) {
			m->on[i] = true;
			m->switches++;
			budget_began(&m->b, i, m->now_ns);
		}
	}
	m->rounds += !was_in && m->b.in_round;
	m->placed_ns += (m->switches - switches) * m->placing_ns;
}

/* Whether it is hit: 1 = on, 2 = not any more, but still there. */
static int is_hit(const struct sim *m, unsigned int i)
{
	if (m->on[i])
		return 1;
	return m->off_ns[i] && (double)(m->now_ns - m->off_ns[i]) < m->tail_ns ? 2 : 0;
}

/* One ms in which nothing is switched. */
static void pass(struct sim *m)
{
	double cost = 0, units, own, spent, over;

	if (m->noise > 0 && m->now_ns % 100000000u < 1000000u) {
		m->seed = m->seed * 1103515245u + 12345u;
		m->factor = 1 + m->noise * ((m->seed >> 16) % 2001 / 1000.0 - 1);
	}
	for (unsigned int i = 0; i < m->b.nr; i++)
		cost += is_hit(m, i) ? m->hits_of_unit[i] * m->ns_per_hit[i] : 0;
	units = MS * m->cpus / (m->unit_ns + cost);
	if (m->units_per_s > 0)
		units = fmin(units, m->units_per_s * m->factor / 1000);
	units = m->waits ? 0 : units;
	own = units * m->unit_ns;
	spent = units * cost + m->placed_ns;
	m->placed_ns = 0;
	m->own_ns += own;
	m->spent_ns += spent;
	m->allowed_ns += m->b.percent / 100 * fmax(own, BUDGET_MIN_BUSY * MS);
	for (unsigned int i = 0; i < m->b.nr; i++) {
		int hit = is_hit(m, i);

		if (!hit)
			continue;
		m->on_ns[i] += m->on[i] ? MS : 0;
		budget_hits(&m->b, i, units * m->hits_of_unit[i] * m->ns_per_hit[i],
			    m->on[i] ? MS : 0);
	}
	m->now_ns += (uint64_t)MS;
	budget_pass(&m->b, MS, own, spent);
	over = m->spent_ns - m->allowed_ns;
	m->most_over_ns = fmax(m->most_over_ns, over);
	if (over > 0)
		m->last_over_ns = m->now_ns;
}

/* As the overhead controller does. */
static void run(struct sim *m, double seconds)
{
	uint64_t end = m->now_ns + (uint64_t)(seconds * S), glance = m->now_ns;

	while (m->now_ns < end) {
		pass(m);
		if (m->now_ns < budget_next(&m->b, m->now_ns, glance))
			continue;
		act(m);
		glance = m->now_ns + budget_check_ns(&m->b);
	}
}

static void forget(struct sim *m)
{
	m->own_ns = m->spent_ns = m->allowed_ns = m->most_over_ns = 0;
	m->switches = m->rounds = 0;
	m->last_over_ns = 0;
	memset(m->on_ns, 0, sizeof(m->on_ns));
}

static double spent_percent(const struct sim *m)
{
	return 100 * m->spent_ns / m->own_ns;
}

static unsigned int nr_sampled(const struct sim *m)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < m->b.nr; i++)
		nr += m->b.sources[i].sampled;
	return nr;
}

static unsigned int nr_dropped(const struct sim *m)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < m->b.nr; i++)
		nr += m->b.sources[i].dropped;
	return nr;
}

/* Two processes that send each other messages as fast as they can; three probes on each message. */
static const struct sim ping_pong = {.unit_ns = 900,
				     .cpus = 1,
				     .hits_of_unit = {1, 1, 1, 0.001},
				     .ns_per_hit = {700, 700, 700, 700}};

static void assert_in(double value, double least, double most, const char *what)
{
	if (!(value >= least && value <= most))
		fail_msg("%s: %g, not in %g .. %g", what, value, least, most);
}

/* Nobody knew that it is a storm: what its first moment costs is paid back in a second or two, and
 * from then on no moment is over the limit, however long the run. */
static void test_ping_pong(void **state)
{
	struct sim m = ping_pong;
	uint64_t start;

	UNUSED(state);
	begin(&m, 1, 4);
	start = m.now_ns;
	run(&m, 60);
	assert_in(m.most_over_ns, 0, 10 * MS, "the first moment");
	assert_in((double)(m.last_over_ns - start), 0, 1.5 * S, "the last moment over the limit");
	assert_in(spent_percent(&m), 0.8, 1.0, "spent");
	assert_int_equal(nr_sampled(&m), 3);
	assert_int_equal(nr_dropped(&m), 0);
	/* What is cheap was always on; what is dear many times, for a while. */
	assert_true(m.on_ns[3] == 60 * S);
	assert_in(m.rounds, 30, 240, "rounds");
	assert_in(m.on_ns[0], 0.5 * S, 1.2 * S, "windows");
}

/* The same within the time of a short run. */
static void test_short_run(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	begin(&m, 1, 4);
	run(&m, 5);
	assert_in(spent_percent(&m), 0.5, 1.0, "spent");
	assert_true(m.rounds >= 2);
}

/* Many kinds share what there is, each the same. */
static void test_many(void **state)
{
	struct sim m = {.unit_ns = 900, .cpus = 2};

	UNUSED(state);
	for (unsigned int i = 0; i < 12; i++) {
		m.hits_of_unit[i] = i < 8 ? 1 : 0.0001;
		m.ns_per_hit[i] = 500 + 200 * i;
	}
	begin(&m, 1, 12);
	run(&m, 20);
	assert_int_equal(nr_sampled(&m), 8);
	assert_int_equal(nr_dropped(&m), 0);
	assert_in(spent_percent(&m), 0.7, 1.0, "spent");
	/* The dearest are on for the shortest time. */
	for (unsigned int i = 1; i < 8; i++)
		assert_true(m.on_ns[i] <= 1.1 * m.on_ns[i - 1]);
	for (unsigned int i = 8; i < 12; i++)
		assert_true(m.on_ns[i] == 20 * S);
}

/* Many of which each costs next to nothing are too much together, and that is seen. */
static void test_many_cheap(void **state)
{
	struct sim m = {.unit_ns = 900, .cpus = 1};

	UNUSED(state);
	for (unsigned int i = 0; i < 60; i++) {
		m.hits_of_unit[i] = 0.0006;
		m.ns_per_hit[i] = 700;
	}
	begin(&m, 1, 60);
	run(&m, 5);
	forget(&m);
	run(&m, 60);
	assert_in(spent_percent(&m), 0.3, 1.01, "spent");
	assert_true(m.b.credit_ns > -5 * MS);
	assert_int_equal(nr_dropped(&m), 0);
}

/* A few hits in a row are no rate, however deep in debt another is. */
static void test_few(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	m.hits_of_unit[1] = m.hits_of_unit[2] = 0;
	begin(&m, 1, 4);
	/* 0.2 ms, in a moment. */
	for (unsigned int i = 0; i < 200; i++) {
		run(&m, 0.01);
		if (i % 60 == 3)
			budget_hits(&m.b, 1, 0.2 * MS, 10 * MS);
		assert_false(m.b.sources[1].sampled);
	}
	assert_true(m.b.sources[0].sampled);
}

/* How long probes are hit after their windows is known from those that were on, not from others. */
static void test_tail(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	m.tail_ns = 4 * MS;
	m.unplaceable[1] = m.unplaceable[2] = true;
	begin(&m, 1, 4);
	run(&m, 30);
	assert_true(m.b.sources[1].sampled && m.b.sources[2].sampled);
	assert_in(m.b.tail_ns, 3 * MS, 5 * MS, "tail");
	forget(&m);
	run(&m, 60);
	/* And what was saved before. */
	assert_in(spent_percent(&m), 0.7, 1.01, "spent");
}

/* A node that waited for a CPU in the window of a source showed nothing of it, whatever it did in
 * the longer windows of others. */
static void test_waits(void **state)
{
	struct sim m = ping_pong;
	double rate;

	UNUSED(state);
	m.hits_of_unit[1] = m.hits_of_unit[2] = 0.03;
	begin(&m, 1, 4);
	run(&m, 5);
	assert_true(m.b.sources[0].sampled && m.b.sources[1].sampled);
	while (m.b.in_round)
		run(&m, 0.001);
	while (!m.b.in_round)
		run(&m, 0.001);
	rate = m.b.sources[0].rate;
	assert_true(m.b.sources[1].window_ns > 3 * m.b.sources[0].window_ns);
	for (m.waits = true; m.b.in_round; run(&m, 0.001))
		m.waits = budget_wants(&m.b, 0);
	assert_true(m.b.sources[0].rate == rate);
	assert_true(m.b.sources[1].rate > 0);
}

/* Single-stepped, 9 us a hit: a window is hardly anything but probes. */
static void test_single_stepped(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	m.hits_of_unit[1] = m.hits_of_unit[2] = 0;
	m.ns_per_hit[0] = 9178;
	begin(&m, 1, 4);
	run(&m, 30);
	assert_int_equal(nr_sampled(&m), 1);
	assert_in(spent_percent(&m), 0.7, 1.0, "spent");
}

/* With too little for three such, the dearest go, one after the other, until it is enough; it is
 * known from three short windows of each. */
static void test_drop(void **state)
{
	struct sim m = ping_pong;
	double spent;

	UNUSED(state);
	m.hits_of_unit[3] = 0.00001;
	begin(&m, 0.02, 4);
	run(&m, 10);
	assert_true(nr_dropped(&m) >= 1);
	assert_false(m.b.sources[3].dropped || m.b.sources[3].sampled);
	assert_in(m.most_over_ns, 0, 30 * MS, "windows on credit");
	/* Whatever is left keeps the limit, and the debt is paid. */
	run(&m, 200);
	forget(&m);
	run(&m, 200);
	assert_in(spent_percent(&m), 0, 0.0202, "spent");
	/* Dropped is dropped, however idle the node gets; the others come back. */
	m.units_per_s = 1;
	run(&m, 30);
	spent = m.spent_ns;
	assert_true(nr_dropped(&m) >= 1);
	assert_int_equal(nr_sampled(&m), 0);
	run(&m, 1);
	assert_true(m.spent_ns - spent < 0.01 * MS);
}

/* One short burst drops nothing, and all is on again soon after. */
static void test_burst(void **state)
{
	struct sim m = {.unit_ns = 900,
			.cpus = 1,
			.units_per_s = 1000,
			.hits_of_unit = {1, 0.1},
			.ns_per_hit = {700, 700}};
	uint64_t before;

	UNUSED(state);
	begin(&m, 1, 2);
	run(&m, 5);
	assert_int_equal(nr_sampled(&m), 0);
	assert_int_equal(m.switches, 0);
	m.units_per_s = 0;
	run(&m, 0.5);
	assert_true(m.b.sources[0].sampled);
	m.units_per_s = 1000;
	before = m.now_ns;
	while (nr_sampled(&m) && m.now_ns - before < (uint64_t)(60 * S))
		run(&m, 0.1);
	/* First the debt, at the pace of an idle node; then a few rounds. */
	assert_in((double)(m.now_ns - before), 0, 40 * S, "until all is on again");
	assert_int_equal(nr_dropped(&m), 0);
}

/* When the node goes on with other work, a storm is forgotten in a few rounds. */
static void test_storm_ends(void **state)
{
	struct sim m = ping_pong;
	uint64_t before;

	UNUSED(state);
	begin(&m, 1, 4);
	run(&m, 5);
	assert_int_equal(nr_sampled(&m), 3);
	m.hits_of_unit[0] = m.hits_of_unit[1] = m.hits_of_unit[2] = 0.001;
	before = m.now_ns;
	while (nr_sampled(&m) && m.now_ns - before < (uint64_t)(60 * S))
		run(&m, 0.1);
	assert_in((double)(m.now_ns - before), 0, 6 * S, "until all is on again");
}

/* A node with little to do keeps its probes. */
/* A node that does little: attaching takes as much as hits in short windows. */
static void test_long_windows(void **state)
{
	double on_ns[2];

	UNUSED(state);
	for (int longer = 0; longer < 2; longer++) {
		struct sim m = {.unit_ns = 12000, .units_per_s = 1600, .cpus = 1};

		m.hits_of_unit[0] = 1;
		m.ns_per_hit[0] = 20000;
		m.placing_ns = 0.4 * MS;
		begin(&m, 1, 1);
		m.b.long_windows = longer;
		run(&m, 10);
		forget(&m);
		run(&m, 60);
		on_ns[longer] = m.on_ns[0];
		assert_in(m.spent_ns / m.allowed_ns, 0.7, 1.1, "spent");
		assert_in(m.rounds, 15, 120, "rounds");
	}
	assert_in(on_ns[1] / on_ns[0], 1.7, 20, "longer");
}

static void test_idle(void **state)
{
	struct sim m = {.unit_ns = 5000,
			.cpus = 2,
			.units_per_s = 500,
			.hits_of_unit = {1, 1.2},
			.ns_per_hit = {650, 650}};

	UNUSED(state);
	begin(&m, 1, 2);
	run(&m, 30);
	assert_int_equal(m.switches, 0);
	assert_true(m.b.credit_ns >= 0);
}

/* Near the limit, with a load that goes up and down: few changes, and it holds. */
static void test_noise(void **state)
{
	UNUSED(state);
	for (unsigned int load = 10; load <= 40; load += 3) {
		struct sim m = {.unit_ns = 20000,
				.cpus = 2,
				.units_per_s = load * 1000,
				.hits_of_unit = {0.25, 0.1},
				.ns_per_hit = {700, 700},
				.noise = 0.2,
				.seed = load};
		unsigned int changes = 0, before = 0;

		begin(&m, 1, 2);
		run(&m, 10);
		forget(&m);
		for (unsigned int i = 0; i < 1200; i++) {
			run(&m, 0.1);
			changes += nr_sampled(&m) != before;
			before = nr_sampled(&m);
		}
		if (changes > 24)
			fail_msg("%u changes in 120 s at %u000 units a second", changes, load);
		assert_in(spent_percent(&m), 0.1, 1.01, "spent");
		assert_int_equal(nr_dropped(&m), 0);
	}
}

/* Storms that come and go: at no time is more spent than was allowed and saved, but for what each
 * costs until it is noticed, and that is paid back. */
static void test_storms(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	begin(&m, 1, 4);
	for (unsigned int i = 0; i < 40; i++) {
		m.units_per_s = i % 2 ? 0 : 50;
		run(&m, 3);
	}
	assert_in(m.most_over_ns, 0, 12 * MS, "over the limit");
	assert_in(m.spent_ns / m.allowed_ns, 0, 1, "of what was allowed");
}

/* No limit: nothing is ever switched. */
static void test_no_limit(void **state)
{
	struct sim m = ping_pong;

	UNUSED(state);
	begin(&m, 1e12, 4);
	run(&m, 5);
	assert_int_equal(m.switches, 0);
}

/* A source that cannot be put on, absurd numbers, more sources than there can be. */
static void test_edges(void **state)
{
	struct sim m = ping_pong;
	struct budget b;

	UNUSED(state);
	budget_init(&b, 1, BUDGET_MAX_SOURCES + 1, WINDOW_NS, 1e9, 0);
	assert_int_equal(b.nr, BUDGET_MAX_SOURCES);
	for (unsigned int round = 1; round < 100; round++) {
		for (unsigned int i = 0; i < b.nr; i++)
			budget_hits(&b, i, 1e15, round % 3 ? MS : 0);
		budget_pass(&b, MS, round % 2 ? 0 : 1e15, 1e18);
		budget_step(&b, round * 1000000000ull);
		for (unsigned int i = 0; i < b.nr; i++) {
			assert_true(isfinite(b.sources[i].rate) && b.sources[i].rate >= 0);
			if (b.in_round && budget_wants(&b, i))
				budget_ended(&b, i);
		}
	}
	budget_pass(&b, 0, 1, 1);
	assert_true(isfinite(b.credit_ns) && isfinite(b.own_per_s));
	/* It fails to be placed in each second round: others are not kept waiting. */
	begin(&m, 1, 4);
	for (unsigned int i = 0; i < 2000; i++) {
		run(&m, 0.01);
		if (i % 2 && m.b.in_round && m.b.sources[0].sampled && !m.on[0])
			budget_ended(&m.b, 0);
	}
	assert_in(m.on_ns[1], 0.1 * S, S, "windows");
}

/* Of what the node uses for itself, or of one core: what is limited to `percent` says no more. */
static void test_share(void **state)
{
	bool of_core;

	UNUSED(state);
	assert_true(fabs(budget_share(5 * MS, 500 * MS, S, &of_core) - 1) < 1e-9);
	assert_false(of_core);
	assert_true(fabs(budget_share(S, S, S, &of_core) - 100) < 1e-9);
	assert_true(fabs(budget_share(MS, BUDGET_MIN_BUSY * S, S, &of_core) - 1) < 1e-9);
	assert_false(of_core);
	assert_true(fabs(budget_share(MS, 99 * MS, S, &of_core) - 0.1) < 1e-9);
	assert_true(of_core);
	assert_true(fabs(budget_share(MS, 0, S, NULL) - 0.1) < 1e-9);
	assert_true(isnan(budget_share(0, 0, 0, NULL)));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ping_pong),  cmocka_unit_test(test_short_run),
	cmocka_unit_test(test_many),	   cmocka_unit_test(test_single_stepped),
	cmocka_unit_test(test_drop),	   cmocka_unit_test(test_burst),
	cmocka_unit_test(test_storm_ends), cmocka_unit_test(test_idle),
	cmocka_unit_test(test_noise),	   cmocka_unit_test(test_storms),
	cmocka_unit_test(test_no_limit),   cmocka_unit_test(test_edges),
	cmocka_unit_test(test_many_cheap), cmocka_unit_test(test_few),
	cmocka_unit_test(test_tail),	   cmocka_unit_test(test_waits),
	cmocka_unit_test(test_share),	   cmocka_unit_test(test_long_windows),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
