/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled blocks of malloc -> what of them is never freed: `record --mode malloc --leak`.  Pure:
 * allocations and frees in, weighted blocks out.
 *
 * Not every free is seen: a budget enables the probes in sampling windows only, between which
 * ebeam reads from memory which blocks are free (target/libc_memory.h), and a block that was freed
 * and given away again in between looks as if it was still there.  So what is left at the end is no
 * measure.  Instead the share of blocks that live longer than any age is estimated for each stack,
 * by what was seen: the survival function (Kaplan and Meier; in bins of age, as life tables have
 * it).  A block is at risk from its allocation to its free, or to the end.  Of the last quarter of
 * each window frees that follow soon would fall outside of it: those blocks are at risk up to the
 * end of the window only (censored).  Blocks that live for a moment are so known as such within
 * their window; longer lives are known from later windows, where the same addresses are freed again
 * and again, whoever has them then.
 *
 * Leaked is: all bytes that a stack allocated, times the share that survives
 * LEAK_SURVIVES of the run.  What lives longer than that and is freed later counts as leaked; the
 * trend of the survival function tells (leak_result.settled).  A stack counts only if a
 * block of it is left that is older than LEAK_LEAST_AGE of the run.
 */
#ifndef EBEAM_MODEL_LEAK_WEIGHTS_H
#define EBEAM_MODEL_LEAK_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#define LEAK_LEAST_AGE	0.1
#define LEAK_SURVIVES	0.75
#define LEAK_FEW	100  /* fewer sampled blocks, of which none leaked, say nothing */
#define LEAK_WATCHED	0.99 /* share of the time from which on it makes no difference */
#define LEAK_SETTLED	0.9  /* leak_result.settled below this is worth a warning */
#define LEAK_MAX_BLOCKS (1u << 20)
#define LEAK_MAX_STACKS (1u << 14)

struct leak_block {
	uint64_t address; /* the key; not 0 */
	uint64_t ts_ns;
	uint64_t bytes; /* that it stands for */
	uint32_t process, stack, thread;
	uint8_t status; /* of the stack */
};

struct leak_result {
	uint64_t sampled, freed; /* blocks; freed: seen, or read from memory */
	uint64_t left;		 /* blocks that stand for what is leaked */
	uint64_t overflow;	 /* blocks that were not followed: too many, or too many stacks */
	uint64_t bytes;		 /* leaked, not scaled by the coverage of the probes */
	/* 1.96 standard errors of ln(bytes) by the number of blocks: 0.1 = some 10 %. */
	double error;
	/* Of what survived half of LEAK_SURVIVES of the run, the share that survived all of it; 1 =
	 * nothing as old as that was freed. */
	double settled;
};

struct leak_weights;

struct leak_weights *leak_weights_open(uint32_t max_blocks);
void leak_weights_close(struct leak_weights *l); /* NULL ok */

void leak_weights_alloc(struct leak_weights *l, const struct leak_block *block);
void leak_weights_free(struct leak_weights *l, uint64_t address, uint64_t ts_ns);
/* The probes were enabled or disabled. */
void leak_weights_window(struct leak_weights *l, bool on, uint64_t ts_ns);

/* At the end of the run, once: calls emit() for each block that is left, with the bytes that it
 * stands for. */
typedef void leak_weights_fn(void *arg, const struct leak_block *block, uint64_t bytes);
void leak_weights_finish(struct leak_weights *l, uint64_t start_ns, uint64_t end_ns,
			 leak_weights_fn *emit, void *arg, struct leak_result *out);

#endif
