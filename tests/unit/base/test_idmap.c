/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of numbers: few are equal, whatever the numbers have in common. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "base/idmap.h"

#define NR 10000

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of NR random hashes of 32 bits about 0.01 are equal to another. */
static void assert_spread(uint32_t *hashes)
{
	size_t equal = 0;

	qsort(hashes, NR, sizeof(*hashes), by_value);
	for (size_t i = 1; i < NR; i++)
		equal += hashes[i] == hashes[i - 1];
	assert_true(equal <= 2);
}

static void pairs(void **state)
{
	static uint32_t hashes[NR];

	UNUSED(state);
	for (uint64_t step = 0; step < 4; step++) {
		for (uint32_t i = 0; i < NR; i++)
			hashes[i] = hash_mix(i, i * step); /* both the same, for one */
		assert_spread(hashes);
		for (uint32_t i = 0; i < NR; i++)
			hashes[i] = hash_mix(hash_mix(7, i), i * step);
		assert_spread(hashes);
	}
	for (uint32_t i = 0; i < NR; i++)
		hashes[i] = hash_mix(1, (uint64_t)i << 32);
	assert_spread(hashes);
}

static void texts(void **state)
{
	static uint32_t hashes[NR];

	UNUSED(state);
	for (uint32_t i = 0; i < NR; i++) {
		const uint64_t words[] = {i, i, i};

		hashes[i] = hash_bytes(words, sizeof(words) - i % 8);
	}
	assert_spread(hashes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
