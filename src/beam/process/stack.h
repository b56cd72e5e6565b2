/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang stack of a process, from memory, with the frames of process_info(P,
 * current_stacktrace) (beam_common.c, gather_stacktrace(), OTP 25 to 29).
 *
 * The stack pointer of a running process is in a register: its frames are those of its last context
 * switch, and marked stale.  A word whose low two bits are 00 is a return address (with frame
 * pointers: the link to the caller's frame, followed by the return address); words between two of
 * them are Y registers or catches of the upper frame.  Frames of tracing, and the frame at the
 * bottom of every stack, are left out, as the node does.
 */
#ifndef EBEAM_BEAM_STACK_H
#define EBEAM_BEAM_STACK_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/code/jit.h"
#include "beam/process/process.h"

/* Larger stacks are truncated, so that their bottom is missing. */
#define STACK_MAX_WORDS (8u << 20)

#define STACK_TRACE_KINDS 5

struct stack_code { /* code of a node, opened once for many stacks */
	struct jit_code *jit;
	raddr normal_exit;
	bool frame_pointers;
	bool c_stack; /* no native stack: each frame begins with a word for a return address */
	/* Return addresses that tracing puts on a stack, and the number of words behind them. */
	struct {
		raddr addr;
		uint32_t words;
	} trace[STACK_TRACE_KINDS];
	unsigned int nr_trace;
};
/* ERROR_KIND_UNSUPPORTED if the node's list of code was not found. */
int stack_code_open(struct stack_code *c, struct beam_node *n, struct error *err);
void stack_code_close(struct stack_code *c);

struct stack_frame {
	raddr addr;    /* return address; of the top frame: address of the next instruction */
	uint32_t y;    /* index in words of the first Y register of the frame; 0 = the top frame */
	uint32_t nr_y; /* its Y registers, catches among them */
	bool repeated; /* return address of the frame above (recursion); process_info shows one */
};

struct process_stack {
	VEC(struct stack_frame) frames; /* top first */
	VEC(uint64_t) words;		/* of the stack, top first */
	raddr stop;			/* address of words[0] */
	raddr i, current;		/* Process.i and .current when the stack was read */
	uint32_t state;
	bool stale; /* process_stack_is_stale() when the stack was read */
	bool cut;   /* STACK_MAX_WORDS was reached */
};

/* True if the process runs or is garbage collected; not on a dirty scheduler, as the process has
 * then stored its stack pointer, which the node itself uses. */
bool process_stack_is_stale(uint32_t state);

/* Reads the stack and splits it to frames; reuses the memory of *out.  -ESRCH: the process has
 * exited; -EAGAIN: the stack changed during every attempt. */
int process_stack_read(struct beam_node *n, const struct stack_code *c,
		       const struct process_facts *p, struct process_stack *out);
void process_stack_free(struct process_stack *s);

/* Reads the stacks of processes[0 .. nr-1] with few large reads; `visit` gets each in order, with
 * the result of process_stack_read(), and a stack that is valid until visit returns. */
void process_stacks_each(struct beam_node *n, const struct stack_code *c,
			 const struct process_facts *processes, size_t nr,
			 void (*visit)(void *arg, size_t i, int rc, const struct process_stack *s),
			 void *arg);

/* Location of a frame as in process_info(P, current_stacktrace). */
struct stack_location {
	struct jit_function function; /* name, file, line */
	bool known;		      /* false: the node would leave out this frame */
};
void stack_frame_locate(const struct stack_code *c, const struct stack_frame *f,
			struct stack_location *out);
/* Appends the function's name: "lists:map/2", "Enum.map/2". */
void stack_location_format(const struct stack_location *l, struct strbuf *out);

/*
 * process_info(P, current_function), from `current` if it is set, else from `i`: appended to mfa.
 * *out: current_location, that of `i`, which may be in another function; if it is not known, the
 * function without file and line.  False: undefined.
 */
bool process_current_function(struct beam_node *n, const struct stack_code *c,
			      const struct process_facts *p, struct strbuf *mfa,
			      struct stack_location *out);

#endif
