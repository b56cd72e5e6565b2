/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a process that follows a behaviour of OTP, as sys:get_state/1 would say it: a
 * gen_server (supervisors and Elixir's GenServer and Agent too), gen_statem or gen_event that waits
 * in the loop of its behaviour, or hibernates.
 *
 * The loop keeps the state in a Y register; which one, each compilation chose anew.  So it is found
 * by what the others are: parent, name, module, timeout, debug options.  Where that leaves more
 * than one, other processes that wait at the same instruction decide: their state is in the same
 * register.  What that does not settle is not said.
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
	char why[160];	/* not known: why */
};

/*
 * `p` was read with PROCESS_READ_DICTIONARY, `stack` belongs to it.  Reads other processes if it
 * must.
 */
void behaviour_state_read(struct beam_node *n, const struct stack_code *c,
			  const struct process_facts *p, const struct process_stack *stack,
			  struct term_reader *r, struct behaviour_state *out);
/* As sys:get_state/1 has it. */
void behaviour_state_print(const struct behaviour_state *s, struct term_reader *r,
			   struct strbuf *out);

/* One process that waits in the loop of a gen_server. */
struct behaviour_registers {
	const uint64_t *y;
	uint32_t nr;
	uint64_t epid, parent, registered; /* parent, registered: 0 = not known */
	uint64_t module;		   /* of $initial_call; 0 = not known */
};
#define BEHAVIOUR_MAX_REGISTERS 16
/* Which registers can hold the state, a bit for each; 0 = this is no such loop.  `likely`: if the
 * other parts are what they are as a rule, parent, own name, module, [] and infinity. */
uint32_t behaviour_server_candidates(struct term_reader *r, const struct behaviour_registers *b,
				     bool likely);

#endif
