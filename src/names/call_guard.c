/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses guards of call patterns: expressions with the operator precedence of erl_parse.yrl of OTP
 * 25 to 29 (`and` like *, `or` like +, comparisons do not chain) and of elixir_parser.yrl of Elixir
 * 1.14 to 1.19.  call_guard_elixir.c rewrites what only Elixir has to Erlang's expressions.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/distance.h"
#include "names/call_parse.h"

/* The first row of each operator has Erlang's spelling. */
static const struct operator
{
	const char *text;
	enum pattern_operator op;
	enum call_level erlang, elixir;
}
operators[] = {
	{"==", OPERATOR_EQ, LEVEL_COMPARE, LEVEL_COMPARE},
	{"/=", OPERATOR_NE, LEVEL_COMPARE, LEVEL_NONE},
	{"=:=", OPERATOR_SAME, LEVEL_COMPARE, LEVEL_NONE},
	{"=/=", OPERATOR_UNSAME, LEVEL_COMPARE, LEVEL_NONE},
	{"<", OPERATOR_LT, LEVEL_COMPARE, LEVEL_RELATE},
	{"=<", OPERATOR_LE, LEVEL_COMPARE, LEVEL_NONE},
	{">", OPERATOR_GT, LEVEL_COMPARE, LEVEL_RELATE},
	{">=", OPERATOR_GE, LEVEL_COMPARE, LEVEL_RELATE},
	{"+", OPERATOR_ADD, LEVEL_ADD, LEVEL_ADD},
	{"-", OPERATOR_SUBTRACT, LEVEL_ADD, LEVEL_ADD},
	{"*", OPERATOR_MULTIPLY, LEVEL_MULTIPLY, LEVEL_MULTIPLY},
	{"/", OPERATOR_QUOTIENT, LEVEL_MULTIPLY, LEVEL_MULTIPLY},
	{"div", OPERATOR_DIV, LEVEL_MULTIPLY, LEVEL_NONE},
	{"rem", OPERATOR_REM, LEVEL_MULTIPLY, LEVEL_NONE},
	{"band", OPERATOR_BAND, LEVEL_MULTIPLY, LEVEL_NONE},
	{"bor", OPERATOR_BOR, LEVEL_ADD, LEVEL_NONE},
	{"bxor", OPERATOR_BXOR, LEVEL_ADD, LEVEL_NONE},
	{"bsl", OPERATOR_BSL, LEVEL_ADD, LEVEL_NONE},
	{"bsr", OPERATOR_BSR, LEVEL_ADD, LEVEL_NONE},
	{"and", OPERATOR_AND, LEVEL_MULTIPLY, LEVEL_NONE},
	{"or", OPERATOR_OR, LEVEL_ADD, LEVEL_NONE},
	{"xor", OPERATOR_XOR, LEVEL_ADD, LEVEL_NONE},
	{"andalso", OPERATOR_ANDALSO, LEVEL_ANDALSO, LEVEL_NONE},
	{"orelse", OPERATOR_ORELSE, LEVEL_ORELSE, LEVEL_NONE},
	{"not", OPERATOR_NOT, LEVEL_ONE_OPERAND, LEVEL_ONE_OPERAND},
	{"bnot", OPERATOR_BNOT, LEVEL_ONE_OPERAND, LEVEL_NONE},
	{"-", OPERATOR_MINUS, LEVEL_ONE_OPERAND, LEVEL_ONE_OPERAND},
	{"+", OPERATOR_PLUS, LEVEL_ONE_OPERAND, LEVEL_ONE_OPERAND},
	{"!=", OPERATOR_NE, LEVEL_NONE, LEVEL_COMPARE},
	{"===", OPERATOR_SAME, LEVEL_NONE, LEVEL_COMPARE},
	{"!==", OPERATOR_UNSAME, LEVEL_NONE, LEVEL_COMPARE},
	{"<=", OPERATOR_LE, LEVEL_NONE, LEVEL_RELATE},
	{"&&&", OPERATOR_BAND, LEVEL_NONE, LEVEL_ANDALSO},
	{"|||", OPERATOR_BOR, LEVEL_NONE, LEVEL_ORELSE},
	{"^^^", OPERATOR_BXOR, LEVEL_NONE, LEVEL_BXOR},
	{"<<<", OPERATOR_BSL, LEVEL_NONE, LEVEL_SHIFT},
	{">>>", OPERATOR_BSR, LEVEL_NONE, LEVEL_SHIFT},
	{"and", OPERATOR_ANDALSO, LEVEL_NONE, LEVEL_ANDALSO},
	{"or", OPERATOR_ORELSE, LEVEL_NONE, LEVEL_ORELSE},
	{"~~~", OPERATOR_BNOT, LEVEL_NONE, LEVEL_ONE_OPERAND},
};

static const struct function {
	const char *name;
	uint32_t fewest, most;
} functions[] = {
#define GUARD_FUNCTION_ROW(id, name, fewest, most) {#name, fewest, most},
	GUARD_FUNCTIONS(GUARD_FUNCTION_ROW)
#undef GUARD_FUNCTION_ROW
};

const char *guard_function_name(enum guard_function f)
{
	return (unsigned int)f < NR_GUARD_FUNCTIONS ? functions[f].name : "?";
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The i-th function that guards of this language may call (Elixir has more); NULL past the last. */
static const char *function_name(const struct call_parser *p, size_t i)
{
	if (i < ARRAY_SIZE(functions))
		return functions[i].name;
	return p->elixir ? call_kernel_name(i - ARRAY_SIZE(functions)) : NULL;
}

/* The function with the most similar name, for a suggestion: at most 3 letters differ. */
static const char *nearest(const struct call_parser *p, const char *name)
{
	size_t least = MIN(strlen(name) / 3 + 1, (size_t)3) + 1;
	const char *found = NULL, *one;

	for (size_t i = 0; (one = function_name(p, i)); i++) {
		size_t d = word_distance(name, one);

		if (d < least && (!p->elixir || call_is_kernel(one))) {
			least = d;
			found = one;
		}
	}
	return found;
}

static int find_function(struct call_parser *p, size_t at, const char *name, size_t *found)
{
	const char *near;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(functions[i].name, name) == 0) {
			*found = i;
			return 0;
		}
	}
	if (strcmp(name, "self") == 0)
		return call_fail(p, at,
				 "self() cannot be used here: --process chooses the process");
	near = nearest(p, name);
	if (near)
		return call_fail(p, at, "guards cannot call %.60s; is it %s?", name, near);
	return call_fail(p, at, "guards cannot call %.60s", name);
}

static int item(struct call_parser *p, struct pattern_node **out)
{
	return call_parse_expression(p, LEVEL_ORELSE, out);
}

/* Parses a call of function `name` of module erlang; the current word is the ( behind the name. */
static int call(struct call_parser *p, const char *name, size_t at, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_CALL);
	const struct function *f;
	size_t which = 0;

	if (find_function(p, at, name, &which) ||
	    call_parse_items(p, n, ")", "`,` or `)` after an argument", item))
		return -EINVAL;
	f = &functions[which];
	n->function = (enum guard_function)which;
	*out = n;
	if (n->nr >= f->fewest && n->nr <= f->most)
		return 0;
	if (f->fewest == f->most)
		return call_fail(p, at, "%s takes %u argument%s, not %u", f->name, f->fewest,
				 f->fewest == 1 ? "" : "s", n->nr);
	return call_fail(p, at, "%s takes %u or %u arguments, not %u", f->name, f->fewest, f->most,
			 n->nr);
}

/* Parses a call behind `erlang:` or `:erlang.` */
static int erlang_call(struct call_parser *p, struct pattern_node **out)
{
	const char *name = call_text(p, p->word.buf, p->word.len);
	size_t at = p->now.at;

	if (p->now.kind != (p->elixir ? WORD_CALL : WORD_ATOM))
		return call_expected(p, "a function of erlang");
	if (call_next(p))
		return -EINVAL;
	return call_is_sign(p, "(") ? call(p, name, at, out) : call_expected(p, "`(`");
}

/* Parses a call of a function or macro of Elixir's Kernel; the current word is its name. */
static int kernel_call(struct call_parser *p, struct pattern_node **out)
{
	const char *name = call_text(p, p->word.buf, p->word.len);
	size_t at = p->now.at, which;

	if (call_next(p))
		return -EINVAL;
	if (!call_is_kernel(name))
		return find_function(p, at, name, &which)
			       ? -EINVAL
			       : call_fail(p, at, "Kernel has no %s: write :erlang.%s(...)", name,
					   name);
	if (!call_kernel_differs(name))
		return call(p, name, at, out);
	*out = call_node(p, PATTERN_CALL);
	if (call_parse_items(p, *out, ")", "`,` or `)` after an argument", item))
		return -EINVAL;
	return call_kernel(p, at, name, out);
}

/* Parses an atom, or a call: f(...), erlang:f(...); in Elixir Kernel.f(...), :erlang.f(...). */
static int atom_or_call(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *atom;
	size_t at = p->now.at;

	if (call_parse_constant(p, &atom))
		return -EINVAL;
	if (call_is_sign(p, p->elixir ? "." : ":")) {
		bool kernel = p->elixir && (strcmp(atom->text, "Elixir.Kernel") == 0 ||
					    strcmp(atom->text, "Elixir.Bitwise") == 0);

		if (!kernel && strcmp(atom->text, "erlang") != 0)
			return call_fail(p, at, "guards call functions of %s only",
					 p->elixir ? "Kernel, Bitwise and :erlang" : "erlang");
		if (call_next(p))
			return -EINVAL;
		if (!kernel)
			return erlang_call(p, out);
		return p->now.kind == WORD_CALL ? kernel_call(p, out)
						: call_expected(p, "a function and its arguments");
	}
	if (!p->elixir && call_is_sign(p, "("))
		return call(p, atom->text, at, out);
	*out = atom;
	return 0;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Parses `.name.first` behind *out, Elixir's access to atom keys of (nested) maps. */
static int fields(struct call_parser *p, struct pattern_node **out)
{
	while (p->elixir && call_is_sign(p, ".")) {
		if (call_next(p))
			return -EINVAL;
		if (p->now.kind != WORD_VARIABLE)
			return call_expected(p, "a field of a map");
		*out = call_guard_call(p, GUARD_MAP_GET, call_atom(p, p->word.buf, p->word.len),
				       *out);
		if (call_set_depth(p, *out) || call_next(p))
			return -EINVAL;
	}
	return 0;
}

static int variable(struct call_parser *p, struct pattern_node **out)
{
	uint32_t slot = call_slot(p, p->word.buf, false);

	if (strcmp(p->word.buf, "_") == 0)
		return call_fail(p, p->now.at, "_ has no value in a guard");
	if (slot == UINT32_MAX)
		return call_fail(p, p->now.at, "no argument has the variable %.60s", p->word.buf);
	*out = call_node(p, PATTERN_VARIABLE);
	(*out)->slot = slot;
	return call_next(p) ? -EINVAL : fields(p, out);
}

static int parentheses(struct call_parser *p, struct pattern_node **out)
{
	if (call_next(p) || call_parse_expression(p, LEVEL_ORELSE, out))
		return -EINVAL;
	return call_take(p, ")", "an operator or `)`");
}

static int primary(struct call_parser *p, struct pattern_node **out)
{
	if (p->now.kind == WORD_VARIABLE)
		return variable(p, out);
	if (p->now.kind == WORD_STRING)
		return call_parse_string(p, out);
	if (p->now.kind == WORD_ATOM)
		return atom_or_call(p, out);
	if (p->now.kind == WORD_CALL)
		return kernel_call(p, out);
	if (call_is_sign(p, "("))
		return parentheses(p, out);
	if (call_is_sign(p, "<<") || p->now.kind == WORD_BINARY)
		return call_parse_binary(p, true, out);
	if (call_is_sign(p, "{")) {
		*out = call_node(p, PATTERN_TUPLE);
		return call_parse_items(p, *out, "}", "`,` or `}` after an element", item);
	}
	if (call_is_sign(p, "[")) {
		*out = call_node(p, PATTERN_LIST);
		return call_parse_items(p, *out, "]", "`,`, `|` or `]` after an element", item);
	}
	if (call_is_sign(p, "#") || call_is_sign(p, "%"))
		return call_fail(p, p->now.at, "a guard cannot construct a map: use %s",
				 p->elixir ? "m.key, is_map_key(m, k)"
					   : "map_get(K, M), is_map_key(K, M)");
	if (p->now.kind == WORD_PID && p->now.pid[0] != 0)
		return call_fail(p, p->now.at, "a guard can have pids of the node only: <0.N.N>");
	if (call_parse_constant(p, out))
		return -EINVAL;
	return *out ? 0 : call_expected(p, "a value");
}

/* The unary (one_operand) or binary operator that the current word spells, and in *level its
 * precedence; NULL: the word is no such operator. */
static const struct operator*
	operator_at(const struct call_parser *p, bool one_operand, enum call_level *level)
{
	const char *text = p->now.kind == WORD_SIGN	  ? p->now.sign
			   : p->now.kind == WORD_RESERVED ? p->word.buf
							  : "";

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		*level = p->elixir ? operators[i].elixir : operators[i].erlang;
		if (*level != LEVEL_NONE && strcmp(operators[i].text, text) == 0 &&
		    (*level == LEVEL_ONE_OPERAND) == one_operand)
			return &operators[i];
	}
	return NULL;
}

int call_operator(struct call_parser *p, enum pattern_operator op, struct pattern_node *left,
		  struct pattern_node *right, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_OPERATOR);

	n->op = op;
	n->items = call_alloc(p, 2 * sizeof(*n->items));
	n->items[0] = left;
	n->items[1] = right;
	n->nr = right ? 2 : 1;
	*out = n;
	return call_set_depth(p, n);
}

struct pattern_node *call_guard_call(struct call_parser *p, enum guard_function f,
				     struct pattern_node *first, struct pattern_node *second)
{
	struct pattern_node *n = call_node(p, PATTERN_CALL);

	n->function = f;
	n->items = call_alloc(p, 2 * sizeof(*n->items));
	n->items[0] = first;
	n->items[1] = second;
	n->nr = second ? 2 : 1;
	return n;
}

static int operand(struct call_parser *p, struct pattern_node **out)
{
	enum call_level level;
	const struct operator* o = operator_at(p, true, &level);
	int rc;

	if (p->depth >= CALL_PATTERN_DEPTH)
		return call_fail(p, p->now.at, "this is nested more than %d deep",
				 CALL_PATTERN_DEPTH);
	p->depth++;
	if (o) {
		rc = call_next(p);
		rc = rc ? rc : operand(p, out);
		rc = rc ? rc : call_operator(p, o->op, *out, NULL, out);
	} else {
		rc = primary(p, out);
	}
	p->depth--;
	return rc;
}

int call_parse_expression(struct call_parser *p, enum call_level level, struct pattern_node **out)
{
	enum call_level now, last = LEVEL_NONE;
	const struct operator* o = operator_at(p, true, &now);
	bool negation = o && o->op == OPERATOR_NOT;

	if (operand(p, out))
		return -EINVAL;
	for (;;) {
		struct pattern_node *right;

		if (level <= LEVEL_IN && call_parse_membership(p, negation, out))
			return -EINVAL;
		negation = false;
		o = operator_at(p, false, &now);
		if (!o || now < level)
			return 0;
		if (!p->elixir && now == LEVEL_COMPARE && last == LEVEL_COMPARE)
			return call_fail(p, p->now.at,
					 "comparisons do not chain: write A < B, B < C");
		if (call_next(p) || call_parse_expression(p, now + 1, &right) ||
		    call_operator(p, o->op, *out, right, out))
			return -EINVAL;
		last = now;
	}
}

/* ---- guards --------------------------------------------------------------------------------- */

static int guard(struct call_parser *p, struct call_guard *g)
{
	struct pattern_node *list = call_node(p, PATTERN_TUPLE), *test;
	struct call_items items = {0};
	int rc;

	do {
		rc = call_next(p);
		rc = rc ? rc : call_parse_expression(p, LEVEL_ORELSE, &test);
		if (rc == 0)
			vec_push(&items.list, test);
	} while (rc == 0 && !p->elixir && call_is_sign(p, ","));
	call_keep_items(p, &items, list);
	g->tests = list->items;
	g->nr = list->nr;
	return rc;
}

int call_parse_guards(struct call_parser *p)
{
	VEC(struct call_guard) guards = {0};
	int rc;

	do {
		struct call_guard g = {0};

		rc = guard(p, &g);
		vec_push(&guards, g);
	} while (rc == 0 && (p->elixir ? call_is_reserved(p, "when") : call_is_sign(p, ";")));
	p->out->nr_guards = (uint32_t)guards.len;
	p->out->guards = call_alloc(p, guards.len * sizeof(*guards.data));
	memcpy(p->out->guards, guards.data, guards.len * sizeof(*guards.data));
	vec_free(&guards);
	return rc;
}
