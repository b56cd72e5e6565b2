/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text tables.  A kind of row has a registry of columns (column.h); which of them are shown, and
 * in which order, the user chooses by their names.
 *
 * Cells may hold anything that was read from a node: what a terminal must not see of them (escape
 * sequences above all) is shown as '?', see characters.h.
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
	const char *sort;    /* "a", or "-a" for the reverse; NULL = as the rows stand */
	unsigned int limit;  /* 0 = all */
	unsigned int indent; /* spaces before each line */
	unsigned int width;  /* of lines: the last column is cut if it is a left one; 0 = none */
	bool color;	     /* heading in bold */
	bool write_more;     /* below: table_write_more() */
};

/* By its name, or by its heading as people read it; NULL = there is none such. */
const struct table_column *table_find_column(const struct table_column *columns, const char *name,
					     size_t len);

/* 0, or what table_write() would say about the columns of *o: before rows are read, which may be
 * costly or forbidden. */
int table_check(const struct table *t, const struct table_options *o, struct error *err);

/* Indices of the rows that are shown, in order; *order is malloc'ed.  Equal rows keep their
 * order.  Unknown column: ERROR_KIND_USAGE. */
int table_order(const struct table *t, const struct table_options *o, size_t **order, size_t *nr,
		struct error *err);

/* Heading and rows; no trailing spaces.  Does not check for write errors: the caller's FILE keeps
 * them. */
int table_write(FILE *f, const struct table *t, const struct table_options *o, struct error *err);

/* An array of the rows that are shown, in order, each an object of all columns, see
 * table_json_fields().  table_check() has found nothing wrong with *o. */
void table_json_rows(struct jsonw *w, const char *key, const struct table *t,
		     const struct table_options *o);

/* "(20 of 345; -n shows more)" if not all are shown. */
void table_write_more(FILE *f, size_t shown, size_t all);

/* What a cell does, for all text for people that is not in a table; keep_lines: newlines stay. */
void table_clean_text(struct strbuf *text, bool keep_lines);
/* Writes it so, lines kept; leaves it empty, for the next one. */
void table_write_text(FILE *f, struct strbuf *text);
/* Text of a node within a line: control characters are escaped, see names_format_text(). */
void table_write_escaped(FILE *f, const char *text);
/* A line, all of it escaped so; the second in bold, if `color`. */
void table_line(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_heading(FILE *f, bool color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Cuts to so many columns of a terminal, the last three of them "..."; never below these. */
void table_cut_text(struct strbuf *text, size_t width);

/* Columns that a text takes on a terminal. */
size_t table_text_width(const char *text, size_t len);

#endif
