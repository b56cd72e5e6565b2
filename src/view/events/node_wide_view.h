/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of the answer of `ebeam gc`: work that the whole node takes part in, such as code purge. */
#ifndef EBEAM_VIEW_NODE_WIDE_VIEW_H
#define EBEAM_VIEW_NODE_WIDE_VIEW_H

#include "model/stats/node_wide.h"
#include "names/names.h"
#include "view/table/table.h"

struct node_wide_answer {
	const struct node_wide *work; /* node_wide_order() was called; NULL = it was not watched */
	const struct names *names;
	uint64_t end_ns; /* work that has not ended is measured up to this time */
	uint64_t duration_ns;
	uint64_t processes; /* that the node has; 0 = not known */
	bool all;	    /* text has rows of work that did not happen, too */
};

/* Writes a line if literal areas were collected for at least this share of the time. */
void node_wide_view_head(FILE *f, const struct node_wide_answer *a, double least_share);
/* Writes a table; nothing if there was no such work. */
int node_wide_view_write(FILE *f, const struct node_wide_answer *a, struct error *err);
/* Writes the object "node_wide", or null. */
void node_wide_view_json(struct jsonw *w, const struct node_wide_answer *a);

#endif
