/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of arguments: see call_pattern.h. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"
#include "names/utf8.h"

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

static struct pattern_node *small(struct call_parser *p, int64_t value)
{
	struct pattern_node *n = call_node(p, PATTERN_INTEGER);

	n->small = value;
	return n;
}

int call_parse_constant(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n;

	*out = NULL;
	switch (p->now.kind) {
	case WORD_ATOM:
		n = call_node(p, PATTERN_ATOM);
		n->len = p->word.len;
		n->text = call_text(p, p->word.buf, n->len);
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

/* + or - in front of a number. */
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

	for (; rc == 0 && p->now.kind == WORD_STRING; rc = call_next(p)) {
		for (size_t at = 0; at < p->word.len;) {
			uint32_t c;

			at += utf8_decode(p->word.buf + at, p->word.len - at, &c);
			vec_push(&items.list, small(p, c));
		}
	}
	call_keep_items(p, &items, n);
	*out = n;
	return rc ? rc : call_set_depth(p, n);
}

/* ---- lists, tuples, maps -------------------------------------------------------------------- */

static int operand(struct call_parser *p, struct pattern_node **out);

/* "abc" ++ T, which binds more tightly than =. */
static int string(struct call_parser *p, struct pattern_node **out)
{
	if (call_parse_string(p, out))
		return -EINVAL;
	if (!call_is_sign(p, "++"))
		return 0;
	if (call_next(p) || operand(p, &(*out)->tail))
		return -EINVAL;
	if ((*out)->nr == 0) /* "" ++ T is T */
		*out = (*out)->tail;
	return call_set_depth(p, *out);
}

/* The next of a list or tuple; `expected`: what stands after the one before. */
static int element(struct call_parser *p, struct call_items *items, const char *expected)
{
	struct pattern_node *item;
	int rc = items->list.len ? call_take(p, ",", expected) : 0;

	rc = rc ? rc : call_parse_pattern(p, &item);
	if (rc == 0)
		vec_push(&items->list, item);
	return rc;
}

static int list(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_LIST);
	struct call_items items = {0};
	int rc = call_next(p);

	while (rc == 0 && !call_is_sign(p, "]")) {
		if (items.list.len && call_is_sign(p, "|")) {
			rc = call_next(p);
			rc = rc ? rc : call_parse_pattern(p, &n->tail);
			if (rc == 0 && !call_is_sign(p, "]"))
				rc = call_expected(p, "`]` after the rest of a list");
			break;
		}
		rc = element(p, &items, "`,`, `|` or `]` after an element");
	}
	call_keep_items(p, &items, n);
	*out = n;
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
}

static int tuple(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_TUPLE);
	struct call_items items = {0};
	int rc = call_next(p);

	while (rc == 0 && !call_is_sign(p, "}"))
		rc = element(p, &items, "`,` or `}` after an element");
	call_keep_items(p, &items, n);
	*out = n;
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
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

/* KEY := PATTERN */
static int pair(struct call_parser *p, struct call_items *items)
{
	struct pattern_node *key, *value;
	size_t at = p->now.at;

	if (call_parse_pattern(p, &key))
		return -EINVAL;
	if (has_variables(key) || key->kind == PATTERN_ALIAS || key->kind == PATTERN_MAP)
		return call_fail(p, at, "expected a key without variables");
	if (call_is_sign(p, "=>"))
		return call_fail(p, p->now.at, "expected `:=` in the pattern of a map");
	if (call_take(p, ":=", "`:=` after a key") || call_parse_pattern(p, &value))
		return -EINVAL;
	vec_push(&items->list, key);
	vec_push(&items->list, value);
	return 0;
}

static int map(struct call_parser *p, struct pattern_node **out)
{
	struct pattern_node *n = call_node(p, PATTERN_MAP);
	struct call_items items = {0};
	int rc = call_next(p);

	if (rc == 0 && p->now.kind == WORD_ATOM)
		return call_expected(p, "`{` (records are not known here: write the tuple)");
	rc = rc ? rc : call_take(p, "{", "`{` after #");
	while (rc == 0 && !call_is_sign(p, "}")) {
		if (items.list.len)
			rc = call_take(p, ",", "`,` or `}` after a value");
		rc = rc ? rc : pair(p, &items);
	}
	call_keep_items(p, &items, n);
	*out = n;
	rc = rc ? rc : call_set_depth(p, n);
	return rc ? rc : call_next(p);
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
		int (*parse)(struct call_parser *p, struct pattern_node **out);
	} starts[] = {{"[", list},	  {"{", tuple},		{"#", map},	     {"<<", binary},
		      {"(", parentheses}, {"-", signed_number}, {"+", signed_number}};

	if (p->now.kind == WORD_VARIABLE)
		return variable(p, out);
	if (p->now.kind == WORD_STRING)
		return string(p, out);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (call_is_sign(p, starts[i].sign))
			return starts[i].parse(p, out);
	if (call_parse_constant(p, out))
		return -EINVAL;
	if (*out)
		return 0;
	if (p->now.kind == WORD_RESERVED)
		return call_fail(p, p->now.at, "%s is a word of Erlang's own: '%s' is the atom",
				 p->word.buf, p->word.buf);
	return call_expected(p, "a pattern");
}

/* A pattern without =. */
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

int call_parse_pattern(struct call_parser *p, struct pattern_node **out)
{
	int rc = operand(p, out);

	while (rc == 0 && call_is_sign(p, "=")) {
		struct pattern_node *n = call_node(p, PATTERN_ALIAS);

		n->items = call_alloc(p, 2 * sizeof(*n->items));
		n->items[0] = *out;
		rc = call_next(p);
		rc = rc ? rc : operand(p, &n->items[1]);
		n->nr = rc ? 1 : 2;
		*out = n;
		rc = rc ? rc : call_set_depth(p, n);
	}
	return rc;
}
