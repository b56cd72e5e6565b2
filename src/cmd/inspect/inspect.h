/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam inspect` knows of one process before it writes: facts, stack, and where the terms lie
 * that are shown.  inspect.c gathers, inspect_mailbox.c counts messages and heap, inspect_text.c
 * and inspect_json.c write.
 */
#ifndef EBEAM_CMD_INSPECT_H
#define EBEAM_CMD_INSPECT_H

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

/* Messages that are shown as they are: the first, and with --mailbox the last too. */
#define INSPECT_SAMPLE	    10
#define INSPECT_SAMPLE_TEXT 3
/* A mailbox up to this long is always counted by shape. */
#define INSPECT_SHORT_MAILBOX 10000
/* Binaries and largest terms that are shown without -n. */
#define INSPECT_TOP 10

struct inspect_pair {
	uint64_t key, value;
};

struct inspect_root { /* a term of the heap's largest */
	uint64_t term, words;
	bool cut; /* more than was counted */
	char where[96];
};

struct inspect {
	struct command_context *ctx;
	struct beam_node *n;
	struct mem *cached;
	struct stack_code code;
	struct term_reader reader; /* of the node's memory */
	struct term_formats formats;

	struct process_facts p;
	struct process_stack stack;
	bool has_stack, stale; /* stale: it ran, or moved while it was read */
	struct link_list links;
	struct monitor_list monitors;
	struct process_list alone; /* of this process: what waits are of */
	struct waits waits;
	VEC(struct inspect_pair) dictionary;
	uint64_t unreadable; /* places anywhere */
	uint64_t error_handler, trace_token;
	uint32_t queue_flags;
	uint64_t catches;
	uint64_t gc[4]; /* virtual heap: young size, block, old size, block */
	raddr high_water;
	struct behaviour_state state;
	struct off_heap binaries;
	struct timer_list timers;

	struct signal_counts messages;
	struct shape_table shapes;
	bool shaped; /* shapes are counted */
	uint64_t message_words, on_heap;
	uint64_t first[INSPECT_SAMPLE], last[INSPECT_SAMPLE]; /* last: a ring */
	uint64_t nr_seen;
	bool keep_last;

	bool counted; /* census, largest */
	struct heap_census census;
	VEC(struct inspect_root) largest;

	VEC(char *) warnings; /* owned */
};

/* All of the command but opening the node: pid or name -> ctx->out, as ctx->opt says. */
int inspect_process(struct command_context *ctx, struct beam_node *n, const char *what,
		    struct error *err);

void inspect_warn(struct inspect *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void inspect_mailbox(struct inspect *x);
void inspect_heap(struct inspect *x);

void inspect_text(struct inspect *x);
int inspect_json(struct inspect *x, struct error *err);

/* Texts that both share; they add to *out. */
void inspect_term(struct inspect *x, struct strbuf *out, uint64_t term);
void inspect_initial_call(struct inspect *x, struct strbuf *out);
void inspect_name(struct inspect *x, struct strbuf *out); /* registered name as Erlang text */
/* As an element of process_info(P, monitors), (P, monitored_by), (P, suspending). */
void inspect_monitor(struct inspect *x, struct strbuf *out, const struct monitor_item *m);
/* As erlang:start_timer/3 returned it; nothing if it is not known. */
void inspect_timer_ref(struct strbuf *out, const struct timer_item *t);
bool inspect_is_monitor(const struct monitor_item *m);
bool inspect_is_monitored_by(const struct monitor_item *m);
bool inspect_is_suspended_by(const struct monitor_item *m);
bool inspect_is_suspending(const struct monitor_item *m);
/* max_heap_size: words and whether it kills, logs, counts shared binaries. */
struct inspect_max_heap {
	uint64_t size;
	bool kill, log, shared, has_shared;
};
/* Binaries and largest terms that are shown. */
size_t inspect_top(const struct inspect *x);
struct inspect_max_heap inspect_max_heap(const struct inspect *x);
const char *inspect_queue_data(const struct inspect *x);
const char *inspect_priority(const struct inspect *x);

#endif
