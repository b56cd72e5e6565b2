/* SPDX-License-Identifier: BSD-2-Clause */
/* --dry-run of commands that watch events: which probes they would place, and what each costs. */
#ifndef EBEAM_CMD_EVENT_PROBES_H
#define EBEAM_CMD_EVENT_PROBES_H

#include "cmd/command/command.h"
#include "probe/site/sources.h"

struct beam_node;

/* A row for each probe of the plan, as text or JSON to ctx->out.  Attaches nothing to the node. */
int event_probes_show(struct command_context *ctx, struct beam_node *n,
		      const struct source_plan *plan, struct error *err);

#endif
