/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_match.h.  This file matches patterns of arguments; they are nested at most
 * CALL_PATTERN_DEPTH deep, so that functions may recurse. */
#include "beam/match/call_match.h"

#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

/* ---- constants ------------------------------------------------------------------------------ */

static uint64_t constant(struct call_matcher *m, const struct pattern_node *n)
{
	switch (n->kind) {
	case PATTERN_ATOM:
		return call_make_atom(m, n->text, n->len);
	case PATTERN_INTEGER:
		return n->big ? call_make_integer(m, n->big) : call_make_int64(m, n->small);
	case PATTERN_FLOAT:
		return call_make_float(m, n->real);
	case PATTERN_PID:
		/* 0: no such pid */
		return n->pid.channel ? 0 : pid_term(m->r->pids, n->pid.number, n->pid.serial);
	case PATTERN_BINARY:
		if (n->nr_segments == 0)
			return call_make_bytes(m, "", 0);
		if (n->nr_segments == 1 && n->segments[0].type == SEGMENT_LITERAL)
			return call_make_bytes(m, n->segments[0].bytes, n->segments[0].len);
		return 0;
	default:
		return 0;
	}
}

/* Makes the constants of a node and of all nodes below it. */
static void make_constants(struct call_matcher *m, const struct pattern_node *n)
{
	m->constants[n->id] = constant(m, n);
	for (uint32_t i = 0; i < n->nr; i++)
		make_constants(m, n->items[i]);
	if (n->tail)
		make_constants(m, n->tail);
	for (uint32_t i = 0; i < n->nr_segments; i++) {
		if (n->segments[i].value)
			make_constants(m, n->segments[i].value);
		if (n->segments[i].size)
			make_constants(m, n->segments[i].size);
	}
}

/* Makes a key of a map as one term; keys have no variables. */
static uint64_t make_term(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t *words, term;

	switch (n->kind) {
	case PATTERN_LIST:
		term = TERM_NIL;
		for (uint32_t i = n->nr; i-- > 0;) {
			uint64_t cell[2] = {make_term(m, n->items[i]), term};

			if (i == n->nr - 1 && n->tail)
				cell[1] = make_term(m, n->tail);
			term = call_make(m, cell, 2, 1);
		}
		return term;
	case PATTERN_TUPLE:
		words = xcalloc(n->nr + 1, 8);
		words[0] = (uint64_t)n->nr << 6;
		for (uint32_t i = 0; i < n->nr; i++)
			words[i + 1] = make_term(m, n->items[i]);
		term = call_make(m, words, n->nr + 1, 2);
		free(words);
		return term;
	default: /* made already; 0, as of a pid of another node, is a key that no map has */
		return m->constants[n->id];
	}
}

static void make_keys(struct call_matcher *m, const struct pattern_node *n)
{
	for (uint32_t i = 0; i < n->nr; i++) {
		if (n->kind == PATTERN_MAP && i % 2 == 0)
			m->constants[n->items[i]->id] = make_term(m, n->items[i]);
		else
			make_keys(m, n->items[i]);
	}
	if (n->tail)
		make_keys(m, n->tail);
}

void call_matcher_open(struct call_matcher **out, const struct call_pattern *p,
		       struct term_reader *r)
{
	struct call_matcher *m = xcalloc(1, sizeof(*m));

	m->pattern = p;
	m->r = r;
	m->otp = r->otp;
	m->constants = xcalloc(p->nr_nodes + 1, sizeof(*m->constants));
	m->values = xcalloc(p->nr_variables + 1, sizeof(*m->values));
	m->bound = xcalloc(p->nr_variables + 1, sizeof(*m->bound));
	m->true_atom = call_make_atom(m, "true", 4);
	m->false_atom = call_make_atom(m, "false", 5);
	for (int i = 0; p->has_args && i < p->arity; i++)
		make_constants(m, p->args[i]);
	for (int i = 0; p->has_args && i < p->arity; i++)
		make_keys(m, p->args[i]);
	for (uint32_t i = 0; i < p->nr_guards; i++)
		for (uint32_t k = 0; k < p->guards[i].nr; k++)
			make_constants(m, p->guards[i].tests[k]);
	m->nr_constant_words = m->made.len;
	r->made_words = 0;
	m->r = NULL;
	*out = m;
}

void call_matcher_close(struct call_matcher *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->texts.len; i++)
		free(m->texts.data[i]);
	vec_free(&m->texts);
	vec_free(&m->atoms);
	vec_free(&m->made);
	free(m->constants);
	free(m->values);
	free(m->bound);
	free(m);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static enum call_verdict match_variable(struct call_matcher *m, uint32_t slot, uint64_t term)
{
	if (m->bound[slot])
		return call_equal(m, m->values[slot], term, true);
	m->bound[slot] = true;
	m->values[slot] = term;
	return CALL_MATCHES;
}

static enum call_verdict match_list(struct call_matcher *m, const struct pattern_node *n,
				    uint64_t term)
{
	enum call_verdict v = CALL_MATCHES;
	uint64_t cell[2];

	for (uint32_t i = 0; i < n->nr && v != CALL_DIFFERS; i++) {
		raddr at = TERM_ADDR(term);

		if (!TERM_IS_LIST(term))
			return CALL_DIFFERS;
		if (!term_word(m->r, at, &cell[0]) || cell[0] == 0)
			return CALL_UNDECIDED;
		v = call_both(v, call_match_node(m, n->items[i], cell[0]));
		if (!term_word(m->r, at + 8, &cell[1]))
			return call_both(v, CALL_UNDECIDED);
		term = cell[1];
	}
	if (v == CALL_DIFFERS)
		return v;
	if (n->tail)
		return call_both(v, call_match_node(m, n->tail, term));
	return term == TERM_NIL ? v : CALL_DIFFERS;
}

static enum call_verdict match_tuple(struct call_matcher *m, const struct pattern_node *n,
				     uint64_t term)
{
	enum call_verdict v = CALL_MATCHES;
	uint64_t header, element;
	enum term_kind kind = TERM_IS_BOXED(term) ? call_kind(m, term, &header) : TERM_KIND_ATOM;

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNDECIDED;
	if (kind != TERM_KIND_TUPLE || HEADER_ARITY(header) != n->nr)
		return CALL_DIFFERS;
	for (uint32_t i = 0; i < n->nr && v != CALL_DIFFERS; i++) {
		if (!term_word(m->r, TERM_ADDR(term) + 8 + 8ull * i, &element))
			v = CALL_UNDECIDED;
		else
			v = call_both(v, call_match_node(m, n->items[i], element));
	}
	return v;
}

static enum call_verdict match_map(struct call_matcher *m, const struct pattern_node *n,
				   uint64_t term)
{
	enum call_verdict v = CALL_MATCHES;
	uint64_t header, value;
	enum term_kind kind = TERM_IS_BOXED(term) ? call_kind(m, term, &header) : TERM_KIND_ATOM;

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNDECIDED;
	if (kind != TERM_KIND_MAP)
		return CALL_DIFFERS;
	for (uint32_t i = 0; i + 1 < n->nr && v != CALL_DIFFERS; i += 2) {
		uint64_t key = m->constants[n->items[i]->id];
		enum call_verdict found = key ? call_map_get(m, term, key, &value) : CALL_DIFFERS;

		v = call_both(v, found);
		if (found == CALL_MATCHES)
			v = call_both(v, call_match_node(m, n->items[i + 1], value));
	}
	return v;
}

static enum call_verdict match_pid(struct call_matcher *m, const struct pattern_node *n,
				   uint64_t term)
{
	struct term_view v;
	uint64_t header;
	enum term_kind kind = call_kind(m, term, &header);

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNDECIDED;
	if (n->pid.channel == 0 || kind != TERM_KIND_EXTERNAL_PID)
		return term == m->constants[n->id] ? CALL_MATCHES : CALL_DIFFERS;
	if (term_view(m->r, term, &v) != kind)
		return CALL_UNDECIDED;
	return v.id.channel == n->pid.channel &&
			       v.id.data == (n->pid.number | (uint64_t)n->pid.serial << 32)
		       ? CALL_MATCHES
		       : CALL_DIFFERS;
}

enum call_verdict call_match_node(struct call_matcher *m, const struct pattern_node *n,
				  uint64_t term)
{
	if (n->kind == PATTERN_ANY)
		return CALL_MATCHES;
	if (n->kind == PATTERN_VARIABLE)
		return match_variable(m, n->slot, term);
	if (term == CALL_UNKNOWN_TERM)
		return CALL_UNDECIDED;
	switch (n->kind) {
	case PATTERN_ALIAS:
		return call_both(call_match_node(m, n->items[0], term),
				 call_match_node(m, n->items[1], term));
	case PATTERN_LIST:
		return match_list(m, n, term);
	case PATTERN_TUPLE:
		return match_tuple(m, n, term);
	case PATTERN_MAP:
		return match_map(m, n, term);
	case PATTERN_BINARY:
		return call_match_bits(m, n, term);
	case PATTERN_PID:
		return match_pid(m, n, term);
	default:
		return call_equal(m, term, m->constants[n->id], true);
	}
}

/* ---- calls ---------------------------------------------------------------------------------- */

static enum call_verdict match(struct call_matcher *m, const uint64_t *args)
{
	const struct call_pattern *p = m->pattern;
	enum call_verdict v = CALL_MATCHES;

	for (int i = 0; i < p->arity && v != CALL_DIFFERS; i++)
		v = call_both(v, call_match_node(m, p->args[i], args[i]));
	return v == CALL_DIFFERS ? v : call_both(v, call_guards(m));
}

enum call_verdict call_match(struct call_matcher *m, struct term_reader *r, const uint64_t *args,
			     unsigned int nr_args)
{
	const struct call_pattern *p = m->pattern;
	uint64_t unreadable = r->unreadable;
	enum call_verdict v;

	if (p->arity >= 0 && (unsigned int)p->arity != nr_args)
		return CALL_DIFFERS;
	if (!p->has_args)
		return CALL_MATCHES;
	m->r = r;
	m->made.len = m->nr_constant_words;
	m->steps = 0;
	memset(m->bound, 0, p->nr_variables * sizeof(*m->bound));
	r->made_addr = CALL_MADE_ADDR;
	r->made = m->made.data;
	r->made_words = (unsigned int)m->made.len;
	v = match(m, args);
	r->made = NULL;
	r->made_words = 0;
	r->unreadable = unreadable;
	m->r = NULL;
	return v;
}
