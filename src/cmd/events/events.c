/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam events`: a line for each event, of a node or of a capture; or writes a capture.
 */
#include "cmd/events/events.h"

#include <errno.h>

#include "base/compiler.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "cmd/output/timeline_output.h"
#include "cmd/run/event_run.h"

#define ALL_KINDS (((1ull << NR_EVENT_KINDS) - 1) & ~EVENT_KINDS_BY_NAME)

struct events {
	struct command_context *ctx;
	struct timeline_output timeline; /* instead of lines */
	struct event_run *run;
	struct events_format format;
	uint64_t limit; /* 0 = all */
};

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct events *e = arg;
	FILE *out = event_run_out(e->run);

	if (out) {
		e->format.stream = event_run_stream(e->run);
		events_format(&e->format, kind, ev);
		if (fwrite(e->format.line.buf, 1, e->format.line.len, out) != e->format.line.len)
			return 1; /* the caller reports the write error */
	}
	return e->limit && event_run_taken(e->run) >= e->limit;
}

/* ---- a time line ---------------------------------------------------------------------------- */

static int on_opened(void *arg, const char **capture, struct error *err)
{
	struct events *e = arg;

	UNUSED(capture);
	return timeline_output_open(&e->timeline, e->ctx->opt.output, event_run_stream(e->run),
				    e->ctx->out, err);
}

static int on_timeline_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct events *e = arg;

	timeline_event(e->timeline.timeline, kind, ev);
	return e->limit && event_run_taken(e->run) >= e->limit;
}

static void on_timeline_other(void *arg, const struct event *ev)
{
	struct events *e = arg;

	if (e->timeline.timeline)
		timeline_other(e->timeline.timeline, ev);
}

static int on_timeline_end(void *arg, bool last, struct error *err)
{
	struct events *e = arg;

	return last ? timeline_output_finish(&e->timeline, err) : 0;
}

static int list(struct command_context *ctx, struct error *err)
{
	struct beam_node *n = NULL;
	int rc = ctx->opt.pid ? target_open(&n, ctx, err) : 0;

	rc = rc ? rc : events_list(ctx, n, err);
	beam_node_close(n);
	return rc;
}

int cmd_events(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct events e = {
		.ctx = ctx, .limit = o->limit, .format = {.json = o->json, .stacks = o->stack}};
	struct event_consumer consumer = {
		.kinds = o->events ? o->events : ALL_KINDS,
		.stacks = o->stack,
		.either = true,
		.arg = &e,
		.event = on_event,
	};
	int rc;

	if (o->markdown && !o->list)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--markdown needs --list");
	if (o->list)
		return list(ctx, err);
	if (o->count)
		return events_count(ctx, consumer.kinds, err);
	if (o->watch_ns || o->columns || o->sort)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--watch, --columns and --sort need --count: without it each "
				 "event is a line, written when it happens");
	if (o->output && timeline_output_is_wanted(o->output)) {
		consumer.event = on_timeline_event;
		consumer.opened = on_opened;
		consumer.other = on_timeline_other;
		consumer.show = on_timeline_end;
	}
	events_format_open(&e.format);
	rc = event_run(ctx, &consumer, &e.run, err);
	timeline_output_close(&e.timeline);
	event_run_close(e.run);
	events_format_close(&e.format);
	return rc;
}
