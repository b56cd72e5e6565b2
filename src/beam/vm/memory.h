/* SPDX-License-Identifier: BSD-2-Clause */
/* erlang:memory/0, and erlang:system_info(allocated_areas), from which it is computed. */
#ifndef EBEAM_BEAM_MEMORY_H
#define EBEAM_BEAM_MEMORY_H

#include "beam/node/node.h"
#include "beam/vm/allocators.h"

/* Size that could not be found or read. */
#define MEMORY_UNKNOWN UINT64_MAX

/* Bytes of tables that the VM counts separately; names as in allocated_areas. */
struct memory_areas {
	uint64_t atom_space, atom_space_used; /* texts of atoms */
	uint64_t atom_table;
	uint64_t module_table, export_table, export_list, fun_table;
	uint64_t fun_list; /* 0 up to OTP 27, which does not count it */
	uint64_t module_refs, loaded_code;
	uint64_t ets_misc, process_table;
};

struct memory {
	/* Bytes, as in erlang:memory/0; MEMORY_UNKNOWN if a part of the sum is. */
	uint64_t total, processes, processes_used, system, atom, atom_used, binary, code, ets;
	/* What of `system` is neither atom, binary, code nor ets: memory of drivers and NIFs,
	 * ports, signals, literals, tables of the VM. */
	uint64_t other;
	struct memory_areas areas;
};

/* Reads the areas and computes the sums; values that are not found are MEMORY_UNKNOWN: no error. */
int memory_read(struct memory *out, struct beam_node *n, const struct allocators *allocators,
		struct error *err);

/* Parts of memory_read(). */
void memory_read_atoms(struct memory_areas *out, struct beam_node *n);
void memory_read_code(struct memory_areas *out, struct beam_node *n);

#endif
