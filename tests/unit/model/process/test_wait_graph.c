/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for whom: counts, chains and circles, of every shape. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "model/process/wait_graph.h"

#define NO WAIT_NOBODY

static const struct wait_target *target(const struct wait_graph *g, uint32_t node)
{
	for (size_t i = 0; i < g->targets.len; i++) {
		if (g->targets.data[i].node == node)
			return &g->targets.data[i];
	}
	fail_msg("nobody waits for %u", node);
	return NULL;
}

static void check_path(const struct wait_graph *g, const struct wait_path *p, const uint32_t *nodes,
		       uint32_t nr)
{
	assert_int_equal(p->nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(g->nodes.data[p->first + i], nodes[i]);
}

static void test_empty(void **state)
{
	const uint32_t to[] = {NO, NO};
	struct wait_graph g;

	(void)state;
	wait_graph_make(&g, to, 0, 0);
	wait_graph_free(&g);
	wait_graph_make(&g, to, 2, 2);
	assert_int_equal(g.targets.len + g.chains.len + g.circles.len, 0);
	wait_graph_free(&g);
}

/* 4, 5, 6 -> 1 -> 2 -> 3, and 7 -> 3: one chain, though 7 and 2 both wait for 3. */
static void test_chain(void **state)
{
	const uint32_t to[] = {NO, 2, 3, NO, 1, 1, 1, 3}, chain[] = {4, 1, 2, 3};
	struct wait_graph g;

	(void)state;
	wait_graph_make(&g, to, ARRAY_SIZE(to), ARRAY_SIZE(to));
	assert_int_equal(g.circles.len, 0);
	assert_int_equal(g.targets.len, 3);
	assert_int_equal(g.targets.data[0].node, 1);
	assert_int_equal(target(&g, 1)->waiting, 3);
	assert_int_equal(target(&g, 2)->behind, 4);
	assert_int_equal(target(&g, 3)->waiting, 2);
	assert_int_equal(target(&g, 3)->behind, 6);
	assert_int_equal(g.chains.len, 1);
	check_path(&g, &g.chains.data[0], chain, 4);
	wait_graph_free(&g);
}

/* 1 -> 3 -> 2 -> 1, with 4 -> 5 -> 3 behind it; 6 waits for itself. */
static void test_circles(void **state)
{
	const uint32_t to[] = {NO, 3, 1, 2, 5, 3, 6}, three[] = {1, 3, 2}, self[] = {6};
	const uint32_t chain[] = {4, 5, 3};
	struct wait_graph g;

	(void)state;
	wait_graph_make(&g, to, ARRAY_SIZE(to), ARRAY_SIZE(to));
	assert_int_equal(g.circles.len, 2);
	check_path(&g, &g.circles.data[0], three, 3);
	check_path(&g, &g.circles.data[1], self, 1);
	assert_int_equal(g.chains.len, 1);
	check_path(&g, &g.chains.data[0], chain, 3);
	assert_int_equal(target(&g, 1)->behind, 5);
	assert_int_equal(target(&g, 3)->behind, 5);
	assert_int_equal(target(&g, 3)->waiting, 2);
	assert_int_equal(target(&g, 6)->behind, 1);
	wait_graph_free(&g);
}

/* 0, 1 -> 3 -> 4 -> 2: 3 and 4, a port and its peer, lead on and do not wait. */
static void test_ports(void **state)
{
	const uint32_t to[] = {3, 3, NO, 4, 2}, chain[] = {0, 3, 4, 2};
	struct wait_graph g;

	(void)state;
	wait_graph_make(&g, to, ARRAY_SIZE(to), 3);
	check_path(&g, &g.chains.data[0], chain, 4);
	assert_int_equal(target(&g, 3)->waiting, 2);
	assert_int_equal(target(&g, 3)->behind, 2);
	assert_int_equal(target(&g, 4)->waiting, 0);
	assert_int_equal(target(&g, 4)->behind, 2);
	assert_int_equal(target(&g, 2)->behind, 2);
	wait_graph_free(&g);
}

/* Whatever the graph: every wait is counted once, every circle is one, and nothing hangs. */
static void test_random(void **state)
{
	enum { NODES = 60 };
	uint32_t to[NODES];

	(void)state;
	for (unsigned int seed = 1; seed <= 500; seed++) {
		struct wait_graph g;
		uint32_t edges = 0, sum = 0;

		srand(seed);
		for (uint32_t i = 0; i < NODES; i++) {
			to[i] = rand() % 4 ? (uint32_t)rand() % NODES : NO;
			edges += to[i] != NO;
		}
		wait_graph_make(&g, to, NODES, NODES);
		for (size_t i = 0; i < g.targets.len; i++) {
			sum += g.targets.data[i].waiting;
			assert_true(g.targets.data[i].behind >= g.targets.data[i].waiting);
			assert_true(g.targets.data[i].behind <= edges);
		}
		assert_int_equal(sum, edges);
		for (size_t i = 0; i < g.circles.len; i++) {
			const struct wait_path *p = &g.circles.data[i];
			uint32_t last = g.nodes.data[p->first + p->nr - 1];

			assert_int_equal(to[last], g.nodes.data[p->first]);
		}
		for (size_t i = 0; i < g.chains.len; i++)
			assert_true(g.chains.data[i].nr >= 3 ||
				    to[g.nodes.data[g.chains.data[i].first + 1]] != NO);
		wait_graph_free(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	cmocka_unit_test(test_chain),
		cmocka_unit_test(test_circles), cmocka_unit_test(test_ports),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
