/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events or calls, weighed into a profile that goes to a file in any format: the part of an
 * event_consumer that `record --mode` and `trace -f` share.  Fill the first three members.
 */
#ifndef EBEAM_CMD_WEIGH_H
#define EBEAM_CMD_WEIGH_H

#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/event_run.h"
#include "cmd/run/summary.h"
#include "model/profile/event_profile.h"

struct weigh {
	struct command_context *ctx;
	struct render *render;
	const struct weight_mode *mode; /* NULL of a capture: as it was recorded */
	struct event_profile *profile;	/* NULL until weigh_open() */
	struct outfile *output;		/* of every format but the capture */
	struct summary summary;
};

/* The name of the output, if that is ours; and where a capture goes too (NULL). */
int weigh_name(struct weigh *w, struct event_run *run, const char **capture, struct error *err);
/* Before anything is recorded: that the output can be written. */
int weigh_open(struct weigh *w, struct event_run *run, struct error *err);
/* Every record that is no event of the VM; calls, too. */
void weigh_other(struct weigh *w, const struct event *ev);
void weigh_event(struct weigh *w, enum event_kind kind, const struct event *ev);
/* The end: writes it. */
int weigh_finish(struct weigh *w, struct error *err);
/* What they weigh; counters and costs stand in the line before. */
void weigh_closing(const struct weigh *w, struct strbuf *line);
void weigh_close(struct weigh *w);

#endif
