/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interactive table: the columns shown, order, filter, selected row, scrolling, and the keys for
 * all that (view/top/top_keys.h).  Rows are borrowed for each call.  The rows of the next reading
 * may be at other addresses and in another order; the selected row is found again by its id.
 *
 * Only rows on the screen are formatted, and only rows around them are sorted
 * (view/table/row_order.h).
 */
#ifndef EBEAM_VIEW_PANEL_H
#define EBEAM_VIEW_PANEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"
#include "view/table/table.h"

struct panel_source {
	struct table table; /* at most UINT32_MAX rows; the same columns for each call */
	/* Id of the process, port, ... that a row is about; it does not change from reading to
	 * reading.  NULL: the index of the row is its id. */
	uint64_t (*id)(const void *row);
	/*
	 * Does a row match the filter `text` (len > 0)?  A row that matches a text must match each
	 * prefix of the text, too.  For each text it is first called with row NULL, to prepare for
	 * it.  matches NULL: a row matches if one of its cells shown that are aligned left
	 * (TABLE_LEFT) contains the text, ignoring case.
	 */
	bool (*matches)(const void *row, const void *ctx, const char *text, size_t len);
	/* Style of a cell; NULL = SCREEN_PLAIN for all. */
	enum screen_style (*style)(const void *row, const void *ctx,
				   const struct table_column *column);
	/* Number of the reading of the node that the rows are from: a new number means new rows. */
	uint64_t reading;
	const char *nothing; /* text that is shown without rows; NULL = "nothing" */
	const char *note;    /* text below the rows, if there is room; NULL = none */
};

enum panel_result {
	PANEL_IGNORED, /* the key means nothing in a table */
	PANEL_HANDLED,
	PANEL_OPEN, /* the selected row is to be opened: Enter, or a second click */
};

struct panel;

/* `columns` and `sort` as in struct table_options.  Names that the table does not have are ignored;
 * table_check() finds them. */
int panel_open(struct panel **out, const char *columns, const char *sort);
void panel_close(struct panel *p); /* NULL ok */

/* Clears the rectangle on the screen, then draws heading and rows, and over them the menu of
 * columns if it is open. */
void panel_draw(struct panel *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct panel_source *source);
/* To be called after panel_draw(), as clicks refer to what was drawn. */
enum panel_result panel_key(struct panel *p, const struct terminal_key *key,
			    const struct panel_source *source);

/* The selected row; NULL = there are no rows. */
const void *panel_selected(struct panel *p, const struct panel_source *source);
/* The selected row if the user has chosen one, with a key or a filter; NULL: the first row is
 * selected only because the user has chosen none. */
const void *panel_chosen(struct panel *p, const struct panel_source *source);
/* `sort` as in struct table_options. */
void panel_set_sort(struct panel *p, const char *sort);
const char *panel_sort(const struct panel *p); /* as set by panel_set_sort(); may be NULL */
/* Adds the names of the columns shown, "a,b": values for these must be read from the node. */
void panel_columns(const struct panel *p, const struct panel_source *source, struct strbuf *out);

/* The text typed as the filter, "" = none. */
const char *panel_filter(const struct panel *p);
void panel_set_filter(struct panel *p, const char *text);
bool panel_is_typing(const struct panel *p); /* keys are text of the filter */
/* Is a menu open, which gets the keys? */
bool panel_in_menu(const struct panel *p);
/* Adds "12-40 of 1,000,000": the rows drawn last. */
void panel_describe(const struct panel *p, struct strbuf *out);

#endif
