/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware execution breakpoints on the threads of a node that run Erlang code: one perf event for
 * each address and thread, with the BPF program call_breakpoint (bpf/call.bpf.h).  Nothing in the
 * node changes: the addresses are in the CPU's debug registers while such a thread runs.
 *
 * The kernel itself bounds what hits cost: an event is enabled for as many hits as its thread may
 * pay for, and the kernel disables it when they are spent, in the middle of a burst and whatever
 * ebeam does then; breakpoints_tick() gives new hits.  A thread earns `max_overhead` percent of the
 * CPU time that it uses, and never more than `rate` hits a second.  A thread without hits for which
 * others wait is lent a few.
 *
 * For one thread.
 */
#ifndef EBEAM_PROBE_BREAKPOINTS_H
#define EBEAM_PROBE_BREAKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/config.h"
#include "base/error.h"

struct breakpoints_config {
	int os_pid;
	int program, points, site_hits; /* descriptors: call_breakpoint, its maps */
	unsigned int rate;		/* hits a second of each thread */
	double max_overhead; /* percent of a thread's CPU time; 100 = no limit but the rate */
	unsigned int hit_ns; /* cost of a hit without the program: breakpoints_calibrate() */
	/*
	 * Called for a time, later than from_ns and up to to_ns (CLOCK_MONOTONIC), in which a
	 * thread (0: any) may have passed a return site unseen: it had spent its hits, was new, or
	 * the breakpoint was removed.  Gaps that begin before breakpoints_state.known_ns have been
	 * reported when that is set.  NULL ok.
	 */
	void (*gap)(void *arg, uint64_t addr, int os_tid, uint64_t from_ns, uint64_t to_ns);
	/* Reads the reductions that a normal scheduler (1..) has done, without those of the current
	 * slice of the process that it runs; *in_process: it runs one. False: not known. NULL
	 * ok. */
	bool (*reductions)(void *arg, uint16_t scheduler, uint64_t *done, bool *in_process);
	void *arg;
};

struct breakpoints;

/* ERROR_KIND_FAILED: the node's threads cannot be listed. */
int breakpoints_open(struct breakpoints **out, const struct breakpoints_config *config,
		     struct error *err);
void breakpoints_close(struct breakpoints *b); /* NULL ok */

/*
 * Places a breakpoint on each thread; if one fails, all are removed.
 *   ERROR_KIND_KERNEL     -ENOSPC: the debug registers of a thread are all taken (by ebeam itself
 *                         beyond EBEAM_BREAKPOINTS addresses, else by a debugger or another tool);
 *                         other: this machine or its hypervisor has none
 *   ERROR_KIND_PRIVILEGE  perf events are not allowed
 *   ERROR_KIND_FAILED     too many open files
 */
int breakpoints_add(struct breakpoints *b, uint64_t addr, const struct call_point *point,
		    struct error *err);
void breakpoints_remove(struct breakpoints *b, uint64_t addr);

/* Gives hits to threads that have earned some, and breakpoints to new threads.  To be called about
 * every BREAKPOINTS_TICK_NS, and more often at random times, so that windows begin at any time:
 * each such call may take 0.3 ms. */
#define BREAKPOINTS_TICK_NS 50000000u
struct breakpoints_state {
	uint64_t hits;	    /* of all breakpoints, removed ones included */
	uint64_t most_hits; /* of the thread that has most hits */
	double time;	    /* part of the threads' time in which entries were watched */
	/* Estimated part of the calls that was seen (gap_estimate.h), 0 = not known.  The number of
	 * all calls that follows from it is N = calls / share; its 95 % confidence interval is N /
	 * exp(error) to N * exp(error). */
	double share, error;
	double most;	     /* upper bound of all calls: this many times calls / share */
	uint64_t calls;	     /* hits of entries */
	uint64_t tripped;    /* times that a thread had spent its hits */
	uint64_t known_ns;   /* gaps before this time (CLOCK_MONOTONIC) have been reported */
	unsigned int hit_ns; /* cost of a hit, with the program */
	double cost;	     /* of all hits, percent of the threads' CPU time, or of one core: */
	bool cost_of_core;   /* the threads used less than BUDGET_MIN_BUSY of a core */
};
void breakpoints_tick(struct breakpoints *b);
void breakpoints_state(const struct breakpoints *b, struct breakpoints_state *out);

/* Measures what a hit of a breakpoint costs a thread on this host, without a BPF program, whose
 * time comes on top: takes some ms.  Errors as with breakpoints_add(). */
int breakpoints_calibrate(unsigned int *hit_ns, struct error *err);
/* How many debug registers of a thread (0: the calling one) are free now, found by trying; if fewer
 * than EBEAM_BREAKPOINTS, *err says why, as with breakpoints_add(). */
unsigned int breakpoints_free(int os_tid, struct error *err);
/* breakpoints_files(): how many files are open with breakpoints on that number of threads and a
 * session.  breakpoints_raise_files() raises the limit of this process to that, if it may. */
unsigned int breakpoints_files(unsigned int threads);
void breakpoints_raise_files(unsigned int threads);

#endif
