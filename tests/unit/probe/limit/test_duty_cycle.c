/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is on when, against a simulated kernel and node: a thread that does units of work all the
 * time, each of which hits groups of probes; time passes while probes are placed, and after they
 * were taken away they are still there for a while.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/limit/duty_cycle.h"

#define MS	   1000000.0
#define S	   (1000 * MS)
#define GROUPS	   8
#define MOST_CALLS 100000

enum call { ATTACH, ENABLE, DISABLE, OFF, PAUSE };

struct world {
	/* What it is like. */
	double unit_ns;
	double hits_of_unit[GROUPS];
	double trap_ns, run_ns, disabled_run_ns;
	double place_ns, close_ns;
	int place_rc[GROUPS];
	unsigned int nr_pauses; /* then it is to end; 0 = never */
	bool closes_at_once;	/* links of their own: nobody waits for each other */

	double now, node_ns, work, switch_ns;
	struct {
		bool placed, enabled;
		double closed_at;	/* 0 = is not closing */
		double hits, run, seen; /* seen: of those the ones that gave events */
	} groups[GROUPS];
	/* In truth. */
	double units, spent;

	struct {
		enum call call;
		unsigned int group;
		double at;
	} calls[MOST_CALLS];
	unsigned int nr_calls;
	unsigned int nr_waits; /* of attach(), for what is closing */
	struct {
		unsigned int group;
		struct controller_change change;
		double at;
	} reported[MOST_CALLS];
	unsigned int nr_reported;

	struct duty_cycle cycle;
};

static struct world world; /* too large for a stack; of one test at a time */

static bool is_there(const struct world *w, unsigned int i)
{
	return w->groups[i].placed || w->groups[i].closed_at > w->now;
}

/* The last of what the kernel removes one after the other. */
static double all_closed_at(const struct world *w)
{
	double at = w->now;

	for (unsigned int i = 0; i < GROUPS && !w->closes_at_once; i++)
		at = fmax(at, w->groups[i].closed_at);
	return at;
}

/* In steps in which nothing changes. */
static void advance(struct world *w, double ns)
{
	while (ns > 0) {
		double step = fmin(ns, 0.1 * MS), each = w->unit_ns, units;

		for (unsigned int i = 0; i < GROUPS; i++) {
			if (is_there(w, i))
				each += w->hits_of_unit[i] *
					(w->trap_ns +
					 (w->groups[i].enabled ? w->run_ns : w->disabled_run_ns));
		}
		units = step / each;
		for (unsigned int i = 0; i < GROUPS; i++) {
			double hits = units * w->hits_of_unit[i],
			       run = w->groups[i].enabled ? w->run_ns : w->disabled_run_ns;

			if (!is_there(w, i))
				continue;
			w->groups[i].hits += hits;
			w->groups[i].run += hits * run;
			w->groups[i].seen += w->groups[i].enabled ? hits : 0;
			w->spent += hits * (w->trap_ns + run);
		}
		w->units += units;
		w->work += units;
		w->node_ns += step;
		w->now += step;
		ns -= step;
	}
}

static void called(struct world *w, enum call call, unsigned int group)
{
	assert_true(w->nr_calls < MOST_CALLS);
	w->calls[w->nr_calls].call = call;
	w->calls[w->nr_calls].group = group;
	w->calls[w->nr_calls++].at = w->now;
}

static uint64_t op_now(void *arg)
{
	struct world *w = arg;

	return (uint64_t)w->now;
}

static bool op_pause(void *arg, uint64_t ns)
{
	struct world *w = arg;

	called(w, PAUSE, 0);
	advance(w, (double)ns);
	return !w->nr_pauses || --w->nr_pauses;
}

static int op_attach(void *arg, unsigned int i, struct error *err)
{
	struct world *w = arg;

	called(w, ATTACH, i);
	assert_false(w->groups[i].placed);
	w->nr_waits += all_closed_at(w) > w->now;
	advance(w, all_closed_at(w) - w->now);
	advance(w, w->place_ns);
	w->switch_ns += w->place_ns / 10;
	if (w->place_rc[i])
		return error_set(err, ERROR_KIND_KERNEL, w->place_rc[i], "no");
	w->groups[i].placed = true;
	w->groups[i].enabled = false;
	return 0;
}

static void op_enable(void *arg, unsigned int i)
{
	struct world *w = arg;

	called(w, ENABLE, i);
	assert_true(w->groups[i].placed);
	w->groups[i].enabled = true;
}

static void op_disable(void *arg, unsigned int i)
{
	struct world *w = arg;

	called(w, DISABLE, i);
	w->groups[i].enabled = false;
}

static void op_off(void *arg, unsigned int i)
{
	struct world *w = arg;

	called(w, OFF, i);
	assert_false(w->groups[i].enabled);
	w->groups[i].placed = false;
	w->groups[i].closed_at = all_closed_at(w) + w->close_ns;
}

static bool op_is_closing(void *arg)
{
	struct world *w = arg;

	for (unsigned int i = 0; i < GROUPS; i++) {
		if (w->groups[i].closed_at > w->now)
			return true;
	}
	return false;
}

static bool op_hits(void *arg, unsigned int i, struct attach_hits *out)
{
	struct world *w = arg;

	*out = (struct attach_hits){
		.hits = (uint64_t)w->groups[i].hits,
		.trap_ns = (uint64_t)(w->groups[i].hits) * (uint64_t)w->trap_ns,
		.run_ns = (uint64_t)w->groups[i].run,
	};
	return true;
}

static uint64_t op_node_ns(void *arg)
{
	struct world *w = arg;

	return (uint64_t)w->node_ns;
}

static double op_work(void *arg)
{
	struct world *w = arg;

	return w->work;
}

static void op_clocks(void *arg, struct hit_account_clocks *out)
{
	struct world *w = arg;

	*out = (struct hit_account_clocks){(uint64_t)w->now, (uint64_t)w->node_ns,
					   (uint64_t)w->switch_ns, w->work};
}

static void op_report(void *arg, unsigned int group, struct controller_change *change)
{
	struct world *w = arg;

	assert_true(w->nr_reported < MOST_CALLS);
	if (w->nr_reported)
		assert_true(change->ts_ns >= w->reported[w->nr_reported - 1].change.ts_ns);
	w->reported[w->nr_reported].group = group;
	w->reported[w->nr_reported].change = *change;
	w->reported[w->nr_reported++].at = w->now;
}

static const struct duty_cycle_ops ops = {
	.now = op_now,
	.pause = op_pause,
	.attach = op_attach,
	.enable = op_enable,
	.disable = op_disable,
	.off = op_off,
	.is_closing = op_is_closing,
	.hits = op_hits,
	.clocks = op_clocks,
	.node_ns = op_node_ns,
	.work = op_work,
	.report = op_report,
};

static struct world *world_of(const struct world *like, bool by_perf, bool stacks)
{
	const struct duty_cycle_config config = {
		.nr = GROUPS,
		.by_perf = by_perf,
		.has_work = true,
		.long_runs = stacks,
		.percent = 1,
		.own_per_s = S,
	};
	struct world *w = &world;

	*w = *like;
	w->now = S;
	duty_cycle_init(&w->cycle, &ops, w, &config);
	return w;
}

/* As the thread does, and no step later than it would be. */
static void run(struct world *w, double seconds)
{
	double end = w->now + seconds * S;

	while (w->now < end) {
		duty_cycle_step(&w->cycle);
		advance(w, (double)duty_cycle_next(&w->cycle) - w->now);
	}
}

static unsigned int nr_calls(const struct world *w, enum call call, unsigned int group)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < w->nr_calls; i++)
		nr += w->calls[i].call == call && w->calls[i].group == group;
	return nr;
}

/* When it was first; -1 = never. */
static double first_call(const struct world *w, enum call call, unsigned int group, double since)
{
	for (unsigned int i = 0; i < w->nr_calls; i++) {
		if (w->calls[i].call == call && w->calls[i].group == group &&
		    w->calls[i].at >= since)
			return w->calls[i].at;
	}
	return -1;
}

static const struct controller_change *last_reported(const struct world *w, unsigned int group)
{
	for (unsigned int i = w->nr_reported; i-- > 0;) {
		if (w->reported[i].group == group)
			return &w->reported[i].change;
	}
	return NULL;
}

static void assert_in(double value, double least, double most, const char *what)
{
	if (!(value >= least && value <= most))
		fail_msg("%s: %g, not in %g .. %g", what, value, least, most);
}

/* Three groups of which each is hit by each unit. */
static const struct world storm = {.unit_ns = 900,
				   .hits_of_unit = {1, 1, 1, 0.001},
				   .trap_ns = 600,
				   .run_ns = 200,
				   .disabled_run_ns = 60,
				   .place_ns = 0.7 * MS,
				   .close_ns = 8 * MS,
				   .closes_at_once = true};

/* The budget is kept, in truth: and what the closing line says is that. */
static void keep(struct world *w, double least_percent)
{
	double spent, switched, node, reported_spent, reported_own;
	struct error err;

	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	run(w, 3);
	spent = w->spent;
	switched = w->switch_ns;
	node = w->node_ns;
	reported_spent = w->cycle.account.total.spent_ns;
	reported_own = w->cycle.account.total.own_ns;
	run(w, 60);
	spent = w->spent - spent;
	switched = w->switch_ns - switched;
	node = w->node_ns - node;
	reported_spent = w->cycle.account.total.spent_ns - reported_spent;
	reported_own = w->cycle.account.total.own_ns - reported_own;
	assert_in(100 * (spent + switched) / (node - spent), least_percent, 1.05, "spent");
	assert_in(reported_spent / (spent + switched), 0.95, 1.1, "reported, of what was spent");
	assert_in(reported_own / (node - spent), 0.99, 1.01, "reported, of what the node used");
	assert_true(w->cycle.budget.sources[0].sampled);
	assert_int_equal(w->nr_waits, 0);
}

static void test_kept(void **state)
{
	UNUSED(state);
	keep(world_of(&storm, false, false), 0.6);
}

/* Programs that walk stacks, and are hit for nothing for a while after each window. */
static void test_kept_stacks(void **state)
{
	struct world like = storm;

	UNUSED(state);
	like.run_ns = 25000;
	like.close_ns = 30 * MS;
	keep(world_of(&like, false, true), 0.5);
}

static void test_kept_perf(void **state)
{
	struct world like = storm;

	UNUSED(state);
	like.closes_at_once = false;
	like.close_ns = 100 * MS;
	keep(world_of(&like, true, false), 0);
}

/* --rate is hits, whatever they cost: a few dear ones are all seen, of many as many as it says. */
static void test_rate(void **state)
{
	const struct duty_cycle_config config = {.nr = 1,
						 .has_work = true,
						 .long_runs = true,
						 .percent = 100,
						 .own_per_s = S,
						 .hits_per_s = 10000,
						 .hit_ns = 1500};
	struct world like = {.unit_ns = 4 * MS,
			     .hits_of_unit = {1},
			     .trap_ns = 400,
			     .run_ns = 45000,
			     .place_ns = 0.7 * MS,
			     .close_ns = 8 * MS,
			     .closes_at_once = true};
	struct world *w = world_of(&like, false, false);
	struct error err;
	double seen;

	UNUSED(state);
	duty_cycle_init(&w->cycle, &ops, w, &config);
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	run(w, 10);
	assert_int_equal(nr_calls(w, OFF, 0) + nr_calls(w, DISABLE, 0), 0);
	assert_in(w->groups[0].seen / w->units, 0.999, 1, "seen of a few");

	w->unit_ns = 5000;
	w->run_ns = 100;
	run(w, 10);
	seen = w->groups[0].seen;
	run(w, 20);
	seen = w->groups[0].seen - seen;
	assert_in(seen / 20, 2000, 10500, "hits a second");
	assert_true(w->cycle.budget.sources[0].sampled);
}

/* The share that is reported is that of the events that were seen; also of what the node did. */
static void test_share(void **state)
{
	struct world *w = world_of(&storm, false, false);
	struct error err;

	UNUSED(state);
	duty_cycle_begin(&w->cycle, &err);
	run(w, 30);
	duty_cycle_end(&w->cycle);
	for (unsigned int i = 0; i < 3; i++) {
		const struct controller_change *c = last_reported(w, i);
		double share = w->groups[i].seen / w->units;

		assert_non_null(c);
		assert_in(c->share_ppm / 1e6 / share, 0.97, 1.03, "share");
		assert_in(1 - (double)c->missed / (double)c->work, share * 0.97, share * 1.03,
			  "what was missed");
	}
	assert_null(last_reported(w, 3));
}

/* All that is to go is disabled before the first of it is detached, and reported with that time. */
static void test_disable_first(void **state)
{
	struct world *w = world_of(&storm, false, false);
	unsigned int disabled = 0, checked = 0;
	struct error err;

	UNUSED(state);
	duty_cycle_begin(&w->cycle, &err);
	run(w, 10);
	for (unsigned int i = 0; i < w->nr_calls; i++) {
		bool is_off = w->calls[i].call == OFF;

		if (w->calls[i].call == DISABLE)
			disabled++;
		else if (!is_off)
			assert_int_equal(disabled, 0);
		/* They come in blocks of as many. */
		if (is_off) {
			assert_true(disabled > 0);
			checked += disabled > 1;
			disabled--;
			assert_true(i + 1 == w->nr_calls || disabled == 0 ||
				    w->calls[i + 1].call == OFF);
		}
	}
	assert_true(checked > 0);
	for (unsigned int i = 0; i < w->nr_reported; i++) {
		const struct controller_change *c = &w->reported[i].change;

		if (w->reported[i].group == DUTY_CYCLE_NO_GROUP || c->state != COVERAGE_OFF)
			continue;
		assert_true((double)c->ts_ns ==
			    first_call(w, DISABLE, w->reported[i].group, (double)c->ts_ns));
		assert_true(w->reported[i].at == (double)c->ts_ns);
	}
}

/* Perf events stay for long.  That one is off is reported at once; what is still on is watched all
 * the same; and what is to be on waits until they are gone. */
static void test_perf(void **state)
{
	struct world like = storm, *w;
	double first, second;
	struct error err;

	UNUSED(state);
	like.closes_at_once = false;
	like.close_ns = 500 * MS;
	like.hits_of_unit[0] = like.hits_of_unit[1] = like.hits_of_unit[2] = 0;
	w = world_of(&like, true, false);
	duty_cycle_begin(&w->cycle, &err);
	w->hits_of_unit[0] = 1;
	while (first_call(w, OFF, 0, 0) < 0)
		run(w, 0.001);
	first = first_call(w, OFF, 0, 0);
	assert_int_equal(last_reported(w, 0)->state, COVERAGE_OFF);
	assert_true((double)last_reported(w, 0)->ts_ns <= first);
	/* Another storm begins. */
	w->hits_of_unit[1] = 2;
	run(w, 0.1);
	assert_int_equal(last_reported(w, 1)->state, COVERAGE_OFF);
	second = first_call(w, OFF, 1, 0);
	assert_in(second - first, 0, 100 * MS, "until the other was off");
	assert_true(op_is_closing(w));
	run(w, 10);
	/* No round began before. */
	assert_true(first_call(w, ATTACH, 0, first) > first + 1000 * MS);
	for (unsigned int i = 0; i < w->nr_calls; i++) {
		if (w->calls[i].call != OFF)
			continue;
		for (unsigned int k = i; k < w->nr_calls; k++)
			assert_true(w->calls[k].call != ATTACH ||
				    w->calls[k].at >= w->calls[i].at + 500 * MS);
	}
	assert_int_equal(w->nr_waits, 0);
}

/* Some go before all are placed for the first time: the next is placed once they are gone, and what
 * they take until then is known. */
static void test_begin_perf(void **state)
{
	struct world like = storm, *w;
	double begun, spent;
	struct error err;

	UNUSED(state);
	like.closes_at_once = false;
	like.close_ns = 100 * MS;
	like.place_ns = 5 * MS;
	w = world_of(&like, true, false);
	begun = w->now;
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	assert_true(nr_calls(w, OFF, 0) && nr_calls(w, OFF, 1) && nr_calls(w, OFF, 2));
	assert_true(first_call(w, OFF, 0, 0) < first_call(w, ATTACH, GROUPS - 1, 0));
	assert_int_equal(w->nr_waits, 0);
	assert_in(w->now - begun, 300 * MS, 400 * MS, "until all were gone");
	spent = w->cycle.account.total.spent_ns;
	assert_in(spent / w->spent, 0.95, 1.1, "reported, of what was spent");
	/* It is to end while it waits. */
	like.nr_pauses = 5;
	w = world_of(&like, true, false);
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	assert_true(w->cycle.nr_leaving > 0);
	assert_int_equal(nr_calls(w, ATTACH, 3), 0);
}

/* A thread that comes first lets others run while it places many, and may be ended. */
static void test_pauses(void **state)
{
	struct world like = storm, *w;
	double placing = 0;
	struct error err;

	UNUSED(state);
	w = world_of(&like, false, false);
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	run(w, 10);
	for (unsigned int i = 0; i < w->nr_calls; i++) {
		if (w->calls[i].call == ATTACH)
			placing += like.place_ns;
		else if (w->calls[i].call == PAUSE ||
			 (i && w->calls[i].at > w->calls[i - 1].at + like.place_ns))
			placing = 0;
		assert_true(placing < 3 * MS);
	}
	assert_true(nr_calls(w, PAUSE, 0) >= 2);
	like.nr_pauses = 1;
	w = world_of(&like, false, false);
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), 0);
	assert_int_equal(nr_calls(w, ATTACH, GROUPS - 1), 0);
}

/* What cannot be placed is tried less and less often, then it is dropped and that is reported;
 * others are not kept waiting by it, nor is the budget. */
static void test_failures(void **state)
{
	struct world *w = world_of(&storm, false, false);
	unsigned int before, tries;
	double spent, switched;
	struct error err;

	UNUSED(state);
	duty_cycle_begin(&w->cycle, &err);
	run(w, 5);
	before = nr_calls(w, ATTACH, 0);
	spent = w->cycle.account.total.spent_ns;
	switched = w->switch_ns;
	w->place_rc[0] = -EMFILE;
	run(w, 1);
	assert_true(nr_calls(w, ATTACH, 0) - before <= 4);
	assert_int_equal(last_reported(w, 0)->state, COVERAGE_OFF);
	run(w, 30);
	assert_int_equal(nr_calls(w, ATTACH, 0) - before, 5);
	assert_int_equal(last_reported(w, 0)->state, COVERAGE_FAILED);
	assert_true(w->cycle.account.total.spent_ns - spent >= w->switch_ns - switched);
	/* Others go on. */
	tries = nr_calls(w, ATTACH, 0);
	before = nr_calls(w, ENABLE, 1);
	run(w, 10);
	assert_true(nr_calls(w, ENABLE, 1) - before > 3);
	assert_int_equal(nr_calls(w, ATTACH, 0), tries);
}

/* It works again in time; and a node that is gone is no failure. */
static void test_recovers(void **state)
{
	struct world *w = world_of(&storm, false, false);
	struct error err;
	unsigned int before;

	UNUSED(state);
	duty_cycle_begin(&w->cycle, &err);
	run(w, 5);
	w->place_rc[0] = -EMFILE;
	run(w, 1);
	w->place_rc[0] = 0;
	before = nr_calls(w, ENABLE, 0);
	run(w, 20);
	assert_true(nr_calls(w, ENABLE, 0) > before + 3);
	w->place_rc[0] = w->place_rc[1] = w->place_rc[2] = -ESRCH;
	before = nr_calls(w, ATTACH, 0);
	run(w, 60);
	assert_in(nr_calls(w, ATTACH, 0) - before, 20, 260, "tries");
	assert_int_equal(last_reported(w, 0)->state, COVERAGE_OFF);
}

/* It could not even be placed in the beginning: that ends the run. */
static void test_begin_fails(void **state)
{
	struct world like = storm, *w;
	struct error err;

	UNUSED(state);
	like.place_rc[2] = -EPERM;
	w = world_of(&like, false, false);
	assert_int_equal(duty_cycle_begin(&w->cycle, &err), -EPERM);
	assert_int_equal(w->nr_reported, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_kept),	    cmocka_unit_test(test_kept_stacks),
	cmocka_unit_test(test_kept_perf),   cmocka_unit_test(test_rate),
	cmocka_unit_test(test_share),	    cmocka_unit_test(test_disable_first),
	cmocka_unit_test(test_perf),	    cmocka_unit_test(test_pauses),
	cmocka_unit_test(test_failures),    cmocka_unit_test(test_recovers),
	cmocka_unit_test(test_begin_fails), cmocka_unit_test(test_begin_perf),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
