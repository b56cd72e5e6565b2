/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the resident memory (RSS) of a node consists of: the mappings of the process, joined with
 * the addresses of the VM's carriers and with what malloc and stacks of threads look like.
 *
 * Mappings that hold one kind of memory count by what smaps says of them; of others the pages that
 * are present are counted (pagemap).  Neighbours that the kernel merged into one mapping, such as a
 * carrier and a stack, are told apart by that.  Anonymous pages that have gone since smaps was read
 * count for nothing, so that the sum is that of a moment.
 */
#ifndef EBEAM_BEAM_RESIDENT_H
#define EBEAM_BEAM_RESIDENT_H

#include "beam/node/node.h"
#include "beam/vm/allocators.h"
#include "target/memory_map.h"

/*
 * RESIDENT_PART(name): what adds up to the RSS.
 *   carriers         carriers of the VM's allocators, used or not
 *   cached_segments  carriers that are no longer in use, which the VM keeps for the next ones
 *   code             code made by the JIT; most kernels let the VM map it twice, to write and to
 *                    run it, and both count
 *   stacks           stacks of threads
 *   malloc           the C library's heap, arenas and mapped blocks, without carriers in them
 *   libraries        the executable and libraries, with their variables
 *   files            other files that are mapped
 *   other            the rest: shared memory, anonymous memory of which nothing is known
 */
#define RESIDENT_PARTS(_)                                                                          \
	_(carriers)                                                                                \
	_(cached_segments)                                                                         \
	_(code)                                                                                    \
	_(stacks)                                                                                  \
	_(malloc)                                                                                  \
	_(libraries)                                                                               \
	_(files)                                                                                   \
	_(other)
#define RESIDENT_ID(name) RESIDENT_##name,
enum resident_part { RESIDENT_PARTS(RESIDENT_ID) NR_RESIDENT_PARTS };
#undef RESIDENT_ID

struct resident {
	uint64_t rss, swap, huge;	  /* bytes; huge: of rss, in transparent huge pages */
	uint64_t part[NR_RESIDENT_PARTS]; /* bytes; their sum is rss */
	uint64_t nr_carriers, nr_stacks;  /* that were found */
	/* Lists of carriers that were not followed to their end, and carriers not read. */
	uint64_t lists_truncated;
};

/* Of a live process only.  `a` may be empty (allocators that are switched off, or not found): all
 * memory is then malloc's or other. */
int resident_read(struct resident *out, struct beam_node *n, const struct allocators *a,
		  struct error *err);
/* The part of it that does not read /proc. */
void resident_join(struct resident *out, struct beam_node *n, const struct allocators *a,
		   const struct memory_map *map, struct memory_pages *pages);

#endif
