/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by help, the manual page and the list in the README. */
#ifndef EBEAM_CMD_HELP_H
#define EBEAM_CMD_HELP_H

#include <stddef.h>

#include "base/strbuf.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"

#define HELP_WIDTH 79 /* last column used */

struct exit_row {
	int code;
	const char *text;
};
extern const struct exit_row exit_rows[]; /* ends with text == NULL */

struct environment_row {
	const char *name, *text;
};
extern const struct environment_row environment_rows[]; /* ends with name == NULL */

/* Adds the help line of an option, with the words it takes and its default. */
void help_option_text(struct strbuf *out, const struct option_row *row,
		      const struct command *command);

/* One paragraph or literal block of a description. */
struct paragraph {
	const char *text;
	size_t len;
	bool literal; /* its lines start with two spaces: not to be wrapped */
};
/* Gets the next paragraph, and moves *text behind it; false at the end. */
bool help_next_paragraph(const char **text, struct paragraph *out);

/* Writes words from `column` on, wrapped, further lines indented; ends the line. */
void help_wrapped(FILE *f, const char *text, size_t len, size_t column, size_t indent);

void help_overview(FILE *f);
void help_command(FILE *f, const struct command *command);
void help_markdown(FILE *f);
void version_write(FILE *f);

#endif
