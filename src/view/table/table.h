/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text tables.  Each kind of row has a registry of columns (column.h); the user chooses by name
 * which of them are shown, in which order.
 *
 * Cells may hold anything that was read from a node: characters that are not safe for a terminal
 * (above all escape sequences) are shown as '?', see characters.h.
 */
#ifndef EBEAM_VIEW_TABLE_H
#define EBEAM_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "view/table/column.h"

struct table {
	const struct table_column *columns; /* ends with name == NULL */
	const void *rows;
	size_t nr_rows, row_size;
	const void *ctx; /* for text() and json() */
};

struct table_options {
	const char *columns; /* "a,b"; NULL = all that are not hidden */
	const char *also;    /* a hidden column to show too if columns == NULL; NULL = none */
	const char *sort;    /* "a", or "-a" for the reverse; NULL = the order of rows[] */
	unsigned int limit;  /* 0 = all */
	unsigned int indent; /* spaces before each line */
	unsigned int width;  /* of lines: a last column aligned left is truncated; 0 = no limit */
	bool color;	     /* heading in bold */
	bool write_more;     /* calls table_write_more() below the rows */
};

/* Finds a column by its name or its heading; NULL = there is none. */
const struct table_column *table_find_column(const struct table_column *columns, const char *name,
					     size_t len);

/* Checks the names in o->columns and o->sort as table_write() does, so that an error is reported
 * before rows are read, which may take long.  0 or negative errno. */
int table_check(const struct table *t, const struct table_options *o, struct error *err);

/* Indices of the rows that are shown, sorted; *order is malloc'ed.  Rows that compare as equal keep
 * their order.  0 or negative errno; ERROR_KIND_USAGE: an unknown column. */
int table_order(const struct table *t, const struct table_options *o, size_t **order, size_t *nr,
		struct error *err);

/* Writes heading and rows without trailing spaces.  Does not report write errors: the caller checks
 * ferror(f). */
int table_write(FILE *f, const struct table *t, const struct table_options *o, struct error *err);
/* Below what is written already: an empty line, the heading ("Parents\n", or ""), and the table
 * with `usual` rows at most if the options have no limit.  Nothing if it has no rows. */
int table_write_below(FILE *f, const char *heading, const struct table *t,
		      const struct table_options *o, unsigned int usual, struct error *err);

/* Writes an array of the rows that are shown, in order, each an object with all columns, see
 * table_json_fields().  table_check() has accepted *o. */
void table_json_rows(struct jsonw *w, const char *key, const struct table *t,
		     const struct table_options *o);

/* Writes "(20 of 345; -n shows more)" if not all are shown. */
void table_write_more(FILE *f, size_t shown, size_t all);

/* Replaces characters that are not safe for a terminal, as in cells; keep_lines: not newlines. */
void table_clean_text(struct strbuf *text, bool keep_lines);
/* Writes text, cleaned but with its newlines, and empties the strbuf. */
void table_write_text(FILE *f, struct strbuf *text);
/* Writes text of a node within a line: control characters are escaped, see names_format_text(). */
void table_write_escaped(FILE *f, const char *text);
/* Write a line, escaped in the same way; table_heading() in bold, if `color`. */
void table_line(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_heading(FILE *f, bool color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Truncates text to `width` columns of a terminal, the last three of which are "...". */
void table_cut_text(struct strbuf *text, size_t width);

/* Columns that a text takes on a terminal. */
size_t table_text_width(const char *text, size_t len);

#endif
