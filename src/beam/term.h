/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small terms as Erlang text, as io_lib:format("~0tp") writes them: what a label or a name needs.
 * Atoms, small integers, floats, pids, ports, nil, lists, strings, tuples and byte-aligned binaries
 * (UTF-8 with all its characters, as under +pc unicode); anything else, what cannot be read, and
 * what lies beyond the limits, is "...".
 */
#ifndef EBEAM_BEAM_TERM_H
#define EBEAM_BEAM_TERM_H

#include "base/strbuf.h"
#include "beam/atoms.h"
#include "beam/pid.h"

struct term_reader {
	struct mem *mem; /* NULL: only what was copied */
	struct beam_atoms *atoms;
	const struct id_format *pids, *ports;
	int otp;
	/* Words that were copied with the term, at this address: preferred over memory. */
	raddr copy_addr;
	const uint64_t *copy;
	unsigned int copy_words;
	int depth;	      /* limit; 6 suits labels */
	unsigned int max_len; /* bytes of text, beyond which nothing new is begun */
};

void term_print(struct term_reader *r, struct strbuf *out, uint64_t term);

#endif
