/* SPDX-License-Identifier: BSD-2-Clause */
/* See record_queue.h. */
#include "event/record_queue.h"

#include <string.h>

/* Queue entry that stands for definitions: those of ids up to until[], by table. */
#define DEFINITIONS 0 /* no enum rec_type */
struct definitions {
	struct rec_header h;
	uint32_t until[NR_NAMES_TABLES];
};

static void *zeroed(void *words, enum rec_type type, size_t nr, uint64_t ts_ns)
{
	struct rec_header *h = words;

	memset(h, 0, nr * 8);
	h->type = (uint16_t)type;
	h->size = (uint32_t)(nr * 8);
	h->ts_ns = ts_ns;
	return h;
}

void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns)
{
	size_t nr = (size + 7) / 8;

	vec_reserve(&q->words, q->words.len + nr);
	q->words.len += nr;
	return zeroed(q->words.data + q->words.len - nr, type, nr, ts_ns);
}

void record_queue_define(struct record_queue *q, const struct names *n)
{
	uint32_t counts[NR_NAMES_TABLES];
	struct definitions *d;

	q->names = n;
	for (int t = 0; t < NR_NAMES_TABLES; t++)
		counts[t] = names_count(n, (enum names_table)t);
	if (memcmp(counts, q->pushed, sizeof(counts)) == 0)
		return;
	memcpy(q->pushed, counts, sizeof(counts));
	d = record_queue_push(q, (enum rec_type)DEFINITIONS, sizeof(*d), 0);
	memcpy(d->until, counts, sizeof(counts));
}

void record_queue_free(struct record_queue *q)
{
	vec_free(&q->definition);
	vec_free(&q->words);
}

/* ---- definitions ---------------------------------------------------------------------------- */

static void *definition(struct record_queue *q, enum rec_type type, size_t size)
{
	size_t nr = (size + 7) / 8;

	vec_reserve(&q->definition, nr);
	return zeroed(q->definition.data, type, nr, 0);
}

static void define_string(struct record_queue *q, uint32_t id)
{
	const char *s = names_string(q->names, id);
	size_t len = strlen(s);
	struct rec_string *rec = definition(q, REC_STRING, sizeof(*rec) + len);

	rec->id = id;
	rec->string_size = (uint32_t)len;
	memcpy(rec->bytes, s, len);
}

static void define_function(struct record_queue *q, uint32_t id)
{
	const struct name_function *f = names_function(q->names, id);
	struct rec_function *rec = definition(q, REC_FUNCTION, sizeof(*rec));

	rec->id = id;
	rec->module = f->module_id;
	rec->name = f->name_id;
	rec->arity = f->arity;
	rec->kind = f->kind;
	rec->symbol_source = f->symbol_source;
}

static void define_frame(struct record_queue *q, uint32_t id)
{
	const struct name_frame *f = names_frame(q->names, id);
	struct rec_frame *rec = definition(q, REC_FRAME, sizeof(*rec));

	rec->id = id;
	rec->function = f->function;
	rec->file = f->file_id;
	rec->line = f->line;
}

static void define_stack(struct record_queue *q, uint32_t id)
{
	const struct name_stack *s = names_stack(q->names, id);
	struct rec_stack *rec = definition(q, REC_STACK, sizeof(*rec));

	rec->id = id;
	rec->parent = s->parent;
	rec->frame = s->frame;
}

static void define_process(struct record_queue *q, uint32_t id)
{
	const struct name_process *p = names_process(q->names, id);
	struct rec_process *rec = definition(q, REC_PROCESS, sizeof(*rec));

	rec->id = id;
	rec->pid = p->pid_id;
	rec->registered = p->registered_id;
	rec->label = p->label_id;
	rec->initial_call = p->initial_call;
	rec->epid = p->epid;
}

static void define_thread(struct record_queue *q, uint32_t id)
{
	const struct name_thread *t = names_thread(q->names, id);
	struct rec_thread *rec = definition(q, REC_THREAD, sizeof(*rec));

	rec->id = id;
	rec->os_tid = t->os_tid;
	rec->type = (uint16_t)t->type;
	rec->scheduler = t->scheduler;
	rec->name = t->name_id;
}

/* The next definition of an id up to wanted[]; NULL = all were returned. */
static const struct rec_header *next_definition(struct record_queue *q)
{
	/* In the order of enum names_table: no table refers to a later one. */
	static void (*const define[NR_NAMES_TABLES])(struct record_queue *, uint32_t) = {
		[NAMES_STRINGS] = define_string,    [NAMES_FUNCTIONS] = define_function,
		[NAMES_FRAMES] = define_frame,	    [NAMES_STACKS] = define_stack,
		[NAMES_PROCESSES] = define_process, [NAMES_THREADS] = define_thread,
	};

	for (int t = 0; t < NR_NAMES_TABLES; t++) {
		if (q->defined[t] < q->wanted[t]) {
			define[t](q, ++q->defined[t]);
			return (const struct rec_header *)q->definition.data;
		}
	}
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

const struct rec_header *record_queue_pop(struct record_queue *q)
{
	const struct rec_header *h = next_definition(q);

	while (!h && q->at < q->words.len) {
		h = (const struct rec_header *)(q->words.data + q->at);
		q->at += h->size / 8;
		if (h->type != DEFINITIONS)
			return h;
		memcpy(q->wanted, ((const struct definitions *)h)->until, sizeof(q->wanted));
		h = next_definition(q);
	}
	if (!h)
		q->words.len = q->at = 0;
	return h;
}
