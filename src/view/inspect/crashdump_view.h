/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections of an Erlang crash dump, but for terms on heaps: their lines are names and values that
 * crashdump_viewer knows (lib/observer/src/crashdump_viewer.erl, OTP 25 to 29).  A line whose value
 * is not known is left out: texts that are NULL, numbers that are CRASHDUMP_UNKNOWN.
 */
#ifndef EBEAM_VIEW_CRASHDUMP_VIEW_H
#define EBEAM_VIEW_CRASHDUMP_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define CRASHDUMP_UNKNOWN UINT64_MAX

struct crashdump_head {
	time_t time;
	const char *slogan, *system_version, *taints;
	uint64_t atoms;
};
void crashdump_head_write(FILE *f, const struct crashdump_head *h);

/* Writes "NAME: VALUE". */
void crashdump_number(FILE *f, const char *name, uint64_t value);
void crashdump_text(FILE *f, const char *name, const char *value);

struct crashdump_allocator {
	const char *type;
	uint32_t instance;
	/* Bytes in carriers for many blocks, in the pool, and for single blocks. */
	struct {
		const char *name;
		uint64_t blocks, blocks_size, carriers, carriers_size;
	} kinds[3];
};
void crashdump_allocator_write(FILE *f, const struct crashdump_allocator *a);

enum { CRASHDUMP_PRIORITIES = 4 };
struct crashdump_run_queue {
	uint64_t length[CRASHDUMP_PRIORITIES]; /* max, high, normal, low */
	uint64_t ports;
};
void crashdump_run_queue_write(FILE *f, const struct crashdump_run_queue *q);

struct crashdump_scheduler {
	const char *section; /* "scheduler", "dirty_cpu_scheduler", ... */
	uint32_t number;
	const char *port, *process;		 /* NULL = none */
	const struct crashdump_run_queue *queue; /* of a normal one; NULL = another's, or unknown */
	uint32_t state;				 /* Process.state of its process */
	bool new_signals;			 /* see struct crashdump_process */
	const char *counter;
};
void crashdump_scheduler_write(FILE *f, const struct crashdump_scheduler *s);

struct crashdump_process {
	const char *pid, *status, *name, *spawned_as, *current, *spawned_by;
	bool running; /* `current` is the function with which it was scheduled in */
	int64_t messages;
	const char *links; /* of links and monitors, without brackets; "" = none */
	/* Words but for memory (bytes). */
	uint64_t fragments, fragments_size, reductions, heap, old_heap, heap_unused,
		old_heap_unused, vheap, old_vheap, vheap_unused, old_vheap_unused, memory;
	const char *counter; /* "0x1234 (lists:map/2 + 8)" */
	uint64_t arity;
	uint32_t state; /* Process.state */
	/* Bits 12 and 19 of the state: signals that are messages, and others (since OTP 27). */
	bool new_signals;
};
/* Words of `status`: those of process_info/2. */
void crashdump_process_write(FILE *f, const struct crashdump_process *p);

struct crashdump_port {
	const char *id, *connected, *name, *controls, *program;
	const char *links;    /* pids, one after the other */
	const char *monitors; /* (pid,ref), one after the other */
	const char *suspended;
	uint64_t slot, input, output, queue;
};
void crashdump_port_write(FILE *f, const struct crashdump_port *p);

struct crashdump_table {
	const char *owner, *id, *name, *type, *protection, *write_concurrency;
	uint64_t slot, buckets, objects, words;
	bool tree, compressed, read_concurrency, fixed;
};
void crashdump_table_write(FILE *f, const struct crashdump_table *t);

struct crashdump_node {
	const char *section; /* "visible_node", "hidden_node", "not_connected" */
	uint64_t channel;    /* the first number of identifiers of that node */
	const char *name, *controller;
	uint64_t creation;
};
void crashdump_node_write(FILE *f, const struct crashdump_node *n);

#endif
