/* SPDX-License-Identifier: BSD-2-Clause */
/* See heap_census.h. */
#include "beam/process/heap_census.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/signals.h"

#define CHUNK_WORDS (1u << 17)

/* ---- one object --------------------------------------------------------------------------- */

#define MAP_ARRAY_WORDS 16

static uint64_t map_words(const uint64_t *o, uint64_t available, enum term_kind *kind)
{
	uint64_t bitmap = HEADER_MAP_BITMAP(o[0]);
	uint64_t nr = (uint64_t)__builtin_popcountll(bitmap);

	*kind = TERM_KIND_MAP;
	switch (HEADER_MAP_TYPE(o[0])) {
	case MAP_FLAT: /* header, size, keys, values */
		return available < 2 || o[1] > 1u << 20 ? 0 : 3 + o[1];
	case MAP_NODE:
		*kind = TERM_KIND_UNREADABLE;
		return 1 + nr;
	case MAP_HEAD_ARRAY:
		return 2 + MAP_ARRAY_WORDS;
	default:
		return 2 + nr;
	}
}

/*
 * OTP 24: {header, entry, next, arity, number of free variables, creator}, then the free variables;
 * 25 and 26: arity and number are in one word; since 27: {header, entry}, then as many words as
 * bits 16 and up of the header say: in OTP 27 up to 256, one of which refers to the fun reference,
 * an object of its own; later up to 255, with flags from bit 24 on.
 */
#define FUN_HEAD_WORDS(otp) ((otp) == 24 ? 5u : 4u) /* words of a fun up to the one with its size */

static uint64_t fun_words(int otp, const uint64_t *o, uint64_t available)
{
	if (otp >= 27)
		return 2 + (o[0] >> 16 & (otp >= 28 ? 0xff : 0x1ff));
	if (otp == 24)
		return available < 5 || o[4] > 255 ? 0 : 6 + o[4];
	return available < 4 ? 0 : 5 + (o[3] >> 8 & 0xff);
}

static enum term_kind kind_of(int otp, uint64_t header)
{
	switch (HEADER_SUBTAG(header)) {
	case SUBTAG_TUPLE:
		return TERM_KIND_TUPLE;
	case SUBTAG_BIG_POSITIVE:
	case SUBTAG_BIG_NEGATIVE:
		return TERM_KIND_BIG;
	case SUBTAG_REF:
		return TERM_KIND_REF;
	case SUBTAG_FUN:
		return TERM_KIND_FUN;
	case SUBTAG_FLOAT:
		return TERM_KIND_FLOAT;
	case SUBTAG_RECORD:
		return otp >= 29 ? TERM_KIND_RECORD : otp == 24 ? TERM_KIND_EXPORT : NR_TERM_KINDS;
	case SUBTAG_HEAP_BITS:
	case SUBTAG_SUB_BITS:
	case SUBTAG_BIN_REF:
		return TERM_KIND_BITS;
	case SUBTAG_FUN_REF: /* since 27 of a fun, up to 26 of a binary match */
		return otp >= 27 ? TERM_KIND_FUN : TERM_KIND_BITS;
	case SUBTAG_EXTERNAL_PID:
		return TERM_KIND_EXTERNAL_PID;
	case SUBTAG_EXTERNAL_PORT:
		return TERM_KIND_EXTERNAL_PORT;
	case SUBTAG_EXTERNAL_REF:
		return TERM_KIND_EXTERNAL_REF;
	default:
		return NR_TERM_KINDS;
	}
}

uint64_t heap_object_words(int otp, const uint64_t *object, uint64_t available,
			   enum term_kind *kind)
{
	uint64_t header = object[0];

	if (HEADER_SUBTAG(header) == (otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26))
		return map_words(object, available, kind);
	*kind = kind_of(otp, header);
	if (*kind == NR_TERM_KINDS)
		return 0;
	if (HEADER_SUBTAG(header) == SUBTAG_FUN)
		return fun_words(otp, object, available);
	/* The size in a sub-binary's header is without its last word, a term that refers to the
	 * whole binary (HEADER_SUB_BIN, erl_binary.h up to OTP 26). */
	if (otp <= 26 && HEADER_SUBTAG(header) == SUBTAG_SUB_BIN)
		return 2 + (header >> 6);
	return 1 + (header >> 6);
}

/* ---- areas -------------------------------------------------------------------------------- */

struct last_object {
	enum term_kind kind;
	uint64_t count, words;
};

/* Counts the objects in words[0 .. nr-1]; *object is the last one.  Returns the number of words by
 * which it extends beyond words[nr-1]; or -k if the last k words are too few to know the size of a
 * fun: pass them again with the words that follow.  `last`: no words follow. */
static int64_t count_chunk(int otp, const uint64_t *words, uint64_t nr, bool last,
			   struct heap_census *c, struct last_object *object)
{
	uint64_t i = 0;

	while (i < nr) {
		enum term_kind kind = TERM_KIND_LIST;
		uint64_t size = 2, count = 1;

		if (!last && nr - i < FUN_HEAD_WORDS(otp))
			return -(int64_t)(nr - i);
		if (TERM_IS_HEADER(words[i]))
			size = heap_object_words(otp, words + i, nr - i, &kind);
		if (size == 0 || size > 1ull << 40) {
			c->unknown++;
			i++;
			continue;
		}
		if (kind == TERM_KIND_UNREADABLE) {
			kind = TERM_KIND_MAP;
			count = 0;
		}
		/* A fun's second object, or the state of a binary match: no term, so only its words
		 * count. */
		if (HEADER_SUBTAG(words[i]) == SUBTAG_FUN_REF)
			count = 0;
		c->kinds[kind].count += count;
		c->kinds[kind].words += size;
		*object = (struct last_object){kind, count, size};
		i += size;
	}
	return (int64_t)(i - nr);
}

static void count_area(struct beam_node *n, raddr from, raddr to, uint64_t *buf,
		       struct heap_census *c)
{
	struct last_object last = {0};

	while (from < to) {
		uint64_t nr = MIN((to - from) / 8, (uint64_t)CHUNK_WORDS);
		int64_t beyond;

		if (!nr || mem_read(n->mem, from, buf, (size_t)nr * 8) != 0) {
			c->unreadable += (to - from) / 8;
			return;
		}
		/* `to` of torn facts may not be aligned: the part of a word is ignored. */
		beyond = count_chunk(n->identity.otp, buf, nr, nr == (to - from) / 8, c, &last);
		if (beyond > 0 && (uint64_t)beyond > (to - from) / 8 - nr) {
			/* The last object is longer than the area, so it was none: fragments can
			 * have words that were never written. */
			uint64_t over = (uint64_t)beyond - ((to - from) / 8 - nr);

			c->kinds[last.kind].count -= last.count;
			c->kinds[last.kind].words -= last.words;
			c->unknown += last.words - over;
			return;
		}
		from += (uint64_t)((int64_t)nr + beyond) * 8;
	}
}

static void count_fragments(struct beam_node *n, raddr fragment, uint64_t *buf,
			    struct heap_census *c)
{
	struct heap_fragments f = heap_fragments_of(n, n->mem, fragment);

	while (heap_fragments_next(&f)) {
		c->fragments += (f.end - f.start) / 8;
		count_area(n, f.start, f.end, buf, c);
	}
	c->cut |= f.cut;
	c->unreadable += f.unreadable;
}

struct counting {
	struct beam_node *n;
	uint64_t *buf;
	struct heap_census *out;
};

static int count_received(void *arg, const struct signal_message *m)
{
	struct counting *c = arg;

	if (m->fragment)
		count_fragments(c->n, m->fragment, c->buf, c->out);
	return 0;
}

void heap_census_take(struct beam_node *n, const struct process_facts *p, struct heap_census *out)
{
	uint64_t *buf = xmalloc(CHUNK_WORDS * sizeof(*buf));
	struct counting c = {n, buf, out};
	struct signal_counts counts;

	memset(out, 0, sizeof(*out));
	if (p->heap <= p->htop && p->htop <= p->hend) {
		out->young = (p->htop - p->heap) / 8;
		count_area(n, p->heap, p->htop, buf, out);
	}
	if (p->old_heap && p->old_heap <= p->old_htop && p->old_htop <= p->old_hend) {
		out->old = (p->old_htop - p->old_heap) / 8;
		count_area(n, p->old_heap, p->old_htop, buf, out);
	}
	count_fragments(n, p->mbuf, buf, out);
	if (p->msg_frag) {
		signals_walk_received(n, n->mem, p->msg_frag, count_received, &c, &counts);
		out->cut |= counts.cut;
		out->unreadable += counts.unreadable;
	}
	free(buf);
}
