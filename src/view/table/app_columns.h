/* SPDX-License-Identifier: BSD-2-Clause */
/* Applications as rows of a table. */
#ifndef EBEAM_VIEW_APP_COLUMNS_H
#define EBEAM_VIEW_APP_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "view/table/table.h"

struct top_app_row {
	uint64_t id;	  /* atom of its name; 0 = the row for what belongs to no application */
	const char *name; /* valid until the node is read again */
	const char *vsn;  /* NULL = not known */
	bool running;	  /* it has an application master */
	uint32_t modules;
	/* Percent of a core, NAN = not known: `cpu` used by its processes; `code_cpu` by its code:
	 * samples in which the innermost frame that is in any application is in its modules. */
	double cpu, code_cpu;
	uint64_t processes, memory, message_queue_len; /* memory: bytes of its processes */
	double reductions;			       /* per second, NAN = not known */
};

/* Ends with name == NULL; rows are struct top_app_row. */
extern const struct table_column app_columns[];

#endif
