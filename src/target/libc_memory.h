/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that the C library got for itself, known by its shape: heaps of malloc's arenas, blocks
 * that malloc mapped one by one, stacks of threads.
 *
 * glibc 2.31 to 2.43 (malloc/arena.c, malloc/malloc.c, nptl/descr.h); of musl only stacks
 * (pthread_impl.h).  All functions take bytes that were read, whatever they are.
 */
#ifndef EBEAM_TARGET_LIBC_MEMORY_H
#define EBEAM_TARGET_LIBC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

/* Heaps of arenas other than the main one begin at multiples of this, and are no larger. */
#define LIBC_ARENA_HEAP ((raddr)64 << 20)
#define LIBC_HEAP_INFO	32 /* bytes of a heap_info that are needed */

/* Bytes that are usable of the heap of an arena at `at`, from its first words; 0: it is none. */
uint64_t libc_arena_heap(const uint64_t info[LIBC_HEAP_INFO / 8], raddr at);

/* Size of the mapping that malloc made for one block, from the two words at its start; 0: it is
 * none, or larger than `most`. */
uint64_t libc_mapped_block(const uint64_t head[2], uint64_t most);

/*
 * Whether a block of malloc is in use, by its header and that of the chunk after it: as *word was
 * when it was (0: not known yet, *word is set to it), else it was freed and given away again in
 * another size.  What cannot be seen: a block that was given away again in the same size, and one
 * of at most 120 bytes in a fastbin.  Before glibc 2.32 also one in the tcache of a thread, which
 * since then is known by the address of the next block, which stands in it, XORed with its own.
 * *content is set, of a block in use, to a hash of its first bytes, not 0: another one says that
 * the block was written to, or was given away again.
 */
enum libc_block { LIBC_BLOCK_USED, LIBC_BLOCK_FREE, LIBC_BLOCK_GONE /* unmapped */ };
enum libc_block libc_block_state(struct mem *m, raddr block, uint64_t *word, uint64_t *content);

/* Searches a thread's descriptor, which stands at the top of its stack, in a page that was read
 * from `at`.  If it is there, *start and *end are those of the stack, with its guard page, and
 * 1 is returned, else 0. */
int libc_thread_stack(const uint64_t *page, size_t nr_words, raddr at, raddr *start, raddr *end);

#endif
