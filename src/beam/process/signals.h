/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of a process, in the order in which process_info(P, messages) would have them: the
 * inner queue, then the middle one, then what senders have put into the outer one.
 *
 * erl_proc_sig_queue.h, erl_message.h, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_SIGNALS_H
#define EBEAM_BEAM_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "beam/node/node.h"

/* Beyond this a queue is cut: messages of one process. */
#define SIGNALS_MAX 50000000u

enum signal_queue { SIGNAL_QUEUE_INNER, SIGNAL_QUEUE_MIDDLE, SIGNAL_QUEUE_OUTER };

struct signal_message {
	raddr addr;	/* ErtsMessage */
	uint64_t term;	/* 0: of another node, not decoded yet */
	uint64_t from;	/* pid, or what else sent it; 0 = not kept */
	raddr fragment; /* the heap fragment that holds it; 0: it lies on the process's heap */
	uint64_t words; /* in use of its fragments: what process_info(P, memory) counts */
	enum signal_queue queue;
	bool alias; /* was sent to an alias or with priority, and is not accepted yet */
};

struct signal_counts {
	uint64_t messages;
	uint64_t alias;	     /* of those: sent to an alias or with priority, not accepted yet */
	uint64_t undecoded;  /* of those: of another node, not decoded yet */
	uint64_t others;     /* signals that are no messages, not handled yet */
	uint64_t unreadable; /* ends of queues that could not be read on */
	bool cut;	     /* SIGNALS_MAX */
	bool moved;   /* the queues were changed meanwhile: messages may be missing, or twice */
	bool buffers; /* parallel input buffers are in use; what is in them was not read */
};

/*
 * Walks the queues of the process at `process` through `mem`, which may be a cached one; its heads
 * are always read from n->mem.  A visit that returns non-zero ends the walk.  0, or negative errno
 * if the process cannot be read; what goes wrong behind that is counted.
 */
int signals_walk(struct beam_node *n, struct mem *mem, raddr process,
		 int (*visit)(void *arg, const struct signal_message *m), void *arg,
		 struct signal_counts *counts);

#endif
