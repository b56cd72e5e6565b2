/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam mem`: memory by type, and the allocators. */
#ifndef EBEAM_VIEW_MEM_VIEW_H
#define EBEAM_VIEW_MEM_VIEW_H

#include "view/table/table.h"

/* Bytes, UINT64_MAX = not known.  MEM_SIZES: members of erlang:memory/0, and their indented labels
 * in text.  MEM_AREAS: parts of these, named as in erlang:system_info(allocated_areas). */
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
	uint32_t instance;  /* number of the instance, if `instances` is 0 */
	uint32_t instances; /* how many instances the row is the sum of */
	struct mem_carriers all, mbcs, sbcs, pool;
};

struct mem_answer {
#define MEM_MEMBER(name, ...) uint64_t name;
	MEM_SIZES(MEM_MEMBER)
	struct {
		MEM_AREAS(MEM_MEMBER)
	} areas;
	/* Two tables with the columns of mem_table: a row for each type, a row for each
	 * instance. */
	struct table types, instances;
};

extern const struct table mem_table; /* its columns; the caller sets the rows */

/* Adds the sizes of an instance to the row of its allocator type. */
void mem_row_add(struct mem_row *to, const struct mem_row *r);

/* Writes all types, and instances up to o->limit. */
int mem_view_write(FILE *f, const struct mem_answer *a, const struct table_options *o,
		   struct error *err);
/* Writes the member "data" of the JSON answer. */
void mem_view_json(struct jsonw *w, const struct mem_answer *a, const struct table_options *o);

#endif
