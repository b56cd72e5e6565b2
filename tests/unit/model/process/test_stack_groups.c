/* SPDX-License-Identifier: BSD-2-Clause */
/* Equal stacks are one group, with their count and their first members; different ones are not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "model/process/stack_groups.h"

static const uint64_t a[] = {1, 2, 3}, b[] = {1, 2, 4};

static void test_add(void **state)
{
	struct stack_groups g = {0};
	uint32_t *order;

	(void)state;
	assert_int_equal(stack_groups_add(&g, 5, a, 3, 100), 0);
	assert_int_equal(stack_groups_add(&g, 5, b, 3, 101), 1);
	assert_int_equal(stack_groups_add(&g, 6, a, 3, 102), 2); /* another status */
	assert_int_equal(stack_groups_add(&g, 5, a, 2, 103), 3); /* a part of it */
	assert_int_equal(stack_groups_add(&g, 5, NULL, 0, 104), 4);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(stack_groups_add(&g, 5, b, 3, 200 + i), 1);
	assert_int_equal(g.groups.len, 5);
	assert_int_equal(g.groups.data[1].count, 21);
	assert_int_equal(g.groups.data[1].nr_members, STACK_GROUP_MEMBERS);
	assert_int_equal(g.groups.data[1].members[0], 101);
	assert_int_equal(g.groups.data[1].members[9], 208);
	order = stack_groups_order(&g);
	assert_int_equal(order[0], 1);
	for (uint32_t i = 1; i < 5; i++) /* equal counts: by first member */
		assert_int_equal(order[i], i == 1 ? 0 : i);
	free(order);
	stack_groups_free(&g);
}

static void test_merge(void **state)
{
	struct stack_groups raw = {0}, g = {0};

	(void)state;
	stack_groups_add(&raw, 5, a, 3, 1);
	stack_groups_add(&raw, 5, b, 3, 2);
	stack_groups_add(&raw, 5, b, 3, 3);
	for (size_t i = 0; i < raw.groups.len; i++)
		assert_int_equal(stack_groups_merge(&g, &raw.groups.data[i], a, 2), 0);
	assert_int_equal(g.groups.data[0].count, 3);
	assert_int_equal(g.groups.data[0].nr_members, 3);
	assert_int_equal(g.groups.data[0].members[2], 3);
	stack_groups_free(&raw);
	stack_groups_free(&g);
}

/* Every stack is counted, even if there is no room for it. */
static void test_full(void **state)
{
	struct stack_groups g = {.max_items = 4};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t items[2] = {i, i};

		stack_groups_add(&g, 1, items, 2, i);
	}
	assert_int_equal(g.overflows, 8);
	assert_int_equal(g.groups.len, 3);
	for (size_t i = 0; i < g.groups.len; i++)
		sum += g.groups.data[i].count;
	assert_int_equal(sum, 10);
	stack_groups_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
