/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all processes do over a time, by reading memory again and again: for each process the time
 * that it spent in a state and at a stack.  No probe, and no cost to the node.
 *
 * A process whose reductions, state and place are what they were has not run: Process.reds grows
 * with every time slice.  So its stack is not read again.  Of a process that has run, or was
 * spawned or ended since it was sampled last, half of the time since then counts for what it did
 * before, half for what it does now.  That is unbiased only if when a process is sampled does not
 * depend on what it does: all are sampled equally often, in process_watch_turns() turns.
 *
 * A running process keeps its stack in registers: its frames are those of its last stop.
 */
#ifndef EBEAM_BEAM_PROCESS_WATCH_H
#define EBEAM_BEAM_PROCESS_WATCH_H

#include "beam/resolve/resolve.h"

/* Up to PROCESS_WATCH_ALL are read in every sample, more of them in every other one, and of more
 * than twice PROCESS_WATCH_PART each sample takes so many. */
#define PROCESS_WATCH_ALL  8192u
#define PROCESS_WATCH_PART 32768u
uint32_t process_watch_turns(uint32_t processes); /* 1..: of samples, until each had one */

struct process_watch_counts {
	uint64_t reads;			   /* of a process's struct */
	uint64_t stacks;		   /* read */
	uint64_t unstable;		   /* of these, those that would not stand still */
	uint32_t processes, most;	   /* watched now, and at most */
	uint32_t by_kind[NR_SAMPLE_KINDS]; /* of those watched now, what they do */
	uint32_t every;			   /* a process is in every so manieth sample */
};

/* Takes a sample (process, stack, thread, kind, status) that stands for so many nanoseconds, until
 * end_ns.  The thread is none of the node's: it stands for all processes of a state. */
typedef void process_watch_fn(void *arg, const struct rec_sample *sample, uint64_t ns,
			      uint64_t end_ns);

struct process_watch;

/* Borrows the node, the dictionary, and the resolver, which has read the code.
 * ERROR_KIND_UNSUPPORTED: the node has no table that is known. */
int process_watch_open(struct process_watch **out, struct beam_node *n, struct beam_resolver *r,
		       struct names *names, process_watch_fn *take, void *arg, struct error *err);
void process_watch_close(struct process_watch *w); /* NULL ok */

/* Takes a sample, at at_ns of CLOCK_MONOTONIC.  -ESRCH: the node has exited. */
int process_watch_sample(struct process_watch *w, uint64_t at_ns, struct error *err);
/* Everything up to end_ns, which is not before the last sample, is taken: of so many processes a
 * call, until it returns false. */
#define PROCESS_WATCH_FINISH 256u
bool process_watch_finish(struct process_watch *w, uint64_t end_ns);
const struct process_watch_counts *process_watch_counts(const struct process_watch *w);

#endif
