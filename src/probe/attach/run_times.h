/* SPDX-License-Identifier: BSD-2-Clause */
/* Run time of one run of a BPF program, learned in a short time in which the kernel measures it
 * (BPF_ENABLE_STATS).  While it does, each run of any program takes two clock readings longer,
 * which is more than a program that only counts takes itself.  Pure logic. */
#ifndef EBEAM_PROBE_RUN_TIMES_H
#define EBEAM_PROBE_RUN_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* A program is measured once it has run this often without being measured. */
#define RUN_TIME_WANTED 1000u
/* The run time is the least average of RUN_TIME_STRETCHES stretches of RUN_TIME_RUNS runs each: in
 * the others the program was preempted. */
#define RUN_TIME_STRETCHES 4u
#define RUN_TIME_RUNS	   64u
/* Assumed until the run time is known: more than a program that counts takes on any host. */
#define RUN_TIME_GUESS_NS 1000.0

struct run_time {
	uint64_t runs, ns; /* as the kernel had measured them at the end of the last stretch */
	double least_ns;
	unsigned int stretches;
	bool wanted;
};

/* runs, ns: all that the kernel has measured of this program so far. */
void run_time_take(struct run_time *r, uint64_t runs, uint64_t ns);
/* hits: how often the program ran so far, measured or not.  True if it is to be measured. */
bool run_time_wanted(struct run_time *r, uint64_t hits);
bool run_time_known(const struct run_time *r);
/* Run time of one run of the program, ns. */
double run_time_ns(const struct run_time *r);

#endif
