/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one run of a BPF program takes, learned in a short while in which the kernel measures it:
 * as long as it does, each run of any program takes longer by two readings of a clock, which is
 * more than a program that only counts takes itself.  Pure logic.
 */
#ifndef EBEAM_PROBE_RUN_TIMES_H
#define EBEAM_PROBE_RUN_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* A program that ran so often without being measured is to be. */
#define RUN_TIME_WANTED 1000u
/* Of so many stretches, each of so many runs, the least counts: in others it was preempted. */
#define RUN_TIME_STRETCHES 4u
#define RUN_TIME_RUNS	   64u
/* Until then.  More than a program that counts takes on any host. */
#define RUN_TIME_GUESS_NS 1000.0

struct run_time {
	uint64_t runs, ns; /* as the kernel measured them, up to the last stretch */
	double least_ns;
	unsigned int stretches;
	bool wanted;
};

/* All runs and their time that the kernel measured so far. */
void run_time_take(struct run_time *r, uint64_t runs, uint64_t ns);
/* How often it ran so far, measured or not: true = it is to be measured. */
bool run_time_wanted(struct run_time *r, uint64_t hits);
bool run_time_known(const struct run_time *r);
/* Of one run. */
double run_time_ns(const struct run_time *r);

#endif
