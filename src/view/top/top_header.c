/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_header.h.  Draws fields with one figure each, and below them the schedulers. */
#include "view/top/top_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/table/cells.h"

#define FIELD_WIDTH	  38u /* least; one column of fields may be narrower */
#define FIELD_GAP	  2u
#define MAX_FIELD_COLUMNS 4u
#define LABEL_WIDTH	  11u
#define MIN_PICTURE	  3u /* narrower bars and sparklines are left out */

/* ---- fields ------------------------------------------------------------------------------- */

enum field_kind {
	FIELD_WORK,	  /* field.which is an enum top_queue */
	FIELD_MEMORY,	  /* enum top_memory_kind */
	FIELD_LIMIT,	  /* enum top_limit_kind */
	FIELD_RATE,	  /* enum top_rate_kind */
	FIELD_BYTES_RATE, /* enum top_rate_kind, a rate of bytes */
	FIELD_QUEUE,
	FIELD_OS,
};

/* In the order of the screen, column by column. */
static const struct field {
	const char *label;
	enum field_kind kind;
	unsigned int which;
	unsigned int rank; /* without room for all, fields with high ranks are left out */
} fields[] = {
	{"CPU", FIELD_WORK, TOP_QUEUE_NORMAL, 0},
	{"Dirty CPU", FIELD_WORK, TOP_QUEUE_DIRTY_CPU, 14},
	{"Dirty IO", FIELD_WORK, TOP_QUEUE_DIRTY_IO, 15},
	{"Run queue", FIELD_QUEUE, 0, 3},
	{"OS", FIELD_OS, 0, 4},
	{"Reductions", FIELD_RATE, TOP_RATE_REDUCTIONS, 5},
	{"Switches", FIELD_RATE, TOP_RATE_CONTEXT_SWITCHES, 12},
	{"Memory", FIELD_MEMORY, TOP_MEMORY_TOTAL, 1},
	{"Mem proc", FIELD_MEMORY, TOP_MEMORY_PROCESSES, 8},
	{"Mem binary", FIELD_MEMORY, TOP_MEMORY_BINARY, 9},
	{"Mem ets", FIELD_MEMORY, TOP_MEMORY_ETS, 10},
	{"Mem code", FIELD_MEMORY, TOP_MEMORY_CODE, 20},
	{"Mem atom", FIELD_MEMORY, TOP_MEMORY_ATOM, 22},
	{"Mem system", FIELD_MEMORY, TOP_MEMORY_SYSTEM, 21},
	{"Processes", FIELD_LIMIT, TOP_LIMIT_PROCESSES, 2},
	{"Ports", FIELD_LIMIT, TOP_LIMIT_PORTS, 11},
	{"Atoms", FIELD_LIMIT, TOP_LIMIT_ATOMS, 13},
	{"ETS tables", FIELD_LIMIT, TOP_LIMIT_ETS, 16},
	{"GC", FIELD_RATE, TOP_RATE_GCS, 6},
	{"Reclaimed", FIELD_BYTES_RATE, TOP_RATE_GC_BYTES, 7},
	{"Messages", FIELD_RATE, TOP_RATE_MESSAGES, 17},
	{"Port in", FIELD_BYTES_RATE, TOP_RATE_PORT_IN, 18},
	{"Port out", FIELD_BYTES_RATE, TOP_RATE_PORT_OUT, 19},
};

struct place {
	struct screen *s;
	unsigned row, column, width;
};

static void add_unknown(struct strbuf *out)
{
	strbuf_addch(out, '-');
}

/* Draws the label at the left and the value at the right; returns the columns between them. */
static unsigned draw_value(const struct place *at, const char *label, const char *value,
			   enum screen_style style)
{
	size_t wide = screen_text_width(value, strlen(value));
	unsigned label_width = MIN(LABEL_WIDTH, at->width);
	unsigned used = label_width + (unsigned)wide + 1;

	screen_text(at->s, at->row, at->column, label_width - (label_width > 0), SCREEN_DIM, label,
		    strlen(label));
	screen_text_right(at->s, at->row, at->column + label_width, at->width - label_width, style,
			  value, strlen(value));
	return at->width > used ? at->width - used : 0;
}

static void draw_history(const struct place *at, unsigned width, const struct top_ring *r,
			 enum screen_style style)
{
	float values[TOP_HISTORY];
	uint32_t nr = top_ring_copy(r, values, TOP_HISTORY);

	if (width >= MIN_PICTURE)
		screen_sparkline(at->s, at->row, at->column + LABEL_WIDTH, width, style, values, nr,
				 0);
}

static enum screen_style style_of_part(double part)
{
	return part > 0.9 ? SCREEN_BAD : part > 0.7 ? SCREEN_WARN : SCREEN_GOOD;
}

static void draw_limit(const struct place *at, const char *label, const struct top_limit *l)
{
	struct strbuf value = STRBUF_INIT;
	struct screen_part part = {0, SCREEN_GOOD};
	bool known = l->count != TOP_UNKNOWN && l->limit != TOP_UNKNOWN && l->limit;
	unsigned room;

	if (l->count == TOP_UNKNOWN)
		add_unknown(&value);
	else
		cell_count(&value, l->count);
	if (known) {
		strbuf_addch(&value, '/');
		cell_count(&value, l->limit);
		part.share = (double)l->count / (double)l->limit;
		part.style = style_of_part(part.share);
	}
	room = draw_value(at, label, value.buf,
			  part.style == SCREEN_BAD ? SCREEN_BAD : SCREEN_PLAIN);
	if (known && room >= MIN_PICTURE)
		screen_bar(at->s, at->row, at->column + LABEL_WIDTH, room, &part, 1);
	strbuf_free(&value);
}

static const enum screen_style share_styles[NR_TOP_SHARES] = {
	[TOP_SHARE_ERLANG] = SCREEN_ERLANG, [TOP_SHARE_GC] = SCREEN_GC,
	[TOP_SHARE_BIF] = SCREEN_BIF,	    [TOP_SHARE_NIF] = SCREEN_NIF,
	[TOP_SHARE_PORT] = SCREEN_PORT,	    [TOP_SHARE_OTHER] = SCREEN_OTHER,
	[TOP_SHARE_BLOCKED] = SCREEN_WARN,  [TOP_SHARE_BUSY_WAIT] = SCREEN_IDLE,
	[TOP_SHARE_WAITING] = SCREEN_IDLE,
};

static void draw_shares(const struct place *at, unsigned offset, unsigned width,
			const double *share)
{
	struct screen_part parts[NR_TOP_SHARES];

	for (unsigned int i = 0; i < NR_TOP_SHARES; i++)
		parts[i] = (struct screen_part){share[i], share_styles[i]};
	screen_bar(at->s, at->row, at->column + offset, width, parts, NR_TOP_SHARES);
}

static void add_percent(struct strbuf *out, double part)
{
	if (isnan(part))
		add_unknown(out);
	else
		strbuf_addf(out, part > 0.9995 || part < 0.00005 ? "%.0f%%" : "%.1f%%", part * 100);
}

static void draw_work(const struct place *at, const char *label, const struct top_frame *f,
		      enum top_queue q)
{
	struct strbuf value = STRBUF_INIT;
	unsigned room;

	add_percent(&value, f->work[q]);
	room = draw_value(at, label, value.buf, f->work[q] > 0.9 ? SCREEN_WARN : SCREEN_PLAIN);
	if (!isnan(f->work[q]) && room >= MIN_PICTURE)
		draw_shares(at, LABEL_WIDTH, room, f->shares[q]);
	strbuf_free(&value);
}

static void draw_memory(const struct place *at, const char *label, const struct top_frame *f,
			enum top_memory_kind kind)
{
	struct strbuf value = STRBUF_INIT;
	unsigned room;

	if (f->memory[kind] == TOP_UNKNOWN)
		add_unknown(&value);
	else
		cell_bytes(&value, (double)f->memory[kind]);
	room = draw_value(at, label, value.buf, SCREEN_PLAIN);
	draw_history(at, room, &f->memory_history[kind], SCREEN_OTHER);
	strbuf_free(&value);
}

static void draw_rate(const struct place *at, const char *label, const struct top_frame *f,
		      enum top_rate_kind kind, bool bytes)
{
	struct strbuf value = STRBUF_INIT;
	unsigned room;

	if (isnan(f->rates[kind])) {
		add_unknown(&value);
	} else {
		if (bytes)
			cell_bytes(&value, f->rates[kind]);
		else
			cell_rate(&value, f->rates[kind]);
		strbuf_addstr(&value, "/s");
	}
	room = draw_value(at, label, value.buf, SCREEN_PLAIN);
	draw_history(at, room, &f->rates_history[kind], SCREEN_PORT);
	strbuf_free(&value);
}

/* Draws the length of all run queues together, and of the dirty run queues. */
static void draw_queue(const struct place *at, const char *label, const struct top_frame *f)
{
	static const char *const dirty[NR_TOP_QUEUES] = {
		[TOP_QUEUE_DIRTY_CPU] = "dirty cpu", [TOP_QUEUE_DIRTY_IO] = "dirty io"};
	struct strbuf value = STRBUF_INIT;
	unsigned room;

	if (f->run_queue == TOP_UNKNOWN)
		add_unknown(&value);
	else
		cell_count(&value, f->run_queue);
	for (unsigned int q = TOP_QUEUE_DIRTY_CPU; q < NR_TOP_QUEUES; q++) {
		if (f->run_queues[q] == TOP_UNKNOWN || !f->run_queues[q])
			continue;
		strbuf_addf(&value, ", %s ", dirty[q]);
		cell_count(&value, f->run_queues[q]);
	}
	room = draw_value(at, label, value.buf, SCREEN_PLAIN);
	draw_history(at, room, &f->run_queue_history, SCREEN_GC);
	strbuf_free(&value);
}

static void draw_os(const struct place *at, const char *label, const struct top_frame *f)
{
	struct strbuf value = STRBUF_INIT;
	unsigned room;

	if (isnan(f->os_cpu))
		add_unknown(&value);
	else
		strbuf_addf(&value, "%.1f%% CPU", f->os_cpu);
	if (f->os_rss != TOP_UNKNOWN) {
		strbuf_addstr(&value, ", RSS ");
		cell_bytes(&value, (double)f->os_rss);
	}
	room = draw_value(at, label, value.buf, SCREEN_PLAIN);
	draw_history(at, room, &f->os_cpu_history, SCREEN_ERLANG);
	strbuf_free(&value);
}

static void draw_field(const struct place *at, const struct field *d, const struct top_frame *f)
{
	switch (d->kind) {
	case FIELD_WORK:
		draw_work(at, d->label, f, d->which);
		break;
	case FIELD_MEMORY:
		draw_memory(at, d->label, f, d->which);
		break;
	case FIELD_LIMIT:
		draw_limit(at, d->label, &f->limits[d->which]);
		break;
	case FIELD_RATE:
		draw_rate(at, d->label, f, d->which, false);
		break;
	case FIELD_BYTES_RATE:
		draw_rate(at, d->label, f, d->which, true);
		break;
	case FIELD_QUEUE:
		draw_queue(at, d->label, f);
		break;
	case FIELD_OS:
		draw_os(at, d->label, f);
		break;
	}
}

static unsigned field_columns(unsigned width)
{
	unsigned nr = (width + FIELD_GAP) / (FIELD_WIDTH + FIELD_GAP);

	return MIN(MAX(nr, 1u), MAX_FIELD_COLUMNS);
}

static void draw_fields(struct screen *s, unsigned row, unsigned height, unsigned width,
			const struct top_frame *f)
{
	unsigned columns = field_columns(width), room = height * columns, nr = 0;
	unsigned field_width = (width - (columns - 1) * FIELD_GAP) / columns;

	for (size_t i = 0; height && i < ARRAY_SIZE(fields); i++) {
		struct place at = {s, row + nr % height, nr / height * (field_width + FIELD_GAP),
				   field_width};

		if (fields[i].rank >= room)
			continue;
		draw_field(&at, &fields[i], f);
		nr++;
	}
}

/* ---- schedulers --------------------------------------------------------------------------- */

#define SCHEDULER_WIDTH 18u
#define MAX_BAR_ROWS	8u /* if bars need more rows, each scheduler is one character */
#define MAX_STRIP_ROWS	2u

/* How the schedulers are shown. */
struct scheduler_rows {
	unsigned bars;	 /* rows of normal schedulers with a bar each */
	unsigned strips; /* rows of normal schedulers with a character each */
	unsigned dirty;	 /* 1: a row for the dirty schedulers */
};

static unsigned count(const struct top_frame *f, enum thread_type type)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < f->nr_schedulers; i++)
		nr += f->schedulers[i].type == type;
	return nr;
}

static unsigned bar_columns(unsigned width)
{
	return MAX((width + 1) / (SCHEDULER_WIDTH + 1), 1u);
}

static unsigned divide_up(unsigned a, unsigned b)
{
	return (a + b - 1) / b;
}

static unsigned strip_width(unsigned width)
{
	return width > LABEL_WIDTH + 6 ? width - LABEL_WIDTH - 6 : 1;
}

static struct scheduler_rows plan(const struct top_frame *f, unsigned room, unsigned width)
{
	unsigned normal = count(f, THREAD_NORMAL);
	struct scheduler_rows r = {.dirty = normal < f->nr_schedulers};

	if (!room || !normal)
		return (struct scheduler_rows){0};
	if (room < 2)
		r.dirty = 0;
	r.bars = divide_up(normal, bar_columns(width));
	if (r.bars > MIN(room - r.dirty, MAX_BAR_ROWS)) {
		r.bars = 0;
		r.strips = MIN(divide_up(normal, strip_width(width)),
			       MIN(room - r.dirty, MAX_STRIP_ROWS));
	}
	return r;
}

static void draw_bars(struct screen *s, unsigned row, unsigned rows, unsigned width,
		      const struct top_frame *f)
{
	unsigned columns = bar_columns(width), nr = 0;
	unsigned each = (width - (columns - 1)) / columns;

	for (uint32_t i = 0; i < f->nr_schedulers && rows; i++) {
		const struct top_scheduler *t = &f->schedulers[i];
		struct place at = {s, row + nr % rows, nr / rows * (each + 1), each};
		struct strbuf value = STRBUF_INIT;

		if (t->type != THREAD_NORMAL)
			continue;
		screen_textf(s, at.row, at.column, 3, SCREEN_DIM, "%3u", t->number);
		if (t->offline)
			strbuf_addstr(&value, "off");
		else
			add_percent(&value,
				    t->known ? round(top_scheduler_work(t) * 100) / 100 : NAN);
		screen_text_right(s, at.row, at.column + each - MIN(each, 5), 5, SCREEN_PLAIN,
				  value.buf, value.len);
		if (t->known && each > 9 + MIN_PICTURE)
			draw_shares(&at, 4, each - 9, t->share);
		strbuf_free(&value);
		nr++;
	}
}

/* Draws a character for each scheduler of a type; without room for all, one character for several
 * neighbours, with the load of the busiest.  Returns the columns of the first row. */
static unsigned draw_strip(struct screen *s, unsigned row, unsigned rows, unsigned column,
			   unsigned width, const struct top_frame *f, enum thread_type type)
{
	unsigned nr = count(f, type), each = divide_up(nr, MAX(rows * width, 1u)), at = 0;
	unsigned cells = divide_up(nr, MAX(each, 1u));
	float *values = xcalloc(cells, sizeof(*values));

	for (unsigned i = 0; i < cells; i++)
		values[i] = NAN;
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		float work = (float)top_scheduler_work(&f->schedulers[i]);

		if (f->schedulers[i].type != type)
			continue;
		values[at / each] = fmaxf(values[at / each], work); /* fmaxf() ignores NAN */
		at++;
	}
	for (unsigned r = 0; r < rows && r * width < cells; r++) {
		unsigned here = MIN(width, cells - r * width);

		screen_sparkline(s, row + r, column, here, SCREEN_ERLANG, values + r * width, here,
				 1);
	}
	free(values);
	return MIN(width, cells);
}

static void draw_folded(struct screen *s, unsigned row, unsigned rows, unsigned width,
			const struct top_frame *f)
{
	screen_text(s, row, 0, LABEL_WIDTH - 1, SCREEN_DIM, "Schedulers", 10);
	draw_strip(s, row, rows, LABEL_WIDTH, strip_width(width), f, THREAD_NORMAL);
}

/* Draws a legend of the colours of bars, at the right. */
static void draw_legend(struct screen *s, unsigned row, unsigned from, unsigned width)
{
	unsigned wide = 0, column;

	for (unsigned int i = 0; i < TOP_SHARE_BUSY_WAIT; i++)
		wide += (unsigned)strlen(top_share_name(i)) + 1;
	if (from + wide > width)
		return;
	column = width - wide + 1;
	for (unsigned int i = 0; i < TOP_SHARE_BUSY_WAIT; i++)
		column += screen_text(s, row, column, width, share_styles[i], top_share_name(i),
				      strlen(top_share_name(i))) +
			  1;
}

static unsigned draw_dirty(struct screen *s, unsigned row, unsigned column, unsigned width,
			   const struct top_frame *f, enum thread_type type, const char *label)
{
	unsigned nr = count(f, type);

	if (!nr || column + strlen(label) + 2 >= width)
		return column;
	column += screen_text(s, row, column, width - column, SCREEN_DIM, label, strlen(label)) + 1;
	return column + draw_strip(s, row, 1, column, MIN(nr, (width - column) / 2 + 1), f, type) +
	       2;
}

static void draw_schedulers(struct screen *s, unsigned row, const struct scheduler_rows *r,
			    unsigned width, const struct top_frame *f)
{
	unsigned column;

	if (r->bars)
		draw_bars(s, row, r->bars, width, f);
	if (r->strips)
		draw_folded(s, row, r->strips, width, f);
	row += r->bars + r->strips;
	if (!r->dirty)
		return;
	column = draw_dirty(s, row, 0, width, f, THREAD_DIRTY_CPU, "dirty cpu");
	column = draw_dirty(s, row, column, width, f, THREAD_DIRTY_IO, "dirty io");
	draw_legend(s, row, column, width);
}

/* ---- schedulers that are held -------------------------------------------------------------- */

/* Adds "No change of process: 2/2 schedulers >= 3.00 s, 1/1 dirty CPU >= 2.00 s"; false: no
 * scheduler has been in one time slice for long. */
static bool describe_held(const struct top_frame *f, struct strbuf *out)
{
	static const char *const names[NR_TOP_QUEUES] = {
		[TOP_QUEUE_NORMAL] = "schedulers",
		[TOP_QUEUE_DIRTY_CPU] = "dirty CPU",
		[TOP_QUEUE_DIRTY_IO] = "dirty IO",
	};
	struct top_held held;
	bool any = false;
	char text[32];

	for (unsigned int q = 0; q < NR_TOP_QUEUES; q++) {
		if (!top_frame_held(f, q, &held))
			continue;
		strbuf_addf(out, "%s%u/%u %s >= %s", any ? ", " : "No change of process: ", held.nr,
			    held.of, names[q], units_format_ns(held.ns, text, sizeof(text)));
		any = true;
	}
	return any;
}

static unsigned held_rows(const struct top_frame *f)
{
	struct strbuf ignored = STRBUF_INIT;
	bool any = describe_held(f, &ignored);

	strbuf_free(&ignored);
	return any;
}

static void draw_held(struct screen *s, unsigned row, unsigned width, const struct top_frame *f)
{
	static const char more[] = " (ebeam sched --now)";
	struct strbuf text = STRBUF_INIT;
	unsigned at;

	describe_held(f, &text);
	screen_fill(s, row, 0, width, SCREEN_BAD, ' ');
	at = screen_text(s, row, 0, width, SCREEN_BAD, text.buf, text.len);
	if (at + strlen(more) <= width)
		screen_text(s, row, at, width - at, SCREEN_BAD, more, strlen(more));
	strbuf_free(&text);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Divides `room` rows of the screen: returns the rows for the fields; *r: rows for schedulers. */
static unsigned divide(const struct top_frame *f, unsigned room, unsigned width,
		       struct scheduler_rows *r)
{
	unsigned wanted = divide_up(ARRAY_SIZE(fields), field_columns(width));
	unsigned left = room > wanted ? room - wanted : 0;

	/* Schedulers get a third of the room, or all that fields leave if that is more. */
	*r = plan(f, MAX(left, room / 3), width);
	return MIN(wanted, room - (r->bars + r->strips + r->dirty));
}

unsigned top_header_height(const struct top_frame *f, unsigned room, unsigned width)
{
	unsigned held = MIN(held_rows(f), room);
	struct scheduler_rows r;
	unsigned rows = divide(f, room - held, width, &r);

	return held + rows + r.bars + r.strips + r.dirty;
}

void top_header_draw(struct screen *s, unsigned row, unsigned height, unsigned width,
		     const struct top_frame *f)
{
	unsigned held = MIN(held_rows(f), height);
	struct scheduler_rows r;
	unsigned rows = divide(f, height - held, width, &r);

	if (held)
		draw_held(s, row, width, f);
	row += held;
	draw_fields(s, row, rows, width, f);
	draw_schedulers(s, row + rows, &r, width, f);
}
