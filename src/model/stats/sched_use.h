/* SPDX-License-Identifier: BSD-2-Clause */
/* How busy one scheduler is, and with what, by records of its memory (REC_SCHEDULER): by the
 * VM's own count where there is one, else by the share of samples at work. */
#ifndef EBEAM_MODEL_SCHED_USE_H
#define EBEAM_MODEL_SCHED_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"

struct event;

const char *sched_type_name(enum thread_type type); /* "normal", "dirty_cpu", ... */

struct sched_use {
	uint64_t counted_ns, counted_work_ns; /* time for which the VM counted, and its count */
	uint64_t seen_ns;		      /* time with samples only: */
	double seen_work_ns, seen_variance;   /* ns, ns^2 */
	uint64_t all_seen_ns;		      /* time with samples, also if the VM counted: */
	double all_seen_work_ns;
	double process_ns, port_ns; /* parts of that work */
	uint64_t samples;
	uint64_t on_cpu_ns, cpu_wait_ns, thread_ns; /* parts of thread_ns, the time measured */
	uint64_t online_ns,
		offline_ns; /* time of records at whose end it was; offline: runs no process */
	/* Time with samples that show collections: */
	uint64_t gc_seen_ns;
	double gc_ns;
	uint64_t gc_samples, gc;
};

void sched_use_add(struct sched_use *u, const struct event *ev);

/* Percent; NaN = not known. */
double sched_use_counted(const struct sched_use *u); /* by the VM's own account */
double sched_use_seen(const struct sched_use *u);    /* by samples alone */
double sched_use_work(const struct sched_use *u);    /* the best of both */
double sched_use_on_cpu(const struct sched_use *u);
double sched_use_cpu_wait(const struct sched_use *u);
/* Part of the time in which its thread was runnable that it waited for a CPU. */
double sched_use_waited(const struct sched_use *u);
/* Percentage points: two standard deviations of sched_use_work() if that is by samples. */
double sched_use_error(const struct sched_use *u);
/* Percent of the time in which it collects garbage (NaN = not sampled), and two standard deviations
 * of that in percentage points, too small if collections last longer than a sampling period. */
double sched_use_gc(const struct sched_use *u);
double sched_use_gc_error(const struct sched_use *u);
/* True if it was offline all of the time, so that the node does not use it. */
bool sched_use_is_offline(const struct sched_use *u);
/* True if the VM counted (nearly) all of the time. */
bool sched_use_is_exact(const struct sched_use *u);

/* Parts of a scheduler's work, which add up to all of it.  NaN = never sampled at work. */
struct sched_parts {
	double process, port, other;
};
/* Parts of `percent`, which is its utilization. */
struct sched_parts sched_use_parts(const struct sched_use *u, double percent);

#endif
