/* SPDX-License-Identifier: BSD-2-Clause */
/* See sparse_carriers.h. */
#include "beam/vm/sparse_carriers.h"

#include <stdlib.h>

#include "base/search.h"

void sparse_add(struct sparse_carriers *s, const struct carrier *c)
{
	struct sparse_carrier new = {.owner = c->owner,
				     .start = c->address,
				     .end = c->address + c->size,
				     .size = c->size,
				     .blocks_size = c->blocks_size,
				     .first = s->blocks.len,
				     .nr = c->blocks};

	if (!c->extents || (double)c->blocks_size * 100 >= (double)c->size * SPARSE_PERCENT)
		return;
	if (c->blocks > SPARSE_BLOCKS_MAX - s->blocks.len) {
		s->left_out++;
		return;
	}
	for (uint64_t i = 0; i < c->blocks; i++)
		vec_push(&s->blocks,
			 ((struct sparse_block){c->extents[i].addr, c->extents[i].size, 0}));
	vec_push(&s->v, new);
}

static int by_start(const void *a, const void *b)
{
	const struct sparse_carrier *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void sparse_order(struct sparse_carriers *s)
{
	if (s->v.len)
		qsort(s->v.data, s->v.len, sizeof(*s->v.data), by_start);
}

bool sparse_find(struct sparse_carriers *s, raddr addr, struct sparse_place *out)
{
	size_t nr = COUNT_UP_TO(s->v.len, i, s->v.data[i].start, addr);
	struct sparse_carrier *c = nr ? &s->v.data[nr - 1] : NULL;
	struct sparse_block *blocks;

	if (!c || !c->nr || addr >= c->end)
		return false;
	blocks = s->blocks.data + c->first;
	nr = COUNT_UP_TO(c->nr, i, blocks[i].addr, addr);
	if (!nr || addr - blocks[nr - 1].addr >= blocks[nr - 1].size)
		return false;
	*out = (struct sparse_place){c, &blocks[nr - 1]};
	return true;
}

static void add_pair(struct sparse_carriers *s, const struct sparse_carrier *c, uint32_t holder,
		     uint64_t blocks)
{
	uint64_t key = (uint64_t)(holder + 1) << 32 | (uint64_t)(c - s->v.data + 1);
	struct sparse_pair *p = keytab_find(&s->pairs, key);

	p = p ? p : keytab_add(&s->pairs, key);
	p->blocks += blocks;
}

/* Does the holder have it already? */
static bool is_again(struct sparse_carriers *s, const struct sparse_block *b, uint32_t holder)
{
	uint64_t key = (uint64_t)(holder + 1) << 32 | (uint64_t)(b - s->blocks.data + 1);

	if (!b->holder || b->holder == holder + 1)
		return b->holder;
	if (keytab_find(&s->shared, key))
		return true;
	keytab_add(&s->shared, key);
	return false;
}

void sparse_hold(struct sparse_carriers *s, const struct sparse_place *at, uint32_t holder,
		 struct sparse_sum *sum)
{
	struct sparse_block *b = at->block;

	if (is_again(s, b, holder))
		return;
	if (!b->holder) {
		b->holder = holder + 1;
		at->carrier->held++;
	}
	sum->blocks++;
	sum->blocks_size += b->size;
	add_pair(s, at->carrier, holder, 1);
}

void sparse_rest(struct sparse_carriers *s, struct sparse_carrier *c, uint32_t holder,
		 struct sparse_sum *sum)
{
	for (size_t i = c->first; i < c->first + c->nr; i++) {
		struct sparse_place at = {c, &s->blocks.data[i]};

		if (!at.block->holder)
			sparse_hold(s, &at, holder, sum);
	}
}

void sparse_sums(struct sparse_carriers *s, struct sparse_sum *sums, size_t nr)
{
	for (struct sparse_pair *p = keytab_next(&s->pairs, NULL); p; p = keytab_next(&s->pairs, p))
		s->v.data[(uint32_t)p->key - 1].holders++;
	for (struct sparse_pair *p = keytab_next(&s->pairs, NULL); p;
	     p = keytab_next(&s->pairs, p)) {
		const struct sparse_carrier *c = &s->v.data[(uint32_t)p->key - 1];
		size_t holder = (size_t)(p->key >> 32) - 1;

		if (holder >= nr)
			continue;
		sums[holder].carriers++;
		sums[holder].size += c->size;
		sums[holder].unused += c->size - c->blocks_size;
		sums[holder].alone += c->holders == 1;
	}
}

void sparse_free(struct sparse_carriers *s)
{
	vec_free(&s->v);
	vec_free(&s->blocks);
	keytab_free(&s->shared);
	keytab_free(&s->pairs);
}
