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
#include "model/event_profile.h"
#include "probe/sources.h"

struct weigh_run {
	struct command_context *ctx;
	const struct weight_mode *mode;
	struct render *render;
	struct event_run *run;
	struct event_profile *profile;
	struct outfile *output; /* of every format but the capture */
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
	rc = event_profile_open(&w->profile, event_run_stream(w->run), w->mode);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot make a profile: %s",
				 error_text(rc));
	return r->capture ? 0 : render_open(&w->output, r, w->ctx->out, err);
}

static void on_other(void *arg, const struct event *ev)
{
	struct weigh_run *w = arg;

	event_profile_other(w->profile, ev);
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct weigh_run *w = arg;

	event_profile_event(w->profile, kind, ev);
	return 0;
}

static int on_end(void *arg, bool last, struct error *err)
{
	struct weigh_run *w = arg;
	struct snapshot_options options = render_snapshot_options(w->render, &w->ctx->opt, w->mode);
	struct snapshot *s = NULL;
	int rc;

	(void)last;
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
		w->summary.path = strcmp(w->render->path, "-") ? w->render->path : NULL;
		summary_print(&w->summary);
	}
	snapshot_close(s);
	return rc;
}

/* --dry-run: what would be attached. */
static int describe(struct command_context *ctx, const struct weight_mode *mode, struct error *err)
{
	struct beam_node *n = NULL;
	struct source_plan plan;
	char why[256];
	int rc = target_open(&n, ctx, err);

	if (rc)
		return rc;
	source_plan_of_node(&plan, n, mode->kinds, SOURCE_AUTO);
	for (unsigned int i = 0; i < plan.nr_points; i++)
		fprintf(ctx->out, "%-10s  %s\n", plan.points[i].at_return ? "uretprobe" : "uprobe",
			plan.points[i].symbol);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!(mode->kinds >> kind & 1) || !plan.missing[kind])
			continue;
		source_missing(&plan, (enum event_kind)kind, why, sizeof(why));
		fprintf(ctx->out, "missing     %s (%s)\n", event_rows[kind].name, why);
	}
	fputs("predicted   as often as these are called; what it costs is said at the end\n",
	      ctx->out);
	beam_node_close(n);
	return 0;
}

int record_events(struct command_context *ctx, struct render *render,
		  const struct weight_mode *mode, struct error *err)
{
	struct weigh_run w = {.ctx = ctx, .mode = mode, .render = render};
	const struct event_consumer consumer = {
		.kinds = mode->kinds,
		.stacks = true,
		.mode = mode->name,
		.weight = mode->weight,
		.arg = &w,
		.opened = on_opened,
		.other = on_other,
		.event = on_event,
		.show = on_end,
	};
	int rc;

	if (ctx->opt.dry_run)
		return describe(ctx, mode, err);
	rc = event_run(ctx, &consumer, &w.run, err);
	if (rc == 0)
		rc = summary_exit_code(&w.summary, ctx->opt.min_complete);
	outfile_abort(&w.output);
	event_profile_close(w.profile);
	event_run_close(w.run);
	return rc;
}
