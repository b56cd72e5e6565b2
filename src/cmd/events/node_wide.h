/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all of a node takes part in (model/stats/node_wide.h), for `ebeam gc`: uprobes on the BIFs
 * that do it; they are called seldom.
 */
#ifndef EBEAM_CMD_NODE_WIDE_H
#define EBEAM_CMD_NODE_WIDE_H

#include <stdio.h>

#include "cmd/run/event_run.h"
#include "model/stats/node_wide.h"

struct node_wide_probes;

/* What an event_consumer needs of calls. */
extern const struct live_calls node_wide_calls;

/* In begin() of a consumer.  They are there if a meta record of this key comes then, in captures,
 * too; else why was logged. */
#define NODE_WIDE_KEY "node_wide"
void node_wide_probes_open(struct node_wide_probes **out, struct event_run *run,
			   double max_overhead);
/* After event_run(), before event_run_close(); NULL ok. */
void node_wide_probes_close(struct node_wide_probes *p);
/* For --dry-run: a line that names the BIFs. */
void node_wide_probes_list(FILE *out);
/* In drained(): whoever blocked schedulers may have ended. */
void node_wide_check_blockers(struct node_wide *w, struct event_run *run);

#endif
