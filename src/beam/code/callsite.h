/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the BIF, NIF or helper that JIT code called, by the return address of the C function.  The
 * shared fragment that made the call decides where the callee is found:
 *
 *   call_light_bif_shared   the Export is kept in TMP_MEM2 (OTP 24: the caller loaded it into rcx)
 *   call_bif_shared, NIFs   Process.current is the function
 *   i_bif_*_shared          the caller loaded the C function into rcx right before its call
 *   any other code          `call [rip + disp]`: the C function's address is in a constant pool
 *
 * (jit/x86/instr_bif.cpp, instr_guard_bifs.cpp, beam_asm.hpp of OTP 24 to 29.)
 */
#ifndef EBEAM_BEAM_CALLSITE_H
#define EBEAM_BEAM_CALLSITE_H

#include "beam/code/jit.h"
#include "beam/node/node.h"

struct callsites;

/* Address of a word that identifies a light BIF: its Export; in OTP 24, where the Export is in a
 * register, the caller's return address on top of the Erlang stack. */
static inline raddr callsite_light_bif_at(int otp, const struct beam_layout *l, raddr registers,
					  raddr stop)
{
	return otp == 24 ? stop : registers + (raddr)l->registers_tmp_mem + 8;
}

/*
 * Address on the C stack of the return address of a call from JIT code; 0 = it cannot be read.
 * registers: address of the scheduler's registers, which the C stack continues below; 0 = unknown.
 * *pushed: start of the words below `registers` that shared fragments pushed; 0 if those are on the
 * Erlang stack, as in all builds with native stack (bpf/sample.bpf.h).
 */
raddr callsite_return_at(struct mem *mem, bool c_stack, raddr registers, raddr *pushed);

/*
 * The Erlang stack pointer during a call of C code with return address `ra`, stored at return_at;
 * for builds with native stack.  `stop` is Process.stop, which calls of most helpers and guard BIFs
 * do not update: it may be from an earlier call.  If a shared fragment made the call, the stack
 * pointer points to the return address of the call of that fragment: it is `stop` or one of the
 * registers saved on the C stack that point into the process's heap [heap, hend), whichever fits;
 * 0 = none does.  If other code made the call, it is `stop`.
 */
raddr callsite_stack_top(struct mem *mem, const struct address_range *fragments, raddr ra,
			 raddr return_at, raddr stop, raddr heap, raddr hend);

struct callsite_callee {
	/* The BIF or NIF that Erlang code called; mfa[0] == 0: none, it is a helper of the VM. */
	uint64_t mfa[3]; /* atom terms, arity */
	bool nif;
	raddr function; /* the C function that was called, 0 = unknown */
	/* Name of the shared fragment that made the call, without "global::"; NULL = none. */
	const char *fragment;
	uint32_t fragment_len;
};

struct callsites *callsites_open(struct beam_node *n, const struct jit_code *jit);
void callsites_close(struct callsites *c);

/*
 * `ra` is the return address, `caller_ra` the first return address above a fragment (0 = none),
 * `light_bif` and `current` as in struct rec_raw_sample.  Always fills *out; unknown fields are 0.
 */
void callsite_target(struct callsites *c, raddr ra, raddr caller_ra, uint64_t light_bif,
		     const uint64_t current[3], struct callsite_callee *out);

/* The MFA of the BIF with this C function; false if there is none, or several. */
bool callsite_bif_of(struct callsites *c, raddr function, uint64_t mfa[3]);
/* True if this MFA is in the BIF table. */
bool callsite_is_bif(struct callsites *c, const uint64_t mfa[3]);
/* Empties the cache of call sites, after code was replaced. */
void callsites_forget(struct callsites *c);

#endif
