/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies on the heap of a process, living or not: the heap's areas walked from end to end, one
 * object behind the other, and counted by kind.  Garbage counts until it is collected, as it does
 * in heap_size.
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
	uint64_t unknown;		/* words that begin no object that ebeam knows */
	uint64_t unreadable;		/* words that could not be read */
	bool cut;			/* more fragments than are walked */
};

/* Words of an object that begins with this header, given what follows it; 0 = not a known one.
 * *kind is what it is; TERM_KIND_UNREADABLE: an inner node of a map, which is no object itself. */
uint64_t heap_object_words(int otp, const uint64_t *object, uint64_t available,
			   enum term_kind *kind);

/* The process should not run. */
void heap_census_take(struct beam_node *n, const struct process_facts *p, struct heap_census *out);

#endif
