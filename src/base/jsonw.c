/* SPDX-License-Identifier: BSD-2-Clause */
/* See jsonw.h. */
#include "base/jsonw.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define FLUSH_SIZE 65536

static void flush(struct jsonw *w)
{
	if (!w->f)
		return;
	errno = 0;
	if (fwrite(w->buf.buf, 1, w->buf.len, w->f) != w->buf.len && !w->err)
		w->err = errno ? errno : EIO;
	strbuf_reset(&w->buf);
}

/* Length of the UTF-8 character at s; 0 for overlong forms, surrogates and values above
 * U+10FFFF. */
static size_t character(const unsigned char *s, size_t left)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (len == 0 || len > left || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return len;
}

static void escape(struct strbuf *out, unsigned char c)
{
	static const char letters[] = "btn\0fr"; /* escapes of characters 8 .. 13; 11 has none */

	if (c == '"' || c == '\\') {
		strbuf_addch(out, '\\');
		strbuf_addch(out, (char)c);
	} else if (c >= 8 && c <= 13 && letters[c - 8]) {
		strbuf_addch(out, '\\');
		strbuf_addch(out, letters[c - 8]);
	} else {
		strbuf_addf(out, "\\u%04x", c);
	}
}

static void quote(struct strbuf *out, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t plain = 0; /* begin of characters that need no escape */

	strbuf_addch(out, '"');
	for (size_t i = 0; i < len;) {
		size_t n = character(s + i, len - i);

		if (n && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f) {
			i += n;
			continue;
		}
		strbuf_add(out, text + plain, i - plain);
		if (n)
			escape(out, s[i]);
		else
			strbuf_addstr(out, "\xef\xbf\xbd");
		plain = ++i;
	}
	strbuf_add(out, text + plain, len - plain);
	strbuf_addch(out, '"');
}

/* Writes what comes before a value: comma, line, key. */
static void begin_value(struct jsonw *w, const char *key)
{
	if (w->any[w->depth])
		strbuf_addch(&w->buf, ',');
	if (w->depth && w->rows[w->depth])
		strbuf_addch(&w->buf, '\n');
	else if (w->any[w->depth])
		strbuf_addch(&w->buf, ' ');
	w->any[w->depth] = true;
	if (key) {
		quote(&w->buf, key, strlen(key));
		strbuf_add(&w->buf, ": ", 2);
	}
	if (w->buf.len >= FLUSH_SIZE)
		flush(w);
}

static void begin(struct jsonw *w, const char *key, char bracket, bool rows)
{
	begin_value(w, key);
	strbuf_addch(&w->buf, bracket);
	if (w->depth + 1 < JSONW_MAX_DEPTH)
		w->depth++;
	w->any[w->depth] = false;
	w->rows[w->depth] = rows;
}

static void end(struct jsonw *w, char bracket)
{
	if (w->rows[w->depth] && w->any[w->depth])
		strbuf_addch(&w->buf, '\n');
	if (w->depth)
		w->depth--;
	strbuf_addch(&w->buf, bracket);
}

void jsonw_begin_object(struct jsonw *w, const char *key)
{
	begin(w, key, '{', false);
}

void jsonw_end_object(struct jsonw *w)
{
	end(w, '}');
}

void jsonw_begin_array(struct jsonw *w, const char *key)
{
	begin(w, key, '[', false);
}

void jsonw_begin_rows(struct jsonw *w, const char *key)
{
	begin(w, key, '[', !w->one_line);
}

void jsonw_end_array(struct jsonw *w)
{
	end(w, ']');
}

void jsonw_raw(struct jsonw *w, const char *key, const char *json)
{
	begin_value(w, key);
	strbuf_addstr(&w->buf, json);
}

void jsonw_null(struct jsonw *w, const char *key)
{
	jsonw_raw(w, key, "null");
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	jsonw_raw(w, key, value ? "true" : "false");
}

void jsonw_uint(struct jsonw *w, const char *key, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);

	begin_value(w, key);
	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	strbuf_add(&w->buf, digits + at, sizeof(digits) - at);
}

void jsonw_uint_if(struct jsonw *w, const char *key, bool known, uint64_t value)
{
	if (known)
		jsonw_uint(w, key, value);
	else
		jsonw_null(w, key);
}

void jsonw_known(struct jsonw *w, const char *key, uint64_t value)
{
	jsonw_uint_if(w, key, value != UINT64_MAX, value);
}

void jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	char text[24];

	if (value >= 0) {
		jsonw_uint(w, key, (uint64_t)value);
		return;
	}
	snprintf(text, sizeof(text), "%" PRId64, value);
	jsonw_raw(w, key, text);
}

void jsonw_double(struct jsonw *w, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.12g", value);
	jsonw_raw(w, key, isfinite(value) ? text : "null");
}

void jsonw_stringn(struct jsonw *w, const char *key, const char *text, size_t len)
{
	begin_value(w, key);
	quote(&w->buf, text, len);
}

void jsonw_text(struct jsonw *w, const char *key, struct strbuf *text)
{
	if (text->len)
		jsonw_stringn(w, key, text->buf, text->len);
	else
		jsonw_null(w, key);
	strbuf_reset(text);
}

void jsonw_string(struct jsonw *w, const char *key, const char *text)
{
	if (text)
		jsonw_stringn(w, key, text, strlen(text));
	else
		jsonw_null(w, key);
}

int jsonw_finish(struct jsonw *w)
{
	flush(w);
	if (w->f && !w->err && ferror(w->f))
		w->err = EIO; /* an earlier write to f failed, its errno is lost */
	strbuf_free(&w->buf);
	return -w->err;
}
