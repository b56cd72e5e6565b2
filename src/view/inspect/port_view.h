/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam port`: a node's ports, and their sockets. */
#ifndef EBEAM_VIEW_PORT_VIEW_H
#define EBEAM_VIEW_PORT_VIEW_H

#include "view/table/table.h"

struct port_fd {
	int fd;		    /* -1 = none */
	const char *target; /* "socket:[1234]" */
};

/* Texts: NULL = none, or not known; numbers: UINT64_MAX = not known. */
struct port_row {
	uint64_t id, number; /* the term of the port; N of #Port<0.N> */
	uint32_t slot;
	bool busy, closing, exiting, distribution, parallelism, torn;
	char port[32]; /* "#Port<0.N>" */
	const char *name, *driver, *connected, *locking;
	struct table_name registered;
	uint64_t input, output, queue_size, memory; /* bytes */
	uint64_t os_pid;
	struct table_list links, monitors, monitored_by, suspended;
	struct port_fd fds[2];	/* for reading and for writing; of a socket only the first */
	bool is_stream;		/* fds are those of the drivers fd and spawn (PORT_FD_STREAM) */
	bool is_socket;		/* the port has a socket: the members below are set */
	bool listening;		/* recv_q and send_q are connections, not bytes */
	struct table_list inet; /* state of the driver, as in prim_inet:getstatus/1 */
	const char *protocol;	/* NULL: the socket is in no table of the kernel */
	const char *state;	/* the kernel's; the driver's if the kernel has none */
	const char *local, *peer;
	uint64_t recv_q, send_q;
};

extern const struct table port_table; /* its columns; the caller sets the rows */

/* Writes the table of ports, and a line with their number and sums. */
int port_view_write(FILE *f, const struct table *ports, const struct table_options *o,
		    struct error *err);

#endif
