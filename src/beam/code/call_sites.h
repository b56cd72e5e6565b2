/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Return sites of calls of Erlang functions, derived from the loaded code before the calls are made
 * (jit/x86/instr_call.cpp, beam_asm.hpp, OTP 24 to 29):
 *
 *   local     call rel32                      to the function's entry, in its own module
 *   external  movabs $Export, %rax            in every module
 *             call *(%rax,%r12,8)             r12: the code index in use; OTP 24: rbp
 *
 * In builds whose Erlang stack is not in rsp, where `next` is the return address, in all modules:
 *
 *   local     lea next(%rip), %rax            mov %rax, (%rbp)             jmp, short or not
 *   external  movabs $Export, %rax            lea next(%rip), %rdi         mov %rdi, (%rbp)
 *             jmp *(%rax,%r12,8)              OTP 24: rbp and r12 are swapped
 *
 * A return address is a multiple of 4.  Not found: return sites of apply and of calls of funs,
 * which can call any function.  A tail call has no return site: the target then returns to the
 * caller of the function that tail-called it, and that return site is not found either.
 */
#ifndef EBEAM_BEAM_CALL_SITES_H
#define EBEAM_BEAM_CALL_SITES_H

#include "base/vec.h"
#include "beam/code/call_targets.h"

#define CALL_SITES_FUNCTIONS 8

struct call_sites {
	VEC(raddr) v;	 /* return addresses without duplicates */
	bool incomplete; /* some code could not be read, or was loaded meanwhile */
};

/*
 * Finds the return sites of at most CALL_SITES_FUNCTIONS functions of kind CALL_TARGET_ERLANG or
 * CALL_TARGET_NIF.  Stops as soon as it has more than `max` sites.  Reads the code of all modules;
 * for functions that are not exported only the code of their module.
 *   ERROR_KIND_UNSUPPORTED  the module tables, or the active code index, were not found
 */
int call_sites_find(struct call_sites *out, struct beam_node *n,
		    const struct call_target *const *targets, size_t nr, size_t max,
		    struct error *err);
void call_sites_free(struct call_sites *s);

/* Adds the return sites of calls of `entry` and of the Export at `export_at` (0 = none) in `code`,
 * a copy of the bytes at address `addr`.  c_stack: the Erlang stack is not in rsp. */
void call_sites_scan(struct call_sites *out, int otp, bool c_stack, const uint8_t *code,
		     size_t size, raddr addr, raddr entry, raddr export_at, size_t max);

#endif
