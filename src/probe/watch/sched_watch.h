/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How busy the schedulers of a node are, without a probe: a thread samples what they do, at random
 * moments so that nothing that is periodic in the node is met in step, as often as that is worth it
 * and a part of a core allows; where the VM counts itself, that is taken.  And what their threads
 * got of the CPUs, by the kernel's account.
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
	uint64_t working_ns;		 /* as the VM counted it; SCHEDULER_UNKNOWN */
	uint64_t on_cpu_ns, cpu_wait_ns; /* of its thread; SCHEDULER_UNKNOWN */
	uint32_t samples;		 /* of which: */
	uint32_t working;		 /* of these it worked, */
	uint32_t process, port;		 /* of those with a process, with a task of a port */
	bool offline;		 /* its run queue is suspended at the end (RUNQ_FLG_SUSPENDED) */
	uint32_t gc_samples, gc; /* samples that show whether it collects garbage; that it did */
};

enum sched_watch_how {
	SCHED_WATCH_BEST,
	SCHED_WATCH_SAMPLES, /* samples only, even where the VM counts */
	SCHED_WATCH_THREADS, /* only what the threads get of the CPUs */
};
/* Borrows the node.  `gc`: samples tell whether garbage is collected, too.  The thread that samples
 * is a real-time one (SCHED_RR), if `realtime`.  ERROR_KIND_FAILED. */
int sched_watch_open(struct sched_watch **out, struct beam_node *n, enum sched_watch_how how,
		     bool gc, bool realtime, struct error *err);
void sched_watch_close(struct sched_watch *w); /* NULL ok; ends the thread */

/* Ends the span that began at the cut before, and begins the next.  The number of schedulers;
 * *spans is valid until the next cut.  Schedulers of which nothing is known are left out. */
uint32_t sched_watch_cut(struct sched_watch *w, const struct sched_span **spans);
/* As long as spans should be. */
uint64_t sched_watch_span_ns(const struct sched_watch *w);

/* For tests: where the next sample is, how far apart samples are by what they cost, and how far
 * apart they may be if so many of them saw the same (per_s: samples a second, times the variance of
 * one). */
uint64_t sched_watch_next(uint64_t *random, uint64_t begin_ns, uint64_t period_ns);
uint64_t sched_watch_period(uint64_t cost_ns, uint64_t samples);
uint64_t sched_watch_enough(double per_s, uint32_t samples, uint32_t seen);
/* Whether what the VM counted (of duration_ns) can be true of what was seen; for unseen_ns of that
 * a sample was due, and the one who samples did not get a CPU. */
bool sched_watch_agrees(uint64_t working_ns, uint64_t duration_ns, uint64_t unseen_ns,
			uint32_t samples, uint32_t working);

#endif
