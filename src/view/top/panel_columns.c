/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which columns of a panel are drawn, their widths and cells.  If not all fit, texts are truncated
 * before a column is left out; numbers are never truncated, as they would be wrong.
 */
#include "view/top/panel_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define MAX_COLUMNS 64u
#define MIN_TEXT    10u /* least width of a truncated text */
#define MIN_FIRST   12u /* least width of the first column, which names the row: "dirty cpu 12" */

/* ---- columns ------------------------------------------------------------------------------ */

static void add_column(struct panel *p, const struct table_column *c)
{
	struct panel_column column = {.column = c};

	if (p->shown.len < MAX_COLUMNS && !panel_shown(p, c))
		vec_push(&p->shown, column);
}

void panel_resolve_columns(struct panel *p, const struct panel_source *source)
{
	const char *names = p->names ? p->names : "", *sort = p->sort;
	bool all;

	if (p->registry == source->table.columns)
		return;
	p->registry = source->table.columns;
	p->shown.len = 0;
	while (*names) {
		size_t len = strcspn(names, ",");
		const struct table_column *c = table_find_column(p->registry, names, len);

		if (c)
			add_column(p, c);
		names += len + (names[len] == ',');
	}
	all = p->shown.len == 0;
	for (const struct table_column *c = p->registry; all && c->name; c++)
		if (!c->hidden)
			add_column(p, c);
	p->reverse = sort && *sort == '-';
	sort += p->reverse;
	p->sort_by = sort ? table_find_column(p->registry, sort, strlen(sort)) : NULL;
	p->ordered = p->filtered = false;
}

struct panel_column *panel_shown(struct panel *p, const struct table_column *c)
{
	for (size_t i = 0; i < p->shown.len; i++)
		if (p->shown.data[i].column == c)
			return &p->shown.data[i];
	return NULL;
}

void panel_show_column(struct panel *p, const struct table_column *c, bool shown)
{
	struct panel_column *old = panel_shown(p, c), column = {.column = c};
	size_t at = p->shown.len;

	if (!shown && old && p->shown.len > 1) {
		at = (size_t)(old - p->shown.data);
		p->shown.len--;
		memmove(old, old + 1, (p->shown.len - at) * sizeof(*old));
	} else if (shown && !old && p->shown.len < MAX_COLUMNS) {
		/* The new column stands where the order of the registry has it. */
		while (at && p->shown.data[at - 1].column > c)
			at--;
		vec_push(&p->shown, column);
		memmove(&p->shown.data[at + 1], &p->shown.data[at],
			(p->shown.len - 1 - at) * sizeof(column));
		p->shown.data[at] = column;
	}
	p->filtered = false; /* without source->matches the filter depends on the columns shown */
	p->first_column = 0;
	panel_forget_widths(p);
}

void panel_forget_widths(struct panel *p)
{
	for (size_t i = 0; i < p->shown.len; i++)
		p->shown.data[i].natural = 0;
}

const struct table_column *panel_column_at(const struct panel *p, unsigned screen_column)
{
	for (size_t i = 0; i < p->shown.len; i++) {
		const struct panel_column *c = &p->shown.data[i];
		unsigned at = p->screen_column + c->at;

		/* A click into the gap after a column counts for the column. */
		if (c->width && screen_column >= at && screen_column <= at + c->width)
			return c->column;
	}
	return NULL;
}

/* ---- widths ------------------------------------------------------------------------------- */

static void make_cell(struct strbuf *text, const struct panel_source *source,
		      const struct table_column *c, uint32_t row)
{
	strbuf_reset(text);
	table_cell(c, text, (const char *)source->table.rows + (size_t)row * source->table.row_size,
		   source->table.ctx);
	if (!text->len)
		strbuf_addch(text, '-');
}

static size_t last_rank(const struct panel *p)
{
	return p->height > 1 ? MIN(p->top + panel_height(p), p->nr) : p->top;
}

/* Sets natural widths: those of the widest cells drawn so far.  They never shrink, so that columns
 * do not move with each reading. */
static void measure(struct panel *p, const struct panel_source *source)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < p->shown.len; i++) {
		struct panel_column *c = &p->shown.data[i];
		size_t wide = strlen(c->column->title) + (c->column == p->sort_by);

		wide = MAX(wide, c->natural);
		for (size_t rank = p->top; rank < last_rank(p); rank++) {
			make_cell(&text, source, c->column, panel_row_at(p, rank));
			wide = MAX(wide, screen_text_width(text.buf, text.len));
		}
		c->natural = (unsigned)MIN(wide, SCREEN_MAX_COLUMNS);
		c->width = 0;
	}
	strbuf_free(&text);
}

static unsigned least(const struct panel *p, const struct panel_column *c)
{
	if (table_is_right(c->column))
		return c->natural;
	return MIN(c->natural, c == p->shown.data ? MIN_FIRST : MIN_TEXT);
}

/* Gives columns their least widths, from the left, as long as they fit: the first column in any
 * case, and room for the one that rows are sorted by is reserved.  Returns the width that is
 * left. */
static unsigned choose_columns(struct panel *p)
{
	struct panel_column *sorted = p->sort_by ? panel_shown(p, p->sort_by) : NULL;
	unsigned used = 0, reserved;
	bool full = false;

	if (sorted && sorted != p->shown.data && sorted <= p->shown.data + p->first_column)
		sorted = NULL; /* scrolled out at the left */
	reserved = sorted && sorted != p->shown.data ? least(p, sorted) + 1 : 0;
	for (size_t i = 0; i < p->shown.len; i++) {
		struct panel_column *c = &p->shown.data[i];
		unsigned more = least(p, c) + (i > 0);

		if (i && i <= p->first_column)
			continue;
		if (c == sorted)
			reserved = 0;
		else if (i && full)
			continue;
		if (i && used + more + reserved > p->width) {
			full = true;
			continue;
		}
		c->width = MIN(least(p, c), p->width);
		used += more;
	}
	return p->width - MIN(p->width, used);
}

/* Divides the width that is left evenly among the columns that are narrower than their widest
 * cell. */
static void share_room(struct panel *p, unsigned left)
{
	while (left) {
		unsigned wanting = 0, given = 0;

		for (size_t i = 0; i < p->shown.len; i++)
			wanting += p->shown.data[i].width &&
				   p->shown.data[i].width < p->shown.data[i].natural;
		for (size_t i = 0; i < p->shown.len && given < left; i++) {
			struct panel_column *c = &p->shown.data[i];
			unsigned share = MAX(left / MAX(wanting, 1u), 1u);

			if (!c->width)
				continue;
			share = MIN(MIN(share, c->natural - c->width), left - given);
			c->width += share;
			given += share;
		}
		if (!given)
			return;
		left -= given;
	}
}

static void lay_out(struct panel *p)
{
	unsigned all = 0, left, at = 0, gap = 1;

	for (size_t i = 0; i < p->shown.len; i++)
		all += p->shown.data[i].natural + (i ? 1 : 0);
	p->columns_cut = all > p->width;
	if (!p->columns_cut)
		p->first_column = 0;
	p->first_column = (unsigned)MIN(p->first_column, p->shown.len > 1 ? p->shown.len - 2 : 0);
	left = choose_columns(p);
	share_room(p, left);
	if (all + p->shown.len - 1 <= p->width)
		gap = 2;
	for (size_t i = 0; i < p->shown.len; i++) {
		struct panel_column *c = &p->shown.data[i];

		c->at = at;
		at += c->width ? c->width + gap : 0;
	}
}

/* ---- cells -------------------------------------------------------------------------------- */

static void draw_text(const struct panel *p, struct screen *s, unsigned row,
		      const struct panel_column *c, enum screen_style style, const char *text,
		      size_t len)
{
	unsigned column = p->screen_column + c->at;

	if (screen_text_width(text, len) > c->width && c->width > 1) {
		screen_text(s, row, column, c->width - 1, style, text, len);
		screen_fill(s, row, column + c->width - 1, 1, style, screen_utf8(s) ? 0x2026 : '~');
	} else if (table_is_right(c->column)) {
		screen_text_right(s, row, column, c->width, style, text, len);
	} else {
		screen_text(s, row, column, c->width, style, text, len);
	}
}

static void draw_heading(const struct panel *p, struct screen *s)
{
	struct strbuf title = STRBUF_INIT;

	screen_fill(s, p->screen_row, p->screen_column, p->width, SCREEN_HEADING, ' ');
	for (size_t i = 0; i < p->shown.len; i++) {
		const struct panel_column *c = &p->shown.data[i];
		bool sorted = c->column == p->sort_by;

		if (!c->width)
			continue;
		strbuf_reset(&title);
		strbuf_addstr(&title, c->column->title);
		if (sorted) /* the arrow: down for largest first, or flags that are set first */
			strbuf_addstr(&title, (table_is_right(c->column) ||
					       c->column->type == TABLE_FLAG) != p->reverse
						      ? "\xe2\x96\xbc"	 /* U+25BC */
						      : "\xe2\x96\xb2"); /* U+25B2 */
		draw_text(p, s, p->screen_row, c, sorted ? SCREEN_SORTED : SCREEN_HEADING,
			  title.buf, title.len);
	}
	strbuf_free(&title);
}

static enum screen_style style_of(const struct panel_source *source, uint32_t row,
				  const struct table_column *c, const struct strbuf *text)
{
	const void *at = (const char *)source->table.rows + (size_t)row * source->table.row_size;

	/* Zero and unknown values are dimmed. */
	if (text->len == 1 && (*text->buf == '-' || *text->buf == '0'))
		return SCREEN_DIM;
	return source->style ? source->style(at, source->table.ctx, c) : SCREEN_PLAIN;
}

static void draw_nothing(const struct panel *p, struct screen *s, const struct panel_source *source)
{
	struct strbuf text = STRBUF_INIT;

	if (p->filter.len && p->nr_rows)
		strbuf_addf(&text, "nothing matches '%s'", p->filter.buf);
	else
		strbuf_addstr(&text, source->nothing ? source->nothing : "nothing");
	if (p->height > 1)
		screen_text(s, p->screen_row + 1, p->screen_column, p->width, SCREEN_DIM, text.buf,
			    text.len);
	strbuf_free(&text);
}

void panel_draw_table(struct panel *p, struct screen *s, const struct panel_source *source)
{
	struct strbuf text = STRBUF_INIT;

	measure(p, source);
	lay_out(p);
	draw_heading(p, s);
	if (!p->nr)
		draw_nothing(p, s, source);
	for (size_t rank = p->top; rank < last_rank(p); rank++) {
		unsigned row = p->screen_row + 1 + (unsigned)(rank - p->top);
		uint32_t index = panel_row_at(p, rank);

		for (size_t i = 0; i < p->shown.len; i++) {
			const struct panel_column *c = &p->shown.data[i];

			if (!c->width)
				continue;
			make_cell(&text, source, c->column, index);
			draw_text(p, s, row, c, style_of(source, index, c->column, &text), text.buf,
				  text.len);
		}
		if (rank == p->rank)
			screen_restyle(s, row, p->screen_column, p->width, SCREEN_SELECTED);
	}
	strbuf_free(&text);
}
