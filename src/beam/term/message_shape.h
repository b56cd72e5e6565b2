/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a mailbox is full of: messages counted by their shape.  The atoms of a tuple stay, and those
 * of the tuples in it; everything else is `_`:  {'$gen_cast', {log, _, _}}.
 */
#ifndef EBEAM_BEAM_MESSAGE_SHAPE_H
#define EBEAM_BEAM_MESSAGE_SHAPE_H

#include "base/idmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/term/term.h"

/* Different shapes of which more than this are counted together. */
#define SHAPES_MAX 4096
/* Words of a shape's key; what does not fit is `_`. */
#define SHAPE_WORDS 28

struct message_shape {
	uint64_t count;
	uint64_t words; /* of the messages' fragments */
	uint64_t key[SHAPE_WORDS];
	uint32_t nr;
};

struct shape_table {
	VEC(struct message_shape) v;
	struct idmap index;	     /* of v, by key */
	uint64_t other, other_words; /* beyond SHAPES_MAX */
};

/* term 0 = not decoded yet.  Reads through r->mem. */
void shape_add(struct shape_table *t, struct term_reader *r, uint64_t term, uint64_t words);
/* Most first. */
void shape_sort(struct shape_table *t);
/* Atoms are written as r->style has it. */
void shape_print(const struct message_shape *s, struct term_reader *r, struct strbuf *out);
void shape_reset(struct shape_table *t);
void shape_free(struct shape_table *t);

#endif
