/* SPDX-License-Identifier: BSD-2-Clause */
/* See keeper.h. */
#include "probe/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/budget.h"
#include "probe/cost_fit.h"

#define INTERVAL_NS 500000000ull
/* A storm of hits is not left to itself for so long: the first looks come sooner, and while
 * something is on all the time there is a glance now and then: whoever has spent several times
 * what an interval allows is looked at at once. */
#define GLANCE_NS    50000000ull
#define GLANCE_TIMES 4
#define BURST_PART   0.25 /* of what is allowed, for one group of probes */
static const uint64_t first_intervals_ns[] = {10000000, 40000000, 150000000};
/* Placing the probes of a group takes about 1 ms.  Perf events take 0.1 s each to remove, and stay
 * hit meanwhile. */
#define LEAST_SLICE_NS	    5000000ull
#define LEAST_SLICE_PERF_NS 100000000ull
#define NO_LIMIT	    1e12
/* The least run time of a program in the last looks counts: at times it is preempted. */
#define RUN_TIMES    8
#define RUN_MIN_HITS 20u
/* With less work than that the part of it says nothing about the part of the events. */
#define LEAST_WORK   10000.0
#define LEAST_OWN_NS 1000000.0
/* Changes that nobody has fetched. */
#define KEEPER_MAX_CHANGES 4096u

/* A group of probes. */
struct unit {
	bool on;
	uint64_t slice_at, slice_ns; /* to come, or running; 0 = none */
	double saved_ns;	     /* of slices that were too short */

	/* Since the last look at it. */
	struct attach_hits seen;
	double run_ns[RUN_TIMES]; /* of one hit, by interval */
	unsigned int nr_runs;
	double ns_per_hit;

	/* While it is on, since it is or since the last interval began. */
	uint64_t window_ns, window_hits;
	double window_own, window_work;
	/* In this interval, without the open window. */
	uint64_t on_ns, hits;
	double own_on_ns;

	double own_on_total, work_on_total;
	uint64_t on_total;
	bool was_off, told_dropped;
};

struct keeper {
	struct attach *attach;
	const struct calibration *cost;
	struct budget budget;
	struct unit units[BUDGET_MAX_SOURCES];
	unsigned int nr;
	bool by_perf;
	clockid_t node_clock;
	uint64_t start_ns, interval_start, interval_end, node_start_ns, node_interval_ns;
	unsigned int looks;
	double spent_ns; /* of the node's CPU, in all */
	/* What the node has done, by its own count: reductions of its schedulers. */
	int os_pid;
	const struct keeper_work *work_counters;
	double work_start, work_now;
	/* Since the last time that all was measured: one stretch of the fit. */
	double stretch_calibrated;
	uint64_t stretch_node_ns;
	struct cost_fit fit;
	double own_start, own_now;
	double interval_spent, interval_own;
	uint64_t hits;
	uint64_t random;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool stop;
	VEC(struct keeper_change) changes;
	size_t next_change;
	struct keeper_cost told;
};

/* ---- what is measured ------------------------------------------------------------------------ */

/* CPU time of the node; what it was before if it is gone. */
static uint64_t node_ns(struct keeper *k)
{
	struct timespec t;

	if (clock_gettime(k->node_clock, &t) == 0)
		k->node_interval_ns = MAX(k->node_interval_ns,
					  (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	return k->node_interval_ns;
}

static double least_run_ns(const struct unit *u)
{
	double least = 0;

	for (unsigned int i = 0; i < MIN(u->nr_runs, RUN_TIMES); i++)
		least = i ? MIN(least, u->run_ns[i]) : u->run_ns[0];
	return least;
}

/* Hits since the last time, and what they cost. */
static void measure_unit(struct keeper *k, unsigned int i)
{
	struct unit *u = &k->units[i];
	struct attach_hits now;
	double run, calibrated;
	uint64_t hits;

	if (!attach_hits(k->attach, i, k->cost, &now) || now.hits <= u->seen.hits)
		return;
	hits = now.hits - u->seen.hits;
	run = (double)(now.run_ns - u->seen.run_ns) / (double)hits;
	if (hits >= RUN_MIN_HITS || !u->nr_runs)
		u->run_ns[u->nr_runs++ % RUN_TIMES] = run;
	calibrated =
		(double)(now.trap_ns - u->seen.trap_ns) + (double)hits * MIN(run, least_run_ns(u));
	u->ns_per_hit = calibrated / (double)hits * cost_fit_factor(&k->fit);
	k->stretch_calibrated += calibrated;
	k->hits += hits;
	u->seen = now;
}

/* Sum of the reductions of all schedulers; what it was if it cannot be read. */
static double work_of(const struct keeper *k)
{
	const struct keeper_work *w = k->work_counters;
	uint64_t values[KEEPER_MAX_COUNTERS];
	struct iovec to = {values, w->nr * sizeof(values[0])}, from[KEEPER_MAX_COUNTERS];
	double sum = 0;

	if (!w->nr)
		return 0;
	for (unsigned int i = 0; i < w->nr; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)w->addrs[i], sizeof(values[0])};
	if (process_vm_readv(k->os_pid, &to, 1, from, w->nr, 0) != (ssize_t)to.iov_len)
		return k->work_now;
	for (unsigned int i = 0; i < w->nr; i++)
		sum += (double)values[i];
	return sum;
}

/* All of them; k->own_now is then the CPU that the node used for itself so far.  Comes right before
 * or after something is switched. */
static void measure(struct keeper *k)
{
	double work = work_of(k), spent, own;
	uint64_t node = node_ns(k);

	k->stretch_calibrated = 0;
	for (unsigned int i = 0; i < k->nr; i++)
		measure_unit(k, i);
	if (work > k->work_now)
		cost_fit_add(&k->fit, work - k->work_now, k->stretch_calibrated,
			     (double)(node - k->stretch_node_ns));
	spent = k->stretch_calibrated * cost_fit_factor(&k->fit);
	k->spent_ns += spent;
	k->interval_spent += spent;
	k->work_now = MAX(work, k->work_now);
	k->stretch_node_ns = node;
	own = (double)(node - k->node_start_ns) - k->spent_ns;
	k->own_now = MAX(own, k->own_now);
}

/* ---- on and off ------------------------------------------------------------------------------ */

static void open_window(struct keeper *k, struct unit *u, double work)
{
	u->window_ns = clock_monotonic_ns();
	u->window_hits = u->seen.hits;
	u->window_own = k->own_now;
	u->window_work = work;
}

/* What was seen since the window was opened belongs to the interval. */
static void close_window(struct keeper *k, struct unit *u, double work)
{
	uint64_t ns = clock_monotonic_ns() - u->window_ns;

	u->on_ns += ns;
	u->on_total += ns;
	u->hits += u->seen.hits - u->window_hits;
	u->own_on_ns += k->own_now - u->window_own;
	u->own_on_total += k->own_now - u->window_own;
	u->work_on_total += work - u->window_work;
}

static uint32_t share_ppm(const struct keeper *k, const struct unit *u)
{
	double own = k->own_now - k->own_start, work = k->work_now - k->work_start, share;

	if (work >= LEAST_WORK)
		share = u->work_on_total / work;
	else if (own >= LEAST_OWN_NS)
		share = u->own_on_total / own;
	else
		share = (double)u->on_total / (double)(clock_monotonic_ns() - k->start_ns + 1);
	return (uint32_t)(1e6 * MIN(share, 1) + 0.5);
}

/* Steps that the node did: reductions, or of 100 ns of its own CPU. */
static double steps(const struct keeper *k, double work, double own)
{
	return MAX(k->work_counters->nr ? work : own / 100, 0);
}

static double steps_now(const struct keeper *k, double work)
{
	return steps(k, MAX(work, k->work_now) - k->work_start, k->own_now - k->own_start);
}

/* While a group was off; an open window is watched up to now. */
static double steps_missed(const struct keeper *k, const struct unit *u, double work)
{
	double on_work = u->work_on_total, on_own = u->own_on_total;

	if (u->on) {
		on_work += MAX(work, k->work_now) - u->window_work;
		on_own += k->own_now - u->window_own;
	}
	return MAX(steps_now(k, work) - steps(k, on_work, on_own), 0);
}

/* Whoever does not fetch changes loses only those that others of the same kinds overtook: of each
 * group at least the last is kept.  Locked. */
static void make_room(struct keeper *k, const struct keeper_change *next)
{
	size_t waiting = k->changes.len - k->next_change, from = k->next_change;
	struct keeper_change *c = k->changes.data;

	if (from && from >= waiting) {
		memmove(c, c + from, waiting * sizeof(*c));
		k->changes.len = waiting;
		k->next_change = from = 0;
	}
	/* Of work alone only the newest matters. */
	if (waiting && !next->kinds && !c[k->changes.len - 1].kinds) {
		k->changes.len--;
		return;
	}
	for (size_t i = from; waiting >= KEEPER_MAX_CHANGES && i < k->changes.len; i++) {
		if (c[i].kinds != next->kinds)
			continue;
		memmove(c + i, c + i + 1, (k->changes.len - i - 1) * sizeof(*c));
		k->changes.len--;
		return;
	}
}

static void push_change(struct keeper *k, const struct keeper_change *change)
{
	pthread_mutex_lock(&k->lock);
	make_room(k, change);
	vec_push(&k->changes, *change);
	pthread_mutex_unlock(&k->lock);
}

/* `work`: as it was read last, at ts_ns. */
static void tell(struct keeper *k, unsigned int i, uint64_t ts_ns, enum coverage_state state,
		 double work)
{
	struct keeper_change change = {
		.ts_ns = ts_ns,
		.kinds = attach_kinds(k->attach, i),
		.state = state,
		.share_ppm = share_ppm(k, &k->units[i]),
		.work = (uint64_t)steps_now(k, work),
		.missed = (uint64_t)steps_missed(k, &k->units[i], work),
	};

	k->units[i].was_off = true;
	k->units[i].told_dropped |= state == COVERAGE_DROPPED;
	push_change(k, &change);
}

/* How far the node is: whoever answers for a span of time must know what was done in it. */
static void tell_work(struct keeper *k)
{
	struct keeper_change change = {
		.ts_ns = clock_monotonic_ns(),
		.state = COVERAGE_ON,
		.share_ppm = 1000000,
		.work = (uint64_t)steps_now(k, work_of(k)),
	};

	push_change(k, &change);
}

/*
 * The node's count of what it did is read next to the moment in which events begin and end to come,
 * while the probes are there: without them it does several times as much.
 */
static void turn_on(struct keeper *k, unsigned int i)
{
	struct unit *u = &k->units[i];
	struct error err;
	double work;

	if (attach_place(k->attach, i, &err)) {
		/* The node is going, or something is short: there will be another slice. */
		log_debug("%s", err.msg);
		u->slice_at = 0;
		return;
	}
	u->on = true;
	measure(k);
	work = work_of(k);
	attach_listen(k->attach, i);
	/* This thread may have waited for a CPU in between. */
	work = (work + work_of(k)) / 2;
	open_window(k, u, work);
	tell(k, i, u->window_ns, COVERAGE_ON, work);
	u->slice_at = u->window_ns;
}

static void turn_off(struct keeper *k, unsigned int i)
{
	struct unit *u = &k->units[i];
	double work = work_of(k);
	uint64_t ts_ns;

	attach_mute(k->attach, i);
	work = (work + work_of(k)) / 2;
	ts_ns = clock_monotonic_ns();
	if (!k->by_perf)
		measure(k);
	attach_off(k->attach, i);
	if (k->by_perf) {
		attach_wait(k->attach);
		measure(k);
	}
	close_window(k, u, work);
	u->on = false;
	u->slice_at = 0;
	tell(k, i, ts_ns, k->budget.sources[i].dropped ? COVERAGE_DROPPED : COVERAGE_OFF,
	     k->work_now);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static double next_random(struct keeper *k)
{
	k->random ^= k->random << 13;
	k->random ^= k->random >> 7;
	k->random ^= k->random << 17;
	return (double)(k->random >> 11) / (double)(1ull << 53);
}

/* The slices of the interval that begins.  With one random number for all of them they lie within
 * each other. */
static void plan_slices(struct keeper *k)
{
	double where = next_random(k), length = (double)(k->interval_end - k->interval_start);
	double least = k->by_perf ? (double)LEAST_SLICE_PERF_NS : (double)LEAST_SLICE_NS;

	for (unsigned int i = 0; i < k->nr; i++) {
		const struct budget_source *s = &k->budget.sources[i];
		struct unit *u = &k->units[i];

		if (s->duty >= 1 || s->dropped) {
			u->saved_ns = 0;
			continue;
		}
		u->saved_ns += s->duty * length;
		if (u->on || u->saved_ns < least)
			continue;
		u->slice_ns = (uint64_t)MIN(u->saved_ns, length);
		u->slice_at =
			k->interval_start + (uint64_t)(where * (length - (double)u->slice_ns));
	}
}

/* What a unit should be at a time. */
static bool should_be_on(const struct keeper *k, unsigned int i, uint64_t now)
{
	const struct budget_source *s = &k->budget.sources[i];
	const struct unit *u = &k->units[i];

	if (s->dropped)
		return false;
	if (s->duty >= 1)
		return true;
	return u->slice_at && now >= u->slice_at && now < u->slice_at + u->slice_ns;
}

/* Does what is due; the time when something is next. */
static uint64_t switch_units(struct keeper *k)
{
	uint64_t next = k->interval_end, now = clock_monotonic_ns();

	for (unsigned int i = 0; i < k->nr; i++) {
		struct unit *u = &k->units[i];

		if (u->on && !should_be_on(k, i, now))
			turn_off(k, i);
	}
	for (unsigned int i = 0; i < k->nr; i++) {
		struct unit *u = &k->units[i];

		/* A slice that was slept through is not lost. */
		if (!u->on && u->slice_at && now >= u->slice_at)
			u->slice_at = now;
		if (!u->on && should_be_on(k, i, now))
			turn_on(k, i);
		if (k->budget.sources[i].duty < 1 && u->slice_at)
			next = MIN(next, u->slice_at + (u->on ? u->slice_ns : 0));
	}
	return next;
}

/* ---- the budget ------------------------------------------------------------------------------ */

static void publish(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->told = (struct keeper_cost){
		.known = true,
		.hits = k->hits,
		.spent_ns = (uint64_t)k->spent_ns,
		.own_ns = (uint64_t)(k->own_now - k->own_start),
	};
	pthread_mutex_unlock(&k->lock);
}

static void begin_interval(struct keeper *k)
{
	unsigned int n = k->looks++;

	k->interval_start = clock_monotonic_ns();
	k->interval_end =
		k->interval_start +
		(n < ARRAY_SIZE(first_intervals_ns) ? first_intervals_ns[n] : INTERVAL_NS);
	k->interval_spent = 0;
	k->interval_own = k->own_now;
	for (unsigned int i = 0; i < k->nr; i++) {
		struct unit *u = &k->units[i];

		u->on_ns = u->hits = 0;
		u->own_on_ns = 0;
		if (u->on)
			open_window(k, u, k->work_now);
	}
	plan_slices(k);
}

/* What all probes may cost in a whole interval. */
static double allowed_ns(const struct keeper *k)
{
	return k->budget.percent / 100 * (double)INTERVAL_NS *
	       MAX(k->budget.own_per_s / 1e9, BUDGET_MIN_BUSY);
}

/* Hits of an interval.  If it was a short one, a few that cost little are no rate: they may have
 * been all of the next half second. */
static uint64_t hits_of(const struct keeper *k, const struct unit *u, uint64_t length)
{
	double cost = (double)u->hits * u->ns_per_hit;

	if (length >= INTERVAL_NS || cost > BURST_PART * allowed_ns(k))
		return u->hits;
	return (uint64_t)((double)u->hits * (double)length / (double)INTERVAL_NS);
}

/* At the end of an interval: what it cost, and what may be on in the next. */
static void look(struct keeper *k, uint64_t node_before)
{
	struct budget_seen seen[BUDGET_MAX_SOURCES] = {0};
	double own = -k->interval_own;
	uint64_t length;

	measure(k);
	length = clock_monotonic_ns() - k->interval_start;
	own += k->own_now;
	for (unsigned int i = 0; i < k->nr; i++) {
		struct unit *u = &k->units[i];

		if (u->on)
			close_window(k, u, k->work_now);
		if (k->budget.sources[i].duty < 1)
			u->saved_ns -= MIN((double)u->on_ns, u->saved_ns);
		k->budget.sources[i].ns_per_hit = u->ns_per_hit;
		seen[i] = (struct budget_seen){.hits = hits_of(k, u, length),
					       .on_ns = u->on_ns,
					       .own_on_ns = (uint64_t)u->own_on_ns};
	}
	budget_update(&k->budget, seen, length, k->node_interval_ns - node_before);
	for (unsigned int i = 0; i < k->nr; i++) {
		if (k->budget.sources[i].dropped && !k->units[i].on && !k->units[i].told_dropped)
			tell(k, i, clock_monotonic_ns(), COVERAGE_DROPPED, k->work_now);
	}
	publish(k);
	log_debug("probes took %.2f %% of %.0f ms of the node's own CPU in %.0f ms, %.2f times "
		  "what was calibrated",
		  own > 0 ? 100 * k->interval_spent / own : 0, own / 1e6, (double)length / 1e6,
		  cost_fit_factor(&k->fit));
}

/* True if the interval must not go on to its end. */
static bool is_storm(struct keeper *k)
{
	measure(k);
	return k->interval_spent > GLANCE_TIMES * allowed_ns(k);
}

static bool watches_all_the_time(const struct keeper *k)
{
	for (unsigned int i = 0; i < k->nr; i++) {
		if (k->units[i].on && k->budget.sources[i].duty >= 1)
			return true;
	}
	return false;
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

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;
	bool goes_on = true;

	while (goes_on) {
		uint64_t node_before = k->node_interval_ns;

		begin_interval(k);
		for (uint64_t next = 0; goes_on && next < k->interval_end;) {
			uint64_t glance = clock_monotonic_ns() + GLANCE_NS;

			next = switch_units(k);
			goes_on = sleep_until(k, MIN(next, glance));
			tell_work(k);
			if (next > glance && watches_all_the_time(k) && is_storm(k))
				break;
			next = MIN(next, glance);
		}
		look(k, node_before);
	}
	return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

int keeper_start(struct keeper **out, struct attach *a, int os_pid, double percent,
		 const struct calibration *cost, const struct keeper_work *work, struct error *err)
{
	struct keeper *k = xcalloc(1, sizeof(*k));
	pthread_condattr_t attr;

	*out = k;
	k->attach = a;
	k->cost = cost;
	k->os_pid = os_pid;
	k->work_counters = work;
	k->nr = MIN(attach_nr_groups(a), BUDGET_MAX_SOURCES);
	k->by_perf = attach_nr_links(a) > 0 && attach_is_perf(a);
	k->start_ns = clock_monotonic_ns();
	k->random = k->start_ns | 1;
	budget_init(&k->budget, percent >= 100 ? NO_LIMIT : percent, k->nr);
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (clock_getcpuclockid(os_pid, &k->node_clock))
		return error_set(err, ERROR_KIND_FAILED, -ESRCH, "process %d has no CPU clock",
				 os_pid);
	k->node_start_ns = k->stretch_node_ns = node_ns(k);
	k->work_start = k->work_now = work_of(k);
	for (unsigned int i = 0; i < k->nr; i++) {
		k->units[i].on = true;
		attach_hits(a, i, cost, &k->units[i].seen);
		open_window(k, &k->units[i], k->work_now);
	}
	k->running = thread_start(&k->thread, keeper_main, k);
	return k->running ? 0
			  : error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				      "cannot start the thread that keeps the budget");
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
		bool dropped = k->budget.sources[i].dropped;

		if (u->was_off)
			tell(k, i, clock_monotonic_ns(),
			     dropped ? COVERAGE_DROPPED
			     : u->on ? COVERAGE_ON
				     : COVERAGE_OFF,
			     k->work_now);
	}
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	keeper_stop(k);
	vec_free(&k->changes);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out)
{
	bool found = false;

	pthread_mutex_lock(&k->lock);
	if (k->next_change < k->changes.len && k->changes.data[k->next_change].ts_ns <= until_ns) {
		*out = k->changes.data[k->next_change++];
		found = true;
	} else if (k->next_change == k->changes.len) {
		k->changes.len = k->next_change = 0;
	}
	pthread_mutex_unlock(&k->lock);
	return found;
}

void keeper_cost(struct keeper *k, struct keeper_cost *out)
{
	pthread_mutex_lock(&k->lock);
	*out = k->told;
	pthread_mutex_unlock(&k->lock);
}
