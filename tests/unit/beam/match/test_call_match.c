/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls and patterns, as OTP 25, 27 and 29 lay terms out: which match, what is undecided where
 * words were not copied, what BPF tests.  That it is right on terms of every kind the
 * nodes say: tests/e2e/cases_pattern.py.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_match.h"
#include "beam/term/term_internal.h"
#include "lib/termfix.h"

#define MATCH	  CALL_MATCHES
#define DIFFER	  CALL_DIFFERS
#define UNDECIDED CALL_UNDECIDED
#define NOWHERE	  0xdead0002ull /* boxed, not mapped */

static enum call_verdict verdict(struct fixture *t, const char *text, const uint64_t *args,
				 unsigned int nr)
{
	struct error err = {0};
	uint64_t unreadable = t->r.unreadable;
	struct call_pattern *p;
	struct call_matcher *m;
	enum call_verdict v;

	if (call_pattern_parse(&p, text, &err) != 0)
		fail_msg("%s", err.msg);
	call_matcher_open(&m, p, &t->r);
	v = call_match(m, &t->r, args, nr);
	assert_int_equal(call_match(m, &t->r, args, nr), v); /* nothing is left over */
	assert_int_equal(t->r.unreadable, unreadable);
	assert_int_equal(t->r.made_words, 0);
	call_matcher_close(m);
	call_pattern_free(p);
	return v;
}

/* ARGS is what is behind m:f. */
#define CHECK(wanted, text, ...)                                                                   \
	do {                                                                                       \
		uint64_t args_[] = {__VA_ARGS__};                                                  \
		enum call_verdict v_ = verdict(t, "m:f" text, args_, ARRAY_SIZE(args_));           \
		if (v_ != (wanted))                                                                \
			fail_msg("%s: %d", text, v_);                                              \
	} while (0)

static uint64_t real(struct fixture *t, double d)
{
	uint64_t raw;

	memcpy(&raw, &d, 8);
	return BOXED(t, 1 << 6 | 0x18, raw);
}

static uint64_t raw_bytes(struct fixture *t, const char *s, uint64_t len)
{
	bool old = t->r.otp <= 26;
	uint64_t w[8] = {0}, nr = (len + 7) / 8;

	w[0] = (nr + 1) << 6 | (old ? 0x24 : 0x20);
	w[1] = old ? len : 8 * len;
	memcpy(w + 2, s, len);
	return words(t, w, nr + 2) | 2;
}

static uint64_t bytes(struct fixture *t, const char *s)
{
	return raw_bytes(t, s, strlen(s));
}

static uint64_t flat_map(struct fixture *t, uint64_t key, uint64_t value)
{
	uint64_t keys = TUPLE(t, key);

	return BOXED(t, 1 << 8 | (t->r.otp >= 27 ? 0x2c : 0x3c), 1, keys, value);
}

static void test_constants(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), big = BOXED(t, 2 << 6 | 0x0c, 0, 1); /* -(2^64) */

	CHECK(MATCH, "", a, a);
	CHECK(MATCH, "/2", a, a);
	CHECK(DIFFER, "/1", a, a);
	CHECK(DIFFER, "(_)", a, a);
	CHECK(MATCH, "(a, 5)", a, SMALL(5));
	CHECK(DIFFER, "(b)", a);
	CHECK(DIFFER, "(no_such_atom)", a);
	CHECK(MATCH, "([])", TERM_NIL);
	CHECK(MATCH, "(\"\")", TERM_NIL);
	CHECK(DIFFER, "(5.0)", SMALL(5));
	CHECK(DIFFER, "(5)", real(t, 5));
	CHECK(MATCH, "(5.0)", real(t, 5));
	CHECK(t->r.otp >= 27 ? DIFFER : MATCH, "(0.0)", real(t, -0.0));
	CHECK(MATCH, "(-0.0)", real(t, -0.0));
	CHECK(MATCH, "(-18446744073709551616)", big);
	CHECK(DIFFER, "(18446744073709551616)", big);
	CHECK(DIFFER, "(-18446744073709551615)", big);
	CHECK(MATCH, "({})", BOXED(t, 0));
}

static void test_structures(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), b = atom(t, "b"), two = TUPLE(t, a, SMALL(2)), copy;
	uint64_t list = cons(t, SMALL('a'), cons(t, SMALL('b'), cons(t, two, TERM_NIL)));

	copy = TUPLE(t, a, SMALL(2));
	CHECK(MATCH, "({a, 2})", two);
	CHECK(DIFFER, "({a, 2, _})", two);
	CHECK(DIFFER, "({b, _})", two);
	CHECK(MATCH, "({X, _} = Y, Y, X)", two, copy, a);
	CHECK(DIFFER, "({X, _} = Y, Y, X)", two, copy, b);
	CHECK(MATCH, "(X, X)", two, copy);
	CHECK(DIFFER, "(X, X)", two, TUPLE(t, a, SMALL(3)));
	CHECK(MATCH, "(\"ab\" ++ T, T)", list, cons(t, copy, TERM_NIL));
	/* ++ binds more tightly than =. */
	CHECK(MATCH, "(\"ab\" ++ T = [_, _, _], T)", list, cons(t, copy, TERM_NIL));
	CHECK(MATCH, "([_, $b | [{a, _}]])", list);
	CHECK(DIFFER, "([_, _])", list);
	CHECK(DIFFER, "([_, _, _, _ | _])", list);
	CHECK(MATCH, "([_ | a])", cons(t, b, a));
	CHECK(MATCH, "(#{a := 2})", flat_map(t, a, SMALL(2)));
	CHECK(MATCH, "(#{})", flat_map(t, a, SMALL(2)));
	CHECK(DIFFER, "(#{b := _})", flat_map(t, a, SMALL(2)));
	CHECK(MATCH, "(#{{a, 2} := b})", flat_map(t, two, b));
	CHECK(DIFFER, "(#{{a, 2} := _, <<\"k\">> := _})", flat_map(t, two, b));
}

static void test_binaries(void **state)
{
	struct fixture *t = *state;
	uint64_t b = bytes(t, "abcdef");

	CHECK(MATCH, "(<<\"abcdef\">>)", b);
	CHECK(DIFFER, "(<<\"abcde\">>)", b);
	CHECK(MATCH, "(<<\"ab\", _/binary>>)", b);
	CHECK(MATCH, "(<<97, 16#6263:16, R/binary>>, R)", b, bytes(t, "def"));
	CHECK(MATCH, "(<<N:12, _/bits>>) when N == 16#616", b);
	CHECK(MATCH, "(<<N:12/little, _/bits>>) when N == 16#661", b);
	CHECK(MATCH, "(<<_:4, N:8, R/bits>>) when N == 16#16, bit_size(R) == 36, R > <<\"\">>", b);
	CHECK(MATCH, "(<<_:8, S:8, _/binary>>) when S == $b", b);
	CHECK(DIFFER, "(<<_:3, _/binary>>)", b);
	CHECK(DIFFER, "(<<S, _:S/binary>>)", b);
	CHECK(MATCH, "(<<0:0/float>>)", bytes(t, ""));
	CHECK(MATCH, "(<<X:0/float, _/binary>>) when X == 0", b);
	CHECK(MATCH, "(<<2/float>>)", raw_bytes(t, "\x40\0\0\0\0\0\0\0", 8));
	CHECK(DIFFER, "(<<1/float>>)", raw_bytes(t, "\x40\0\0\0\0\0\0\0", 8));
	CHECK(MATCH, "(<<36893488147419103232/float>>)", raw_bytes(t, "\x44\0\0\0\0\0\0\0", 8));
	CHECK(t->r.otp >= 27 ? DIFFER : MATCH, "(<<0/float>>)",
	      raw_bytes(t, "\x80\0\0\0\0\0\0\0", 8));
	CHECK(MATCH, "(<<>>)", bytes(t, ""));
	CHECK(DIFFER, "(<<>>)", b);
	CHECK(MATCH, "(B) when byte_size(B) == 6, binary_part(B, 6, -2) == <<\"ef\">>", b);
}

static void test_guards(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), yes = atom(t, "true"), no = atom(t, "false");
	uint64_t big = BOXED(t, 1 << 6 | 0x08, 1ull << 60);

	CHECK(MATCH, "(N) when N > 3", SMALL(4));
	CHECK(DIFFER, "(N) when N > 3", SMALL(3));
	CHECK(MATCH, "(N) when N > 3", a); /* atoms are greater than numbers */
	CHECK(MATCH, "(N) when N == 3, N =/= 3", real(t, 3));
	CHECK(DIFFER, "(N) when N + 1 > 0", a);
	CHECK(DIFFER, "(N) when not (N + 1 > 0)", a); /* it fails */
	CHECK(MATCH, "(N) when N + 1 > 0; true", a);
	CHECK(MATCH, "(A, B) when A orelse B + 1", yes, a);
	CHECK(DIFFER, "(A, B) when A or B", yes, a);
	CHECK(DIFFER, "(A, B) when A andalso hd(B)", no, a);
	CHECK(DIFFER, "(A) when A", a);
	CHECK(MATCH, "(A) when A", yes);
	CHECK(MATCH, "(A) when A + 1 > A, A * A div A == A, A bsl 70 bsr 70 =:= A", big);
	CHECK(MATCH, "(A) when A - 1152921504606846976 =:= 0", big);
	CHECK(MATCH, "(A) when A / 2 == 576460752303423488, A == 1152921504606846976.0", big);
	CHECK(MATCH, "(A) when -7 div A == -3, -7 rem A == -1, bnot A == -3, A band 3 == 2",
	      SMALL(2));
	CHECK(DIFFER, "(A) when 1 div A == 0; 1 / A == 0; 1 rem A == 0", SMALL(0));
	CHECK(DIFFER, "(A) when A bsl 10000000000000 > 0", SMALL(1));
	CHECK(MATCH, "(A) when round(A) == 3, trunc(A) == 2, ceil(A) =:= 3, abs(-A) == A",
	      real(t, 2.5));
	CHECK(MATCH,
	      "(A) when element(2, A) == 7, tuple_size(A) == 2, is_record(A, a), is_record(A, a, "
	      "2)",
	      TUPLE(t, a, SMALL(7)));
	CHECK(DIFFER, "(A) when is_record(A, a, 3)", TUPLE(t, a, SMALL(7)));
	CHECK(DIFFER, "(A) when element(3, A) == 7", TUPLE(t, a, SMALL(7)));
	CHECK(DIFFER, "(A) when element(0, A) == 7", TUPLE(t, a, SMALL(7)));
	CHECK(MATCH, "(A) when length(A) == 2, hd(A) == a, tl(A) == [5]",
	      cons(t, a, cons(t, SMALL(5), TERM_NIL)));
	CHECK(DIFFER, "(A) when length(A) >= 0", cons(t, a, a));
	CHECK(MATCH, "(A) when map_get(a, A) == 2, is_map_key(a, A), map_size(A) == 1",
	      flat_map(t, a, SMALL(2)));
	CHECK(DIFFER, "(A) when map_get(b, A) == 2", flat_map(t, a, SMALL(2)));
	CHECK(MATCH, "(A, B) when {A, [B | x]} == {a, [5 | x]}", a, SMALL(5));
	CHECK(MATCH, "(A) when A < \"b\", [] < A, {} < A, a < A, A < <<>>",
	      cons(t, SMALL(1), TERM_NIL));
	CHECK(MATCH, "(A) when zzz > A, aa > A, 'A' < A", a); /* the node does not have them */
}

/* The same call, of which some words were not copied. */
static void test_undecided(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), half[3] = {2 << 6, a, NOWHERE};
	raddr at = words(t, half, 3);
	uint64_t tuple = at | 2;

	CHECK(UNDECIDED, "({a, {b}})", tuple);
	CHECK(DIFFER, "({b, {b}})", tuple);
	CHECK(DIFFER, "({{b}, b})", tuple);
	CHECK(DIFFER, "({a, b})", tuple); /* what is boxed is no atom */
	CHECK(DIFFER, "({a, [_ | _]})", tuple);
	CHECK(MATCH, "({a, X}) when is_tuple(X); true", tuple);
	CHECK(UNDECIDED, "({a, X}) when is_tuple(X)", tuple);
	CHECK(DIFFER, "({a, X}) when is_atom(X), false", tuple);
	CHECK(UNDECIDED, "({a, X}, Y) when is_tuple(X); Y > 3", tuple, SMALL(1));
	CHECK(DIFFER, "({a, X}, Y) when is_tuple(X) andalso Y > 3", tuple, SMALL(1));
	CHECK(DIFFER, "({a, X}, Y) when is_tuple(X) and (Y > 3)", tuple, SMALL(1));
	CHECK(UNDECIDED, "({a, X}, Y) when is_tuple(X) orelse Y == 1", tuple, SMALL(1));
	CHECK(MATCH, "({a, X}) when X == X", tuple);
	CHECK(UNDECIDED, "({a, X}) when X + 1 > 0", tuple);
	CHECK(UNDECIDED, "(X) when X =:= {a, {b}}", tuple);
	CHECK(DIFFER, "(X) when X =:= {b, {b}}", tuple);
	CHECK(MATCH, "(X) when X < {b, {b}}", tuple); /* decided before it is reached */
	CHECK(UNDECIDED, "(X) when X < {a, {b}}", tuple);
	CHECK(UNDECIDED, "([_ | _], {_, _})", cons(t, a, TERM_NIL), NOWHERE);
	CHECK(UNDECIDED, "(#{{a, 2} := _})", NOWHERE);
	CHECK(UNDECIDED, "(<<1, _/binary>>)", NOWHERE);
	CHECK(UNDECIDED, "(5.0)", NOWHERE);
	CHECK(UNDECIDED, "([1, 2])", 0xdead0001);
	CHECK(DIFFER, "(a)", NOWHERE);
	CHECK(DIFFER, "(5)", NOWHERE);
	CHECK(UNDECIDED, "(X) when X == 5", NOWHERE);
	CHECK(DIFFER, "(X) when X =:= 5", NOWHERE);
	/* Copied words, and no memory behind them. */
	t->r.mem = NULL;
	t->r.copy = half;
	t->r.copy_addr = at;
	t->r.copy_words = 3;
	CHECK(MATCH, "({a, _})", tuple);
	t->r.copy_words = 2;
	CHECK(UNDECIDED, "({a, b})", tuple);
	CHECK(MATCH, "(X) when element(1, X) == a, tuple_size(X) == 2", tuple);
	t->r.copy_words = 0;
	CHECK(UNDECIDED, "({a, _})", tuple);
}

static void test_sizes(void **state)
{
	struct fixture *t = *state;
	uint64_t digits[1200] = {1100ull << 6 | 0x08}, cycle = cons(t, SMALL(7), TERM_NIL), huge,
		 inner, other;

	for (size_t i = 1; i < ARRAY_SIZE(digits); i++)
		digits[i] = i;
	huge = words(t, digits, 1101) | 2;
	CHECK(UNDECIDED, "(X) when X + 1 > X", huge); /* more than 65,536 bits */
	CHECK(MATCH, "(X) when X > 1 bsl 65000, X > 1.0e300, is_integer(X), X =:= X", huge);
	CHECK(UNDECIDED, "(X) when X bsl 65500 > 0", SMALL(1ll << 50));
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	CHECK(UNDECIDED, "(X) when length(X) > 5", cycle);
	inner = cons(t, SMALL(7), TERM_NIL);
	other = cons(t, SMALL(7), inner);
	image_u64(t->f->im, (inner & ~7ull) + 8, other);
	CHECK(UNDECIDED, "(X, Y) when X < Y; X =:= Y", cycle, other);
}

/* ---- what BPF tests -------------------------------------------------------------------------- */

static unsigned int tests_of(struct fixture *t, const char *text, struct call_test *out)
{
	struct error err = {0};
	struct call_pattern *p;
	struct call_matcher *m;
	unsigned int nr;

	assert_int_equal(call_pattern_parse(&p, text, &err), 0);
	call_matcher_open(&m, p, &t->r);
	nr = call_tests(m, out);
	call_matcher_close(m);
	call_pattern_free(p);
	return nr;
}

static void assert_test(const struct call_test *c, unsigned int arg, int element,
			unsigned int group, enum call_test_op op, uint64_t value)
{
	assert_int_equal(c->arg, arg);
	assert_int_equal(c->element, element);
	assert_int_equal(c->group, group);
	assert_int_equal(c->op, op);
	assert_int_equal(c->value, value);
}

static void test_tests(void **state)
{
	struct fixture *t = *state;
	struct call_test c[CALL_TESTS_MAX];
	uint64_t a = atom(t, "a"), header = 0x3full << 32;

	assert_int_equal(tests_of(t, "m:f", c), 0);
	assert_int_equal(tests_of(t, "m:f(_, X)", c), 0);
	assert_int_equal(tests_of(t, "m:f(_, {a, X, [_ | _], 1.5}) when X >= 3, 7 > X", c), 6);
	assert_test(&c[0], 1, -1, 0, CALL_TEST_HEADER, 0xffffffffull << 32 | 4 << 6);
	assert_test(&c[1], 1, 0, 0, CALL_TEST_EQUAL, a);
	assert_test(&c[2], 1, 2, 0, CALL_TEST_TYPE, 1 << CALL_TYPE_CONS);
	assert_test(&c[3], 1, 3, 0, CALL_TEST_HEADER, header | 0x18);
	assert_test(&c[4], 1, 1, 0, CALL_TEST_SMALL_GE, SMALL(3));
	assert_test(&c[5], 1, 1, 0, CALL_TEST_SMALL_LT, SMALL(7));
	assert_int_equal(
		tests_of(t, "m:f(X, Y) when X == a, Y > 1; is_map(Y) orelse X; X =/= 5", c), 0);
	assert_int_equal(tests_of(t, "m:f(X, Y) when X == a, Y > 1; is_list(Y); X =/= 5", c), 4);
	assert_test(&c[0], 0, -1, 1, CALL_TEST_EQUAL, a);
	assert_test(&c[1], 1, -1, 1, CALL_TEST_SMALL_GT, SMALL(1));
	assert_test(&c[2], 1, -1, 2, CALL_TEST_TYPE, 1 << CALL_TYPE_CONS | 1 << CALL_TYPE_NIL);
	assert_test(&c[3], 0, -1, 3, CALL_TEST_UNEQUAL, SMALL(5));
	/* An atom that may yet come to be, and what is of no word. */
	assert_int_equal(tests_of(t, "m:f(nosuch, X) when X == nosuch, X =:= 1.5", c), 1);
	assert_test(&c[0], 0, -1, 0, CALL_TEST_TYPE, 1 << CALL_TYPE_ATOM);
	assert_int_equal(tests_of(t, "m:f(#{}, [], -18446744073709551616, <<>>)", c), 4);
	assert_test(&c[0], 0, -1, 0, CALL_TEST_HEADER, header | (t->r.otp >= 27 ? 0x2c : 0x3c));
	assert_test(&c[1], 1, -1, 0, CALL_TEST_EQUAL, TERM_NIL);
	assert_test(&c[2], 2, -1, 0, CALL_TEST_HEADER, header | 0x0c);
	assert_test(&c[3], 3, -1, 0, CALL_TEST_TYPE, 1 << CALL_TYPE_BOXED);
	assert_int_equal(
		tests_of(t,
			 "m:f(1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,X) when "
			 "X == 1; X == 2",
			 c),
		CALL_TESTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_constants), TEST_ALL(test_structures), TEST_ALL(test_binaries),
		TEST_ALL(test_guards),	  TEST_ALL(test_undecided),  TEST(test_sizes, 29),
		TEST_ALL(test_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
