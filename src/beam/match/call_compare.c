/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of terms, as erts_cmp_compound() of utils.c has it (OTP 25 to 29):
 *
 *   number < atom < reference < fun < port < pid < tuple < map < [] < list < bitstring
 *
 * Terms to compare are kept on an explicit stack; only keys of maps recurse, as they must be
 * sorted, to a limited depth.  For equality a difference in one place decides, even if other parts
 * could not be read.
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"
#include "beam/node/node.h"

#define DEPTH_MAX 4 /* levels of maps that are keys of maps, if their keys are sorted */
#define CHUNK	  256

/* A comparison to do: two arrays of `nr` terms, or two terms. */
struct task {
	raddr a_at, b_at; /* addresses of the arrays; 0: compare terms a and b */
	uint64_t a, b, nr;
	bool exact;
};

struct compare {
	struct call_matcher *m;
	bool equality, unknown;
	int depth;
	VEC(struct task) tasks;
};

static int order(struct call_matcher *m, uint64_t a, uint64_t b, bool exact, bool equality,
		 int depth);

static int sign(int64_t n)
{
	return (n > 0) - (n < 0);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Rank of a kind in the order of terms; -1: unknown kind. */
static int rank(enum term_kind kind)
{
	switch (kind) {
	case TERM_KIND_SMALL:
	case TERM_KIND_BIG:
	case TERM_KIND_FLOAT:
		return 0;
	case TERM_KIND_ATOM:
		return 1;
	case TERM_KIND_REF:
	case TERM_KIND_MAGIC_REF:
	case TERM_KIND_EXTERNAL_REF:
		return 2;
	case TERM_KIND_FUN:
	case TERM_KIND_EXPORT:
		return 3;
	case TERM_KIND_PORT:
	case TERM_KIND_EXTERNAL_PORT:
		return 4;
	case TERM_KIND_PID:
	case TERM_KIND_EXTERNAL_PID:
		return 5;
	case TERM_KIND_TUPLE:
		return 6;
	case TERM_KIND_RECORD:
		return 7;
	case TERM_KIND_MAP:
		return 8;
	case TERM_KIND_NIL:
		return 9;
	case TERM_KIND_LIST:
		return 10;
	case TERM_KIND_BITS:
		return 11;
	default:
		return -1;
	}
}

static void push(struct compare *c, uint64_t a, uint64_t b, bool exact)
{
	struct task t = {.a = a, .b = b, .nr = 1, .exact = exact};

	vec_push(&c->tasks, t);
}

static void push_array(struct compare *c, raddr a, raddr b, uint64_t nr, bool exact)
{
	struct task t = {.a_at = a, .b_at = b, .nr = nr, .exact = exact};

	if (nr)
		vec_push(&c->tasks, t);
}

/* ---- numbers, atoms ------------------------------------------------------------------------- */

/* Compares two bignums of any size word by word, without loading them. */
static int compare_bigs(struct call_matcher *m, uint64_t a, uint64_t ha, uint64_t b, uint64_t hb)
{
	bool negative = HEADER_SUBTAG(ha) == SUBTAG_BIG_NEGATIVE;
	uint64_t nr = HEADER_ARITY(ha), x, y;

	if (negative != (HEADER_SUBTAG(hb) == SUBTAG_BIG_NEGATIVE))
		return negative ? -1 : 1;
	if (nr != HEADER_ARITY(hb))
		return (nr < HEADER_ARITY(hb)) != negative ? -1 : 1;
	if (nr > BIG_MAX_DIGITS)
		return CALL_INCOMPARABLE;
	while (nr-- > 0) {
		if (!term_word(m->r, TERM_ADDR(a) + 8 + 8 * nr, &x) ||
		    !term_word(m->r, TERM_ADDR(b) + 8 + 8 * nr, &y))
			return CALL_INCOMPARABLE;
		if (x != y)
			return (x < y) != negative ? -1 : 1;
	}
	return 0;
}

static int compare_floats(struct call_matcher *m, uint64_t a, uint64_t b, bool exact)
{
	double x, y;

	if (!call_float(m, a, &x) || !call_float(m, b, &y))
		return CALL_INCOMPARABLE;
	/* Since OTP 27 -0.0 =:= 0.0 is false. */
	if (exact && m->r->otp >= 27 && x == 0 && y == 0)
		return !!__builtin_signbit(y) - !!__builtin_signbit(x);
	return (x > y) - (x < y);
}

static int compare_with_float(struct call_matcher *m, uint64_t integer, uint64_t real)
{
	struct bigint n;
	uint64_t header;
	double d;

	if (!call_float(m, real, &d))
		return CALL_INCOMPARABLE;
	/* The largest float has 16 digits of 64 bits. */
	if (call_kind(m, integer, &header) == TERM_KIND_BIG && HEADER_ARITY(header) > 16)
		return HEADER_SUBTAG(header) == SUBTAG_BIG_NEGATIVE ? -1 : 1;
	if (!call_integer(m, integer, &n))
		return CALL_INCOMPARABLE;
	return bigint_compare_double(&n, d);
}

static int compare_numbers(struct call_matcher *m, uint64_t a, enum term_kind ka, uint64_t ha,
			   uint64_t b, enum term_kind kb, uint64_t hb, bool exact)
{
	int c;

	if (ka == TERM_KIND_FLOAT && kb == TERM_KIND_FLOAT)
		return compare_floats(m, a, b, exact);
	if (ka == TERM_KIND_FLOAT || kb == TERM_KIND_FLOAT) {
		if (exact) /* as keys of maps: integers before floats */
			return ka == TERM_KIND_FLOAT ? 1 : -1;
		c = ka == TERM_KIND_FLOAT ? compare_with_float(m, b, a)
					  : compare_with_float(m, a, b);
		return ka == TERM_KIND_FLOAT && c != CALL_INCOMPARABLE ? -c : c;
	}
	if (ka == TERM_KIND_BIG && kb == TERM_KIND_BIG)
		return compare_bigs(m, a, ha, b, hb);
	if (ka == TERM_KIND_BIG)
		return HEADER_SUBTAG(ha) == SUBTAG_BIG_NEGATIVE ? -1 : 1;
	if (kb == TERM_KIND_BIG)
		return HEADER_SUBTAG(hb) == SUBTAG_BIG_NEGATIVE ? 1 : -1;
	return sign(TERM_SMALL(a) - TERM_SMALL(b));
}

static int compare_atoms(struct call_matcher *m, uint64_t a, uint64_t b, bool equality)
{
	struct call_atom x, y;
	int c;

	if (a == b)
		return 0;
	if (equality && !call_is_own_atom(a) && !call_is_own_atom(b))
		return 1;
	if (!call_atom_text(m, a, &x) || !call_atom_text(m, b, &y))
		return CALL_INCOMPARABLE;
	c = sign(memcmp(x.text, y.text, MIN(x.len, y.len)));
	return c ? c : compare_u64(x.len, y.len);
}

/* ---- identifiers ---------------------------------------------------------------------------- */

/* Name and creation of an identifier's node: of this node for a local identifier, whose id.node is
 * 0.  False if they cannot be read. */
static bool node_of(struct call_matcher *m, const struct term_view *v, uint64_t *name,
		    uint32_t *creation)
{
	const struct beam_node *n = m->r->node;
	uint64_t this_node;

	*name = v->id.node;
	*creation = v->id.creation;
	if (v->id.node)
		return true;
	return n && n->anchors.this_node_ptr && n->layout.node_sysname >= 0 &&
	       n->layout.node_creation >= 0 &&
	       term_vm_word(m->r, n->anchors.this_node_ptr, &this_node) &&
	       term_vm_word(m->r, this_node + (uint32_t)n->layout.node_sysname, name) &&
	       term_bytes(m->r, this_node + (uint32_t)n->layout.node_creation, creation, 4);
}

static int compare_nodes(struct compare *c, const struct term_view *a, const struct term_view *b)
{
	uint64_t name_a, name_b;
	uint32_t creation_a, creation_b;
	int r;

	if (!a->id.node && !b->id.node)
		return 0;
	if (c->equality && !a->id.node != !b->id.node)
		return 1;
	if (!node_of(c->m, a, &name_a, &creation_a) || !node_of(c->m, b, &name_b, &creation_b))
		return CALL_INCOMPARABLE;
	r = compare_atoms(c->m, name_a, name_b, c->equality);
	return r ? r : compare_u64(creation_a, creation_b);
}

/* number | serial << 32 of a pid, also of a pid of this node. */
static uint64_t pid_data(struct compare *c, const struct term_view *v)
{
	const struct id_format *f = c->m->r->pids;
	unsigned int bits = pid_number_bits(f);
	uint64_t data;

	if (v->kind == TERM_KIND_EXTERNAL_PID)
		return v->id.data;
	data = id_data(f, v->term);
	return (data & ((1ull << bits) - 1)) | data >> bits << 32;
}

static int compare_pids(struct compare *c, const struct term_view *a, const struct term_view *b)
{
	uint64_t x = pid_data(c, a), y = pid_data(c, b);

	return x != y ? compare_u64(x, y) : compare_nodes(c, a, b);
}

static int compare_ports(struct compare *c, const struct term_view *a, const struct term_view *b)
{
	const struct id_format *f = c->m->r->ports;
	int r = compare_nodes(c, a, b);

	if (r)
		return r;
	return compare_u64(a->id.node ? a->id.data : id_data(f, a->term),
			   b->id.node ? b->id.data : id_data(f, b->term));
}

static int compare_refs(struct compare *c, const struct term_view *a, const struct term_view *b)
{
	int r = compare_nodes(c, a, b);

	/* Missing numbers of the shorter reference are 0. */
	for (uint32_t i = ARRAY_SIZE(a->id.numbers); r == 0 && i-- > 0;)
		r = compare_u64(i < a->id.nr_numbers ? a->id.numbers[i] : 0,
				i < b->id.nr_numbers ? b->id.numbers[i] : 0);
	return r;
}

/* ---- funs, bitstrings ----------------------------------------------------------------------- */

static int compare_funs(struct compare *c, const struct term_view *a, const struct term_view *b,
			bool exact)
{
	int r;

	if (a->kind != b->kind)
		return a->kind == TERM_KIND_EXPORT ? 1 : -1;
	if (!a->fun.module || !b->fun.module)
		return CALL_INCOMPARABLE;
	r = compare_atoms(c->m, a->fun.module, b->fun.module, c->equality);
	if (a->kind == TERM_KIND_EXPORT) {
		r = r ? r : compare_atoms(c->m, a->fun.function, b->fun.function, c->equality);
		return r ? r : compare_u64(a->fun.arity, b->fun.arity);
	}
	r = r ? r : compare_u64(a->fun.index, b->fun.index);
	r = r ? r : sign((int32_t)(a->fun.old_uniq - b->fun.old_uniq));
	r = r ? r : compare_u64(a->fun.nr_free, b->fun.nr_free);
	if (r == 0)
		push_array(c, a->fun.environment, b->fun.environment, a->fun.nr_free, exact);
	return r;
}

static int compare_bits(struct compare *c, const struct term_view *a, const struct term_view *b)
{
	uint64_t bits = MIN(a->bits.nr_bits, b->bits.nr_bits);
	struct term_view x = *a, y = *b;
	uint8_t buf_x[CHUNK], buf_y[CHUNK];

	if (c->equality && a->bits.nr_bits != b->bits.nr_bits)
		return 1;
	x.bits.nr_bits = y.bits.nr_bits = bits; /* bits beyond the shorter one read as 0 */
	for (uint64_t at = 0, end = (bits + 7) / 8; at < end;) {
		size_t part = (size_t)MIN(end - at, (uint64_t)CHUNK);
		int r;

		if (!term_bits(c->m->r, &x, at, buf_x, part) ||
		    !term_bits(c->m->r, &y, at, buf_y, part))
			return CALL_INCOMPARABLE;
		r = memcmp(buf_x, buf_y, part);
		if (r)
			return sign(r);
		at += part;
	}
	return compare_u64(a->bits.nr_bits, b->bits.nr_bits);
}

/* ---- maps ----------------------------------------------------------------------------------- */

struct pair {
	uint64_t key, value;
};
struct sorting {
	struct call_matcher *m;
	int depth;
	bool unknown;
};

static int compare_keys(const void *a, const void *b, void *arg)
{
	const struct pair *x = a, *y = b;
	struct sorting *s = arg;
	int r;

	if (s->unknown)
		return 0;
	r = order(s->m, x->key, y->key, true, false, s->depth + 1);
	s->unknown = r == CALL_INCOMPARABLE;
	return s->unknown ? 0 : r;
}

/* All pairs of a map; NULL if some part cannot be read. */
static struct pair *pairs_of(struct compare *c, const struct term_view *v)
{
	struct pair *pairs;
	struct map_walk w;
	uint64_t nr = 0;

	if (v->map.size > CALL_STEPS_MAX)
		return NULL;
	pairs = xcalloc((size_t)v->map.size + 1, sizeof(*pairs));
	map_walk_begin(&w, v, false);
	while (nr < v->map.size && map_walk_next(&w, c->m->r, &pairs[nr].key, &pairs[nr].value))
		nr++;
	if (nr == v->map.size)
		return pairs;
	free(pairs);
	return NULL;
}

/* Pushes comparisons of all keys, which come first, and of all values.  Pairs of maps with equal
 * keys are in the same order. */
static void push_pairs(struct compare *c, const struct pair *a, const struct pair *b, uint64_t nr,
		       bool exact)
{
	for (uint64_t i = nr; i-- > 0;)
		push(c, a[i].value, b[i].value, exact);
	for (uint64_t i = nr; i-- > 0;)
		push(c, a[i].key, b[i].key, true);
}

static int compare_maps(struct compare *c, const struct term_view *a, const struct term_view *b,
			bool exact)
{
	struct sorting s = {.m = c->m, .depth = c->depth};
	uint64_t nr = a->map.size;
	struct pair *x, *y;

	if (a->map.size != b->map.size)
		return compare_u64(a->map.size, b->map.size);
	if (c->equality && a->map.flat && b->map.flat) {
		push_array(c, a->map.values, b->map.values, nr, exact);
		push_array(c, a->map.keys, b->map.keys, nr, true);
		return 0;
	}
	x = pairs_of(c, a);
	y = pairs_of(c, b);
	if (x && y && !c->equality && c->depth < DEPTH_MAX) {
		qsort_r(x, nr, sizeof(*x), compare_keys, &s);
		qsort_r(y, nr, sizeof(*y), compare_keys, &s);
	}
	if (!x || !y || s.unknown || (!c->equality && c->depth >= DEPTH_MAX))
		nr = 0, s.unknown = true;
	push_pairs(c, x, y, nr, exact);
	free(x);
	free(y);
	return s.unknown ? CALL_INCOMPARABLE : 0;
}

/* ---- terms ---------------------------------------------------------------------------------- */

static int compare_lists(struct compare *c, uint64_t a, uint64_t b, bool exact)
{
	uint64_t head_a, tail_a, head_b, tail_b;

	if (!call_cell(c->m, a, &head_a, &tail_a) || !call_cell(c->m, b, &head_b, &tail_b))
		return CALL_INCOMPARABLE;
	push(c, tail_a, tail_b, exact);
	push(c, head_a, head_b, exact);
	return 0;
}

/* Compares two terms of the same kind, boxed or identifiers. */
static int compare_views(struct compare *c, uint64_t a, uint64_t b, bool exact)
{
	struct term_view x, y;

	if (term_view(c->m->r, a, &x) == TERM_KIND_UNREADABLE ||
	    term_view(c->m->r, b, &y) == TERM_KIND_UNREADABLE)
		return CALL_INCOMPARABLE;
	switch (rank(x.kind)) {
	case 2:
		return compare_refs(c, &x, &y);
	case 3:
		return compare_funs(c, &x, &y, exact);
	case 4:
		return compare_ports(c, &x, &y);
	case 5:
		return compare_pids(c, &x, &y);
	case 6:
		if (x.tuple.arity != y.tuple.arity)
			return compare_u64(x.tuple.arity, y.tuple.arity);
		push_array(c, x.tuple.elements, y.tuple.elements, x.tuple.arity, exact);
		return 0;
	case 8:
		return compare_maps(c, &x, &y, exact);
	case 11:
		return compare_bits(c, &x, &y);
	default: /* records of OTP 29 */
		return CALL_INCOMPARABLE;
	}
}

static bool same_word(uint64_t a, uint64_t b)
{
	return a == b || (TERM_IS_POINTER(a) && (a & 3) == (b & 3) && TERM_ADDR(a) == TERM_ADDR(b));
}

/* True if primary tags show that two terms differ.  A cons, a boxed term and an immediate are never
 * equal, except for numbers with ==. */
static bool tags_differ(uint64_t a, uint64_t b, bool exact)
{
	if ((a & 3) == (b & 3) || (a & 3) == 0 || (b & 3) == 0)
		return false;
	return exact || (!TERM_IS_SMALL(a) && !TERM_IS_SMALL(b));
}

static int compare_terms(struct compare *c, uint64_t a, uint64_t b, bool exact)
{
	struct call_matcher *m = c->m;
	uint64_t header_a, header_b;
	enum term_kind ka, kb;
	int ra, rb;

	if (a == CALL_UNKNOWN_TERM || b == CALL_UNKNOWN_TERM)
		return CALL_INCOMPARABLE;
	if (same_word(a, b))
		return 0;
	ka = call_kind(m, a, &header_a);
	kb = call_kind(m, b, &header_b);
	ra = rank(ka);
	rb = rank(kb);
	if (ra < 0 || rb < 0)
		return c->equality && tags_differ(a, b, exact) ? 1 : CALL_INCOMPARABLE;
	if (ra != rb)
		return compare_u64((uint64_t)ra, (uint64_t)rb);
	if (ra == 0)
		return compare_numbers(m, a, ka, header_a, b, kb, header_b, exact);
	if (ra == 1)
		return compare_atoms(m, a, b, c->equality);
	return ka == TERM_KIND_LIST ? compare_lists(c, a, b, exact) : compare_views(c, a, b, exact);
}

/* Pops the next two terms to compare; false: none is left. */
static bool next(struct compare *c, struct task *out, bool *readable)
{
	struct task *t;

	if (!c->tasks.len)
		return false;
	t = &c->tasks.data[c->tasks.len - 1];
	*out = *t;
	*readable = true;
	if (t->a_at) {
		*readable = term_word(c->m->r, t->a_at, &out->a) &&
			    term_word(c->m->r, t->b_at, &out->b);
		t->a_at += 8;
		t->b_at += 8;
	}
	if (--t->nr == 0)
		c->tasks.len--;
	return true;
}

static int order(struct call_matcher *m, uint64_t a, uint64_t b, bool exact, bool equality,
		 int depth)
{
	struct compare c = {.m = m, .equality = equality, .depth = depth};
	struct task t;
	bool readable;
	int r = 0;

	push(&c, a, b, exact);
	while (next(&c, &t, &readable)) {
		r = readable ? compare_terms(&c, t.a, t.b, t.exact) : CALL_INCOMPARABLE;
		if (++m->steps > CALL_STEPS_MAX || c.tasks.len > CALL_STEPS_MAX) {
			r = CALL_INCOMPARABLE;
			break;
		}
		if (r == CALL_INCOMPARABLE && equality) {
			c.unknown = true;
			r = 0;
		}
		if (r)
			break;
	}
	vec_free(&c.tasks);
	return r == 0 && c.unknown ? CALL_INCOMPARABLE : r;
}

int call_compare(struct call_matcher *m, uint64_t a, uint64_t b, bool exact)
{
	return order(m, a, b, exact, false, 0);
}

enum call_verdict call_equal(struct call_matcher *m, uint64_t a, uint64_t b, bool exact)
{
	int r = order(m, a, b, exact, true, 0);

	return r == CALL_INCOMPARABLE ? CALL_UNDECIDED : r == 0 ? CALL_MATCHES : CALL_DIFFERS;
}

/* ---- map_get -------------------------------------------------------------------------------- */

static enum call_verdict get_flat(struct call_matcher *m, const struct term_view *v, uint64_t key,
				  uint64_t *value)
{
	enum call_verdict found = CALL_DIFFERS;
	uint64_t k;

	for (uint64_t i = 0; i < v->map.size; i++) {
		enum call_verdict same = term_word(m->r, v->map.keys + 8 * i, &k)
						 ? call_equal(m, k, key, true)
						 : CALL_UNDECIDED;

		if (same == CALL_MATCHES) {
			if (!term_word(m->r, v->map.values + 8 * i, value))
				*value = CALL_UNKNOWN_TERM;
			return CALL_MATCHES;
		}
		if (same == CALL_UNDECIDED)
			found = CALL_UNDECIDED;
	}
	return found;
}

enum call_verdict call_map_get(struct call_matcher *m, uint64_t map, uint64_t key, uint64_t *value)
{
	enum call_verdict found = CALL_DIFFERS;
	struct map_walk w;
	struct term_view v;
	uint64_t k;

	if (term_view(m->r, map, &v) != TERM_KIND_MAP)
		return CALL_UNDECIDED;
	if (v.map.flat)
		return get_flat(m, &v, key, value);
	map_walk_begin(&w, &v, false);
	while (map_walk_next(&w, m->r, &k, value)) {
		enum call_verdict same = call_equal(m, k, key, true);

		if (same == CALL_MATCHES)
			return CALL_MATCHES;
		if (same == CALL_UNDECIDED)
			found = CALL_UNDECIDED;
		if (++m->steps > CALL_STEPS_MAX)
			return CALL_UNDECIDED;
	}
	return w.err ? CALL_UNDECIDED : found;
}
