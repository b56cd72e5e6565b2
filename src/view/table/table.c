/* SPDX-License-Identifier: BSD-2-Clause */
/* See table.h.  Each cell is made twice, to measure it and to write it, so that a table of a
 * million rows takes no memory for cells. */
#include "view/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "names/names.h"
#include "view/screen/characters.h"

#define TABLE_MAX_COLUMNS 64

size_t table_text_width(const char *text, size_t len)
{
	return characters_width(text, len);
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

/* Fills shown[] with the columns that *o selects; returns their number or a negative errno. */
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
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 "--columns has more than %d names", TABLE_MAX_COLUMNS);
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
	char *text; /* of the cell, if the column is compared by text */
	size_t index;
	int sign;
};

static int compare_keys(const void *va, const void *vb)
{
	const struct sort_key *a = va, *b = vb;
	int rc;

	rc = a->text ? strcmp(a->text, b->text) : table_compare(a->column, a->row, b->row);
	if (rc)
		return rc < 0 ? -a->sign : a->sign;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Finds the column of o->sort; *column = NULL: rows are not sorted. */
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

static struct sort_key make_key(const struct table *t, const struct table_column *column, size_t i,
				bool reverse)
{
	struct sort_key key = {.column = column,
			       .row = (const char *)t->rows + i * t->row_size,
			       .index = i,
			       .sign = reverse ? -1 : 1};
	struct strbuf text = STRBUF_INIT;

	if (column && table_compares_text(column)) {
		table_cell(column, &text, key.row, t->ctx);
		key.text = strbuf_detach(&text, NULL);
	}
	return key;
}

/* Sorts keys and drops those behind the first `most`; returns how many are left. */
static size_t keep_first(struct sort_key *keys, size_t nr, size_t most)
{
	qsort(keys, nr, sizeof(*keys), compare_keys);
	for (size_t i = most; i < nr; i++)
		free(keys[i].text);
	return MIN(nr, most);
}

int table_order(const struct table *t, const struct table_options *o, size_t **order, size_t *nr,
		struct error *err)
{
	size_t most = o->limit && o->limit < t->nr_rows ? o->limit : t->nr_rows, nr_keys = 0;
	bool reverse = o->sort && o->sort[0] == '-', dropped = false;
	const struct table_column *column;
	struct sort_key *keys;
	int rc;

	*order = NULL;
	*nr = 0;
	rc = sort_column(t, o, &column, err);
	if (rc)
		return rc;
	/* Of a million rows of which twenty are shown only forty are ever sorted. */
	keys = xcalloc(MIN(t->nr_rows, 2 * most), sizeof(*keys));
	for (size_t i = 0; i < (column ? t->nr_rows : most); i++) {
		struct sort_key key = make_key(t, column, i, reverse);

		if (dropped && compare_keys(&key, &keys[most - 1]) > 0) {
			free(key.text);
			continue;
		}
		if (nr_keys == 2 * most) {
			nr_keys = keep_first(keys, nr_keys, most);
			dropped = true;
		}
		keys[nr_keys++] = key;
	}
	if (column)
		nr_keys = keep_first(keys, nr_keys, most);
	*nr = nr_keys;
	*order = xcalloc(nr_keys, sizeof(**order));
	for (size_t i = 0; i < nr_keys; i++) {
		(*order)[i] = keys[i].index;
		free(keys[i].text);
	}
	free(keys);
	return 0;
}

void table_json_rows(struct jsonw *w, const char *key, const struct table *t,
		     const struct table_options *o)
{
	size_t *order, nr;

	table_order(t, o, &order, &nr, NULL);
	jsonw_begin_rows(w, key);
	for (size_t i = 0; i < nr; i++) {
		const void *row = (const char *)t->rows + order[i] * t->row_size;

		jsonw_begin_object(w, NULL);
		table_json_fields(t->columns, w, row, t->ctx);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	free(order);
}

/* ---- writing ------------------------------------------------------------------------------ */

void table_clean_text(struct strbuf *text, bool keep_lines)
{
	characters_clean(text, keep_lines);
}

void table_write_text(FILE *f, struct strbuf *text)
{
	table_clean_text(text, true);
	fwrite(text->buf, 1, text->len, f);
	strbuf_reset(text);
}

void table_write_escaped(FILE *f, const char *text)
{
	struct strbuf escaped = STRBUF_INIT;

	names_format_text(&escaped, text, strlen(text));
	table_write_text(f, &escaped);
	strbuf_free(&escaped);
}

static void write_formatted(FILE *f, const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_vaddf(&text, fmt, ap);
	table_write_escaped(f, text.buf);
	strbuf_free(&text);
}

void table_line(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_formatted(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
}

void table_heading(FILE *f, bool color, const char *fmt, ...)
{
	va_list ap;

	fputs(color ? "\033[1m" : "", f);
	va_start(ap, fmt);
	write_formatted(f, fmt, ap);
	va_end(ap);
	fputs(color ? "\033[0m\n" : "\n", f);
}

void table_cut_text(struct strbuf *text, size_t width)
{
	if (table_text_width(text->buf, text->len) <= MAX(width, 3u))
		return;
	text->len = characters_cut(text->buf, text->len, MAX(width, 3u) - 3);
	strbuf_addstr(text, "...");
}

/* The text of a cell; line 0 is the heading. */
static void make_cell(struct strbuf *cell, const struct table *t, const struct table_column *c,
		      const size_t *order, size_t line)
{
	strbuf_reset(cell);
	if (line == 0)
		strbuf_addstr(cell, c->title);
	else
		table_cell(c, cell, (const char *)t->rows + order[line - 1] * t->row_size, t->ctx);
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

		if (table_is_right(shown[i]))
			pending += pad;
		fprintf(f, "%*s%s", (int)pending, "", cells[i].buf);
		pending = 2 + (!table_is_right(shown[i]) ? pad : 0);
	}
}

void table_write_more(FILE *f, size_t shown, size_t all)
{
	if (shown < all)
		fprintf(f, "(%zu of %zu; -n shows more)\n", shown, all);
}

int table_write(FILE *f, const struct table *t, const struct table_options *o, struct error *err)
{
	const struct table_column *shown[TABLE_MAX_COLUMNS];
	size_t widths[TABLE_MAX_COLUMNS] = {0}, nr_lines, *order;
	struct strbuf cells[TABLE_MAX_COLUMNS];
	int nr = choose_columns(t, o, shown, err), rc;
	size_t before;

	if (nr < 0)
		return nr;
	rc = table_order(t, o, &order, &nr_lines, err);
	if (rc)
		return rc;
	nr_lines++; /* the heading is line 0 */
	before = o->indent;
	for (int i = 0; i < nr; i++)
		strbuf_init(&cells[i]);
	for (size_t line = 0; line < nr_lines; line++) {
		for (int i = 0; i < nr; i++) {
			make_cell(&cells[i], t, shown[i], order, line);
			widths[i] = MAX(widths[i], table_text_width(cells[i].buf, cells[i].len));
		}
	}
	for (int i = 0; i + 1 < nr; i++)
		before += widths[i] + 2;
	for (size_t line = 0; line < nr_lines && !ferror(f); line++) {
		for (int i = 0; i < nr; i++)
			make_cell(&cells[i], t, shown[i], order, line);
		if (o->width && nr && !table_is_right(shown[nr - 1]))
			table_cut_text(&cells[nr - 1], o->width - MIN(o->width, before));
		if (o->color && line == 0)
			fputs("\033[1m", f);
		write_line(f, cells, shown, widths, nr, o);
		fputs(o->color && line == 0 ? "\033[0m\n" : "\n", f);
	}
	if (o->write_more)
		table_write_more(f, nr_lines - 1, t->nr_rows);
	for (int i = 0; i < nr; i++)
		strbuf_free(&cells[i]);
	free(order);
	return 0;
}

int table_write_below(FILE *f, const char *heading, const struct table *t,
		      const struct table_options *o, unsigned int usual, struct error *err)
{
	struct table_options options = *o;

	if (!t->nr_rows)
		return 0;
	options.limit = o->limit ? o->limit : usual;
	options.write_more = true;
	fprintf(f, "\n%s", heading);
	return table_write(f, t, &options, err);
}
