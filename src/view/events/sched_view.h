/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam sched`: scheduling as model/stats/sched_stats.h adds it up. */
#ifndef EBEAM_VIEW_SCHED_VIEW_H
#define EBEAM_VIEW_SCHED_VIEW_H

#include "model/stats/sched_stats.h"
#include "view/table/table.h"

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

/* A line of totals; the caller has more to say before the rest. */
void sched_view_write_totals(FILE *f, const struct sched_answer *a);
int sched_view_write(FILE *f, const struct sched_answer *a, const struct table_options *o,
		     struct error *err);
/* All of it, in an object that has begun. */
void sched_view_json(struct jsonw *w, const struct sched_answer *a, const struct table_options *o);

#endif
