/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and their ends: recursion, tail calls, exceptions, ends that nobody saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/xalloc.h"
#include "model/call_pairs.h"

enum { P = 0x143, Q = 0x243 };

static struct call_pairs *pairs;

static int setup(void **state)
{
	(void)state;
	call_pairs_open(&pairs);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	call_pairs_close(pairs);
	return 0;
}

static void begin(uint64_t epid, uint64_t height, uint64_t tag, bool caught)
{
	struct call_under_way c = {.function = 1, .height = height, .ts_ns = 10 * tag};

	c.caller = (uint32_t)tag;
	c.args = xstrdup("args");
	call_pairs_begin(pairs, epid, &c, caught);
}

static uint64_t tag_of(struct call_under_way *c)
{
	assert_string_equal(c->args, "args");
	free(c->args);
	return c->caller;
}

/* Tag of the next call that ends there; 0 = none. */
static uint64_t end(uint64_t epid, uint64_t height)
{
	struct call_under_way c;

	return call_pairs_end(pairs, epid, height, &c) ? tag_of(&c) : 0;
}

static uint64_t unwind(uint64_t epid, uint64_t height)
{
	struct call_under_way c;

	return call_pairs_unwind(pairs, epid, height, &c) ? tag_of(&c) : 0;
}

static void recursion(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 100000; i++)
		begin(P, 2 * i, i, true);
	assert_int_equal(call_pairs_under_way(pairs), 100000);
	for (uint64_t i = 100000; i > 0; i--) {
		assert_int_equal(end(P, 2 * i), i);
		assert_int_equal(end(P, 2 * i), 0);
	}
	assert_int_equal(call_pairs_under_way(pairs), 0);
	assert_int_equal(call_pairs_unseen(pairs), 0);
}

static void tail_calls_end_together(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin(P, 5, 2, true);
	begin(P, 5, 3, true);
	assert_int_equal(end(P, 5), 3);
	assert_int_equal(end(P, 5), 2);
	assert_int_equal(end(P, 5), 1);
	assert_int_equal(end(P, 5), 0);
}

static void processes_are_apart(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin(Q, 5, 2, true);
	assert_int_equal(end(Q, 5), 2);
	assert_int_equal(end(Q, 5), 0);
	assert_int_equal(end(P, 5), 1);
	assert_int_equal(end(0, 5), 0);
}

static void exceptions_end_what_is_above(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin(P, 8, 2, true);
	begin(P, 11, 3, true);
	assert_int_equal(unwind(P, 5), 3);
	assert_int_equal(unwind(P, 5), 2);
	assert_int_equal(unwind(P, 5), 0);
	assert_int_equal(end(P, 5), 1);
	begin(P, 5, 4, true);
	assert_int_equal(unwind(P, 0), 4); /* caught nowhere */
	assert_int_equal(call_pairs_unseen(pairs), 0);
}

static void ends_that_nobody_saw(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin(P, 9, 2, true);
	assert_int_equal(end(P, 5), 1);
	assert_int_equal(call_pairs_unseen(pairs), 1);
	begin(P, 9, 3, true);
	begin(P, 7, 4, false); /* tells that 3 is over, and is not waited for itself */
	assert_int_equal(call_pairs_unseen(pairs), 2);
	assert_int_equal(call_pairs_under_way(pairs), 0);
	assert_int_equal(end(P, 7), 0);
}

/* While ends were not watched: neither these calls nor those after them get a wrong one. */
static void times_without_ends(void **state)
{
	(void)state;
	begin(P, 9, 5, true);
	begin(P, 12, 6, true);
	begin(Q, 9, 4, true);
	call_pairs_forget(pairs, 60, true); /* of others */
	assert_int_equal(call_pairs_unseen(pairs), 0);
	call_pairs_forget(pairs, 60, false);
	assert_int_equal(call_pairs_unseen(pairs), 2);
	assert_int_equal(call_pairs_under_way(pairs), 1);
	assert_int_equal(end(P, 12), 6);
	assert_int_equal(end(P, 9), 0);
	begin(Q, 9, 7, true);
	assert_int_equal(end(Q, 9), 7);
	assert_int_equal(end(Q, 9), 0);
}

/* What tracing took is in how long calls took: one hit of their own, and those between. */
static void hits_inside(void **state)
{
	struct call_under_way c;

	(void)state;
	begin(P, 5, 1, true);
	call_pairs_hit(pairs, P, 100);
	begin(P, 8, 2, true);
	call_pairs_hit(pairs, P, 10);
	call_pairs_hit(pairs, Q, 1000);
	assert_true(call_pairs_end(pairs, P, 8, &c));
	assert_int_equal(c.tracing_ns, 10);
	free(c.args);
	call_pairs_hit(pairs, P, 10);
	assert_true(call_pairs_end(pairs, P, 5, &c));
	assert_int_equal(c.tracing_ns, 120);
	free(c.args);
}

static void bounded(void **state)
{
	(void)state;
	for (uint64_t i = 0; i <= CALL_PAIRS_MAX; i++)
		begin(0x3 | (i % 1000 + 1) << 4, i, 1, true);
	assert_int_equal(call_pairs_under_way(pairs), CALL_PAIRS_MAX);
	assert_int_equal(call_pairs_refused(pairs), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(recursion, setup, teardown),
		cmocka_unit_test_setup_teardown(tail_calls_end_together, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_are_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(exceptions_end_what_is_above, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_that_nobody_saw, setup, teardown),
		cmocka_unit_test_setup_teardown(times_without_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(hits_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
