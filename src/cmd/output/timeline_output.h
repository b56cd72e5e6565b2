/* SPDX-License-Identifier: BSD-2-Clause */
/* A time line (model/timeline/timeline.h) that goes to a file of the user's choice. */
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

/* Does the name of a file ask for one? */
bool timeline_output_is_wanted(const char *path);
/* Borrows path and stream; `out` is standard output. */
int timeline_output_open(struct timeline_output *t, const char *path, const struct event_stream *s,
			 FILE *out, struct error *err);
/* Writes the rest and gives the file its name. */
int timeline_output_finish(struct timeline_output *t, struct error *err);
void timeline_output_close(struct timeline_output *t); /* what is not finished is removed */

/* One record, of whatever type, that the stream has not taken yet. */
void timeline_output_take(struct timeline_output *t, struct event_stream *s,
			  const struct rec_header *rec);

#endif
