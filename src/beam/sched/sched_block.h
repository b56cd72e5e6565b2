/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is multi-scheduling blocked, and by which processes?  After erlang:system_flag(multi_scheduling,
 * block) only scheduler 1 runs, after block_normal also the dirty ones.  The other run queues are
 * then suspended, and each process that blocks has a flag: erts_block_multi_scheduling(),
 * erl_process.c, OTP 24 to 29.
 */
#ifndef EBEAM_BEAM_SCHED_BLOCK_H
#define EBEAM_BEAM_SCHED_BLOCK_H

#include "beam/node/node.h"
#include "beam/process/process.h"

/* Limit of the processes whose pids are kept. */
#define SCHED_BLOCKERS_MAX 8

struct sched_block {
	bool blocked;
	bool dirty;	 /* dirty schedulers are blocked, too */
	unsigned int nr; /* processes that have blocked it */
	uint64_t epid[SCHED_BLOCKERS_MAX];
};

/* Reads the process table only if the run queues show a possible block.  If something cannot be
 * read, `blocked` is false. */
void sched_block_read(struct beam_node *n, struct sched_block *out);

/* The parts of sched_block_read(), for callers that read all processes anyway.  _possible(): do the
 * run queues show a possible block?  Only then is the sum of _add() over all blocks of processes
 * valid. */
bool sched_block_possible(const struct beam_node *n);
void sched_block_add(struct sched_block *b, const struct process_facts *block, size_t nr);

#endif
