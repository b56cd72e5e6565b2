/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam trace` with --count, --histogram and --args: sums of calls. */
#ifndef EBEAM_VIEW_TOTALS_VIEW_H
#define EBEAM_VIEW_TOTALS_VIEW_H

#include "base/histogram.h"
#include "view/table/answer_view.h"

/* Calls of a function from one caller, or with arguments of one shape. */
struct totals_row {
	const char *function, *what; /* what: caller or shape; NULL = not known */
	double share;		     /* percent of all calls; NAN = no call was seen */
	uint64_t calls, ends, exceptions;
	uint64_t total_ns, max_ns; /* of the calls whose ends were seen */
};

struct totals_durations {
	const char *function;
	const struct histogram *ns; /* NULL = no end was seen */
};

struct totals_slow {
	uint64_t ns;
	const char *function, *args;
};

struct totals_answer {
	bool count, histogram, args;	     /* which sections text has */
	struct totals_row *callers, *shapes; /* most calls first */
	struct totals_durations *durations;
	struct totals_slow *slowest;
	size_t nr_callers, nr_shapes, nr_durations, nr_slowest;
	/* Time that tracing adds to a call, and the duration below which the call itself may have
	 * taken no time; 0 = not known. */
	uint64_t hit_ns, unsure_ns;
};

extern const struct answer_view totals_view; /* of struct totals_answer */

#endif
