/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that take terms apart. */
#ifndef EBEAM_BEAM_TERM_INTERNAL_H
#define EBEAM_BEAM_TERM_INTERNAL_H

#include "beam/term/term_read.h"

#define TUPLE_MAX_ARITY ((1u << 24) - 1) /* MAX_ARITYVAL */
#define BIG_MAX_DIGITS	((1u << 19) - 1) /* BIG_ARITY_MAX of OTP 25; less later */

/*
 * Memory is read in lines of this size, on a boundary of it, which are kept for the duration of
 * one call: neighbours on a heap are often neighbours in a term.  What is no whole line of mapped
 * memory is read as it is.
 */
#define WINDOW_LINE  512
#define WINDOW_LINES 64
struct term_window {
	raddr at[WINDOW_LINES]; /* 0 = empty */
	uint8_t lines[WINDOW_LINES][WINDOW_LINE];
};
/* True if `w` is now in use, and to be closed; not if an outer call has one. */
bool term_window_open(struct term_reader *r, struct term_window *w);
void term_window_close(struct term_reader *r);

bool term_bytes(struct term_reader *r, raddr addr, void *buf, size_t size);
bool term_word(struct term_reader *r, raddr addr, uint64_t *value);
/* Of what is no part of a term: of those that were copied, it was not. */
bool term_vm_word(struct term_reader *r, raddr addr, uint64_t *value);
/* Elements that a list, tuple or map may show. */
uint64_t term_max_elements(const struct term_reader *r);

/* The kinds of bitstrings and maps: v->addr and v->header are set.  False: it is none. */
bool term_view_bits(struct term_reader *r, struct term_view *v);
bool term_view_map(struct term_reader *r, struct term_view *v);

/*
 * The pairs of a map one by one, in the order of io_lib's printing, which is that of a flat map's
 * keys and of the nodes of a hash trie from first to last; or the other way round.
 */
#define MAP_MAX_LEVELS 64 /* a 32-bit hash is spent after 8, then it is hashed anew */
struct map_walk {
	struct term_view map;
	bool backwards;
	uint64_t seen, nodes; /* pairs, inner nodes so far */
	int err; /* once map_walk_next() has returned false: 0 or why it ended before the end */
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
