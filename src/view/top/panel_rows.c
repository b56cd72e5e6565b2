/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a panel: filter, order, and the selection, kept from reading to reading. */
#include "view/top/panel_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "view/screen/characters.h"

/* So many rows before and behind those on the screen are sorted with them: the next keys that
 * scroll then need no further sorting. */
#define AROUND 200u

unsigned panel_height(const struct panel *p)
{
	return p->height > 1 ? p->height - 1 : 1;
}

static const void *row_of(const struct panel_source *source, uint32_t row)
{
	return (const char *)source->table.rows + (size_t)row * source->table.row_size;
}

static uint64_t id_of(const struct panel_source *source, uint32_t row)
{
	return source->id ? source->id(row_of(source, row)) : row;
}

struct row_order panel_order(const struct panel *p, const struct panel_source *source)
{
	return (struct row_order){
		.table = &source->table,
		.column = p->sort_by,
		.reverse = p->reverse,
		.id = source->id,
		.rows = p->filter.len ? p->matching.data : NULL,
		.nr_rows = p->nr,
	};
}

uint32_t panel_row_at(const struct panel *p, size_t rank)
{
	return p->window.rows[rank - p->window.first];
}

/* ---- filter ---------------------------------------------------------------------------------- */

static bool cells_match(const struct panel *p, const struct panel_source *source, const void *row,
			struct strbuf *text)
{
	for (size_t i = 0; i < p->shown.len; i++) {
		const struct table_column *c = p->shown.data[i].column;

		if (table_is_right(c))
			continue;
		strbuf_reset(text);
		table_cell(c, text, row, source->table.ctx);
		if (characters_contain(text->buf, text->len, p->filter.buf, p->filter.len))
			return true;
	}
	return false;
}

/* Is the filter the one that `matching` was made with, with text added at its end?  Then only rows
 * in `matching` can match. */
static bool filter_goes_on(const struct panel *p)
{
	return p->filtered && p->filtered_by.len && p->filter.len >= p->filtered_by.len &&
	       memcmp(p->filter.buf, p->filtered_by.buf, p->filtered_by.len) == 0;
}

static void find_matches(struct panel *p, const struct panel_source *source)
{
	bool goes_on = filter_goes_on(p);
	size_t nr = goes_on ? p->matching.len : source->table.nr_rows, kept = 0;
	struct strbuf text = STRBUF_INIT;

	if (source->matches)
		source->matches(NULL, source->table.ctx, p->filter.buf, p->filter.len);
	for (size_t i = 0; i < nr; i++) {
		uint32_t index = goes_on ? p->matching.data[i] : (uint32_t)i;
		const void *row = row_of(source, index);

		if (source->matches
			    ? !source->matches(row, source->table.ctx, p->filter.buf, p->filter.len)
			    : !cells_match(p, source, row, &text))
			continue;
		vec_reserve(&p->matching, kept + 1);
		p->matching.data[kept++] = index;
	}
	p->matching.len = kept;
	strbuf_free(&text);
}

static void apply_filter(struct panel *p, const struct panel_source *source)
{
	bool same = p->filtered && p->filtered_by.len == p->filter.len &&
		    memcmp(p->filtered_by.buf, p->filter.buf, p->filter.len) == 0;

	if (!same) {
		vec_reserve(&p->matching, 1); /* not NULL, which row_order takes for all rows */
		if (p->filter.len)
			find_matches(p, source);
		else
			vec_free(&p->matching);
		strbuf_reset(&p->filtered_by);
		strbuf_add(&p->filtered_by, p->filter.buf, p->filter.len);
		p->filtered = true;
		p->ordered = false;
	}
	p->nr = p->filter.len ? p->matching.len : source->table.nr_rows;
}

/* ---- order and selection --------------------------------------------------------------------- */

static bool counts(const struct panel *p, uint32_t row)
{
	size_t low = 0, high = p->matching.len;

	if (!p->filter.len)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->matching.data[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->matching.len && p->matching.data[low] == row;
}

/* Sets p->rank to the rank of the row with id p->id; false: there is no such row.  The window is
 * searched first, as the ranks of its rows are known. */
static bool find_selected(struct panel *p, const struct panel_source *source)
{
	const struct row_order o = panel_order(p, source);
	uint32_t row = p->row;
	size_t i = 0;

	for (size_t w = 0; w < p->window.nr; w++) {
		if (id_of(source, p->window.rows[w]) != p->id)
			continue;
		p->rank = p->window.first + w;
		return true;
	}
	if (row >= p->nr_rows || id_of(source, row) != p->id || !counts(p, row)) {
		for (i = 0; i < p->nr; i++) {
			row = o.rows ? o.rows[i] : (uint32_t)i;
			if (id_of(source, row) == p->id)
				break;
		}
		if (i == p->nr)
			return false;
	}
	p->rank = row_order_rank(&o, row);
	return true;
}

/* Sorts a new window if p->window does not have all rows on the screen. */
static void need_window(struct panel *p, const struct panel_source *source)
{
	size_t end = MIN(p->top + panel_height(p), p->nr), first;
	struct row_order o = panel_order(p, source);

	if (p->ordered && p->top >= p->window.first && end <= p->window.first + p->window.nr)
		return;
	first = p->top > AROUND ? p->top - AROUND : 0;
	row_order_window(&o, first, end - first + AROUND, &p->window);
	p->ordered = true;
}

/* Scrolls so that the selected row is on the screen, and no line below the last row stays empty. */
static void keep_in_sight(struct panel *p)
{
	size_t height = panel_height(p);

	p->rank = p->nr ? MIN(p->rank, p->nr - 1) : 0;
	p->top = MIN(p->top, p->nr > height ? p->nr - height : 0);
	if (p->rank < p->top)
		p->top = p->rank;
	if (p->rank >= p->top + height)
		p->top = p->rank - height + 1;
}

static void remember_selected(struct panel *p, const struct panel_source *source)
{
	if (!p->nr)
		return;
	p->row = panel_row_at(p, p->rank);
	p->id = id_of(source, p->row);
}

void panel_follow(struct panel *p, const struct panel_source *source)
{
	size_t from_top = p->rank - p->top, height;

	panel_resolve_columns(p, source);
	if (source->reading != p->reading || source->table.nr_rows != p->nr_rows) {
		p->ordered = p->filtered = false;
		p->reading = source->reading;
		p->nr_rows = source->table.nr_rows;
	}
	apply_filter(p, source);
	height = panel_height(p);
	if (!p->ordered) {
		p->top = MIN(p->top, p->nr);
		need_window(p, source);
		if (p->follows && find_selected(p, source) &&
		    (p->rank < p->top || p->rank >= p->top + height))
			p->top = p->rank - MIN(p->rank, from_top);
	}
	keep_in_sight(p);
	need_window(p, source);
	remember_selected(p, source);
}

void panel_select(struct panel *p, const struct panel_source *source, size_t rank)
{
	p->rank = rank;
	p->follows = true;
	keep_in_sight(p);
	need_window(p, source);
	remember_selected(p, source);
}

void panel_scroll(struct panel *p, const struct panel_source *source, long rows)
{
	size_t height = panel_height(p), last = p->nr > height ? p->nr - height : 0;
	size_t before = p->rank;

	if (rows < 0)
		p->top -= MIN(p->top, (size_t)-rows);
	else
		p->top = MIN(p->top + (size_t)rows, last);
	if (p->rank < p->top)
		p->rank = p->top;
	if (p->rank >= p->top + height)
		p->rank = p->top + height - 1;
	keep_in_sight(p);
	p->follows |= p->rank != before;
	need_window(p, source);
	remember_selected(p, source);
}
