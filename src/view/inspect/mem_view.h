/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam mem` says: memory by type, and the allocators. */
#ifndef EBEAM_VIEW_MEM_VIEW_H
#define EBEAM_VIEW_MEM_VIEW_H

#include "view/table/table.h"

/* Bytes, UINT64_MAX = not known: as erlang:memory/0 names them, in order and with how text indents
 * each; and parts of it, as erlang:system_info(allocated_areas) does. */
#define MEM_SIZES(_)                                                                               \
	_(total, "total")                                                                          \
	_(processes, "  processes")                                                                \
	_(processes_used, "    used")                                                              \
	_(system, "  system")                                                                      \
	_(code, "    code")                                                                        \
	_(ets, "    ets")                                                                          \
	_(binary, "    binary")                                                                    \
	_(atom, "    atom")                                                                        \
	_(atom_used, "      used")
#define MEM_AREAS(_)                                                                               \
	_(atom_space)                                                                              \
	_(atom_space_used)                                                                         \
	_(atom_table)                                                                              \
	_(module_table)                                                                            \
	_(export_table)                                                                            \
	_(export_list)                                                                             \
	_(fun_table)                                                                               \
	_(fun_list)                                                                                \
	_(module_refs)                                                                             \
	_(loaded_code)                                                                             \
	_(ets_misc)                                                                                \
	_(process_table)

struct mem_carriers {
	uint64_t blocks, blocks_size, carriers, carriers_size; /* sizes are bytes */
};

/* An instance of an allocator, or all those of a type. */
struct mem_row {
	const char *type;
	uint32_t instance;  /* if `instances` is 0 */
	uint32_t instances; /* that were added up */
	struct mem_carriers all, mbcs, sbcs, pool;
};

struct mem_answer {
#define MEM_MEMBER(name, ...) uint64_t name;
	MEM_SIZES(MEM_MEMBER)
	struct {
		MEM_AREAS(MEM_MEMBER)
	} areas;
	/* Rows of mem_table: for each type, and for each instance. */
	struct table types, instances;
};

extern const struct table mem_table; /* without rows */

/* Adds an instance to its type. */
void mem_row_add(struct mem_row *to, const struct mem_row *r);

/* Types are all shown, so many instances as *o says. */
int mem_view_write(FILE *f, const struct mem_answer *a, const struct table_options *o,
		   struct error *err);
/* The value of "data". */
void mem_view_json(struct jsonw *w, const struct mem_answer *a, const struct table_options *o);

#endif
