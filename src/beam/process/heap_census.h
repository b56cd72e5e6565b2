/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the objects on the heap of a process by kind, live or garbage: walks the heap's areas from
 * end to end, object by object.  Like heap_size it includes garbage that was not collected yet.
 *
 * erl_term.h, erl_map.h, erl_fun.h, erl_message.h, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_HEAP_CENSUS_H
#define EBEAM_BEAM_HEAP_CENSUS_H

#include "beam/process/process.h"
#include "beam/term/term_read.h"

struct heap_kind {
	uint64_t count, words;
};

struct heap_census {
	struct heap_kind kinds[NR_TERM_KINDS];
	uint64_t young, old, fragments; /* words in use of each area */
	uint64_t unknown;		/* words that do not begin a known object */
	uint64_t unreadable;		/* words that could not be read */
	bool cut;			/* limit of fragments reached: others not counted */
};

/* Size in words of the object with this header, given `available` words of it; 0 = unknown. *kind
 * is its kind; TERM_KIND_UNREADABLE: an inner node of a map, which is no term itself. */
uint64_t heap_object_words(int otp, const uint64_t *object, uint64_t available,
			   enum term_kind *kind);

/* The result is only right if the process does not run meanwhile. */
void heap_census_take(struct beam_node *n, const struct process_facts *p, struct heap_census *out);

#endif
