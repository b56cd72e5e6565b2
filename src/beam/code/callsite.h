/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What JIT code called: from the return address of a C function to the BIF, NIF or helper.
 *
 *   call_light_bif_shared   the Export is kept in TMP_MEM2 (OTP 24: the caller loaded it into rcx)
 *   call_bif_shared, NIFs   Process.current is the function
 *   i_bif_*_shared          the caller loaded the C function into rcx right before its call
 *   anything else           `call [rip + disp]`: the C function stands in a constant pool
 *
 * (jit/x86/instr_bif.cpp, instr_guard_bifs.cpp, beam_asm.hpp of OTP 24 to 29; the results were
 * compared with the running node's.)
 */
#ifndef EBEAM_BEAM_CALLSITE_H
#define EBEAM_BEAM_CALLSITE_H

#include "beam/code/jit.h"
#include "beam/node/node.h"

struct callsites;

/* Where a word stands that tells one light BIF from another: the Export; in OTP 24, which keeps
 * that in a register, the return address of the caller, on top of the Erlang stack. */
static inline raddr callsite_light_bif_at(int otp, const struct beam_layout *l, raddr registers,
					  raddr stop)
{
	return otp == 24 ? stop : registers + (raddr)l->registers_tmp_mem + 8;
}

/*
 * Where the return address of a call from JIT code stands, on the C stack; 0 = it cannot be read.
 * *pushed: from there on up to `registers` stand those that shared fragments have pushed, 0 if they
 * are on the Erlang stack, as in all builds with native stack (bpf/sample.bpf.h).
 */
raddr callsite_return_at(struct mem *mem, bool c_stack, raddr registers, raddr *pushed);

/*
 * The Erlang stack pointer while C code runs that was called with the return address `ra`, which
 * stands at return_at; with native stack.  `stop` is Process.stop: most helpers and guard BIFs
 * leave there what was when the process was last in another BIF.  Where a shared fragment has
 * called them the pointer is known by what stands there: the return address of a call of that
 * fragment.  The C stack has it somewhere, as a register that was saved, unless `stop` is right.
 * 0 = it is not known.  Of a call from anywhere else: `stop`.
 */
raddr callsite_stack_top(struct mem *mem, const struct address_range *fragments, raddr ra,
			 raddr return_at, raddr stop, raddr heap, raddr hend);

struct callsite_callee {
	/* The BIF or NIF that Erlang called; mfa[0] == 0: none, a helper of the VM. */
	uint64_t mfa[3]; /* atom terms, arity */
	bool nif;
	raddr function; /* the C function that was entered, 0 = unknown */
	/* Name of the shared fragment that made the call, without "global::"; NULL = none. */
	const char *fragment;
	uint32_t fragment_len;
};

struct callsites *callsites_open(struct beam_node *n, const struct jit_code *jit);
void callsites_close(struct callsites *c);

/*
 * `ra` is the return address, `caller_ra` the first return address above a fragment (0 = none),
 * `light_bif` and `current` as in struct rec_raw_sample.  Always fills *out, as far as it is known.
 */
void callsite_target(struct callsites *c, raddr ra, raddr caller_ra, uint64_t light_bif,
		     const uint64_t current[3], struct callsite_callee *out);

/* The MFA whose C function this is, from the BIF table; false if it is no BIF. */
bool callsite_bif_of(struct callsites *c, raddr function, uint64_t mfa[3]);
/* True if this MFA is in the BIF table. */
bool callsite_is_bif(struct callsites *c, const uint64_t mfa[3]);
/* Code was replaced: what was learned of call sites is void. */
void callsites_forget(struct callsites *c);

#endif
