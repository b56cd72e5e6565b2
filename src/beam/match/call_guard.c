/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards of calls: see call_match.h.  The result of an expression is a term, "fails" (which makes
 * the guard false, like an exception in Erlang) or "unknown".
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

static bool is_bool(const struct call_matcher *m, uint64_t term)
{
	return term == m->true_atom || term == m->false_atom;
}

/* ---- operators ------------------------------------------------------------------------------ */

static uint64_t compare(struct call_matcher *m, enum pattern_operator op, uint64_t a, uint64_t b)
{
	bool exact = op == OPERATOR_SAME || op == OPERATOR_UNSAME;
	enum call_verdict same;
	int c;

	if (op <= OPERATOR_UNSAME) {
		same = call_equal(m, a, b, exact);
		if (same == CALL_UNDECIDED)
			return CALL_UNKNOWN_TERM;
		return call_make_bool(m, (same == CALL_MATCHES) ==
						 (op == OPERATOR_EQ || op == OPERATOR_SAME));
	}
	c = call_compare(m, a, b, false);
	if (c == CALL_INCOMPARABLE)
		return CALL_UNKNOWN_TERM;
	return call_make_bool(m, op == OPERATOR_LT   ? c < 0
				 : op == OPERATOR_LE ? c <= 0
				 : op == OPERATOR_GT ? c > 0
						     : c >= 0);
}

static uint64_t logic(struct call_matcher *m, enum pattern_operator op, uint64_t a, uint64_t b)
{
	bool x = a == m->true_atom, y = b == m->true_atom;

	if (!is_bool(m, a) || !is_bool(m, b))
		return CALL_FAILS_TERM;
	return call_make_bool(m, op == OPERATOR_AND ? x && y : op == OPERATOR_OR ? x || y : x != y);
}

/* `andalso` and `orelse`: the right side is evaluated only if the left one does not decide. */
static uint64_t short_circuit(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t decides = call_make_bool(m, n->op == OPERATOR_ORELSE);
	uint64_t left = call_eval(m, n->items[0]);

	if (!call_is_term(left))
		return left;
	if (!is_bool(m, left))
		return CALL_FAILS_TERM;
	return left == decides ? left : call_eval(m, n->items[1]);
}

static uint64_t one_operand(struct call_matcher *m, enum pattern_operator op, uint64_t a)
{
	if (op != OPERATOR_NOT)
		return call_negate(m, op, a);
	return is_bool(m, a) ? call_make_bool(m, a == m->false_atom) : CALL_FAILS_TERM;
}

static uint64_t operator(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t a, b;

	if (n->op == OPERATOR_ANDALSO || n->op == OPERATOR_ORELSE)
		return short_circuit(m, n);
	a = call_eval(m, n->items[0]);
	if (a == CALL_FAILS_TERM || n->nr == 1)
		return call_is_term(a) ? one_operand(m, n->op, a) : a;
	b = call_eval(m, n->items[1]);
	if (!call_is_term(b))
		return b;
	if (!call_is_term(a))
		return a;
	if (n->op <= OPERATOR_GE)
		return compare(m, n->op, a, b);
	if (n->op == OPERATOR_AND || n->op == OPERATOR_OR || n->op == OPERATOR_XOR)
		return logic(m, n->op, a, b);
	return call_arithmetic(m, n->op, a, b);
}

/* ---- constructed terms ---------------------------------------------------------------------- */

uint64_t call_eval_items(struct call_matcher *m, const struct pattern_node *n, uint64_t *words)
{
	uint64_t v = TERM_NIL;

	for (uint32_t i = 0; i < n->nr; i++) {
		words[i] = call_eval(m, n->items[i]);
		if (words[i] == CALL_FAILS_TERM)
			return CALL_FAILS_TERM;
		if (words[i] == CALL_UNKNOWN_TERM)
			v = CALL_UNKNOWN_TERM;
	}
	return v;
}

static uint64_t make_tuple(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t *words = xcalloc(n->nr + 1, 8);
	uint64_t v = call_eval_items(m, n, words + 1);

	words[0] = (uint64_t)n->nr << 6;
	if (call_is_term(v))
		v = call_make(m, words, n->nr + 1, 2);
	free(words);
	return v;
}

static uint64_t make_list(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t *words = xcalloc(n->nr + 1, 8);
	uint64_t v = call_eval_items(m, n, words), tail = TERM_NIL;

	if (n->tail && v != CALL_FAILS_TERM)
		tail = call_eval(m, n->tail);
	if (call_is_term(v) || tail == CALL_FAILS_TERM)
		v = tail;
	for (uint32_t i = n->nr; i-- > 0 && call_is_term(v);)
		v = call_make(m, (uint64_t[]){words[i], v}, 2, 1);
	free(words);
	return v;
}

uint64_t call_eval(struct call_matcher *m, const struct pattern_node *n)
{
	switch (n->kind) {
	case PATTERN_VARIABLE:
		/* Not bound: the part of the argument that binds it could not be read. */
		return m->bound[n->slot] ? m->values[n->slot] : CALL_UNKNOWN_TERM;
	case PATTERN_TUPLE:
		return make_tuple(m, n);
	case PATTERN_LIST:
		return make_list(m, n);
	case PATTERN_OPERATOR:
		return operator(m, n);
	case PATTERN_CALL:
		return call_function(m, n);
	default:
		return m->constants[n->id];
	}
}

/* ---- truth of a test ------------------------------------------------------------------------ */

/* Result of a test; CALL_DIFFERS: it is false or fails.  Known more often than that of call_eval():
 * one side of an operator can be enough if the other one is unknown. */
static enum call_verdict truth(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t v;

	if (n->kind == PATTERN_OPERATOR && (n->op == OPERATOR_AND || n->op == OPERATOR_ANDALSO)) {
		enum call_verdict left = truth(m, n->items[0]);

		return left == CALL_DIFFERS ? left : call_both(left, truth(m, n->items[1]));
	}
	v = call_eval(m, n);
	if (v == CALL_UNKNOWN_TERM && n->kind == PATTERN_OPERATOR && n->op == OPERATOR_ORELSE &&
	    truth(m, n->items[0]) == CALL_DIFFERS && truth(m, n->items[1]) == CALL_DIFFERS)
		return CALL_DIFFERS;
	if (v == CALL_UNKNOWN_TERM)
		return CALL_UNDECIDED;
	return v == m->true_atom ? CALL_MATCHES : CALL_DIFFERS;
}

enum call_verdict call_guards(struct call_matcher *m)
{
	const struct call_pattern *p = m->pattern;
	enum call_verdict found = p->nr_guards ? CALL_DIFFERS : CALL_MATCHES;

	for (uint32_t i = 0; i < p->nr_guards && found != CALL_MATCHES; i++) {
		enum call_verdict all = CALL_MATCHES;

		for (uint32_t k = 0; k < p->guards[i].nr && all != CALL_DIFFERS; k++)
			all = call_both(all, truth(m, p->guards[i].tests[k]));
		if (all == CALL_MATCHES || found == CALL_DIFFERS)
			found = all;
	}
	return found;
}
