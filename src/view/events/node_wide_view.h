/* SPDX-License-Identifier: BSD-2-Clause */
/* Of the answer of `ebeam gc`: work that all of the node takes part in. */
#ifndef EBEAM_VIEW_NODE_WIDE_VIEW_H
#define EBEAM_VIEW_NODE_WIDE_VIEW_H

#include "model/stats/node_wide.h"
#include "names/names.h"
#include "view/table/table.h"

struct node_wide_answer {
	const struct node_wide *work; /* node_wide_order() was called; NULL = it was not watched */
	const struct names *names;
	uint64_t end_ns; /* up to here, of what is under way */
	bool all;	 /* text tells what did not happen, too */
};

/* A table; nothing if there was nothing. */
int node_wide_view_write(FILE *f, const struct node_wide_answer *a, struct error *err);
/* The object "node_wide", or null. */
void node_wide_view_json(struct jsonw *w, const struct node_wide_answer *a);

#endif
