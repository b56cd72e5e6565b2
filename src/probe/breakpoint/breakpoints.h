/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware execution breakpoints on the threads of a node that run Erlang code, each address one
 * perf event a thread with the BPF program call_breakpoint (bpf/call.bpf.h).  Nothing in the node
 * changes: the addresses stand in the CPU's debug registers while such a thread runs.
 *
 * What hits cost is bounded by the kernel itself: an event is given as many hits as its thread may
 * pay for, and goes off when they are spent, in the middle of a storm and whatever ebeam does then;
 * breakpoints_tick() gives new ones.  A thread earns `max_overhead` percent of the CPU time that it
 * uses, and never more than `rate` hits a second.  To one that others wait for a few are lent.
 *
 * One thread uses it.
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
	unsigned int rate;		/* hits a second and thread */
	double max_overhead; /* percent of what a thread uses; 100 = no limit but the rate */
	unsigned int hit_ns; /* breakpoints_calibrate(): without the program */
	/*
	 * Later than from_ns and up to to_ns (CLOCK_MONOTONIC) a thread (0: any) may have come
	 * through a return site unseen: as it had spent its hits, was new, or as the site was
	 * left.
	 * Those before breakpoints_state.known_ns are reported by then.  NULL ok.
	 */
	void (*gap)(void *arg, uint64_t addr, int os_tid, uint64_t from_ns, uint64_t to_ns);
	/* Reductions that a normal scheduler (1..) has done, those of the slice of the process that
	 * it is in not among them; false: not known.  NULL ok. */
	bool (*reductions)(void *arg, uint16_t scheduler, uint64_t *done, bool *in_process);
	void *arg;
};

struct breakpoints;

/* ERROR_KIND_FAILED: the node's threads cannot be listed. */
int breakpoints_open(struct breakpoints **out, const struct breakpoints_config *config,
		     struct error *err);
void breakpoints_close(struct breakpoints *b); /* NULL ok */

/*
 * A breakpoint for each thread.  Where one cannot be had, none stays.
 *   ERROR_KIND_KERNEL     -ENOSPC: the debug registers of a thread are all taken (by ebeam itself
 *                         beyond EBEAM_BREAKPOINTS addresses, else by a debugger or another tool);
 *                         other: this machine or its hypervisor has none
 *   ERROR_KIND_PRIVILEGE  perf events are not allowed
 *   ERROR_KIND_FAILED     too many open files
 */
int breakpoints_add(struct breakpoints *b, uint64_t addr, const struct call_point *point,
		    struct error *err);
void breakpoints_remove(struct breakpoints *b, uint64_t addr);

/* New hits for those that may have some, breakpoints for threads that are new: to be called each
 * BREAKPOINTS_TICK_NS or so, and more often, at random times, for windows at any time: then it may
 * take 0.3 ms. */
#define BREAKPOINTS_TICK_NS 50000000u
struct breakpoints_state {
	uint64_t hits;	    /* of all that there are and were */
	uint64_t most_hits; /* of the thread that has most */
	double time;	    /* part of the threads' time in which calls were seen */
	/* Estimated part of the calls that was seen (gap_estimate.h), 0 = nobody can say; and how
	 * far off the number of all calls may be that follows from it: 95 of 100 times the truth
	 * lies between that number / exp(error) and that number * exp(error). */
	double share, error;
	double most;	     /* and there are no more than so many times that number */
	uint64_t calls;	     /* hits of entries */
	uint64_t tripped;    /* times that a thread's hits were spent */
	uint64_t known_ns;   /* up to then (CLOCK_MONOTONIC) all gaps are reported */
	unsigned int hit_ns; /* what a hit costs, with the program */
	double cost; /* hits times what one costs, percent of the CPU that the threads used ... */
	bool cost_of_core; /* ... or of one core, if that was less than BUDGET_MIN_BUSY of one */
};
void breakpoints_tick(struct breakpoints *b);
void breakpoints_state(const struct breakpoints *b, struct breakpoints_state *out);

/* What one hit costs a thread here, without program: some ms.  Errors as with
 * breakpoints_add(). */
int breakpoints_calibrate(unsigned int *hit_ns, struct error *err);
/* How many debug registers of a thread (0: this one) can be had now, by trying; of less than
 * EBEAM_BREAKPOINTS *err says why not more, as breakpoints_add() does. */
unsigned int breakpoints_free(int os_tid, struct error *err);
/* Open files that breakpoints on so many threads need, with all that a session has open; and allows
 * this process as many, if it may. */
unsigned int breakpoints_files(unsigned int threads);
void breakpoints_raise_files(unsigned int threads);

#endif
