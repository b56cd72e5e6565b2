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
		assert_int_equal(p->args != NULL, strchr(rows[i].text, '(') && rows[i].arity);
		call_pattern_free(p);
	}
}

/* Arguments that may be anything are an arity: nothing of them need be copied. */
static void test_arity_only(void **state)
{
	static const struct {
		const char *text;
		bool matter;
	} rows[] = {
		{"m:f/2", false},	 {"m:f()", false},	     {"m:f(_, _)", false},
		{"m:f(A, B, _)", false}, {"M.f(a, _b)", false},	     {"m:f(A, A)", true},
		{"m:f(_, a)", true},	 {"m:f(_) when true", true}, {"m:f(A = B)", true},
		{"m:f({_, _})", true},	 {"M.f(%{})", true},	     {"M.f(x) when x", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_pattern *p = parse(rows[i].text);

		assert_int_equal(p->has_args, rows[i].matter);
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

/* ---- Elixir --------------------------------------------------------------------------------- */

static bool same(const struct pattern_node *a, const struct pattern_node *b);

static bool same_items(const struct pattern_node *a, const struct pattern_node *b)
{
	if (a->nr != b->nr)
		return false;
	for (uint32_t i = 0; i < a->nr; i++)
		if (!same(a->items[i], b->items[i]))
			return false;
	return same(a->tail, b->tail);
}

static bool same_segments(const struct pattern_node *a, const struct pattern_node *b)
{
	if (a->nr_segments != b->nr_segments)
		return false;
	for (uint32_t i = 0; i < a->nr_segments; i++) {
		const struct pattern_segment *x = &a->segments[i], *y = &b->segments[i];

		if (x->type != y->type || x->len != y->len || x->unit != y->unit ||
		    x->is_signed != y->is_signed || x->little != y->little ||
		    (x->len && memcmp(x->bytes, y->bytes, x->len) != 0) ||
		    !same(x->value, y->value) || !same(x->size, y->size))
			return false;
	}
	return true;
}

static bool same(const struct pattern_node *a, const struct pattern_node *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case PATTERN_ATOM:
		return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
	case PATTERN_INTEGER:
		return a->big ? b->big && bigint_compare(a->big, b->big) == 0
			      : !b->big && a->small == b->small;
	case PATTERN_FLOAT:
		return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
	case PATTERN_PID:
		return memcmp(&a->pid, &b->pid, sizeof(a->pid)) == 0;
	case PATTERN_VARIABLE:
		return a->slot == b->slot;
	case PATTERN_OPERATOR:
		return a->op == b->op && same_items(a, b);
	case PATTERN_CALL:
		return a->function == b->function && same_items(a, b);
	default:
		return same_items(a, b) && same_segments(a, b);
	}
}

static bool same_guards(const struct call_pattern *a, const struct call_pattern *b)
{
	if (a->nr_guards != b->nr_guards)
		return false;
	for (uint32_t i = 0; i < a->nr_guards; i++) {
		if (a->guards[i].nr != b->guards[i].nr)
			return false;
		for (uint32_t j = 0; j < a->guards[i].nr; j++)
			if (!same(a->guards[i].tests[j], b->guards[i].tests[j]))
				return false;
	}
	return true;
}

/* What is in the parentheses, and behind them, means the same. */
static void check_same(const char *elixir, const char *erlang)
{
	char text[2][512];
	struct call_pattern *a, *b;
	bool equal;

	snprintf(text[0], sizeof(text[0]), "Shop.Cart.f(%s", elixir);
	snprintf(text[1], sizeof(text[1]), "'Elixir.Shop.Cart':f(%s", erlang);
	a = parse(text[0]);
	b = parse(text[1]);
	equal = a->arity == b->arity && same_guards(a, b);
	for (int i = 0; equal && i < a->arity; i++)
		equal = same(a->args[i], b->args[i]);
	if (!equal)
		fail_msg("%s is not %s", elixir, erlang);
	call_pattern_free(a);
	call_pattern_free(b);
}

static void test_elixir_terms(void **state)
{
	static const char *const rows[][2] = {
		{"{:add, _}, _, _)", "{add, _}, _, _)"},
		{":a, :a?, :b!, :Foo, :_x, :n@h, :\xc3\xa9)",
		 "a, 'a?', 'b!', 'Foo', '_x', 'n@h', '\xc3\xa9')"},
		{":\"odd one\", :'it\\'s', :\"a\\0b\", :\"\\u00e9\\xc3\\xa9\")",
		 "'odd one', 'it\\'s', 'a\\x{0}b', '\xc3\xa9\xc3\xa9')"},
		{":+, :==, :{}, :%{}, :<<>>, :%, :.., :::, :->, :<)",
		 "'+', '==', '{}', '%{}', '<<>>', '%', '..', '::', '->', '<')"},
		{"nil, true, false, :nil)", "nil, true, false, nil)"},
		{"Shop.Cart, Elixir.Shop, Elixir, __MODULE__)",
		 "'Elixir.Shop.Cart', 'Elixir.Shop', 'Elixir', 'Elixir.Shop.Cart')"},
		{"\"text\", \"\", \"\xc3\xa9\\n\\\"\\\\\\#{\\s\\d\\0\")",
		 "<<\"text\">>, <<>>, <<195, 169, \"\\n\\\"\\\\#{ \", 127, 0>>)"},
		{"\"\\xff\\x1\\u{1f600}\\u00e9\\07\\q\")",
		 "<<255, 1, \"\\x{1f600}\\x{e9}\"/utf8, 0, \"7q\">>)"},
		{"'text', ~c\"a'b\", ~c[x\\]y], ~C(a\\nb), '\\xc3\\xa9\\0', '')",
		 "\"text\", \"a'b\", \"x]y\", \"a\\\\nb\", [233, 0], [])"},
		{"~s(a\"b), ~S/a\\n/)", "<<\"a\\\"b\">>, <<\"a\\\\n\">>)"},
		{"1_000, 0xfF, 0o17, 0b101, -1, +2, ?a, ?\\n, ?\\s, ?\xce\xbb, ?\")",
		 "1000, 255, 15, 5, -1, 2, $a, $\\n, $\\s, 955, $\")"},
		{"123456789012345678901234567890, 1.5, -1.0e-3, 1_0.0E2, -0.0)",
		 "123456789012345678901234567890, 1.5, -0.001, 1000.0, -0.0)"},
		{"[], [1], [1, 2 | t], [h | _], [1,])", "[], [1], [1, 2 | T], [H | _], [1])"},
		{"[a: 1, b?: [c: x]], [1, n@h: 2], [\"odd one\": 1, Foo: 2, +: 3, nil: 4], [a: "
		 "1,])",
		 "[{a, 1}, {'b?', [{c, X}]}], [1, {'n@h', 2}], "
		 "[{'odd one', 1}, {'Foo', 2}, {'+', 3}, {nil, 4}], [{a, 1}])"},
		{"{}, {1}, {:ok, x, x}, {:ok, a: 1})", "{}, {1}, {ok, X, X}, {ok, [{a, 1}]})"},
		{"x, timeout: 5000, name: _)", "X, [{timeout, 5000}, {name, _}])"},
		{"%{}, %{a: 1}, %{\"k\" => v, 1 => _}, %{:x => 1, y: 2}, %{[1] => 2, {:a} => 3})",
		 "#{}, #{a := 1}, #{<<\"k\">> := V, 1 := _}, #{x := 1, y := 2}, "
		 "#{[1] := 2, {a} := 3})"},
		{"%Shop.Item{id: 1}, %Date{}, %{__struct__: Date})",
		 "#{'__struct__' := 'Elixir.Shop.Item', id := 1}, "
		 "#{'__struct__' := 'Elixir.Date'}, #{'__struct__' := 'Elixir.Date'})"},
		{"%x{a: 1}, %_{}, x)", "#{'__struct__' := X, a := 1}, #{'__struct__' := Y}, X) "
				       "when is_atom(X), is_atom(Y)"},
		{"%x{}, y) when y > 1 when y < 0",
		 "#{'__struct__' := X}, Y) when is_atom(X), Y > 1; is_atom(X), Y < 0"},
		{"1..3, 3..1, a..b, 1..9//2)",
		 "#{'__struct__' := 'Elixir.Range', first := 1, last := 3, step := 1}, "
		 "#{'__struct__' := 'Elixir.Range', first := 3, last := 1, step := -1}, "
		 "#{'__struct__' := 'Elixir.Range', first := A, last := B}, "
		 "#{'__struct__' := 'Elixir.Range', first := 1, last := 9, step := 2})"},
		{"<<1, 2>>, <<>>, <<\"ab\", 0, \"\xc3\xa9\"::utf8, \"c\"::binary>>)",
		 "<<1, 2>>, <<>>, <<\"ab\", 0, 195, 169, \"c\">>)"},
		{"<<x::8, y::size(x)-binary, z::binary-size(2)-unit(4), r::bitstring>>)",
		 "<<X:8, Y:X/binary, Z:2/binary-unit:4, R/bitstring>>)"},
		{"<<x::16-little-signed, _::float, _::4*8, 1::little-16, 1.5, 5::size(3), "
		 "_::bits>>)",
		 "<<X:16/little-signed, _/float, _:4/unit:8, 1:16/little, 1.5/float, 5:3, "
		 "_/bits>>)"},
		{"\"ab\" <> \"c\" <> rest, <<1>> <> _, \"a\" <> <<x, r::binary>>)",
		 "<<\"abc\", Rest/binary>>, <<1, _/binary>>, <<\"a\", X, R/binary>>)"},
		{"'ab' ++ t, [x, 1] ++ _)", "\"ab\" ++ T, [X, 1 | _])"},
		{"{:ok, x} = y, \"a\" <> _ = z)", "{ok, X} = Y, <<\"a\", _/binary>> = Z)"},
		{"#PID<0.80.1>)", "<0.80.1>)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_same(rows[i][0], rows[i][1]);
}

static void test_elixir_guards(void **state)
{
	static const char *const rows[][2] = {
		{"x, y) when x > 5 and is_atom(y)", "X, Y) when X > 5 andalso is_atom(Y)"},
		{"x) when x == :a when x === nil", "X) when X == a; X =:= nil"},
		{"x) when x!=1 or x !== 2 and not x <= 3",
		 "X) when X /= 1 orelse (X =/= 2 andalso ((not X) =< 3))"},
		{"x) when x < 2 == true", "X) when (X < 2) == true"},
		{"x) when x + 1 * 2 >= -x / 3", "X) when X + 1 * 2 >= (- X) / 3"},
		{"x) when div(x, 2) == rem(x, 3)", "X) when X div 2 == X rem 3"},
		{"x) when Bitwise.band(x, 1) == 0 and (x &&& 1) == 0 and x >>> 1 > 2",
		 "X) when (X band 1 == 0 andalso (X band 1) == 0) andalso (X bsr 1) > 2"},
		{"t) when elem(t, 0) == :ok and elem(t, tuple_size(t) - 1) == 1",
		 "T) when element(1, T) == ok andalso element(tuple_size(T) - 1 + 1, T) == 1"},
		{"m) when is_map_key(m, :a) and m.a.b > 1",
		 "M) when is_map_key(a, M) andalso map_get(b, map_get(a, M)) > 1"},
		{"x) when is_nil(x) or Kernel.is_list(x)", "X) when X =:= nil orelse is_list(X)"},
		{"x) when :erlang.is_record(x, :ok, 2)", "X) when is_record(X, ok, 2)"},
		{"x) when is_struct(x, Date)",
		 "X) when ((is_map(X) andalso (is_atom('Elixir.Date') orelse fail)) andalso "
		 "is_map_key('__struct__', X)) andalso (map_get('__struct__', X) == "
		 "'Elixir.Date')"},
		{"x) when not x in [1] and not x", "X) when (not (X =:= 1)) andalso (not X)"},
		{"x) when not not x in [1]", "X) when not ((not X) =:= 1)"},
		{"x) when not x not in [1]", "X) when not ((not X) =:= 1)"},
		{"x) when (not x) in [1]", "X) when (not X) =:= 1"},
		{"x) when not x in [1] in [2]", "X) when not ((X =:= 1) =:= 2)"},
		{"x) when not x in [1] not in [2]", "X) when not ((not (X =:= 1)) =:= 2)"},
		{"x) when 1 + not x in [2]", "X) when (1 + not X) =:= 2"},
		{"x) when x in [1, :a] and x not in []",
		 "X) when (X =:= 1 orelse X =:= a) andalso (not false)"},
		{"x) when x in 1..3 or x in 3..1",
		 "X) when ((is_integer(X) andalso X >= 1) andalso X =< 3) orelse "
		 "((is_integer(X) andalso X >= 1) andalso X =< 3)"},
		{"x) when x == \"abc\" or x == [a: 1] or x == {:a, \"b\"}",
		 "X) when (X == <<\"abc\">> orelse X == [{a, 1}]) orelse X == {a, <<\"b\">>}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_same(rows[i][0], rows[i][1]);
}

/* What spells the module spells the terms; -> return as ever. */
static void test_which_language(void **state)
{
	static const struct {
		const char *text;
		enum pattern_kind kind;
	} rows[] = {
		{"m:f(a)", PATTERN_ATOM},
		{"'Elixir.Shop':f(a) -> return", PATTERN_ATOM},
		{"_:f(a)", PATTERN_ATOM},
		{"Shop.f(a)", PATTERN_VARIABLE},
		{"Shop.f(a) -> return, stack", PATTERN_VARIABLE},
		{"Elixir.Shop:f(a)", PATTERN_VARIABLE},
		{":lists.f(a)", PATTERN_VARIABLE},
		{"_.f(a)", PATTERN_VARIABLE},
		{"Shop.f(A)", PATTERN_ATOM},
		{"m:f(A)", PATTERN_VARIABLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_pattern *p = parse(rows[i].text);

		assert_int_equal(p->args[0]->kind, rows[i].kind);
		call_pattern_free(p);
	}
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
		{"lists", 6, "expected a colon and a function, or :_ for all functions"},
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
		{"m:f(\"\xce\xbb\", !)", 10, "unexpected character"},
		{"m:f(\"abc", 5, "another \""},
		{"m:f('abc", 5, "another '"},
		{"m:f(1__0)", 6, "the end of a number"},
		{"m:f(37#1)", 5, "base"},
		{"m:f(16#)", 8, "a digit of base 16"},
		{"m:f($)", 7, "`,` or `)`"}, /* $) is a number */
		{"m:f(1.0e999)", 5, "too large"},
		{"m:f(\"\\x{d800}\")", 6, "no character"},
		{"m:f(and)", 5, "write 'and' for the atom"},
		{"m:f(#rec{})", 6, "write the tuple"},
		{"m:f(#{a => 1})", 9, "`:=`"},
		{"m:f(#{A := 1})", 7, "without variables"},
		{"m:f(<<_/binary, 1>>)", 17, "last part"},
		{"m:f(<<A:B>>)", 9, "no variable B comes before"},
		{"m:f(<<A/foo>>)", 9, "expected integer"},
		{"m:f(<<1.5>>)", 7, "/float"},
		{"m:f(<<\"\xce\xbb\">>)", 7, "utf8"},
		{"m:f(A) when", 12, "a value"},
		{"m:f(A) when B > 1", 13, "no argument has the variable B"},
		{"m:f(_) when _ > 1", 13, "_ has no value"},
		{"m:f(A) when is_atm(A)", 13, "is it is_atom?"},
		{"m:f(A) when tuplesize(A) > 1", 13, "is it tuple_size?"},
		{"m:f(A) when xyzzyplugh(A)", 13, "guards cannot call xyzzyplugh"},
		{"m:f(A) when lists:nth(A)", 13, "erlang only"},
		{"m:f(A) when element(A)", 13, "takes 2 arguments, not 1"},
		{"m:f(A) when is_record(A)", 13, "takes 2 or 3 arguments, not 1"},
		{"m:f(A) when self() == A", 13, "--process"},
		{"m:f(A) when A < 1 < 2", 19, "do not chain"},
		{"m:f(A) when A == #{}", 18, "cannot construct a map"},
		{"m:f(A) when (A", 15, "`)`"},
		{"m:f(A) when A ++ B", 15, "an operator"},
		{"m:f(A) when A == <1.2.3>", 18, "of the node only"},
		{"m:f/1 when true", 7, "a guard needs arguments"},
		{"m:f(A) -> retrn", 11, "return or stack, not retrn"},
		{"m:f -> return,", 15, "return or stack"},
		{"m:f -> return stack", 15, "`,` or the end"},
		{"M.f({:add, )", 12, "a pattern, not )"},
		{"M.f(: a)", 6, "the name of an atom"},
		{"M.f(\"a)", 5, "another \""},
		{"M.f(~c[a)", 7, "another ]"},
		{"M.f(~w(a b))", 5, "the sigils"},
		{"M.f(\"a#{x}\")", 7, "write \\#{"},
		{"M.f(\"\\u41\")", 6, "\\uHHHH"},
		{"M.f('\\xff')", 5, "not UTF-8"},
		{"M.f(\"\\u{d800}\")", 6, "no character"},
		{"M.f(16#ff)", 7, "unexpected character"},
		{"M.f(0xg)", 7, "a digit of base 16"},
		{"M.f('a' 'b')", 9, "`,` or `)`"},
		{"M.f(when)", 5, "write :when for the atom"},
		{"M.f(g(x))", 5, "cannot call functions"},
		{"M.f(^x)", 5, "write the value"},
		{"M.f(n@host)", 5, ":n@host"},
		{"M.f([a: 1, 2])", 12, "keywords must come last"},
		{"M.f(%{a: 1, 2 => 3})", 13, "keywords must come last"},
		{"M.f(%{:a := 1})", 10, "`=>` after a key"},
		{"M.f(%{x => 1})", 7, "without variables"},
		{"M.f(#{a: 1})", 5, "unexpected character"},
		{"M.f(%Foo)", 9, "`{` or the name of a struct"},
		{"M.f(<<x::foo>>)", 10, "expected integer"},
		{"M.f(<<'a'>>)", 7, "charlist"},
		{"M.f(x <> \"a\")", 7, "`,` or `)`"},
		{"M.f(\"a\" <> x <> \"b\")", 14, "last part"},
		{"M.f(x) when y > 1", 13, "no argument has the variable y"},
		{"M.f(x) when x > 1, x < 3", 18, "an operator, `when`"},
		{"M.f(x) when x && 1", 15, "an operator"},
		{"M.f(t) when element(1, t)", 13, ":erlang.element"},
		{"M.f(t) when map_get(1, t)", 13, ":erlang.map_get"},
		{"M.f(t) when elem(t)", 13, "takes 2 arguments, not 1"},
		{"M.f(t) when Enum.count(t)", 13, "Kernel, Bitwise and :erlang only"},
		{"M.f(t) when is_atm(t)", 13, "is it is_atom?"},
		{"M.f(t, x) when t in x", 21, "a list or a range"},
		{"M.f(t) when t == %{}", 18, "m.key"},
		{"M.f/1 when true", 7, "Mod.fun(a, b) when"},
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
		{"M.f(", "[", 5000, ")"},
		{"M.f(", "%{a: ", 3000, ")"},
		{"M.f(", "[a: ", 3000, ")"},
		{"M.f(", "%{[", 5000, ")"},
		{"M.f(", "1..", 5000, "1)"},
		{"M.f(", "[1] ++ ", 2000, "a)"},
		{"M.f(x) when x", " in [1, 2]", 1000, ""},
		{"M.f(x) when ", "is_struct(", 1000, "x"},
		{"M.f(x) when x", ".a", 5000, ""},
		{"M.f(x) when ", "elem(", 1000, "x"},
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

static void test_truncated_elixir(void **state)
{
	static const char whole[] =
		":\"my mod\".f([a, {:ok, 'text' ++ t} | _] = b, %{k: 0xff, \"a b\": nil}, %s{}, "
		"<<\"ab\", n::16-little, r::binary>>, #PID<0.80.0>, ?\\n, -1.5e3, \"\\u00e9\" <> "
		"q, 1..3, x: :\"o d\") when a + 1 > n and elem(b, 0) in [1, 2] when "
		"is_struct(s, Date) or not is_nil(q) -> return,stack";

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
		cmocka_unit_test(test_functions),	 cmocka_unit_test(test_arity_only),
		cmocka_unit_test(test_actions),		 cmocka_unit_test(test_terms),
		cmocka_unit_test(test_guards),		 cmocka_unit_test(test_errors),
		cmocka_unit_test(test_hostile),		 cmocka_unit_test(test_long),
		cmocka_unit_test(test_truncated),	 cmocka_unit_test(test_elixir_terms),
		cmocka_unit_test(test_elixir_guards),	 cmocka_unit_test(test_which_language),
		cmocka_unit_test(test_truncated_elixir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
