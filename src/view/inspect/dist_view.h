/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam dist`: a node's connections to other nodes, and the names of epmd. */
#ifndef EBEAM_VIEW_DIST_VIEW_H
#define EBEAM_VIEW_DIST_VIEW_H

#include "view/table/table.h"

/* Texts: NULL = none, or not known; numbers: UINT64_MAX = not known. */
struct dist_row {
	const char *name, *type, *state;
	const char *controller, *owner;		 /* port or process; the process that owns it */
	const char *local, *peer, *socket_state; /* of the connection's socket */
	struct table_list waiting;		 /* processes suspended: the channel is busy */
	uint64_t in, out;			 /* packets */
	uint64_t queue;				 /* bytes */
	uint64_t creation, connection_id, flags;
	uint64_t port_input, port_output, port_queue; /* bytes */
	uint64_t recv_q, send_q;		      /* bytes */
	bool busy, torn, has_port, has_socket;
};

struct dist_epmd_name {
	const char *name;
	uint16_t port;
};

struct dist_answer {
	const char *name; /* of this node */
	bool alive;	  /* distribution runs */
	uint32_t creation;
	struct table nodes; /* rows of dist_table */
	size_t visible, hidden, pending, busy;
	struct dist_epmd_name *epmd;
	size_t nr_epmd;
	uint16_t epmd_port;  /* 0 = not known */
	const char *no_epmd; /* why epmd is not known; NULL = it is */
};

extern const struct table dist_table; /* its columns; the caller sets the rows */

int dist_view_write(FILE *f, const struct dist_answer *a, const struct table_options *o,
		    struct error *err);
/* Writes the member "data" of the JSON answer. */
void dist_view_json(struct jsonw *w, const struct dist_answer *a, const struct table_options *o);

#endif
