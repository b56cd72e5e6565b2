/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam locks`: locks that threads waited for in the kernel, which processes waited,
 * and which released them. */
#ifndef EBEAM_VIEW_LOCKS_H
#define EBEAM_VIEW_LOCKS_H

#include "base/histogram.h"
#include "view/table/answer_view.h"

struct lock_row {
	const char *lock;	/* "ets table routes"; NULL = not known */
	const char *kind;	/* "lock: ets" */
	const char *pid, *name; /* of rows of processes; NULL = none */
	/* margins: half of the 95 % confidence intervals of waits and of total_ns. */
	uint64_t waits, waits_margin, total_ns, margin_ns, max_ns;
};

struct locks_answer {
	uint64_t duration_ns;
	struct lock_row all;
	/* CPU time of taking and releasing locks, spinning for them included, as samples of CPUs
	 * saw it; of so many samples. */
	uint64_t spin_ns, spin_samples;
	uint64_t not_copied_ns; /* waits in futexes that may be locks */
	uint64_t overflows;
	const struct lock_row *locks, *waiters, *releasers; /* most time first */
	size_t nr_locks, nr_waiters, nr_releasers;
	const struct histogram *waits;
	const uint64_t *waits_margins; /* of its powers of two */
};

extern const struct table_column lock_columns[];
extern const struct answer_view locks_view; /* of struct locks_answer */

#endif
