/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chain of heap fragments: of a process (mbuf) or of a message.
 *
 *   struct heap_fragments f = heap_fragments_of(n, mem, p->mbuf);
 *   while (heap_fragments_next(&f))
 *           ... f.start, f.end, f.off_heap ...
 *
 * erl_message.h, OTP 24 to 29.
 */
#ifndef EBEAM_BEAM_HEAP_FRAGMENTS_H
#define EBEAM_BEAM_HEAP_FRAGMENTS_H

#include "beam/node/node.h"

/* Longer chains are cut. */
#define HEAP_FRAGMENTS_MAX 1000000u

struct heap_fragments {
	struct beam_node *n;
	struct mem *mem;
	raddr next;	  /* 0 = that was the last one */
	uint64_t nr;	  /* that were read */
	raddr start, end; /* of the terms in the fragment that was read */
	raddr off_heap;	  /* the first of its off-heap list */
	bool cut;	  /* the chain is longer than HEAP_FRAGMENTS_MAX */
	bool unreadable;  /* the chain ends with what is no fragment */
};

/* `mem` may be a cache of n->mem. */
static inline struct heap_fragments heap_fragments_of(struct beam_node *n, struct mem *mem,
						      raddr first)
{
	return (struct heap_fragments){.n = n, .mem = mem, .next = first};
}

/* Reads the next fragment; false: there is none, or see `cut` and `unreadable`. */
bool heap_fragments_next(struct heap_fragments *f);

/* After the last one: was all of the chain read? */
static inline bool heap_fragments_complete(const struct heap_fragments *f)
{
	return !f->cut && !f->unreadable;
}

#endif
