/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam help --man`: ebeam(1) as troff source with the man macros, from the same tables as the
 * help.  No date stands in it, so that the same source always gives the same bytes.
 */
#include <string.h>

#include "cmd/host/kernel_faults.h"
#include "cmd/program/help.h"

/* Text with what troff would take for its own made literal.  Newlines stay. */
static void write_troff(FILE *f, const char *text, size_t len)
{
	bool line_start = true;

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
		else
			fputc(c, f);
	}
}

static void write_string(FILE *f, const char *text)
{
	write_troff(f, text, strlen(text));
}

static void write_description(FILE *f, const char *text)
{
	struct paragraph p;

	while (help_next_paragraph(&text, &p)) {
		fputs(p.literal ? ".PP\n.EX\n" : ".PP\n", f);
		write_troff(f, p.text, p.len);
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

/* The common options stand once, before the commands. */
static void write_options(FILE *f, const struct command *command, bool common)
{
	for (int id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(command, (enum option_id)id) &&
		    option_is_common((enum option_id)id) == common)
			write_option(f, &option_rows[id], command);
}

static void write_faults(FILE *f)
{
	fputs(".SH KNOWN KERNEL FAULTS\n"
	      "What users of uprobes, perf events and BPF have met, and what ebeam does about it.\n"
	      "Versions are those of kernel.org; distributions repair earlier releases.\n"
	      ".B ebeam doctor\nsays which of them this kernel has, mostly by trying.\n",
	      f);
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

void man_write(FILE *f)
{
	fprintf(f, ".TH EBEAM 1 \"\" \"ebeam %s\" \"User Commands\"\n", EBEAM_VERSION);
	fputs(".SH NAME\nebeam \\- look inside a live Erlang or Elixir node from outside\n"
	      ".SH SYNOPSIS\n.B ebeam\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
	      ".SH DESCRIPTION\n"
	      "Profiles and inspects a node without its help: no cookie, no remote shell, no\n"
	      "restart, no code loaded, no pause. The node's memory is only read.\n"
	      ".PP\n"
	      "An unambiguous beginning of a command\\(aqs name will do.\n"
	      "Data goes to standard output, everything else to standard error.\n"
	      ".SH OPTIONS OF ALL COMMANDS\n",
	      f);
	write_options(f, &commands[0], true);
	fputs(".SH COMMANDS\n", f);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(f, ".SS ebeam %s [OPTIONS]%s%s\n", c->name, *c->args ? " " : "", c->args);
		write_string(f, c->summary);
		fputc('\n', f);
		write_description(f, c->description);
		write_options(f, c, false);
	}
	write_faults(f);
	fputs(".SH EXIT STATUS\n", f);
	for (const struct exit_row *e = exit_rows; e->text; e++) {
		fprintf(f, ".TP\n.B %d\n", e->code);
		write_string(f, e->text);
		fputc('\n', f);
	}
	fputs(".SH ENVIRONMENT\n", f);
	for (const struct environment_row *e = environment_rows; e->name; e++) {
		fprintf(f, ".TP\n.B %s\n", e->name);
		write_string(f, e->text);
		fputc('\n', f);
	}
	fputs(".SH SEE ALSO\n.BR perf (1),\n.BR erl (1)\n", f);
}
