/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of a node as they stand in its port table: what erlang:port_info/1,2 says of each, and
 * which descriptors of the operating system its driver holds.  Reading races with the node: each
 * port is read at once, then what it leads to, then its id again; what does not hold together is
 * read anew, and marked torn if it still does not.  A port that is gone is left out and counted.
 *
 * Sockets of the module `socket` are NIF resources, not ports.
 *
 * erl_port.h, erl_bif_info.c (port_info), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_PORTS_H
#define EBEAM_BEAM_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"
#include "beam/term/pid.h"

/* Port.state */
#define PORT_STATE_EXITING	      (1u << 1)
#define PORT_STATE_DISTRIBUTION	      (1u << 2)
#define PORT_STATE_CLOSING	      (1u << 5)
#define PORT_STATE_FREE		      (1u << 8)
#define PORT_STATE_INITIALIZING	      (1u << 9)
#define PORT_STATE_PORT_SPECIFIC_LOCK (1u << 10)
#define PORT_STATE_INVALID	      (1u << 11)

/* Port.sched.flags, erl_port_task.h */
#define PORT_TASK_BUSY_PORT   (1u << 4)
#define PORT_TASK_BUSY_PORT_Q (1u << 5)
#define PORT_TASK_PARALLELISM (1u << 9)

/* The most that is kept of a name. */
#define PORT_NAME_MAX 4096

/* inet_descriptor.state: INET_F_*, inet_drv.c; what prim_inet:getstatus/1 says */
#define PORT_INET_OPEN	     (1u << 0)
#define PORT_INET_BOUND	     (1u << 1)
#define PORT_INET_CONNECTED  (1u << 2)
#define PORT_INET_LISTEN     (1u << 3)
#define PORT_INET_CONNECTING (1u << 4)
#define PORT_INET_ACCEPTING  (1u << 5)
#define PORT_INET_BUSY	     (1u << 7)

enum port_fd_kind {
	PORT_FD_NONE,	/* its driver has none, or holds it in a way that ebeam cannot prove */
	PORT_FD_INET,	/* fds[0]: a socket of inet_drv */
	PORT_FD_STREAM, /* fds[0] is read, fds[1] written (-1 = not): drivers fd and spawn */
};

struct port_refs { /* terms, in port_list.terms */
	size_t first, len;
};

struct port_facts {
	raddr addr;
	uint64_t id;	 /* term */
	uint64_t number; /* N of #Port<0.N> */
	uint32_t slot;	 /* of the table: what port_info/1 calls id */
	char *name;
	char driver[64];
	uint64_t connected;  /* pid term */
	uint64_t registered; /* atom; 0 = none */
	uint64_t bytes_in, bytes_out, queue_size;
	/* Bytes: of a socket of inet_drv what inet:getstat/1 says, else bytes_in. */
	uint64_t received;
	uint64_t memory; /* bytes, as port_info(P, memory); only if memory_known */
	int64_t os_pid;	 /* as the node knows it; -1 = none */
	uint32_t state, task_flags;
	enum port_fd_kind fd_kind;
	int fds[2];
	uint32_t inet_state; /* PORT_FD_INET: PORT_INET_* */
	bool memory_known, torn;
	struct port_refs links, monitors, monitored_by;
	struct port_refs suspended; /* processes that wait because the port is busy */
};

struct port_list {
	struct port_facts *data; /* in the order of erlang:ports() */
	size_t len;
	VEC(uint64_t) terms;
	uint64_t vanished, torn;
	uint64_t cut; /* ports of which not all links, monitors or waiting processes were read */
};

int ports_read(struct beam_node *n, struct port_list *out, struct error *err);
/*
 * Where the descriptors of inet_drv count what they received: offset of recv_oct in
 * inet_descriptor, 0 = not known of this release.  Ports do not count what comes as messages.
 */
uint32_t ports_inet_received(const struct beam_node *n);
void port_list_free(struct port_list *l);

static inline bool port_is_busy(const struct port_facts *p)
{
	return (p->task_flags & (PORT_TASK_BUSY_PORT | PORT_TASK_BUSY_PORT_Q)) != 0;
}

/*
 * The processes that wait in a circular list of ErtsProcList: pid terms, at most `max`.  0, or
 * -EBADMSG if it cannot be such a list (what came before stays), or why it cannot be read.
 */
struct proclist {
	VEC(uint64_t) pids;
	bool cut;
};
int proclist_read(struct beam_node *n, raddr list, struct proclist *out, size_t max);

#endif
