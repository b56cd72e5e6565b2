/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See diff_match.h.  A plain function is identified by its text and its class of code.  The text of
 * a lambda ends in a number that the compiler counts within the enclosing function ('-f/1-fun-3-',
 * '-f/1-lc$^0/1-2-'), so that a new fun renumbers all that follow it.
 *
 * Lambdas are therefore grouped by the text without numbers, and within a group matched by order if
 * both sides saw equally many.  If not, some were not sampled, or added: then equal numbers are
 * matched first, and the others by order.
 */
#include "model/profile/diff_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"

/* "[... N frames ...]" are the same function for any N: recursion may be differently deep. */
#define ELIDED_NAME "[... frames ...]"

/* End of a quoted name in a display text: Erlang's or Elixir's quote. */
static bool ends_quoted_name(char c)
{
	return c == '\'' || c == '"';
}

struct lambda {
	char *group;	 /* text without its numbers */
	uint64_t number; /* position in the enclosing function */
	uint32_t function;
	int side;
};

struct matcher {
	struct diff_match *m;
	const struct snapshot *side[NR_DIFF_SIDES];
	VEC(struct diff_key) keys;
	VEC(struct lambda) lambdas;
	uint32_t *function_key[NR_DIFF_SIDES];
	struct idmap plains; /* class and name -> key, without lambdas */
};

struct plain_id {
	const char *name;
	char class;
};

/* One class for all code that Erlang can call, as a function may become a BIF in another
 * release. */
static char class_of(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_ERLANG:
	case FRAME_BIF:
	case FRAME_NIF:
		return 'e';
	default:
		return (char)('0' + (int)kind);
	}
}

static uint32_t new_key(struct matcher *x, const char *name, enum frame_kind kind)
{
	struct diff_key key = {.name = name, .kind = kind};

	vec_push(&x->keys, key);
	return (uint32_t)x->keys.len - 1;
}

static uint32_t read_number(const char *from, const char *to)
{
	uint64_t n = 0;

	for (; from < to && n < UINT32_MAX; from++)
		n = n * 10 + (uint64_t)(*from - '0');
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static const char *digits_before(const char *start, const char *end)
{
	while (end > start && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end;
}

/* If `name` is that of a lambda, returns its group (owned by the caller) and number.  The text
 * is PREFIX-NUMBER-QUOTE/ARITY; PREFIX may contain the number of a comprehension, after "$^".
 * The arity is not part of the group, as it changes with the variables that the fun captures. */
static bool parse_lambda(const char *name, char **group, uint64_t *number)
{
	const char *slash = strrchr(name, '/'), *digits, *end, *caret = NULL;
	uint32_t minor = 0;
	char *g;

	if (!slash || slash - name < 4 || !ends_quoted_name(slash[-1]) || slash[-2] != '-')
		return false;
	end = slash - 2;
	digits = digits_before(name, end);
	if (digits == end || digits == name || digits[-1] != '-')
		return false;
	g = xstrndup(name, (size_t)(digits - name));
	for (char *p = strstr(g, "$^"); p; p = strstr(p + 2, "$^"))
		caret = p + 2;
	if (caret) {
		char *at = g + (caret - g), *after = at + strspn(at, "0123456789");

		minor = read_number(at, after);
		memmove(at, after, strlen(after) + 1);
	}
	*group = g;
	*number = (uint64_t)read_number(digits, end) << 32 | minor;
	return true;
}

static bool plain_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct matcher *x = ctx;
	const struct plain_id *want = key;
	const struct diff_key *have = &x->keys.data[id];

	return class_of(have->kind) == want->class && strcmp(have->name, want->name) == 0;
}

static uint32_t plain_key(struct matcher *x, const char *name, enum frame_kind kind, int side)
{
	struct plain_id id = {.name = kind == FRAME_ELIDED ? ELIDED_NAME : name,
			      .class = class_of(kind)};
	uint32_t hash = hash_mix(hash_bytes(id.name, strlen(id.name)), (uint64_t)id.class);
	uint32_t key = idmap_find(&x->plains, hash, plain_equal, x, &id);

	if (key == IDMAP_NONE) {
		key = new_key(x, id.name, kind);
		idmap_add(&x->plains, hash, key);
	} else if (side == DIFF_B) {
		x->keys.data[key].kind = kind;
	}
	return key;
}

static void collect_side(struct matcher *x, int side)
{
	const struct snapshot *s = x->side[side];

	for (uint32_t i = 0; i < s->nr_functions; i++) {
		const struct snap_function *f = &s->functions[i];
		struct lambda l = {.function = i, .side = side};

		if (class_of(f->kind) == 'e' && parse_lambda(f->name, &l.group, &l.number))
			vec_push(&x->lambdas, l);
		else
			x->function_key[side][i] = plain_key(x, f->name, f->kind, side);
	}
}

/* Frames that are not functions (groups, kinds, elided) are identified by their text. */
static void key_frames(struct matcher *x, int side)
{
	const struct snapshot *s = x->side[side];
	uint32_t *keys = xmalloc(s->nr_frames * sizeof(*keys));

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct snap_frame *f = &s->frames[i];

		keys[i] = f->function != SNAPSHOT_NONE ? x->function_key[side][f->function]
						       : plain_key(x, f->name, f->kind, side);
	}
	x->m->key_of[side] = keys;
}

static int compare_lambdas(const void *pa, const void *pb)
{
	const struct lambda *a = pa, *b = pb;
	int c = strcmp(a->group, b->group);

	if (c)
		return c;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* Lambdas of one side of a group, with distinct numbers. */
struct side_list {
	struct lambda *all; /* sorted by number */
	size_t nr_all;
	uint64_t *numbers; /* distinct */
	uint32_t *keys;	   /* SNAPSHOT_NONE = not matched yet */
	size_t nr;
};

static void side_list_init(struct side_list *l, struct lambda *all, size_t nr_all)
{
	*l = (struct side_list){.all = all, .nr_all = nr_all};
	l->numbers = xmalloc(nr_all * sizeof(*l->numbers));
	l->keys = xmalloc(nr_all * sizeof(*l->keys));
	for (size_t i = 0; i < nr_all; i++) {
		if (l->nr && l->numbers[l->nr - 1] == all[i].number)
			continue;
		l->numbers[l->nr] = all[i].number;
		l->keys[l->nr++] = SNAPSHOT_NONE;
	}
}

static void side_list_free(struct side_list *l)
{
	free(l->numbers);
	free(l->keys);
}

static void match_equal_numbers(struct matcher *x, struct side_list *a, struct side_list *b)
{
	for (size_t i = 0, j = 0; i < a->nr && j < b->nr;) {
		if (a->numbers[i] == b->numbers[j])
			a->keys[i++] = b->keys[j++] = new_key(x, NULL, FRAME_ERLANG);
		else if (a->numbers[i] < b->numbers[j])
			i++;
		else
			j++;
	}
}

static void match_in_order(struct matcher *x, struct side_list *a, struct side_list *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a->nr && a->keys[i] != SNAPSHOT_NONE)
			i++;
		while (j < b->nr && b->keys[j] != SNAPSHOT_NONE)
			j++;
		if (i == a->nr && j == b->nr)
			return;
		uint32_t key = new_key(x, NULL, FRAME_ERLANG);
		if (i < a->nr)
			a->keys[i] = key;
		if (j < b->nr)
			b->keys[j] = key;
	}
}

/* Sets the key of each function of the list; a key that A and B have gets its name from B. */
static void name_keys(struct matcher *x, const struct side_list *l)
{
	size_t at = 0;

	for (size_t i = 0; i < l->nr_all; i++) {
		const struct lambda *f = &l->all[i];
		const struct snap_function *fn = &x->side[f->side]->functions[f->function];

		while (l->numbers[at] != f->number)
			at++;
		x->keys.data[l->keys[at]].name = fn->name;
		x->keys.data[l->keys[at]].kind = fn->kind;
		x->function_key[f->side][f->function] = l->keys[at];
	}
}

static void match_group(struct matcher *x, struct lambda *group, size_t len)
{
	struct side_list a, b;
	size_t nr_a = 0;

	while (nr_a < len && group[nr_a].side == DIFF_A)
		nr_a++;
	side_list_init(&a, group, nr_a);
	side_list_init(&b, group + nr_a, len - nr_a);
	if (a.nr != b.nr)
		match_equal_numbers(x, &a, &b);
	match_in_order(x, &a, &b);
	name_keys(x, &a);
	name_keys(x, &b);
	side_list_free(&a);
	side_list_free(&b);
}

static void match_lambdas(struct matcher *x)
{
	struct lambda *l = x->lambdas.data;
	size_t nr = x->lambdas.len;

	if (nr)
		qsort(l, nr, sizeof(*l), compare_lambdas);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && strcmp(l[end].group, l[i].group) == 0; end++)
			;
		match_group(x, &l[i], end - i);
	}
	for (size_t i = 0; i < nr; i++)
		free(l[i].group);
	vec_free(&x->lambdas);
}

void diff_match_init(struct diff_match *m, const struct snapshot *a, const struct snapshot *b)
{
	struct matcher x = {.m = m, .side = {a, b}};

	*m = (struct diff_match){0};
	for (int side = 0; side < NR_DIFF_SIDES; side++) {
		x.function_key[side] = xcalloc(x.side[side]->nr_functions, sizeof(uint32_t));
		collect_side(&x, side);
	}
	match_lambdas(&x);
	for (int side = 0; side < NR_DIFF_SIDES; side++) {
		key_frames(&x, side);
		free(x.function_key[side]);
	}
	idmap_free(&x.plains);
	m->keys = x.keys.data;
	m->nr_keys = (uint32_t)x.keys.len;
}

void diff_match_free(struct diff_match *m)
{
	free(m->keys);
	for (int side = 0; side < NR_DIFF_SIDES; side++)
		free(m->key_of[side]);
}
