/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam report FILE`: capture -> events -> profile -> snapshot -> exporter.  Only the first step
 * differs from `ebeam record`, so that the output has the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/output/timeline_output.h"
#include "cmd/record/capture_load.h"
#include "cmd/run/capture_input.h"
#include "cmd/run/summary.h"

/* The start of the output's name, which is in the directory of the capture. */
static char *stem_of(const char *path, const struct snapshot *s, uint64_t start_epoch_ns)
{
	const char *node = snapshot_meta(s, "node");

	if (strcmp(path, "-") == 0)
		return render_stem(node ? node : "capture", start_epoch_ns);
	return xstrndup(path, render_bare_len(path));
}

struct timeline_copy {
	struct timeline_output output;
	struct event_stream stream;
};

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct timeline_copy *c = arg;

	UNUSED(err);
	timeline_output_take(&c->output, &c->stream, rec);
	return 0;
}

static int report_reader(struct render *r, const char *path, struct capture_reader *reader,
			 FILE *out, struct error *err)
{
	struct timeline_copy c = {0};
	const struct source_consumer consumer = {.take = take, .arg = &c};
	char *stem;
	int rc;

	event_stream_open(&c.stream);
	c.stream.start_epoch_ns = capture_reader_start_epoch_ns(reader);
	stem = strcmp(path, "-") == 0 ? render_stem("capture", c.stream.start_epoch_ns)
				      : xstrndup(path, render_bare_len(path));
	render_name(r, stem);
	free(stem);
	rc = timeline_output_open(&c.output, r->path, &c.stream, out, err);
	rc = rc ? rc
		: source_drain(capture_reader_source(reader), SOURCE_DRAIN_ALL, &consumer, err);
	rc = rc ? rc : timeline_output_finish(&c.output, err);
	timeline_output_close(&c.output);
	event_stream_close(&c.stream);
	if (rc == 0 && r->chosen)
		fprintf(out, "%s\n", r->path);
	return rc ? rc : capture_input_warn(path, capture_reader_damage(reader), "shown");
}

/* A time line is written while the capture is read, without a snapshot. */
static int report_timeline(struct render *r, const char *path, FILE *out, struct error *err)
{
	struct capture_input in;
	int rc = capture_input_open(&in, path, err);

	if (rc)
		return rc;
	rc = report_reader(r, path, in.reader, out, err);
	capture_input_close(&in);
	return rc;
}

int cmd_report(struct command_context *ctx, struct error *err)
{
	const char *path = ctx->args[0];
	struct snapshot_options options;
	struct snapshot *snapshot = NULL;
	struct summary summary;
	const struct weight_mode *mode;
	struct capture_profile loaded = {0};
	struct render render;
	char *stem = NULL;
	int rc;

	rc = options_mode(&ctx->opt, &mode, err);
	rc = rc ? rc : render_choose(&render, ctx->command, &ctx->opt, err);
	if (rc)
		return rc;
	if (render.timeline) {
		rc = report_timeline(&render, path, ctx->out, err);
		render_free(&render);
		return rc;
	}
	rc = capture_load(&loaded, path, mode, err);
	if (rc)
		goto done;
	options = render_snapshot_options(&render, &ctx->opt, loaded.mode);
	rc = profile_snapshot(loaded.profile, &options, &snapshot, err);
	if (rc)
		goto done;
	capture_input_warn(path, loaded.damage, "shown");
	stem = stem_of(path, snapshot, loaded.start_epoch_ns);
	render_name(&render, stem);
	rc = render_write(&render, &ctx->opt, snapshot, NULL, ctx->out, err);
	if (rc)
		goto done;
	summary_of_snapshot(&summary, snapshot);
	summary.path = strcmp(render.path, "-") != 0 ? render.path : NULL;
	summary_print(&summary);
	rc = summary_exit_code(&summary, ctx->opt.min_complete);
	if (loaded.damage[0])
		rc = ERROR_KIND_PARTIAL;
done:
	free(stem);
	snapshot_close(snapshot);
	capture_unload(&loaded);
	render_free(&render);
	return rc;
}
