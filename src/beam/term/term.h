/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms as Erlang text, as io_lib:format("~0tp") writes them (UTF-8 with all its characters, as
 * under +pc unicode; but a list with characters above 255 is one of numbers), or as Elixir's
 * inspect/1 does (a charlist as ~c"..."; structs as %Mod{...} in the order of the map, also those
 * with an Inspect of their own; local funs without the function that made them).
 *
 * Parts beyond the limits are "...".  Memory that cannot be read is #Unreadable<0xADDRESS>, or
 * "..." if the reader has no node.  Open lists, tuples and maps are on the heap, some 100 bytes
 * each: `depth` may be any number; a term that contains itself ends at max_len.  Integers of more
 * than 2,048 words are "..." as well.
 *
 * Access to terms: term_read.h.
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
	/* Words copied with the term, of the memory from copy_addr on, which is not read. */
	raddr copy_addr;
	const uint64_t *copy;
	unsigned int copy_words;
	/* Likewise words of terms made by ebeam, at addresses that no node has (call_match.c). */
	raddr made_addr;
	const uint64_t *made;
	unsigned int made_words;
	int depth;		/* limit of nested lists, tuples and maps */
	unsigned int max_len;	/* bytes of text after which no further element is begun */
	struct beam_node *node; /* for names of other nodes and of funs; NULL: those are "..." */
	/* `mem` has only words that were copied with terms: data outside of terms (entries of funs,
	 * names of nodes) is read from the node, and missing words are "...". */
	bool copied;
	enum term_style style;
	/* Elements of one list, tuple or map; 0 = 64.  Strings may have four times as many bytes;
	 * binaries that are no text show a quarter, at least 16, as numbers. */
	unsigned int max_elements;
	/* NULL, or: does a key of this name have a secret value?  Such values of maps, keywords and
	 * records, and the elements behind such a key at the start of a tuple, are "***". */
	bool (*is_secret)(const char *name, size_t len);
	uint64_t masked;     /* number of masked values */
	uint64_t unreadable; /* number of reads that have failed */
	/* Internal; zeros at first. */
	struct term_window *window; /* memory read during the current call */
	struct term_walk {
		uint64_t list, done, last;
	} walks[4]; /* of term_next() */
	uint64_t steps;
};

/* Sets up readers for a node with high limits: depth 1,000, 16 MiB of text, 1,000,000 elements.
 * `formats` holds data that the reader points to.  0 or negative errno (-ENOENT: no atom or process
 * table). */
struct term_formats {
	struct id_format pids, ports;
};
int term_reader_init(struct term_reader *r, struct term_formats *formats, struct beam_node *n);

void term_print(struct term_reader *r, struct strbuf *out, uint64_t term);
/* Prints the value of a key, which is masked if the key is a secret's. */
void term_print_value(struct term_reader *r, struct strbuf *out, uint64_t key, uint64_t value);

#endif
