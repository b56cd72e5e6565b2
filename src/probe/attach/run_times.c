/* SPDX-License-Identifier: BSD-2-Clause */
/* See run_times.h. */
#include "probe/attach/run_times.h"

#include "base/compiler.h"

void run_time_take(struct run_time *r, uint64_t runs, uint64_t ns)
{
	double each;

	if (runs < r->runs + RUN_TIME_RUNS || ns < r->ns)
		return;
	each = (double)(ns - r->ns) / (double)(runs - r->runs);
	r->least_ns = r->stretches ? MIN(r->least_ns, each) : each;
	r->stretches++;
	r->runs = runs;
	r->ns = ns;
}

bool run_time_known(const struct run_time *r)
{
	return r->stretches >= RUN_TIME_STRETCHES;
}

bool run_time_wanted(struct run_time *r, uint64_t hits)
{
	r->wanted = !run_time_known(r) && hits >= RUN_TIME_WANTED;
	return r->wanted;
}

double run_time_ns(const struct run_time *r)
{
	return run_time_known(r) ? r->least_ns : RUN_TIME_GUESS_NS;
}
