/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The carriers of the VM's allocators, in the lists of each instance and the pools of abandoned
 * ones; and the blocks in them, as their headers in the node's memory say: what
 * instrument:carriers/1 and instrument:allocations/1 give.
 *
 * The headers have no locks.  A carrier whose blocks do not follow each other exactly to its end
 * was changed while it was read: it is read again, and then counted as torn, and nothing else of
 * it.
 * Carriers that are to be unmapped and are in no list any more (Allctr_t.cpool.dc_list) are left
 * out, as the VM does.
 *
 * Memory between the headers is not touched where blocks are larger than two pages: it may be
 * swapped out, or never have been used.
 */
#ifndef EBEAM_BEAM_CARRIERS_H
#define EBEAM_BEAM_CARRIERS_H

#include "beam/vm/allocators.h"

/* Limits of what is walked: lists that are longer have a cycle or are not carriers. */
#define CARRIERS_MAX	 (1u << 23)
#define CARRIER_TAGS_MAX (1u << 23) /* blocks in one carrier that are given to a visitor */

/* Carrier_t.chdr of erl_alloc_util.h: size | flags; Carrier_t.allctr: address | flags. */
#define CARRIER_FLAGS	 7ull /* Unit_t has 8 bytes */
#define CARRIER_MSEG	 1ull /* of chdr: a mapping of its own, not from malloc */
#define CARRIER_SINGLE	 2ull /* of chdr: SBC_CARRIER_HDR_FLAG */
#define CARRIER_SIZE_MAX (1ull << 46)

/* What the allocator of an instance was told to do: flags +M<S>... */
struct carrier_options {
	bool tags;	    /* atags: new blocks are tagged */
	bool function_tags; /* atags code: with the function that runs, instead of the process */
	uint64_t acul;	    /* percent; 0 = its carriers do not migrate */
	uint64_t sbct;	    /* bytes: blocks of this size and more have a carrier of their own */
	uint64_t lmbcs;	    /* bytes: largest carrier for many blocks */
};

/* An allocated block: from its header on; bytes. */
struct carrier_extent {
	raddr addr;
	uint64_t size;
};

/* Sizes are bytes, with headers. */
struct carrier {
	const struct allocator *owner; /* whose it is; in the pool: who created it */
	raddr address;
	uint64_t size;
	uint64_t blocks, blocks_size; /* allocated ones */
	uint64_t free_blocks, free_size, largest_free;
	bool single; /* for one block */
	bool pooled; /* abandoned, in the pool of carriers */
	/* The allocated blocks, by address, if carriers_visitor.extents; NULL: none, too many. */
	const struct carrier_extent *extents;
};

/* A block that says who allocated it, as determine_alloc_tag() and set_alloc_tag() of
 * erl_alloc_util.c write it. */
struct carrier_tag {
	uint64_t size;	 /* of the block */
	uint64_t origin; /* atom: module of the NIF or name of the driver that ran, or system */
	uint32_t type;	 /* number of the type of erl_alloc.types: carrier_types.h */
	/* Since OTP 27: the pid or port for which it ran, the address at which its function runs
	 * (atags code), or 0. */
	uint64_t term;
};

struct carriers_visitor {
	bool extents; /* fills carrier.extents */
	bool heads;   /* only where carriers are and how large: no blocks are read or counted */
	/* Called for each carrier that was read whole; tags are those of its blocks, if
	 * type_bits. */
	void (*carrier)(void *ctx, const struct carrier *c, const struct carrier_tag *tags,
			size_t nr_tags);
	/* Optional: some carriers of the allocator were not read (`torn` and what follows below);
	 * NULL: it is not known of which. */
	void (*missed)(void *ctx, const struct allocator *owner);
	void *ctx;
	uint32_t type_bits; /* of struct carrier_types (carrier_types.h); 0 = tags are not read */
};

struct carriers_count {
	uint64_t carriers;	  /* read whole */
	uint64_t torn, torn_size; /* changed at each attempt, and their bytes */
	uint64_t unreadable; /* carriers and lists of them, of which some memory cannot be read */
	uint64_t lists_truncated; /* not followed to their end: a limit, a cycle */
};

/* Walks the carriers of all instances.  0, or negative errno: nothing could be read. */
int carriers_walk(struct beam_node *n, const struct allocators *a, const struct carriers_visitor *v,
		  struct carriers_count *out, struct error *err);

/* False: it cannot be read, or has values that cannot be. */
bool carrier_options_read(struct beam_node *n, const struct allocator *a,
			  struct carrier_options *out);

#endif
