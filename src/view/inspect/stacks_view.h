/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam dump`: stacks of all processes, equal ones merged. */
#ifndef EBEAM_VIEW_STACKS_VIEW_H
#define EBEAM_VIEW_STACKS_VIEW_H

#include "base/compiler.h"
#include "base/vec.h"
#include "model/process/process_rows.h"
#include "model/process/stack_groups.h"
#include "names/names.h"
#include "view/table/table.h"

struct stacks_row {
	uint64_t count; /* processes with this stack */
	uint8_t status; /* index in process_status_names[] */
	bool stale;	/* the processes run: the stack is where they last stopped */
	bool truncated;
	/* The function of process_info(P, current_function); NULL = undefined.  outside: it is a
	 * function without a frame (a BIF, ...), see dump_current_is_extra(). */
	const struct name_frame *current;
	bool outside;
	const uint64_t *frames; /* ids, top first */
	uint32_t nr_frames;
	uint32_t nr_members;
	const char *members[STACK_GROUP_MEMBERS]; /* pids; in text each with its name */
};

struct stacks_answer {
	const struct names *names;
	const char *node; /* its name; NULL = not known */
	VEC(struct stacks_row) rows;
	size_t stacks; /* number of different stacks, also of those not in rows */
	uint64_t by_status[ARRAY_SIZE(process_status_names)]; /* processes of all stacks */
};

/* How many processes of a stack text names. */
#define STACKS_EXAMPLES 4

/* whole: with all frames of deep stacks. */
void stacks_view_write(FILE *f, const struct stacks_answer *a, bool whole, bool color);
/* Writes the member "data" of the JSON answer. */
void stacks_view_json(struct jsonw *w, const struct stacks_answer *a);

#endif
