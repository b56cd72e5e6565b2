/* SPDX-License-Identifier: BSD-2-Clause */
/* See binary_use.h. */
#include "beam/process/binary_use.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/heap_mark.h"
#include "beam/process/signals.h"

#define CHUNK_WORDS (1u << 17)
#define AREAS_MAX   3	       /* heap, stack, old heap */
#define MAX_RANGES  (8u << 20) /* of one holder; then a binary counts as used whole */

/* ErlSubBin (up to OTP 26) {header, bytes, offset, bits beyond u8 and first bit u8, whole binary};
 * ErlSubBits (from 27 on) {header, data * | flags, first bit, end bit, whole binary}. */
#define SUB_WORDS   5
#define TERM_BOXED  2u
#define SUB_BIN_26  (3ull << 6 | SUBTAG_SUB_BIN)
#define SUB_BITS_27 (4ull << 6 | SUBTAG_SUB_BITS)
/* ErlBinMatchState (up to OTP 26) {header, whole binary, data *, offset and size in bits, ...}. */
#define MATCH_STATE	 SUBTAG_FUN_REF
#define MATCH_STATE_MIN	 4
#define MATCH_STATE_MAX	 256 /* words after the header: saved offsets */
#define LOOK_AHEAD_WORDS SUB_WORDS

/* Addresses of bytes that a term uses. */
struct range {
	raddr binary, from, to;
};

struct binary_use {
	int otp;
	struct off_heap_place *places; /* ordered by `at` */
	size_t nr;
	raddr least, most; /* of places[].at */
	bool *whole;	   /* by place: a term is the whole binary */
	bool *found;	   /* by place: something refers to it */
	bool *copied;	   /* by place, if `reached`: all that may refer to it was looked at */
	VEC(struct range) ranges;
	bool reached; /* what was copied and not found is garbage */
	bool ordered; /* ranges are, by binary and beginning, with those of whole binaries */
	uint64_t *buf;
};

static int by_place(const void *a, const void *b)
{
	const struct off_heap_place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

struct binary_use *binary_use_new(int otp, const struct off_heap_place *places, size_t nr)
{
	struct binary_use *u = xcalloc(1, sizeof(*u));

	u->otp = otp;
	u->nr = nr;
	u->places = xcalloc(nr + 1, sizeof(*u->places));
	u->whole = xcalloc(nr + 1, sizeof(bool));
	u->found = xcalloc(nr + 1, sizeof(bool));
	u->copied = xcalloc(nr + 1, sizeof(bool));
	if (nr) {
		memcpy(u->places, places, nr * sizeof(*places));
		qsort(u->places, nr, sizeof(*places), by_place);
		u->least = u->places[0].at;
		u->most = u->places[nr - 1].at;
	}
	return u;
}

void binary_use_free(struct binary_use *u)
{
	if (!u)
		return;
	vec_free(&u->ranges);
	free(u->places);
	free(u->whole);
	free(u->found);
	free(u->copied);
	free(u->buf);
	free(u);
}

/* Index of the first place at `at` or behind it; u->nr = none. */
static size_t first_place(const struct binary_use *u, raddr at)
{
	size_t low = 0, high = u->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (u->places[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Index of the place that a term refers to; u->nr = none. */
static size_t place_of(const struct binary_use *u, uint64_t term)
{
	raddr at = TERM_ADDR(term);
	size_t place;

	if (!TERM_IS_BOXED(term) || at < u->least || at > u->most)
		return u->nr;
	place = first_place(u, at);
	return place < u->nr && u->places[place].at == at ? place : u->nr;
}

static void add_range(struct binary_use *u, size_t place, uint64_t from, uint64_t to)
{
	u->found[place] = true;
	if (from > to || u->ranges.len >= MAX_RANGES)
		u->whole[place] = true;
	else
		vec_push(&u->ranges, ((struct range){u->places[place].binary, from, to}));
}

/* Takes what begins at w[0], of which LOOK_AHEAD_WORDS can be read; returns its words. */
static size_t take_26(struct binary_use *u, const uint64_t *w)
{
	uint64_t arity = HEADER_ARITY(w[0]);
	size_t place;

	if (w[0] == SUB_BIN_26 && (place = place_of(u, w[4])) < u->nr) {
		raddr from = u->places[place].bytes + w[2];
		uint64_t bits = (w[3] & 0xff) + (w[3] >> 8 & 0xff);

		add_range(u, place, from, from + w[1] + (bits + 7) / 8);
		return SUB_WORDS;
	}
	if (HEADER_SUBTAG(w[0]) == MATCH_STATE && arity >= MATCH_STATE_MIN &&
	    arity <= MATCH_STATE_MAX && (place = place_of(u, w[1])) < u->nr) {
		add_range(u, place, w[2] + w[3] / 8, w[2] + (w[4] + 7) / 8);
		return SUB_WORDS;
	}
	place = place_of(u, w[0]);
	if (place < u->nr)
		u->found[place] = u->whole[place] = true;
	return 1;
}

static size_t take_27(struct binary_use *u, const uint64_t *w)
{
	size_t place = w[0] == SUB_BITS_27 ? place_of(u, w[4]) : u->nr;
	uint64_t base = w[1] & ~SUB_BITS_FLAGS;

	if (place == u->nr)
		return 1;
	add_range(u, place, base + w[2] / 8, base + (w[3] + 7) / 8);
	return SUB_WORDS;
}

/* Searches words; *at: where to begin, and afterwards where to go on.  `last`: no words follow. */
static void search(struct binary_use *u, const uint64_t *words, size_t nr, size_t *at, bool last)
{
	uint64_t end[2 * LOOK_AHEAD_WORDS] = {0};
	size_t i = *at, rest;

	while (i + LOOK_AHEAD_WORDS <= nr)
		i += u->otp <= 26 ? take_26(u, words + i) : take_27(u, words + i);
	*at = i;
	if (!last || i >= nr)
		return;
	/* The last words, with zeros behind. */
	rest = nr - i;
	memcpy(end, words + i, rest * sizeof(*words));
	for (i = 0; i < rest;)
		i += u->otp <= 26 ? take_26(u, end + i) : take_27(u, end + i);
}

void binary_use_words(struct binary_use *u, const uint64_t *words, size_t nr)
{
	size_t at = 0;

	search(u, words, nr, &at, true);
}

static void need_buffer(struct binary_use *u)
{
	if (!u->buf)
		u->buf = xmalloc(CHUNK_WORDS * sizeof(*u->buf));
}

bool binary_use_area(struct binary_use *u, struct beam_node *n, raddr from, raddr to)
{
	need_buffer(u);
	while (from < to && (to - from) / 8 > 0) {
		uint64_t left = (to - from) / 8, nr = MIN(left, (uint64_t)CHUNK_WORDS);
		size_t at = 0;

		if (mem_read(n->mem, from, u->buf, (size_t)nr * 8) != 0)
			return false;
		search(u, u->buf, (size_t)nr, &at, nr == left);
		if (nr == left)
			return true;
		from += 8 * at; /* an object that lies across the end of the chunk begins there */
	}
	return true;
}

bool binary_use_fragments(struct binary_use *u, struct beam_node *n, raddr fragment)
{
	struct heap_fragments f = heap_fragments_of(n, n->mem, fragment);

	while (heap_fragments_next(&f))
		if (!binary_use_area(u, n, f.start, f.end))
			return false;
	return heap_fragments_complete(&f);
}

struct area {
	raddr from, to;
};

/* Areas that fit into the buffer together are read together, as those of most processes do. */
static bool search_areas(struct binary_use *u, struct beam_node *n, const struct area *areas,
			 size_t nr)
{
	struct mem_range ranges[AREAS_MAX];
	uint64_t words = 0;
	bool ok = true;

	for (size_t i = 0; i < nr; i++) {
		ok = ok && areas[i].from <= areas[i].to;
		words += (areas[i].to - areas[i].from) / 8;
	}
	if (!ok)
		return false;
	if (words > CHUNK_WORDS) {
		for (size_t i = 0; i < nr; i++)
			ok = binary_use_area(u, n, areas[i].from, areas[i].to) && ok;
		return ok;
	}
	need_buffer(u);
	words = 0;
	for (size_t i = 0; i < nr; i++) {
		size_t size = (areas[i].to - areas[i].from) / 8;

		ranges[i] = (struct mem_range){areas[i].from, u->buf + words, 8 * size, 0};
		words += size;
	}
	mem_readv(n->mem, ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].err)
			ok = false;
		else
			binary_use_words(u, ranges[i].buf, ranges[i].size / 8);
	}
	return ok;
}

struct searching {
	struct binary_use *u;
	struct beam_node *n;
	bool ok;
};

static int search_received(void *arg, const struct signal_message *m)
{
	struct searching *s = arg;

	s->ok = (!m->fragment || binary_use_fragments(s->u, s->n, m->fragment)) && s->ok;
	return 0;
}

bool binary_use_process(struct binary_use *u, struct beam_node *n, const struct process_facts *p)
{
	const struct area areas[AREAS_MAX] = {
		{p->heap, p->htop}, {p->stop, p->hend}, {p->old_heap, p->old_htop}};
	struct searching s = {u, n, true};
	struct signal_counts counts;
	bool ok = p->htop <= p->stop && (!p->old_heap || p->old_htop <= p->old_hend);

	ok = ok && search_areas(u, n, areas, p->old_heap ? AREAS_MAX : AREAS_MAX - 1);
	ok = binary_use_fragments(u, n, p->mbuf) && ok;
	if (!p->msg_frag)
		return ok;
	return signals_walk_received(n, n->mem, p->msg_frag, search_received, &s, &counts) == 0 &&
	       !counts.unreadable && !counts.cut && s.ok && ok;
}

/* ---- what is reachable ----------------------------------------------------------------------- */

static void take_reached(void *arg, raddr at, const uint64_t *words)
{
	struct binary_use *u = arg;

	if (u->otp >= 27) {
		take_27(u, words);
	} else if (HEADER_SUBTAG(words[0]) == SUBTAG_PROC_BIN) {
		size_t place = place_of(u, at | TERM_BOXED);

		if (place < u->nr)
			u->found[place] = u->whole[place] = true;
	} else {
		take_26(u, words);
	}
}

static void take_area(void *arg, raddr from, raddr to)
{
	struct binary_use *u = arg;

	for (size_t i = first_place(u, from); i < u->nr && u->places[i].at < to; i++)
		u->copied[i] = true;
}

bool binary_use_reached(struct binary_use *u, struct beam_node *n, const struct process_facts *p)
{
	u->reached = heap_mark_process(n, p, take_area, take_reached, u) == 0;
	return u->reached;
}

bool binary_use_knows_garbage(const struct binary_use *u)
{
	return u->reached;
}

bool binary_use_holder(struct binary_use *u, struct beam_node *n, const struct process_facts *p,
		       const struct off_heap *o, bool reach)
{
	bool ok;

	if (reach && binary_use_reached(u, n, p))
		return true;
	ok = binary_use_process(u, n, p);
	for (size_t i = 0; i < o->fragments.len; i++)
		ok = binary_use_fragments(u, n, o->fragments.data[i]) && ok;
	return ok;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void order(struct binary_use *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		const struct off_heap_place *p = &u->places[i];

		if (u->whole[i] || (!u->found[i] && !u->copied[i]))
			vec_push(&u->ranges,
				 ((struct range){p->binary, p->bytes,
						 p->size ? p->bytes + p->size : UINT64_MAX}));
	}
	if (u->ranges.len)
		qsort(u->ranges.data, u->ranges.len, sizeof(*u->ranges.data), by_range);
	u->ordered = true;
}

/* Index of the first range of the binary, or where it would be. */
static size_t first_range(struct binary_use *u, raddr binary)
{
	size_t low = 0, high;

	if (!u->ordered)
		order(u);
	high = u->ranges.len;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (u->ranges.data[middle].binary < binary)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t binary_use_of(struct binary_use *u, raddr binary, uint64_t size)
{
	uint64_t used = 0, end = 0;

	for (size_t i = first_range(u, binary);
	     i < u->ranges.len && u->ranges.data[i].binary == binary; i++) {
		const struct range *r = &u->ranges.data[i];

		if (r->to > MAX(end, r->from))
			used += r->to - MAX(end, r->from);
		end = MAX(end, r->to);
	}
	return MIN(used, size);
}

bool binary_use_is_garbage(struct binary_use *u, raddr binary)
{
	size_t i = first_range(u, binary);

	return u->reached && (i == u->ranges.len || u->ranges.data[i].binary != binary);
}
