/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --waits`: the graph of waits (dump_waits.c), and the answer (dump_waits_show.c). */
#ifndef EBEAM_CMD_DUMP_WAITS_H
#define EBEAM_CMD_DUMP_WAITS_H

#include "base/arena.h"
#include "beam/term/term.h"
#include "cmd/inspect/dump.h"
#include "model/process/wait_graph.h"
#include "target/sockets.h"
#include "view/inspect/waits_view.h"

/* A node of the graph that is no process of the VM: a term, or text (the peer of a socket). */
struct other {
	uint64_t item;
	char *text; /* NULL: a term */
};

/* Nodes of the graph are numbered: the processes of the list, then `others`. */
struct waiting {
	const struct dump *d;
	struct wait_graph graph;
	VEC(uint32_t) to; /* the node that each node waits for, or WAIT_NOBODY */
	VEC(struct other) others;
	VEC(uint32_t) wait_of;		 /* of each process: 1 + index in waits.v; 0 = none */
	VEC(struct waits_since) longest; /* by node: the longest wait for it */
	struct term_formats formats;
	struct term_reader reader;
	struct socket_table sockets;
	struct arena texts; /* of the answer */
};

int waiting_open(struct waiting *w, const struct dump *d, struct error *err);
void waiting_close(struct waiting *w);
struct waits_since waiting_since(const struct waiting *w, uint32_t node);

#endif
