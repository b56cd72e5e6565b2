/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms as Erlang text, as io_lib:format("~0tp") writes them (UTF-8 with all its characters, as
 * under +pc unicode; but a list with characters above 255 is one of numbers), or as Elixir's
 * inspect/1 does (a charlist as ~c"..."; structs as %Mod{...} in the order of the map, also those
 * with an Inspect of their own; local funs without the function that made them).
 *
 * What lies beyond the limits is "...".  What cannot be read is #Unreadable<0xADDRESS>, or "..."
 * if the reader has no node.  What is open is kept on the heap, some 100 bytes a level: `depth` may
 * be any number; a term that contains itself ends at max_len.  Integers of more than 2,048 words
 * are "..." as well.
 *
 * To take terms apart: term_read.h.
 */
#ifndef EBEAM_BEAM_TERM_H
#define EBEAM_BEAM_TERM_H

#include "base/strbuf.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"

struct beam_node;

enum term_style { TERM_STYLE_ERLANG, TERM_STYLE_ELIXIR };

struct term_reader {
	struct mem *mem; /* NULL: only what was copied */
	struct beam_atoms *atoms;
	const struct id_format *pids, *ports;
	int otp;
	/* Words that were copied with the term, at this address: preferred over memory. */
	raddr copy_addr;
	const uint64_t *copy;
	unsigned int copy_words;
	/* Likewise words that were made here, at addresses that no node has (call_match.c). */
	raddr made_addr;
	const uint64_t *made;
	unsigned int made_words;
	int depth;		/* limit; 6 suits labels */
	unsigned int max_len;	/* bytes of text, beyond which nothing new is begun */
	struct beam_node *node; /* for names of other nodes and of funs; NULL: those are "..." */
	/* `mem` has only words that were copied with terms: what is no part of one (entries of
	 * funs, names of nodes) is read from the node, and what is missing is "...". */
	bool copied;
	enum term_style style;
	/* Of one list, tuple or map; 0 = 64.  Strings may have four times as many bytes, binaries
	 * that are no text show a quarter as numbers, at least 16. */
	unsigned int max_elements;
	/* NULL, or: is what belongs to a key of that name a secret?  Such values of maps, keywords
	 * and records, and what follows such an element at the start of a tuple, are "***". */
	bool (*is_secret)(const char *name, size_t len);
	uint64_t masked;     /* values so far */
	uint64_t unreadable; /* places that could not be read, so far */
	/* Of the implementation; zeros at first. */
	struct term_window *window; /* what was read during the call that goes on */
	struct term_walk {
		uint64_t list, done, last;
	} walks[4]; /* of term_next() */
	uint64_t steps;
};

/* Readers and formats of a node, without limits of note: depth 1,000, 16 MiB of text, 1,000,000
 * elements.  `formats` keeps what the reader points to. */
struct term_formats {
	struct id_format pids, ports;
};
int term_reader_init(struct term_reader *r, struct term_formats *formats, struct beam_node *n);

void term_print(struct term_reader *r, struct strbuf *out, uint64_t term);
/* The same for the value of a key. */
void term_print_value(struct term_reader *r, struct strbuf *out, uint64_t key, uint64_t value);

#endif
