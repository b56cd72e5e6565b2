/* SPDX-License-Identifier: BSD-2-Clause */
/* One event of the VM as a line of text, or as an object on a line (see events.h). */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/events/events.h"
#include "view/table/stack_show.h"
#include "cmd/run/event_run.h"
#include "model/stream/event_sums.h"
#include "model/stream/event_value.h"

/* Adds the registered name, else the label. */
static void add_name(struct strbuf *out, const struct name_process *p)
{
	if (p && p->registered)
		names_format_module(out, p->registered, strlen(p->registered));
	else if (p && p->label)
		names_format_text(out, p->label, strlen(p->label));
}

/* Times are written with their unit, so the "_ns" of their name is left out. */
static void add_field_name(struct strbuf *out, const struct event_field *field, bool at_least)
{
	size_t len = strlen(field->name);

	if (field->type == FIELD_NS && len > 3 && strcmp(field->name + len - 3, "_ns") == 0)
		len -= 3;
	strbuf_addf(out, " %.*s%s", (int)len, field->name, at_least ? ">=" : "=");
}

static bool is_unprobed(const struct events_format *v, enum event_kind kind)
{
	return v->stream->unprobed >> kind & 1;
}

/* Some kinds always have their stack in text, as they are of no use without it. */
static bool shows_stack(const struct events_format *v, enum event_kind kind)
{
	return v->stacks || is_unprobed(v, kind) || event_rows[kind].group == EVENT_GROUP_LONG;
}

static void format_text(struct events_format *v, enum event_kind kind, const struct event *ev)
{
	const struct name_process *p = names_process(v->stream->names, ev->u.vm.process);
	const struct event_field *fields;
	struct strbuf *out = &v->line;
	struct strbuf text = STRBUF_INIT;
	/* What lasted (a slice, a collection) was under way when sampling of memory began or ended:
	 * its duration is only a lower bound. */
	bool cut = is_unprobed(v, kind) && event_duration_error(kind, ev) == EVENT_UNKNOWN;
	unsigned int nr;
	char clock[32];

	fields = event_fields(kind, &nr);
	strbuf_addstr(out, units_format_clock(event_stream_epoch_ns(v->stream, ev->ts_ns), clock,
					      sizeof(clock)));
	strbuf_addf(out, "  %-12s  %-18s", p ? p->pid : "-", event_rows[kind].name);
	for (unsigned int i = 0; i < nr; i++) {
		if (!event_value_is_known(ev, i, fields[i].type))
			continue;
		strbuf_reset(&text);
		if (event_value_add(&text, v->stream->names, fields[i].type, ev->u.vm.values[i])) {
			add_field_name(out, &fields[i],
				       cut && strcmp(fields[i].name, "duration_ns") == 0);
			strbuf_addstr(out, text.buf);
		}
	}
	strbuf_free(&text);
	if (cut)
		strbuf_addstr(out, " (began before sampling, or has not ended)");
	if (p && (p->registered || p->label)) {
		strbuf_addstr(out, "  (");
		add_name(out, p);
		strbuf_addch(out, ')');
	}
	strbuf_addch(out, '\n');
}

static void field_json(struct events_format *v, const struct event_field *field, uint64_t value,
		       bool known)
{
	struct strbuf text = STRBUF_INIT;

	if (!known) {
		jsonw_null(&v->w, field->name);
	} else if (event_value_is_number(field->type)) {
		jsonw_uint(&v->w, field->name, value);
	} else {
		known = event_value_add(&text, v->stream->names, field->type, value);
		jsonw_string(&v->w, field->name, known ? text.buf : NULL);
	}
	strbuf_free(&text);
}

static void process_json(struct events_format *v, const struct name_process *p)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_string(&v->w, "pid", p ? p->pid : NULL);
	if (p && p->registered)
		names_format_module(&text, p->registered, strlen(p->registered));
	jsonw_string(&v->w, "registered_name", p && p->registered ? text.buf : NULL);
	jsonw_string(&v->w, "label", p ? p->label : NULL);
	strbuf_free(&text);
}

static void format_json(struct events_format *v, enum event_kind kind, const struct event *ev)
{
	const struct name_thread *t = names_thread(v->stream->names, ev->u.vm.thread);
	const struct event_field *fields;
	unsigned int nr;

	fields = event_fields(kind, &nr);
	jsonw_begin_object(&v->w, NULL);
	jsonw_uint(&v->w, "ts_ns", event_stream_epoch_ns(v->stream, ev->ts_ns));
	jsonw_uint(&v->w, "cpu", ev->u.vm.cpu);
	jsonw_string(&v->w, "kind", event_rows[kind].name);
	process_json(v, names_process(v->stream->names, ev->u.vm.process));
	for (unsigned int i = 0; i < nr; i++)
		field_json(v, &fields[i], ev->u.vm.values[i],
			   event_value_is_known(ev, i, fields[i].type));
	jsonw_uint(&v->w, "os_tid", t ? t->os_tid : 0);
	jsonw_string(&v->w, "thread", t ? t->name : NULL);
	if (t && t->scheduler)
		jsonw_uint(&v->w, "scheduler", t->scheduler);
	else
		jsonw_null(&v->w, "scheduler");
	if (shows_stack(v, kind))
		stack_show_json(&v->w, v->stream->names, ev->u.vm.stack);
	/* Each line says that the build is untested, as lines have no envelope. */
	if (*v->stream->untested)
		jsonw_string(&v->w, "untested", v->stream->untested);
	jsonw_end_object(&v->w);
	strbuf_add(&v->line, v->w.buf.buf, v->w.buf.len);
	strbuf_addch(&v->line, '\n');
	strbuf_reset(&v->w.buf);
	memset(v->w.any, 0, sizeof(v->w.any));
}

void events_format(struct events_format *v, enum event_kind kind, const struct event *ev)
{
	strbuf_reset(&v->line);
	if (v->json) {
		format_json(v, kind, ev);
		return;
	}
	format_text(v, kind, ev);
	if (shows_stack(v, kind))
		stack_show_text(&v->line, v->stream->names, ev->u.vm.stack);
}

void events_format_open(struct events_format *v)
{
	strbuf_init(&v->line);
	v->w = (struct jsonw)JSONW(NULL);
}

void events_format_close(struct events_format *v)
{
	strbuf_free(&v->line);
	strbuf_free(&v->w.buf);
}
