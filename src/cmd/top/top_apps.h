/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications as rows: the processes of each (those whose group leader is its application master,
 * as application:get_application(Pid) says) with their CPU and memory, and the CPU that its code
 * used, in whatever process.
 */
#ifndef EBEAM_CMD_TOP_APPS_H
#define EBEAM_CMD_TOP_APPS_H

#include "cmd/inspect/process_source.h"
#include "model/process/process_table.h"
#include "model/profile/snapshot.h"
#include "view/table/app_columns.h"

struct top_apps;

int top_apps_open(struct top_apps **out, struct beam_node *n, struct error *err);
void top_apps_close(struct top_apps *a); /* NULL ok */

/*
 * A reading: rows of the one before are gone.  `processes` were read with `source`, and have their
 * CPU from samples; `snapshot` (NULL = none) is of the window in which a core that never rests has
 * core_samples.  What is loaded is read again every few seconds.
 */
int top_apps_read(struct top_apps *a, struct process_source *source,
		  const struct process_table *processes, const struct snapshot *snapshot,
		  double core_samples, struct error *err);
/* Columns and rows. */
void top_apps_table(const struct top_apps *a, struct table *out);
uint64_t top_apps_id(const void *row);

#endif
