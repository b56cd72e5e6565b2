/* SPDX-License-Identifier: BSD-2-Clause */
/* A process, as answers of `ebeam dump` name it. */
#ifndef EBEAM_VIEW_DUMP_PROCESS_H
#define EBEAM_VIEW_DUMP_PROCESS_H

#include <stdbool.h>

struct dump_process { /* texts: NULL = none, or not known */
	const char *pid, *name, *status, *current;
	bool stale; /* the process runs: `current` is where it last stopped */
};

#endif
