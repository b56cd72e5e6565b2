/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VM's memory allocators: every instance of those built on alloc_util, with the blocks in use
 * and the carriers that hold them, as erlang:system_info({allocator, Type}) counts.
 *
 * The node counts without locks that a reader could take; a node that is busy changes the counters
 * while they are read.  Each instance is read at once.
 */
#ifndef EBEAM_BEAM_ALLOCATORS_H
#define EBEAM_BEAM_ALLOCATORS_H

#include "base/vec.h"
#include "beam/node/node.h"

/*
 * ErtsAllocatorInfo_t {int alloc_util, enabled, thr_spec; void *extra}, and what extra points to if
 * there is an instance per scheduler: ErtsAllocatorThrSpec_t {int enabled, dd, aix, size;
 * Allctr_t **allctr}.  erts/emulator/beam/erl_alloc.h, OTP 25 to 29: too plain for the layout.
 */
#define ALLOCATOR_INFO_SIZE	 24
#define ALLOCATOR_INFO_UTIL	 0
#define ALLOCATOR_INFO_ENABLED	 4
#define ALLOCATOR_INFO_THR_SPEC	 8
#define ALLOCATOR_INFO_EXTRA	 16
#define ALLOCATOR_SPEC_SIZE	 24
#define ALLOCATOR_SPEC_NUMBER	 8
#define ALLOCATOR_SPEC_INSTANCES 12
#define ALLOCATOR_SPEC_ARRAY	 16
#define ALLOCATORS_MAX		 16   /* numbers: ERTS_ALC_A_MAX is 12 */
#define ALLOCATOR_INSTANCES_MAX	 4096 /* one a scheduler: at most 2 * 1024, and a shared one */

/* A block may lie in a carrier that another allocator made: counted by number of allocator. */
struct allocator_count {
	uint64_t blocks[ALLOCATORS_MAX], blocks_size[ALLOCATORS_MAX];
	uint64_t carriers, carriers_size;
};

/* Kinds of fixed size that belong to processes; in the order of erl_alloc.types. */
struct allocator_fix {
	uint64_t allocated, used; /* bytes; of one instance alone they can be negative */
	uint64_t timers;	  /* of `used`: timers of any kind, without their messages */
};

struct allocator {
	const char *type;  /* "eheap_alloc"; of struct allocators */
	uint32_t number;   /* of the allocator */
	uint32_t instance; /* 0: shared, else of a scheduler */
	raddr address;
	/* Carriers for many blocks, for single ones, and abandoned ones that wait in a pool. */
	struct allocator_count mbcs, sbcs, pool;
	/* All together. */
	uint64_t blocks, blocks_size, carriers, carriers_size;
};

struct allocators {
	VEC(struct allocator) v; /* by number, then instance */
	char types[ALLOCATORS_MAX][24];
	bool disabled;		  /* one is switched off: erlang:memory() would refuse */
	struct allocator_fix fix; /* of all instances, the kinds that count as processes */
	bool has_fix;
	uint64_t unreadable; /* instances that could not be read */
};

int allocators_read(struct allocators *out, struct beam_node *n, struct error *err);
void allocators_free(struct allocators *a);
/* Bytes of the blocks of one type ("ets_alloc"), wherever they lie; NULL: of all types. */
uint64_t allocators_blocks_size(const struct allocators *a, const char *type);

/* First instance of allocator `number` if the ErtsAllocatorInfo_t says so; 0: there is none, or it
 * is none.  For the search by shape and for allocators_read(). */
struct allocator_instances {
	raddr array; /* Allctr_t *[nr], or 0: only `single` */
	uint32_t nr;
	raddr single;
};
bool allocator_instances(struct mem *mem, const uint8_t info[ALLOCATOR_INFO_SIZE], uint32_t number,
			 struct allocator_instances *out);

#endif
