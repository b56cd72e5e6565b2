/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An overlay that keeps the pages it has read.  Lists and trees of the VM are chains of small
 * structs, several to a page, where each has the address of the next, so that they cannot be read
 * in one batch.  The cache is direct mapped; a page that cannot be read whole is not kept, and the
 * read is then passed to `inner`.
 */
#include "target/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define PAGE	 4096u
#define NR_SLOTS 16384u /* a power of two */

struct cached_page {
	raddr addr;
	uint8_t *bytes; /* NULL: this slot was never used */
	bool filled;
};

struct mem_cached {
	struct mem mem;
	struct mem *inner;
	struct cached_page *slots;
};

/* The cached page at this address; NULL if it cannot be read whole. */
static const uint8_t *page_at(struct mem_cached *c, raddr addr)
{
	/* Fibonacci hashing, the high bits of a product: neighbouring pages get different slots. */
	uint64_t hash = (addr / PAGE) * 0x9e3779b97f4a7c15ull;
	struct cached_page *p = &c->slots[hash >> 50];

	_Static_assert(NR_SLOTS == 1u << (64 - 50), "the slot is the high bits of the hash");
	if (p->filled && p->addr == addr)
		return p->bytes;
	if (!p->bytes)
		p->bytes = xmalloc(PAGE);
	p->addr = addr;
	p->filled = mem_read(c->inner, addr, p->bytes, PAGE) == 0;
	return p->filled ? p->bytes : NULL;
}

static int cached_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct mem_cached *c = CONTAINER_OF(m, struct mem_cached, mem);
	uint8_t *to = buf;

	if (size > PAGE || addr + size < addr)
		return mem_read(c->inner, addr, buf, size);
	for (size_t done = 0; done < size;) {
		raddr at = addr + done, page = at & ~(raddr)(PAGE - 1);
		size_t offset = (size_t)(at - page), n = MIN(size - done, PAGE - offset);
		const uint8_t *bytes = page_at(c, page);

		if (!bytes)
			return mem_read(c->inner, addr, buf, size);
		memcpy(to + done, bytes + offset, n);
		done += n;
	}
	return 0;
}

static void cached_close(struct mem *m)
{
	struct mem_cached *c = CONTAINER_OF(m, struct mem_cached, mem);

	for (size_t i = 0; i < NR_SLOTS; i++)
		free(c->slots[i].bytes);
	free(c->slots);
	free(c);
}

struct mem *mem_open_cached(struct mem *inner)
{
	struct mem_cached *c = xcalloc(1, sizeof(*c));

	c->mem = (struct mem){.read = cached_read, .close = cached_close};
	c->inner = inner;
	c->slots = xcalloc(NR_SLOTS, sizeof(*c->slots));
	return &c->mem;
}

void mem_cached_forget(struct mem *cached)
{
	struct mem_cached *c = CONTAINER_OF(cached, struct mem_cached, mem);

	for (size_t i = 0; i < NR_SLOTS; i++)
		c->slots[i].filled = false;
}
