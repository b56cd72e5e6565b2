/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for whom: a process that waits for the answer to a request holds, in the Y registers of
 * the function that it waits in, the reference of a monitor; and the monitor names the other one.
 * It is a request if the reference is an alias (as gen:call and Task.await make it), or if the
 * function is known to wait for nothing else.  proc_lib:start_link of OTP 25 has a link instead.
 * Any other monitor whose reference is there is distinguished: the process may wait for something
 * else.
 *
 * A process that is suspended waits for what suspended it, whatever its stack says: a port that is
 * busy, the connection to another node, or the process that has called erlang:suspend_process/1,2.
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
	WAIT_PORT,	/* it is busy: to send, or for its word that it has sent */
	WAIT_NODE,	/* the connection to it is busy */
	WAIT_SUSPENDER, /* until it calls erlang:resume_process/1 */
	WAIT_MONITOR,	/* none that is proven: the reference of a monitor is at hand */
};
/* "answer", "busy_port", "busy_dist_port", "suspended", "monitor" */
const char *wait_reason_name(enum wait_reason reason);

struct wait {
	uint32_t from; /* index in the list */
	uint32_t to;   /* likewise; WAIT_ELSEWHERE: no process of this node, or gone */
	uint64_t item; /* what is waited for, as a term: a pid, a port, the name of another node */
	enum wait_reason reason;
	/* As long as it stays the same it is the same wait: of the request's reference, else of
	 * what changes when the process runs. */
	uint64_t mark;
	int64_t waiting_ms; /* by the timer of its receive; -1 = not known */
};

enum wait_function {
	WAIT_FUNCTION_ANY,  /* waits for the one that its alias is for */
	WAIT_FUNCTION_CALL, /* waits for the one that it monitors */
	WAIT_FUNCTION_LINK, /* ... or to which it is linked */
	WAIT_FUNCTION_PORT, /* waits for the word of the port that it was called with */
};

struct wait_place { /* of code, where processes wait */
	raddr addr;
	enum wait_function function;
	bool timeout; /* of the integers in its frame there is one at most: the time of `after` */
};

struct wait_clue { /* what may prove a wait: a boxed term, or a pid */
	uint32_t from;
	enum wait_function function;
	uint64_t term;
	int64_t timeout_ms; /* -1 = not known */
};

struct waits {
	VEC(struct wait) v;	   /* at most one of each process, in their order */
	VEC(struct wait) monitors; /* WAIT_MONITOR, of others */
	uint64_t unreadable;
	uint64_t unexplained; /* suspended, and nothing says by whom */
	/* What leads on from ports and nodes; read if somebody is suspended or waits for a port. */
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

/* A function of OTP or Elixir in which processes wait for the answer of another one only. */
bool waits_for_answer_in(const char *module, const char *function);

void waits_begin(struct waits *w, struct beam_node *n, const struct stack_code *code,
		 const struct process_list *list);
void waits_visit(struct waits *w, uint32_t i, const struct process_stack *s);
void waits_end(struct waits *w);
void waits_free(struct waits *w);

/* waits_suspended.c: of waits_end(). */
void waits_add(struct waits *w, uint32_t from, uint64_t item, enum wait_reason reason);
void waits_of_suspended(struct waits *w);
void waits_of_ports(struct waits *w);
/* Index in the list; IDMAP_NONE: no process of it. */
uint32_t waits_process(const struct waits *w, uint64_t item);
/* The port of a term that waits_end() has read; NULL = none. */
const struct port_facts *waits_port(const struct waits *w, uint64_t item);
/* The port or process that keeps the connection to a node: a term; 0 = none. */
uint64_t waits_controller(const struct waits *w, uint64_t node);

#endif
