/* SPDX-License-Identifier: BSD-2-Clause */
/* Large integers: identities that hold of any, on many, and what does not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/bigint.h"
#include "base/compiler.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Of up to `most` digits, often near a power of two. */
static void make(struct bigint *out, uint32_t most)
{
	uint64_t digits[16];
	uint32_t nr = (uint32_t)(next() % (most + 1));

	for (uint32_t i = 0; i < nr; i++)
		digits[i] = next() % 4 == 0 ? 0 : next() % 3 == 0 ? UINT64_MAX : next();
	assert_true(bigint_set_digits(out, next() & 1, digits, nr));
}

static void assert_equal(const struct bigint *a, const struct bigint *b)
{
	assert_int_equal(bigint_compare(a, b), 0);
	assert_int_equal(a->nr, b->nr);
	assert_true(a->nr == 0 || a->digits[a->nr - 1] != 0);
	assert_false(a->nr == 0 && a->negative);
}

static void test_sums_and_products(void **state)
{
	struct bigint a, b, c, d, q, r;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		make(&a, 9);
		make(&b, 9);
		assert_true(bigint_add(&c, &a, &b) && bigint_subtract(&d, &c, &b));
		assert_equal(&d, &a);
		assert_true(bigint_subtract(&c, &a, &a));
		assert_int_equal(c.nr, 0);
		if (b.nr == 0)
			continue;
		bigint_divide(&q, &r, &a, &b); /* a == q * b + r, |r| < |b|, the sign of a */
		assert_true(bigint_multiply(&c, &q, &b) && bigint_add(&d, &c, &r));
		assert_equal(&d, &a);
		assert_true(r.nr == 0 || r.negative == a.negative);
		r.negative = false;
		b.negative = false;
		assert_true(bigint_compare(&r, &b) < 0);
	}
}

static void test_bits(void **state)
{
	struct bigint a, b, c, d, e, two;

	(void)state;
	bigint_set(&two, 2);
	for (int i = 0; i < 3000; i++) {
		int64_t n = (int64_t)(next() % 300);

		make(&a, 6);
		make(&b, 6);
		/* a + b == (a xor b) + 2 * (a and b) == (a or b) + (a and b) */
		assert_true(bigint_add(&c, &a, &b));
		assert_true(bigint_logic(&d, &a, &b, BIGINT_AND));
		assert_true(bigint_logic(&e, &a, &b, BIGINT_OR) && bigint_add(&e, &e, &d));
		assert_equal(&e, &c);
		assert_true(bigint_multiply(&d, &d, &two));
		assert_true(bigint_logic(&e, &a, &b, BIGINT_XOR) && bigint_add(&e, &e, &d));
		assert_equal(&e, &c);
		assert_true(bigint_shift(&c, &a, n) && bigint_shift(&d, &c, -n));
		assert_equal(&d, &a);
	}
	bigint_set(&a, -5);
	bigint_shift(&b, &a, -1); /* rounds down */
	bigint_set(&c, -3);
	assert_equal(&b, &c);
	bigint_shift(&b, &a, -1000);
	bigint_set(&c, -1);
	assert_equal(&b, &c);
}

static void test_conversions(void **state)
{
	static const double reals[] = {0, 1, -1.5, 9007199254740993.0, 1e300, -1e17, 0.999};
	struct bigint a, b;
	uint8_t bytes[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
	int64_t n;
	double d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		assert_true(bigint_set_double(&a, reals[i]));
		assert_true(bigint_get_double(&a, &d));
		assert_true(d == trunc(reals[i]));
		assert_int_equal(bigint_compare_double(&a, reals[i]),
				 (d > reals[i]) - (d < reals[i]));
	}
	bigint_set(&a, 9007199254740993);
	assert_int_equal(bigint_compare_double(&a, 9007199254740992.0), 1);
	bigint_set(&a, INT64_MIN);
	assert_true(bigint_get(&a, &n) && n == INT64_MIN);
	bigint_set(&b, 1);
	assert_true(bigint_subtract(&a, &a, &b));
	assert_false(bigint_get(&a, &n));
	assert_true(bigint_set_bytes(&a, bytes, sizeof(bytes)) && a.nr == 1);
	assert_true(a.digits[0] == 0x0102030405060708);
	assert_true(bigint_parse(&a, "18446744073709551616", 20, 10));
	assert_true(bigint_parse(&b, "10000000000000000", 17, 16));
	assert_equal(&a, &b);
	assert_true(bigint_parse(&b, "zZ", 2, 36) && b.digits[0] == 35 * 36 + 35);
	assert_false(bigint_parse(&a, "", 0, 10));
	assert_false(bigint_parse(&a, "12a", 3, 10));
}

static void test_too_large(void **state)
{
	struct bigint a, b, one;
	double d;

	(void)state;
	bigint_set(&one, 1);
	assert_true(bigint_shift(&a, &one, 64 * BIGINT_DIGITS - 1));
	assert_false(bigint_shift(&b, &one, 64 * BIGINT_DIGITS));
	assert_false(bigint_add(&b, &a, &a));
	assert_false(bigint_multiply(&b, &a, &a));
	assert_false(bigint_get_double(&a, &d));
	assert_true(bigint_subtract(&b, &a, &one) && b.nr == BIGINT_DIGITS);
	bigint_divide(&a, &b, &a, &a);
	assert_equal(&a, &one);
	assert_int_equal(b.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_and_products),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
