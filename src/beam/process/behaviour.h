/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a process that follows a behaviour of OTP, as from sys:get_state/1: a gen_server
 * (also supervisors and Elixir's GenServer and Agent), gen_statem or gen_event that waits in the
 * loop of its behaviour, or hibernates.
 *
 * The loop has the state in a Y register, but which one depends on the compiler.  So it is found by
 * excluding the registers of the loop's other arguments: parent, name, module, timeout, debug
 * options.  If more than one is left, other processes that wait at the same instruction decide:
 * their state is in the same register.  If they do not agree the state is unknown.
 *
 * lib/stdlib/src/gen_server.erl, gen_statem.erl, gen_event.erl, proc_lib.erl, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_BEHAVIOUR_H
#define EBEAM_BEAM_BEHAVIOUR_H

#include "beam/process/stack.h"
#include "beam/term/term.h"

enum behaviour {
	BEHAVIOUR_NONE,
	BEHAVIOUR_GEN_SERVER,
	BEHAVIOUR_GEN_STATEM,
	BEHAVIOUR_GEN_EVENT,
};
const char *behaviour_name(enum behaviour b);

struct behaviour_state {
	enum behaviour behaviour;
	bool known;
	bool hibernating;
	uint64_t value; /* the state; gen_statem: {State, Data}; gen_event: its list of handlers */
	char why[160];	/* why the state is unknown */
};

/*
 * Reads the state of `p`, which was read with PROCESS_READ_DICTIONARY; `stack` is its stack.  May
 * read other processes to find the register.
 */
void behaviour_state_read(struct beam_node *n, const struct stack_code *c,
			  const struct process_facts *p, const struct process_stack *stack,
			  struct term_reader *r, struct behaviour_state *out);
/* Prints the state as sys:get_state/1 returns it. */
void behaviour_state_print(const struct behaviour_state *s, struct term_reader *r,
			   struct strbuf *out);

/* Registers of a process that waits in the loop of a gen_server. */
struct behaviour_registers {
	const uint64_t *y;
	uint32_t nr;
	uint64_t epid, parent, registered; /* parent, registered: 0 = unknown */
	uint64_t module;		   /* of $initial_call; 0 = unknown */
};
#define BEHAVIOUR_MAX_REGISTERS 16
/* Registers that can hold the state, a bit for each; 0 = the values are not those of a gen_server's
 * loop.  `likely`: assumes that the other arguments have their usual values: parent, own name,
 * module, [] and infinity. */
uint32_t behaviour_server_candidates(struct term_reader *r, const struct behaviour_registers *b,
				     bool likely);

#endif
