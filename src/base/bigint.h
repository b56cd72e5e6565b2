/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integers of up to BIGINT_DIGITS digits of 64 bits, sign and magnitude, as Erlang's are.  No
 * memory is allocated: a struct bigint is some 8 KiB, so none belongs in a function that recurses.
 * Functions that return bool are false if the result would be larger (*out is then undefined); out
 * may be one of the operands.
 */
#ifndef EBEAM_BASE_BIGINT_H
#define EBEAM_BASE_BIGINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIGINT_DIGITS 1024

struct bigint {
	bool negative;			/* false for zero */
	uint32_t nr;			/* digits; 0 = zero; the highest is not 0 */
	uint64_t digits[BIGINT_DIGITS]; /* least significant first */
};

void bigint_set(struct bigint *out, int64_t n);
/* Also false if there are more digits than BIGINT_DIGITS. */
bool bigint_set_digits(struct bigint *out, bool negative, const uint64_t *digits, size_t nr);
/* From bytes, most significant first. */
bool bigint_set_bytes(struct bigint *out, const uint8_t *bytes, size_t nr_bytes);
/* `base` 2 to 36; false: empty, or a character that is not a digit of that base.  No sign, no
 * underscores. */
bool bigint_parse(struct bigint *out, const char *text, size_t len, unsigned int base);
/* From a finite double, without its fraction. */
bool bigint_set_double(struct bigint *out, double d);
void bigint_copy(struct bigint *out, const struct bigint *a);

/* False if the value does not fit in an int64_t. */
bool bigint_get(const struct bigint *a, int64_t *out);
/* Converts as the VM does (big_to_double() of big.c, OTP 25 to 29), which does not always round to
 * nearest; false if it is too large. */
bool bigint_get_double(const struct bigint *a, double *out);

/* Negative, 0 or positive as a is less than, equal to or greater than the other number. */
int bigint_compare(const struct bigint *a, const struct bigint *b);
/* Compares with the exact value of d, fraction included; d must be finite. */
int bigint_compare_double(const struct bigint *a, double d);

bool bigint_add(struct bigint *out, const struct bigint *a, const struct bigint *b);
bool bigint_subtract(struct bigint *out, const struct bigint *a, const struct bigint *b);
bool bigint_multiply(struct bigint *out, const struct bigint *a, const struct bigint *b);
/* Truncates towards 0; the remainder has the sign of a.  Either may be NULL; b is not 0. */
void bigint_divide(struct bigint *quotient, struct bigint *remainder, const struct bigint *a,
		   const struct bigint *b);
/* Times 2^n; for n < 0 rounded down. */
bool bigint_shift(struct bigint *out, const struct bigint *a, int64_t n);

enum bigint_logic { BIGINT_AND, BIGINT_OR, BIGINT_XOR };
/* Bit by bit, as two's complements of infinite length. */
bool bigint_logic(struct bigint *out, const struct bigint *a, const struct bigint *b,
		  enum bigint_logic op);

#endif
