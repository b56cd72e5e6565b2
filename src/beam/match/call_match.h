/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a call match a pattern (names/call_pattern.h) and its guards, as the node itself would
 * decide?  Compares and computes exactly as OTP 25 to 29.  Terms are read through a struct
 * term_reader, mostly from words that were copied at the call.  The result is undecided if it
 * depends on memory that cannot be read, or on numbers of more than 65,536 bits.
 *
 * An atom that the node lacks when the matcher is opened matches once the node has it.
 */
#ifndef EBEAM_BEAM_CALL_MATCH_H
#define EBEAM_BEAM_CALL_MATCH_H

#include <stdint.h>

#include "abi/call_test.h"
#include "beam/term/term.h"
#include "names/call_pattern.h"

enum call_verdict { CALL_MATCHES, CALL_DIFFERS, CALL_UNDECIDED };

struct call_matcher;

/* Borrows the pattern; does not keep r, which must have the node's release, atoms and pids.
 * call_match() may use other readers of the same node. */
void call_matcher_open(struct call_matcher **out, const struct call_pattern *p,
		       struct term_reader *r);
void call_matcher_close(struct call_matcher *m); /* NULL ok */

/* Matches the arguments of a call; its function must be one that the pattern names.  Does not
 * change the reader's count of unreadable memory. */
enum call_verdict call_match(struct call_matcher *m, struct term_reader *r, const uint64_t *args,
			     unsigned int nr_args);

/* Fills `out` with at most CALL_TESTS_MAX conditions that BPF can test and that every matching call
 * fulfils.  Returns their number; 0 = none. */
unsigned int call_tests(const struct call_matcher *m, struct call_test *out);

#endif
