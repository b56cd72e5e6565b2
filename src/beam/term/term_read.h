/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to terms of a node, read through a struct term_reader (term.h).  Nothing is trusted: a
 * term that cannot be read, or whose header is not valid there, is TERM_KIND_UNREADABLE; every loop
 * is bounded; nothing recurses.
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

/* "atom", "integer", "list", ... */
const char *term_kind_name(enum term_kind kind);

/* One level of a term. */
struct term_view {
	enum term_kind kind;
	uint64_t term;
	raddr addr;	     /* address of the cons or the header; 0 for immediates */
	uint64_t header;     /* of a boxed term */
	uint32_t heap_words; /* words at addr, header included; cons: 2 */
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
			uint64_t nr_digits; /* words of 64 bits, least significant first */
			raddr digits;
			bool negative;
		} big;
		struct {
			raddr bytes;	  /* address of the byte with the first bit */
			unsigned int bit; /* position of the first bit in that byte, 0 .. 7, 0 =
					   * most significant */
			uint64_t nr_bits;
			raddr binary;	      /* the off-heap Binary; 0 = on the heap */
			uint64_t binary_size; /* bytes of that Binary */
			uint64_t binary_refc;
		} bits;
		struct {
			uint64_t module;   /* atoms; 0 = unknown */
			uint64_t function; /* export only */
			uint64_t arity;
			uint64_t index, old_uniq; /* local fun: as in #Fun<m.INDEX.OLD_UNIQ> */
			uint64_t nr_free;	  /* size of the environment */
			raddr environment;
			uint64_t creator; /* pid term; 0 = not stored (since OTP 27) */
		} fun;
		struct {
			uint64_t node;	     /* atom; 0 = this node */
			uint32_t creation;   /* external only */
			uint32_t channel;    /* first number when printed; 0 = this node */
			uint32_t nr_numbers; /* of a reference: 3, of an alias 5 since OTP 26 */
			uint32_t numbers[5]; /* as printed: #Ref<0.n[2].n[1].n[0]> */
			uint64_t data;	     /* of an external port: its number; of an external
					      * pid: number | serial << 32 */
			raddr binary;	     /* address of a magic reference's Binary */
		} id;
		struct {
			uint64_t module, name; /* atoms */
			bool exported;
			uint32_t nr_fields;
			raddr keys, values; /* in the VM's order */
			uint64_t order;	    /* tuple: index in keys and values of each field in
					     * the order of the definition; smalls from 0 */
		} record;
	};
};

/* Fills *v; returns v->kind.  Counts memory that could not be read in r->unreadable. */
enum term_kind term_view(struct term_reader *r, uint64_t term, struct term_view *v);

/* Reads the elements of a tuple, at most max; *arity is the full one.  0 or negative errno
 * (-EINVAL: no tuple). */
int term_tuple(struct term_reader *r, uint64_t term, uint64_t *elements, uint32_t max,
	       uint32_t *arity);
/* Reads element i, from 0, of a tuple; -EINVAL: no tuple, -ERANGE: it has fewer elements. */
int term_element(struct term_reader *r, uint64_t term, uint32_t i, uint64_t *value);
/* Is the term a tuple of this arity whose first element is this atom? */
bool term_is_tagged(struct term_reader *r, uint64_t term, uint64_t atom, uint32_t arity);

/* Walks a list: while (term_next(r, &list, &head)) ...  Ends at [], at an improper tail, if a cell
 * cannot be read, or after r->max_elements; `list` is then the rest. */
bool term_next(struct term_reader *r, uint64_t *list, uint64_t *head);

/* Appends the bytes of a binary or of a list of bytes, at most `max`.  False if it is neither, or
 * unreadable. */
bool term_text(struct term_reader *r, uint64_t term, struct strbuf *out, size_t max);
/* Reads bytes of a bitstring from the nth on, whatever its first bit is; bits behind its last one
 * are 0.  False if they cannot be read or it has fewer. */
bool term_bits(struct term_reader *r, const struct term_view *v, uint64_t nth, void *buf,
	       size_t size);

/* Words of the term beside its own word, as erts_debug:flat_size/1 (shared parts count each time);
 * at most `max` terms are visited, then *cut is set. */
uint64_t term_flat_size(struct term_reader *r, uint64_t term, uint64_t max, bool *cut);

#endif
