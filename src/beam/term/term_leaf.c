/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints terms that contain no terms: atoms, numbers, strings, identifiers, funs.  As io_lib
 * (io_lib.erl, io_lib_pretty.erl) does, and erl_printf_term.c for terms that io_lib passes to the
 * VM; Elixir's as Inspect of 1.14 to 1.18.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/term/term_print.h"
#include "names/elixir.h"
#include "names/names.h"
#include "names/utf8.h"

/* Limit of the digits of integers that are printed: the time of the conversion is quadratic. */
#define BIG_MAX_SHOWN	2048
#define DECIMAL_DIGITS	19
#define DECIMAL_DIVISOR 10000000000000000000ull

/* ---- characters ----------------------------------------------------------------------------- */

/* Characters that Erlang prints unchanged in a string: up to 255 those of
 * io_lib:printable_latin1_list/1, else those of printable_unicode_list/1. */
static bool printable(uint32_t c, uint32_t last)
{
	if (c < 0x20)
		return (c >= 8 && c <= 13) || c == 27;
	return c < 0x7f ||
	       (c >= 0xa0 && c <= last && (c < 0xd800 || c > 0xdfff) && c != 0xfffe && c != 0xffff);
}

/* As String.printable?/1, and up to 0x7e as List.ascii_printable?/1. */
static bool elixir_printable(uint32_t c)
{
	return c == 7 || c == 0x7f || printable(c, 0x10ffff);
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

/* How many bytes of text are left for a string. */
static size_t room(const struct printer *p)
{
	size_t left = p->r->max_len > p->out->len ? p->r->max_len - p->out->len : 0;

	return (size_t)MIN((uint64_t)left, 4 * term_max_elements(p->r));
}

/* ---- atoms ---------------------------------------------------------------------------------- */

static const char *atom_text(struct printer *p, uint64_t atom, size_t *len)
{
	const char *text = beam_atom_text(p->r->atoms, atom, len);

	if (!text) {
		p->r->unreadable++;
		print_unreadable(p, atom);
	}
	return text;
}

static void print_atom(struct printer *p, uint64_t atom)
{
	size_t len;
	const char *text = atom_text(p, atom, &len);

	if (!text)
		return;
	if (p->elixir)
		elixir_format_atom(p->out, text, len);
	else if (p->r->otp < 27 && (strcmp(text, "maybe") == 0 || strcmp(text, "else") == 0))
		strbuf_addstr(p->out, text); /* not reserved before OTP 27 */
	else
		names_format_atom(p->out, text, len);
}

void print_key(struct printer *p, uint64_t atom)
{
	size_t len;
	const char *text = TERM_IS_ATOM(atom) ? atom_text(p, atom, &len) : NULL;

	if (text)
		elixir_format_key(p->out, text, len);
	strbuf_addch(p->out, ' ');
}

/* As print_atom_name() of erl_printf_term.c: reserved words are not quoted, '@' is. */
static void print_vm_atom(struct printer *p, uint64_t atom)
{
	size_t len, size;
	const char *text = atom_text(p, atom, &len);
	bool quoted = len == 0;
	uint32_t c;

	if (!text)
		return;
	for (size_t i = 0; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		quoted |=
			!((c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7) ||
			  (i > 0 && (c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
				     (c >= 0xc0 && c <= 0xde && c != 0xd7))));
	}
	strbuf_addstr(p->out, quoted ? "'" : "");
	for (size_t i = 0; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		if (c == '\'' || c == '\\')
			strbuf_addf(p->out, "\\%c", (int)c);
		else if (c >= 8 && c <= 13)
			strbuf_addf(p->out, "\\%c", "btnvfr"[c - 8]);
		else if (c < 0x20 || (c >= 0x80 && c < 0xa0))
			strbuf_addf(p->out, "\\%03o", c);
		else
			utf8_add(p->out, c);
	}
	strbuf_addstr(p->out, quoted ? "'" : "");
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void print_big(struct printer *p, const struct term_view *v)
{
	uint64_t nr = v->big.nr_digits, *digits, *parts;
	size_t nr_parts = 0;

	/* 64 bits need at least 19 decimal digits. */
	if (nr > BIG_MAX_SHOWN || nr * DECIMAL_DIGITS > p->r->max_len) {
		print_more(p);
		return;
	}
	digits = xmalloc(8 * nr);
	if (!term_bytes(p->r, v->big.digits, digits, 8 * nr)) {
		p->r->unreadable++;
		print_unreadable(p, v->addr);
		free(digits);
		return;
	}
	parts = xmalloc(8 * (nr + nr / 32 + 2)); /* 64 bits need at most 20 decimal digits */
	while (nr > 0) {
		unsigned __int128 rest = 0;

		for (uint64_t i = nr; i-- > 0;) {
			rest = rest << 64 | digits[i];
			digits[i] = (uint64_t)(rest / DECIMAL_DIVISOR);
			rest %= DECIMAL_DIVISOR;
		}
		parts[nr_parts++] = (uint64_t)rest;
		while (nr > 0 && digits[nr - 1] == 0)
			nr--;
	}
	strbuf_addf(p->out, "%s%" PRIu64, v->big.negative ? "-" : "", parts[nr_parts - 1]);
	for (size_t i = nr_parts - 1; i-- > 0;)
		strbuf_addf(p->out, "%0*" PRIu64, DECIMAL_DIGITS, parts[i]);
	free(parts);
	free(digits);
}

/* The shortest digits that read back as the same number, in the shorter notation; scientific from
 * 2^53 on, as float_to_list(F, [short]) of OTP 25 and later. */
void print_float(struct strbuf *out, double value, bool plain_only)
{
	char text[32], digits[20];
	int precision = 0, exp, nr = 0, plain, scientific;

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
	if (!plain_only && (scientific < plain || fabs(value) >= 0x1p53)) {
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

/* ---- strings -------------------------------------------------------------------------------- */

/* A character of a list that is printed as text; -1: not such a character. */
static int list_char(const struct printer *p, uint64_t term)
{
	uint64_t c = term >> 4;

	if (!TERM_IS_SMALL(term) || c > 0xff)
		return -1;
	if (p->elixir)
		return c <= 0x7e && elixir_printable((uint32_t)c) ? (int)c : -1;
	return printable((uint32_t)c, 0xff) ? (int)c : -1;
}

bool print_char_list(struct printer *p, uint64_t list)
{
	struct strbuf text = STRBUF_INIT;
	size_t max = room(p);
	bool ok = true;
	uint64_t cell[2];

	for (; ok && TERM_IS_LIST(list) && text.len < max; list = cell[1]) {
		int c = -1;

		if (term_bytes(p->r, TERM_ADDR(list), cell, sizeof(cell)))
			c = list_char(p, cell[0]);
		ok = c >= 0;
		if (ok)
			strbuf_addch(&text, (char)c);
	}
	ok = ok && text.len > 0 && (text.len == max || list == TERM_NIL);
	if (ok && p->elixir) {
		strbuf_addstr(p->out, "~c\"");
		elixir_escape(p->out, text.buf, text.len);
	} else if (ok) {
		strbuf_addch(p->out, '"');
		for (size_t i = 0; i < text.len; i++)
			add_char(p->out, (unsigned char)text.buf[i]);
	}
	if (ok)
		strbuf_addstr(p->out, list == TERM_NIL ? "\"" : "...\"");
	strbuf_free(&text);
	return ok;
}

enum binary_text { TEXT_NONE, TEXT_ASCII, TEXT_UTF8, TEXT_LATIN1 };

/* Decides how to print the bytes, as io_lib's ~tp or Elixir does; an incomplete character at the
 * end is removed from *len if the bytes were truncated (`cut`). */
static enum binary_text classify(const char *s, size_t *len, bool cut, bool elixir)
{
	bool ascii = true, utf8 = true, latin1 = true;
	uint32_t c;

	for (size_t i = 0; i < *len; i++) {
		unsigned char byte = (unsigned char)s[i];

		ascii &= byte < 0x80 && printable(byte, 0x7f);
		latin1 &= printable(byte, 0xff);
	}
	if (ascii)
		return TEXT_ASCII;
	for (size_t i = 0, size; i < *len && utf8; i += size) {
		size = utf8_decode(s + i, *len - i, &c);
		if (c == UTF8_REPLACEMENT && size == 1) {
			utf8 = cut && *len - i < 4 && (unsigned char)s[i] >= 0xc0;
			*len = utf8 ? i : *len;
		} else if (elixir ? !elixir_printable(c) : !printable(c, 0x10ffff)) {
			utf8 = false;
		}
	}
	if (utf8)
		return TEXT_UTF8;
	return latin1 && !elixir ? TEXT_LATIN1 : TEXT_NONE;
}

static void print_text(struct printer *p, const char *s, size_t len, bool cut,
		       enum binary_text text)
{
	const char *end = cut ? "...\"" : "\"";
	uint32_t c;

	if (p->elixir) {
		strbuf_addch(p->out, '"');
		elixir_escape(p->out, s, len);
		strbuf_addstr(p->out, end);
		return;
	}
	strbuf_addstr(p->out, "<<\"");
	for (size_t i = 0, n; i < len; i += n) {
		c = (unsigned char)s[i];
		n = text == TEXT_UTF8 ? utf8_decode(s + i, len - i, &c) : 1;
		add_char(p->out, c);
	}
	strbuf_addstr(p->out, end);
	strbuf_addstr(p->out, text == TEXT_UTF8 ? "/utf8>>" : ">>");
}

/* Prints as many bytes as the limits allow, and the bits of an incomplete last byte. */
static void print_bytes(struct printer *p, const char *s, size_t len, const struct term_view *v)
{
	const char *separator = p->elixir ? ", " : ",";
	unsigned int beyond = v->bits.nr_bits % 8;
	size_t max = (size_t)MAX(16, term_max_elements(p->r) / 4), i;

	strbuf_addstr(p->out, "<<");
	for (i = 0; i < len && i < max; i++) {
		unsigned int byte = (unsigned char)s[i];

		strbuf_addstr(p->out, i ? separator : "");
		if (8 * i + 8 <= v->bits.nr_bits)
			strbuf_addf(p->out, "%u", byte);
		else
			strbuf_addf(p->out, p->elixir ? "%u::size(%u)" : "%u:%u",
				    byte >> (8 - beyond), beyond);
	}
	if (8 * i < v->bits.nr_bits)
		strbuf_addf(p->out, "%s...", i ? separator : "");
	strbuf_addstr(p->out, ">>");
}

/* Reads the first *len bytes; of copied words as many as there are, at least one. */
static bool first_bytes(struct printer *p, const struct term_view *v, char *bytes, size_t *len)
{
	size_t none = *len, have = 0;

	if (term_bits(p->r, v, 0, bytes, *len))
		return true;
	while (p->r->copied && none - have > 1) {
		size_t middle = have + (none - have) / 2;

		if (term_bits(p->r, v, 0, bytes, middle))
			have = middle;
		else
			none = middle;
	}
	*len = have;
	return have && term_bits(p->r, v, 0, bytes, have);
}

static void print_bits(struct printer *p, const struct term_view *v)
{
	uint64_t size = (v->bits.nr_bits + 7) / 8;
	size_t len = (size_t)MIN(size, (uint64_t)room(p));
	enum binary_text text = TEXT_NONE;
	char *bytes;

	if (size == 0) {
		strbuf_addstr(p->out, p->elixir ? "\"\"" : "<<>>");
		return;
	}
	bytes = xmalloc(len + 1);
	if (!first_bytes(p, v, bytes, &len)) {
		p->r->unreadable++;
		print_unreadable(p, v->addr);
	} else {
		size_t whole = len;
		bool cut = len < size;

		if (v->bits.nr_bits % 8 == 0 && len > 0)
			text = classify(bytes, &whole, cut, p->elixir);
		if (text)
			print_text(p, bytes, whole, cut, text);
		else
			print_bytes(p, bytes, len, v);
	}
	free(bytes);
}

/* ---- identifiers, funs ---------------------------------------------------------------------- */

static void print_pid(struct printer *p, const struct term_view *v)
{
	char buf[64];

	strbuf_addstr(p->out, p->elixir ? "#PID" : "");
	if (v->kind == TERM_KIND_PID)
		strbuf_addstr(p->out, pid_format(p->r->pids, v->term, buf, sizeof(buf)));
	else
		strbuf_addf(p->out, "<%u.%" PRIu64 ".%" PRIu64 ">", v->id.channel,
			    v->id.data & 0xffffffff, v->id.data >> 32);
}

static void print_port(struct printer *p, const struct term_view *v)
{
	char buf[64];

	if (v->kind == TERM_KIND_EXTERNAL_PORT)
		strbuf_addf(p->out, "#Port<%u.%" PRIu64 ">", v->id.channel, v->id.data);
	else if (p->r->ports)
		strbuf_addstr(p->out, port_format(p->r->ports, v->term, buf, sizeof(buf)));
	else
		print_more(p);
}

static void print_ref(struct printer *p, const struct term_view *v)
{
	strbuf_addf(p->out, p->elixir ? "#Reference<%u" : "#Ref<%u", v->id.channel);
	for (uint32_t i = v->id.nr_numbers; i-- > 0;)
		strbuf_addf(p->out, ".%u", v->id.numbers[i]);
	strbuf_addch(p->out, '>');
}

static void print_fun(struct printer *p, const struct term_view *v)
{
	const char *text;
	size_t len;

	if (!v->fun.module) {
		print_more(p);
		return;
	}
	text = atom_text(p, v->fun.module, &len);
	if (!text)
		return;
	if (p->elixir) {
		strbuf_addf(p->out, "#Function<%" PRIu64 ".%" PRIu64 "/%" PRIu64 " in ",
			    v->fun.index, v->fun.old_uniq, v->fun.arity);
		elixir_format_atom(p->out, text, len);
		strbuf_addch(p->out, '>');
		return;
	}
	/* The VM does not quote this name. */
	strbuf_addstr(p->out, "#Fun<");
	strbuf_add(p->out, text, len);
	strbuf_addf(p->out, ".%d.%d>", (int)v->fun.index, (int)v->fun.old_uniq);
}

static void print_export(struct printer *p, const struct term_view *v)
{
	const char *module, *function;
	size_t len;

	if (!v->fun.module) {
		print_more(p);
	} else if (!p->elixir) {
		strbuf_addstr(p->out, "fun ");
		print_vm_atom(p, v->fun.module);
		strbuf_addch(p->out, ':');
		print_vm_atom(p, v->fun.function);
		strbuf_addf(p->out, "/%" PRIu64, v->fun.arity);
	} else {
		module = atom_text(p, v->fun.module, &len);
		function = module ? atom_text(p, v->fun.function, &len) : NULL;
		if (!function)
			return;
		strbuf_addch(p->out, '&');
		elixir_format_capture(p->out, module, function, (uint32_t)v->fun.arity);
	}
}

void print_leaf(struct printer *p, const struct term_view *v)
{
	double size = fabs(v->real);

	switch (v->kind) {
	case TERM_KIND_ATOM:
		print_atom(p, v->term);
		break;
	case TERM_KIND_SMALL:
		strbuf_addf(p->out, "%" PRId64, v->small);
		break;
	case TERM_KIND_NIL:
		strbuf_addstr(p->out, "[]");
		break;
	case TERM_KIND_BIG:
		print_big(p, v);
		break;
	case TERM_KIND_FLOAT:
		if (isfinite(v->real)) /* the VM has no infinities or NaNs */
			print_float(p->out, v->real, p->elixir && size >= 1.0 && size < 1.0e16);
		else
			print_unreadable(p, v->addr);
		break;
	case TERM_KIND_BITS:
		print_bits(p, v);
		break;
	case TERM_KIND_PID:
	case TERM_KIND_EXTERNAL_PID:
		print_pid(p, v);
		break;
	case TERM_KIND_PORT:
	case TERM_KIND_EXTERNAL_PORT:
		print_port(p, v);
		break;
	case TERM_KIND_REF:
	case TERM_KIND_MAGIC_REF:
	case TERM_KIND_EXTERNAL_REF:
		print_ref(p, v);
		break;
	case TERM_KIND_FUN:
		print_fun(p, v);
		break;
	case TERM_KIND_EXPORT:
		print_export(p, v);
		break;
	default:
		print_unreadable(p, v->addr ? v->addr : v->term);
	}
}
