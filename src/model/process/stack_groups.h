/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts equal stacks of many processes.  A stack is an array of words of any meaning (first
 * addresses; then dictionary frames, so that each address is resolved only once), and a number
 * `what`, which must be equal, too. */
#ifndef EBEAM_MODEL_STACK_GROUPS_H
#define EBEAM_MODEL_STACK_GROUPS_H

#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"

#define STACK_GROUP_MEMBERS 10		/* members of a group that are stored */
#define STACK_GROUP_ITEMS   (64u << 20) /* words of all stacks; further stacks are kept empty */

struct stack_group {
	uint64_t count;
	uint32_t what;	    /* the number of its stack */
	uint32_t first, nr; /* in items[] */
	uint32_t nr_members;
	uint32_t members[STACK_GROUP_MEMBERS]; /* the first ones */
};

struct stack_groups { /* all zero before use */
	VEC(struct stack_group) groups;
	VEC(uint64_t) items;
	struct idmap index;
	uint64_t overflows; /* stacks whose words were dropped */
	uint32_t max_items; /* 0 = STACK_GROUP_ITEMS */
};

/* Adds one stack of `member`; returns the index of its group. */
uint32_t stack_groups_add(struct stack_groups *g, uint32_t what, const uint64_t *items, uint32_t nr,
			  uint32_t member);
/* Adds the count and the members of `from`, a group of another set, to the group that here has the
 * stack items[0..nr) and the number from->what; returns the index of that group. */
uint32_t stack_groups_merge(struct stack_groups *g, const struct stack_group *from,
			    const uint64_t *items, uint32_t nr);
/* Indices of the groups, most members first, then by first member; malloc'ed. */
uint32_t *stack_groups_order(const struct stack_groups *g);
void stack_groups_free(struct stack_groups *g);

#endif
