/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Display text of names.  The tables hold what the languages themselves answer: io_lib:write_atom/1
 * of OTP 27 and 29, Exception.format_mfa/3 of Elixir 1.14 (escapes of invisible characters as in
 * Elixir 1.19).  NUL stands as C0 80, as in the dictionary.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "names/names.h"
#include "names/utf8.h"

struct spelling {
	const char *text;
	const char *shown;
};

/* clang-format off */
static const struct spelling erlang_atoms[] = {
	{"", "''"},
	{"a", "a"},
	{"A", "'A'"},
	{"_a", "'_a'"},
	{"a1", "a1"},
	{"a@b", "a@b"},
	{"aB", "aB"},
	{"1a", "'1a'"},
	{"my mod", "'my mod'"},
	{"a-b", "'a-b'"},
	{"a.b", "'a.b'"},
	{"Elixir.Enum", "'Elixir.Enum'"},
	{"it's", "'it\\'s'"},
	{"back\\slash", "'back\\\\slash'"},
	{"tab\t", "'tab\\t'"},
	{"nl\n", "'nl\\n'"},
	{"\015\013\010\014\033\177", "'\\r\\v\\b\\f\\e\\d'"},
	{"bell\007", "'bell\\007'"},
	{"\300\200", "'\\000'"},
	{"a\300\200b", "'a\\000b'"},
	{"\302\200", "'\\200'"},
	{"\302\237", "'\\237'"},
	{"\302\240", "'\302\240'"},
	{"a\302\240", "'a\302\240'"},
	{"ß", "ß"},
	{"ää", "ää"},
	{"ö", "ö"},
	{"÷", "'÷'"},
	{"ÿ", "ÿ"},
	{"À", "'À'"},
	{"×", "'×'"},
	{"a×", "'a×'"},
	{"a÷", "'a÷'"},
	{"aä1", "aä1"},
	{"Ā", "'Ā'"},
	{"aα", "'aα'"},
	{"яя", "'яя'"},
	{"中文", "'中文'"},
	{"\360\237\230\200", "'\360\237\230\200'"},
	{"a\342\200\250", "'a\342\200\250'"},
	{"\342\200\256", "'\342\200\256'"},
	{"�", "'�'"},
	{"\357\273\277", "'\357\273\277'"},
	{"\"", "'\"'"},
	{"a\"b", "'a\"b'"},
	{"#{", "'#{'"},
	{"[]", "'[]'"},
	{"{}", "'{}'"},
	{"after", "'after'"},
	{"and", "'and'"},
	{"andalso", "'andalso'"},
	{"band", "'band'"},
	{"begin", "'begin'"},
	{"bnot", "'bnot'"},
	{"bor", "'bor'"},
	{"bsl", "'bsl'"},
	{"bsr", "'bsr'"},
	{"bxor", "'bxor'"},
	{"case", "'case'"},
	{"catch", "'catch'"},
	{"cond", "'cond'"},
	{"div", "'div'"},
	{"else", "'else'"},
	{"end", "'end'"},
	{"fun", "'fun'"},
	{"if", "'if'"},
	{"let", "'let'"},
	{"maybe", "'maybe'"},
	{"not", "'not'"},
	{"of", "'of'"},
	{"or", "'or'"},
	{"orelse", "'orelse'"},
	{"receive", "'receive'"},
	{"rem", "'rem'"},
	{"try", "'try'"},
	{"when", "'when'"},
	{"xor", "'xor'"},
	{"true", "true"},
	{"false", "false"},
	{"undefined", "undefined"},
	{"spec", "spec"},
	{"query", "query"},
	{"nil", "nil"},
	{"+", "'+'"},
	{"++", "'++'"},
	{"!", "'!'"},
	{"==", "'=='"},
	{"$a", "'$a'"},
	{"-map/2-fun-0-", "'-map/2-fun-0-'"},
	{"$_", "'$_'"},
	{"a$", "'a$'"},
	{"@a", "'@a'"},
	{"a_@1Z", "a_@1Z"},
};

static const struct spelling elixir_modules[] = {
	{"Elixir.Enum", "Enum"},
	{"Elixir.MyApp.Worker", "MyApp.Worker"},
	{"Elixir", "Elixir"},
	{"Elixir.Elixir", "Elixir.Elixir"},
	{"Elixir.Elixir.Foo", "Elixir.Elixir.Foo"},
	{"Elixir.foo", ":\"Elixir.foo\""},
	{"Elixir.Foo.bar", ":\"Elixir.Foo.bar\""},
	{"Elixir.Foo Bar", ":\"Elixir.Foo Bar\""},
	{"Elixir.", ":\"Elixir.\""},
	{"Elixir..A", ":\"Elixir..A\""},
	{"Elixir.A1_b", "A1_b"},
	{"Elixir.Foo?", ":\"Elixir.Foo?\""},
	{"Elixir.Élan", ":\"Elixir.Élan\""},
	{"Elixir.Foo\"q", ":\"Elixir.Foo\\\"q\""},
	{"Elixir.A@b", ":\"Elixir.A@b\""},
};

/* As functions of arity 3 of the module MyApp.W. */
static const struct spelling elixir_functions[] = {
	{"map", "MyApp.W.map/3"},
	{"+", "MyApp.W.+/3"},
	{"-", "MyApp.W.-/3"},
	{"!", "MyApp.W.!/3"},
	{"==", "MyApp.W.==/3"},
	{"<>", "MyApp.W.<>/3"},
	{"<<>>", "MyApp.W.\"<<>>\"/3"},
	{"%{}", "MyApp.W.\"%{}\"/3"},
	{"{}", "MyApp.W.\"{}\"/3"},
	{".", "MyApp.W.\".\"/3"},
	{"..", "MyApp.W.\"..\"/3"},
	{"...", "MyApp.W.\"...\"/3"},
	{"..//", "MyApp.W.\"..//\"/3"},
	{"->", "MyApp.W.\"->\"/3"},
	{"|>", "MyApp.W.|>/3"},
	{"<|>", "MyApp.W.<|>/3"},
	{"^^^", "MyApp.W.^^^/3"},
	{"~~~", "MyApp.W.~~~/3"},
	{"::", "MyApp.W.::/3"},
	{"&", "MyApp.W.&/3"},
	{"&&", "MyApp.W.&&/3"},
	{"&&&", "MyApp.W.&&&/3"},
	{"@", "MyApp.W.@/3"},
	{"in", "MyApp.W.in/3"},
	{"not", "MyApp.W.not/3"},
	{"and", "MyApp.W.and/3"},
	{"or", "MyApp.W.or/3"},
	{"when", "MyApp.W.when/3"},
	{"not in", "MyApp.W.\"not in\"/3"},
	{"**", "MyApp.W.**/3"},
	{"*", "MyApp.W.*/3"},
	{"/", "MyApp.W.//3"},
	{"=", "MyApp.W.=/3"},
	{"<-", "MyApp.W.<-/3"},
	{"\\\\", "MyApp.W.\\\\/3"},
	{"|", "MyApp.W.|/3"},
	{"||", "MyApp.W.||/3"},
	{"|||", "MyApp.W.|||/3"},
	{"++", "MyApp.W.++/3"},
	{"--", "MyApp.W.--/3"},
	{"+++", "MyApp.W.+++/3"},
	{"---", "MyApp.W.---/3"},
	{"=~", "MyApp.W.=~/3"},
	{"===", "MyApp.W.===/3"},
	{"!==", "MyApp.W.!==/3"},
	{"!=", "MyApp.W.!=/3"},
	{"<=", "MyApp.W.<=/3"},
	{">=", "MyApp.W.>=/3"},
	{"<", "MyApp.W.</3"},
	{">", "MyApp.W.>/3"},
	{"<<<", "MyApp.W.<<</3"},
	{">>>", "MyApp.W.>>>/3"},
	{"<~", "MyApp.W.<~/3"},
	{"~>", "MyApp.W.~>/3"},
	{"<<~", "MyApp.W.<<~/3"},
	{"~>>", "MyApp.W.~>>/3"},
	{"<~>", "MyApp.W.<~>/3"},
	{"^", "MyApp.W.^/3"},
	{"odd name", "MyApp.W.\"odd name\"/3"},
	{"Foo", "MyApp.W.\"Foo\"/3"},
	{"foo?", "MyApp.W.foo?/3"},
	{"foo!", "MyApp.W.foo!/3"},
	{"foo?!", "MyApp.W.\"foo?!\"/3"},
	{"foo@bar", "MyApp.W.\"foo@bar\"/3"},
	{"@foo", "MyApp.W.\"@foo\"/3"},
	{"_foo", "MyApp.W._foo/3"},
	{"__struct__", "MyApp.W.__struct__/3"},
	{"foo1", "MyApp.W.foo1/3"},
	{"1foo", "MyApp.W.\"1foo\"/3"},
	{"a-b", "MyApp.W.\"a-b\"/3"},
	{"", "MyApp.W.\"\"/3"},
	{"MACRO-defx", "MyApp.W.\"MACRO-defx\"/3"},
	{"nil", "MyApp.W.nil/3"},
	{"true", "MyApp.W.true/3"},
	{"do", "MyApp.W.do/3"},
	{"end", "MyApp.W.end/3"},
	{"fn", "MyApp.W.fn/3"},
	{"-run/2-fun-0-", "anonymous fn/3 in MyApp.W.run/2"},
	{"-run/2-fun-12-", "anonymous fn/3 in MyApp.W.run/2"},
	{"-odd name/1-fun-0-", "anonymous fn/3 in MyApp.W.\"odd name\"/1"},
	{"-+/2-fun-0-", "anonymous fn/3 in MyApp.W.+/2"},
	{"-run/2-fun-0-/1-fun-1-", "anonymous fn/3 in MyApp.W.\"run/2-fun-0-\"/1"},
	{"-run/2-anonymous-0-", "anonymous fn/3 in MyApp.W.run/2"},
	{"-run/2-lc$^0/1-0-", "MyApp.W.\"-run/2-lc$^0/1-0-\"/3"},
	{"-run/2-lc$^1/2-0-", "MyApp.W.\"-run/2-lc$^1/2-0-\"/3"},
	{"-run/2-lbc$^0/1-0-", "MyApp.W.\"-run/2-lbc$^0/1-0-\"/3"},
	{"-inlined-__info__/1-", "MyApp.W.\"-inlined-__info__/1-\"/3"},
	{"-fun.foo/1-", "MyApp.W.\"-fun.foo/1-\"/3"},
	{"-run/2-inlined-0-", "anonymous fn/3 in MyApp.W.run/2"},
	{"-Foo/1-fun-0-", "anonymous fn/3 in MyApp.W.\"Foo\"/1"},
	{"-a/b/2-fun-3-", "anonymous fn/3 in MyApp.W.\"a/b\"/2"},
	{"-/2-fun-0-", "anonymous fn/3 in MyApp.W.\"\"/2"},
	{"-run-2-fun-0-", "MyApp.W.\"-run-2-fun-0-\"/3"},
	{"-run/2--0-", "anonymous fn/3 in MyApp.W.run/2"},
	{"-run/2-after$^0/0-0-", "MyApp.W.\"-run/2-after$^0/0-0-\"/3"},
	{"-x/1-fun-0-z", "MyApp.W.\"-x/1-fun-0-z\"/3"},
	{"q\"uote", "MyApp.W.\"q\\\"uote\"/3"},
	{"#{x}", "MyApp.W.\"\\#{x}\"/3"},
	{"#x", "MyApp.W.\"#x\"/3"},
	{"tab\t", "MyApp.W.\"tab\\t\"/3"},
	{"nl\n", "MyApp.W.\"nl\\n\"/3"},
	{"\007\010\177\033\014\015\013", "MyApp.W.\"\\a\\b\\d\\e\\f\\r\\v\"/3"},
	{"\300\200", "MyApp.W.\"\\0\"/3"},
	{"a\300\200b", "MyApp.W.\"a\\0b\"/3"},
	{"\001", "MyApp.W.\"\\x01\"/3"},
	{"\302\200", "MyApp.W.\"\\u0080\"/3"},
	{"\302\240", "MyApp.W.\"\\u00A0\"/3"},
	{"\342\200\250", "MyApp.W.\"\\u2028\"/3"},
	{"\342\200\256", "MyApp.W.\"\\u202E\"/3"},
	{"\357\273\277", "MyApp.W.\"\\uFEFF\"/3"},
	{"back\\slash", "MyApp.W.\"back\\\\slash\"/3"},
	{"olá", "MyApp.W.olá/3"},
	{"été", "MyApp.W.été/3"},
	{"Été", "MyApp.W.\"Été\"/3"},
	{"функция", "MyApp.W.функция/3"},
	{"ß", "MyApp.W.ß/3"},
	{"中文", "MyApp.W.中文/3"},
	{"日本", "MyApp.W.日本/3"},
	{"a→b", "MyApp.W.\"a→b\"/3"},
	{"\360\237\230\200", "MyApp.W.\"\360\237\230\200\"/3"},
	{"\342\200\213", "MyApp.W.\"\\u200B\"/3"},
	{"foo bar?", "MyApp.W.\"foo bar?\"/3"},
	{"%", "MyApp.W.\"%\"/3"},
	{"elixir", "MyApp.W.elixir/3"},
	{"Elixir", "MyApp.W.\"Elixir\"/3"},
	{"Elixir.Foo", "MyApp.W.\"Elixir.Foo\"/3"},
	{"a?b", "MyApp.W.\"a?b\"/3"},
	{"?a", "MyApp.W.\"?a\"/3"},
	{"ﬁ", "MyApp.W.\"ﬁ\"/3"},
	{"ª", "MyApp.W.\"ª\"/3"},
	{"µ", "MyApp.W.\"µ\"/3"},
	{"foo²", "MyApp.W.\"foo²\"/3"},
	{"Ω", "MyApp.W.\"Ω\"/3"},
	{"ω", "MyApp.W.ω/3"},
};
/* clang-format on */

static void assert_function(const char *module, const char *name, int32_t arity,
			    enum frame_kind kind, const char *shown)
{
	struct name_function f = {.module = module, .name = name, .arity = arity, .kind = kind};
	struct strbuf out = STRBUF_INIT;

	names_format_function(&out, &f);
	assert_string_equal(out.buf, shown);
	assert_int_equal(out.len, strlen(shown));
	strbuf_free(&out);
}

static void assert_atom(const char *text, size_t len, const char *shown)
{
	struct strbuf out = STRBUF_INIT;

	names_format_atom(&out, text, len);
	assert_string_equal(out.buf, shown);
	strbuf_free(&out);
}

static void test_erlang_atoms(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(erlang_atoms); i++)
		assert_atom(erlang_atoms[i].text, strlen(erlang_atoms[i].text),
			    erlang_atoms[i].shown);
	assert_atom("a\0b", 3, "'a\\000b'");
}

static void test_erlang_functions(void **state)
{
	UNUSED(state);
	assert_function("lists", "map", 2, FRAME_ERLANG, "lists:map/2");
	assert_function("my mod", "f", 1, FRAME_ERLANG, "'my mod':f/1");
	assert_function("lists", "-map/2-fun-0-", 3, FRAME_ERLANG, "lists:'-map/2-fun-0-'/3");
	assert_function("m", "-f/1-lc$^0/1-0-", 1, FRAME_ERLANG, "m:'-f/1-lc$^0/1-0-'/1");
	assert_function("erlang", "++", 2, FRAME_BIF, "erlang:'++'/2");
	assert_function("crypto", "hash_nif", 2, FRAME_NIF, "crypto:hash_nif/2");
	assert_function("erlang", "apply", -1, FRAME_BIF, "erlang:apply");
	assert_function(NULL, "lonely", 1, FRAME_ERLANG, "lonely/1");
	assert_function("elixir_compiler", "compile", 3, FRAME_ERLANG, "elixir_compiler:compile/3");
	/* Only a prefix with its dot makes an Elixir module. */
	assert_function("Elixirish", "f", 0, FRAME_ERLANG, "'Elixirish':f/0");
}

static void test_elixir_modules(void **state)
{
	struct strbuf out = STRBUF_INIT, expect = STRBUF_INIT;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(elixir_modules); i++) {
		strbuf_reset(&expect);
		strbuf_addf(&expect, "%s.f/1", elixir_modules[i].shown);
		assert_function(elixir_modules[i].text, "f", 1, FRAME_ERLANG, expect.buf);
	}
	names_format_module(&out, "Elixir.MyApp.Repo", strlen("Elixir.MyApp.Repo"));
	names_format_module(&out, "", 0);
	names_format_module(&out, "lists", 5);
	names_format_module(&out, "Elixir.odd", 10);
	assert_string_equal(out.buf, "MyApp.Repo''lists'Elixir.odd'");
	strbuf_free(&out);
	strbuf_free(&expect);
}

static void test_elixir_functions(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(elixir_functions); i++)
		assert_function("Elixir.MyApp.W", elixir_functions[i].text, 3, FRAME_ERLANG,
				elixir_functions[i].shown);
	assert_function("Elixir.Kernel", "+", 2, FRAME_BIF, "Kernel.+/2");
	assert_function("Elixir.M", "f", -1, FRAME_ERLANG, "M.f");
	assert_function("Elixir.M", "-f/1-fun-0-", -1, FRAME_ERLANG, "anonymous fn in M.f/1");
	/* Looks like an anonymous function, but the arity is no number. */
	assert_function("Elixir.M", "-f/\033[m-fun-0-", 1, FRAME_ERLANG, "M.\"-f/\\e[m-fun-0-\"/1");
	assert_function("Elixir.M", "-f/-fun-0-", 1, FRAME_ERLANG, "M.\"-f/-fun-0-\"/1");
	/* Latin Extended: upper case may follow, but not start. */
	assert_function("Elixir.M", "\305\202\303\263d\305\271", 0, FRAME_ERLANG,
			"M.\305\202\303\263d\305\271/0");
	assert_function("Elixir.M", "\305\201a", 0, FRAME_ERLANG, "M.\"\305\201a\"/0");
}

static void test_other_kinds(void **state)
{
	UNUSED(state);
	assert_function("libcrypto.so.3", "SHA256_Update", -1, FRAME_NATIVE,
			"libcrypto.so.3:SHA256_Update");
	assert_function("beam.smp", "beam.smp+0x1234", -1, FRAME_NATIVE, "beam.smp+0x1234");
	assert_function("beam.smp", "beam.smp_x", -1, FRAME_NATIVE, "beam.smp:beam.smp_x");
	assert_function(NULL, "memcpy", -1, FRAME_NATIVE, "memcpy");
	assert_function("kernel", "do_syscall_64", -1, FRAME_KERNEL, "do_syscall_64");
	assert_function(NULL, "global::call_bif_shared", -1, FRAME_RUNTIME,
			"global::call_bif_shared");
	assert_function(NULL, "[... 12 frames ...]", -1, FRAME_ELIDED, "[... 12 frames ...]");
	assert_function(NULL, "[poll]", -1, FRAME_STATE, "[poll]");
	assert_function("a\nb", "c\033d\377", -1, FRAME_NATIVE, "a\\nb:c\\ed\357\277\275");
}

/* Every byte string of up to three bytes gives valid text without control characters. */
static void assert_clean(const struct strbuf *out)
{
	uint32_t c;

	for (size_t i = 0, size; i < out->len; i += size) {
		size = utf8_decode(out->buf + i, out->len - i, &c);
		assert_true(c >= 0x20 && (c < 0x7f || c >= 0xa0));
		/* A replacement character stands there as such, not as a bad byte. */
		assert_true(c != UTF8_REPLACEMENT || size == 3);
	}
}

static void test_any_bytes(void **state)
{
	static const char some[] =
		"a\n\033\177\200\237\300\302\340\355\355\240\364\220\377'\"\\-/0";
	struct strbuf out = STRBUF_INIT;
	char text[4] = "";

	UNUSED(state);
	for (size_t i = 0; i < sizeof(some) * sizeof(some) * sizeof(some); i++) {
		struct name_function f = {.module = "Elixir.M", .name = text, .arity = 1};

		text[0] = some[i % sizeof(some)];
		text[1] = some[i / sizeof(some) % sizeof(some)];
		text[2] = some[i / sizeof(some) / sizeof(some)];
		strbuf_reset(&out);
		names_format_function(&out, &f);
		f.module = text;
		names_format_function(&out, &f);
		f.kind = FRAME_NATIVE;
		names_format_function(&out, &f);
		f.kind = FRAME_STATE;
		names_format_function(&out, &f);
		names_format_atom(&out, text, 3);
		names_format_text(&out, text, 3);
		assert_clean(&out);
	}
	strbuf_free(&out);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, size;
		uint32_t c;
	} cases[] = {
		{"a", 1, 1, 'a'},
		{"\0", 1, 1, 0},
		{"\303\244", 2, 2, 0xe4},
		{"\303\244", 1, 1, UTF8_REPLACEMENT},
		{"\342\202\254", 3, 3, 0x20ac},
		{"\342\202", 2, 1, UTF8_REPLACEMENT},
		{"\360\237\230\200", 4, 4, 0x1f600},
		{"\364\217\277\277", 4, 4, 0x10ffff},
		{"\364\220\200\200", 4, 1, UTF8_REPLACEMENT}, /* beyond Unicode */
		{"\300\200", 2, 2, 0},
		{"\300\201", 2, 1, UTF8_REPLACEMENT},	  /* overlong */
		{"\340\200\200", 3, 1, UTF8_REPLACEMENT}, /* overlong */
		{"\355\240\200", 3, 1, UTF8_REPLACEMENT}, /* surrogate */
		{"\200", 1, 1, UTF8_REPLACEMENT},
		{"\370\210\200\200\200", 5, 1, UTF8_REPLACEMENT},
	};
	struct strbuf out = STRBUF_INIT;
	uint32_t c;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(utf8_decode(cases[i].bytes, cases[i].len, &c), cases[i].size);
		assert_int_equal(c, cases[i].c);
	}
	utf8_add(&out, 'a');
	utf8_add(&out, 0xe4);
	utf8_add(&out, 0x20ac);
	utf8_add(&out, 0x1f600);
	assert_string_equal(out.buf, "a\303\244\342\202\254\360\237\230\200");
	strbuf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_erlang_atoms),   cmocka_unit_test(test_erlang_functions),
		cmocka_unit_test(test_elixir_modules), cmocka_unit_test(test_elixir_functions),
		cmocka_unit_test(test_other_kinds),    cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
