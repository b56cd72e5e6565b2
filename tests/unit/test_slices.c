/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process has left its scheduler since its last record. */
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

	(void)state;
	slices_open(&s);
	assert_false(slices_same(&s, P, 5)); /* nothing is known of before */
	assert_true(slices_same(&s, P, 5));
	assert_false(slices_same(&s, Q, 5));
	assert_false(slices_same(&s, P, 6));
	assert_true(slices_same(&s, Q, 5));
	assert_true(slices_same(&s, P, 6));
	slices_close(&s);
}

static void what_is_not_known_is_no_slice(void **state)
{
	struct slices s;

	(void)state;
	slices_open(&s);
	assert_false(slices_same(&s, P, 0));
	assert_false(slices_same(&s, P, 0));
	assert_false(slices_same(&s, P, 5));
	assert_false(slices_same(&s, P, 0));
	assert_false(slices_same(&s, P, 5));
	assert_false(slices_same(&s, 0, 5));
	assert_false(slices_same(&s, 0, 5));
	slices_close(&s);
}

static void too_many_are_forgotten(void **state)
{
	struct slices s;

	(void)state;
	slices_open(&s);
	for (uint64_t epid = 1; epid <= SLICES_MAX; epid++)
		assert_false(slices_same(&s, epid, 5));
	assert_true(slices_same(&s, 1, 5));
	assert_false(slices_same(&s, SLICES_MAX + 1, 5));
	assert_false(slices_same(&s, 1, 5));
	assert_true(slices_same(&s, 1, 5));
	slices_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_by_itself),
		cmocka_unit_test(what_is_not_known_is_no_slice),
		cmocka_unit_test(too_many_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
