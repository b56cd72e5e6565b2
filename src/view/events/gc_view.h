/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam gc`: collections as model/stats/gc_stats.h counts them. */
#ifndef EBEAM_VIEW_GC_VIEW_H
#define EBEAM_VIEW_GC_VIEW_H

#include "model/stats/gc_stats.h"
#include "view/events/node_wide_view.h"
#include "view/table/answer_view.h"

/* Time of collections on normal and on dirty schedulers, and all the time of the normal ones. */
struct gc_time {
	double normal_ns, dirty_ns, of_normal_ns;
	/* Half widths of 95 % confidence intervals: of normal_ns + dirty_ns, and of normal_ns; NaN
	 * = not known. */
	double error_ns, normal_error_ns;
};

/* Texts and counts are borrowed. */
struct gc_answer {
	const struct gc_stats *stats; /* unscaled, but for estimate_ns */
	const char *collections;      /* the number of collections, as text */
	struct gc_time time;
	double scale;		 /* factor for counts, if events were sampled */
	double waited;		 /* percent of runnable time that scheduler threads had no CPU */
	unsigned int schedulers; /* normal ones that are online */
	uint64_t duration_ns;
	bool no_stacks; /* groups are functions, but events had no stacks */
	struct node_wide_answer wide;
};

extern const struct table_column gc_columns[];
extern const struct answer_view gc_view; /* of struct gc_answer */

#endif
