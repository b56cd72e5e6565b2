/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Character conversions of the static program, which the linker uses instead of libc's (--wrap):
 * the encoding is always UTF-8.  Libc's functions read the locale from files of the host, which may
 * be missing or of another libc, and load a library for other encodings.  Callers are curses and
 * terminal.c (writes_utf8()).  The program with shared libraries uses libc's functions.
 */
#include <errno.h>
#include <stddef.h>
#include <wchar.h>
#include <wctype.h>

#include "names/utf8.h"
#include "view/screen/characters.h"

int __wrap_mbtowc(wchar_t *c, const char *s, size_t len);
int __wrap_mblen(const char *s, size_t len);
size_t __wrap_wcrtomb(char *s, wchar_t c, mbstate_t *state);
int __wrap_wcwidth(wchar_t c);
int __wrap_iswprint(wint_t c);

/* -1 also for an incomplete character: curses tries again with more bytes. */
int __wrap_mbtowc(wchar_t *c, const char *s, size_t len)
{
	uint32_t found;
	size_t size;

	if (!s)
		return 0; /* the encoding has no state */
	if (!len)
		return -1;
	size = utf8_decode(s, len, &found);
	if (size == 1 && found == UTF8_REPLACEMENT) {
		errno = EILSEQ;
		return -1;
	}
	if (c)
		*c = (wchar_t)found;
	return found ? (int)size : 0;
}

int __wrap_mblen(const char *s, size_t len)
{
	return __wrap_mbtowc(NULL, s, len);
}

size_t __wrap_wcrtomb(char *s, wchar_t c, mbstate_t *state)
{
	(void)state;
	if (!s)
		return 1;
	if (c < 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
		errno = EILSEQ;
		return (size_t)-1;
	}
	return utf8_write(s, (uint32_t)c);
}

int __wrap_wcwidth(wchar_t c)
{
	char bytes[4];
	size_t size = __wrap_wcrtomb(bytes, c, NULL);
	struct character shown;

	if (c == 0 || size == (size_t)-1)
		return c == 0 ? 0 : -1;
	character_next(bytes, size, true, &shown);
	return shown.c == (uint32_t)c ? (int)shown.width : -1;
}

int __wrap_iswprint(wint_t c)
{
	return c != WEOF && c != 0 && __wrap_wcwidth((wchar_t)c) >= 0;
}
