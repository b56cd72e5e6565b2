/* SPDX-License-Identifier: BSD-2-Clause */
/* Of `ebeam dump --waits`: the graph (dump_waits.c), and the answer (dump_waits_show.c). */
#ifndef EBEAM_CMD_DUMP_WAITS_H
#define EBEAM_CMD_DUMP_WAITS_H

#include "base/arena.h"
#include "beam/term/term.h"
#include "cmd/inspect/dump.h"
#include "model/process/wait_graph.h"
#include "target/sockets.h"
#include "view/inspect/waits_view.h"

/* What is waited for and is no process of this node: a term, or text (the peer of a socket). */
struct other {
	uint64_t item;
	char *text; /* NULL: a term */
};

/* Nodes of the graph: the processes of the list, then whatever else is waited for. */
struct waiting {
	const struct dump *d;
	struct wait_graph graph;
	VEC(uint32_t) to;
	VEC(struct other) others;
	VEC(uint32_t) wait_of;		 /* of each process: 1 + index in waits.v; 0 = none */
	VEC(struct waits_since) longest; /* of those that wait for each node */
	struct term_formats formats;
	struct term_reader reader;
	struct socket_table sockets;
	struct arena texts; /* of what is shown */
};

int waiting_open(struct waiting *w, const struct dump *d, struct error *err);
void waiting_close(struct waiting *w);
struct waits_since waiting_since(const struct waiting *w, uint32_t node);

#endif
