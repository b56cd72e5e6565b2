/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards of calls: see call_match.h.  An expression gives a term, fails (which makes its guard
 * false, as an exception does in Erlang) or is not known.
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

static bool is_bool(const struct call_matcher *m, uint64_t term)
{
	return term == m->true_atom || term == m->false_atom;
}

static struct call_value known(struct call_matcher *m, enum known k)
{
	return k == KNOWN_NOT ? call_unknown() : call_term(call_make_bool(m, k == KNOWN_YES));
}

/* What has been read may have been nothing. */
static struct call_value checked(uint64_t term)
{
	return term == CALL_UNKNOWN_TERM ? call_unknown() : call_term(term);
}

/* ---- operators ------------------------------------------------------------------------------ */

static struct call_value compare(struct call_matcher *m, enum pattern_operator op, uint64_t a,
				 uint64_t b)
{
	bool exact = op == OPERATOR_SAME || op == OPERATOR_UNSAME;
	enum known k;
	int c;

	if (op <= OPERATOR_UNSAME) {
		k = call_equal(m, a, b, exact);
		if (k != KNOWN_NOT && (op == OPERATOR_NE || op == OPERATOR_UNSAME))
			k = k == KNOWN_YES ? KNOWN_NO : KNOWN_YES;
		return known(m, k);
	}
	c = call_compare(m, a, b, false);
	if (c == CALL_INCOMPARABLE)
		return call_unknown();
	return call_term(call_make_bool(m, op == OPERATOR_LT   ? c < 0
					   : op == OPERATOR_LE ? c <= 0
					   : op == OPERATOR_GT ? c > 0
							       : c >= 0));
}

static struct call_value logic(struct call_matcher *m, enum pattern_operator op, uint64_t a,
			       uint64_t b)
{
	bool x = a == m->true_atom, y = b == m->true_atom;

	if (!is_bool(m, a) || !is_bool(m, b))
		return call_fails();
	return call_term(call_make_bool(m, op == OPERATOR_AND  ? x && y
					   : op == OPERATOR_OR ? x || y
							       : x != y));
}

/* The right side counts only if the left one leaves it open. */
static struct call_value short_circuit(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t decides = call_make_bool(m, n->op == OPERATOR_ORELSE);
	struct call_value left = call_eval(m, n->items[0]);

	if (left.status != VALUE_TERM)
		return left;
	if (!is_bool(m, left.term))
		return call_fails();
	return left.term == decides ? left : call_eval(m, n->items[1]);
}

static struct call_value one_operand(struct call_matcher *m, enum pattern_operator op, uint64_t a)
{
	if (op != OPERATOR_NOT)
		return call_negate(m, op, a);
	return is_bool(m, a) ? call_term(call_make_bool(m, a == m->false_atom)) : call_fails();
}

static struct call_value operator(struct call_matcher *m, const struct pattern_node *n)
{
	struct call_value a, b;

	if (n->op == OPERATOR_ANDALSO || n->op == OPERATOR_ORELSE)
		return short_circuit(m, n);
	a = call_eval(m, n->items[0]);
	if (a.status == VALUE_FAILS || n->nr == 1)
		return a.status == VALUE_TERM ? one_operand(m, n->op, a.term) : a;
	b = call_eval(m, n->items[1]);
	if (b.status == VALUE_FAILS || a.status != VALUE_TERM)
		return b.status == VALUE_FAILS ? b : a;
	if (b.status != VALUE_TERM)
		return b;
	if (n->op <= OPERATOR_GE)
		return compare(m, n->op, a.term, b.term);
	if (n->op == OPERATOR_AND || n->op == OPERATOR_OR || n->op == OPERATOR_XOR)
		return logic(m, n->op, a.term, b.term);
	return call_arithmetic(m, n->op, a.term, b.term);
}

/* ---- what is made --------------------------------------------------------------------------- */

/* Items first to last into `words`. */
static struct call_value items(struct call_matcher *m, const struct pattern_node *n,
			       uint64_t *words)
{
	struct call_value v = call_term(0);

	for (uint32_t i = 0; i < n->nr; i++) {
		struct call_value item = call_eval(m, n->items[i]);

		if (item.status == VALUE_FAILS)
			return item;
		if (item.status != VALUE_TERM)
			v = item;
		words[i] = item.term;
	}
	return v;
}

static struct call_value make_tuple(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t *words = xcalloc(n->nr + 1, 8);
	struct call_value v = items(m, n, words + 1);

	words[0] = (uint64_t)n->nr << 6;
	if (v.status == VALUE_TERM)
		v = checked(call_make(m, words, n->nr + 1, 2));
	free(words);
	return v;
}

static struct call_value make_list(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t *words = xcalloc(n->nr + 1, 8);
	struct call_value v = items(m, n, words), tail = call_term(TERM_NIL);

	if (n->tail && v.status != VALUE_FAILS)
		tail = call_eval(m, n->tail);
	if (tail.status != VALUE_TERM && v.status != VALUE_FAILS)
		v = tail;
	if (v.status == VALUE_TERM)
		v.term = tail.term;
	for (uint32_t i = n->nr; i-- > 0 && v.status == VALUE_TERM;)
		v = checked(call_make(m, (uint64_t[]){words[i], v.term}, 2, 1));
	free(words);
	return v;
}

struct call_value call_eval(struct call_matcher *m, const struct pattern_node *n)
{
	switch (n->kind) {
	case PATTERN_VARIABLE:
		/* It stands in an argument that could not be read as far as that. */
		return m->bound[n->slot] ? checked(m->values[n->slot]) : call_unknown();
	case PATTERN_TUPLE:
		return make_tuple(m, n);
	case PATTERN_LIST:
		return make_list(m, n);
	case PATTERN_OPERATOR:
		return operator(m, n);
	case PATTERN_CALL:
		return call_function(m, n);
	default:
		return checked(m->constants[n->id]);
	}
}

/* ---- is it true? ---------------------------------------------------------------------------- */

/* CALL_DIFFERS: it is not true, or fails.  Says more than call_eval() where one side is not known
 * and the other one decides. */
static enum call_verdict truth(struct call_matcher *m, const struct pattern_node *n)
{
	struct call_value v;

	if (n->kind == PATTERN_OPERATOR && (n->op == OPERATOR_AND || n->op == OPERATOR_ANDALSO)) {
		enum call_verdict left = truth(m, n->items[0]);

		return left == CALL_DIFFERS ? left : call_both(left, truth(m, n->items[1]));
	}
	v = call_eval(m, n);
	if (v.status == VALUE_UNKNOWN && n->kind == PATTERN_OPERATOR && n->op == OPERATOR_ORELSE &&
	    truth(m, n->items[0]) == CALL_DIFFERS && truth(m, n->items[1]) == CALL_DIFFERS)
		return CALL_DIFFERS;
	if (v.status == VALUE_UNKNOWN)
		return CALL_UNDECIDED;
	return v.status == VALUE_TERM && v.term == m->true_atom ? CALL_MATCHES : CALL_DIFFERS;
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
