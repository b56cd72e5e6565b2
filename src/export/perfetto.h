/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A time line in the Chrome trace event format (JSON), which ui.perfetto.dev, chrome://tracing and
 * others open.  It is written mark by mark; a snapshot has no times, so exporters[] has no function
 * that writes one.  Times are microseconds since the start of the recording.
 */
#ifndef EBEAM_EXPORT_PERFETTO_H
#define EBEAM_EXPORT_PERFETTO_H

#include <stdio.h>

#include "base/error.h"
#include "model/timeline/timeline.h"
#include "names/names.h"

struct perfetto;

/* Borrows both; `names` has the stacks of the marks. */
struct perfetto *perfetto_open(FILE *f, const struct names *names);
timeline_fn perfetto_mark; /* `arg` is the struct perfetto */
/* Ends the file.  0 or negative errno. */
int perfetto_finish(struct perfetto *p, const struct timeline_summary *s, struct error *err);
void perfetto_close(struct perfetto *p); /* NULL ok */

#endif
