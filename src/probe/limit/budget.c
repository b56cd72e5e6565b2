/* SPDX-License-Identifier: BSD-2-Clause */
/* See budget.h. */
#include "probe/limit/budget.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/random.h"

#define NS_PER_S 1e9
/* Time over which the cost of sources that are always on is averaged: a burst is shorter. */
#define PERIOD_NS 0.5e9
/* The peak rate of a source is measured over this time, so that a burst is not averaged with the
 * quiet time before it. */
#define CHUNK_NS 2e6
/* Time between two measurements: while expensive sources may be on, and otherwise. */
#define CHECK_CLOSE_NS 10000000u
#define CHECK_NS       20000000u
/* Time constants of own_per_s and busy_per_s. */
#define OWN_NS	0.5e9
#define BUSY_NS 2e7
/* A measured rate is averaged with the one before.  But a rise by the factor JUMP counts at once,
 * and a fall to less than 1/FALL counts as one to 1/FALL. */
#define JUMP 1.5
#define FALL 16.0
/* A sampled source is always on again if it could cost RISE_FACTOR times as much for
 * RISE_ROUNDS. */
#define RISE_FACTOR 1.25
#define RISE_ROUNDS 2u
/* While sources are sampled only this part of the income is planned for, as measurements are not
 * exact. */
#define HEADROOM 0.9
/* Least time between two rounds (rather than more often, sources are sampled longer), and the
 * longest window. */
#define LEAST_PAUSE_NS	  0.25e9
#define LONGEST_WINDOW_NS 0.5e9
/* A round that is due is delayed by a random time, at most this part of the pause before it, so
 * that it does not synchronise with anything periodic.  What the bucket gains meanwhile makes the
 * round longer, up to MOST_LONGER times. */
#define PUT_OFF	    0.5
#define MOST_LONGER 2.0
/* A round begins when the bucket has this many times its planned cost: the cost is measured only
 * every ms or so. */
#define RESERVE 1.25
/* Windows on credit; those of all sources together may cost ASK_PART of the income of the pause. */
#define ASK_AGAIN_NS 1e9
#define ASK_WINDOWS  4.0 /* times the shortest window, at most; see is_shown() */
#define ASK_STEP_NS  1000000u
#define ASK_WAIT_NS  2e9 /* of all sources, if the next paid round is this far away */
#define ASK_PART     0.25
#define ASK_PLACING  0.25 /* cost of attaching each source, as part of that of ASK_STEP_NS */
/* Debt that is allowed before any source is sampled: what an idle node earns in this time. */
#define GRACE_S	     1.0
#define FEW_PART     0.25 /* part of that debt for sources with a few hits each */
#define RAN_PART     0.25 /* of its usual CPU time that the node must have had: shows() */
#define LONGEST_TAIL 1e8  /* ns */
/* Long windows cost this many times as much as attaching and detaching, unless that takes more than
 * the income of LONG_PAUSE_NS. */
#define LONG_PART     3
#define LONG_PAUSE_NS 3e9

void budget_init(struct budget *b, double percent, unsigned int nr, double least_window_ns,
		 double own_per_s, uint64_t random)
{
	memset(b, 0, sizeof(*b));
	b->percent = percent;
	b->nr = MIN(nr, BUDGET_MAX_SOURCES);
	b->least_window_ns = least_window_ns;
	b->own_per_s = own_per_s;
	b->random = random | 1;
}

/* ns that probes may take in wall_ns, in which the node uses own_ns for itself. */
static double income(const struct budget *b, double own_ns, double wall_ns)
{
	double may = b->percent / 100 * MAX(own_ns, BUDGET_MIN_BUSY * wall_ns);

	return b->most_per_s > 0 ? MIN(may, b->most_per_s * wall_ns / NS_PER_S) : may;
}

double budget_allowed(const struct budget *b)
{
	return income(b, b->own_per_s, NS_PER_S);
}

double budget_share(double spent_ns, double own_ns, double wall_ns, bool *of_core)
{
	bool idle = own_ns < BUDGET_MIN_BUSY * wall_ns;

	if (of_core)
		*of_core = idle;
	return wall_ns > 0 ? 100 * spent_ns / (idle ? wall_ns : own_ns) : NAN;
}

/* ---- what is reported ------------------------------------------------------------------------ */

void budget_pass(struct budget *b, double wall_ns, double own_ns, double spent_ns)
{
	double most;

	if (wall_ns <= 0)
		return;
	b->own_per_s += (own_ns / wall_ns * NS_PER_S - b->own_per_s) * wall_ns / (wall_ns + OWN_NS);
	b->busy_per_s += ((own_ns + spent_ns) / wall_ns * NS_PER_S - b->busy_per_s) * wall_ns /
			 (wall_ns + BUSY_NS);
	b->period_ns += wall_ns;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		s->busy_ns += (own_ns + spent_ns) * MIN(s->unspent_on_ns / wall_ns, 1);
		s->unspent_on_ns = 0;
	}
	most = MAX(budget_allowed(b) * BUDGET_SAVED_S, b->round_cost_ns * RESERVE * MOST_LONGER);
	b->credit_ns += income(b, own_ns, wall_ns) - spent_ns;
	b->other_ns += MAX(spent_ns - b->hits_ns, 0);
	b->hits_ns = 0;
	b->credit_ns = MIN(b->credit_ns, most);
}

void budget_hits(struct budget *b, unsigned int i, double cost_ns, double on_ns)
{
	struct budget_source *s = &b->sources[i];

	b->hits_ns += cost_ns;
	if (on_ns <= 0) {
		s->tail_ns += cost_ns;
		return;
	}
	s->cost_ns += cost_ns;
	s->on_ns += on_ns;
	s->unspent_on_ns += on_ns;
	s->chunk_cost_ns += cost_ns;
	s->chunk_on_ns += on_ns;
	if (s->chunk_on_ns < CHUNK_NS)
		return;
	s->peak = MAX(s->peak, s->chunk_cost_ns / s->chunk_on_ns * NS_PER_S);
	s->chunk_cost_ns = s->chunk_on_ns = 0;
}

static void forget_hits(struct budget_source *s)
{
	s->cost_ns = s->on_ns = s->busy_ns = s->chunk_cost_ns = s->chunk_on_ns = s->peak = 0;
}

static double smooth(double old, double now)
{
	if (now > old * JUMP)
		return now;
	return now * FALL < old ? old / FALL : (old + now) / 2;
}

/* ---- the cut height -------------------------------------------------------------------------- */

static double rate_of(const struct budget_source *s)
{
	return s->dropped ? 0 : s->rate;
}

/* Costs of sources (ns a second) are cut off at one height so that their sum is `allowed`:
 * returns that height, negative if the sum is not more.  Sources below the height leave the rest
 * of their share to the others; each iteration finds more of them, until one finds none. */
static double cut_height(const struct budget *b, double allowed)
{
	double height = 0, previous = -1, total = 0;

	for (unsigned int i = 0; i < b->nr; i++)
		total += rate_of(&b->sources[i]);
	if (total <= allowed)
		return -1;
	while (height > previous) {
		double rest = allowed;
		unsigned int above = 0;

		previous = height;
		for (unsigned int i = 0; i < b->nr; i++) {
			double rate = rate_of(&b->sources[i]);

			if (rate > height)
				above++;
			else
				rest -= rate;
		}
		if (above)
			height = MAX(rest / above, height);
	}
	return height;
}

static bool is_sampling(const struct budget *b)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		if (b->sources[i].sampled)
			return true;
	}
	return false;
}

/* ns: see GRACE_S. */
static double grace(const struct budget *b)
{
	return income(b, 0, NS_PER_S) * GRACE_S;
}

/* ns for which the probes of the shortest window are hit. */
static double least_hit_ns(const struct budget *b)
{
	return b->least_window_ns + b->tail_ns;
}

/* True if a window of this cost is too expensive even at the lowest allowed duty cycle.  Judged by
 * the whole income: a debt of other sources does not matter. */
static bool is_too_dear(const struct budget *b, double cost_ns, double height)
{
	return height >= 0 && cost_ns > height * b->least_window_ns / BUDGET_MIN_DUTY / NS_PER_S;
}

static void judge(const struct budget *b, struct budget_source *s, double window_cost_ns,
		  double height)
{
	s->starved = is_too_dear(b, window_cost_ns, height) ? s->starved + 1 : 0;
}

/* Cost of the shortest window at a rate, ns. */
static double least_cost(const struct budget *b, double rate)
{
	return rate * least_hit_ns(b) / NS_PER_S;
}

/* True for a source that is always on and costs more than the height. */
static bool is_above(const struct budget_source *s, double height)
{
	return !s->sampled && !s->dropped && s->rate > height;
}

/* True if sources with only a few hits are not sampled yet, as a few hits do not make a rate.
 * False in debt, if there are many such sources, which together are expensive. */
static bool few_may_stay(const struct budget *b, double height)
{
	double few = grace(b) * FEW_PART, sum = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		const struct budget_source *s = &b->sources[i];

		if (is_above(s, height) && s->cost_ns < few)
			sum += s->cost_ns;
	}
	return b->credit_ns >= -grace(b) || sum < few;
}

static void sample(const struct budget *b, struct budget_source *s, double height)
{
	s->sampled = true;
	s->done = s->ended = true;
	s->window_ns = 0;
	s->relaxed = s->starved = 0;
	s->was_hit = s->cost_ns > 0;
	if (s->on_ns > 0)
		s->peak = MAX(s->peak, s->cost_ns / s->on_ns * NS_PER_S);
	s->rate = MAX(s->rate, s->peak);
	judge(b, s, least_cost(b, s->rate), height);
}

/* Begins to sample the sources that are always on and cannot be paid for. */
static void sample_dear(struct budget *b)
{
	/* Assumes that the node would be as busy without probes as it is now with them: so the
	 * income of a burst of work counts at once. */
	double may = MAX(budget_allowed(b), income(b, b->busy_per_s, NS_PER_S));
	double length = MAX(b->period_ns, PERIOD_NS), height;
	bool sampling = is_sampling(b), few_stay;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!s->sampled && !s->dropped)
			s->rate = MAX(s->rate, s->cost_ns / length * NS_PER_S);
	}
	height = cut_height(b, may * (sampling ? HEADROOM : 1));
	if (height < 0)
		return;
	few_stay = few_may_stay(b, height);
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!is_above(s, height) || (few_stay && s->cost_ns < grace(b) * FEW_PART))
			continue;
		if (b->credit_ns >= -grace(b) && (!sampling || s->rate * HEADROOM <= height))
			continue;
		sample(b, s, height);
	}
}

static void end_period(struct budget *b)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (s->sampled || s->dropped)
			continue;
		s->rate = smooth(s->rate, s->cost_ns / b->period_ns * NS_PER_S);
		forget_hits(s);
	}
	b->period_ns = 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Income less the cost of the sources that are always on, ns a second. */
static double left_for_rounds(const struct budget *b)
{
	double left = budget_allowed(b);

	for (unsigned int i = 0; i < b->nr; i++) {
		if (!b->sources[i].sampled)
			left -= rate_of(&b->sources[i]);
	}
	return MAX(left, 0);
}

/* Sets the lengths of the windows of a round, times `longer`; returns what they will cost. */
static double plan(struct budget *b, double longer)
{
	double most = 0, each, cost = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		if (!b->sources[i].sampled)
			continue;
		most = MAX(most, b->sources[i].rate);
		nr++;
	}
	if (!nr)
		return 0;
	/* Each source may cost `each`, so the most expensive has the shortest window. */
	each = MAX(most * least_hit_ns(b), left_for_rounds(b) * LEAST_PAUSE_NS / nr);
	if (b->long_windows)
		each = MAX(each, MIN(b->placing_ns * LONG_PART * NS_PER_S,
				     left_for_rounds(b) * LONG_PAUSE_NS) /
					 nr);
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];
		double ns = LONGEST_WINDOW_NS;

		if (!s->sampled)
			continue;
		if (s->rate * ns > each)
			ns = each / s->rate;
		s->window_ns = MAX(ns - b->tail_ns, b->least_window_ns) * longer;
		cost += s->rate * (s->window_ns + b->tail_ns) / NS_PER_S;
	}
	return cost;
}

/* Cost of a round of the shortest windows on credit, if all sources are as expensive as before.
 * While the last source is attached the first ones are hit already. */
static double ask_cost(const struct budget *b)
{
	double cost = 0, nr = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		if (!b->sources[i].sampled)
			continue;
		cost += b->sources[i].rate * (ASK_STEP_NS + b->tail_ns) / NS_PER_S;
		nr++;
	}
	return cost * (1 + nr * ASK_PLACING);
}

/* Plans short windows before the bucket can pay for a round: for sources that may have to be
 * dropped, and for all if that costs only a part of the income, as a burst may be over. */
static bool plan_on_credit(struct budget *b, double pause_ns)
{
	double income = budget_allowed(b), wait_ns;
	bool all, any = false;

	wait_ns = (b->round_cost_ns * RESERVE - b->credit_ns) / income * NS_PER_S;
	all = wait_ns >= ASK_WAIT_NS && !b->long_windows &&
	      ask_cost(b) <= ASK_PART * income * pause_ns / NS_PER_S;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		s->window_ns =
			s->sampled && (all || s->starved) ? b->least_window_ns * ASK_WINDOWS : 0;
		any |= s->window_ns > 0;
	}
	return any;
}

/* A window on credit ends as soon as it shows that its source is as expensive as before. */
static bool is_shown(const struct budget *b, const struct budget_source *s, double height)
{
	if (s->starved)
		return is_too_dear(b, s->cost_ns, height);
	return s->cost_ns >= s->rate * ASK_STEP_NS / NS_PER_S;
}

/* Learns for how long probes are hit after the end of a window, from the sources that were hit
 * in their last one. */
static void learn_tail(struct budget *b)
{
	double tail = 0, nr = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (s->sampled && s->was_hit && s->rate > 0) {
			tail += MIN(s->tail_ns / s->rate * NS_PER_S, LONGEST_TAIL);
			nr++;
		}
		s->was_hit = false;
		s->tail_ns = 0;
	}
	if (nr > 0)
		b->tail_ns += (tail / nr - b->tail_ns) / 4;
}

static void begin_round(struct budget *b, bool on_credit)
{
	learn_tail(b);
	b->placing_ns += (b->other_ns - b->placing_ns) / (b->placing_ns > 0 ? 4 : 1);
	b->other_ns = 0;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		s->done = s->ended = s->window_ns <= 0;
		s->began_ns = 0;
		if (s->sampled)
			forget_hits(s);
	}
	b->in_round = true;
	b->on_credit = on_credit;
	b->due_ns = 0;
}

static void drop(struct budget_source *s)
{
	s->sampled = false;
	s->dropped = true;
}

/* Drops the most expensive of the sources that are starved for long enough.  Only one in each
 * round: its share may be enough for the others. */
static void drop_one(struct budget *b)
{
	struct budget_source *worst = NULL;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (s->sampled && s->starved >= BUDGET_DROP_AFTER &&
		    (!worst || s->rate > worst->rate))
			worst = s;
	}
	if (!worst)
		return;
	drop(worst);
}

/* A window without hits counts only if the node ran in it, and did not wait for a CPU. */
static bool shows(const struct budget *b, const struct budget_source *s)
{
	bool ran = b->own_per_s < BUDGET_MIN_BUSY * NS_PER_S ||
		   s->busy_ns >= RAN_PART * b->own_per_s * s->on_ns / NS_PER_S;

	return s->on_ns > 0 && (s->cost_ns > 0 || ran);
}

/* Updates rates from the round, and what follows from them. */
static void end_round(struct budget *b, uint64_t now_ns)
{
	double height;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!s->sampled)
			continue;
		s->was_hit = s->cost_ns > 0;
		if (shows(b, s))
			s->rate = smooth(s->rate, s->cost_ns / s->on_ns * NS_PER_S);
	}
	height = cut_height(b, budget_allowed(b) * HEADROOM);
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!s->sampled || !shows(b, s))
			continue;
		judge(b, s,
		      b->on_credit ? s->cost_ns : least_cost(b, s->cost_ns / s->on_ns * NS_PER_S),
		      height);
		if (height >= 0 && s->rate * RISE_FACTOR > height)
			s->relaxed = 0;
		else if (++s->relaxed >= RISE_ROUNDS)
			s->sampled = false;
		forget_hits(s);
	}
	drop_one(b);
	b->in_round = false;
	b->round_end_ns = now_ns;
}

static void step_round(struct budget *b, uint64_t now_ns)
{
	bool overdrawn = b->credit_ns < 0 && !b->on_credit, all = true;
	double height = b->on_credit ? cut_height(b, budget_allowed(b) * HEADROOM) : 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!s->sampled)
			continue;
		if (overdrawn || (s->began_ns && (double)(now_ns - s->began_ns) >= s->window_ns))
			s->done = true;
		if (b->on_credit && s->on_ns > 0 && is_shown(b, s, height))
			s->done = true;
		if (s->done && !s->began_ns)
			s->ended = true;
		all &= s->ended;
	}
	if (all)
		end_round(b, now_ns);
}

static void await_round(struct budget *b, uint64_t now_ns)
{
	double pause;

	if (!is_sampling(b)) {
		b->round_end_ns = b->due_ns = 0;
		b->round_cost_ns = 0;
		return;
	}
	if (!b->round_end_ns)
		b->round_end_ns = now_ns;
	pause = (double)(now_ns - b->round_end_ns);
	b->round_cost_ns = plan(b, 1);
	if (b->credit_ns < b->round_cost_ns * RESERVE) {
		b->due_ns = 0; /* income was spent otherwise since */
		if (pause >= ASK_AGAIN_NS && plan_on_credit(b, pause))
			begin_round(b, true);
		return;
	}
	if (pause < LEAST_PAUSE_NS)
		return;
	if (!b->due_ns)
		b->due_ns = now_ns +
			    (uint64_t)(random_uniform(&b->random) * PUT_OFF * MIN(pause, NS_PER_S));
	if (now_ns < b->due_ns)
		return;
	if (b->round_cost_ns > 0)
		plan(b, MIN(b->credit_ns / b->round_cost_ns / RESERVE, MOST_LONGER));
	begin_round(b, false);
}

void budget_step(struct budget *b, uint64_t now_ns)
{
	if (b->credit_ns < 0 || b->period_ns >= PERIOD_NS)
		sample_dear(b);
	if (b->period_ns >= PERIOD_NS)
		end_period(b);
	if (b->in_round)
		step_round(b, now_ns);
	if (!b->in_round)
		await_round(b, now_ns);
}

bool budget_wants(const struct budget *b, unsigned int i)
{
	const struct budget_source *s = &b->sources[i];

	if (s->dropped)
		return false;
	return !s->sampled || (b->in_round && !s->done);
}

/* Each measurement takes CPU, too: so they are rare, unless expensive sources may be on that the
 * bucket cannot pay for. */
uint64_t budget_check_ns(const struct budget *b)
{
	bool saved = b->credit_ns > budget_allowed(b) * BUDGET_SAVED_S / 2;

	return b->in_round || (!is_sampling(b) && !saved) ? CHECK_CLOSE_NS : CHECK_NS;
}

uint64_t budget_next(const struct budget *b, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t next = limit_ns;

	if (!b->in_round)
		return b->due_ns ? MIN(b->due_ns, next) : next;
	for (unsigned int i = 0; i < b->nr; i++) {
		const struct budget_source *s = &b->sources[i];

		if (s->sampled && s->began_ns && !s->done)
			next = MIN(next, s->began_ns + (uint64_t)s->window_ns);
	}
	if (b->on_credit)
		next = MIN(next, now_ns + ASK_STEP_NS);
	return next;
}

void budget_began(struct budget *b, unsigned int i, uint64_t now_ns)
{
	b->sources[i].began_ns = now_ns;
}

void budget_ended(struct budget *b, unsigned int i)
{
	b->sources[i].done = b->sources[i].ended = true;
}

void budget_drop(struct budget *b, unsigned int i)
{
	budget_ended(b, i);
	drop(&b->sources[i]);
}
