/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See options.h.  Own parsing instead of getopt_long(): that one keeps its state in globals,
 * prints to stderr by itself and has no hint for a misspelt option.
 */
#include "cmd/command/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/distance.h"
#include "base/units.h"

bool option_is_common(enum option_id id)
{
	return id == OPTION_QUIET || id == OPTION_VERBOSE || id == OPTION_COLOR ||
	       id == OPTION_HELP;
}

bool option_is_of(const struct command *command, enum option_id id)
{
	return command->options.has[id] || option_is_common(id);
}

void options_defaults(struct options *opt)
{
	memset(opt, 0, sizeof(*opt));
	opt->freq = 99;
	opt->by = SNAPSHOT_BY_NAME;
	opt->max_overhead = 1;
}

/* ---- hints -------------------------------------------------------------------------------- */

const char *options_nearest(const char *word, const char *const *candidates, size_t nr)
{
	size_t best = MAX(strlen(word) / 3, (size_t)1) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < nr; i++) {
		size_t distance = word_distance(word, candidates[i]);

		if (distance < best) {
			best = distance;
			found = candidates[i];
		}
	}
	return found;
}

static int unknown_long(const struct command *command, const char *name, struct error *err)
{
	const char *candidates[NR_OPTIONS], *near;
	size_t nr = 0;

	for (int id = 0; id < NR_OPTIONS; id++) {
		if (strcmp(option_rows[id].long_name, name) == 0)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 "'%s' has no option --%s (see 'ebeam help %s')",
					 command->name, name, command->name);
		if (option_is_of(command, (enum option_id)id))
			candidates[nr++] = option_rows[id].long_name;
	}
	near = options_nearest(name, candidates, nr);
	if (near)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "unknown option --%s; did you mean --%s? (see 'ebeam help %s')",
				 name, near, command->name);
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "unknown option --%s (see 'ebeam help %s')", name, command->name);
}

/* ---- values ------------------------------------------------------------------------------- */

int option_bad_value(const struct option_row *row, const char *value, struct error *err)
{
	struct strbuf words = STRBUF_INIT;
	int rc;

	for (unsigned int i = 0; row->word && row->word(i); i++)
		strbuf_addf(&words, "%s%s", i ? ", " : "one of ", row->word(i));
	rc = error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s: '%s' is not %s", row->long_name,
		       value, row->word ? words.buf : row->want);
	strbuf_free(&words);
	return rc;
}

/* Digits only: strtoul() would take signs, spaces and hexadecimal. */
bool option_parse_number(const char *text, unsigned int min, unsigned int max, unsigned int *out)
{
	unsigned int value = 0;

	if (!*text || strlen(text) > 9)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned int)(*text - '0');
	}
	*out = value;
	return value >= min && value <= max;
}

static bool parse_percent(const char *text, double *out)
{
	size_t len = strlen(text);
	char *end;

	if (!len || strspn(text, "0123456789.") != len)
		return false;
	*out = strtod(text, &end);
	return !*end && *out >= 0 && *out <= 100;
}

static bool find_word(const struct option_row *row, const char *value, unsigned int *word)
{
	for (*word = 0; row->word(*word); ++*word) {
		if (strcmp(row->word(*word), value) == 0)
			return true;
	}
	*word = 0;
	return false;
}

void option_words(const struct option_row *row, const struct command *command, struct strbuf *out)
{
	if (row->values)
		row->values(out, command);
	for (unsigned int i = 0; row->word && row->word(i); i++)
		strbuf_addf(out, " %s", row->word(i));
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* argv, parsed up to index `at`. */
struct words {
	int argc, at;
	char **argv;
};

static int apply(struct options *opt, int id, const char *value, struct error *err)
{
	const struct option_row *row = &option_rows[id];
	void *member = (char *)opt + row->member;

	unsigned int word = 0;
	bool good = true;

	/* A repeated option replaces the earlier value, but two nodes are more likely a mistake. */
	if (id == OPTION_PID && opt->pid && strcmp(opt->pid, value) != 0)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-p is given twice, '%s' and '%s', but a command looks at one "
				 "node: run it once for each",
				 opt->pid, value);
	opt->given.has[id] = true;
	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_TEXT:
		if (!*value)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s needs %s, not ''",
					 row->long_name, row->arg);
		*(const char **)member = value;
		break;
	case OPTION_NUMBER:
		good = option_parse_number(value, row->min, row->max, member);
		break;
	case OPTION_TIME:
		good = units_parse_duration(value, member) == 0;
		break;
	case OPTION_PERCENT:
		good = parse_percent(value, member) && (!row->min || *(double *)member > 0);
		break;
	case OPTION_CHOICE:
		good = find_word(row, value, &word);
		*(unsigned int *)member = word;
		break;
	case OPTION_NAME:
		good = find_word(row, value, &word);
		*(const char **)member = value;
		break;
	case OPTION_OWN:
		return row->set(opt, value, err);
	}
	return good ? 0 : option_bad_value(row, value, err);
}

static int parse_long(const struct command *command, struct words *w, struct options *opt,
		      struct error *err)
{
	char *name = w->argv[w->at] + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	char text[64];
	int id;

	for (id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(command, (enum option_id)id) &&
		    strlen(option_rows[id].long_name) == len &&
		    strncmp(option_rows[id].long_name, name, len) == 0)
			break;
	if (id == NR_OPTIONS) {
		len = MIN(len, sizeof(text) - 1);
		memcpy(text, name, len);
		text[len] = '\0';
		return unknown_long(command, text, err);
	}
	if (equals)
		value = equals + 1;
	if (value && !option_rows[id].arg)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "option --%s takes no value",
				 option_rows[id].long_name);
	if (!value && option_rows[id].arg) {
		if (++w->at >= w->argc)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "option --%s needs %s",
					 option_rows[id].long_name, option_rows[id].arg);
		value = w->argv[w->at];
	}
	return apply(opt, id, value, err);
}

/* Parses a word that starts with a single "-": one or several options, of which the last may have a
 * value. */
static int parse_cluster(const struct command *command, struct words *w, struct options *opt,
			 struct error *err)
{
	for (char *p = w->argv[w->at] + 1; *p; p++) {
		char *value = NULL;
		bool known = false;
		int id, rc;

		for (id = 0; id < NR_OPTIONS; id++) {
			known |= option_rows[id].short_name == *p;
			if (option_rows[id].short_name == *p &&
			    option_is_of(command, (enum option_id)id))
				break;
		}
		if (id == NR_OPTIONS)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 known ? "'%s' has no option -%c (see 'ebeam help %s')"
					       : "'%s': unknown option -%c (see 'ebeam help %s')",
					 command->name, *p, command->name);
		if (option_rows[id].arg) {
			value = p[1] ? p + 1 : NULL;
			if (!value && ++w->at >= w->argc)
				return error_set(err, ERROR_KIND_USAGE, -EINVAL,
						 "option -%c needs %s", *p, option_rows[id].arg);
			if (!value)
				value = w->argv[w->at];
		}
		rc = apply(opt, id, value, err);
		if (rc || value)
			return rc;
	}
	return 0;
}

int options_parse(const struct command *command, int argc, char **argv, struct options *opt,
		  char **args, int *nr_args, struct error *err)
{
	struct words w = {.argc = argc, .argv = argv};

	options_defaults(opt);
	*nr_args = 0;
	for (; w.at < argc; w.at++) {
		char *word = argv[w.at];
		int rc = 0;

		if (strcmp(word, "--") == 0) {
			for (w.at++; w.at < argc; w.at++)
				args[(*nr_args)++] = argv[w.at];
			break;
		}
		if (strncmp(word, "--", 2) == 0)
			rc = parse_long(command, &w, opt, err);
		else if (word[0] == '-' && word[1])
			rc = parse_cluster(command, &w, opt, err);
		else
			args[(*nr_args)++] = word;
		if (rc)
			return rc;
	}
	return 0;
}

int options_check_args(const struct command *command, int nr_args, char **args, struct error *err)
{
	if (nr_args < command->min_args)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' needs %s (see 'ebeam help %s')", command->name,
				 command->args, command->name);
	if (nr_args > command->max_args)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s': unexpected argument '%s' (see 'ebeam help %s')",
				 command->name, args[command->max_args], command->name);
	return 0;
}

int options_check_end(bool ends, struct error *err)
{
	if (!ends && !isatty(STDIN_FILENO) && !isatty(STDERR_FILENO))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "give a duration, such as -d 10s: there is no terminal on which "
				 "Ctrl-C could end the run");
	return 0;
}
