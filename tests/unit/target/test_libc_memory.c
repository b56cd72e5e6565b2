/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory of the C library looks like: words that were made, and (of stacks) this process.  Its
 * malloc is that of the sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/libc_memory.h"

#define HEAP ((raddr)0x7ff6f4000000)
#define PAGE 4096

static void heaps_of_arenas(void **state)
{
	static const struct {
		uint64_t info[4], size;
	} all[] = {
		/* an arena's own first heap, its second one */
		{{HEAP + 0x30, 0, 0x67c000, 0x680000}, 0x680000},
		{{HEAP - LIBC_ARENA_HEAP + 0x20, HEAP - LIBC_ARENA_HEAP, 0x1000, 0x1000}, 0x1000},
		/* sizes that are none, an arena elsewhere */
		{{HEAP + 0x30, 0, 0x67c008, 0x680000}, 0},
		{{HEAP + 0x30, 0, 0x681000, 0x680000}, 0},
		{{HEAP + 0x30, 0, 0x1000, 0x4001000}, 0},
		{{HEAP + 0x30, 0, 0, 0}, 0},
		{{HEAP + 0x2000, 0, 0x67c000, 0x680000}, 0},
		{{HEAP, 0, 0x67c000, 0x680000}, 0},
		{{0x30, HEAP - LIBC_ARENA_HEAP, 0x1000, 0x1000}, 0},
		{{HEAP + 0x30, 0x1000, 0x67c000, 0x680000}, 0},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(libc_arena_heap(all[i].info, HEAP), all[i].size);
	assert_int_equal(libc_arena_heap(all[0].info, HEAP + PAGE), 0);
}

static void mapped_blocks(void **state)
{
	static const struct {
		uint64_t head[2], size;
	} all[] = {
		{{0, 0x31002}, 0x31000},
		{{0, 0x30ff2}, 0x31000}, /* since glibc 2.43 */
		{{0, 0x31000}, 0},	 /* not mapped */
		{{0, 0x31003}, 0},
		{{8, 0x31002}, 0},
		{{0, 0x31012}, 0},
		{{0, 0x1002}, 0}, /* too small to be mapped */
		{{0, 2}, 0},
		{{0, UINT64_MAX}, 0},
		{{0, 0x101002}, 0}, /* larger than the mapping */
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(libc_mapped_block(all[i].head, 0x100000), all[i].size);
}

/* Words of a thread's descriptor: glibc, musl, and nonsense. */
static void descriptors(void **state)
{
	const raddr at = 0x7ff701bbb000; /* the stack's last page */
	const uint64_t base = 0x7ff701b69000, size = 0x53000;
	static uint64_t page[PAGE / 8];
	raddr start = 0, end = 0;

	UNUSED(state);
	memset(page, 0, sizeof(page));
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 0);
	memcpy(&page[300], (uint64_t[]){base, size, 0x1000, 0x1000}, 32);
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 1);
	assert_int_equal(start, base);
	assert_int_equal(end, base + size);
	/* In another place it would describe memory that it is not in the top of. */
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at + size, &start, &end), 0);
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), base - PAGE, &start, &end), 0);
	page[302] = 0x1001; /* no guard */
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 0);
	memcpy(&page[300], (uint64_t[]){base, size, base + size - 0x900, size - 0x1000, 0x1000},
	       40);
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 1);
	assert_int_equal(end, base + size);
	page[304] = size;
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 0);
	memset(page, 0xff, sizeof(page));
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 0);
	/* At the end of a page: nothing behind it is read. */
	memset(page, 0, sizeof(page));
	memcpy(&page[ARRAY_SIZE(page) - 2], (uint64_t[]){base, size}, 16);
	assert_int_equal(libc_thread_stack(page, ARRAY_SIZE(page), at, &start, &end), 0);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

#define BLOCKS ((raddr)0x55d0c0000000)
#define CHUNK  48

/* Three chunks of one size, and what follows them. */
struct heap {
	struct mem mem;
	uint64_t words[4 * CHUNK / 8];
};

static int read_heap(struct mem *m, raddr addr, void *buf, size_t size)
{
	const struct heap *h = CONTAINER_OF(m, struct heap, mem);

	if (addr < BLOCKS || size > sizeof(h->words) || addr - BLOCKS > sizeof(h->words) - size)
		return -EFAULT;
	memcpy(buf, (const char *)h->words + (addr - BLOCKS), size);
	return 0;
}

static uint64_t *word_of(struct heap *h, raddr block)
{
	return &h->words[(block - BLOCKS) / 8];
}

static void blocks(void **state)
{
	struct heap h = {.mem.read = read_heap};
	const raddr block = BLOCKS + 16, next = block + CHUNK;
	uint64_t known = 0, content = 0, before;

	UNUSED(state);
	for (unsigned int i = 0; i < 4; i++)
		h.words[1 + i * CHUNK / 8] = CHUNK | 1;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_USED);
	assert_int_equal(known, CHUNK);
	/* in a tcache: alone, before another; given away again, when its key is 0 */
	word_of(&h, block)[1] = 0x1234567890;
	word_of(&h, block)[0] = block >> 12;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
	word_of(&h, block)[0] = next ^ block >> 12;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
	word_of(&h, block)[1] = 0;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_USED);
	/* its content, which ends where the next block's header begins */
	before = content;
	assert_true(before != 0);
	word_of(&h, next)[1] = 7;
	libc_block_state(&h.mem, block, &known, &content);
	assert_true(content == before);
	word_of(&h, block)[4] = 7;
	libc_block_state(&h.mem, block, &known, &content);
	assert_true(content != before);
	/* the user's own words: addresses, of blocks of another size */
	memcpy(word_of(&h, block), (uint64_t[]){next, next}, 16);
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_USED);
	/* in a bin: the next chunk says so */
	h.words[1 + CHUNK / 8] = CHUNK;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
	h.words[1 + CHUNK / 8] = CHUNK | 1;
	/* joined with its neighbour, or split */
	h.words[1] = 2 * CHUNK | 1;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
	/* mapped by itself: there is no next chunk */
	h.words[1] = 0x31000 | 2;
	known = 0;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_USED);
	assert_int_equal(libc_block_state(&h.mem, BLOCKS - 4096, &known, &content),
			 LIBC_BLOCK_GONE);
	/* nonsense */
	h.words[1] = known = 0;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
	h.words[1] = UINT64_MAX & ~(uint64_t)2;
	known = 0;
	assert_int_equal(libc_block_state(&h.mem, block, &known, &content), LIBC_BLOCK_FREE);
}

/* Searches the pages above the caller's frame. */
static void *own_stack(void *found)
{
	static uint64_t page[PAGE / 8];
	raddr at = (raddr)(uintptr_t)&found & ~(raddr)(PAGE - 1), start, end;
	pthread_attr_t attr;
	struct mem *mem;
	size_t size;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	assert_int_equal(mem_open_live(&mem, getpid(), NULL), 0);
	for (; at < (raddr)(uintptr_t)low + size; at += PAGE) {
		assert_int_equal(mem_read(mem, at, page, sizeof(page)), 0);
		if (libc_thread_stack(page, PAGE / 8, at, &start, &end) &&
		    end == (raddr)(uintptr_t)low + size && start <= (raddr)(uintptr_t)low)
			*(bool *)found = true;
	}
	mem_close(mem);
	return NULL;
}

static void stack_of_a_thread(void **state)
{
	pthread_t thread;
	bool found = false;

	UNUSED(state);
	assert_int_equal(pthread_create(&thread, NULL, own_stack, &found), 0);
	pthread_join(thread, NULL);
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaps_of_arenas),   cmocka_unit_test(mapped_blocks),
		cmocka_unit_test(descriptors),	     cmocka_unit_test(blocks),
		cmocka_unit_test(stack_of_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
