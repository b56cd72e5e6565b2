/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How busy one scheduler is, and with what, as its memory shows (REC_SCHEDULER): where the VM
 * counts itself by that, elsewhere by how often it was seen at work.
 */
#ifndef EBEAM_MODEL_SCHED_USE_H
#define EBEAM_MODEL_SCHED_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"

struct event;

const char *sched_type_name(enum thread_type type); /* "normal", "dirty_cpu", ... */

struct sched_use {
	uint64_t counted_ns, counted_work_ns; /* the VM counted */
	uint64_t seen_ns;		      /* samples only: */
	double seen_work_ns, seen_variance;   /* ns, ns^2 */
	uint64_t all_seen_ns;		      /* samples, whether the VM counted or not: */
	double all_seen_work_ns;
	double process_ns, port_ns; /* of it */
	uint64_t samples;
	uint64_t on_cpu_ns, cpu_wait_ns, thread_ns; /* of thread_ns */
	uint64_t online_ns,
		offline_ns; /* spans at whose end it was; offline: no process may run on it */
	/* Samples that show whether it collects garbage: */
	uint64_t gc_seen_ns;
	double gc_ns;
	uint64_t gc_samples, gc;
};

void sched_use_add(struct sched_use *u, const struct event *ev);

/* Percent each; NaN = not known. */
double sched_use_counted(const struct sched_use *u); /* by the VM's own account */
double sched_use_seen(const struct sched_use *u);    /* by samples alone */
double sched_use_work(const struct sched_use *u);    /* the best of both */
double sched_use_on_cpu(const struct sched_use *u);
double sched_use_cpu_wait(const struct sched_use *u);
/* Of the time in which it was to run: what it had to wait for a CPU. */
double sched_use_waited(const struct sched_use *u);
/* Points that sched_use_work() may be wrong by: two standard deviations of its samples. */
double sched_use_error(const struct sched_use *u);
/* Percent of the time in which it collects garbage; NaN = nobody looked.  And points that it may be
 * wrong by, two standard deviations: less if collections last longer than samples are apart. */
double sched_use_gc(const struct sched_use *u);
double sched_use_gc_error(const struct sched_use *u);
/* In all of the time: it is no part of what the node may use. */
bool sched_use_is_offline(const struct sched_use *u);
/* The VM counted (nearly) all the time. */
bool sched_use_is_exact(const struct sched_use *u);

/* What a scheduler works on; they add up to the whole.  NaN = never seen at work. */
struct sched_parts {
	double process, port, other;
};
/* Of `percent`, which is how busy it is. */
struct sched_parts sched_use_parts(const struct sched_use *u, double percent);

#endif
