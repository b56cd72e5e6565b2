/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_columns.h.  For speed JSON is not written by jsonw: for a million processes each
 * nanosecond a field takes is a millisecond in all. */
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

/* Orders pids of this node by number; behind them pids of other nodes, and rows without a pid. */
static int by_pid(uint64_t a, uint64_t b)
{
	uint64_t x = a << 32 | a >> 32, y = b << 32 | b >> 32;

	if ((a | b) & PROCESS_PID_TEXT)
		return a < b ? -1 : a > b;
	return x < y ? -1 : x > y;
}

#define CELL(id, name, type, value, needs)                                                         \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		add_cell(out, row, ctx, PROCESS_FIELD_##id);                                       \
	}
#define NUMBER_CELL(id, name, ...)                                                                 \
	CELL(id, name, __VA_ARGS__)                                                                \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		return by_number(a, b, PROCESS_FIELD_##id);                                        \
	}
#define PID_CELL(name)                                                                             \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		return by_pid(ROW(a)->name, ROW(b)->name);                                         \
	}
PROCESS_TEXT_FIELDS(CELL)
PROCESS_NUMBER_FIELDS(NUMBER_CELL)
PID_CELL(pid)
PID_CELL(parent)
PID_CELL(group_leader)

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
	NUMBER(binaries, "BINARIES"),
	NUMBER(binary_memory, "BINARY MEMORY"),
	NUMBER(binary_held, "BINARY HELD"),
	NUMBER(timers, "TIMERS"),
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

/* Bytes that all keys and numbers of a row need at most; put_string() adds room for strings. */
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

static void put_count(struct writer *w, double n)
{
	if (isnan(n))
		put(w, "null", 4);
	else
		put_number(w, (uint64_t)n);
}

static void put_bool(struct writer *w, bool b)
{
	put(w, b ? "true" : "false", b ? 4 : 5);
}

/* Appends a string of any length, after growing the buffer for it. */
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

static void put_rate(struct writer *w, float rate)
{
	char text[40];

	if (!isfinite(rate)) {
		put(w, "null", 4);
		return;
	}
	if (rate == 0) { /* most rates are: avoids snprintf() */
		put(w, "0", 1);
		return;
	}
	snprintf(text, sizeof(text), "%.10g", (double)rate);
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

/* Appends the key of a field; false, without appending, if w->fields lacks the field. */
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

#define PUT_PID(value)	 put_pid(w, s, value)
#define PUT_TEXT(value)	 put_string(w, process_strings_get(s, value))
#define PUT_WORD(value)	 put_word(w, value)
#define PUT_PLACE(value) put_place(w, s, r)
/* clang-format off */
#define PUT_NUMBER(value)                                                                          \
	_Generic((value), uint64_t: put_number, double: put_count, float: put_rate,                \
		 bool: put_bool)(w, value)
/* clang-format on */
#define PUT(id, name, put_value)                                                                   \
	if (key(w, PROCESS_FIELD_##id, "\"" #name "\": ", sizeof("\"" #name "\": ") - 1))          \
		put_value;
#define TEXT_JSON(id, name, type, value, needs)	  PUT(id, name, PUT_##type(value))
#define NUMBER_JSON(id, name, type, value, needs) PUT(id, name, PUT_NUMBER(value))

void process_row_json(struct strbuf *out, const struct process_strings *s,
		      const struct process_row *r, uint64_t fields)
{
	struct writer writer = {.out = out}, *w = &writer;

	w->fields = fields & ~(1ull << PROCESS_FIELD_TORN | 1ull << PROCESS_FIELD_STALE);
	w->fields |= (uint64_t)r->torn << PROCESS_FIELD_TORN;
	w->fields |= (uint64_t)r->stale << PROCESS_FIELD_STALE;
	strbuf_grow(out, ROW_ROOM);
	w->p = out->buf + out->len;
	*w->p++ = '{';
	PROCESS_TEXT_FIELDS(TEXT_JSON)
	PROCESS_NUMBER_FIELDS(NUMBER_JSON)
	*w->p++ = '}';
	*w->p = '\0';
	out->len = (size_t)(w->p - out->buf);
}
