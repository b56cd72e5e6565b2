/* SPDX-License-Identifier: BSD-2-Clause */
/* See libc_memory.h. */
#include "target/libc_memory.h"

#define PAGE_MASK ((raddr)4095)
#define HEAD_SIZE 16

uint64_t libc_arena_heap(const uint64_t info[LIBC_HEAP_INFO / 8], raddr at)
{
	/* heap_info {arena, previous heap, size, size that may be used} */
	uint64_t arena = info[0], prev = info[1], size = info[2], usable = info[3];

	if (at % LIBC_ARENA_HEAP || prev % LIBC_ARENA_HEAP || usable > LIBC_ARENA_HEAP ||
	    size > usable || size == 0 || ((size | usable) & PAGE_MASK))
		return 0;
	/* An arena stands in its own first heap, right behind the heap_info. */
	if (prev ? arena % LIBC_ARENA_HEAP > 256 || arena % 16 || arena < LIBC_ARENA_HEAP
		 : arena <= at || arena - at > 256)
		return 0;
	return usable;
}

uint64_t libc_mapped_block(const uint64_t head[2], uint64_t most)
{
	/* M_MMAP_THRESHOLD is 128 KiB, and only grows by itself; flag 2 is IS_MMAPPED.  Since
	 * glibc 2.43 the size is without these two words. */
	uint64_t size = head[1] & ~(uint64_t)7;

	if (((size + HEAD_SIZE) & PAGE_MASK) == 0)
		size += HEAD_SIZE;
	if (head[0] != 0 || (head[1] & 7) != 2 || (size & PAGE_MASK) || size < 128 << 10 ||
	    size > most)
		return 0;
	return size;
}

/* The descriptor and thread-local variables above and below it take less. */
#define TOP_MAX	  (128u << 10)
#define STACK_MAX ((uint64_t)1 << 40)
#define GUARD_MAX ((uint64_t)64 << 20)

int libc_thread_stack(const uint64_t *page, size_t nr_words, raddr at, raddr *start, raddr *end)
{
	for (size_t i = 0; i + 2 < nr_words; i++) {
		uint64_t base = page[i], size = page[i + 1], guard = page[i + 2];
		raddr here = at + 8 * i;

		if ((base & PAGE_MASK) || base == 0 || base >= here || (size & PAGE_MASK) ||
		    size > STACK_MAX || base + size <= here || base + size - here > TOP_MAX)
			continue;
		/* glibc: stackblock, stackblock_size, guardsize.  musl: map_base, map_size, stack,
		 * stack_size, guard_size, where `stack` is its end and lies above or below. */
		if ((guard & PAGE_MASK) || guard > GUARD_MAX || guard >= size) {
			if (guard <= base || guard > base + size || i + 4 >= nr_words)
				continue;
			guard = page[i + 4];
			if ((guard & PAGE_MASK) || guard >= size || page[i + 3] > size)
				continue;
		}
		*start = base;
		*end = base + size;
		return 1;
	}
	return 0;
}
