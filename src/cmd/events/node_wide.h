/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all of a node takes part in (model/stats/node_wide.h), for `ebeam gc`: uprobes on the BIFs
 * that do it, which are called seldom, and the tables of it.
 */
#ifndef EBEAM_CMD_NODE_WIDE_H
#define EBEAM_CMD_NODE_WIDE_H

#include <stdio.h>

#include "base/jsonw.h"
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

/* A table, with what is under way up to end_ns; nothing if there was nothing, unless `all`. */
int node_wide_write(struct node_wide *w, struct event_run *run, uint64_t end_ns, bool all,
		    struct error *err);
/* The object "node_wide"; null if it was not `watched`. */
void node_wide_json(struct jsonw *out, struct node_wide *w, uint64_t end_ns, bool watched);

#endif
