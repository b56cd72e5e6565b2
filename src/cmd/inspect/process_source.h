/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what src/beam reads of processes to the rows of the model: names are looked up here, each
 * once, and kept for as long as the source lives.
 */
#ifndef EBEAM_CMD_PROCESS_SOURCE_H
#define EBEAM_CMD_PROCESS_SOURCE_H

#include "base/idmap.h"
#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/term/term.h"
#include "model/process/process_rows.h"

struct process_function {
	raddr current, i; /* the key */
	uint32_t function, file, line;
};
struct process_call {
	uint64_t mfa[3]; /* the key */
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
	VEC(uint32_t) atoms;   /* by index: string id, 0 = not yet */
	VEC(uint32_t) written; /* the same of atoms as they are written */
	VEC(struct process_function) functions;
	VEC(struct process_call) calls;
	struct idmap function_index, call_index;
	uint64_t undecoded; /* messages without their size, see beam/process/process.h */
	size_t kept;	    /* strings after the last process_source_renew() */
	bool anew;	    /* what earlier rows say counts for nothing */
};

/* Code that cannot be had leaves functions out: *warning says so ("" = all is there). */
int process_source_open(struct process_source *s, struct beam_node *n, unsigned int needs,
			char *warning, size_t warning_size, struct error *err);
void process_source_close(struct process_source *s);
/* For process_scan(). */
unsigned int process_source_what(const struct process_source *s);

/* `before` is the row of an earlier reading that may be of the same process, NULL if there is none:
 * names of one that did nothing since are taken from it. */
void process_source_row(struct process_source *s, const struct process_facts *p,
			const struct process_row *before, struct process_row *row);
/* Pid term -> pid of a row. */
uint64_t process_source_pid(struct process_source *s, uint64_t term);
/* Those that started the process, nearest first: pids, or PROCESS_PID_TEXT with the registered name
 * of one of this node.  Returns how many. */
unsigned int process_source_ancestors(struct process_source *s, const struct process_facts *p,
				      uint64_t *ancestors, unsigned int max);
/*
 * Code may have been loaded, and names that nobody has take room: all are looked up anew in the
 * next reading, until process_source_renewed().  `rows` are all that there are; they keep the names
 * that they have, though other ids may stand for them.
 */
void process_source_renew(struct process_source *s, struct process_row *rows, size_t nr);
void process_source_renewed(struct process_source *s);

#endif
