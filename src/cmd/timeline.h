/* SPDX-License-Identifier: BSD-2-Clause */
/* A time line (export/perfetto.h) that goes to a file of the user's choice. */
#ifndef EBEAM_CMD_TIMELINE_H
#define EBEAM_CMD_TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/outfile.h"
#include "export/perfetto.h"

struct timeline {
	struct outfile *output;
	struct perfetto *perfetto;
	const char *path;
};

/* Does the name of a file ask for one? */
bool timeline_is_wanted(const char *path);
/* Borrows path and stream; `out` is standard output. */
int timeline_open(struct timeline *t, const char *path, const struct event_stream *s, FILE *out,
		  struct error *err);
/* Writes the rest and gives the file its name. */
int timeline_finish(struct timeline *t, struct error *err);
void timeline_close(struct timeline *t); /* what is not finished is removed */

#endif
