/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mem --tags`: blocks by who allocated them, as their allocation tags say. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/keytab.h"
#include "base/units.h"
#include "beam/process/stack.h"
#include "beam/term/atoms.h"
#include "beam/vm/carrier_types.h"
#include "beam/vm/ports.h"
#include "cmd/inspect/mem_blocks.h"
#include "cmd/inspect/process_source.h"
#include "cmd/output/render.h"
#include "cmd/run/watch.h"
#include "names/names.h"
#include "view/inspect/tags_view.h"

/* More origins and types than that are one row. */
#define ROWS_MAX (1u << 20)
/* Different tags whose row is remembered. */
#define KNOWN_MAX (1u << 20)
/* The first release whose tags have processes, ports and functions. */
#define OTP_OF_TERMS 27

/* What matters of a tag that was seen before. */
struct known {
	uint64_t origin, term; /* term: 0 if it says nothing about the origin */
	uint32_t type, row;
};

/* What --watch keeps of the rows of an earlier answer, by all that says which row it is. */
struct kept {
	uint64_t key; /* of the row, see key_of() */
	uint64_t blocks, size;
};

struct reading {
	struct mem_blocks *m;
	struct table_options options;
	enum tags_by by;
	struct carrier_types types;
	struct stack_code code;
	bool has_code; /* false: no blocks are tagged with functions */
	struct process_source source;
	VEC(struct tags_row) rows;
	struct idmap row_of;
	struct arena texts; /* of rows */
	VEC(struct known) known;
	struct idmap known_of;
	struct keytab sizes; /* struct tags_size */
	VEC(struct tags_size) ordered;
	VEC(struct tags_allocator) allocators;
	/* Allocators of which carriers are missing in this answer, and in the one before: bits by
	 * index.  `first` has the rows of each from the first answer in which none was missing. */
	uint32_t missed, missed_before, first_known;
	struct keytab first, before; /* struct kept */
	uint64_t before_ns;	     /* 0 = there was no answer yet */
	uint64_t read_ns;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* False: what the tag says is not known. */
static bool find_origin(struct reading *v, const struct known *k, struct tags_row *row,
			struct strbuf *text)
{
	const struct stack_frame at = {.addr = k->term};
	struct stack_location l;
	const char *atom;
	size_t len;
	char id[64];

	if (v->by == TAGS_BY_TYPE)
		return true;
	if (k->term & 3) {
		row->term = k->term;
		strbuf_addstr(text, TERM_IS_PID(k->term) ? pid_format(&v->source.formats.pids,
								      k->term, id, sizeof(id))
							 : port_format(&v->source.formats.ports,
								       k->term, id, sizeof(id)));
		return true;
	}
	if (k->term) {
		stack_frame_locate(&v->code, &at, &l);
		if (l.known && v->by == TAGS_BY_FUNCTION) {
			stack_location_format(&l, text);
			return true;
		}
		if (l.known) {
			row->is_module = true;
			strbuf_add(text, l.function.module, l.function.module_len);
			return true;
		}
	}
	row->is_module = true;
	atom = beam_atom_text(v->m->node->atoms, k->origin, &len);
	if (atom)
		strbuf_add(text, atom, len);
	return atom != NULL;
}

static bool row_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct tags_row *r = (const struct tags_row *)ctx + id, *want = key;

	return r->type == want->type && r->term == want->term && r->is_module == want->is_module &&
	       r->origin && strcmp(r->origin, want->origin) == 0;
}

/* Index of the row of an origin and a type; the first row is of all that are too many. */
static uint32_t find_row(struct reading *v, const struct known *k)
{
	struct tags_row new = {.type = carrier_type_name(&v->types, k->type)};
	struct strbuf text = STRBUF_INIT;
	uint32_t hash, row = 0;

	if (!new.type || !find_origin(v, k, &new, &text))
		goto out;
	new.origin = text.buf;
	hash = hash_mix(hash_mix(hash_bytes(text.buf, text.len), (uintptr_t) new.type), new.term);
	row = idmap_find(&v->row_of, hash, row_equal, v->rows.data, &new);
	if (row == IDMAP_NONE && v->rows.len >= ROWS_MAX) {
		row = 0;
	} else if (row == IDMAP_NONE) {
		row = (uint32_t)v->rows.len;
		new.origin = arena_strndup(&v->texts, text.buf, text.len);
		vec_push(&v->rows, new);
		idmap_add(&v->row_of, hash, row);
	}
out:
	strbuf_free(&text);
	return row;
}

static bool known_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct known *k = (const struct known *)ctx + id, *want = key;

	return k->origin == want->origin && k->term == want->term && k->type == want->type;
}

/* What of the term of a tag says who allocated. */
static uint64_t term_of(const struct reading *v, uint64_t term)
{
	if (v->by == TAGS_BY_NIF || v->by == TAGS_BY_TYPE)
		return 0;
	if (TERM_IS_PID(term))
		return v->by == TAGS_BY_PROCESS ? term : 0;
	if (TERM_IS_PORT(term))
		return v->by == TAGS_BY_PORT ? term : 0;
	return v->has_code && (term & 3) == 0 ? term : 0;
}

static uint32_t row_of(struct reading *v, const struct carrier_tag *t)
{
	struct known want = {.origin = v->by == TAGS_BY_TYPE ? 0 : t->origin,
			     .term = term_of(v, t->term),
			     .type = t->type};
	uint32_t hash = hash_mix(hash_mix(want.type, want.origin), want.term);
	uint32_t id = idmap_find(&v->known_of, hash, known_equal, v->known.data, &want);

	if (id != IDMAP_NONE)
		return v->known.data[id].row;
	want.row = find_row(v, &want);
	if (v->known.len < KNOWN_MAX) {
		idmap_add(&v->known_of, hash, (uint32_t)v->known.len);
		vec_push(&v->known, want);
	}
	return want.row;
}

static void add_block(struct reading *v, uint32_t row, uint64_t size, uint32_t allocator)
{
	uint64_t key = (uint64_t)row << TAGS_SIZE_BITS | histogram_bucket(size);
	struct tags_size *s = keytab_find(&v->sizes, key);
	struct tags_row *r = &v->rows.data[row];

	if (!s)
		s = keytab_add(&v->sizes, key);
	s->blocks++;
	r->smallest = r->blocks ? MIN(r->smallest, size) : size;
	r->largest = MAX(r->largest, size);
	r->blocks++;
	r->size += size;
	r->allocators |= allocator;
}

/* ---- carriers -------------------------------------------------------------------------------- */

static uint32_t index_of(const struct reading *v, const struct allocator *owner)
{
	uint32_t i = 0;

	while (v->allocators.data[i].type != owner->type)
		i++;
	return i;
}

static void miss_carriers(void *ctx, const struct allocator *owner)
{
	struct reading *v = ctx;

	v->missed |= owner ? 1u << index_of(v, owner) : UINT32_MAX;
}

static void add_carrier(void *ctx, const struct carrier *c, const struct carrier_tag *tags,
			size_t nr_tags)
{
	struct reading *v = ctx;
	uint32_t allocator = index_of(v, c->owner);
	struct tags_allocator *a = &v->allocators.data[allocator];
	uint64_t size = 0;

	for (size_t i = 0; i < nr_tags; i++) {
		add_block(v, row_of(v, &tags[i]), tags[i].size, 1u << allocator);
		size += tags[i].size;
	}
	a->tagged += nr_tags;
	a->tagged_size += size;
	a->untagged += c->blocks - nr_tags;
	a->untagged_size += c->blocks_size - size;
}

static bool make_allocators(struct reading *v)
{
	const struct mem_blocks *m = v->m;
	bool functions = false;

	for (size_t i = 0; i < m->allocators.v.len; i++) {
		const struct allocator *a = &m->allocators.v.data[i];
		struct carrier_options o;

		if (i + 1 < m->allocators.v.len && a[1].type == a->type)
			continue;
		carrier_options_read(m->node, a, &o);
		functions |= o.function_tags;
		vec_push(&v->allocators,
			 ((struct tags_allocator){.type = a->type,
						  .tags = o.tags,
						  .function_tags = o.function_tags}));
	}
	return functions;
}

static int read_tags(struct reading *v, struct error *err)
{
	struct carriers_visitor visitor = {
		.carrier = add_carrier, .missed = miss_carriers, .ctx = v};
	int rc = carrier_types_read(&v->types, v->m->node, err);

	if (rc)
		return rc;
	visitor.type_bits = v->types.bits;
	vec_push(&v->rows, (struct tags_row){0});
	if (make_allocators(v)) {
		rc = stack_code_open(&v->code, v->m->node, err);
		v->has_code = rc == 0;
	}
	return rc ? rc : carriers_walk(v->m->node, &v->m->allocators, &visitor, &v->m->count, err);
}

/* ---- names of processes and ports ------------------------------------------------------------ */

/* Of an origin: key, its term. */
struct owner {
	uint64_t term;
	const char *name;
};

struct naming {
	struct reading *v;
	struct keytab owners;
};

static int name_processes(void *arg, struct process_facts *block, size_t nr)
{
	struct naming *w = arg;
	struct process_source *s = &w->v->source;
	struct process_row row;
	struct owner *o;
	uint32_t name;

	for (size_t i = 0; i < nr; i++) {
		o = keytab_find(&w->owners, block[i].epid);
		if (!o)
			continue;
		process_source_row(s, &block[i], NULL, &row);
		name = process_row_name(&row);
		o->name = name ? process_strings_get(&s->strings, name)->text : NULL;
	}
	return 0;
}

static int name_ports(struct naming *w, struct error *err)
{
	struct port_list list = {0};
	int rc = ports_read(w->v->m->node, &list, err);

	for (size_t i = 0; !rc && i < list.len; i++) {
		struct owner *o = keytab_find(&w->owners, list.data[i].id);

		if (o && list.data[i].name)
			o->name = arena_copy(&w->v->texts, list.data[i].name);
	}
	port_list_free(&list);
	return rc;
}

static int read_names(struct reading *v, struct error *err)
{
	struct naming w = {.v = v, .owners = KEYTAB_INIT(struct owner)};
	struct process_totals totals;
	int rc = 0;

	for (size_t i = 0; i < v->rows.len; i++) {
		uint64_t term = v->rows.data[i].term;

		if (term && !keytab_find(&w.owners, term))
			keytab_add(&w.owners, term);
	}
	if (w.owners.nr && v->by == TAGS_BY_PROCESS)
		rc = process_source_scan(&v->source, name_processes, &w, &totals, err);
	else if (w.owners.nr && v->m->node->anchors.port_tab)
		rc = name_ports(&w, err);
	for (size_t i = 0; !rc && i < v->rows.len; i++)
		if (v->rows.data[i].term)
			v->rows.data[i].name =
				((struct owner *)keytab_find(&w.owners, v->rows.data[i].term))
					->name;
	keytab_free(&w.owners);
	return rc;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
	const struct tags_size *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void order_sizes(struct reading *v)
{
	vec_reserve(&v->ordered, v->sizes.nr + 1);
	for (struct tags_size *s = keytab_next(&v->sizes, NULL); s; s = keytab_next(&v->sizes, s))
		vec_push(&v->ordered, *s);
	qsort(v->ordered.data, v->ordered.len, sizeof(*v->ordered.data), by_key);
	for (size_t i = 0; i < v->ordered.len; i++) {
		struct tags_row *r = &v->rows.data[v->ordered.data[i].key >> TAGS_SIZE_BITS];

		if (!r->nr_sizes++)
			r->sizes = i;
	}
}

/* Is `what` the origin of a row, or the name of the process or port that this is? */
static bool is_origin(const struct tags_row *r, const char *what)
{
	struct strbuf written = STRBUF_INIT;
	bool equal = (r->origin && strcmp(r->origin, what) == 0) ||
		     (r->name && strcmp(r->name, what) == 0);

	if (!equal && r->origin && r->is_module) {
		names_format_module(&written, r->origin, strlen(r->origin));
		equal = strcmp(written.buf, what) == 0;
	}
	strbuf_free(&written);
	return equal;
}

/* Only rows of the origin that was asked for; the first row, of others, if there is anything. */
static int choose_rows(struct reading *v, struct error *err)
{
	const struct command_context *ctx = v->m->ctx;
	size_t nr = 0;

	for (size_t i = 0; i < v->rows.len; i++) {
		struct tags_row *r = &v->rows.data[i];

		if (v->by == TAGS_BY_TYPE)
			r->origin = NULL;
		if (r->blocks && (!ctx->nr_args || is_origin(r, ctx->args[0])))
			v->rows.data[nr++] = *r;
	}
	v->rows.len = nr;
	/* With --watch it may have blocks again. */
	if (ctx->nr_args && !nr && !ctx->opt.watch_ns)
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "no blocks are tagged with the %s '%s'", tags_by_name(v->by),
				 ctx->args[0]);
	return 0;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* 63 bits: that two of a million rows have the same one is not to be expected. */
static uint64_t key_of(const struct tags_row *r)
{
	uint64_t hash = HASH64_BEGIN;

	hash = hash64_add(hash, &r->term, sizeof(r->term));
	hash = hash64_add(hash, &r->is_module, sizeof(r->is_module));
	if (r->origin)
		hash = hash64_add(hash, r->origin, strlen(r->origin) + 1);
	if (r->type)
		hash = hash64_add(hash, r->type, strlen(r->type));
	return hash | (uint64_t)1 << 63;
}

static void keep_row(struct keytab *to, const struct tags_row *r)
{
	struct kept *k = keytab_find(to, key_of(r));

	k = k ? k : keytab_add(to, key_of(r));
	k->blocks = r->blocks;
	k->size = r->size;
}

static void keep_rows(struct reading *v)
{
	uint32_t new = ~v->missed & ~v->first_known, known = v->first_known | new;

	keytab_free(&v->before);
	for (size_t i = 0; i < v->rows.len; i++) {
		const struct tags_row *r = &v->rows.data[i];

		keep_row(&v->before, r);
		if (r->allocators & new && !(r->allocators & ~known))
			keep_row(&v->first, r);
	}
	v->first_known = known;
	v->missed_before = v->missed;
	v->before_ns = v->read_ns;
}

/* A row that an earlier answer did not have had no blocks, unless carriers were missing. */
static void set_growth(const struct reading *v, struct tags_row *r)
{
	static const struct kept none;
	double seconds = (double)(v->read_ns - v->before_ns) / 1e9;
	const struct kept *before = keytab_find(&v->before, key_of(r));
	const struct kept *first = keytab_find(&v->first, key_of(r));

	r->size_per_s = r->blocks_per_s = r->grew = NAN;
	if (!v->before_ns || seconds <= 0 || r->allocators & v->missed)
		return;
	before = before ? before : &none;
	first = first ? first : &none;
	if (!(r->allocators & v->missed_before)) {
		r->size_per_s = ((double)r->size - (double)before->size) / seconds;
		r->blocks_per_s = ((double)r->blocks - (double)before->blocks) / seconds;
	}
	if (!(r->allocators & ~v->first_known))
		r->grew = (double)r->size - (double)first->size;
}

static int write_answer(void *arg, struct error *err)
{
	struct reading *v = arg;
	struct command_context *ctx = v->m->ctx;
	struct tags_answer answer = {.by = v->by,
				     .rows = tags_table,
				     .sizes = v->ordered.data,
				     .allocators = v->allocators.data,
				     .nr_allocators = v->allocators.len,
				     .watch = ctx->opt.watch_ns,
				     .grows = v->before_ns};
	struct jsonw w = JSONW(ctx->out);
	int rc;

	answer.rows.rows = v->rows.data;
	answer.rows.nr_rows = v->rows.len;
	answer.rows.ctx = &answer;
	w.one_line = ctx->opt.watch_ns;
	if (ctx->opt.json) {
		target_json_begin(&w, ctx, v->m->node);
		tags_view_json(&w, &answer, &v->options);
		rc = mem_blocks_end_json(v->m, &w, err);
	} else {
		rc = tags_view_write(ctx->out, &answer, &v->options, ctx->opt.histogram, err);
		mem_blocks_warn(v->m);
	}
	if (ctx->opt.watch_ns)
		keep_rows(v);
	return rc;
}

static void forget_answer(struct reading *v)
{
	if (v->has_code)
		stack_code_close(&v->code);
	v->has_code = false;
	v->missed = 0;
	carrier_types_free(&v->types);
	v->rows.len = v->known.len = v->ordered.len = v->allocators.len = 0;
	arena_free(&v->texts);
	keytab_free(&v->sizes);
	idmap_free(&v->row_of);
	idmap_free(&v->known_of);
}

static int read_answer(void *arg, struct error *err)
{
	struct reading *v = arg;
	int rc;

	forget_answer(v);
	v->read_ns = clock_monotonic_ns();
	rc = read_tags(v, err);
	rc = rc ? rc : read_names(v, err);
	if (rc)
		return rc;
	order_sizes(v);
	rc = choose_rows(v, err);
	for (size_t i = 0; i < v->rows.len; i++)
		set_growth(v, &v->rows.data[i]);
	return rc;
}

static int run(struct reading *v, struct error *err)
{
	const struct options *opt = &v->m->ctx->opt;
	struct watch w = {.node = v->m->node,
			  .opt = opt,
			  .out = v->m->ctx->out,
			  .text = !opt->json,
			  .read = read_answer,
			  .write = write_answer,
			  .arg = v};
	int rc;

	if (opt->watch_ns)
		return watch_run(&w, err);
	rc = read_answer(v, err);
	return rc ? rc : write_answer(v, err);
}

static int show(struct reading *v, struct error *err)
{
	struct beam_node *n = v->m->node;
	char warning[256];
	int rc;

	if (n->identity.otp < OTP_OF_TERMS && v->by != TAGS_BY_MODULE && v->by != TAGS_BY_NIF &&
	    v->by != TAGS_BY_TYPE)
		return error_set(
			err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
			"--by %s: the tags of OTP %d have no processes, ports or functions "
			"(since OTP 27 they do)",
			tags_by_name(v->by), n->identity.otp);
	rc = process_source_open(&v->source, n,
				 PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL | PROCESS_NEEDS_INITIAL,
				 warning, sizeof(warning), err);
	if (rc)
		return rc;
	rc = run(v, err);
	process_source_close(&v->source);
	return rc;
}

int cmd_mem_tags(struct command_context *ctx, struct error *err)
{
	struct mem_blocks m;
	struct reading v = {.m = &m,
			    .options = render_table_options(
				    ctx, ctx->opt.watch_ns ? "blocks_size_grew" : "blocks_size"),
			    .by = ctx->opt.tags_by,
			    .sizes = KEYTAB_INIT(struct tags_size),
			    .first = KEYTAB_INIT(struct kept),
			    .before = KEYTAB_INIT(struct kept)};
	int rc = table_check(&tags_table, &v.options, err);

	rc = rc ? rc : watch_check_options(&ctx->opt, err);
	rc = rc ? rc : mem_blocks_open(&m, ctx, err);
	if (rc)
		return rc;
	rc = show(&v, err);
	forget_answer(&v);
	vec_free(&v.rows);
	vec_free(&v.known);
	vec_free(&v.ordered);
	vec_free(&v.allocators);
	keytab_free(&v.first);
	keytab_free(&v.before);
	return mem_blocks_close(&m, rc, err);
}
