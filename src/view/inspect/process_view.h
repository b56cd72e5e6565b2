/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer of `ebeam inspect`; members have the names of erlang:process_info/2.  Texts: NULL =
 * none, or not known.  A list that text truncates may lack the elements that text does not show.
 */
#ifndef EBEAM_VIEW_PROCESS_VIEW_H
#define EBEAM_VIEW_PROCESS_VIEW_H

#include "base/vec.h"
#include "view/table/table.h"

struct process_frame {
	const char *mfa, *file;
	uint64_t line;	     /* UINT64_MAX = not known */
	struct table_list y; /* Y registers; y.texts == NULL: the user did not ask for them */
};

struct process_timer {
	bool receive; /* the timeout (`after`) of a receive: it has no ref, to, message */
	const char *ref, *to, *message;
	bool by_name, paused;
	int64_t left; /* milliseconds, as in erlang:read_timer/1; negative = overdue */
};

struct process_pair {
	const char *key, *value;
};

struct process_count {	  /* messages of a shape, terms of a kind */
	const char *what; /* NULL = all others */
	uint64_t count, words;
};

struct process_root { /* one of the largest terms of the heap */
	char where[96];
	uint64_t words;
	bool truncated; /* counting its words stopped at a limit */
};

struct process_binary {
	uint64_t address, bytes, refc;
	uint64_t references; /* from this process */
	double used;	     /* bytes that its terms are; NAN = not known */
	bool garbage;	     /* only garbage on its heap refers to it */
};

struct process_answer {
	const char *pid, *label, *status, *current_function;
	const char *initial_call; /* for text, with $initial_call of the dictionary */
	struct table_name registered_name;
	struct process_frame current_location;
	const char *parent, *group_leader, *priority, *error_handler, *message_queue_data;
	const char *sequential_trace_token;
	uint64_t reductions, message_queue_len, memory, catchlevel;
	uint64_t total_heap_size, heap_size, stack_size; /* words */
	bool trap_exit, hibernating, torn;
	bool stale; /* the process ran while it was read */
	const char *waits_for, *wait_reason;
	uint64_t waiting_ms; /* UINT64_MAX = not known */

	uint64_t minor_gcs, fullsweep_after, min_heap_size, min_bin_vheap_size;
	struct process_max_heap {
		uint64_t size; /* words; 0 = no limit */
		bool kill, log, shared, has_shared;
	} max_heap;
	struct { /* words */
		uint64_t old_heap_block_size, heap_block_size, mbuf_size, recent_size, stack_size;
		uint64_t old_heap_size, heap_size, bin_vheap_size, bin_vheap_block_size;
		uint64_t bin_old_vheap_size, bin_old_vheap_block_size;
	} gc_info;

	const char *state, *behaviour, *state_unknown; /* why the state is not known */

	uint64_t messages; /* as counted, else message_queue_len */
	struct table_list first,
		last; /* a NULL text: message not decoded yet; last.texts NULL: not asked for */
	bool shaped;  /* the members up to other_signals are known */
	VEC(struct process_count) shapes;
	size_t all_shapes;
	bool more_shapes;	/* there are more shapes than are in `shapes` */
	uint64_t message_bytes; /* bytes of structs and heap fragments of the messages */
	uint64_t on_heap, to_alias, undecoded, other_signals;

	bool has_stack;
	VEC(struct process_frame) frames;
	struct table_list links, monitors, monitored_by, suspending, suspended_by;
	VEC(struct process_timer) timers;
	VEC(struct process_pair) dictionary;
	size_t all_timers, all_keys;
	bool timers_cut; /* it has more than all_timers */

	VEC(struct process_binary) binaries;
	size_t all_binaries;
	uint64_t binary_bytes, binary_references, binaries_in_messages;
	double binary_used; /* bytes; NAN = not known */
	/* Bytes of those to which only garbage refers; NAN = not known, and binary_used has it. */
	double binary_garbage;

	bool counted; /* the members below, words of the heap, are known */
	uint64_t young, old, fragments, unknown;
	VEC(struct process_count) kinds;
	VEC(struct process_root) largest;
};

/* How many elements of a list text shows; and how many of the first and of the last messages. */
#define PROCESS_SHOWN	 20
#define PROCESS_MESSAGES 3

/* Of *o only color and limit are used; limit 0 = PROCESS_SHOWN. */
void process_view_write(FILE *f, const struct process_answer *a, const struct table_options *o);
/* Writes the member "data" of the JSON answer. */
void process_view_json(struct jsonw *w, const struct process_answer *a);

#endif
