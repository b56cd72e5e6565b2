/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers of `ebeam mem`: what the process has in memory, counts and limits, memory by type,
 * and the allocators; or (--atoms) the newest atoms.
 */
#ifndef EBEAM_VIEW_MEM_VIEW_H
#define EBEAM_VIEW_MEM_VIEW_H

#include "view/table/table.h"

/* Bytes, UINT64_MAX = not known.  MEM_SIZES: members of erlang:memory/0, and `other` (the rest of
 * system), with their indented labels in text.  MEM_AREAS: parts of these, named as in
 * erlang:system_info(allocated_areas). */
#define MEM_SIZES(_)                                                                               \
	_(total, "total")                                                                          \
	_(processes, "  processes")                                                                \
	_(processes_used, "    used")                                                              \
	_(system, "  system")                                                                      \
	_(code, "    code")                                                                        \
	_(ets, "    ets")                                                                          \
	_(binary, "    binary")                                                                    \
	_(atom, "    atom")                                                                        \
	_(atom_used, "      used")                                                                 \
	_(other, "    other")
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

/* What the RSS consists of, and labels in text. */
#define MEM_PARTS(_)                                                                               \
	_(carriers, "  VM carriers")                                                               \
	_(cached_segments, "  cached segments")                                                    \
	_(code, "  JIT code")                                                                      \
	_(stacks, "  thread stacks")                                                               \
	_(malloc, "  malloc")                                                                      \
	_(libraries, "  libraries")                                                                \
	_(files, "  other files")                                                                  \
	_(other, "  other")
#define MEM_COUNTS(_)                                                                              \
	_(atoms, "atoms")                                                                          \
	_(processes, "processes")                                                                  \
	_(ports, "ports")                                                                          \
	_(ets, "ETS tables")

struct mem_carriers {
	uint64_t blocks, blocks_size, carriers, carriers_size; /* sizes are bytes */
};

/* An instance of an allocator, or all those of a type. */
struct mem_row {
	const char *type;
	uint32_t instance;  /* number of the instance, if `instances` is 0 */
	uint32_t instances; /* how many instances the row is the sum of */
	struct mem_carriers all, mbcs, sbcs, pool;
	/* --watch: growth of the bytes and the number of blocks since the last answer, per second,
	 * and of the bytes since the first; NAN = not known. */
	double size_per_s, blocks_per_s, grew;
	bool growing; /* it is an answer of --watch */
};

#define MEM_MEMBER(name, ...) uint64_t name;

/* Memory of the process, as the kernel counts it; bytes. */
struct mem_rss {
	bool known; /* false for a core file, or if it cannot be read: all below is then 0 */
	uint64_t total, swap, huge_pages;
	MEM_PARTS(MEM_MEMBER)
	/* Of its cgroup with the lowest limit: "" = no cgroup; UINT64_MAX, -1 = none or not
	 * known.  Pressure: percent of the last 10 s. */
	const char *cgroup;
	uint64_t limit, current;
	double some, full;
	int oom_score; /* -1 = not known */
};

struct mem_count {
	uint64_t count, limit; /* UINT64_MAX = not known */
};

#define MEM_COUNT(name, ...) struct mem_count name;
struct mem_counts {
	MEM_COUNTS(MEM_COUNT)
};
#undef MEM_COUNT

struct mem_answer {
	int os_pid; /* for commands that say more; 0 = of a core file */
	struct mem_rss rss;
	struct mem_counts counts;
	/* --watch: the answer `seconds` before this one; NULL = there is none. */
	bool watch;
	const struct mem_answer *before;
	double seconds;
	/* The first answer, `since_first` seconds before this one. */
	const struct mem_answer *first;
	double since_first;
	MEM_SIZES(MEM_MEMBER)
	struct {
		MEM_AREAS(MEM_MEMBER)
	} areas;
	/* Two tables with the columns of mem_table: a row for each type, a row for each
	 * instance. */
	struct table types, instances;
};

extern const struct table mem_table; /* its columns; the caller sets the rows */

struct mem_atom {
	uint32_t index;	  /* in the table of atoms: the newest has the largest */
	const char *text; /* as Erlang writes it; NULL = could not be read */
};

extern const struct table mem_atoms_table;

/* Adds the sizes of an instance to the row of its allocator type. */
void mem_row_add(struct mem_row *to, const struct mem_row *r);

/* Writes all types, and instances up to o->limit; with --watch only if o->limit is not 0. */
int mem_view_write(FILE *f, const struct mem_answer *a, const struct table_options *o,
		   struct error *err);
/* Writes the member "data" of the JSON answer. */
void mem_view_json(struct jsonw *w, const struct mem_answer *a, const struct table_options *o);

/* The same of --atoms: the counts of `a`, and the rows of `atoms`, in their order. */
int mem_atoms_write(FILE *f, const struct mem_answer *a, const struct table *atoms,
		    const struct table_options *o, struct error *err);
void mem_atoms_json(struct jsonw *w, const struct mem_answer *a, const struct table *atoms,
		    const struct table_options *o);

/* A persistent term. */
struct mem_persistent {
	const char *key; /* as a term is written; NULL = could not be read */
	uint64_t words, bytes;
};

extern const struct table mem_persistent_table;

/* The answer of --persistent-terms; `bytes`: of all of them and their table. */
int mem_persistent_write(FILE *f, const struct table *t, uint64_t bytes,
			 const struct table_options *o, struct error *err);
void mem_persistent_json(struct jsonw *w, const struct table *t, uint64_t bytes,
			 const struct table_options *o);

#endif
