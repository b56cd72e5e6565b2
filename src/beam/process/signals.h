/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of a process in the order of process_info(P, messages): the inner queue, then the
 * middle one, then the outer one, to which senders append.
 *
 * erl_proc_sig_queue.h, erl_message.h, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_SIGNALS_H
#define EBEAM_BEAM_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "beam/node/node.h"

/* Limit of the signals of one process that are read; further ones are left out. */
#define SIGNALS_MAX 50000000u

#define SIGNAL_REFS_MAX 4 /* with USE_VM_PROBES; else 3 */

enum signal_queue {
	SIGNAL_QUEUE_INNER,
	SIGNAL_QUEUE_MIDDLE,
	SIGNAL_QUEUE_OUTER,
	SIGNAL_RECEIVED, /* in none any more: signals_walk_received() */
};

struct signal_message {
	raddr addr;			/* ErtsMessage */
	uint64_t term;			/* 0: from another node, not decoded yet */
	uint64_t from;			/* pid or other sender; 0 = not stored */
	uint64_t refs[SIGNAL_REFS_MAX]; /* ErtsMessage.m as it is: terms, the tag of a signal */
	raddr fragment; /* heap fragment of the message; 0: it is on the process's heap */
	uint64_t words; /* words in use of its fragments, as in process_info(P, memory) */
	enum signal_queue queue;
	bool alias; /* was sent to an alias or with priority, and is not accepted yet */
};

struct signal_counts {
	uint64_t messages;
	uint64_t alias;	     /* of `messages`: to an alias or with priority, not accepted */
	uint64_t undecoded;  /* of `messages`: from another node, not decoded yet */
	uint64_t others;     /* signals that are no messages, not handled yet */
	uint64_t unreadable; /* queues whose end was not reached */
	bool cut;	     /* SIGNALS_MAX was reached */
	bool moved;	     /* the queues changed meanwhile: messages may be missing, or twice */
	bool buffers;	     /* parallel input buffers are in use; they were not read */
};

/*
 * Walks the queues of the process at `process` through `mem`, which may be a cache of n->mem; the
 * queues' heads are always read from n->mem.  A non-zero result of visit ends the walk.  0, or
 * negative errno if the process cannot be read; later failures are only counted.
 */
int signals_walk(struct beam_node *n, struct mem *mem, raddr process,
		 int (*visit)(void *arg, const struct signal_message *m), void *arg,
		 struct signal_counts *counts);
/*
 * Walks the messages from `first` (Process.msg_frag) on: what a receive expression took from the
 * queues stays in the fragments of its message up to the next collection, but for the off-heap
 * list, which is the process's then (erts_save_message_in_proc()).  Results as above.
 */
int signals_walk_received(struct beam_node *n, struct mem *mem, raddr first,
			  int (*visit)(void *arg, const struct signal_message *m), void *arg,
			  struct signal_counts *counts);

#endif
