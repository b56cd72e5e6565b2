/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam help`, `ebeam COMMAND --help`, pages of the manual and the list of commands of the README,
 * from the tables of commands and options.  Text is wrapped at 80 columns, whatever the terminal,
 * so that it can be quoted and compared.
 */
#include "cmd/program/help.h"

#include <errno.h>
#include <string.h>

#include "cmd/program/manual.h"

/* Columns where the text of an option, a command, an exit code starts. */
#define OPTION_INDENT  26
#define COMMAND_INDENT 16
#define EXIT_INDENT    7

const struct exit_row exit_rows[] = {
	{0, "done"},
	{1, "failed"},
	{2, "wrong usage"},
	{3, "no such process, or not a BEAM node"},
	{4, "privilege missing"},
	{5, "kernel feature missing"},
	{6, "OTP release or build not supported"},
	{7, "partial: a limit was reached, a capture is damaged, or fewer stacks are complete than "
	    "--min-complete asks for"},
	{130, "second Ctrl-C"},
	{0, NULL},
};

const struct environment_row environment_rows[] = {
	{"NO_COLOR", "if set and not empty, --color auto means never"},
	{"SUDO_UID, SUDO_GID", "owner of the files that ebeam writes when it runs under sudo"},
	{"DEBUGINFOD_URLS",
	 "where debug information may be fetched from; without it nothing is fetched, and the "
	 "static program (see ebeam doctor) fetches nothing at all"},
	{NULL, NULL},
};

/* ---- pieces ---------------------------------------------------------------------------------- */

void help_wrapped(FILE *f, const char *text, size_t len, size_t column, size_t indent)
{
	const char *end = text + len;
	bool first = true;

	while (text < end) {
		size_t word;

		while (text < end && (*text == ' ' || *text == '\n'))
			text++;
		for (word = 0; text + word < end && text[word] != ' ' && text[word] != '\n';)
			word++;
		if (!word)
			break;
		if (!first && column + 1 + word > HELP_WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		fprintf(f, "%s%.*s", first ? "" : " ", (int)word, text);
		column += word + !first;
		first = false;
		text += word;
	}
	fputc('\n', f);
}

/* Writes "  left      text"; the text on the next line if left is too long. */
static void write_item(FILE *f, const char *left, const char *text, int indent)
{
	int used = fprintf(f, "  %s", left);

	if (used > indent - 2)
		fprintf(f, "\n%*s", indent, "");
	else
		fprintf(f, "%*s", indent - used, "");
	help_wrapped(f, text, strlen(text), (size_t)indent, (size_t)indent);
}

bool help_next_paragraph(const char **text, struct paragraph *out)
{
	const char *end;

	if (!**text)
		return false;
	end = strstr(*text, "\n\n");
	out->text = *text;
	out->len = end ? (size_t)(end - *text) : strlen(*text);
	out->literal = strncmp(*text, "  ", 2) == 0;
	*text = end ? end + 2 : *text + out->len;
	return true;
}

void help_option_text(struct strbuf *out, const struct option_row *row,
		      const struct command *command)
{
	struct strbuf values = STRBUF_INIT;
	const char *fallback = row->fallback;

	strbuf_addstr(out, row->help);
	if (row == &option_rows[OPTION_DURATION] && !(command && command->duration_default))
		strbuf_addstr(out, "; required without a terminal");
	option_words(row, command, &values);
	for (const char *p = values.buf; values.len && *p; p++) {
		if (*p == ' ')
			strbuf_addch(out, p == values.buf ? ':' : ',');
		strbuf_addch(out, *p);
	}
	if (row == &option_rows[OPTION_EVENTS] && command && command->event_default)
		fallback = command->event_default;
	if (row == &option_rows[OPTION_FORMAT] && command && command->format_default)
		fallback = command->format_default;
	if (row == &option_rows[OPTION_FREQ] && command && command->freq_default)
		fallback = command->freq_default;
	if (row == &option_rows[OPTION_DURATION] && command && command->duration_default)
		fallback = command->duration_default;
	if (row == &option_rows[OPTION_LIMIT] && command && command->limit_default)
		fallback = command->limit_default;
	if (fallback)
		strbuf_addf(out, " (default: %s)", fallback);
	strbuf_free(&values);
}

static void write_options(FILE *f, const struct command *command)
{
	fputs("\nOptions:\n", f);
	for (int id = 0; id < NR_OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		struct strbuf left = STRBUF_INIT, text = STRBUF_INIT;

		if (!option_is_of(command, (enum option_id)id))
			continue;
		if (row->short_name)
			strbuf_addf(&left, "-%c, ", row->short_name);
		else
			strbuf_addstr(&left, "    ");
		strbuf_addf(&left, "--%s", row->long_name);
		if (row->arg)
			strbuf_addf(&left, " %s", row->arg);
		help_option_text(&text, row, command);
		write_item(f, left.buf, text.buf, OPTION_INDENT);
		strbuf_free(&left);
		strbuf_free(&text);
	}
}

/* ---- the texts ------------------------------------------------------------------------------- */

void help_overview(FILE *f)
{
	char code[16];

	fputs("ebeam looks inside a live Erlang or Elixir node from outside.\n\n"
	      "usage: ebeam COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n",
	      f);
	for (const struct command *c = commands; c->name; c++)
		write_item(f, c->name, c->summary, COMMAND_INDENT);
	fputs("\nTopics:\n", f);
	for (const struct manual_topic *t = manual_topics; t->name; t++) {
		struct strbuf summary = STRBUF_INIT, word = STRBUF_INIT;

		if (t->section == 1)
			continue;
		manual_topic_summary(t, &summary);
		manual_topic_word(t, &word);
		write_item(f, word.buf, summary.buf, COMMAND_INDENT);
		strbuf_free(&word);
		strbuf_free(&summary);
	}
	fputs("\nAn unambiguous beginning of a command's name will do. 'ebeam help COMMAND' says\n"
	      "more about one of them, 'ebeam help TOPIC' has the rest of the manual.\n\n"
	      "Exit codes:\n",
	      f);
	for (const struct exit_row *e = exit_rows; e->text; e++) {
		snprintf(code, sizeof(code), "%d", e->code);
		write_item(f, code, e->text, EXIT_INDENT);
	}
}

/* Names the pages of the manual that say more about a command than its help. */
static void write_more(FILE *f, const struct command *command)
{
	const char *before = "\nMore: ";

	for (const struct manual_topic *t = manual_topics; t->name; t++) {
		struct strbuf word = STRBUF_INIT;

		if (strcmp(t->name, command->name) == 0) {
			manual_topic_word(t, &word);
			fprintf(f, "%s'ebeam help %s'", before, word.buf);
			before = ", ";
		}
		strbuf_free(&word);
	}
	if (*before == ',')
		fputc('\n', f);
}

void help_command(FILE *f, const struct command *command)
{
	const char *text = command->description;
	struct paragraph p;

	fprintf(f, "usage: ebeam %s [OPTIONS]%s%s\n\n", command->name, *command->args ? " " : "",
		command->args);
	fprintf(f, "ebeam %s: ", command->name);
	help_wrapped(f, command->summary, strlen(command->summary), strlen(command->name) + 8, 0);
	while (help_next_paragraph(&text, &p)) {
		fputc('\n', f);
		if (p.literal)
			fprintf(f, "%.*s\n", (int)p.len, p.text);
		else
			help_wrapped(f, p.text, p.len, 0, 0);
	}
	write_options(f, command);
	write_more(f, command);
}

void help_markdown(FILE *f)
{
	fputs("| command | what it does |\n|---|---|\n", f);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(f, "| `ebeam %s%s", c->name, *c->args ? " " : "");
		/* In Markdown a bar ends a cell, even in code. */
		for (const char *a = c->args; *a; a++)
			fprintf(f, *a == '|' ? "\\|" : "%c", *a);
		fprintf(f, "` | %s |\n", c->summary);
	}
}

/* Finds the page of the arguments [SECTION] [NAME]. */
static int find_page(const struct command_context *ctx, int *section, struct manual_page *page,
		     struct error *err)
{
	const char *first = ctx->nr_args ? ctx->args[0] : "";

	*section = first[0] >= '1' && first[0] <= '9' && !first[1] ? first[0] - '0' : 0;
	if (!*section && ctx->nr_args > 1)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' is no section of the manual: these are 1, 5 and 7", first);
	if (*section && ctx->nr_args == 1)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "which page of section %s? (see 'ebeam help --list')", first);
	return manual_find(*section, ctx->nr_args ? ctx->args[ctx->nr_args - 1] : NULL, page, err);
}

int cmd_help(struct command_context *ctx, struct error *err)
{
	const struct options *opt = &ctx->opt;
	struct manual_page page;
	int section;

	if (opt->man + opt->markdown + opt->list > 1)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--man, --markdown and --list exclude each other");
	if (ctx->nr_args && (opt->markdown || opt->list))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--markdown and --list are about all commands, not about '%s'",
				 ctx->args[0]);
	if (find_page(ctx, &section, &page, err) < 0)
		return -EINVAL;
	if (opt->man) {
		man_write(ctx->out, &page);
	} else if (opt->markdown) {
		help_markdown(ctx->out);
	} else if (opt->list) {
		manual_list(ctx->out);
	} else if (page.command) {
		help_command(ctx->out, page.command);
		if (section && page.topic) {
			fputc('\n', ctx->out);
			topic_text_write(ctx->out, page.topic);
		}
	} else if (page.topic) {
		topic_text_write(ctx->out, page.topic);
	} else {
		help_overview(ctx->out);
	}
	return 0;
}
