/* SPDX-License-Identifier: BSD-2-Clause */
/* See record_queue.h. */
#include "event/record_queue.h"

#include <string.h>

void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns)
{
	size_t nr = (size + 7) / 8;
	struct rec_header *h;

	vec_reserve(&q->words, q->words.len + nr);
	h = (struct rec_header *)(q->words.data + q->words.len);
	q->words.len += nr;
	memset(h, 0, nr * 8);
	h->type = (uint16_t)type;
	h->size = (uint32_t)(nr * 8);
	h->ts_ns = ts_ns;
	return h;
}

const struct rec_header *record_queue_pop(struct record_queue *q)
{
	const struct rec_header *h;

	if (q->at == q->words.len) {
		q->words.len = q->at = 0;
		return NULL;
	}
	h = (const struct rec_header *)(q->words.data + q->at);
	q->at += h->size / 8;
	return h;
}

void record_queue_free(struct record_queue *q)
{
	vec_free(&q->words);
}

static void define_string(struct record_queue *q, const struct names *n, uint32_t id)
{
	const char *s = names_string(n, id);
	size_t len = strlen(s);
	struct rec_string *rec = record_queue_push(q, REC_STRING, sizeof(*rec) + len, 0);

	rec->id = id;
	rec->string_size = (uint32_t)len;
	memcpy(rec->bytes, s, len);
}

static void define_function(struct record_queue *q, const struct names *n, uint32_t id)
{
	const struct name_function *f = names_function(n, id);
	struct rec_function *rec = record_queue_push(q, REC_FUNCTION, sizeof(*rec), 0);

	rec->id = id;
	rec->module = f->module_id;
	rec->name = f->name_id;
	rec->arity = f->arity;
	rec->kind = f->kind;
}

static void define_frame(struct record_queue *q, const struct names *n, uint32_t id)
{
	const struct name_frame *f = names_frame(n, id);
	struct rec_frame *rec = record_queue_push(q, REC_FRAME, sizeof(*rec), 0);

	rec->id = id;
	rec->function = f->function;
	rec->file = f->file_id;
	rec->line = f->line;
}

static void define_stack(struct record_queue *q, const struct names *n, uint32_t id)
{
	const struct name_stack *s = names_stack(n, id);
	struct rec_stack *rec = record_queue_push(q, REC_STACK, sizeof(*rec), 0);

	rec->id = id;
	rec->parent = s->parent;
	rec->frame = s->frame;
}

static void define_process(struct record_queue *q, const struct names *n, uint32_t id)
{
	const struct name_process *p = names_process(n, id);
	struct rec_process *rec = record_queue_push(q, REC_PROCESS, sizeof(*rec), 0);

	rec->id = id;
	rec->pid = p->pid_id;
	rec->registered = p->registered_id;
	rec->label = p->label_id;
	rec->initial_call = p->initial_call;
	rec->epid = p->epid;
}

static void define_thread(struct record_queue *q, const struct names *n, uint32_t id)
{
	const struct name_thread *t = names_thread(n, id);
	struct rec_thread *rec = record_queue_push(q, REC_THREAD, sizeof(*rec), 0);

	rec->id = id;
	rec->os_tid = t->os_tid;
	rec->type = (uint16_t)t->type;
	rec->scheduler = t->scheduler;
	rec->name = t->name_id;
}

void record_queue_define(struct record_queue *q, const struct names *n)
{
	/* In the order of enum names_table: no table refers to a later one. */
	static void (*const define[NR_NAMES_TABLES])(struct record_queue *, const struct names *,
						     uint32_t) = {
		[NAMES_STRINGS] = define_string,    [NAMES_FUNCTIONS] = define_function,
		[NAMES_FRAMES] = define_frame,	    [NAMES_STACKS] = define_stack,
		[NAMES_PROCESSES] = define_process, [NAMES_THREADS] = define_thread,
	};

	for (int t = 0; t < NR_NAMES_TABLES; t++) {
		uint32_t count = names_count(n, (enum names_table)t);

		while (q->defined[t] < count)
			define[t](q, n, ++q->defined[t]);
	}
}
