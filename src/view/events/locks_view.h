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
	uint32_t nr;		/* processes of that name that are added up */
	/* Of rows of places: the function that waits, of Erlang; its caller, if that is a BIF or a
	 * NIF.  NULL = not known. */
	const char *function, *caller;
	/* Of rows of locks of ETS tables that are there: */
	uint64_t objects;	       /* UINT64_MAX: it is no such row */
	const char *write_concurrency; /* "false", "true", "auto", a number of locks */
	const char *read_concurrency;  /* "false", "true" */
	/* margins: half of the 95 % confidence intervals of waits and of total_ns; UINT64_MAX: not
	 * known. */
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
	uint64_t truncated; /* waits recorded in windows that went on when these ended */
	/* Most time that is sure first.  In JSON processes, in the text their groups. */
	const struct lock_row *locks, *places, *waiters, *releasers, *waiter_groups,
		*releaser_groups;
	size_t nr_locks, nr_places, nr_waiters, nr_releasers, nr_waiter_groups, nr_releaser_groups;
	const struct histogram *waits;
	const uint64_t *waits_margins; /* of its powers of two */
};

extern const struct table_column lock_columns[];
extern const struct answer_view locks_view; /* of struct locks_answer */

#endif
