/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions that follow from a pattern and that BPF can test on one or two words: see
 * abi/call_test.h.  Only conditions that every matching call fulfils.
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

#define ELEMENT_MAX 127
#define TYPE(t)	    (1ull << CALL_TYPE_##t)
#define GROUPS_MAX  8

/* The word of a call that a part of the pattern matches: an argument, or an element of an argument
 * that is a tuple.  See struct call_test. */
struct place {
	bool known;
	uint8_t arg;
	int8_t element;
};

struct maker {
	const struct call_matcher *m;
	struct call_test *out;
	unsigned int nr;
	bool full;
	uint8_t group;
	struct place *places; /* of variables, by slot */
};

static const struct place nowhere;

static void add(struct maker *k, struct place at, enum call_test_op op, uint64_t value)
{
	if (!at.known)
		return;
	if (k->nr >= CALL_TESTS_MAX) {
		k->full = true;
		return;
	}
	k->out[k->nr++] = (struct call_test){
		.arg = at.arg,
		.op = (uint8_t)op,
		.element = at.element,
		.group = k->group,
		.value = value,
	};
}

static void add_header(struct maker *k, struct place at, uint32_t mask, uint32_t value)
{
	add(k, at, CALL_TEST_HEADER, (uint64_t)mask << 32 | value);
}

/* ---- patterns ------------------------------------------------------------------------------- */

/* The word of an immediate constant; 0: not an immediate, or an atom that may still be created. */
static uint64_t immediate(const struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t term = m->constants[n->id];

	if (n->kind == PATTERN_LIST)
		return n->nr == 0 && !n->tail ? TERM_NIL : 0;
	if (n->kind == PATTERN_PID)
		return n->pid.channel == 0 ? term : 0;
	if (n->kind != PATTERN_ATOM && n->kind != PATTERN_INTEGER)
		return 0;
	return TERM_IS_POINTER(term) || call_is_own_atom(term) ? 0 : term;
}

static void test_node(struct maker *k, const struct pattern_node *n, struct place at);

static void test_tuple(struct maker *k, const struct pattern_node *n, struct place at)
{
	add_header(k, at, UINT32_MAX, n->nr << 6);
	if (at.element >= 0)
		return;
	for (uint32_t i = 0; i < n->nr && i <= ELEMENT_MAX; i++) {
		struct place below = {.known = true, .arg = at.arg, .element = (int8_t)i};

		test_node(k, n->items[i], below);
	}
}

static void test_integer(struct maker *k, const struct pattern_node *n, struct place at)
{
	bool negative = n->big ? n->big->negative : n->small < 0;

	add_header(k, at, 0x3f, negative ? SUBTAG_BIG_NEGATIVE : SUBTAG_BIG_POSITIVE);
}

static void test_node(struct maker *k, const struct pattern_node *n, struct place at)
{
	uint64_t word = immediate(k->m, n);

	if (word) {
		add(k, at, CALL_TEST_EQUAL, word);
		return;
	}
	switch (n->kind) {
	case PATTERN_VARIABLE:
		if (!k->places[n->slot].known)
			k->places[n->slot] = at;
		break;
	case PATTERN_ATOM: /* an atom that the node does not have yet */
		add(k, at, CALL_TEST_TYPE, TYPE(ATOM));
		break;
	case PATTERN_INTEGER:
		test_integer(k, n, at);
		break;
	case PATTERN_FLOAT:
		add_header(k, at, 0x3f, SUBTAG_FLOAT);
		break;
	case PATTERN_PID:
		add(k, at, CALL_TEST_TYPE, TYPE(PID) | TYPE(BOXED));
		break;
	case PATTERN_LIST:
		add(k, at, CALL_TEST_TYPE, TYPE(CONS));
		break;
	case PATTERN_TUPLE:
		test_tuple(k, n, at);
		break;
	case PATTERN_MAP:
		add_header(k, at, 0x3f, k->m->otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26);
		break;
	case PATTERN_BINARY:
		add(k, at, CALL_TEST_TYPE, TYPE(BOXED));
		break;
	case PATTERN_ALIAS:
		test_node(k, n->items[0], at);
		test_node(k, n->items[1], at);
		break;
	default:
		break;
	}
}

/* ---- guards --------------------------------------------------------------------------------- */

static struct place place_of(const struct maker *k, const struct pattern_node *n)
{
	return n->kind == PATTERN_VARIABLE ? k->places[n->slot] : nowhere;
}

static void test_type(struct maker *k, enum guard_function f, struct place at)
{
	uint64_t types = TYPE(BOXED);

	switch (f) {
	case GUARD_IS_ATOM:
	case GUARD_IS_BOOLEAN:
		types = TYPE(ATOM);
		break;
	case GUARD_IS_INTEGER:
	case GUARD_IS_NUMBER:
		types |= TYPE(SMALL);
		break;
	case GUARD_IS_LIST:
		types = TYPE(CONS) | TYPE(NIL);
		break;
	case GUARD_IS_PID:
		types |= TYPE(PID);
		break;
	case GUARD_IS_PORT:
		types |= TYPE(PORT);
		break;
	case GUARD_IS_TUPLE:
	case GUARD_IS_RECORD:
		add_header(k, at, 0x3f, SUBTAG_TUPLE);
		return;
	case GUARD_IS_FLOAT:
		add_header(k, at, 0x3f, SUBTAG_FLOAT);
		return;
	case GUARD_IS_BINARY:
	case GUARD_IS_BITSTRING:
	case GUARD_IS_FUNCTION:
	case GUARD_IS_MAP:
	case GUARD_IS_REFERENCE:
		break;
	default:
		return;
	}
	add(k, at, CALL_TEST_TYPE, types);
}

/* Adds a test for `X op word`, X being the word at `at`.  word: an immediate constant; 0 = none. */
static void test_compare(struct maker *k, enum pattern_operator op, struct place at, uint64_t word)
{
	static const enum call_test_op ops[] = {
		[OPERATOR_EQ] = CALL_TEST_SMALL_EQ, [OPERATOR_NE] = CALL_TEST_SMALL_NE,
		[OPERATOR_LT] = CALL_TEST_SMALL_LT, [OPERATOR_LE] = CALL_TEST_SMALL_LE,
		[OPERATOR_GT] = CALL_TEST_SMALL_GT, [OPERATOR_GE] = CALL_TEST_SMALL_GE,
	};

	if (!word)
		return;
	if (op == OPERATOR_SAME || (op == OPERATOR_EQ && !TERM_IS_SMALL(word)))
		add(k, at, CALL_TEST_EQUAL, word);
	else if (op == OPERATOR_UNSAME || (op == OPERATOR_NE && !TERM_IS_SMALL(word)))
		add(k, at, CALL_TEST_UNEQUAL, word);
	else if (TERM_IS_SMALL(word) && op < ARRAY_SIZE(ops))
		add(k, at, ops[op], word);
}

static enum pattern_operator mirrored(enum pattern_operator op)
{
	switch (op) {
	case OPERATOR_LT:
		return OPERATOR_GT;
	case OPERATOR_LE:
		return OPERATOR_GE;
	case OPERATOR_GT:
		return OPERATOR_LT;
	case OPERATOR_GE:
		return OPERATOR_LE;
	default:
		return op;
	}
}

static void test_guard(struct maker *k, const struct pattern_node *n)
{
	if (n->kind == PATTERN_CALL && n->nr) {
		test_type(k, n->function, place_of(k, n->items[0]));
		return;
	}
	if (n->kind != PATTERN_OPERATOR)
		return;
	if (n->op == OPERATOR_AND || n->op == OPERATOR_ANDALSO) {
		test_guard(k, n->items[0]);
		test_guard(k, n->items[1]);
	} else if (n->op <= OPERATOR_GE) {
		test_compare(k, n->op, place_of(k, n->items[0]), immediate(k->m, n->items[1]));
		test_compare(k, mirrored(n->op), place_of(k, n->items[1]),
			     immediate(k->m, n->items[0]));
	}
}

/* If there is one guard, all its tests must hold, as those of patterns must.  Of several guards
 * only one must hold: each is a group of its own; if one yields no test, no group is added. */
static void test_guards(struct maker *k)
{
	const struct call_pattern *p = k->m->pattern;
	unsigned int before = k->nr;

	for (uint32_t i = 0; i < p->nr_guards && !k->full; i++) {
		unsigned int own = k->nr;

		k->group = p->nr_guards > 1 ? (uint8_t)(i + 1) : 0;
		for (uint32_t t = 0; t < p->guards[i].nr; t++)
			test_guard(k, p->guards[i].tests[t]);
		if (p->nr_guards > 1 && k->nr == own) {
			k->nr = before;
			return;
		}
	}
	/* `out` is full.  A single guard may miss tests: more calls pass, which call_match()
	 * refuses later.  If one of several guards is missing, calls that match it would not pass:
	 * then none is added. */
	if (k->full && p->nr_guards > 1)
		k->nr = before;
}

unsigned int call_tests(const struct call_matcher *m, struct call_test *out)
{
	const struct call_pattern *p = m->pattern;
	struct maker k = {.m = m, .out = out};

	if (!p->has_args)
		return 0;
	k.places = xcalloc(p->nr_variables + 1, sizeof(*k.places));
	for (int i = 0; i < p->arity; i++) {
		struct place at = {.known = true, .arg = (uint8_t)i, .element = -1};

		test_node(&k, p->args[i], at);
	}
	if (p->nr_guards <= GROUPS_MAX)
		test_guards(&k);
	free(k.places);
	return k.nr;
}
