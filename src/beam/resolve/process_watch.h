/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the state of all processes by reading memory again and again; gives for each process the
 * time that it spent in a state and with a stack.  No probe, and no cost to the node.
 *
 * A process with unchanged reductions, state and instruction pointer has not run, as Process.reds
 * grows with every time slice: its stack is not read again.  If a process has run, or was started
 * or has exited since its last sample, half of the time between the samples is counted for its old
 * state, half for its new one.  This is unbiased only if the times of samples do not depend on the
 * state of a process: all are sampled equally often, in process_watch_turns() turns.
 *
 * The stack pointer of a running process is in a register: its frames are those of its last context
 * switch.
 */
#ifndef EBEAM_BEAM_PROCESS_WATCH_H
#define EBEAM_BEAM_PROCESS_WATCH_H

#include "beam/resolve/resolve.h"

/* Up to PROCESS_WATCH_ALL processes are all read in every sample; more in every other sample; and
 * if there are more than 2 * PROCESS_WATCH_PART, each sample reads PROCESS_WATCH_PART of them.
 * Returns the number of samples that read each process once. */
#define PROCESS_WATCH_ALL  8192u
#define PROCESS_WATCH_PART 32768u
uint32_t process_watch_turns(uint32_t processes);

struct process_watch_counts {
	uint64_t reads;			   /* reads of a process's struct */
	uint64_t stacks;		   /* stacks that were read */
	uint64_t unstable;		   /* of `stacks`: changed in all attempts */
	uint32_t processes, most;	   /* watched now, and the maximum */
	uint32_t by_kind[NR_SAMPLE_KINDS]; /* number of watched processes now */
	uint32_t every;			   /* a process is read in every nth sample */
};

/* Called with a sample (process, stack, thread, kind, status) of duration `ns`, which ends at
 * end_ns.  The thread is not a real one: it stands for all processes of a state. */
typedef void process_watch_fn(void *arg, const struct rec_sample *sample, uint64_t ns,
			      uint64_t end_ns);

struct process_watch;

/* Borrows the node, `names`, and the resolver, which must have read the code.
 * ERROR_KIND_UNSUPPORTED: the process table was not found. */
int process_watch_open(struct process_watch **out, struct beam_node *n, struct beam_resolver *r,
		       struct names *names, process_watch_fn *take, void *arg, struct error *err);
void process_watch_close(struct process_watch *w); /* NULL ok */

/* Takes a sample, at at_ns of CLOCK_MONOTONIC.  -ESRCH: the node has exited. */
int process_watch_sample(struct process_watch *w, uint64_t at_ns, struct error *err);
/* Emits the states of all processes up to end_ns, which is not before the last sample: of
 * PROCESS_WATCH_FINISH processes in each call, until it returns false. */
#define PROCESS_WATCH_FINISH 256u
bool process_watch_finish(struct process_watch *w, uint64_t end_ns);
const struct process_watch_counts *process_watch_counts(const struct process_watch *w);

#endif
