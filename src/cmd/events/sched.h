/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `ebeam sched` share. */
#ifndef EBEAM_CMD_SCHED_H
#define EBEAM_CMD_SCHED_H

#include "cmd/run/event_run.h"
#include "model/stats/sched_stats.h"
#include "view/table/table.h"

#define LONG_SCHEDULE (1ull << EVENT_LONG_SCHEDULE)

struct sched {
	struct command_context *ctx;
	struct event_run *run;
	struct sched_stats stats;
	bool open;
	uint64_t watched_from; /* coverage_clock() where the interval begins */
	bool one_process;      /* --process: nothing is known of schedulers */
};

/* What is shown, and what cells need besides their row. */
struct sched_answer {
	const struct sched *sched;
	const struct sched_stats *stats;
	double scale;	    /* of counts of slices, for what was sampled */
	double long_scale;  /* of those that were long */
	double time_scale;  /* see scale_of_times() */
	double dirty_scale; /* likewise on dirty schedulers */
	bool by_memory;	    /* how long normal schedulers were busy was known for that */
	bool joined;	    /* long slices are those of long_schedule: they need no scale */
	uint64_t from_ns;   /* since 1970 */
	uint64_t duration_ns;
};

extern const struct table_column sched_columns[];

/* The answer about duration_ns from start_ns on, of which watched_ns were watched. */
int sched_show(struct sched *sched, uint64_t start_ns, uint64_t duration_ns, uint64_t watched_ns,
	       struct error *err);

/* Cells: a count that is to be scaled; percent, of which NaN (not known) is none. */
void sched_add_count(struct strbuf *out, uint64_t n, double scale);
void sched_add_percent(struct strbuf *out, double percent);

const char *sched_type_name(enum thread_type type); /* "normal", "dirty_cpu", ... */
/* How busy all of a type were: mean in percent; NaN if nothing is known. */
double sched_percent_of_type(const struct sched_stats *s, enum thread_type type);
/* The table of schedulers, and what to bear in mind when reading it. */
int sched_write_cpus(FILE *f, const struct sched_answer *a, struct error *err);
/* "utilization" by type, and "schedulers". */
void sched_cpus_json(struct jsonw *w, const struct sched_answer *a);

#endif
