/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether multi-scheduling is blocked, and by which processes: after
 * erlang:system_flag(multi_scheduling, block) scheduler 1 alone runs, after block_normal it and the
 * dirty ones.  The run queues of the others are suspended then, and each process that asked for it
 * has a flag: erts_block_multi_scheduling(), erl_process.c, OTP 24 to 29.
 */
#ifndef EBEAM_BEAM_SCHED_BLOCK_H
#define EBEAM_BEAM_SCHED_BLOCK_H

#include "beam/node/node.h"
#include "beam/process/process.h"

/* Of these the processes are named. */
#define SCHED_BLOCKERS_MAX 8

struct sched_block {
	bool blocked;
	bool dirty;	 /* dirty schedulers do not run, either */
	unsigned int nr; /* processes that asked for it */
	uint64_t epid[SCHED_BLOCKERS_MAX];
};

/* Reads the process table only if the run queues say that it may be blocked.  Nothing that cannot
 * be read is taken for a block. */
void sched_block_read(struct beam_node *n, struct sched_block *out);

/* Its parts, for who reads all processes anyway: whether the run queues say so; and those of these
 * processes that asked for it, to be believed only if they do. */
bool sched_block_possible(const struct beam_node *n);
void sched_block_add(struct sched_block *b, const struct process_facts *block, size_t nr);

#endif
