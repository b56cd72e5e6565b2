/* SPDX-License-Identifier: BSD-2-Clause */
/* See budget.h. */
#include "probe/budget.h"

#include <string.h>

#include "base/compiler.h"

#define NS_PER_S 1e9
/* What is measured is smoothed by halves, but a change by this factor counts at once. */
#define JUMP 1.5
/* A duty rises if it could be higher by this factor for this many intervals in a row. */
#define RISE_FACTOR    1.25
#define RISE_INTERVALS 2u
/* Below full duty this share of the limit is used: measuring is not exact. */
#define HEADROOM 0.9

void budget_init(struct budget *b, double percent, unsigned int nr)
{
	memset(b, 0, sizeof(*b));
	b->percent = percent;
	b->nr = MIN(nr, BUDGET_MAX_SOURCES);
	for (unsigned int i = 0; i < b->nr; i++)
		b->sources[i].duty = 1;
}

/* ns per second that a source would cost if it were always on. */
static double full_cost(const struct budget_source *s)
{
	return s->dropped ? 0 : s->hits_per_s * s->ns_per_hit;
}

static double smooth(double old, double now, bool falls_too)
{
	if (now > old * JUMP || (falls_too && now * JUMP < old))
		return now;
	return (old + now) / 2;
}

static void learn(struct budget_source *s, const struct budget_seen *seen, double interval_ns,
		  double own_ns)
{
	double on_ns = MIN((double)seen->on_ns, interval_ns), scale;

	s->all_ns += interval_ns;
	if (s->dropped)
		return;
	if (on_ns <= 0) {
		s->total_hits += s->hits_per_s * interval_ns / NS_PER_S;
		return;
	}
	scale = interval_ns / on_ns;
	if (scale > 1 && seen->own_on_ns > 0 && own_ns > (double)seen->own_on_ns)
		scale = own_ns / (double)seen->own_on_ns;
	s->last_rate = (double)seen->hits * NS_PER_S / on_ns;
	s->hits_per_s = smooth(s->hits_per_s, s->last_rate, false);
	s->total_hits += (double)seen->hits * scale;
	s->counted += seen->hits;
	s->on_ns += on_ns;
}

/*
 * The height at which costs are cut so that what is left adds up to `allowed`; negative = nothing
 * needs to be cut.  Sources that stay below the height leave their rest to the others: each round
 * finds more of those, until a round finds none.
 */
static double cut_height(const struct budget *b, double allowed)
{
	double height = 0, previous = -1, total = 0;

	for (unsigned int i = 0; i < b->nr; i++)
		total += full_cost(&b->sources[i]);
	if (total <= allowed)
		return -1;
	while (height > previous) {
		double rest = allowed;
		unsigned int above = 0;

		previous = height;
		for (unsigned int i = 0; i < b->nr; i++) {
			double cost = full_cost(&b->sources[i]);

			if (cost > height)
				above++;
			else
				rest -= cost;
		}
		if (above)
			height = MAX(rest / above, height);
	}
	return height;
}

static double duty_at(double cost, double height)
{
	return height < 0 || cost <= height ? 1 : height / cost;
}

/* Drops the most expensive of those that have starved for long enough; false = there is none.  One
 * in an interval: what it leaves may be enough for the others. */
static bool drop_one(struct budget *b)
{
	struct budget_source *worst = NULL;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (!s->dropped && s->starved >= BUDGET_DROP_AFTER &&
		    (!worst || full_cost(s) > full_cost(worst)))
			worst = s;
	}
	if (!worst)
		return false;
	worst->dropped = true;
	worst->duty = 0;
	return true;
}

/* While nothing is sampled all of the limit may be used; once something is, it gets less, and is
 * always on again only if that is enough. */
static double height_for(const struct budget *b, double allowed)
{
	if (!b->is_sampling && cut_height(b, allowed) < 0)
		return -1;
	return cut_height(b, allowed * HEADROOM);
}

/* What a source gets: less at once, more when it has been possible for a while. */
static bool settle(struct budget_source *s, double height)
{
	double duty = MAX(duty_at(full_cost(s), height), BUDGET_MIN_DUTY), before = s->duty;
	/* By the last interval alone: a burst must not count for longer than it lasted. */
	double now = duty_at(s->last_rate * s->ns_per_hit, height);

	s->starved = now < BUDGET_MIN_DUTY ? s->starved + 1 : 0;
	if (duty < s->duty) {
		/* Up to the headroom a sampled source keeps what it has. */
		if (s->duty == 1 || duty < s->duty * HEADROOM)
			s->duty = duty;
		s->relaxed = 0;
	} else if (duty >= s->duty * RISE_FACTOR || (duty == 1 && s->duty < 1)) {
		if (++s->relaxed >= RISE_INTERVALS) {
			s->duty = duty;
			s->relaxed = 0;
		}
	} else {
		s->relaxed = 0;
	}
	return s->duty != before;
}

bool budget_update(struct budget *b, const struct budget_seen *seen, uint64_t interval_ns,
		   uint64_t busy_ns)
{
	double spent = 0, interval = (double)interval_ns, own, allowed, height;
	bool changed;

	if (interval_ns == 0)
		return false;
	for (unsigned int i = 0; i < b->nr; i++)
		spent += (double)seen[i].hits * b->sources[i].ns_per_hit;
	own = MAX((double)busy_ns - spent, 0);
	for (unsigned int i = 0; i < b->nr; i++)
		learn(&b->sources[i], &seen[i], interval, own);
	own = MAX(own, BUDGET_MIN_BUSY * interval) / interval * NS_PER_S;
	b->spent_percent = 100 * spent / interval * NS_PER_S / own;
	b->own_per_s = smooth(b->own_per_s, own, true);
	allowed = b->own_per_s * b->percent / 100;
	changed = drop_one(b);
	height = height_for(b, allowed);
	b->is_sampling = false;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct budget_source *s = &b->sources[i];

		if (s->dropped)
			continue;
		changed |= settle(s, height);
		b->is_sampling |= s->duty < 1;
	}
	return changed;
}

double budget_sampled_percent(const struct budget_source *s)
{
	return s->all_ns > 0 ? 100 * s->on_ns / s->all_ns : 100;
}
