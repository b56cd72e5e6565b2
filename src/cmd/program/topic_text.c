/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam help TOPIC`: writes a page of doc/ as text, 79 columns wide like all help. */
#include <string.h>

#include "cmd/program/help.h"
#include "cmd/host/kernel_faults.h"
#include "cmd/program/manual.h"
#include "cmd/program/markdown.h"

#define DETAILS_INDENT 4

static void write_heading(FILE *f, const struct markdown_block *b)
{
	for (size_t i = 0; i < b->len; i++) {
		char c = b->text[i];

		fputc(b->kind == MARKDOWN_SECTION && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c, f);
	}
	fputc('\n', f);
}

static void write_words(FILE *f, const char *text, size_t len, size_t indent)
{
	struct strbuf plain = STRBUF_INIT;

	markdown_plain(&plain, text, len);
	help_wrapped(f, plain.buf, plain.len, indent, indent);
	strbuf_free(&plain);
}

static void write_row(FILE *f, const struct markdown_table *t, size_t row)
{
	struct strbuf details = STRBUF_INIT;
	const char *first = t->cells[row * t->nr_columns];

	if (row > 1)
		fputc('\n', f);
	write_words(f, first, strlen(first), 0);
	markdown_table_details(t, row, &details);
	for (const char *line = details.buf; *line;) {
		size_t len = strcspn(line, "\n");

		fprintf(f, "%*s", DETAILS_INDENT, "");
		write_words(f, line, len, DETAILS_INDENT);
		line += len + 1;
	}
	strbuf_free(&details);
}

static void write_table(FILE *f, const struct markdown_block *b)
{
	struct strbuf lines = STRBUF_INIT;
	struct markdown_table t;

	markdown_table_read(&t, b);
	if (markdown_table_layout(&t, HELP_WIDTH, &lines))
		fputs(lines.buf, f);
	else
		for (size_t row = 1; row < t.nr_rows; row++)
			write_row(f, &t, row);
	markdown_table_free(&t);
	strbuf_free(&lines);
}

static void write_faults(FILE *f)
{
	for (const struct kernel_fault *k = kernel_faults; k->name; k++) {
		struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, "Linux %s. %s %s", k->kernels, k->what, k->ebeam);
		fprintf(f, "%s%s\n%*s", k == kernel_faults ? "" : "\n", k->name, DETAILS_INDENT,
			"");
		help_wrapped(f, text.buf, text.len, DETAILS_INDENT, DETAILS_INDENT);
		strbuf_free(&text);
	}
}

static void write_block(FILE *f, const struct markdown_block *b)
{
	switch (b->kind) {
	case MARKDOWN_TITLE:
	case MARKDOWN_PARAGRAPH:
		write_words(f, b->text, b->len, 0);
		break;
	case MARKDOWN_SECTION:
	case MARKDOWN_PART:
		write_heading(f, b);
		break;
	case MARKDOWN_ITEM:
		fputs("- ", f);
		write_words(f, b->text, b->len, 2);
		break;
	case MARKDOWN_LITERAL:
		fprintf(f, "%.*s\n", (int)b->len, b->text);
		break;
	case MARKDOWN_TABLE:
		write_table(f, b);
		break;
	case MARKDOWN_COMMENT:
		write_faults(f);
		break;
	}
}

void topic_text_write(FILE *f, const struct manual_topic *topic)
{
	const char *text = (const char *)topic->text;
	struct markdown_block b;
	enum markdown_kind before = MARKDOWN_COMMENT;
	bool first = true;

	while (markdown_next(&text, &b)) {
		if (b.kind == MARKDOWN_COMMENT && !markdown_is_faults(&b))
			continue;
		if (topic->section == 1 && b.kind == MARKDOWN_TITLE)
			continue; /* the title of the command was written already */
		if (!first && (b.kind != MARKDOWN_ITEM || before != MARKDOWN_ITEM))
			fputc('\n', f);
		write_block(f, &b);
		before = b.kind;
		first = false;
	}
}
