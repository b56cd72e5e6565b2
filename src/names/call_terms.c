/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses patterns of arguments: see call_pattern.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"
#include "names/utf8.h"

#define STRUCT "__struct__"
#define RANGE  "Elixir.Range"

uint32_t call_slot(struct call_parser *p, const char *name, bool add)
{
	for (size_t i = 0; i < p->variables.len; i++)
		if (strcmp(p->variables.data[i], name) == 0)
			return (uint32_t)i;
	if (!add)
		return UINT32_MAX;
	vec_push(&p->variables, call_text(p, name, strlen(name)));
	return (uint32_t)p->variables.len - 1;
}

/* ---- constants ------------------------------------------------------------------------------ */

static struct pattern_node *integer(struct call_parser *p, const struct bigint *value)
{
	struct pattern_node *n = call_node(p, PATTERN_INTEGER);
	struct bigint *big;

	if (bigint_get(value, &n->small))
		return n;
	big = call_alloc(p, offsetof(struct bigint, digits) + 8 * (size_t)value->nr);
	bigint_copy(big, value);
	n->big = big;
	return n;
}

struct pattern_node *call_small(struct call_parser *p, int64_t value)
{
	struct pattern_node *n = call_node(p, PATTERN_INTEGER);

	n->small = value;
	return n;
}

struct pattern_node *call_atom(struct call_parser *p, const char *text, size_t len)
{
	struct pattern_node *n = call_node(p, PATTERN_ATOM);

	n->len = len;
	n->text = call_text(p, text, len);
	return n;
}

static struct pattern_node *two(struct call_parser *p, enum pattern_kind kind,
				struct pattern_node *first, struct pattern_node *second)
{
	struct pattern_node *n = call_node(p, kind);

	n->items = call_alloc(p, 2 * sizeof(*n->items));
	n->items[0] = first;
	n->items[1] = second;
	n->nr = 2;
	return n;
}

int call_parse_constant(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n;

	*out = NULL;
	switch (p->now.kind) {
	case WORD_ATOM:
		n = call_atom(p, p->word.buf, p->word.len);
		break;
	case WORD_INTEGER:
		n = integer(p, &p->number);
		break;
	case WORD_FLOAT:
		n = call_node(p, PATTERN_FLOAT);
		n->real = p->now.real;
		break;
	case WORD_PID:
		n = call_node(p, PATTERN_PID);
		n->pid.channel = p->now.pid[0];
		n->pid.number = p->now.pid[1];
		n->pid.serial = p->now.pid[2];
		break;
	default:
		return 0;
	}
	*out = n;
	return call_next(p);
}

/* Parses a number behind + or -. */
static int signed_number(struct call_parser *p, struct pattern_node **out)
{
	bool minus = call_is_sign(p, "-");

	if (call_next(p))
		return -EINVAL;
	if (p->now.kind == WORD_INTEGER)
		p->number.negative = minus && p->number.nr;
	else if (p->now.kind == WORD_FLOAT)
		p->now.real = minus ? -p->now.real : p->now.real;
	else
		return call_expected(p, "a number");
	return call_parse_constant(p, out);
}

int call_parse_string(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_LIST);
	struct call_items items = {0};
	int rc = 0;

	do {
		for (size_t at = 0; at < p->word.len;) {
			uint32_t c;

			at += utf8_decode(p->word.buf + at, p->word.len - at, &c);
			vec_push(&items.list, call_small(p, c));
		}
		rc = call_next(p);
	} while (rc == 0 && !p->elixir && p->now.kind == WORD_STRING);
	call_keep_items(p, &items, n);
	*out = n;
	return rc ? rc : call_set_depth(p, n);
}

/* ---- lists, tuples, maps -------------------------------------------------------------------- */

static int operand(struct call_parser *p, struct pattern_node **out);

/* Parses `++ T` behind the string *out; ++ binds more tightly than =. */
static int joined(struct call_parser *p, struct pattern_node **out)
{
	if (!call_is_sign(p, "++"))
		return 0;
	if (call_next(p) || operand(p, &(*out)->tail))
		return -EINVAL;
	if ((*out)->nr == 0) /* "" ++ T is T */
		*out = (*out)->tail;
	return call_set_depth(p, *out);
}

static int string(struct call_parser *p, struct pattern_node **out)
{
	return call_parse_string(p, out) ? -EINVAL : joined(p, out);
}

typedef int (*parse_item)(struct call_parser *p, struct pattern_node **out);

/* Parses Elixir's keywords a: 1, b: 2 up to `end`: in a map as keys and values, else as
 * 2-tuples. */
static int keywords(struct call_parser *p, struct call_items *items, bool in_map, const char *end,
		    parse_item item)
{
	while (p->now.kind == WORD_KEY) {
		struct pattern_node *pair[2], *n;

		pair[0] = call_atom(p, p->word.buf, p->word.len);
		if (call_next(p) || item(p, &pair[1]))
			return -EINVAL;
		if (in_map) {
			vec_push(&items->list, pair[0]);
			vec_push(&items->list, pair[1]);
		} else {
			n = two(p, PATTERN_TUPLE, pair[0], pair[1]);
			vec_push(&items->list, n);
			if (call_set_depth(p, n))
				return -EINVAL;
		}
		if (!call_is_sign(p, ","))
			break;
		if (call_next(p))
			return -EINVAL;
		if (p->now.kind != WORD_KEY && !call_is_sign(p, end))
			return call_expected(p, "another `key:`, as keywords must come last");
	}
	return 0;
}

/* Parses the next item of a list, tuple or arguments, and the comma before it; `expected` is for
 * the error if that is missing. */
static int element(struct call_parser *p, struct call_items *items, const char *end,
		   const char *expected, parse_item item)
{
	struct call_items pairs = {0};
	struct pattern_node *n;
	int rc = items->list.len ? call_take(p, ",", expected) : 0;

	if (rc || (p->elixir && items->list.len && call_is_sign(p, end)))
		return rc;
	if (p->now.kind == WORD_KEY && end[0] == ']')
		return keywords(p, items, false, end, item);
	if (p->now.kind == WORD_KEY) {
		n = call_node(p, PATTERN_LIST);
		rc = keywords(p, &pairs, false, end, item);
		call_keep_items(p, &pairs, n);
		rc = rc ? rc : call_set_depth(p, n);
	} else {
		rc = item(p, &n);
	}
	if (rc == 0)
		vec_push(&items->list, n);
	return rc;
}

int call_parse_items(struct call_parser *p, struct pattern_node *n, const char *end,
		     const char *expected, parse_item item)
{
	struct call_items items = {0};
	int rc = call_next(p);

	while (rc == 0 && !call_is_sign(p, end)) {
		if (end[0] == ']' && items.list.len && call_is_sign(p, "|")) {
			rc = call_next(p);
			rc = rc ? rc : item(p, &n->tail);
			if (rc == 0 && !call_is_sign(p, "]"))
				rc = call_expected(p, "`]` after the rest of a list");
			break;
		}
		rc = element(p, &items, end, expected, item);
	}
	call_keep_items(p, &items, n);
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
}

static int list(struct call_parser *p, struct pattern_node **out)
{
	*out = call_node(p, PATTERN_LIST);
	if (call_parse_items(p, *out, "]", "`,`, `|` or `]` after an element", call_parse_pattern))
		return -EINVAL;
	return p->elixir && !(*out)->tail ? joined(p, out) : 0;
}

static int tuple(struct call_parser *p, struct pattern_node **out)
{
	*out = call_node(p, PATTERN_TUPLE);
	return call_parse_items(p, *out, "}", "`,` or `}` after an element", call_parse_pattern);
}

static bool has_variables(const struct pattern_node *n)
{
	if (n->kind == PATTERN_VARIABLE || n->kind == PATTERN_ANY)
		return true;
	for (uint32_t i = 0; i < n->nr; i++)
		if (has_variables(n->items[i]))
			return true;
	for (uint32_t i = 0; i < n->nr_segments; i++)
		if (n->segments[i].type != SEGMENT_LITERAL)
			return true;
	return n->tail && has_variables(n->tail);
}

/* Parses a pair of a map: KEY := PATTERN, in Elixir KEY => PATTERN. */
static int pair(struct call_parser *p, struct call_items *items)
{
	const char *sign = p->elixir ? "=>" : ":=";
	struct pattern_node *key, *value;
	size_t at = p->now.at;

	if (call_parse_pattern(p, &key))
		return -EINVAL;
	if (has_variables(key) || key->kind == PATTERN_ALIAS || key->kind == PATTERN_MAP)
		return call_fail(p, at, "expected a key without variables");
	if (!p->elixir && call_is_sign(p, "=>"))
		return call_fail(p, p->now.at, "expected `:=` in the pattern of a map");
	if (call_take(p, sign, p->elixir ? "`=>` after a key" : "`:=` after a key") ||
	    call_parse_pattern(p, &value))
		return -EINVAL;
	vec_push(&items->list, key);
	vec_push(&items->list, value);
	return 0;
}

static void add_field(struct call_parser *p, struct call_items *items, const char *name,
		      struct pattern_node *value)
{
	vec_push(&items->list, call_atom(p, name, strlen(name)));
	vec_push(&items->list, value);
}

/* Parses the name of an Elixir struct between % and {, if there is one. */
static int struct_name(struct call_parser *p, struct call_items *items)
{
	struct pattern_node *name;
	char slot[32];

	if (p->now.kind == WORD_ATOM) {
		name = call_atom(p, p->word.buf, p->word.len);
	} else if (p->now.kind == WORD_VARIABLE) {
		snprintf(slot, sizeof(slot), "%%%zu", p->structs.len);
		name = call_node(p, PATTERN_VARIABLE);
		name->slot = call_slot(p, strcmp(p->word.buf, "_") ? p->word.buf : slot, true);
		vec_push(&p->structs, name->slot);
	} else {
		return 0;
	}
	add_field(p, items, STRUCT, name);
	return call_next(p);
}

static int map(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_MAP);
	struct call_items items = {0};
	int rc = call_next(p);
	size_t nr;

	if (rc == 0 && !p->elixir && p->now.kind == WORD_ATOM)
		return call_expected(p, "`{` (records are not supported: write the tuple)");
	rc = rc || !p->elixir ? rc : struct_name(p, &items);
	rc = rc ? rc : call_take(p, "{", p->elixir ? "`{` or the name of a struct" : "`{` after #");
	nr = items.list.len;
	while (rc == 0 && !call_is_sign(p, "}")) {
		if (items.list.len > nr)
			rc = call_take(p, ",", "`,` or `}` after a value");
		if (rc == 0 && p->now.kind == WORD_KEY)
			rc = keywords(p, &items, true, "}", call_parse_pattern);
		else if (rc == 0 && !(p->elixir && items.list.len > nr && call_is_sign(p, "}")))
			rc = pair(p, &items);
	}
	call_keep_items(p, &items, n);
	*out = n;
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
}

static bool is_less(const struct pattern_node *a, const struct pattern_node *b)
{
	struct bigint left, right;

	bigint_set(&left, a->small);
	bigint_set(&right, b->small);
	return bigint_compare(a->big ? a->big : &left, b->big ? b->big : &right) < 0;
}

/* Parses `..B` or `..B//C` of Elixir's range, a struct, behind A; *out is A and becomes the
 * range. */
static int range(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_MAP), *last, *step = NULL;
	struct pattern_node *first = *out;
	struct call_items items = {0};
	int rc = call_next(p);

	rc = rc ? rc : operand(p, &last);
	if (rc == 0 && call_is_sign(p, "//")) {
		rc = call_next(p);
		rc = rc ? rc : operand(p, &step);
	} else if (rc == 0 && first->kind == PATTERN_INTEGER && last->kind == PATTERN_INTEGER) {
		step = call_small(p, is_less(last, first) ? -1 : 1);
	}
	if (rc)
		return rc;
	add_field(p, &items, STRUCT, call_atom(p, RANGE, strlen(RANGE)));
	add_field(p, &items, "first", first);
	add_field(p, &items, "last", last);
	if (step)
		add_field(p, &items, "step", step);
	call_keep_items(p, &items, n);
	*out = n;
	return call_set_depth(p, n);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static int variable(struct call_parser *p, struct pattern_node **out)
{
	if (strcmp(p->word.buf, "_") == 0) {
		*out = call_node(p, PATTERN_ANY);
	} else {
		*out = call_node(p, PATTERN_VARIABLE);
		(*out)->slot = call_slot(p, p->word.buf, true);
	}
	return call_next(p);
}

static int binary(struct call_parser *p, struct pattern_node **out)
{
	return call_parse_binary(p, false, out);
}

static int parentheses(struct call_parser *p, struct pattern_node **out)
{
	if (call_next(p) || call_parse_pattern(p, out))
		return -EINVAL;
	return call_take(p, ")", "`)`");
}

static int primary(struct call_parser *p, struct pattern_node **out)
{
	static const struct {
		const char *sign;
		parse_item parse;
	} starts[] = {{"[", list},	    {"{", tuple},	 {"#", map},
		      {"%", map},	    {"<<", binary},	 {"(", parentheses},
		      {"-", signed_number}, {"+", signed_number}};

	if (p->now.kind == WORD_VARIABLE)
		return variable(p, out);
	if (p->now.kind == WORD_STRING)
		return string(p, out);
	if (p->now.kind == WORD_BINARY)
		return binary(p, out);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (call_is_sign(p, starts[i].sign))
			return starts[i].parse(p, out);
	if (call_parse_constant(p, out))
		return -EINVAL;
	if (*out)
		return 0;
	if (p->now.kind == WORD_RESERVED)
		return call_fail(
			p, p->now.at,
			p->elixir ? "%s is a reserved word of Elixir: write :%s for the atom"
				  : "%s is a reserved word of Erlang: write '%s' for the atom",
			p->word.buf, p->word.buf);
	if (p->now.kind == WORD_CALL)
		return call_fail(p, p->now.at, "a pattern cannot call functions");
	if (p->elixir && call_is_sign(p, "^"))
		return call_fail(p, p->now.at, "^ has no variable to pin here: write the value");
	return call_expected(p, "a pattern");
}

/* Parses an operand of = or of Elixir's `..`. */
static int operand(struct call_parser *p, struct pattern_node **out)
{
	int rc;

	if (p->depth >= CALL_PATTERN_DEPTH)
		return call_fail(p, p->now.at, "this is nested more than %d deep",
				 CALL_PATTERN_DEPTH);
	p->depth++;
	rc = primary(p, out);
	p->depth--;
	return rc;
}

/* Parses an operand of =, or a range. */
static int part(struct call_parser *p, struct pattern_node **out)
{
	int rc = operand(p, out);

	return rc || !call_is_sign(p, "..") ? rc : range(p, out);
}

int call_parse_pattern(struct call_parser *p, struct pattern_node **out)
{
	int rc = part(p, out);

	while (rc == 0 && call_is_sign(p, "=")) {
		struct pattern_node *other;

		if (call_next(p) || part(p, &other))
			return -EINVAL;
		*out = two(p, PATTERN_ALIAS, *out, other);
		rc = call_set_depth(p, *out);
	}
	return rc;
}
