/* SPDX-License-Identifier: BSD-2-Clause */
/* See meter.h. */
#include "probe/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/cost_fit.h"
#include "target/mem.h"

/* The least run time of a program in the last looks counts: at times it is preempted. */
#define RUN_TIMES    8
#define RUN_MIN_HITS 20u
/* As long as there were too few hits: no program takes longer, unless it is preempted. */
#define RUN_MOST_NS 5000.0
/* The node's CPU time moves in ticks of some ms: a stretch of the fit is longer if nothing ends
 * it. */
#define STRETCH_NS 500000000ull

struct group_cost {
	struct attach_hits seen;
	double run_ns[RUN_TIMES]; /* of one hit, by look */
	unsigned int nr_runs;
};

/* In which nothing was switched. */
struct stretch {
	double calibrated_ns, work;
	uint64_t node_ns, at_ns;
};

struct meter {
	struct attach *attach;
	const struct calibration *cost;
	struct mem *mem;
	struct mem_range *ranges; /* of the counters of work */
	uint64_t *values;
	unsigned int nr_ranges;
	clockid_t clock;
	struct group_cost groups[BUDGET_MAX_SOURCES];
	struct cost_fit fit;
	struct stretch stretch;
	uint64_t open_ns, node_open_ns, node_start_ns;
	uint64_t at_ns, node_ns, switch_ns; /* at the last time */
	double work_start;
	struct meter_total total;
};

/* CPU time of the node; what it was before if it is gone. */
static uint64_t node_now(const struct meter *m)
{
	struct timespec t;

	if (clock_gettime(m->clock, &t))
		return m->node_ns;
	return MAX(m->node_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

int meter_open(struct meter **out, struct attach *a, int os_pid, const struct calibration *cost,
	       struct error *err)
{
	struct meter *m = xcalloc(1, sizeof(*m));
	int rc = 0;

	*out = NULL;
	m->attach = a;
	m->cost = cost;
	m->total.factor = 1;
	if (clock_getcpuclockid(os_pid, &m->clock))
		rc = error_set(err, ERROR_KIND_FAILED, -ESRCH, "process %d has no CPU clock",
			       os_pid);
	rc = rc ? rc : mem_open_live(&m->mem, os_pid, err);
	if (rc) {
		meter_close(m);
		return rc;
	}
	m->open_ns = clock_monotonic_ns();
	m->node_open_ns = m->node_ns = node_now(m);
	*out = m;
	return 0;
}

void meter_close(struct meter *m)
{
	if (!m)
		return;
	mem_close(m->mem);
	free(m->ranges);
	free(m->values);
	free(m);
}

static double read_work(const struct meter *m, double otherwise)
{
	double sum = 0;

	if (!m->nr_ranges || mem_readv(m->mem, m->ranges, m->nr_ranges) != m->nr_ranges)
		return otherwise;
	for (unsigned int i = 0; i < m->nr_ranges; i++)
		sum += (double)m->values[i];
	return sum;
}

double meter_work(const struct meter *m)
{
	return MAX(read_work(m, m->work_start + m->total.work) - m->work_start, m->total.work);
}

double meter_start(struct meter *m, const struct keeper_work *work)
{
	double wall;

	m->nr_ranges = MIN(work->nr, KEEPER_MAX_COUNTERS);
	m->ranges = xcalloc(m->nr_ranges + 1, sizeof(*m->ranges));
	m->values = xcalloc(m->nr_ranges + 1, sizeof(*m->values));
	for (unsigned int i = 0; i < m->nr_ranges; i++)
		m->ranges[i] =
			(struct mem_range){work->addrs[i], &m->values[i], sizeof(m->values[i]), 0};
	for (unsigned int i = 0; i < MIN(attach_nr_groups(m->attach), BUDGET_MAX_SOURCES); i++)
		attach_hits(m->attach, i, m->cost, &m->groups[i].seen);
	m->work_start = read_work(m, 0);
	m->at_ns = clock_monotonic_ns();
	m->node_start_ns = m->node_ns = node_now(m);
	m->stretch = (struct stretch){.node_ns = m->node_ns, .at_ns = m->at_ns};
	m->switch_ns = attach_switch_ns(m->attach);
	wall = (double)(m->at_ns - m->open_ns);
	return wall > 0 ? (double)(m->node_ns - m->node_open_ns) / wall * 1e9 : 0;
}

static double least_run_ns(const struct group_cost *g)
{
	double least = RUN_MOST_NS; /* until there is one */

	for (unsigned int i = 0; i < MIN(g->nr_runs, RUN_TIMES); i++)
		least = i ? MIN(least, g->run_ns[i]) : g->run_ns[0];
	return least;
}

/* Hits since the last time, and what they cost as calibrated. */
static double calibrated_ns(struct meter *m, unsigned int i)
{
	struct group_cost *g = &m->groups[i];
	struct attach_hits now;
	double run, ns;
	uint64_t hits;

	if (!attach_hits(m->attach, i, m->cost, &now) || now.hits <= g->seen.hits)
		return 0;
	hits = now.hits - g->seen.hits;
	run = (double)(now.run_ns - g->seen.run_ns) / (double)hits;
	if (hits >= RUN_MIN_HITS)
		g->run_ns[g->nr_runs++ % RUN_TIMES] = run;
	ns = (double)(now.trap_ns - g->seen.trap_ns) + (double)hits * MIN(run, least_run_ns(g));
	m->total.hits += hits;
	g->seen = now;
	return ns;
}

void meter_switches(struct meter *m)
{
	double work = m->total.work;

	if (m->nr_ranges && work > m->stretch.work)
		cost_fit_add(&m->fit, work - m->stretch.work, m->stretch.calibrated_ns,
			     (double)(m->node_ns - m->stretch.node_ns));
	m->total.factor = cost_fit_factor(&m->fit);
	m->stretch = (struct stretch){.work = work, .node_ns = m->node_ns, .at_ns = m->at_ns};
}

void meter_take(struct meter *m, const bool *live, struct meter_step *out)
{
	double work = meter_work(m), own, factor = m->total.factor;
	uint64_t now = clock_monotonic_ns(), switched = attach_switch_ns(m->attach);
	unsigned int nr = MIN(attach_nr_groups(m->attach), BUDGET_MAX_SOURCES);

	*out = (struct meter_step){.wall_ns = (double)(now - m->at_ns),
				   .spent_ns = (double)(switched - m->switch_ns)};
	m->at_ns = now;
	m->switch_ns = switched;
	m->node_ns = node_now(m);
	for (unsigned int i = 0; i < nr; i++) {
		double ns = live[i] ? calibrated_ns(m, i) : 0;

		m->stretch.calibrated_ns += ns;
		out->cost_ns[i] = ns * factor;
		out->spent_ns += ns * factor;
	}
	m->total.spent_ns += out->spent_ns;
	m->total.work = work;
	own = MAX((double)(m->node_ns - m->node_start_ns) - m->total.spent_ns, m->total.own_ns);
	out->own_ns = own - m->total.own_ns;
	m->total.own_ns = own;
	if (m->at_ns - m->stretch.at_ns >= STRETCH_NS)
		meter_switches(m);
}

void meter_forget_switches(struct meter *m)
{
	m->switch_ns = attach_switch_ns(m->attach);
}

const struct meter_total *meter_total(const struct meter *m)
{
	return &m->total;
}

double meter_node_since(const struct meter *m)
{
	return (double)(node_now(m) - m->node_ns);
}
