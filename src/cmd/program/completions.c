/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam completions SHELL`: scripts for bash, zsh and fish, from the tables of commands and
 * options.  They are static: completing never runs ebeam and so never needs root.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/program/manual.h"

/* What a word may be that is not the name of an option. */
enum word_kind { WORD_NONE, WORD_FREE, WORD_FILE, WORD_COMMAND, WORD_SHELL };

static enum word_kind option_word(const struct option_row *row)
{
	if (!row->arg)
		return WORD_NONE;
	if (strcmp(row->arg, "FILE") == 0 || strcmp(row->arg, "CAPTURE") == 0 ||
	    strcmp(row->arg, "BEAM") == 0)
		return WORD_FILE;
	return WORD_FREE;
}

static enum word_kind command_word(const struct command *c)
{
	if (!c->max_args)
		return WORD_NONE;
	if (strcmp(c->args, "[SECTION] [COMMAND|TOPIC]") == 0)
		return WORD_COMMAND;
	if (strcmp(c->args, "SHELL") == 0)
		return WORD_SHELL;
	return WORD_FILE;
}

static void add_command_names(struct strbuf *out)
{
	for (const struct command *c = commands; c->name; c++)
		strbuf_addf(out, " %s", c->name);
}

/* Adds the names of topics that are no commands. */
static void add_topic_names(struct strbuf *out)
{
	for (const struct manual_topic *t = manual_topics; t->name; t++) {
		const struct command *c = commands;

		while (c->name && strcmp(c->name, t->name) != 0)
			c++;
		if (!c->name)
			strbuf_addf(out, " %s", t->name);
	}
}

static void add_shells(struct strbuf *out);

/* Adds the possible words, a space before each; nothing for files and free text. */
static void add_words(struct strbuf *out, enum word_kind kind)
{
	if (kind == WORD_COMMAND) {
		add_command_names(out);
		add_topic_names(out);
	}
	if (kind == WORD_SHELL)
		add_shells(out);
}

/* Writes text for use between single quotes of the shell; escapes the characters of `also`, too. */
static void write_quoted(FILE *f, const char *text, const char *quote, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, f);
		else if (strchr(also, *text))
			fprintf(f, "\\%c", *text);
		else
			fputc(*text, f);
	}
}

/* ---- bash --------------------------------------------------------------------------------- */

/* Writes an arm of a case statement for each option that takes a value. */
static void write_bash_values(FILE *f, const struct command *c)
{
	for (int id = 0; id < NR_OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		struct strbuf words = STRBUF_INIT;

		if (!option_is_of(c, (enum option_id)id) || !row->arg)
			continue;
		fprintf(f, "\t%s:--%s", c->name, row->long_name);
		if (row->short_name)
			fprintf(f, " | %s:-%c", c->name, row->short_name);
		option_words(row, c, &words);
		if (option_word(row) == WORD_FILE)
			fputs(") compopt -o default; return ;;\n", f);
		else if (words.len)
			fprintf(f, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
				words.buf + 1);
		else
			fputs(") return ;;\n", f);
		strbuf_free(&words);
	}
}

static void write_bash_words(FILE *f, const struct command *c)
{
	struct strbuf words = STRBUF_INIT;

	add_words(&words, command_word(c));
	fprintf(f, "\t%s)\n\t\toptions='", c->name);
	for (int id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(c, (enum option_id)id))
			fprintf(f, "--%s%s", option_rows[id].long_name,
				id == OPTION_HELP ? "" : " ");
	fprintf(f, "' words='%s' files=%s\n\t\t;;\n", words.len ? words.buf + 1 : "",
		command_word(c) == WORD_FILE ? "yes" : "");
	strbuf_free(&words);
}

static void write_bash(FILE *f)
{
	struct strbuf names = STRBUF_INIT;

	add_command_names(&names);
	fputs("# bash completion of ebeam; made by 'ebeam completions bash'\n"
	      "_ebeam()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal command= options= words= files=\n"
	      "\tCOMPREPLY=()\n"
	      "\t# '=' is a word of its own in --option=value\n"
	      "\tif [[ $cur == '=' ]]; then\n"
	      "\t\tcur=\n"
	      "\telif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then\n"
	      "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\t((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}\n"
	      "\tcase $command:$prev in\n",
	      f);
	for (const struct command *c = commands; c->name; c++)
		write_bash_values(f, c);
	fprintf(f,
		"\tesac\n\tcase $command in\n"
		"\t'')\n\t\toptions='--help --version' words='%s'\n\t\t;;\n",
		names.buf + 1);
	for (const struct command *c = commands; c->name; c++)
		write_bash_words(f, c);
	fputs("\tesac\n"
	      "\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\telif [[ $files ]]; then\n"
	      "\t\tcompopt -o default\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _ebeam ebeam\n",
	      f);
	strbuf_free(&names);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

/* One argument of _arguments: '(-f --format)'{-f+,--format=}'[help]:FORMAT:(html svg)'. */
static void write_zsh_option(FILE *f, const struct option_row *row, const struct command *c)
{
	struct strbuf words = STRBUF_INIT;

	fputs(" \\\n\t\t\t", f);
	if (row->short_name)
		fprintf(f, "'(-%c --%s)'{-%c%s,--%s%s}'", row->short_name, row->long_name,
			row->short_name, row->arg ? "+" : "", row->long_name, row->arg ? "=" : "");
	else
		fprintf(f, "'--%s%s", row->long_name, row->arg ? "=" : "");
	fputc('[', f);
	write_quoted(f, row->help, "'\\''", "[]:");
	fputc(']', f);
	option_words(row, c, &words);
	if (option_word(row) == WORD_FILE)
		fprintf(f, ":%s:_files", row->arg);
	else if (words.len)
		fprintf(f, ":%s:(%s)", row->arg, words.buf + 1);
	else if (row->arg)
		fprintf(f, ":%s: ", row->arg);
	fputc('\'', f);
	strbuf_free(&words);
}

static void write_zsh_command(FILE *f, const struct command *c)
{
	struct strbuf words = STRBUF_INIT;

	fprintf(f, "\t\t%s)\n\t\t\t_arguments -s", c->name);
	for (int id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(c, (enum option_id)id))
			write_zsh_option(f, &option_rows[id], c);
	add_words(&words, command_word(c));
	if (command_word(c) == WORD_FILE)
		fputs(" \\\n\t\t\t'*:file:_files'", f);
	else if (words.len)
		fprintf(f, " \\\n\t\t\t'1:word:(%s)'", words.buf + 1);
	fputs("\n\t\t\t;;\n", f);
	strbuf_free(&words);
}

static void write_zsh(FILE *f)
{
	fputs("#compdef ebeam\n# zsh completion of ebeam; made by 'ebeam completions zsh'\n"
	      "_ebeam()\n{\n"
	      "\tlocal context state state_descr line\n"
	      "\ttypeset -A opt_args\n"
	      "\tlocal -a commands\n"
	      "\tcommands=(\n",
	      f);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(f, "\t\t'%s:", c->name);
		write_quoted(f, c->summary, "'\\''", ":\\");
		fputs("'\n", f);
	}
	fputs("\t)\n"
	      "\t_arguments -C '(-h --help)'{-h,--help}'[show help]' '--version[show the version]' "
	      "\\\n\t\t'1: :->command' '*:: :->rest'\n"
	      "\tcase $state in\n"
	      "\tcommand)\n\t\t_describe -t commands 'ebeam command' commands\n\t\t;;\n"
	      "\trest)\n\t\tcase $words[1] in\n",
	      f);
	for (const struct command *c = commands; c->name; c++)
		write_zsh_command(f, c);
	/* In a directory of $fpath the file is the body of the function; when sourced it is not. */
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n"
	      "if [[ $funcstack[1] == _ebeam ]]; then\n\t_ebeam \"$@\"\n"
	      "else\n\tcompdef _ebeam ebeam\nfi\n",
	      f);
}

/* ---- fish --------------------------------------------------------------------------------- */

static void write_fish_option(FILE *f, const struct option_row *row, const struct command *c)
{
	struct strbuf words = STRBUF_INIT;

	fprintf(f, "complete -c ebeam -n '__fish_seen_subcommand_from %s'", c->name);
	if (row->short_name)
		fprintf(f, " -s %c", row->short_name);
	fprintf(f, " -l %s", row->long_name);
	option_words(row, c, &words);
	if (option_word(row) == WORD_FILE)
		fputs(" -r -F", f);
	else if (words.len)
		fprintf(f, " -x -a '%s'", words.buf + 1);
	else if (row->arg)
		fputs(" -x", f);
	fputs(" -d '", f);
	write_quoted(f, row->help, "\\'", "\\");
	fputs("'\n", f);
	strbuf_free(&words);
}

static void write_fish(FILE *f)
{
	fputs("# fish completion of ebeam; made by 'ebeam completions fish'\n"
	      "complete -c ebeam -f\n"
	      "complete -c ebeam -n __fish_use_subcommand -s h -l help -d 'show help'\n"
	      "complete -c ebeam -n __fish_use_subcommand -l version -d 'show the version'\n",
	      f);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(f, "complete -c ebeam -n __fish_use_subcommand -a %s -d '", c->name);
		write_quoted(f, c->summary, "\\'", "\\");
		fputs("'\n", f);
	}
	for (const struct command *c = commands; c->name; c++) {
		struct strbuf words = STRBUF_INIT;

		for (int id = 0; id < NR_OPTIONS; id++)
			if (option_is_of(c, (enum option_id)id))
				write_fish_option(f, &option_rows[id], c);
		add_words(&words, command_word(c));
		if (command_word(c) == WORD_FILE)
			fprintf(f, "complete -c ebeam -n '__fish_seen_subcommand_from %s' -F\n",
				c->name);
		else if (words.len)
			fprintf(f,
				"complete -c ebeam -n '__fish_seen_subcommand_from %s' -a '%s'\n",
				c->name, words.buf + 1);
		strbuf_free(&words);
	}
}

/* ---- the command -------------------------------------------------------------------------- */

static const struct shell {
	const char *name;
	void (*write)(FILE *f);
} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

static void add_shells(struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		strbuf_addf(out, " %s", shells[i].name);
}

int cmd_completions(struct command_context *ctx, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(shells[i].name, ctx->args[0]) == 0) {
			shells[i].write(ctx->out);
			return 0;
		}
	}
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "no completions for '%s'; shells are bash, zsh and fish", ctx->args[0]);
}
