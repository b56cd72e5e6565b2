/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See message_shape.h.  A shape's key is the term in prefix order: an atom or [] as its word, the
 * header of a tuple before its elements, and marks, which are words that no term has.  So a million
 * messages are compared as words; only the few distinct shapes are printed as text.
 */
#include "beam/term/message_shape.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_read.h"

#define MARK_ANY 0x1ull /* `_` */
/* A whole message that is no tuple and no atom: its kind << 8; NR_TERM_KINDS: not decoded. */
#define MARK_KIND  0x2ull
#define MARK_WIDE  0x4ull /* in a tuple's header: the tuple has more elements than follow */
#define MAX_DEPTH  2
#define MAX_ARITY  8
#define WIDE_SHOWN 3

static void push(struct message_shape *s, uint64_t word)
{
	if (s->nr < SHAPE_WORDS)
		s->key[s->nr++] = word;
}

static void encode(struct message_shape *s, struct term_reader *r, uint64_t term, int depth);

/* False: not a tuple, or too long for the rest of the key. */
static bool encode_tuple(struct message_shape *s, struct term_reader *r, uint64_t term, int depth)
{
	uint64_t header, elements[MAX_ARITY], arity, nr;
	raddr addr = TERM_ADDR(term);

	if (depth >= MAX_DEPTH || mem_read_u64(r->mem, addr, &header) != 0 ||
	    !HEADER_IS_TUPLE(header))
		return false;
	arity = header >> 6;
	nr = arity > MAX_ARITY ? WIDE_SHOWN : arity;
	/* Room for one word (`_`) for each element here, and for those left in the tuple above. */
	if (s->nr + 1 + nr + (depth ? MAX_ARITY : 0) > SHAPE_WORDS)
		return false;
	if (nr && mem_read(r->mem, addr + 8, elements, 8 * (size_t)nr) != 0)
		return false;
	push(s, nr == arity ? header : header | MARK_WIDE);
	for (uint64_t i = 0; i < nr; i++)
		encode(s, r, elements[i], depth + 1);
	return true;
}

/* Recursion ends at MAX_DEPTH. */
static void encode(struct message_shape *s, struct term_reader *r, uint64_t term, int depth)
{
	struct term_view view;

	if (TERM_IS_ATOM(term) || term == TERM_NIL)
		push(s, term);
	else if (TERM_IS_BOXED(term) && encode_tuple(s, r, term, depth))
		return;
	else if (depth)
		push(s, MARK_ANY);
	else
		push(s, MARK_KIND | (uint64_t)(term ? term_view(r, term, &view) : NR_TERM_KINDS)
					    << 8);
}

static bool key_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct message_shape *a = &((const struct shape_table *)ctx)->v.data[id], *b = key;

	return a->nr == b->nr && memcmp(a->key, b->key, 8 * a->nr) == 0;
}

void shape_add(struct shape_table *t, struct term_reader *r, uint64_t term, uint64_t words)
{
	struct message_shape s;
	uint32_t hash, id;

	s.nr = 0;
	encode(&s, r, term, 0);
	hash = hash_bytes(s.key, 8 * s.nr);
	id = idmap_find(&t->index, hash, key_equal, t, &s);
	if (id != IDMAP_NONE) {
		t->v.data[id].count++;
		t->v.data[id].words += words;
		return;
	}
	if (t->v.len == SHAPES_MAX) {
		t->other++;
		t->other_words += words;
		return;
	}
	memset(s.key + s.nr, 0, 8 * (SHAPE_WORDS - s.nr));
	s.count = 1;
	s.words = words;
	idmap_add(&t->index, hash, (uint32_t)t->v.len);
	vec_push(&t->v, s);
}

static int by_count(const void *a, const void *b)
{
	const struct message_shape *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return memcmp(x->key, y->key, sizeof(x->key));
}

void shape_sort(struct shape_table *t)
{
	if (t->v.len)
		qsort(t->v.data, t->v.len, sizeof(*t->v.data), by_count);
	/* The index has positions from before the sort. */
	idmap_free(&t->index);
}

/* Prints the part of the shape that begins at key[at]; returns the position behind it.  Recursion
 * ends at MAX_DEPTH. */
static uint32_t print_part(const struct message_shape *s, uint32_t at, struct term_reader *r,
			   struct strbuf *out)
{
	uint64_t word = at < s->nr ? s->key[at] : MARK_ANY, arity, nr;

	if (TERM_IS_ATOM(word) || word == TERM_NIL) {
		term_print(r, out, word);
		return at + 1;
	}
	if (word == MARK_ANY || (word & 0x3f & ~MARK_WIDE) != 0) {
		strbuf_addch(out, '_');
		return at + 1;
	}
	arity = word >> 6;
	nr = word & MARK_WIDE ? WIDE_SHOWN : arity;
	strbuf_addch(out, '{');
	at++;
	for (uint64_t i = 0; i < nr; i++) {
		if (i)
			strbuf_addstr(out, ", ");
		at = print_part(s, at, r, out);
	}
	strbuf_addstr(out, nr == arity ? "}" : ", ...}");
	return at;
}

void shape_print(const struct message_shape *s, struct term_reader *r, struct strbuf *out)
{
	unsigned int kind;

	if (s->nr != 1 || (s->key[0] & 0xff) != MARK_KIND) {
		print_part(s, 0, r, out);
		return;
	}
	kind = (unsigned int)(s->key[0] >> 8);
	if (kind == NR_TERM_KINDS)
		strbuf_addstr(out, "(not decoded)");
	else if (kind == TERM_KIND_UNREADABLE)
		strbuf_addstr(out, "(unreadable)");
	else
		strbuf_addf(out, "%s()", term_kind_name((enum term_kind)kind));
}

void shape_reset(struct shape_table *t)
{
	t->v.len = 0;
	t->other = t->other_words = 0;
	idmap_free(&t->index);
}

void shape_free(struct shape_table *t)
{
	vec_free(&t->v);
	idmap_free(&t->index);
}
