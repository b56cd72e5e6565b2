/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes rows of the model (process_rows.h) from what src/beam reads of processes.  Each name is
 * looked up once, and kept until process_source_renew() or process_source_close().
 */
#ifndef EBEAM_CMD_PROCESS_SOURCE_H
#define EBEAM_CMD_PROCESS_SOURCE_H

#include "base/idmap.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/term/term.h"
#include "model/process/process_rows.h"

struct process_function {
	raddr current, i; /* the key of function_index */
	uint32_t function, file, line;
};
struct process_call {
	uint64_t mfa[3]; /* the key of call_index */
	uint32_t text;
};

struct process_source {
	struct beam_node *node;
	unsigned int needs; /* PROCESS_NEEDS_* */
	struct process_strings strings;
	struct stack_code code;
	bool has_code;
	struct term_formats formats;
	struct term_reader reader;
	VEC(uint32_t) atoms;   /* by atom index: string id of the text; 0 = not looked up yet */
	VEC(uint32_t) written; /* the same, of the text as Erlang or Elixir writes it */
	VEC(struct process_function) functions;
	VEC(struct process_call) calls;
	struct idmap function_index, call_index;
	struct mem *cached;	/* NULL, or see process_source_cache() */
	unsigned int nr_cached; /* processes since it was emptied */
	struct keytab timers;	/* number by receiver: the address of a process, or a name */
	uint64_t undecoded;	/* messages without their size, see beam/process/process.h */
	size_t kept;		/* number of strings after the last process_source_renew() */
	bool anew;		/* names are looked up again, not copied from previous rows */
};

/* If the node's code cannot be read, rows have no functions, and *warning says so; else "". */
int process_source_open(struct process_source *s, struct beam_node *n, unsigned int needs,
			char *warning, size_t warning_size, struct error *err);
void process_source_close(struct process_source *s);
/* PROCESS_READ_* flags for process_read(). */
unsigned int process_source_what(const struct process_source *s);
/* As processes_scan(), of what is needed for the rows; visit() gets the caller's `arg`. */
int process_source_scan(struct process_source *s,
			int (*visit)(void *arg, struct process_facts *block, size_t nr), void *arg,
			struct process_totals *totals, struct error *err);

/* A cache of the node's memory, for the lists of the next process: what it has is at most as old as
 * a few hundred processes before. */
struct mem *process_source_cache(struct process_source *s);

/* `before` is the row of the same slot in the last reading, or NULL: if it is of the same process,
 * which has not run since, its names are taken over. */
void process_source_row(struct process_source *s, const struct process_facts *p,
			const struct process_row *before, struct process_row *row);
/* Returns a pid term as process_row.pid has it. */
uint64_t process_source_pid(struct process_source *s, uint64_t term);
/* The ancestors of a process ($ancestors), nearest first, then its parent: pids, or
 * PROCESS_PID_TEXT with the registered name of a process of this node.  Returns how many. */
unsigned int process_source_ancestors(struct process_source *s, const struct process_facts *p,
				      uint64_t *ancestors, unsigned int max);
/*
 * In the next reading, until process_source_renewed(), all names are looked up anew, as code may
 * have been loaded.  `rows` must be all rows that exist: strings that they do not refer to may be
 * freed; then the string ids in the rows change, but not what they name.
 */
void process_source_renew(struct process_source *s, struct process_row *rows, size_t nr);
void process_source_renewed(struct process_source *s);

#endif
