/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mem --tags`: blocks by who allocated them, as their allocation tags say. */
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "beam/code/jit.h"
#include "beam/term/atoms.h"
#include "beam/vm/carrier_types.h"
#include "cmd/inspect/mem_blocks.h"
#include "cmd/output/render.h"
#include "view/inspect/tags_view.h"

/* More origins and types than that are one row: each has a histogram. */
#define ROWS_MAX 2048
/* Different tags whose row is remembered. */
#define KNOWN_MAX (1u << 20)

/* A tag that was seen before: with an address if it is of code, which has the module. */
struct known {
	uint64_t origin, code;
	uint32_t type, row;
};

struct reading {
	struct mem_blocks *m;
	struct carrier_types types;
	struct jit_code *jit; /* NULL: no blocks are tagged with functions */
	VEC(struct tags_row) rows;
	struct idmap row_of;
	VEC(struct known) known;
	struct idmap known_of;
	VEC(struct tags_allocator) allocators;
};

static bool is_vm_code(const struct jit_function *f)
{
	static const char module[] = "erts_beamasm";

	return f->module_len == strlen(module) && memcmp(f->module, module, f->module_len) == 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The module whose function ran, if the tag has its address; else the atom of the tag, as that of
 * code of the VM that looks like a module (jit/beam_jit_main.cpp). */
static struct table_name name_of(const struct reading *v, const struct known *k)
{
	struct table_name name = {0};
	struct jit_function f;

	if (k->code && jit_find(v->jit, k->code, &f) && !f.fragment && !is_vm_code(&f))
		return (struct table_name){.text = f.module, .len = f.module_len};
	name.text = beam_atom_text(v->m->node->atoms, k->origin, &name.len);
	return name;
}

static bool row_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct tags_row *r = (const struct tags_row *)ctx + id, *want = key;

	return r->type == want->type && r->origin.len == want->origin.len &&
	       memcmp(r->origin.text, want->origin.text, want->origin.len) == 0;
}

/* Index of the row of an origin and a type; the first row is of all that are too many. */
static uint32_t find_row(struct reading *v, const struct tags_row *want)
{
	uint32_t hash =
		hash_mix(hash_bytes(want->origin.text, want->origin.len), (uintptr_t)want->type);
	uint32_t row = idmap_find(&v->row_of, hash, row_equal, v->rows.data, want);

	if (row != IDMAP_NONE)
		return row;
	if (v->rows.len >= ROWS_MAX)
		return 0;
	row = (uint32_t)v->rows.len;
	vec_push(&v->rows, *want);
	idmap_add(&v->row_of, hash, row);
	return row;
}

static bool known_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct known *k = (const struct known *)ctx + id, *want = key;

	return k->origin == want->origin && k->code == want->code && k->type == want->type;
}

static uint32_t row_of(struct reading *v, const struct carrier_tag *t)
{
	/* Pids and ports have other low bits than addresses of code. */
	struct known want = {.origin = t->origin,
			     .code = v->jit && (t->term & 3) == 0 ? t->term : 0,
			     .type = t->type};
	uint32_t hash = hash_mix(hash_mix(want.type, want.origin), want.code);
	uint32_t id = idmap_find(&v->known_of, hash, known_equal, v->known.data, &want);
	struct tags_row row = {.type = carrier_type_name(&v->types, t->type)};

	if (id != IDMAP_NONE)
		return v->known.data[id].row;
	row.origin = name_of(v, &want);
	want.row = row.type && row.origin.text ? find_row(v, &row) : 0;
	if (v->known.len < KNOWN_MAX) {
		idmap_add(&v->known_of, hash, (uint32_t)v->known.len);
		vec_push(&v->known, want);
	}
	return want.row;
}

/* ---- carriers -------------------------------------------------------------------------------- */

static void add_carrier(void *ctx, const struct carrier *c, const struct carrier_tag *tags,
			size_t nr_tags)
{
	struct reading *v = ctx;
	struct tags_allocator *a = v->allocators.data;
	uint64_t size = 0;

	for (size_t i = 0; i < nr_tags; i++) {
		uint32_t row = row_of(v, &tags[i]); /* which may move the rows */

		histogram_add(&v->rows.data[row].sizes, tags[i].size, 1);
		size += tags[i].size;
	}
	while (a->type != c->owner->type)
		a++;
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
			 ((struct tags_allocator){.type = a->type, .tags = o.tags}));
	}
	return functions;
}

static int read_tags(struct reading *v, struct error *err)
{
	struct carriers_visitor visitor = {.carrier = add_carrier, .ctx = v};
	int rc = carrier_types_read(&v->types, v->m->node, err);

	if (rc)
		return rc;
	visitor.type_bits = v->types.bits;
	vec_push(&v->rows, (struct tags_row){0});
	if (make_allocators(v)) {
		jit_open_node(&v->jit, v->m->node);
		rc = jit_sync(v->jit, err);
	}
	return rc ? rc : carriers_walk(v->m->node, &v->m->allocators, &visitor, &v->m->count, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int write_answer(struct reading *v, const struct table_options *o, struct error *err)
{
	struct command_context *ctx = v->m->ctx;
	/* The first row has what is in no other. */
	size_t first = v->rows.data[0].sizes.nr ? 0 : 1;
	struct tags_answer answer = {.rows = tags_table,
				     .allocators = v->allocators.data,
				     .nr_allocators = v->allocators.len};
	struct jsonw w = JSONW(ctx->out);
	int rc;

	answer.rows.rows = v->rows.data + first;
	answer.rows.nr_rows = v->rows.len - first;
	if (ctx->opt.json) {
		target_json_begin(&w, ctx, v->m->node);
		tags_view_json(&w, &answer, o);
		return mem_blocks_end_json(v->m, &w, err);
	}
	rc = tags_view_write(ctx->out, &answer, o, err);
	mem_blocks_warn(v->m);
	return rc;
}

int cmd_mem_tags(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "blocks_size");
	struct mem_blocks m;
	struct reading v = {.m = &m};
	int rc = table_check(&tags_table, &options, err);

	rc = rc ? rc : mem_blocks_open(&m, ctx, err);
	if (rc)
		return rc;
	rc = read_tags(&v, err);
	rc = rc ? rc : write_answer(&v, &options, err);
	carrier_types_free(&v.types);
	jit_close(v.jit);
	vec_free(&v.rows);
	vec_free(&v.known);
	vec_free(&v.allocators);
	idmap_free(&v.row_of);
	idmap_free(&v.known_of);
	return mem_blocks_close(&m, rc, err);
}
