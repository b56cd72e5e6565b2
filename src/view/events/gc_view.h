/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam gc`: collections as model/stats/gc_stats.h counts them. */
#ifndef EBEAM_VIEW_GC_VIEW_H
#define EBEAM_VIEW_GC_VIEW_H

#include "model/stats/gc_stats.h"
#include "view/events/node_wide_view.h"
#include "view/table/answer_view.h"

/* How long collections took, of normal schedulers (in of_normal_ns) and of dirty ones. */
struct gc_time {
	double normal_ns, dirty_ns, of_normal_ns;
	/* Half of the 95 % confidence interval: of both, of normal_ns; NaN = not known. */
	double error_ns, normal_error_ns;
};

/* Texts and counts are borrowed. */
struct gc_answer {
	const struct gc_stats *stats; /* as they were seen, with estimate_ns */
	const char *collections;      /* how many there were */
	struct gc_time time;
	double scale;		 /* of counts, for what was sampled */
	double waited;		 /* percent of the time to run: without a CPU; NaN = not known */
	unsigned int schedulers; /* normal ones that are online */
	uint64_t duration_ns;
	bool no_stacks; /* that tell functions */
	struct node_wide_answer wide;
};

extern const struct table_column gc_columns[];
extern const struct answer_view gc_view; /* of struct gc_answer */

#endif
