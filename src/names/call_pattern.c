/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_pattern.h.  This file parses the function and the actions, and owns the memory. */
#include "names/call_pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"

#define ELIXIR "Elixir"

/* ---- memory --------------------------------------------------------------------------------- */

void *call_alloc(struct call_parser *p, size_t size)
{
	void *new = xcalloc(1, size ? size : 1);

	vec_push(&p->out->owned, new);
	return new;
}

const char *call_text(struct call_parser *p, const char *text, size_t len)
{
	char *new = call_alloc(p, len + 1);

	memcpy(new, text, len);
	return new;
}

struct pattern_node *call_node(struct call_parser *p, enum pattern_kind kind)
{
	struct pattern_node *n = call_alloc(p, sizeof(*n));

	n->kind = kind;
	n->id = p->out->nr_nodes++;
	n->depth = 1;
	return n;
}

int call_set_depth(struct call_parser *p, struct pattern_node *n)
{
	for (uint32_t i = 0; i < n->nr; i++)
		n->depth = MAX(n->depth, n->items[i]->depth + 1);
	if (n->tail)
		n->depth = MAX(n->depth, n->tail->depth + 1);
	if (n->depth > CALL_PATTERN_DEPTH)
		return call_fail(p, p->now.at, "this is nested more than %d deep",
				 CALL_PATTERN_DEPTH);
	return 0;
}

void call_keep_items(struct call_parser *p, struct call_items *items, struct pattern_node *n)
{
	n->nr = (uint32_t)items->list.len;
	if (n->nr) {
		n->items = call_alloc(p, n->nr * sizeof(*n->items));
		memcpy(n->items, items->list.data, n->nr * sizeof(*n->items));
	}
	vec_free(&items->list);
}

void call_pattern_free(struct call_pattern *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->owned.len; i++)
		free(p->owned.data[i]);
	vec_free(&p->owned);
	free(p);
}

/* ---- the function --------------------------------------------------------------------------- */

static void skip_spaces(struct call_parser *p)
{
	while (p->text[p->at] == ' ' || (p->text[p->at] >= '\t' && p->text[p->at] <= '\r'))
		p->at++;
}

/* Reads letters, digits, _ and @, and (marks) at most one ? or ! behind them, into p->word. */
static void plain_name(struct call_parser *p, bool marks)
{
	size_t from = p->at;

	while (call_is_word(p->text[p->at]))
		p->at++;
	if (marks && p->at > from && (p->text[p->at] == '?' || p->text[p->at] == '!'))
		p->at++;
	strbuf_reset(&p->word);
	strbuf_add(&p->word, p->text + from, p->at - from);
}

void call_alias(struct call_parser *p, struct strbuf *out)
{
	const char *s = p->text;
	bool whole = strncmp(s + p->at, ELIXIR, strlen(ELIXIR)) == 0 &&
		     !call_is_word(s[p->at + strlen(ELIXIR)]);

	strbuf_addstr(out, whole ? "" : ELIXIR ".");
	for (;;) {
		plain_name(p, false);
		strbuf_add(out, p->word.buf, p->word.len);
		if (s[p->at] != '.' || !call_is_upper(s[p->at + 1]) || s[p->at + 1] == '_')
			break;
		strbuf_addch(out, '.');
		p->at++;
	}
}

static int empty(struct call_parser *p, size_t at, const char *what)
{
	if (!p->text[at])
		return call_fail(p, at, "expected %s, but the text ends", what);
	return call_fail(p, at, "expected %s", what);
}

/* Parses the module and the : or . behind it.  A module in Elixir's spelling means that terms are
 * in Elixir's spelling, too. */
static int module(struct call_parser *p)
{
	struct strbuf name = STRBUF_INIT;
	const char *s = p->text;
	size_t at = p->at;
	int rc = 0;

	if (s[at] == ':') { /* an atom in Elixir */
		p->at++;
		p->elixir = true;
	}
	if (s[p->at] == '\'' || (p->elixir && s[p->at] == '"')) {
		rc = call_quoted(p, s[p->at]);
		p->out->module = call_text(p, p->word.buf, p->word.len);
	} else if (s[at] == '_' && !call_is_word(s[at + 1])) {
		p->at++;
		p->elixir = s[p->at] == '.';
	} else if (call_is_upper(s[at]) && s[at] != '_') {
		p->elixir = true;
		call_alias(p, &name);
		p->out->module = call_text(p, name.buf, name.len);
	} else {
		plain_name(p, false);
		p->out->module = call_text(p, p->word.buf, p->word.len);
		if (!p->word.len || !call_is_lower(p->word.buf[0]))
			return empty(p, at, "a module: mod:fun/arity or Mod.fun/arity");
	}
	strbuf_free(&name);
	if (rc)
		return rc;
	if (s[p->at] != ':' && !(p->elixir && s[p->at] == '.'))
		return empty(p, p->at,
			     p->elixir ? "a dot and a function, or ._ for all functions"
				       : "a colon and a function, or :_ for all functions");
	p->at++;
	return 0;
}

/* Length of the operator that `s` begins with as a function name (erlang:+/2, Kernel.==/2), without
 * the / of an arity; 0: there is none. */
static size_t operator_length(const char *s)
{
	size_t len = 0;

	while (s[len] && strchr("+-*/=<>!&|^~@.\\", s[len])) {
		if (s[len] == '/' && len && s[len + 1] >= '0' && s[len + 1] <= '9')
			break;
		/* In `+->` the name is `+`; a name cannot be empty. */
		if (len && strncmp(s + len, "->", 2) == 0)
			break;
		len++;
	}
	return len;
}

static int function(struct call_parser *p)
{
	const char *s = p->text;
	size_t at = p->at, len;

	if (s[at] == '_' && !call_is_word(s[at + 1])) {
		p->at++;
		return 0;
	}
	if (s[at] == '\'' || s[at] == '"') {
		if (call_quoted(p, s[at]))
			return -EINVAL;
	} else if ((len = operator_length(s + at)) > 0) {
		strbuf_reset(&p->word);
		strbuf_add(&p->word, s + at, len);
		p->at += len;
	} else {
		plain_name(p, true);
		if (!p->word.len || (!call_is_lower(s[at]) && s[at] != '_'))
			return empty(p, at, "a function, or _ for all functions");
	}
	p->out->function = call_text(p, p->word.buf, p->word.len);
	return 0;
}

static int arity(struct call_parser *p)
{
	size_t at = ++p->at;
	int n = 0;

	while (p->text[p->at] >= '0' && p->text[p->at] <= '9' && p->at - at < 4)
		n = n * 10 + (p->text[p->at++] - '0');
	if (p->at == at)
		return empty(p, at, "an arity, 0 to 255");
	if (n > CALL_PATTERN_ARITY || call_is_word(p->text[p->at]))
		return call_fail(p, at, "expected an arity, 0 to 255");
	p->out->arity = n;
	return 0;
}

static int arguments(struct call_parser *p)
{
	struct pattern_node *list = call_node(p, PATTERN_TUPLE);
	size_t at = p->at;
	int rc = call_next(p);

	rc = rc ? rc
		: call_parse_items(p, list, ")", "`,` or `)` after an argument",
				   call_parse_pattern);
	if (rc == 0 && list->nr > CALL_PATTERN_ARITY)
		return call_fail(p, at, "a function has no more than 255 arguments");
	p->out->args = list->items;
	p->out->arity = (int)list->nr;
	p->out->has_args = true;
	return rc;
}

/* ---- actions -------------------------------------------------------------------------------- */

static int actions(struct call_parser *p)
{
	do {
		if (call_next(p))
			return -EINVAL;
		if (call_is_name(p, "return"))
			p->out->is_return = true;
		else if (call_is_name(p, "stack"))
			p->out->is_stack = true;
		else
			return call_expected(p, "return or stack");
		if (call_next(p))
			return -EINVAL;
	} while (call_is_sign(p, ",") || call_is_sign(p, ";"));
	return 0;
}

static int rest(struct call_parser *p)
{
	const char *expected = "`when`, `->` or the end";

	skip_spaces(p);
	if (p->text[p->at] == '(') {
		if (arguments(p))
			return -EINVAL;
	} else if (p->text[p->at] == '/') {
		if (arity(p) || call_next(p))
			return -EINVAL;
		expected = "`->` or the end";
	} else {
		if (call_next(p))
			return -EINVAL;
		expected = "an arity (/2), arguments or the end";
	}
	if (call_is_reserved(p, "when")) {
		if (!p->out->has_args)
			return call_fail(p, p->now.at, "a guard needs arguments: %s when ...",
					 p->elixir ? "Mod.fun(a, b)" : "mod:fun(A, B)");
		if (call_parse_guards(p))
			return -EINVAL;
		expected = p->elixir ? "an operator, `when`, `->` or the end"
				     : "an operator, `,`, `;`, `->` or the end";
	}
	if (call_is_sign(p, "->")) {
		if (actions(p))
			return -EINVAL;
		expected = "`,` or the end";
	}
	return p->now.kind == WORD_END ? 0 : call_expected(p, expected);
}

/* Adds to each guard the test that a variable between % and { is bound to an atom. */
static void structs_are_atoms(struct call_parser *p)
{
	uint32_t nr = (uint32_t)p->structs.len;

	if (nr && !p->out->nr_guards) {
		p->out->guards = call_alloc(p, sizeof(*p->out->guards));
		p->out->nr_guards = 1;
	}
	for (uint32_t i = 0; nr && i < p->out->nr_guards; i++) {
		struct call_guard *g = &p->out->guards[i];
		struct pattern_node **tests = call_alloc(p, (g->nr + nr) * sizeof(*tests));

		for (uint32_t j = 0; j < nr; j++) {
			struct pattern_node *slot = call_node(p, PATTERN_VARIABLE);

			slot->slot = p->structs.data[j];
			tests[j] = call_guard_call(p, GUARD_IS_ATOM, slot, NULL);
		}
		if (g->nr)
			memcpy(tests + nr, g->tests, g->nr * sizeof(*tests));
		g->tests = tests;
		g->nr += nr;
	}
}

/* Do the arguments or guards restrict which calls match? */
static bool has_conditions(const struct call_pattern *p)
{
	uint32_t nr = 0;

	for (int i = 0; p->args && i < p->arity; i++) {
		if (p->args[i]->kind != PATTERN_ANY && p->args[i]->kind != PATTERN_VARIABLE)
			return true;
		nr += p->args[i]->kind == PATTERN_VARIABLE;
	}
	return p->nr_guards ||
	       nr > p->nr_variables; /* a variable that occurs twice is a condition */
}

static int parse(struct call_parser *p)
{
	p->out->arity = -1;
	p->out->text = call_text(p, p->text, strlen(p->text));
	skip_spaces(p);
	if (module(p) || function(p) || rest(p))
		return -EINVAL;
	structs_are_atoms(p);
	p->out->nr_variables = (uint32_t)p->variables.len;
	p->out->variables = call_alloc(p, (p->variables.len + 1) * sizeof(*p->variables.data));
	for (size_t i = 0; i < p->variables.len; i++)
		p->out->variables[i] = p->variables.data[i];
	p->out->has_args = has_conditions(p->out);
	return 0;
}

int call_pattern_parse(struct call_pattern **out, const char *text, struct error *err)
{
	struct call_parser *p;
	int rc;

	*out = NULL;
	if (strlen(text) > CALL_PATTERN_TEXT)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "a pattern has no more than %d bytes", CALL_PATTERN_TEXT);
	p = xcalloc(1, sizeof(*p));
	p->text = text;
	p->err = err;
	p->out = xcalloc(1, sizeof(*p->out));
	strbuf_init(&p->word);
	rc = parse(p);
	if (rc)
		call_pattern_free(p->out);
	else
		*out = p->out;
	strbuf_free(&p->word);
	vec_free(&p->variables);
	vec_free(&p->structs);
	free(p);
	return rc;
}
