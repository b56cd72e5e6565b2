/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a time line (model/timeline/timeline.h) to the file of -o. */
#ifndef EBEAM_CMD_TIMELINE_OUTPUT_H
#define EBEAM_CMD_TIMELINE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/output/outfile.h"
#include "model/stream/event_stream.h"
#include "model/timeline/timeline.h"

struct perfetto;

struct timeline_output {
	struct outfile *output;
	struct perfetto *perfetto;
	struct timeline *timeline; /* takes the events; NULL = not open */
	const char *path;
};

/* Is `path` the name of a time line (.perfetto.json)? */
bool timeline_output_is_wanted(const char *path);
/* Borrows path and stream; `out` is standard output. */
int timeline_output_open(struct timeline_output *t, const char *path, const struct event_stream *s,
			 FILE *out, struct error *err);
/* Writes the rest and gives the file its name. */
int timeline_output_finish(struct timeline_output *t, struct error *err);
void timeline_output_close(struct timeline_output *t); /* removes a file that is not finished */

/* Adds a record of any type to the time line, and to the stream. */
void timeline_output_take(struct timeline_output *t, struct event_stream *s,
			  const struct rec_header *rec);

#endif
