/* SPDX-License-Identifier: BSD-2-Clause */
/* See meter.h. */
#include "probe/limit/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/attach/attach.h"
#include "target/mem.h"

struct meter {
	const struct attach *attach;
	struct mem *mem;
	struct mem_range *ranges; /* where the counters of work are in the node */
	uint64_t *values;
	unsigned int nr_ranges;
	clockid_t clock;
	uint64_t node_ns; /* as last read */
	uint64_t open_ns, node_open_ns;
};

uint64_t meter_node_ns(struct meter *m)
{
	struct timespec t;

	if (clock_gettime(m->clock, &t) == 0)
		m->node_ns =
			MAX(m->node_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	return m->node_ns;
}

int meter_open(struct meter **out, const struct attach *a, int os_pid, struct error *err)
{
	struct meter *m = xcalloc(1, sizeof(*m));
	int rc = 0;

	*out = NULL;
	m->attach = a;
	if (clock_getcpuclockid(os_pid, &m->clock))
		rc = error_set(err, ERROR_KIND_FAILED, -ESRCH,
			       "cannot read the CPU time of process %d: it may have exited",
			       os_pid);
	rc = rc ? rc : mem_open_live(&m->mem, os_pid, err);
	if (rc) {
		meter_close(m);
		return rc;
	}
	m->open_ns = clock_monotonic_ns();
	m->node_open_ns = meter_node_ns(m);
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

double meter_start(struct meter *m, const struct meter_counters *counters)
{
	uint64_t busy = meter_node_ns(m) - m->node_open_ns,
		 wall = clock_monotonic_ns() - m->open_ns;

	m->nr_ranges = MIN(counters->nr, METER_MAX_COUNTERS);
	m->ranges = xcalloc(m->nr_ranges + 1, sizeof(*m->ranges));
	m->values = xcalloc(m->nr_ranges + 1, sizeof(*m->values));
	for (unsigned int i = 0; i < m->nr_ranges; i++)
		m->ranges[i] = (struct mem_range){counters->addrs[i], &m->values[i],
						  sizeof(m->values[i]), 0};
	return wall ? (double)busy / (double)wall * 1e9 : 0;
}

double meter_work(const struct meter *m)
{
	double sum = 0;

	if (!m->nr_ranges || mem_readv(m->mem, m->ranges, m->nr_ranges) != m->nr_ranges)
		return -1;
	for (unsigned int i = 0; i < m->nr_ranges; i++)
		sum += (double)m->values[i];
	return sum;
}

void meter_clocks(struct meter *m, struct hit_account_clocks *out)
{
	out->work = meter_work(m);
	out->at_ns = clock_monotonic_ns();
	out->switch_ns = attach_switch_ns(m->attach);
	out->node_ns = meter_node_ns(m);
}
