/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A grid of cells that views draw on: terminal.h shows it, and the functions at the end write it
 * as text, with colours, or as an SVG.  Drawing has no side effects and never fails: anything
 * outside of the grid, or of the given width, is not drawn.
 *
 * Text may come from a node as it is: it is cleaned here (see characters.h).  Rows and columns
 * count from 0 at the top left.
 */
#ifndef EBEAM_VIEW_SCREEN_H
#define EBEAM_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCREEN_MAX_ROWS	   500
#define SCREEN_MAX_COLUMNS 2000
#define SCREEN_CELL_CHARS  4 /* a character and 3 combining ones; further ones are left out */

/* What a cell means; screen_style.c has the colours and attributes of each style. */
enum screen_style {
	SCREEN_PLAIN,
	SCREEN_DIM,
	SCREEN_BOLD,
	SCREEN_TITLE,
	SCREEN_HEADING, /* of a table, with SCREEN_SORTED for the column that it is sorted by */
	SCREEN_SORTED,
	SCREEN_SELECTED, /* the selected row */
	SCREEN_TAB,
	SCREEN_TAB_ON,
	SCREEN_KEY, /* a key to type, in the line at the bottom */
	SCREEN_GOOD,
	SCREEN_WARN,
	SCREEN_BAD,
	SCREEN_ERLANG, /* kinds of CPU time: parts of bars, and their legend */
	SCREEN_GC,
	SCREEN_BIF,
	SCREEN_NIF,
	SCREEN_PORT,
	SCREEN_OTHER,
	SCREEN_IDLE, /* as a part of a bar: empty */
	NR_SCREEN_STYLES
};

struct screen_cell {
	uint32_t c[SCREEN_CELL_CHARS]; /* character, never 0; then combining ones, then 0 */
	uint8_t width;		       /* 1, 2, or 0 = the right half of the cell before */
	uint8_t style;		       /* enum screen_style */
	uint8_t ground; /* in bars: style with the colour of the background; SCREEN_PLAIN = none */
	uint8_t unused;
};

struct screen_part {
	double share; /* 0 to 1 of the bar; NaN and negative numbers count as 0 */
	enum screen_style style;
};

struct screen;

/* An empty screen with UTF-8 and colour, of at most SCREEN_MAX_ROWS and _COLUMNS.  Never fails. */
int screen_open(struct screen **out, unsigned rows, unsigned columns);
void screen_close(struct screen *s);				       /* NULL ok */
void screen_resize(struct screen *s, unsigned rows, unsigned columns); /* and clear */
void screen_clear(struct screen *s);
/* Copies the cells of `from` that are in the grid of `to`, which keeps its size. */
void screen_copy(struct screen *to, const struct screen *from);
unsigned screen_rows(const struct screen *s);
unsigned screen_columns(const struct screen *s);

/* utf8 false: bars, sparklines, lines and arrows are ASCII, any other character is '?'. */
void screen_set_utf8(struct screen *s, bool utf8);
bool screen_utf8(const struct screen *s);
/* color false: parts of bars are letters instead of colours: e(rlang), g(c), b(if), n(if), p(ort),
 * o(ther), '|' for any other. */
void screen_set_color(struct screen *s, bool color);
bool screen_color(const struct screen *s);

/* Columns that a text takes on a screen. */
size_t screen_text_width(const char *text, size_t len);

/* Draws text from `column` on, truncated to `width`; a wide character that does not fit is left
 * out.  Returns the columns that the text takes, also if they are outside of the grid. */
unsigned screen_text(struct screen *s, unsigned row, unsigned column, unsigned width,
		     enum screen_style style, const char *text, size_t len);
unsigned screen_textf(struct screen *s, unsigned row, unsigned column, unsigned width,
		      enum screen_style style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Draws text that ends at column + width, with blanks before it; truncates a longer one. */
void screen_text_right(struct screen *s, unsigned row, unsigned column, unsigned width,
		       enum screen_style style, const char *text, size_t len);

/* Draws `width` times a character of one column. */
void screen_fill(struct screen *s, unsigned row, unsigned column, unsigned width,
		 enum screen_style style, uint32_t c);
/* Changes the style of cells, and not their characters. */
void screen_restyle(struct screen *s, unsigned row, unsigned column, unsigned width,
		    enum screen_style style);

/* Draws a bar of parts, one after the other, in eighths of a column; the rest is blank. */
void screen_bar(struct screen *s, unsigned row, unsigned column, unsigned width,
		const struct screen_part *parts, size_t nr);

/* Draws a column for each value, the last (newest) at the right; blank for NaN or without values.
 * The full height is `max`, and 0 is empty.  If max <= 0, the range is that of the values shown,
 * but at least a tenth of the greatest, so that values that hardly change are a low line. */
void screen_sparkline(struct screen *s, unsigned row, unsigned column, unsigned width,
		      enum screen_style style, const float *values, size_t nr, float max);

/* A cell; NULL outside of the grid. */
const struct screen_cell *screen_at(const struct screen *s, unsigned row, unsigned column);

/* Writes the rows without trailing spaces.  These functions do not check for write errors: the FILE
 * keeps them. */
void screen_write_text(const struct screen *s, FILE *f);
/* As screen_write_text(), with escape sequences for 256 colours and attributes (without colour only
 * for attributes). */
void screen_write_ansi(const struct screen *s, FILE *f);
/* Writes an SVG that looks like a dark terminal; equal screens give equal bytes. */
void screen_write_svg(const struct screen *s, FILE *f);

#endif
