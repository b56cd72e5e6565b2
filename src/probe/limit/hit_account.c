/* SPDX-License-Identifier: BSD-2-Clause */
/* See hit_account.h. */
#include "probe/limit/hit_account.h"

#include <string.h>

#include "base/compiler.h"

/* Run time is derived from at least this many hits. */
#define RUN_MIN_HITS 20u
/* Length of a stretch of the fit if no probe is switched before: the node's CPU time is counted in
 * ticks of some ms. */
#define STRETCH_NS 500000000ull

void hit_account_start(struct hit_account *a, unsigned int nr, double most_run_ns,
		       const struct hit_account_clocks *now)
{
	memset(a, 0, sizeof(*a));
	a->nr = MIN(nr, BUDGET_MAX_SOURCES);
	a->most_run_ns = most_run_ns;
	a->total.factor = 1;
	a->start = a->last = *now;
	a->start.work = MAX(now->work, 0);
	a->stretch.node_ns = now->node_ns;
	a->stretch.at_ns = now->at_ns;
}

void hit_account_skip(struct hit_account *a, unsigned int group, const struct attach_hits *now)
{
	a->groups[group].seen = *now;
}

double hit_account_work(const struct hit_account *a, double work)
{
	return MAX(work - a->start.work, a->total.work);
}

/* Least of the recent run times of a hit; until there are any, the longest possible. */
static double least_run_ns(const struct hit_account *a, unsigned int group)
{
	unsigned int nr = MIN(a->groups[group].nr_runs, HIT_ACCOUNT_RUNS);
	double least = nr ? a->groups[group].run_ns[0] : a->most_run_ns;

	for (unsigned int i = 1; i < nr; i++)
		least = MIN(least, a->groups[group].run_ns[i]);
	return least;
}

/* Learns run times only while the group is enabled: else programs only check their switch and
 * return. */
static void learn_run(struct hit_account *a, unsigned int group, uint64_t hits, uint64_t run_ns)
{
	struct attach_hits *few = &a->groups[group].few;

	few->hits += hits;
	few->run_ns += run_ns;
	if (few->hits < RUN_MIN_HITS)
		return;
	a->groups[group].run_ns[a->groups[group].nr_runs++ % HIT_ACCOUNT_RUNS] =
		(double)few->run_ns / (double)few->hits;
	*few = (struct attach_hits){0};
}

void hit_account_hits(struct hit_account *a, unsigned int group, const struct attach_hits *now,
		      bool enabled)
{
	struct attach_hits *seen = &a->groups[group].seen;
	uint64_t hits = now->hits - seen->hits, run_ns = now->run_ns - seen->run_ns;
	double run, ns;

	if (now->hits <= seen->hits)
		return;
	if (enabled)
		learn_run(a, group, hits, run_ns);
	run = (double)run_ns / (double)hits;
	ns = (double)(now->trap_ns - seen->trap_ns) +
	     (double)hits * MIN(run, least_run_ns(a, group));
	if (enabled)
		a->groups[group].cost_ns += ns;
	else
		a->groups[group].tail_ns += ns;
	a->total.hits += hits;
	*seen = *now;
}

void hit_account_step(struct hit_account *a, const struct hit_account_clocks *now,
		      struct hit_account_step *out)
{
	double factor = a->total.factor, own, probes = 0;

	*out = (struct hit_account_step){.wall_ns = (double)(now->at_ns - a->last.at_ns)};
	for (unsigned int i = 0; i < a->nr; i++) {
		double cost = a->groups[i].cost_ns, tail = a->groups[i].tail_ns;

		a->groups[i].cost_ns = a->groups[i].tail_ns = 0;
		a->stretch.calibrated_ns += cost + tail;
		out->cost_ns[i] = cost * factor;
		out->tail_ns[i] = tail * factor;
		probes += (cost + tail) * factor;
	}
	out->spent_ns = probes + (double)(now->switch_ns - a->last.switch_ns);
	a->total.work = hit_account_work(a, now->work);
	a->last = *now;
	a->total.probes_ns += probes;
	a->total.spent_ns += out->spent_ns;
	own = (double)(now->node_ns - a->start.node_ns) - a->total.probes_ns;
	own = MAX(own, a->total.own_ns);
	out->own_ns = own - a->total.own_ns;
	a->total.own_ns = own;
	if (now->at_ns - a->stretch.at_ns >= STRETCH_NS)
		hit_account_switches(a);
}

void hit_account_switches(struct hit_account *a)
{
	double work = a->total.work;

	if (work > a->stretch.work)
		cost_fit_add(&a->fit, work - a->stretch.work, a->stretch.calibrated_ns,
			     (double)(a->last.node_ns - a->stretch.node_ns));
	a->total.factor = cost_fit_factor(&a->fit);
	a->stretch.work = work;
	a->stretch.calibrated_ns = 0;
	a->stretch.node_ns = a->last.node_ns;
	a->stretch.at_ns = a->last.at_ns;
}

void hit_account_forget_switches(struct hit_account *a, uint64_t switch_ns)
{
	a->last.switch_ns = switch_ns;
}
