/* SPDX-License-Identifier: BSD-2-Clause */
/* See characters.h. */
#include "view/screen/characters.h"

#include <ctype.h>
#include <strings.h>
#include <string.h>
#include <utf8proc.h>

#include "base/compiler.h"
#include "names/utf8.h"

static bool is_between(uint32_t c, uint32_t first, uint32_t last)
{
	return c >= first && c <= last;
}

/* Variation selectors choose a glyph for the character before; they are dropped, as terminals
 * differ in the width of that glyph. */
static bool is_variation(uint32_t c)
{
	return is_between(c, 0xfe00, 0xfe0f) || is_between(c, 0xe0100, 0xe01ef);
}

/* Vowels and final consonants of Hangul, which terminals draw into the syllable before. */
static bool is_jamo_tail(uint32_t c)
{
	return is_between(c, 0x1160, 0x11ff) || is_between(c, 0xd7b0, 0xd7fb);
}

static struct character shown(uint32_t c, bool after_one)
{
	const struct character hidden = {'?', 1}, unknown = {UTF8_REPLACEMENT, 1};
	int width;

	switch (utf8proc_category((utf8proc_int32_t)c)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return hidden;
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_CS:
		return unknown;
	case UTF8PROC_CATEGORY_MN:
	case UTF8PROC_CATEGORY_ME:
		if (is_variation(c))
			return (struct character){0, 0};
		return after_one ? (struct character){c, 0} : hidden;
	case UTF8PROC_CATEGORY_MC: /* spacing marks: utf8proc says 0, but they take a column */
		return (struct character){c, 1};
	default:
		if (is_jamo_tail(c))
			return after_one ? (struct character){c, 0} : hidden;
		width = utf8proc_charwidth((utf8proc_int32_t)c);
		return width <= 0 ? hidden : (struct character){c, width > 1 ? 2 : 1};
	}
}

size_t character_next(const char *text, size_t len, bool after_one, struct character *out)
{
	unsigned char first = (unsigned char)*text;
	uint32_t c;
	size_t size;

	if (first >= 0x20 && first < 0x7f) {
		*out = (struct character){first, 1};
		return 1;
	}
	size = utf8_decode(text, len, &c);
	*out = shown(c, after_one);
	return size;
}

size_t characters_width(const char *text, size_t len)
{
	bool after_one = false;
	struct character c;
	size_t width = 0;

	for (size_t i = 0; i < len;) {
		i += character_next(text + i, len - i, after_one, &c);
		width += c.width;
		after_one |= c.width > 0;
	}
	return width;
}

size_t characters_cut(const char *text, size_t len, size_t width)
{
	bool after_one = false;
	struct character c;
	size_t i = 0;

	while (i < len) {
		size_t size = character_next(text + i, len - i, after_one, &c);

		if (c.width > width)
			break;
		width -= c.width;
		after_one |= c.width > 0;
		i += size;
	}
	return i;
}

static bool is_plain(const char *text, size_t len, bool keep_lines)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && !(keep_lines && c == '\n')) || c >= 0x7f)
			return false;
	}
	return true;
}

void characters_clean(struct strbuf *text, bool keep_lines)
{
	struct strbuf clean = STRBUF_INIT;
	bool after_one = false;

	if (is_plain(text->buf, text->len, keep_lines))
		return;
	for (size_t i = 0; i < text->len;) {
		struct character c;

		if (keep_lines && text->buf[i] == '\n') {
			strbuf_addch(&clean, '\n');
			after_one = false;
			i++;
			continue;
		}
		i += character_next(text->buf + i, text->len - i, after_one, &c);
		if (c.c)
			utf8_add(&clean, c.c);
		after_one |= c.width > 0;
	}
	strbuf_free(text);
	*text = clean;
}

char character_ascii(uint32_t c)
{
	static const struct {
		uint32_t c;
		char ascii;
	} alike[] = {
		{0xa0, ' '},   {0xb7, '.'},   {0xd7, 'x'},    {0x2026, '.'},  {0x2022, '*'},
		{0x2013, '-'}, {0x2014, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x2191, '^'},
		{0x2193, 'v'}, {0x2190, '<'}, {0x2192, '>'},  {0x25b2, '^'},  {0x25b4, '^'},
		{0x25bc, 'v'}, {0x25be, 'v'}, {0x25b6, '>'},  {0x25b8, '>'},  {0x25c0, '<'},
		{0x25c2, '<'}, {0x25cf, '*'}, {0x25a0, '#'},  {0x2713, 'x'},
	};

	if (c < 0x7f)
		return (char)c;
	for (size_t i = 0; i < ARRAY_SIZE(alike); i++)
		if (alike[i].c == c)
			return alike[i].ascii;
	if (c == 0x2500 || c == 0x2501 || c == 0x2550)
		return '-';
	if (c == 0x2502 || c == 0x2503 || c == 0x2551)
		return '|';
	if (is_between(c, 0x2500, 0x257f))
		return '+';
	return is_between(c, 0x2580, 0x259f) ? '#' : '?';
}

bool characters_contain(const char *text, size_t len, const char *word, size_t word_len)
{
	char small = (char)tolower((unsigned char)*word), big = (char)toupper((unsigned char)*word);

	for (size_t i = 0; i + word_len <= len; i++)
		if ((text[i] == small || text[i] == big) &&
		    strncasecmp(text + i, word, word_len) == 0)
			return true;
	return false;
}
