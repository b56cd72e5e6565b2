/* SPDX-License-Identifier: BSD-2-Clause */
/* See line_view.h. */
#include "view/trace/line_view.h"

#include "base/compiler.h"
#include "base/jsonw.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/stack_show.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void add_terms(struct strbuf *out, const struct trace_line *l)
{
	for (unsigned int i = 0; i < l->nr_terms; i++) {
		strbuf_addstr(out, i ? ", " : "");
		strbuf_add(out, l->terms[i].text, l->terms[i].len);
	}
}

void trace_line_add_args(struct strbuf *out, const struct trace_line *l)
{
	strbuf_addch(out, '(');
	add_terms(out, l);
	strbuf_addch(out, ')');
}

/* Adds "lists:sort", without the arity, as arguments follow. */
static void add_name(struct strbuf *out, const struct name_function *f)
{
	size_t from = out->len, len;

	names_format_function(out, f);
	for (len = out->len; len > from && out->buf[len - 1] != '/'; len--)
		;
	if (len > from)
		out->buf[out->len = len - 1] = '\0';
}

static void add_call(struct strbuf *out, const struct trace_line *l)
{
	add_name(out, l->function);
	trace_line_add_args(out, l);
	if (l->has_stack) {
		strbuf_addch(out, '\n');
		stack_show_text(out, l->names, l->callers);
		return;
	}
	if (l->caller) {
		strbuf_addstr(out, "  <- ");
		stack_show_frame(out, names_function(l->names, l->caller->function), l->caller);
	}
	strbuf_addch(out, '\n');
}

static void add_end(struct strbuf *out, const struct trace_line *l)
{
	names_format_function(out, l->function);
	if (l->kind == TRACE_LINE_EXCEPTION) {
		strbuf_addf(out, " !! %s:%s", l->class ? l->class : "?",
			    l->reason ? l->reason : "?");
	} else {
		strbuf_addstr(out, " -> ");
		add_terms(out, l);
	}
	/* "(3.04 us)"; "(<2.50 us)" if the duration is less than tracing can measure. */
	strbuf_addstr(out, l->duration_ns < l->unsure_ns ? "  (<" : "  (");
	cell_ns(out, (double)MAX(l->duration_ns, l->unsure_ns));
	strbuf_addstr(out, ")\n");
}

void trace_line_add_text(struct strbuf *out, const struct trace_line *l)
{
	char clock[32];

	strbuf_addf(out, "%s  %-12s  ", units_format_clock(l->epoch_ns, clock, sizeof(clock)),
		    l->process ? l->process->pid : "-");
	(l->kind == TRACE_LINE_CALL ? add_call : add_end)(out, l);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void call_json(struct jsonw *w, const struct trace_line *l)
{
	const struct name_frame *caller = l->caller;
	struct strbuf text = STRBUF_INIT;

	jsonw_uint(w, "cpu", l->cpu);
	jsonw_begin_array(w, "args");
	for (unsigned int i = 0; i < l->nr_terms; i++)
		jsonw_stringn(w, NULL, l->terms[i].text, l->terms[i].len);
	jsonw_end_array(w);
	if (caller)
		names_format_function(&text, names_function(l->names, caller->function));
	jsonw_string(w, "caller", caller ? text.buf : NULL);
	jsonw_string(w, "file", caller ? caller->file : NULL);
	jsonw_uint_if(w, "line", caller && caller->file, caller ? caller->line : 0);
	/* null: the user did not ask for stacks, or this one was lost; []: the stack is empty. */
	if (l->has_stack)
		stack_show_frames_json(w, l->names, l->callers);
	else
		jsonw_null(w, "stack");
	strbuf_free(&text);
}

static void end_json(struct jsonw *w, const struct trace_line *l)
{
	if (l->kind == TRACE_LINE_EXCEPTION) {
		jsonw_string(w, "class", l->class);
		jsonw_string(w, "result", l->reason);
	} else {
		jsonw_stringn(w, "result", l->terms[0].text, l->terms[0].len);
	}
	jsonw_uint(w, "duration_ns", l->duration_ns);
	jsonw_uint(w, "tracing_ns", l->tracing_ns);
	jsonw_uint(w, "called_ns", l->called_ns);
}

void trace_line_add_json(struct strbuf *out, const struct trace_line *l)
{
	static const char *const kinds[] = {"call", "return", "exception"};
	struct jsonw w = JSONW(NULL);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(&w, NULL);
	jsonw_uint(&w, "ts_ns", l->epoch_ns);
	jsonw_string(&w, "pid", l->process ? l->process->pid : NULL);
	jsonw_string(&w, "registered_name", l->process ? l->process->registered : NULL);
	jsonw_string(&w, "kind", kinds[l->kind]);
	names_format_function(&text, l->function);
	jsonw_string(&w, "mfa", text.buf);
	(l->kind == TRACE_LINE_CALL ? call_json : end_json)(&w, l);
	if (l->kind != TRACE_LINE_EXCEPTION)
		jsonw_bool(&w, "truncated", l->truncated);
	if (l->untested)
		jsonw_string(&w, "untested", l->untested);
	jsonw_end_object(&w);
	strbuf_add(out, w.buf.buf, w.buf.len);
	strbuf_addch(out, '\n');
	strbuf_free(&w.buf);
	strbuf_free(&text);
}
