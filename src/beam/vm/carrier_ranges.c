/* SPDX-License-Identifier: BSD-2-Clause */
/* See carrier_ranges.h. */
#include "beam/vm/carrier_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"

#define CARRIERS_MAX	    (1u << 20)
#define SIZE_MAX_OF_CARRIER ((uint64_t)1 << 46)
/* Carriers that may be added to a list while it is followed; a list with more is a loop. */
#define LIST_SLACK 1024

/* A list that is being followed, one carrier a round: all lists are read together. */
struct cursor {
	raddr at;	/* the next carrier; 0 = at the end */
	raddr instance; /* that employs the carriers of a list */
	raddr sentinel; /* of a pool, whose carriers are linked in a ring; 0 = a list */
	uint64_t left;	/* carriers that may follow */
	uint8_t head[CARRIER_HEAD_SIZE];
};

struct walk {
	struct carriers *out;
	struct beam_node *n;
	VEC(struct cursor) lists;
};

static void add_list(struct walk *w, const struct allocator *a, int32_t offset, uint64_t most)
{
	struct cursor c = {.instance = a->address, .left = most + LIST_SLACK};

	if (mem_read_u64(w->n->mem, a->address + (raddr)offset, &c.at) != 0)
		w->out->lists_truncated++;
	else if (c.at)
		vec_push(&w->lists, c);
}

/* Instances share pools: each is followed once. */
static void add_pool(struct walk *w, const struct allocators *all, const struct allocator *a)
{
	struct cursor c = {.left = LIST_SLACK};
	raddr next;

	if (mem_read_u64(w->n->mem, a->address + (raddr)w->n->layout.allctr_cpool_sentinel,
			 &c.sentinel) != 0 ||
	    !c.sentinel)
		return;
	for (size_t i = 0; i < w->lists.len; i++)
		if (w->lists.data[i].sentinel == c.sentinel)
			return;
	for (size_t i = 0; i < all->v.len; i++)
		c.left += all->v.data[i].pool.carriers;
	if (mem_read_u64(w->n->mem, c.sentinel + CARRIER_POOL_NEXT - CARRIER_POOL, &next) != 0) {
		w->out->lists_truncated++;
		return;
	}
	next &= ~CARRIER_FLAGS;
	c.at = next == c.sentinel ? 0 : next - CARRIER_POOL;
	vec_push(&w->lists, c);
}

/* Adds the carrier that was read, and goes on to the next one. */
static void step(struct walk *w, struct cursor *c)
{
	uint64_t chdr = bytes_u64(c->head, (size_t)w->n->layout.carrier_chdr);
	uint64_t instance = bytes_u64(c->head, CARRIER_ALLCTR) & ~CARRIER_FLAGS;
	struct carrier new = {c->at, chdr & ~CARRIER_FLAGS, chdr & CARRIER_MSEG};
	raddr next;

	if (new.size == 0 || new.size > SIZE_MAX_OF_CARRIER || new.addr + new.size < new.addr ||
	    (c->sentinel ? !instance : instance != c->instance) || c->left == 0 ||
	    w->out->v.len >= CARRIERS_MAX) {
		w->out->lists_truncated++;
		c->at = 0;
		return;
	}
	vec_push(&w->out->v, new);
	c->left--;
	if (!c->sentinel) {
		c->at = bytes_u64(c->head, CARRIER_NEXT);
		return;
	}
	next = bytes_u64(c->head, CARRIER_POOL_NEXT) & ~CARRIER_FLAGS;
	c->at = next == c->sentinel ? 0 : next - CARRIER_POOL;
}

static void follow(struct walk *w)
{
	struct mem_range *ranges = xcalloc(w->lists.len + 1, sizeof(*ranges));
	size_t *of = xcalloc(w->lists.len + 1, sizeof(*of));

	for (;;) {
		size_t nr = 0;

		for (size_t i = 0; i < w->lists.len; i++) {
			struct cursor *c = &w->lists.data[i];

			if (!c->at)
				continue;
			of[nr] = i;
			ranges[nr++] = (struct mem_range){
				.addr = c->at, .buf = c->head, .size = sizeof(c->head)};
		}
		if (nr == 0)
			break;
		mem_readv(w->n->mem, ranges, nr);
		for (size_t i = 0; i < nr; i++) {
			if (ranges[i].err == 0) {
				step(w, &w->lists.data[of[i]]);
				continue;
			}
			w->out->lists_truncated++;
			w->lists.data[of[i]].at = 0;
		}
	}
	free(ranges);
	free(of);
}

static int by_address(const void *a, const void *b)
{
	raddr x = ((const struct carrier *)a)->addr, y = ((const struct carrier *)b)->addr;

	return x < y ? -1 : x > y;
}

/* A carrier that moved from a list to another one meanwhile was found twice. */
static void sort(struct carriers *c)
{
	size_t nr = 0;

	if (c->v.len)
		qsort(c->v.data, c->v.len, sizeof(*c->v.data), by_address);
	for (size_t i = 0; i < c->v.len; i++)
		if (nr == 0 || c->v.data[nr - 1].addr + c->v.data[nr - 1].size <= c->v.data[i].addr)
			c->v.data[nr++] = c->v.data[i];
	c->v.len = nr;
}

void carriers_read(struct carriers *out, struct beam_node *n, const struct allocators *a)
{
	struct walk w = {.out = out, .n = n};

	*out = (struct carriers){0};
	for (size_t i = 0; i < a->v.len; i++) {
		const struct allocator *one = &a->v.data[i];

		add_list(&w, one, n->layout.allctr_mbc_first, one->mbcs.carriers);
		add_list(&w, one, n->layout.allctr_sbc_first, one->sbcs.carriers);
	}
	for (size_t i = 0; i < a->v.len; i++)
		add_pool(&w, a, &a->v.data[i]);
	follow(&w);
	vec_free(&w.lists);
	sort(out);
}

void carriers_free(struct carriers *c)
{
	vec_free(&c->v);
}
