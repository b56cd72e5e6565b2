/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lexer of call patterns: Erlang's words (tokens) as in erl_scan.erl of OTP 25 to 29, and what
 * Elixir's lexer (call_lex_elixir.c) has in common with it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"
#include "names/utf8.h"

#define SHOWN 300 /* bytes of the text that an error shows around its position */

static const char *const reserved[] = {
	"after", "and",	 "andalso", "band",   "begin",	 "bnot", "bor", "bsl",	"bsr",
	"bxor",	 "case", "catch",   "cond",   "div",	 "end",	 "fun", "if",	"let",
	"not",	 "of",	 "or",	    "orelse", "receive", "rem",	 "try", "when", "xor",
};

/* Longer signs before their prefixes. */
static const char *const erlang_signs[] = {
	"=:=", "=/=", "...", "->", "==", "/=", "=<", ">=", "<<", ">>", ":=", "=>",
	"++",  "--",  "||",  "<-", "<",	 ">",  "=",  "(",  ")",	 "[",  "]",  "{",
	"}",   ",",   ";",   "|",  "+",	 "-",  "*",  "/",  ":",	 ".",  "#",
};

bool call_is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

bool call_is_upper(char c)
{
	return (c >= 'A' && c <= 'Z') || c == '_';
}

bool call_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool call_is_word(char c)
{
	return call_is_lower(c) || call_is_upper(c) || call_is_digit(c) || c == '@';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- errors --------------------------------------------------------------------------------- */

static size_t columns(const char *text, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

int call_fail(struct call_parser *p, size_t at, const char *fmt, ...)
{
	size_t from = at > SHOWN / 2 ? at - SHOWN / 2 : 0, len = strlen(p->text), to;
	struct strbuf shown = STRBUF_INIT;
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	while (from > 0 && ((unsigned char)p->text[from] & 0xc0) == 0x80)
		from--;
	to = MIN(len, from + SHOWN);
	while (to < len && ((unsigned char)p->text[to] & 0xc0) == 0x80)
		to--;
	/* One column for each character: tabs and control characters become blanks. */
	for (size_t i = from; i < to; i++)
		strbuf_addch(&shown, (unsigned char)p->text[i] < ' ' || p->text[i] == 0x7f
					     ? ' '
					     : p->text[i]);
	error_set(p->err, ERROR_KIND_USAGE, -EINVAL, "column %zu: %s\n  %s%s%s\n  %*s^",
		  columns(p->text, 0, at) + 1, what, from ? "..." : "", shown.buf,
		  to < len ? "..." : "", (int)(columns(p->text, from, at) + (from ? 3 : 0)), "");
	strbuf_free(&shown);
	return -EINVAL;
}

int call_expected(struct call_parser *p, const char *what)
{
	if (p->now.kind == WORD_END)
		return call_fail(p, p->now.at, "expected %s, but the text ends", what);
	return call_fail(p, p->now.at, "expected %s, not %.*s", what,
			 (int)MIN(p->now.len, (size_t)40), p->text + p->now.at);
}

bool call_is_sign(const struct call_parser *p, const char *sign)
{
	return p->now.kind == WORD_SIGN && strcmp(p->now.sign, sign) == 0;
}

bool call_is_reserved(const struct call_parser *p, const char *word)
{
	return p->now.kind == WORD_RESERVED && strcmp(p->word.buf, word) == 0;
}

bool call_is_name(const struct call_parser *p, const char *name)
{
	return p->now.kind == (p->elixir ? WORD_VARIABLE : WORD_ATOM) &&
	       strcmp(p->word.buf, name) == 0;
}

int call_take(struct call_parser *p, const char *sign, const char *expected)
{
	return call_is_sign(p, sign) ? call_next(p) : call_expected(p, expected);
}

/* ---- characters ----------------------------------------------------------------------------- */

/* -1: no hex digit */
static int hex_digit(char c)
{
	if (call_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int call_code_point(struct call_parser *p, size_t at, int fewest, int most, const char *expected,
		    uint32_t *c)
{
	const char *s = p->text;
	bool braces = s[p->at] == '{';
	int nr = 0;

	p->at += braces;
	for (*c = 0; hex_digit(s[p->at]) >= 0 && nr < (braces ? 6 : most); nr++)
		*c = *c * 16 + (uint32_t)hex_digit(s[p->at++]);
	if (nr < (braces ? 1 : fewest) || (braces && s[p->at] != '}'))
		return call_fail(p, at, "expected %s", expected);
	p->at += braces;
	if (*c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return call_fail(p, at, "no character has this number");
	return 0;
}

/* Parses an escape sequence, behind its backslash. */
static int escape(struct call_parser *p, uint32_t *c)
{
	static const char letters[] = "bdefnrstv", values[] = "\b\177\033\f\n\r \t\v";
	const char *s = p->text, *found;
	size_t at = p->at - 1;

	*c = (unsigned char)s[p->at];
	if (!*c)
		return call_fail(p, at, "expected a character behind \\");
	if (*c == 'x') {
		p->at++;
		return call_code_point(p, at, 2, 2, "\\xHH or \\x{HHHH}", c);
	}
	if (*c >= '0' && *c <= '7') {
		*c = 0;
		for (int i = 0; i < 3 && s[p->at] >= '0' && s[p->at] <= '7'; i++)
			*c = *c * 8 + (uint32_t)(s[p->at++] - '0');
		return 0;
	}
	if (*c == '^' && s[p->at + 1] >= '@' && s[p->at + 1] <= '_') {
		*c = (unsigned char)s[p->at + 1] & 0x1f;
		p->at += 2;
		return 0;
	}
	p->at += utf8_decode(s + p->at, strlen(s + p->at), c);
	found = *c < 0x80 ? strchr(letters, (int)*c) : NULL;
	if (found)
		*c = (unsigned char)values[found - letters];
	return 0;
}

/* Parses one character, escaped or not; p->at is then behind it. */
static int character(struct call_parser *p, uint32_t *c)
{
	if (p->text[p->at] == '\\') {
		p->at++;
		return escape(p, c);
	}
	p->at += utf8_decode(p->text + p->at, strlen(p->text + p->at), c);
	return 0;
}

void call_add_character(struct strbuf *out, uint32_t c)
{
	if (c)
		utf8_add(out, c);
	else
		strbuf_add(out, "\xc0\x80", 2);
}

int call_not_closed(struct call_parser *p, size_t at, char quote)
{
	return call_fail(p, at, "expected another %c to end this", quote);
}

int call_quoted(struct call_parser *p, char quote)
{
	size_t at = p->at;
	uint32_t c;

	if (p->elixir)
		return call_elixir_quoted(p, quote, false);
	p->at++;
	strbuf_reset(&p->word);
	while (p->text[p->at] && p->text[p->at] != quote) {
		if (character(p, &c))
			return -EINVAL;
		call_add_character(&p->word, c);
	}
	if (p->text[p->at] != quote)
		return call_not_closed(p, at, quote);
	p->at++;
	return 0;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Appends digits, with single underscores between them, to p->word. */
static void digits(struct call_parser *p, unsigned int base)
{
	const char *s = p->text;

	strbuf_reset(&p->word);
	for (;; p->at++) {
		char c = s[p->at];
		int d = hex_digit(c);

		if (base > 16 && d < 0 && ((c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z')))
			d = (c | 0x20) - 'a' + 10;
		if (c == '_' && p->word.len && call_is_word(s[p->at + 1]) && s[p->at + 1] != '_')
			continue;
		if (d < 0 || d >= (int)base)
			return;
		strbuf_addch(&p->word, c);
	}
}

/* Parses a number of a base, behind the letter or # in front of its digits. */
static int in_base(struct call_parser *p, unsigned int base)
{
	p->at++;
	digits(p, base);
	if (!bigint_parse(&p->number, p->word.buf, p->word.len, base))
		return call_fail(p, p->at, "expected a digit of base %u", base);
	return 0;
}

/* Base of Elixir's 0x1f, 0o17, 0b11; 0: not a prefix. */
static unsigned int prefix_base(char c)
{
	return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

static int based(struct call_parser *p, size_t at)
{
	long base = strtol(p->word.buf, NULL, 10);

	if (p->word.len > 2 || base < 2 || base > 36)
		return call_fail(p, at, "expected a base of 2 to 36 in front of #");
	return in_base(p, (unsigned int)base);
}

/* Parses .5e-3 behind the digits of a number. */
static int fraction(struct call_parser *p, size_t at)
{
	struct strbuf all = STRBUF_INIT;
	const char *s = p->text;

	strbuf_add(&all, p->word.buf, p->word.len);
	strbuf_addch(&all, '.');
	p->at++;
	digits(p, 10);
	strbuf_add(&all, p->word.buf, p->word.len);
	if (s[p->at] == 'e' || s[p->at] == 'E') {
		size_t sign = s[p->at + 1] == '-' || s[p->at + 1] == '+';

		if (call_is_digit(s[p->at + 1 + sign])) {
			strbuf_add(&all, s + p->at, 1 + sign);
			p->at += 1 + sign;
			digits(p, 10);
			strbuf_add(&all, p->word.buf, p->word.len);
		}
	}
	p->now.kind = WORD_FLOAT;
	p->now.real = strtod(all.buf, NULL);
	strbuf_free(&all);
	return isfinite(p->now.real) ? 0 : call_fail(p, at, "this is too large for a float");
}

int call_number(struct call_parser *p)
{
	const char *s = p->text;
	size_t at = p->at;
	int rc = 0;

	p->now.kind = WORD_INTEGER;
	digits(p, 10);
	if (p->elixir && p->at == at + 1 && s[at] == '0' && prefix_base(s[p->at]))
		rc = in_base(p, prefix_base(s[p->at]));
	else if (s[p->at] == '#' && !p->elixir)
		rc = based(p, at);
	else if (s[p->at] == '.' && call_is_digit(s[p->at + 1]))
		rc = fraction(p, at);
	else if (!bigint_parse(&p->number, p->word.buf, p->word.len, 10))
		rc = call_fail(p, at, "this is too large a number");
	if (rc == 0 && call_is_word(s[p->at]))
		rc = call_fail(p, p->at, "expected the end of a number");
	return rc;
}

/* Parses $c. */
static int character_number(struct call_parser *p)
{
	uint32_t c;

	p->now.kind = WORD_INTEGER;
	p->at++;
	if (!p->text[p->at])
		return call_fail(p, p->at, "expected a character behind $");
	if (character(p, &c))
		return -EINVAL;
	bigint_set(&p->number, c);
	return 0;
}

bool call_pid(struct call_parser *p)
{
	const char *s = p->text + p->at;
	size_t at = 1;

	for (int i = 0; i < 3; i++) {
		uint64_t n = 0;
		size_t from = at;

		for (; call_is_digit(s[at]) && at - from < 10; at++)
			n = n * 10 + (uint64_t)(s[at] - '0');
		if (at == from || n > UINT32_MAX || s[at] != (i < 2 ? '.' : '>'))
			return false;
		p->now.pid[i] = (uint32_t)n;
		at++;
	}
	p->at += at;
	p->now.kind = WORD_PID;
	return true;
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_latin1_upper(const char *s)
{
	unsigned char next = (unsigned char)s[1];

	return (unsigned char)s[0] == 0xc3 && next >= 0x80 && next <= 0x9e && next != 0x97;
}

static void name(struct call_parser *p)
{
	size_t from = p->at;

	/* An upper-case letter of Latin-1 begins a variable, too. */
	p->now.kind = call_is_upper(p->text[from]) || is_latin1_upper(p->text + from)
			      ? WORD_VARIABLE
			      : WORD_ATOM;
	while (call_is_word(p->text[p->at]))
		p->at++;
	strbuf_reset(&p->word);
	strbuf_add(&p->word, p->text + from, p->at - from);
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (strcmp(p->word.buf, reserved[i]) == 0)
			p->now.kind = WORD_RESERVED;
}

int call_sign(struct call_parser *p, const char *const *signs, size_t nr)
{
	p->now.kind = WORD_SIGN;
	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(signs[i]);

		if (strncmp(p->text + p->at, signs[i], len) == 0) {
			memcpy(p->now.sign, signs[i], len + 1);
			p->at += len;
			return 0;
		}
	}
	return call_fail(p, p->at, "unexpected character");
}

static int quoted_word(struct call_parser *p, enum word_kind kind)
{
	p->now.kind = kind;
	return call_quoted(p, p->text[p->at]);
}

static int word(struct call_parser *p)
{
	char c = p->text[p->at];

	if (!c)
		return 0;
	if (p->elixir)
		return call_elixir_word(p);
	if (call_is_digit(c))
		return call_number(p);
	if (c == '$')
		return character_number(p);
	if (c == '\'')
		return quoted_word(p, WORD_ATOM);
	if (c == '"')
		return quoted_word(p, WORD_STRING);
	if (call_is_lower(c) || call_is_upper(c)) {
		name(p);
		return 0;
	}
	if (c == '<' && call_pid(p))
		return 0;
	return call_sign(p, erlang_signs, ARRAY_SIZE(erlang_signs));
}

int call_next(struct call_parser *p)
{
	int rc;

	while (is_space(p->text[p->at]))
		p->at++;
	p->now = (struct word){.kind = WORD_END, .at = p->at};
	rc = word(p);
	p->now.len = p->at - p->now.at;
	return rc;
}
