/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of calls and of their ends, as text or as JSON, an object a line (trace.h). */
#include "cmd/trace/trace.h"

#include <stdlib.h>

#include "view/table/stack_show.h"
#include "view/trace/line_view.h"

void trace_add_frame(struct strbuf *out, struct names *names, uint32_t id)
{
	const struct name_frame *frame = names_frame(names, id);

	if (frame)
		stack_show_frame(out, names_function(names, frame->function), frame);
}

static void take_terms(struct trace_line *l, const struct event *ev)
{
	uint32_t at = 0;

	while (l->nr_terms < TRACE_LINE_TERMS &&
	       event_call_term(ev, &at, &l->terms[l->nr_terms].text, &l->terms[l->nr_terms].len))
		l->nr_terms++;
	l->truncated = ev->u.call.flags & CALL_TRUNCATED;
}

char *trace_args_text(const struct event *ev)
{
	struct strbuf out = STRBUF_INIT;
	struct trace_line l = {0};

	take_terms(&l, ev);
	trace_line_add_args(&out, &l);
	return strbuf_detach(&out, NULL);
}

static void begin_line(struct trace_line *l, const struct trace *t, uint64_t ts_ns,
		       uint32_t process, uint32_t function)
{
	const struct event_stream *s = event_run_stream(t->run);

	*l = (struct trace_line){
		.epoch_ns = event_stream_epoch_ns(s, ts_ns),
		.names = s->names,
		.process = names_process(s->names, process),
		.function = names_function(s->names, function),
		.untested = *s->untested ? s->untested : NULL,
	};
}

static char *text_of(const struct trace *t, const struct trace_line *l)
{
	struct strbuf text = STRBUF_INIT;

	(t->ctx->opt.json ? trace_line_add_json : trace_line_add_text)(&text, l);
	return strbuf_detach(&text, NULL);
}

char *trace_call_line(const struct trace *t, const struct event *ev)
{
	const struct name_frame *frame;
	uint32_t stack = ev->u.call.stack;
	struct trace_line l;

	begin_line(&l, t, ev->ts_ns, ev->u.call.process, ev->u.call.function);
	take_terms(&l, ev);
	l.cpu = ev->u.call.cpu;
	l.caller = names_frame(l.names, ev->u.call.caller);
	l.has_stack = ev->u.call.flags & CALL_STACK;
	if (names_next_frame(l.names, &stack, &frame)) /* the function itself */
		l.callers = stack;
	return text_of(t, &l);
}

char *trace_end_line(const struct trace *t, const struct event *ev,
		     const struct call_under_way *call)
{
	bool exception = ev->type == REC_EVENT;
	struct trace_line l;

	begin_line(&l, t, ev->ts_ns, exception ? ev->u.vm.process : ev->u.call.process,
		   call->function);
	l.kind = exception ? TRACE_LINE_EXCEPTION : TRACE_LINE_RETURN;
	if (exception) {
		l.class = names_string(l.names,
				       event_value_id(ev, EVENT_AT(PROCESS_EXCEPTION, CLASS)));
		l.reason = names_string(l.names,
					event_value_id(ev, EVENT_AT(PROCESS_EXCEPTION, REASON)));
	} else {
		take_terms(&l, ev);
	}
	l.called_ns = event_stream_epoch_ns(event_run_stream(t->run), call->ts_ns);
	l.duration_ns = ev->ts_ns - call->ts_ns - call->tracing_ns;
	l.tracing_ns = call->tracing_ns;
	l.unsure_ns = call->unsure_ns;
	return text_of(t, &l);
}

void trace_show_line(struct trace *t, char *line)
{
	FILE *out = event_run_out(t->run);

	if (out)
		fputs(line, out);
	free(line);
	event_run_count(t->run);
}
