/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes and writes UTF-8; input is from a node or a file and may be any bytes. */
#ifndef EBEAM_NAMES_UTF8_H
#define EBEAM_NAMES_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define UTF8_REPLACEMENT 0xfffdu

/*
 * Decodes the character at `s` (`len` > 0 bytes are readable) to *c; returns its length, 1 to 4.
 * Invalid UTF-8 (overlong forms, surrogates, truncated characters) is UTF8_REPLACEMENT of length 1,
 * except C0 80, which is character 0 (see NAMES_MAX_STRING in names.h).
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *c);

/* Writes a character (up to 0x10ffff) to at most 4 bytes; returns its length. */
size_t utf8_write(char *bytes, uint32_t c);

/* Append one character. */
void utf8_add(struct strbuf *out, uint32_t c);

#endif
