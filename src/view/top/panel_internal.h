/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of a panel share: panel.c (keys), panel_rows.c (which rows), panel_columns.c
 * (which columns, and the cells), panel_menu.c (the menu of columns).
 */
#ifndef EBEAM_VIEW_PANEL_INTERNAL_H
#define EBEAM_VIEW_PANEL_INTERNAL_H

#include "base/vec.h"
#include "view/table/row_order.h"
#include "view/top/panel.h"

#define PANEL_MAX_FILTER 200 /* bytes */

enum panel_mode { PANEL_IN_TABLE, PANEL_IN_FILTER, PANEL_IN_COLUMNS, PANEL_IN_SORT };

struct panel_column {
	const struct table_column *column;
	unsigned natural;   /* cells: of the widest text that was seen */
	unsigned at, width; /* as drawn last, at: from the left of the panel; width 0 = not drawn */
};

struct panel {
	enum panel_mode mode;

	/* Columns.  names: as asked for, until the table is known. */
	char *names;
	const struct table_column *registry; /* of `shown` and `sort_by`; NULL = not known yet */
	VEC(struct panel_column) shown;
	unsigned first_column; /* of those behind the first, which always stays */
	bool columns_cut;      /* not all of all columns is to be seen */

	char *sort; /* "a", "-a", NULL */
	const struct table_column *sort_by;
	bool reverse;

	struct strbuf filter;
	bool filtered;		   /* `matching` is of this filter and reading */
	VEC(uint32_t) matching;	   /* rows, if there is a filter */
	struct strbuf filtered_by; /* what `matching` is of */

	/* Rows. */
	uint64_t reading;
	size_t nr_rows;		  /* of the table, as of the last call */
	bool ordered;		  /* `window` is of this order, filter and reading */
	struct row_window window; /* those from `top` on, and some around them */
	size_t nr;		  /* rows that the filter leaves */
	size_t top, rank;	  /* the first one on the screen, the selected one */
	bool follows;		  /* the selected row is `id`, wherever it goes; else: rank */
	uint64_t id;
	uint32_t row; /* where it was last: index in the table */

	/* Menu. */
	size_t menu_at, menu_top;

	/* Where it was drawn. */
	unsigned screen_row, screen_column, height, width;
};

/* panel_rows.c */
struct row_order panel_order(const struct panel *p, const struct panel_source *source);
unsigned panel_height(const struct panel *p); /* rows below the heading */
/* Columns, filter, order and selection are those of this source. */
void panel_follow(struct panel *p, const struct panel_source *source);
/* Index of the row at a rank that the window holds. */
uint32_t panel_row_at(const struct panel *p, size_t rank);
void panel_select(struct panel *p, const struct panel_source *source, size_t rank);
void panel_scroll(struct panel *p, const struct panel_source *source, long rows);

/* panel_columns.c */
void panel_resolve_columns(struct panel *p, const struct panel_source *source);
void panel_draw_table(struct panel *p, struct screen *s, const struct panel_source *source);
void panel_show_column(struct panel *p, const struct table_column *c, bool shown);
struct panel_column *panel_shown(struct panel *p, const struct table_column *c); /* NULL = not */
/* The one that is drawn at a column of the screen; NULL = none. */
const struct table_column *panel_column_at(const struct panel *p, unsigned screen_column);
void panel_forget_widths(struct panel *p);

/* panel_menu.c */
void panel_open_menu(struct panel *p, enum panel_mode mode, const struct panel_source *source);
void panel_draw_menu(struct panel *p, struct screen *s);
enum panel_result panel_menu_key(struct panel *p, const struct terminal_key *key);

#endif
