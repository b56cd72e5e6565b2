/* SPDX-License-Identifier: BSD-2-Clause */
/* See screen.h.  Invariant: a cell of width 2 is followed, in its row, by one of width 0, and a
 * cell of width 0 follows one of width 2; if one half is overwritten, the other becomes blank. */
#include "view/screen/screen.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "names/utf8.h"
#include "view/screen/characters.h"

#define BLOCK_LEFT  0x2590u /* BLOCK_LEFT - n: block character of the left n eighths, n = 1 .. 8 */
#define BLOCK_LOWER 0x2580u /* BLOCK_LOWER + n: of the lower n eighths */

struct screen {
	unsigned rows, columns;
	bool utf8, color;
	struct screen_cell *cells;
};

static void blank(struct screen_cell *cell)
{
	memset(cell->c, 0, sizeof(cell->c));
	cell->c[0] = ' ';
	cell->width = 1;
	cell->ground = SCREEN_PLAIN;
}

int screen_open(struct screen **out, unsigned rows, unsigned columns)
{
	struct screen *s = xcalloc(1, sizeof(*s));

	s->utf8 = s->color = true;
	screen_resize(s, rows, columns);
	*out = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	free(s->cells);
	free(s);
}

void screen_resize(struct screen *s, unsigned rows, unsigned columns)
{
	rows = MIN(rows, SCREEN_MAX_ROWS);
	columns = MIN(columns, SCREEN_MAX_COLUMNS);
	if (!s->cells || rows != s->rows || columns != s->columns) {
		free(s->cells);
		s->cells = xcalloc((size_t)rows * columns, sizeof(*s->cells));
		s->rows = rows;
		s->columns = columns;
	}
	screen_clear(s);
}

void screen_clear(struct screen *s)
{
	for (size_t i = 0; i < (size_t)s->rows * s->columns; i++)
		s->cells[i] = (struct screen_cell){.c = {' '}, .width = 1};
}

void screen_copy(struct screen *to, const struct screen *from)
{
	unsigned rows = MIN(to->rows, from->rows), columns = MIN(to->columns, from->columns);

	for (unsigned row = 0; row < rows; row++) {
		struct screen_cell *cells = &to->cells[row * to->columns];

		memcpy(cells, &from->cells[row * from->columns], columns * sizeof(*cells));
		if (columns && cells[columns - 1].width == 2) /* the right half was not copied */
			blank(&cells[columns - 1]);
		if (columns < to->columns && cells[columns].width == 0)
			blank(&cells[columns]);
	}
}

unsigned screen_rows(const struct screen *s)
{
	return s->rows;
}

unsigned screen_columns(const struct screen *s)
{
	return s->columns;
}

void screen_set_utf8(struct screen *s, bool utf8)
{
	s->utf8 = utf8;
}

bool screen_utf8(const struct screen *s)
{
	return s->utf8;
}

void screen_set_color(struct screen *s, bool color)
{
	s->color = color;
}

bool screen_color(const struct screen *s)
{
	return s->color;
}

size_t screen_text_width(const char *text, size_t len)
{
	return characters_width(text, len);
}

const struct screen_cell *screen_at(const struct screen *s, unsigned row, unsigned column)
{
	return row < s->rows && column < s->columns ? &s->cells[row * s->columns + column] : NULL;
}

/* ---- cells -------------------------------------------------------------------------------- */

/* Blanks a cell, and if it is half of a wide character also the cell with the other half. */
static void part_wide(struct screen *s, unsigned row, unsigned column)
{
	struct screen_cell *cell = &s->cells[row * s->columns + column];

	if (cell->width == 0)
		blank(cell - 1);
	else if (cell->width == 2)
		blank(cell + 1);
	blank(cell);
}

/* Puts a character into a cell; all its columns (one or two) must be in the grid. */
static void put(struct screen *s, unsigned row, unsigned column, enum screen_style style,
		const struct character *c)
{
	struct screen_cell *cell = &s->cells[row * s->columns + column];

	part_wide(s, row, column);
	if (c->width == 2)
		part_wide(s, row, column + 1);
	cell->c[0] = c->c;
	cell->width = (uint8_t)c->width;
	cell->style = (uint8_t)style;
	if (c->width == 2) {
		cell[1].c[0] = ' ';
		cell[1].width = 0;
		cell[1].style = (uint8_t)style;
	}
}

static void join(struct screen_cell *cell, uint32_t c)
{
	for (int i = 1; i < SCREEN_CELL_CHARS; i++) {
		if (!cell->c[i]) {
			cell->c[i] = c;
			return;
		}
	}
}

/* How many of the columns from `column` to column + width are in the grid. */
static unsigned clip(const struct screen *s, unsigned row, unsigned column, unsigned width)
{
	return row < s->rows && column < s->columns ? MIN(width, s->columns - column) : 0;
}

/* Puts a character, as far as it is in the grid. */
static void put_shown(struct screen *s, unsigned row, unsigned column, enum screen_style style,
		      const struct character *c)
{
	struct character one = {' ', 1};

	if (clip(s, row, column, c->width) == 0)
		return;
	if (s->utf8 && clip(s, row, column, c->width) == c->width) {
		put(s, row, column, style, c);
		return;
	}
	/* Without UTF-8 an ASCII character replaces it; if its right half is outside of the grid, a
	 * blank does. */
	if (!s->utf8)
		one.c = (unsigned char)character_ascii(c->c);
	put(s, row, column, style, &one);
	if (clip(s, row, column, c->width) == 2) {
		one.c = ' ';
		put(s, row, column + 1, style, &one);
	}
}

/* ---- text --------------------------------------------------------------------------------- */

unsigned screen_text(struct screen *s, unsigned row, unsigned column, unsigned width,
		     enum screen_style style, const char *text, size_t len)
{
	struct screen_cell *last = NULL;
	unsigned used = 0;

	column = MIN(column, SCREEN_MAX_COLUMNS); /* so that no sum below overflows */
	for (size_t i = 0; i < len;) {
		struct character c;

		i += character_next(text + i, len - i, used > 0, &c);
		if (c.width == 0) {
			if (c.c && last && s->utf8)
				join(last, c.c);
			continue;
		}
		if (c.width > width - used)
			break;
		put_shown(s, row, column + used, style, &c);
		last = clip(s, row, column + used, c.width) == c.width
			       ? &s->cells[row * s->columns + column + used]
			       : NULL;
		used += c.width;
	}
	return used;
}

unsigned screen_textf(struct screen *s, unsigned row, unsigned column, unsigned width,
		      enum screen_style style, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	unsigned used;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	used = screen_text(s, row, column, width, style, text.buf, text.len);
	strbuf_free(&text);
	return used;
}

void screen_text_right(struct screen *s, unsigned row, unsigned column, unsigned width,
		       enum screen_style style, const char *text, size_t len)
{
	size_t needed = characters_width(text, len);
	unsigned pad;

	column = MIN(column, SCREEN_MAX_COLUMNS);
	width = MIN(width, SCREEN_MAX_COLUMNS);
	pad = needed < width ? width - (unsigned)needed : 0;
	screen_fill(s, row, column, pad, style, ' ');
	screen_text(s, row, column + pad, width - pad, style, text, len);
}

void screen_fill(struct screen *s, unsigned row, unsigned column, unsigned width,
		 enum screen_style style, uint32_t c)
{
	struct character one;
	struct strbuf text = STRBUF_INIT;

	utf8_add(&text, c);
	character_next(text.buf, text.len, false, &one);
	strbuf_free(&text);
	if (one.width != 1)
		one = (struct character){'?', 1};
	width = clip(s, row, column, width);
	for (unsigned i = 0; i < width; i++)
		put_shown(s, row, column + i, style, &one);
}

void screen_restyle(struct screen *s, unsigned row, unsigned column, unsigned width,
		    enum screen_style style)
{
	width = clip(s, row, column, width);
	for (unsigned i = 0; i < width; i++) {
		struct screen_cell *cell = &s->cells[row * s->columns + column + i];

		cell->style = (uint8_t)style;
		cell->ground = SCREEN_PLAIN;
	}
}

/* ---- bars --------------------------------------------------------------------------------- */

#define EIGHTHS 8

/* A slice of one column of a bar: adjacent eighths of one style. */
struct slice {
	enum screen_style style; /* SCREEN_IDLE = nothing is drawn */
	unsigned eighths;
};

static char bar_letter(enum screen_style style)
{
	switch (style) {
	case SCREEN_ERLANG:
		return 'e';
	case SCREEN_GC:
		return 'g';
	case SCREEN_BIF:
		return 'b';
	case SCREEN_NIF:
		return 'n';
	case SCREEN_PORT:
		return 'p';
	case SCREEN_OTHER:
		return 'o';
	case SCREEN_IDLE:
		return ' ';
	default:
		return '|';
	}
}

/* Keeps the two longest slices of a column, in their order. */
static size_t longest_two(struct slice *slices, size_t nr)
{
	while (nr > 2) {
		size_t least = 0;

		for (size_t i = 1; i < nr; i++)
			if (slices[i].eighths < slices[least].eighths)
				least = i;
		memmove(&slices[least], &slices[least + 1], (nr - least - 1) * sizeof(*slices));
		nr--;
	}
	return nr;
}

static void bar_column(struct screen *s, unsigned row, unsigned column, struct slice *slices,
		       size_t nr)
{
	struct character c = {' ', 1};
	struct slice *most = slices;

	nr = longest_two(slices, nr);
	if (nr == 2 && slices[1].eighths > slices[0].eighths)
		most = &slices[1];
	/* One style for the whole column.  Also if its left slice is empty: block characters fill a
	 * cell from the left. */
	if (!s->utf8 || !s->color || nr < 2 || slices[0].style == SCREEN_IDLE) {
		if (!s->utf8 || !s->color)
			c.c = (unsigned char)bar_letter(most->style);
		else if (most->style != SCREEN_IDLE)
			c.c = BLOCK_LEFT - EIGHTHS;
		put(s, row, column, most->style == SCREEN_IDLE ? SCREEN_PLAIN : most->style, &c);
		return;
	}
	/* The two longest slices, stretched to the whole column. */
	c.c = BLOCK_LEFT -
	      MAX(1u, slices[0].eighths * EIGHTHS / (slices[0].eighths + slices[1].eighths));
	put(s, row, column, slices[0].style, &c);
	if (slices[1].style != SCREEN_IDLE)
		s->cells[row * s->columns + column].ground = (uint8_t)slices[1].style;
}

/* Eighths of a column from the start of a bar to the end of a part; sum: the shares up to it. */
static unsigned bar_end(double sum, unsigned width)
{
	return (unsigned)lround(MIN(sum, 1.0) * width * EIGHTHS);
}

void screen_bar(struct screen *s, unsigned row, unsigned column, unsigned width,
		const struct screen_part *parts, size_t nr)
{
	unsigned at = 0, end = 0, seen = clip(s, row, column, width);
	double sum = 0;
	size_t part = 0;

	width = MIN(width, SCREEN_MAX_COLUMNS);
	for (unsigned i = 0; i < seen; i++) {
		struct slice slices[EIGHTHS];
		size_t nr_slices = 0;

		while (at < (i + 1) * EIGHTHS) {
			unsigned upto;

			while (part < nr && end <= at) {
				if (parts[part].share > 0)
					sum += parts[part].share;
				end = bar_end(sum, width);
				part++;
			}
			upto = end <= at ? (i + 1) * EIGHTHS : MIN(end, (i + 1) * EIGHTHS);
			slices[nr_slices++] = (struct slice){
				end <= at ? SCREEN_IDLE : parts[part - 1].style, upto - at};
			at = upto;
		}
		bar_column(s, row, column + i, slices, nr_slices);
	}
}

/* ---- sparklines --------------------------------------------------------------------------- */

/* Least and greatest value, without NaN; *max is at least *min plus a tenth of the greatest. */
static void find_range(const float *values, size_t nr, float *min, float *max)
{
	*min = INFINITY;
	*max = -INFINITY;
	for (size_t i = 0; i < nr; i++) {
		*min = values[i] < *min ? values[i] : *min;
		*max = values[i] > *max ? values[i] : *max;
	}
	*max = MAX(*max, *min + *max / 10);
}

void screen_sparkline(struct screen *s, unsigned row, unsigned column, unsigned width,
		      enum screen_style style, const float *values, size_t nr, float max)
{
	static const char ramp[] = "_.-:=+*#";
	size_t first;
	unsigned pad;
	float min = 0;

	column = MIN(column, SCREEN_MAX_COLUMNS);
	width = MIN(width, SCREEN_MAX_COLUMNS);
	first = nr > width ? nr - width : 0;
	pad = width - (unsigned)(nr - first);
	if (nr && !(max > 0))
		find_range(values + first, nr - first, &min, &max);
	screen_fill(s, row, column, pad, style, ' ');
	for (size_t i = first; i < nr; i++) {
		unsigned at = column + pad + (unsigned)(i - first);
		double share = max > min ? ((double)values[i] - min) / ((double)max - min) : 0;
		struct character c = {' ', 1};

		if (clip(s, row, at, 1) == 0)
			break;
		if (!isnan(values[i])) {
			unsigned level = share >= 1   ? 8
					 : share <= 0 ? 1
						      : 1 + (unsigned)(share * 8);

			level = MIN(level, 8u);
			c.c = s->utf8 ? BLOCK_LOWER + level : (unsigned char)ramp[level - 1];
		}
		put(s, row, at, style, &c);
	}
}
