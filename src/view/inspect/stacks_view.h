/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam dump` says: stacks of all processes, equal ones merged. */
#ifndef EBEAM_VIEW_STACKS_VIEW_H
#define EBEAM_VIEW_STACKS_VIEW_H

#include "base/compiler.h"
#include "base/vec.h"
#include "model/process/process_rows.h"
#include "model/process/stack_groups.h"
#include "names/names.h"
#include "view/table/table.h"

struct stacks_row {
	uint64_t count; /* of processes */
	uint8_t status; /* as in process_status_names[] */
	bool stale;	/* they run: it is where they last stopped */
	bool truncated;
	/* What process_info(P, current_function) says; NULL = undefined.  Outside: it is not the
	 * function of the top frame, but one that is no code there. */
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
	size_t stacks;					      /* all, not only those in rows */
	uint64_t by_status[ARRAY_SIZE(process_status_names)]; /* processes of all stacks */
};

/* Processes of a stack that text names. */
#define STACKS_EXAMPLES 4

/* whole: deep stacks too. */
void stacks_view_write(FILE *f, const struct stacks_answer *a, bool whole, bool color);
/* Writes "data". */
void stacks_view_json(struct jsonw *w, const struct stacks_answer *a);

#endif
