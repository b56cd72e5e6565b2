/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mem --carriers`: how full the carriers of the allocators are, by a walk through them, and
 * who has the blocks in those of which little is in use. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "cmd/inspect/mem_blocks.h"
#include "cmd/inspect/mem_holders.h"
#include "cmd/output/render.h"
#include "view/inspect/carriers_view.h"

struct reading {
	VEC(struct carriers_row) rows;
	struct mem_holders holders;
};

static void add_carrier(void *ctx, const struct carrier *c, const struct carrier_tag *tags,
			size_t nr_tags)
{
	struct reading *v = ctx;
	struct carriers_row *r;
	size_t i = 0;

	UNUSED(tags);
	UNUSED(nr_tags);
	while (v->rows.data[i].type != c->owner->type)
		i++;
	r = &v->rows.data[i];
	carriers_row_add(r, c->size, c->blocks_size, c->single, c->pooled);
	r->blocks += c->blocks;
	r->blocks_size += c->blocks_size;
	r->free_blocks += c->free_blocks;
	r->largest_free = MAX(r->largest_free, c->largest_free);
	sparse_add(&v->holders.carriers, c);
}

/* A row for each type, with the flags of its last instance: instance 0 may have others. */
static void make_rows(struct reading *v, struct mem_blocks *m)
{
	for (size_t i = 0; i < m->allocators.v.len; i++) {
		const struct allocator *a = &m->allocators.v.data[i];
		struct carriers_row r = {.type = a->type,
					 .acul = UINT64_MAX,
					 .sbct = UINT64_MAX,
					 .lmbcs = UINT64_MAX};
		struct carrier_options o;

		if (i + 1 < m->allocators.v.len && a[1].type == a->type)
			continue;
		if (carrier_options_read(m->node, a, &o)) {
			r.acul = o.acul;
			r.sbct = o.sbct;
			r.lmbcs = o.lmbcs;
		}
		vec_push(&v->rows, r);
	}
}

static int write_answer(struct mem_blocks *m, const struct reading *v,
			const struct table_options *o, struct error *err)
{
	struct carriers_answer answer = {.types = carriers_table,
					 .holders = carriers_holders_table,
					 .percent = SPARSE_PERCENT};
	struct jsonw w = JSONW(m->ctx->out);
	int rc;

	answer.types.rows = v->rows.data;
	answer.types.nr_rows = v->rows.len;
	answer.holders.rows = v->holders.rows.data;
	answer.holders.nr_rows = v->holders.rows.len;
	if (m->ctx->opt.json) {
		target_json_begin(&w, m->ctx, m->node);
		carriers_view_json(&w, &answer, o);
		return mem_blocks_end_json(m, &w, err);
	}
	rc = carriers_view_write(m->ctx->out, &answer, o, err);
	mem_blocks_warn(m);
	return rc;
}

int cmd_mem_carriers(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "unused");
	struct reading v = {.holders.carriers = SPARSE_CARRIERS_INIT};
	struct carriers_visitor visitor = {.carrier = add_carrier, .ctx = &v, .extents = true};
	struct mem_blocks m;
	int rc = table_check(&carriers_table, &options, err);

	rc = rc ? rc : mem_blocks_open(&m, ctx, err);
	if (rc)
		return rc;
	make_rows(&v, &m);
	rc = carriers_walk(m.node, &m.allocators, &visitor, &m.count, err);
	if (!rc) {
		sparse_order(&v.holders.carriers);
		mem_holders_find(&v.holders, m.node);
	}
	m.holders = &v.holders;
	rc = rc ? rc : write_answer(&m, &v, &options, err);
	vec_free(&v.rows);
	mem_holders_free(&v.holders);
	return mem_blocks_close(&m, rc, err);
}
