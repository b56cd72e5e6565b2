/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinding of native frames by call frame information (.eh_frame, which stripped files have too),
 * else by the frame pointer of a function that sets one up, over a copy of the stack.  x86-64.
 * Restores the registers that CFA rules of compiled code use: rip, rsp, rbp, rbx; and r12, where
 * the JIT of OTP 24 keeps the Erlang stack.
 */
#ifndef EBEAM_TARGET_UNWIND_H
#define EBEAM_TARGET_UNWIND_H

#include "target/objects.h"

struct unwind_regs {
	raddr ip, sp, bp, bx, r12;
	/* ip is the next instruction to run, as in the innermost frame and in one that a signal
	 * interrupted; false: ip is a return address. */
	bool exact;
	bool no_bx, no_r12; /* these are not known: a frame was stepped over by its frame pointer */
};

/* A copy of stack memory: two parts, the second at a higher address, with nr = 0 if unused. */
struct unwind_stack {
	struct stack_part {
		raddr base;
		const uint64_t *words;
		size_t nr;
	} leaf, root;
};

struct unwinder;

/* Borrows objects. */
void unwinder_open(struct unwinder **out, struct objects *objects);
void unwinder_close(struct unwinder *u);

/*
 * Steps from a frame to its caller: *r becomes the caller's registers (ip = return address, sp =
 * CFA). 0; 1: there is no caller, the thread began here (the rule of the return address is
 * "undefined"); -ENOENT: no frame information covers ip, and the function is not known to keep a
 * frame pointer; -ENOTSUP: the rules use operations that are not supported, or registers that are
 * not known; -EFAULT: a saved register is outside of the copy.  *r is unchanged unless 0 is
 * returned.
 */
int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack);

/* True if the function that holds return address `ra` has no caller. */
bool unwinder_is_outermost(struct unwinder *u, raddr ra);

#endif
