/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Characters of text for people: what a terminal may see of them, and how many columns they take.
 *
 * Text that comes from a node may hold anything.  Shown as '?' is what would act on a terminal, or
 * is there without being seen: control characters, those that turn the direction of text, joiners,
 * soft hyphens, separators of lines, and a combining character with nothing before it.  What is
 * not UTF-8, or no character (yet), is U+FFFD.
 *
 * Widths do not depend on the locale (utf8proc, Unicode 15).
 */
#ifndef EBEAM_VIEW_CHARACTERS_H
#define EBEAM_VIEW_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct character {
	uint32_t c;	/* 0 = shows nothing: variation selectors */
	unsigned width; /* columns: 1, 2, or 0 = joins the character before */
};

/* The character at `text` (len > 0) as it may be shown; after_one: a character stands before it
 * that it may join.  Returns its bytes. */
size_t character_next(const char *text, size_t len, bool after_one, struct character *out);

/* Columns that a text takes. */
size_t characters_width(const char *text, size_t len);

/* Bytes of the longest start of a text that takes at most `width` columns. */
size_t characters_cut(const char *text, size_t len, size_t width);

/* Whether a word (len > 0) is in a text; letters of ASCII are the same small and capital. */
bool characters_contain(const char *text, size_t len, const char *word, size_t word_len);

/* Replaces what may not be shown; keep_lines: newlines stay. */
void characters_clean(struct strbuf *text, bool keep_lines);

/* The ASCII character that stands for one that we draw with (lines, arrows, dots, blocks), '?' for
 * any other. */
char character_ascii(uint32_t c);

#endif
