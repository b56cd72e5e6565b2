/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table that people walk in: the columns shown, order, filter, the selected row, what of it fits
 * the screen, and the keys for all that (view/top/top_keys.h).  Rows are borrowed for each call;
 * those of another reading may be anywhere else, the selected one is found again by its id.
 *
 * Only rows that can be seen are formatted, and of a million only a few are put in order
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
	/* The same thing in another reading has the same id.  NULL = as many readings, so many
	 * rows: its index is its id. */
	uint64_t (*id)(const void *row);
	/*
	 * Whether a row is to be seen when `text` was typed as the filter (len > 0); a row that one
	 * text lets through, so does every beginning of it.  Before the rows it is called with row
	 * NULL: it may prepare for the text, until the next such call.  NULL = one of the cells at
	 * the left (TABLE_LEFT) of those shown contains it, small letters and capitals alike.
	 */
	bool (*matches)(const void *row, const void *ctx, const char *text, size_t len);
	/* How a cell looks; NULL = plain. */
	enum screen_style (*style)(const void *row, const void *ctx,
				   const struct table_column *column);
	/* Another number than last time: rows, or what they hold, are not those of last time. */
	uint64_t reading;
	const char *nothing; /* what stands there if there are no rows; NULL = "nothing" */
	const char *note;    /* in a line below the rows, if there is room; NULL = none */
};

enum panel_result {
	PANEL_IGNORED, /* the key is not one of a table: whose it is, the caller knows */
	PANEL_HANDLED,
	PANEL_OPEN, /* what is selected is to be opened: Enter, or a second click */
};

struct panel;

/* "a,b" are the columns shown, NULL = those that are not hidden; `sort` as of table_options, NULL =
 * as the rows stand.  Names that the table does not have are left out: table_check() tells of
 * them. */
int panel_open(struct panel **out, const char *columns, const char *sort);
void panel_close(struct panel *p); /* NULL ok */

/* Heading and rows, and the menu of columns above them if it is open; clears its part of the
 * screen first. */
void panel_draw(struct panel *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct panel_source *source);
/* After panel_draw(): clicks are where it drew. */
enum panel_result panel_key(struct panel *p, const struct terminal_key *key,
			    const struct panel_source *source);

/* The row one stands on; NULL = there is none. */
const void *panel_selected(struct panel *p, const struct panel_source *source);
/* The same, but NULL also if nobody chose one, by a key or a filter: then it is the first row,
 * whichever that is. */
const void *panel_chosen(struct panel *p, const struct panel_source *source);
/* By name, "-name" for the reverse, NULL = as the rows stand. */
void panel_set_sort(struct panel *p, const char *sort);
const char *panel_sort(const struct panel *p); /* the same, NULL */
/* Of the columns shown, "a,b"; what a source has to read. */
void panel_columns(const struct panel *p, const struct panel_source *source, struct strbuf *out);

/* The text typed as the filter, "" = none. */
const char *panel_filter(const struct panel *p);
void panel_set_filter(struct panel *p, const char *text);
bool panel_is_typing(const struct panel *p); /* keys are text of the filter */
/* A menu is open: keys are its. */
bool panel_in_menu(const struct panel *p);
/* Adds "12-40 of 1,000,000", as it was drawn last. */
void panel_describe(const struct panel *p, struct strbuf *out);

#endif
