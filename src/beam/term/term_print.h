/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that print terms: term.c walks them, term_leaf.c prints their leaves. */
#ifndef EBEAM_BEAM_TERM_PRINT_H
#define EBEAM_BEAM_TERM_PRINT_H

#include "base/vec.h"
#include "beam/term/term_internal.h"

/* A list, tuple, map or record that is being written. */
enum print_kind { PRINT_LIST, PRINT_TUPLE, PRINT_MAP, PRINT_RECORD };
struct print_frame {
	enum print_kind kind;
	bool keywords; /* [a: 1], %{a: 1} */
	bool valued;   /* map: the key is printed, `value` is next */
	bool closing;  /* only the closing bracket is left */
	bool secret;   /* the value (map) or the remaining elements (tuple) are a secret */
	uint64_t done, nr;
	uint64_t term; /* rest of a list; name of the struct that a map is, 0 = none */
	uint64_t value;
	raddr keys, values; /* of a flat map or record; for a tuple only `values` */
	uint64_t order;
	struct map_walk *walk; /* of a hash trie; owned */
};

/* Limit of elements of one term that are examined before they are printed, more than fit 16 MiB of
 * text.  A list that contains itself as first element would otherwise take exponential time. */
#define PRINT_AHEAD_MAX (1u << 22)

struct printer {
	struct term_reader *r;
	struct strbuf *out;
	VEC(struct print_frame) frames;
	bool elixir;
	bool secret;	/* the next term is a secret */
	uint64_t ahead; /* elements examined, up to PRINT_AHEAD_MAX */
};

bool print_full(const struct printer *p);
void print_more(struct printer *p); /* "..." */
/* Prints a mark for memory that could not be read: "#Unreadable<0x1234>". */
void print_unreadable(struct printer *p, raddr at);

/* Does this key have a secret value? */
bool print_is_secret(struct printer *p, uint64_t key);
/* Prints a secret as "***", or a value that shows that there is none (true, undefined, nothing). */
void print_secret(struct printer *p, uint64_t term);

/* Prints a term that contains no terms, in the style of the printer. */
void print_leaf(struct printer *p, const struct term_view *v);
/* Prints an atom as key of a keyword list or map in Elixir: "name: ". */
void print_key(struct printer *p, uint64_t atom);
/* Prints a list that is text; false if it is none. */
bool print_char_list(struct printer *p, uint64_t list);
/* Prints a float in Erlang's syntax; `plain`: without exponent. */
void print_float(struct strbuf *out, double value, bool plain);

#endif
