/* SPDX-License-Identifier: BSD-2-Clause */
/* See term.h.  Tags and subtags: erl_term.h, OTP 25 to 29. */
#include "beam/term.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "names/names.h"
#include "names/utf8.h"

#define MAX_ELEMENTS 64
#define MAX_BYTES    256
#define MAX_NUMBERS  16 /* bytes of a binary that is no text */

enum { TAG_LIST = 1, TAG_BOXED = 2 };
#define NIL	  0x3bull
#define PTR(t)	  ((t) & ~7ull)
#define SUBTAG(h) ((h)&0x3f)
#define ARITY(h)  ((h) >> 6)

enum { SUBTAG_TUPLE = 0x00, SUBTAG_FLOAT = 0x18 };

static bool bytes(struct term_reader *r, raddr addr, void *buf, size_t size)
{
	uint64_t at = addr - r->copy_addr, copied = 8ull * r->copy_words;

	if (copied && addr >= r->copy_addr && at <= copied && size <= copied - at) {
		memcpy(buf, (const char *)r->copy + at, size);
		return true;
	}
	return r->mem && mem_read(r->mem, addr, buf, size) == 0;
}

static bool word(struct term_reader *r, raddr addr, uint64_t *value)
{
	return bytes(r, addr, value, sizeof(*value));
}

static void print(struct term_reader *r, struct strbuf *out, uint64_t term, int depth);

static bool full(const struct term_reader *r, const struct strbuf *out)
{
	return out->len >= r->max_len;
}

static void more(struct strbuf *out)
{
	strbuf_addstr(out, "...");
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Characters that Erlang writes as themselves in a string: up to 255 those of
 * io_lib:printable_latin1_list/1, else those of printable_unicode_list/1. */
static bool printable(uint32_t c, uint32_t last)
{
	if (c < 0x20)
		return (c >= 8 && c <= 13) || c == 27;
	return c < 0x7f ||
	       (c >= 0xa0 && c <= last && (c < 0xd800 || c > 0xdfff) && c != 0xfffe && c != 0xffff);
}

static void add_char(struct strbuf *out, uint32_t c)
{
	if (c >= 8 && c <= 13) {
		strbuf_addch(out, '\\');
		strbuf_addch(out, "btnvfr"[c - 8]);
	} else if (c == 27) {
		strbuf_addstr(out, "\\e");
	} else {
		if (c == '"' || c == '\\')
			strbuf_addch(out, '\\');
		utf8_add(out, c);
	}
}

/* Bytes of text that still fit. */
static size_t room(const struct term_reader *r, const struct strbuf *out)
{
	size_t left = r->max_len > out->len ? r->max_len - out->len : 0;

	return MIN(left, (size_t)MAX_BYTES);
}

/* A proper list of printable characters prints as a string; false if it is none. */
static bool print_char_list(struct term_reader *r, struct strbuf *out, uint64_t term)
{
	size_t len = 0, max = room(r, out);
	uint8_t text[MAX_BYTES];

	for (; (term & 3) == TAG_LIST && len < max; len++) {
		uint64_t head, tail;

		if (!word(r, PTR(term), &head) || !word(r, PTR(term) + 8, &tail) ||
		    (head & 0xf) != 0xf || head >> 4 > 0xff ||
		    !printable((uint32_t)(head >> 4), 0xff))
			return false;
		text[len] = (uint8_t)(head >> 4);
		term = tail;
	}
	if (len == 0 || (len < max && term != NIL))
		return false;
	strbuf_addch(out, '"');
	for (size_t i = 0; i < len; i++)
		add_char(out, text[i]);
	strbuf_addstr(out, term == NIL ? "\"" : "...\"");
	return true;
}

static void print_list(struct term_reader *r, struct strbuf *out, uint64_t term, int depth)
{
	uint64_t head, tail;

	if (print_char_list(r, out, term))
		return;
	strbuf_addch(out, '[');
	for (int n = 0;; n++) {
		if (n >= MAX_ELEMENTS || full(r, out) || !word(r, PTR(term), &head) ||
		    !word(r, PTR(term) + 8, &tail)) {
			more(out);
			break;
		}
		print(r, out, head, depth - 1);
		if (tail == NIL)
			break;
		strbuf_addch(out, (tail & 3) == TAG_LIST ? ',' : '|');
		if ((tail & 3) != TAG_LIST) {
			print(r, out, tail, depth - 1);
			break;
		}
		term = tail;
	}
	strbuf_addch(out, ']');
}

static void print_tuple(struct term_reader *r, struct strbuf *out, raddr at, uint64_t arity,
			int depth)
{
	strbuf_addch(out, '{');
	for (uint64_t i = 0; i < arity; i++) {
		uint64_t element;

		if (i)
			strbuf_addch(out, ',');
		if (i >= MAX_ELEMENTS || full(r, out) || !word(r, at + 8 + 8 * i, &element)) {
			more(out);
			break;
		}
		print(r, out, element, depth - 1);
	}
	strbuf_addch(out, '}');
}

enum binary_text { TEXT_NONE, TEXT_ASCII, TEXT_UTF8, TEXT_LATIN1 };

/* What the bytes are, as io_lib's ~tp asks; *len loses a character that `cut` has cut. */
static enum binary_text classify(const uint8_t *s, size_t *len, bool cut)
{
	bool ascii = true, utf8 = true, latin1 = true;
	uint32_t c;

	for (size_t i = 0; i < *len; i++) {
		ascii &= s[i] < 0x80 && printable(s[i], 0x7f);
		latin1 &= printable(s[i], 0xff);
	}
	if (ascii)
		return TEXT_ASCII;
	for (size_t i = 0, size; i < *len && utf8; i += size) {
		size = utf8_decode((const char *)s + i, *len - i, &c);
		if (c == UTF8_REPLACEMENT && size == 1) {
			utf8 = cut && *len - i < 4 && s[i] >= 0xc0;
			*len = utf8 ? i : *len;
		} else if (!printable(c, 0x10ffff)) {
			utf8 = false;
		}
	}
	if (utf8)
		return TEXT_UTF8;
	return latin1 ? TEXT_LATIN1 : TEXT_NONE;
}

static void print_binary(struct term_reader *r, struct strbuf *out, raddr data, uint64_t size)
{
	uint8_t buf[MAX_BYTES];
	size_t len = size < room(r, out) ? (size_t)size : room(r, out);
	bool cut = len < size;
	enum binary_text text;

	if (!bytes(r, data, buf, len)) {
		more(out);
		return;
	}
	text = size ? classify(buf, &len, cut) : TEXT_NONE;
	strbuf_addstr(out, text ? "<<\"" : "<<");
	if (text) {
		uint32_t c;

		for (size_t i = 0, n; i < len; i += n) {
			c = buf[i];
			n = text == TEXT_UTF8 ? utf8_decode((char *)buf + i, len - i, &c) : 1;
			add_char(out, c);
		}
		strbuf_addstr(out, cut ? "...\"" : "\"");
		strbuf_addstr(out, text == TEXT_UTF8 ? "/utf8" : "");
	} else {
		for (size_t i = 0; i < len && i < MAX_NUMBERS; i++)
			strbuf_addf(out, "%s%u", i ? "," : "", buf[i]);
		strbuf_addstr(out, size > MIN(len, (size_t)MAX_NUMBERS) ? ",..." : "");
	}
	strbuf_addstr(out, ">>");
}

/* The bytes behind a heap or reference-counted binary, up to OTP 26; 0 = something else. */
static raddr binary_data(struct term_reader *r, uint64_t term)
{
	uint64_t header, data;

	if ((term & 3) != TAG_BOXED || !word(r, PTR(term), &header))
		return 0;
	if (SUBTAG(header) == 0x24)
		return PTR(term) + 16;
	return SUBTAG(header) == 0x20 && word(r, PTR(term) + 32, &data) ? data : 0;
}

/* HeapBin, ProcBin, SubBin up to OTP 26; ErlHeapBits, ErlSubBits since 27. */
static bool print_bits(struct term_reader *r, struct strbuf *out, raddr at, uint64_t subtag)
{
	uint64_t a, b, c;

	if (r->otp >= 27 && subtag == 0x20 && word(r, at + 8, &a) && a % 8 == 0) {
		print_binary(r, out, at + 16, a / 8);
		return true;
	}
	if (r->otp >= 27 && subtag == 0x24 && word(r, at + 8, &a) && word(r, at + 16, &b) &&
	    word(r, at + 24, &c) && b % 8 == 0 && c % 8 == 0 && c >= b) {
		print_binary(r, out, (a & ~3ull) + b / 8, (c - b) / 8);
		return true;
	}
	if (r->otp <= 26 && (subtag == 0x24 || subtag == 0x20) && word(r, at + 8, &a)) {
		b = binary_data(r, at | TAG_BOXED);
		if (b)
			print_binary(r, out, b, a);
		return b != 0;
	}
	/* size, offset, bits beyond both in two bytes, writable, the whole binary */
	if (r->otp <= 26 && subtag == 0x28 && word(r, at + 8, &a) && word(r, at + 16, &b) &&
	    word(r, at + 24, &c) && (c & 0xffff) == 0 && word(r, at + 32, &c)) {
		c = binary_data(r, c);
		if (c)
			print_binary(r, out, c + b, a);
		return c != 0;
	}
	return false;
}

/* The shortest digits that read back as the same number; in the shorter notation, and always
 * scientific from 2^53 on, as float_to_list(F, [short]) of OTP 25 and later. */
static void print_float(struct strbuf *out, double value)
{
	char text[32], digits[20];
	int precision = 0, exp, nr = 0, plain, scientific;

	if (!isfinite(value)) {
		more(out);
		return;
	}
	do
		snprintf(text, sizeof(text), "%.*e", precision, fabs(value));
	while (strtod(text, NULL) != fabs(value) && ++precision < 17);
	for (const char *p = text; *p && *p != 'e'; p++) {
		if (*p >= '0' && *p <= '9')
			digits[nr++] = *p;
	}
	exp = atoi(strchr(text, 'e') + 1);
	while (nr > 1 && digits[nr - 1] == '0')
		nr--;
	/* Characters of 0.000ddd, ddd000.0 or d.ddd; and of d.ddde-xx. */
	plain = exp < 0 ? nr + 1 - exp : MAX(nr, exp + 2) + 1;
	scientific = MAX(nr, 2) + 2 + snprintf(NULL, 0, "%d", exp);
	strbuf_addstr(out, signbit(value) ? "-" : "");
	if (scientific < plain || fabs(value) >= 0x1p53) {
		strbuf_addf(out, "%c.%.*se%d", digits[0], nr > 1 ? nr - 1 : 1,
			    nr > 1 ? digits + 1 : "0", exp);
		return;
	}
	for (int i = MIN(exp, 0); i < MAX(nr, exp + 2); i++) {
		strbuf_addch(out, i >= 0 && i < nr ? digits[i] : '0');
		if (i == exp)
			strbuf_addch(out, '.');
	}
}

static void print_boxed(struct term_reader *r, struct strbuf *out, uint64_t term, int depth)
{
	raddr at = PTR(term);
	uint64_t header, raw;
	double value;

	if (!word(r, at, &header) || (header & 3)) {
		more(out);
	} else if (SUBTAG(header) == SUBTAG_TUPLE) {
		print_tuple(r, out, at, ARITY(header), depth);
	} else if (SUBTAG(header) == SUBTAG_FLOAT && word(r, at + 8, &raw)) {
		memcpy(&value, &raw, sizeof(value));
		print_float(out, value);
	} else if (!print_bits(r, out, at, SUBTAG(header))) {
		more(out);
	}
}

static void print_immediate(struct term_reader *r, struct strbuf *out, uint64_t term)
{
	char buf[64];

	if (term == NIL) {
		strbuf_addstr(out, "[]");
	} else if ((term & 0xf) == 0xf) {
		strbuf_addf(out, "%" PRId64, (int64_t)term >> 4);
	} else if (TERM_IS_PID(term)) {
		strbuf_addstr(out, pid_format(r->pids, term, buf, sizeof(buf)));
	} else if (TERM_IS_PORT(term) && r->ports) {
		strbuf_addstr(out, port_format(r->ports, term, buf, sizeof(buf)));
	} else if (TERM_IS_ATOM(term)) {
		size_t len;
		const char *text = beam_atom_text(r->atoms, term, &len);

		if (text)
			names_format_atom(out, text, len);
		else
			more(out);
	} else {
		more(out);
	}
}

static void print(struct term_reader *r, struct strbuf *out, uint64_t term, int depth)
{
	if (depth <= 0 || full(r, out))
		more(out);
	else if ((term & 3) == TAG_LIST)
		print_list(r, out, term, depth);
	else if ((term & 3) == TAG_BOXED)
		print_boxed(r, out, term, depth);
	else
		print_immediate(r, out, term);
}

void term_print(struct term_reader *r, struct strbuf *out, uint64_t term)
{
	print(r, out, term, r->depth);
}
