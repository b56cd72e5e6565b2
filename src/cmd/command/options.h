/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of the program: a table from which parsing, help, completion and the man page are
 * made.  commands[] has the set of options that each command takes.
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
#include "cmd/command/command.h"

#define OPTIONS_MAX_FREQ 4999u

enum option_type {
	OPTION_FLAG,	/* bool; takes no value */
	OPTION_TEXT,	/* const char *, not empty */
	OPTION_NUMBER,	/* unsigned int */
	OPTION_TIME,	/* uint64_t, ns */
	OPTION_PERCENT, /* double */
	OPTION_CHOICE,	/* an enum: index of the word in word() */
	OPTION_NAME,	/* const char *: a word of word() */
	OPTION_OWN,	/* parsed by set() */
};

struct option_row {
	char short_name; /* 0 = none */
	const char *long_name;
	const char *arg;      /* name of the value in help; NULL = takes none */
	const char *help;     /* one line, lower case, no full stop */
	const char *fallback; /* default, as shown in help; NULL = none to show */
	enum option_type type;
	size_t member; /* where the value goes: offset in struct options */
	/* Text for errors: what a value must be; NULL = every value is valid, or word() has them
	 * all. */
	const char *want;
	unsigned int min, max;		     /* of OPTION_NUMBER; OPTION_PERCENT: min 1 = not 0 */
	const char *(*word)(unsigned int i); /* valid values, by index; NULL after the last */
	/* Adds valid values that depend on the command, with a space before each. */
	void (*values)(struct strbuf *out, const struct command *command);
	int (*set)(struct options *opt, const char *value, struct error *err); /* OPTION_OWN */
};

extern const struct option_row option_rows[NR_OPTIONS]; /* index = enum option_id */

/* Adds the valid values of an option, with a space before each; nothing if it takes free text. */
void option_words(const struct option_row *row, const struct command *command, struct strbuf *out);
/* Sets a usage error about a value that the row does not allow; returns -EINVAL. */
int option_bad_value(const struct option_row *row, const char *value, struct error *err);
/* Parses one to nine digits.  False: `text` is anything else, or not in min .. max. */
bool option_parse_number(const char *text, unsigned int min, unsigned int max, unsigned int *out);

/* Do all commands take the option?  Does this command? */
bool option_is_common(enum option_id id);
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
/* Refuses a run that nothing would end: `ends` = by itself; else Ctrl-C must be possible. */
int options_check_end(bool ends, struct error *err);

/* Finds the mode of --mode and --weight; *mode = NULL: samples of the CPU.  0, or -EINVAL with a
 * usage error. */
struct weight_mode;
int options_mode(const struct options *opt, const struct weight_mode **mode, struct error *err);

/*
 * The candidate that `word` is most likely a misspelling of; NULL if none is near.  At most a third
 * of its letters (but at least one) may be inserted, deleted, replaced or swapped.
 */
const char *options_nearest(const char *word, const char *const *candidates, size_t nr);

#endif
