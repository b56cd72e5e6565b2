/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled blocks of malloc -> what of them is never freed: `record --mode malloc --leak`.  Pure:
 * allocations and frees in, weighted blocks out.
 *
 * Not every free is seen: a budget enables the probes in sampling windows only.  In between ebeam
 * reads from memory which blocks are free (target/libc_memory.h), but a block that was freed and
 * given away again in the same size looks as if it was still there.  What is known of a block:
 *
 *   probed   its free was seen, with the probability pi(age) that its age after an allocation in a
 *            window is in a window again, which the windows tell
 *   gone     memory said that it is free
 *   changed  it is in use, but its first bytes are not what they were: its owner wrote to it, or it
 *            has another owner
 *   alike    it is in use, but its first bytes are those of other blocks, too: if it has another
 *            owner, they do not tell
 *   the same it is in use, and its first bytes are as they were soon after it was allocated
 *
 * Frees of a stack that were not seen are estimated by weighing each probed one by 1 / pi
 * (Horvitz and Thompson).  This counts a free of a later owner, too, so it is an upper bound: what
 * it exceeds those known to be freed by is taken from changed blocks first, then from blocks that
 * are alike.  They count as freed unless the probes say otherwise: the estimate is taken with two
 * standard errors added.  Blocks that are the same are kept, but for those that were freed before
 * they were first looked at, for which only frees of young blocks count.
 *
 * From that follows the share of blocks that live longer than any age, the survival function
 * (Kaplan and Meier; in bins of age, as life tables have it).  A block is at risk from its
 * allocation to its free, or to the end.  Of the last quarter of each window frees that follow soon
 * would fall outside of it: those blocks are at risk up to the end of the window only (censored).
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
#define LEAK_FEW	100	     /* fewer sampled blocks, of which none leaked, say nothing */
#define LEAK_WATCHED	0.99	     /* share of the time from which on it makes no difference */
#define LEAK_NARROW	0.1	     /* half of an interval that needs no longer recording */
#define LEAK_WIDE	1.0	     /* half of one that does not tell how long to record */
#define LEAK_SETTLED	0.9	     /* leak_result.settled below this is worth a warning */
#define LEAK_YOUNG_NS	200000000ull /* by this age a block was looked at in memory */
#define LEAK_MAX_BLOCKS (1u << 20)
#define LEAK_MAX_STACKS (1u << 14)

struct leak_block {
	uint64_t address; /* the key; not 0 */
	uint64_t ts_ns;
	uint64_t size;	/* its own */
	uint64_t bytes; /* that it stands for */
	uint32_t process, stack, thread;
	uint8_t status; /* of the stack */
	/* Set by leak_weights: */
	uint8_t content;     /* enum leak_content */
	uint64_t changed_ns; /* when it was first seen as changed */
};

enum leak_content { LEAK_SAME, LEAK_CHANGED, LEAK_ALIKE };

struct leak_result {
	uint64_t sampled, freed; /* blocks; freed: seen, or read from memory */
	uint64_t left;		 /* blocks that stand for what is leaked */
	uint64_t overflow;	 /* blocks that were not followed: too many, or too many stacks */
	uint64_t bytes;		 /* leaked, not scaled by the coverage of the probes */
	/* 1.96 standard errors of ln(bytes) by the number of blocks: 0.1 = some 10 %. */
	double error;
	/* How far the true value may be below and above `bytes` (95 %) as not all frees were
	 * seen. */
	double less, more;
	/* Of what survived half of LEAK_SURVIVES of the run, the share that survived all of it; 1 =
	 * nothing as old as that was freed. */
	double settled;
};

struct leak_weights;

struct leak_weights *leak_weights_open(uint32_t max_blocks);
void leak_weights_close(struct leak_weights *l); /* NULL ok */

void leak_weights_alloc(struct leak_weights *l, const struct leak_block *block);
/* seen: by a probe, when it happened; else in memory, some time after it. */
void leak_weights_free(struct leak_weights *l, uint64_t address, uint64_t ts_ns, bool seen);
/* So many bytes of its own are left, from `to` on. */
void leak_weights_cut(struct leak_weights *l, uint64_t address, uint64_t to, uint64_t left);
/* That part of its start is freed. */
void leak_weights_cut_start(struct leak_weights *l, uint64_t address, uint64_t size);
void leak_weights_content(struct leak_weights *l, uint64_t address, uint64_t ts_ns,
			  enum leak_content content);
/* The probes were enabled or disabled. */
void leak_weights_window(struct leak_weights *l, bool on, uint64_t ts_ns);

/* At the end of the run, once: calls emit() for each block that is left, with the bytes that it
 * stands for. */
typedef void leak_weights_fn(void *arg, const struct leak_block *block, uint64_t bytes);
void leak_weights_finish(struct leak_weights *l, uint64_t start_ns, uint64_t end_ns,
			 leak_weights_fn *emit, void *arg, struct leak_result *out);
/* The 95 % confidence interval of leak_result.bytes.  windows: that of the sampling windows, as
 * coverage_error(); 0 = not known, and false is returned. */
bool leak_weights_interval(const struct leak_result *r, double windows, double *low, double *high);

#endif
