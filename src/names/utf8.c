/* SPDX-License-Identifier: BSD-2-Clause */
/* See utf8.h. */
#include "names/utf8.h"

size_t utf8_decode(const char *s, size_t len, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	size_t size = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t value;

	if (size == 1) {
		*c = p[0];
		return 1;
	}
	*c = UTF8_REPLACEMENT;
	if (size == 0 || p[0] > 0xf4 || size > len)
		return 1;
	value = p[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (size == 2 && p[0] == 0xc0 && p[1] == 0x80) {
		*c = 0;
		return 2;
	}
	if (value < least[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*c = value;
	return size;
}

size_t utf8_write(char *bytes, uint32_t c)
{
	size_t size;

	if (c < 0x80) {
		bytes[0] = (char)c;
		size = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		size = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		size = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		size = 4;
	}
	for (size_t i = 1; i < size; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (size - 1 - i) & 0x3f));
	return size;
}

void utf8_add(struct strbuf *out, uint32_t c)
{
	char bytes[4];

	strbuf_add(out, bytes, utf8_write(bytes, c));
}
