/* SPDX-License-Identifier: BSD-2-Clause */
/* Rewrites what only guards of Elixir have (`in`, elem() ...) to Erlang's expressions, as Elixir's
 * compiler does. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"

#define STRUCT	  "__struct__"
#define EXCEPTION "__exception__"

/* Functions of module erlang that Kernel does not have: :erlang.element(1, t). */
static const char *const erlang_only[] = {"element", "float", "is_record", "map_get", "size"};

struct kernel {
	const char *name;
	uint32_t fewest, most;
	int (*make)(struct call_parser *p, const struct kernel *k, struct pattern_node **call);
	enum pattern_operator op;
};

/* Limit for a value that is copied by rewriting, as nested copies would grow exponentially. */
#define SEVERAL_TIMES 256 /* nodes */

/* ---- rewriting ------------------------------------------------------------------------------ */

static struct pattern_node *atom(struct call_parser *p, const char *text)
{
	return call_atom(p, text, strlen(text));
}

static int and_also(struct call_parser *p, struct pattern_node **all, struct pattern_node *test)
{
	return call_set_depth(p, test) ? -EINVAL
				       : call_operator(p, OPERATOR_ANDALSO, *all, test, all);
}

/* Number of nodes of an expression; stops counting above `most`. */
static size_t count(const struct pattern_node *n, size_t most)
{
	size_t nr = 1;

	for (uint32_t i = 0; i < n->nr && nr < most; i++)
		nr += count(n->items[i], most - nr);
	return n->tail && nr < most ? nr + count(n->tail, most - nr) : nr;
}

static int check_size(struct call_parser *p, size_t at, const struct pattern_node *n)
{
	return count(n, SEVERAL_TIMES) < SEVERAL_TIMES
		       ? 0
		       : call_fail(p, at,
				   "this is too long, as Erlang's form has it several times");
}

static int make_operator(struct call_parser *p, const struct kernel *k, struct pattern_node **call)
{
	struct pattern_node **items = (*call)->items;

	return call_operator(p, k->op, items[0], (*call)->nr > 1 ? items[1] : NULL, call);
}

/* elem(t, 0) becomes element(1, T). */
static int make_elem(struct call_parser *p, const struct kernel *k, struct pattern_node **call)
{
	struct pattern_node *tuple = (*call)->items[0], *index = (*call)->items[1];

	(void)k;
	if (index->kind == PATTERN_INTEGER && !index->big && index->small < INT64_MAX)
		index->small++;
	else if (call_operator(p, OPERATOR_ADD, index, call_small(p, 1), &index))
		return -EINVAL;
	*call = call_guard_call(p, GUARD_ELEMENT, index, tuple);
	return call_set_depth(p, *call);
}

static int make_is_map_key(struct call_parser *p, const struct kernel *k,
			   struct pattern_node **call)
{
	(void)k;
	*call = call_guard_call(p, GUARD_IS_MAP_KEY, (*call)->items[1], (*call)->items[0]);
	return call_set_depth(p, *call);
}

static int make_is_nil(struct call_parser *p, const struct kernel *k, struct pattern_node **call)
{
	(void)k;
	return call_operator(p, OPERATOR_SAME, (*call)->items[0], atom(p, "nil"), call);
}

static struct pattern_node *field(struct call_parser *p, const char *name, struct pattern_node *map)
{
	struct pattern_node *n = call_guard_call(p, GUARD_MAP_GET, atom(p, name), map);

	call_set_depth(p, n);
	return n;
}

/* Adds two tests of the value of key `name` to the conjunction *all: is_map_key(NAME, MAP), and
 * VALUE == `is`, or is_atom(VALUE) if `is` is NULL. */
static int has_field(struct call_parser *p, const char *name, struct pattern_node *map,
		     struct pattern_node *is, struct pattern_node **all)
{
	struct pattern_node *value = field(p, name, map), *test;

	if (is && call_operator(p, OPERATOR_EQ, value, is, &test))
		return -EINVAL;
	if (!is)
		test = call_guard_call(p, GUARD_IS_ATOM, value, NULL);
	if (and_also(p, all, call_guard_call(p, GUARD_IS_MAP_KEY, atom(p, name), map)))
		return -EINVAL;
	return and_also(p, all, test);
}

/* is_struct(m) or is_struct(m, NAME); a NAME that is no atom makes the guard fail, as in Kernel. */
static int make_is_struct(struct call_parser *p, const struct kernel *k, struct pattern_node **call)
{
	struct pattern_node *map = (*call)->items[0], *is_atom;
	struct pattern_node *name = (*call)->nr > 1 ? (*call)->items[1] : NULL;

	(void)k;
	*call = call_guard_call(p, GUARD_IS_MAP, map, NULL);
	if (call_set_depth(p, *call))
		return -EINVAL;
	if (name) {
		is_atom = call_guard_call(p, GUARD_IS_ATOM, name, NULL);
		if (call_set_depth(p, is_atom) ||
		    call_operator(p, OPERATOR_ORELSE, is_atom, atom(p, "fail"), &is_atom) ||
		    and_also(p, call, is_atom))
			return -EINVAL;
	}
	return has_field(p, STRUCT, map, name, call);
}

/* Tests that __exception__ is true, as Elixir up to 1.18 does.  Elixir 1.20 tests only for the key;
 * the value is true in all exceptions. */
static int make_is_exception(struct call_parser *p, const struct kernel *k,
			     struct pattern_node **call)
{
	struct pattern_node *map = (*call)->items[0];

	if (make_is_struct(p, k, call))
		return -EINVAL;
	return has_field(p, EXCEPTION, map, atom(p, "true"), call);
}

static const struct kernel kernels[] = {
	{.name = "elem", .fewest = 2, .most = 2, .make = make_elem},
	{.name = "is_exception", .fewest = 1, .most = 2, .make = make_is_exception},
	{.name = "is_map_key", .fewest = 2, .most = 2, .make = make_is_map_key},
	{.name = "is_nil", .fewest = 1, .most = 1, .make = make_is_nil},
	{.name = "is_struct", .fewest = 1, .most = 2, .make = make_is_struct},
	{"div", 2, 2, make_operator, OPERATOR_DIV},
	{"rem", 2, 2, make_operator, OPERATOR_REM},
	{"band", 2, 2, make_operator, OPERATOR_BAND},
	{"bor", 2, 2, make_operator, OPERATOR_BOR},
	{"bxor", 2, 2, make_operator, OPERATOR_BXOR},
	{"bsl", 2, 2, make_operator, OPERATOR_BSL},
	{"bsr", 2, 2, make_operator, OPERATOR_BSR},
	{"bnot", 1, 1, make_operator, OPERATOR_BNOT},
};

static const struct kernel *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

const char *call_kernel_name(size_t i)
{
	return i < ARRAY_SIZE(kernels) ? kernels[i].name : NULL;
}

bool call_kernel_differs(const char *name)
{
	return find(name) != NULL;
}

bool call_is_kernel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(erlang_only); i++)
		if (strcmp(erlang_only[i], name) == 0)
			return false;
	if (find(name))
		return true;
	for (unsigned int f = 0; f < NR_GUARD_FUNCTIONS; f++)
		if (strcmp(guard_function_name((enum guard_function)f), name) == 0)
			return true;
	return false;
}

int call_kernel(struct call_parser *p, size_t at, const char *name, struct pattern_node **call)
{
	const struct kernel *k = find(name);
	uint32_t nr = (*call)->nr;

	if (nr >= k->fewest && nr <= k->most) {
		for (uint32_t i = 0; k->make != make_operator && i < nr; i++)
			if (check_size(p, at, (*call)->items[i]))
				return -EINVAL;
		return k->make(p, k, call);
	}
	if (k->fewest != k->most)
		return call_fail(p, at, "%s takes %u or %u arguments, not %u", name, k->fewest,
				 k->most, nr);
	return call_fail(p, at, "%s takes %u argument%s, not %u", name, k->most,
			 k->most == 1 ? "" : "s", nr);
}

/* ---- in ------------------------------------------------------------------------------------- */

/* x in [A, B] becomes V =:= A orelse V =:= B ... */
static int in_list(struct call_parser *p, struct pattern_node *value,
		   const struct pattern_node *list, struct pattern_node **out)
{
	struct pattern_node *test;

	*out = atom(p, "false");
	for (uint32_t i = 0; i < list->nr; i++) {
		if (call_operator(p, OPERATOR_SAME, value, list->items[i], &test))
			return -EINVAL;
		if (i == 0)
			*out = test;
		else if (call_operator(p, OPERATOR_ORELSE, *out, test, out))
			return -EINVAL;
	}
	return 0;
}

/* x in A..B: is_integer(V) andalso V >= FIRST andalso V =< LAST, swapped if it counts down. */
static int in_range(struct call_parser *p, struct pattern_node *value, struct pattern_node *first,
		    struct pattern_node *last, struct pattern_node **out)
{
	bool down = last->small < first->small;
	struct pattern_node *least, *most;

	*out = call_guard_call(p, GUARD_IS_INTEGER, value, NULL);
	if (call_set_depth(p, *out) ||
	    call_operator(p, OPERATOR_GE, value, down ? last : first, &least) ||
	    call_operator(p, OPERATOR_LE, value, down ? first : last, &most) ||
	    and_also(p, out, least))
		return -EINVAL;
	return and_also(p, out, most);
}

static bool is_small(const struct pattern_node *n)
{
	return n->kind == PATTERN_INTEGER && !n->big;
}

static int number(struct call_parser *p, struct pattern_node **out)
{
	size_t at = p->now.at;

	if (call_parse_expression(p, LEVEL_ADD, out))
		return -EINVAL;
	if ((*out)->kind == PATTERN_OPERATOR && (*out)->op == OPERATOR_MINUS &&
	    is_small((*out)->items[0]))
		*out = call_small(p, -(*out)->items[0]->small);
	if (!is_small(*out) && (*out)->kind != PATTERN_LIST)
		return call_fail(p, at, "expected a list or a range of two integers behind `in`");
	return 0;
}

static int membership(struct call_parser *p, struct pattern_node **value)
{
	struct pattern_node *first, *last;
	size_t at = p->now.at;

	if (check_size(p, at, *value) || call_next(p) || number(p, &first))
		return -EINVAL;
	if (first->kind == PATTERN_LIST)
		return first->tail ? call_fail(p, at, "a list behind `in` has no rest")
				   : in_list(p, *value, first, value);
	if (call_take(p, "..", "`..` and the last of a range") || number(p, &last))
		return -EINVAL;
	if (last->kind == PATTERN_LIST)
		return call_fail(p, at, "a range is of two integers");
	return in_range(p, *value, first, last, value);
}

int call_parse_membership(struct call_parser *p, bool negation, struct pattern_node **value)
{
	while (p->elixir && (call_is_reserved(p, "in") || call_is_reserved(p, "not"))) {
		bool negated = call_is_reserved(p, "not");

		if (negated && call_next(p))
			return -EINVAL;
		if (!call_is_reserved(p, "in"))
			return call_expected(p, "`in` after `not`");
		if (negation && !negated) { /* `not x in y` means not (x in y) */
			*value = (*value)->items[0];
			negated = true;
		}
		if (membership(p, value))
			return -EINVAL;
		if (negated && call_operator(p, OPERATOR_NOT, *value, NULL, value))
			return -EINVAL;
		negation = negated;
	}
	return 0;
}
