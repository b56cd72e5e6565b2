/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See timeline.h.  Slices of processes and ports are emitted as begin and end in order of time, so
 * that only open ones are kept.  A collection is emitted as a whole at its end, as only then its
 * begin is known.  A flow binds to a slice, so sends and receives are slices of one nanosecond;
 * both ends of a flow are emitted when its message is received, so that none is without begin.
 */
#include "model/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "model/profile/snapshot.h"
#include "model/stream/event_stream.h"
#include "model/timeline/flows.h"
#include "model/timeline/timeline_marks.h"

#define MAX_THREADS  4096 /* threads that have tracks */
#define NR_MAILBOXES 32	  /* mailboxes that have a counter */
#define MAILBOX_LEN  16	  /* length from which on a mailbox has a counter */
#define MAILBOX_NS   1000000u

enum slice { SLICE_NONE, SLICE_PROCESS, SLICE_PORT };

struct track {
	bool named;
	enum slice open;
	char *name;	     /* of the open slice */
	uint64_t whose;	     /* of the open slice, by whose_slice() */
	uint64_t changed_ns; /* when a slice last began or ended */
	/* Begin of the collection that is under way; NR_EVENT_KINDS = none. */
	enum event_kind start_kind;
	struct event start;
};

struct mailbox {
	uint64_t epid, written_ns;
};

struct timeline {
	const struct event_stream *stream;
	struct marks marks;
	VEC(struct track) tracks; /* by thread id */
	struct flows *flows;
	struct mailbox mailboxes[NR_MAILBOXES];
	unsigned int nr_mailboxes;
	uint64_t last_ns;
	struct strbuf name; /* of the next mark */
};

struct timeline *timeline_open(const struct event_stream *s, timeline_fn *give, void *arg)
{
	struct timeline *t = xcalloc(1, sizeof(*t));

	t->stream = s;
	marks_open(&t->marks, s, give, arg);
	t->flows = flows_open();
	strbuf_init(&t->name);
	return t;
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	marks_close(&t->marks);
	strbuf_free(&t->name);
	flows_close(t->flows);
	for (size_t i = 0; i < t->tracks.len; i++)
		free(t->tracks.data[i].name);
	vec_free(&t->tracks);
	free(t);
}

static const char *process_name(struct timeline *t, uint32_t process)
{
	strbuf_reset(&t->name);
	marks_add_process_name(&t->marks, &t->name, process);
	return t->name.buf;
}

/* ---- tracks ---------------------------------------------------------------------------------- */

/* Emits the name of a thread's track, and its sort key: schedulers first, by number. */
static void name_track(struct timeline *t, uint32_t thread)
{
	static const char *const types[] = {[THREAD_NORMAL] = "scheduler",
					    [THREAD_DIRTY_CPU] = "dirty cpu",
					    [THREAD_DIRTY_IO] = "dirty io",
					    [THREAD_OTHER] = NULL};
	const struct name_thread *n = names_thread(t->stream->names, thread);
	const char *type = n ? types[n->type] : NULL, *name = n && n->name ? n->name : "?";
	struct timeline_mark m =
		marks_at(&t->marks, TIMELINE_TRACK, marks_tid(&t->marks, thread), 0);

	strbuf_reset(&t->name);
	if (type && n->scheduler)
		strbuf_addf(&t->name, "%s %u", type, n->scheduler);
	else
		names_format_text(&t->name, name, strlen(name));
	m.name = t->name.buf;
	m.number = n ? (uint64_t)n->type * 10000 + n->scheduler : 0;
	marks_give(&t->marks, &m);
}

static void name_node(struct timeline *t)
{
	struct timeline_mark m = marks_at(&t->marks, TIMELINE_NODE, 0, 0);

	strbuf_reset(&t->name);
	strbuf_addf(&t->name, "%s (OTP %s)", *t->stream->node ? t->stream->node : "node",
		    t->stream->otp);
	m.name = t->name.buf;
	marks_give(&t->marks, &m);
}

/* The track of a thread; NULL beyond MAX_THREADS. */
static struct track *track_of(struct timeline *t, uint32_t thread)
{
	struct track *track;

	if (thread >= MAX_THREADS)
		return NULL;
	if (!t->tracks.len)
		name_node(t);
	while (t->tracks.len <= thread)
		vec_push(&t->tracks, ((struct track){.start_kind = NR_EVENT_KINDS}));
	track = &t->tracks.data[thread];
	if (!track->named)
		name_track(t, thread);
	track->named = true;
	return track;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void instant(struct timeline *t, enum event_kind kind, const struct event *ev)
{
	struct timeline_mark m = marks_of(&t->marks, TIMELINE_INSTANT, ev);

	m.name = event_rows[kind].name;
	m.category = event_group_name(event_rows[kind].group);
	marks_give_event(&t->marks, &m, kind, ev);
}

/* Identity of a slice among those of its sort: its process (epid) or port (string id). */
static uint64_t whose_slice(const struct timeline *t, enum slice sort, const struct event *ev)
{
	const struct name_process *n = names_process(t->stream->names, ev->u.vm.process);

	if (sort == SLICE_PORT)
		return event_value(ev, EVENT_AT(PORT_SCHEDULED, PORT));
	return n ? n->epid : 0;
}

/* Ends the open slice.  `ev`: the event that ends it, NULL = none; its fields are not used if it is
 * of another process or port, as the end of this slice was lost then. */
static void end_slice(struct timeline *t, struct track *track, uint32_t thread, uint64_t ts_ns,
		      enum event_kind kind, const struct event *ev)
{
	struct timeline_mark m =
		marks_at(&t->marks, TIMELINE_END, marks_tid(&t->marks, thread), ts_ns);

	if (track->open == SLICE_NONE)
		return;
	m.name = track->name;
	if (ev && whose_slice(t, track->open, ev) == track->whose)
		marks_add_event(&t->marks, &m, kind, ev);
	marks_give(&t->marks, &m);
	track->open = SLICE_NONE;
	track->changed_ns = ts_ns;
}

static void begin_slice(struct timeline *t, struct track *track, enum slice sort, const char *name,
			const char *category, enum event_kind kind, const struct event *ev)
{
	struct timeline_mark m = marks_of(&t->marks, TIMELINE_BEGIN, ev);

	free(track->name);
	track->name = xstrdup(name);
	m.name = track->name;
	m.category = category;
	marks_give_event(&t->marks, &m, kind, ev);
	track->open = sort;
	track->whose = whose_slice(t, sort, ev);
	track->changed_ns = ev->ts_ns;
}

/* Emits the begin of a collection that has no end, as the process was killed in it. */
static void flush_start(struct timeline *t, struct track *track)
{
	if (track->start_kind != NR_EVENT_KINDS)
		instant(t, track->start_kind, &track->start);
	track->start_kind = NR_EVENT_KINDS;
}

static bool is_word(const struct timeline *t, const struct event *ev, unsigned int field,
		    const char *prefix)
{
	const char *text = names_string(t->stream->names, event_value_id(ev, field));

	return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

static void scheduled(struct timeline *t, struct track *track, enum event_kind kind,
		      const struct event *ev)
{
	bool in = is_word(t, ev, EVENT_AT(PROCESS_SCHEDULED, TYPE), "in");

	flush_start(t, track);
	/* Ends a slice whose end was lost. */
	if (in || track->open == SLICE_PROCESS)
		end_slice(t, track, ev->u.vm.thread, ev->ts_ns, kind, in ? NULL : ev);
	if (in)
		begin_slice(t, track, SLICE_PROCESS, process_name(t, ev->u.vm.process), "process",
			    kind, ev);
}

static void port_scheduled(struct timeline *t, struct track *track, enum event_kind kind,
			   const struct event *ev)
{
	const char *driver = names_string(t->stream->names,
					  event_value_id(ev, EVENT_AT(PORT_SCHEDULED, DRIVER)));
	bool in = is_word(t, ev, EVENT_AT(PORT_SCHEDULED, TYPE), "in");

	flush_start(t, track);
	if (in || track->open == SLICE_PORT)
		end_slice(t, track, ev->u.vm.thread, ev->ts_ns, kind, in ? NULL : ev);
	if (in)
		begin_slice(t, track, SLICE_PORT, driver ? driver : "port", "port", kind, ev);
}

/* Emits a collection that has ended; `start`: its begin event, NULL = not seen. */
static void whole_collection(struct timeline *t, enum event_kind kind, const struct event *ev,
			     uint64_t start_ns, const struct event *start)
{
	struct timeline_mark m = marks_at(&t->marks, TIMELINE_SLICE,
					  marks_tid(&t->marks, ev->u.vm.thread), start_ns);

	m.duration_ns = ev->ts_ns - start_ns;
	m.name = kind == EVENT_GC_MINOR_END ? "GC minor" : "GC major";
	m.category = "gc";
	marks_add_event(&t->marks, &m, kind, ev);
	if (start) {
		marks_add_number(&t->marks, "need",
				 event_value(start, EVENT_AT(GC_MINOR_START, NEED)));
		marks_add_number(&t->marks, "heap_before",
				 event_value(start, EVENT_AT(GC_MINOR_START, HEAP)));
		marks_add_number(&t->marks, "old_heap_before",
				 event_value(start, EVENT_AT(GC_MINOR_START, OLD_HEAP)));
	}
	marks_give(&t->marks, &m);
}

/* Minor and major collections have the same fields, in the same order. */
static void collection(struct timeline *t, struct track *track, enum event_kind kind,
		       const struct event *ev)
{
	enum event_kind begins =
		kind == EVENT_GC_MINOR_END ? EVENT_GC_MINOR_START : EVENT_GC_MAJOR_START;
	uint64_t ns = event_value(ev, EVENT_AT(GC_MINOR_END, DURATION)), start_ns;
	bool matches =
		track->start_kind == begins && track->start.ts_ns <= ev->ts_ns &&
		whose_slice(t, SLICE_PROCESS, &track->start) == whose_slice(t, SLICE_PROCESS, ev);

	if (kind == EVENT_GC_MINOR_START || kind == EVENT_GC_MAJOR_START) {
		flush_start(t, track);
		track->start_kind = kind;
		track->start = *ev;
		return;
	}
	if (!matches)
		flush_start(t, track);
	/* A minor collection that became a major one: that has the time of both. */
	if (kind == EVENT_GC_MINOR_END && ns == EVENT_UNKNOWN)
		ns = 0;
	if (ns > ev->ts_ns && !matches) {
		instant(t, kind, ev);
		return;
	}
	start_ns = ns > ev->ts_ns ? track->start.ts_ns : ev->ts_ns - ns;
	/* Slices of a track must nest: not before the last begin or end of another one. */
	start_ns = MIN(MAX(start_ns, track->changed_ns), ev->ts_ns);
	whole_collection(t, kind, ev, start_ns, matches ? &track->start : NULL);
	track->start_kind = NR_EVENT_KINDS;
}

/* Ends the open slices of a kind that is not watched any more, as their ends are not seen. */
static void cover(struct timeline *t, const struct event *ev)
{
	const char *name = names_string(t->stream->names, ev->u.coverage.kind);
	int kind = name ? event_kind_find(name, strlen(name)) : -1;
	enum slice sort = kind == EVENT_PROCESS_SCHEDULED ? SLICE_PROCESS
			  : kind == EVENT_PORT_SCHEDULED  ? SLICE_PORT
							  : SLICE_NONE;

	if (ev->u.coverage.state == COVERAGE_ON)
		return;
	for (size_t i = 0; i < t->tracks.len; i++) {
		struct track *track = &t->tracks.data[i];

		if (kind == EVENT_GC_MINOR_END || kind == EVENT_GC_MAJOR_END)
			flush_start(t, track);
		if (sort != SLICE_NONE && track->open == sort)
			end_slice(t, track, (uint32_t)i, ev->ts_ns, NR_EVENT_KINDS, NULL);
	}
	t->last_ns = MAX(t->last_ns, ev->ts_ns);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A slice of one nanosecond, to which a flow binds. */
static void tiny_slice(struct timeline *t, enum event_kind kind, const struct event *ev,
		       const char *what)
{
	struct timeline_mark m = marks_of(&t->marks, TIMELINE_SLICE, ev);

	m.duration_ns = 1;
	m.name = what;
	m.category = "message";
	marks_give_event(&t->marks, &m, kind, ev);
}

static void flow_end(struct timeline *t, enum timeline_type type, uint64_t id, uint32_t tid,
		     uint64_t ts_ns)
{
	struct timeline_mark m = marks_at(&t->marks, type, tid, ts_ns);

	m.name = m.category = "message";
	m.number = id;
	marks_give(&t->marks, &m);
}

static uint32_t pid_string(const struct timeline *t, uint32_t process)
{
	const struct name_process *n = names_process(t->stream->names, process);

	return n ? n->pid_id : 0;
}

static void sent(struct timeline *t, enum event_kind kind, const struct event *ev)
{
	struct flow_point at = {.ts_ns = ev->ts_ns, .tid = marks_tid(&t->marks, ev->u.vm.thread)};
	uint32_t to = pid_string(t, event_value_id(ev, EVENT_AT(MESSAGE_SEND, TO)));

	tiny_slice(t, kind, ev, "send");
	flows_begin(t->flows, pid_string(t, ev->u.vm.process), to, &at);
}

static void received(struct timeline *t, enum event_kind kind, const struct event *ev)
{
	uint32_t from = event_value_id(ev, EVENT_AT(MESSAGE_RECEIVE, FROM));
	uint32_t tid = marks_tid(&t->marks, ev->u.vm.thread);
	struct flow_point at;
	uint64_t id;

	tiny_slice(t, kind, ev, "receive");
	id = flows_end(t->flows, from, pid_string(t, ev->u.vm.process), &at);
	if (!id)
		return;
	flow_end(t, TIMELINE_FLOW_BEGIN, id, at.tid, at.ts_ns);
	flow_end(t, TIMELINE_FLOW_END, id, tid, ev->ts_ns);
}

/* Emits the length of a mailbox if the mailbox has a counter or gets one, see MAILBOX_LEN. */
static void count_mailbox(struct timeline *t, const struct event *ev, uint64_t len)
{
	const struct name_process *n = names_process(t->stream->names, ev->u.vm.process);
	struct mailbox *box = t->mailboxes, *end = box + t->nr_mailboxes;
	struct timeline_mark m = marks_at(&t->marks, TIMELINE_COUNTER, 0, ev->ts_ns);

	if (!n || len == EVENT_UNKNOWN)
		return;
	while (box < end && box->epid != n->epid)
		box++;
	if (box == end) {
		if (len < MAILBOX_LEN || t->nr_mailboxes == NR_MAILBOXES)
			return;
		t->nr_mailboxes++;
		*box = (struct mailbox){.epid = n->epid};
	}
	if (box->written_ns && ev->ts_ns < box->written_ns + MAILBOX_NS)
		return;
	box->written_ns = ev->ts_ns;
	process_name(t, ev->u.vm.process);
	strbuf_addstr(&t->name, ": mailbox");
	m.name = t->name.buf;
	m.number = len;
	marks_add_number(&t->marks, "messages", len);
	marks_give(&t->marks, &m);
}

/* ---- interface ------------------------------------------------------------------------------- */

void timeline_event(struct timeline *t, enum event_kind kind, const struct event *ev)
{
	struct track *track = track_of(t, ev->u.vm.thread);

	if (!track)
		return;
	t->last_ns = MAX(t->last_ns, ev->ts_ns);
	switch (kind) {
	case EVENT_PROCESS_SCHEDULED:
		scheduled(t, track, kind, ev);
		break;
	case EVENT_PORT_SCHEDULED:
		port_scheduled(t, track, kind, ev);
		break;
	case EVENT_GC_MINOR_START:
	case EVENT_GC_MINOR_END:
	case EVENT_GC_MAJOR_START:
	case EVENT_GC_MAJOR_END:
		collection(t, track, kind, ev);
		break;
	case EVENT_MESSAGE_SEND:
		sent(t, kind, ev);
		break;
	case EVENT_MESSAGE_QUEUED: /* the send has the same fields */
		count_mailbox(t, ev, event_value(ev, EVENT_AT(MESSAGE_QUEUED, QUEUE_LEN)));
		break;
	case EVENT_MESSAGE_RECEIVE:
		received(t, kind, ev);
		count_mailbox(t, ev, event_value(ev, EVENT_AT(MESSAGE_RECEIVE, QUEUE_LEN)));
		break;
	default:
		instant(t, kind, ev);
		break;
	}
}

static void sample(struct timeline *t, const struct event *ev)
{
	const struct names *names = t->stream->names;
	const struct name_stack *s = names_stack(names, ev->u.sample.stack);
	const struct name_frame *frame = s ? names_frame(names, s->frame) : NULL;
	const struct name_function *f = frame ? names_function(names, frame->function) : NULL;
	const char *kind = sample_kind_name(ev->u.sample.kind);
	struct timeline_mark m;
	size_t at;

	/* Such a sample stands for idle time, spread over the recording: it is not at ts_ns. */
	if (ev->u.sample.kind == SAMPLE_WAIT && f && f->kind == FRAME_STATE)
		return;
	if (!track_of(t, ev->u.sample.thread))
		return;
	t->last_ns = MAX(t->last_ns, ev->ts_ns);
	m = marks_at(&t->marks, TIMELINE_INSTANT, marks_tid(&t->marks, ev->u.sample.thread),
		     ev->ts_ns);
	strbuf_reset(&t->name);
	if (f)
		names_format_function(&t->name, f);
	m.name = f ? t->name.buf : NULL;
	m.category = kind;
	marks_add_process(&t->marks, ev->u.sample.process);
	at = t->marks.texts.len;
	strbuf_addstr(&t->marks.texts, kind);
	marks_add_text(&t->marks, "kind", at);
	m.stack = ev->u.sample.stack;
	marks_give(&t->marks, &m);
}

void timeline_other(struct timeline *t, const struct event *ev)
{
	if (ev->type == REC_SAMPLE)
		sample(t, ev);
	else if (ev->type == REC_COVERAGE)
		cover(t, ev);
}

static void summarize(const struct timeline *t, struct timeline_summary *out)
{
	const struct event_stream *s = t->stream;

	*out = (struct timeline_summary){.node = s->node,
					 .otp = s->otp,
					 .untested = s->untested,
					 .start_epoch_ns = s->start_epoch_ns,
					 .lost = s->counters[COUNTER_EVENTS_LOST],
					 .unmatched = flows_unmatched(t->flows)};
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (s->coverage.kinds[kind].known && s->coverage.kinds[kind].share_ppm < 1000000)
			out->shares[out->nr_shares++] = (struct timeline_share){
				.event = event_rows[kind].name,
				.seen = coverage_share(&s->coverage, (enum event_kind)kind)};
	}
}

void timeline_finish(struct timeline *t, struct timeline_summary *summary)
{
	uint64_t end_ns = MAX(t->last_ns, t->stream->start_ns + t->stream->duration_ns);

	for (size_t i = 0; i < t->tracks.len; i++) {
		flush_start(t, &t->tracks.data[i]);
		end_slice(t, &t->tracks.data[i], (uint32_t)i, end_ns, NR_EVENT_KINDS, NULL);
	}
	summarize(t, summary);
}
