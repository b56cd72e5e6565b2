/* SPDX-License-Identifier: BSD-2-Clause */
/* Shapes of messages: what stays of a term, what becomes `_`, how they are counted and
 * distinguished; terms that cannot be read, and tuples of every length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/message_shape.h"
#include "lib/mem_faulty.h"
#include "lib/termfix.h"

#define PID 0x503ull

/* The only shape of these messages, as text. */
static void check_same(struct fixture *t, const uint64_t *terms, size_t nr, const char *text)
{
	struct shape_table table = {0};
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < nr; i++)
		shape_add(&table, &t->r, terms[i], i + 1);
	shape_sort(&table);
	assert_int_equal(table.v.len, 1);
	assert_int_equal(table.v.data[0].count, nr);
	assert_int_equal(table.v.data[0].words, nr * (nr + 1) / 2);
	assert_true(table.v.data[0].nr >= 1 && table.v.data[0].nr <= SHAPE_WORDS);
	shape_print(&table.v.data[0], &t->r, &out);
	assert_string_equal(out.buf, text);
	strbuf_free(&out);
	shape_free(&table);
}
#define CHECK(t, text, ...)                                                                        \
	check_same(t, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8, text)

/* ---- what stays ------------------------------------------------------------------------------ */

static void test_tuples(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), log = atom(t, "log"), cast = atom(t, "$gen_cast");
	uint64_t inner = TUPLE(t, log, SMALL(1), PID), deep = TUPLE(t, log, TUPLE(t, a), TERM_NIL);

	CHECK(t, "{}", BOXED(t, 0));
	CHECK(t, "{a}", TUPLE(t, a), TUPLE(t, a), TUPLE(t, a) | 4); /* the last one a literal */
	CHECK(t, "{a, _}", TUPLE(t, a, SMALL(5)), TUPLE(t, a, PID),
	      TUPLE(t, a, cons(t, a, TERM_NIL)));
	CHECK(t, "{_, []}", TUPLE(t, SMALL(5), TERM_NIL));
	CHECK(t, "{'$gen_cast', {log, _, _}}", TUPLE(t, cast, inner));
	CHECK(t, "{'$gen_cast', {log, _, []}}", TUPLE(t, cast, deep)); /* no third level */
	CHECK(t, "{{}, {a}, {}}", TUPLE(t, BOXED(t, 0), TUPLE(t, a), BOXED(t, 0)));
	t->r.style = TERM_STYLE_ELIXIR;
	CHECK(t, "{:a, :log}", TUPLE(t, a, log));
}

static void test_whole_messages(void **state)
{
	struct fixture *t = *state;
	uint64_t list = cons(t, SMALL(1), TERM_NIL);

	CHECK(t, "ok", atom(t, "ok"), atom(t, "ok"));
	CHECK(t, "[]", TERM_NIL);
	CHECK(t, "integer()", SMALL(1), SMALL(-7));
	CHECK(t, "big integer()", BOXED(t, 1 << 6 | 8, 1ull << 62),
	      BOXED(t, 1 << 6 | 12, 1ull << 62));
	CHECK(t, "pid()", PID, PID + 16);
	CHECK(t, "list()", list, cons(t, PID, list));
	CHECK(t, "float()", BOXED(t, 1 << 6 | 0x18, 0));
	CHECK(t, "map()",
	      BOXED(t, 1 << 8 | (t->r.otp >= 27 ? 0x2c : 0x3c), 1, TUPLE(t, TERM_NIL), TERM_NIL));
}

static void test_wide_tuples(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), b = atom(t, "b"), n = SMALL(3);

	CHECK(t, "{a, b, _, _, _, _, _, b}", TUPLE(t, a, b, n, n, n, n, n, b));
	CHECK(t, "{a, b, _, ...}", TUPLE(t, a, b, n, n, n, n, n, n, b),
	      TUPLE(t, a, b, PID, n, n, n, n, n, a)); /* what differs is beyond */
	CHECK(t, "{{a, b, _, ...}, b}", TUPLE(t, TUPLE(t, a, b, n, n, n, n, n, n, b), b));
}

/* The fields of a tuple of tuples do not all have room; what has none is `_`, and nothing else
 * moves. */
static void test_no_room(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), b = atom(t, "b"), w = TUPLE(t, a, a, a, a, a, a, a, b);
	uint64_t s = TUPLE(t, a), wide = TUPLE(t, a, b, a, a, a, a, a, a, a);

	CHECK(t, "{{a, a, a, a, a, a, a, b}, {a, a, a, a, a, a, a, b}, _, _, _, _, _, b}",
	      TUPLE(t, w, w, w, w, w, w, w, b));
	CHECK(t, "{{a}, {a}, {a}, {a}, {a}, {a}, {a}, {a}}", TUPLE(t, s, s, s, s, s, s, s, s));
	CHECK(t, "{{a, b, a, ...}, {a, b, a, ...}, {a, b, a, ...}, {a, b, a, ...}, _, _, _, b}",
	      TUPLE(t, wide, wide, wide, wide, wide, wide, wide, b));
}

/* ---- what is hostile ------------------------------------------------------------------------- */

static void test_unreadable(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), nowhere = 0xdead0002, cut = BOXED(t, 3 << 6, a, a);

	CHECK(t, "(not decoded)", 0, 0);
	CHECK(t, "(unreadable)", nowhere, 2, 0xdead0001);
	CHECK(t, "(unreadable)", 0x1b, 0x2b, 1ull << 6); /* a catch, nothing, a header */
	CHECK(t, "{a, _}", TUPLE(t, a, nowhere), TUPLE(t, a, 0), TUPLE(t, a, 0x1b),
	      TUPLE(t, a, 3 << 6), TUPLE(t, a, UINT64_MAX), TUPLE(t, a, cut));
	CHECK(t, "{a, b, c, ...}",
	      BOXED(t, 1ull << 40 << 6, a, atom(t, "b"), atom(t, "c"))); /* says it has more */
}

/* A tuple longer than its memory is not read beyond it. */
static void test_cut(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a");

	for (uint64_t arity = 1; arity < 20; arity++) {
		uint64_t need = arity > 8 ? 3 : arity;

		for (uint64_t have = 0; have < need; have++) {
			raddr at = image_alloc(t->f->im, 8 + 8 * (size_t)have);
			struct shape_table table = {0};

			image_u64(t->f->im, at, arity << 6);
			for (uint64_t i = 0; i < have; i++)
				image_u64(t->f->im, at + 8 + 8 * i, a);
			shape_add(&table, &t->r, at | 2, 0);
			shape_add(&table, &t->r, TUPLE(t, at | 2, a), 0);
			assert_int_equal(table.v.len, 2);
			assert_int_equal(table.v.data[0].nr, 1);
			assert_int_equal(table.v.data[1].nr, 3); /* {_, a} */
			assert_int_equal(table.v.data[1].key[2], a);
			shape_free(&table);
		}
	}
}

static void test_cycle(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), self = TUPLE(t, a, 0), list = cons(t, a, TERM_NIL);

	image_u64(t->f->im, (self & ~7ull) + 16, self);
	CHECK(t, "{a, {a, _}}", self);
	image_u64(t->f->im, (list & ~7ull) + 8, list);
	CHECK(t, "list()", list);
}

static void test_faults(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), term = TUPLE(t, a, TUPLE(t, a, SMALL(1)));
	struct mem *whole = t->r.mem;
	static const char *const texts[] = {"{a, {a, _}}", "tuple()", "tuple()", "{a, _}",
					    "{a, _}"};

	CHECK(t, texts[0], term);
	for (uint64_t nth = 1; nth < ARRAY_SIZE(texts); nth++) {
		t->r.mem = mem_open_faulty(whole, 0, 0, nth);
		CHECK(t, texts[nth], term);
		mem_close(t->r.mem);
	}
	t->r.mem = whole;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void test_counts(void **state)
{
	struct fixture *t = *state;
	uint64_t one = TUPLE(t, atom(t, "one"), SMALL(1)), two = TUPLE(t, atom(t, "two"), PID);
	const uint64_t orders[][6] = {{one, two, two, TERM_NIL, one, two},
				      {two, two, one, one, TERM_NIL, two}};
	uint64_t keys[2][3];

	for (size_t k = 0; k < ARRAY_SIZE(orders); k++) {
		struct shape_table table = {0};

		shape_sort(&table); /* empty */
		for (size_t i = 0; i < ARRAY_SIZE(orders[k]); i++)
			shape_add(&table, &t->r, orders[k][i], 10);
		shape_sort(&table);
		assert_int_equal(table.v.len, 3);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(table.v.data[i].count, 3 - i);
			assert_int_equal(table.v.data[i].words, 10 * (3 - i));
			keys[k][i] = table.v.data[i].key[table.v.data[i].nr > 1];
		}
		assert_int_equal(table.other, 0);
		shape_reset(&table);
		assert_int_equal(table.v.len, 0);
		shape_add(&table, &t->r, one, 1);
		assert_int_equal(table.v.len, 1);
		assert_int_equal(table.v.data[0].count, 1);
		shape_free(&table);
	}
	assert_memory_equal(keys[0], keys[1], sizeof(keys[0]));
	assert_int_equal(keys[0][0], atom(t, "two"));
	assert_int_equal(keys[0][2], TERM_NIL);
}

/* The same numbers, the same order, whatever came first. */
static void test_ties(void **state)
{
	struct fixture *t = *state;
	struct shape_table up = {0}, down = {0};
	uint64_t terms[40];

	for (uint64_t i = 0; i < ARRAY_SIZE(terms); i++) {
		char name[8] = {(char)('a' + i / 10), (char)('0' + i % 10)};

		terms[i] = i % 2 ? TUPLE(t, atom(t, name)) : atom(t, name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
		shape_add(&up, &t->r, terms[i], 0);
		shape_add(&down, &t->r, terms[ARRAY_SIZE(terms) - 1 - i], 0);
	}
	shape_sort(&up);
	shape_sort(&down);
	assert_int_equal(up.v.len, ARRAY_SIZE(terms));
	assert_int_equal(down.v.len, ARRAY_SIZE(terms));
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		assert_memory_equal(up.v.data[i].key, down.v.data[i].key, sizeof(up.v.data[i].key));
	shape_free(&up);
	shape_free(&down);
}

/* Beyond the limit new shapes are counted together, those that are known as before. */
static void test_too_many(void **state)
{
	enum { EXTRA = 10 };
	struct fixture *t = *state;
	uint64_t term = TUPLE(t, 0, 0);
	raddr elements = (term & ~7ull) + 8;
	struct shape_table table = {0};

	for (int round = 1; round <= 2; round++) {
		for (uint64_t i = 0; i < SHAPES_MAX + EXTRA; i++) {
			image_u64(t->f->im, elements, (i / 100) << 6 | 0x0b);
			image_u64(t->f->im, elements + 8, (i % 100) << 6 | 0x0b);
			shape_add(&table, &t->r, term, 3);
		}
		assert_int_equal(table.v.len, SHAPES_MAX);
		assert_int_equal(table.other, EXTRA * round);
		assert_int_equal(table.other_words, 3 * EXTRA * round);
	}
	for (size_t i = 0; i < table.v.len; i++) {
		assert_int_equal(table.v.data[i].count, 2);
		assert_int_equal(table.v.data[i].words, 6);
	}
	shape_reset(&table);
	assert_int_equal(table.other + table.other_words, 0);
	shape_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_tuples),	TEST_ALL(test_whole_messages), TEST_ALL(test_wide_tuples),
		TEST_ALL(test_no_room), TEST_ALL(test_unreadable),     TEST_ALL(test_cut),
		TEST_ALL(test_cycle),	TEST_ALL(test_faults),	       TEST_ALL(test_counts),
		TEST(test_ties, 27),	TEST(test_too_many, 27),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
