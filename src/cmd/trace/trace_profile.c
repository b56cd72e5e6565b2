/* SPDX-License-Identifier: BSD-2-Clause */
/* A flame graph of the callers of functions, instead of lines (trace.h). */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/trace/trace.h"

bool trace_profile_is_wanted(const struct options *o)
{
	const struct exporter *e = o->output ? exporter_by_suffix(o->output) : NULL;

	/* -o FILE.json without -f means lines as JSON. */
	return o->format || (e && !e->timeline && strcmp(e->name, "json") != 0);
}

static int on_opened(void *arg, const char **capture, struct error *err)
{
	struct trace *t = arg;
	int rc = weigh_name(&t->weigh, t->run, capture, err);

	return rc ? rc : weigh_open(&t->weigh, t->run, err);
}

static void on_other(void *arg, const struct event *ev)
{
	struct trace *t = arg;

	weigh_other(&t->weigh, ev);
}

/* 1 when the limit of calls is reached; but not if ends are needed, as the last call must end. */
static int on_call(void *arg, const struct event *ev)
{
	struct trace *t = arg;
	bool is_call = ev->u.call.kind == CALL_KIND_CALL;

	t->seen[event_stream_call_is_c(event_run_stream(t->run), ev)] += is_call;
	if (is_call && (trace_is_full(t) || !trace_takes(t, ev)))
		return 0;
	weigh_other(&t->weigh, ev);
	if (is_call) {
		t->shown++;
		event_run_count(t->run);
	}
	return trace_is_full(t) && !t->functions.returns;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct trace *t = arg;

	weigh_event(&t->weigh, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct trace *t = arg;
	int rc = last ? weigh_finish(&t->weigh, err) : 0;

	if (rc == 0 && last)
		trace_report(t);
	return rc;
}

static void on_closing(void *arg, struct strbuf *line)
{
	struct trace *t = arg;

	trace_add_cost(t, line);
	weigh_closing(&t->weigh, line);
}

int trace_profile_choose(struct trace *t, struct event_consumer *consumer, struct error *err)
{
	struct command_context *ctx = t->ctx;
	const struct options *o = &ctx->opt;
	const struct weight_mode *mode = weight_mode_find("trace", o->weight);
	int rc;

	if (o->count || o->histogram || o->args)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--count, --histogram and --args are tables: they do not go with "
				 "a flame graph");
	rc = render_choose(&t->render, ctx->command, o, err);
	if (rc)
		return rc;
	t->weigh = (struct weigh){
		.ctx = ctx,
		.render = &t->render,
		.mode = o->input && !o->weight ? NULL : mode,
	};
	t->functions.stacks = true;
	t->functions.returns = mode->source == WEIGHT_CALL_TIME;
	t->limit = t->render.text ? 0 : o->limit;
	consumer->opened = on_opened;
	consumer->other = on_other;
	consumer->call = on_call;
	consumer->event = on_event;
	consumer->show = on_show;
	consumer->closing = on_closing;
	return 0;
}

void trace_profile_close(struct trace *t)
{
	weigh_close(&t->weigh);
	render_free(&t->render);
}
