/* SPDX-License-Identifier: BSD-2-Clause */
/* See markdown.h.  The text is built in, so its syntax is not checked. */
#include "cmd/program/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* Least width of a wrapped column, and the most columns of a table with wrapped ones. */
#define COLUMN_MIN  16
#define WRAPPED_MAX 4
#define COLUMN_GAP  2

static size_t line_len(const char *line)
{
	return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	line += line_len(line);
	return *line ? line + 1 : line;
}

static bool starts(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static enum markdown_kind kind_of(const char *line, size_t *mark)
{
	static const struct {
		const char *mark;
		enum markdown_kind kind;
	} marks[] = {
		{"# ", MARKDOWN_TITLE}, {"## ", MARKDOWN_SECTION},   {"### ", MARKDOWN_PART},
		{"- ", MARKDOWN_ITEM},	{"<!-- ", MARKDOWN_COMMENT},
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		*mark = strlen(marks[i].mark);
		if (starts(line, marks[i].mark))
			return marks[i].kind;
	}
	*mark = 0;
	if (starts(line, "    "))
		return MARKDOWN_LITERAL;
	return *line == '|' ? MARKDOWN_TABLE : MARKDOWN_PARAGRAPH;
}

/* Does the line continue a block of that kind? */
static bool goes_on(enum markdown_kind kind, const char *line)
{
	size_t mark;

	switch (kind) {
	case MARKDOWN_PARAGRAPH:
		return *line != '\n' && kind_of(line, &mark) == kind;
	case MARKDOWN_ITEM:
		return starts(line, "  ");
	case MARKDOWN_TABLE:
		return *line == '|';
	case MARKDOWN_LITERAL:
		while (*line == '\n')
			line++;
		return starts(line, "    ");
	default:
		return false;
	}
}

bool markdown_next(const char **text, struct markdown_block *out)
{
	const char *line = *text + strspn(*text, "\n");
	size_t mark;

	if (!*line)
		return false;
	out->kind = kind_of(line, &mark);
	out->text = line + mark;
	do
		line = next_line(line);
	while (*line && goes_on(out->kind, line));
	*text = line;
	out->len = (size_t)(line - out->text);
	while (out->len && out->text[out->len - 1] == '\n')
		out->len--;
	if (out->kind == MARKDOWN_COMMENT && out->len >= 4)
		out->len -= 4; /* " -->" */
	return true;
}

bool markdown_is_faults(const struct markdown_block *comment)
{
	return comment->len == strlen("kernel faults") &&
	       memcmp(comment->text, "kernel faults", comment->len) == 0;
}

void markdown_plain(struct strbuf *out, const char *text, size_t len)
{
	const char *end = text + len;
	bool quoted = false, code = false;

	for (; text < end; text++) {
		const char *close;

		if (*text == '`') {
			close = code ? NULL : memchr(text + 1, '`', (size_t)(end - text - 1));
			code = !code;
			if (close) {
				size_t size = (size_t)(close - text);

				quoted = memchr(text, ' ', size) && !memchr(text, '\'', size);
			}
			if (quoted)
				strbuf_addch(out, '\'');
			if (!code)
				quoted = false;
		} else if (!code && end - text >= 2 && text[0] == '*' && text[1] == '*') {
			text++;
		} else {
			strbuf_addch(out, *text);
		}
	}
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Reads the cell that begins at *p, behind its bar; moves *p to the next bar, or to `end`. */
static char *take_cell(const char **p, const char *end)
{
	struct strbuf cell = STRBUF_INIT;
	const char *from = *p;

	for (; from < end && *from != '|'; from++) {
		if (*from == '\\' && from + 1 < end && from[1] == '|')
			from++;
		if (cell.len || *from != ' ')
			strbuf_addch(&cell, *from);
	}
	*p = from;
	while (cell.len && cell.buf[cell.len - 1] == ' ')
		cell.buf[--cell.len] = '\0';
	return strbuf_detach(&cell, NULL);
}

void markdown_table_read(struct markdown_table *t, const struct markdown_block *block)
{
	const char *line = block->text, *end = block->text + block->len;
	size_t nr = 0;

	*t = (struct markdown_table){0};
	for (const char *p = line + 1; p < end && *p != '\n'; p++)
		t->nr_columns += *p == '|';
	for (const char *p = line; p < end; p = next_line(p))
		nr++;
	t->cells = xcalloc(nr * t->nr_columns + 1, sizeof(*t->cells));
	for (nr = 0; line < end; line = next_line(line), nr++) {
		const char *p = line, *line_end = line + line_len(line);

		if (nr == 1)
			continue; /* the line below the heading */
		for (size_t i = 0; i < t->nr_columns; i++) {
			p += p < line_end;
			t->cells[t->nr_rows * t->nr_columns + i] = take_cell(&p, line_end);
		}
		t->nr_rows++;
	}
}

void markdown_table_free(struct markdown_table *t)
{
	for (size_t i = 0; i < t->nr_rows * t->nr_columns; i++)
		free(t->cells[i]);
	free(t->cells);
}

static char *plain_cell(const struct markdown_table *t, size_t row, size_t column)
{
	const char *cell = t->cells[row * t->nr_columns + column];
	struct strbuf plain = STRBUF_INIT;

	markdown_plain(&plain, cell, strlen(cell));
	return strbuf_detach(&plain, NULL);
}

/* How many bytes of `text` fit a line of `width`; up to a space, if there is one. */
static size_t wrapped_len(const char *text, size_t width)
{
	size_t len = strlen(text);

	if (len <= width)
		return len;
	for (len = width; len && text[len] != ' ';)
		len--;
	return len ? len : width;
}

/* Finds the widths of columns: the natural ones; the widest are then reduced until all fit. */
static bool find_widths(const struct markdown_table *t, size_t width, size_t *widths)
{
	size_t sum = (t->nr_columns - 1) * COLUMN_GAP;

	for (size_t i = 0; i < t->nr_columns; i++) {
		widths[i] = 0;
		for (size_t row = 0; row < t->nr_rows; row++) {
			char *cell = plain_cell(t, row, i);

			if (strlen(cell) > widths[i])
				widths[i] = strlen(cell);
			free(cell);
		}
		sum += widths[i];
	}
	if (sum > width && t->nr_columns > WRAPPED_MAX)
		return false;
	for (; sum > width; sum--) {
		size_t widest = 0;

		for (size_t i = 1; i < t->nr_columns; i++)
			if (widths[i] > widths[widest])
				widest = i;
		if (widths[widest] <= COLUMN_MIN)
			return false;
		widths[widest]--;
	}
	return true;
}

static void trim_blanks(struct strbuf *out)
{
	while (out->len && out->buf[out->len - 1] == ' ')
		out->buf[--out->len] = '\0';
}

static void add_row(const struct markdown_table *t, size_t row, const size_t *widths,
		    struct strbuf *out)
{
	char *cells[MARKDOWN_COLUMNS_MAX], *at[MARKDOWN_COLUMNS_MAX];
	bool more;

	for (size_t i = 0; i < t->nr_columns; i++)
		at[i] = cells[i] = plain_cell(t, row, i);
	do {
		more = false;
		for (size_t i = 0; i < t->nr_columns; i++) {
			size_t len = wrapped_len(at[i], widths[i]);

			strbuf_addf(out, "%-*.*s%*s", (int)widths[i], (int)len, at[i],
				    i + 1 < t->nr_columns ? COLUMN_GAP : 0, "");
			at[i] += len;
			at[i] += strspn(at[i], " ");
			more |= *at[i] != '\0';
		}
		trim_blanks(out);
		strbuf_addch(out, '\n');
	} while (more);
	for (size_t i = 0; i < t->nr_columns; i++)
		free(cells[i]);
}

bool markdown_table_layout(const struct markdown_table *t, size_t width, struct strbuf *out)
{
	size_t widths[MARKDOWN_COLUMNS_MAX];
	bool apart = false;

	if (!t->nr_columns || t->nr_columns > MARKDOWN_COLUMNS_MAX ||
	    !find_widths(t, width, widths))
		return false;
	for (size_t row = 0; row < t->nr_rows; row++) {
		struct strbuf lines = STRBUF_INIT;
		bool several;

		add_row(t, row, widths, &lines);
		several = strchr(lines.buf, '\n') != lines.buf + lines.len - 1;
		/* Empty lines around rows of several lines; no empty heading. */
		if (row && (several || apart) && out->len)
			strbuf_addch(out, '\n');
		if (lines.len > 1)
			strbuf_add(out, lines.buf, lines.len);
		apart = several;
		strbuf_free(&lines);
	}
	return true;
}

void markdown_table_details(const struct markdown_table *t, size_t row, struct strbuf *out)
{
	char **head = t->cells, **cells = t->cells + row * t->nr_columns;

	for (size_t i = 1; i < t->nr_columns;) {
		size_t last = i;

		while (last + 1 < t->nr_columns && strcmp(cells[last + 1], cells[i]) == 0)
			last++;
		if (*cells[i]) {
			for (size_t k = i; k <= last; k++)
				strbuf_addf(out, "%s%s", k > i ? ", " : "", head[k]);
			strbuf_addf(out, ": %s\n", cells[i]);
		}
		i = last + 1;
	}
}
