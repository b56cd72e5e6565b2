/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that read terms. */
#ifndef EBEAM_BEAM_TERM_INTERNAL_H
#define EBEAM_BEAM_TERM_INTERNAL_H

#include "beam/term/term_read.h"

#define TUPLE_MAX_ARITY ((1u << 24) - 1) /* MAX_ARITYVAL */
#define BIG_MAX_DIGITS	((1u << 19) - 1) /* BIG_ARITY_MAX of OTP 25; less later */

/*
 * Memory is read in aligned lines of this size, which are kept during one call: neighbours in a
 * term are often neighbours on the heap.  If a line is not mapped as a whole, only the requested
 * bytes are read.
 */
#define WINDOW_LINE  512
#define WINDOW_LINES 64
struct term_window {
	raddr at[WINDOW_LINES]; /* 0 = empty */
	uint8_t lines[WINDOW_LINES][WINDOW_LINE];
};
/* True if `w` is now in use and must be closed; false if an outer call has a window. */
bool term_window_open(struct term_reader *r, struct term_window *w);
void term_window_close(struct term_reader *r);

bool term_bytes(struct term_reader *r, raddr addr, void *buf, size_t size);
bool term_word(struct term_reader *r, raddr addr, uint64_t *value);
/* Reads a word that is no part of a term, and so was not copied with one. */
bool term_vm_word(struct term_reader *r, raddr addr, uint64_t *value);
/* Limit of the elements of a list, tuple or map that are printed. */
uint64_t term_max_elements(const struct term_reader *r);

/* Fill the view of a bitstring or map; v->addr and v->header are set.  False: it is malformed. */
bool term_view_bits(struct term_reader *r, struct term_view *v);
bool term_view_map(struct term_reader *r, struct term_view *v);

/* Does this key have a secret value, by r->is_secret?  Does a value of such a key only show whether
 * there is one (true, undefined, nothing)?  *v becomes its view. */
bool term_key_is_secret(struct term_reader *r, uint64_t key);
bool term_is_no_secret(struct term_reader *r, uint64_t term, struct term_view *v);

/*
 * Iterates over the pairs of a map in io_lib's order, which for a flat map is that of its keys and
 * for a hash trie that of its nodes from first to last; or backwards.
 */
#define MAP_MAX_LEVELS 64 /* a 32-bit hash is used up after 8, keys are then hashed again */
struct map_walk {
	struct term_view map;
	bool backwards;
	uint64_t seen, nodes; /* pairs, inner nodes so far */
	int err; /* valid once map_walk_next() has returned false: 0, or why it could not read on */
	int level;
	struct map_level {
		raddr children;
		uint32_t next, nr;
	} levels[MAP_MAX_LEVELS];
};
/* `map` is a view of a map. */
void map_walk_begin(struct map_walk *w, const struct term_view *map, bool backwards);
bool map_walk_next(struct map_walk *w, struct term_reader *r, uint64_t *key, uint64_t *value);

#endif
