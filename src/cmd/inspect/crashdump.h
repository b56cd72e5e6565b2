/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `ebeam crashdump`: crashdump.c opens the node and has the sections written in their
 * order: crashdump_vm.c those about the VM, crashdump_process.c those of each process,
 * crashdump_tables.c those about ports, ETS tables, timers, nodes, modules, funs and atoms.
 * Private.
 */
#ifndef EBEAM_CMD_CRASHDUMP_H
#define EBEAM_CMD_CRASHDUMP_H

#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/term/term_dump.h"
#include "cmd/command/command.h"
#include "view/inspect/crashdump_view.h"

struct crashdump_message {
	uint64_t term, token;
};

enum crashdump_text_id {
	CRASHDUMP_TEXT_PID,
	CRASHDUMP_TEXT_NAME,
	CRASHDUMP_TEXT_SPAWNED,
	CRASHDUMP_TEXT_CURRENT,
	CRASHDUMP_TEXT_PARENT,
	CRASHDUMP_TEXT_LINKS,
	CRASHDUMP_TEXT_COUNTER,
	NR_CRASHDUMP_TEXTS
};

struct crashdump {
	const struct command_context *ctx;
	struct beam_node *n;
	/* Memory as it was read first, until it is forgotten, and the node with that memory. */
	struct mem *cached;
	struct beam_node view;
	struct term_formats formats;
	struct term_reader reader; /* of `view` */
	struct term_dump terms;
	struct stack_code code;
	bool has_code;
	FILE *out;
	/* Of one process. */
	struct process_stack stack;
	VEC(struct crashdump_message) messages;
	struct strbuf texts[NR_CRASHDUMP_TEXTS];
	/* Counts; `cut`: messages and timers that were left out. */
	uint64_t processes, torn, vanished, sensitive, cut, unreadable;
	/* Sections that could not be written, with commas. */
	struct strbuf missing;
};

/* Empties a text and gives it back. */
struct strbuf *crashdump_text_of(struct crashdump *c, enum crashdump_text_id id);
/* Appends a term as Erlang text; secrets in it are masked. */
void crashdump_print(struct crashdump *c, struct strbuf *out, uint64_t term);
/* Appends "0x1234 (lists:map/2 + 8)". */
void crashdump_print_counter(struct crashdump *c, struct strbuf *out, raddr at, bool is_return);
/* Remembers that a section is missing. */
void crashdump_lacks(struct crashdump *c, const char *section);

/* Can processes be read?  To be asked before anything is written. */
int crashdump_check(struct crashdump *c, struct error *err);
/* Writes the sections of all processes.  0 or negative errno. */
int crashdump_processes(struct crashdump *c, struct error *err);
void crashdump_vm(struct crashdump *c);	    /* from the head to allocators */
void crashdump_tables(struct crashdump *c); /* ports to funs */
void crashdump_persistent_terms(struct crashdump *c);
void crashdump_atoms(struct crashdump *c);

#endif
