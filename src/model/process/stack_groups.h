/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Equal stacks of many processes, counted.  A stack is an array of words, whatever they stand for
 * (addresses first, then frames of a dictionary: what many have in common is looked up once), and
 * a number that must be equal too.
 */
#ifndef EBEAM_MODEL_STACK_GROUPS_H
#define EBEAM_MODEL_STACK_GROUPS_H

#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"

#define STACK_GROUP_MEMBERS 10		/* that a group names */
#define STACK_GROUP_ITEMS   (64u << 20) /* words of all stacks; beyond, stacks are kept empty */

struct stack_group {
	uint64_t count;
	uint32_t what;	    /* the number */
	uint32_t first, nr; /* in items[] */
	uint32_t nr_members;
	uint32_t members[STACK_GROUP_MEMBERS]; /* the first that came */
};

struct stack_groups { /* all zero before use */
	VEC(struct stack_group) groups;
	VEC(uint64_t) items;
	struct idmap index;
	uint64_t overflows; /* stacks that were kept empty */
	uint32_t max_items; /* 0 = STACK_GROUP_ITEMS */
};

/* Adds one stack of `member`; returns the index of its group. */
uint32_t stack_groups_add(struct stack_groups *g, uint32_t what, const uint64_t *items, uint32_t nr,
			  uint32_t member);
/* Adds all of another group under this stack; returns the index of the group here. */
uint32_t stack_groups_merge(struct stack_groups *g, const struct stack_group *from,
			    const uint64_t *items, uint32_t nr);
/* Indices of the groups, most stacks first, equal ones by their first members; malloc'ed. */
uint32_t *stack_groups_order(const struct stack_groups *g);
void stack_groups_free(struct stack_groups *g);

#endif
