/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process waits for which: a process that waits for the answer to a request has the reference
 * of a monitor in a Y register of the function that waits, and the monitor names the other
 * process.  It is a request if the reference is an alias (as of gen:call and Task.await), or if the
 * function is known to wait for answers only.  proc_lib:start_link of OTP 25 has a link instead.
 * Other monitors whose reference is found are listed separately: the process may wait for something
 * else.
 *
 * A suspended process waits for what has suspended it, whatever its stack is: a busy port, a busy
 * connection to another node, or a process that has called erlang:suspend_process/1,2.
 *
 *   waits_begin(&w, n, code, list); for each stack: waits_visit(&w, i, stack); waits_end(&w);
 */
#ifndef EBEAM_BEAM_WAITS_H
#define EBEAM_BEAM_WAITS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/vm/dist.h"
#include "beam/vm/ports.h"

#define WAIT_ELSEWHERE UINT32_MAX

enum wait_reason {
	WAIT_ANSWER,
	WAIT_PORT,	/* a busy port: to send to it, or for its reply that it has sent */
	WAIT_NODE,	/* the connection to the node is busy */
	WAIT_SUSPENDER, /* until it calls erlang:resume_process/1 */
	WAIT_MONITOR,	/* not proven: the process has the reference of a monitor */
};
/* "answer", "busy_port", "busy_dist_port", "suspended", "monitor" */
const char *wait_reason_name(enum wait_reason reason);

struct wait {
	uint32_t from; /* index in the list */
	uint32_t to;   /* index in the list; WAIT_ELSEWHERE: of another node, or exited */
	uint64_t item; /* what is waited for, as a term: a pid, a port, the name of another node */
	enum wait_reason reason;
	/* Equal in two readings if it is still the same wait: from the request's reference, else
	 * the process's reductions, which change when it runs. */
	uint64_t mark;
	int64_t waiting_ms; /* from the timer of its receive; -1 = unknown */
};

enum wait_function {
	WAIT_FUNCTION_ANY,  /* any other function: only an alias proves a wait */
	WAIT_FUNCTION_CALL, /* waits for the process that it monitors */
	WAIT_FUNCTION_LINK, /* waits for a process that it monitors or is linked to */
	WAIT_FUNCTION_PORT, /* waits for the reply of the port that it was called with */
};

struct wait_place { /* an address of code where processes wait */
	raddr addr;
	enum wait_function function;
	bool timeout; /* the frame has at most one integer: the time of `after` */
};

struct wait_clue { /* a term that may prove a wait: boxed, or a pid */
	uint32_t from;
	enum wait_function function;
	uint64_t term;
	int64_t timeout_ms; /* -1 = unknown */
};

struct waits {
	VEC(struct wait) v;	   /* at most one for each process, in order of the list */
	VEC(struct wait) monitors; /* WAIT_MONITOR, of processes not in `v` */
	uint64_t unreadable;
	uint64_t unexplained; /* suspended for an unknown reason */
	/* Read only if a process is suspended or waits for a port. */
	struct port_list ports;
	bool have_ports;
	struct dist_list dist;

	struct beam_node *n;
	const struct stack_code *code;
	const struct process_list *list;
	VEC(struct wait_place) places;
	struct idmap place_index, pid_index;
	VEC(struct wait_clue) clues;
	VEC(uint32_t) suspended; /* indices in the list */
};

/* Is this a function of OTP or Elixir in which processes only wait for an answer? */
bool waits_for_answer_in(const char *module, const char *function);

void waits_begin(struct waits *w, struct beam_node *n, const struct stack_code *code,
		 const struct process_list *list);
void waits_visit(struct waits *w, uint32_t i, const struct process_stack *s);
void waits_end(struct waits *w);
void waits_free(struct waits *w);

/* waits_suspended.c: steps of waits_end(). */
void waits_add(struct waits *w, uint32_t from, uint64_t item, enum wait_reason reason);
void waits_of_suspended(struct waits *w);
void waits_of_ports(struct waits *w);
/* Index in the list of the process with the pid `item`; IDMAP_NONE: it is not in the list. */
uint32_t waits_process(const struct waits *w, uint64_t item);
/* The port of a term, as read by waits_end(); NULL = unknown. */
const struct port_facts *waits_port(const struct waits *w, uint64_t item);
/* Term of the port or process that handles the connection to a node; 0 = none. */
uint64_t waits_controller(const struct waits *w, uint64_t node);

#endif
