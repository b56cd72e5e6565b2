/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VM's memory allocators: every instance of those built on alloc_util, with the blocks in use
 * and the carriers that hold them, as erlang:system_info({allocator, Type}) counts.
 *
 * The VM's counters have no locks; a busy node changes them while they are read.  Each instance is
 * read at once.
 */
#ifndef EBEAM_BEAM_ALLOCATORS_H
#define EBEAM_BEAM_ALLOCATORS_H

#include "base/vec.h"
#include "beam/node/node.h"

/*
 * ErtsAllocatorInfo_t {int alloc_util, enabled, thr_spec; void *extra}, and, if there is an
 * instance per scheduler, what `extra` points to: ErtsAllocatorThrSpec_t {int enabled, dd, aix,
 * size; Allctr_t **allctr}.  erts/emulator/beam/erl_alloc.h, OTP 25 to 29; the same offsets in all
 * of them.
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
#define ALLOCATOR_INSTANCES_MAX	 4096 /* one shared, and one per scheduler: at most 2 * 1024 */

/* Blocks are counted by their allocator's number: they can be in carriers of another one. */
struct allocator_count {
	uint64_t blocks[ALLOCATORS_MAX], blocks_size[ALLOCATORS_MAX];
	uint64_t carriers, carriers_size;
};

/* Sums of the kinds of fix_alloc that belong to processes. */
struct allocator_fix {
	uint64_t allocated, used; /* bytes, modulo 2^64: of one instance maybe negative */
	uint64_t timers;	  /* of `used`: timers of any kind, without their messages */
};

struct allocator {
	const char *type;  /* "eheap_alloc"; points into struct allocators */
	uint32_t number;   /* of the allocator */
	uint32_t instance; /* 0: shared, else of a scheduler */
	raddr address;
	/* Carriers for many blocks, for single ones, and abandoned ones in the pool. */
	struct allocator_count mbcs, sbcs, pool;
	/* Sums of the above. */
	uint64_t blocks, blocks_size, carriers, carriers_size;
};

struct allocators {
	VEC(struct allocator) v; /* by number, then instance */
	char types[ALLOCATORS_MAX][24];
	bool disabled;		  /* an allocator is disabled: erlang:memory() would fail */
	struct allocator_fix fix; /* sums of all instances, of the kinds that count as processes */
	bool has_fix;
	uint64_t unreadable; /* instances that could not be read */
};

int allocators_read(struct allocators *out, struct beam_node *n, struct error *err);
void allocators_free(struct allocators *a);
/* Bytes in blocks of one type ("ets_alloc"), in whichever carriers; NULL: of all types. */
uint64_t allocators_blocks_size(const struct allocators *a, const char *type);

/* Instances of allocator `number`, from its ErtsAllocatorInfo_t; false: none, or it is invalid. */
struct allocator_instances {
	raddr array; /* Allctr_t *[nr], or 0: only `single` */
	uint32_t nr;
	raddr single;
};
bool allocator_instances(struct mem *mem, const uint8_t info[ALLOCATOR_INFO_SIZE], uint32_t number,
			 struct allocator_instances *out);

#endif
