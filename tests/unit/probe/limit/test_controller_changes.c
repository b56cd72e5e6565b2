/* SPDX-License-Identifier: BSD-2-Clause */
/* What the overhead controller reports: in order, up to a time; bounded if nobody fetches it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "probe/limit/controller_changes.h"

static void push(struct controller_changes *c, uint64_t ts_ns, uint64_t kinds)
{
	const struct controller_change change = {.ts_ns = ts_ns, .kinds = kinds, .work = ts_ns};

	controller_changes_push(c, &change);
}

static void test_order(void **state)
{
	struct controller_change change;
	struct controller_changes c;

	UNUSED(state);
	controller_changes_init(&c);
	assert_false(controller_changes_next(&c, UINT64_MAX, &change));
	for (uint64_t i = 1; i <= 100; i++)
		push(&c, i, i % 3 + 1);
	assert_false(controller_changes_next(&c, 0, &change));
	for (uint64_t i = 1; i <= 50; i++) {
		assert_true(controller_changes_next(&c, 50, &change));
		assert_int_equal(change.ts_ns, i);
		assert_int_equal(change.kinds, i % 3 + 1);
	}
	assert_false(controller_changes_next(&c, 50, &change));
	for (uint64_t i = 101; i <= 200; i++)
		push(&c, i, 1);
	for (uint64_t i = 51; i <= 200; i++) {
		assert_true(controller_changes_next(&c, UINT64_MAX, &change));
		assert_int_equal(change.ts_ns, i);
	}
	assert_false(controller_changes_next(&c, UINT64_MAX, &change));
	controller_changes_free(&c);
}

/* Of what is only work, the newest counts, and there is an end to what is kept. */
static void test_work(void **state)
{
	struct controller_change change;
	struct controller_changes c;
	uint64_t nr = 0;

	UNUSED(state);
	controller_changes_init(&c);
	for (uint64_t i = 1; i <= 10000; i++)
		push(&c, i, 0);
	while (controller_changes_next(&c, UINT64_MAX, &change))
		nr++;
	assert_in_range(nr, 1, 100);
	assert_int_equal(change.ts_ns, 10000);
	controller_changes_free(&c);
}

/* Who fetches what is 100 ms old gets it, though something younger comes every 50 ms. */
static void test_work_in_time(void **state)
{
	struct controller_change change;
	struct controller_changes c;

	UNUSED(state);
	controller_changes_init(&c);
	for (uint64_t ms = 50; ms <= 5000; ms += 50) {
		push(&c, ms, 0);
		if (ms <= 100)
			continue;
		assert_true(controller_changes_next(&c, ms - 100, &change));
		assert_int_equal(change.ts_ns, ms - 100);
	}
	controller_changes_free(&c);
}

/* Nobody fetches: there is an end to what is kept, and the last word of each is in it. */
static void test_bounded(void **state)
{
	uint64_t last[3] = {0}, before = 0, nr = 0;
	struct controller_change change;
	struct controller_changes c;

	UNUSED(state);
	controller_changes_init(&c);
	push(&c, 1, 4);
	for (uint64_t i = 2; i <= 20000; i++)
		push(&c, i, i % 2 + 1);
	while (controller_changes_next(&c, UINT64_MAX, &change)) {
		assert_true(change.ts_ns > before);
		before = change.ts_ns;
		last[change.kinds / 2] = change.ts_ns;
		nr++;
	}
	assert_in_range(nr, 3, 5000);
	assert_int_equal(last[0], 20000);
	assert_int_equal(last[1], 19999);
	assert_int_equal(last[2], 1);
	controller_changes_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_work_in_time),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
