/* SPDX-License-Identifier: BSD-2-Clause */
/* See keeper.h. */
#include "probe/limit/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/attach/attach.h"
#include "probe/kernel/calibrate.h"
#include "probe/limit/keeper_changes.h"
#include "probe/limit/meter.h"
#include "probe/limit/turns.h"

/* Lines that nobody has written yet; what is beyond is left out. */
#define MOST_LINES 64u

struct keeper {
	struct keeper_config config;
	struct meter *meter;
	struct turns turns; /* of the thread alone */
	unsigned int rate;  /* hits a second and scheduler; 0 = as many as there are */
	double hit_ns;	    /* of one, as calibrated */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool stop, begun;
	int begin_rc;
	struct error begin_error;
	struct keeper_cost told;
	uint64_t told_group_ns[BUDGET_MAX_SOURCES];
	VEC(char *) lines;
	struct keeper_changes changes; /* has its own lock */
};

/* ---- what turns are made of ------------------------------------------------------------------ */

static uint64_t op_now(void *arg)
{
	UNUSED(arg);
	return clock_monotonic_ns();
}

/* False = it is to end. */
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

static bool op_pause(void *arg, uint64_t ns)
{
	return sleep_until(arg, clock_monotonic_ns() + ns);
}

static int op_place(void *arg, unsigned int group, struct error *err)
{
	const struct keeper *k = arg;

	return attach_place(k->config.attach, group, err);
}

static void op_listen(void *arg, unsigned int group)
{
	const struct keeper *k = arg;

	attach_listen(k->config.attach, group);
}

static void op_mute(void *arg, unsigned int group)
{
	const struct keeper *k = arg;

	attach_mute(k->config.attach, group);
}

static void op_off(void *arg, unsigned int group)
{
	const struct keeper *k = arg;

	attach_off(k->config.attach, group);
}

static bool op_is_closing(void *arg)
{
	const struct keeper *k = arg;

	return attach_is_closing(k->config.attach);
}

static bool op_hits(void *arg, unsigned int group, struct attach_hits *out)
{
	const struct keeper *k = arg;

	return attach_hits(k->config.attach, group, k->config.cost, out);
}

static void op_clocks(void *arg, struct tally_clocks *out)
{
	const struct keeper *k = arg;

	meter_clocks(k->meter, out);
}

static uint64_t op_node_ns(void *arg)
{
	const struct keeper *k = arg;

	return meter_node_ns(k->meter);
}

static double op_work(void *arg)
{
	const struct keeper *k = arg;

	return meter_work(k->meter);
}

static void op_tell(void *arg, unsigned int group, struct keeper_change *change)
{
	struct keeper *k = arg;

	change->kinds = group == TURNS_NO_GROUP ? 0 : attach_kinds(k->config.attach, group);
	keeper_changes_push(&k->changes, change);
}

static const struct turns_ops ops = {
	.now = op_now,
	.pause = op_pause,
	.place = op_place,
	.listen = op_listen,
	.mute = op_mute,
	.off = op_off,
	.is_closing = op_is_closing,
	.hits = op_hits,
	.clocks = op_clocks,
	.node_ns = op_node_ns,
	.work = op_work,
	.tell = op_tell,
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* Standard error may be slow, and this thread comes first: others write what it has to say. */
static void take_line(void *arg, const char *line)
{
	struct keeper *k = arg;

	pthread_mutex_lock(&k->lock);
	if (k->lines.len < MOST_LINES)
		vec_push(&k->lines, xstrdup(line));
	pthread_mutex_unlock(&k->lock);
}

static void write_lines(struct keeper *k)
{
	VEC(char *) lines = {0};

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->lines.len; i++)
		vec_push(&lines, k->lines.data[i]);
	k->lines.len = 0;
	pthread_mutex_unlock(&k->lock);
	for (size_t i = 0; i < lines.len; i++) {
		log_debug("%s", lines.data[i]);
		free(lines.data[i]);
	}
	vec_free(&lines);
}

static void publish(struct keeper *k)
{
	const struct tally_total *t = &k->turns.tally.total;

	pthread_mutex_lock(&k->lock);
	k->told = (struct keeper_cost){
		.known = true,
		.hits = t->hits,
		.spent_ns = (uint64_t)t->spent_ns,
		.own_ns = (uint64_t)t->own_ns,
		.factor = t->factor,
	};
	for (unsigned int i = 0; i < k->turns.nr; i++)
		k->told_group_ns[i] = (uint64_t)k->turns.units[i].spent_ns;
	pthread_mutex_unlock(&k->lock);
}

/* keeper_start() waits for that. */
static int begin(struct keeper *k)
{
	struct error err = {0};
	int rc = turns_begin(&k->turns, &err);

	publish(k);
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
	int rc;

	log_set_thread_taker(take_line, k);
	/* Whoever limits must not wait behind those it limits. */
	rc = k->config.no_realtime ? 0 : thread_come_first();
	if (rc)
		log_debug("the budget is kept less promptly: %s", error_text(-rc));
	if (begin(k))
		return NULL;

	do {
		turns_step(&k->turns);
		publish(k);
	} while (sleep_until(k, turns_next(&k->turns)));
	turns_end(&k->turns);
	publish(k);
	return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

int keeper_open(struct keeper **out, const struct keeper_config *config, struct error *err)
{
	struct keeper *k = xcalloc(1, sizeof(*k));
	pthread_condattr_t attr;
	int rc;

	*out = NULL;
	k->config = *config;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	keeper_changes_init(&k->changes);
	rc = meter_open(&k->meter, config->attach, config->os_pid, err);
	if (rc) {
		keeper_close(k);
		return rc;
	}
	*out = k;
	return 0;
}

void keeper_limit(struct keeper *k, double percent, unsigned int rate, double hit_ns)
{
	k->config.percent = percent;
	k->rate = rate;
	k->hit_ns = hit_ns;
}

int keeper_start(struct keeper *k, const struct meter_counters *work, struct error *err)
{
	const struct turns_config config = {
		.nr = attach_nr_groups(k->config.attach),
		.by_perf = attach_is_perf(k->config.attach),
		.has_work = work->nr > 0,
		.long_runs = k->config.long_runs,
		.percent = k->config.percent,
		.hits_per_s = (double)k->rate * MAX(work->nr, 1u),
		.hit_ns = k->hit_ns,
		.own_per_s = meter_start(k->meter, work),
	};

	turns_init(&k->turns, &ops, k, &config);
	k->running = thread_start(&k->thread, keeper_main, k);
	if (!k->running)
		return error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				 "cannot start the thread that keeps the budget: " THREAD_REFUSED);
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
	write_lines(k);
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	keeper_stop(k);
	meter_close(k->meter);
	keeper_changes_free(&k->changes);
	vec_free(&k->lines);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out)
{
	if (log_level() >= LOG_LEVEL_DEBUG)
		write_lines(k);
	return keeper_changes_next(&k->changes, until_ns, out);
}

void keeper_cost(struct keeper *k, struct keeper_cost *out)
{
	pthread_mutex_lock(&k->lock);
	*out = k->told;
	pthread_mutex_unlock(&k->lock);
}

uint64_t keeper_group_ns(struct keeper *k, unsigned int group)
{
	uint64_t ns;

	pthread_mutex_lock(&k->lock);
	ns = group < BUDGET_MAX_SOURCES ? k->told_group_ns[group] : 0;
	pthread_mutex_unlock(&k->lock);
	return ns;
}
