/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards of call patterns: expressions, their operators bound as erl_parse.yrl of OTP 25 to 29
 * binds them (`and` like *, `or` like +, comparisons do not chain).
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"

enum level { LEVEL_ORELSE = 1, LEVEL_ANDALSO, LEVEL_COMPARE, LEVEL_ADD, LEVEL_MULTIPLY };

static const struct operator
{
	const char *text;
	enum pattern_operator op;
	enum level level; /* 0: stands in front of one operand */
}
operators[] = {
	{"==", OPERATOR_EQ, LEVEL_COMPARE},
	{"/=", OPERATOR_NE, LEVEL_COMPARE},
	{"=:=", OPERATOR_SAME, LEVEL_COMPARE},
	{"=/=", OPERATOR_UNSAME, LEVEL_COMPARE},
	{"<", OPERATOR_LT, LEVEL_COMPARE},
	{"=<", OPERATOR_LE, LEVEL_COMPARE},
	{">", OPERATOR_GT, LEVEL_COMPARE},
	{">=", OPERATOR_GE, LEVEL_COMPARE},
	{"+", OPERATOR_ADD, LEVEL_ADD},
	{"-", OPERATOR_SUBTRACT, LEVEL_ADD},
	{"*", OPERATOR_MULTIPLY, LEVEL_MULTIPLY},
	{"/", OPERATOR_QUOTIENT, LEVEL_MULTIPLY},
	{"div", OPERATOR_DIV, LEVEL_MULTIPLY},
	{"rem", OPERATOR_REM, LEVEL_MULTIPLY},
	{"band", OPERATOR_BAND, LEVEL_MULTIPLY},
	{"bor", OPERATOR_BOR, LEVEL_ADD},
	{"bxor", OPERATOR_BXOR, LEVEL_ADD},
	{"bsl", OPERATOR_BSL, LEVEL_ADD},
	{"bsr", OPERATOR_BSR, LEVEL_ADD},
	{"and", OPERATOR_AND, LEVEL_MULTIPLY},
	{"or", OPERATOR_OR, LEVEL_ADD},
	{"xor", OPERATOR_XOR, LEVEL_ADD},
	{"andalso", OPERATOR_ANDALSO, LEVEL_ANDALSO},
	{"orelse", OPERATOR_ORELSE, LEVEL_ORELSE},
	{"not", OPERATOR_NOT, 0},
	{"bnot", OPERATOR_BNOT, 0},
	{"-", OPERATOR_MINUS, 0},
	{"+", OPERATOR_PLUS, 0},
};

static const struct function {
	const char *name;
	uint32_t fewest, most;
} functions[] = {
#define GUARD_FUNCTION_ROW(id, name, fewest, most) {#name, fewest, most},
	GUARD_FUNCTIONS(GUARD_FUNCTION_ROW)
#undef GUARD_FUNCTION_ROW
};

static int expression(struct call_parser *p, int level, struct pattern_node **out);

const char *guard_function_name(enum guard_function f)
{
	return (unsigned int)f < NR_GUARD_FUNCTIONS ? functions[f].name : "?";
}

const char *pattern_operator_text(enum pattern_operator op)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (operators[i].op == op)
			return operators[i].text;
	return "?";
}

/* ---- functions ------------------------------------------------------------------------------ */

#define NAME_MAX_LEN 24

/* How many characters are to be changed, put in, taken out or swapped with the next. */
static unsigned int distance(const char *a, const char *b)
{
	size_t nr_a = strlen(a), nr_b = strlen(b);
	unsigned int d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];

	if (nr_a > NAME_MAX_LEN || nr_b > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (size_t i = 0; i <= nr_a; i++) {
		for (size_t j = 0; j <= nr_b; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned int)(i + j);
				continue;
			}
			d[i][j] = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = MIN(d[i][j], d[i - 1][j] + 1);
			d[i][j] = MIN(d[i][j], d[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[nr_a][nr_b];
}

/* Half of a name must be right: at most three letters are wrong. */
static const char *nearest(const char *name)
{
	unsigned int least = MIN((unsigned int)strlen(name) / 3 + 1, 3u) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		unsigned int d = distance(name, functions[i].name);

		if (d < least) {
			least = d;
			found = functions[i].name;
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
	near = nearest(name);
	if (near)
		return call_fail(p, at, "guards cannot call %.60s; is it %s?", name, near);
	return call_fail(p, at, "guards cannot call %.60s", name);
}

static int items_of(struct call_parser *p, const char *end, const char *expected, bool bar,
		    struct pattern_node *n)
{
	struct call_items items = {0};
	struct pattern_node *item;
	int rc = call_next(p);

	while (rc == 0 && !call_is_sign(p, end)) {
		if (bar && items.list.len && call_is_sign(p, "|")) {
			rc = call_next(p);
			rc = rc ? rc : expression(p, LEVEL_ORELSE, &n->tail);
			if (rc == 0 && !call_is_sign(p, end))
				rc = call_expected(p, "`]` after the rest of a list");
			break;
		}
		if (items.list.len)
			rc = call_take(p, ",", expected);
		rc = rc ? rc : expression(p, LEVEL_ORELSE, &item);
		if (rc == 0)
			vec_push(&items.list, item);
	}
	call_keep_items(p, &items, n);
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
}

static int call(struct call_parser *p, const struct pattern_node *atom, size_t at,
		struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_CALL);
	const struct function *f;
	size_t which = 0;

	if (find_function(p, at, atom->text, &which) ||
	    items_of(p, ")", "`,` or `)` after an argument", false, n))
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

/* An atom, or a call: f(...), erlang:f(...). */
static int atom_or_call(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *atom;
	size_t at = p->now.at;

	if (call_parse_constant(p, &atom))
		return -EINVAL;
	if (call_is_sign(p, ":")) {
		if (strcmp(atom->text, "erlang") != 0)
			return call_fail(p, at, "guards call functions of erlang only");
		if (call_next(p))
			return -EINVAL;
		at = p->now.at;
		if (p->now.kind != WORD_ATOM)
			return call_expected(p, "a function of erlang");
		if (call_parse_constant(p, &atom))
			return -EINVAL;
		if (!call_is_sign(p, "("))
			return call_expected(p, "`(`");
	}
	if (call_is_sign(p, "("))
		return call(p, atom, at, out);
	*out = atom;
	return 0;
}

/* ---- operands ------------------------------------------------------------------------------- */

static int variable(struct call_parser *p, struct pattern_node **out)
{
	uint32_t slot = call_slot(p, p->word.buf, false);

	if (strcmp(p->word.buf, "_") == 0)
		return call_fail(p, p->now.at, "_ has no value in a guard");
	if (slot == UINT32_MAX)
		return call_fail(p, p->now.at, "%.60s is none of the arguments' variables",
				 p->word.buf);
	*out = call_node(p, PATTERN_VARIABLE);
	(*out)->slot = slot;
	return call_next(p);
}

static int parentheses(struct call_parser *p, struct pattern_node **out)
{
	if (call_next(p) || expression(p, LEVEL_ORELSE, out))
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
	if (call_is_sign(p, "("))
		return parentheses(p, out);
	if (call_is_sign(p, "<<"))
		return call_parse_binary(p, true, out);
	if (call_is_sign(p, "{")) {
		*out = call_node(p, PATTERN_TUPLE);
		return items_of(p, "}", "`,` or `}` after an element", false, *out);
	}
	if (call_is_sign(p, "[")) {
		*out = call_node(p, PATTERN_LIST);
		return items_of(p, "]", "`,`, `|` or `]` after an element", true, *out);
	}
	if (call_is_sign(p, "#"))
		return call_fail(p, p->now.at,
				 "maps are not made in guards: map_get(K, M), is_map_key(K, M)");
	if (p->now.kind == WORD_PID && p->now.pid[0] != 0)
		return call_fail(p, p->now.at, "guards know pids of the node itself: <0.N.N>");
	if (call_parse_constant(p, out))
		return -EINVAL;
	return *out ? 0 : call_expected(p, "a value");
}

static const struct operator* operator_at(const struct call_parser *p, bool one_operand)
{
	const char *text = p->now.kind == WORD_SIGN	  ? p->now.sign
			   : p->now.kind == WORD_RESERVED ? p->word.buf
							  : "";

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (strcmp(operators[i].text, text) == 0 &&
		    (operators[i].level == 0) == one_operand)
			return &operators[i];
	return NULL;
}

static int make(struct call_parser *p, enum pattern_operator op, struct pattern_node *left,
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

static int operand(struct call_parser *p, struct pattern_node **out)
{
	const struct operator* o = operator_at(p, true);
	int rc;

	if (p->depth >= CALL_PATTERN_DEPTH)
		return call_fail(p, p->now.at, "this is nested more than %d deep",
				 CALL_PATTERN_DEPTH);
	p->depth++;
	if (o) {
		rc = call_next(p);
		rc = rc ? rc : operand(p, out);
		rc = rc ? rc : make(p, o->op, *out, NULL, out);
	} else {
		rc = primary(p, out);
	}
	p->depth--;
	return rc;
}

/* Operators of this level and those that bind more tightly. */
static int expression(struct call_parser *p, int level, struct pattern_node **out)
{
	const struct operator* o, *last = NULL;

	if (operand(p, out))
		return -EINVAL;
	while ((o = operator_at(p, false)) && (int)o->level >= level) {
		struct pattern_node *right;

		if (o->level == LEVEL_COMPARE && last && last->level == LEVEL_COMPARE)
			return call_fail(p, p->now.at,
					 "comparisons do not chain: write A < B, B < C");
		if (call_next(p) || expression(p, (int)o->level + 1, &right) ||
		    make(p, o->op, *out, right, out))
			return -EINVAL;
		last = o;
	}
	return 0;
}

/* ---- guards --------------------------------------------------------------------------------- */

static int guard(struct call_parser *p, struct call_guard *g)
{
	struct pattern_node *list = call_node(p, PATTERN_TUPLE), *test;
	struct call_items items = {0};
	int rc;

	do {
		rc = call_next(p);
		rc = rc ? rc : expression(p, LEVEL_ORELSE, &test);
		if (rc == 0)
			vec_push(&items.list, test);
	} while (rc == 0 && call_is_sign(p, ","));
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
	} while (rc == 0 && call_is_sign(p, ";"));
	p->out->nr_guards = (uint32_t)guards.len;
	p->out->guards = call_alloc(p, guards.len * sizeof(*guards.data));
	memcpy(p->out->guards, guards.data, guards.len * sizeof(*guards.data));
	vec_free(&guards);
	return rc;
}
