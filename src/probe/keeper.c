/* SPDX-License-Identifier: BSD-2-Clause */
/* See keeper.h. */
#include "probe/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/budget.h"
#include "probe/keeper_changes.h"
#include "probe/meter.h"

/* Nothing is left to itself for longer, if the node used enough CPU meanwhile to matter. */
#define GLANCE_NS 10000000ull
/* A thread that comes first never spins. */
#define SHORTEST_SLEEP_NS 200000ull
/* Whoever answers for a span of time must know what was done in it. */
#define TELL_WORK_NS 50000000ull
#define TELL_LOG_NS  500000000ull
/* Placing the probes of a round takes some ms.  Perf events take 0.1 s each to remove, and stay hit
 * meanwhile. */
#define LEAST_SLICE_NS	    3000000.0
#define LEAST_SLICE_PERF_NS 100000000.0
/* For so long after it was put off a group may still be hit: the kernel waits for all CPUs. */
#define TAIL_NS	   300000000ull
#define PLACING_NS 2000000ull /* between two looks while probes are placed */
#define NO_LIMIT   1e12
/* With less work than that the part of it says nothing about the part of the events. */
#define LEAST_WORK   10000.0
#define LEAST_OWN_NS 1000000.0

/* A group of probes. */
struct unit {
	bool on;
	uint64_t placed_ns, off_ns; /* the last time */
	/* While it is on. */
	uint64_t window_ns;
	double window_own, window_work;
	/* Without the open window. */
	double own_on_total, work_on_total;
	uint64_t on_total;
	bool was_off, told_dropped;
};

struct keeper {
	struct attach *attach;
	struct meter *meter;
	struct budget budget;
	double percent;
	struct unit units[BUDGET_MAX_SOURCES];
	unsigned int nr;
	bool by_perf, has_work;
	uint64_t start_ns, taken_ns, told_work_ns, told_log_ns;
	double log_spent, log_own; /* then */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool stop, begun;
	int begin_rc;
	struct error begin_error;
	struct keeper_cost told;
	struct keeper_changes changes; /* has its own lock */
};

/* ---- what is measured ------------------------------------------------------------------------ */

static void publish(struct keeper *k)
{
	const struct meter_total *t = meter_total(k->meter);

	pthread_mutex_lock(&k->lock);
	k->told = (struct keeper_cost){
		.known = true,
		.hits = t->hits,
		.spent_ns = (uint64_t)t->spent_ns,
		.own_ns = (uint64_t)t->own_ns,
	};
	pthread_mutex_unlock(&k->lock);
}

static void measure(struct keeper *k)
{
	bool live[BUDGET_MAX_SOURCES];
	uint64_t before = k->taken_ns;
	struct meter_step step;

	k->taken_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < k->nr; i++)
		live[i] = k->units[i].on || k->taken_ns - k->units[i].off_ns < TAIL_NS;
	meter_take(k->meter, live, &step);
	for (unsigned int i = 0; i < k->nr; i++) {
		const struct unit *u = &k->units[i];

		if (live[i])
			budget_hits(&k->budget, i, step.cost_ns[i],
				    u->on ? (double)(k->taken_ns - MAX(u->placed_ns, before)) : 0);
	}
	budget_pass(&k->budget, step.wall_ns, step.own_ns, step.spent_ns);
	publish(k);
}

/* Probes cannot have taken more than all the CPU that the node used. */
static bool is_worth_measuring(const struct keeper *k, uint64_t now)
{
	return k->budget.in_round || (k->budget.due_ns && now >= k->budget.due_ns) ||
	       now - k->taken_ns >= TELL_LOG_NS ||
	       meter_node_since(k->meter) > MAX(k->budget.credit_ns, 0) / 2;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void open_window(struct keeper *k, struct unit *u, double work)
{
	u->window_ns = clock_monotonic_ns();
	u->window_own = meter_total(k->meter)->own_ns;
	u->window_work = work;
}

static void close_window(struct keeper *k, struct unit *u, double work)
{
	u->on_total += clock_monotonic_ns() - u->window_ns;
	u->own_on_total += meter_total(k->meter)->own_ns - u->window_own;
	u->work_on_total += work - u->window_work;
}

static uint32_t share_ppm(const struct keeper *k, const struct unit *u)
{
	const struct meter_total *t = meter_total(k->meter);
	double share;

	if (t->work >= LEAST_WORK)
		share = u->work_on_total / t->work;
	else if (t->own_ns >= LEAST_OWN_NS)
		share = u->own_on_total / t->own_ns;
	else
		share = (double)u->on_total / (double)(clock_monotonic_ns() - k->start_ns + 1);
	return (uint32_t)(1e6 * MIN(share, 1) + 0.5);
}

/* Steps that the node did: reductions, or of 100 ns of its own CPU. */
static double steps(const struct keeper *k, double work, double own)
{
	return MAX(k->has_work ? work : own / 100, 0);
}

/* While a group was off; an open window is watched up to now. */
static double steps_missed(const struct keeper *k, const struct unit *u, double work)
{
	double on_work = u->work_on_total, on_own = u->own_on_total,
	       own = meter_total(k->meter)->own_ns;

	if (u->on) {
		on_work += work - u->window_work;
		on_own += own - u->window_own;
	}
	return MAX(steps(k, work, own) - steps(k, on_work, on_own), 0);
}

/* `work`: as it was read last, at ts_ns. */
static void tell(struct keeper *k, unsigned int i, uint64_t ts_ns, double work)
{
	struct unit *u = &k->units[i];
	bool dropped = k->budget.sources[i].dropped && !u->on;
	const struct keeper_change change = {
		.ts_ns = ts_ns,
		.kinds = attach_kinds(k->attach, i),
		.state = u->on	   ? COVERAGE_ON
			 : dropped ? COVERAGE_DROPPED
				   : COVERAGE_OFF,
		.share_ppm = share_ppm(k, u),
		.work = (uint64_t)steps(k, work, meter_total(k->meter)->own_ns),
		.missed = (uint64_t)steps_missed(k, u, work),
	};

	u->was_off = true;
	u->told_dropped |= dropped;
	keeper_changes_push(&k->changes, &change);
}

/* How far the node is. */
static void tell_work(struct keeper *k, uint64_t now)
{
	const struct keeper_change change = {
		.ts_ns = now,
		.state = COVERAGE_ON,
		.share_ppm = 1000000,
		.work = (uint64_t)steps(k, meter_work(k->meter), meter_total(k->meter)->own_ns),
	};

	if (now - k->told_work_ns < TELL_WORK_NS)
		return;
	k->told_work_ns = now;
	keeper_changes_push(&k->changes, &change);
}

static void tell_log(struct keeper *k, uint64_t now)
{
	const struct meter_total *t = meter_total(k->meter);
	double spent = t->spent_ns - k->log_spent, own = t->own_ns - k->log_own;

	if (now - k->told_log_ns < TELL_LOG_NS)
		return;
	log_debug("probes took %.3f ms of %.0f ms of the node's own CPU in %.0f ms, %.2f times "
		  "what was calibrated; %.3f ms are left, a round costs %.3f ms (tail %.1f ms)",
		  spent / 1e6, own / 1e6, (double)(now - k->told_log_ns) / 1e6, t->factor,
		  k->budget.credit_ns / 1e6, k->budget.round_cost_ns / 1e6,
		  k->budget.tail_ns / 1e6);
	k->told_log_ns = now;
	k->log_spent = t->spent_ns;
	k->log_own = t->own_ns;
}

/* ---- on and off ------------------------------------------------------------------------------ */

/*
 * The node's count of what it did is read next to the moment in which events begin and end to come,
 * while the probes are there: without them it does several times as much.
 */
static int turn_on(struct keeper *k, unsigned int i, struct error *err)
{
	struct unit *u = &k->units[i];
	double work;
	int rc = attach_place(k->attach, i, err);

	if (rc) {
		budget_ended(&k->budget, i);
		return rc;
	}
	u->on = true;
	u->placed_ns = clock_monotonic_ns();
	work = meter_work(k->meter);
	attach_listen(k->attach, i);
	/* This thread may have waited for a CPU in between. */
	work = (work + meter_work(k->meter)) / 2;
	open_window(k, u, work);
	budget_began(&k->budget, i, u->window_ns);
	if (u->was_off)
		tell(k, i, u->window_ns, work);
	return 0;
}

static void turn_off(struct keeper *k, unsigned int i)
{
	struct unit *u = &k->units[i];
	double work = meter_work(k->meter);
	uint64_t ts_ns;

	attach_mute(k->attach, i);
	work = (work + meter_work(k->meter)) / 2;
	ts_ns = clock_monotonic_ns();
	attach_off(k->attach, i);
	close_window(k, u, work);
	u->on = false;
	u->off_ns = clock_monotonic_ns();
	if (k->by_perf) {
		attach_wait(k->attach);
		measure(k);
		u->off_ns = clock_monotonic_ns();
	}
	budget_ended(&k->budget, i);
	tell(k, i, ts_ns, work);
}

/* Of those that should be on and are not, the one whose slice is longest: slices lie within each
 * other.  nr = none. */
static unsigned int next_to_turn_on(const struct keeper *k)
{
	unsigned int found = k->nr;

	for (unsigned int i = 0; i < k->nr; i++) {
		const struct budget_source *s = &k->budget.sources[i];

		if (k->units[i].on || !budget_wants(&k->budget, i))
			continue;
		if (found == k->nr || !s->sampled ||
		    s->slice_ns > k->budget.sources[found].slice_ns)
			found = i;
	}
	return found;
}

/* Of those that should be off and are not, the dearest. */
static unsigned int next_to_turn_off(const struct keeper *k)
{
	unsigned int found = k->nr;

	for (unsigned int i = 0; i < k->nr; i++) {
		if (k->units[i].on && !budget_wants(&k->budget, i) &&
		    (found == k->nr || k->budget.sources[i].rate > k->budget.sources[found].rate))
			found = i;
	}
	return found;
}

/* After it was measured. */
static void turn_off_due(struct keeper *k)
{
	unsigned int i;

	budget_step(&k->budget, clock_monotonic_ns());
	while ((i = next_to_turn_off(k)) < k->nr)
		turn_off(k, i);
	for (i = 0; i < k->nr; i++) {
		if (k->budget.sources[i].dropped && !k->units[i].told_dropped)
			tell(k, i, clock_monotonic_ns(), meter_total(k->meter)->work);
	}
}

/* Measures, and brings all that is due. */
static void act(struct keeper *k)
{
	struct error err;

	measure(k);
	if (k->budget.in_round || k->budget.due_ns)
		meter_switches(k->meter);
	turn_off_due(k);
	for (unsigned int tries = 0; tries < k->nr; tries++) {
		unsigned int i = next_to_turn_on(k);

		if (i == k->nr)
			break;
		/* The node is going, or something is short: there will be another slice. */
		if (turn_on(k, i, &err)) {
			log_debug("%s", err.msg);
			break;
		}
		/* What is on may have to go before all are. */
		if (clock_monotonic_ns() - k->taken_ns >= PLACING_NS) {
			measure(k);
			turn_off_due(k);
		}
	}
}

static bool sleep_until(struct keeper *k, uint64_t when)
{
	struct timespec t = {(time_t)(when / 1000000000u), (long)(when % 1000000000u)};
	bool stop;

	pthread_mutex_lock(&k->lock);
	while (!k->stop && clock_monotonic_ns() < when)
		pthread_cond_timedwait(&k->wake, &k->lock, &t);
	stop = k->stop;
	pthread_mutex_unlock(&k->lock);
	return !stop;
}

/* Whoever limits must not wait behind those it limits; it is mostly asleep.  The threads that it
 * starts are usual ones. */
static void come_first(void)
{
	struct sched_param first = {0};

	if (sched_getparam(0, &first) == 0)
		first.sched_priority++;
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first))
		log_debug("the budget is kept less promptly: %s", error_text(errno));
}

/* One after the other, and those that cost too much at once go again before the next comes. */
static int place_all(struct keeper *k, struct error *err)
{
	for (unsigned int i = 0; i < k->nr; i++) {
		int rc = turn_on(k, i, err);

		if (rc)
			return rc;
		if (i + 1 < k->nr && clock_monotonic_ns() - k->taken_ns < PLACING_NS)
			continue;
		meter_forget_switches(k->meter);
		measure(k);
		turn_off_due(k);
	}
	meter_forget_switches(k->meter);
	return 0;
}

/* keeper_start() waits for that. */
static int begin(struct keeper *k)
{
	struct error err = {0};
	int rc = place_all(k, &err);

	pthread_mutex_lock(&k->lock);
	k->begun = true;
	k->begin_rc = rc;
	k->begin_error = err;
	pthread_cond_broadcast(&k->wake);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;
	uint64_t now;

	come_first();
	if (begin(k))
		return NULL;

	do {
		now = clock_monotonic_ns();
		if (is_worth_measuring(k, now))
			act(k);
		now = clock_monotonic_ns();
		tell_work(k, now);
		tell_log(k, now);
	} while (sleep_until(
		k, MAX(budget_next(&k->budget, now, now + GLANCE_NS), now + SHORTEST_SLEEP_NS)));
	measure(k);
	return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

int keeper_open(struct keeper **out, struct attach *a, int os_pid, double percent,
		const struct calibration *cost, struct error *err)
{
	struct keeper *k = xcalloc(1, sizeof(*k));
	pthread_condattr_t attr;
	int rc;

	*out = NULL;
	k->attach = a;
	k->nr = MIN(attach_nr_groups(a), BUDGET_MAX_SOURCES);
	k->by_perf = attach_nr_links(a) > 0 && attach_is_perf(a);
	k->percent = percent >= 100 ? NO_LIMIT : percent;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	keeper_changes_init(&k->changes);
	rc = meter_open(&k->meter, a, os_pid, cost, err);
	if (rc) {
		keeper_close(k);
		return rc;
	}
	*out = k;
	return 0;
}

int keeper_start(struct keeper *k, const struct keeper_work *work, struct error *err)
{
	double least = k->by_perf ? LEAST_SLICE_PERF_NS : LEAST_SLICE_NS, own_per_s;

	own_per_s = meter_start(k->meter, work);
	k->has_work = work->nr > 0;
	k->start_ns = k->taken_ns = k->told_work_ns = k->told_log_ns = clock_monotonic_ns();
	budget_init(&k->budget, k->percent, k->nr, least, own_per_s, k->start_ns);
	k->running = thread_start(&k->thread, keeper_main, k);
	if (!k->running)
		return error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				 "cannot start the thread that keeps the budget");
	pthread_mutex_lock(&k->lock);
	while (!k->begun)
		pthread_cond_wait(&k->wake, &k->lock);
	pthread_mutex_unlock(&k->lock);
	if (k->begin_rc)
		*err = k->begin_error;
	return k->begin_rc;
}

void keeper_stop(struct keeper *k)
{
	if (!k || !k->running)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	k->running = false;
	/* The last word of each that was ever off. */
	for (unsigned int i = 0; i < k->nr; i++) {
		struct unit *u = &k->units[i];

		if (u->was_off && u->on) {
			close_window(k, u, meter_total(k->meter)->work);
			open_window(k, u, meter_total(k->meter)->work);
		}
		if (u->was_off)
			tell(k, i, clock_monotonic_ns(), meter_total(k->meter)->work);
	}
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	keeper_stop(k);
	meter_close(k->meter);
	keeper_changes_free(&k->changes);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out)
{
	return keeper_changes_next(&k->changes, until_ns, out);
}

void keeper_cost(struct keeper *k, struct keeper_cost *out)
{
	pthread_mutex_lock(&k->lock);
	*out = k->told;
	pthread_mutex_unlock(&k->lock);
}
