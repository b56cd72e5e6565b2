/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters of strings that came from a node or a file and may be anything. */
#ifndef EBEAM_NAMES_UTF8_H
#define EBEAM_NAMES_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define UTF8_REPLACEMENT 0xfffdu

/*
 * The character at `s` (`len` > 0 bytes are readable) in *c; returns its bytes, 1 to 4.  What is
 * not UTF-8 (overlong forms, surrogates and cut characters included) is UTF8_REPLACEMENT and one
 * byte, except C0 80, which is character 0 (see NAMES_MAX_STRING in names.h).
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *c);

/* Writes a character (up to 0x10ffff) to at most 4 bytes; returns how many. */
size_t utf8_write(char *bytes, uint32_t c);

/* Append one character. */
void utf8_add(struct strbuf *out, uint32_t c);

#endif
