/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by checks*.c: the sample of processes, and how results are reported. */
#ifndef EBEAM_BEAM_CHECKS_INTERNAL_H
#define EBEAM_BEAM_CHECKS_INTERNAL_H

#include "beam/locate/anchors.h"
#include "beam/node/node.h"

#define CHECK_SAMPLE 64	  /* processes, or ports */
#define CHECK_SLOTS  1024 /* slots of a table read at once */

struct check_sample {
	struct anchor_space space; /* only mem, maps and layout are set */
	size_t nr;		   /* number of processes */
	raddr addrs[CHECK_SAMPLE];
	uint8_t *bytes; /* their structs, one after the other */
	uint32_t atoms; /* number of atoms */
};

struct check_run {
	struct beam_node *n;
	const struct beam_layout *l;
	struct check_sample s;
	char *seen; /* result text of the running check */
};

/* Sets the text of what was seen; returns ok. */
bool check_see(struct check_run *c, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* True if all but one in eight of `nr` sampled objects are `good`, or nr is 0: some may change
 * while they are read.  Sets the text to "good of nr what". */
bool check_mostly(struct check_run *c, size_t good, size_t nr, const char *what);

bool check_is_atom(const struct check_run *c, uint64_t term);
/* Reads an ErtsCodeMFA to *mfa; false unless it has two atoms and an arity. */
bool check_read_mfa(const struct check_run *c, raddr addr, uint64_t mfa[3]);
bool check_is_mfa(const struct check_run *c, const uint64_t mfa[3]);
bool check_null_or_pointer(const struct check_run *c, raddr addr);

/* Bytes of the i-th process of the sample, and fields of it. */
static inline const uint8_t *check_process(const struct check_run *c, size_t i)
{
	return c->s.bytes + i * (size_t)c->l->process_size;
}

static inline uint64_t check_u64(const struct check_run *c, size_t i, int32_t offset)
{
	return bytes_u64(check_process(c, i), offset);
}

static inline uint32_t check_u32(const struct check_run *c, size_t i, int32_t offset)
{
	return bytes_u32(check_process(c, i), offset);
}

/* The process runs, exits or is garbage collected: its fields may change while they are read. */
bool check_is_busy(const struct check_run *c, size_t i);

/* The first entries of the largest of three IndexTables, at most `max`; returns how many. */
size_t check_index_entries(const struct check_run *c, raddr tables, raddr *entries, size_t max);

/* Functions and names of the checks, in the order in which doctor shows them.  OF_FIELDS: run only
 * if the layout is not the table of the build (checks_fields.c). */
#define BEAM_CHECKS(ALWAYS, OF_FIELDS)                                                             \
	ALWAYS(check_process_table, "erts_proc is a process table")                                \
	ALWAYS(check_process_size, "a process struct has the size of the layout")                  \
	ALWAYS(check_process_count, "the process table's count includes the sampled processes")    \
	ALWAYS(check_ids, "ids in the process table are pids")                                     \
	ALWAYS(check_atoms, "atoms 0 and 1 are false and true")                                    \
	ALWAYS(check_init, "process <0.0.0> is registered as init")                                \
	ALWAYS(check_trap_exit, "process <0.0.0> traps exits")                                     \
	ALWAYS(check_numbers, "process <0.1.0> is registered as erts_code_purger")                 \
	ALWAYS(check_registered, "registered names point back to their processes")                 \
	ALWAYS(check_states, "most processes have normal priority")                                \
	ALWAYS(check_heaps, "heap <= htop <= stop <= hend and hend - heap = heap_sz")              \
	ALWAYS(check_initial_calls, "initial calls are Module:Function/Arity")                     \
	ALWAYS(check_current, "current functions are Module:Function/Arity")                       \
	ALWAYS(check_continuations, "processes will resume in Erlang code")                        \
	ALWAYS(check_leaders, "group leaders and parents are pids")                                \
	ALWAYS(check_dictionaries, "process dictionaries are hash tables")                         \
	ALWAYS(check_descheduled, "waiting processes have no scheduler")                           \
	ALWAYS(check_schedulers, "schedulers are numbered from 1")                                 \
	ALWAYS(check_scheduler_threads, "schedulers have the ids of their threads")                \
	ALWAYS(check_jit_descriptor, "the JIT descriptor leads to a module")                       \
	ALWAYS(check_modules, "modules have a name and code")                                      \
	ALWAYS(check_exports, "exports are Module:Function/Arity")                                 \
	ALWAYS(check_bifs, "BIFs are Module:Function/Arity")                                       \
	ALWAYS(check_ports, "ports have names and drivers")                                        \
	ALWAYS(check_this_node, "this node and its distribution entry have the same name")         \
	OF_FIELDS(check_queues, "message queues end at their last pointer")                        \
	OF_FIELDS(check_old_heaps,                                                                 \
		  "old heaps are in order, and the high water mark is in the heap")                \
	OF_FIELDS(check_heap_limits, "heaps have at least their minimum size")                     \
	OF_FIELDS(check_sums, "reductions of processes are plausible")                             \
	OF_FIELDS(check_run_queues, "processes and schedulers refer to run queues")                \
	OF_FIELDS(check_links, "links are mutual")                                                 \
	OF_FIELDS(check_monitors, "monitors are known to both processes")                          \
	OF_FIELDS(check_port_fields, "ports have owners, links and counters")                      \
	OF_FIELDS(check_ets, "ETS tables, and objects in them, are as many as counted")            \
	OF_FIELDS(check_code_headers, "code headers lead to the functions of their module")        \
	OF_FIELDS(check_carriers, "carriers have as many blocks as counted, up to their end")

#define CHECK_DECLARE(function, name) bool function(struct check_run *c);
BEAM_CHECKS(CHECK_DECLARE, CHECK_DECLARE)
#undef CHECK_DECLARE

#endif
