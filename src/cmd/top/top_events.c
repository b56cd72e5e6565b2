/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See top_events.h.  The thread owns node, probes and stream; what it shares is protected by
 * `lock`.  It takes the lock for each record, and not while it drains and sorts the rings, which
 * takes long in a storm of events: so the thread that shows the rates does not wait for that.
 */
#include "cmd/top/top_events.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "cmd/run/event_costs.h"
#include "cmd/run/live.h"
#include "cmd/run/target.h"
#include "event/catalogue.h"
#include "model/stream/event_stream.h"
#include "probe/site/sources.h"

#define DRAIN_EVERY_NS 50000000u
/* A drain takes no longer than that.  The thread then sleeps as long as the drain took, or longer,
 * so that it is busy for half of the time at most. */
#define DRAIN_MAX_NS 25000000u
/* How often the thread checks whether the other thread, which waits for the lock, has got it. */
#define GIVE_WAY_NS 20000
/* Time constant of the average of costs: older ones weigh less. */
#define COST_FADES_S 10.0
/* Rates of a shorter interval would be too inexact. */
#define STEP_LEAST_S 0.1
/* How much older than now the end of an interval may be: events come SESSION_WINDOW_NS later, and
 * rings are drained only now and then. */
#define STEP_LAG_NS 500000000u

#define KIND(name) (1ull << EVENT_##name)
/*
 * The kinds that are shown are rare, so that they cost little, or of interest to many (messages,
 * collections).  Left out are the most frequent ones (scheduling, copying, receive, calls of
 * drivers), which `ebeam events` has.
 */
uint64_t top_events_kinds(void)
{
	uint64_t kinds =
		event_group_kinds(EVENT_GROUP_PROCESS) | event_group_kinds(EVENT_GROUP_MESSAGE) |
		event_group_kinds(EVENT_GROUP_GC) | event_group_kinds(EVENT_GROUP_PORT) |
		event_group_kinds(EVENT_GROUP_SIGNAL) | event_group_kinds(EVENT_GROUP_HEAP) |
		event_group_kinds(EVENT_GROUP_ALLOC) | event_group_kinds(EVENT_GROUP_DIST);

	return kinds & ~(KIND(MESSAGE_RECEIVE) | KIND(GC_MINOR_START) | KIND(GC_MAJOR_START) |
			 KIND(PORT_SCHEDULED));
}

struct top_events {
	int os_pid;
	const struct options *opt; /* borrowed */
	bool silent;
	uint64_t kinds;

	/* Used by the thread that shows the rates. */
	pthread_t thread;
	bool running; /* the thread is to be joined */
	struct event_rates shown;
	uint64_t stepped_ns; /* end of the last interval, in the clock of events */
	uint64_t forget_ns;  /* rates of an interval that began before are dropped; 0 = none are */
	double cost;	     /* percent, as of the last step; NAN = not known */
	struct event_costs costs;

	bool wait; /* the other thread waits for the lock; atomic */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Protected by the lock. */
	enum top_events_state state;
	bool stop, done;
	uint64_t watching_ns;	/* when all probes were attached; earlier events do not count */
	bool counting;		/* the first drain after watching_ns is done */
	uint64_t seen_until_ns; /* all events before that time were taken */
	struct event_rates rates;
	struct event_count before[NR_EVENT_KINDS]; /* counts at watching_ns */
	/* Of probes that were detached, and of those that are attached. */
	uint64_t counters_before[NR_COUNTERS], counters[NR_COUNTERS];
	char unlimited[256];
	struct error error;

	/* Used by the thread; but while state is TOP_EVENTS_ON the stream is protected by the lock,
	 * and the other thread reads counts and costs from the session. */
	struct beam_node *node;
	struct source_plan plan;
	struct event_stream stream;
	struct live live;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void report_missing(struct top_events *e)
{
	char why[SOURCE_REASON_SIZE];

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!e->plan.missing[kind])
			continue;
		source_missing(&e->plan, (enum event_kind)kind, why, sizeof(why));
		event_rates_miss(&e->rates, (enum event_kind)kind, why);
	}
}

/* Returns rc, but -ECANCELED instead of 0 if the thread is to stop. */
static int go_on(struct top_events *e, int rc)
{
	pthread_mutex_lock(&e->lock);
	if (rc == 0 && e->stop)
		rc = -ECANCELED;
	pthread_mutex_unlock(&e->lock);
	return rc;
}

static int attach(struct top_events *e, struct error *err)
{
	struct live_config config = {
		.opt = e->opt,
		.events = &e->plan,
		.max_overhead = e->opt->max_overhead,
		.unnamed = true,
		.counting = true,
		.count_sums = true,
	};
	int rc = go_on(e, beam_node_open(&e->node, e->os_pid, target_how(e->opt), err));

	if (rc)
		return rc;
	source_plan_node(&e->plan, e->node, e->kinds, SOURCE_AUTO, e->opt->force);
	if (!e->plan.kinds)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
				 "no function of these events can be probed in this build");
	source_plan_count(&e->plan, true);
	rc = go_on(e, 0);
	rc = rc ? rc : go_on(e, live_open(&e->live, e->node, &config, err));
	return rc ? rc : go_on(e, session_start(e->live.session, err));
}

/* Copies the counters, without COUNTER_EVENTS, as rates have that. */
static void take_counters(struct top_events *e)
{
	uint64_t counters[NR_COUNTERS] = {0};

	for (int id = 0; id < NR_COUNTERS; id++) {
		if (id != COUNTER_EVENTS && id != COUNTER_EVENTS_LOST)
			counters[id] = live_counter(&e->live, (enum counter_id)id);
	}
	counters[COUNTER_BAD_RECORD] += e->stream.refused + e->stream.unknown;
	pthread_mutex_lock(&e->lock);
	counters[COUNTER_EVENTS_LOST] = e->counters[COUNTER_EVENTS_LOST];
	memcpy(e->counters, counters, sizeof(e->counters));
	pthread_mutex_unlock(&e->lock);
}

/* Begins to count events, losses and costs, when all probes are attached. */
static void begin(struct top_events *e)
{
	struct controller_cost cost;
	const char *why;

	pthread_mutex_lock(&e->lock);
	event_rates_init(&e->rates, e->kinds);
	report_missing(e);
	e->watching_ns = e->seen_until_ns = clock_monotonic_ns();
	e->counting = false;
	e->unlimited[0] = '\0';
	if (!session_event_cost(e->live.session, &cost, &why))
		snprintf(e->unlimited, sizeof(e->unlimited), "%s", why);
	event_costs_begin(&e->costs, e->live.session, &e->rates);
	for (unsigned int i = 0; i < e->rates.nr; i++)
		session_event_count(e->live.session, e->rates.rows[i].kind,
				    &e->before[e->rates.rows[i].kind]);
	e->state = TOP_EVENTS_ON;
	pthread_cond_broadcast(&e->wake); /* top_events_wait() */
	pthread_mutex_unlock(&e->lock);
}

static bool somebody_waits(struct top_events *e)
{
	return __atomic_load_n(&e->wait, __ATOMIC_ACQUIRE);
}

/* Lets the other thread have the lock: else this thread, which runs, would get it again first. */
static void give_way(struct top_events *e)
{
	const struct timespec t = {.tv_nsec = GIVE_WAY_NS};

	while (somebody_waits(e))
		nanosleep(&t, NULL);
}

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct top_events *e = arg;
	enum event_kind kind;
	struct event ev;

	UNUSED(err);
	pthread_mutex_lock(&e->lock);
	event_stream_take(&e->stream, rec, &ev, &kind);
	pthread_mutex_unlock(&e->lock);
	give_way(e);
	return 0;
}

static int drain(struct top_events *e, struct error *err)
{
	const struct source_consumer consumer = {.take = take, .arg = e};
	uint64_t now = clock_monotonic_ns();
	int rc = live_drain(&e->live, DRAIN_MAX_NS, &consumer, err);

	pthread_mutex_lock(&e->lock);
	/* Coverage of the time before all probes were attached does not count. */
	if (!e->counting)
		coverage_mark(&e->stream.coverage);
	e->counting = true;
	e->seen_until_ns = now;
	pthread_mutex_unlock(&e->lock);
	return rc < 0 ? rc : 0;
}

/* Waits for `wake` until ns, with the lock held, which is released meanwhile.  True: timeout. */
static bool wait_until(struct top_events *e, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	return pthread_cond_timedwait(&e->wake, &e->lock, &t) == ETIMEDOUT;
}

/* Sleeps after work that began at began_ns; -ECANCELED: the thread is to stop. */
static int rest(struct top_events *e, uint64_t began_ns)
{
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&e->lock);
	if (!e->stop)
		wait_until(e, MAX(began_ns + DRAIN_EVERY_NS, now + (now - began_ns)));
	pthread_mutex_unlock(&e->lock);
	return go_on(e, 0);
}

/* Drains until the thread is to stop, or something fails. */
static int take_in(struct top_events *e, struct error *err)
{
	int rc = 0;

	while (rc == 0) {
		uint64_t began_ns = clock_monotonic_ns();

		rc = drain(e, err);
		take_counters(e);
		rc = rc ? rc : rest(e, began_ns);
	}
	return rc;
}

/* Adds the counters of the probes that are about to be detached to counters_before. */
static void keep_counters(struct top_events *e)
{
	pthread_mutex_lock(&e->lock);
	for (int id = 0; id < NR_COUNTERS; id++)
		e->counters_before[id] += e->counters[id];
	memset(e->counters, 0, sizeof(e->counters));
	e->state = TOP_EVENTS_LEAVING;
	pthread_mutex_unlock(&e->lock);
}

/* Drops log lines of the thread: its errors are shown otherwise. */
static void no_line(void *arg, const char *line)
{
	UNUSED(arg);
	UNUSED(line);
}

static void *events_main(void *arg)
{
	struct top_events *e = arg;
	struct error err = {0};
	int rc;

	event_stream_open(&e->stream);
	if (e->silent)
		log_set_thread_taker(no_line, NULL);
	rc = attach(e, &err);
	if (rc == 0) {
		begin(e);
		rc = take_in(e, &err);
		keep_counters(e);
	}
	pthread_mutex_lock(&e->lock);
	e->state = TOP_EVENTS_LEAVING;
	pthread_mutex_unlock(&e->lock);
	live_close(&e->live);
	beam_node_close(e->node);
	event_stream_close(&e->stream);
	e->node = NULL;
	pthread_mutex_lock(&e->lock);
	e->error = err;
	e->state = rc && !e->stop ? TOP_EVENTS_FAILED : TOP_EVENTS_OFF;
	e->done = true;
	pthread_cond_broadcast(&e->wake);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* ---- the other thread ------------------------------------------------------------------------ */

void top_events_open(struct top_events **out, int os_pid, const struct options *opt, bool silent)
{
	struct top_events *e = xcalloc(1, sizeof(*e));
	pthread_condattr_t attr;

	e->os_pid = os_pid;
	e->opt = opt;
	e->silent = silent;
	e->kinds = top_events_kinds();
	event_rates_init(&e->shown, e->kinds);
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->wake, &attr);
	pthread_condattr_destroy(&attr);
	*out = e;
}

/* Takes the lock; `wait` makes the thread give it away soon, see give_way(). */
static void take_lock(struct top_events *e)
{
	__atomic_store_n(&e->wait, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&e->lock);
	__atomic_store_n(&e->wait, false, __ATOMIC_RELEASE);
}

static void join(struct top_events *e)
{
	pthread_join(e->thread, NULL);
	e->running = false;
}

static void start(struct top_events *e)
{
	event_rates_init(&e->shown, e->kinds);
	e->stepped_ns = e->forget_ns = 0;
	e->cost = NAN;
	e->stop = e->done = false;
	e->state = TOP_EVENTS_ATTACHING;
	e->running = thread_start(&e->thread, events_main, e);
	if (!e->running) {
		error_set(&e->error, ERROR_KIND_FAILED, -EAGAIN,
			  "cannot start a thread: " THREAD_REFUSED);
		e->state = TOP_EVENTS_FAILED;
	}
}

void top_events_want(struct top_events *e, bool wanted)
{
	bool done;

	if (e->running) {
		take_lock(e);
		if (!wanted && !e->stop) {
			e->stop = true;
			pthread_cond_broadcast(&e->wake);
		}
		done = e->done;
		pthread_mutex_unlock(&e->lock);
		if (!done)
			return;
		join(e);
	}
	if (!wanted)
		e->state = TOP_EVENTS_OFF;
	else if (e->state == TOP_EVENTS_OFF)
		start(e);
}

bool top_events_leave(struct top_events *e, uint64_t ns)
{
	uint64_t until = clock_monotonic_ns() + ns;
	bool late = false;

	top_events_want(e, false);
	if (!e->running)
		return true;
	take_lock(e);
	while (!e->done && !late)
		late = wait_until(e, until);
	pthread_mutex_unlock(&e->lock);
	top_events_want(e, false); /* joins */
	return !e->running;
}

void top_events_close(struct top_events *e)
{
	if (!e)
		return;
	top_events_want(e, false);
	if (e->running)
		join(e);
	pthread_cond_destroy(&e->wake);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

enum top_events_state top_events_state(struct top_events *e)
{
	enum top_events_state state;

	take_lock(e);
	state = e->state;
	/* The thread was told to stop, and only cleans up. */
	if (state == TOP_EVENTS_ATTACHING && e->stop)
		state = TOP_EVENTS_LEAVING;
	pthread_mutex_unlock(&e->lock);
	return state;
}

/* Are the probes attached, or has that failed, and what was attached been detached? */
static bool is_known(const struct top_events *e)
{
	return e->state == TOP_EVENTS_ON || e->done;
}

bool top_events_wait(struct top_events *e, uint64_t ns)
{
	uint64_t until = clock_monotonic_ns() + ns;
	bool late = false, known;

	if (!e->running)
		return true;
	take_lock(e);
	while (!is_known(e) && !late)
		late = wait_until(e, until);
	known = is_known(e);
	pthread_mutex_unlock(&e->lock);
	return known;
}

const struct error *top_events_error(const struct top_events *e)
{
	return &e->error;
}

const char *top_events_unlimited(const struct top_events *e)
{
	return e->unlimited;
}

/* Sets the counts since watching_ns, from the probes.  The lock is held. */
static void take_counts(struct top_events *e)
{
	for (unsigned int i = 0; i < e->rates.nr; i++) {
		enum event_kind kind = e->rates.rows[i].kind;
		struct event_count now;

		session_event_count(e->live.session, kind, &now);
		now.produced -= MIN(now.produced, e->before[kind].produced);
		now.size -= MIN(now.size, e->before[kind].size);
		now.ns -= MIN(now.ns, e->before[kind].ns);
		event_rates_count(&e->rates, kind, &now);
		event_rates_lost(&e->rates, kind, 0); /* counting loses no event */
	}
}

void top_events_step(struct top_events *e, double *cost)
{
	double seconds;

	*cost = NAN;
	if (!e->running)
		return;
	take_lock(e);
	if (e->state == TOP_EVENTS_ON) {
		if (!e->stepped_ns)
			e->stepped_ns = e->watching_ns;
		/* Counts are read now, so the interval ends now. */
		e->seen_until_ns = clock_monotonic_ns();
		seconds = (double)(e->seen_until_ns - e->stepped_ns) / 1e9;
		if (seconds >= STEP_LEAST_S) {
			take_counts(e);
			e->cost = event_costs_take(&e->costs, e->live.session, &e->rates, seconds,
						   exp(-seconds / COST_FADES_S), e->cost);
			event_rates_step(&e->rates, &e->stream.coverage, seconds);
			if (e->stepped_ns + STEP_LAG_NS < e->forget_ns)
				event_rates_forget(&e->rates);
			e->stepped_ns = e->seen_until_ns;
		}
		*cost = e->cost;
		e->shown = e->rates;
	}
	pthread_mutex_unlock(&e->lock);
}

void top_events_forget(struct top_events *e)
{
	double cost;

	e->forget_ns = clock_monotonic_ns();
	top_events_step(e, &cost);
	take_lock(e);
	event_rates_forget(&e->rates);
	pthread_mutex_unlock(&e->lock);
	event_rates_forget(&e->shown);
}

uint64_t top_events_counter(struct top_events *e, enum counter_id id)
{
	uint64_t n;

	take_lock(e);
	n = e->counters_before[id] + e->counters[id];
	pthread_mutex_unlock(&e->lock);
	return n;
}

struct event_rates *top_events_rates(struct top_events *e)
{
	return &e->shown;
}
