/* SPDX-License-Identifier: BSD-2-Clause */
/* The menu above a panel: which columns are shown, or by which one the rows are sorted. */
#include <string.h>

#include "base/compiler.h"
#include "view/top/panel_internal.h"
#include "view/top/top_keys.h"

#define MENU_MARK 4u /* columns of "[x] " */

static size_t nr_columns(const struct panel *p)
{
	size_t nr = 0;

	while (p->registry[nr].name)
		nr++;
	return nr;
}

void panel_open_menu(struct panel *p, enum panel_mode mode, const struct panel_source *source)
{
	panel_resolve_columns(p, source);
	p->mode = mode;
	p->menu_at = mode == PANEL_IN_SORT && p->sort_by ? (size_t)(p->sort_by - p->registry) : 0;
	p->menu_top = 0;
}

/* Rows of the menu below its title. */
static size_t menu_height(const struct panel *p)
{
	return MIN(p->height > 1 ? p->height - 1 : 1, nr_columns(p));
}

static unsigned menu_width(const struct panel *p, const char *title)
{
	size_t wide = strlen(title) + 2;

	for (const struct table_column *c = p->registry; c->name; c++)
		wide = MAX(wide, strlen(c->name) + MENU_MARK + 2);
	return (unsigned)MIN(wide, p->width);
}

void panel_draw_menu(struct panel *p, struct screen *s)
{
	const char *title = p->mode == PANEL_IN_SORT ? "Sort by, Enter" : "Columns, Space";
	unsigned width = menu_width(p, title);
	size_t height = menu_height(p);

	p->menu_top = MIN(p->menu_top, nr_columns(p) - height);
	if (p->menu_at < p->menu_top)
		p->menu_top = p->menu_at;
	if (p->menu_at >= p->menu_top + height)
		p->menu_top = p->menu_at - height + 1;
	screen_fill(s, p->screen_row, p->screen_column, width, SCREEN_TAB_ON, ' ');
	screen_text(s, p->screen_row, p->screen_column + 1, width - MIN(width, 1), SCREEN_TAB_ON,
		    title, strlen(title));
	for (size_t i = 0; i < height && p->height > 1; i++) {
		const struct table_column *c = &p->registry[p->menu_top + i];
		unsigned row = p->screen_row + 1 + (unsigned)i;
		bool on = p->mode == PANEL_IN_SORT ? c == p->sort_by : panel_shown(p, c) != NULL;
		enum screen_style style =
			p->menu_top + i == p->menu_at ? SCREEN_SELECTED : SCREEN_TAB;

		screen_fill(s, row, p->screen_column, width, style, ' ');
		screen_textf(s, row, p->screen_column + 1, width - MIN(width, 1), style, "[%c] %s",
			     on ? 'x' : ' ', c->name);
	}
}

static void choose(struct panel *p)
{
	const struct table_column *c = &p->registry[p->menu_at];

	if (p->mode == PANEL_IN_COLUMNS)
		panel_show_column(p, c, !panel_shown(p, c));
	else
		panel_set_sort(p, c->name);
}

static enum panel_result click(struct panel *p, const struct terminal_key *key)
{
	size_t row = key->row - p->screen_row - 1;

	if (key->row <= p->screen_row || row >= menu_height(p) || key->column < p->screen_column ||
	    key->column >= p->screen_column + p->width)
		return PANEL_IGNORED;
	p->menu_at = p->menu_top + row;
	choose(p);
	return PANEL_HANDLED;
}

enum panel_result panel_menu_key(struct panel *p, const struct terminal_key *key)
{
	size_t last = nr_columns(p) - 1, page = menu_height(p);

	switch (top_action(TOP_IN_MENU, key)) {
	case TOP_ACTION_UP:
		p->menu_at -= MIN(p->menu_at, 1);
		break;
	case TOP_ACTION_DOWN:
		p->menu_at = MIN(p->menu_at + 1, last);
		break;
	case TOP_ACTION_PAGE_UP:
		p->menu_at -= MIN(p->menu_at, page);
		break;
	case TOP_ACTION_PAGE_DOWN:
		p->menu_at = MIN(p->menu_at + page, last);
		break;
	case TOP_ACTION_FIRST:
		p->menu_at = 0;
		break;
	case TOP_ACTION_LAST:
		p->menu_at = last;
		break;
	case TOP_ACTION_CHOOSE:
		choose(p);
		break;
	case TOP_ACTION_DONE:
		if (p->mode == PANEL_IN_SORT)
			choose(p);
		p->mode = PANEL_IN_TABLE;
		break;
	case TOP_ACTION_CLOSE:
		p->mode = PANEL_IN_TABLE;
		break;
	case TOP_ACTION_MOUSE:
		return click(p, key);
	default:
		return PANEL_IGNORED;
	}
	return PANEL_HANDLED;
}
