/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files that match calls (call_match.h).  Constants of the pattern and results of
 * guards are terms like those of the node: words in `made`, at addresses that no node has, which
 * the reader maps to `made`.  So the same functions decompose and compare all terms.
 */
#ifndef EBEAM_BEAM_CALL_INTERNAL_H
#define EBEAM_BEAM_CALL_INTERNAL_H

#include "base/bigint.h"
#include "base/vec.h"
#include "beam/match/call_match.h"
#include "beam/term/term_internal.h"

/* Not a canonical address, so no node has memory there. */
#define CALL_MADE_ADDR	0x00eb000000000000ull
#define CALL_MADE_WORDS (1u << 20)
/* A term for "unknown": nothing can be read at its address. */
#define CALL_UNKNOWN_TERM ((CALL_MADE_ADDR - 0x1000) | 2)
/* Result of a guard expression that fails. */
#define CALL_FAILS_TERM ((CALL_MADE_ADDR - 0x2000) | 2)

#define SMALL_MIN      (-(1ll << 59))
#define SMALL_MAX      ((1ll << 59) - 1)
#define MAKE_SMALL(n)  (((uint64_t)(n) << 4) | 0xf)
#define CALL_STEPS_MAX (1u << 20) /* terms, cells and pairs that may be visited for one call */

struct call_atom {
	const char *text;
	size_t len;
};

struct call_matcher {
	const struct call_pattern *pattern;
	struct term_reader *r; /* set during a call of the API */
	int otp;
	uint64_t *constants;	     /* by id of a pattern node; 0 = not a constant */
	VEC(struct call_atom) atoms; /* atoms that the node does not have: see call_make_atom() */
	VEC(char *) texts;	     /* the texts of `atoms`, owned */
	VEC(uint64_t) made;
	size_t nr_constant_words; /* first words of `made`, which are constants */
	uint64_t true_atom, false_atom;
	/* State of the call that is being matched. */
	uint64_t *values; /* of variables, by slot */
	bool *bound;
	unsigned int steps;
};

static inline enum call_verdict call_both(enum call_verdict a, enum call_verdict b)
{
	if (a == CALL_DIFFERS || b == CALL_DIFFERS)
		return CALL_DIFFERS;
	return a == CALL_UNDECIDED || b == CALL_UNDECIDED ? CALL_UNDECIDED : CALL_MATCHES;
}

/* ---- call_value.c: terms -------------------------------------------------------------------- */

/* Kind of a term by its tag and header word alone (TERM_KIND_REF: any reference of this node,
 * TERM_KIND_FUN: any fun); TERM_KIND_UNREADABLE: invalid, or the header cannot be read.  *header: 0
 * if it is not boxed. */
enum term_kind call_kind(struct call_matcher *m, uint64_t term, uint64_t *header);
bool call_is_number(enum term_kind kind);
bool call_is_list(enum term_kind kind);
/* Reads a cons cell; false: it cannot be read. */
bool call_cell(struct call_matcher *m, uint64_t term, uint64_t *head, uint64_t *tail);

/* Make new terms; CALL_UNKNOWN_TERM if `made` is full.  tag: 1 = list, 2 = boxed. */
uint64_t call_make(struct call_matcher *m, const uint64_t *words, size_t nr, unsigned int tag);
uint64_t call_make_atom(struct call_matcher *m, const char *text, size_t len);
uint64_t call_make_bool(const struct call_matcher *m, bool b);
uint64_t call_make_integer(struct call_matcher *m, const struct bigint *n);
uint64_t call_make_int64(struct call_matcher *m, int64_t n);
uint64_t call_make_float(struct call_matcher *m, double d);
uint64_t call_make_bytes(struct call_matcher *m, const char *bytes, size_t len);
/* Makes a part of a bitstring; its bytes need not be readable. */
uint64_t call_make_part(struct call_matcher *m, const struct term_view *v, uint64_t first_bit,
			uint64_t nr_bits);
bool call_atom_text(struct call_matcher *m, uint64_t term, struct call_atom *out);
bool call_is_own_atom(uint64_t term);

/* Read a number; false if it cannot be read or is too large. */
bool call_integer(struct call_matcher *m, uint64_t term, struct bigint *out);
bool call_float(struct call_matcher *m, uint64_t term, double *out);

/* ---- call_compare.c ------------------------------------------------------------------------- */

#define CALL_INCOMPARABLE 2
/* -1, 0, 1 by the order of terms, or CALL_INCOMPARABLE: unknown, as a part cannot be read.  exact:
 * an integer and a float are never equal, as with =:= and for keys of maps. */
int call_compare(struct call_matcher *m, uint64_t a, uint64_t b, bool exact);
/* exact: a =:= b, else a == b. */
enum call_verdict call_equal(struct call_matcher *m, uint64_t a, uint64_t b, bool exact);
/* CALL_MATCHES: *value is set; CALL_DIFFERS: the map has no such key. */
enum call_verdict call_map_get(struct call_matcher *m, uint64_t map, uint64_t key, uint64_t *value);

/* ---- other files ---------------------------------------------------------------------------- */

/* call_match.c */
enum call_verdict call_match_node(struct call_matcher *m, const struct pattern_node *n,
				  uint64_t term);
/* call_bits.c */
enum call_verdict call_match_bits(struct call_matcher *m, const struct pattern_node *n,
				  uint64_t term);

/* call_guard.c */
enum call_verdict call_guards(struct call_matcher *m);
/* This and the following functions return a term, CALL_UNKNOWN_TERM or CALL_FAILS_TERM. */
uint64_t call_eval(struct call_matcher *m, const struct pattern_node *n);
/* Evaluates all items of a node into `words`; returns TERM_NIL if each result is a term. */
uint64_t call_eval_items(struct call_matcher *m, const struct pattern_node *n, uint64_t *words);
/* call_arithmetic.c */
uint64_t call_arithmetic(struct call_matcher *m, enum pattern_operator op, uint64_t a, uint64_t b);
uint64_t call_negate(struct call_matcher *m, enum pattern_operator op, uint64_t a);
uint64_t call_round(struct call_matcher *m, enum guard_function f, uint64_t a);
/* call_function.c */
uint64_t call_function(struct call_matcher *m, const struct pattern_node *n);

static inline bool call_is_term(uint64_t value)
{
	return value != CALL_UNKNOWN_TERM && value != CALL_FAILS_TERM;
}

#endif
