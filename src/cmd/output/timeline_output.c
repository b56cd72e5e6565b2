/* SPDX-License-Identifier: BSD-2-Clause */
/* See timeline_output.h. */
#include "cmd/output/timeline_output.h"

#include <string.h>

#include "export/export.h"
#include "export/perfetto.h"

bool timeline_output_is_wanted(const char *path)
{
	const struct exporter *e = exporter_by_suffix(path);

	return e && e->timeline;
}

int timeline_output_open(struct timeline_output *t, const char *path, const struct event_stream *s,
			 FILE *out, struct error *err)
{
	int rc = outfile_open(&t->output, path, OUTFILE_WHOLE, out, err);

	if (rc)
		return rc;
	t->path = strcmp(path, "-") ? path : "standard output";
	t->perfetto = perfetto_open(outfile_file(t->output), s->names);
	t->timeline = timeline_open(s, perfetto_mark, t->perfetto);
	return 0;
}

int timeline_output_finish(struct timeline_output *t, struct error *err)
{
	struct timeline_summary summary;
	int rc;

	timeline_finish(t->timeline, &summary);
	rc = perfetto_finish(t->perfetto, &summary, err);
	if (rc) {
		error_prefix(err, "%s", t->path);
		return rc;
	}
	return outfile_commit(&t->output, err);
}

void timeline_output_close(struct timeline_output *t)
{
	timeline_close(t->timeline);
	perfetto_close(t->perfetto);
	outfile_abort(&t->output);
	t->timeline = NULL;
	t->perfetto = NULL;
}

void timeline_output_take(struct timeline_output *t, struct event_stream *s,
			  const struct rec_header *rec)
{
	uint64_t refused = s->refused;
	enum event_kind kind;
	struct event ev;

	if (event_stream_take(s, rec, &ev, &kind))
		timeline_event(t->timeline, kind, &ev);
	else if (s->refused == refused)
		timeline_other(t->timeline, &ev);
}
