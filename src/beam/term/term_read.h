/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms of a node, taken apart.  A struct term_reader (term.h) says where from.  Nothing is
 * trusted: a term that cannot be read, or whose header cannot be what it stands for, is
 * TERM_KIND_UNREADABLE; every loop is bounded; nothing recurses.
 *
 * Tags: erl_term.h, OTP 25 to 29.  Addresses lose their low three bits (literal tag).
 */
#ifndef EBEAM_BEAM_TERM_READ_H
#define EBEAM_BEAM_TERM_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "beam/term/term.h"

#define TERM_SMALL(t) ((int64_t)(t) >> 4)

enum term_kind {
	TERM_KIND_ATOM,
	TERM_KIND_SMALL,
	TERM_KIND_NIL,
	TERM_KIND_PID,	/* local */
	TERM_KIND_PORT, /* local */
	TERM_KIND_LIST,
	TERM_KIND_TUPLE,
	TERM_KIND_MAP,
	TERM_KIND_BIG,
	TERM_KIND_FLOAT,
	TERM_KIND_BITS,	     /* binaries and bitstrings of every representation */
	TERM_KIND_FUN,	     /* local fun */
	TERM_KIND_EXPORT,    /* fun M:F/A */
	TERM_KIND_REF,	     /* local, ordinary */
	TERM_KIND_MAGIC_REF, /* local, with a binary behind it: NIF resource, ETS table, ... */
	TERM_KIND_EXTERNAL_PID,
	TERM_KIND_EXTERNAL_PORT,
	TERM_KIND_EXTERNAL_REF,
	TERM_KIND_RECORD, /* native record, OTP 29 */
	TERM_KIND_UNREADABLE,
	NR_TERM_KINDS
};

/* "atom", "integer", "list", ... as a census names them. */
const char *term_kind_name(enum term_kind kind);

/* A term taken apart, one level deep. */
struct term_view {
	enum term_kind kind;
	uint64_t term;
	raddr addr;	     /* of the cons or the header; 0 for immediates */
	uint64_t header;     /* of a boxed term */
	uint32_t heap_words; /* that it takes where addr points, header included; cons: 2 */
	union {
		int64_t small;
		double real;
		struct {
			uint64_t head, tail;
		} cons;
		struct {
			uint64_t arity;
			raddr elements;
		} tuple;
		struct {
			uint64_t size;
			bool flat;
			raddr keys, values; /* flat: keys is the address of the first key */
		} map;
		struct {
			uint64_t nr_digits; /* of 64 bits, least significant first */
			raddr digits;
			bool negative;
		} big;
		struct {
			raddr bytes;	  /* of the byte that holds the first bit */
			unsigned int bit; /* of the first bit in it, 0 .. 7, 0 = most significant */
			uint64_t nr_bits;
			raddr binary;	      /* the off-heap Binary; 0 = on the heap */
			uint64_t binary_size; /* bytes of that */
			uint64_t binary_refc;
		} bits;
		struct {
			uint64_t module;   /* atoms; 0 = not known */
			uint64_t function; /* export only */
			uint64_t arity;
			uint64_t index, old_uniq; /* local fun: as in #Fun<m.INDEX.OLD_UNIQ> */
			uint64_t nr_free;	  /* variables of its environment */
			raddr environment;
			uint64_t creator; /* pid term; 0 = not kept (OTP 27 on) */
		} fun;
		struct {
			uint64_t node;	     /* atom; 0 = this node */
			uint32_t creation;   /* external only */
			uint32_t channel;    /* of the node, as printed first; 0 = this node */
			uint32_t nr_numbers; /* of a reference: 3, of an alias 5 from OTP 26 on */
			uint32_t numbers[5]; /* as printed: #Ref<0.n[2].n[1].n[0]> */
			uint64_t data;	     /* of an external port: its number; of an external
					      * pid: number | serial << 32 */
			raddr binary;	     /* magic reference: the Binary behind it */
		} id;
		struct {
			uint64_t module, name; /* atoms */
			bool exported;
			uint32_t nr_fields;
			raddr keys, values; /* in order of the VM */
			uint64_t order;	    /* tuple: where in them each field of the definition
					     * stands, first to last; smalls from 0 */
		} record;
	};
};

/* Fills *v; returns v->kind.  Counts what could not be read in r->unreadable. */
enum term_kind term_view(struct term_reader *r, uint64_t term, struct term_view *v);

/* Elements of a tuple, at most max; *arity is the true one.  0 or negative errno (-EINVAL: no
 * tuple). */
int term_tuple(struct term_reader *r, uint64_t term, uint64_t *elements, uint32_t max,
	       uint32_t *arity);
/* Element i (0 ..) of a tuple with more than i elements. */
int term_element(struct term_reader *r, uint64_t term, uint32_t i, uint64_t *value);
/* A tuple of this arity whose first element is that atom. */
bool term_is_tagged(struct term_reader *r, uint64_t term, uint64_t atom, uint32_t arity);

/* Walks a list: while (term_next(r, &list, &head)) ...  Ends at [], an improper tail, something
 * unreadable, or after r->max_elements; `list` is then where it ended. */
bool term_next(struct term_reader *r, uint64_t *list, uint64_t *head);

/* Bytes of a binary or of a list of bytes as text; at most `max`.  False if it is neither. */
bool term_text(struct term_reader *r, uint64_t term, struct strbuf *out, size_t max);
/* The nth byte of a bitstring and those that follow, wherever its first bit stands; bits beyond its
 * last one are 0.  False if they cannot be read or it has fewer. */
bool term_bits(struct term_reader *r, const struct term_view *v, uint64_t nth, void *buf,
	       size_t size);

/* Words that the term takes beside its own word, as erts_debug:flat_size/1 counts them (shared
 * parts once for each time they are seen); at most `max` are visited, then *cut is set. */
uint64_t term_flat_size(struct term_reader *r, uint64_t term, uint64_t max, bool *cut);

#endif
