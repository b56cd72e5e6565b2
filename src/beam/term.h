/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms as Erlang text, as io_lib:format("~0tp") writes them (UTF-8 with all its characters, as
 * under +pc unicode), or as Elixir's inspect/1 does.  What lies beyond the limits is "...".  To
 * take terms apart: term_read.h.
 */
#ifndef EBEAM_BEAM_TERM_H
#define EBEAM_BEAM_TERM_H

#include "base/strbuf.h"
#include "beam/atoms.h"
#include "beam/pid.h"

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
	int depth;		/* limit; 6 suits labels */
	unsigned int max_len;	/* bytes of text, beyond which nothing new is begun */
	struct beam_node *node; /* for names of other nodes and of funs; NULL: those are "..." */
	enum term_style style;
	unsigned int max_elements; /* of one list, tuple or map; 0 = 64 */
	uint64_t unreadable;	   /* places that could not be read, so far */
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

#endif
