/* SPDX-License-Identifier: BSD-2-Clause */
/* The call tree: sums, order of children, depth-first order, cut heads, ties of equal names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/snapfix.h"
#include "model/profile/calltree.h"

/* The child of `at` with this text; fails the test if there is none. */
static uint32_t child(const struct calltree *t, uint32_t at, const char *name)
{
	uint32_t c = t->nodes[at].first_child;

	for (; c != SNAPSHOT_NONE; c = t->nodes[c].next_sibling) {
		if (strcmp(t->snapshot->frames[t->nodes[c].frame].name, name) == 0)
			return c;
	}
	fail_msg("no child %s", name);
	return 0;
}

/* What must hold in every tree. */
static void check_tree(const struct calltree *t)
{
	const struct snapshot *s = t->snapshot;
	uint64_t self = 0;

	assert_int_equal(t->nodes[0].total, s->samples);
	assert_int_equal(t->nodes[0].frame, SNAPSHOT_NONE);
	assert_int_equal(t->nodes[0].depth, 0);
	for (uint32_t i = 0; i < t->nr_nodes; i++) {
		const struct calltree_node *n = &t->nodes[i];
		uint64_t total = n->self, kinds = 0;
		const char *last = NULL;

		self += n->self;
		for (uint32_t c = n->first_child; c != SNAPSHOT_NONE;
		     c = t->nodes[c].next_sibling) {
			const char *name = s->frames[t->nodes[c].frame].name;

			assert_true(c > i);
			assert_int_equal(t->nodes[c].parent, i);
			assert_int_equal(t->nodes[c].depth, n->depth + 1);
			assert_true(!last || strcmp(last, name) <= 0);
			last = name;
			total += t->nodes[c].total;
		}
		for (int k = 0; k < NR_SAMPLE_KINDS; k++)
			kinds += n->by_kind[k];
		assert_int_equal(n->total, total);
		assert_int_equal(n->total, kinds);
		assert_true(n->depth <= t->max_depth);
		if (n->first_child != SNAPSHOT_NONE)
			assert_int_equal(n->first_child, i + 1);
	}
	assert_int_equal(self, s->samples);
}

static void test_empty(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	struct calltree *t;

	(void)state;
	t = calltree_open(snapfix_snapshot(f));
	check_tree(t);
	assert_int_equal(t->nr_nodes, 1);
	assert_int_equal(t->max_depth, 0);
	calltree_close(t);
	calltree_close(NULL);
	snapfix_close(f);
}

static void test_sums_and_order(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	uint32_t th = snapfix_thread(f, THREAD_NORMAL, 1, 11, "1_scheduler");
	struct calltree *t;
	uint32_t a, b;

	(void)state;
	snapfix_text(f, "m:z/0;m:a/0", SNAPSHOT_NONE, th, SAMPLE_ERLANG, 3);
	snapfix_text(f, "m:a/0;m:b/0;m:c/0", SNAPSHOT_NONE, th, SAMPLE_GC, 5);
	snapfix_text(f, "m:a/0;m:b/0", SNAPSHOT_NONE, th, SAMPLE_ERLANG, 2);
	snapfix_text(f, "m:a/0", SNAPSHOT_NONE, th, SAMPLE_BIF, 7);
	snapfix_text(f, "", SNAPSHOT_NONE, th, SAMPLE_OTHER, 4);
	snapfix_text(f, "m:a/0;m:a/0;m:a/0;m:a/0", SNAPSHOT_NONE, th, SAMPLE_ERLANG, 1);
	t = calltree_open(snapfix_snapshot(f));
	check_tree(t);
	assert_int_equal(t->nr_nodes, 1 + 2 + 6);
	assert_int_equal(t->max_depth, 4);
	assert_int_equal(t->nodes[0].self, 4);
	a = child(t, 0, "m:a/0");
	assert_int_equal(a, t->nodes[0].first_child);
	assert_int_equal(t->nodes[a].self, 7);
	assert_int_equal(t->nodes[a].total, 15);
	b = child(t, a, "m:b/0");
	assert_int_equal(t->nodes[b].self, 2);
	assert_int_equal(t->nodes[b].total, 7);
	assert_int_equal(t->nodes[b].by_kind[SAMPLE_GC], 5);
	assert_int_equal(t->nodes[child(t, 0, "m:z/0")].total, 3);
	for (uint32_t i = 0; i < t->snapshot->nr_stacks; i++)
		assert_int_equal(t->nodes[t->stack_nodes[i]].depth,
				 t->snapshot->stacks[i].nr_frames);
	calltree_close(t);
	snapfix_close(f);
}

/* Frames of equal text but different sort are different nodes, each of them once. */
static void test_equal_names(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	uint32_t th = snapfix_thread(f, THREAD_NORMAL, 1, 11, "1_scheduler");
	uint32_t erl = snapfix_frame(f, "memcpy", NULL, NULL, 0, FRAME_NATIVE);
	uint32_t krn = snapfix_frame(f, "memcpy", NULL, NULL, 0, FRAME_KERNEL);
	uint32_t x = snapfix_frame(f, "x", NULL, NULL, 0, FRAME_ERLANG);
	uint32_t y = snapfix_frame(f, "y", NULL, NULL, 0, FRAME_ERLANG);
	uint32_t z = snapfix_frame(f, "z", NULL, NULL, 0, FRAME_ERLANG);
	uint32_t stacks[3][2] = {{erl, x}, {krn, y}, {erl, z}};
	struct calltree *t;

	(void)state;
	for (int i = 0; i < 3; i++)
		snapfix_stack(f, stacks[i], 2, SNAPSHOT_NONE, th, SAMPLE_ERLANG, 1);
	t = calltree_open(snapfix_snapshot(f));
	check_tree(t);
	assert_int_equal(t->nr_nodes, 1 + 2 + 3);
	calltree_close(t);
	snapfix_close(f);
}

static void test_head_cut(void **state)
{
	struct snapshot_options by_name = {.by = SNAPSHOT_BY_NAME, .kind_root = true};
	struct snapfix *f = snapfix_open(&by_name);
	uint32_t th = snapfix_thread(f, THREAD_NORMAL, 1, 11, "1_scheduler");
	uint32_t p = snapfix_process(f, "<0.1.0>", "init", NULL, NULL);
	uint32_t q = snapfix_process(f, "<0.2.0>", "zz", NULL, NULL);
	const struct snapshot *s;
	struct calltree *t;

	(void)state;
	snapfix_text(f, "m:b/0;m:c/0", q, th, SAMPLE_ERLANG, 5);
	snapfix_text(f, "m:b/0;m:c/0", p, th, SAMPLE_GC, 2);
	snapfix_text(f, "m:a/0", q, th, SAMPLE_GC, 1);
	snapfix_text(f, "", p, th, SAMPLE_GC, 1);
	s = snapfix_snapshot(f);
	assert_int_equal(calltree_head_frames(s), 2);
	t = calltree_open(s);
	check_tree(t);
	assert_int_equal(t->nodes[child(t, child(t, 0, "[gc]"), "init")].total, 3);
	calltree_close(t);
	t = calltree_open_below(s, 2);
	check_tree(t);
	assert_int_equal(t->nr_nodes, 1 + 3);
	assert_int_equal(t->nodes[0].self, 1);
	assert_int_equal(t->nodes[child(t, 0, "m:b/0")].total, 7);
	calltree_close(t);
	t = calltree_open_below(s, 9);
	check_tree(t);
	assert_int_equal(t->nr_nodes, 1);
	calltree_close(t);
	snapfix_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_sums_and_order),
		cmocka_unit_test(test_equal_names),
		cmocka_unit_test(test_head_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
