/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam dump --waits`: who waits for whom, in chains and circles, since when. */
#ifndef EBEAM_VIEW_WAITS_VIEW_H
#define EBEAM_VIEW_WAITS_VIEW_H

#include "model/process/wait_graph.h"
#include "view/inspect/dump_process.h"
#include "view/table/table.h"

/* How many members of a chain or circle text shows, besides the last one. */
#define WAITS_PATH_SHOWN 20

/* How long a process has been waiting. */
struct waits_since {
	uint64_t ms;	 /* UINT64_MAX = not known */
	const char *how; /* "timer" = ms is exact, "at_least" = a lower bound; NULL = not known */
};

/* A process that waits or is waited for; or what else a process can wait for, such as a port. */
struct waits_party {
	struct dump_process p; /* if it is no process, p.pid describes it */
	uint64_t queue;	       /* messages; UINT64_MAX: it is no process */
	const char *reason;    /* why it waits; NULL = it does not wait */
	struct waits_since since;
};

struct waits_target {
	struct wait_target n;
	struct waits_party who;
	const char *reason;	    /* why a process waits for it; NULL = no process does */
	struct waits_since longest; /* longest wait of a process for it */
};

struct waits_pair {
	struct waits_party from, to;
};

/* May lack targets, chains, waits and monitors that the view does not show. */
struct waits_answer {
	const struct wait_graph *graph;
	struct waits_target *targets; /* texts of graph->targets */
	struct waits_party *members;  /* texts of graph->nodes */
	VEC(struct waits_pair) waits, monitors;
	size_t all_waits, all_monitors;
	size_t waited_for;    /* targets for which a process waits directly */
	uint64_t unexplained; /* suspended processes for which it is not known who suspended them */
};

/* Of *o only color and limit are used. */
int waits_view_write(FILE *f, const struct waits_answer *a, const struct table_options *o,
		     struct error *err);
/* Writes the member "data" of the JSON answer; of *o only the limit is used. */
void waits_view_json(struct jsonw *w, const struct waits_answer *a, const struct table_options *o);

#endif
