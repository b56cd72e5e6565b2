/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions in guards of calls (erl_bif_guard.c, OTP 25 to 29): see call_match.h. */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"
#include "beam/node/node.h"

#define ARITY_26 24 /* offset of the arity in ErlFunThing up to OTP 26 (term_read.c) */

/* ---- types ---------------------------------------------------------------------------------- */

static bool is_reference(enum term_kind kind)
{
	return kind == TERM_KIND_REF || kind == TERM_KIND_EXTERNAL_REF;
}

static bool is_of_type(struct call_matcher *m, enum guard_function f, uint64_t term,
		       enum term_kind kind)
{
	switch (f) {
	case GUARD_IS_ATOM:
		return kind == TERM_KIND_ATOM;
	case GUARD_IS_BOOLEAN:
		return term == m->true_atom || term == m->false_atom;
	case GUARD_IS_BITSTRING:
		return kind == TERM_KIND_BITS;
	case GUARD_IS_FLOAT:
		return kind == TERM_KIND_FLOAT;
	case GUARD_IS_FUNCTION:
		return kind == TERM_KIND_FUN;
	case GUARD_IS_INTEGER:
		return kind == TERM_KIND_SMALL || kind == TERM_KIND_BIG;
	case GUARD_IS_LIST:
		return call_is_list(kind);
	case GUARD_IS_MAP:
		return kind == TERM_KIND_MAP;
	case GUARD_IS_NUMBER:
		return call_is_number(kind);
	case GUARD_IS_PID:
		return kind == TERM_KIND_PID || kind == TERM_KIND_EXTERNAL_PID;
	case GUARD_IS_PORT:
		return kind == TERM_KIND_PORT || kind == TERM_KIND_EXTERNAL_PORT;
	case GUARD_IS_REFERENCE:
		return is_reference(kind);
	default:
		return kind == TERM_KIND_TUPLE;
	}
}

static uint64_t is_binary(struct call_matcher *m, uint64_t term, enum term_kind kind)
{
	struct term_view v;

	if (kind != TERM_KIND_BITS)
		return call_make_bool(m, false);
	if (term_view(m->r, term, &v) != TERM_KIND_BITS)
		return CALL_UNKNOWN_TERM;
	return call_make_bool(m, v.bits.nr_bits % 8 == 0);
}

/* is_function(F, Arity) */
static uint64_t is_function(struct call_matcher *m, uint64_t term, enum term_kind kind,
			    uint64_t header, uint64_t arity)
{
	uint64_t arity_header, word;
	enum term_kind of_arity = call_kind(m, arity, &arity_header);
	struct term_view v;

	if (of_arity == TERM_KIND_UNREADABLE)
		return CALL_UNKNOWN_TERM;
	if (of_arity == TERM_KIND_BIG && HEADER_SUBTAG(arity_header) == SUBTAG_BIG_POSITIVE)
		return call_make_bool(m, false);
	if (of_arity != TERM_KIND_SMALL || TERM_SMALL(arity) < 0)
		return CALL_FAILS_TERM;
	if (kind != TERM_KIND_FUN)
		return call_make_bool(m, false);
	if (HEADER_SUBTAG(header) != SUBTAG_FUN) /* OTP 24: may be an external fun */
		return term_view(m->r, term, &v) != TERM_KIND_EXPORT
			       ? CALL_UNKNOWN_TERM
			       : call_make_bool(m, v.fun.arity == (uint64_t)TERM_SMALL(arity));
	if (m->r->otp <= 26) {
		if (!term_word(m->r, TERM_ADDR(term) + ARITY_26, &word))
			return CALL_UNKNOWN_TERM;
		return call_make_bool(m, (word & 0xff) == (uint64_t)TERM_SMALL(arity));
	}
	return call_make_bool(m, (header >> 8 & 0xff) == (uint64_t)TERM_SMALL(arity));
}

static uint64_t is_record(struct call_matcher *m, uint64_t term, enum term_kind kind,
			  uint64_t header, const uint64_t *args, uint32_t nr)
{
	uint64_t first;

	if (!TERM_IS_ATOM(args[1]))
		return CALL_FAILS_TERM;
	if (nr > 2 && !TERM_IS_SMALL(args[2]))
		return CALL_FAILS_TERM;
	if (kind != TERM_KIND_TUPLE || HEADER_ARITY(header) == 0)
		return call_make_bool(m, false);
	if (nr > 2 && (int64_t)HEADER_ARITY(header) != TERM_SMALL(args[2]))
		return call_make_bool(m, false);
	if (!term_word(m->r, TERM_ADDR(term) + 8, &first))
		return CALL_UNKNOWN_TERM;
	return call_make_bool(m, call_equal(m, first, args[1], true) == CALL_MATCHES);
}

/* ---- lists, tuples, maps -------------------------------------------------------------------- */

static uint64_t length(struct call_matcher *m, uint64_t list)
{
	uint64_t cell[2], n = 0;

	for (; TERM_IS_LIST(list); n++) {
		if (!call_cell(m, list, &cell[0], &cell[1]) || ++m->steps > CALL_STEPS_MAX)
			return CALL_UNKNOWN_TERM;
		list = cell[1];
	}
	return list == TERM_NIL ? call_make_int64(m, (int64_t)n) : CALL_FAILS_TERM;
}

static uint64_t head_or_tail(struct call_matcher *m, uint64_t list, bool head)
{
	uint64_t word;

	if (!TERM_IS_LIST(list))
		return CALL_FAILS_TERM;
	if (!term_word(m->r, TERM_ADDR(list) + (head ? 0 : 8), &word) || !word)
		return CALL_UNKNOWN_TERM;
	return word;
}

static uint64_t element(struct call_matcher *m, uint64_t n, uint64_t tuple, uint64_t header)
{
	uint64_t word;

	if (!TERM_IS_SMALL(n) || TERM_SMALL(n) < 1 ||
	    (uint64_t)TERM_SMALL(n) > HEADER_ARITY(header))
		return CALL_FAILS_TERM;
	if (!term_word(m->r, TERM_ADDR(tuple) + 8 * (uint64_t)TERM_SMALL(n), &word))
		return CALL_UNKNOWN_TERM;
	return word;
}

static uint64_t map_function(struct call_matcher *m, enum guard_function f, const uint64_t *args,
			     uint64_t map)
{
	struct term_view v;
	uint64_t value;
	enum call_verdict found;

	if (f == GUARD_MAP_SIZE)
		return term_view(m->r, map, &v) == TERM_KIND_MAP
			       ? call_make_int64(m, (int64_t)v.map.size)
			       : CALL_UNKNOWN_TERM;
	found = call_map_get(m, map, args[0], &value);
	if (found == CALL_UNDECIDED)
		return CALL_UNKNOWN_TERM;
	if (f == GUARD_IS_MAP_KEY)
		return call_make_bool(m, found == CALL_MATCHES);
	if (found == CALL_DIFFERS)
		return CALL_FAILS_TERM;
	return value;
}

/* ---- bitstrings ----------------------------------------------------------------------------- */

static uint64_t bits_size(struct call_matcher *m, enum guard_function f, uint64_t term)
{
	struct term_view v;

	if (term_view(m->r, term, &v) != TERM_KIND_BITS)
		return CALL_UNKNOWN_TERM;
	if (f == GUARD_BIT_SIZE)
		return call_make_int64(m, (int64_t)v.bits.nr_bits);
	return call_make_int64(m, (int64_t)((v.bits.nr_bits + (f == GUARD_BYTE_SIZE ? 7 : 0)) / 8));
}

/* binary_part(Binary, Start, Length); Length may be negative.  Up to OTP 26 also of bitstrings. */
static uint64_t part(struct call_matcher *m, uint64_t term, uint64_t start, uint64_t length_)
{
	struct term_view v;
	int64_t from, len, whole;

	if (term_view(m->r, term, &v) != TERM_KIND_BITS)
		return CALL_UNKNOWN_TERM;
	if (!TERM_IS_SMALL(start) || !TERM_IS_SMALL(length_) ||
	    (m->r->otp > 26 && v.bits.nr_bits % 8))
		return CALL_FAILS_TERM;
	from = TERM_SMALL(start);
	len = TERM_SMALL(length_);
	whole = (int64_t)(v.bits.nr_bits / 8);
	if (from < 0 || from > whole || len > whole - from || len < -from)
		return CALL_FAILS_TERM;
	if (len < 0) {
		from += len;
		len = -len;
	}
	return call_make_part(m, &v, 8 * (uint64_t)from, 8 * (uint64_t)len);
}

static uint64_t binary_part(struct call_matcher *m, const uint64_t *args, uint32_t nr)
{
	uint64_t header, place[2];
	enum term_kind kind;

	if (nr == 3)
		return part(m, args[0], args[1], args[2]);
	kind = call_kind(m, args[1], &header);
	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNKNOWN_TERM;
	if (kind != TERM_KIND_TUPLE || HEADER_ARITY(header) != 2)
		return CALL_FAILS_TERM;
	if (!term_bytes(m->r, TERM_ADDR(args[1]) + 8, place, sizeof(place)))
		return CALL_UNKNOWN_TERM;
	return part(m, args[0], place[0], place[1]);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static uint64_t this_node(struct call_matcher *m)
{
	const struct beam_node *n = m->r->node;
	uint64_t node, name;

	if (!n || !n->anchors.this_node_ptr || n->layout.node_sysname < 0 ||
	    !term_vm_word(m->r, n->anchors.this_node_ptr, &node) ||
	    !term_vm_word(m->r, node + (uint32_t)n->layout.node_sysname, &name) ||
	    !TERM_IS_ATOM(name))
		return CALL_UNKNOWN_TERM;
	return name;
}

static uint64_t node_of(struct call_matcher *m, uint64_t term, enum term_kind kind)
{
	struct term_view v;

	if (kind == TERM_KIND_PID || kind == TERM_KIND_PORT || kind == TERM_KIND_REF)
		return this_node(m);
	if (kind != TERM_KIND_EXTERNAL_PID && kind != TERM_KIND_EXTERNAL_PORT &&
	    kind != TERM_KIND_EXTERNAL_REF)
		return CALL_FAILS_TERM;
	return term_view(m->r, term, &v) == kind ? v.id.node : CALL_UNKNOWN_TERM;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static uint64_t of_two(struct call_matcher *m, enum guard_function f, uint64_t a, uint64_t b)
{
	int c = f == GUARD_MAX ? call_compare(m, b, a, false) : call_compare(m, a, b, false);

	if (c == CALL_INCOMPARABLE)
		return CALL_UNKNOWN_TERM;
	return c > 0 ? b : a;
}

/* Calls a function; fails if the argument that it examines, `term`, is not of the right kind. */
static uint64_t apply(struct call_matcher *m, enum guard_function f, const uint64_t *args,
		      uint32_t nr)
{
	bool second = f == GUARD_ELEMENT || f == GUARD_MAP_GET || f == GUARD_IS_MAP_KEY;
	uint64_t term = args[second], header;
	enum term_kind kind = call_kind(m, term, &header);

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNKNOWN_TERM;
	switch (f) {
	case GUARD_IS_BINARY:
		return is_binary(m, term, kind);
	case GUARD_IS_FUNCTION:
		return nr == 2 ? is_function(m, term, kind, header, args[1])
			       : call_make_bool(m, kind == TERM_KIND_FUN);
	case GUARD_IS_RECORD:
		return is_record(m, term, kind, header, args, nr);
	case GUARD_LENGTH:
		return call_is_list(kind) ? length(m, term) : CALL_FAILS_TERM;
	case GUARD_HD:
	case GUARD_TL:
		return head_or_tail(m, term, f == GUARD_HD);
	case GUARD_ELEMENT:
		return kind == TERM_KIND_TUPLE ? element(m, args[0], term, header)
					       : CALL_FAILS_TERM;
	case GUARD_TUPLE_SIZE:
		return kind == TERM_KIND_TUPLE ? call_make_int64(m, (int64_t)HEADER_ARITY(header))
					       : CALL_FAILS_TERM;
	case GUARD_MAP_GET:
	case GUARD_IS_MAP_KEY:
	case GUARD_MAP_SIZE:
		return kind == TERM_KIND_MAP ? map_function(m, f, args, term) : CALL_FAILS_TERM;
	case GUARD_SIZE:
		if (kind == TERM_KIND_TUPLE)
			return call_make_int64(m, (int64_t)HEADER_ARITY(header));
		return kind == TERM_KIND_BITS ? bits_size(m, f, term) : CALL_FAILS_TERM;
	case GUARD_BIT_SIZE:
	case GUARD_BYTE_SIZE:
		return kind == TERM_KIND_BITS ? bits_size(m, f, term) : CALL_FAILS_TERM;
	case GUARD_BINARY_PART:
		return kind == TERM_KIND_BITS ? binary_part(m, args, nr) : CALL_FAILS_TERM;
	case GUARD_NODE:
		return node_of(m, term, kind);
	case GUARD_ABS:
	case GUARD_CEIL:
	case GUARD_FLOAT:
	case GUARD_FLOOR:
	case GUARD_ROUND:
	case GUARD_TRUNC:
		return call_round(m, f, term);
	default:
		return call_make_bool(m, is_of_type(m, f, term, kind));
	}
}

uint64_t call_function(struct call_matcher *m, const struct pattern_node *n)
{
	uint64_t args[3] = {0}; /* the largest arity in GUARD_FUNCTIONS */
	uint64_t v = call_eval_items(m, n, args);

	if (!call_is_term(v))
		return v;
	if (n->nr == 0)
		return this_node(m);
	if (n->function == GUARD_MAX || n->function == GUARD_MIN)
		return of_two(m, n->function, args[0], args[1]);
	return apply(m, n->function, args, n->nr);
}
