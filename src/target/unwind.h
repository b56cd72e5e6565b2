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
};

/* The copy: words[0] stood at `base`. */
struct unwind_stack {
	raddr base;
	const uint64_t *words;
	size_t nr;
};

struct unwinder;

/* Borrows objects. */
void unwinder_open(struct unwinder **out, struct objects *objects);
void unwinder_close(struct unwinder *u);

/*
 * From a frame to its caller: *r is changed to the caller's registers (ip = return address, sp =
 * canonical frame address).  `innermost`: ip is the interrupted instruction, not a return address.
 * 0; -ENOENT: no frame information covers ip; -ENOTSUP: its rules are of a kind that is not
 * followed; -EFAULT: a saved register lies outside the copy.  *r is unchanged on failure.
 */
int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack,
		  bool innermost);

#endif
