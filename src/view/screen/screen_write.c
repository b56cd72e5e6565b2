/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a screen as text, as text with escape sequences, and as an SVG: see screen.h. */
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "names/utf8.h"
#include "view/screen/screen.h"
#include "view/screen/screen_style.h"

static void add_cell(struct strbuf *out, const struct screen_cell *cell)
{
	for (int i = 0; i < SCREEN_CELL_CHARS && cell->c[i]; i++)
		utf8_add(out, cell->c[i]);
}

static bool is_blank(const struct screen_cell *cell)
{
	return cell->c[0] == ' ' && !cell->c[1] && cell->width == 1;
}

void screen_write_text(const struct screen *s, FILE *f)
{
	struct strbuf line = STRBUF_INIT;

	for (unsigned row = 0; row < screen_rows(s); row++) {
		size_t len = 0; /* of the line without trailing spaces */

		strbuf_reset(&line);
		for (unsigned column = 0; column < screen_columns(s); column++) {
			const struct screen_cell *cell = screen_at(s, row, column);

			if (cell->width)
				add_cell(&line, cell);
			if (!is_blank(cell))
				len = line.len;
		}
		fwrite(line.buf, 1, len, f);
		fputc('\n', f);
	}
	strbuf_free(&line);
}

/* ---- escape sequences ------------------------------------------------------------------------ */

static void add_attributes(struct strbuf *out, unsigned attributes)
{
	if (attributes & STYLE_BOLD)
		strbuf_addstr(out, ";1");
	if (attributes & STYLE_DIM)
		strbuf_addstr(out, ";2");
	if (attributes & STYLE_UNDERLINE)
		strbuf_addstr(out, ";4");
	if (attributes & STYLE_REVERSE)
		strbuf_addstr(out, ";7");
}

/* Makes the escape sequence that sets the style of a cell; it resets the style before. */
static void make_style(struct strbuf *out, const struct screen_cell *cell, bool color)
{
	const struct cell_style *style = screen_style_of(cell->style);
	int16_t ground =
		cell->ground ? screen_style_of(cell->ground)->of_256.ink : style->of_256.ground;

	strbuf_reset(out);
	strbuf_addstr(out, "\033[0");
	add_attributes(out, color ? style->color_attributes : style->plain_attributes);
	if (color && style->of_256.ink >= 0)
		strbuf_addf(out, ";38;5;%d", style->of_256.ink);
	if (color && ground >= 0)
		strbuf_addf(out, ";48;5;%d", ground);
	strbuf_addch(out, 'm');
}

void screen_write_ansi(const struct screen *s, FILE *f)
{
	struct strbuf line = STRBUF_INIT, style = STRBUF_INIT, next = STRBUF_INIT;

	for (unsigned row = 0; row < screen_rows(s); row++) {
		strbuf_reset(&line);
		strbuf_reset(&style);
		strbuf_addstr(&style, "\033[0m");
		for (unsigned column = 0; column < screen_columns(s); column++) {
			const struct screen_cell *cell = screen_at(s, row, column);

			if (!cell->width)
				continue;
			make_style(&next, cell, screen_color(s));
			if (strcmp(style.buf, next.buf) != 0) {
				strbuf_add(&line, next.buf, next.len);
				strbuf_reset(&style);
				strbuf_add(&style, next.buf, next.len);
			}
			add_cell(&line, cell);
		}
		if (strcmp(style.buf, "\033[0m") != 0)
			strbuf_addstr(&line, "\033[0m");
		strbuf_addch(&line, '\n');
		fwrite(line.buf, 1, line.len, f);
	}
	strbuf_free(&next);
	strbuf_free(&style);
	strbuf_free(&line);
}

/* ---- SVG ------------------------------------------------------------------------------------- */

#define CELL_WIDTH  8.4 /* of most monospace fonts at 14 px; texts are stretched to it */
#define CELL_HEIGHT 18
#define BASELINE    13
#define MARGIN	    12
#define PAPER	    0x16191du
#define INK	    0xd8dbe0u

struct paint {
	uint32_t ink, ground;
	unsigned attributes;
};

static struct paint paint_of(const struct screen *s, const struct screen_cell *cell)
{
	const struct cell_style *style = screen_style_of(cell->style);
	struct paint p = {INK, PAPER, style->plain_attributes};

	if (screen_color(s)) {
		p.attributes = style->color_attributes;
		if (style->of_256.ink >= 0)
			p.ink = style_rgb(style->of_256.ink);
		if (style->of_256.ground >= 0)
			p.ground = style_rgb(style->of_256.ground);
		if (cell->ground)
			p.ground = style_rgb(screen_style_of(cell->ground)->of_256.ink);
	}
	if (p.attributes & STYLE_REVERSE)
		p = (struct paint){p.ground, p.ink, p.attributes};
	return p;
}

static bool same_paint(struct paint a, struct paint b)
{
	return a.ink == b.ink && a.ground == b.ground && a.attributes == b.attributes;
}

static double left_of(unsigned column)
{
	return MARGIN + column * CELL_WIDTH;
}

static void write_rect(FILE *f, double x, double y, double width, double height, uint32_t color)
{
	fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%06x\"/>\n",
		x, y, width, height, color);
}

/* Is it a block character?  These become rectangles, as fonts differ in their glyphs. */
static bool is_block(const struct screen_cell *cell)
{
	return cell->c[0] >= 0x2581 && cell->c[0] <= 0x258f;
}

static void write_block(FILE *f, unsigned row, unsigned column, uint32_t c, uint32_t color)
{
	double x = left_of(column), y = MARGIN + row * CELL_HEIGHT;
	double height = c < 0x2588 ? (c - 0x2580) * CELL_HEIGHT / 8.0 : CELL_HEIGHT;
	double width = c > 0x2588 ? (0x2590 - c) * CELL_WIDTH / 8.0 : CELL_WIDTH;

	/* Bars are 6 px lower than a row, so that there is a gap between bars of two rows. */
	if (c >= 0x2588)
		write_rect(f, x, y + 3, width, height - 6, color);
	else
		write_rect(f, x, y + CELL_HEIGHT - 3 - (height - 5 * height / CELL_HEIGHT), width,
			   height - 5 * height / CELL_HEIGHT, color);
}

/* Writes the background of cells [from, to) of a row, which have the same paint p. */
static void write_grounds(const struct screen *s, FILE *f, unsigned row, unsigned from, unsigned to,
			  struct paint p)
{
	double y = MARGIN + row * CELL_HEIGHT;

	if (p.ground == PAPER)
		return;
	if (is_block(screen_at(s, row, from))) /* as high as the rectangle of write_block() */
		write_rect(f, left_of(from), y + 3, (to - from) * CELL_WIDTH, CELL_HEIGHT - 6,
			   p.ground);
	else
		write_rect(f, left_of(from), y, (to - from) * CELL_WIDTH, CELL_HEIGHT, p.ground);
}

static void write_escaped(FILE *f, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '&')
			fputs("&amp;", f);
		else if (text[i] == '<')
			fputs("&lt;", f);
		else if (text[i] == '>')
			fputs("&gt;", f);
		else
			fputc(text[i], f);
	}
}

static void write_words(FILE *f, unsigned row, unsigned column, unsigned columns, struct paint p,
			const struct strbuf *text)
{
	fprintf(f, "<text x=\"%.2f\" y=\"%d\" textLength=\"%.2f\" fill=\"#%06x\"%s%s%s>",
		left_of(column), MARGIN + (int)row * CELL_HEIGHT + BASELINE, columns * CELL_WIDTH,
		p.ink, p.attributes & STYLE_BOLD ? " font-weight=\"700\"" : "",
		p.attributes & STYLE_DIM ? " opacity=\"0.6\"" : "",
		p.attributes & STYLE_UNDERLINE ? " text-decoration=\"underline\"" : "");
	write_escaped(f, text->buf, text->len);
	fputs("</text>\n", f);
}

/* Writes the text of cells [from, to), which have the same paint p.  Words with two or more spaces
 * between them are separate elements, so that a font with narrower spaces does not move them. */
static void write_texts(const struct screen *s, FILE *f, unsigned row, unsigned from, unsigned to,
			struct paint p)
{
	struct strbuf text = STRBUF_INIT;
	unsigned began = from, ended = from; /* columns of the text; ended: after its last letter */
	size_t len = 0;			     /* bytes of the text up to `ended` */

	for (unsigned column = from; column <= to; column++) {
		const struct screen_cell *cell = column < to ? screen_at(s, row, column) : NULL;
		bool block = cell && is_block(cell);

		if (len && (!cell || block || column >= ended + 2)) {
			text.len = len;
			write_words(f, row, began, ended - began, p, &text);
			strbuf_reset(&text);
			len = 0;
		}
		if (!cell)
			break;
		if (block)
			write_block(f, row, column, cell->c[0], p.ink);
		if (block || (is_blank(cell) && !len))
			continue;
		if (!len && cell->width) {
			strbuf_reset(&text);
			began = column;
		}
		if (cell->width)
			add_cell(&text, cell);
		if (!is_blank(cell)) {
			len = text.len;
			ended = column + 1;
		}
	}
	strbuf_free(&text);
}

/* Calls fn for each run of cells with the same paint. */
static void each_run(const struct screen *s, FILE *f, unsigned row,
		     void (*fn)(const struct screen *s, FILE *f, unsigned row, unsigned from,
				unsigned to, struct paint p))
{
	unsigned from = 0, columns = screen_columns(s);

	for (unsigned column = 1; column <= columns; column++) {
		const struct screen_cell *first = screen_at(s, row, from);
		const struct screen_cell *cell =
			column < columns ? screen_at(s, row, column) : NULL;

		if (cell && is_block(cell) == is_block(first) &&
		    same_paint(paint_of(s, cell), paint_of(s, first)))
			continue;
		fn(s, f, row, from, column, paint_of(s, first));
		from = column;
	}
}

void screen_write_svg(const struct screen *s, FILE *f)
{
	double width = 2 * MARGIN + screen_columns(s) * CELL_WIDTH;
	unsigned height = 2 * MARGIN + screen_rows(s) * CELL_HEIGHT;

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
		"viewBox=\"0 0 %.0f %u\">\n",
		width, height, width, height);
	fprintf(f, "<style>text{font:14px ui-monospace,\"SF Mono\",Menlo,Consolas,"
		   "\"DejaVu Sans Mono\",monospace;white-space:pre}"
		   "rect{shape-rendering:crispEdges}</style>\n");
	fprintf(f,
		"<rect width=\"%.0f\" height=\"%u\" rx=\"8\" style=\"shape-rendering:auto\" "
		"fill=\"#%06x\"/>\n",
		width, height, PAPER);
	for (unsigned row = 0; row < screen_rows(s); row++) {
		each_run(s, f, row, write_grounds);
		each_run(s, f, row, write_texts);
	}
	fputs("</svg>\n", f);
}
