/* SPDX-License-Identifier: BSD-2-Clause */
/* See turns.h. */
#include "probe/limit/turns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

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
#define TAIL_NS 300000000ull
/* Between two looks while probes are placed; and others run for a part of that then. */
#define PLACING_NS	 2000000ull
#define PLACING_PAUSE_NS 1000000ull
#define NO_LIMIT	 1e12
/* So many tell what one costs. */
#define HITS_THAT_TELL 20
#define LEAST_OWN_NS   1000000.0
/* No program runs for longer: without stacks and terms, and with them. */
#define MOST_RUN_NS	  5000.0
#define MOST_RUN_STACK_NS 50000.0
/* Until the next try to place what could not be placed, twice as long each time; then it goes. */
#define RETRY_NS      250000000ull
#define MOST_FAILURES 5u

void turns_init(struct turns *t, const struct turns_ops *ops, void *arg,
		const struct turns_config *config)
{
	struct tally_clocks clocks;
	struct attach_hits hits;

	memset(t, 0, sizeof(*t));
	t->ops = ops;
	t->arg = arg;
	t->nr = MIN(config->nr, BUDGET_MAX_SOURCES);
	t->by_perf = config->by_perf;
	t->has_work = config->has_work;
	ops->clocks(arg, &clocks);
	tally_start(&t->tally, t->nr, config->long_runs ? MOST_RUN_STACK_NS : MOST_RUN_NS, &clocks);
	for (unsigned int i = 0; i < t->nr; i++) {
		if (ops->hits(arg, i, &hits))
			tally_skip(&t->tally, i, &hits);
	}
	t->start_ns = t->taken_ns = t->told_work_ns = t->told_log_ns = clocks.at_ns;
	budget_init(&t->budget, config->percent >= 100 ? NO_LIMIT : config->percent, t->nr,
		    t->by_perf ? LEAST_SLICE_PERF_NS : LEAST_SLICE_NS, config->own_per_s,
		    t->start_ns);
	t->hits_per_s = config->hits_per_s;
	t->hit_ns = config->hit_ns;
	t->budget.most_per_s = t->hits_per_s * t->hit_ns;
}

static uint64_t now_ns(const struct turns *t)
{
	return t->ops->now(t->arg);
}

/* ---- what is measured ------------------------------------------------------------------------ */

static bool may_be_hit(const struct turns *t, const struct turn *u)
{
	return u->on || u->leaving || (u->off_ns && t->taken_ns - u->off_ns < TAIL_NS);
}

static void take_hits(struct turns *t, unsigned int i)
{
	struct attach_hits hits;

	if (t->ops->hits(t->arg, i, &hits))
		tally_hits(&t->tally, i, &hits, t->units[i].on);
}

/* A limit of hits is one of what these cost of late. */
static void limit_hits(struct turns *t)
{
	const struct tally_total *total = &t->tally.total;
	uint64_t hits = total->hits - t->priced_hits;

	if (hits < HITS_THAT_TELL)
		return;
	t->hit_ns = (t->hit_ns + MAX(total->probes_ns - t->priced_ns, 0) / (double)hits) / 2;
	t->budget.most_per_s = t->hits_per_s * t->hit_ns;
	t->priced_hits = total->hits;
	t->priced_ns = total->probes_ns;
}

static void measure(struct turns *t)
{
	uint64_t before = t->taken_ns;
	struct tally_clocks clocks;
	struct tally_step step;

	t->taken_ns = now_ns(t);
	for (unsigned int i = 0; i < t->nr; i++) {
		if (may_be_hit(t, &t->units[i]))
			take_hits(t, i);
	}
	t->ops->clocks(t->arg, &clocks);
	tally_step(&t->tally, &clocks, &step);
	for (unsigned int i = 0; i < t->nr; i++) {
		struct turn *u = &t->units[i];

		u->spent_ns += step.cost_ns[i] + step.tail_ns[i];
		budget_hits(&t->budget, i, step.tail_ns[i], 0);
		if (u->on)
			budget_hits(&t->budget, i, step.cost_ns[i],
				    (double)(t->taken_ns - MAX(u->window_ns, before)));
	}
	limit_hits(t);
	budget_pass(&t->budget, step.wall_ns, step.own_ns, step.spent_ns);
}

/* Probes cannot have taken more than all the CPU that the node used. */
static bool is_worth_measuring(const struct turns *t, uint64_t now)
{
	return t->nr_leaving || t->budget.in_round ||
	       (t->budget.due_ns && now >= t->budget.due_ns) || now - t->taken_ns >= TELL_LOG_NS ||
	       (double)(t->ops->node_ns(t->arg) - t->tally.last.node_ns) >
		       MAX(t->budget.credit_ns, 0) / 2;
}

/* Done so far, next to something that happens now. */
static double work_now(const struct turns *t)
{
	return tally_work(&t->tally, t->ops->work(t->arg));
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void open_window(struct turns *t, struct turn *u, uint64_t now, double work)
{
	u->window_ns = now;
	u->window_own = t->tally.total.own_ns;
	u->window_work = work;
}

static void close_window(struct turns *t, struct turn *u, uint64_t now, double work)
{
	u->on_total += now - u->window_ns;
	u->own_on_total += t->tally.total.own_ns - u->window_own;
	u->work_on_total += work - u->window_work;
}

static uint32_t share_ppm(const struct turns *t, const struct turn *u)
{
	const struct tally_total *total = &t->tally.total;
	double share;

	if (total->work >= COVERAGE_LEAST_STEPS)
		share = u->work_on_total / total->work;
	else if (total->own_ns >= LEAST_OWN_NS)
		share = u->own_on_total / total->own_ns;
	else
		share = (double)u->on_total / (double)(now_ns(t) - t->start_ns + 1);
	return (uint32_t)(1e6 * MIN(share, 1) + 0.5);
}

/* Steps that the node did: reductions, or of 100 ns of its own CPU. */
static double steps(const struct turns *t, double work, double own)
{
	return MAX(t->has_work ? work : own / 100, 0);
}

/* While a group was off; an open window is watched up to now. */
static double steps_missed(const struct turns *t, const struct turn *u, double work)
{
	double on_work = u->work_on_total, on_own = u->own_on_total, own = t->tally.total.own_ns;

	if (u->on) {
		on_work += work - u->window_work;
		on_own += own - u->window_own;
	}
	return MAX(steps(t, work, own) - steps(t, on_work, on_own), 0);
}

static enum coverage_state state_of(const struct turns *t, unsigned int i)
{
	if (t->units[i].on)
		return COVERAGE_ON;
	if (t->units[i].failed)
		return COVERAGE_FAILED;
	return t->budget.sources[i].dropped ? COVERAGE_DROPPED : COVERAGE_OFF;
}

/* `work`: as it was read last, at ts_ns. */
static void tell(struct turns *t, unsigned int i, uint64_t ts_ns, double work)
{
	struct turn *u = &t->units[i];
	struct keeper_change change = {
		.ts_ns = ts_ns,
		.state = state_of(t, i),
		.share_ppm = share_ppm(t, u),
		.work = (uint64_t)steps(t, work, t->tally.total.own_ns),
		.missed = (uint64_t)steps_missed(t, u, work),
	};

	u->was_off = true;
	u->told_dropped |= t->budget.sources[i].dropped && !u->on;
	t->ops->tell(t->arg, i, &change);
}

/* How far the node is. */
static void tell_work(struct turns *t, uint64_t now)
{
	struct keeper_change change = {
		.ts_ns = now,
		.state = COVERAGE_ON,
		.share_ppm = 1000000,
	};

	if (now - t->told_work_ns < TELL_WORK_NS)
		return;
	change.work = (uint64_t)steps(t, work_now(t), t->tally.total.own_ns);
	t->told_work_ns = now;
	t->ops->tell(t->arg, TURNS_NO_GROUP, &change);
}

static void tell_log(struct turns *t, uint64_t now)
{
	const struct tally_total *total = &t->tally.total;
	double spent = total->spent_ns - t->log_spent, own = total->own_ns - t->log_own;

	if (now - t->told_log_ns < TELL_LOG_NS)
		return;
	log_debug("probes took %.3f ms (%" PRIu64 " hits) of %.0f ms of the node's own CPU in "
		  "%.0f ms, %.2f times what was calibrated; %.3f ms are left, a round costs %.3f "
		  "ms (tail %.1f ms)",
		  spent / 1e6, total->hits - t->log_hits, own / 1e6,
		  (double)(now - t->told_log_ns) / 1e6, total->factor, t->budget.credit_ns / 1e6,
		  t->budget.round_cost_ns / 1e6, t->budget.tail_ns / 1e6);
	t->told_log_ns = now;
	t->log_hits = total->hits;
	t->log_spent = total->spent_ns;
	t->log_own = total->own_ns;
}

/* ---- off ------------------------------------------------------------------------------------- */

/*
 * The node's count of what it did is read next to the moment in which events begin and end to come,
 * while the probes are there: without them it does several times as much.
 */
static void silence(struct turns *t, unsigned int i)
{
	struct turn *u = &t->units[i];
	double work = work_now(t);
	uint64_t last_ns = now_ns(t), ts_ns; /* surely all was seen; surely nothing is any more */

	t->ops->mute(t->arg, i);
	/* This thread may have waited for a CPU in between. */
	work = (work + work_now(t)) / 2;
	ts_ns = now_ns(t);
	close_window(t, u, ts_ns, work);
	u->on = false;
	tell(t, i, last_ns, work);
}

static void take_away(struct turns *t, unsigned int i)
{
	struct turn *u = &t->units[i];

	t->ops->off(t->arg, i);
	u->off_ns = now_ns(t);
	u->leaving = t->by_perf;
	t->nr_leaving += t->by_perf;
	if (!t->by_perf)
		budget_ended(&t->budget, i);
}

/* After a look at all that was hit until they were gone. */
static void end_leaving(struct turns *t)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		if (!t->units[i].leaving)
			continue;
		t->units[i].leaving = false;
		t->units[i].off_ns = now_ns(t);
		budget_ended(&t->budget, i);
	}
	t->nr_leaving = 0;
}

/* Of those that should be off and are not, the dearest. */
static unsigned int next_to_turn_off(const struct turns *t)
{
	unsigned int found = t->nr;

	for (unsigned int i = 0; i < t->nr; i++) {
		if (t->units[i].on && !budget_wants(&t->budget, i) &&
		    (found == t->nr || t->budget.sources[i].rate > t->budget.sources[found].rate))
			found = i;
	}
	return found;
}

static void tell_dropped(struct turns *t)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		if (t->budget.sources[i].dropped && !t->units[i].told_dropped)
			tell(t, i, now_ns(t), t->tally.total.work);
	}
}

/* After it was measured. */
static void turn_off_due(struct turns *t)
{
	unsigned int order[BUDGET_MAX_SOURCES], nr = 0, i;

	budget_step(&t->budget, now_ns(t));
	while ((i = next_to_turn_off(t)) < t->nr) {
		silence(t, i);
		order[nr++] = i;
	}
	for (i = 0; i < nr; i++)
		take_away(t, order[i]);
	tell_dropped(t);
}

/* ---- on -------------------------------------------------------------------------------------- */

static int turn_on(struct turns *t, unsigned int i, struct error *err)
{
	struct turn *u = &t->units[i];
	uint64_t now;
	double work;
	int rc = t->ops->place(t->arg, i, err);

	if (rc)
		return rc;
	work = work_now(t);
	t->ops->listen(t->arg, i);
	work = (work + work_now(t)) / 2;
	now = now_ns(t);
	/* What was hit up to now was hit for nothing. */
	take_hits(t, i);
	u->on = true;
	u->failures = 0;
	open_window(t, u, now, work);
	budget_began(&t->budget, i, now);
	if (u->was_off)
		tell(t, i, now, work);
	return 0;
}

/* Something is short, and there may be more of it later; or never.  If the node is gone it is no
 * failure. */
static void put_off(struct turns *t, unsigned int i, int rc)
{
	struct turn *u = &t->units[i];

	u->retry_ns = now_ns(t) + (RETRY_NS << u->failures);
	if (rc != -ESRCH && ++u->failures >= MOST_FAILURES) {
		u->failed = true;
		budget_drop(&t->budget, i);
		tell_dropped(t);
	}
}

static bool is_put_off(const struct turns *t, unsigned int i)
{
	return t->units[i].retry_ns && now_ns(t) < t->units[i].retry_ns;
}

/* Nobody waits in a round for what cannot be placed now. */
static void pass_over(struct turns *t)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		if (!t->units[i].on && t->budget.sources[i].sampled && is_put_off(t, i) &&
		    budget_wants(&t->budget, i))
			budget_ended(&t->budget, i);
	}
}

/* Of those that should be on and are not, the one whose slice is longest: slices lie within each
 * other.  nr = none. */
static unsigned int next_to_turn_on(const struct turns *t)
{
	unsigned int found = t->nr;

	/* The kernel would have this thread wait until perf events are gone. */
	if (t->nr_leaving)
		return t->nr;
	for (unsigned int i = 0; i < t->nr; i++) {
		const struct budget_source *s = &t->budget.sources[i];

		if (t->units[i].on || !budget_wants(&t->budget, i) || is_put_off(t, i))
			continue;
		if (found == t->nr || !s->sampled ||
		    s->slice_ns > t->budget.sources[found].slice_ns)
			found = i;
	}
	return found;
}

static void turn_on_due(struct turns *t)
{
	struct error err;

	pass_over(t);
	for (unsigned int tries = 0; tries < t->nr; tries++) {
		unsigned int i = next_to_turn_on(t);
		int rc;

		if (i == t->nr)
			return;
		rc = turn_on(t, i, &err);
		if (rc) {
			log_debug("%s", err.msg);
			put_off(t, i, rc);
			pass_over(t);
		}
		if (now_ns(t) - t->taken_ns < PLACING_NS)
			continue;
		/* What is on may have to go before all are. */
		if (!t->ops->pause(t->arg, SHORTEST_SLEEP_NS))
			return;
		measure(t);
		turn_off_due(t);
	}
}

/* ---- from outside ---------------------------------------------------------------------------- */

static void forget_switches(struct turns *t)
{
	struct tally_clocks clocks;

	t->ops->clocks(t->arg, &clocks);
	tally_forget_switches(&t->tally, clocks.switch_ns);
}

/* Measures, and has what is due to go. */
static void look(struct turns *t)
{
	bool gone = t->nr_leaving && !t->ops->is_closing(t->arg);

	measure(t);
	if (gone)
		end_leaving(t);
	if (t->budget.in_round || t->budget.due_ns)
		tally_switches(&t->tally);
	turn_off_due(t);
}

/* As next_to_turn_on() does; what is on meanwhile may have to go, too.  False = it is to end. */
static bool await_leaving(struct turns *t)
{
	while (t->nr_leaving) {
		uint64_t now = now_ns(t);

		if (!t->ops->pause(t->arg, turns_next(t) - now))
			return false;
		look(t);
	}
	return true;
}

int turns_begin(struct turns *t, struct error *err)
{
	uint64_t paused_ns = now_ns(t);

	for (unsigned int i = 0; i < t->nr; i++) {
		int rc;

		if (!await_leaving(t))
			break;
		rc = turn_on(t, i, err);
		if (rc)
			return rc;
		/* In debt it is found out after each whether it was that one. */
		if (i + 1 < t->nr && now_ns(t) - t->taken_ns < PLACING_NS &&
		    t->budget.credit_ns >= 0)
			continue;
		forget_switches(t);
		measure(t);
		turn_off_due(t);
		if (now_ns(t) - paused_ns < PLACING_NS)
			continue;
		if (!t->ops->pause(t->arg, PLACING_PAUSE_NS))
			break;
		paused_ns = now_ns(t);
	}
	forget_switches(t);
	return 0;
}

void turns_step(struct turns *t)
{
	uint64_t now = now_ns(t);

	if (is_worth_measuring(t, now)) {
		look(t);
		turn_on_due(t);
	}
	now = now_ns(t);
	tell_work(t, now);
	tell_log(t, now);
}

uint64_t turns_next(const struct turns *t)
{
	uint64_t now = now_ns(t);

	return MAX(budget_next(&t->budget, now, now + budget_glance_ns(&t->budget)),
		   now + SHORTEST_SLEEP_NS);
}

void turns_end(struct turns *t)
{
	uint64_t now;
	double work;

	measure(t);
	now = now_ns(t);
	work = t->tally.total.work;
	for (unsigned int i = 0; i < t->nr; i++) {
		struct turn *u = &t->units[i];

		if (u->was_off && u->on) {
			close_window(t, u, now, work);
			open_window(t, u, now, work);
		}
		if (u->was_off)
			tell(t, i, now, work);
	}
}
