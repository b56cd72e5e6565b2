/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam inspect` has read of one process before it writes: facts, stack, and addresses of the
 * terms to show.  inspect.c reads the process, inspect_mailbox.c counts messages and heap words,
 * inspect_answer.c makes texts of all.
 */
#ifndef EBEAM_CMD_INSPECT_H
#define EBEAM_CMD_INSPECT_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/process/behaviour.h"
#include "beam/process/heap_census.h"
#include "beam/process/off_heap.h"
#include "beam/process/process.h"
#include "beam/process/signals.h"
#include "beam/process/stack.h"
#include "beam/process/timers.h"
#include "beam/process/waits.h"
#include "beam/term/message_shape.h"
#include "beam/term/term.h"
#include "beam/vm/links.h"
#include "cmd/command/command.h"
#include "cmd/run/target.h"
#include "view/inspect/process_view.h"

/* Messages that are shown in full: the first ones, and with --mailbox the last ones too. */
#define INSPECT_SAMPLE 10
/* A mailbox up to this long is always counted by shape. */
#define INSPECT_SHORT_MAILBOX 10000
/* Number of binaries and of largest terms that are shown if -n is not given. */
#define INSPECT_TOP 10

struct inspect_pair {
	uint64_t key, value;
};

struct inspect {
	struct command_context *ctx;
	struct beam_node *n;
	struct mem *cached;
	struct stack_code code;
	struct term_reader reader; /* of the node's memory */
	struct term_formats formats;

	struct process_facts p;
	struct process_stack stack; /* if a.has_stack */
	struct link_list links;
	struct monitor_list monitors;
	struct process_list alone; /* only this process, for `waits` */
	struct waits waits;
	VEC(struct inspect_pair) dictionary;
	uint64_t unreadable; /* reads of the node's memory that failed */
	uint64_t error_handler, trace_token;
	uint32_t queue_flags;
	raddr high_water;
	struct behaviour_state state;
	struct off_heap binaries;
	struct timer_list timers;

	struct signal_counts messages;
	struct shape_table shapes;
	uint64_t message_words;
	uint64_t first[INSPECT_SAMPLE], last[INSPECT_SAMPLE]; /* `last` is a ring */
	uint64_t nr_seen;
	struct heap_census census; /* if a.counted */

	struct process_answer a;
	struct arena texts;
	const char *samples[2][INSPECT_SAMPLE]; /* texts of `first` and `last` */
	const char **registers;			/* texts of the words of the stack */
	VEC(const char *) warnings;
};

/* Writes the process with that pid or name to ctx->out; the caller has opened the node. */
int inspect_process(struct command_context *ctx, struct beam_node *n, const char *what,
		    struct error *err);

void inspect_warn(struct inspect *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void inspect_mailbox(struct inspect *x);
void inspect_heap(struct inspect *x);

/* Adds the text of a term. */
void inspect_term(struct inspect *x, struct strbuf *out, uint64_t term);
/* Fills in the rest of x->a, the answer. */
void inspect_answer(struct inspect *x);
void inspect_answer_free(struct inspect *x);
/* How many binaries, and how many largest terms, are shown. */
size_t inspect_top(const struct inspect *x);

#endif
