/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of a panel: panel.c (keys), panel_rows.c (filter, order, selection),
 * panel_columns.c (columns, widths, cells), panel_menu.c (the menu of columns).
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
	unsigned natural;   /* width of the widest text so far */
	unsigned at, width; /* as drawn last, from the left of the panel; width 0 = not drawn */
};

struct panel {
	enum panel_mode mode;

	/* Columns.  names: "a,b" as given to panel_open(), until the table is known. */
	char *names;
	const struct table_column *registry; /* of `shown` and `sort_by`; NULL = not known yet */
	VEC(struct panel_column) shown;
	unsigned first_column; /* how many columns behind the first are scrolled out at the left */
	bool columns_cut;      /* columns, or parts of their texts, do not fit the screen */

	char *sort; /* "a", "-a", NULL */
	const struct table_column *sort_by;
	bool reverse;

	struct strbuf filter;
	bool filtered;		   /* `matching` is from filtered_by and the current reading */
	VEC(uint32_t) matching;	   /* rows that match, if there is a filter */
	struct strbuf filtered_by; /* the filter that `matching` was made with */

	/* Rows. */
	uint64_t reading;
	size_t nr_rows;		  /* rows of the table at the last call */
	bool ordered;		  /* `window` is for the current order, filter and reading */
	struct row_window window; /* sorted rows: those on the screen, and some around them */
	size_t nr;		  /* rows that match the filter */
	size_t top, rank;	  /* rank of the first row on the screen, of the selected row */
	bool follows;		  /* the selection stays on the row `id`; false: on `rank` */
	uint64_t id;
	uint32_t row; /* index in the table that the row `id` had last */

	/* Menu. */
	size_t menu_at, menu_top;

	/* Where the panel was drawn. */
	unsigned screen_row, screen_column, height, width;
};

/* panel_rows.c */
struct row_order panel_order(const struct panel *p, const struct panel_source *source);
unsigned panel_height(const struct panel *p); /* rows below the heading */
/* Updates columns, matching rows, order and selection to the rows of the source and the filter. */
void panel_follow(struct panel *p, const struct panel_source *source);
/* Index of the row at a rank that the window holds. */
uint32_t panel_row_at(const struct panel *p, size_t rank);
void panel_select(struct panel *p, const struct panel_source *source, size_t rank);
void panel_scroll(struct panel *p, const struct panel_source *source, long rows);

/* panel_columns.c */
void panel_resolve_columns(struct panel *p, const struct panel_source *source);
void panel_draw_table(struct panel *p, struct screen *s, const struct panel_source *source);
void panel_show_column(struct panel *p, const struct table_column *c, bool shown);
struct panel_column *panel_shown(struct panel *p, const struct table_column *c); /* or NULL */
/* The table's column that is drawn at a column of the screen; NULL = none. */
const struct table_column *panel_column_at(const struct panel *p, unsigned screen_column);
void panel_forget_widths(struct panel *p);

/* panel_menu.c */
void panel_open_menu(struct panel *p, enum panel_mode mode, const struct panel_source *source);
void panel_draw_menu(struct panel *p, struct screen *s);
enum panel_result panel_menu_key(struct panel *p, const struct terminal_key *key);

#endif
