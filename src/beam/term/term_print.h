/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that write terms: term.c has the walk, term_leaf.c what holds no terms. */
#ifndef EBEAM_BEAM_TERM_PRINT_H
#define EBEAM_BEAM_TERM_PRINT_H

#include "base/vec.h"
#include "beam/term/term_internal.h"

/* A list, tuple, map or record that is being written. */
enum print_kind { PRINT_LIST, PRINT_TUPLE, PRINT_MAP, PRINT_RECORD };
struct print_frame {
	enum print_kind kind;
	bool keywords; /* [a: 1], %{a: 1} */
	bool valued;   /* of a map: the key is written, `value` is next */
	bool closing;  /* nothing but the bracket is left */
	bool secret;   /* the value of a map, what is left of a tuple */
	uint64_t done, nr;
	uint64_t term; /* what is left of a list; key of a struct's name, not written again */
	uint64_t value;
	raddr keys, values; /* of a flat map, record; values alone of a tuple */
	uint64_t order;
	struct map_walk *walk; /* of a map of hashes; owned */
};

/* Elements that are looked at before it is known how they are written, in one term: more than fit
 * 16 MiB of text.  Without it a list that begins with itself takes time without end. */
#define PRINT_AHEAD_MAX (1u << 22)

struct printer {
	struct term_reader *r;
	struct strbuf *out;
	VEC(struct print_frame) frames;
	bool elixir;
	bool secret;	/* what is next */
	uint64_t ahead; /* of PRINT_AHEAD_MAX */
};

bool print_full(const struct printer *p);
void print_more(struct printer *p); /* "..." */
/* What could not be read: "#Unreadable<0x1234>". */
void print_unreadable(struct printer *p, raddr at);

/* Is what belongs to this key a secret? */
bool print_is_secret(struct printer *p, uint64_t key);
/* A secret: "***", unless it is plainly none (true, undefined, nothing). */
void print_secret(struct printer *p, uint64_t term);

/* Terms that hold no terms, in the style of the printer. */
void print_leaf(struct printer *p, const struct term_view *v);
/* An atom as the key of keywords or of a record's fields. */
void print_key(struct printer *p, uint64_t atom);
/* A list that is text: written, or false. */
bool print_char_list(struct printer *p, uint64_t list);
/* As Erlang writes a float; `plain` without exponent. */
void print_float(struct strbuf *out, double value, bool plain);

#endif
