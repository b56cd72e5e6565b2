/* SPDX-License-Identifier: BSD-2-Clause */
/* See timeline_marks.h. */
#include "model/timeline/timeline_marks.h"

#include <string.h>

#include "base/compiler.h"
#include "model/stream/event_value.h"

void marks_open(struct marks *m, const struct event_stream *s, timeline_fn *give, void *arg)
{
	*m = (struct marks){.stream = s, .give = give, .arg = arg};
	strbuf_init(&m->texts);
}

void marks_close(struct marks *m)
{
	strbuf_free(&m->texts);
}

uint32_t marks_tid(const struct marks *m, uint32_t thread)
{
	const struct name_thread *n = names_thread(m->stream->names, thread);

	return n ? n->os_tid : 0;
}

struct timeline_mark marks_at(const struct marks *m, enum timeline_type type, uint32_t os_tid,
			      uint64_t ts_ns)
{
	return (struct timeline_mark){.type = type,
				      .os_pid = m->stream->os_pid,
				      .os_tid = os_tid,
				      .ts_ns = ts_ns - MIN(ts_ns, m->stream->start_ns)};
}

struct timeline_mark marks_of(const struct marks *m, enum timeline_type type,
			      const struct event *ev)
{
	return marks_at(m, type, marks_tid(m, ev->u.vm.thread), ev->ts_ns);
}

void marks_give(struct marks *m, struct timeline_mark *mark)
{
	for (unsigned int i = 0; i < m->nr_facts; i++) {
		if (m->facts[i].text)
			m->facts[i].text = m->texts.buf + m->facts[i].number;
	}
	mark->facts = m->facts;
	mark->nr_facts = m->nr_facts;
	m->give(m->arg, mark);
	m->nr_facts = 0;
	strbuf_reset(&m->texts);
}

static void add_fact(struct marks *m, const struct timeline_fact *f)
{
	if (m->nr_facts < MARKS_FACTS)
		m->facts[m->nr_facts++] = *f;
}

void marks_add_number(struct marks *m, const char *name, uint64_t value)
{
	if (value != EVENT_UNKNOWN)
		add_fact(m, &(struct timeline_fact){.name = name, .number = value});
}

void marks_add_text(struct marks *m, const char *name, size_t at)
{
	add_fact(m, &(struct timeline_fact){
			    .name = name, .text = "", .len = m->texts.len - at, .number = at});
}

void marks_add_process_name(const struct marks *m, struct strbuf *out, uint32_t process)
{
	const struct name_process *n = names_process(m->stream->names, process);
	const struct name_function *f;

	if (!n) {
		strbuf_addch(out, '-');
		return;
	}
	f = names_function(m->stream->names, n->initial_call);
	if (n->registered) {
		names_format_module(out, n->registered, strlen(n->registered));
	} else if (n->label) {
		names_format_text(out, n->label, strlen(n->label));
	} else {
		if (f) {
			names_format_function(out, f);
			strbuf_addch(out, ' ');
		}
		strbuf_addstr(out, n->pid);
	}
}

void marks_add_process(struct marks *m, uint32_t process)
{
	const struct name_process *n = names_process(m->stream->names, process);
	size_t at = m->texts.len;

	if (!n)
		return;
	strbuf_addstr(&m->texts, n->pid);
	marks_add_text(m, "pid", at);
	at = m->texts.len;
	marks_add_process_name(m, &m->texts, process);
	marks_add_text(m, "process", at);
}

void marks_add_event(struct marks *m, struct timeline_mark *mark, enum event_kind kind,
		     const struct event *ev)
{
	const struct event_field *fields;
	unsigned int nr;

	fields = event_fields(kind, &nr);
	if (mark->type != TIMELINE_END) /* TIMELINE_BEGIN has the process already */
		marks_add_process(m, ev->u.vm.process);
	for (unsigned int i = 0; i < nr; i++) {
		size_t at = m->texts.len;

		if (!event_value_is_known(ev, i, fields[i].type))
			continue;
		if (event_value_is_number(fields[i].type))
			marks_add_number(m, fields[i].name, ev->u.vm.values[i]);
		else if (event_value_add(&m->texts, m->stream->names, fields[i].type,
					 ev->u.vm.values[i]))
			marks_add_text(m, fields[i].name, at);
	}
	mark->stack = ev->u.vm.stack;
}

void marks_give_event(struct marks *m, struct timeline_mark *mark, enum event_kind kind,
		      const struct event *ev)
{
	marks_add_event(m, mark, kind, ev);
	marks_give(m, mark);
}
