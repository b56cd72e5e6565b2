/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam events`: each event a line, of a node or of a capture; or a capture instead.
 */
#include "cmd/events.h"

#include <errno.h>

#include "base/compiler.h"
#include "beam/node.h"
#include "cmd/event_run.h"

#define ALL_KINDS ((1ull << NR_EVENT_KINDS) - 1)

struct events {
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
			return 1; /* the loop finds out why */
	}
	return e->limit && event_run_taken(e->run) >= e->limit;
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
	struct events e = {.limit = o->limit, .format = {.json = o->json, .stacks = o->stack}};
	const struct event_consumer consumer = {
		.kinds = o->events ? o->events : ALL_KINDS,
		.stacks = o->stack,
		.either = true,
		.arg = &e,
		.event = on_event,
	};
	int rc;

	if (o->markdown && !o->list)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--markdown goes with --list");
	if (o->list)
		return list(ctx, err);
	events_format_open(&e.format);
	rc = event_run(ctx, &consumer, &e.run, err);
	event_run_close(e.run);
	events_format_close(&e.format);
	return rc;
}
