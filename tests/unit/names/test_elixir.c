/* SPDX-License-Identifier: BSD-2-Clause */
/* Atoms, keys, captures, functions and strings as Elixir 1.14 to 1.19 writes them; text of any
 * bytes, which is never read past its end and never leaves as it came if a terminal would mind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "names/elixir.h"
#include "names/utf8.h"

struct spelling {
	const char *text, *shown;
};

typedef void format_fn(struct strbuf *out, const char *text, size_t len);

/* The text in memory of just its length: the sanitizer watches its end. */
static void check_bytes(format_fn *format, const char *text, size_t len, const char *shown)
{
	struct strbuf out = STRBUF_INIT;
	char *exact = xmalloc(len ? len : 1);

	memcpy(exact, text, len);
	format(&out, exact, len);
	assert_string_equal(out.buf ? out.buf : "", shown);
	strbuf_free(&out);
	free(exact);
}

static void check_all(format_fn *format, const struct spelling *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		check_bytes(format, s[i].text, strlen(s[i].text), s[i].shown);
}

/* ---- atoms ---------------------------------------------------------------------------------- */

static void test_atoms(void **state)
{
	static const struct spelling atoms[] = {
		{"a", ":a"},
		{"nil", "nil"},
		{"true", "true"},
		{"false", "false"},
		{"nils", ":nils"},
		{"undefined", ":undefined"},
		{"", ":\"\""},
		{"foo bar", ":\"foo bar\""},
		{"foo?", ":foo?"},
		{"foo!", ":foo!"},
		{"foo?bar", ":\"foo?bar\""},
		{"?", ":\"?\""},
		{"foo@bar", ":foo@bar"},
		{"@foo", ":\"@foo\""},
		{"Foo", ":Foo"},
		{"_", ":_"},
		{"1a", ":\"1a\""},
		{"a1_B", ":a1_B"},
		{"a-b", ":\"a-b\""},
		{"$gen_call", ":\"$gen_call\""},
		{"été", ":été"},
		{"Élan", ":Élan"},
		{"a→b", ":\"a→b\""},
		{"+", ":+"},
		{"++", ":++"},
		{"!", ":!"},
		{"@", ":@"},
		{"%{}", ":%{}"},
		{"{}", ":{}"},
		{"<<>>", ":<<>>"},
		{"..", ":.."},
		{"..//", ":..//"},
		{"->", ":->"},
		{"::", ":\"::\""},
		{"~~~", ":\"~~~\""},
		{"+-", ":\"+-\""},
		{"Elixir", "Elixir"},
		{"Elixir.Enum", "Enum"},
		{"Elixir.A.B", "A.B"},
		{"Elixir.foo", ":\"Elixir.foo\""},
		{"Elixir.", ":\"Elixir.\""},
		{"Elixir.A.", ":\"Elixir.A.\""},
		{"Elixir.Elixir.A", "Elixir.Elixir.A"},
		{"Elixirs", ":Elixirs"},
		{"q\"q", ":\"q\\\"q\""},
	};

	UNUSED(state);
	check_all(elixir_format_atom, atoms, ARRAY_SIZE(atoms));
}

static void test_keys(void **state)
{
	static const struct spelling keys[] = {
		{"a", "a:"},
		{"nil", "nil:"},
		{"foo?", "foo?:"},
		{"foo bar", "\"foo bar\":"},
		{"Foo", "Foo:"},
		{"Elixir.Enum", "\"Elixir.Enum\":"},
		{"+", "+:"},
		{"::", "\"::\":"},
		{"", "\"\":"},
		{"été", "été:"},
		{"a\nb", "\"a\\nb\":"},
		{"{}", "{}:"},
	};

	UNUSED(state);
	check_all(elixir_format_key, keys, ARRAY_SIZE(keys));
}

static void test_aliases(void **state)
{
	static const struct {
		const char *text;
		bool module, alias;
	} cases[] = {
		{"Elixir", true, true},
		{"Elixir.Enum", true, true},
		{"Elixir.A1_b.C", true, true},
		{"Elixir.odd", true, false},
		{"Elixir.", true, false},
		{"Elixir.A..B", true, false},
		{"Elixir.A.", true, false},
		{"Elixir.A b", true, false},
		{"Elixir.É", true, false},
		{"Elixi", false, false},
		{"Elixirs", false, false},
		{"elixir.A", false, false},
		{"", false, false},
		{"lists", false, false},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);
		char *exact = xmalloc(len ? len : 1);

		memcpy(exact, cases[i].text, len);
		assert_int_equal(elixir_is_module(exact, len), cases[i].module);
		assert_int_equal(elixir_is_alias(exact, len), cases[i].alias);
		free(exact);
	}
	assert_false(elixir_is_alias("Elixir.A\0B", 10)); /* a NUL is no end */
}

/* ---- functions ------------------------------------------------------------------------------ */

static void test_captures(void **state)
{
	static const struct {
		const char *module, *name;
		uint32_t arity;
		const char *shown;
	} cases[] = {
		{"Elixir.Enum", "map", 2, "Enum.map/2"},
		{"lists", "map", 2, ":lists.map/2"},
		{"lists", "odd one", 1, ":lists.\"odd one\"/1"},
		{"erlang", "+", 2, ":erlang.+/2"},
		{"erlang", "/=", 2, ":erlang.\"/=\"/2"},
		{"odd module", "Up", 0, ":\"odd module\".\"Up\"/0"},
		{"", "", UINT32_MAX, ":\"\".\"\"/4294967295"},
		{"Elixir.M", "ok?", 255, "M.ok?/255"},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT;

		elixir_format_capture(&out, cases[i].module, cases[i].name, cases[i].arity);
		assert_string_equal(out.buf, cases[i].shown);
		strbuf_free(&out);
	}
}

/* Functions that the compiler named after their parents, and names that only look like those. */
static void test_parents(void **state)
{
	static const struct spelling names[] = {
		{"-run/2-fun-0-", "anonymous fn/1 in M.run/2"},
		{"-run/2-inlined-0-", "anonymous fn/1 in M.run/2"},
		{"-odd one/12-fun-34-", "anonymous fn/1 in M.\"odd one\"/12"},
		{"-a/b/2-fun-0-", "anonymous fn/1 in M.\"a/b\"/2"},
		{"-/2-fun-0-", "anonymous fn/1 in M.\"\"/2"},
		{"-run/2-fun-0", "M.\"-run/2-fun-0\"/1"},
		{"-run/2-fun-0-x", "M.\"-run/2-fun-0-x\"/1"},
		{"-run/2-fun-", "M.\"-run/2-fun-\"/1"},
		{"-run/2-lc$^0/1-0-", "M.\"-run/2-lc$^0/1-0-\"/1"},
		{"run/2-fun-0-", "M.\"run/2-fun-0-\"/1"},
		{"-", "M.-/1"}, /* the operator */
		{"-/", "M.\"-/\"/1"},
		{"-/2", "M.\"-/2\"/1"},
		{"-/2-", "M.\"-/2-\"/1"},
		{"/", "M.//1"},
		{"", "M.\"\"/1"},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct strbuf out = STRBUF_INIT;

		elixir_format_function(&out, "Elixir.M", names[i].text, 1);
		assert_string_equal(out.buf, names[i].shown);
		strbuf_free(&out);
	}
}

/* ---- strings -------------------------------------------------------------------------------- */

static void test_escapes(void **state)
{
	static const struct spelling strings[] = {
		{"", ""},
		{"plain é 漢", "plain é 漢"},
		{"a\"b\\c", "a\\\"b\\\\c"},
		{"\a\b\x7f\x1b\f\n\r\t\v", "\\a\\b\\d\\e\\f\\n\\r\\t\\v"},
		{"\x01\x1f", "\\x01\\x1F"},
		{"#{x} # #x", "\\#{x} # #x"},
		{"#", "#"},
		{"\302\200\302\237\302\240", "\\u0080\\u009F\\u00A0"},
		{"\342\200\213\342\200\256\357\273\277", "\\u200B\\u202E\\uFEFF"},
		{"\xff", "\357\277\275"},   /* not UTF-8 */
		{"a\303", "a\357\277\275"}, /* cut */
		{"\300\200", "\\0"},
	};

	UNUSED(state);
	check_all(elixir_escape, strings, ARRAY_SIZE(strings));
	check_bytes(elixir_escape, "a\0b", 3, "a\\0b");
	check_bytes(elixir_escape, "#{", 1, "#"); /* the brace is beyond the end */
}

/* ---- any bytes ------------------------------------------------------------------------------ */

/* UTF-8, and nothing that a terminal would act on. */
static void check_harmless(const struct strbuf *out)
{
	uint32_t c;

	for (size_t i = 0, size; i < out->len; i += size) {
		size = utf8_decode(out->buf + i, out->len - i, &c);
		assert_true(c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0));
		assert_true(c != UTF8_REPLACEMENT || size == 3);
		assert_true(c != 0x202e && c != 0x200b);
	}
}

static void test_noise(void **state)
{
	static const char pieces[][8] = {
		"Elixir", ".",	      "A",    "a",    "/2",   "-fun-0-",
		"-",	  "?",	      "\x1b", "\303", "\251", "\342\200\256",
		"#{",	  "\300\200", "\"",   "@",    " ",    "\xff"};
	static format_fn *const formats[] = {elixir_format_atom, elixir_format_key,
					     elixir_format_module, elixir_escape};
	uint32_t x = 12345;

	UNUSED(state);
	for (int round = 0; round < 20000; round++) {
		struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
		char *exact;

		for (uint32_t nr = x % 7; nr > 0; nr--) {
			x = x * 1664525 + 1013904223;
			strbuf_addstr(&text, pieces[(x >> 16) % ARRAY_SIZE(pieces)]);
		}
		x = x * 1664525 + 1013904223;
		exact = xmalloc(text.len + 1);
		memcpy(exact, text.len ? text.buf : "", text.len + 1);
		elixir_format_function(&out, "Elixir.M", exact, (int32_t)(x >> 20) - 1);
		elixir_format_capture(&out, exact, exact, x);
		exact = xrealloc(exact, text.len ? text.len : 1);
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
			formats[i](&out, exact, text.len);
		check_harmless(&out);
		strbuf_free(&text);
		strbuf_free(&out);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_atoms),	cmocka_unit_test(test_keys),
		cmocka_unit_test(test_aliases), cmocka_unit_test(test_captures),
		cmocka_unit_test(test_parents), cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
