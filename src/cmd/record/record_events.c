/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam record --mode gc|msg|sched`: events of the VM with their stacks, weighed into a
 * profile, which every format then shows.
 */
#include <string.h>

#include "cmd/output/timeline_output.h"
#include "cmd/record/record.h"
#include "cmd/run/event_run.h"
#include "cmd/run/weigh.h"

struct weigh_run {
	struct weigh weigh;
	struct event_run *run;
	struct timeline_output timeline; /* instead of a profile */
};

/* Chooses and opens the outputs before anything is recorded, so that errors come early. */
static int on_opened(void *arg, const char **capture, struct error *err)
{
	struct weigh_run *w = arg;
	struct render *r = w->weigh.render;
	int rc = weigh_name(&w->weigh, w->run, capture, err);

	if (rc)
		return rc;
	if (r->timeline)
		return timeline_output_open(&w->timeline, r->path, event_run_stream(w->run),
					    w->weigh.ctx->out, err);
	return weigh_open(&w->weigh, w->run, err);
}

static void on_other(void *arg, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->timeline.timeline)
		timeline_other(w->timeline.timeline, ev);
	else
		weigh_other(&w->weigh, ev);
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->timeline.timeline)
		timeline_event(w->timeline.timeline, kind, ev);
	else
		weigh_event(&w->weigh, kind, ev);
	return 0;
}

static int on_end(void *arg, bool last, struct error *err)
{
	struct weigh_run *w = arg;
	struct render *r = w->weigh.render;
	int rc;

	(void)last;
	if (!r->timeline)
		return weigh_finish(&w->weigh, err);
	rc = timeline_output_finish(&w->timeline, err);
	if (rc == 0 && r->chosen)
		fprintf(w->weigh.ctx->out, "%s\n", r->path);
	return rc;
}

static void on_closing(void *arg, struct strbuf *line)
{
	struct weigh_run *w = arg;
	const char *path = w->weigh.render->path;

	if (!w->weigh.render->timeline)
		weigh_closing(&w->weigh, line);
	else if (strcmp(path, "-") != 0)
		strbuf_addf(line, "  -> %s", path);
}

/* Of bytes that malloc gives one in so many is sampled: some hundred samples for a leak of a few
 * MiB, and at the most some hundred a second within the default budget. */
#define LIBC_EVERY (16u << 10)

/* Kinds that a time line shows in addition to those of the mode. */
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
	struct weigh_run w = {.weigh = {.ctx = ctx, .mode = mode, .render = render}};
	const struct event_consumer consumer = {
		.kinds = mode->kinds | (render->timeline ? also_shown(mode) : 0),
		.stacks = true,
		.libc_every = mode->source == WEIGHT_MALLOC ? LIBC_EVERY : 0,
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
		rc = summary_exit_code(&w.weigh.summary, ctx->opt.min_complete);
	timeline_output_close(&w.timeline);
	weigh_close(&w.weigh);
	event_run_close(w.run);
	return rc;
}
