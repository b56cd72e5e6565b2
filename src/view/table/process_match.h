/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of a million processes a typed text is about: those that have it in their pid, name,
 * label, initial call or current function, small letters and capitals alike.  Many rows share few
 * names, so each name is searched once.
 */
#ifndef EBEAM_VIEW_PROCESS_MATCH_H
#define EBEAM_VIEW_PROCESS_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/process/process_rows.h"

/* Zero before use; of struct process_columns_ctx. */
struct process_match {
	VEC(uint8_t) names; /* of each string: not matched yet, no, yes */
	bool in_pids;	    /* the text can be part of a pid */
};

void process_match_free(struct process_match *m);

/* The `matches` of a panel (view/top/panel.h), rows are struct process_row, ctx is struct
 * process_columns_ctx with `match`. */
bool process_row_matches(const void *row, const void *ctx, const char *text, size_t len);

#endif
