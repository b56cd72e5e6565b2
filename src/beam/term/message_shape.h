/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the messages of a mailbox by shape: the atoms of a tuple, and of tuples in it, are kept;
 * everything else is `_`:  {'$gen_cast', {log, _, _}}.
 */
#ifndef EBEAM_BEAM_MESSAGE_SHAPE_H
#define EBEAM_BEAM_MESSAGE_SHAPE_H

#include "base/idmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/term/term.h"

/* Limit of distinct shapes; the messages of all others are counted together. */
#define SHAPES_MAX 4096
/* Words of a shape's key; parts that do not fit are `_`. */
#define SHAPE_WORDS 28

struct message_shape {
	uint64_t count;
	uint64_t words; /* sum of the messages' heap fragments */
	uint64_t key[SHAPE_WORDS];
	uint32_t nr;
};

struct shape_table {
	VEC(struct message_shape) v;
	struct idmap index;	     /* of v, by key */
	uint64_t other, other_words; /* beyond SHAPES_MAX */
};

/* Counts a message and its `words`; term 0 = not decoded yet.  Reads through r->mem. */
void shape_add(struct shape_table *t, struct term_reader *r, uint64_t term, uint64_t words);
/* Sorts by count, the highest first. */
void shape_sort(struct shape_table *t);
/* Prints a shape; atoms in the style of r->style. */
void shape_print(const struct message_shape *s, struct term_reader *r, struct strbuf *out);
void shape_reset(struct shape_table *t);
void shape_free(struct shape_table *t);

#endif
