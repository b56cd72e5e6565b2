/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the terms of a process keep alive outside its heap: binaries above all, each with a count of
 * references that the VM keeps in it.  A process holds them through a list of things on its heap,
 * young and old, and through one of the binaries that it appends to (Process.wrt_bins); each heap
 * fragment and message has a list of its own.
 *
 * erl_bits.h, erl_binary.h, erl_bif_info.c (process_info(P, binary)), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_OFF_HEAP_H
#define EBEAM_BEAM_OFF_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"

/* Beyond this a list is cut. */
#define OFF_HEAP_MAX 5000000u

struct off_heap_binary {
	raddr addr;	      /* the Binary: what process_info(P, binary) has as first element */
	uint64_t size;	      /* bytes */
	uint64_t refc;	      /* references to it in the whole node */
	uint64_t here;	      /* of those, in this process: how often it was seen */
	uint64_t in_messages; /* of those, in messages that were not received */
};

struct off_heap {
	/* Largest first, each once. */
	VEC(struct off_heap_binary) binaries;
	uint64_t bytes; /* of them, each once */
	/* Entries of the lists: what process_info(P, binary) lists, which in OTP 25 leaves out
	 * binaries that are appended to. */
	uint64_t references;
	uint64_t in_messages;
	uint64_t funs, externals, magic_refs; /* other things that the lists hold */
	uint64_t unreadable;
	bool cut;
};

/* Adds one list; `mem` may be a cached one. */
void off_heap_add(struct beam_node *n, struct mem *mem, raddr first, bool message,
		  struct off_heap *out);
/* Adds the list of each fragment of a chain. */
void off_heap_add_fragments(struct beam_node *n, struct mem *mem, raddr fragment, bool message,
			    struct off_heap *out);
/* Adds the lists of a process: both of its heap, and those of its heap fragments. */
void off_heap_add_process(struct beam_node *n, struct mem *mem, raddr process,
			  struct off_heap *out);
/* After the last list: each binary once, with its size and references, largest first. */
void off_heap_finish(struct beam_node *n, struct off_heap *out);
void off_heap_free(struct off_heap *o);

#endif
