/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang stack of a process, as process_info(P, current_stacktrace) walks it
 * (beam_common.c, gather_stacktrace(), OTP 25 to 29), from memory.
 *
 * A process that runs keeps its stack in registers: its frames are those of its last stop, and
 * marked stale.  A word whose low two bits are 00 is a return address (with frame pointers: the
 * link to the caller's frame, and the return address behind it); everything between two of them is
 * a Y register or a catch of the upper frame.  Frames that tracing leaves on a stack, and the
 * bottom that every stack has, are left out, as the node leaves them out.
 */
#ifndef EBEAM_BEAM_STACK_H
#define EBEAM_BEAM_STACK_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/code/jit.h"
#include "beam/process/process.h"

/* Words of which more than this are not read; the bottom of the stack is lost then. */
#define STACK_MAX_WORDS (8u << 20)

#define STACK_TRACE_KINDS 5

struct stack_code { /* code of a node, opened once for many stacks */
	struct jit_code *jit;
	raddr normal_exit;
	bool frame_pointers;
	bool c_stack; /* JIT code runs on the C stack: a frame has the word of its return address */
	/* Return addresses that tracing puts on a stack, and the words that follow them. */
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
	raddr addr;    /* return address; of the top frame: where it goes on */
	uint32_t y;    /* index in words of the first Y register of the frame; 0 = the top frame */
	uint32_t nr_y; /* its Y registers, catches among them */
	bool repeated; /* returns where the frame above returns: recursion; the node shows one */
};

struct process_stack {
	VEC(struct stack_frame) frames; /* top first */
	VEC(uint64_t) words;		/* of the stack, top first */
	raddr stop;			/* address of words[0] */
	raddr i, current;		/* of the process, as they stood with the stack */
	uint32_t state;
	bool stale; /* the process was running */
	bool cut;   /* beyond a limit */
};

/* It runs, or is collected; not on a dirty scheduler: a process has left its stack in order there,
 * and the node itself looks at it. */
bool process_stack_is_stale(uint32_t state);

/* Reads the stack and splits it; reuses the memory of *out.  -ESRCH gone, -EAGAIN it would not
 * stand still. */
int process_stack_read(struct beam_node *n, const struct stack_code *c,
		       const struct process_facts *p, struct process_stack *out);
void process_stack_free(struct process_stack *s);

/* The same for processes[0 .. nr-1], read in few large reads; `visit` gets each in order, with
 * what process_stack_read() would return, and a stack that is good until it returns. */
void process_stacks_each(struct beam_node *n, const struct stack_code *c,
			 const struct process_facts *processes, size_t nr,
			 void (*visit)(void *arg, size_t i, int rc, const struct process_stack *s),
			 void *arg);

/* What process_info(P, current_stacktrace) says of a frame. */
struct stack_location {
	struct jit_function function; /* name, file, line */
	bool known;		      /* else the node's answer has no such frame */
};
void stack_frame_locate(const struct stack_code *c, const struct stack_frame *f,
			struct stack_location *out);
/* The function as ebeam writes functions: "lists:map/2", "Enum.map/2". */
void stack_location_format(const struct stack_location *l, struct strbuf *out);

/*
 * process_info(P, current_function), from `current` if it is set, else from `i`, as text added to
 * mfa; and current_location in *out: where `i` stands, which need not be in the same function; not
 * known = the function without file and line.  False: undefined.
 */
bool process_current_function(struct beam_node *n, const struct stack_code *c,
			      const struct process_facts *p, struct strbuf *mfa,
			      struct stack_location *out);

#endif
