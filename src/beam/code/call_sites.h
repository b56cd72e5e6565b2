/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Return sites of calls of Erlang functions, derived from the loaded code before the calls are made
 * (jit/x86/instr_call.cpp, beam_asm.hpp, OTP 24 to 29):
 *
 *   local     call rel32                      to the function's entry, in its own module
 *   external  movabs $Export, %rax            in every module
 *             call *(%rax,%r12,8)             r12: the code index in use; OTP 24: rbp
 *
 * without native stack, in all modules, with `next` as the return address:
 *
 *   local     lea next(%rip), %rax            mov %rax, (%rbp)             jmp, short or not
 *   external  movabs $Export, %rax            lea next(%rip), %rdi         mov %rdi, (%rbp)
 *             jmp *(%rax,%r12,8)              OTP 24: r12 for rbp, rbp for r12
 *
 * A return address is a multiple of 4.  Not found: return sites of apply and of calls of funs,
 * which can call any function; and those of the callers of a function that calls the target in tail
 * position.
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
 * CALL_TARGET_NIF.  Stops as soon as there are more than `max`.  Reads the code of all modules; for
 * functions that are not exported only the code of their module.
 *   ERROR_KIND_UNSUPPORTED  the tables were not found
 */
int call_sites_find(struct call_sites *out, struct beam_node *n,
		    const struct call_target *const *targets, size_t nr, size_t max,
		    struct error *err);
void call_sites_free(struct call_sites *s);

/* Adds the return sites of calls of `entry` and of the Export at `export_at` (0 = none) in the code
 * bytes of address `addr`. */
void call_sites_scan(struct call_sites *out, int otp, bool c_stack, const uint8_t *code,
		     size_t size, raddr addr, raddr entry, raddr export_at, size_t max);

#endif
