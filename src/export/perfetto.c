/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See perfetto.h.  Slices of processes and ports are written as begin (B) and end (E) in the order
 * of time, so that nothing of the past is kept but what is open on each thread; a collection is
 * written whole (X) when it ends, as only then its beginning is known.  A flow binds to a slice:
 * sending and receiving are slices of one nanosecond for that; both ends of a flow are written when
 * its message is received, so that none has an end only.
 */
#include "export/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/jsonw.h"
#include "base/xalloc.h"
#include "export/formats.h"
#include "export/perfetto_flows.h"
#include "model/event_value.h"

#define MAX_FRAMES   64	  /* of a stack that is shown */
#define MAX_THREADS  4096 /* with slices */
#define NR_MAILBOXES 32	  /* with a counter */
#define MAILBOX_LEN  16	  /* a mailbox of so many gets one */
#define MAILBOX_NS   1000000u

enum slice { SLICE_NONE, SLICE_PROCESS, SLICE_PORT };

struct track {
	bool named;
	enum slice open;
	char *name;	     /* of the slice that is open */
	uint64_t whose;	     /* of the slice that is open: see whose_slice() */
	uint64_t changed_ns; /* when one began or ended last */
	/* Of a collection that has not ended yet; NR_EVENT_KINDS = there is none. */
	enum event_kind start_kind;
	struct event start;
};

struct mailbox {
	uint64_t epid, written_ns;
};

struct perfetto {
	struct jsonw w;
	FILE *f;
	const struct event_stream *stream;
	VEC(struct track) tracks; /* by thread id */
	struct flows *flows;
	struct mailbox mailboxes[NR_MAILBOXES];
	unsigned int nr_mailboxes;
	uint64_t last_ns;
	struct strbuf text;
};

struct perfetto *perfetto_open(FILE *f, const struct event_stream *s)
{
	struct perfetto *p = xcalloc(1, sizeof(*p));

	p->f = f;
	p->stream = s;
	p->w = (struct jsonw)JSONW(f);
	p->flows = flows_open();
	strbuf_init(&p->text);
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "displayTimeUnit", "ns");
	jsonw_begin_rows(&p->w, "traceEvents");
	return p;
}

void perfetto_close(struct perfetto *p)
{
	if (!p)
		return;
	strbuf_free(&p->w.buf);
	strbuf_free(&p->text);
	flows_close(p->flows);
	for (size_t i = 0; i < p->tracks.len; i++)
		free(p->tracks.data[i].name);
	vec_free(&p->tracks);
	free(p);
}

/* ---- parts of an event ---------------------------------------------------------------------- */

static void add_ts(struct perfetto *p, uint64_t ts_ns)
{
	uint64_t ns = ts_ns > p->stream->start_ns ? ts_ns - p->stream->start_ns : 0;
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	jsonw_raw(&p->w, "ts", text);
}

static uint32_t tid_of(const struct perfetto *p, uint32_t thread)
{
	const struct name_thread *t = names_thread(p->stream->names, thread);

	return t ? t->os_tid : 0;
}

/* {"ph", "pid", "tid", "ts", and what the caller adds; jsonw_end_object() ends it. */
static void begin_event(struct perfetto *p, const char *ph, uint32_t tid, uint64_t ts_ns)
{
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "ph", ph);
	jsonw_int(&p->w, "pid", p->stream->os_pid);
	jsonw_uint(&p->w, "tid", tid);
	add_ts(p, ts_ns);
}

/* Into p->text: the name of its own, else what it was started to run and its pid. */
static const char *process_name(struct perfetto *p, uint32_t process)
{
	const struct name_process *n = names_process(p->stream->names, process);
	const struct name_function *f;

	strbuf_reset(&p->text);
	if (!n) {
		strbuf_addch(&p->text, '-');
		return p->text.buf;
	}
	f = names_function(p->stream->names, n->initial_call);
	if (n->registered) {
		names_format_module(&p->text, n->registered, strlen(n->registered));
	} else if (n->label) {
		names_format_text(&p->text, n->label, strlen(n->label));
	} else {
		if (f) {
			names_format_function(&p->text, f);
			strbuf_addch(&p->text, ' ');
		}
		strbuf_addstr(&p->text, n->pid);
	}
	return p->text.buf;
}

/* Top first. */
static void add_stack(struct perfetto *p, uint32_t stack)
{
	const struct names *names = p->stream->names;
	const struct name_stack *s = names_stack(names, stack);
	const struct name_function *f;
	const struct name_frame *frame;

	if (!s)
		return;
	jsonw_begin_array(&p->w, "stack");
	for (int i = 0; s && i < MAX_FRAMES; i++, s = names_stack(names, s->parent)) {
		frame = names_frame(names, s->frame);
		f = frame ? names_function(names, frame->function) : NULL;
		strbuf_reset(&p->text);
		if (f)
			names_format_function(&p->text, f);
		if (frame && frame->file)
			strbuf_addf(&p->text, " (%s:%u)", frame->file, frame->line);
		jsonw_stringn(&p->w, NULL, p->text.len ? p->text.buf : "", p->text.len);
	}
	jsonw_end_array(&p->w);
}

static void add_process(struct perfetto *p, const char *key, uint32_t process)
{
	const struct name_process *n = names_process(p->stream->names, process);

	if (n)
		jsonw_string(&p->w, key, n->pid);
}

/* "args": the process, the fields of the event, its stack. */
static void begin_args(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	const struct event_field *fields;
	unsigned int nr;

	fields = event_fields(kind, &nr);
	jsonw_begin_object(&p->w, "args");
	add_process(p, "pid", ev->u.vm.process);
	if (names_process(p->stream->names, ev->u.vm.process))
		jsonw_string(&p->w, "process", process_name(p, ev->u.vm.process));
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t value;

		if (!event_value_is_known(ev, i, fields[i].type))
			continue;
		value = ev->u.vm.values[i];
		strbuf_reset(&p->text);
		if (event_value_is_number(fields[i].type))
			jsonw_uint(&p->w, fields[i].name, value);
		else if (event_value_add(&p->text, p->stream->names, fields[i].type, value))
			jsonw_stringn(&p->w, fields[i].name, p->text.buf, p->text.len);
	}
	add_stack(p, ev->u.vm.stack);
}

static void add_args(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	begin_args(p, kind, ev);
	jsonw_end_object(&p->w);
}

/* ---- tracks --------------------------------------------------------------------------------- */

static void add_metadata(struct perfetto *p, const char *name, uint32_t tid, const char *key,
			 const char *text, uint64_t number)
{
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "ph", "M");
	jsonw_int(&p->w, "pid", p->stream->os_pid);
	jsonw_uint(&p->w, "tid", tid);
	jsonw_string(&p->w, "name", name);
	jsonw_begin_object(&p->w, "args");
	if (text)
		jsonw_string(&p->w, key, text);
	else
		jsonw_uint(&p->w, key, number);
	jsonw_end_object(&p->w);
	jsonw_end_object(&p->w);
}

/* Schedulers first, in their order. */
static void name_track(struct perfetto *p, uint32_t thread)
{
	static const char *const types[] = {[THREAD_NORMAL] = "scheduler",
					    [THREAD_DIRTY_CPU] = "dirty cpu",
					    [THREAD_DIRTY_IO] = "dirty io",
					    [THREAD_OTHER] = NULL};
	const struct name_thread *t = names_thread(p->stream->names, thread);
	const char *type = t ? types[t->type] : NULL;

	strbuf_reset(&p->text);
	if (type && t->scheduler)
		strbuf_addf(&p->text, "%s %u", type, t->scheduler);
	else
		names_format_text(&p->text, t && t->name ? t->name : "?",
				  strlen(t && t->name ? t->name : "?"));
	add_metadata(p, "thread_name", tid_of(p, thread), "name", p->text.buf, 0);
	add_metadata(p, "thread_sort_index", tid_of(p, thread), "sort_index", NULL,
		     t ? (uint64_t)t->type * 10000 + t->scheduler : 0);
}

/* NULL: there are too many. */
static struct track *track_of(struct perfetto *p, uint32_t thread)
{
	struct track *t;

	if (thread >= MAX_THREADS)
		return NULL;
	if (!p->tracks.len) {
		strbuf_reset(&p->text);
		strbuf_addf(&p->text, "%s (OTP %s)", *p->stream->node ? p->stream->node : "node",
			    p->stream->otp);
		add_metadata(p, "process_name", 0, "name", p->text.buf, 0);
	}
	while (p->tracks.len <= thread)
		vec_push(&p->tracks, ((struct track){.start_kind = NR_EVENT_KINDS}));
	t = &p->tracks.data[thread];
	if (!t->named)
		name_track(p, thread);
	t->named = true;
	return t;
}

/* ---- slices --------------------------------------------------------------------------------- */

static void instant(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	begin_event(p, "i", tid_of(p, ev->u.vm.thread), ev->ts_ns);
	jsonw_string(&p->w, "s", "t");
	jsonw_string(&p->w, "name", event_rows[kind].name);
	jsonw_string(&p->w, "cat", event_group_name(event_rows[kind].group));
	add_args(p, kind, ev);
	jsonw_end_object(&p->w);
}

/* Tells the slices of a sort apart: the process, the port. */
static uint64_t whose_slice(const struct perfetto *p, enum slice sort, const struct event *ev)
{
	const struct name_process *n = names_process(p->stream->names, ev->u.vm.process);

	if (sort == SLICE_PORT)
		return event_value(ev, EVENT_AT(PORT_SCHEDULED, PORT));
	return n ? n->epid : 0;
}

/* The event that ends it may be that of another one, as its own was lost: then it says nothing of
 * it.  NULL: no event. */
static void end_slice(struct perfetto *p, struct track *t, uint32_t thread, uint64_t ts_ns,
		      enum event_kind kind, const struct event *ev)
{
	if (t->open == SLICE_NONE)
		return;
	begin_event(p, "E", tid_of(p, thread), ts_ns);
	/* Some viewers want it at both ends. */
	jsonw_string(&p->w, "name", t->name);
	if (ev && whose_slice(p, t->open, ev) == t->whose)
		add_args(p, kind, ev);
	jsonw_end_object(&p->w);
	t->open = SLICE_NONE;
	t->changed_ns = ts_ns;
}

/* `name` may be p->text. */
static void begin_slice(struct perfetto *p, struct track *t, enum slice sort, const char *name,
			const char *cat, enum event_kind kind, const struct event *ev)
{
	free(t->name);
	t->name = xstrdup(name);
	begin_event(p, "B", tid_of(p, ev->u.vm.thread), ev->ts_ns);
	jsonw_string(&p->w, "name", t->name);
	jsonw_string(&p->w, "cat", cat);
	add_args(p, kind, ev);
	jsonw_end_object(&p->w);
	t->open = sort;
	t->whose = whose_slice(p, sort, ev);
	t->changed_ns = ev->ts_ns;
}

/* A collection that began and of whose end nothing was seen: the process was killed in it. */
static void flush_start(struct perfetto *p, struct track *t)
{
	if (t->start_kind != NR_EVENT_KINDS)
		instant(p, t->start_kind, &t->start);
	t->start_kind = NR_EVENT_KINDS;
}

static bool is_word(const struct perfetto *p, const struct event *ev, unsigned int field,
		    const char *prefix)
{
	const char *text = names_string(p->stream->names, event_value_id(ev, field));

	return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

static void scheduled(struct perfetto *p, struct track *t, enum event_kind kind,
		      const struct event *ev)
{
	bool in = is_word(p, ev, EVENT_AT(PROCESS_SCHEDULED, TYPE), "in");

	flush_start(p, t);
	/* What a lost event has left open ends here at the latest. */
	if (in || t->open == SLICE_PROCESS)
		end_slice(p, t, ev->u.vm.thread, ev->ts_ns, kind, in ? NULL : ev);
	if (in)
		begin_slice(p, t, SLICE_PROCESS, process_name(p, ev->u.vm.process), "process", kind,
			    ev);
}

static void port_scheduled(struct perfetto *p, struct track *t, enum event_kind kind,
			   const struct event *ev)
{
	const char *driver = names_string(p->stream->names,
					  event_value_id(ev, EVENT_AT(PORT_SCHEDULED, DRIVER)));
	bool in = is_word(p, ev, EVENT_AT(PORT_SCHEDULED, TYPE), "in");

	flush_start(p, t);
	if (in || t->open == SLICE_PORT)
		end_slice(p, t, ev->u.vm.thread, ev->ts_ns, kind, in ? NULL : ev);
	if (in)
		begin_slice(p, t, SLICE_PORT, driver ? driver : "port", "port", kind, ev);
}

static void add_number(struct perfetto *p, const char *key, uint64_t value)
{
	if (value != EVENT_UNKNOWN)
		jsonw_uint(&p->w, key, value);
}

/* `start` NULL: not seen. */
static void whole_collection(struct perfetto *p, enum event_kind kind, const struct event *ev,
			     uint64_t start_ns, const struct event *start)
{
	uint64_t ns = ev->ts_ns - start_ns;
	char text[40];

	begin_event(p, "X", tid_of(p, ev->u.vm.thread), start_ns);
	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	jsonw_raw(&p->w, "dur", text);
	jsonw_string(&p->w, "name", kind == EVENT_GC_MINOR_END ? "GC minor" : "GC major");
	jsonw_string(&p->w, "cat", "gc");
	begin_args(p, kind, ev);
	if (start) {
		add_number(p, "need", event_value(start, EVENT_AT(GC_MINOR_START, NEED)));
		add_number(p, "heap_before", event_value(start, EVENT_AT(GC_MINOR_START, HEAP)));
		add_number(p, "old_heap_before",
			   event_value(start, EVENT_AT(GC_MINOR_START, OLD_HEAP)));
	}
	jsonw_end_object(&p->w);
	jsonw_end_object(&p->w);
}

/* Fields of minor and major ones are the same, in the same order. */
static void collection(struct perfetto *p, struct track *t, enum event_kind kind,
		       const struct event *ev)
{
	enum event_kind begins =
		kind == EVENT_GC_MINOR_END ? EVENT_GC_MINOR_START : EVENT_GC_MAJOR_START;
	uint64_t ns = event_value(ev, EVENT_AT(GC_MINOR_END, DURATION)), start_ns;
	bool matches =
		t->start_kind == begins && t->start.ts_ns <= ev->ts_ns &&
		whose_slice(p, SLICE_PROCESS, &t->start) == whose_slice(p, SLICE_PROCESS, ev);

	if (kind == EVENT_GC_MINOR_START || kind == EVENT_GC_MAJOR_START) {
		flush_start(p, t);
		t->start_kind = kind;
		t->start = *ev;
		return;
	}
	if (!matches)
		flush_start(p, t);
	if (ns > ev->ts_ns && !matches) {
		instant(p, kind, ev);
		return;
	}
	start_ns = ns > ev->ts_ns ? t->start.ts_ns : ev->ts_ns - ns;
	/* A slice in which it began may have been cut. */
	start_ns = MIN(MAX(start_ns, t->changed_ns), ev->ts_ns);
	whole_collection(p, kind, ev, start_ns, matches ? &t->start : NULL);
	t->start_kind = NR_EVENT_KINDS;
}

/* What is not watched from now on does not end by what is seen later. */
static void cover(struct perfetto *p, const struct event *ev)
{
	const char *name = names_string(p->stream->names, ev->u.coverage.kind);
	int kind = name ? event_kind_find(name, strlen(name)) : -1;
	enum slice sort = kind == EVENT_PROCESS_SCHEDULED ? SLICE_PROCESS
			  : kind == EVENT_PORT_SCHEDULED  ? SLICE_PORT
							  : SLICE_NONE;

	if (ev->u.coverage.state == COVERAGE_ON)
		return;
	for (size_t i = 0; i < p->tracks.len; i++) {
		struct track *t = &p->tracks.data[i];

		if (kind == EVENT_GC_MINOR_END || kind == EVENT_GC_MAJOR_END)
			flush_start(p, t);
		if (sort != SLICE_NONE && t->open == sort)
			end_slice(p, t, (uint32_t)i, ev->ts_ns, NR_EVENT_KINDS, NULL);
	}
	p->last_ns = MAX(p->last_ns, ev->ts_ns);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* A slice of one nanosecond, for a flow to bind to. */
static void tiny_slice(struct perfetto *p, enum event_kind kind, const struct event *ev,
		       const char *what)
{
	begin_event(p, "X", tid_of(p, ev->u.vm.thread), ev->ts_ns);
	jsonw_raw(&p->w, "dur", "0.001");
	jsonw_string(&p->w, "name", what);
	jsonw_string(&p->w, "cat", "message");
	add_args(p, kind, ev);
	jsonw_end_object(&p->w);
}

static void flow_end(struct perfetto *p, const char *ph, uint64_t id, uint32_t tid, uint64_t ts_ns)
{
	begin_event(p, ph, tid, ts_ns);
	jsonw_string(&p->w, "name", "message");
	jsonw_string(&p->w, "cat", "message");
	jsonw_uint(&p->w, "id", id);
	if (*ph == 'f')
		jsonw_string(&p->w, "bp", "e");
	jsonw_end_object(&p->w);
}

static uint32_t pid_string(const struct perfetto *p, uint32_t process)
{
	const struct name_process *n = names_process(p->stream->names, process);

	return n ? n->pid_id : 0;
}

static void sent(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	struct flow_point at = {.ts_ns = ev->ts_ns, .tid = tid_of(p, ev->u.vm.thread)};
	uint32_t to = pid_string(p, event_value_id(ev, EVENT_AT(MESSAGE_SEND, TO)));

	tiny_slice(p, kind, ev, "send");
	flows_begin(p->flows, pid_string(p, ev->u.vm.process), to, &at);
}

static void received(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	uint32_t from = event_value_id(ev, EVENT_AT(MESSAGE_RECEIVE, FROM));
	uint32_t tid = tid_of(p, ev->u.vm.thread);
	struct flow_point at;
	uint64_t id;

	tiny_slice(p, kind, ev, "receive");
	id = flows_end(p->flows, from, pid_string(p, ev->u.vm.process), &at);
	if (!id)
		return;
	flow_end(p, "s", id, at.tid, at.ts_ns);
	flow_end(p, "f", id, tid, ev->ts_ns);
}

/* The length of a mailbox, if it is one of those that have grown. */
static void count_mailbox(struct perfetto *p, const struct event *ev, uint64_t len)
{
	const struct name_process *n = names_process(p->stream->names, ev->u.vm.process);
	struct mailbox *m = p->mailboxes, *end = m + p->nr_mailboxes;

	if (!n || len == EVENT_UNKNOWN)
		return;
	while (m < end && m->epid != n->epid)
		m++;
	if (m == end) {
		if (len < MAILBOX_LEN || p->nr_mailboxes == NR_MAILBOXES)
			return;
		p->nr_mailboxes++;
		*m = (struct mailbox){.epid = n->epid};
	}
	if (m->written_ns && ev->ts_ns < m->written_ns + MAILBOX_NS)
		return;
	m->written_ns = ev->ts_ns;
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "ph", "C");
	jsonw_int(&p->w, "pid", p->stream->os_pid);
	add_ts(p, ev->ts_ns);
	process_name(p, ev->u.vm.process);
	strbuf_addstr(&p->text, ": mailbox");
	jsonw_string(&p->w, "name", p->text.buf);
	jsonw_begin_object(&p->w, "args");
	jsonw_uint(&p->w, "messages", len);
	jsonw_end_object(&p->w);
	jsonw_end_object(&p->w);
}

/* ---- interface ------------------------------------------------------------------------------ */

void perfetto_event(struct perfetto *p, enum event_kind kind, const struct event *ev)
{
	struct track *t = track_of(p, ev->u.vm.thread);

	if (!t)
		return;
	p->last_ns = MAX(p->last_ns, ev->ts_ns);
	switch (kind) {
	case EVENT_PROCESS_SCHEDULED:
		scheduled(p, t, kind, ev);
		break;
	case EVENT_PORT_SCHEDULED:
		port_scheduled(p, t, kind, ev);
		break;
	case EVENT_GC_MINOR_START:
	case EVENT_GC_MINOR_END:
	case EVENT_GC_MAJOR_START:
	case EVENT_GC_MAJOR_END:
		collection(p, t, kind, ev);
		break;
	case EVENT_MESSAGE_SEND:
		sent(p, kind, ev);
		break;
	case EVENT_MESSAGE_QUEUED: /* the sending says the rest */
		count_mailbox(p, ev, event_value(ev, EVENT_AT(MESSAGE_QUEUED, QUEUE_LEN)));
		break;
	case EVENT_MESSAGE_RECEIVE:
		received(p, kind, ev);
		count_mailbox(p, ev, event_value(ev, EVENT_AT(MESSAGE_RECEIVE, QUEUE_LEN)));
		break;
	default:
		instant(p, kind, ev);
		break;
	}
}

static void sample(struct perfetto *p, const struct event *ev)
{
	const struct names *names = p->stream->names;
	const struct name_stack *s = names_stack(names, ev->u.sample.stack);
	const struct name_frame *frame = s ? names_frame(names, s->frame) : NULL;
	const struct name_function *f = frame ? names_function(names, frame->function) : NULL;

	/* The time that nobody was sampled has no place in time. */
	if (ev->u.sample.kind == SAMPLE_WAIT && f && f->kind == FRAME_STATE)
		return;
	if (!track_of(p, ev->u.sample.thread))
		return;
	p->last_ns = MAX(p->last_ns, ev->ts_ns);
	strbuf_reset(&p->text);
	if (f)
		names_format_function(&p->text, f);
	begin_event(p, "i", tid_of(p, ev->u.sample.thread), ev->ts_ns);
	jsonw_string(&p->w, "s", "t");
	jsonw_string(&p->w, "name", f ? p->text.buf : EXPORT_NO_STACK);
	jsonw_string(&p->w, "cat", sample_kind_name(ev->u.sample.kind));
	jsonw_begin_object(&p->w, "args");
	add_process(p, "pid", ev->u.sample.process);
	if (names_process(names, ev->u.sample.process))
		jsonw_string(&p->w, "process", process_name(p, ev->u.sample.process));
	jsonw_string(&p->w, "kind", sample_kind_name(ev->u.sample.kind));
	add_stack(p, ev->u.sample.stack);
	jsonw_end_object(&p->w);
	jsonw_end_object(&p->w);
}

void perfetto_other(struct perfetto *p, const struct event *ev)
{
	if (ev->type == REC_SAMPLE)
		sample(p, ev);
	else if (ev->type == REC_COVERAGE)
		cover(p, ev);
}

/* Parts of what happened that were seen, of kinds that were not watched all the time. */
static void add_shares(struct perfetto *p)
{
	const struct coverage *c = &p->stream->coverage;

	jsonw_begin_object(&p->w, "sampled");
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (c->kinds[kind].told && c->kinds[kind].share_ppm < 1000000)
			jsonw_double(&p->w, event_rows[kind].name,
				     coverage_share(c, (enum event_kind)kind));
	}
	jsonw_end_object(&p->w);
}

static void add_facts(struct perfetto *p)
{
	const struct event_stream *s = p->stream;

	jsonw_begin_object(&p->w, "otherData");
	jsonw_string(&p->w, "tool", "ebeam " EBEAM_VERSION);
	jsonw_string(&p->w, "node", s->node);
	jsonw_string(&p->w, "otp", s->otp);
	jsonw_uint(&p->w, "start_epoch_ns", s->start_epoch_ns);
	jsonw_uint(&p->w, "lost", s->counters[COUNTER_EVENTS_LOST]);
	add_shares(p);
	jsonw_uint(&p->w, "messages_without_flow", flows_unmatched(p->flows));
	jsonw_end_object(&p->w);
}

int perfetto_finish(struct perfetto *p, struct error *err)
{
	uint64_t end_ns = MAX(p->last_ns, p->stream->start_ns + p->stream->duration_ns);
	int rc;

	for (size_t i = 0; i < p->tracks.len; i++) {
		struct track *t = &p->tracks.data[i];

		flush_start(p, t);
		end_slice(p, t, (uint32_t)i, end_ns, NR_EVENT_KINDS, NULL);
	}
	jsonw_end_array(&p->w);
	add_facts(p);
	jsonw_end_object(&p->w);
	strbuf_addch(&p->w.buf, '\n');
	rc = jsonw_finish(&p->w);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot write the output: %s",
				 error_text(-rc));
	return export_finish(p->f, err);
}
