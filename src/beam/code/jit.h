/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Erlang code by address: the list of modules of the GDB JIT interface, each with its functions,
 * names and lines (jit/beam_jit_metadata.cpp, OTP 25 to 29; OTP 24: jit_otp24.h; the interpreter's
 * code: interpreted.h).  The caller passes loads and unloads of modules in the order of the event
 * stream (jit_loaded(), jit_unloaded()), so that an address gets the name of the code that was
 * there when it was sampled.
 *
 * Owns copies of the records.  Every record is from foreign memory and is checked to its last byte
 * before use; malformed ones are rejected and counted.
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
	const char *module; /* module name in the record: "lists" */
	uint32_t module_len;
	raddr start, end;
	bool preamble;	  /* "...-CodeInfoPrologue": no return address is ever in this range */
	bool fragment;	  /* "module::name": code of the JIT, not of an Erlang function */
	uint32_t serial;  /* of the module instance: changes if other code is at the address */
	const char *file; /* file and line of the address; NULL = unknown */
	uint32_t file_len;
	uint32_t line; /* 0 = unknown */
};

/* Borrows mem. `descriptor` is the address of __jit_debug_descriptor. */
void jit_open(struct jit_code **out, struct mem *mem, raddr descriptor);
/* As jit_open(), with the node as source of what JIT records lack: lines and normal_exit of OTP 24,
 * and all code of the interpreter.  Borrows n. */
void jit_open_node(struct jit_code **out, const struct beam_node *n);
/* True if the list of JIT code was found, or, for the interpreter, the tables of modules. */
bool jit_is_known(const struct beam_node *n);
/* For tests: limits the number of lines that are kept from code headers (OTP 24, interpreter).
 * Modules beyond the limit get no lines, and a warning is logged. */
void jit_limit_lines(struct jit_code *j, size_t most);
void jit_close(struct jit_code *j);

/* Reads the whole list and adds its modules, oldest first; each replaces modules that it overlaps.
 * Fails if no module is known then; a list whose end was not reached counts as one unreadable
 * record. */
int jit_sync(struct jit_code *j, struct error *err);

/*
 * Adds a module that was loaded: `bytes` is its record if it was copied at that time (copied ==
 * size), else it is read now from `record`.  Removes the modules that it overlaps, and the one that
 * the same jit_code_entry had.  False if the record cannot be read or is malformed (its addresses
 * stay unresolved).
 */
bool jit_loaded(struct jit_code *j, raddr entry, raddr record, uint64_t size, const void *bytes,
		uint32_t copied);
void jit_unloaded(struct jit_code *j, raddr entry);

/* The function at addr, with its line. False if no known code is there. */
bool jit_find(const struct jit_code *j, raddr addr, struct jit_function *out);
/* Serial of the module instance at addr; 0 if no known code is there.  A cached result for addr is
 * valid as long as the serial is the same. */
uint32_t jit_serial(const struct jit_code *j, raddr addr);
/* Bounds of a shared fragment by its name ("garbage_collect"). */
bool jit_fragment(const struct jit_code *j, const char *name, struct address_range *out);

/* Bounds of the block of all shared fragments; 0,0 if unknown. */
struct address_range jit_fragments(const struct jit_code *j);
/* From the emulator's record: the return address at the bottom of every stack (0 = unknown). */
raddr jit_normal_exit(const struct jit_code *j);
/* From the emulator's record: stack frames have frame pointers (ERTS_FRAME_LAYOUT_FP_RA). */
bool jit_frame_pointers(const struct jit_code *j);
/* Bounds of the i-th module's code; false past the end. */
bool jit_module_at(const struct jit_code *j, size_t i, struct address_range *out);
/* Bounds of the code of the module with the jit_code_entry at `entry`; false if there is none. */
bool jit_module_of(const struct jit_code *j, raddr entry, struct address_range *out);

size_t jit_modules(const struct jit_code *j);
/* Number of records that the last jit_sync(), and jit_loaded() since, could not use. */
uint64_t jit_unreadable(const struct jit_code *j);

#endif
