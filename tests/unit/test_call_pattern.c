/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of calls: what they mean, and where the caret stands if they are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "names/call_pattern.h"

static struct call_pattern *parse(const char *text)
{
	struct error err = {0};
	struct call_pattern *p;

	if (call_pattern_parse(&p, text, &err) != 0)
		fail_msg("%s", err.msg);
	assert_string_equal(p->text, text);
	return p;
}

static void test_functions(void **state)
{
	static const struct {
		const char *text, *module, *function;
		int arity;
	} rows[] = {
		{"lists:sort/1", "lists", "sort", 1},
		{" lists:sort ", "lists", "sort", -1},
		{"lists:_", "lists", NULL, -1},
		{"lists:_/2", "lists", NULL, 2},
		{"_:handle_call/3", NULL, "handle_call", 3},
		{"'my mod':'f!'/255", "my mod", "f!", 255},
		{"'it\\'s':'\\x{3bb}'/0", "it's", "\xce\xbb", 0},
		{"Enum.map/2", "Elixir.Enum", "map", 2},
		{"Elixir.Enum:map/2", "Elixir.Enum", "map", 2},
		{"MyApp.Server.handle_call", "Elixir.MyApp.Server", "handle_call", -1},
		{"MyApp.Server._", "Elixir.MyApp.Server", NULL, -1},
		{"Map.has_key?/2", "Elixir.Map", "has_key?", 2},
		{"File.read!(_)", "Elixir.File", "read!", 1},
		{"MyApp.\"odd name\"/1", "Elixir.MyApp", "odd name", 1},
		{":lists.sort/1", "lists", "sort", 1},
		{":\"my mod\".f/1", "my mod", "f", 1},
		{"Kernel.==/2", "Elixir.Kernel", "==", 2},
		{"erlang:+/2", "erlang", "+", 2},
		{"erlang:'/'(_, 0)", "erlang", "/", 2},
		{"erlang://2", "erlang", "/", 2},
		{"m:'-run/2-fun-0-'/1", "m", "-run/2-fun-0-", 1},
		{"m:and/2", "m", "and", 2},
		{"m:f()", "m", "f", 0},
		{"m:_x(1)", "m", "_x", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_pattern *p = parse(rows[i].text);

		if (rows[i].module)
			assert_string_equal(p->module, rows[i].module);
		else
			assert_null(p->module);
		if (rows[i].function)
			assert_string_equal(p->function, rows[i].function);
		else
			assert_null(p->function);
		assert_int_equal(p->arity, rows[i].arity);
		assert_int_equal(p->has_args, strchr(rows[i].text, '(') != NULL);
		call_pattern_free(p);
	}
}

static void test_actions(void **state)
{
	static const struct {
		const char *text;
		bool ret, stack;
	} rows[] = {
		{"m:f", false, false},
		{"m:f -> return", true, false},
		{"m:f/2->stack", false, true},
		{"m:f -> return,stack", true, true},
		{"m:f -> stack; return", true, true},
		{"m:f(A) when A>1->return;stack", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_pattern *p = parse(rows[i].text);

		assert_int_equal(p->is_return, rows[i].ret);
		assert_int_equal(p->is_stack, rows[i].stack);
		call_pattern_free(p);
	}
}

static void test_terms(void **state)
{
	struct call_pattern *p =
		parse("m:f(16#ff, $\\n, -1_000, 123456789012345678901234567890, -1.5e3, <1.80.2>, "
		      "[a, B | T], \"ab\" ++ T, {}, #{k := B}, <<\"abc\", 1, 2:16, _/binary>>, "
		      "{ok, X} = Y, \"\", 'a b')");
	const struct pattern_node *n;

	(void)state;
	assert_int_equal(p->arity, 14);
	assert_int_equal(p->args[0]->small, 255);
	assert_int_equal(p->args[1]->small, 10);
	assert_int_equal(p->args[2]->small, -1000);
	assert_int_equal(p->args[3]->big->nr, 2);
	assert_true(p->args[4]->real == -1500);
	assert_int_equal(p->args[5]->pid.channel, 1);
	assert_int_equal(p->args[5]->pid.number, 80);
	assert_int_equal(p->args[5]->pid.serial, 2);
	n = p->args[6];
	assert_int_equal(n->kind, PATTERN_LIST);
	assert_int_equal(n->nr, 2);
	assert_int_equal(n->items[1]->kind, PATTERN_VARIABLE);
	assert_int_equal(n->tail->slot, p->args[7]->tail->slot);
	assert_int_equal(p->args[7]->items[1]->small, 'b');
	assert_int_equal(p->args[8]->kind, PATTERN_TUPLE);
	assert_int_equal(p->args[9]->items[1]->slot, n->items[1]->slot);
	n = p->args[10];
	assert_int_equal(n->nr_segments, 2);
	assert_int_equal(n->segments[0].len, 6); /* what is known is one part */
	assert_memory_equal(n->segments[0].bytes, "abc\1\0\2", 6);
	assert_int_equal(n->segments[1].type, SEGMENT_BITS);
	assert_int_equal(p->args[11]->kind, PATTERN_ALIAS);
	assert_int_equal(p->args[12]->kind, PATTERN_LIST);
	assert_int_equal(p->args[12]->nr, 0);
	assert_string_equal(p->args[13]->text, "a b");
	assert_int_equal(p->nr_variables, 4);
	assert_string_equal(p->variables[0], "B");
	call_pattern_free(p);
}

static void test_guards(void **state)
{
	struct call_pattern *p =
		parse("m:f(A, B) when A + 1 * 2 > B, is_list(B); not A == b andalso "
		      "B orelse A");
	const struct pattern_node *n;

	(void)state;
	assert_int_equal(p->nr_guards, 2);
	assert_int_equal(p->guards[0].nr, 2);
	n = p->guards[0].tests[0];
	assert_int_equal(n->op, OPERATOR_GT);
	assert_int_equal(n->items[0]->op, OPERATOR_ADD);
	assert_int_equal(n->items[0]->items[1]->op, OPERATOR_MULTIPLY);
	assert_int_equal(p->guards[0].tests[1]->function, GUARD_IS_LIST);
	n = p->guards[1].tests[0]; /* ((not A) == b andalso B) orelse A */
	assert_int_equal(n->op, OPERATOR_ORELSE);
	assert_int_equal(n->items[0]->op, OPERATOR_ANDALSO);
	assert_int_equal(n->items[0]->items[0]->op, OPERATOR_EQ);
	assert_int_equal(n->items[0]->items[0]->items[0]->op, OPERATOR_NOT);
	call_pattern_free(p);
}

/* The column, and what the message says. */
static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int column;
		const char *says;
	} rows[] = {
		{"", 1, "a module"},
		{"lists", 6, "expected a colon and a function, or :_ for each one"},
		{"lists.sort/1", 6, "colon"},
		{"Enum", 5, "dot"},
		{"Enum.", 6, "a function"},
		{"m:F", 3, "a function"},
		{"m:f/", 5, "an arity"},
		{"m:f/256", 5, "0 to 255"},
		{"m:f/1x", 5, "an arity"},
		{"m:f x", 5, "arguments or the end, not x"},
		{"m:f(", 5, "a pattern"},
		{"m:f(A", 6, "`,` or `)`"},
		{"m:f(A,)", 7, "a pattern, not )"},
		{"m:f([A,B|])", 10, "a pattern"},
		{"m:f([A|B,C])", 9, "`]`"},
		{"m:f(\"\xce\xbb\", !)", 10, "no place here"},
		{"m:f(\"abc", 5, "another \""},
		{"m:f('abc", 5, "another '"},
		{"m:f(1__0)", 6, "the end of a number"},
		{"m:f(37#1)", 5, "base"},
		{"m:f(16#)", 8, "a digit of base 16"},
		{"m:f($)", 7, "`,` or `)`"}, /* $) is a number */
		{"m:f(1.0e999)", 5, "too large"},
		{"m:f(\"\\x{d800}\")", 6, "no character"},
		{"m:f(and)", 5, "'and' is the atom"},
		{"m:f(#rec{})", 6, "write the tuple"},
		{"m:f(#{a => 1})", 9, "`:=`"},
		{"m:f(#{A := 1})", 7, "without variables"},
		{"m:f(<<_/binary, 1>>)", 17, "last part"},
		{"m:f(<<A:B>>)", 9, "no B stands in front"},
		{"m:f(<<A/foo>>)", 9, "expected integer"},
		{"m:f(<<1.5>>)", 7, "/float"},
		{"m:f(<<\"\xce\xbb\">>)", 7, "utf8"},
		{"m:f(A) when", 12, "a value"},
		{"m:f(A) when B > 1", 13, "B is none of the arguments"},
		{"m:f(_) when _ > 1", 13, "_ has no value"},
		{"m:f(A) when is_atm(A)", 13, "is it is_atom?"},
		{"m:f(A) when tuplesize(A) > 1", 13, "is it tuple_size?"},
		{"m:f(A) when xyzzyplugh(A)", 13, "guards cannot call xyzzyplugh"},
		{"m:f(A) when lists:nth(A)", 13, "erlang only"},
		{"m:f(A) when element(A)", 13, "takes 2 arguments, not 1"},
		{"m:f(A) when is_record(A)", 13, "takes 2 or 3 arguments, not 1"},
		{"m:f(A) when self() == A", 13, "--process"},
		{"m:f(A) when A < 1 < 2", 19, "do not chain"},
		{"m:f(A) when A == #{}", 18, "not made in guards"},
		{"m:f(A) when (A", 15, "`)`"},
		{"m:f(A) when A ++ B", 15, "an operator"},
		{"m:f(A) when A == <1.2.3>", 18, "of the node itself"},
		{"m:f/1 when true", 7, "a guard is about arguments"},
		{"m:f(A) -> retrn", 11, "return or stack, not retrn"},
		{"m:f -> return,", 15, "return or stack"},
		{"m:f -> return stack", 15, "`,` or the end"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		struct call_pattern *p;
		char column[32];

		assert_int_equal(call_pattern_parse(&p, rows[i].text, &err), -22);
		assert_null(p);
		assert_int_equal(err.kind, ERROR_KIND_USAGE);
		snprintf(column, sizeof(column), "column %d: ", rows[i].column);
		if (strncmp(err.msg, column, strlen(column)) != 0 || !strstr(err.msg, rows[i].says))
			fail_msg("'%s' said: %s", rows[i].text, err.msg);
		/* The caret is below the place, behind two spaces. */
		assert_int_equal(strlen(strrchr(err.msg, '\n') + 1), rows[i].column + 2);
	}
}

static char *repeat(const char *before, const char *what, size_t nr, const char *after)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addstr(&out, before);
	for (size_t i = 0; i < nr; i++)
		strbuf_addstr(&out, what);
	strbuf_addstr(&out, after);
	return strbuf_detach(&out, NULL);
}

static void test_hostile(void **state)
{
	static const struct {
		const char *before, *what;
		size_t nr;
		const char *after;
	} rows[] = {
		{"m:f(", "[", 5000, ")"},
		{"m:f(", "{", 5000, ")"},
		{"m:f(", "(", 5000, ")"},
		{"m:f(", "#{a:=", 3000, ")"},
		{"m:f(", "a=", 5000, "a)"},
		{"m:f(", "\"a\"++", 3000, "a)"},
		{"m:f(", "#{[", 5000, ")"},
		{"m:f(A) when ", "(", 5000, "A"},
		{"m:f(A) when ", "not ", 4000, "A"},
		{"m:f(A) when ", "- ", 5000, "A"},
		{"m:f(A) when A", "+A", 5000, ""},
		{"m:f(A) when A", " andalso A", 1500, ""},
		{"m:f(A) when ", "hd(", 5000, "A"},
		{"m:f(A) when ", "[1|", 5000, "A"},
		{"m:f(", "_,", 300, "_)"},
		{"m:f(", " ", 20000, "_)"},
		{"m:f(", "<<", 5000, ")"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = repeat(rows[i].before, rows[i].what, rows[i].nr, rows[i].after);
		struct error err = {0};
		struct call_pattern *p;

		assert_int_equal(call_pattern_parse(&p, text, &err), -22);
		assert_true(strlen(err.msg) < sizeof(err.msg) - 1);
		free(text);
	}
}

/* Long is not deep. */
static void test_long(void **state)
{
	static const char *const rows[][3] = {
		{"m:f([", "1,", "1])"},	       {"m:f({", "a,", "A})"},
		{"m:f(<<", "1,_,", "1>>)"},    {"m:f(", "1", ")"},
		{"m:f(\"", "\xce\xbb", "\")"}, {"m:f(A) when ", "A > 1,", "A"},
		{"m:f(A) when ", "A;", "A"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = repeat(rows[i][0], rows[i][1], 2000, rows[i][2]);

		call_pattern_free(parse(text));
		free(text);
	}
}

static void test_truncated(void **state)
{
	static const char whole[] =
		"'m':'f!'([A, {ok, \"t\\x{e9}xt\" ++ T} | _] = B, #{k := 16#ff}, <<\"ab\", "
		"N:16/little, "
		"R/binary>>, <0.80.0>, $\\n, -1.5e3) when A + 1 > N, is_record(B, ok, 2); "
		"not is_list(T) andalso {A, [N | R]} =:= B -> return,stack";

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		char *text = strndup(whole, len);
		struct error err = {0};
		struct call_pattern *p;

		if (call_pattern_parse(&p, text, &err) == 0)
			call_pattern_free(p);
		else
			assert_int_equal(strncmp(err.msg, "column ", 7), 0);
		free(text);
	}
	call_pattern_free(parse(whole));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_actions),
		cmocka_unit_test(test_terms),	  cmocka_unit_test(test_guards),
		cmocka_unit_test(test_errors),	  cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long),	  cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
