/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of a node in its port table, as in erlang:port_info/1,2, and the descriptors of the
 * operating system that their drivers have.  Reading races with the node: a port's struct is read
 * at once, then the data it points to, then its id again; inconsistent ones are read again, and
 * marked torn if they still are.  A port that was closed is left out and counted.
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

/* Longer names are truncated. */
#define PORT_NAME_MAX 4096

/* inet_descriptor.state: INET_F_*, inet_drv.c; as in prim_inet:getstatus/1 */
#define PORT_INET_OPEN	     (1u << 0)
#define PORT_INET_BOUND	     (1u << 1)
#define PORT_INET_CONNECTED  (1u << 2)
#define PORT_INET_LISTEN     (1u << 3)
#define PORT_INET_CONNECTING (1u << 4)
#define PORT_INET_ACCEPTING  (1u << 5)
#define PORT_INET_BUSY	     (1u << 7)

enum port_fd_kind {
	PORT_FD_NONE,	/* none, or its driver has it in a way that ebeam cannot verify */
	PORT_FD_INET,	/* fds[0]: a socket of inet_drv */
	PORT_FD_STREAM, /* fds[0] is read, fds[1] written (-1 = not): drivers fd and spawn */
};

struct port_refs { /* range of terms in port_list.terms */
	size_t first, len;
};

struct port_facts {
	raddr addr;
	uint64_t id;	 /* term */
	uint64_t number; /* N of #Port<0.N> */
	uint32_t slot;	 /* index in the port table: `id` of port_info/1 */
	char *name;
	char driver[64];
	uint64_t connected;  /* pid term */
	uint64_t registered; /* atom; 0 = none */
	uint64_t bytes_in, bytes_out, queue_size;
	/* Bytes: for a socket of inet_drv as in inet:getstat/1, else bytes_in. */
	uint64_t received;
	uint64_t memory; /* bytes, as port_info(P, memory); only if memory_known */
	int64_t os_pid;	 /* of the program that the port runs; -1 = none */
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
	uint64_t cut; /* ports without some of their links, monitors or waiting processes */
};

int ports_read(struct beam_node *n, struct port_list *out, struct error *err);
/*
 * Offset of recv_oct in inet_descriptor, where inet_drv counts received bytes; 0 = unknown for this
 * release.  Port.bytes_in is without data that arrives as messages.
 */
uint32_t ports_inet_received(const struct beam_node *n);
void port_list_free(struct port_list *l);

static inline bool port_is_busy(const struct port_facts *p)
{
	return (p->task_flags & (PORT_TASK_BUSY_PORT | PORT_TASK_BUSY_PORT_Q)) != 0;
}

/*
 * Reads the processes in a circular list of ErtsProcList: pid terms, at most `max`.  0; -EBADMSG:
 * it is no such list (processes read before are kept); or errno of the failed read.
 */
struct proclist {
	VEC(uint64_t) pids;
	bool cut;
};
int proclist_read(struct beam_node *n, raddr list, struct proclist *out, size_t max);

/* Calls visit() for each binary in the queue of the port whose struct is at `port`: address of the
 * Binary, bytes of it that are queued.  False: the queue changed meanwhile. */
bool port_queue_walk(struct beam_node *n, raddr port,
		     void (*visit)(void *arg, raddr binary, uint64_t used), void *arg);

#endif
