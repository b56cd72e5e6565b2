/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps of a node, see term_read.h.  Up to 32 keys they are flat:
 *   {header, size, keys tuple, values...}
 * larger ones are tries of hashes, whose leaves are pairs [Key | Value]:
 *   head  {header, size, children...}      all 16 of them, or as many as the bitmap has bits
 *   node  {header, children...}            likewise
 *   node  a tuple of pairs with the same hash, from OTP 26 on
 * erl_map.h, OTP 25 to 29.
 */
#include <errno.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_internal.h"

#define FLAT_MAX      32 /* MAP_SMALL_MAP_LIMIT */
#define FLAT_VALUES   24
#define HEAD_CHILDREN 16
#define NODE_CHILDREN 8

/* Limit of pairs with the same hash, of which there are normally few. */
#define COLLISIONS_MAX 65536

static bool is_map_header(const struct term_reader *r, uint64_t header)
{
	return HEADER_SUBTAG(header) == (r->otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26);
}

/* Number of children of a trie's head or node. */
static uint32_t nr_children(uint64_t header)
{
	return HEADER_MAP_TYPE(header) == MAP_HEAD_ARRAY
		       ? 16
		       : (uint32_t)__builtin_popcount((unsigned int)HEADER_MAP_BITMAP(header));
}

bool term_view_map(struct term_reader *r, struct term_view *v)
{
	uint64_t w[2], keys; /* size, keys or first child */

	if (!is_map_header(r, v->header) || HEADER_MAP_TYPE(v->header) == MAP_NODE ||
	    !term_bytes(r, v->addr + 8, w, sizeof(w)))
		return false;
	v->kind = TERM_KIND_MAP;
	v->map.size = w[0];
	v->map.flat = HEADER_MAP_TYPE(v->header) == MAP_FLAT;
	if (!v->map.flat) {
		v->heap_words = 2 + nr_children(v->header);
		return nr_children(v->header) > 0 && w[0] > 0 && w[0] < (1ull << 40);
	}
	v->heap_words = 3 + (uint32_t)w[0];
	v->map.values = v->addr + FLAT_VALUES;
	v->map.keys = TERM_ADDR(w[1]) + 8;
	return w[0] <= FLAT_MAX && TERM_IS_BOXED(w[1]) && term_word(r, TERM_ADDR(w[1]), &keys) &&
	       keys == w[0] << 6;
}

void map_walk_begin(struct map_walk *w, const struct term_view *map, bool backwards)
{
	*w = (struct map_walk){.map = *map, .backwards = backwards, .level = 1};
	w->levels[0].nr = map->map.flat ? (uint32_t)map->map.size : nr_children(map->header);
	w->levels[0].children = map->addr + HEAD_CHILDREN;
}

static bool stop(struct map_walk *w, int err)
{
	w->err = err;
	w->level = 0;
	return false;
}

/* Descends to the child node `term`. */
static bool descend(struct map_walk *w, struct term_reader *r, uint64_t term)
{
	uint64_t header;
	uint32_t nr;

	/* The depth is limited, so that cycles end. */
	if (!TERM_IS_BOXED(term) || w->level >= MAP_MAX_LEVELS ||
	    w->nodes++ > MAP_MAX_LEVELS * (w->seen + 1))
		return stop(w, -EBADMSG);
	if (!term_word(r, TERM_ADDR(term), &header))
		return stop(w, -EFAULT);
	if (is_map_header(r, header) && HEADER_MAP_TYPE(header) == MAP_NODE)
		nr = nr_children(header);
	else if (HEADER_SUBTAG(header) == SUBTAG_TUPLE && HEADER_ARITY(header) <= COLLISIONS_MAX)
		nr = (uint32_t)HEADER_ARITY(header);
	else
		return stop(w, -EBADMSG);
	w->levels[w->level++] = (struct map_level){
		.children = TERM_ADDR(term) + NODE_CHILDREN,
		.nr = nr,
	};
	return nr > 0 || stop(w, -EBADMSG);
}

static uint32_t which(const struct map_walk *w, const struct map_level *l)
{
	return w->backwards ? l->nr - 1 - l->next : l->next;
}

static bool next_flat(struct map_walk *w, struct term_reader *r, uint64_t *key, uint64_t *value)
{
	struct map_level *l = &w->levels[0];
	/* maps:to_list() has the order of a flat map's keys. */
	uint32_t i = l->next;

	if (i >= l->nr)
		return stop(w, 0);
	l->next++;
	w->seen++;
	return (term_word(r, w->map.map.keys + 8ull * i, key) &&
		term_word(r, w->map.map.values + 8ull * i, value)) ||
	       stop(w, -EFAULT);
}

bool map_walk_next(struct map_walk *w, struct term_reader *r, uint64_t *key, uint64_t *value)
{
	if (w->level > 0 && w->map.map.flat)
		return next_flat(w, r, key, value);
	while (w->level > 0) {
		struct map_level *l = &w->levels[w->level - 1];
		uint64_t child, pair[2];

		if (l->next >= l->nr) {
			w->level--;
			continue;
		}
		if (!term_word(r, l->children + 8ull * which(w, l), &child))
			return stop(w, -EFAULT);
		l->next++;
		if (!TERM_IS_LIST(child)) {
			if (!descend(w, r, child))
				return false;
			continue;
		}
		if (!term_bytes(r, TERM_ADDR(child), pair, sizeof(pair)))
			return stop(w, -EFAULT);
		if (++w->seen > w->map.map.size)
			return stop(w, -EBADMSG);
		*key = pair[0];
		*value = pair[1];
		return true;
	}
	if (w->err == 0 && w->seen != w->map.map.size)
		w->err = -EBADMSG;
	return false;
}
