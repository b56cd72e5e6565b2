/* SPDX-License-Identifier: BSD-2-Clause */
/* See records.h. */
#include "lib/records.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"

/* A record's struct begins with its header, which records_add() writes. */
#define ADD(r, rec_type, ts, rec)                                                                  \
	records_add(r, rec_type, ts, (const char *)(rec) + sizeof(struct rec_header),              \
		    sizeof(*(rec)) - sizeof(struct rec_header))

void records_open(struct records *r)
{
	memset(r, 0, sizeof(*r));
	r->names = names_open();
}

void records_close(struct records *r)
{
	vec_free(&r->words);
	names_close(r->names);
}

void records_add(struct records *r, uint16_t type, uint64_t ts_ns, const void *body, size_t size)
{
	size_t words = (sizeof(struct rec_header) + size + 7) / 8;
	struct rec_header *h;

	vec_reserve(&r->words, r->words.len + words);
	h = (struct rec_header *)(r->words.data + r->words.len);
	r->words.len += words;
	memset(h, 0, words * 8);
	h->type = type;
	h->size = (uint32_t)(words * 8);
	h->ts_ns = ts_ns;
	if (body)
		memcpy(h + 1, body, size);
}

void records_meta(struct records *r, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value), size = 8 + key_len + value_len;
	char *body = xmalloc(size);
	uint32_t sizes[2] = {(uint32_t)key_len, (uint32_t)value_len};

	memcpy(body, sizes, sizeof(sizes));
	memcpy(body + 8, key, key_len);
	memcpy(body + 8 + key_len, value, value_len);
	records_add(r, REC_META, 0, body, size);
	free(body);
}

uint32_t records_string(struct records *r, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	uint32_t head[2];
	bool is_new;
	char *body;

	if (!text)
		return 0;
	head[0] = names_intern_string(r->names, text, len, &is_new);
	head[1] = (uint32_t)len;
	if (is_new) {
		body = xmalloc(sizeof(head) + len);
		memcpy(body, head, sizeof(head));
		memcpy(body + sizeof(head), text, len);
		records_add(r, REC_STRING, 0, body, sizeof(head) + len);
		free(body);
	}
	return head[0];
}

uint32_t records_function(struct records *r, const char *module, const char *name, int32_t arity,
			  enum frame_kind kind)
{
	struct rec_function rec = {
		.module = records_string(r, module),
		.name = records_string(r, name),
		.arity = arity,
		.kind = kind,
	};
	bool is_new;

	rec.id = names_intern_function(r->names, rec.module, rec.name, arity, kind, &is_new);
	if (is_new)
		ADD(r, REC_FUNCTION, 0, &rec);
	return rec.id;
}

uint32_t records_frame(struct records *r, uint32_t function, const char *file, uint32_t line)
{
	struct rec_frame rec = {
		.function = function,
		.file = records_string(r, file),
		.line = line,
	};
	bool is_new;

	rec.id = names_intern_frame(r->names, function, rec.file, line, &is_new);
	if (is_new)
		ADD(r, REC_FRAME, 0, &rec);
	return rec.id;
}

uint32_t records_stack(struct records *r, const uint32_t *frames, uint32_t nr)
{
	struct rec_stack rec = {0};
	bool is_new;

	for (uint32_t i = 0; i < nr; i++) {
		rec.parent = rec.id;
		rec.frame = frames[i];
		rec.id = names_intern_stack(r->names, rec.parent, rec.frame, &is_new);
		if (is_new)
			ADD(r, REC_STACK, 0, &rec);
	}
	return rec.id;
}

uint32_t records_stack_text(struct records *r, const char *text)
{
	char module[64], name[64];
	uint32_t frames[64], nr = 0;
	int arity, size;

	for (; *text; text += size + strspn(text + size, " ")) {
		uint32_t function;

		size = (int)strcspn(text, " ");
		if (*text == '[') {
			snprintf(name, sizeof(name), "%.*s", size, text);
			function = records_function(r, NULL, name, -1, FRAME_STATE);
		} else {
			int got = sscanf(text, "%63[^: ]:%63[^/ ]/%d", module, name, &arity);

			assert(got == 3);
			function = records_function(r, module, name, arity, FRAME_ERLANG);
		}
		assert(nr < 64);
		frames[nr++] = records_frame(r, function, NULL, 0);
	}
	return records_stack(r, frames, nr);
}

uint32_t records_process(struct records *r, uint64_t epid, const char *pid, const char *registered,
			 const char *label, uint32_t initial_call)
{
	struct rec_process rec = {
		.pid = records_string(r, pid),
		.registered = records_string(r, registered),
		.label = records_string(r, label),
		.initial_call = initial_call,
		.epid = epid,
	};
	bool is_new;

	rec.id = names_intern_process(r->names, epid, rec.pid, rec.registered, rec.label,
				      initial_call, &is_new);
	if (is_new)
		ADD(r, REC_PROCESS, 0, &rec);
	return rec.id;
}

uint32_t records_thread(struct records *r, uint32_t os_tid, enum thread_type type,
			uint16_t scheduler, const char *name)
{
	struct rec_thread rec = {
		.os_tid = os_tid,
		.type = (uint16_t)type,
		.scheduler = scheduler,
		.name = records_string(r, name),
	};
	bool is_new;

	rec.id = names_intern_thread(r->names, os_tid, type, scheduler, rec.name, &is_new);
	if (is_new)
		ADD(r, REC_THREAD, 0, &rec);
	return rec.id;
}

void records_sample(struct records *r, uint64_t ts_ns, uint32_t process, uint32_t stack,
		    uint32_t thread, uint32_t weight, enum sample_kind kind,
		    enum sample_status status)
{
	struct rec_sample rec = {
		.process = process,
		.stack = stack,
		.thread = thread,
		.weight = weight,
		.kind = (uint8_t)kind,
		.status = (uint8_t)status,
	};

	ADD(r, REC_SAMPLE, ts_ns, &rec);
}

void records_counter(struct records *r, uint64_t ts_ns, const char *name, uint64_t value)
{
	struct rec_counter rec = {.name = records_string(r, name), .value = value};

	ADD(r, REC_COUNTER, ts_ns, &rec);
}

void records_end(struct records *r, uint64_t ts_ns)
{
	records_add(r, REC_END, ts_ns, NULL, 0);
}

const struct rec_header *records_next(const struct records *r, size_t *at)
{
	const struct rec_header *h;

	if (*at >= r->words.len)
		return NULL;
	h = (const struct rec_header *)(r->words.data + *at);
	*at += h->size / 8;
	return h;
}

size_t records_count(const struct records *r)
{
	size_t at = 0, nr = 0;

	while (records_next(r, &at))
		nr++;
	return nr;
}

void records_apply(const struct records *r, struct profile *p)
{
	const struct rec_header *h;
	struct event ev;
	size_t at = 0;
	int ret;

	while ((h = records_next(r, &at))) {
		ret = event_decode(&ev, h, h->size);
		assert(ret == (int)h->size);
		ret = profile_apply(p, &ev);
		assert(ret == 0);
	}
}
