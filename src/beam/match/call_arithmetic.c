/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic in guards of calls (erl_arith.c, erl_bif_guard.c, OTP 25 to 29): see call_match.h. */
#include <math.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

/* A shift by this many bits makes an integer that is too large for the VM in any release, so that
 * the guard fails.  Smaller results that exceed BIGINT_DIGITS are unknown. */
#define BITS_MAX (1ll << 40)

struct number {
	bool is_float;
	double real;
	struct bigint integer;
};

/* Reads a number to *out.  Returns `term`; CALL_FAILS_TERM if it is not a number. */
static uint64_t load(struct call_matcher *m, uint64_t term, struct number *out)
{
	uint64_t header;
	enum term_kind kind = call_kind(m, term, &header);

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNKNOWN_TERM;
	if (!call_is_number(kind))
		return CALL_FAILS_TERM;
	out->is_float = kind == TERM_KIND_FLOAT;
	if (out->is_float ? !call_float(m, term, &out->real)
			  : !call_integer(m, term, &out->integer))
		return CALL_UNKNOWN_TERM;
	return term;
}

static uint64_t real(struct call_matcher *m, double d)
{
	return isfinite(d) ? call_make_float(m, d) : CALL_FAILS_TERM;
}

static bool to_double(struct number *n)
{
	return n->is_float || bigint_get_double(&n->integer, &n->real);
}

/* ---- two operands --------------------------------------------------------------------------- */

static uint64_t with_floats(struct call_matcher *m, enum pattern_operator op, struct number *a,
			    struct number *b)
{
	if (!to_double(a) || !to_double(b))
		return CALL_FAILS_TERM;
	switch (op) {
	case OPERATOR_ADD:
		return real(m, a->real + b->real);
	case OPERATOR_SUBTRACT:
		return real(m, a->real - b->real);
	case OPERATOR_MULTIPLY:
		return real(m, a->real * b->real);
	case OPERATOR_QUOTIENT:
		return b->real == 0 ? CALL_FAILS_TERM : real(m, a->real / b->real);
	default:
		return CALL_FAILS_TERM;
	}
}

static uint64_t shift(struct call_matcher *m, enum pattern_operator op, const struct number *a,
		      const struct number *b)
{
	struct bigint out;
	int64_t n;

	if (!bigint_get(&b->integer, &n))
		n = b->integer.negative ? -BITS_MAX : BITS_MAX;
	n = n > BITS_MAX ? BITS_MAX : n < -BITS_MAX ? -BITS_MAX : n;
	if (op == OPERATOR_BSR)
		n = -n;
	if (bigint_shift(&out, &a->integer, n))
		return call_make_integer(m, &out);
	return n >= BITS_MAX ? CALL_FAILS_TERM : CALL_UNKNOWN_TERM;
}

static uint64_t divide(struct call_matcher *m, enum pattern_operator op, const struct number *a,
		       const struct number *b)
{
	struct bigint out;

	if (b->integer.nr == 0)
		return CALL_FAILS_TERM;
	bigint_divide(op == OPERATOR_DIV ? &out : NULL, op == OPERATOR_REM ? &out : NULL,
		      &a->integer, &b->integer);
	return call_make_integer(m, &out);
}

static uint64_t with_integers(struct call_matcher *m, enum pattern_operator op, struct number *a,
			      struct number *b)
{
	const struct bigint *x = &a->integer, *y = &b->integer;
	struct bigint out;
	bool ok;

	switch (op) {
	case OPERATOR_ADD:
		ok = bigint_add(&out, x, y);
		break;
	case OPERATOR_SUBTRACT:
		ok = bigint_subtract(&out, x, y);
		break;
	case OPERATOR_MULTIPLY:
		ok = bigint_multiply(&out, x, y);
		break;
	case OPERATOR_QUOTIENT:
		return with_floats(m, op, a, b);
	case OPERATOR_DIV:
	case OPERATOR_REM:
		return divide(m, op, a, b);
	case OPERATOR_BSL:
	case OPERATOR_BSR:
		return shift(m, op, a, b);
	default:
		ok = bigint_logic(&out, x, y,
				  op == OPERATOR_BAND  ? BIGINT_AND
				  : op == OPERATOR_BOR ? BIGINT_OR
						       : BIGINT_XOR);
	}
	return ok ? call_make_integer(m, &out) : CALL_UNKNOWN_TERM;
}

/* Does an operation on two small integers, the most frequent case.  False if it is not one of the
 * operations here, or its result exceeds 64 bits. */
static bool with_smalls(struct call_matcher *m, enum pattern_operator op, int64_t a, int64_t b,
			uint64_t *out)
{
	int64_t n;

	if ((op == OPERATOR_ADD && !__builtin_add_overflow(a, b, &n)) ||
	    (op == OPERATOR_SUBTRACT && !__builtin_sub_overflow(a, b, &n)) ||
	    (op == OPERATOR_MULTIPLY && !__builtin_mul_overflow(a, b, &n)))
		;
	else if (op == OPERATOR_REM && b != 0)
		n = a % b;
	else if (op == OPERATOR_BAND)
		n = a & b;
	else
		return false;
	*out = call_make_int64(m, n);
	return true;
}

uint64_t call_arithmetic(struct call_matcher *m, enum pattern_operator op, uint64_t a, uint64_t b)
{
	uint64_t v, w;
	struct number x, y;

	if (TERM_IS_SMALL(a) && TERM_IS_SMALL(b) &&
	    with_smalls(m, op, TERM_SMALL(a), TERM_SMALL(b), &v))
		return v;
	v = load(m, a, &x);
	w = load(m, b, &y);
	if (v == CALL_FAILS_TERM || w == CALL_FAILS_TERM)
		return CALL_FAILS_TERM;
	if (v == CALL_UNKNOWN_TERM || w == CALL_UNKNOWN_TERM)
		return CALL_UNKNOWN_TERM;
	return x.is_float || y.is_float ? with_floats(m, op, &x, &y) : with_integers(m, op, &x, &y);
}

/* ---- one operand ---------------------------------------------------------------------------- */

uint64_t call_negate(struct call_matcher *m, enum pattern_operator op, uint64_t a)
{
	struct bigint one;
	struct number n;
	uint64_t v = load(m, a, &n);

	if (!call_is_term(v) || op == OPERATOR_PLUS)
		return v;
	if (n.is_float)
		return op == OPERATOR_MINUS ? real(m, -n.real) : CALL_FAILS_TERM;
	n.integer.negative = n.integer.nr && !n.integer.negative;
	if (op == OPERATOR_MINUS)
		return call_make_integer(m, &n.integer);
	bigint_set(&one, 1); /* bnot N is -N - 1 */
	return bigint_subtract(&n.integer, &n.integer, &one) ? call_make_integer(m, &n.integer)
							     : CALL_UNKNOWN_TERM;
}

uint64_t call_round(struct call_matcher *m, enum guard_function f, uint64_t a)
{
	struct number n;
	uint64_t v = load(m, a, &n);

	if (!call_is_term(v))
		return v;
	if (f == GUARD_ABS) {
		if (n.is_float)
			return real(m, fabs(n.real));
		n.integer.negative = false;
		return call_make_integer(m, &n.integer);
	}
	if (f == GUARD_FLOAT)
		return n.is_float ? v : to_double(&n) ? real(m, n.real) : CALL_FAILS_TERM;
	if (!n.is_float)
		return v;
	n.real = f == GUARD_ROUND   ? round(n.real)
		 : f == GUARD_TRUNC ? trunc(n.real)
		 : f == GUARD_CEIL  ? ceil(n.real)
				    : floor(n.real);
	return bigint_set_double(&n.integer, n.real) ? call_make_integer(m, &n.integer)
						     : CALL_UNKNOWN_TERM;
}
