/* SPDX-License-Identifier: BSD-2-Clause */
/* See bigint.h.  Schoolbook methods: operands are short. */
#include "base/bigint.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"

#define u128 unsigned __int128

static void normalise(struct bigint *a)
{
	while (a->nr && !a->digits[a->nr - 1])
		a->nr--;
	if (!a->nr)
		a->negative = false;
}

void bigint_set(struct bigint *out, int64_t n)
{
	out->negative = n < 0;
	out->digits[0] = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	out->nr = n != 0;
}

bool bigint_set_digits(struct bigint *out, bool negative, const uint64_t *digits, size_t nr)
{
	if (nr > BIGINT_DIGITS)
		return false;
	out->negative = negative;
	out->nr = (uint32_t)nr;
	memcpy(out->digits, digits, 8 * nr);
	normalise(out);
	return true;
}

bool bigint_set_bytes(struct bigint *out, const uint8_t *bytes, size_t nr_bytes)
{
	out->negative = false;
	out->nr = 0;
	while (nr_bytes && !*bytes) {
		bytes++;
		nr_bytes--;
	}
	if (nr_bytes > 8 * BIGINT_DIGITS)
		return false;
	out->nr = (uint32_t)(nr_bytes + 7) / 8;
	memset(out->digits, 0, 8 * (size_t)out->nr);
	for (size_t i = 0; i < nr_bytes; i++)
		out->digits[i / 8] |= (uint64_t)bytes[nr_bytes - 1 - i] << (i % 8 * 8);
	return true;
}

void bigint_copy(struct bigint *out, const struct bigint *a)
{
	if (out == a)
		return;
	out->negative = a->negative;
	out->nr = a->nr;
	memcpy(out->digits, a->digits, 8 * (size_t)a->nr);
}

/* Multiplies the magnitude of a by `by` and adds `plus`; false = more than BIGINT_DIGITS digits. */
static bool scale(struct bigint *a, uint64_t by, uint64_t plus)
{
	uint64_t carry = plus;

	for (uint32_t i = 0; i < a->nr; i++) {
		u128 p = (u128)a->digits[i] * by + carry;

		a->digits[i] = (uint64_t)p;
		carry = (uint64_t)(p >> 64);
	}
	if (!carry)
		return true;
	if (a->nr >= BIGINT_DIGITS)
		return false;
	a->digits[a->nr++] = carry;
	return true;
}

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'z')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'Z')
		return (unsigned int)(c - 'A') + 10;
	return UINT_MAX;
}

bool bigint_parse(struct bigint *out, const char *text, size_t len, unsigned int base)
{
	bigint_set(out, 0);
	for (size_t i = 0; i < len; i++)
		if (digit_of(text[i]) >= base || !scale(out, base, digit_of(text[i])))
			return false;
	return len > 0;
}

bool bigint_set_double(struct bigint *out, double d)
{
	int exponent;
	double fraction = frexp(trunc(fabs(d)), &exponent); /* [0.5, 1) */

	bigint_set(out, (int64_t)ldexp(fraction, 53));
	if (!bigint_shift(out, out, exponent - 53))
		return false;
	out->negative = out->nr && d < 0;
	return true;
}

bool bigint_get(const struct bigint *a, int64_t *out)
{
	uint64_t d = a->nr ? a->digits[0] : 0;

	if (a->nr > 1 || d > (uint64_t)INT64_MAX + a->negative)
		return false;
	*out = (int64_t)(a->negative ? 0 - d : d);
	return true;
}

bool bigint_get_double(const struct bigint *a, double *out)
{
	double d = 0;

	for (uint32_t i = a->nr; i-- > 0;) {
		d = d * 18446744073709551616.0 + (double)a->digits[i];
		if (!isfinite(d))
			return false;
	}
	*out = a->negative ? -d : d;
	return true;
}

static int compare_magnitudes(const struct bigint *a, const struct bigint *b)
{
	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	for (uint32_t i = a->nr; i-- > 0;)
		if (a->digits[i] != b->digits[i])
			return a->digits[i] < b->digits[i] ? -1 : 1;
	return 0;
}

int bigint_compare(const struct bigint *a, const struct bigint *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

int bigint_compare_double(const struct bigint *a, double d)
{
	struct bigint whole;
	double fraction = d - trunc(d);
	int c;

	if (!bigint_set_double(&whole, d)) /* 1,024 bits at most */
		return d < 0 ? 1 : -1;
	c = bigint_compare(a, &whole);
	if (c == 0 && fraction != 0)
		c = fraction > 0 ? -1 : 1;
	return c;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static bool add_magnitudes(struct bigint *out, const struct bigint *a, const struct bigint *b)
{
	uint32_t nr = MAX(a->nr, b->nr);
	uint64_t carry = 0;

	for (uint32_t i = 0; i < nr; i++) {
		u128 s = (u128)(i < a->nr ? a->digits[i] : 0) + (i < b->nr ? b->digits[i] : 0) +
			 carry;

		out->digits[i] = (uint64_t)s;
		carry = (uint64_t)(s >> 64);
	}
	if (carry && nr >= BIGINT_DIGITS)
		return false;
	if (carry)
		out->digits[nr++] = carry;
	out->nr = nr;
	return true;
}

/* abs(a) - abs(b), where abs(a) is not smaller. */
static void subtract_magnitudes(struct bigint *out, const struct bigint *a, const struct bigint *b)
{
	uint32_t nr = a->nr;
	uint64_t borrow = 0;

	for (uint32_t i = 0; i < nr; i++) {
		u128 s = (u128)a->digits[i] - (i < b->nr ? b->digits[i] : 0) - borrow;

		out->digits[i] = (uint64_t)s;
		borrow = (uint64_t)(s >> 64) & 1;
	}
	out->nr = nr;
}

static bool add_signed(struct bigint *out, const struct bigint *a, const struct bigint *b,
		       bool b_negative)
{
	bool a_negative = a->negative, ok = true;

	if (a_negative == b_negative) {
		ok = add_magnitudes(out, a, b);
		out->negative = a_negative;
	} else if (compare_magnitudes(a, b) >= 0) {
		subtract_magnitudes(out, a, b);
		out->negative = a_negative;
	} else {
		subtract_magnitudes(out, b, a);
		out->negative = b_negative;
	}
	if (ok)
		normalise(out);
	return ok;
}

bool bigint_add(struct bigint *out, const struct bigint *a, const struct bigint *b)
{
	return add_signed(out, a, b, b->negative);
}

bool bigint_subtract(struct bigint *out, const struct bigint *a, const struct bigint *b)
{
	return add_signed(out, a, b, b->nr && !b->negative);
}

/* ---- products ------------------------------------------------------------------------------- */

bool bigint_multiply(struct bigint *out, const struct bigint *a, const struct bigint *b)
{
	uint64_t product[2 * BIGINT_DIGITS] = {0};
	uint32_t nr = a->nr + b->nr;
	bool negative = a->negative != b->negative;

	for (uint32_t i = 0; i < a->nr; i++) {
		uint64_t carry = 0;

		for (uint32_t j = 0; j < b->nr; j++) {
			u128 p = (u128)a->digits[i] * b->digits[j] + product[i + j] + carry;

			product[i + j] = (uint64_t)p;
			carry = (uint64_t)(p >> 64);
		}
		product[i + b->nr] = carry;
	}
	while (nr && !product[nr - 1])
		nr--;
	return bigint_set_digits(out, negative, product, nr);
}

/* Binary long division, most significant bit of a first: operations on digits grow with 64 *
 * (digits of a) * (digits of b). */
void bigint_divide(struct bigint *quotient, struct bigint *remainder, const struct bigint *a,
		   const struct bigint *b)
{
	struct bigint q, r = {.nr = 0};
	bool a_negative = a->negative, negative = a->negative != b->negative;

	q.nr = a->nr;
	for (uint32_t i = a->nr; i-- > 0;) {
		uint64_t digit = 0;

		/* A divisor of one digit: hardware division. */
		if (b->nr == 1) {
			u128 part = (u128)(r.nr ? r.digits[0] : 0) << 64 | a->digits[i];

			q.digits[i] = (uint64_t)(part / b->digits[0]);
			r.digits[0] = (uint64_t)(part % b->digits[0]);
			r.nr = r.digits[0] != 0;
			continue;
		}
		for (int bit = 63; bit >= 0; bit--) {
			/* r < b, so 2 * r + 1 < 2 * b: at most one bit does not fit in the digits
			 * of r.  It stays in `in`; r with that bit is larger than b. */
			uint64_t in = a->digits[i] >> bit & 1, out = 0;

			for (uint32_t k = 0; k < r.nr; k++) {
				out = r.digits[k] >> 63;
				r.digits[k] = r.digits[k] << 1 | in;
				in = out;
			}
			if (in && r.nr < BIGINT_DIGITS) {
				r.digits[r.nr++] = in;
				in = 0;
			}
			digit <<= 1;
			if (in || compare_magnitudes(&r, b) >= 0) {
				subtract_magnitudes(&r, &r, b);
				while (r.nr && !r.digits[r.nr - 1])
					r.nr--;
				digit |= 1;
			}
		}
		q.digits[i] = digit;
	}
	if (quotient) {
		q.negative = negative;
		normalise(&q);
		bigint_copy(quotient, &q);
	}
	if (remainder) {
		r.negative = a_negative;
		normalise(&r);
		bigint_copy(remainder, &r);
	}
}

/* ---- bits ----------------------------------------------------------------------------------- */

static bool shift_left(struct bigint *out, const struct bigint *a, uint64_t n)
{
	uint64_t whole = n / 64;
	unsigned int bits = n % 64;
	uint32_t nr = a->nr;
	bool negative = a->negative;

	if (nr == 0) {
		bigint_set(out, 0);
		return true;
	}
	if (whole + nr > BIGINT_DIGITS)
		return false;
	if (bits && a->digits[nr - 1] >> (64 - bits) && whole + nr == BIGINT_DIGITS)
		return false;
	memmove(out->digits + whole, a->digits, 8 * (size_t)nr);
	memset(out->digits, 0, 8 * whole);
	out->nr = nr + (uint32_t)whole;
	out->negative = negative;
	return !bits || scale(out, 1ull << bits, 0);
}

/* Rounds down: the result of a negative number that lost a set bit is one less. */
static bool shift_right(struct bigint *out, const struct bigint *a, uint64_t n)
{
	uint64_t whole = n / 64;
	unsigned int bits = n % 64;
	bool negative = a->negative, lost = false;
	struct bigint one;

	if (whole >= a->nr) {
		bigint_set(out, negative ? -1 : 0);
		return true;
	}
	for (uint64_t i = 0; i < whole; i++)
		lost |= a->digits[i] != 0;
	lost |= bits && a->digits[whole] << (64 - bits);
	out->nr = a->nr - (uint32_t)whole;
	for (uint32_t i = 0; i < out->nr; i++) {
		uint64_t low = a->digits[i + whole];
		uint64_t high = i + 1 < out->nr ? a->digits[i + whole + 1] : 0;

		out->digits[i] = bits ? low >> bits | high << (64 - bits) : low;
	}
	out->negative = negative;
	normalise(out);
	if (!negative || !lost)
		return true;
	bigint_set(&one, 1);
	return bigint_subtract(out, out, &one);
}

bool bigint_shift(struct bigint *out, const struct bigint *a, int64_t n)
{
	return n < 0 ? shift_right(out, a, 0 - (uint64_t)n) : shift_left(out, a, (uint64_t)n);
}

/* Digit i of the two's complement of a; to be called for i = 0, 1, ... with *carry 1 at first. */
static uint64_t complement_digit(const struct bigint *a, uint32_t i, uint64_t *carry)
{
	uint64_t d = i < a->nr ? a->digits[i] : 0;

	if (!a->negative)
		return d;
	d = ~d + *carry;
	*carry = *carry && d == 0;
	return d;
}

bool bigint_logic(struct bigint *out, const struct bigint *a, const struct bigint *b,
		  enum bigint_logic op)
{
	uint32_t nr = MAX(a->nr, b->nr) + 1;
	uint64_t carry_a = 1, carry_b = 1, carry = 1, sum[BIGINT_DIGITS + 1];
	bool negative;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t x = complement_digit(a, i, &carry_a);
		uint64_t y = complement_digit(b, i, &carry_b);

		sum[i] = op == BIGINT_AND ? (x & y) : op == BIGINT_OR ? (x | y) : (x ^ y);
	}
	negative = sum[nr - 1] >> 63;
	for (uint32_t i = 0; negative && i < nr; i++) {
		sum[i] = ~sum[i] + carry;
		carry = carry && sum[i] == 0;
	}
	while (nr && !sum[nr - 1])
		nr--;
	return bigint_set_digits(out, negative, sum, nr);
}
