/* SPDX-License-Identifier: BSD-2-Clause */
/* See code_match.h. */
#include "target/code_match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"

/* A function whose code is unique has at least so many instructions and references: small ones can
 * be equal by chance. */
#define UNIQUE_INSNS 24
#define UNIQUE_REFS  2
/* Part of the functions that must be matched for the same build: there the order of functions with
 * equal code counts, which another compiler may exchange, and a function whose code differs is the
 * one that is called at the same place. */
#define SAME_BUILD 0.9
#define RUN_MAX	   64 /* functions of a run that is searched for equal ones */

struct side {
	const struct code_graph *g;
	uint32_t *of;	 /* by function: the matched one of the other build */
	bool *by_symbol; /* by function: matched as both have the same symbol */
};

struct match {
	struct side r, t; /* the reference, the executable */
	size_t nr;
};

/* A function of the executable (t) may be one of the reference (r). */
struct pair {
	uint32_t t, r;
};

static const struct code_function *function_of(const struct side *s, uint32_t i)
{
	return &s->g->functions.data[i];
}

static bool has_equal_code(const struct match *m, uint32_t r, uint32_t t)
{
	const struct code_function *a = function_of(&m->r, r), *b = function_of(&m->t, t);

	return a->hash != 0 && a->hash == b->hash && a->nr_insns == b->nr_insns &&
	       a->nr_callees == b->nr_callees;
}

static uint32_t callee(const struct side *s, uint32_t function, uint32_t n)
{
	return s->g->callees.data[function_of(s, function)->first_callee + n];
}

/* False: at some place r and t, which have equal code, refer to functions of which one is matched
 * to another function. */
static bool is_consistent(const struct match *m, uint32_t r, uint32_t t)
{
	for (uint32_t i = 0; i < function_of(&m->r, r)->nr_callees; i++) {
		uint32_t x = callee(&m->r, r, i), y = callee(&m->t, t, i);

		if ((m->r.of[x] != CODE_MATCH_NONE || m->t.of[y] != CODE_MATCH_NONE) &&
		    m->r.of[x] != y)
			return false;
	}
	return true;
}

static void match(struct match *m, uint32_t r, uint32_t t)
{
	if (m->r.of[r] != CODE_MATCH_NONE || m->t.of[t] != CODE_MATCH_NONE)
		return;
	m->r.of[r] = t;
	m->t.of[t] = r;
	m->nr++;
}

static void match_if_equal(struct match *m, uint32_t r, uint32_t t)
{
	if (has_equal_code(m, r, t) && is_consistent(m, r, t))
		match(m, r, t);
}

/* ---- symbols --------------------------------------------------------------------------------- */

struct named {
	const char *name;
	uint32_t function;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void match_symbol(struct match *m, uint32_t r, uint32_t t)
{
	match(m, r, t);
	m->r.by_symbol[r] = m->t.by_symbol[t] = m->t.of[t] == r;
}

/* Functions that have a symbol in both builds.  Of several with one name, static functions of
 * different source files, none is matched. */
static void match_symbols(struct match *m)
{
	VEC(struct named) list = {0};

	for (uint32_t i = 0; i < m->r.g->functions.len; i++) {
		if (function_of(&m->r, i)->name)
			vec_push(&list, ((struct named){function_of(&m->r, i)->name, i}));
	}
	if (list.len)
		qsort(list.data, list.len, sizeof(*list.data), compare_names);
	for (uint32_t i = 0; list.len && i < m->t.g->functions.len; i++) {
		struct named key = {function_of(&m->t, i)->name, i}, *found;
		const struct named *end = list.data + list.len;

		found = key.name ? bsearch(&key, list.data, list.len, sizeof(key), compare_names)
				 : NULL;
		if (found && (found == list.data || compare_names(&found[-1], &key) != 0) &&
		    (found + 1 == end || compare_names(&found[1], &key) != 0))
			match_symbol(m, found->function, i);
	}
	vec_free(&list);
}

/* ---- unique code ----------------------------------------------------------------------------- */

struct by_hash {
	uint64_t hash;
	uint32_t function;
};

static int compare_hashes(const void *a, const void *b)
{
	uint64_t x = ((const struct by_hash *)a)->hash, y = ((const struct by_hash *)b)->hash;

	return x < y ? -1 : x > y;
}

/* What functions of one build have in common that may differ in a number only, as an atom or the
 * type of an allocation: their size, and what they refer to. */
static uint64_t shape_of(const struct side *s, uint32_t i)
{
	const struct code_function *f = function_of(s, i);
	uint32_t hash = hash_mix(f->nr_insns, f->nr_refs);

	for (uint32_t k = 0; k < f->nr_callees; k++)
		hash = hash_mix(hash, callee(s, i, k));
	return hash;
}

static struct by_hash *order_by(const struct side *s, bool shape)
{
	uint32_t nr = (uint32_t)s->g->functions.len;
	struct by_hash *list = xcalloc(nr + 1, sizeof(*list));

	for (uint32_t i = 0; i < nr; i++)
		list[i] = (struct by_hash){shape ? shape_of(s, i) : function_of(s, i)->hash, i};
	qsort(list, nr, sizeof(*list), compare_hashes);
	return list;
}

/* Functions from list[i] on with the same hash. */
static size_t nr_equal(const struct by_hash *list, size_t nr, size_t i)
{
	size_t n = 1;

	while (i + n < nr && list[i + n].hash == list[i].hash)
		n++;
	return n;
}

/* By function: has another one of the build the same shape?  In the next release the numbers of
 * both may have changed, so that one has the code that the other had. */
static bool *find_alike(const struct side *s)
{
	size_t nr = s->g->functions.len, n;
	struct by_hash *list = order_by(s, true);
	bool *alike = xcalloc(nr + 1, sizeof(*alike));

	for (size_t i = 0; i < nr; i += n) {
		n = nr_equal(list, nr, i);
		for (size_t k = i; n > 1 && k < i + n; k++)
			alike[list[k].function] = true;
	}
	free(list);
	return alike;
}

static void match_unique(struct match *m)
{
	struct by_hash *r = order_by(&m->r, false), *t = order_by(&m->t, false);
	bool *alike_r = find_alike(&m->r), *alike_t = find_alike(&m->t);
	size_t nr_r = m->r.g->functions.len, nr_t = m->t.g->functions.len;

	for (size_t i = 0, j = 0; i < nr_r && j < nr_t;) {
		size_t n = nr_equal(r, nr_r, i), k = nr_equal(t, nr_t, j);
		uint64_t a = r[i].hash, b = t[j].hash;
		const struct code_function *f = function_of(&m->t, t[j].function);

		if (a == b && n == 1 && k == 1 && f->nr_insns >= UNIQUE_INSNS &&
		    f->nr_refs >= UNIQUE_REFS && !alike_r[r[i].function] && !alike_t[t[j].function])
			match_if_equal(m, r[i].function, t[j].function);
		i += a <= b ? n : 0;
		j += b <= a ? k : 0;
	}
	free(alike_r);
	free(alike_t);
	free(r);
	free(t);
}

/* ---- referred to at the same place ----------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->r < y->r ? -1 : x->r > y->r;
}

struct pairs {
	VEC(struct pair) list;
};

/* What matched functions with equal code refer to, pair by pair, each pair once. */
static void find_pairs(const struct match *m, struct pairs *out)
{
	size_t nr = 0;

	for (uint32_t t = 0; t < m->t.g->functions.len; t++) {
		uint32_t r = m->t.of[t];

		if (r == CODE_MATCH_NONE || !has_equal_code(m, r, t))
			continue;
		for (uint32_t i = 0; i < function_of(&m->t, t)->nr_callees; i++)
			vec_push(&out->list,
				 ((struct pair){callee(&m->t, t, i), callee(&m->r, r, i)}));
	}
	if (out->list.len == 0)
		return;
	qsort(out->list.data, out->list.len, sizeof(*out->list.data), compare_pairs);
	for (size_t i = 0; i < out->list.len; i++) {
		if (nr == 0 || compare_pairs(&out->list.data[nr - 1], &out->list.data[i]) != 0)
			out->list.data[nr++] = out->list.data[i];
	}
	out->list.len = nr;
}

/* Matches pairs of which neither function is in another pair.  `same_build`: even if their code
 * differs, as that of a function which a patch has changed. */
static void match_callees(struct match *m, bool same_build)
{
	uint32_t *claims = xcalloc(m->r.g->functions.len + 1, sizeof(*claims));
	struct pairs pairs = {0};
	const struct pair *p;

	find_pairs(m, &pairs);
	p = pairs.list.data;
	for (size_t i = 0; i < pairs.list.len; i++)
		claims[p[i].r]++;
	for (size_t i = 0; i < pairs.list.len; i++) {
		bool alone = (i == 0 || p[i - 1].t != p[i].t) &&
			     (i + 1 == pairs.list.len || p[i + 1].t != p[i].t);

		if (!alone || claims[p[i].r] != 1)
			continue;
		if (same_build && !has_equal_code(m, p[i].r, p[i].t))
			match(m, p[i].r, p[i].t);
		match_if_equal(m, p[i].r, p[i].t);
	}
	free(claims);
	vec_free(&pairs.list);
}

/* ---- the same order -------------------------------------------------------------------------- */

/* How many unmatched functions with equal code follow r and t. */
static uint32_t run_length(const struct match *m, uint32_t r, uint32_t t)
{
	uint32_t len = 0;

	while (t + len + 1 < m->t.g->functions.len && r + len + 1 < m->r.g->functions.len &&
	       m->t.of[t + len + 1] == CODE_MATCH_NONE && m->r.of[r + len + 1] == CODE_MATCH_NONE &&
	       has_equal_code(m, r + len + 1, t + len + 1) &&
	       is_consistent(m, r + len + 1, t + len + 1))
		len++;
	return len;
}

/* Is there no other function with the same code among those from t on? */
static bool is_single(const struct match *m, uint32_t t, uint32_t len, uint32_t which)
{
	for (uint32_t i = 0; i < len; i++) {
		if (i != which &&
		    function_of(&m->t, t + i)->hash == function_of(&m->t, t + which)->hash)
			return false;
	}
	return true;
}

/* Matches functions between two matched ones, if all of them have equal code, one by one.  `twins`:
 * also those of which there are several. */
static void match_runs(struct match *m, bool twins)
{
	for (uint32_t t = 0; t < m->t.g->functions.len; t++) {
		uint32_t r = m->t.of[t], len = r == CODE_MATCH_NONE ? 0 : run_length(m, r, t);

		if (len == 0 || t + len + 1 >= m->t.g->functions.len ||
		    m->t.of[t + len + 1] != r + len + 1)
			continue;
		for (uint32_t i = len; i > 0; i--) {
			if (twins || (len <= RUN_MAX && is_single(m, t, len + 2, i)))
				match(m, r + i, t + i);
		}
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void drop(struct match *m, uint32_t r, uint32_t t)
{
	if (r == CODE_MATCH_NONE || t == CODE_MATCH_NONE || m->t.by_symbol[t])
		return;
	m->t.of[t] = m->r.of[r] = CODE_MATCH_NONE;
	m->nr--;
}

/* Drops pairs that contradict others, both of them unless they have symbols, until none do. */
static void drop_contradictions(struct match *m)
{
	size_t before;

	do {
		before = m->nr;
		for (uint32_t t = 0; t < m->t.g->functions.len; t++) {
			uint32_t r = m->t.of[t];

			if (r == CODE_MATCH_NONE || !has_equal_code(m, r, t) ||
			    is_consistent(m, r, t))
				continue;
			for (uint32_t i = 0; i < function_of(&m->t, t)->nr_callees; i++) {
				uint32_t x = callee(&m->r, r, i), y = callee(&m->t, t, i);

				if (m->r.of[x] == y)
					continue;
				drop(m, x, m->r.of[x]);
				drop(m, m->t.of[y], y);
			}
			drop(m, r, t);
		}
	} while (m->nr < before);
}

static uint32_t *new_list(const struct code_graph *g)
{
	uint32_t *list = xmalloc((g->functions.len + 1) * sizeof(*list));

	memset(list, 0xff, (g->functions.len + 1) * sizeof(*list)); /* CODE_MATCH_NONE */
	return list;
}

/* Matches what follows from the pairs that there are. */
static void spread(struct match *m, bool same_build)
{
	size_t before;

	do {
		before = m->nr;
		match_callees(m, same_build);
		match_runs(m, same_build);
	} while (m->nr > before);
}

uint32_t *code_match(const struct code_graph *reference, const struct code_graph *executable,
		     size_t *nr)
{
	size_t nr_r = reference->functions.len, nr_t = executable->functions.len;
	struct match m = {
		.r = {reference, new_list(reference), xcalloc(nr_r + 1, sizeof(bool))},
		.t = {executable, new_list(executable), xcalloc(nr_t + 1, sizeof(bool))},
	};

	match_symbols(&m);
	match_unique(&m);
	spread(&m, false);
	if ((double)m.nr > SAME_BUILD * (double)nr_t)
		spread(&m, true);
	drop_contradictions(&m);
	free(m.r.of);
	free(m.r.by_symbol);
	free(m.t.by_symbol);
	*nr = m.nr;
	return m.t.of;
}
