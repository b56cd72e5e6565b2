/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lexer of call patterns in Elixir's spelling, as elixir_tokenizer.erl of Elixir 1.14 to 1.19.
 * It makes Erlang's words: an alias is an atom, a charlist a string, and `1..3` three words.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"
#include "names/elixir.h"
#include "names/utf8.h"

static const char *const reserved[] = {
	"after", "and", "catch", "do", "else", "end", "fn", "in", "not", "or", "rescue", "when",
};

/* Longer signs before their prefixes. */
static const char *const signs[] = {
	"!==", "===", "&&&", "|||", "^^^", "~~~", "<<<", ">>>", "->", "==", "!=", "=~", "<=",
	">=",  "<<",  ">>",  "<>",  "=>",  "++",  "--",	 "::",	"..", "//", "||", "&&", "<-",
	"|>",  "**",  "<",   ">",   "=",   "(",	  ")",	 "[",	"]",  "{",  "}",  ",",	";",
	"|",   "+",   "-",   "*",   "/",   ".",	  "%",	 "^",	"!",  "&",  ":",  "@",
};

/* ---- strings -------------------------------------------------------------------------------- */

static void add(struct call_parser *p, uint32_t c, bool bytes)
{
	if (c || !bytes)
		call_add_character(&p->word, c);
	else
		strbuf_addch(&p->word, '\0');
}

/* The character that a letter behind a backslash stands for; other letters stand for themselves. */
static uint32_t escaped(uint32_t c)
{
	static const char letters[] = "0abdefnrstv", values[] = "\0\a\b\177\033\f\n\r \t\v";
	const char *found = c && c < 0x80 ? strchr(letters, (int)c) : NULL;

	return found ? (unsigned char)values[found - letters] : c;
}

/* Parses an escape sequence; p->at is at its backslash. */
static int escape(struct call_parser *p, bool bytes)
{
	size_t at = p->at++;
	bool braces;
	uint32_t c;

	if (!p->text[p->at])
		return call_fail(p, at, "expected a character behind \\");
	p->at += utf8_decode(p->text + p->at, strlen(p->text + p->at), &c);
	if (c == '\n')
		return 0;
	if (c != 'x' && c != 'u') {
		add(p, escaped(c), bytes);
		return 0;
	}
	braces = c == 'u' || p->text[p->at] == '{';
	if (call_code_point(p, at, c == 'u' ? 4 : 1, c == 'u' ? 4 : 2,
			    "\\xHH, \\uHHHH or \\u{H...}", &c))
		return -EINVAL;
	if (braces || !c)
		add(p, c, bytes);
	else
		strbuf_addch(&p->word, (char)c); /* \xHH: one byte, maybe a part of a character */
	return 0;
}

static int check_utf8(struct call_parser *p, size_t at)
{
	for (size_t i = 0; i < p->word.len;) {
		uint32_t c;
		size_t size = utf8_decode(p->word.buf + i, p->word.len - i, &c);

		if (size == 1 && c == UTF8_REPLACEMENT)
			return call_fail(p, at, "this is not UTF-8");
		i += size;
	}
	return 0;
}

/* Parses a string up to `close`; raw: a backslash is no escape. */
static int quoted(struct call_parser *p, char close, bool bytes, bool raw)
{
	const char *s = p->text;
	size_t at = p->at++;

	strbuf_reset(&p->word);
	while (s[p->at] && s[p->at] != close) {
		if (raw && s[p->at] == '\\' && s[p->at + 1] == close) {
			p->at++;
		} else if (!raw && s[p->at] == '\\') {
			if (escape(p, bytes))
				return -EINVAL;
			continue;
		}
		if (!raw && strncmp(s + p->at, "#{", 2) == 0)
			return call_fail(p, p->at,
					 "texts have no interpolation here: write \\#{ for #{");
		strbuf_addch(&p->word, s[p->at++]);
	}
	if (s[p->at] != close)
		return call_not_closed(p, at, close);
	p->at++;
	return bytes ? 0 : check_utf8(p, at);
}

int call_elixir_quoted(struct call_parser *p, char close, bool bytes)
{
	return quoted(p, close, bytes, false);
}

/* If a colon (not ::) is at p->at, makes the current word a WORD_KEY and moves p->at behind it. */
static bool is_key(struct call_parser *p)
{
	if (p->text[p->at] != ':' || p->text[p->at + 1] == ':')
		return false;
	p->at++;
	p->now.kind = WORD_KEY;
	return true;
}

static int quoted_word(struct call_parser *p)
{
	char quote = p->text[p->at];
	size_t at = p->at;

	p->now.kind = quote == '"' ? WORD_BINARY : WORD_STRING;
	if (quoted(p, quote, quote == '"', false))
		return -EINVAL;
	if (!is_key(p) || quote != '"')
		return 0;
	p->at = at; /* parses the text again: a key is an atom, which must be UTF-8 */
	if (quoted(p, quote, false, false))
		return -EINVAL;
	p->at++;
	return 0;
}

/* Parses the sigils ~c"text" and ~s[text]; ~C and ~S, which have no escapes. */
static int sigil(struct call_parser *p)
{
	static const char opening[] = "([{<\"'/|", closing[] = ")]}>\"'/|";
	char letter = p->text[p->at + 1], open = letter ? p->text[p->at + 2] : '\0';
	const char *found = open ? strchr(opening, open) : NULL;
	bool bytes = (letter | 0x20) == 's';

	if (!found || (!bytes && (letter | 0x20) != 'c'))
		return call_fail(p, p->at,
				 "expected ~c\"...\" or ~s\"...\", the sigils that are "
				 "known here");
	p->now.kind = bytes ? WORD_BINARY : WORD_STRING;
	p->at += 2;
	return quoted(p, closing[found - opening], bytes, letter < 'a');
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Reads letters, digits, _ and @, then at most one ? or !; in `x!=1` the ! belongs to `!=`. */
static void identifier(struct call_parser *p)
{
	const char *s = p->text;
	size_t from = p->at;

	while (call_is_word(s[p->at]))
		p->at++;
	if ((s[p->at] == '?' || s[p->at] == '!') && s[p->at + 1] != '=')
		p->at++;
	strbuf_reset(&p->word);
	strbuf_add(&p->word, s + from, p->at - from);
}

static bool is_one_of(const char *word, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

static int name(struct call_parser *p)
{
	static const char *const atoms[] = {"nil", "true", "false"};
	const char *module = p->out->module;
	size_t at = p->at;

	identifier(p);
	if (is_key(p))
		return 0;
	if (strchr(p->word.buf, '@'))
		return call_fail(p, at, "only atoms have @ in their names: :%.60s", p->word.buf);
	if (strcmp(p->word.buf, "__MODULE__") == 0 && module) {
		p->now.kind = WORD_ATOM;
		strbuf_reset(&p->word);
		strbuf_addstr(&p->word, module);
	} else if (is_one_of(p->word.buf, atoms, ARRAY_SIZE(atoms))) {
		p->now.kind = WORD_ATOM;
	} else if (is_one_of(p->word.buf, reserved, ARRAY_SIZE(reserved))) {
		p->now.kind = WORD_RESERVED;
	} else {
		p->now.kind = p->text[p->at] == '(' ? WORD_CALL : WORD_VARIABLE;
	}
	return 0;
}

static int alias(struct call_parser *p)
{
	struct strbuf all = STRBUF_INIT;
	size_t at = p->at;

	call_alias(p, &all);
	strbuf_reset(&p->word);
	if (is_key(p))
		strbuf_add(&p->word, p->text + at, p->at - 1 - at);
	else
		strbuf_add(&p->word, all.buf, all.len);
	strbuf_free(&all);
	if (p->now.kind != WORD_KEY)
		p->now.kind = WORD_ATOM;
	return 0;
}

/* Parses an atom; p->at is at its colon. */
static int atom(struct call_parser *p)
{
	size_t len = elixir_operator_length(p->text + ++p->at);
	char c = p->text[p->at];

	p->now.kind = WORD_ATOM;
	if (c == '"' || c == '\'')
		return quoted(p, c, false, false);
	if (len) {
		strbuf_reset(&p->word);
		strbuf_add(&p->word, p->text + p->at, len);
		p->at += len;
		return 0;
	}
	if (!call_is_lower(c) && !call_is_upper(c))
		return call_fail(p, p->at, "expected the name of an atom behind `:`");
	identifier(p);
	return 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Parses ?a or ?\n. */
static int character(struct call_parser *p)
{
	bool is_escape = p->text[p->at + 1] == '\\';
	uint32_t c;

	p->now.kind = WORD_INTEGER;
	p->at += 1 + is_escape;
	if (!p->text[p->at])
		return call_fail(p, p->at, "expected a character behind ?");
	p->at += utf8_decode(p->text + p->at, strlen(p->text + p->at), &c);
	bigint_set(&p->number, is_escape ? escaped(c) : c);
	return 0;
}

/* An operator as a key: `+: 1`. */
static bool operator_key(struct call_parser *p)
{
	size_t len = elixir_operator_length(p->text + p->at);

	if (!len || p->text[p->at + len] != ':' || p->text[p->at + len + 1] != ' ')
		return false;
	strbuf_reset(&p->word);
	strbuf_add(&p->word, p->text + p->at, len);
	p->at += len + 1;
	p->now.kind = WORD_KEY;
	return true;
}

int call_elixir_word(struct call_parser *p)
{
	const char *s = p->text + p->at;
	size_t at = p->at;

	if (call_is_digit(*s))
		return call_number(p);
	if (*s == '?')
		return character(p);
	if (*s == '"' || *s == '\'')
		return quoted_word(p);
	if (*s == ':' && (s[1] != ':' || s[2] == ':'))
		return atom(p);
	if (*s == '~' && s[1] != '~')
		return sigil(p);
	if (*s >= 'A' && *s <= 'Z')
		return alias(p);
	if (call_is_lower(*s) || *s == '_')
		return name(p);
	if (strncmp(s, "#PID<", 5) == 0) {
		p->at += 4;
		if (call_pid(p))
			return 0;
		p->at = at;
	}
	if (operator_key(p))
		return 0;
	return call_sign(p, signs, ARRAY_SIZE(signs));
}
