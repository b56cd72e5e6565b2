/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data outside of its heap that the terms of a process keep alive, mostly reference-counted
 * binaries.  A process has a list of references to such data from its heap (Process.off_heap), and
 * since OTP 25 one of binaries that it appends to (Process.wrt_bins); each heap fragment and
 * message has a list of its own.
 *
 * erl_bits.h, erl_binary.h, erl_bif_info.c (process_info(P, binary)), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_OFF_HEAP_H
#define EBEAM_BEAM_OFF_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"
#include "beam/process/process.h"

/* Longer lists are truncated. */
#define OFF_HEAP_MAX 5000000u

struct off_heap_binary {
	raddr addr;	      /* address of the Binary: first element in process_info(P, binary) */
	uint64_t size;	      /* bytes */
	uint64_t refc;	      /* references from the whole node */
	uint64_t here;	      /* references from this process that were found */
	uint64_t in_messages; /* those of `here` from messages in the mailbox */
};

/* A reference: the object on a heap that an off-heap list consists of. */
struct off_heap_place {
	raddr at;     /* of the object */
	raddr binary; /* of the Binary */
	/* Up to OTP 26 the part of its data that the object is: a copy of a sub-binary has no more.
	 * Else 0. */
	raddr bytes;
	uint64_t size;
};

struct off_heap {
	/* Sorted by size, largest first; without duplicates. */
	VEC(struct off_heap_binary) binaries;
	uint64_t bytes; /* sum of their sizes */
	/* Number of references to binaries in the lists: those of process_info(P, binary), which in
	 * OTP 25 omits binaries that are appended to. */
	uint64_t references;
	uint64_t in_messages;
	uint64_t funs, externals, magic_refs; /* other entries of the lists */
	uint64_t unreadable;
	bool cut;
	bool unaligned;	  /* set by the caller: of objects of a compressed ETS table */
	bool keep_places; /* set by the caller: `places` gets all references to binaries */
	VEC(struct off_heap_place) places;
	VEC(raddr) fragments; /* likewise: the first heap fragment of each message */
	VEC(raddr) magic;     /* likewise: what magic references refer to, a struct magic_binary */
};

/* Adds the list from `first` on; `message`: it is a message's.  `mem` may be a cache of n->mem. */
void off_heap_add(struct beam_node *n, struct mem *mem, raddr first, bool message,
		  struct off_heap *out);
/* Adds the list of each fragment of a chain. */
void off_heap_add_fragments(struct beam_node *n, struct mem *mem, raddr fragment, bool message,
			    struct off_heap *out);
/* Adds the lists of a process except those of its messages: off_heap, wrt_bins, heap fragments. */
void off_heap_add_process(struct beam_node *n, struct mem *mem, raddr process,
			  struct off_heap *out);
/* Adds these lists, and those of its messages. */
void off_heap_add_all(struct beam_node *n, struct mem *mem, const struct process_facts *p,
		      struct off_heap *out);
/* To call after the last list: merges duplicates, reads sizes and reference counts, and sorts by
 * size, largest first. */
void off_heap_finish(struct beam_node *n, struct off_heap *out);
/* Bytes of the binaries to which nobody else refers; after off_heap_finish(). */
uint64_t off_heap_held(const struct off_heap *o);
void off_heap_free(struct off_heap *o);

#endif
