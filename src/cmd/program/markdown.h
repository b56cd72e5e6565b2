/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subset of Markdown that doc/ is written in, so that its pages are readable as they are, and
 * can become manual pages (man.c) and text (topic_text.c).  A page is read block by block:
 *
 *   # ebeam-json: what -j writes    the title, once
 *   ## Heading, ### Heading         a section, a part of it
 *   - item                          further lines of it start with two spaces
 *       literal                     lines that start with four spaces
 *   | a | b |                       a table; its second line is |---|---|
 *   <!-- name -->                   a comment, or where a table of the program is inserted
 *
 * and everything else is a paragraph.  In the text `word` is code, **word** is strong.
 */
#ifndef EBEAM_CMD_MARKDOWN_H
#define EBEAM_CMD_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum markdown_kind {
	MARKDOWN_TITLE,
	MARKDOWN_SECTION,
	MARKDOWN_PART,
	MARKDOWN_PARAGRAPH,
	MARKDOWN_ITEM,
	MARKDOWN_LITERAL, /* its lines still begin with four spaces */
	MARKDOWN_TABLE,
	MARKDOWN_COMMENT,
};

struct markdown_block {
	enum markdown_kind kind;
	const char *text; /* without the mark of its kind, and without the last newline */
	size_t len;
};

/* Gets the next block, and moves *text behind it; false at the end. */
bool markdown_next(const char **text, struct markdown_block *out);

/* Is the comment the one where the table of kernel_faults.h is inserted? */
bool markdown_is_faults(const struct markdown_block *comment);

/* Adds text without marks: `word` and **word** as word, and `two words` as 'two words'. */
void markdown_plain(struct strbuf *out, const char *text, size_t len);

#define MARKDOWN_COLUMNS_MAX 16

/* A table; cells are as written, without the blanks around them.  Row 0 is the heading. */
struct markdown_table {
	size_t nr_rows, nr_columns;
	char **cells; /* nr_rows * nr_columns */
};
void markdown_table_read(struct markdown_table *t, const struct markdown_block *block);
void markdown_table_free(struct markdown_table *t);
/* Adds a table in columns, with wrapped cells, at most `width` wide.  False, and nothing is added,
 * if it is too wide for that: then rows are to be shown with markdown_table_details(). */
bool markdown_table_layout(const struct markdown_table *t, size_t width, struct strbuf *out);
/* Adds lines "heading: cell" of a row, but of its first cell; equal neighbours share a line. */
void markdown_table_details(const struct markdown_table *t, size_t row, struct strbuf *out);

#endif
