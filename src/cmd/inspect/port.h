/* SPDX-License-Identifier: BSD-2-Clause */
/* What the table (port.c) and the JSON (port_json.c) of `ebeam port` share. */
#ifndef EBEAM_CMD_PORT_H
#define EBEAM_CMD_PORT_H

#include "beam/vm/ports.h"
#include "cmd/command/command.h"
#include "target/sockets.h"
#include "view/table/table.h"

struct port_row {
	const struct port_facts *p;
	const struct socket_info *socket; /* NULL = none, or not found */
};

struct port_view {
	struct beam_node *node;
	struct id_format pids, port_ids;
	struct port_list ports;
	struct socket_table sockets;
	bool live; /* not a core file: descriptors can be asked for */
	struct port_row *rows;
};

/* Bits of inet_descriptor.state as prim_inet:getstatus/1 names them; ends with name == NULL. */
struct port_inet_state {
	uint32_t bit;
	const char *name;
};
extern const struct port_inet_state port_inet_states[];

/* Who else may use its driver meanwhile: as port_info(P, locking). */
const char *port_locking(const struct port_facts *p);
/* What is not known of sockets, and why; NULL = all is. */
const char *port_sockets_warning(const struct port_view *v);
int port_write_json(struct command_context *ctx, const struct port_view *v, const struct table *t,
		    const struct table_options *o, struct error *err);

#endif
