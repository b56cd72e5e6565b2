/* SPDX-License-Identifier: BSD-2-Clause */
/* See duty_cycle.h. */
#include "probe/limit/duty_cycle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

/* Least time between two steps: a thread of high priority must not spin. */
#define SHORTEST_SLEEP_NS 200000ull
/* How often the node's work is reported: so that each interval that is shown has a report. */
#define REPORT_WORK_NS 50000000ull
#define LOG_NS	       500000000ull
/* Shortest windows: attaching the probes of a round takes some ms.  Perf events take 0.1 s each to
 * remove, and are hit until then. */
#define LEAST_WINDOW_NS	     3000000.0
#define LEAST_WINDOW_PERF_NS 100000000.0
/* For so long after it was disabled a group may still be hit: the kernel waits for all CPUs. */
#define TAIL_NS 300000000ull
/* While probes are attached: time between two measurements, and between them a pause in which other
 * threads can run. */
#define PLACING_NS	 2000000ull
#define PLACING_PAUSE_NS 1000000ull
#define NO_LIMIT	 1e12
/* Least number of hits from which the cost of one is derived. */
#define HITS_THAT_TELL 20
#define LEAST_OWN_NS   1000000.0 /* least CPU time of the node from which a share is derived */
/* Longest run time of a program: without stacks and terms, and with them. */
#define MOST_RUN_NS	  5000.0
#define MOST_RUN_STACK_NS 50000.0
/* Time until a failed attach is tried again, doubled each time; and failures after which the group
 * is given up. */
#define RETRY_NS      250000000ull
#define MOST_FAILURES 5u

void duty_cycle_init(struct duty_cycle *d, const struct duty_cycle_ops *ops, void *arg,
		     const struct duty_cycle_config *config)
{
	struct hit_account_clocks clocks;
	struct attach_hits hits;

	memset(d, 0, sizeof(*d));
	d->ops = ops;
	d->arg = arg;
	d->nr = MIN(config->nr, BUDGET_MAX_SOURCES);
	d->by_perf = config->by_perf;
	d->has_work = config->has_work;
	ops->clocks(arg, &clocks);
	hit_account_start(&d->account, d->nr, config->long_runs ? MOST_RUN_STACK_NS : MOST_RUN_NS,
			  &clocks);
	for (unsigned int i = 0; i < d->nr; i++) {
		if (ops->hits(arg, i, &hits))
			hit_account_skip(&d->account, i, &hits);
	}
	d->start_ns = d->taken_ns = d->reported_work_ns = d->logged_ns = clocks.at_ns;
	budget_init(&d->budget, config->percent >= 100 ? NO_LIMIT : config->percent, d->nr,
		    d->by_perf ? LEAST_WINDOW_PERF_NS : LEAST_WINDOW_NS, config->own_per_s,
		    d->start_ns);
	d->budget.long_windows = config->long_windows;
	d->hits_per_s = config->hits_per_s;
	d->hit_ns = config->hit_ns;
	d->budget.most_per_s = d->hits_per_s * d->hit_ns;
}

static uint64_t now_ns(const struct duty_cycle *d)
{
	return d->ops->now(d->arg);
}

/* ---- what is measured ------------------------------------------------------------------------ */

static bool may_be_hit(const struct duty_cycle *d, const struct duty_cycle_group *u)
{
	return u->on || u->leaving || (u->off_ns && d->taken_ns - u->off_ns < TAIL_NS);
}

static void take_hits(struct duty_cycle *d, unsigned int i)
{
	struct attach_hits hits;

	if (d->ops->hits(d->arg, i, &hits))
		hit_account_hits(&d->account, i, &hits, d->groups[i].on);
}

/* Converts the limit of hits a second into one of CPU time, by the recent cost of a hit. */
static void limit_hits(struct duty_cycle *d)
{
	const struct hit_account_total *total = &d->account.total;
	uint64_t hits = total->hits - d->priced_hits;

	if (hits < HITS_THAT_TELL)
		return;
	d->hit_ns = (d->hit_ns + MAX(total->probes_ns - d->priced_ns, 0) / (double)hits) / 2;
	d->budget.most_per_s = d->hits_per_s * d->hit_ns;
	d->priced_hits = total->hits;
	d->priced_ns = total->probes_ns;
}

static void measure(struct duty_cycle *d)
{
	uint64_t before = d->taken_ns;
	struct hit_account_clocks clocks;
	struct hit_account_step step;

	d->taken_ns = now_ns(d);
	for (unsigned int i = 0; i < d->nr; i++) {
		if (may_be_hit(d, &d->groups[i]))
			take_hits(d, i);
	}
	d->ops->clocks(d->arg, &clocks);
	hit_account_step(&d->account, &clocks, &step);
	for (unsigned int i = 0; i < d->nr; i++) {
		struct duty_cycle_group *u = &d->groups[i];

		u->spent_ns += step.cost_ns[i] + step.tail_ns[i];
		budget_hits(&d->budget, i, step.tail_ns[i], 0);
		if (u->on)
			budget_hits(&d->budget, i, step.cost_ns[i],
				    (double)(d->taken_ns - MAX(u->window_ns, before)));
	}
	limit_hits(d);
	budget_pass(&d->budget, step.wall_ns, step.own_ns, step.spent_ns);
}

/* False if probes could not exceed the budget even if they had taken all CPU time that the node has
 * used since the last measurement. */
static bool is_worth_measuring(const struct duty_cycle *d, uint64_t now)
{
	return d->nr_leaving || d->budget.in_round ||
	       (d->budget.due_ns && now >= d->budget.due_ns) || now - d->taken_ns >= LOG_NS ||
	       (double)(d->ops->node_ns(d->arg) - d->account.last.node_ns) >
		       MAX(d->budget.credit_ns, 0) / 2;
}

/* Reads the node's count of its work now: called right before and after a group is enabled or
 * disabled, to know how much work was done by then. */
static double work_now(const struct duty_cycle *d)
{
	return hit_account_work(&d->account, d->ops->work(d->arg));
}

/* ---- what is reported ------------------------------------------------------------------------ */

static void open_window(struct duty_cycle *d, struct duty_cycle_group *u, uint64_t now, double work)
{
	u->window_ns = now;
	u->window_own = d->account.total.own_ns;
	u->window_work = work;
}

static void close_window(struct duty_cycle *d, struct duty_cycle_group *u, uint64_t now,
			 double work)
{
	u->on_total += now - u->window_ns;
	u->own_on_total += d->account.total.own_ns - u->window_own;
	u->work_on_total += work - u->window_work;
}

static uint32_t share_ppm(const struct duty_cycle *d, const struct duty_cycle_group *u)
{
	const struct hit_account_total *total = &d->account.total;
	double share;

	if (total->work >= COVERAGE_LEAST_STEPS)
		share = u->work_on_total / total->work;
	else if (total->own_ns >= LEAST_OWN_NS)
		share = u->own_on_total / total->own_ns;
	else
		share = (double)u->on_total / (double)(now_ns(d) - d->start_ns + 1);
	return (uint32_t)(1e6 * MIN(share, 1) + 0.5);
}

/* Units of work: reductions, or each 100 ns of the node's own CPU. */
static double steps(const struct duty_cycle *d, double work, double own)
{
	return MAX(d->has_work ? work : own / 100, 0);
}

/* Units of work while a group was off; an open window counts as on up to now. */
static double steps_missed(const struct duty_cycle *d, const struct duty_cycle_group *u,
			   double work)
{
	double on_work = u->work_on_total, on_own = u->own_on_total, own = d->account.total.own_ns;

	if (u->on) {
		on_work += work - u->window_work;
		on_own += own - u->window_own;
	}
	return MAX(steps(d, work, own) - steps(d, on_work, on_own), 0);
}

static enum coverage_state state_of(const struct duty_cycle *d, unsigned int i)
{
	if (d->groups[i].on)
		return COVERAGE_ON;
	if (d->groups[i].failed)
		return COVERAGE_FAILED;
	return d->budget.sources[i].dropped ? COVERAGE_DROPPED : COVERAGE_OFF;
}

/* `work`: as last read, at ts_ns. */
static void report(struct duty_cycle *d, unsigned int i, uint64_t ts_ns, double work)
{
	struct duty_cycle_group *u = &d->groups[i];
	struct controller_change change = {
		.ts_ns = ts_ns,
		.state = state_of(d, i),
		.share_ppm = share_ppm(d, u),
		.work = (uint64_t)steps(d, work, d->account.total.own_ns),
		.missed = (uint64_t)steps_missed(d, u, work),
	};

	u->was_off = true;
	u->reported_dropped |= d->budget.sources[i].dropped && !u->on;
	d->ops->report(d->arg, i, &change);
}

/* Reports the node's work so far, if that was not done in the last REPORT_WORK_NS. */
static void report_work(struct duty_cycle *d, uint64_t now)
{
	struct controller_change change = {
		.ts_ns = now,
		.state = COVERAGE_ON,
		.share_ppm = 1000000,
	};

	if (now - d->reported_work_ns < REPORT_WORK_NS)
		return;
	change.work = (uint64_t)steps(d, work_now(d), d->account.total.own_ns);
	d->reported_work_ns = now;
	d->ops->report(d->arg, DUTY_CYCLE_NO_GROUP, &change);
}

static void log_cost(struct duty_cycle *d, uint64_t now)
{
	const struct hit_account_total *total = &d->account.total;
	double spent = total->spent_ns - d->log_spent, own = total->own_ns - d->log_own;

	if (now - d->logged_ns < LOG_NS)
		return;
	log_debug("probes took %.3f ms (%" PRIu64 " hits) of %.0f ms of the node's own CPU in "
		  "%.0f ms, %.2f times what was calibrated; the token bucket has %.3f ms, a round "
		  "of windows costs %.3f ms (probes are hit for %.1f ms after a window)",
		  spent / 1e6, total->hits - d->log_hits, own / 1e6,
		  (double)(now - d->logged_ns) / 1e6, total->factor, d->budget.credit_ns / 1e6,
		  d->budget.round_cost_ns / 1e6, d->budget.tail_ns / 1e6);
	d->logged_ns = now;
	d->log_hits = total->hits;
	d->log_spent = total->spent_ns;
	d->log_own = total->own_ns;
}

/* ---- off ------------------------------------------------------------------------------------- */

/* The node's count of its work is read right before and after its events are disabled, while the
 * probes are still attached: without them the node does several times as much in the same time. */
static void disable(struct duty_cycle *d, unsigned int i)
{
	struct duty_cycle_group *u = &d->groups[i];
	double work = work_now(d);
	uint64_t last_ns = now_ns(d), ts_ns; /* last: all seen up to here; ts: none from here on */

	d->ops->disable(d->arg, i);
	/* The mean, as this thread may have waited for a CPU in between. */
	work = (work + work_now(d)) / 2;
	ts_ns = now_ns(d);
	close_window(d, u, ts_ns, work);
	u->on = false;
	report(d, i, last_ns, work);
}

static void take_away(struct duty_cycle *d, unsigned int i)
{
	struct duty_cycle_group *u = &d->groups[i];

	d->ops->off(d->arg, i);
	u->off_ns = now_ns(d);
	u->leaving = d->by_perf;
	d->nr_leaving += d->by_perf;
	if (!d->by_perf)
		budget_ended(&d->budget, i);
}

/* Call when all hits are measured that came until the kernel had removed the perf events. */
static void end_leaving(struct duty_cycle *d)
{
	for (unsigned int i = 0; i < d->nr; i++) {
		if (!d->groups[i].leaving)
			continue;
		d->groups[i].leaving = false;
		d->groups[i].off_ns = now_ns(d);
		budget_ended(&d->budget, i);
	}
	d->nr_leaving = 0;
}

/* The most expensive group that is on and should be off; nr = none. */
static unsigned int next_to_turn_off(const struct duty_cycle *d)
{
	unsigned int found = d->nr;

	for (unsigned int i = 0; i < d->nr; i++) {
		if (d->groups[i].on && !budget_wants(&d->budget, i) &&
		    (found == d->nr || d->budget.sources[i].rate > d->budget.sources[found].rate))
			found = i;
	}
	return found;
}

static void report_dropped(struct duty_cycle *d)
{
	for (unsigned int i = 0; i < d->nr; i++) {
		if (d->budget.sources[i].dropped && !d->groups[i].reported_dropped)
			report(d, i, now_ns(d), d->account.total.work);
	}
}

/* Call after measure(). */
static void turn_off_due(struct duty_cycle *d)
{
	unsigned int order[BUDGET_MAX_SOURCES], nr = 0, i;

	budget_step(&d->budget, now_ns(d));
	while ((i = next_to_turn_off(d)) < d->nr) {
		disable(d, i);
		order[nr++] = i;
	}
	for (i = 0; i < nr; i++)
		take_away(d, order[i]);
	report_dropped(d);
}

/* ---- on -------------------------------------------------------------------------------------- */

static int turn_on(struct duty_cycle *d, unsigned int i, struct error *err)
{
	struct duty_cycle_group *u = &d->groups[i];
	uint64_t now;
	double work;
	int rc = d->ops->attach(d->arg, i, err);

	if (rc)
		return rc;
	work = work_now(d);
	d->ops->enable(d->arg, i);
	work = (work + work_now(d)) / 2;
	now = now_ns(d);
	/* Hits up to now gave no events: they count as tail. */
	take_hits(d, i);
	u->on = true;
	u->failures = 0;
	open_window(d, u, now, work);
	budget_began(&d->budget, i, now);
	if (u->was_off)
		report(d, i, now, work);
	return 0;
}

/* After a failed attach, mostly for want of a resource: it is tried again later, but given up after
 * MOST_FAILURES.  That the node has exited (-ESRCH) is no failure. */
static void put_off(struct duty_cycle *d, unsigned int i, int rc)
{
	struct duty_cycle_group *u = &d->groups[i];

	u->retry_ns = now_ns(d) + (RETRY_NS << u->failures);
	if (rc != -ESRCH && ++u->failures >= MOST_FAILURES) {
		u->failed = true;
		budget_drop(&d->budget, i);
		report_dropped(d);
	}
}

static bool is_put_off(const struct duty_cycle *d, unsigned int i)
{
	return d->groups[i].retry_ns && now_ns(d) < d->groups[i].retry_ns;
}

/* Ends the windows of groups that cannot be attached now, so that their round does not wait for
 * them. */
static void pass_over(struct duty_cycle *d)
{
	for (unsigned int i = 0; i < d->nr; i++) {
		if (!d->groups[i].on && d->budget.sources[i].sampled && is_put_off(d, i) &&
		    budget_wants(&d->budget, i))
			budget_ended(&d->budget, i);
	}
}

/* The group that is off and should be on, with the longest window first, as windows lie within each
 * other; nr = none. */
static unsigned int next_to_turn_on(const struct duty_cycle *d)
{
	unsigned int found = d->nr;

	/* Attaching would block until the kernel has removed all perf events. */
	if (d->nr_leaving)
		return d->nr;
	for (unsigned int i = 0; i < d->nr; i++) {
		const struct budget_source *s = &d->budget.sources[i];

		if (d->groups[i].on || !budget_wants(&d->budget, i) || is_put_off(d, i))
			continue;
		if (found == d->nr || !s->sampled ||
		    s->window_ns > d->budget.sources[found].window_ns)
			found = i;
	}
	return found;
}

static void turn_on_due(struct duty_cycle *d)
{
	struct error err;

	pass_over(d);
	for (unsigned int tries = 0; tries < d->nr; tries++) {
		unsigned int i = next_to_turn_on(d);
		int rc;

		if (i == d->nr)
			return;
		rc = turn_on(d, i, &err);
		if (rc) {
			log_debug("%s", err.msg);
			put_off(d, i, rc);
			pass_over(d);
		}
		if (now_ns(d) - d->taken_ns < PLACING_NS)
			continue;
		/* Groups that are on already may exceed the budget before the last is. */
		if (!d->ops->pause(d->arg, SHORTEST_SLEEP_NS))
			return;
		measure(d);
		turn_off_due(d);
	}
}

/* ---- from outside ---------------------------------------------------------------------------- */

static void forget_switches(struct duty_cycle *d)
{
	struct hit_account_clocks clocks;

	d->ops->clocks(d->arg, &clocks);
	hit_account_forget_switches(&d->account, clocks.switch_ns);
}

/* Measures the cost of probes, and disables groups that should be off. */
static void measure_and_turn_off(struct duty_cycle *d)
{
	bool gone = d->nr_leaving && !d->ops->is_closing(d->arg);

	measure(d);
	if (gone)
		end_leaving(d);
	if (d->budget.in_round || d->budget.due_ns)
		hit_account_switches(&d->account);
	turn_off_due(d);
}

/* Waits until perf events are removed, as next_to_turn_on() does; measures meanwhile.  False if the
 * thread is to end. */
static bool await_leaving(struct duty_cycle *d)
{
	while (d->nr_leaving) {
		uint64_t now = now_ns(d);

		if (!d->ops->pause(d->arg, duty_cycle_next(d) - now))
			return false;
		measure_and_turn_off(d);
	}
	return true;
}

int duty_cycle_begin(struct duty_cycle *d, struct error *err)
{
	uint64_t paused_ns = now_ns(d);

	for (unsigned int i = 0; i < d->nr; i++) {
		int rc;

		if (!await_leaving(d))
			break;
		rc = turn_on(d, i, err);
		if (rc)
			return rc;
		/* While the token bucket is in debt, each group is measured right after it was
		 * enabled. */
		if (i + 1 < d->nr && now_ns(d) - d->taken_ns < PLACING_NS &&
		    d->budget.credit_ns >= 0)
			continue;
		forget_switches(d);
		measure(d);
		turn_off_due(d);
		if (now_ns(d) - paused_ns < PLACING_NS)
			continue;
		if (!d->ops->pause(d->arg, PLACING_PAUSE_NS))
			break;
		paused_ns = now_ns(d);
	}
	forget_switches(d);
	return 0;
}

void duty_cycle_step(struct duty_cycle *d)
{
	uint64_t now = now_ns(d);

	if (is_worth_measuring(d, now)) {
		measure_and_turn_off(d);
		turn_on_due(d);
	}
	now = now_ns(d);
	report_work(d, now);
	log_cost(d, now);
}

uint64_t duty_cycle_next(const struct duty_cycle *d)
{
	uint64_t now = now_ns(d);

	return MAX(budget_next(&d->budget, now, now + budget_check_ns(&d->budget)),
		   now + SHORTEST_SLEEP_NS);
}

void duty_cycle_end(struct duty_cycle *d)
{
	uint64_t now;
	double work;

	measure(d);
	now = now_ns(d);
	work = d->account.total.work;
	for (unsigned int i = 0; i < d->nr; i++) {
		struct duty_cycle_group *u = &d->groups[i];

		if (u->was_off && u->on) {
			close_window(d, u, now, work);
			open_window(d, u, now, work);
		}
		if (u->was_off)
			report(d, i, now, work);
	}
}
