/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and their ends: recursion, tail calls, exceptions, ends that nobody saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/xalloc.h"
#include "model/stream/call_pairs.h"

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

enum { SITE = 0x1000, OTHER_SITE = 0x2000, LATER = 1000000000 };

static void begin_call(uint64_t epid, struct call_under_way c, uint64_t tag, bool caught)
{
	c.function = 1;
	c.ts_ns = 10 * tag;
	c.c_code = !c.site;
	c.caller = (uint32_t)tag;
	c.args = xstrdup("args");
	call_pairs_begin(pairs, epid, &c, caught);
}

static void begin_at(uint64_t epid, uint64_t height, uint64_t tag, bool caught, uint64_t site)
{
	begin_call(epid, (struct call_under_way){.height = height, .site = site}, tag, caught);
}

static void begin(uint64_t epid, uint64_t height, uint64_t tag, bool caught)
{
	begin_at(epid, height, tag, caught, SITE);
}

static uint64_t tag_of(struct call_under_way *c)
{
	assert_string_equal(c->args, "args");
	free(c->args);
	return c->caller;
}

/* Tag of the next call that ends there; 0 = none. */
static uint64_t end_at(uint64_t epid, uint64_t height, uint64_t site, uint64_t ts_ns)
{
	struct call_return end = {epid, height, site, ts_ns, !site, 0};
	struct call_under_way c;

	return call_pairs_end(pairs, &end, &c) ? tag_of(&c) : 0;
}

static uint64_t end(uint64_t epid, uint64_t height)
{
	return end_at(epid, height, SITE, LATER);
}

static uint64_t unwind(uint64_t epid, uint64_t height)
{
	struct call_under_way c;

	return call_pairs_unwind(pairs, epid, height, LATER, &c) ? tag_of(&c) : 0;
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

static void gap(uint64_t site, uint64_t from_ns, uint64_t to_ns)
{
	call_pairs_gap(pairs, &(struct call_gap){site, from_ns, to_ns});
}

static void begin_on(uint64_t tag, uint32_t os_tid, uint32_t slice)
{
	const struct call_under_way c = {
		.height = 5, .site = SITE, .os_tid = os_tid, .slice = slice};

	begin_call(P, c, tag, true);
}

static uint64_t end_in(uint32_t slice)
{
	const struct call_return end = {P, 5, SITE, LATER, false, slice};
	struct call_under_way c;

	return call_pairs_end(pairs, &end, &c) ? tag_of(&c) : 0;
}

static void gap_of_thread(uint32_t os_tid, uint64_t from_ns, uint64_t to_ns)
{
	call_pairs_gap(pairs, &(struct call_gap){SITE, from_ns, to_ns, os_tid});
}

/* Of a call on os_tid, if missed_by missed what came soon after it began. */
static uint64_t end_after_gap(uint64_t tag, uint32_t os_tid, uint32_t slice, uint32_t missed_by,
			      uint32_t slice_then)
{
	begin_on(tag, os_tid, slice);
	gap_of_thread(missed_by, 10 * tag + 5, 10 * tag + 15);
	return end_in(slice_then);
}

static void gaps_of_other_threads(void **state)
{
	(void)state;
	/* It stayed where it was: what 78 missed was not its end. */
	assert_int_equal(end_after_gap(1, 77, 6, 78, 6), 1);
	/* It left its scheduler meanwhile: it may have been on 78.  Or nobody knows. */
	assert_int_equal(end_after_gap(3, 77, 6, 78, 7), 0);
	assert_int_equal(end_after_gap(5, 77, 0, 78, 0), 0);
	assert_int_equal(end_after_gap(7, 0, 8, 78, 8), 0);
	/* Of its own thread, and of any. */
	assert_int_equal(end_after_gap(9, 77, 8, 77, 8), 0);
	assert_int_equal(end_after_gap(11, 77, 8, 0, 8), 0);
	/* While a gap of the other thread lasts. */
	gap_of_thread(78, 125, 200);
	begin_on(13, 77, 9);
	assert_int_equal(end_in(9), 13);
	/* Of an exception nobody says where its process was. */
	begin_on(15, 77, 9);
	assert_int_equal(unwind(P, 0), 0);
	assert_int_equal(call_pairs_unseen(pairs), 6);
}

/* A file may name more threads and places than are kept apart: then less is known, of those. */
static void gaps_of_too_many_threads(void **state)
{
	(void)state;
	for (uint32_t tid = 100; tid < 70000; tid++)
		gap_of_thread(tid, 15, 25);
	begin_on(3, 77, 6);
	gap_of_thread(70000, 35, 45);
	assert_int_equal(end_in(6), 0);
	begin_at(P, 5, 5, true, OTHER_SITE);
	assert_int_equal(end_at(P, 5, OTHER_SITE, LATER), 5);
}

/* From the same frame the next call has the same height: it is not taken for a tail call of one
 * whose end was missed. */
static void missed_end_then_equal_height(void **state)
{
	(void)state;
	begin(P, 9, 1, true);
	gap(SITE, 15, 25); /* in which 1 ended */
	begin(P, 9, 3, true);
	assert_int_equal(end_at(P, 9, SITE, 40), 3);
	assert_int_equal(end_at(P, 9, SITE, 40), 0);
	assert_int_equal(call_pairs_unseen(pairs), 1);
	assert_int_equal(call_pairs_under_way(pairs), 0);
}

/* The end of the first came behind the begin of the second, and has the same time. */
static void an_end_comes_late(void **state)
{
	(void)state;
	begin(P, 9, 1, true);
	begin(P, 9, 3, true);
	gap(0, 29, 30);
	assert_int_equal(end_at(P, 9, SITE, 30), 0);
	assert_int_equal(end_at(P, 9, SITE, 40), 0);
	assert_int_equal(call_pairs_unseen(pairs), 2);
	begin(P, 9, 5, true);
	assert_int_equal(end_at(P, 9, SITE, 60), 5);
}

/* A gap that is known before what came before it, and one in which a call began. */
static void gaps_have_their_time(void **state)
{
	(void)state;
	begin(P, 9, 1, true);
	gap(SITE, 20, 50);
	assert_int_equal(end_at(P, 9, SITE, 20), 1); /* the hit that spent the last of the limit */
	begin(P, 9, 3, true);			     /* elsewhere it was still seen */
	begin(Q, 9, 4, true);
	assert_int_equal(end_at(P, 9, SITE, 45), 0);
	assert_int_equal(end_at(Q, 9, SITE, 60), 0);
	assert_int_equal(call_pairs_unseen(pairs), 2);
	begin(P, 9, 6, true);
	assert_int_equal(end_at(P, 9, SITE, 70), 6);
}

static void gaps_of_a_place(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin_at(P, 9, 2, true, OTHER_SITE);
	gap(SITE, 25, 30);
	assert_int_equal(end_at(P, 9, OTHER_SITE, 40), 2);
	assert_int_equal(end_at(P, 5, SITE, 50), 0);
	begin(P, 5, 6, true);
	begin_at(P, 9, 7, true, 0); /* of a C function */
	gap(0, 75, 80);
	assert_int_equal(end_at(P, 9, 0, 90), 0);
	assert_int_equal(end_at(P, 5, SITE, 100), 0);
	assert_int_equal(call_pairs_unseen(pairs), 3);
}

/* Equal height is not enough. */
static void ends_elsewhere(void **state)
{
	(void)state;
	begin(P, 9, 1, true);
	assert_int_equal(end_at(P, 9, OTHER_SITE, 20), 0);
	begin(P, 9, 3, true);
	assert_int_equal(end_at(P, 9, SITE, 20), 0); /* before it began */
	assert_int_equal(call_pairs_unseen(pairs), 2);
}

/* C functions do not call: whatever their process does next, they have ended. */
static void c_functions(void **state)
{
	(void)state;
	begin_at(P, 9, 1, true, 0);
	begin_at(P, 9, 2, true, 0);
	assert_int_equal(end_at(P, 9, 0, LATER), 2);
	assert_int_equal(end_at(P, 9, 0, LATER), 0);
	begin(P, 5, 3, true);
	begin_at(P, 6, 4, true, 0);
	call_pairs_drop_c(pairs, P); /* goes on elsewhere */
	assert_int_equal(unwind(P, 5), 0);
	begin_at(P, 6, 5, true, 0);
	call_pairs_watch_c(pairs, false, 55); /* their probes went */
	assert_int_equal(end_at(P, 6, 0, LATER), 0);
	assert_int_equal(end(P, 5), 3);
	assert_int_equal(call_pairs_unseen(pairs), 3);
}

/* One that was reported while the probes went, and ended without them; then one that a pattern does
 * not mean ends at the same height. */
static void c_functions_come_and_go(void **state)
{
	(void)state;
	call_pairs_watch_c(pairs, true, 5);
	begin_at(P, 9, 1, true, 0);
	call_pairs_watch_c(pairs, true, 12); /* as before */
	assert_int_equal(end_at(P, 9, 0, 15), 1);
	call_pairs_watch_c(pairs, false, 18);
	begin_at(P, 9, 2, true, 0);
	call_pairs_watch_c(pairs, true, 30);
	assert_int_equal(end_at(P, 9, 0, 40), 0);
	assert_int_equal(call_pairs_unseen(pairs), 1);
	begin_at(P, 9, 5, true, 0);
	assert_int_equal(end_at(P, 9, 0, 60), 5);
}

static void given_up_stacks(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	begin(P, 9, 2, true);
	begin(Q, 9, 3, true);
	call_pairs_drop(pairs, P);
	begin(P, 5, 4, true);
	assert_int_equal(end(P, 5), 4);
	assert_int_equal(end(P, 5), 0);
	assert_int_equal(end(Q, 9), 3);
	assert_int_equal(call_pairs_unseen(pairs), 2);
}

/* While exceptions were not seen. */
static void blind(void **state)
{
	(void)state;
	begin(P, 5, 1, true);
	call_pairs_blind(pairs, 1, true, 15);
	assert_int_equal(end_at(P, 5, SITE, 18), 0);
	begin(P, 5, 2, true);
	assert_int_equal(end_at(P, 5, SITE, 22), 0);
	begin(P, 5, 3, true);
	call_pairs_blind(pairs, 1, false, 35);
	assert_int_equal(end_at(P, 5, SITE, 36), 0);
	begin(P, 5, 4, true);
	assert_int_equal(end_at(P, 5, SITE, 41), 4);
	assert_int_equal(call_pairs_unseen(pairs), 3);
}

/* Without exceptions a call that raised cannot be distinguished from a tail call. */
static void only_the_last(void **state)
{
	(void)state;
	call_pairs_only_last(pairs, true);
	begin(P, 5, 1, true);
	begin(P, 9, 2, true); /* raises */
	begin(P, 9, 3, true);
	assert_int_equal(end(P, 9), 3);
	assert_int_equal(end(P, 9), 0);
	assert_int_equal(end(P, 5), 1);
	assert_int_equal(call_pairs_unseen(pairs), 1);
}

/* The oldest keep their arguments: they may be the slowest. */
static void texts_are_bounded(void **state)
{
	struct call_return end = {P, 5, SITE, LATER, false};
	struct call_under_way c = {.function = 1, .height = 5, .ts_ns = 10, .site = SITE};
	size_t nr = 0;

	(void)state;
	for (int i = 0; i < 70; i++) {
		c.args = xcalloc(1, (1 << 20) + 1);
		memset(c.args, 'x', 1 << 20);
		call_pairs_begin(pairs, P, &c, true);
	}
	assert_int_equal(call_pairs_under_way(pairs), 70);
	assert_int_equal(call_pairs_textless(pairs), 7);
	while (call_pairs_end(pairs, &end, &c)) {
		assert_int_equal(c.args == NULL, nr++ < 7);
		free(c.args);
	}
	assert_int_equal(nr, 70);
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
	assert_true(call_pairs_end(pairs, &(struct call_return){P, 8, SITE, LATER, false}, &c));
	assert_int_equal(c.tracing_ns, 10);
	free(c.args);
	call_pairs_hit(pairs, P, 10);
	assert_true(call_pairs_end(pairs, &(struct call_return){P, 5, SITE, LATER, false}, &c));
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
		cmocka_unit_test_setup_teardown(gaps_of_other_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps_of_too_many_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(missed_end_then_equal_height, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_comes_late, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps_have_their_time, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps_of_a_place, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(c_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(c_functions_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(given_up_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(blind, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_last, setup, teardown),
		cmocka_unit_test_setup_teardown(texts_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(hits_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
