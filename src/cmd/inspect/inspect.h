/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam inspect` knows of one process before it writes: facts, stack, and where the terms lie
 * that are shown.  inspect.c gathers, inspect_mailbox.c counts messages and heap, inspect_answer.c
 * makes texts of it all.
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

/* Messages that are shown as they are: the first, and with --mailbox the last too. */
#define INSPECT_SAMPLE 10
/* A mailbox up to this long is always counted by shape. */
#define INSPECT_SHORT_MAILBOX 10000
/* Binaries and largest terms that are shown without -n. */
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
	struct process_list alone; /* of this process: what waits are of */
	struct waits waits;
	VEC(struct inspect_pair) dictionary;
	uint64_t unreadable; /* places anywhere */
	uint64_t error_handler, trace_token;
	uint32_t queue_flags;
	raddr high_water;
	struct behaviour_state state;
	struct off_heap binaries;
	struct timer_list timers;

	struct signal_counts messages;
	struct shape_table shapes;
	uint64_t message_words;
	uint64_t first[INSPECT_SAMPLE], last[INSPECT_SAMPLE]; /* last: a ring */
	uint64_t nr_seen;
	struct heap_census census; /* if a.counted */

	struct process_answer a;
	struct arena texts;
	const char *samples[2][INSPECT_SAMPLE]; /* of first and last */
	const char **registers;			/* of each word of the stack */
	VEC(const char *) warnings;
};

/* All of the command but opening the node: pid or name -> ctx->out, as ctx->opt says. */
int inspect_process(struct command_context *ctx, struct beam_node *n, const char *what,
		    struct error *err);

void inspect_warn(struct inspect *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void inspect_mailbox(struct inspect *x);
void inspect_heap(struct inspect *x);

/* Adds the text of a term. */
void inspect_term(struct inspect *x, struct strbuf *out, uint64_t term);
/* Fills in what x->a has not yet. */
void inspect_answer(struct inspect *x);
void inspect_answer_free(struct inspect *x);
/* Binaries and largest terms that are shown. */
size_t inspect_top(const struct inspect *x);

#endif
