/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions whose calls can be traced, from a node's memory: all functions of a module's current
 * code (BeamCodeHeader.functions, exported or not) and the BIFs of the BIF table.
 *
 * Addresses that calls pass:
 *   Erlang code  `entry`, the first byte behind the function's ErtsCodeInfo.  Calls of every kind
 *                come there once: local ones, those through the export, apply, funs (by way of
 *                their trampoline), a new process, tail calls, a trap of a BIF.  A process that
 *                yields there resumes behind the prologue (i_test_yield, BEAM_CALL_PROLOGUE bytes
 *                further).  The prologue of a function that is traced in the node calls the tracer:
 *                at `entry` the stack is still the caller's, behind the prologue it may hold the
 *                frames of return_trace.
 *                In registers: r13 Process *, rbx X registers, rsp the stack: [rsp] is the return
 *                address (jit/x86/beam_asm.hpp, OTP 25 to 29).
 *   BIF, NIF     `c_function`.  Calls of BIFs from compiled code do not pass Erlang code at all
 *                (call_light_bif), those by apply and funs do, through a stub at `entry`.
 *                BIF: rdi Process *, rsi arguments, rdx code pointer (a guard BIF gets its
 *                arguments elsewhere than in X registers); by way of the stub rbx and r13 are
 *                C's.  Called again when it traps to itself.
 *                NIF: rdi ErlNifEnv * with the Process * at BEAM_NIF_ENV_PROC, esi number of
 *                arguments, rdx arguments.  Its calls pass `entry` too, each once, dirty or not,
 *                with the registers of a call of Erlang code.
 *   dirty        As BIF and NIF, on a thread of a dirty scheduler.  A NIF's env then holds a shadow
 *                of the process, with its id and heap; X registers are the dirty scheduler's.
 *
 * A module that was loaded again has another `code`, `serial` and, mostly, `entry`; processes that
 * run its old code still call the old functions at the old addresses.
 *
 * Functions in memory are compared with the JIT's record if the caller has one; those that differ
 * are left out and counted.
 */
#ifndef EBEAM_BEAM_CALL_TARGETS_H
#define EBEAM_BEAM_CALL_TARGETS_H

#include "base/vec.h"
#include "beam/node/node.h"

struct jit_code;

#define CALL_ARITY_ANY	 (-1)
#define CALL_ARITY_MAX	 255
#define CALL_TARGETS_MAX (1u << 20)

/* sizeof(ErtsCodeInfo), and BEAM_ASM_FUNC_PROLOGUE_SIZE on x86-64: beam_code.h and jit/beam_asm.h,
 * OTP 25 to 29. */
#define BEAM_CODE_INFO_SIZE 40
#define BEAM_CALL_PROLOGUE  8

enum call_target_kind {
	CALL_TARGET_ERLANG,
	CALL_TARGET_BIF,
	/*
	 * A BIF whose calls in compiled code the loader replaces by an instruction.  Calls by
	 * apply, funs and spawn reach its C function (or `entry` if `c_function` is 0), other calls
	 * may not.  Of guard BIFs, on OTP 25 to 29, no call of +, -, *, div, band, =:=, element/2,
	 * hd/1, length/1 and the like does; on 27 and 29 none of <, >=, max/2, map_get/2,
	 * map_size/1 and node/1 either; of is_atom/1, tuple_size/1, ==, tl/1 and the like calls
	 * outside of guards do if the compiler does not know the operands' types.
	 */
	CALL_TARGET_INLINED_BIF,
	CALL_TARGET_NIF,
};

struct call_target {
	uint64_t module, function; /* atoms */
	uint8_t arity;
	uint8_t kind; /* enum call_target_kind */
	bool exported;
	bool dirty;	  /* the C function runs on dirty schedulers */
	raddr entry;	  /* of its Erlang code; 0: a BIF whose module is not loaded */
	raddr c_function; /* of a BIF or NIF; 0 = none */
	raddr code;	  /* BeamCodeHeader of the module; 0 = not loaded */
	uint32_t serial;  /* of the module instance (jit.h); 0 = no JIT record was given */
};

struct call_targets {
	VEC(struct call_target) v; /* by module's, then function's text, then arity */
	uint64_t unreadable; /* functions that could not be read, or differ from the JIT's record */
	uint64_t beyond;     /* number of functions beyond CALL_TARGETS_MAX */
	bool moved;	     /* code was loaded during every attempt to read it: try again */
};

/* NULL and CALL_ARITY_ANY match all.  `module` may be given without "Elixir.". */
struct call_query {
	const char *module, *function;
	int arity;
};

/*
 * `jit` must be up to date; may be NULL.  Returns 0 without targets if the only functions that may
 * match could not be read or verified; `unreadable` is their number.
 *   ERROR_KIND_FAILED       -ENOENT: no such module is loaded, no such function, no such arity; the
 *                           text suggests similar names
 *   ERROR_KIND_UNSUPPORTED  a table of the VM was not found, or the node interprets its code
 */
int call_targets_find(struct call_targets *out, struct beam_node *n, const struct jit_code *jit,
		      const struct call_query *query, struct error *err);
void call_targets_free(struct call_targets *t);

/* Appends "lists:map/2", with atoms quoted as in Erlang. */
struct strbuf;
void call_target_name(struct strbuf *out, struct beam_node *n, const struct call_target *t);

/* Position of a C function: its file (borrowed from the node's objects), and its virtual address
 * and file offset there. */
struct call_code {
	struct elf_file *elf;
	uint64_t addr, offset;
	const char *symbol;	    /* NULL = none */
	const struct proc_map *map; /* mapping that holds it; borrowed, too */
};
/* False: no file is mapped at the function. */
bool call_target_code(struct call_code *out, struct beam_node *n, const struct call_target *t);

#endif
