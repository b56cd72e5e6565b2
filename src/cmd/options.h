/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of the program: one row each, from which parsing, help, completion and the man
 * page are made.  Which of them a command takes stands in its row of commands[].
 *
 * Syntax: -x, clusters (-jv), -xVALUE, -x VALUE, --long=VALUE, --long VALUE; options and other
 * words may be mixed; everything after "--" is a word, and so is "-".  Long names are never
 * abbreviated, so that a new option cannot change the meaning of a script.  The last one of
 * equal options wins, except that -v adds up.
 */
#ifndef EBEAM_CMD_OPTIONS_H
#define EBEAM_CMD_OPTIONS_H

#include <stddef.h>

#include "base/strbuf.h"
#include "cmd/command.h"

/* Options that every command takes. */
#define OPTIONS_COMMON (OPT(QUIET) | OPT(VERBOSE) | OPT(COLOR) | OPT(HELP))

#define OPTIONS_MAX_FREQ 4999u

struct option_row {
	char short_name; /* 0 = none */
	const char *long_name;
	const char *arg;      /* name of the value in help; NULL = takes none */
	const char *help;     /* one line, lower case, no full stop */
	const char *fallback; /* default, as shown in help; NULL = none to show */
	/* Adds the words that the value may be, with a space before each; NULL = free text. */
	void (*values)(struct strbuf *out, const struct command *command);
	/* Where the value goes as it stands: offset of a const char * in struct options, or of a
	 * bool if the option takes no value.  Not used if there is set(). */
	size_t member;
	/* value is NULL if the option takes none. */
	int (*set)(struct options *opt, const char *value, struct error *err);
};

extern const struct option_row option_rows[NR_OPTIONS]; /* index = enum option_id */

/* True if the command takes the option. */
bool option_is_of(const struct command *command, enum option_id id);

void options_defaults(struct options *opt);

/*
 * Parse argv[0 .. argc-1], the words after the command's name.  What is not an option is put, in
 * order, into args[] (room for argc pointers) and counted in *nr_args.  Strings in *opt point
 * into argv.  0, or -EINVAL with a usage error.  Does not look at the number of words: see
 * options_check_args().
 */
int options_parse(const struct command *command, int argc, char **argv, struct options *opt,
		  char **args, int *nr_args, struct error *err);

/* 0, or -EINVAL with a usage error if there are too few or too many words. */
int options_check_args(const struct command *command, int nr_args, char **args, struct error *err);

/* What --mode and --weight ask to be weighed; *mode = NULL: samples of the CPU.  0, or -EINVAL with
 * a usage error. */
struct weight_mode;
int options_mode(const struct options *opt, const struct weight_mode **mode, struct error *err);

/*
 * The candidate that `word` is most likely a misspelling of, or NULL if none is near: at most
 * one third of its letters (and one at least) inserted, deleted, replaced or swapped.
 */
const char *options_nearest(const char *word, const char *const *candidates, size_t nr);

#endif
