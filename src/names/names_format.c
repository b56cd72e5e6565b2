/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes names as text.  Atoms and Erlang functions as io_lib:write_atom/1 of OTP 27 does (the
 * tests compare with its results), Elixir's as elixir.c does.  The text is always valid UTF-8
 * without control characters, whatever the bytes of a name are.
 */
#include <string.h>

#include "base/compiler.h"
#include "names/elixir.h"
#include "names/names.h"
#include "names/utf8.h"

/* `maybe` and `else` are reserved since OTP 27, or by maybe_expr: quotes are right in all cases. */
static const char *const reserved_words[] = {
	"after", "and",	  "andalso", "band",   "begin",	  "bnot", "bor", "bsl",	 "bsr", "bxor",
	"case",	 "catch", "cond",    "div",    "else",	  "end",  "fun", "if",	 "let", "maybe",
	"not",	 "of",	  "or",	     "orelse", "receive", "rem",  "try", "when", "xor",
};

/* Lower-case letters of Latin-1; 0xf7 is the division sign. */
static bool is_lower(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7);
}

static bool is_name_char(uint32_t c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '@' || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}

static bool needs_quotes(const char *text, size_t len)
{
	uint32_t c;

	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		if (i == 0 ? !is_lower(c) : !is_name_char(c))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reserved_words); i++) {
		if (strlen(reserved_words[i]) == len && memcmp(reserved_words[i], text, len) == 0)
			return true;
	}
	return len == 0;
}

/* Appends one character; control characters are escaped as in Erlang. */
static void add_printable(struct strbuf *out, uint32_t c)
{
	static const char controls[] = "\b\x7f\x1b\f\n\r\t\v", names[] = "bdefnrtv";
	const char *control = c && c < 0x80 ? strchr(controls, (int)c) : NULL;

	if (control)
		strbuf_addf(out, "\\%c", names[control - controls]);
	else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		strbuf_addf(out, "\\%03o", c);
	else
		utf8_add(out, c);
}

void names_format_atom(struct strbuf *out, const char *text, size_t len)
{
	uint32_t c;

	if (!needs_quotes(text, len)) {
		strbuf_add(out, text, len);
		return;
	}
	strbuf_addch(out, '\'');
	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		if (c == '\'' || c == '\\')
			strbuf_addch(out, '\\');
		add_printable(out, c);
	}
	strbuf_addch(out, '\'');
}

void names_format_text(struct strbuf *out, const char *text, size_t len)
{
	uint32_t c;

	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		add_printable(out, c);
	}
}

void names_format_module(struct strbuf *out, const char *text, size_t len)
{
	if (elixir_is_alias(text, len))
		elixir_format_module(out, text, len);
	else
		names_format_atom(out, text, len);
}

static void format_mfa(struct strbuf *out, const struct name_function *f)
{
	if (f->module && elixir_is_module(f->module, strlen(f->module))) {
		elixir_format_function(out, f->module, f->name, f->arity);
		return;
	}
	if (f->module) {
		names_format_atom(out, f->module, strlen(f->module));
		strbuf_addch(out, ':');
	}
	names_format_atom(out, f->name, strlen(f->name));
	if (f->arity >= 0)
		strbuf_addf(out, "/%d", f->arity);
}

static void format_native(struct strbuf *out, const struct name_function *f)
{
	size_t len = f->module ? strlen(f->module) : 0;

	/* The name of an address without a symbol includes its object already. */
	if (len && (strncmp(f->name, f->module, len) != 0 || f->name[len] != '+')) {
		names_format_text(out, f->module, len);
		strbuf_addch(out, ':');
	}
	names_format_text(out, f->name, strlen(f->name));
}

void names_format_function(struct strbuf *out, const struct name_function *f)
{
	switch (f->kind) {
	case FRAME_ERLANG:
	case FRAME_BIF:
	case FRAME_NIF:
		format_mfa(out, f);
		return;
	case FRAME_NATIVE:
		format_native(out, f);
		return;
	case FRAME_KERNEL:
	case FRAME_RUNTIME:
	case FRAME_ELIDED:
	case FRAME_STATE:
		break;
	}
	names_format_text(out, f->name, strlen(f->name));
}
