/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile of events or calls by weight, and writes it in any format: the part of an
 * event_consumer that `record --mode` and `trace -f` share.  The caller sets ctx, render and mode.
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
	const struct weight_mode *mode; /* NULL: as the capture was recorded */
	struct event_profile *profile;	/* NULL until weigh_open() */
	struct outfile *output;		/* unless the format is a capture */
	struct summary summary;
};

/* Chooses the name of the output, if -o does not; *capture: NULL, or the capture to write. */
int weigh_name(struct weigh *w, struct event_run *run, const char **capture, struct error *err);
/* Opens the output.  To be called before anything is recorded, so that an error comes early. */
int weigh_open(struct weigh *w, struct event_run *run, struct error *err);
/* Adds a record that is no event of the VM, such as a call. */
void weigh_other(struct weigh *w, const struct event *ev);
void weigh_event(struct weigh *w, enum event_kind kind, const struct event *ev);
/* Ends the profile and writes it. */
int weigh_finish(struct weigh *w, struct error *err);
/* Adds the total weight and the path to the closing line, which has counters and costs already. */
void weigh_closing(const struct weigh *w, struct strbuf *line);
void weigh_close(struct weigh *w);

#endif
