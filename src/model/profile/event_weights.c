/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_weights.h. */
#include "model/profile/event_weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "model/stream/call_follow.h"

#define WORD_SIZE  8 /* bytes */
#define KIND(kind) (1ull << EVENT_##kind)
#define GC_ENDS	   (KIND(GC_MINOR_END) | KIND(GC_MAJOR_END))
#define NO_SIZE                                                                                    \
	"messages whose size is not known (to other nodes, or to aliases of processes that keep "  \
	"messages off heap)"
#define NO_RECLAIM  "collections that did not report how much they reclaimed"
#define NO_DURATION "collections whose duration is not known"
#define NO_NEW                                                                                     \
	"collections and exits that did not report what was allocated (older versions of ebeam "   \
	"did not record it, nor do samples, as of --longer-than 5ms)"
#define ALLOCATING (GC_ENDS | KIND(PROCESS_EXIT) | KIND(PROCESS_HIBERNATE))

const struct weight_mode weight_modes[] = {
	{"gc", "time", WEIGHT_GC_TIME, "ns", "time in GC", GC_ENDS, GC_ENDS, NO_DURATION},
	{"gc", "words", WEIGHT_GC_WORDS, "words", "reclaimed by GC", GC_ENDS, GC_ENDS, NO_RECLAIM},
	{"alloc", "allocated", WEIGHT_ALLOCATED, "words", "allocated on heaps", ALLOCATING, GC_ENDS,
	 NO_NEW},
	{"alloc", "survived", WEIGHT_SURVIVED, "words", "allocated, survived a collection", GC_ENDS,
	 GC_ENDS, NO_NEW},
	{"alloc", "binaries", WEIGHT_BINARIES, "bytes", "allocated for large binaries", ALLOCATING,
	 GC_ENDS, NO_NEW},
	{"msg", NULL, WEIGHT_MESSAGE, "bytes", "bytes sent", KIND(MESSAGE_SEND), KIND(MESSAGE_SEND),
	 NO_SIZE},
	{"sched", NULL, WEIGHT_ON, "ns", "time on schedulers", KIND(PROCESS_SCHEDULED),
	 KIND(PROCESS_SCHEDULED), ""},
	{"wait", NULL, WEIGHT_OFF, "ns", "time off schedulers",
	 KIND(PROCESS_SCHEDULED) | KIND(MESSAGE_QUEUED), KIND(PROCESS_SCHEDULED), ""},
	{"malloc", "bytes", WEIGHT_MALLOC, "bytes", "allocated by malloc", KIND(LIBC_ALLOC),
	 KIND(LIBC_ALLOC), ""},
	{"malloc", "leak", WEIGHT_LEAK, "bytes", "leaked by malloc", KIND(LIBC_ALLOC),
	 KIND(LIBC_ALLOC), ""},
	{"wall", NULL, WEIGHT_WALL, "ns", "time of processes", 0, 0, ""},
	{"offcpu", NULL, WEIGHT_OFF_CPU, "ns", "time off CPUs", 0, 0, ""},
	{"trace", "calls", WEIGHT_CALLS, "calls", "traced calls", 0, 0, ""},
	{"trace", "time", WEIGHT_CALL_TIME, "ns", "time in traced calls", CALL_FOLLOW_KINDS, 0,
	 "calls whose end was not seen"},
	{0},
};

const struct weight_mode *weight_mode_find(const char *name, const char *weight)
{
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (strcmp(m->name, name) == 0 &&
		    (!weight || !*weight || (m->weight && strcmp(m->weight, weight) == 0)))
			return m;
	}
	return NULL;
}

/* A time of a process on a scheduler (mode sched) or off schedulers (mode wait). */
struct spell {
	uint64_t epid; /* the key; no process has 0 */
	uint64_t since_ns;
	uint64_t runnable_ns; /* since when it is runnable; 0 = it is waiting */
	uint32_t process, stack, thread;
	uint8_t status;
	bool suspended; /* suspended: a message does not make it runnable */
};

struct held {
	struct spell of; /* since_ns: when it was */
	uint64_t weight;
	enum sample_kind shown;
	enum event_kind from;
};

struct event_weights {
	const struct weight_mode *mode;
	event_weights_fn *emit;
	void *arg;
	struct event_weights_counts counts;
	struct keytab spells;	   /* struct spell, by epid */
	struct call_pairs *pairs;  /* of WEIGHT_CALL_TIME, else NULL */
	struct leak_weights *leak; /* of WEIGHT_LEAK, else NULL */
	/* Samples that are scaled by the coverage of their own kind when it is known. */
	VEC(struct held) held;
	uint32_t max;
};

struct event_weights *event_weights_open(const struct weight_mode *mode, event_weights_fn *emit,
					 void *arg)
{
	return event_weights_open_limited(mode, emit, arg, EVENT_WEIGHTS_PROCESSES);
}

struct event_weights *event_weights_open_limited(const struct weight_mode *mode,
						 event_weights_fn *emit, void *arg,
						 uint32_t max_processes)
{
	struct event_weights *w = xcalloc(1, sizeof(*w));

	w->mode = mode;
	w->emit = emit;
	w->arg = arg;
	w->max = max_processes;
	w->spells = (struct keytab)KEYTAB_INIT(struct spell);
	if (mode->source == WEIGHT_CALL_TIME)
		call_pairs_open(&w->pairs);
	if (mode->source == WEIGHT_LEAK)
		w->leak = leak_weights_open(LEAK_MAX_BLOCKS);
	return w;
}

void event_weights_close(struct event_weights *w)
{
	if (!w)
		return;
	keytab_free(&w->spells);
	call_pairs_close(w->pairs);
	vec_free(&w->held);
	leak_weights_close(w->leak);
	free(w);
}

const struct event_weights_counts *event_weights_counts(const struct event_weights *w)
{
	return &w->counts;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* The spell of a process, new if it has none; NULL if there are `max` already. */
static struct spell *find_or_add(struct event_weights *w, uint64_t epid)
{
	struct spell *s = keytab_find(&w->spells, epid);

	if (s)
		return s;
	if (w->spells.nr >= w->max) {
		w->counts.overflow++;
		return NULL;
	}
	return keytab_add(&w->spells, epid);
}

/* ---- samples -------------------------------------------------------------------------------- */

static void emit(struct event_weights *w, const struct spell *of, enum sample_kind kind,
		 uint64_t ts_ns, uint64_t weight)
{
	struct event sample = {.type = REC_SAMPLE, .ts_ns = ts_ns};

	if (!weight)
		return;
	sample.u.sample.process = of->process;
	sample.u.sample.stack = of->stack;
	sample.u.sample.thread = of->thread;
	sample.u.sample.weight = weight;
	sample.u.sample.kind = kind;
	sample.u.sample.status = (enum sample_status)of->status;
	w->counts.samples++;
	w->emit(w->arg, &sample);
}

static void take_facts(struct spell *s, const struct event *ev)
{
	s->process = ev->u.vm.process;
	s->stack = ev->u.vm.stack;
	s->thread = ev->u.vm.thread;
	s->status = (uint8_t)ev->u.vm.status;
}

/* Emits a sample for one event; weight EVENT_UNKNOWN: only counts it. */
static void weigh(struct event_weights *w, const struct event *ev, enum sample_kind kind,
		  uint64_t weight)
{
	struct spell of = {0};

	if (weight == EVENT_UNKNOWN) {
		w->counts.unknown++;
		return;
	}
	take_facts(&of, ev);
	emit(w, &of, kind, ev->ts_ns, weight);
}

static void weigh_gc(struct event_weights *w, enum event_kind kind, const struct event *ev)
{
	bool minor = kind == EVENT_GC_MINOR_END;
	unsigned int field;

	if (!minor && kind != EVENT_GC_MAJOR_END)
		return;
	if (w->mode->source == WEIGHT_GC_TIME)
		field = minor ? EVENT_AT(GC_MINOR_END, DURATION) : EVENT_AT(GC_MAJOR_END, DURATION);
	else
		field = minor ? EVENT_AT(GC_MINOR_END, RECLAIMED)
			      : EVENT_AT(GC_MAJOR_END, RECLAIMED);
	/* A minor collection that became a major one: the gc_major_end has the values of both. */
	if (minor && event_value(ev, EVENT_AT(GC_MINOR_END, DURATION)) == EVENT_UNKNOWN &&
	    event_value(ev, EVENT_AT(GC_MINOR_END, RECLAIMED)) == 0)
		return;
	weigh(w, ev, SAMPLE_GC, event_value(ev, field));
}

/* Where an event has what is new; no field = not for this weight. */
#define NO_FIELD UINT8_MAX
static const struct {
	enum event_kind kind;
	uint8_t allocated, survived, binaries;
} new_fields[] = {
	{EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, ALLOCATED), EVENT_AT(GC_MINOR_END, SURVIVED),
	 EVENT_AT(GC_MINOR_END, BINARIES)},
	{EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, ALLOCATED), EVENT_AT(GC_MAJOR_END, SURVIVED),
	 EVENT_AT(GC_MAJOR_END, BINARIES)},
	{EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), NO_FIELD,
	 EVENT_AT(PROCESS_EXIT, BINARIES)},
	{EVENT_PROCESS_HIBERNATE, EVENT_AT(PROCESS_HIBERNATE, ALLOCATED), NO_FIELD,
	 EVENT_AT(PROCESS_HIBERNATE, BINARIES)},
};

/* The stack from its innermost Erlang function on: C functions that ask for a collection are not
 * what allocates.  The whole stack if it has none, as at the end of a process. */
static uint32_t erlang_part(const struct names *names, uint32_t stack)
{
	uint32_t part = stack;

	for (const struct name_stack *s; (s = names_stack(names, part)); part = s->parent) {
		const struct name_frame *frame = names_frame(names, s->frame);
		const struct name_function *f =
			frame ? names_function(names, frame->function) : NULL;

		if (f && (f->kind == FRAME_ERLANG || f->kind == FRAME_BIF || f->kind == FRAME_NIF))
			return part;
	}
	return stack;
}

/* Words become bytes, and of kinds with a coverage of their own samples are held. */
static void weigh_words(struct event_weights *w, const struct event_stream *s,
			const struct event *ev, enum event_kind kind, uint64_t words)
{
	bool binaries = w->mode->source == WEIGHT_BINARIES;
	enum sample_kind shown = binaries ? SAMPLE_BINARY : SAMPLE_ERLANG;
	uint64_t unit = binaries ? WORD_SIZE : 1;
	struct spell of = {0};

	if (words > UINT64_MAX / (2 * WORD_SIZE)) {
		w->counts.unknown++;
		return;
	}
	take_facts(&of, ev);
	of.stack = erlang_part(s->names, of.stack);
	of.since_ns = ev->ts_ns;
	if (w->mode->scaled_by >> kind & 1)
		emit(w, &of, shown, ev->ts_ns, words * unit);
	else if (words && w->held.len >= w->max)
		w->counts.overflow++;
	else if (words)
		vec_push(&w->held, ((struct held){of, words * unit, shown, kind}));
}

static void weigh_new(struct event_weights *w, const struct event_stream *s, enum event_kind kind,
		      const struct event *ev)
{
	for (size_t i = 0; i < ARRAY_SIZE(new_fields); i++) {
		uint8_t field = new_fields[i].allocated;

		if (new_fields[i].kind != kind)
			continue;
		if (w->mode->source == WEIGHT_SURVIVED)
			field = new_fields[i].survived;
		else if (w->mode->source == WEIGHT_BINARIES)
			field = new_fields[i].binaries;
		if (field != NO_FIELD)
			weigh_words(w, s, ev, kind, event_value(ev, field));
	}
}

/* Emits what was held, so that the scale of all makes it as large as its own coverage would. */
static void emit_held(struct event_weights *w, const struct event_stream *s)
{
	double share = coverage_share_of(&s->coverage, w->mode->scaled_by), carried = 0;

	for (size_t i = 0; i < w->held.len; i++) {
		const struct held *h = &w->held.data[i];
		double weight =
			carried + (double)h->weight * share / coverage_share(&s->coverage, h->from);
		uint64_t whole = (uint64_t)weight;

		/* What is less than one goes to the next: many are that small, and the sum of all
		 * is what it was. */
		carried = weight - (double)whole;
		emit(w, &h->of, h->shown, h->of.since_ns, whole);
	}
	w->held.len = 0;
}

static void weigh_message(struct event_weights *w, enum event_kind kind, const struct event *ev)
{
	uint64_t words = event_value(ev, EVENT_AT(MESSAGE_SEND, SIZE));

	if (kind == EVENT_MESSAGE_SEND)
		weigh(w, ev, SAMPLE_COPY,
		      words <= UINT64_MAX / (2 * WORD_SIZE) ? words * WORD_SIZE : EVENT_UNKNOWN);
}

/* What became of a block that was sampled. */
static void follow_block(struct event_weights *w, struct event_stream *s, const struct event *ev,
			 uint64_t address)
{
	uint64_t size = event_value(ev, EVENT_AT(LIBC_ALLOC, SIZE));

	switch (event_stream_word(s, event_value_id(ev, EVENT_AT(LIBC_ALLOC, OP)))) {
	case EVENT_WORD_CHANGED:
		leak_weights_content(w->leak, address, ev->ts_ns, LEAK_CHANGED);
		break;
	case EVENT_WORD_ALIKE:
		leak_weights_content(w->leak, address, ev->ts_ns, LEAK_ALIKE);
		break;
	case EVENT_WORD_SHRUNK:
		leak_weights_cut(w->leak, address, address, size);
		break;
	case EVENT_WORD_GONE:
		leak_weights_free(w->leak, address, ev->ts_ns, false);
		break;
	default:
		if (size != EVENT_UNKNOWN)
			leak_weights_cut_start(w->leak, address, size);
		else
			leak_weights_free(w->leak, address, ev->ts_ns, true);
		break;
	}
}

/* What the VM itself maps becomes carriers of its allocators, which it keeps.  What it gets by
 * malloc may be for NIFs and drivers, if their allocators are disabled. */
static bool is_carrier(const struct event_stream *s, const struct event *ev)
{
	const char *op = names_string(s->names, event_value_id(ev, EVENT_AT(LIBC_ALLOC, OP)));
	uint32_t stack = ev->u.vm.stack;
	const struct name_frame *frame;
	const struct name_function *f = names_next_frame(s->names, &stack, &frame);

	return op && strcmp(op, "mmap") == 0 && f && f->kind == FRAME_NATIVE && f->module &&
	       strncmp(f->module, "beam.", 5) == 0;
}

static void weigh_block(struct event_weights *w, struct event_stream *s, enum event_kind kind,
			const struct event *ev)
{
	struct leak_block b = {
		.address = event_value(ev, EVENT_AT(LIBC_ALLOC, ADDRESS)),
		.ts_ns = ev->ts_ns,
		.size = event_value(ev, EVENT_AT(LIBC_ALLOC, SIZE)),
		.bytes = event_value(ev, EVENT_AT(LIBC_ALLOC, STANDS_FOR)),
		.process = ev->u.vm.process,
		.stack = ev->u.vm.stack,
		.thread = ev->u.vm.thread,
		.status = (uint8_t)ev->u.vm.status,
	};
	bool freed = b.bytes == EVENT_UNKNOWN;

	if (kind != EVENT_LIBC_ALLOC)
		return;
	if (w->leak && b.address && freed)
		follow_block(w, s, ev, b.address);
	else if (w->leak && b.address && !is_carrier(s, ev))
		leak_weights_alloc(w->leak, &b);
	else if (!w->leak && !freed)
		weigh(w, ev, SAMPLE_ALLOC, b.bytes);
}

static void emit_leaked(void *arg, const struct leak_block *b, uint64_t bytes)
{
	const struct spell of = {
		.process = b->process, .stack = b->stack, .thread = b->thread, .status = b->status};

	emit(arg, &of, SAMPLE_ALLOC, b->ts_ns, bytes);
}

/* ---- on and off ----------------------------------------------------------------------------- */

static void end_spell(struct event_weights *w, const struct spell *s, uint64_t ts_ns)
{
	uint64_t woken = s->runnable_ns ? MAX(s->runnable_ns, s->since_ns) : ts_ns;

	if (ts_ns < s->since_ns)
		return; /* a damaged file may have any value */
	if (w->mode->source == WEIGHT_ON) {
		emit(w, s, SAMPLE_ERLANG, ts_ns, ts_ns - s->since_ns);
		return;
	}
	woken = MIN(woken, ts_ns);
	emit(w, s, SAMPLE_WAITING, ts_ns, woken - s->since_ns);
	emit(w, s, SAMPLE_RUNNABLE, ts_ns, ts_ns - woken);
}

static void begin_spell(struct event_weights *w, struct event_stream *stream, uint64_t epid,
			const struct event *ev)
{
	struct spell *s = find_or_add(w, epid);
	enum event_word status;

	if (!s)
		return;
	status = event_stream_word(stream, event_value_id(ev, EVENT_AT(PROCESS_SCHEDULED, STATUS)));
	take_facts(s, ev);
	s->since_ns = ev->ts_ns;
	s->runnable_ns = status == EVENT_WORD_RUNNABLE ? ev->ts_ns : 0;
	s->suspended = status == EVENT_WORD_SUSPENDED;
}

/* Ends the spell of a process at this event. */
static void take_end(struct event_weights *w, const struct event_stream *stream, uint64_t epid,
		     const struct event *ev)
{
	struct spell *s = keytab_find(&w->spells, epid);

	if (!s) {
		w->counts.began_before++;
		return;
	}
	if (coverage_gap(&stream->coverage, EVENT_PROCESS_SCHEDULED, s->since_ns)) {
		w->counts.gaps++;
	} else {
		/* A time on a scheduler gets the stack at its end. */
		if (w->mode->source == WEIGHT_ON)
			take_facts(s, ev);
		end_spell(w, s, ev->ts_ns);
	}
	keytab_remove(&w->spells, s);
}

static void schedule(struct event_weights *w, struct event_stream *stream, const struct event *ev)
{
	const struct name_process *p = names_process(stream->names, ev->u.vm.process);
	bool in, begins;
	enum event_word word;
	struct spell *s;

	if (!p || !p->epid)
		return;
	word = event_stream_word(stream, event_value_id(ev, EVENT_AT(PROCESS_SCHEDULED, TYPE)));
	if (word == EVENT_WORD_NONE)
		return;
	in = word == EVENT_WORD_IN || word == EVENT_WORD_IN_EXITING;
	begins = in == (w->mode->source == WEIGHT_ON);
	if (!begins) {
		take_end(w, stream, p->epid, ev);
		return;
	}
	/* A process that has exited does not wait. */
	if (word == EVENT_WORD_OUT_EXITED) {
		s = keytab_find(&w->spells, p->epid);
		if (s)
			keytab_remove(&w->spells, s);
	} else {
		begin_spell(w, stream, p->epid, ev);
	}
}

static void wake(struct event_weights *w, const struct event_stream *stream, const struct event *ev)
{
	const struct name_process *p = names_process(stream->names, ev->u.vm.process);
	struct spell *s = p && p->epid ? keytab_find(&w->spells, p->epid) : NULL;

	if (s && !s->runnable_ns && !s->suspended)
		s->runnable_ns = ev->ts_ns;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void weigh_call(struct event_weights *w, const struct call_under_way *call, uint64_t ts_ns,
		       uint64_t weight)
{
	const struct spell of = {
		.process = call->process,
		.stack = call->stack,
		.thread = call->thread,
		.status = call->status,
	};

	emit(w, &of, SAMPLE_ERLANG, ts_ns, weight);
}

static void end_call(struct event_weights *w, uint64_t epid, const struct call_under_way *call,
		     uint64_t ts_ns)
{
	uint64_t ns = ts_ns > call->ts_ns ? ts_ns - call->ts_ns : 0;

	ns -= MIN(ns, call->tracing_ns);
	weigh_call(w, call, ts_ns, ns > call->inside_ns ? ns - call->inside_ns : 0);
	call_pairs_inside(w->pairs, epid, ns);
}

/* An exception has ended all calls that are higher on the stack than its handler. */
static void end_by_exception(struct event_weights *w, const struct event_stream *s,
			     enum event_kind kind, const struct event *ev)
{
	const struct name_process *p = names_process(s->names, ev->u.vm.process);
	struct call_under_way call;

	if (p && 1ull << kind & CALL_FOLLOW_KINDS)
		call_follow_hit(w->pairs, s, ev);
	while (p && call_follow_event(w->pairs, s, kind, ev, &call))
		end_call(w, p->epid, &call, ev->ts_ns);
}

void event_weights_call(struct event_weights *w, const struct event_stream *s,
			const struct event *ev)
{
	const struct name_process *p = names_process(s->names, ev->u.call.process);
	struct call_under_way call = {
		.process = ev->u.call.process,
		.thread = ev->u.call.thread,
		.stack = ev->u.call.stack,
		.status = (uint8_t)ev->u.call.status,
	};

	if (!weight_mode_is_calls(w->mode))
		return;
	if (w->pairs)
		call_follow_hit(w->pairs, s, ev);
	if (ev->u.call.kind == CALL_KIND_CALL) {
		w->counts.alone += !(ev->u.call.flags & CALL_STACK);
		if (!w->pairs) {
			weigh_call(w, &call, ev->ts_ns, 1);
			return;
		}
		w->counts.unknown += !(ev->u.call.flags & CALL_ENDS);
		call_follow_begin(w->pairs, s, ev, &call);
		return;
	}
	while (w->pairs && p && call_follow_end(w->pairs, s, ev, &call))
		end_call(w, p->epid, &call, ev->ts_ns);
}

void event_weights_coverage(struct event_weights *w, const struct event_stream *s,
			    const struct event *ev)
{
	const char *name;

	if (w->pairs)
		call_follow_coverage(w->pairs, s, ev);
	name = w->leak ? names_string(s->names, ev->u.coverage.kind) : NULL;
	if (name && strcmp(name, event_rows[EVENT_LIBC_ALLOC].name) == 0)
		leak_weights_window(w->leak, ev->u.coverage.state == COVERAGE_ON, ev->ts_ns);
}

void event_weights_take(struct event_weights *w, struct event_stream *s, enum event_kind kind,
			const struct event *ev)
{
	switch (w->mode->source) {
	case WEIGHT_GC_TIME:
	case WEIGHT_GC_WORDS:
		weigh_gc(w, kind, ev);
		break;
	case WEIGHT_ALLOCATED:
	case WEIGHT_SURVIVED:
	case WEIGHT_BINARIES:
		weigh_new(w, s, kind, ev);
		break;
	case WEIGHT_MESSAGE:
		weigh_message(w, kind, ev);
		break;
	case WEIGHT_MALLOC:
	case WEIGHT_LEAK:
		weigh_block(w, s, kind, ev);
		break;
	case WEIGHT_ON:
	case WEIGHT_OFF:
		if (kind == EVENT_PROCESS_SCHEDULED)
			schedule(w, s, ev);
		else if (kind == EVENT_MESSAGE_QUEUED && w->mode->source == WEIGHT_OFF)
			wake(w, s, ev);
		break;
	case WEIGHT_WALL:
	case WEIGHT_OFF_CPU:
	case WEIGHT_LOCKS:
		break;
	case WEIGHT_CALL_TIME:
		end_by_exception(w, s, kind, ev);
		break;
	case WEIGHT_CALLS:
		break;
	}
}

void event_weights_finish(struct event_weights *w, const struct event_stream *s, uint64_t end_ns)
{
	w->counts.unrecorded = w->mode->kinds & ~s->watched;
	emit_held(w, s);
	if (w->pairs) {
		/* First, as this moves calls that have ended unseen to call_pairs_unseen(). */
		w->counts.unknown += call_pairs_under_way(w->pairs);
		w->counts.unknown += call_pairs_unseen(w->pairs) + call_pairs_refused(w->pairs);
	}
	if (w->leak)
		leak_weights_finish(w->leak, MAX(s->start_ns, s->watching_ns), end_ns, emit_leaked,
				    w, &w->counts.leak);
	for (const struct spell *spell = NULL; (spell = keytab_next(&w->spells, spell));) {
		if (end_ns <= spell->since_ns)
			continue;
		if (coverage_gap(&s->coverage, EVENT_PROCESS_SCHEDULED, spell->since_ns)) {
			w->counts.gaps++;
			continue;
		}
		end_spell(w, spell, end_ns);
		w->counts.unfinished++;
		w->counts.unfinished_ns += end_ns - spell->since_ns;
	}
}
