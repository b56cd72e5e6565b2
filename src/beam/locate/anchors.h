/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the VM's tables in a process: by symbol where the executable exports it (OTP 25 to 28, or
 * any build that is not stripped), else by shape.
 *
 * A shape search examines one copy of the executable's writable data for bytes that only the table
 * can have, and follows pointers into the process to verify.  If several addresses match, the
 * anchor stays 0.  The searches use only struct anchor_space, so that tests can run them on
 * artificial memory.
 */
#ifndef EBEAM_BEAM_ANCHORS_H
#define EBEAM_BEAM_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "beam/node/node.h"
#include "beam/term/atoms.h"

/* All addresses are those of the process. */
struct anchor_space {
	struct mem *mem;
	const struct proc_maps *maps;
	const struct beam_layout *layout;
	uint8_t *data; /* copy of .data to .bss */
	size_t data_size;
	raddr data_addr;
	uint8_t *rodata; /* copy of .rodata */
	size_t rodata_size;
	raddr rodata_addr;
	raddr text, text_end;
	raddr low_write, low_write_end; /* section ERTS_LOW_WRITE, within data; both 0 = none */
	bool interpreted;		/* emu flavour: Erlang code is data */
};

/* An array of scheduler data. */
struct anchor_schedulers {
	raddr array;
	uint32_t nr;
};

enum sched_type { /* ErtsSchedType, erts/emulator/beam/erl_process.h, OTP 25 to 29 */
		  SCHED_TYPE_NORMAL,
		  SCHED_TYPE_DIRTY_CPU,
		  SCHED_TYPE_DIRTY_IO,
};

#define BEAM_MAX_SCHEDULERS 1024 /* limit of +S, +SDcpu and +SDio */

/* Fills n->anchors and opens n->atoms (to find this_node).  Uses n->mem, objects, elf, bias and
 * layout.  Anchors that are not found stay 0; the checks fail if ebeam needs one of them. */
void anchors_find(struct beam_node *n);
/* Only by symbol, only by shape: for tests and doctor.  Both expect zeroed anchors. */
void anchors_find_by_symbol(struct beam_node *n);
void anchors_find_by_shape(struct beam_node *n);

/* The table (erts/emulator/beam/erl_ptab.h) whose elements have ids with this tag. */
raddr shape_find_ptab(const struct anchor_space *s, unsigned int id_tag);
raddr shape_find_atom_table(const struct anchor_space *s);
/* Address of the first of three adjacent IndexTables with this name. */
raddr shape_find_code_tables(const struct anchor_space *s, const char *name);
/* The ErlNode of this node; *variable: address of the only variable that points to it, else 0. */
raddr shape_find_this_node(const struct anchor_space *s, struct beam_atoms *atoms, raddr *variable);
/* The Hash of all DistEntry, recognised by the DistEntry of this node; anchors_dist.c. */
raddr shape_find_dist_table(const struct anchor_space *s, raddr this_node);
raddr shape_find_bif_table(const struct anchor_space *s, uint32_t *nr);
struct anchor_schedulers shape_find_schedulers(const struct anchor_space *s, enum sched_type type);
/* Number of leading elements of the array that are schedulers 1, 2, ... of this type. */
uint32_t shape_count_schedulers(const struct anchor_space *s, raddr array, enum sched_type type);

/* The JIT's list of code for GDB (erts/emulator/beam/jit/beam_jit_metadata.cpp, OTP 25 to 29):
 * struct jit_descriptor {u32 version, action; entry *relevant, *first}. */
#define JIT_DESCRIPTOR_SIZE   24
#define JIT_DESCRIPTOR_ACTION 4
#define JIT_DESCRIPTOR_FIRST  16
#define JIT_ACTION_MAX	      2 /* none, register, unregister */
/* Limit of modules and fragments that the VM registers; a longer list has a cycle. */
#define JIT_ENTRIES_MAX 200000
struct jit_entry { /* struct jit_code_entry of GDB's interface */
	raddr next, prev, symfile;
	uint64_t size;
};
/* Start of a record: u32 kind; for a module then u64 base, u32 code size, u16 name length, name. */
#define JIT_RECORD_HEAD_SIZE 32
#define JIT_RECORD_BASE	     8
#define JIT_RECORD_CODE_SIZE 20
#define JIT_RECORD_NAME_LEN  24
#define JIT_RECORD_NAME	     26
#define JIT_RECORD_EMULATOR  0
#define JIT_RECORD_MODULE    1
/* Reads an entry; false if it is malformed or its record is not in readable memory. */
bool space_read_jit_entry(const struct anchor_space *s, raddr addr, struct jit_entry *e);

/* True if these are the bytes of a descriptor whose first entry has a valid record. */
bool shape_is_jit_descriptor(const struct anchor_space *s, const uint8_t *bytes);
raddr shape_find_jit_descriptor(const struct anchor_space *s);
/* The function that is called after each store of 1 or 2 to the descriptor's action. */
raddr shape_find_jit_register(const uint8_t *text, size_t size, raddr text_addr, raddr descriptor);
/* Address of the copy of erts_frame_layout in the emulator's record of the descriptor's list. */
raddr shape_find_frame_layout(const struct anchor_space *s, raddr descriptor);

/* erts_allctrs_info[]: each entry points to the first instance of the allocator of its number. */
raddr shape_find_allocators(const struct anchor_space *s);
/* erts_ets_misc_mem_size: bytes of ETS outside of its allocator, mostly the table of names. */
raddr shape_find_ets_misc(const struct anchor_space *s);
/* A Hash (not an IndexTable) with this name. */
raddr shape_find_hash(const struct anchor_space *s, const char *name);
/* r[] of beam_ranges.c: three lists of the code ranges of modules. */
raddr shape_find_code_ranges(const struct anchor_space *s);
/* the_active_code_index, from the JIT's code that schedules a process in. */
raddr shape_find_active_code_ix(const struct anchor_space *s, raddr descriptor);

/* The latest correction of the node's clock: node.h, struct beam_anchors. */
raddr shape_find_clock(const struct anchor_space *s);

/* ---- helpers of the searches ----------------------------------------------------------------- */
/* Calls `is` for each multiple of 8 as offset in the data, with `size` bytes behind it, and returns
 * the address of the only one that it accepts; 0 = none or several.  With a name, it is only called
 * for the offset of a Hash of that name. */
raddr space_find_only(const struct anchor_space *s, const char *name, size_t size,
		      bool (*is)(const struct anchor_space *s, size_t at, uint64_t arg),
		      uint64_t arg);
bool space_is_readable(const struct anchor_space *s, raddr addr, size_t size);
bool space_is_pointer(const struct anchor_space *s, raddr addr, size_t size); /* aligned, and
									       * mapped readable */
bool space_is_executable(const struct anchor_space *s, raddr addr);
/* Executable; for the interpreter only readable, as its code is data. */
bool space_is_erlang_code(const struct anchor_space *s, raddr addr);

/* Reads from the copy of the data. */
static inline uint32_t space_u32(const struct anchor_space *s, size_t offset)
{
	return bytes_u32(s->data, (int64_t)offset);
}

static inline uint64_t space_u64(const struct anchor_space *s, size_t offset)
{
	return bytes_u64(s->data, (int64_t)offset);
}

#endif
