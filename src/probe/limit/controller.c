/* SPDX-License-Identifier: BSD-2-Clause */
/* See controller.h. */
#include "probe/limit/controller.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/attach/attach.h"
#include "probe/kernel/calibrate.h"
#include "probe/limit/controller_changes.h"
#include "probe/limit/meter.h"
#include "probe/limit/duty_cycle.h"

/* Lines of the log that wait to be written; more are left out. */
#define MOST_LINES 64u

struct controller {
	struct controller_config config;
	struct meter *meter;
	struct duty_cycle cycle; /* used by the controller's thread alone */
	double percent;		 /* see controller_limit() */
	unsigned int rate;	 /* hits a second of each scheduler; 0 = no limit */
	double hit_ns;		 /* cost of one hit, as calibrated */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake;
	bool stop, begun;
	int begin_rc;
	struct error begin_error;
	struct controller_cost published;
	uint64_t published_group_ns[BUDGET_MAX_SOURCES];
	VEC(char *) lines;
	struct controller_changes changes; /* has its own lock */
};

/* ---- what a duty cycle is made of ------------------------------------------------------------ */

static uint64_t op_now(void *arg)
{
	UNUSED(arg);
	return clock_monotonic_ns();
}

/* False if the thread is to end. */
static bool sleep_until(struct controller *c, uint64_t when)
{
	struct timespec t = {(time_t)(when / 1000000000u), (long)(when % 1000000000u)};
	bool stop;

	pthread_mutex_lock(&c->lock);
	while (!c->stop && clock_monotonic_ns() < when)
		pthread_cond_timedwait(&c->wake, &c->lock, &t);
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

static bool op_pause(void *arg, uint64_t ns)
{
	return sleep_until(arg, clock_monotonic_ns() + ns);
}

static int op_attach(void *arg, unsigned int group, struct error *err)
{
	const struct controller *c = arg;

	return attach_probes(c->config.attach, group, err);
}

static void op_enable(void *arg, unsigned int group)
{
	const struct controller *c = arg;

	attach_enable(c->config.attach, group);
}

static void op_disable(void *arg, unsigned int group)
{
	const struct controller *c = arg;

	attach_disable(c->config.attach, group);
}

static void op_off(void *arg, unsigned int group)
{
	const struct controller *c = arg;

	attach_off(c->config.attach, group);
}

static bool op_is_closing(void *arg)
{
	const struct controller *c = arg;

	return attach_is_closing(c->config.attach);
}

static bool op_hits(void *arg, unsigned int group, struct attach_hits *out)
{
	const struct controller *c = arg;

	return attach_hits(c->config.attach, group, c->config.cost, out);
}

static void op_clocks(void *arg, struct hit_account_clocks *out)
{
	const struct controller *c = arg;

	meter_clocks(c->meter, out);
}

static uint64_t op_node_ns(void *arg)
{
	const struct controller *c = arg;

	return meter_node_ns(c->meter);
}

static double op_work(void *arg)
{
	const struct controller *c = arg;

	return meter_work(c->meter);
}

static void op_report(void *arg, unsigned int group, struct controller_change *change)
{
	struct controller *c = arg;

	change->kinds = group == DUTY_CYCLE_NO_GROUP ? 0 : attach_kinds(c->config.attach, group);
	controller_changes_push(&c->changes, change);
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

/* ---- the thread ------------------------------------------------------------------------------ */

/* Writing to standard error may block, so the controller's thread only stores its log lines; others
 * write them. */
static void take_line(void *arg, const char *line)
{
	struct controller *c = arg;

	pthread_mutex_lock(&c->lock);
	if (c->lines.len < MOST_LINES)
		vec_push(&c->lines, xstrdup(line));
	pthread_mutex_unlock(&c->lock);
}

static void write_lines(struct controller *c)
{
	VEC(char *) lines = {0};

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->lines.len; i++)
		vec_push(&lines, c->lines.data[i]);
	c->lines.len = 0;
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < lines.len; i++) {
		log_debug("%s", lines.data[i]);
		free(lines.data[i]);
	}
	vec_free(&lines);
}

static void publish(struct controller *c)
{
	const struct hit_account_total *t = &c->cycle.account.total;

	pthread_mutex_lock(&c->lock);
	c->published = (struct controller_cost){
		.known = true,
		.hits = t->hits,
		.spent_ns = (uint64_t)t->spent_ns,
		.own_ns = (uint64_t)t->own_ns,
		.factor = t->factor,
	};
	for (unsigned int i = 0; i < c->cycle.nr; i++)
		c->published_group_ns[i] = (uint64_t)c->cycle.groups[i].spent_ns;
	pthread_mutex_unlock(&c->lock);
}

/* controller_start() waits until this has returned. */
static int begin(struct controller *c)
{
	struct error err = {0};
	int rc = duty_cycle_begin(&c->cycle, &err);

	publish(c);
	pthread_mutex_lock(&c->lock);
	c->begun = true;
	c->begin_rc = rc;
	c->begin_error = err;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static void *controller_main(void *arg)
{
	struct controller *c = arg;
	int rc;

	log_set_thread_taker(take_line, c);
	/* The controller must not wait for a CPU behind the threads whose overhead it limits. */
	rc = c->config.no_realtime ? 0 : thread_come_first();
	if (rc)
		log_debug("the overhead controller has normal priority: %s", error_text(-rc));
	if (begin(c))
		return NULL;

	do {
		duty_cycle_step(&c->cycle);
		publish(c);
	} while (sleep_until(c, duty_cycle_next(&c->cycle)));
	duty_cycle_end(&c->cycle);
	publish(c);
	return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

int controller_open(struct controller **out, const struct controller_config *config,
		    struct error *err)
{
	struct controller *c = xcalloc(1, sizeof(*c));
	pthread_condattr_t attr;
	int rc;

	*out = NULL;
	c->config = *config;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->wake, &attr);
	pthread_condattr_destroy(&attr);
	controller_changes_init(&c->changes);
	rc = meter_open(&c->meter, config->attach, config->os_pid, err);
	if (rc) {
		controller_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void controller_limit(struct controller *c, double percent, unsigned int rate, double hit_ns)
{
	c->percent = percent;
	c->rate = rate;
	c->hit_ns = hit_ns;
}

int controller_start(struct controller *c, const struct meter_counters *work, struct error *err)
{
	const struct duty_cycle_config config = {
		.nr = attach_nr_groups(c->config.attach),
		.by_perf = attach_is_perf(c->config.attach),
		.has_work = work->nr > 0,
		.long_runs = c->config.long_runs,
		.long_windows = c->config.long_windows,
		.percent = c->percent,
		.hits_per_s = (double)c->rate * (work->nr ? work->nr : (double)get_nprocs()),
		.hit_ns = c->hit_ns,
		.own_per_s = meter_start(c->meter, work),
	};

	duty_cycle_init(&c->cycle, &ops, c, &config);
	c->running = thread_start(&c->thread, controller_main, c);
	if (!c->running)
		return error_set(
			err, ERROR_KIND_FAILED, -EAGAIN,
			"cannot start the thread that limits the overhead: " THREAD_REFUSED);
	pthread_mutex_lock(&c->lock);
	while (!c->begun)
		pthread_cond_wait(&c->wake, &c->lock);
	pthread_mutex_unlock(&c->lock);
	if (c->begin_rc)
		*err = c->begin_error;
	return c->begin_rc;
}

void controller_stop(struct controller *c)
{
	if (!c || !c->running)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->running = false;
	write_lines(c);
}

void controller_close(struct controller *c)
{
	if (!c)
		return;
	controller_stop(c);
	meter_close(c->meter);
	controller_changes_free(&c->changes);
	vec_free(&c->lines);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool controller_next(struct controller *c, uint64_t until_ns, struct controller_change *out)
{
	if (log_level() >= LOG_LEVEL_DEBUG)
		write_lines(c);
	return controller_changes_next(&c->changes, until_ns, out);
}

void controller_cost(struct controller *c, struct controller_cost *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->published;
	pthread_mutex_unlock(&c->lock);
}

uint64_t controller_group_ns(struct controller *c, unsigned int group)
{
	uint64_t ns;

	pthread_mutex_lock(&c->lock);
	ns = group < BUDGET_MAX_SOURCES ? c->published_group_ns[group] : 0;
	pthread_mutex_unlock(&c->lock);
	return ns;
}
