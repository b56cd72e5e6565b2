/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang stack of a process that is not running (one that runs keeps its stack in registers:
 * its frames are those of its last stop, and marked stale).  A word is a return address if its low
 * two bits are 00 and it lies in JIT code; everything between is a Y register or a catch.
 */
#ifndef EBEAM_BEAM_STACK_H
#define EBEAM_BEAM_STACK_H

#include "base/vec.h"
#include "beam/jit.h"
#include "beam/process.h"

/* Frames of which more than this are not kept; the bottom of the stack is lost then. */
#define STACK_MAX_WORDS (8u << 20)

struct stack_code { /* code of a node, opened once for many stacks */
	struct jit_code *jit;
	raddr normal_exit;
};
int stack_code_open(struct stack_code *c, struct beam_node *n, struct error *err);
void stack_code_close(struct stack_code *c);

struct stack_frame {
	raddr addr;    /* return address; of the top frame: where it goes on */
	uint32_t y;    /* index in words of the first Y register of the frame */
	uint32_t nr_y; /* its Y registers, catches among them */
};

struct process_stack {
	VEC(struct stack_frame) frames; /* top first */
	VEC(uint64_t) words;		/* of the stack, top first */
	bool stale;			/* the process was running */
	bool cut;			/* beyond a limit */
};

/* Reads the stack and splits it; reuses the memory of *out.  -ESRCH gone, -EAGAIN it would not
 * stand still. */
int process_stack_read(struct beam_node *n, const struct stack_code *c,
		       const struct process_facts *p, struct process_stack *out);
void process_stack_free(struct process_stack *s);

/* What process_info(P, current_stacktrace) says of a frame. */
struct stack_location {
	struct jit_function function; /* name, file, line */
	bool known;
};
void stack_frame_locate(const struct stack_code *c, const struct stack_frame *f,
			struct stack_location *out);
/* process_info(P, current_function): from `current` if it is set, else from `i`. */
bool process_current_function(struct beam_node *n, const struct stack_code *c,
			      const struct process_facts *p, struct strbuf *mfa,
			      struct stack_location *out);

#endif
