/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How busy the schedulers of a node are, without a probe.  A thread samples what they do, at random
 * moments so as not to synchronise with anything periodic in the node, as often as accuracy needs
 * and a part of a core allows; where the VM counts busy time itself, its count is used.  The CPU
 * time of their threads is read from the kernel.
 */
#ifndef EBEAM_PROBE_SCHED_WATCH_H
#define EBEAM_PROBE_SCHED_WATCH_H

#include <stdbool.h>

#include "abi/record.h"
#include "beam/node/node.h"

struct sched_watch;

/* What one scheduler did in a span of time. */
struct sched_span {
	enum thread_type type;
	uint16_t number;
	uint64_t end_ns, duration_ns;
	uint64_t working_ns;		 /* by the count of the VM, or SCHEDULER_UNKNOWN */
	uint64_t on_cpu_ns, cpu_wait_ns; /* of its thread, or SCHEDULER_UNKNOWN */
	uint32_t samples;		 /* number of samples; of which: */
	uint32_t working;		 /* it was working, */
	uint32_t process, port;		 /* on a process, on a task of a port */
	bool offline;		 /* its run queue is suspended at the end (RUNQ_FLG_SUSPENDED) */
	uint32_t gc_samples, gc; /* samples that can show a collection; samples in one */
};

enum sched_watch_how {
	SCHED_WATCH_BEST,    /* samples, and where the VM counts busy time its count */
	SCHED_WATCH_SAMPLES, /* samples only, even where the VM counts */
	SCHED_WATCH_THREADS, /* CPU time of the threads only */
};
/* Borrows the node.  `gc`: also sample collections.  `realtime`: the thread that samples has
 * real-time priority (SCHED_RR).  ERROR_KIND_FAILED. */
int sched_watch_open(struct sched_watch **out, struct beam_node *n, enum sched_watch_how how,
		     bool gc, bool realtime, struct error *err);
void sched_watch_close(struct sched_watch *w); /* NULL ok; ends the thread */

/* Ends the span that began at the last cut, and begins the next one.  Returns the number of
 * schedulers; *spans is valid until the next cut.  Schedulers of which nothing is known are left
 * out. */
uint32_t sched_watch_cut(struct sched_watch *w, const struct sched_span **spans);
/* How long a span should be, ns. */
uint64_t sched_watch_span_ns(const struct sched_watch *w);

/* For tests: the time of the next sample; the period by the cost of samples; and the longest period
 * that is short enough if `seen` of the samples agree (per_s: samples a second, times the variance
 * of one). */
uint64_t sched_watch_next(uint64_t *random, uint64_t begin_ns, uint64_t period_ns);
uint64_t sched_watch_period(uint64_t cost_ns, uint64_t samples);
uint64_t sched_watch_enough(double per_s, uint32_t samples, uint32_t seen);
/* Whether the busy time that the VM counted in duration_ns is plausible by the samples; for
 * unseen_ns of that time a sample was due, but the sampling thread had no CPU. */
bool sched_watch_agrees(uint64_t working_ns, uint64_t duration_ns, uint64_t unseen_ns,
			uint32_t samples, uint32_t working);

#endif
