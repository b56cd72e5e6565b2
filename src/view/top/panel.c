/* SPDX-License-Identifier: BSD-2-Clause */
/* See panel.h. */
#include "view/top/panel.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "names/utf8.h"
#include "view/top/panel_internal.h"
#include "view/top/top_keys.h"

#define WHEEL_ROWS	3
#define MIN_NOTE_HEIGHT 4 /* with fewer rows there is no note */

int panel_open(struct panel **out, const char *columns, const char *sort)
{
	struct panel *p = xcalloc(1, sizeof(*p));

	p->names = columns ? xstrdup(columns) : NULL;
	p->sort = sort ? xstrdup(sort) : NULL;
	strbuf_init(&p->filter);
	strbuf_init(&p->filtered_by);
	p->height = 25; /* panel_draw() sets the true size */
	p->width = 80;
	*out = p;
	return 0;
}

void panel_close(struct panel *p)
{
	if (!p)
		return;
	free(p->names);
	free(p->sort);
	free(p->window.rows);
	vec_free(&p->shown);
	vec_free(&p->matching);
	strbuf_free(&p->filter);
	strbuf_free(&p->filtered_by);
	free(p);
}

void panel_draw(struct panel *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct panel_source *source)
{
	if (p->width != width)
		panel_forget_widths(p);
	p->screen_row = row;
	p->screen_column = column;
	p->height = height;
	p->width = width;
	for (unsigned i = 0; i < height; i++)
		screen_fill(s, row + i, column, width, SCREEN_PLAIN, ' ');
	if (source->note && height > MIN_NOTE_HEIGHT) {
		p->height = --height;
		screen_text(s, row + height, column, width, SCREEN_DIM, source->note,
			    strlen(source->note));
	}
	panel_follow(p, source);
	if (!height || !width)
		return;
	panel_draw_table(p, s, source);
	if (panel_in_menu(p))
		panel_draw_menu(p, s);
}

const void *panel_selected(struct panel *p, const struct panel_source *source)
{
	panel_follow(p, source);
	if (!p->nr)
		return NULL;
	return (const char *)source->table.rows +
	       (size_t)panel_row_at(p, p->rank) * source->table.row_size;
}

const void *panel_chosen(struct panel *p, const struct panel_source *source)
{
	const void *row = panel_selected(p, source);

	return p->follows || p->filter.len ? row : NULL;
}

/* ---- order ----------------------------------------------------------------------------------- */

void panel_set_sort(struct panel *p, const char *sort)
{
	char *copy = sort ? xstrdup(sort) : NULL;
	const char *name = copy;

	free(p->sort);
	p->sort = copy;
	p->reverse = name && *name == '-';
	if (p->reverse)
		name++;
	if (p->registry)
		p->sort_by = name ? table_find_column(p->registry, name, strlen(name)) : NULL;
	p->ordered = false;
}

const char *panel_sort(const struct panel *p)
{
	return p->sort;
}

static void reverse_order(struct panel *p)
{
	char *sort;

	if (!p->sort_by)
		return;
	sort = xasprintf("%s%s", p->reverse ? "" : "-", p->sort_by->name);
	panel_set_sort(p, sort);
	free(sort);
}

/* Sorts by the column shown `by` places to the right of the current one. */
static void sort_by_neighbour(struct panel *p, int by)
{
	size_t nr = p->shown.len, at = by > 0 ? nr - 1 : 0;

	for (size_t i = 0; i < nr; i++)
		if (p->shown.data[i].column == p->sort_by)
			at = i;
	if (nr)
		panel_set_sort(p, p->shown.data[(at + nr + (size_t)by) % nr].column->name);
}

/* Sorts by the first of "a,b" that the table has; if it is the current one, reverses the order. */
static bool sort_by_one_of(struct panel *p, const char *names)
{
	while (*names) {
		size_t len = strcspn(names, ",");
		const struct table_column *c = table_find_column(p->registry, names, len);

		if (c && c == p->sort_by)
			reverse_order(p);
		else if (c)
			panel_set_sort(p, c->name);
		if (c)
			return true;
		names += len + (names[len] == ',');
	}
	return false;
}

void panel_columns(const struct panel *p, const struct panel_source *source, struct strbuf *out)
{
	/* The panel may not have been drawn yet; resolving its columns changes nothing else. */
	panel_resolve_columns((struct panel *)(uintptr_t)p, source);
	for (size_t i = 0; i < p->shown.len; i++)
		strbuf_addf(out, "%s%s", i ? "," : "", p->shown.data[i].column->name);
}

/* ---- filter ---------------------------------------------------------------------------------- */

const char *panel_filter(const struct panel *p)
{
	return p->filter.buf;
}

void panel_set_filter(struct panel *p, const char *text)
{
	strbuf_reset(&p->filter);
	strbuf_add(&p->filter, text, MIN(strlen(text), PANEL_MAX_FILTER));
	p->ordered = false;
}

bool panel_is_typing(const struct panel *p)
{
	return p->mode == PANEL_IN_FILTER;
}

bool panel_in_menu(const struct panel *p)
{
	return p->mode == PANEL_IN_COLUMNS || p->mode == PANEL_IN_SORT;
}

static void rub_out(struct panel *p)
{
	size_t len = p->filter.len;

	if (!len) {
		p->mode = PANEL_IN_TABLE;
		return;
	}
	do
		len--;
	while (len && (p->filter.buf[len] & 0xc0) == 0x80);
	p->filter.len = len;
	p->filter.buf[len] = '\0';
}

/* A key while the filter is typed.  PANEL_IGNORED: it is no input of the filter; an arrow still
 * moves the selection. */
static enum panel_result filter_key(struct panel *p, const struct terminal_key *key)
{
	switch (top_action(TOP_IN_LINE, key)) {
	case TOP_ACTION_DONE:
		p->mode = PANEL_IN_TABLE;
		break;
	case TOP_ACTION_CLOSE:
		panel_set_filter(p, "");
		p->mode = PANEL_IN_TABLE;
		break;
	case TOP_ACTION_RUB_OUT:
		rub_out(p);
		break;
	case TOP_ACTION_RUB_OUT_ALL:
		panel_set_filter(p, "");
		break;
	default:
		if (key->kind != TERMINAL_KEY_CHAR || key->c < 0x20)
			return PANEL_IGNORED;
		if (p->filter.len < PANEL_MAX_FILTER)
			utf8_add(&p->filter, key->c);
	}
	return PANEL_HANDLED;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum panel_result click(struct panel *p, const struct terminal_key *key,
			       const struct panel_source *source)
{
	const struct table_column *c;
	size_t rank;
	bool again;

	if (key->row < p->screen_row || key->row >= p->screen_row + p->height ||
	    key->column < p->screen_column || key->column >= p->screen_column + p->width)
		return PANEL_IGNORED;
	if (key->wheel) {
		panel_scroll(p, source, (long)key->wheel * WHEEL_ROWS);
		return PANEL_HANDLED;
	}
	if (key->button != 1)
		return PANEL_IGNORED;
	if (key->row == p->screen_row) {
		c = panel_column_at(p, key->column);
		if (c)
			sort_by_one_of(p, c->name);
		return PANEL_HANDLED;
	}
	rank = p->top + (key->row - p->screen_row - 1);
	if (rank >= p->nr)
		return PANEL_HANDLED;
	again = p->follows && rank == p->rank;
	panel_select(p, source, rank);
	return again ? PANEL_OPEN : PANEL_HANDLED;
}

/* Selects the first row, whichever that becomes: no row is followed by its id. */
static void go_home(struct panel *p, const struct panel_source *source)
{
	panel_select(p, source, 0);
	p->follows = false;
}

static bool move(struct panel *p, enum top_action action, const struct panel_source *source)
{
	size_t page = panel_height(p);

	switch (action) {
	case TOP_ACTION_UP:
		panel_select(p, source, p->rank - MIN(p->rank, 1));
		break;
	case TOP_ACTION_DOWN:
		panel_select(p, source, p->rank + 1);
		break;
	case TOP_ACTION_PAGE_UP:
		p->top -= MIN(p->top, page);
		panel_select(p, source, p->rank - MIN(p->rank, page));
		break;
	case TOP_ACTION_PAGE_DOWN:
		p->top += page;
		panel_select(p, source, p->rank + page);
		break;
	case TOP_ACTION_FIRST:
		go_home(p, source);
		break;
	case TOP_ACTION_LAST:
		panel_select(p, source, p->nr ? p->nr - 1 : 0);
		break;
	case TOP_ACTION_LEFT:
		p->first_column -= MIN(p->first_column, 1);
		panel_forget_widths(p);
		break;
	case TOP_ACTION_RIGHT:
		p->first_column += p->columns_cut;
		panel_forget_widths(p);
		break;
	default:
		return false;
	}
	return true;
}

static enum panel_result table_key(struct panel *p, const struct terminal_key *key,
				   const struct panel_source *source)
{
	enum top_action action = top_action(TOP_IN_TABLE, key);

	if (move(p, action, source))
		return PANEL_HANDLED;
	switch (action) {
	case TOP_ACTION_OPEN: /* from now on the selection follows the row by its id */
		if (!p->nr)
			return PANEL_HANDLED;
		panel_select(p, source, p->rank);
		return PANEL_OPEN;
	case TOP_ACTION_FILTER:
		p->mode = PANEL_IN_FILTER;
		break;
	case TOP_ACTION_CLOSE: /* clears the filter; without one, the selection */
		if (p->filter.len)
			panel_set_filter(p, "");
		else if (p->follows)
			go_home(p, source);
		else
			return PANEL_IGNORED;
		break;
	case TOP_ACTION_SORT_LEFT:
		sort_by_neighbour(p, -1);
		break;
	case TOP_ACTION_SORT_RIGHT:
		sort_by_neighbour(p, 1);
		break;
	case TOP_ACTION_SORT_MENU:
		panel_open_menu(p, PANEL_IN_SORT, source);
		break;
	case TOP_ACTION_COLUMNS:
		panel_open_menu(p, PANEL_IN_COLUMNS, source);
		break;
	case TOP_ACTION_REVERSE:
		reverse_order(p);
		break;
	case TOP_ACTION_SORT_BY:
		return sort_by_one_of(p, top_key_columns(key)) ? PANEL_HANDLED : PANEL_IGNORED;
	case TOP_ACTION_MOUSE:
		return click(p, key, source);
	default:
		return PANEL_IGNORED;
	}
	return PANEL_HANDLED;
}

enum panel_result panel_key(struct panel *p, const struct terminal_key *key,
			    const struct panel_source *source)
{
	panel_follow(p, source);
	if (panel_in_menu(p))
		return panel_menu_key(p, key);
	if (p->mode == PANEL_IN_FILTER) {
		if (filter_key(p, key) == PANEL_HANDLED)
			return PANEL_HANDLED;
		return move(p, top_action(TOP_IN_TABLE, key), source) ? PANEL_HANDLED
								      : PANEL_IGNORED;
	}
	return table_key(p, key, source);
}

void panel_describe(const struct panel *p, struct strbuf *out)
{
	size_t end = MIN(p->top + panel_height(p), p->nr);
	char number[32];

	strbuf_addstr(out, units_format_count(p->nr ? p->top + 1 : 0, number, sizeof(number)));
	if (end > p->top + 1)
		strbuf_addf(out, "-%s", units_format_count(end, number, sizeof(number)));
	strbuf_addf(out, " of %s", units_format_count(p->nr, number, sizeof(number)));
	if (p->filter.len)
		strbuf_addf(out, " of %s", units_format_count(p->nr_rows, number, sizeof(number)));
}
