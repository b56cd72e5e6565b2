/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam dump --waits` says: who waits for whom, where that leads, and since when. */
#ifndef EBEAM_VIEW_WAITS_VIEW_H
#define EBEAM_VIEW_WAITS_VIEW_H

#include "model/process/wait_graph.h"
#include "view/inspect/dump_process.h"
#include "view/table/table.h"

/* Members of a chain or circle that text shows: so many, and the last one. */
#define WAITS_PATH_SHOWN 20

/* How long somebody has been waiting. */
struct waits_since {
	uint64_t ms;	 /* UINT64_MAX = not known */
	const char *how; /* "timer", "at_least"; NULL = not known */
};

/* One who waits, or is waited for. */
struct waits_party {
	struct dump_process p; /* pid: what it is, if it is no process */
	uint64_t queue;	       /* messages; UINT64_MAX: it is no process */
	const char *reason;    /* why it waits; NULL = it does not */
	struct waits_since since;
};

struct waits_target {
	struct wait_target n;
	struct waits_party who;
	const char *reason;	    /* of one who waits for it; NULL = no process does */
	struct waits_since longest; /* of those who do */
};

struct waits_pair {
	struct waits_party from, to;
};

/* Of targets, chains, waits and monitors there need be no more than are shown. */
struct waits_answer {
	const struct wait_graph *graph;
	struct waits_target *targets; /* of graph->targets */
	struct waits_party *members;  /* of graph->nodes */
	VEC(struct waits_pair) waits, monitors;
	size_t all_waits, all_monitors;
	size_t waited_for;    /* targets for which a process waits itself */
	uint64_t unexplained; /* processes suspended, by what is not known */
};

/* *o: color, limit. */
int waits_view_write(FILE *f, const struct waits_answer *a, const struct table_options *o,
		     struct error *err);
/* Writes "data".  *o: limit. */
void waits_view_json(struct jsonw *w, const struct waits_answer *a, const struct table_options *o);

#endif
