/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinding of native frames by call frame information (.eh_frame, there in stripped files too),
 * over a copy of the stack.  x86-64; keeps the registers that frames of compiled code use to find
 * their callers: rip, rsp, rbp, rbx; and r12, where the JIT of OTP 24 keeps the Erlang stack.
 */
#ifndef EBEAM_TARGET_UNWIND_H
#define EBEAM_TARGET_UNWIND_H

#include "target/objects.h"

struct unwind_regs {
	raddr ip, sp, bp, bx, r12;
	/* ip is an instruction that was interrupted, as that of the innermost frame and of one that
	 * a signal interrupted; else a return address. */
	bool exact;
};

/* The copy: the words from an address on; and a second part, above, of which nr may be 0. */
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
 * From a frame to its caller: *r is changed to the caller's registers (ip = return address, sp =
 * canonical frame address).  0; 1: there is no caller, the thread began here (its return address is
 * undefined); -ENOENT: no frame information covers ip; -ENOTSUP: its rules are of a kind that is
 * not followed; -EFAULT: a saved register lies outside the copy.  *r is unchanged unless 0.
 */
int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack);

/* True if the function that holds this return address has no caller. */
bool unwinder_is_outermost(struct unwinder *u, raddr ra);

#endif
