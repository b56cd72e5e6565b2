/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam record --mode gc|msg|sched|wait`: events of the VM with their stacks, weighed into a
 * profile, which every format then shows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cmd/event_run.h"
#include "cmd/record.h"
#include "cmd/render.h"
#include "cmd/summary.h"
#include "cmd/timeline_output.h"
#include "model/event_profile.h"

struct weigh_run {
	struct command_context *ctx;
	const struct weight_mode *mode;
	struct render *render;
	struct event_run *run;
	struct event_profile *profile;
	struct outfile *output; /* of every format but the capture */
	struct timeline_output timeline;
	struct summary summary;
};

/* Before anything is recorded: the names, and that they can be written. */
static int on_opened(void *arg, const char **capture, struct error *err)
{
	struct weigh_run *w = arg;
	struct render *r = w->render;
	struct beam_facts facts;
	char *stem;
	int rc = beam_node_facts(event_run_node(w->run), &facts, err);

	if (rc)
		return rc;
	stem = render_stem(facts.name, event_run_start_epoch_ns(w->run));
	render_name(r, stem);
	free(stem);
	*capture = r->capture ? r->path : w->ctx->opt.capture;
	if (r->timeline)
		return timeline_output_open(&w->timeline, r->path, event_run_stream(w->run),
					    w->ctx->out, err);
	rc = event_profile_open(&w->profile, event_run_stream(w->run), w->mode);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot make a profile: %s",
				 error_text(rc));
	return r->capture ? 0 : render_open(&w->output, r, w->ctx->out, err);
}

static void on_other(void *arg, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->profile)
		event_profile_other(w->profile, ev);
	else if (w->timeline.timeline)
		timeline_other(w->timeline.timeline, ev);
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->profile)
		event_profile_event(w->profile, kind, ev);
	else
		timeline_event(w->timeline.timeline, kind, ev);
	return 0;
}

static int on_end(void *arg, bool last, struct error *err)
{
	struct weigh_run *w = arg;
	struct snapshot_options options = render_snapshot_options(w->render, &w->ctx->opt, w->mode);
	struct snapshot *s = NULL;
	int rc;

	(void)last;
	if (w->render->timeline) {
		rc = timeline_output_finish(&w->timeline, err);
		if (rc == 0 && w->render->chosen)
			fprintf(w->ctx->out, "%s\n", w->render->path);
		return rc;
	}
	event_profile_finish(w->profile);
	rc = profile_snapshot(event_profile_profile(w->profile), &options, &s, err);
	if (rc)
		return rc;
	if (!w->render->capture)
		rc = render_finish(&w->output, w->render, &w->ctx->opt, s, NULL, w->ctx->out, err);
	else if (w->render->chosen)
		fprintf(w->ctx->out, "%s\n", w->render->path);
	if (rc == 0) {
		summary_of_snapshot(&w->summary, s);
		summary_advise(&w->summary);
		/* The snapshot's own end with it. */
		w->summary.unit = w->mode->unit;
		w->summary.title = w->mode->title;
		w->summary.warnings = NULL;
	}
	snapshot_close(s);
	return rc;
}

/* What the events weigh; counters and costs stand in the line before. */
static void on_closing(void *arg, struct strbuf *line)
{
	struct weigh_run *w = arg;
	struct summary summary = w->summary;

	summary.no_losses = true;
	if (!w->render->timeline) {
		strbuf_addstr(line, "  ");
		summary_format(line, &summary);
	}
	if (strcmp(w->render->path, "-") != 0)
		strbuf_addf(line, "  -> %s", w->render->path);
}

/* What a time line of a mode shows beside what is weighed. */
static uint64_t also_shown(const struct weight_mode *mode)
{
	const uint64_t gc = 1ull << EVENT_GC_MINOR_START | 1ull << EVENT_GC_MINOR_END |
			    1ull << EVENT_GC_MAJOR_START | 1ull << EVENT_GC_MAJOR_END;

	if (mode->source == WEIGHT_MESSAGE)
		return 1ull << EVENT_MESSAGE_QUEUED | 1ull << EVENT_MESSAGE_RECEIVE;
	return gc;
}

int record_events(struct command_context *ctx, struct render *render,
		  const struct weight_mode *mode, struct error *err)
{
	struct weigh_run w = {.ctx = ctx, .mode = mode, .render = render};
	const struct event_consumer consumer = {
		.kinds = mode->kinds | (render->timeline ? also_shown(mode) : 0),
		.stacks = true,
		.mode = mode->name,
		.weight = mode->weight,
		.arg = &w,
		.opened = on_opened,
		.other = on_other,
		.event = on_event,
		.show = on_end,
		.closing = on_closing,
	};
	int rc = event_run(ctx, &consumer, &w.run, err);

	if (rc == 0 && !ctx->opt.dry_run && !render->timeline)
		rc = summary_exit_code(&w.summary, ctx->opt.min_complete);
	timeline_output_close(&w.timeline);
	outfile_abort(&w.output);
	event_profile_close(w.profile);
	event_run_close(w.run);
	return rc;
}
