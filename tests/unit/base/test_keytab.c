/* SPDX-License-Identifier: BSD-2-Clause */
/* base/keytab: what is in and what is not, whatever was added, removed and moved before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/keytab.h"

struct item {
	uint64_t key;
	uint32_t value;
};

#define NR_KEYS 3000u

/* A key for each number, some of them close to each other. */
static uint64_t key_of(uint32_t i)
{
	return i % 2 ? (uint64_t)i << 32 : i + 1;
}

static void empty(void **state)
{
	struct keytab t = KEYTAB_INIT(struct item);

	UNUSED(state);
	assert_null(keytab_find(&t, 1));
	assert_null(keytab_next(&t, NULL));
	keytab_free(&t);
	assert_non_null(keytab_add(&t, 7));
	assert_null(keytab_find(&t, 0));
	keytab_free(&t);
	assert_int_equal(t.nr, 0);
	assert_null(keytab_find(&t, 7));
}

static void check(const struct keytab *t, const uint32_t *values)
{
	uint32_t nr = 0, seen = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		const struct item *item = keytab_find(t, key_of(i));

		assert_int_equal(item != NULL, values[i] != 0);
		if (item)
			assert_int_equal(item->value, values[i]);
		nr += values[i] != 0;
	}
	assert_int_equal(t->nr, nr);
	for (const struct item *i = NULL; (i = keytab_next(t, i));)
		seen++;
	assert_int_equal(seen, nr);
}

/* Against an array, through many sizes. */
static void against_an_array(void **state)
{
	static uint32_t values[NR_KEYS];
	struct keytab t = KEYTAB_INIT(struct item);
	uint32_t random = 1;

	UNUSED(state);
	for (uint32_t step = 1; step <= 60000; step++) {
		uint32_t i;
		struct item *item;

		random = random * 1664525u + 1013904223u;
		i = (random >> 8) % (step < 30000 ? NR_KEYS : 50);
		item = keytab_find(&t, key_of(i));
		if (item) {
			assert_int_equal(item->value, values[i]);
			keytab_remove(&t, item);
			values[i] = 0;
		} else {
			item = keytab_add(&t, key_of(i));
			assert_int_equal(item->value, 0);
			item->value = values[i] = step;
		}
		if (step % 5000 == 0)
			check(&t, values);
	}
	keytab_free(&t);
}

static bool divides(const void *ctx, const void *item)
{
	return ((const struct item *)item)->value % *(const uint32_t *)ctx == 0;
}

static void keeps(void **state)
{
	static uint32_t values[NR_KEYS];
	struct keytab t = KEYTAB_INIT(struct item);
	const uint32_t two = 2;

	UNUSED(state);
	for (uint32_t i = 0; i < NR_KEYS; i++) {
		((struct item *)keytab_add(&t, key_of(i)))->value = i + 1;
		values[i] = i % 2 ? i + 1 : 0;
	}
	keytab_keep(&t, divides, &two);
	check(&t, values);
	keytab_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(against_an_array),
		cmocka_unit_test(keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
