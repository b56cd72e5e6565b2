/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of applications: CPU and memory of the processes of each (those whose group leader is its
 * application master, as in application:get_application(Pid)), and the CPU that its code used in
 * any process.
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
 * Replaces the rows by those of a new reading.  `processes` were read with `source`, and have their
 * CPU from samples; `snapshot` (NULL = none) is of the window, in which a fully busy core has
 * core_samples samples.  The list of applications is read again every few seconds.
 */
int top_apps_read(struct top_apps *a, struct process_source *source,
		  const struct process_table *processes, const struct snapshot *snapshot,
		  double core_samples, struct error *err);
/* Fills in columns and rows. */
void top_apps_table(const struct top_apps *a, struct table *out);
uint64_t top_apps_id(const void *row);

#endif
