/* SPDX-License-Identifier: BSD-2-Clause */
/* See libc_memory.h. */
#include "target/libc_memory.h"

#include <errno.h>
#include <stdbool.h>

#include "base/idmap.h"

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

/* Flags of a chunk's size. */
#define PREV_IN_USE 1u
#define IS_MAPPED   2u
#define SIZE_FLAGS  (uint64_t)7
#define LEAST_CHUNK 32

#define CONTENT_WORDS 14

/* In a free block of a tcache: the next block's address XORed with the upper bits of its own, and a
 * key that is 0 once it is in use. */
static bool is_in_tcache(struct mem *m, raddr block, const uint64_t words[2], uint64_t size)
{
	raddr next = words[0] ^ block >> 12;
	uint64_t its;

	if (!words[1] || next % HEAD_SIZE)
		return false;
	return !next || (mem_read_u64(m, next - 8, &its) == 0 && (its & ~SIZE_FLAGS) == size);
}

/* Of a block whose chunk has this size, and up to the end of words[]. */
static uint64_t hash_content(const uint64_t *words, size_t nr, uint64_t size)
{
	uint32_t low = 1, high = 2;

	/* The last word of a block is where the next chunk's header begins. */
	for (size_t i = 0; i < nr && i < size / 8 - 1; i++) {
		low = hash_mix(low, words[i]);
		high = hash_mix(high, words[i] + low);
	}
	return (uint64_t)high << 32 | low | 1;
}

enum libc_block libc_block_state(struct mem *m, raddr block, uint64_t *word, uint64_t *content)
{
	uint64_t head[2 + CONTENT_WORDS], size, after;
	size_t nr = CONTENT_WORDS;
	int rc = mem_read(m, block - HEAD_SIZE, head, sizeof(head));

	if (rc) {
		nr = 2; /* the heap may end behind it */
		rc = mem_read(m, block - HEAD_SIZE, head, 4 * sizeof(*head));
	}
	if (rc)
		return rc == -EFAULT ? LIBC_BLOCK_GONE : LIBC_BLOCK_USED;
	size = head[1] & ~SIZE_FLAGS;
	if (!*word)
		*word = size;
	if (size != *word)
		return LIBC_BLOCK_FREE;
	if (size < LEAST_CHUNK)
		return LIBC_BLOCK_FREE;
	*content = hash_content(head + 2, nr, size);
	if (head[1] & IS_MAPPED)
		return LIBC_BLOCK_USED;
	if (size % HEAD_SIZE || mem_read_u64(m, block - HEAD_SIZE + size + 8, &after) ||
	    !(after & PREV_IN_USE) || is_in_tcache(m, block, head + 2, size))
		return LIBC_BLOCK_FREE;
	return LIBC_BLOCK_USED;
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
