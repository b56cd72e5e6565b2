/* SPDX-License-Identifier: BSD-2-Clause */
/* See mfa_text.h.  Syntax: print_atom_name() of beam/erl_printf_term.c, OTP 25 to 29. */
#include "beam/term/mfa_text.h"

#include <stdlib.h>
#include <string.h>

/* The character that \c means in a quoted atom. */
static char unescape(char c)
{
	static const char escapes[] = "n\nf\ft\tr\rb\bv\v";

	for (size_t i = 0; escapes[i]; i += 2) {
		if (escapes[i] == c)
			return escapes[i + 1];
	}
	return c; /* ' and backslash */
}

/* Value of three octal digits, as of a control character; -1 = not three octal digits. */
static int octal(const char *text)
{
	int value = 0;

	for (int i = 0; i < 3; i++) {
		if (text[i] < '0' || text[i] > '7')
			return -1;
		value = value * 8 + text[i] - '0';
	}
	return value <= 255 ? value : -1;
}

/* Removes quotes and escapes in place; returns the position after the atom, NULL: no end quote. */
static char *parse_quoted(char *text, char *to)
{
	while (*text && *text != '\'') {
		if (*text != '\\') {
			*to++ = *text++;
			continue;
		}
		text++;
		if (octal(text) >= 0) {
			*to++ = (char)octal(text);
			text += 3;
		} else if (*text) {
			*to++ = unescape(*text++);
		}
	}
	if (!*text)
		return NULL;
	*to = '\0';
	return text + 1;
}

/* Parses an atom up to `end`, which becomes NUL; returns the position behind that, or NULL. */
static char *parse_atom(char *text, char end, const char **out)
{
	char *after;

	*out = text;
	if (*text == '\'') {
		after = parse_quoted(text + 1, text);
		if (!after || *after != end)
			return NULL;
	} else {
		after = strchr(text, end);
		if (!after || after == text)
			return NULL;
		*after = '\0';
	}
	return after + 1;
}

bool mfa_parse(char *text, struct mfa_parts *out)
{
	char *end;
	long arity;

	text = parse_atom(text, ':', &out->module);
	text = text ? parse_atom(text, '/', &out->function) : NULL;
	if (!text || *text < '0' || *text > '9')
		return false;
	arity = strtol(text, &end, 10);
	out->arity = (int)arity;
	return !*end && arity <= 255;
}
