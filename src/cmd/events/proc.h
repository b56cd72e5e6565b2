/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam proc`: what its files share. */
#ifndef EBEAM_CMD_PROC_H
#define EBEAM_CMD_PROC_H

#include "cmd/run/event_run.h"
#include "model/stats/spawn_stats.h"

struct proc {
	struct command_context *ctx;
	struct event_run *run;
	struct spawn_stats stats;
	uint64_t kinds; /* that are watched */
	bool opened;
};

/* One answer. */
int proc_show(struct proc *p, struct error *err);

#endif
