/* SPDX-License-Identifier: BSD-2-Clause */
/* See timeline.h. */
#include "cmd/timeline.h"

#include <string.h>

#include "export/export.h"

bool timeline_is_wanted(const char *path)
{
	const struct exporter *e = exporter_by_suffix(path);

	return e && e->timeline;
}

int timeline_open(struct timeline *t, const char *path, const struct event_stream *s, FILE *out,
		  struct error *err)
{
	int rc = outfile_open(&t->output, path, OUTFILE_WHOLE, out, err);

	if (rc)
		return rc;
	t->path = strcmp(path, "-") ? path : "standard output";
	t->perfetto = perfetto_open(outfile_file(t->output), s);
	return 0;
}

int timeline_finish(struct timeline *t, struct error *err)
{
	int rc = perfetto_finish(t->perfetto, err);

	if (rc) {
		error_prefix(err, "%s", t->path);
		return rc;
	}
	return outfile_commit(&t->output, err);
}

void timeline_close(struct timeline *t)
{
	perfetto_close(t->perfetto);
	outfile_abort(&t->output);
	t->perfetto = NULL;
}
