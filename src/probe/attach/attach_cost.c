/* SPDX-License-Identifier: BSD-2-Clause */
/* How often probes were hit, and what that cost; see attach.h. */
#include "probe/attach/attach_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"

unsigned int attach_trap_ns(const struct attach *a, unsigned int point,
			    const struct calibration *cost)
{
	const struct source_point *p = a->points.data[point];
	unsigned int call = p->site.emulated ? cost->emulated_ns : cost->stepped_ns, ns;

	if (!p->at_return)
		return call;
	ns = cost->return_ns + call - MIN(call, cost->emulated_ns);
	return a->shares_trap[point] ? ns - MIN(ns, call) : ns;
}

/* Cost of the trap of one hit of a program, ns: the most expensive of its points in all files, as
 * it is not known which of them was hit. */
static unsigned int program_trap_ns(const struct attach *a, const struct group *g,
				    const struct bpf_program *program,
				    const struct calibration *cost)
{
	unsigned int most = 0;

	for (size_t k = 0; k < g->bundles.len; k++) {
		const struct bundle *b = &g->bundles.data[k];

		for (size_t i = 0; b->program == program && i < b->points.len; i++)
			most = MAX(most, attach_trap_ns(a, b->points.data[i], cost));
	}
	return most;
}

/* True if an earlier bundle has the same program: runs of a program in several files are counted
 * once. */
static bool counted_before(const struct group *g, size_t bundle)
{
	for (size_t i = 0; i < bundle; i++) {
		if (g->bundles.data[i].program == g->bundles.data[bundle].program)
			return true;
	}
	return false;
}

/* Hits and run time of one point, summed over all CPUs. */
static struct event_work own_work(const struct attach *a, unsigned int point)
{
	struct event_work *work = xcalloc((size_t)MAX(a->nr_cpus, 1), sizeof(*work)), sum = {0};

	if (bpf_map_lookup_elem(a->work_fd, &point, work) == 0) {
		for (int i = 0; i < a->nr_cpus; i++) {
			sum.hits += work[i].hits;
			sum.ns += work[i].ns;
		}
	}
	free(work);
	return sum;
}

/* Enables run time statistics of the kernel while there is a program that is hit often and whose
 * run time is not known yet. */
static void measure_if_wanted(struct attach *a)
{
	bool wanted = false;

	for (size_t i = 0; i < a->groups.len; i++) {
		for (size_t k = 0; k < a->groups.data[i].bundles.len; k++)
			wanted |= a->groups.data[i].bundles.data[k].run_time.wanted;
	}
	if (wanted && a->stats_fd < 0)
		a->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (wanted || a->stats_fd < 0)
		return;
	close(a->stats_fd);
	a->stats_fd = -1;
}

static void hits_of_own(struct attach *a, struct group *g, const struct calibration *cost,
			struct attach_hits *out)
{
	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		uint64_t hits = 0;

		for (size_t k = 0; k < b->points.len; k++) {
			struct event_work work = own_work(a, b->points.data[k]);

			hits += work.hits;
			out->run_ns += work.ns;
			out->trap_ns += work.hits * attach_trap_ns(a, b->points.data[k], cost);
		}
		out->hits += hits;
		if (a->own_times)
			continue;
		if (!run_time_known(&b->run_time) && a->stats_fd >= 0 &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(b->program), &info, &size) == 0)
			run_time_take(&b->run_time, info.run_cnt, info.run_time_ns);
		run_time_wanted(&b->run_time, hits);
		/* Runs from before the run time was known keep the guess as their cost. */
		b->run_ns += (double)(hits - b->hits) * run_time_ns(&b->run_time);
		b->hits = hits;
		out->run_ns += (uint64_t)b->run_ns;
	}
	if (!a->own_times)
		measure_if_wanted(a);
}

bool attach_hits(struct attach *a, unsigned int group, const struct calibration *cost,
		 struct attach_hits *out)
{
	struct group *g = &a->groups.data[group];

	*out = (struct attach_hits){0};
	if (a->work_fd >= 0) {
		hits_of_own(a, g, cost, out);
		return true;
	}
	if (a->stats_fd < 0)
		return false;
	for (size_t i = 0; i < g->bundles.len; i++) {
		const struct bundle *b = &g->bundles.data[i];
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (counted_before(g, i))
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(b->program), &info, &size))
			return false;
		out->hits += info.run_cnt;
		out->run_ns += info.run_time_ns;
		out->trap_ns += info.run_cnt * program_trap_ns(a, g, b->program, cost);
	}
	return true;
}
