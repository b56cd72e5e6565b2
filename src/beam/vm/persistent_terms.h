/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terms of persistent_term, as persistent_term:get/0 has them, and how much memory each takes.
 *
 * The VM's pointer to their table is static, so no build that is stripped tells where it is.  It is
 * the only variable of the executable that points to a table of this shape (but for the argument of
 * the function that replaces the table).  All of the shape is checked: size and mask, a number of
 * entries that is that of its buckets, each of which is empty or a tuple {Key, Value} at the begin
 * of a literal area that ends behind it.
 *
 * erts/emulator/beam/erl_bif_persistent.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_PERSISTENT_TERMS_H
#define EBEAM_BEAM_PERSISTENT_TERMS_H

#include "base/vec.h"
#include "beam/node/node.h"

struct persistent_term {
	uint64_t key, value; /* terms */
	uint64_t words;	     /* of its literal area: key, value and the tuple of both */
	raddr area;
};

struct persistent_terms {
	VEC(struct persistent_term) v; /* in the order of the table */
	uint64_t bytes;		       /* of all, as persistent_term:info/0 counts */
};

/* ERROR_KIND_UNSUPPORTED: there is no such table, or more than one. */
int persistent_terms_read(struct persistent_terms *out, struct beam_node *n, struct error *err);

/* The part of it that needs no executable.  The words are a copy of its variables. */
struct persistent_space {
	const uint64_t *data;
	size_t nr;
	raddr data_addr;
	raddr text, text_end; /* its code */
};
/* How many tables variables point to; *out is the last one. */
unsigned int persistent_terms_search(struct persistent_terms *out, struct mem *mem,
				     const struct persistent_space *s);

void persistent_terms_free(struct persistent_terms *t);

#endif
