/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What test_term.c does not have, printed by a reader of a node: big integers, maps, records,
 * identifiers, Elixir's style, depth, and what cannot be read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "lib/termfix.h"

static uint64_t string(struct fixture *t, const char *s)
{
	uint64_t list = TERM_NIL;

	for (size_t i = strlen(s); i-- > 0;)
		list = cons(t, SMALL((unsigned char)s[i]), list);
	return list;
}

static uint64_t binary(struct fixture *t, const char *text)
{
	uint64_t w[16] = {0}, size = strlen(text);

	w[0] = (1 + (size + 7) / 8) << 6 | (t->r.otp >= 27 ? 0x20 : 0x24);
	w[1] = t->r.otp >= 27 ? 8 * size : size;
	memcpy(w + 2, text, size);
	return words(t, w, 2 + (size + 7) / 8) | 2;
}

static uint64_t real(struct fixture *t, double value)
{
	uint64_t raw;

	memcpy(&raw, &value, 8);
	return BOXED(t, 1 << 6 | 0x18, raw);
}

static uint64_t map_header(struct fixture *t, unsigned int type, uint64_t bitmap)
{
	return bitmap << 16 | 1 << 8 | type << 6 | (t->r.otp >= 27 ? 0x2c : 0x3c);
}

static uint64_t map2(struct fixture *t, uint64_t k1, uint64_t v1, uint64_t k2, uint64_t v2)
{
	return BOXED(t, map_header(t, 0, 0), 2, TUPLE(t, k1, k2), v1, v2);
}

static void assert_text(struct fixture *t, uint64_t term, const char *expect)
{
	struct strbuf out = STRBUF_INIT;

	term_print(&t->r, &out, term);
	assert_string_equal(out.buf, expect);
	strbuf_free(&out);
}

static void assert_elixir(struct fixture *t, uint64_t term, const char *expect)
{
	t->r.style = TERM_STYLE_ELIXIR;
	assert_text(t, term, expect);
	t->r.style = TERM_STYLE_ERLANG;
}

/* ---- Erlang --------------------------------------------------------------------------------- */

static void test_big(void **state)
{
	struct fixture *t = *state;
	uint64_t w[3000];

	assert_text(t, BOXED(t, 1 << 6 | 0x08, 1ull << 59), "576460752303423488");
	assert_text(t, BOXED(t, 1 << 6 | 0x0c, (1ull << 59) + 1), "-576460752303423489");
	assert_text(t, BOXED(t, 1 << 6 | 0x08, 10000000000000000000ull), "10000000000000000000");
	assert_text(t, BOXED(t, 2 << 6 | 0x08, 0, 1), "18446744073709551616");
	assert_text(t, BOXED(t, 2 << 6 | 0x0c, UINT64_MAX, UINT64_MAX),
		    "-340282366920938463463374607431768211455");
	memset(w, 0xff, sizeof(w));
	w[0] = 2999 << 6 | 0x08; /* too long to be worked out */
	assert_text(t, words(t, w, 3000) | 2, "...");
	assert_int_equal(t->r.unreadable, 0);
}

static void test_maps(void **state)
{
	struct fixture *t = *state;
	uint64_t map = map2(t, atom(t, "a"), SMALL(1), string(t, "b"), string(t, "c"));
	uint64_t hash = BOXED(t, map_header(t, 3, 0x30), 2, cons(t, SMALL(1), SMALL(10)),
			      cons(t, SMALL(2), SMALL(20)));

	assert_text(t, BOXED(t, map_header(t, 0, 0), 0, BOXED(t, 0)), "#{}");
	assert_text(t, map, "#{a => 1,\"b\" => \"c\"}");
	assert_text(t, map2(t, map, map, TERM_NIL, TERM_NIL),
		    "#{#{a => 1,\"b\" => \"c\"} => #{a => 1,\"b\" => \"c\"},[] => []}");
	assert_text(t, hash, "#{1 => 10,2 => 20}");
	/* As maps:to_list(), which is the other way up to OTP 27. */
	assert_elixir(t, hash, t->r.otp < 29 ? "%{2 => 20, 1 => 10}" : "%{1 => 10, 2 => 20}");
	t->r.max_elements = 1;
	assert_text(t, map, "#{a => 1,...}");
	assert_text(t, hash, "#{1 => 10,...}");
	t->r.max_elements = 64;
	image_u64(t->f->im, (hash & ~7ull) + 8, 3);
	assert_int_equal(t->r.unreadable, 0);
	t->r.node = NULL;
	assert_text(t, hash, "#{1 => 10,2 => 20,...}");
	assert_int_equal(t->r.unreadable, 1);
}

static void test_identifiers(void **state)
{
	struct fixture *t = *state;
	const struct beam_layout *l = &t->f->node.layout;
	raddr node = image_alloc(t->f->im, 64);
	uint64_t name = atom(t, "b@host");
	uint64_t ref = BOXED(t, 2 << 6 | 0x10, 7ull << 32 | 0xffffffff, 9ull << 32 | 8);
	char expect[100];

	image_u64(t->f->im, node + (raddr)l->node_sysname, name);
	image_u64(t->f->im, node + (raddr)l->node_dist_entry, 0xd157);
	assert_text(t, ref, "#Ref<0.9.8.7>");
	assert_elixir(t, ref, "#Reference<0.9.8.7>");
	snprintf(expect, sizeof(expect), "<%d.80.2>", (int)(name >> 6));
	assert_text(t, BOXED(t, 3 << 6 | 0x30, node, 0, 2ull << 32 | 80), expect);
	snprintf(expect, sizeof(expect), "#Port<%d.5>", (int)(name >> 6));
	assert_text(t, BOXED(t, 3 << 6 | 0x34, node, 0, 5), expect);
	snprintf(expect, sizeof(expect), "#Ref<%d.9.8.7>", (int)(name >> 6));
	assert_text(t, BOXED(t, 4 << 6 | 0x38, node, 0, 7ull << 32 | 3, 9ull << 32 | 8), expect);
	assert_elixir(t, 80 << 4 | 3, t->r.otp <= 25 ? "#PID<0.80.0>" : "#PID<0.10.0>");
	/* This node in an earlier life. */
	image_u64(t->f->im, node + (raddr)l->node_dist_entry, 0);
	assert_text(t, BOXED(t, 3 << 6 | 0x30, node, 0, 2ull << 32 | 80), "<0.80.2>");
}

static void test_funs(void **state)
{
	struct fixture *t = *state;
	const struct beam_layout *l = &t->f->node.layout;
	raddr entry = image_alloc(t->f->im, 128);
	raddr odd = fakenode_export(t->f, "a@b", "receive", 2);
	raddr lists = fakenode_export(t->f, "lists", "map", 2);
	bool old = t->r.otp <= 26;
	uint64_t fun, external = t->r.otp >= 28 ? 1 << 24 : 0;

	image_u64(t->f->im, entry + (raddr)l->fun_entry_module, atom(t, "Elixir.My.Mod"));
	image_u32(t->f->im, entry + (raddr)l->fun_entry_old_index, 4);
	image_u32(t->f->im, entry + (raddr)l->fun_entry_old_uniq, 12345);
	if (t->r.otp == 24)
		fun = BOXED(t, 5 << 6 | 0x14, entry, 0, 2, 0, 0x503);
	else if (old)
		fun = BOXED(t, 4 << 6 | 0x14, entry, 0, 2, 0x503);
	else
		fun = BOXED(t, (t->r.otp == 27) << 16 | 2 << 8 | 0x14, entry, 0);
	assert_text(t, fun, "#Fun<Elixir.My.Mod.4.12345>");
	assert_elixir(t, fun, "#Function<4.12345/2 in My.Mod>");
	for (int i = 0; i < 2; i++) {
		raddr export = i ? odd : lists;

		if (t->r.otp == 24)
			fun = BOXED(t, 1 << 6 | 0x1c, export);
		else if (old)
			fun = BOXED(t, 4 << 6 | 0x14, export, 0, 2, atom(t, "external"));
		else
			fun = BOXED(t, external | 2 << 8 | 0x14, export);
		assert_text(t, fun, i ? "fun 'a@b':receive/2" : "fun lists:map/2");
		assert_elixir(t, fun, i ? "&:a@b.receive/2" : "&:lists.map/2");
	}
}

static void test_records(void **state)
{
	struct fixture *t = *state;
	uint64_t definition =
		BOXED(t, 7 << 6, TUPLE(t, SMALL(1), SMALL(0)), SMALL(99), atom(t, "m"),
		      atom(t, "odd one"), atom(t, "true"), atom(t, "x"), atom(t, "y"));
	uint64_t record = BOXED(t, 3 << 6 | 0x1c, definition, TERM_NIL, string(t, "abc"));

	assert_text(t, record, "#m:'odd one'{y = \"abc\",x = []}");
	assert_text(t,
		    BOXED(t, 1 << 6 | 0x1c,
			  BOXED(t, 5 << 6, BOXED(t, 0), SMALL(1), atom(t, "m"), atom(t, "r"),
				TERM_NIL)),
		    "#m:r{}");
}

/* ---- Elixir: as inspect(Term, limit: :infinity) of Elixir 1.14 ------------------------------ */

static void test_elixir_atoms(void **state)
{
	static const struct {
		const char *text, *atom, *keywords;
	} cases[] = {
		{"a", ":a", "[a: 1]"},
		{"foo bar", ":\"foo bar\"", "[\"foo bar\": 1]"},
		{"+", ":+", "[+: 1]"},
		{"{}", ":{}", "[{}: 1]"},
		{"..//", ":..//", "[..//: 1]"},
		{"::", ":\"::\"", "[\"::\": 1]"},
		{"~~~", ":\"~~~\"", "[\"~~~\": 1]"},
		{"=>", ":\"=>\"", "[\"=>\": 1]"},
		{"nil", "nil", "[nil: 1]"},
		{"true", "true", "[true: 1]"},
		{"false", "false", "[false: 1]"},
		{"Elixir.Foo.Bar", "Foo.Bar", "[{Foo.Bar, 1}]"},
		{"Elixir.foo", ":\"Elixir.foo\"", "[{:\"Elixir.foo\", 1}]"},
		{"Elixir", "Elixir", "[\"Elixir\": 1]"},
		{"Foo", ":Foo", "[Foo: 1]"},
		{"foo?", ":foo?", "[foo?: 1]"},
		{"foo?a", ":\"foo?a\"", "[\"foo?a\": 1]"},
		{"9a", ":\"9a\"", "[\"9a\": 1]"},
		{"_", ":_", "[_: 1]"},
		{"\xc3\x89", ":\xc3\x89", "[\xc3\x89: 1]"},
		{"a@b", ":a@b", "[a@b: 1]"},
		{"", ":\"\"", "[\"\": 1]"},
		{"a#{b", ":\"a\\#{b\"", "[\"a\\#{b\": 1]"},
	};
	struct fixture *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t a = atom(t, cases[i].text);

		assert_elixir(t, a, cases[i].atom);
		assert_elixir(t, cons(t, TUPLE(t, a, SMALL(1)), TERM_NIL), cases[i].keywords);
	}
}

static void test_elixir(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), pair = TUPLE(t, a, SMALL(1)), name = atom(t, "__struct__");

	assert_elixir(t, cons(t, SMALL(1), SMALL(2)), "[1 | 2]");
	assert_elixir(t, string(t, "\aA"), "~c\"\\aA\"");
	assert_elixir(t, string(t, "a\"#{}"), "~c\"a\\\"\\#{}\"");
	assert_elixir(t, string(t, "\x7f"), "[127]");
	assert_elixir(t, string(t, "\xe9"), "[233]");
	assert_elixir(t, TERM_NIL, "[]");
	assert_elixir(t, cons(t, pair, cons(t, SMALL(2), TERM_NIL)), "[{:a, 1}, 2]");
	assert_elixir(t, cons(t, pair, a), "[{:a, 1} | :a]");
	assert_elixir(t, cons(t, pair, cons(t, pair, TERM_NIL)), "[a: 1, a: 1]");
	assert_elixir(t, BOXED(t, 0), "{}");
	assert_elixir(t, TUPLE(t, a, BOXED(t, 0)), "{:a, {}}");
	assert_elixir(t, binary(t, ""), "\"\"");
	assert_elixir(t, binary(t, "a\"b\\\n\x7f"), "\"a\\\"b\\\\\\n\\d\"");
	assert_elixir(t, binary(t, "\xff"), "<<255>>");
	assert_elixir(t, binary(t, "\xe9z\1"), "<<233, 122, 1>>");
	assert_elixir(t, binary(t, "\xe6\x97\xa5"), "\"\xe6\x97\xa5\"");
	assert_elixir(t, binary(t, "\xe2\x80\xae"), "\"\\u202E\""); /* turns what follows */
	assert_elixir(t, real(t, 1.0e10), "10000000000.0");
	assert_elixir(t, real(t, 1.0e15), "1000000000000000.0");
	assert_elixir(t, real(t, 1.0e16), "1.0e16");
	assert_elixir(t, real(t, -1000.0), "-1000.0");
	assert_elixir(t, real(t, 1.0e-5), "1.0e-5");
	assert_elixir(t, map2(t, a, SMALL(1), atom(t, "b c"), TERM_NIL), "%{a: 1, \"b c\": []}");
	assert_elixir(t, map2(t, a, SMALL(1), binary(t, "k"), TERM_NIL), "%{:a => 1, \"k\" => []}");
	assert_elixir(t, map2(t, atom(t, "Elixir.A"), SMALL(1), a, TERM_NIL),
		      "%{A => 1, :a => []}");
	assert_elixir(t, map2(t, name, atom(t, "Elixir.My.Mod"), a, TERM_NIL), "%My.Mod{a: []}");
	assert_elixir(t, map2(t, a, TERM_NIL, name, atom(t, "Elixir.My.Mod")), "%My.Mod{a: []}");
	assert_elixir(t, map2(t, name, a, a, TERM_NIL), "%{__struct__: :a, a: []}");
	assert_elixir(t, BOXED(t, map_header(t, 0, 0), 0, BOXED(t, 0)), "%{}");
	t->r.max_elements = 1;
	assert_elixir(t, cons(t, pair, cons(t, pair, TERM_NIL)), "[a: 1, ...]");
	assert_elixir(t, map2(t, a, SMALL(1), a, TERM_NIL), "%{a: 1, ...}");
}

/* ---- limits, damage ------------------------------------------------------------------------- */

static void test_depth(void **state)
{
	struct fixture *t = *state;
	struct strbuf out = STRBUF_INIT;
	uint64_t kinds[3] = {TERM_NIL, TERM_NIL, TERM_NIL}, key = TUPLE(t, TERM_NIL),
		 a = atom(t, "a");
	const int levels = 100000;
	raddr at = 0x700000000000;

	image_map(t->f->im, at, (size_t)levels * 64 + 64);
	for (int i = 0; i < levels; i++) {
		image_put(t->f->im, at, (uint64_t[]){1 << 6, kinds[0]}, 16);
		kinds[0] = at | 2;
		image_put(t->f->im, at + 16, (uint64_t[]){kinds[1], a}, 16);
		kinds[1] = (at + 16) | 1;
		image_put(t->f->im, at + 32, (uint64_t[]){map_header(t, 0, 0), 1, key, kinds[2]},
			  32);
		kinds[2] = (at + 32) | 2;
		at += 64;
	}
	for (int i = 0; i < 3; i++) {
		static const char *const cut[] = {"{{{{...}}}}", "[[[[...|...]|a]",
						  "#{... => ...}}"};

		strbuf_reset(&out);
		term_print(&t->r, &out, kinds[i]);
		assert_in_range(out.len, 2000, 10000); /* 1,000 levels */
		assert_non_null(strstr(out.buf, cut[i]));
		t->r.depth = levels + 1;
		strbuf_reset(&out);
		term_print(&t->r, &out, kinds[i]);
		assert_int_equal(out.len, (i == 2 ? 9 : i ? 4 : 2) * levels + 2);
		t->r.depth = 1000;
	}
	strbuf_free(&out);
}

static void test_unreadable(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a");

	assert_text(t, TUPLE(t, a, 0xdead0002, a), "{a,#Unreadable<0xdead0000>,a}");
	assert_int_equal(t->r.unreadable, 1);
	assert_text(t, cons(t, a, 0xdead0001), "[a,#Unreadable<0xdead0000>]");
	assert_int_equal(t->r.unreadable, 2);
	assert_text(t, (1ull << 40) << 6 | 0x0b, "#Unreadable<0x40000000000b>"); /* no atom */
	assert_int_equal(t->r.unreadable, 3);
}

/* Keywords whose first value is that very list: each level would look at all of them first. */
static void test_look_ahead(void **state)
{
	enum { NR = 20000 };
	struct fixture *t = *state;
	struct strbuf out = STRBUF_INIT;
	uint64_t a = atom(t, "a"), one = TUPLE(t, a, SMALL(1)), first = TUPLE(t, a, TERM_NIL);
	uint64_t *cells = calloc(2 * NR, sizeof(*cells));
	raddr addr = image_alloc(t->f->im, 2 * NR * sizeof(*cells));

	for (size_t i = 0; i < NR; i++) {
		cells[2 * i] = i ? one : first;
		cells[2 * i + 1] = i + 1 < NR ? (addr + 16 * (i + 1)) | 1 : TERM_NIL;
	}
	image_put(t->f->im, addr, cells, 2 * NR * sizeof(*cells));
	image_u64(t->f->im, (first & ~7ull) + 16, addr | 1);
	free(cells);
	t->r.style = TERM_STYLE_ELIXIR;
	t->r.depth = 1000;
	t->r.max_elements = NR;
	t->r.max_len = 100000;
	term_print(&t->r, &out, addr | 1);
	/* Beyond four million elements the levels below are lists of tuples. */
	assert_memory_equal(out.buf, "[a: [a: [a: [a: ", 16);
	assert_non_null(strstr(out.buf, "[a: [{:a, [{:a, "));
	strbuf_free(&out);
}

/* A tuple of a million pointers to itself; lists of lists of the same: ends at max_len. */
static void test_cycles(void **state)
{
	struct fixture *t = *state;
	struct strbuf out = STRBUF_INIT;
	uint64_t wide[65] = {64 << 6}, list, map;

	t->r.max_len = 100000;
	list = cons(t, TERM_NIL, TERM_NIL);
	image_put(t->f->im, list & ~7ull, (uint64_t[]){list, list}, 16);
	map = BOXED(t, map_header(t, 0, 0), 2, TUPLE(t, TERM_NIL, TERM_NIL), 0, 0);
	image_put(t->f->im, (map & ~7ull) + 24, (uint64_t[]){map, map}, 16);
	wide[1] = words(t, wide, 65) | 2;
	for (int i = 2; i <= 64; i++)
		wide[i] = wide[1];
	image_put(t->f->im, wide[1] & ~7ull, wide, sizeof(wide));
	for (int style = 0; style < 2; style++) {
		t->r.style = style ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
		for (int i = 0; i < 3; i++) {
			strbuf_reset(&out);
			term_print(&t->r, &out, i == 0 ? list : i == 1 ? map : wide[1]);
			assert_in_range(out.len, 100000, 120000);
		}
	}
	strbuf_free(&out);
}

static bool starts_with_s(const char *name, size_t len)
{
	return len > 0 && name[0] == 's';
}

/* Values of keys that begin with "s". */
static void test_secrets(void **state)
{
	struct fixture *t = *state;
	uint64_t s = atom(t, "s"), a = atom(t, "a");
	uint64_t pairs = cons(t, TUPLE(t, s, SMALL(1)), cons(t, TUPLE(t, a, SMALL(2)), TERM_NIL));
	uint64_t map = map2(t, string(t, "sx"), SMALL(1), binary(t, "ax"), map2(t, a, s, s, a));
	uint64_t hash = BOXED(t, map_header(t, 3, 0x30), 2, cons(t, binary(t, "s"), SMALL(10)),
			      cons(t, SMALL(2), SMALL(20)));
	struct strbuf out = STRBUF_INIT;

	assert_text(t, pairs, "[{s,1},{a,2}]");
	t->r.is_secret = starts_with_s;
	assert_text(t, pairs, "[{s,***},{a,2}]");
	assert_elixir(t, pairs, "[s: ***, a: 2]");
	assert_text(t, map, "#{\"sx\" => ***,<<\"ax\">> => #{a => s,s => ***}}");
	assert_elixir(t, map2(t, a, s, s, a), "%{a: :s, s: ***}");
	assert_text(t, hash, "#{<<\"s\">> => ***,2 => 20}");
	assert_int_equal(t->r.masked, 6);
	assert_text(t, TUPLE(t, s, pairs, TUPLE(t, a), real(t, 1.5), s), "{s,***,***,***,***}");
	assert_text(t, TUPLE(t, a, s, TUPLE(t, s, s)), "{a,s,{s,***}}");
	assert_text(t, cons(t, s, cons(t, TUPLE(t, s), TERM_NIL)), "[s,{s}]");
	assert_text(t, TUPLE(t, s, TERM_NIL, atom(t, "true"), atom(t, "nil"), binary(t, "")),
		    "{s,[],true,nil,<<>>}");
	t->r.depth = 1;
	assert_text(t, TUPLE(t, s, pairs), "{...,***}");
	t->r.depth = 10;
	term_print_value(&t->r, &out, s, pairs);
	strbuf_addch(&out, ' ');
	term_print_value(&t->r, &out, a, pairs);
	assert_string_equal(out.buf, "*** [{s,***},{a,2}]");
	strbuf_free(&out);
	if (t->r.otp == 29)
		assert_text(t,
			    BOXED(t, 3 << 6 | 0x1c,
				  BOXED(t, 7 << 6, TUPLE(t, SMALL(0), SMALL(1)), SMALL(99), a,
					atom(t, "r"), TERM_NIL, s, a),
				  SMALL(1), SMALL(2)),
			    "#a:r{s = ***,a = 2}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_big),    TEST_ALL(test_maps),	  TEST_ALL(test_identifiers),
		TEST_ALL(test_funs),   TEST(test_records, 29),	  TEST_ALL(test_elixir_atoms),
		TEST_ALL(test_elixir), TEST_ALL(test_depth),	  TEST_ALL(test_unreadable),
		TEST_ALL(test_cycles), TEST(test_look_ahead, 29), TEST_ALL(test_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
