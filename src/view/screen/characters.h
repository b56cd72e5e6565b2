/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Characters of text: which are safe for a terminal, and how many columns they take.
 *
 * Text that comes from a node may hold anything.  Characters that a terminal would act on, or that
 * are invisible, are shown as '?': control characters, bidirectional controls, joiners, soft
 * hyphens, line separators, and a combining character without a base.  Invalid UTF-8 and unassigned
 * code points are shown as U+FFFD.
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
	uint32_t c;	/* code point; 0 = nothing is shown (a variation selector) */
	unsigned width; /* columns: 1, 2, or 0 = combines with the character before */
};

/* Decodes the character at `text` (len > 0) and sets *out to what is to be shown for it.
 * after_one: there is a character before it to combine with.  Returns its size in bytes. */
size_t character_next(const char *text, size_t len, bool after_one, struct character *out);

/* Columns that a text takes. */
size_t characters_width(const char *text, size_t len);

/* Bytes of the longest start of a text that takes at most `width` columns. */
size_t characters_cut(const char *text, size_t len, size_t width);

/* Does a text contain a word (word_len > 0)?  Ignores the case of ASCII letters. */
bool characters_contain(const char *text, size_t len, const char *word, size_t word_len);

/* Replaces characters that are not safe; keep_lines: newlines are kept. */
void characters_clean(struct strbuf *text, bool keep_lines);

/* The ASCII replacement of a drawing character (lines, arrows, dots, blocks); '?' for any other. */
char character_ascii(uint32_t c);

#endif
