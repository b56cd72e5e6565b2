/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_columns.h.  JSON is written by hand here: of a million processes each nanosecond of a
 * field takes a millisecond. */
#include "view/table/process_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/screen/characters.h"

#define ROW(p) ((const struct process_row *)(p))

/* ---- cells -------------------------------------------------------------------------------- */

static void add_bytes(struct strbuf *out, double n)
{
	char buf[32];

	/* A rate can be negative. */
	if (n <= -0.5)
		strbuf_addch(out, '-');
	strbuf_addstr(out, units_format_bytes((uint64_t)(fabs(n) + 0.5), buf, sizeof(buf)));
}

static void add_count(struct strbuf *out, double n)
{
	char buf[40];

	if (n < 0)
		strbuf_addch(out, '-');
	strbuf_addstr(out, units_format_count((uint64_t)(fabs(n) + 0.5), buf, sizeof(buf)));
}

static void add_text(struct strbuf *out, const char *text, size_t len, unsigned int max)
{
	if (!max || characters_width(text, len) <= max) {
		strbuf_add(out, text, len);
		return;
	}
	strbuf_add(out, text, characters_cut(text, len, max - 1));
	strbuf_addstr(out, "\xe2\x80\xa6");
}

static void add_cell(struct strbuf *out, const void *row, const void *vctx,
		     enum process_field field)
{
	const struct process_columns_ctx *ctx = vctx;
	struct process_value v;

	process_row_get(ctx->strings, row, field, &v);
	if (v.kind == PROCESS_VALUE_NONE)
		return;
	if (v.kind == PROCESS_VALUE_TEXT) {
		add_text(out, v.text, v.len, ctx->max_width);
		if (field == PROCESS_FIELD_CURRENT_LOCATION)
			strbuf_addf(out, ":%u", ROW(row)->line);
		if (ROW(row)->stale && (field == PROCESS_FIELD_CURRENT_FUNCTION ||
					field == PROCESS_FIELD_CURRENT_LOCATION))
			strbuf_addstr(out, " ~");
		if (field == PROCESS_FIELD_PID && ROW(row)->torn)
			strbuf_addch(out, '~');
		return;
	}
	switch (process_fields[field].type) {
	case PROCESS_TYPE_BYTES:
	case PROCESS_TYPE_BYTES_RATE:
		add_bytes(out, v.number);
		break;
	case PROCESS_TYPE_PERCENT:
		strbuf_addf(out, "%.1f", v.number);
		break;
	case PROCESS_TYPE_BOOL:
		strbuf_addstr(out, v.number != 0 ? "yes" : "no");
		break;
	default:
		add_count(out, v.number);
	}
}

static inline double number(const struct process_row *row, enum process_field field)
{
	double n = process_row_number(row, field);

	return isnan(n) ? -INFINITY : n;
}

static inline int by_number(const void *a, const void *b, enum process_field field)
{
	double x = number(a, field), y = number(b, field);

	return x > y ? -1 : x < y;
}

/* Local pids by number; those of other nodes, and none, behind them. */
static int by_pid(uint64_t a, uint64_t b)
{
	uint64_t x = a << 32 | a >> 32, y = b << 32 | b >> 32;

	if ((a | b) & PROCESS_PID_TEXT)
		return a < b ? -1 : a > b;
	return x < y ? -1 : x > y;
}

#define CELL(id, name)                                                                             \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		add_cell(out, row, ctx, PROCESS_FIELD_##id);                                       \
	}
#define CELLS_PID(id, name)                                                                        \
	CELL(id, name)                                                                             \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		return by_pid(ROW(a)->name, ROW(b)->name);                                         \
	}
#define CELLS_COUNT(id, name)                                                                      \
	CELL(id, name)                                                                             \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		return by_number(a, b, PROCESS_FIELD_##id);                                        \
	}
#define CELLS_TEXT(id, name)	     CELL(id, name)
#define CELLS_BYTES(id, name)	     CELLS_COUNT(id, name)
#define CELLS_WORDS(id, name)	     CELLS_COUNT(id, name)
#define CELLS_RATE(id, name)	     CELLS_COUNT(id, name)
#define CELLS_PERCENT(id, name)	     CELLS_COUNT(id, name)
#define CELLS_BYTES_RATE(id, name)   CELLS_COUNT(id, name)
#define CELLS_BOOL(id, name)	     CELLS_COUNT(id, name)
#define CELLS(id, name, type, needs) CELLS_##type(id, name)
PROCESS_FIELDS(CELLS)

#define NUMBER(name, title)                                                                        \
	{                                                                                          \
#name, title, TABLE_RIGHT, .text = text_##name, .compare = compare_##name          \
	}
#define TEXT(name, title)                                                                          \
	{                                                                                          \
#name, title, .text = text_##name                                                  \
	}
#define ORDERED(name, title)                                                                       \
	{                                                                                          \
#name, title, .text = text_##name, .compare = compare_##name                       \
	}

const struct table_column process_columns[] = {
	ORDERED(pid, "PID"),
	TEXT(name, "NAME"),
	TEXT(registered_name, "REGISTERED NAME"),
	TEXT(label, "LABEL"),
	TEXT(initial_call, "INITIAL CALL"),
	{"cpu", "CPU%", TABLE_RIGHT, .hidden = true, .text = text_cpu, .compare = compare_cpu},
	TEXT(status, "STATUS"),
	NUMBER(memory, "MEMORY"),
	NUMBER(memory_per_s, "MEMORY/S"),
	NUMBER(message_queue_len, "MAILBOX"),
	NUMBER(message_queue_per_s, "MAILBOX/S"),
	NUMBER(reductions, "REDUCTIONS"),
	NUMBER(reductions_per_s, "REDUCTIONS/S"),
	TEXT(current_function, "CURRENT FUNCTION"),
	TEXT(current_location, "CURRENT LOCATION"),
	NUMBER(total_heap_size, "TOTAL HEAP"),
	NUMBER(heap_size, "HEAP"),
	NUMBER(stack_size, "STACK"),
	NUMBER(links, "LINKS"),
	NUMBER(monitors, "MONITORS"),
	NUMBER(monitored_by, "MONITORED BY"),
	ORDERED(parent, "PARENT"),
	ORDERED(group_leader, "GROUP LEADER"),
	TEXT(priority, "PRIORITY"),
	ORDERED(trap_exit, "TRAP EXIT"),
	ORDERED(torn, "TORN"),
	ORDERED(stale, "STALE"),
	{0},
};

uint64_t process_columns_fields(const char *columns)
{
	uint64_t fields = 0;

	while (*columns) {
		size_t len = strcspn(columns, ",");
		const struct table_column *c = table_find_column(process_columns, columns, len);

		for (unsigned int i = 0; c && i < NR_PROCESS_FIELDS; i++)
			if (strcmp(process_fields[i].name, c->name) == 0)
				fields |= 1ull << i;
		columns += len + (columns[len] == ',');
	}
	return fields;
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* Room for all keys and numbers of a row; strings are added to it. */
#define ROW_ROOM 2048u

struct writer {
	struct strbuf *out;
	char *p;
	uint64_t fields;
	bool any;
};

static void put(struct writer *w, const char *bytes, size_t len)
{
	memcpy(w->p, bytes, len);
	w->p += len;
}

static void put_number(struct writer *w, uint64_t n)
{
	char text[24], *end = text + sizeof(text), *p = end;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	put(w, p, (size_t)(end - p));
}

static void put_count(struct writer *w, uint32_t n)
{
	if (n == PROCESS_COUNT_UNKNOWN)
		put(w, "null", 4);
	else
		put_number(w, n);
}

/* Text of any length: beyond the room that was made. */
static void put_string(struct writer *w, const struct process_string *s)
{
	w->out->len = (size_t)(w->p - w->out->buf);
	strbuf_grow(w->out, s->json_len + ROW_ROOM);
	w->p = w->out->buf + w->out->len;
	put(w, s->json, s->json_len);
}

static void put_pid(struct writer *w, const struct process_strings *s, uint64_t pid)
{
	char buf[PROCESS_PID_SIZE];
	int len = process_pid_format(pid, buf);

	if (len <= 0) {
		put_string(w, process_strings_get(s, len ? (uint32_t)pid : 0));
		return;
	}
	*w->p++ = '"';
	put(w, buf, (size_t)len);
	*w->p++ = '"';
}

static void put_word(struct writer *w, const char *word)
{
	*w->p++ = '"';
	put(w, word, strlen(word));
	*w->p++ = '"';
}

static void put_rate(struct writer *w, double rate)
{
	char text[40];

	if (!isfinite(rate)) {
		put(w, "null", 4);
		return;
	}
	if (rate == 0) { /* most */
		put(w, "0", 1);
		return;
	}
	snprintf(text, sizeof(text), "%.10g", rate);
	put(w, text, strlen(text));
}

static void put_place(struct writer *w, const struct process_strings *s,
		      const struct process_row *r)
{
	if (!r->file) {
		put(w, "null", 4);
		return;
	}
	put(w, "{\"file\": ", 9);
	put_string(w, process_strings_get(s, r->file));
	put(w, ", \"line\": ", 10);
	put_number(w, r->line);
	*w->p++ = '}';
}

/* The key of a field that is wanted. */
static bool key(struct writer *w, enum process_field field, const char *text, size_t len)
{
	if (!(w->fields & 1ull << field))
		return false;
	if (w->any)
		put(w, ", ", 2);
	w->any = true;
	put(w, text, len);
	return true;
}

#define KEY(id, name) key(w, PROCESS_FIELD_##id, "\"" name "\": ", sizeof("\"" name "\": ") - 1)

static void put_names(struct writer *w, const struct process_strings *s,
		      const struct process_row *r)
{
	if (KEY(PID, "pid"))
		put_pid(w, s, r->pid);
	if (KEY(NAME, "name"))
		put_string(w, process_strings_get(s, process_row_name(r)));
	if (KEY(REGISTERED_NAME, "registered_name"))
		put_string(w, process_strings_get(s, r->registered));
	if (KEY(LABEL, "label"))
		put_string(w, process_strings_get(s, r->label));
	if (KEY(INITIAL_CALL, "initial_call"))
		put_string(w, process_strings_get(s, r->initial_call));
	if (KEY(CURRENT_FUNCTION, "current_function"))
		put_string(w, process_strings_get(s, r->function));
	if (KEY(CURRENT_LOCATION, "current_location"))
		put_place(w, s, r);
	if (KEY(STATUS, "status"))
		put_word(w, process_status_names[r->status]);
}

static void put_numbers(struct writer *w, const struct process_row *r)
{
	if (KEY(REDUCTIONS, "reductions"))
		put_number(w, r->reductions);
	if (KEY(CPU, "cpu"))
		put_rate(w, r->cpu);
	if (KEY(REDUCTIONS_RATE, "reductions_per_s"))
		put_rate(w, r->reductions_rate);
	if (KEY(MESSAGES, "message_queue_len"))
		put_number(w, r->message_queue_len);
	if (KEY(MESSAGES_RATE, "message_queue_per_s"))
		put_rate(w, r->messages_rate);
	if (KEY(MEMORY, "memory"))
		put_number(w, r->memory);
	if (KEY(MEMORY_RATE, "memory_per_s"))
		put_rate(w, r->memory_rate);
	if (KEY(TOTAL_HEAP_SIZE, "total_heap_size"))
		put_number(w, r->total_heap_size);
	if (KEY(HEAP_SIZE, "heap_size"))
		put_number(w, r->heap_size);
	if (KEY(STACK_SIZE, "stack_size"))
		put_number(w, r->stack_size);
	if (KEY(LINKS, "links"))
		put_count(w, r->links);
	if (KEY(MONITORS, "monitors"))
		put_count(w, r->monitors);
	if (KEY(MONITORED_BY, "monitored_by"))
		put_count(w, r->monitored_by);
}

void process_row_json(struct strbuf *out, const struct process_strings *s,
		      const struct process_row *r, uint64_t fields)
{
	struct writer writer = {.out = out, .fields = fields}, *w = &writer;

	strbuf_grow(out, ROW_ROOM);
	w->p = out->buf + out->len;
	*w->p++ = '{';
	put_names(w, s, r);
	put_numbers(w, r);
	if (KEY(PARENT, "parent"))
		put_pid(w, s, r->parent);
	if (KEY(GROUP_LEADER, "group_leader"))
		put_pid(w, s, r->group_leader);
	if (KEY(PRIORITY, "priority"))
		put_word(w, process_priority_names[r->priority]);
	if (KEY(TRAP_EXIT, "trap_exit"))
		put(w, r->trap_exit ? "true" : "false", r->trap_exit ? 4 : 5);
	w->fields |= 1ull << PROCESS_FIELD_TORN | 1ull << PROCESS_FIELD_STALE;
	if (r->torn && KEY(TORN, "torn"))
		put(w, "true", 4);
	if (r->stale && KEY(STALE, "stale"))
		put(w, "true", 4);
	*w->p++ = '}';
	*w->p = '\0';
	out->len = (size_t)(w->p - out->buf);
}
