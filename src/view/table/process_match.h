/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter of the panel of processes: a process matches a text that is part of its pid, name,
 * label, initial call or current function, ignoring case.  A million rows share few names, so the
 * result for each name is kept.
 */
#ifndef EBEAM_VIEW_PROCESS_MATCH_H
#define EBEAM_VIEW_PROCESS_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/process/process_rows.h"

/* To be zeroed before use; process_columns_ctx.match points to it. */
struct process_match {
	VEC(uint8_t) names; /* by id of a string: NOT_MATCHED (not searched yet), NO or YES */
	bool in_pids;	    /* the text can be part of a pid */
};

void process_match_free(struct process_match *m);

/* For panel_source.matches (view/top/panel.h).  Rows are struct process_row; ctx is a struct
 * process_columns_ctx whose `match` is not NULL. */
bool process_row_matches(const void *row, const void *ctx, const char *text, size_t len);

#endif
