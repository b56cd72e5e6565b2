/* SPDX-License-Identifier: BSD-2-Clause */
/* See off_cpu.h. */
#include "event/off_cpu.h"

#include "base/compiler.h"

/* Of a part of `ns`, emitted with probability p: Horvitz and Thompson's weight and its variance. */
static struct off_cpu_part part_of(enum sample_kind kind, uint64_t ns, double p)
{
	double weight = (double)ns / p;

	return (struct off_cpu_part){
		.kind = kind,
		.ns = (uint64_t)(weight + 0.5),
		.variance = (1 - p) * weight * weight,
	};
}

bool off_cpu_parts(const struct rec_raw_off_cpu *raw, enum sample_kind kind,
		   struct off_cpu_part *waited, struct off_cpu_part *runnable)
{
	bool preempted = raw->flags & OFF_CPU_PREEMPTED, yielded = raw->flags & OFF_CPU_YIELDED;
	uint64_t ns = raw->h.ts_ns - raw->since_ns, runnable_ns = 0;
	double p;

	if (raw->h.ts_ns < raw->since_ns || !raw->every || raw->least_ns > UINT32_MAX)
		return false;
	if (preempted)
		runnable_ns = ns;
	else if (raw->woken_ns && raw->woken_ns <= raw->h.ts_ns)
		runnable_ns = raw->h.ts_ns - MAX(raw->woken_ns, raw->since_ns);
	p = 1.0 / raw->every;
	if (ns < raw->least_ns && !(raw->flags & OFF_CPU_GOES_ON))
		p *= (double)MAX(ns, 1u) / (double)raw->least_ns;
	*waited = part_of(kind, ns - runnable_ns, p);
	*runnable = part_of(yielded	? SAMPLE_OFF_YIELDED
			    : preempted ? SAMPLE_OFF_PREEMPTED
					: SAMPLE_OFF_WOKEN,
			    runnable_ns, p);
	return true;
}
