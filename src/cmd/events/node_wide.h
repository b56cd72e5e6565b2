/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that the whole node takes part in (model/stats/node_wide.h), for `ebeam gc`: uprobes on the
 * BIFs that do it, which are called seldom.
 */
#ifndef EBEAM_CMD_NODE_WIDE_H
#define EBEAM_CMD_NODE_WIDE_H

#include <stdio.h>

#include "cmd/run/event_run.h"
#include "model/stats/node_wide.h"

struct node_wide_probes;

/* event_consumer.calls for these probes. */
extern const struct live_calls node_wide_calls;

/* To be called in begin() of a consumer.  If the probes are attached, a meta record with this key
 * follows, in captures, too; else the reason was logged. */
#define NODE_WIDE_KEY "node_wide"
void node_wide_probes_open(struct node_wide_probes **out, struct event_run *run,
			   double max_overhead);
/* To be called after event_run() and before event_run_close(); NULL ok. */
void node_wide_probes_close(struct node_wide_probes *p);
/* For --dry-run: writes a line that names the BIFs. */
void node_wide_probes_list(FILE *out);
/* To be called in drained(): checks whether processes that block multi-scheduling have exited. */
void node_wide_check_blockers(struct node_wide *w, struct event_run *run);

#endif
