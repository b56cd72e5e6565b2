/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elixir's spelling, as Exception.format_mfa/3 of Elixir 1.14 to 1.19 gives it: an operator or a
 * plain identifier stands as it is, what cannot be called without quotes is quoted, and a
 * function that the compiler named after its parent (`-run/2-fun-0-`) is an anonymous function
 * of that parent.  Where releases escape an invisible character differently, the text is that of
 * the newer release.  Letters outside ASCII are recognised by the ranges below; names with letters
 * of other scripts get quotes that Elixir would not need.
 */
#include "names/elixir.h"

#include <string.h>

#include "base/compiler.h"
#include "names/utf8.h"

#define PREFIX	    "Elixir."
#define PREFIX_SIZE (sizeof(PREFIX) - 1)

/* Operators that can follow a dot without quotes. */
static const char *const callable_operators[] = {
	"!",	"!=", "!==", "&", "&&", "&&&", "*",   "**",  "+",   "++",  "+++",
	"-",	"--", "---", "/", "::", "<",   "<-",  "<<<", "<<~", "<=",  "<>",
	"<|>",	"<~", "<~>", "=", "==", "===", "=~",  ">",   ">=",  ">>>", "@",
	"\\\\", "^",  "^^^", "|", "|>", "||",  "|||", "~>",  "~>>", "~~~",
};

/* Letters beyond ASCII in Elixir's identifiers; `starts`: may also be first (an upper-case letter
 * would begin an alias).  `step` 2: every second character of the range is a lower-case letter. */
static const struct letters {
	uint32_t first, last;
	uint32_t step;
	bool starts;
} letters[] = {
	{0x00c0, 0x00d6, 1, false}, /* Latin-1, upper case */
	{0x00d8, 0x00de, 1, false},
	{0x00df, 0x00f6, 1, true}, /* Latin-1, lower case */
	{0x00f8, 0x00ff, 1, true},
	{0x0101, 0x0131, 2, true}, /* Latin Extended-A, without what NFKC changes */
	{0x0135, 0x0137, 2, true},
	{0x013a, 0x013e, 2, true},
	{0x0142, 0x0148, 2, true},
	{0x014b, 0x0177, 2, true},
	{0x017a, 0x017e, 2, true},
	{0x0100, 0x0131, 1, false},
	{0x0134, 0x013e, 1, false},
	{0x0141, 0x0148, 1, false},
	{0x014a, 0x017e, 1, false},
	{0x0391, 0x03a1, 1, false}, /* Greek */
	{0x03a3, 0x03ab, 1, false},
	{0x03ac, 0x03ce, 1, true},
	{0x0400, 0x042f, 1, false}, /* Cyrillic */
	{0x0430, 0x045f, 1, true},
	{0x3041, 0x3096, 1, true}, /* Kana */
	{0x30a1, 0x30fa, 1, true},
	{0x4e00, 0x9fff, 1, true}, /* Han */
	{0xac00, 0xd7a3, 1, true}, /* Hangul */
};

static bool is_lower(uint32_t c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(uint32_t c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_word(uint32_t c)
{
	return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool is_letter(uint32_t c, bool first)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		const struct letters *l = &letters[i];

		if (c >= l->first && c <= l->last && (c - l->first) % l->step == 0 &&
		    (l->starts || !first))
			return true;
	}
	return false;
}

static bool is_operator(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(callable_operators); i++) {
		if (strlen(callable_operators[i]) == len &&
		    memcmp(callable_operators[i], text, len) == 0)
			return true;
	}
	return false;
}

/* Does it match [a-z_][A-Za-z0-9_]*[?!]? where letters[] are letters, too? */
static bool is_identifier(const char *text, size_t len)
{
	uint32_t c;

	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		if (i == 0 && !is_lower(c) && c != '_' && !is_letter(c, true))
			return false;
		if (is_word(c) || is_letter(c, false))
			continue;
		return i > 0 && (c == '?' || c == '!') && i + 1 == len;
	}
	return len > 0;
}

bool elixir_is_module(const char *text, size_t len)
{
	return (len >= PREFIX_SIZE && memcmp(text, PREFIX, PREFIX_SIZE) == 0) ||
	       (len == PREFIX_SIZE - 1 && memcmp(text, PREFIX, len) == 0);
}

const char *elixir_bare(const char *text)
{
	return strncmp(text, PREFIX, PREFIX_SIZE) == 0 ? text + PREFIX_SIZE : text;
}

/* Is it "Elixir" followed by any number of ".Segment", all in ASCII? */
bool elixir_is_alias(const char *text, size_t len)
{
	if (!elixir_is_module(text, len))
		return false;
	for (size_t i = PREFIX_SIZE - 1; i < len; i++) {
		bool after_dot = text[i - 1] == '.';
		unsigned char c = (unsigned char)text[i];

		if (after_dot ? !is_upper(c) : !is_word(c) && c != '.')
			return false;
	}
	return text[len - 1] != '.';
}

/* Is it invisible, or changes the text direction?  Elixir 1.15 and later escape such characters. */
static bool is_confusing(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00a0, 0x00a0}, {0x034f, 0x034f}, {0x061c, 0x061c},
		{0x2000, 0x200f}, {0x2028, 0x202e}, {0x205f, 0x2064},
		{0x2066, 0x2069}, {0xfeff, 0xfeff}, {0xfff9, 0xfffc},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	}
	return false;
}

void elixir_escape(struct strbuf *out, const char *text, size_t len)
{
	static const char controls[] = "\a\b\x7f\x1b\f\n\r\t\v\\\"", names[] = "abdefnrtv\\\"";
	uint32_t c;

	for (size_t i = 0, size; i < len; i += size) {
		const char *control;

		size = utf8_decode(text + i, len - i, &c);
		control = c && c < 0x80 ? strchr(controls, (int)c) : NULL;
		if (control)
			strbuf_addf(out, "\\%c", names[control - controls]);
		else if (c == '#' && i + 1 < len && text[i + 1] == '{')
			strbuf_addstr(out, "\\#");
		else if (c == 0)
			strbuf_addstr(out, "\\0");
		else if (c < 0x20)
			strbuf_addf(out, "\\x%02X", c);
		else if ((c >= 0x80 && c < 0xa0) || is_confusing(c))
			strbuf_addf(out, "\\u%04X", c);
		else
			utf8_add(out, c);
	}
}

static void add_quoted(struct strbuf *out, const char *text, size_t len)
{
	strbuf_addch(out, '"');
	elixir_escape(out, text, len);
	strbuf_addch(out, '"');
}

void elixir_format_module(struct strbuf *out, const char *text, size_t len)
{
	static const char nested[] = "Elixir.Elixir";

	if (!elixir_is_alias(text, len)) {
		strbuf_addch(out, ':');
		add_quoted(out, text, len);
		return;
	}
	/* `Elixir.Elixir.Foo` keeps its prefix: without it, it would be module `Elixir.Foo`. */
	if (len >= sizeof(nested) - 1 && memcmp(text, nested, sizeof(nested) - 1) == 0 &&
	    (len == sizeof(nested) - 1 || text[sizeof(nested) - 1] == '.'))
		strbuf_add(out, text, len);
	else if (len < PREFIX_SIZE)
		strbuf_add(out, text, len);
	else
		strbuf_add(out, text + PREFIX_SIZE, len - PREFIX_SIZE);
}

static void format_call(struct strbuf *out, const char *module, const char *name, size_t len)
{
	elixir_format_module(out, module, strlen(module));
	strbuf_addch(out, '.');
	if (is_operator(name, len) || is_identifier(name, len))
		strbuf_add(out, name, len);
	else
		add_quoted(out, name, len);
}

/*
 * Is `name` of the form `-PARENT/ARITY-WORD-COUNT-`, where nothing after the last slash holds
 * another dash?  Then the parent's name is name[1 .. *parent_end) and "/ARITY" is
 * name[*parent_end .. *arity_end).
 */
static bool find_parent(const char *name, size_t *parent_end, size_t *arity_end)
{
	const char *slash = strrchr(name, '/'), *word, *count, *end;

	if (name[0] != '-' || !slash)
		return false;
	word = slash + 1 + strspn(slash + 1, "0123456789");
	count = *word == '-' && word > slash + 1 ? strchr(word + 1, '-') : NULL;
	end = count ? strchr(count + 1, '-') : NULL;
	if (!end || end[1])
		return false;
	*parent_end = (size_t)(slash - name);
	*arity_end = (size_t)(word - name);
	return true;
}

void elixir_format_function(struct strbuf *out, const char *module, const char *name, int32_t arity)
{
	size_t parent_end, arity_end;

	if (find_parent(name, &parent_end, &arity_end)) {
		strbuf_addstr(out, "anonymous fn");
		if (arity >= 0)
			strbuf_addf(out, "/%d", arity);
		strbuf_addstr(out, " in ");
		format_call(out, module, name + 1, parent_end - 1);
		strbuf_add(out, name + parent_end, arity_end - parent_end);
		return;
	}
	format_call(out, module, name, strlen(name));
	if (arity >= 0)
		strbuf_addf(out, "/%d", arity);
}

/* ---- terms ---------------------------------------------------------------------------------- */

/* Operators that are atoms without quotes (:%{}) but cannot follow a dot; and operators that can
 * follow a dot but need quotes as atoms. */
static const char *const atom_operators[] = {
	"%", "%{}", "{}", "<<>>", "->", ".", "..", "...", "..//",
};
static const char *const quoted_operators[] = {"::", "<|>", "~~~"};

static bool is_one_of(const char *const *list, size_t nr, const char *text, size_t len)
{
	for (size_t i = 0; i < nr; i++) {
		if (strlen(list[i]) == len && memcmp(list[i], text, len) == 0)
			return true;
	}
	return false;
}

size_t elixir_operator_length(const char *text)
{
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(callable_operators) + ARRAY_SIZE(atom_operators); i++) {
		const char *one = i < ARRAY_SIZE(atom_operators)
					  ? atom_operators[i]
					  : callable_operators[i - ARRAY_SIZE(atom_operators)];

		if (strlen(one) > longest && strncmp(text, one, strlen(one)) == 0)
			longest = strlen(one);
	}
	return longest;
}

/* Is the atom written without quotes?  An operator, or as an identifier, but with any letter first
 * and '@' inside. */
static bool is_plain_atom(const char *text, size_t len)
{
	uint32_t c;

	if (is_one_of(atom_operators, ARRAY_SIZE(atom_operators), text, len))
		return true;
	if (is_operator(text, len))
		return !is_one_of(quoted_operators, ARRAY_SIZE(quoted_operators), text, len);
	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		if (i == 0 && c < 0x80 && !is_lower(c) && !is_upper(c) && c != '_')
			return false;
		if (is_word(c) || is_letter(c, false) || (i > 0 && c == '@'))
			continue;
		return i > 0 && (c == '?' || c == '!') && i + 1 == len;
	}
	return len > 0;
}

void elixir_format_atom(struct strbuf *out, const char *text, size_t len)
{
	static const char *const bare[] = {"nil", "true", "false"};

	if (elixir_is_alias(text, len)) {
		elixir_format_module(out, text, len);
		return;
	}
	if (!is_one_of(bare, ARRAY_SIZE(bare), text, len))
		strbuf_addch(out, ':');
	if (is_plain_atom(text, len))
		strbuf_add(out, text, len);
	else
		add_quoted(out, text, len);
}

void elixir_format_key(struct strbuf *out, const char *text, size_t len)
{
	if (is_plain_atom(text, len) && !elixir_is_alias(text, len))
		strbuf_add(out, text, len);
	else
		add_quoted(out, text, len);
	strbuf_addch(out, ':');
}

void elixir_format_capture(struct strbuf *out, const char *module, const char *name, uint32_t arity)
{
	elixir_format_atom(out, module, strlen(module));
	strbuf_addch(out, '.');
	if (is_operator(name, strlen(name)) || is_identifier(name, strlen(name)))
		strbuf_add(out, name, strlen(name));
	else
		add_quoted(out, name, strlen(name));
	strbuf_addf(out, "/%u", arity);
}
