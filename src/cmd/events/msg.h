/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam msg`: what its files share. */
#ifndef EBEAM_CMD_MSG_H
#define EBEAM_CMD_MSG_H

#include "cmd/run/event_run.h"
#include "model/stats/message_stats.h"

struct msg {
	struct command_context *ctx;
	struct event_run *run;
	struct message_stats stats;
	uint64_t kinds; /* that are watched */
	bool opened;
};

/* -s and -c, before anything is watched. */
int msg_check(const struct options *o, struct error *err);
/* One answer. */
int msg_show(struct msg *m, struct error *err);

#endif
