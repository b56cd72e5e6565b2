/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample_limit.h. */
#include "probe/limit/sample_limit.h"

#include "probe/limit/budget.h"

/* CPU that the node must have used before it is judged again: clocks have ticks of 10 ms, so a
 * shorter span has too large an error. */
#define JUDGED_OWN_NS 5e8

void sample_limit_init(struct sample_limit *l, double percent, unsigned int freq)
{
	*l = (struct sample_limit){.percent = percent, .weight = 1, .max_weight = 1};
	while (2 * l->max_weight <= freq)
		l->max_weight *= 2;
}

/* Overhead, percent; *allowed: the limit, for an almost idle node as if it used BUDGET_MIN_BUSY. */
static double share_of(const struct sample_limit *l, const struct sample_clocks *c, double *allowed,
		       bool *of_core)
{
	double share = budget_share(c->spent_ns, c->own_ns, c->wall_ns, of_core);

	*allowed = l->percent * (*of_core ? BUDGET_MIN_BUSY : 1);
	return share;
}

bool sample_limit_step(struct sample_limit *l, const struct sample_clocks *now)
{
	const struct sample_clocks span = {
		.spent_ns = now->spent_ns - l->judged.spent_ns,
		.own_ns = now->own_ns - l->judged.own_ns,
		.wall_ns = now->wall_ns - l->judged.wall_ns,
	};
	unsigned int before = l->weight;

	if (span.own_ns + span.spent_ns < JUDGED_OWN_NS)
		return false;
	l->judged = *now;
	l->share = share_of(l, &span, &l->allowed, &l->of_core);
	for (double share = l->share; share > l->allowed && l->weight < l->max_weight; share /= 2)
		l->weight *= 2;
	if (l->weight == before && l->weight < l->max_weight && l->share > l->allowed / 2) {
		/* The overhead so far is too high, but the last span was not: the higher weight
		 * stays. */
		l->share = share_of(l, now, &l->allowed, &l->of_core);
		l->weight *= l->share > l->allowed ? 2 : 1;
	}
	return l->weight != before;
}

bool sample_limit_is_over(struct sample_limit *l, const struct sample_clocks *now)
{
	l->share = share_of(l, now, &l->allowed, &l->of_core);
	return l->share > l->allowed;
}
