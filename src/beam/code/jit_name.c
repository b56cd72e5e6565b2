/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit_name.h. */
#include "beam/code/jit_name.h"

#include <string.h>

#include "beam/term/atoms.h"
#include "names/utf8.h"

/* Decodes what follows a backslash: a letter, an octal number, or the character itself. */
static bool unescape(const char **p, const char *end, struct strbuf *sb)
{
	static const char from[] = "ntrbvfe", to[] = "\n\t\r\b\v\f\033";
	const char *s = *p, *found;
	uint32_t value = 0;

	if (s >= end)
		return false;
	found = memchr(from, *s, sizeof(from) - 1);
	if (found) {
		strbuf_addch(sb, to[found - from]);
		s++;
	} else if (*s >= '0' && *s <= '7') {
		for (int i = 0; i < 3 && s < end && *s >= '0' && *s <= '7'; i++)
			value = value * 8 + (uint32_t)(*s++ - '0');
		utf8_add(sb, value);
	} else {
		strbuf_addch(sb, *s++);
	}
	*p = s;
	return true;
}

/*
 * Parses one atom as written by erts_printf("%T") (erl_printf_term.c: quoted as in Erlang, with
 * backslash escapes), which `stop` must follow; its plain text is appended to sb.
 */
static bool take_atom(const char **p, const char *end, char stop, struct strbuf *sb)
{
	const char *s = *p;

	strbuf_reset(sb);
	if (s < end && *s == '\'') {
		for (s++; s < end && *s != '\'';) {
			char c = *s++;

			if (c != '\\')
				strbuf_addch(sb, c);
			else if (!unescape(&s, end, sb))
				return false;
		}
		if (s >= end)
			return false;
		s++;
	} else {
		while (s < end && *s != stop)
			strbuf_addch(sb, *s++);
	}
	if (s >= end || *s != stop)
		return false;
	*p = s + 1;
	return true;
}

/* Parses the digits of an arity; -1 if there are none, or too many. */
static int32_t take_arity(const char *p, const char *end)
{
	int32_t arity = p < end && *p >= '0' && *p <= '9' ? 0 : -1;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		arity = arity * 10 + (*p - '0');
		if (arity > BEAM_MAX_ARITY)
			return -1;
	}
	return arity;
}

bool jit_name_parse(const struct jit_function *j, struct strbuf *module, struct strbuf *name,
		    int32_t *arity)
{
	const char *p = j->name, *end = j->name + j->name_len;

	*arity = -1;
	if (take_atom(&p, end, ':', module) && take_atom(&p, end, '/', name))
		*arity = take_arity(p, end);
	return *arity >= 0;
}
