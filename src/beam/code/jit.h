/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Erlang code by address: the GDB JIT interface's list of modules, each with its functions, names
 * and lines (jit/beam_jit_metadata.cpp, OTP 25 to 29; OTP 24: jit_otp24.h; the interpreter's code:
 * interpreted.h).  Holds the state of the
 * node's code at the time of the record stream: jit_loaded()/jit_unloaded() are applied in stream
 * order, so that an address is named by the code that was there when it was sampled.
 *
 * Owns copies of the records.  Every record comes from foreign memory and is checked to its last
 * byte before use; one that does not parse is refused and counted.
 */
#ifndef EBEAM_BEAM_JIT_H
#define EBEAM_BEAM_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/config.h"
#include "base/error.h"
#include "target/mem.h"

struct beam_node;
struct jit_code;

struct jit_function {
	const char *name; /* as the JIT prints it: "lists:map/2", "global::garbage_collect" */
	uint32_t name_len;
	const char *module; /* of the record: "lists" */
	uint32_t module_len;
	raddr start, end;
	bool preamble;	  /* "...-CodeInfoPrologue": no return address ever lies here */
	bool fragment;	  /* "module::name": made by the JIT, not Erlang */
	uint32_t serial;  /* of the module instance: changes when an address gets other code */
	const char *file; /* of the line that covers the address; NULL = unknown */
	uint32_t file_len;
	uint32_t line; /* 0 = unknown */
};

/* Borrows mem. `descriptor` is the address of __jit_debug_descriptor. */
void jit_open(struct jit_code **out, struct mem *mem, raddr descriptor);
/* The same of a node, whose memory also has what records of OTP 24 do not tell: lines, normal_exit;
 * and the code of one that runs the interpreter, which has no records.  Borrows it. */
void jit_open_node(struct jit_code **out, const struct beam_node *n);
/* Whether there is something to read: a list of JIT code, or code of the interpreter. */
bool jit_is_known(const struct beam_node *n);
/* How many lines from code headers (OTP 24, interpreter) are held, for tests: modules beyond have
 * none, and a warning is logged. */
void jit_limit_lines(struct jit_code *j, size_t most);
void jit_close(struct jit_code *j);

/* Read the whole list, oldest first, over what is known already.  Fails if nothing could be read;
 * a list whose end could not be reached counts as unreadable. */
int jit_sync(struct jit_code *j, struct error *err);

/*
 * One module was loaded: `bytes` is its record if it could be copied at that instant (copied ==
 * size), else it is read now from `record`.  Code that it overlaps is gone, and what was known of
 * its entry.  False if it could not be read or does not parse (its addresses stay unresolved).
 */
bool jit_loaded(struct jit_code *j, raddr entry, raddr record, uint64_t size, const void *bytes,
		uint32_t copied);
void jit_unloaded(struct jit_code *j, raddr entry);

/* The function at addr, with its line. False if no known code is there. */
bool jit_find(const struct jit_code *j, raddr addr, struct jit_function *out);
/* Serial of the module instance at addr, 0 if no known code is there: is an answer still good? */
uint32_t jit_serial(const struct jit_code *j, raddr addr);
/* The same for a shared fragment by name ("garbage_collect"): its bounds. */
bool jit_fragment(const struct jit_code *j, const char *name, struct address_range *out);

/* The block of shared fragments; 0,0 if unknown. */
struct address_range jit_fragments(const struct jit_code *j);
/* Of the emulator record: the return address at the bottom of every stack (0 = unknown). */
raddr jit_normal_exit(const struct jit_code *j);
/* Of the same: FP_RA frames. */
bool jit_frame_pointers(const struct jit_code *j);
/* Code of every module, for finding the mappings: i-th module, false past the end. */
bool jit_module_at(const struct jit_code *j, size_t i, struct address_range *out);
/* Code of the module with this entry; false if there is none. */
bool jit_module_of(const struct jit_code *j, raddr entry, struct address_range *out);

size_t jit_modules(const struct jit_code *j);
/* Records that the last jit_sync() could not take, and those loaded since. */
uint64_t jit_unreadable(const struct jit_code *j);

#endif
