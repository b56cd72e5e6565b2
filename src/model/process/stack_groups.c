/* SPDX-License-Identifier: BSD-2-Clause */
/* See stack_groups.h. */
#include "model/process/stack_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct key {
	uint32_t what, nr;
	const uint64_t *items;
};

static bool group_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct stack_groups *g = ctx;
	const struct stack_group *a = &g->groups.data[id];
	const struct key *k = key;

	return a->what == k->what && a->nr == k->nr &&
	       (k->nr == 0 || memcmp(&g->items.data[a->first], k->items, 8ul * k->nr) == 0);
}

static uint32_t group_of(struct stack_groups *g, uint32_t what, const uint64_t *items, uint32_t nr)
{
	struct key key = {what, nr, items};
	struct stack_group new = {.what = what, .first = (uint32_t)g->items.len};
	uint32_t hash = hash_mix(what, nr), id;

	for (uint32_t i = 0; i < nr; i++)
		hash = hash_mix(hash, items[i]);
	id = idmap_find(&g->index, hash, group_equal, g, &key);
	if (id != IDMAP_NONE)
		return id;
	if (g->items.len + nr > (g->max_items ? g->max_items : STACK_GROUP_ITEMS)) {
		g->overflows++;
		return group_of(g, what, NULL, 0);
	}
	new.nr = nr;
	vec_reserve(&g->items, g->items.len + nr);
	if (nr)
		memcpy(&g->items.data[g->items.len], items, 8ul * nr);
	g->items.len += nr;
	id = (uint32_t)g->groups.len;
	vec_push(&g->groups, new);
	idmap_add(&g->index, hash, id);
	return id;
}

static void add_member(struct stack_group *group, uint32_t member)
{
	if (group->nr_members < STACK_GROUP_MEMBERS)
		group->members[group->nr_members++] = member;
}

uint32_t stack_groups_add(struct stack_groups *g, uint32_t what, const uint64_t *items, uint32_t nr,
			  uint32_t member)
{
	uint32_t id = group_of(g, what, items, nr);

	g->groups.data[id].count++;
	add_member(&g->groups.data[id], member);
	return id;
}

uint32_t stack_groups_merge(struct stack_groups *g, const struct stack_group *from,
			    const uint64_t *items, uint32_t nr)
{
	uint32_t id = group_of(g, from->what, items, nr);

	g->groups.data[id].count += from->count;
	for (uint32_t i = 0; i < from->nr_members; i++)
		add_member(&g->groups.data[id], from->members[i]);
	return id;
}

static int by_count(const void *a, const void *b, void *groups)
{
	const struct stack_group *x = (const struct stack_group *)groups + *(const uint32_t *)a;
	const struct stack_group *y = (const struct stack_group *)groups + *(const uint32_t *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->nr_members && y->nr_members && x->members[0] != y->members[0])
		return x->members[0] < y->members[0] ? -1 : 1;
	return x < y ? -1 : x > y;
}

uint32_t *stack_groups_order(const struct stack_groups *g)
{
	uint32_t *order = xmalloc(sizeof(*order) * MAX(g->groups.len, (size_t)1));

	for (size_t i = 0; i < g->groups.len; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, g->groups.len, sizeof(*order), by_count, g->groups.data);
	return order;
}

void stack_groups_free(struct stack_groups *g)
{
	vec_free(&g->groups);
	vec_free(&g->items);
	idmap_free(&g->index);
}
