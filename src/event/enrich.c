/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw records in, definitions and events out (see enrich.h).
 *
 * New names that the resolver has interned are found by their ids: the dictionary only grows, so
 * ids above record_queue.pushed are new.  Tables are written in the order in which they refer to
 * each other: a definition precedes its use, a stack's parent the stack.  The queue holds records
 * made from one raw record, or added by the command; before the next is fetched it is empty.
 */
#include "event/enrich.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "event/catalogue.h"
#include "event/off_cpu.h"
#include "event/record_queue.h"
#include "event/slices.h"
#include "event/vm_frames.h"

struct sample_weight {
	uint64_t from_ns;
	uint32_t weight;
};

struct enrich {
	struct source source;
	struct source *inner;	   /* borrowed, may be NULL */
	struct resolver *resolver; /* borrowed */
	struct names *names;
	struct record_queue queue;
	uint64_t bad_records;
	struct resolved_sample resolved;
	/* From the last RAW_SAMPLE_EVENT: the stack of the next event, if that has the same time
	 * and thread. */
	struct {
		uint64_t ts_ns;
		uint32_t os_tid, stack;
		enum sample_status status;
	} stack;
	/* From the last RAW_SAMPLE_OFF_CPU: the sample whose weight comes next. */
	struct {
		uint64_t ts_ns;
		uint32_t os_tid;
		struct rec_sample fields;
	} off;
	double variance[NR_SAMPLE_KINDS + 1];
	enrich_off_cpu_fn *take_off;
	void *take_off_arg;
	uint32_t kind_names[NR_EVENT_KINDS]; /* string ids, 0 = not interned yet */
	bool calls;			     /* a REC_RAW_CALL has come */
	struct slices slices;
	VEC(struct sample_weight) weights; /* by from_ns; before the first: 1 */
};

static const char *const counter_names[NR_COUNTERS] = {
#define COUNTER(name, json, text, advice)      [COUNTER_##name] = json,
#define COUNTER_USER(name, json, text, advice) [COUNTER_##name] = json,
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
};

/* ---- raw records ----------------------------------------------------------------------------- */

static void push_sample(struct enrich *e, const struct rec_sample *fields, uint64_t ts_ns)
{
	struct rec_sample *rec;

	record_queue_define(&e->queue, e->names);
	rec = record_queue_push(&e->queue, REC_SAMPLE, sizeof(*rec), ts_ns);
	rec->process = fields->process;
	rec->stack = fields->stack;
	rec->thread = fields->thread;
	rec->weight = fields->weight;
	rec->weight_high = fields->weight_high;
	rec->kind = fields->kind;
	rec->status = fields->status;
}

/* True if the sample refers to defined ids only: readers of a capture refuse others. */
static bool is_consistent(const struct enrich *e, const struct resolved_sample *s)
{
	if (s->nr_frames > RESOLVED_FRAMES || s->kind >= NR_SAMPLE_KINDS ||
	    s->status >= NR_SAMPLE_STATUSES || !names_thread(e->names, s->thread) ||
	    (s->process && !names_process(e->names, s->process)))
		return false;
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		if (!names_frame(e->names, s->frames[i]))
			return false;
	}
	return true;
}

static uint32_t weight_at(const struct enrich *e, uint64_t ts_ns)
{
	for (size_t i = e->weights.len; i > 0; i--) {
		if (e->weights.data[i - 1].from_ns <= ts_ns)
			return e->weights.data[i - 1].weight;
	}
	return 1;
}

static void enrich_sample(struct enrich *e, const struct rec_raw_sample *raw)
{
	struct resolved_sample *s = &e->resolved;
	uint64_t nr_addrs = (uint64_t)raw->nr_kernel + raw->nr_leaf + raw->nr_root;
	struct rec_sample fields = {.weight = weight_at(e, raw->h.ts_ns)};

	if (raw->h.size < sizeof(*raw) + nr_addrs * sizeof(raw->addrs[0]) ||
	    e->resolver->sample(e->resolver, e->names, raw, s) < 0 || !is_consistent(e, s)) {
		e->bad_records++;
		return;
	}
	for (uint32_t i = 0; i < s->nr_frames; i++)
		fields.stack = names_intern_stack(e->names, fields.stack, s->frames[i], NULL);
	if (raw->flags & RAW_SAMPLE_EVENT) {
		e->stack.ts_ns = raw->h.ts_ns;
		e->stack.os_tid = raw->os_tid;
		e->stack.stack = fields.stack;
		e->stack.status = s->status;
		return;
	}
	fields.process = s->process;
	fields.thread = s->thread;
	fields.kind = (uint8_t)s->kind;
	fields.status = (uint8_t)s->status;
	if (raw->flags & RAW_SAMPLE_OFF_CPU) {
		e->off.ts_ns = raw->h.ts_ns;
		e->off.os_tid = raw->os_tid;
		e->off.fields = fields;
		return;
	}
	push_sample(e, &fields, raw->h.ts_ns);
}

/* A part of a time off a CPU, with its weight for all that it stands for (Horvitz-Thompson). */
static void push_off_cpu(struct enrich *e, const struct off_cpu_part *part, uint64_t ts_ns)
{
	struct rec_sample fields = e->off.fields;

	if (!part->ns)
		return;
	/* Threads that wait for work, though nothing that BPF programs see said so: where they do
	 * is of no interest. */
	if (part->kind == SAMPLE_WAIT) {
		enrich_add_state(e, fields.thread, "[idle]", SAMPLE_WAIT, part->ns, ts_ns);
		return;
	}
	fields.kind = (uint8_t)part->kind;
	e->variance[part->kind] += part->variance;
	enrich_add_sample(e, &fields, part->ns, ts_ns);
}

/* Id of a process of which only the pid is known; 0 = none. */
static uint32_t process_of(struct enrich *e, const struct rec_raw_off_cpu *raw, uint64_t epid)
{
	struct rec_raw_sample sample = off_cpu_sample(raw);

	sample.epid = epid;
	if (!epid || e->resolver->sample(e->resolver, e->names, &sample, &e->resolved) < 0)
		return 0;
	return e->resolved.process;
}

static void report_off_cpu(struct enrich *e, const struct rec_raw_off_cpu *raw)
{
	const struct rec_sample *of = &e->off.fields;
	struct enrich_off_cpu t = {
		.begin_ns = raw->since_ns,
		.ns = raw->h.ts_ns - raw->since_ns,
		.stands_for = 1 / off_cpu_chance(raw),
		.kind = (enum sample_kind)of->kind,
		.copied = !(raw->flags & OFF_CPU_ALONE),
		.goes_on = raw->flags & OFF_CPU_GOES_ON,
		.process = of->process,
		.stack = of->stack,
		.thread = of->thread,
		.waker = process_of(e, raw, raw->waker_epid),
	};

	if (raw->woken_ns >= raw->since_ns && raw->woken_ns <= raw->h.ts_ns)
		t.runnable_ns = raw->h.ts_ns - raw->woken_ns;
	e->take_off(e->take_off_arg, &t);
}

static void enrich_off_cpu(struct enrich *e, const struct rec_raw_off_cpu *raw)
{
	struct off_cpu_part waited, runnable;

	if (raw->flags & OFF_CPU_ALONE) {
		const struct rec_raw_sample sample = off_cpu_sample(raw);

		enrich_sample(e, &sample);
	}
	if (!e->off.os_tid || e->off.ts_ns != raw->h.ts_ns || e->off.os_tid != raw->os_tid ||
	    !off_cpu_parts(raw, (enum sample_kind)e->off.fields.kind, &waited, &runnable)) {
		e->bad_records++;
		return;
	}
	push_off_cpu(e, &waited, raw->h.ts_ns);
	push_off_cpu(e, &runnable, raw->h.ts_ns);
	/* Both parts are there or not together. */
	if (waited.kind != SAMPLE_WAIT)
		e->variance[NR_SAMPLE_KINDS] += off_cpu_variance(&waited, &runnable);
	else if (runnable.kind != SAMPLE_WAIT)
		e->variance[NR_SAMPLE_KINDS] += runnable.variance;
	if (e->take_off && !(raw->flags & OFF_CPU_PREEMPTED))
		report_off_cpu(e, raw);
	e->off.os_tid = 0;
}

static bool event_is_consistent(const struct enrich *e, const struct rec_raw_event *raw,
				const struct resolved_event *v)
{
	const struct event_field *fields;
	unsigned int nr;

	fields = event_fields((enum event_kind)raw->kind, &nr);
	if (v->nr_values != nr || !names_thread(e->names, v->thread) ||
	    (v->process && !names_process(e->names, v->process)) ||
	    (v->leaf && !names_frame(e->names, v->leaf)))
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		uint32_t id = (uint32_t)v->values[i];
		bool known = true;

		if (fields[i].type == FIELD_PID)
			known = names_process(e->names, id) != NULL;
		else if (fields[i].type == FIELD_MFA || fields[i].type == FIELD_CODE)
			known = names_function(e->names, id) != NULL;
		else if (fields[i].type < FIELD_WORDS)
			known = names_string(e->names, id) != NULL;
		else
			continue;
		if (v->values[i] && (id != v->values[i] || !known))
			return false;
	}
	return true;
}

static uint32_t kind_name(struct enrich *e, uint16_t kind)
{
	const char *name = event_rows[kind].name;

	if (!e->kind_names[kind])
		e->kind_names[kind] = names_intern_string(e->names, name, strlen(name), NULL);
	return e->kind_names[kind];
}

static bool same_function(const struct name_function *a, const struct name_function *b)
{
	return a->module_id == b->module_id && a->name_id == b->name_id && a->arity == b->arity;
}

/* The stack of a call with c->function as its leaf, which is added unless the walked stack has it
 * as its leaf.  Without a walked stack, the caller is the only other frame. */
static uint32_t stack_of_call(struct enrich *e, uint32_t walked, const struct resolved_call *c)
{
	uint32_t stack = vm_frames_cut(e->names, walked), frame;
	const struct name_stack *s = names_stack(e->names, stack);

	if (s && same_function(names_function(e->names, names_frame(e->names, s->frame)->function),
			       names_function(e->names, c->function)))
		return stack;
	if (!s && names_frame(e->names, c->caller))
		stack = names_intern_stack(e->names, 0, c->caller, NULL);
	frame = names_intern_frame(e->names, c->function, 0, 0, NULL);
	return names_intern_stack(e->names, stack, frame, NULL);
}

/* A record without blocks may end after its last value: returns a copy of it in *room, with the
 * missing values zero; any other record itself; NULL if it is malformed. */
static const struct rec_raw_event *whole_event(const struct rec_raw_event *raw,
					       struct rec_raw_event *room)
{
	size_t values = raw->h.size - offsetof(struct rec_raw_event, values);

	if (raw->h.size >= sizeof(*raw))
		return raw;
	if (raw->nr_blocks || raw->nr_values > values / sizeof(raw->values[0]))
		return NULL;
	memset(room, 0, sizeof(*room));
	memcpy(room, raw, raw->h.size);
	room->h.size = sizeof(*room);
	return room;
}

/* Whether the stack that came before the event has the event's time and thread. */
static bool is_ahead(const struct enrich *e, uint64_t ts_ns, uint32_t os_tid)
{
	return e->stack.ts_ns == ts_ns && e->stack.os_tid == os_tid;
}

static void enrich_event(struct enrich *e, const struct rec_raw_event *raw)
{
	struct resolved_event v = {0};
	struct rec_raw_event room;
	struct rec_event *rec;
	uint32_t kind, stack = 0;

	raw = whole_event(raw, &room);
	if (!raw || raw->kind >= NR_EVENT_KINDS || raw->nr_values > EVENT_RAW_WORDS ||
	    raw->nr_blocks > EVENT_BLOCKS ||
	    raw->h.size < sizeof(*raw) + raw->nr_blocks * sizeof(raw->blocks[0]) ||
	    !e->resolver->event || e->resolver->event(e->resolver, e->names, raw, &v) < 0 ||
	    !event_is_consistent(e, raw, &v)) {
		e->bad_records++;
		return;
	}
	kind = kind_name(e, raw->kind);
	if (raw->flags & RAW_EVENT_STACK && is_ahead(e, raw->h.ts_ns, raw->os_tid)) {
		stack = e->stack.stack;
		if (v.leaf)
			stack = vm_frames_leaf(e->names, stack, v.leaf);
	}
	record_queue_define(&e->queue, e->names);
	rec = record_queue_push(&e->queue, REC_EVENT, sizeof(*rec) + 8 * (size_t)v.nr_values,
				raw->h.ts_ns);
	rec->kind = kind;
	rec->process = v.process;
	rec->thread = v.thread;
	rec->cpu = raw->cpu;
	rec->nr_values = (uint8_t)v.nr_values;
	memcpy(rec->values, v.values, 8 * (size_t)v.nr_values);
	rec->stack = stack;
	if (stack)
		rec->status = (uint8_t)e->stack.status;
}

static void push_call(struct enrich *e, const struct rec_raw_call *raw,
		      const struct resolved_call *c)
{
	bool walked = raw->flags & RAW_CALL_STACK && is_ahead(e, raw->h.ts_ns, raw->os_tid);
	uint32_t stack = 0, slice = slices_number(&e->slices, raw->epid, raw->slice);
	struct rec_call *rec;

	if (raw->kind == CALL_KIND_CALL && names_function(e->names, c->function))
		stack = stack_of_call(e, walked ? e->stack.stack : 0, c);
	record_queue_define(&e->queue, e->names);
	rec = record_queue_push(&e->queue, REC_CALL, sizeof(*rec) + c->terms->len, raw->h.ts_ns);
	rec->process = c->process;
	rec->thread = c->thread;
	rec->kind = raw->kind;
	rec->function = c->function;
	rec->caller = c->caller;
	rec->cpu = raw->cpu;
	rec->height = raw->height;
	rec->site = raw->caller;
	rec->flags = (raw->cut || c->cut ? CALL_TRUNCATED : 0) | (walked ? CALL_STACK : 0) |
		     (c->ends ? CALL_ENDS : 0) | (raw->flags & RAW_CALL_GOES_ON ? CALL_GOES_ON : 0);
	rec->nr_terms = c->nr_terms;
	rec->shape = c->shape;
	rec->stack = stack;
	rec->status = walked ? (uint8_t)e->stack.status : 0;
	rec->slice_high = (uint8_t)(slice >> 16);
	rec->slice = (uint16_t)slice;
	rec->text_size = (uint32_t)c->terms->len;
	if (c->terms->len)
		memcpy(rec->bytes, c->terms->buf, c->terms->len);
}

static void enrich_call(struct enrich *e, const struct rec_raw_call *raw)
{
	struct strbuf terms = STRBUF_INIT;
	struct resolved_call c = {.terms = &terms};
	int rc = -EINVAL;

	if (raw->kind < NR_CALL_KINDS && raw->used <= TERM_COPY_WORDS &&
	    raw->used <= (raw->h.size - sizeof(*raw)) / sizeof(raw->words[0]) && e->resolver->call)
		rc = e->resolver->call(e->resolver, e->names, raw, &c);
	if (rc == 0 && terms.len > EBEAM_MAX_RECORD_SIZE - sizeof(struct rec_call) - 8)
		rc = -E2BIG;
	if (rc == 0)
		push_call(e, raw, &c);
	else if (rc < 0)
		e->bad_records++;
	strbuf_free(&terms);
}

static void enrich_code(struct enrich *e, const struct rec_raw_code *raw)
{
	if (raw->copied > raw->h.size - sizeof(*raw))
		e->bad_records++;
	else
		e->resolver->code(e->resolver, raw);
}

static bool is_about_ends(const struct rec_header *rec)
{
	enum event_kind kind;

	if (rec->type != REC_RAW_EVENT || rec->size < offsetof(struct rec_raw_event, values))
		return rec->type == REC_RAW_CALL;
	kind = (enum event_kind)((const struct rec_raw_event *)rec)->kind;
	return kind == EVENT_PROCESS_EXCEPTION || kind == EVENT_PROCESS_HIBERNATE;
}

/* If the record, which came late or was refused, is of a type that ends calls: adds a gap, as ends
 * of the calls under way may have been missed. */
static void lose_ends(struct enrich *e, const struct rec_header *rec)
{
	if (e->calls && is_about_ends(rec))
		enrich_add_call_gap(e, &(struct enrich_call_gap){.from_ns = rec->ts_ns - 1,
								 .to_ns = rec->ts_ns});
}

static void enrich_coverage(struct enrich *e, const struct rec_raw_coverage *raw)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (raw->kinds >> kind & 1)
			enrich_add_coverage(e, (enum event_kind)kind, raw);
	}
	if (raw->kinds >> EVENT_CALLS & 1)
		enrich_add_call_coverage(e, raw);
	if (!raw->kinds)
		enrich_add_coverage(e, NR_EVENT_KINDS, raw);
}

/* Processes a raw record and returns true; false for any other record. */
static bool consume(struct enrich *e, const struct rec_header *rec)
{
	uint64_t bad = e->bad_records;
	size_t least = 0;

	switch (rec->type) {
	case REC_RAW_SAMPLE:
		least = sizeof(struct rec_raw_sample);
		break;
	case REC_RAW_PROCESS:
		least = sizeof(struct rec_raw_process);
		break;
	case REC_RAW_CODE:
		least = sizeof(struct rec_raw_code);
		break;
	case REC_RAW_CSTACK:
		least = offsetof(struct rec_raw_cstack, stack);
		break;
	case REC_RAW_GAP:
		least = offsetof(struct rec_raw_gap, gap);
		break;
	case REC_RAW_OFF_CPU:
		least = sizeof(struct rec_raw_off_cpu);
		break;
	case REC_RAW_EVENT:
		least = offsetof(struct rec_raw_event, values);
		break;
	case REC_RAW_CALL:
		least = sizeof(struct rec_raw_call);
		break;
	case REC_RAW_COVERAGE:
		least = sizeof(struct rec_raw_coverage);
		break;
	default:
		/* An unknown raw record must not get into a capture. */
		if (rec->type < REC_META)
			e->bad_records++;
		return rec->type < REC_META;
	}
	e->calls |= rec->type == REC_RAW_CALL;
	if (rec->flags & REC_LATE)
		lose_ends(e, rec);
	if (rec->size < least)
		e->bad_records++;
	else if (rec->type == REC_RAW_SAMPLE)
		enrich_sample(e, (const struct rec_raw_sample *)rec);
	else if (rec->type == REC_RAW_PROCESS)
		e->resolver->process(e->resolver, e->names, (const struct rec_raw_process *)rec);
	else if (rec->type == REC_RAW_CODE)
		enrich_code(e, (const struct rec_raw_code *)rec);
	else if (rec->type == REC_RAW_EVENT)
		enrich_event(e, (const struct rec_raw_event *)rec);
	else if (rec->type == REC_RAW_CALL)
		enrich_call(e, (const struct rec_raw_call *)rec);
	else if (rec->type == REC_RAW_OFF_CPU)
		enrich_off_cpu(e, (const struct rec_raw_off_cpu *)rec);
	else if (rec->type == REC_RAW_COVERAGE)
		enrich_coverage(e, (const struct rec_raw_coverage *)rec);
	else if (rec->type == REC_RAW_GAP && e->resolver->gap)
		e->resolver->gap(e->resolver, (const struct rec_raw_gap *)rec);
	else if (rec->type == REC_RAW_CSTACK && e->resolver->cstack)
		e->resolver->cstack(e->resolver, (const struct rec_raw_cstack *)rec);
	if (e->bad_records != bad)
		lose_ends(e, rec);
	return true;
}

static int enrich_next(struct source *s, const struct rec_header **rec, struct error *err)
{
	struct enrich *e = CONTAINER_OF(s, struct enrich, source);
	int ret;

	for (;;) {
		*rec = record_queue_pop(&e->queue);
		if (*rec)
			return 1;
		ret = e->inner ? e->inner->next(e->inner, rec, err) : 0;
		if (ret <= 0)
			return ret;
		if (!consume(e, *rec))
			return 1;
	}
}

static int enrich_fd(struct source *s)
{
	struct enrich *e = CONTAINER_OF(s, struct enrich, source);

	return e->inner ? e->inner->fd(e->inner) : -1;
}

static void enrich_close_source(struct source *s)
{
	enrich_close(CONTAINER_OF(s, struct enrich, source));
}

/* ---- interface ------------------------------------------------------------------------------- */

struct enrich *enrich_open(struct source *inner, struct resolver *resolver)
{
	struct enrich *e = xcalloc(1, sizeof(*e));

	e->names = names_open();
	e->source.next = enrich_next;
	e->source.fd = enrich_fd;
	e->source.close = enrich_close_source;
	e->inner = inner;
	e->resolver = resolver;
	slices_open(&e->slices);
	return e;
}

void enrich_close(struct enrich *e)
{
	if (!e)
		return;
	names_close(e->names);
	slices_close(&e->slices);
	vec_free(&e->weights);
	record_queue_free(&e->queue);
	free(e);
}

void enrich_set_weight(struct enrich *e, uint32_t weight, uint64_t from_ns)
{
	vec_push(&e->weights, ((struct sample_weight){.weight = weight, .from_ns = from_ns}));
}

struct source *enrich_source(struct enrich *e)
{
	return &e->source;
}

void enrich_add_meta(struct enrich *e, const char *key, const char *value)
{
	size_t key_len = strnlen(key, NAMES_MAX_STRING);
	size_t value_len = strnlen(value, NAMES_MAX_STRING);
	struct rec_meta *rec;

	/* A value that is too long is truncated at the end of a character. */
	while (value[value_len] && value_len && ((unsigned char)value[value_len] & 0xc0) == 0x80)
		value_len--;
	rec = record_queue_push(&e->queue, REC_META, sizeof(*rec) + key_len + value_len, 0);
	rec->key_size = (uint32_t)key_len;
	rec->value_size = (uint32_t)value_len;
	memcpy(rec->bytes, key, key_len);
	memcpy(rec->bytes + key_len, value, value_len);
}

static struct rec_coverage *add_coverage(struct enrich *e, uint32_t name,
					 const struct rec_raw_coverage *raw)
{
	struct rec_coverage *rec;

	record_queue_define(&e->queue, e->names);
	rec = record_queue_push(&e->queue, REC_COVERAGE, sizeof(*rec), raw->h.ts_ns);
	rec->kind = name;
	rec->state = raw->state;
	rec->share_ppm = raw->share_ppm;
	rec->work = raw->work;
	rec->missed = raw->missed;
	return rec;
}

void enrich_add_coverage(struct enrich *e, enum event_kind kind, const struct rec_raw_coverage *raw)
{
	add_coverage(e, kind < NR_EVENT_KINDS ? kind_name(e, (uint16_t)kind) : 0, raw);
}

void enrich_add_call_coverage(struct enrich *e, const struct rec_raw_coverage *raw)
{
	add_coverage(
		e, names_intern_string(e->names, EVENT_CALLS_NAME, strlen(EVENT_CALLS_NAME), NULL),
		raw);
}

void enrich_add_scheduler(struct enrich *e, const struct rec_scheduler *from)
{
	struct rec_scheduler *rec =
		record_queue_push(&e->queue, REC_SCHEDULER, sizeof(*rec), from->h.ts_ns);
	const struct rec_header h = rec->h;

	*rec = *from;
	rec->h = h;
}

void enrich_add_raw(struct enrich *e, const struct rec_header *raw)
{
	consume(e, raw);
}

void enrich_add_call_gap(struct enrich *e, const struct enrich_call_gap *gap)
{
	const struct rec_raw_coverage raw = {
		.h.ts_ns = gap->to_ns,
		.state = COVERAGE_OFF,
		.work = gap->site,
		.missed = gap->from_ns,
	};
	uint32_t name = names_intern_string(e->names, EVENT_CALL_GAPS_NAME,
					    strlen(EVENT_CALL_GAPS_NAME), NULL);

	add_coverage(e, name, &raw)->os_tid = gap->os_tid;
}

void enrich_add_counter(struct enrich *e, enum counter_id id, uint64_t value, uint64_t ts_ns)
{
	const char *text = counter_names[id];
	uint32_t name = names_intern_string(e->names, text, strlen(text), NULL);
	struct rec_counter *rec;

	record_queue_define(&e->queue, e->names);
	rec = record_queue_push(&e->queue, REC_COUNTER, sizeof(*rec), ts_ns);
	rec->name = name;
	rec->value = value;
}

void enrich_add_state(struct enrich *e, uint32_t thread, const char *state, enum sample_kind kind,
		      uint64_t weight, uint64_t ts_ns)
{
	uint32_t name = names_intern_string(e->names, state, strlen(state), NULL);
	uint32_t function = names_intern_function(e->names, 0, name, -1, FRAME_STATE, NULL);
	uint32_t frame = names_intern_frame(e->names, function, 0, 0, NULL);
	struct rec_sample fields = {
		.stack = names_intern_stack(e->names, 0, frame, NULL),
		.thread = thread,
		.kind = (uint8_t)kind,
		.status = SAMPLE_STATUS_COMPLETE,
	};

	if (weight)
		enrich_add_sample(e, &fields, weight, ts_ns);
}

void enrich_add_sample(struct enrich *e, const struct rec_sample *of, uint64_t weight,
		       uint64_t ts_ns)
{
	struct rec_sample fields = *of;

	fields.weight = (uint32_t)weight;
	fields.weight_high = (uint32_t)(weight >> 32);
	push_sample(e, &fields, ts_ns);
}

void enrich_add_end(struct enrich *e, uint64_t ts_ns)
{
	record_queue_define(&e->queue, e->names);
	record_queue_push(&e->queue, REC_END, sizeof(struct rec_end), ts_ns);
}

void enrich_on_off_cpu(struct enrich *e, enrich_off_cpu_fn *take, void *arg)
{
	e->take_off = take;
	e->take_off_arg = arg;
}

double enrich_variance(const struct enrich *e, enum sample_kind kind)
{
	return e->variance[kind];
}

uint64_t enrich_bad_records(const struct enrich *e)
{
	return e->bad_records;
}

uint64_t enrich_overflows(const struct enrich *e)
{
	return names_overflows(e->names);
}

struct names *enrich_names(struct enrich *e)
{
	return e->names;
}
