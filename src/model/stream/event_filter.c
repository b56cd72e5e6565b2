/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_filter.h. */
#include "model/stream/event_filter.h"

#include <errno.h>
#include <string.h>

#include "model/stream/event_sums.h"

/* ---- calls ----------------------------------------------------------------------------------- */

/* Parses the atom at p, without its quotes; returns its end, NULL if there is none. */
static const char *parse_atom(const char *p, const char *ends, char *out, size_t size)
{
	bool quoted = *p == '\'';
	size_t len = 0;

	p += quoted;
	while (*p && (quoted ? *p != '\'' : !strchr(ends, *p))) {
		if (quoted && *p == '\\' && p[1])
			p++;
		if (len + 1 >= size)
			return NULL;
		out[len++] = *p++;
	}
	out[len] = '\0';
	if (quoted && *p++ != '\'')
		return NULL;
	return len ? p : NULL;
}

static int parse_arity(const char *p, int *arity)
{
	*arity = 0;
	if (!*p || strlen(p) > 3 || strspn(p, "0123456789") != strlen(p))
		return -EINVAL;
	for (; *p; p++)
		*arity = *arity * 10 + (*p - '0');
	return *arity <= 255 ? 0 : -EINVAL;
}

/* "MyApp.Worker.init/1" */
static int parse_elixir(const char *text, struct event_call *out)
{
	static const char prefix[] = "Elixir.";
	const char *slash = strrchr(text, '/'), *dot = slash;
	size_t len;

	while (dot && dot > text && *dot != '.')
		dot--;
	if (!dot || dot == text || dot + 1 == slash)
		return -EINVAL;
	len = (size_t)(dot - text);
	if (strlen(prefix) + len >= sizeof(out->module) ||
	    (size_t)(slash - dot) > sizeof(out->function))
		return -EINVAL;
	memcpy(out->module, prefix, strlen(prefix));
	memcpy(out->module + strlen(prefix), text, len);
	out->module[strlen(prefix) + len] = '\0';
	memcpy(out->function, dot + 1, (size_t)(slash - dot - 1));
	out->function[slash - dot - 1] = '\0';
	return parse_arity(slash + 1, &out->arity);
}

int event_call_parse(const char *text, struct event_call *out)
{
	const char *p;

	memset(out, 0, sizeof(*out));
	if (*text >= 'A' && *text <= 'Z' && !strchr(text, ':'))
		return parse_elixir(text, out);
	p = parse_atom(text, ":", out->module, sizeof(out->module));
	if (!p || *p != ':')
		return -EINVAL;
	p = parse_atom(p + 1, "/", out->function, sizeof(out->function));
	if (!p || *p != '/')
		return -EINVAL;
	return parse_arity(p + 1, &out->arity);
}

/* ---- events ---------------------------------------------------------------------------------- */

void event_filter_init(struct event_filter *f)
{
	memset(f, 0, sizeof(*f));
	f->call.arity = -1;
}

void event_filter_free(struct event_filter *f)
{
	vec_free(&f->process_of);
}

static bool calls(const struct event_filter *f, const struct event_stream *s, uint32_t process)
{
	const struct name_process *p = names_process(s->names, process);
	const struct name_function *call = p ? names_function(s->names, p->initial_call) : NULL;

	return call && call->arity == f->call.arity && call->module &&
	       strcmp(call->module, f->call.module) == 0 &&
	       strcmp(call->name, f->call.function) == 0;
}

static bool is_about(const struct event_filter *f, const struct event_stream *s, uint32_t process)
{
	return (!f->process || event_stream_is_process(s, process, f->process)) &&
	       (f->call.arity < 0 || calls(f, s, process));
}

/* Whether a string, the pid of a message's sender, is the process of f->from. */
static bool is_sender(const struct event_filter *f, const struct event_stream *s, uint32_t string)
{
	const char *text = names_string(s->names, string);

	if (!text)
		return false;
	return strcmp(text, f->from) == 0 ||
	       (string < f->process_of.len &&
		event_stream_is_process(s, f->process_of.data[string], f->from));
}

/* Remembers the sender of a message_send by its pid: the message_queued that follows has the pid
 * only as text. */
static void know_sender(struct event_filter *f, const struct event_stream *s, uint32_t process)
{
	const struct name_process *p = names_process(s->names, process);

	if (!p)
		return;
	while (f->process_of.len <= p->pid_id)
		vec_push(&f->process_of, 0);
	f->process_of.data[p->pid_id] = process;
}

static bool is_from(const struct event_filter *f, const struct event_stream *s,
		    enum event_kind kind, const struct event *ev)
{
	if (kind == EVENT_MESSAGE_SEND)
		return event_stream_is_process(s, ev->u.vm.process, f->from);
	if (kind == EVENT_MESSAGE_QUEUED)
		return is_sender(f, s, event_value_id(ev, EVENT_AT(MESSAGE_QUEUED, FROM)));
	if (kind == EVENT_MESSAGE_RECEIVE)
		return is_sender(f, s, event_value_id(ev, EVENT_AT(MESSAGE_RECEIVE, FROM)));
	return true;
}

static bool is_to(const struct event_filter *f, const struct event_stream *s, enum event_kind kind,
		  const struct event *ev)
{
	const char *name;

	if (kind == EVENT_MESSAGE_QUEUED || kind == EVENT_MESSAGE_RECEIVE)
		return event_stream_is_process(s, ev->u.vm.process, f->to);
	if (kind != EVENT_MESSAGE_SEND)
		return true;
	name = names_string(s->names, event_value_id(ev, EVENT_AT(MESSAGE_SEND, NAME)));
	return (name && strcmp(name, f->to) == 0) ||
	       event_stream_is_process(s, event_value_id(ev, EVENT_AT(MESSAGE_SEND, TO)), f->to);
}

bool event_filter_is_about(const struct event_filter *f, const struct event_stream *s,
			   uint32_t process)
{
	return (!f->process && f->call.arity < 0) || is_about(f, s, process);
}

/* Events at the begin of what they are about, when its duration is not known yet. */
#define BEGINNINGS                                                                                 \
	(1ull << EVENT_GC_MINOR_START | 1ull << EVENT_GC_MAJOR_START | 1ull << EVENT_NIF_ENTRY)

uint64_t event_filter_lasting_kinds(void)
{
	return BEGINNINGS | 1ull << EVENT_GC_MINOR_END | 1ull << EVENT_GC_MAJOR_END |
	       1ull << EVENT_NIF_RETURN;
}

static bool lasted(enum event_kind kind, const struct event *ev, uint64_t least_ns)
{
	uint64_t ns = event_duration(kind, ev), error;

	if (!event_has_duration(kind))
		return !(BEGINNINGS >> kind & 1);
	if (ns == EVENT_UNKNOWN)
		return false;
	error = event_duration_error(kind, ev);
	return ns >= least_ns || (error != EVENT_UNKNOWN && error >= least_ns - ns);
}

bool event_filter_takes(struct event_filter *f, const struct event_stream *s, enum event_kind kind,
			const struct event *ev)
{
	bool about = event_filter_is_about(f, s, ev->u.vm.process);

	if (f->longer_than_ns && !lasted(kind, ev, f->longer_than_ns))
		return false;
	/* A spawn is about parent and child, an exit signal about both processes. */
	if (!about && kind == EVENT_PROCESS_SPAWN)
		about = is_about(f, s, event_value_id(ev, EVENT_AT(PROCESS_SPAWN, PARENT)));
	else if (!about && kind == EVENT_PROCESS_EXIT_SIGNAL)
		about = is_about(f, s, event_value_id(ev, EVENT_AT(PROCESS_EXIT_SIGNAL, TO)));
	if (f->from && kind == EVENT_MESSAGE_SEND)
		know_sender(f, s, ev->u.vm.process);
	return about && (!f->from || is_from(f, s, kind, ev)) && (!f->to || is_to(f, s, kind, ev));
}
