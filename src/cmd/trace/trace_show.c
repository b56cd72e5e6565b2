/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and how they ended as lines of text, or an object a line (trace.h). */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/stack_show.h"
#include "cmd/trace/trace.h"

static uint64_t epoch_of(struct trace *t, uint64_t ts_ns)
{
	return event_stream_epoch_ns(event_run_stream(t->run), ts_ns);
}

static const struct name_function *function_of(struct trace *t, uint32_t id)
{
	return names_function(event_run_stream(t->run)->names, id);
}

static void write_line(struct trace *t, struct strbuf *line)
{
	FILE *out = event_run_out(t->run);

	strbuf_addch(line, '\n');
	if (t->held) {
		strbuf_add(t->held, line->buf, line->len);
		strbuf_reset(line);
		return;
	}
	if (out)
		fwrite(line->buf, 1, line->len, out);
	strbuf_reset(line);
	event_run_count(t->run);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Terms are texts of ours, and clean already. */
void trace_add_terms(struct strbuf *out, const struct event *ev)
{
	const char *text;
	uint32_t at = 0, len;

	for (unsigned int i = 0; event_call_term(ev, &at, &text, &len); i++) {
		strbuf_addstr(out, i ? ", " : "");
		strbuf_add(out, text, len);
	}
}

void trace_add_frame(struct strbuf *out, struct names *names, uint32_t id)
{
	const struct name_frame *frame = names_frame(names, id);

	if (frame)
		stack_show_frame(out, names_function(names, frame->function), frame);
}

/* Of its stack that is below the function itself. */
static uint32_t callers_of(struct trace *t, const struct event *ev)
{
	const struct name_frame *frame;
	uint32_t stack = ev->u.call.stack;

	return names_next_frame(event_run_stream(t->run)->names, &stack, &frame) ? stack : 0;
}

/* "lists:sort", without the arity: arguments follow. */
static void add_name(struct trace *t, const struct name_function *f)
{
	size_t from = t->line.len, len;

	names_format_function(&t->line, f);
	for (len = t->line.len; len > from && t->line.buf[len - 1] != '/'; len--)
		;
	if (len > from)
		t->line.buf[t->line.len = len - 1] = '\0';
}

static void begin_text(struct trace *t, uint64_t ts_ns, uint32_t process)
{
	const struct name_process *p = names_process(event_run_stream(t->run)->names, process);
	char clock[32];

	strbuf_addstr(&t->line, units_format_clock(epoch_of(t, ts_ns), clock, sizeof(clock)));
	strbuf_addf(&t->line, "  %-12s  ", p ? p->pid : "-");
}

static void call_text(struct trace *t, const struct event *ev)
{
	struct names *names = event_run_stream(t->run)->names;

	begin_text(t, ev->ts_ns, ev->u.call.process);
	add_name(t, function_of(t, ev->u.call.function));
	strbuf_addch(&t->line, '(');
	trace_add_terms(&t->line, ev);
	strbuf_addch(&t->line, ')');
	if (ev->u.call.flags & CALL_STACK) {
		strbuf_addch(&t->line, '\n');
		stack_show_text(&t->line, names, callers_of(t, ev));
		t->line.buf[--t->line.len] = '\0'; /* write_line() ends it */
	} else if (names_frame(names, ev->u.call.caller)) {
		strbuf_addstr(&t->line, "  <- ");
		trace_add_frame(&t->line, names, ev->u.call.caller);
	}
	write_line(t, &t->line);
}

/* "(3.04 us)"; "(<2.5 us)" if that cannot be known from what tracing took. */
static void add_duration(struct trace *t, uint64_t end_ns, const struct call_under_way *call)
{
	uint64_t ns = end_ns - call->ts_ns - call->tracing_ns;
	char text[32];

	strbuf_addf(&t->line, "  (%s%s)", ns < call->unsure_ns ? "<" : "",
		    units_format_ns(MAX(ns, call->unsure_ns), text, sizeof(text)));
}

/* error, exit or throw, and the term: NULL if not known. */
static const char *exception_class(struct trace *t, const struct event *ev)
{
	return names_string(event_run_stream(t->run)->names,
			    event_value_id(ev, EVENT_AT(PROCESS_EXCEPTION, CLASS)));
}

static const char *exception_term(struct trace *t, const struct event *ev)
{
	return names_string(event_run_stream(t->run)->names,
			    event_value_id(ev, EVENT_AT(PROCESS_EXCEPTION, REASON)));
}

static void exception_text(struct trace *t, const struct event *ev,
			   const struct call_under_way *call)
{
	const char *class = exception_class(t, ev), *term = exception_term(t, ev);

	begin_text(t, ev->ts_ns, ev->u.vm.process);
	names_format_function(&t->line, function_of(t, call->function));
	strbuf_addf(&t->line, " !! %s:%s", class ? class : "?", term ? term : "?");
	add_duration(t, ev->ts_ns, call);
	write_line(t, &t->line);
}

static void end_text(struct trace *t, const struct event *ev, const struct call_under_way *call)
{
	begin_text(t, ev->ts_ns, ev->u.call.process);
	names_format_function(&t->line, function_of(t, call->function));
	strbuf_addstr(&t->line, " -> ");
	trace_add_terms(&t->line, ev);
	add_duration(t, ev->ts_ns, call);
	write_line(t, &t->line);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void begin_json(struct trace *t, const char *kind, uint64_t ts_ns, uint32_t process,
		       uint32_t function)
{
	struct names *names = event_run_stream(t->run)->names;
	const struct name_process *p = names_process(names, process);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(&t->json, NULL);
	jsonw_uint(&t->json, "ts_ns", epoch_of(t, ts_ns));
	jsonw_string(&t->json, "pid", p ? p->pid : NULL);
	jsonw_string(&t->json, "registered_name", p ? p->registered : NULL);
	jsonw_string(&t->json, "kind", kind);
	names_format_function(&text, names_function(names, function));
	jsonw_string(&t->json, "mfa", text.buf);
	strbuf_free(&text);
}

static void end_json(struct trace *t)
{
	event_run_json_mark(event_run_stream(t->run), &t->json);
	jsonw_end_object(&t->json);
	write_line(t, &t->json.buf);
	memset(t->json.any, 0, sizeof(t->json.any));
}

/* null: not asked for, or lost; [] of what nobody called. */
static void callers_json(struct trace *t, const struct event *ev)
{
	uint32_t callers = callers_of(t, ev);

	if (!(ev->u.call.flags & CALL_STACK)) {
		jsonw_null(&t->json, "stack");
	} else if (callers) {
		stack_show_json(&t->json, event_run_stream(t->run)->names, callers);
	} else {
		jsonw_begin_array(&t->json, "stack");
		jsonw_end_array(&t->json);
	}
}

static void call_json(struct trace *t, const struct event *ev)
{
	struct names *names = event_run_stream(t->run)->names;
	const struct name_frame *frame = names_frame(names, ev->u.call.caller);
	struct strbuf caller = STRBUF_INIT;
	const char *text;
	uint32_t at = 0, len;

	begin_json(t, "call", ev->ts_ns, ev->u.call.process, ev->u.call.function);
	jsonw_uint(&t->json, "cpu", ev->u.call.cpu);
	jsonw_begin_array(&t->json, "args");
	while (event_call_term(ev, &at, &text, &len))
		jsonw_stringn(&t->json, NULL, text, len);
	jsonw_end_array(&t->json);
	if (frame)
		names_format_function(&caller, names_function(names, frame->function));
	jsonw_string(&t->json, "caller", frame ? caller.buf : NULL);
	jsonw_string(&t->json, "file", frame ? frame->file : NULL);
	if (frame && frame->file)
		jsonw_uint(&t->json, "line", frame->line);
	else
		jsonw_null(&t->json, "line");
	jsonw_bool(&t->json, "truncated", ev->u.call.flags & CALL_TRUNCATED);
	callers_json(t, ev);
	strbuf_free(&caller);
	end_json(t);
}

static void ended_json(struct trace *t, const struct event *ev, const struct call_under_way *call)
{
	const char *text;
	uint32_t at = 0, len;

	begin_json(t, "return", ev->ts_ns, ev->u.call.process, call->function);
	if (event_call_term(ev, &at, &text, &len))
		jsonw_stringn(&t->json, "result", text, len);
	else
		jsonw_null(&t->json, "result");
	jsonw_uint(&t->json, "duration_ns", ev->ts_ns - call->ts_ns - call->tracing_ns);
	jsonw_uint(&t->json, "tracing_ns", call->tracing_ns);
	jsonw_uint(&t->json, "called_ns", epoch_of(t, call->ts_ns));
	jsonw_bool(&t->json, "truncated", ev->u.call.flags & CALL_TRUNCATED);
	end_json(t);
}

static void exception_json(struct trace *t, const struct event *ev,
			   const struct call_under_way *call)
{
	begin_json(t, "exception", ev->ts_ns, ev->u.vm.process, call->function);
	jsonw_string(&t->json, "class", exception_class(t, ev));
	jsonw_string(&t->json, "result", exception_term(t, ev));
	jsonw_uint(&t->json, "duration_ns", ev->ts_ns - call->ts_ns - call->tracing_ns);
	jsonw_uint(&t->json, "tracing_ns", call->tracing_ns);
	jsonw_uint(&t->json, "called_ns", epoch_of(t, call->ts_ns));
	end_json(t);
}

void trace_show_call(struct trace *t, const struct event *ev)
{
	if (t->ctx->opt.json)
		call_json(t, ev);
	else
		call_text(t, ev);
}

char *trace_hold_call(struct trace *t, const struct event *ev)
{
	struct strbuf text = STRBUF_INIT;

	t->held = &text;
	trace_show_call(t, ev);
	t->held = NULL;
	return strbuf_detach(&text, NULL);
}

void trace_show_held(struct trace *t, const char *line)
{
	FILE *out = event_run_out(t->run);

	if (out)
		fputs(line, out);
	event_run_count(t->run);
}

void trace_show_end(struct trace *t, const struct event *ev, const struct call_under_way *call)
{
	if (t->ctx->opt.json)
		ended_json(t, ev, call);
	else
		end_text(t, ev, call);
}

void trace_show_exception(struct trace *t, const struct event *ev,
			  const struct call_under_way *call)
{
	if (t->ctx->opt.json)
		exception_json(t, ev, call);
	else
		exception_text(t, ev, call);
}
