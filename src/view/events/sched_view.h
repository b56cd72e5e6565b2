/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam sched`: scheduling, from model/stats/sched_stats.h. */
#ifndef EBEAM_VIEW_SCHED_VIEW_H
#define EBEAM_VIEW_SCHED_VIEW_H

#include "model/stats/sched_stats.h"
#include "view/table/answer_view.h"

struct sched_answer {
	const struct sched_stats *stats; /* unscaled; borrowed */
	double scale;			 /* factor for counts of slices, if they were sampled */
	double long_scale;		 /* factor for counts of long slices */
	double time_scale;		 /* factor for times on normal schedulers */
	double dirty_scale;		 /* factor for times on dirty schedulers */
	bool by_memory;	  /* time_scale is from busy times that were read from memory */
	bool joined;	  /* long slices come from long_schedule, which misses none */
	uint64_t from_ns; /* since 1970 */
	uint64_t duration_ns;
};

extern const struct table_column sched_columns[];
extern const struct answer_view sched_view; /* of struct sched_answer */

#endif
