/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the VM as a whole: sizes and limits of tables, run queues, reductions, context
 * switches, garbage collections, bytes through ports; as from erlang:system_info/1 and
 * erlang:statistics/1, but by one pass of memory reads, without a call in the node.
 *
 * The counters of different schedulers are read one after the other, as the node itself does.
 *
 * erl_process.h, erl_gc.c, io.c, erl_db.c, index.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_VM_TOTALS_H
#define EBEAM_BEAM_VM_TOTALS_H

#include "base/vec.h"
#include "beam/node/node.h"

#define VM_UNKNOWN UINT64_MAX

/*
 * VM_TOTAL(id, name).  Names are those of erlang:system_info/1 and erlang:statistics/1 if they have
 * one.  gc_words_reclaimed: words.  input, output: bytes through ports on schedulers; other threads
 * have their own counters, which no driver of OTP uses.
 */
#define VM_TOTALS(VM_TOTAL)                                                                        \
	VM_TOTAL(PROCESS_COUNT, "process_count")                                                   \
	VM_TOTAL(PROCESS_LIMIT, "process_limit")                                                   \
	VM_TOTAL(PORT_COUNT, "port_count")                                                         \
	VM_TOTAL(PORT_LIMIT, "port_limit")                                                         \
	VM_TOTAL(ATOM_COUNT, "atom_count")                                                         \
	VM_TOTAL(ATOM_LIMIT, "atom_limit")                                                         \
	VM_TOTAL(ETS_COUNT, "ets_count")                                                           \
	VM_TOTAL(ETS_LIMIT, "ets_limit") /* a hint: more can be made */                            \
	VM_TOTAL(RUN_QUEUE, "total_run_queue_lengths_all")                                         \
	VM_TOTAL(REDUCTIONS, "reductions")                                                         \
	VM_TOTAL(CONTEXT_SWITCHES, "context_switches")                                             \
	VM_TOTAL(GC_COUNT, "garbage_collections")                                                  \
	VM_TOTAL(GC_WORDS, "gc_words_reclaimed")                                                   \
	VM_TOTAL(INPUT, "input")                                                                   \
	VM_TOTAL(OUTPUT, "output")

#define VM_TOTAL_ID(id, name) VM_##id,
enum vm_total { VM_TOTALS(VM_TOTAL_ID) NR_VM_TOTALS };
#undef VM_TOTAL_ID

enum vm_queue_type { VM_QUEUE_NORMAL, VM_QUEUE_DIRTY_CPU, VM_QUEUE_DIRTY_IO };

/* A run queue.  All dirty schedulers of a type share one. */
struct vm_queue {
	enum vm_queue_type type;
	uint16_t scheduler; /* 1..; 0: dirty schedulers */
	/* Its scheduler is not in schedulers_online, or multi-scheduling is blocked. */
	bool offline;
	uint64_t length; /* processes and ports that wait; this and all below may be VM_UNKNOWN */
	uint64_t reductions, context_switches;
	/* Counters of the scheduler; VM_UNKNOWN if the queue is of dirty ones. */
	uint64_t gcs, gc_words, input, output;
};

struct vm_totals {
	uint64_t value[NR_VM_TOTALS];  /* VM_UNKNOWN if not known */
	const char *why[NR_VM_TOTALS]; /* reason for VM_UNKNOWN, for people; else NULL */
	VEC(struct vm_queue)
	queues; /* normal 1.., dirty CPU, dirty IO; as
		 * statistics(run_queue_lengths_all) has them */
};

struct vm_totals_reader;

/* Finds addresses and constant values, once.  Borrows the node. */
int vm_totals_open(struct vm_totals_reader **out, struct beam_node *n, struct error *err);
void vm_totals_close(struct vm_totals_reader *r); /* NULL ok */

/* `out` is zeroed before its first use, and reused.  ERROR_KIND_NO_NODE: the node has exited. */
int vm_totals_read(struct vm_totals_reader *r, struct vm_totals *out, struct error *err);
void vm_totals_free(struct vm_totals *t);

#endif
