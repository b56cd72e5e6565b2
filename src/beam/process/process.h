/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of a node in its process table, running or not, as facts of the VM: terms, addresses,
 * words.  Reading races with the node: the facts of a process are read at once and checked for
 * consistency; inconsistent ones are read again, and marked torn if they still are.  A process that
 * has exited meanwhile is left out and counted.
 *
 * erl_process.h, erl_ptab.h, erl_bif_info.c (process_info), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_PROCESS_H
#define EBEAM_BEAM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

enum process_status { /* as process_info(P, status) */
		      PROCESS_EXITING,
		      PROCESS_GARBAGE_COLLECTING,
		      PROCESS_RUNNING,
		      PROCESS_SUSPENDED,
		      PROCESS_RUNNABLE,
		      PROCESS_WAITING,
};
const char *process_status_name(enum process_status status);
/* The status that these bits of Process.state mean. */
enum process_status process_status_of(uint32_t state);

struct process_facts {
	raddr addr;
	uint64_t epid;
	uint32_t slot;	     /* index in the process table */
	uint64_t registered; /* atom; 0 = none */
	uint64_t initial[3]; /* module, function: atoms; arity: a plain number; 0s if exiting */
	uint64_t parent, group_leader; /* terms: pid, or undefined / [] */
	uint64_t reductions;
	uint64_t heap_size, old_heap_size, mbuf_size; /* words */
	/* Words, as in process_info; without PROCESS_READ_MEMORY total_heap_size is without
	 * messages. stack_size is of the last context switch if the process runs. */
	uint64_t total_heap_size, stack_size;
	uint64_t min_heap_size, min_vheap_size,
		max_heap_size; /* words; max_heap_size includes its flag bits */
	int64_t message_queue_len;
	uint64_t memory; /* bytes, as process_info(P, memory); only with PROCESS_READ_MEMORY */
	uint32_t nr_undecoded; /* undecoded messages from other nodes, which `memory` is without */
	uint32_t nr_links, nr_monitors, nr_monitored_by; /* only with PROCESS_READ_COUNTS */
	uint32_t state, flags;
	enum process_status status;
	unsigned int priority; /* 0 max, 1 high, 2 normal, 3 low */
	bool trap_exit, torn;
	uint16_t gen_gcs, max_gen_gcs;
	raddr i;       /* address of the next instruction while it does not run */
	raddr current; /* address of the function's ErtsCodeMFA; 0 = none: use i */
	/* Address of the proper heap while a GC is delayed: heap .. hend is then a fragment that
	 * replaces it until the GC (erl_gc.c, delay_garbage_collection()); 0 = no GC is delayed. */
	raddr abandoned_heap;
	raddr heap, htop, stop, hend, old_heap, old_htop, old_hend, mbuf;
	raddr msg_frag; /* received messages whose terms are still in their fragments */
	raddr dictionary, links, monitors, lt_monitors, psd, off_heap;
	raddr scheduler_data;	      /* ErtsSchedulerData that runs the process; 0 = none */
	raddr timer;		      /* that of its receive's `after`; 0 = none, 1 = has fired */
	uint64_t label, initial_call; /* values of $process_label and $initial_call; 0 = none; only
				       * with PROCESS_READ_DICTIONARY */
	uint64_t ancestors;	      /* value of $ancestors, likewise */
	uint64_t proc_lib_call[3];    /* $initial_call in the form of `initial` */
};

enum {
	PROCESS_READ_MEMORY = 1,
	PROCESS_READ_COUNTS = 2,
	PROCESS_READ_DICTIONARY = 4,
	PROCESS_READ_ALL = 7,
};

struct process_list {
	struct process_facts *data; /* in order of the table's slots */
	size_t len;
	uint64_t vanished; /* processes that had exited when their structs were read */
	uint64_t torn;
};

/*
 * Reads all processes in blocks, in order of the table's slots, so that a million processes need
 * not fit in ebeam's memory.  visit() may change the block; a non-zero result ends the scan and is
 * returned.  -ESRCH: the node has exited.
 */
struct process_totals {
	uint64_t processes, vanished, torn;
};
int processes_scan(struct beam_node *n, unsigned int what,
		   int (*visit)(void *arg, struct process_facts *block, size_t nr), void *arg,
		   struct process_totals *totals, struct error *err);

/* Reads all processes to a list. */
int processes_read(struct beam_node *n, unsigned int what, struct process_list *out,
		   struct error *err);
void process_list_free(struct process_list *l);

/* Reads one process by its pid term.  -ESRCH: there is none. */
int process_read(struct beam_node *n, uint64_t epid, unsigned int what, struct process_facts *out);

/* Pid term of "<0.80.0>", "0.80.0", or a registered name ("code_server", "Elixir.My.Name",
 * "My.Name").  ERROR_KIND_NO_NODE: no such process, ERROR_KIND_USAGE: not of this node. */
int process_parse(struct beam_node *n, const char *text, uint64_t *epid, struct error *err);

#endif
