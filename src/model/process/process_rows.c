/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_rows.h. */
#include "model/process/process_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/jsonw.h"
#include "base/xalloc.h"

const struct process_field_info process_fields[NR_PROCESS_FIELDS] = {
#define PROCESS_FIELD_INFO(id, name, type, value, needs) {#name, PROCESS_TYPE_##type, needs},
	PROCESS_FIELDS(PROCESS_FIELD_INFO)
#undef PROCESS_FIELD_INFO
};

const char *const process_status_names[6] = {"exiting",	  "garbage_collecting", "running",
					     "suspended", "runnable",		"waiting"};
const char *const process_priority_names[4] = {"max", "high", "normal", "low"};

/* ---- names -------------------------------------------------------------------------------- */

struct text {
	const char *text;
	size_t len;
};

static bool equal(const void *ctx, uint32_t id, const void *key)
{
	const struct process_string *s = &((const struct process_strings *)ctx)->v.data[id];
	const struct text *t = key;

	return s->len == t->len && memcmp(s->text, t->text, t->len) == 0;
}

uint32_t process_strings_add(struct process_strings *s, const char *text, size_t len)
{
	struct jsonw json = JSONW(NULL);
	struct process_string new = {0};
	struct text key = {text, len};
	uint32_t hash = hash_bytes(text, len), id = idmap_find(&s->index, hash, equal, s, &key);

	if (id != IDMAP_NONE)
		return id;
	if (!s->v.len)
		vec_push(&s->v, new); /* id 0 */
	jsonw_stringn(&json, NULL, text, len);
	new.text = arena_strndup(&s->arena, text, len);
	new.len = (uint32_t)len;
	new.json = arena_strndup(&s->arena, json.buf.buf, json.buf.len);
	new.json_len = (uint32_t)json.buf.len;
	strbuf_free(&json.buf);
	id = (uint32_t)s->v.len;
	vec_push(&s->v, new);
	idmap_add(&s->index, hash, id);
	return id;
}

const struct process_string *process_strings_get(const struct process_strings *s, uint32_t id)
{
	static const struct process_string none = {"", "null", 0, 4};

	return id && id < s->v.len ? &s->v.data[id] : &none;
}

void process_strings_free(struct process_strings *s)
{
	vec_free(&s->v);
	idmap_free(&s->index);
	arena_free(&s->arena);
	*s = (struct process_strings){0};
}

/* Copies a string to another pool.  `moved`: new ids by old ones, 0 = not copied yet. */
static void move_string(struct process_strings *to, const struct process_strings *from,
			uint32_t *moved, uint32_t *id)
{
	const struct process_string *s = process_strings_get(from, *id);

	if (!*id || *id >= from->v.len) {
		*id = 0;
		return;
	}
	if (!moved[*id])
		moved[*id] = process_strings_add(to, s->text, s->len);
	*id = moved[*id];
}

/* A pid of another node refers to its text, which is copied. */
static void move_pid(struct process_strings *to, const struct process_strings *from,
		     uint32_t *moved, uint64_t *pid)
{
	uint32_t id = (uint32_t)*pid;

	if (*pid == PROCESS_PID_NONE || !(*pid & PROCESS_PID_TEXT))
		return;
	move_string(to, from, moved, &id);
	*pid = PROCESS_PID_TEXT | id;
}

void process_strings_keep(struct process_strings *s, struct process_row *rows, size_t nr)
{
	uint32_t *moved = xcalloc(s->v.len + 1, sizeof(*moved));
	struct process_strings to = {0};

	for (size_t i = 0; i < nr; i++) {
		uint32_t *const names[] = {&rows[i].registered,	  &rows[i].written,  &rows[i].label,
					   &rows[i].initial_call, &rows[i].function, &rows[i].file};

		for (size_t n = 0; n < ARRAY_SIZE(names); n++)
			move_string(&to, s, moved, names[n]);
		move_pid(&to, s, moved, &rows[i].parent);
		move_pid(&to, s, moved, &rows[i].group_leader);
	}
	free(moved);
	process_strings_free(s);
	*s = to;
}

/* ---- rows --------------------------------------------------------------------------------- */

static float rate(uint64_t now, uint64_t before, double seconds)
{
	return (float)(((double)now - (double)before) / seconds);
}

void process_row_rates(struct process_row *now, const struct process_row *before, double seconds)
{
	now->reductions_rate = now->memory_rate = now->messages_rate = NAN;
	if (!before || before->pid != now->pid || seconds <= 0)
		return;
	now->reductions_rate = rate(now->reductions, before->reductions, seconds);
	now->memory_rate = rate(now->memory, before->memory, seconds);
	now->messages_rate = rate(now->message_queue_len, before->message_queue_len, seconds);
}

void process_rows_rates(struct process_rows *now, const struct process_rows *before)
{
	double seconds = (double)(now->ts_ns - before->ts_ns) / 1e9;
	size_t b = 0;

	for (size_t i = 0; i < now->v.len; i++) {
		struct process_row *r = &now->v.data[i];

		while (b < before->v.len && before->v.data[b].slot < r->slot)
			b++;
		process_row_rates(r, b < before->v.len ? &before->v.data[b] : NULL, seconds);
	}
}

static char *digits(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

int process_pid_format(uint64_t pid, char buf[PROCESS_PID_SIZE])
{
	char text[PROCESS_PID_SIZE], *end = text + sizeof(text), *p = end;

	if (pid == PROCESS_PID_NONE)
		return 0;
	if (pid & PROCESS_PID_TEXT)
		return -1;
	*--p = '>';
	p = digits(p, pid >> 32);
	*--p = '.';
	p = digits(p, (uint32_t)pid);
	*--p = '.';
	*--p = '0';
	*--p = '<';
	memcpy(buf, p, (size_t)(end - p));
	buf[end - p] = '\0';
	return (int)(end - p);
}

uint32_t process_row_name(const struct process_row *row)
{
	return row->written	 ? row->written
	       : row->registered ? row->registered
	       : row->label	 ? row->label
				 : row->initial_call;
}

static void set_text(struct process_value *v, const char *text, size_t len)
{
	if (!len)
		return;
	v->kind = PROCESS_VALUE_TEXT;
	v->text = text;
	v->len = len;
}

static void set_string(struct process_value *v, const struct process_strings *s, uint32_t id)
{
	const struct process_string *p = process_strings_get(s, id);

	set_text(v, p->text, p->len);
}

static void set_pid(struct process_value *v, const struct process_strings *s, uint64_t pid)
{
	int len = process_pid_format(pid, v->buf);

	if (len < 0)
		set_string(v, s, (uint32_t)pid);
	else
		set_text(v, v->buf, (size_t)len);
}

static void set_number(struct process_value *v, double n)
{
	if (isnan(n))
		return;
	v->kind = PROCESS_VALUE_NUMBER;
	v->number = n;
}

#define GET_PID(value)	 set_pid(v, s, value)
#define GET_TEXT(value)	 set_string(v, s, value)
#define GET_PLACE(value) set_string(v, s, value)
#define GET_WORD(value)	 set_text(v, value, strlen(value))
#define GET(id, name, type, value, needs)                                                          \
	case PROCESS_FIELD_##id:                                                                   \
		GET_##type(value);                                                                 \
		break;

void process_row_get(const struct process_strings *s, const struct process_row *r,
		     enum process_field field, struct process_value *v)
{
	v->kind = PROCESS_VALUE_NONE;
	switch (field) {
		PROCESS_TEXT_FIELDS(GET)
	default:
		set_number(v, process_row_number(r, field));
	}
}
