/* SPDX-License-Identifier: BSD-2-Clause */
/* See off_cpu.h. */
#include "event/off_cpu.h"

#include <math.h>

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

double off_cpu_chance(const struct rec_raw_off_cpu *raw)
{
	uint64_t ns = raw->h.ts_ns - raw->since_ns;
	double emitted = (double)MAX(ns, 1u) * raw->every / (double)MAX(raw->least_ns, 1u);

	if (ns >= raw->least_ns && !(raw->flags & OFF_CPU_YIELDED))
		return 1;
	return (raw->flags & OFF_CPU_GOES_ON ? 1 : MIN(emitted, 1.0)) / raw->every;
}

bool off_cpu_parts(const struct rec_raw_off_cpu *raw, enum sample_kind kind,
		   struct off_cpu_part *waited, struct off_cpu_part *runnable)
{
	bool preempted = raw->flags & OFF_CPU_PREEMPTED, yielded = raw->flags & OFF_CPU_YIELDED;
	uint64_t ns = raw->h.ts_ns - raw->since_ns, runnable_ns = 0;
	double p;

	if (raw->h.ts_ns < raw->since_ns || raw->least_ns > UINT32_MAX ||
	    (!raw->every && (yielded || ns < raw->least_ns)))
		return false;
	if (preempted)
		runnable_ns = ns;
	else if (raw->woken_ns && raw->woken_ns <= raw->h.ts_ns)
		runnable_ns = raw->h.ts_ns - MAX(raw->woken_ns, raw->since_ns);
	p = off_cpu_chance(raw);
	*waited = part_of(kind, ns - runnable_ns, p);
	/* Schedulers yield, too, while they spin for work. */
	if (yielded && kind == SAMPLE_WAIT) {
		*runnable = part_of(kind, runnable_ns, p);
		return true;
	}
	*runnable = part_of(yielded	? SAMPLE_OFF_YIELDED
			    : preempted ? SAMPLE_OFF_PREEMPTED
					: SAMPLE_OFF_WOKEN,
			    runnable_ns, p);
	return true;
}

double off_cpu_variance(const struct off_cpu_part *waited, const struct off_cpu_part *runnable)
{
	double deviation = sqrt(waited->variance) + sqrt(runnable->variance);

	return deviation * deviation;
}

struct rec_raw_sample off_cpu_sample(const struct rec_raw_off_cpu *raw)
{
	return (struct rec_raw_sample){
		.h = {.type = REC_RAW_SAMPLE,
		      .size = sizeof(struct rec_raw_sample),
		      .ts_ns = raw->h.ts_ns},
		.os_tid = raw->os_tid,
		.epid = raw->epid,
		.port_id = raw->port_id,
		.syscall = raw->syscall,
		.status = SAMPLE_STATUS_STACK_UNREADABLE,
		.flags = RAW_SAMPLE_OFF_CPU | RAW_SAMPLE_KERNEL,
	};
}
