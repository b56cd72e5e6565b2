/* SPDX-License-Identifier: BSD-2-Clause */
/* Masks values that belong to secret keys, see term.h. */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_print.h"

#define NAME_MAX_SIZE 256

bool term_key_is_secret(struct term_reader *r, uint64_t key)
{
	struct strbuf name = STRBUF_INIT;
	bool secret = false;
	size_t len;

	if (!r->is_secret)
		return false;
	if (TERM_IS_ATOM(key)) {
		const char *text = beam_atom_text(r->atoms, key, &len);

		return text && r->is_secret(text, len);
	}
	if (TERM_IS_POINTER(key) && term_text(r, key, &name, NAME_MAX_SIZE))
		secret = r->is_secret(name.buf, name.len);
	strbuf_free(&name);
	return secret;
}

bool print_is_secret(struct printer *p, uint64_t key)
{
	return term_key_is_secret(p->r, key);
}

bool term_is_no_secret(struct term_reader *r, uint64_t term, struct term_view *v)
{
	static const char *const names[] = {"true", "false", "undefined", "nil", "none"};
	const char *text;
	size_t len;

	switch (term_view(r, term, v)) {
	case TERM_KIND_ATOM:
		text = beam_atom_text(r->atoms, term, &len);
		for (size_t i = 0; text && i < ARRAY_SIZE(names); i++)
			if (strcmp(text, names[i]) == 0)
				return true;
		return false;
	case TERM_KIND_BITS:
		return v->bits.nr_bits == 0;
	case TERM_KIND_NIL:
	case TERM_KIND_UNREADABLE:
		return true;
	default:
		return false;
	}
}

void print_secret(struct printer *p, uint64_t term)
{
	struct term_view v;

	if (term_is_no_secret(p->r, term, &v)) {
		print_leaf(p, &v);
		return;
	}
	strbuf_addstr(p->out, "***");
	p->r->masked++;
}
