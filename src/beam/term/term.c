/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks a term and prints it, see term.h.  A stack on the heap has the open lists, tuples and maps,
 * so that depth costs heap memory only and is bounded by the reader's limit.
 */
#include "beam/term/term.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/xalloc.h"
#include "beam/term/term_print.h"
#include "names/elixir.h"

bool print_full(const struct printer *p)
{
	return p->out->len >= p->r->max_len;
}

void print_more(struct printer *p)
{
	strbuf_addstr(p->out, "...");
}

void print_unreadable(struct printer *p, raddr at)
{
	/* Without node the term is a label, used as a name: an address in it would vary. */
	if (p->r->node && !p->r->copied)
		strbuf_addf(p->out, "#Unreadable<0x%" PRIx64 ">", at);
	else
		print_more(p);
}

static void not_read(struct printer *p, raddr at)
{
	p->r->unreadable++;
	print_unreadable(p, at);
}

static void push(struct printer *p, struct print_frame f, const char *bracket)
{
	strbuf_addstr(p->out, bracket);
	vec_push(&p->frames, f);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static bool is_alias(struct printer *p, uint64_t atom)
{
	const char *text = beam_atom_text(p->r->atoms, atom, NULL);

	return text && elixir_bare(text) != text;
}

/* Is it a list of pairs of an atom, which is no alias, and a value?  Checks only elements that are
 * printed; false once PRINT_AHEAD_MAX elements of the term were examined. */
static bool is_keywords(struct printer *p, uint64_t list)
{
	uint64_t cell[2], pair[2], nr = 0;

	for (; TERM_IS_LIST(list) && nr < term_max_elements(p->r); list = cell[1], nr++) {
		if (p->ahead++ >= PRINT_AHEAD_MAX ||
		    !term_bytes(p->r, TERM_ADDR(list), cell, sizeof(cell)) ||
		    !TERM_IS_BOXED(cell[0]) ||
		    !term_bytes(p->r, TERM_ADDR(cell[0]), pair, sizeof(pair)) ||
		    pair[0] != 2 << 6 || !TERM_IS_ATOM(pair[1]) || is_alias(p, pair[1]))
			return false;
	}
	return nr > 0 && (list == TERM_NIL || TERM_IS_LIST(list));
}

static void begin_list(struct printer *p, uint64_t list)
{
	struct print_frame f = {.kind = PRINT_LIST, .term = list};

	if (print_char_list(p, list))
		return;
	f.keywords = p->elixir && is_keywords(p, list);
	push(p, f, "[");
}

static const char *separator(const struct printer *p)
{
	return p->elixir ? ", " : ",";
}

/* Sets *term to the next element; false: the list ends, or cannot be read further. */
static bool next_of_list(struct printer *p, struct print_frame *f, uint64_t *term)
{
	uint64_t cell[2], pair[3];

	if (f->done && f->term == TERM_NIL)
		return false;
	if (f->done)
		strbuf_addstr(p->out, TERM_IS_LIST(f->term) ? separator(p)
				      : p->elixir	    ? " | "
							    : "|");
	f->closing = !TERM_IS_LIST(f->term);
	*term = f->term;
	if (f->closing) /* the tail of an improper list */
		return true;
	if (f->done++ >= term_max_elements(p->r) || print_full(p)) {
		print_more(p);
		return false;
	}
	if (!term_bytes(p->r, TERM_ADDR(f->term), cell, sizeof(cell)) || !cell[0]) {
		not_read(p, TERM_ADDR(f->term));
		return false;
	}
	*term = cell[0];
	f->term = cell[1];
	if (f->keywords && TERM_IS_BOXED(cell[0]) &&
	    term_bytes(p->r, TERM_ADDR(cell[0]), pair, sizeof(pair))) {
		print_key(p, pair[1]);
		p->secret = print_is_secret(p, pair[1]);
		*term = pair[2];
	}
	return true;
}

/* ---- tuples --------------------------------------------------------------------------------- */

/* Sets *term to the next element of a tuple, or value of a record's field; false: none is left, or
 * the limit is reached. */
static bool next_element(struct printer *p, struct print_frame *f, raddr at, uint64_t *term)
{
	if (f->done >= f->nr)
		return false;
	if (f->done)
		strbuf_addstr(p->out, separator(p));
	if (f->done >= term_max_elements(p->r) || print_full(p)) {
		print_more(p);
		return false;
	}
	f->done++;
	if (term_word(p->r, at, term))
		return true;
	not_read(p, at);
	return false;
}

static bool next_of_tuple(struct printer *p, struct print_frame *f, uint64_t *term)
{
	if (!next_element(p, f, f->values + 8 * f->done, term))
		return false;
	p->secret = f->secret;
	if (f->done == 1)
		f->secret = f->nr > 1 && print_is_secret(p, *term);
	return true;
}

/* ---- records -------------------------------------------------------------------------------- */

static void begin_record(struct printer *p, const struct term_view *v)
{
	struct term_view name = {.kind = TERM_KIND_ATOM};
	bool elixir = p->elixir;

	p->elixir = false; /* Elixir has no syntax for records */
	strbuf_addch(p->out, '#');
	name.term = v->record.module;
	print_leaf(p, &name);
	strbuf_addch(p->out, ':');
	name.term = v->record.name;
	print_leaf(p, &name);
	p->elixir = elixir;
	push(p,
	     (struct print_frame){
		     .kind = PRINT_RECORD,
		     .nr = v->record.nr_fields,
		     .keys = v->record.keys,
		     .values = v->record.values,
		     .order = v->record.order,
	     },
	     "{");
}

static bool next_field(struct printer *p, struct print_frame *f, uint64_t *term)
{
	struct term_view name = {.kind = TERM_KIND_ATOM};
	uint64_t i = f->done, place;
	bool elixir = p->elixir, ok;

	/* Fields are printed in the order of the definition. */
	if (i < f->nr && term_element(p->r, f->order, (uint32_t)i, &place) == 0 &&
	    TERM_IS_SMALL(place) && place >> 4 < f->nr)
		i = place >> 4;
	if (!next_element(p, f, f->keys + 8 * i, &name.term))
		return false;
	p->elixir = false;
	if (TERM_IS_ATOM(name.term))
		print_leaf(p, &name);
	else
		not_read(p, f->keys + 8 * i);
	p->elixir = elixir;
	p->secret = print_is_secret(p, name.term);
	strbuf_addstr(p->out, " = ");
	ok = term_word(p->r, f->values + 8 * i, term);
	if (!ok)
		not_read(p, f->values + 8 * i);
	return ok;
}

/* ---- maps ----------------------------------------------------------------------------------- */

/* Elixir prints in the order of maps:to_list(); io_lib in the reverse order up to OTP 28. */
static struct map_walk *new_walk(struct printer *p, const struct term_view *v)
{
	struct map_walk *w = xmalloc(sizeof(*w));

	map_walk_begin(w, v, p->elixir && p->r->otp < 29);
	return w;
}

/* Are all keys that are printed atoms, and no aliases?  *name is the name of a struct. */
static bool has_keywords(struct printer *p, const struct term_view *v, uint64_t *name)
{
	struct map_walk *w = new_walk(p, v);
	uint64_t key, value, nr = 0;
	bool keywords = true;
	size_t len;

	*name = 0;
	while (nr++ <= term_max_elements(p->r) && map_walk_next(w, p->r, &key, &value)) {
		const char *text =
			TERM_IS_ATOM(key) ? beam_atom_text(p->r->atoms, key, &len) : NULL;

		if (p->ahead++ >= PRINT_AHEAD_MAX) {
			keywords = false;
			break;
		}
		if (text && strcmp(text, "__struct__") == 0 && TERM_IS_ATOM(value) &&
		    is_alias(p, value))
			*name = value;
		keywords = keywords && text && !is_alias(p, key);
	}
	free(w);
	return keywords;
}

static void begin_map(struct printer *p, const struct term_view *v)
{
	struct print_frame f = {.kind = PRINT_MAP, .nr = v->map.size};
	struct term_view name = {.kind = TERM_KIND_ATOM};

	strbuf_addstr(p->out, p->elixir ? "%" : "#");
	if (p->elixir && v->map.size) {
		f.keywords = has_keywords(p, v, &name.term);
		f.term = name.term;
		if (name.term)
			print_leaf(p, &name);
	}
	f.walk = new_walk(p, v);
	push(p, f, "{");
}

/* Keys that Elixir does not print for a struct: its name, and that it is an exception. */
static bool is_struct_key(struct printer *p, uint64_t key)
{
	size_t len;
	const char *text = TERM_IS_ATOM(key) ? beam_atom_text(p->r->atoms, key, &len) : NULL;

	return text && (strcmp(text, "__struct__") == 0 || strcmp(text, "__exception__") == 0);
}

static bool next_pair(struct printer *p, struct print_frame *f, uint64_t *key)
{
	bool ok;

	do
		ok = map_walk_next(f->walk, p->r, key, &f->value);
	while (ok && f->term && is_struct_key(p, *key));
	return ok;
}

static bool next_of_map(struct printer *p, struct print_frame *f, uint64_t *term)
{
	if (f->valued) {
		f->valued = false;
		p->secret = f->secret;
		*term = f->value;
		if (!f->keywords)
			strbuf_addstr(p->out, " => ");
		return true;
	}
	/* A map that cannot be read to its end is marked in place of the next pair. */
	if (!next_pair(p, f, term)) {
		if (f->walk->err) {
			strbuf_addstr(p->out, f->done ? separator(p) : "");
			not_read(p, f->walk->map.addr);
		}
		return false;
	}
	if (f->done)
		strbuf_addstr(p->out, separator(p));
	if (f->done++ >= term_max_elements(p->r) || print_full(p)) {
		print_more(p);
		return false;
	}
	f->valued = true;
	f->secret = print_is_secret(p, *term);
	if (!f->keywords)
		return true;
	print_key(p, *term);
	return next_of_map(p, f, term); /* the value */
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void begin(struct printer *p, uint64_t term)
{
	struct term_view v;

	if (p->r->depth <= 0 || p->frames.len >= (size_t)p->r->depth || print_full(p)) {
		print_more(p);
		return;
	}
	if (TERM_IS_LIST(term)) {
		begin_list(p, term);
		return;
	}
	switch (term_view(p->r, term, &v)) {
	case TERM_KIND_TUPLE:
		push(p,
		     (struct print_frame){
			     .kind = PRINT_TUPLE,
			     .nr = v.tuple.arity,
			     .values = v.tuple.elements,
		     },
		     "{");
		break;
	case TERM_KIND_MAP:
		begin_map(p, &v);
		break;
	case TERM_KIND_RECORD:
		begin_record(p, &v);
		break;
	default:
		print_leaf(p, &v);
	}
}

static bool next(struct printer *p, struct print_frame *f, uint64_t *term)
{
	p->secret = false;
	switch (f->kind) {
	case PRINT_LIST:
		return next_of_list(p, f, term);
	case PRINT_TUPLE:
		return next_of_tuple(p, f, term);
	case PRINT_MAP:
		return next_of_map(p, f, term);
	case PRINT_RECORD:
		return next_field(p, f, term);
	}
	return false;
}

static void end(struct printer *p, struct print_frame *f)
{
	strbuf_addstr(p->out, f->kind == PRINT_LIST ? "]" : "}");
	free(f->walk);
	p->frames.len--;
}

static void print(struct printer *p, uint64_t term)
{
	struct term_window *window = NULL;
	bool opened = false;

	if (TERM_IS_POINTER(term) && p->r->node) {
		window = xmalloc(sizeof(*window));
		opened = term_window_open(p->r, window);
	}
	begin(p, term);
	while (p->frames.len > 0) {
		struct print_frame *f = &p->frames.data[p->frames.len - 1];

		if (f->closing || !next(p, f, &term))
			end(p, f);
		else if (p->secret)
			print_secret(p, term);
		else
			begin(p, term);
	}
	if (opened)
		term_window_close(p->r);
	free(window);
	vec_free(&p->frames);
}

void term_print(struct term_reader *r, struct strbuf *out, uint64_t term)
{
	struct printer p = {.r = r, .out = out, .elixir = r->style == TERM_STYLE_ELIXIR};

	print(&p, term);
}

void term_print_value(struct term_reader *r, struct strbuf *out, uint64_t key, uint64_t value)
{
	struct printer p = {.r = r, .out = out, .elixir = r->style == TERM_STYLE_ELIXIR};

	if (print_is_secret(&p, key))
		print_secret(&p, value);
	else
		print(&p, value);
}
