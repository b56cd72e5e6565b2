/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a call match a pattern (names/call_pattern.h), guards included, as the node itself would
 * decide?  Exact, as OTP 25 to 29 compare and compute; what that takes is read through a struct
 * term_reader, mostly from words that were copied at the call.  What cannot be read, and numbers of
 * more than 65,536 bits, leave it undecided, if it matters.
 *
 * An atom that the node does not have when the matcher is opened matches once it has it.
 */
#ifndef EBEAM_BEAM_CALL_MATCH_H
#define EBEAM_BEAM_CALL_MATCH_H

#include <stdint.h>

#include "abi/call_test.h"
#include "beam/term/term.h"
#include "names/call_pattern.h"

enum call_verdict { CALL_MATCHES, CALL_DIFFERS, CALL_UNDECIDED };

struct call_matcher;

/* Borrows the pattern.  The reader tells the release, atoms and pids of the node; those of
 * call_match() may be others, of the same node. */
void call_matcher_open(struct call_matcher **out, const struct call_pattern *p,
		       struct term_reader *r);
void call_matcher_close(struct call_matcher *m); /* NULL ok */

/* Of a function that the pattern means: only its arguments are looked at.  What the reader counts
 * as unreadable stays as it is. */
enum call_verdict call_match(struct call_matcher *m, struct term_reader *r, const uint64_t *args,
			     unsigned int nr_args);

/* Conditions that each call that matches fulfils, and that BPF can test; at most CALL_TESTS_MAX.
 * Returns how many; 0 = nothing can be said beforehand. */
unsigned int call_tests(const struct call_matcher *m, struct call_test *out);

#endif
