/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of terms as the node would count them: size_object() of copy.c, OTP 25 to 29. */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "beam/term/term_internal.h"

/* Words of memory with terms that are still to be counted. */
struct span {
	raddr at;
	uint64_t nr;
};

struct sizing {
	struct term_reader *r;
	VEC(struct span) todo;
	uint64_t words, visited, max;
};

#define REFC_BITS_WORDS 8 /* BinRef and ErlSubBits, OTP 27 and later (erl_bits.h) */
/* Up to OTP 26 (erl_binary.h). */
#define SUB_BIN_WORDS  5
#define PROC_BIN_WORDS 6
/* FunRef {header, entry, next}, OTP 27 alone (erl_fun.h). */
#define FUN_REF_WORDS 3

static void later(struct sizing *s, raddr at, uint64_t nr)
{
	struct span span = {at, nr};

	if (nr)
		vec_push(&s->todo, span);
}

static uint64_t bits_words(const struct sizing *s, const struct term_view *v)
{
	uint64_t bytes = v->bits.nr_bits / 8, beyond = v->bits.nr_bits % 8 + v->bits.bit;
	uint64_t words = 0;

	if (s->r->otp >= 27)
		return HEADER_SUBTAG(v->header) == SUBTAG_SUB_BITS ? REFC_BITS_WORDS
								   : v->heap_words;
	if (HEADER_SUBTAG(v->header) == SUBTAG_PROC_BIN)
		return PROC_BIN_WORDS;
	if (HEADER_SUBTAG(v->header) == SUBTAG_SUB_BIN && beyond) {
		words = SUB_BIN_WORDS;
		bytes += beyond > 8 ? 2 : 1;
	}
	return words + (v->bits.binary ? PROC_BIN_WORDS : 2 + (bytes + 7) / 8);
}

static void count_map(struct sizing *s, const struct term_view *v)
{
	uint64_t nr = v->map.size;

	if (!v->map.flat) {
		later(s, v->addr + 16, v->heap_words - 2);
		return;
	}
	s->words += nr || s->r->otp == 24 ? nr + 1 : 0; /* the tuple of keys; {}: see count() */
	later(s, v->map.values, nr);
	later(s, v->map.keys, nr);
}

/* Counts a node of a hash trie, which is no term. */
static bool count_map_node(struct sizing *s, uint64_t term)
{
	uint64_t header, nr;

	if (!TERM_IS_BOXED(term) || !term_word(s->r, TERM_ADDR(term), &header) ||
	    HEADER_SUBTAG(header) != (s->r->otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26) ||
	    (header >> 6 & 3) != 1)
		return false;
	nr = (uint64_t)__builtin_popcount((unsigned int)(header >> 16 & 0xffff));
	s->words += 1 + nr;
	later(s, TERM_ADDR(term) + 8, nr);
	return true;
}

static void count_fun(struct sizing *s, const struct term_view *v)
{
	if (v->kind == TERM_KIND_FUN && s->r->otp == 27)
		s->words += FUN_REF_WORDS;
	if (TERM_IS_POINTER(v->fun.creator))
		later(s, v->fun.environment - 8, 1); /* the creator is the word before */
	later(s, v->fun.environment, v->fun.nr_free);
}

static void count(struct sizing *s, uint64_t term)
{
	struct term_view v;

	if (!TERM_IS_POINTER(term) || count_map_node(s, term))
		return;
	term_view(s->r, term, &v);
	if (v.kind == TERM_KIND_BITS)
		s->words += bits_words(s, &v);
	else if (v.kind != TERM_KIND_TUPLE || v.tuple.arity > 0 ||
		 s->r->otp == 24) /* since OTP 25 {} is a literal of the VM */
		s->words += v.heap_words;
	switch (v.kind) {
	case TERM_KIND_LIST:
		later(s, v.addr, 2);
		break;
	case TERM_KIND_TUPLE:
		later(s, v.tuple.elements, v.tuple.arity);
		break;
	case TERM_KIND_MAP:
		count_map(s, &v);
		break;
	case TERM_KIND_FUN:
	case TERM_KIND_EXPORT:
		count_fun(s, &v);
		break;
	case TERM_KIND_RECORD:
		later(s, v.addr + 8, 1); /* its definition, which has the form of a tuple */
		later(s, v.record.values, v.record.nr_fields);
		break;
	default:
		break;
	}
}

/* Takes the first word of the last span.  The span is removed with its last word, so that a long
 * list needs no further memory. */
static uint64_t next(struct sizing *s)
{
	struct span *span = &s->todo.data[s->todo.len - 1];
	raddr at = span->at;
	uint64_t term;

	span->at += 8;
	if (--span->nr == 0)
		s->todo.len--;
	if (term_word(s->r, at, &term))
		return term;
	s->r->unreadable++;
	return TERM_NIL;
}

uint64_t term_flat_size(struct term_reader *r, uint64_t term, uint64_t max, bool *cut)
{
	struct sizing s = {.r = r, .max = max};
	struct term_window window;
	bool opened = term_window_open(r, &window);

	*cut = false;
	for (;;) {
		if (s.visited++ >= max) {
			*cut = true;
			break;
		}
		count(&s, term);
		if (s.todo.len == 0)
			break;
		term = next(&s);
	}
	if (opened)
		term_window_close(r);
	vec_free(&s.todo);
	return s.words;
}
