/* SPDX-License-Identifier: BSD-2-Clause */
/* See tally.h. */
#include "probe/limit/tally.h"

#include <string.h>

#include "base/compiler.h"

/* Fewer hits show no run time. */
#define RUN_MIN_HITS 20u
/* The node's CPU time moves in ticks of some ms: a stretch of the fit is longer if nothing ends
 * it. */
#define STRETCH_NS 500000000ull

void tally_start(struct tally *t, unsigned int nr, double most_run_ns,
		 const struct tally_clocks *now)
{
	memset(t, 0, sizeof(*t));
	t->nr = MIN(nr, BUDGET_MAX_SOURCES);
	t->most_run_ns = most_run_ns;
	t->total.factor = 1;
	t->start = t->last = *now;
	t->start.work = MAX(now->work, 0);
	t->stretch.node_ns = now->node_ns;
	t->stretch.at_ns = now->at_ns;
}

void tally_skip(struct tally *t, unsigned int group, const struct attach_hits *now)
{
	t->groups[group].seen = *now;
}

double tally_work(const struct tally *t, double work)
{
	return MAX(work - t->start.work, t->total.work);
}

/* The least of what was seen last; as long as nothing was, the most there may be. */
static double least_run_ns(const struct tally *t, unsigned int group)
{
	unsigned int nr = MIN(t->groups[group].nr_runs, TALLY_RUNS);
	double least = nr ? t->groups[group].run_ns[0] : t->most_run_ns;

	for (unsigned int i = 1; i < nr; i++)
		least = MIN(least, t->groups[group].run_ns[i]);
	return least;
}

/* Programs do all their work only while their events come: what they run for else, a look at a
 * switch, is no measure of that. */
static void learn_run(struct tally *t, unsigned int group, uint64_t hits, uint64_t run_ns)
{
	struct attach_hits *few = &t->groups[group].few;

	few->hits += hits;
	few->run_ns += run_ns;
	if (few->hits < RUN_MIN_HITS)
		return;
	t->groups[group].run_ns[t->groups[group].nr_runs++ % TALLY_RUNS] =
		(double)few->run_ns / (double)few->hits;
	*few = (struct attach_hits){0};
}

void tally_hits(struct tally *t, unsigned int group, const struct attach_hits *now, bool listening)
{
	struct attach_hits *seen = &t->groups[group].seen;
	uint64_t hits = now->hits - seen->hits, run_ns = now->run_ns - seen->run_ns;
	double run, ns;

	if (now->hits <= seen->hits)
		return;
	if (listening)
		learn_run(t, group, hits, run_ns);
	run = (double)run_ns / (double)hits;
	ns = (double)(now->trap_ns - seen->trap_ns) +
	     (double)hits * MIN(run, least_run_ns(t, group));
	if (listening)
		t->groups[group].cost_ns += ns;
	else
		t->groups[group].tail_ns += ns;
	t->total.hits += hits;
	*seen = *now;
}

void tally_step(struct tally *t, const struct tally_clocks *now, struct tally_step *out)
{
	double factor = t->total.factor, own, probes = 0;

	*out = (struct tally_step){.wall_ns = (double)(now->at_ns - t->last.at_ns)};
	for (unsigned int i = 0; i < t->nr; i++) {
		double cost = t->groups[i].cost_ns, tail = t->groups[i].tail_ns;

		t->groups[i].cost_ns = t->groups[i].tail_ns = 0;
		t->stretch.calibrated_ns += cost + tail;
		out->cost_ns[i] = cost * factor;
		out->tail_ns[i] = tail * factor;
		probes += (cost + tail) * factor;
	}
	out->spent_ns = probes + (double)(now->switch_ns - t->last.switch_ns);
	t->total.work = tally_work(t, now->work);
	t->last = *now;
	t->total.probes_ns += probes;
	t->total.spent_ns += out->spent_ns;
	own = (double)(now->node_ns - t->start.node_ns) - t->total.probes_ns;
	own = MAX(own, t->total.own_ns);
	out->own_ns = own - t->total.own_ns;
	t->total.own_ns = own;
	if (now->at_ns - t->stretch.at_ns >= STRETCH_NS)
		tally_switches(t);
}

void tally_switches(struct tally *t)
{
	double work = t->total.work;

	if (work > t->stretch.work)
		cost_fit_add(&t->fit, work - t->stretch.work, t->stretch.calibrated_ns,
			     (double)(t->last.node_ns - t->stretch.node_ns));
	t->total.factor = cost_fit_factor(&t->fit);
	t->stretch.work = work;
	t->stretch.calibrated_ns = 0;
	t->stretch.node_ns = t->last.node_ns;
	t->stretch.at_ns = t->last.at_ns;
}

void tally_forget_switches(struct tally *t, uint64_t switch_ns)
{
	t->last.switch_ns = switch_ns;
}
