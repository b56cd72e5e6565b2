/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `ebeam sched` share. */
#ifndef EBEAM_CMD_SCHED_H
#define EBEAM_CMD_SCHED_H

#include "cmd/event_run.h"
#include "model/sched_stats.h"
#include "view/table.h"

#define LONG_SCHEDULE (1ull << EVENT_LONG_SCHEDULE)

struct sched {
	struct command_context *ctx;
	struct event_run *run;
	struct sched_stats stats;
	bool open;
	uint64_t watched_from; /* coverage_clock() where the interval begins */
	bool one_process;      /* --process: nothing is known of schedulers */
};

extern const struct table_column sched_columns[];

/* The answer about duration_ns from start_ns on, of which watched_ns were watched. */
int sched_show(struct sched *sched, uint64_t start_ns, uint64_t duration_ns, uint64_t watched_ns,
	       struct error *err);

#endif
