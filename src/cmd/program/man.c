/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam help --man`: a page of the manual as troff source with the man macros, from the same
 * tables as the help, and from doc/ (markdown.h).  It has no date, so that the same source always
 * gives the same bytes.
 */
#include <string.h>

#include "cmd/command/options.h"
#include "cmd/host/kernel_faults.h"
#include "cmd/program/help.h"
#include "cmd/program/manual.h"
#include "cmd/program/markdown.h"

/* Width for tables: what indentation leaves of a line of 78 columns. */
#define TABLE_WIDTH 71

/* Writes text with the characters escaped that are special to troff.  Newlines are kept. */
static void write_troff(FILE *f, const char *text, size_t len, bool line_start)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (line_start && (c == '.' || c == '\''))
			fputs("\\&", f);
		line_start = c == '\n';
		if (c == '\\')
			fputs("\\e", f);
		else if (c == '-')
			fputs("\\-", f);
		else if (c == '\'')
			fputs("\\(aq", f);
		else if (c == '~')
			fputs("\\(ti", f);
		else if (c == '^')
			fputs("\\(ha", f);
		else if (c == '`')
			fputs("\\(ga", f);
		else
			fputc(c, f);
	}
}

static void write_string(FILE *f, const char *text)
{
	write_troff(f, text, strlen(text), true);
}

static void write_upper(FILE *f, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];

		write_troff(f, &c, 1, false);
	}
}

/* ---- what comes from doc/ ---------------------------------------------------------------- */

/* Writes text without the indentation of the further lines of an item, which troff would keep. */
static void write_words(FILE *f, const char *text, size_t len, bool line_start)
{
	for (const char *end = text + len; text < end;) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		if (!line_end)
			line_end = end;
		write_troff(f, text, (size_t)(line_end - text), line_start);
		text = line_end;
		if (text < end) {
			fputc('\n', f);
			line_start = true;
			for (text++; text < end && *text == ' ';)
				text++;
		}
	}
}

/* Writes text with `word` and **word** in bold; code within strong text changes nothing. */
static void write_inline(FILE *f, const char *text, size_t len)
{
	const char *end = text + len;
	bool line_start = true;

	while (text < end) {
		size_t left = (size_t)(end - text), mark = *text == '`' ? 1 : 0;
		const char *close = NULL;

		if (left > 2 && memcmp(text, "**", 2) == 0)
			mark = 2;
		if (mark)
			close = memmem(text + mark, left - mark, text, mark);
		if (close) {
			struct strbuf plain = STRBUF_INIT;

			strbuf_add(&plain, text + mark, (size_t)(close - text) - mark);
			fputs("\\fB", f);
			for (char *p = plain.buf; mark == 2 && (p = strchr(p, '`'));)
				memmove(p, p + 1, strlen(p));
			write_words(f, plain.buf, strlen(plain.buf), false);
			fputs("\\fR", f);
			strbuf_free(&plain);
			text = close + mark;
		} else {
			size_t here = 1;

			while (here < left && text[here] != '`' && text[here] != '*')
				here++;
			write_words(f, text, here, line_start);
			text += here;
		}
		line_start = false;
	}
	fputc('\n', f);
}

static void write_row(FILE *f, const struct markdown_table *t, size_t row)
{
	struct strbuf details = STRBUF_INIT;
	const char *first = t->cells[row * t->nr_columns];

	fputs(".TP\n", f);
	write_inline(f, first, strlen(first));
	markdown_table_details(t, row, &details);
	for (const char *line = details.buf; *line;) {
		size_t len = strcspn(line, "\n");

		write_inline(f, line, len);
		line += len + 1;
		if (*line)
			fputs(".br\n", f);
	}
	strbuf_free(&details);
}

static void write_table(FILE *f, const struct markdown_block *b)
{
	struct strbuf lines = STRBUF_INIT;
	struct markdown_table t;

	markdown_table_read(&t, b);
	if (markdown_table_layout(&t, TABLE_WIDTH, &lines)) {
		fputs(".PP\n.EX\n", f);
		write_string(f, lines.buf);
		fputs(".EE\n", f);
	} else {
		for (size_t row = 1; row < t.nr_rows; row++)
			write_row(f, &t, row);
	}
	markdown_table_free(&t);
	strbuf_free(&lines);
}

/* Writes a literal block; two of the four spaces before each line are kept. */
static void write_literal(FILE *f, const struct markdown_block *b)
{
	fputs(".PP\n.EX\n", f);
	for (const char *line = b->text, *end = b->text + b->len; line < end;) {
		size_t len = strcspn(line, "\n"), skip = len < 2 ? len : 2;

		if (len > (size_t)(end - line))
			len = (size_t)(end - line);
		write_troff(f, line + skip, len - skip, true);
		fputc('\n', f);
		line += len + 1;
	}
	fputs(".EE\n", f);
}

static void write_faults(FILE *f)
{
	for (const struct kernel_fault *k = kernel_faults; k->name; k++) {
		fprintf(f, ".TP\n.B %s\n", k->name);
		write_string(f, "Linux ");
		write_string(f, k->kernels);
		fputs(".\n", f);
		write_string(f, k->what);
		fputc('\n', f);
		write_string(f, k->ebeam);
		fputc('\n', f);
	}
}

static void write_block(FILE *f, const struct markdown_block *b)
{
	switch (b->kind) {
	case MARKDOWN_TITLE:
		break; /* the title is written in the section NAME */
	case MARKDOWN_SECTION:
		fputs(".SH ", f);
		write_upper(f, b->text, b->len);
		fputc('\n', f);
		break;
	case MARKDOWN_PART:
		fputs(".SS ", f);
		write_troff(f, b->text, b->len, false);
		fputc('\n', f);
		break;
	case MARKDOWN_PARAGRAPH:
		fputs(".PP\n", f);
		write_inline(f, b->text, b->len);
		break;
	case MARKDOWN_ITEM:
		fputs(".IP \\(bu 2\n", f);
		write_inline(f, b->text, b->len);
		break;
	case MARKDOWN_LITERAL:
		write_literal(f, b);
		break;
	case MARKDOWN_TABLE:
		write_table(f, b);
		break;
	case MARKDOWN_COMMENT:
		if (markdown_is_faults(b))
			write_faults(f);
		break;
	}
}

static void write_blocks(FILE *f, const struct manual_topic *topic)
{
	const char *text = (const char *)topic->text;
	struct markdown_block b;

	while (markdown_next(&text, &b))
		write_block(f, &b);
}

/* ---- what comes from the tables ---------------------------------------------------------- */

static void write_description(FILE *f, const char *text)
{
	struct paragraph p;

	for (bool first = true; help_next_paragraph(&text, &p); first = false) {
		if (!first)
			fputs(".PP\n", f);
		fputs(p.literal ? ".EX\n" : "", f);
		write_troff(f, p.text, p.len, true);
		fputs(p.literal ? "\n.EE\n" : "\n", f);
	}
}

static void write_option(FILE *f, const struct option_row *row, const struct command *command)
{
	struct strbuf text = STRBUF_INIT;

	fputs(".TP\n", f);
	if (row->short_name)
		fprintf(f, "\\fB\\-%c\\fR, ", row->short_name);
	fputs("\\fB\\-\\-", f);
	write_string(f, row->long_name);
	fputs("\\fR", f);
	if (row->arg)
		fprintf(f, " \\fI%s\\fR", row->arg);
	fputc('\n', f);
	help_option_text(&text, row, command);
	write_string(f, text.buf);
	fputc('\n', f);
	strbuf_free(&text);
}

/* Writes the options of a command, or (`common`) those of all commands, which only ebeam(1) has. */
static void write_options(FILE *f, const struct command *command, bool common)
{
	for (int id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(command, (enum option_id)id) &&
		    option_is_common((enum option_id)id) == common)
			write_option(f, &option_rows[id], command);
}

static void write_title(FILE *f, const char *name, int section)
{
	fputs(".TH EBEAM", f);
	if (*name)
		fputs("\\-", f);
	write_upper(f, name, strlen(name));
	fprintf(f, " %d \"\" \"ebeam %s\" \"The manual of ebeam\"\n", section, EBEAM_VERSION);
	fprintf(f, ".SH NAME\nebeam%s%s \\- ", *name ? "\\-" : "", name);
}

static void write_exit_codes(FILE *f)
{
	fputs(".SH EXIT STATUS\n", f);
	for (const struct exit_row *e = exit_rows; e->text; e++) {
		fprintf(f, ".TP\n.B %d\n", e->code);
		write_string(f, e->text);
		fputc('\n', f);
	}
}

static void write_overview(FILE *f)
{
	struct strbuf summary = STRBUF_INIT;

	write_title(f, "", 1);
	fputs("look inside a live Erlang or Elixir node from outside\n"
	      ".SH SYNOPSIS\n.B ebeam\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
	      ".SH DESCRIPTION\n"
	      "Profiles and inspects a node without its help: no cookie, no remote shell, no\n"
	      "restart, no code loaded, no pause. The node\\(aqs memory is only read.\n"
	      ".PP\n"
	      "An unambiguous beginning of a command\\(aqs name will do.\n"
	      "Data goes to standard output, everything else to standard error.\n"
	      "What to do when something is wrong is in\n.BR ebeam\\-incidents (7).\n"
	      ".SH COMMANDS\n",
	      f);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(f, ".TP\n.BR ebeam\\-%s (1)\n", c->name);
		write_string(f, c->summary);
		fputc('\n', f);
	}
	fputs(".SH OPTIONS OF ALL COMMANDS\n", f);
	write_options(f, &commands[0], true);
	write_exit_codes(f);
	fputs(".SH ENVIRONMENT\n", f);
	for (const struct environment_row *e = environment_rows; e->name; e++) {
		fprintf(f, ".TP\n.B %s\n", e->name);
		write_string(f, e->text);
		fputc('\n', f);
	}
	fputs(".SH SEE ALSO\n", f);
	for (const struct manual_topic *t = manual_topics; t->name; t++) {
		if (t->section == 1)
			continue;
		strbuf_reset(&summary);
		manual_topic_summary(t, &summary);
		fprintf(f, ".TP\n.BR ebeam\\-%s (%d)\n", t->name, t->section);
		write_string(f, summary.buf);
		fputc('\n', f);
	}
	fputs(".PP\n.BR perf (1),\n.BR erl (1)\n", f);
	strbuf_free(&summary);
}

static void write_see_also(FILE *f, const struct command *c)
{
	fputs(".SH SEE ALSO\n.BR ebeam (1)", f);
	if (c && c->options.has[OPTION_JSON])
		fputs(",\n.BR ebeam\\-json (5)", f);
	if (c && c->options.has[OPTION_SOURCE])
		fputs(",\n.BR ebeam\\-events (7)", f);
	if (c && c->options.has[OPTION_PID])
		fputs(",\n.BR ebeam\\-privileges (7)", f);
	fputc('\n', f);
}

static void write_command(FILE *f, const struct command *c, const struct manual_topic *more)
{
	write_title(f, c->name, 1);
	write_string(f, c->summary);
	fprintf(f, "\n.SH SYNOPSIS\n.B ebeam %s\n[\\fIOPTIONS\\fR]", c->name);
	if (*c->args) {
		fputc('\n', f);
		write_string(f, c->args);
	}
	fputs("\n.SH DESCRIPTION\n", f);
	write_description(f, c->description);
	fputs(".SH OPTIONS\nThose of all commands, and the exit status, are in\n.BR ebeam (1).\n",
	      f);
	write_options(f, c, false);
	if (more)
		write_blocks(f, more);
	write_see_also(f, c);
}

void man_write(FILE *f, const struct manual_page *page)
{
	struct strbuf summary = STRBUF_INIT;

	if (page->command) {
		write_command(f, page->command, page->topic);
	} else if (page->topic) {
		write_title(f, page->topic->name, page->topic->section);
		manual_topic_summary(page->topic, &summary);
		write_string(f, summary.buf);
		fputs("\n.SH DESCRIPTION\n", f);
		write_blocks(f, page->topic);
		write_see_also(f, NULL);
	} else {
		write_overview(f);
	}
	strbuf_free(&summary);
}
