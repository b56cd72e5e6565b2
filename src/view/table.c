/* SPDX-License-Identifier: BSD-2-Clause */
/* See table.h.  Two passes: every cell is made and measured, then made again and written: a table
 * of a million rows costs time twice, but no memory. */
#include "view/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define TABLE_MAX_COLUMNS 64

size_t table_text_width(const char *text, size_t len)
{
	size_t width = 0;

	/* Continuation bytes of UTF-8 take no room of their own. */
	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

static bool is_called(const char *called, const char *name, size_t len)
{
	return strlen(called) == len && strncasecmp(called, name, len) == 0;
}

const struct table_column *table_find_column(const struct table_column *columns, const char *name,
					     size_t len)
{
	for (; len && *name == ' '; name++)
		len--;
	while (len && name[len - 1] == ' ')
		len--;
	for (const struct table_column *c = columns; c->name; c++)
		if (is_called(c->name, name, len))
			return c;
	for (const struct table_column *c = columns; c->name; c++)
		if (is_called(c->title, name, len))
			return c;
	return NULL;
}

static int unknown_column(const struct table *t, const char *name, size_t len, struct error *err)
{
	struct strbuf all = STRBUF_INIT;

	for (const struct table_column *c = t->columns; c->name; c++)
		strbuf_addf(&all, "%s%s", all.len ? ", " : "", c->name);
	error_set(err, ERROR_KIND_USAGE, -EINVAL, "there is no column '%.*s'; columns are %s",
		  (int)len, name, all.buf);
	strbuf_free(&all);
	return -EINVAL;
}

/* Fills shown[]; number of columns or negative errno. */
static int choose_columns(const struct table *t, const struct table_options *o,
			  const struct table_column **shown, struct error *err)
{
	const char *names = o->columns;
	int nr = 0;

	if (!names) {
		for (const struct table_column *c = t->columns; c->name; c++)
			if ((!c->hidden || (o->also && strcmp(o->also, c->name) == 0)) &&
			    nr < TABLE_MAX_COLUMNS)
				shown[nr++] = c;
		return nr;
	}
	for (;;) {
		size_t len = strcspn(names, ",");
		const struct table_column *c = table_find_column(t->columns, names, len);

		if (!c)
			return unknown_column(t, names, len, err);
		if (nr == TABLE_MAX_COLUMNS)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "more than %d columns",
					 TABLE_MAX_COLUMNS);
		shown[nr++] = c;
		if (!names[len])
			return nr;
		names += len + 1;
	}
}

/* ---- order -------------------------------------------------------------------------------- */

struct sort_key {
	const struct table_column *column;
	const void *row;
	char *text; /* if the column has no compare() */
	size_t index;
	int sign;
};

static int compare_keys(const void *va, const void *vb)
{
	const struct sort_key *a = va, *b = vb;
	int rc;

	rc = a->text ? strcmp(a->text, b->text) : a->column->compare(a->row, b->row);
	if (rc)
		return rc < 0 ? -a->sign : a->sign;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* NULL if the rows stay as they stand. */
static int sort_column(const struct table *t, const struct table_options *o,
		       const struct table_column **column, struct error *err)
{
	const char *name = o->sort;

	*column = NULL;
	if (!name)
		return 0;
	name += *name == '-';
	*column = table_find_column(t->columns, name, strlen(name));
	return *column ? 0 : unknown_column(t, name, strlen(name), err);
}

int table_check(const struct table *t, const struct table_options *o, struct error *err)
{
	const struct table_column *columns[TABLE_MAX_COLUMNS];
	int rc = choose_columns(t, o, columns, err);

	return rc < 0 ? rc : sort_column(t, o, &columns[0], err);
}

int table_order(const struct table *t, const struct table_options *o, size_t **order, size_t *nr,
		struct error *err)
{
	bool reverse = o->sort && o->sort[0] == '-';
	const struct table_column *column;
	struct sort_key *keys;
	int rc;

	*order = NULL;
	*nr = 0;
	rc = sort_column(t, o, &column, err);
	if (rc)
		return rc;
	keys = xcalloc(t->nr_rows, sizeof(*keys));
	for (size_t i = 0; i < t->nr_rows; i++) {
		struct strbuf text = STRBUF_INIT;

		keys[i] = (struct sort_key){.column = column,
					    .row = (const char *)t->rows + i * t->row_size,
					    .index = i,
					    .sign = reverse ? -1 : 1};
		if (column && !column->compare) {
			column->text(&text, keys[i].row, t->ctx);
			keys[i].text = strbuf_detach(&text, NULL);
		}
	}
	if (column)
		qsort(keys, t->nr_rows, sizeof(*keys), compare_keys);
	*nr = o->limit && o->limit < t->nr_rows ? o->limit : t->nr_rows;
	*order = xcalloc(*nr, sizeof(**order));
	for (size_t i = 0; i < t->nr_rows; i++) {
		if (i < *nr)
			(*order)[i] = keys[i].index;
		free(keys[i].text);
	}
	free(keys);
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Bytes of a character that turns the direction of what follows on a terminal, or breaks the line:
 * U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.  0 = none. */
static size_t is_turning(const unsigned char *s, size_t len)
{
	if (len >= 2 && s[0] == 0xd8 && s[1] == 0x9c)
		return 2;
	if (len < 3 || s[0] != 0xe2)
		return 0;
	if (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae)))
		return 3;
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9 ? 3 : 0;
}

void table_clean_text(struct strbuf *text, bool keep_lines)
{
	size_t len = 0;

	for (size_t i = 0; i < text->len;) {
		const unsigned char *c = (const unsigned char *)text->buf + i;
		size_t size = is_turning(c, text->len - i);
		bool control = (*c < 0x20 && !(keep_lines && *c == '\n')) || *c == 0x7f;

		/* U+0080 to U+009F: control characters, too (CSI is one of them). */
		if (*c == 0xc2 && i + 1 < text->len && (c[1] & 0xe0) == 0x80)
			size = 2;
		text->buf[len++] = control || size ? '?' : text->buf[i];
		i += size ? size : 1;
	}
	if (len < text->len) /* never true of the shared empty string */
		text->buf[len] = '\0';
	text->len = len;
}

/* The text of a cell; line 0 is the heading. */
static void make_cell(struct strbuf *cell, const struct table *t, const struct table_column *c,
		      const size_t *order, size_t line)
{
	strbuf_reset(cell);
	if (line == 0)
		strbuf_addstr(cell, c->title);
	else
		c->text(cell, (const char *)t->rows + order[line - 1] * t->row_size, t->ctx);
	if (!cell->len)
		strbuf_addch(cell, '-');
	table_clean_text(cell, false);
}

static void write_line(FILE *f, struct strbuf *cells, const struct table_column **shown,
		       const size_t *widths, int nr, const struct table_options *o)
{
	size_t pending = o->indent;

	for (int i = 0; i < nr; i++) {
		size_t pad =
			widths[i] - MIN(widths[i], table_text_width(cells[i].buf, cells[i].len));

		if (shown[i]->align == TABLE_RIGHT)
			pending += pad;
		fprintf(f, "%*s%s", (int)pending, "", cells[i].buf);
		pending = 2 + (shown[i]->align == TABLE_LEFT ? pad : 0);
	}
}

int table_write(FILE *f, const struct table *t, const struct table_options *o, struct error *err)
{
	const struct table_column *shown[TABLE_MAX_COLUMNS];
	size_t widths[TABLE_MAX_COLUMNS] = {0}, nr_lines, *order;
	struct strbuf cells[TABLE_MAX_COLUMNS];
	int nr = choose_columns(t, o, shown, err), rc;

	if (nr < 0)
		return nr;
	rc = table_order(t, o, &order, &nr_lines, err);
	if (rc)
		return rc;
	nr_lines++; /* the heading is line 0 */
	for (int i = 0; i < nr; i++)
		strbuf_init(&cells[i]);
	for (size_t line = 0; line < nr_lines; line++) {
		for (int i = 0; i < nr; i++) {
			make_cell(&cells[i], t, shown[i], order, line);
			widths[i] = MAX(widths[i], table_text_width(cells[i].buf, cells[i].len));
		}
	}
	for (size_t line = 0; line < nr_lines && !ferror(f); line++) {
		for (int i = 0; i < nr; i++)
			make_cell(&cells[i], t, shown[i], order, line);
		if (o->color && line == 0)
			fputs("\033[1m", f);
		write_line(f, cells, shown, widths, nr, o);
		fputs(o->color && line == 0 ? "\033[0m\n" : "\n", f);
	}
	for (int i = 0; i < nr; i++)
		strbuf_free(&cells[i]);
	free(order);
	return 0;
}
