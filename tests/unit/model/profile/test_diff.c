/* SPDX-License-Identifier: BSD-2-Clause */
/* The difference of two snapshots: what counts as the same function, sums, shares, order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/snapfix.h"
#include "model/profile/diff.h"

struct pair {
	struct snapfix *a, *b;
	struct diff *d;
};

static struct pair pair_open(const struct snapshot_options *opts)
{
	struct pair p = {.a = snapfix_open(opts), .b = snapfix_open(opts)};

	snapfix_thread(p.a, THREAD_NORMAL, 1, 11, "1_scheduler");
	snapfix_thread(p.b, THREAD_NORMAL, 1, 21, "1_scheduler");
	return p;
}

static void add(struct snapfix *f, const char *stack, uint64_t count)
{
	snapfix_text(f, stack, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, count);
}

/* What must hold in every difference. */
static void check_diff(const struct diff *d)
{
	uint64_t self_a = 0, self_b = 0;

	assert_int_equal(d->nodes[0].total_a, d->a->samples);
	assert_int_equal(d->nodes[0].total_b, d->b->samples);
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct diff_node *n = &d->nodes[i];
		uint64_t a = n->self_a, b = n->self_b;
		const char *last = NULL;

		self_a += n->self_a;
		self_b += n->self_b;
		assert_true(n->total_a || n->total_b);
		for (uint32_t c = n->first_child; c != SNAPSHOT_NONE;
		     c = d->nodes[c].next_sibling) {
			assert_true(c > i);
			assert_int_equal(d->nodes[c].parent, i);
			assert_int_equal(d->nodes[c].depth, n->depth + 1);
			assert_true(!last || strcmp(last, d->nodes[c].name) <= 0);
			last = d->nodes[c].name;
			a += d->nodes[c].total_a;
			b += d->nodes[c].total_b;
		}
		assert_int_equal(n->total_a, a);
		assert_int_equal(n->total_b, b);
		assert_true(n->depth <= d->max_depth);
	}
	assert_int_equal(self_a, d->a->samples);
	assert_int_equal(self_b, d->b->samples);
	for (uint32_t i = 1; i < d->nr_functions; i++)
		assert_true(fabs(d->functions[i - 1].delta_self) >=
			    fabs(d->functions[i].delta_self));
}

static const struct diff *pair_diff(struct pair *p)
{
	struct error err = {0};

	assert_int_equal(diff_open(&p->d, snapfix_snapshot(p->a), snapfix_snapshot(p->b), &err), 0);
	check_diff(p->d);
	return p->d;
}

static void pair_close(struct pair *p)
{
	diff_close(p->d);
	snapfix_close(p->a);
	snapfix_close(p->b);
}

static const struct diff_function *function(const struct diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->nr_functions; i++) {
		if (strcmp(d->functions[i].name, name) == 0)
			return &d->functions[i];
	}
	fail_msg("no function %s", name);
	return NULL;
}

static void check_function(const struct diff *d, const char *name, uint64_t self_a, uint64_t self_b)
{
	const struct diff_function *f = function(d, name);

	assert_int_equal(f->self_a, self_a);
	assert_int_equal(f->self_b, self_b);
}

static void test_shares(void **state)
{
	struct pair p = pair_open(NULL);
	const struct diff *d;
	const struct diff_function *f;

	(void)state;
	add(p.a, "m:a/0;m:b/0", 50);
	add(p.a, "m:a/0;m:c/0", 50);
	add(p.b, "m:a/0;m:b/0", 150); /* twice as many samples, 75 % */
	add(p.b, "m:a/0;m:new/0", 50);
	d = pair_diff(&p);
	assert_int_equal(d->nr_nodes, 1 + 4);
	assert_int_equal(d->max_depth, 2);
	f = function(d, "m:b/0");
	assert_float_equal(f->delta_self, 25.0, 1e-9);
	f = function(d, "m:a/0");
	assert_float_equal(f->delta_self, 0.0, 1e-9);
	assert_float_equal(f->delta_total, 0.0, 1e-9);
	assert_int_equal(f->total_a, 100);
	assert_int_equal(f->total_b, 200);
	f = function(d, "m:c/0");
	assert_float_equal(f->delta_self, -50.0, 1e-9);
	assert_int_equal(f->self_b, 0);
	assert_string_equal(d->functions[0].name, "m:c/0");
	assert_string_equal(d->functions[1].name, "m:b/0"); /* 25 and 25: by name */
	assert_string_equal(d->functions[2].name, "m:new/0");
	pair_close(&p);
}

static void test_itself_is_no_change(void **state)
{
	struct pair p = pair_open(NULL);
	const struct diff *d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct snapfix *f = i ? p.b : p.a;

		add(f, "m:a/0;m:'-a/0-fun-0-'/1;m:b/0", 4);
		add(f, "m:a/0;m:'-a/0-lc$^0/1-1-'/1", 3);
		add(f, "m:a/0;m:a/0", 2);
		add(f, "", 1);
	}
	d = pair_diff(&p);
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		assert_int_equal(d->nodes[i].self_a, d->nodes[i].self_b);
		assert_int_equal(d->nodes[i].total_a, d->nodes[i].total_b);
	}
	for (uint32_t i = 0; i < d->nr_functions; i++)
		assert_true(d->functions[i].delta_self == 0 && d->functions[i].delta_total == 0);
	pair_close(&p);
}

static void test_lines_do_not_count(void **state)
{
	struct snapshot_options opts = {.by = SNAPSHOT_BY_NONE, .lines = true};
	struct pair p = pair_open(&opts);
	uint32_t a1 = snapfix_frame(p.a, "m:f/1", "m", "m.erl", 10, FRAME_ERLANG);
	uint32_t a2 = snapfix_frame(p.a, "m:f/1", "m", "m.erl", 12, FRAME_ERLANG);
	uint32_t b1 = snapfix_frame(p.b, "m:f/1", "m", "m.erl", 20, FRAME_ERLANG);
	const struct diff *d;

	(void)state;
	snapfix_stack(p.a, &a1, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 3);
	snapfix_stack(p.a, &a2, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 2);
	snapfix_stack(p.b, &b1, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 7);
	d = pair_diff(&p);
	assert_int_equal(d->nr_nodes, 2);
	assert_string_equal(d->nodes[1].name, "m:f/1");
	assert_int_equal(d->nodes[1].self_a, 5);
	assert_int_equal(d->nodes[1].self_b, 7);
	pair_close(&p);
}

/* Equally many funs of f/1 seen: an inserted one has renumbered them. */
static void test_lambdas_renumbered(void **state)
{
	struct pair p = pair_open(NULL);
	const struct diff *d;

	(void)state;
	add(p.a, "m:'-f/1-fun-0-'/1", 10);
	add(p.a, "m:'-f/1-fun-1-'/1", 20);
	add(p.a, "m:'-g/1-fun-1-'/1", 30);
	add(p.b, "m:'-f/1-fun-1-'/1", 10);
	add(p.b, "m:'-f/1-fun-3-'/2", 20); /* captures one variable more */
	add(p.b, "m:'-g/1-fun-1-'/1", 30);
	d = pair_diff(&p);
	assert_int_equal(d->nr_functions, 3);
	check_function(d, "m:'-f/1-fun-1-'/1", 10, 10); /* named as B names it */
	check_function(d, "m:'-f/1-fun-3-'/2", 20, 20);
	check_function(d, "m:'-g/1-fun-1-'/1", 30, 30);
	pair_close(&p);
}

/* One side saw more of them: equal numbers stay together. */
static void test_lambdas_not_all_seen(void **state)
{
	struct pair p = pair_open(NULL);
	const struct diff *d;

	(void)state;
	add(p.a, "m:'-f/1-fun-1-'/1", 10);
	add(p.a, "m:'-f/1-fun-3-'/1", 20);
	add(p.b, "m:'-f/1-fun-1-'/1", 11);
	add(p.b, "m:'-f/1-fun-2-'/1", 1);
	add(p.b, "m:'-f/1-fun-3-'/1", 21);
	d = pair_diff(&p);
	assert_int_equal(d->nr_functions, 3);
	check_function(d, "m:'-f/1-fun-1-'/1", 10, 11);
	check_function(d, "m:'-f/1-fun-2-'/1", 0, 1);
	check_function(d, "m:'-f/1-fun-3-'/1", 20, 21);
	pair_close(&p);
}

/* Comprehensions carry two numbers, Elixir quotes otherwise, and not all dashes are lambdas. */
static void test_lambda_spellings(void **state)
{
	struct pair p = pair_open(NULL);
	const struct diff *d;

	(void)state;
	add(p.a, "m:'-f/1-lc$^0/1-0-'/2", 1);
	add(p.a, "m:'-f/1-lc$^1/1-1-'/2", 2);
	add(p.a, "Shop.\"-run/2-lists^foldl/2-0-\"/3", 3);
	add(p.a, "m:'-f/1-fun-0-'/1", 4);
	add(p.a, "m:'odd-7-'/1", 5);
	add(p.a, "m:'-fun.f/1-'/1", 6);
	add(p.b, "m:'-f/1-lc$^0/1-2-'/2", 1);
	add(p.b, "m:'-f/1-lc$^1/1-3-'/2", 2);
	add(p.b, "Shop.\"-run/2-lists^foldl/2-4-\"/3", 3);
	add(p.b, "m:'-f/1-fun-9-'/1", 4);
	add(p.b, "m:'odd-7-'/1", 5);
	add(p.b, "m:'-fun.f/1-'/1", 6);
	d = pair_diff(&p);
	assert_int_equal(d->nr_functions, 6);
	for (uint32_t i = 0; i < d->nr_functions; i++)
		assert_int_equal(d->functions[i].self_a, d->functions[i].self_b);
	pair_close(&p);
}

/* A BIF may have been Erlang code before; kernel and native code of one name differ. */
static void test_classes(void **state)
{
	struct pair p = pair_open(NULL);
	uint32_t erl = snapfix_frame(p.a, "lists:member/2", "lists", NULL, 0, FRAME_ERLANG);
	uint32_t bif = snapfix_frame(p.b, "lists:member/2", "lists", NULL, 0, FRAME_BIF);
	uint32_t krn = snapfix_frame(p.a, "memcpy", NULL, NULL, 0, FRAME_KERNEL);
	uint32_t nat = snapfix_frame(p.b, "memcpy", NULL, NULL, 0, FRAME_NATIVE);
	uint32_t gap_a = snapfix_frame(p.a, "[... 10 frames ...]", NULL, NULL, 0, FRAME_ELIDED);
	uint32_t gap_b = snapfix_frame(p.b, "[... 99 frames ...]", NULL, NULL, 0, FRAME_ELIDED);
	uint32_t a[3] = {gap_a, erl, krn}, b[3] = {gap_b, bif, nat};
	const struct diff *d;

	(void)state;
	snapfix_stack(p.a, a, 2, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 5);
	snapfix_stack(p.b, b, 2, SNAPSHOT_NONE, 0, SAMPLE_BIF, 5);
	snapfix_stack(p.a, a, 3, SNAPSHOT_NONE, 0, SAMPLE_OTHER, 1);
	snapfix_stack(p.b, b, 3, SNAPSHOT_NONE, 0, SAMPLE_OTHER, 2);
	d = pair_diff(&p);
	check_function(d, "lists:member/2", 5, 5);
	assert_int_equal(function(d, "lists:member/2")->kind, FRAME_BIF);
	assert_string_equal(d->nodes[1].name, "[... frames ...]");
	assert_int_equal(d->nr_nodes, 1 + 2 + 2);
	pair_close(&p);
}

static void test_groups(void **state)
{
	struct snapshot_options by_name = {.by = SNAPSHOT_BY_NAME};
	struct pair p = pair_open(&by_name);
	uint32_t pa = snapfix_process(p.a, "<0.10.0>", "db", NULL, NULL);
	uint32_t pb = snapfix_process(p.b, "<0.77.0>", "db", NULL, NULL);
	const struct diff *d;

	(void)state;
	snapfix_text(p.a, "m:a/0;m:a/0", pa, 0, SAMPLE_ERLANG, 3);
	snapfix_text(p.b, "m:a/0;m:a/0", pb, 0, SAMPLE_ERLANG, 6);
	d = pair_diff(&p);
	assert_int_equal(d->nr_nodes, 1 + 3);
	assert_string_equal(d->nodes[1].name, "db");
	assert_int_equal(d->nr_functions, 1); /* a group is no function */
	assert_int_equal(function(d, "m:a/0")->total_b, 6);
	pair_close(&p);
}

static void test_refused(void **state)
{
	struct snapshot_options by_name = {.by = SNAPSHOT_BY_NAME};
	struct pair p = pair_open(NULL);
	struct snapfix *named = snapfix_open(&by_name);
	struct error err = {0};

	(void)state;
	add(p.a, "m:a/0", 1);
	assert_int_equal(diff_open(&p.d, snapfix_snapshot(p.a), snapfix_snapshot(p.b), &err),
			 -ENODATA);
	assert_string_equal(err.msg, "the second recording holds no samples: nothing to compare");
	snapfix_thread(named, THREAD_NORMAL, 1, 1, "t");
	add(named, "m:a/0", 1);
	assert_int_equal(diff_open(&p.d, snapfix_snapshot(p.a), snapfix_snapshot(named), &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "grouped differently"));
	assert_null(p.d);
	pair_close(&p);
	snapfix_close(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_itself_is_no_change),
		cmocka_unit_test(test_lines_do_not_count),
		cmocka_unit_test(test_lambdas_renumbered),
		cmocka_unit_test(test_lambdas_not_all_seen),
		cmocka_unit_test(test_lambda_spellings),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
