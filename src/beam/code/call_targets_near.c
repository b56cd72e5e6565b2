/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggestions for a call_query that matches nothing. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/distance.h"
#include "base/strbuf.h"
#include "beam/code/call_targets_internal.h"
#include "beam/term/atoms.h"
#include "names/elixir.h"

/* Up to three words that are similar to `word`, the most similar first. */
#define NEAR_MAX 3
struct near_words {
	const char *word;
	struct {
		char text[256];
		size_t distance;
	} found[NEAR_MAX];
	unsigned int nr;
};

static void fold(char *out, size_t size, const char *text)
{
	size_t i = 0;

	for (; text[i] && i + 1 < size; i++)
		out[i] = (char)tolower((unsigned char)text[i]);
	out[i] = '\0';
}

/* Twice the edit distance without regard to case, plus 1 unless the words are identical: words that
 * differ only in case have distance 1. */
static size_t distance_of(const char *word, const char *candidate)
{
	char a[DISTANCE_MAX_LEN + 2], b[DISTANCE_MAX_LEN + 2];
	size_t d;

	word = elixir_bare(word);
	candidate = elixir_bare(candidate);
	fold(a, sizeof(a), word);
	fold(b, sizeof(b), candidate);
	d = word_distance(a, b);
	return d == SIZE_MAX ? d : 2 * d + (strcmp(word, candidate) != 0);
}

static size_t farthest(const char *word)
{
	return 2 * MAX(strlen(elixir_bare(word)) / 3, (size_t)1) + 1;
}

static void near_offer(struct near_words *near, const char *candidate)
{
	size_t distance = distance_of(near->word, candidate);
	unsigned int at = near->nr;

	if (distance > farthest(near->word) || strlen(candidate) >= sizeof(near->found[0].text))
		return;
	for (unsigned int i = 0; i < near->nr; i++)
		if (strcmp(near->found[i].text, candidate) == 0)
			return;
	while (at > 0 && near->found[at - 1].distance > distance)
		at--;
	if (at == NEAR_MAX)
		return;
	if (near->nr < NEAR_MAX)
		near->nr++;
	memmove(&near->found[at + 1], &near->found[at],
		(near->nr - at - 1) * sizeof(near->found[0]));
	strcpy(near->found[at].text, candidate);
	near->found[at].distance = distance;
}

static void add_near(struct strbuf *text, const struct near_words *near)
{
	for (unsigned int i = 0; i < near->nr; i++) {
		strbuf_addstr(text, i == 0 ? "; did you mean " : i + 1 < near->nr ? ", " : " or ");
		strbuf_addch(text, '\'');
		strbuf_addstr(text, elixir_bare(near->found[i].text));
		strbuf_addch(text, '\'');
	}
	if (near->nr)
		strbuf_addch(text, '?');
}

static int not_there(struct strbuf *text, struct error *err)
{
	error_set(err, ERROR_KIND_FAILED, -ENOENT, "%s", text->buf);
	strbuf_free(text);
	return -ENOENT;
}

int call_targets_no_module(struct beam_node *n, const struct modules *modules, const char *module,
			   struct error *err)
{
	struct near_words near = {.word = module};
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < modules->v.len; i++) {
		const char *name = beam_atom_text(n->atoms, modules->v.data[i].name, NULL);

		if (name && modules->v.data[i].code)
			near_offer(&near, name);
	}
	strbuf_addf(&text, "the node has no module '%s' loaded", module);
	add_near(&text, &near);
	return not_there(&text, err);
}

/* Appends the arities of the functions with this name, "1, 2 and 3"; returns their number. */
static unsigned int add_arities(struct strbuf *text, struct beam_node *n,
				const struct call_targets *of, const char *function)
{
	unsigned int nr = 0;
	int last = -1;

	for (size_t i = 0; i < of->v.len; i++) {
		const struct call_target *t = &of->v.data[i];
		const char *name = beam_atom_text(n->atoms, t->function, NULL);

		if (!name || strcmp(name, function) != 0)
			continue;
		if (last >= 0)
			strbuf_addf(text, "%s%d", nr++ ? ", " : "", last);
		last = t->arity;
	}
	if (last >= 0)
		strbuf_addf(text, "%s%d", nr++ ? " and " : "", last);
	return nr;
}

int call_targets_no_function(struct beam_node *n, const struct call_targets *of,
			     const struct call_query *query, struct error *err)
{
	struct strbuf text = STRBUF_INIT, arities = STRBUF_INIT;
	struct near_words near = {.word = query->function ? query->function : ""};
	unsigned int nr = query->function ? add_arities(&arities, n, of, query->function) : 0;

	strbuf_addf(&text, "module '%s' has no function ", elixir_bare(query->module));
	strbuf_addstr(&text, query->function ? query->function : "at all");
	if (query->arity != CALL_ARITY_ANY)
		strbuf_addf(&text, query->function ? "/%d" : " with arity %d", query->arity);
	if (nr)
		strbuf_addf(&text, "; %s has %s %s", query->function, nr > 1 ? "arities" : "arity",
			    arities.buf);
	for (size_t i = 0; !nr && query->function && i < of->v.len; i++) {
		const char *name = beam_atom_text(n->atoms, of->v.data[i].function, NULL);

		if (name)
			near_offer(&near, name);
	}
	add_near(&text, &near);
	strbuf_free(&arities);
	return not_there(&text, err);
}
