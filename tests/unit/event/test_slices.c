/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of the slices in which processes made calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "event/slices.h"

enum { P = 0x143, Q = 0x243 };

static void each_process_by_itself(void **state)
{
	struct slices s;
	uint32_t p, q;

	(void)state;
	slices_open(&s);
	p = slices_number(&s, P, 5);
	assert_int_not_equal(p, 0);
	assert_int_equal(slices_number(&s, P, 5), p);
	q = slices_number(&s, Q, 5);
	assert_int_not_equal(q, p);
	assert_int_not_equal(slices_number(&s, P, 6), p);
	assert_int_equal(slices_number(&s, Q, 5), q);
	/* One that it was in before comes not again; if it does, it is another. */
	assert_int_not_equal(slices_number(&s, P, 5), p);
	slices_close(&s);
}

static void what_is_not_known_has_no_number(void **state)
{
	struct slices s;
	uint32_t p;

	(void)state;
	slices_open(&s);
	assert_int_equal(slices_number(&s, P, 0), 0);
	assert_int_equal(slices_number(&s, 0, 5), 0);
	p = slices_number(&s, P, 5);
	assert_int_equal(slices_number(&s, P, 0), 0);
	assert_int_equal(slices_number(&s, P, 5), p);
	slices_close(&s);
}

static void too_many_are_forgotten(void **state)
{
	struct slices s;
	uint32_t first;

	(void)state;
	slices_open(&s);
	first = slices_number(&s, 1, 5);
	for (uint64_t epid = 2; epid <= SLICES_MAX; epid++)
		slices_number(&s, epid, 5);
	assert_int_equal(slices_number(&s, 1, 5), first);
	slices_number(&s, SLICES_MAX + 1, 5);
	assert_int_not_equal(slices_number(&s, 1, 5), first);
	slices_close(&s);
}

static void numbers_are_of_24_bits_and_never_0(void **state)
{
	struct slices s;

	(void)state;
	slices_open(&s);
	s.last = (1u << SLICES_BITS) - 2;
	assert_int_equal(slices_number(&s, P, 5), (1u << SLICES_BITS) - 1);
	assert_int_equal(slices_number(&s, P, 6), 1);
	slices_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_by_itself),
		cmocka_unit_test(what_is_not_known_has_no_number),
		cmocka_unit_test(too_many_are_forgotten),
		cmocka_unit_test(numbers_are_of_24_bits_and_never_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
