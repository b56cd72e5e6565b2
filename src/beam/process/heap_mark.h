/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which objects on the heap of a process are reachable, and which are garbage that is not collected
 * yet: copies the heap, its fragments and those of messages, received ones included, and marks the
 * copy from the roots that a collection has (erl_gc.c, setup_rootset(), OTP 25 to 29): the stack,
 * argument registers, the dictionary, messages, terms in the process's struct, arguments that a
 * native function saved.
 *
 * What is not certain is reached, so what counts as garbage is garbage.
 */
#ifndef EBEAM_BEAM_HEAP_MARK_H
#define EBEAM_BEAM_HEAP_MARK_H

#include "beam/process/process.h"

/* Larger heaps are not copied: 256 MiB. */
#define HEAP_MARK_MAX_WORDS (32u << 20)

/* An object that is reached: at least `min` words can be read at `words`, where there are fewer in
 * its area 0s follow. */
#define HEAP_MARK_MIN_WORDS 5
typedef void heap_mark_fn(void *arg, raddr at, const uint64_t *words);
/* An area that was copied.  Of an object elsewhere it is not known whether it is reached. */
typedef void heap_mark_area_fn(void *arg, raddr from, raddr to);

/*
 * Visits each boxed object that is reached; sub-binaries and match contexts instead of the binaries
 * that they refer to.  0, or: -EAGAIN: the process runs, is collected, or did so meanwhile; -EFBIG:
 * the heap is too large; else errno of what could not be read.  Then nothing was called.  `area`
 * comes first, for each.
 */
int heap_mark_process(struct beam_node *n, const struct process_facts *p, heap_mark_area_fn *area,
		      heap_mark_fn *visit, void *arg);

#endif
