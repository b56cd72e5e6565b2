/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam sched`: scheduling as model/stats/sched_stats.h adds it up. */
#ifndef EBEAM_VIEW_SCHED_VIEW_H
#define EBEAM_VIEW_SCHED_VIEW_H

#include "model/stats/sched_stats.h"
#include "view/table/answer_view.h"

struct sched_answer {
	const struct sched_stats *stats; /* as they were seen; borrowed */
	double scale;			 /* of counts of slices, for what was sampled */
	double long_scale;		 /* of those that were long */
	double time_scale;		 /* of times */
	double dirty_scale;		 /* likewise on dirty schedulers */
	bool by_memory;	  /* how long normal schedulers were busy was known for that */
	bool joined;	  /* long slices are those of long_schedule: they need no scale */
	uint64_t from_ns; /* since 1970 */
	uint64_t duration_ns;
};

extern const struct table_column sched_columns[];
extern const struct answer_view sched_view; /* of struct sched_answer */

#endif
