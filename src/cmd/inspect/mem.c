/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam mem`: memory by type, as erlang:memory/0 has it, and what the allocators waste: bytes of
 * carriers that are in no block.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/log.h"
#include "beam/vm/memory.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "view/inspect/mem_view.h"

/* Instances of allocators that text shows without -n: those that waste most. */
#define INSTANCES_SHOWN 10

struct mem_reading {
	struct beam_node *node;
	struct memory memory;
	struct allocators allocators;
	VEC(struct mem_row) instances;
	VEC(struct mem_row) types;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static struct mem_carriers carriers_of(const struct allocator_count *c)
{
	struct mem_carriers sum = {.carriers = c->carriers, .carriers_size = c->carriers_size};

	for (size_t i = 0; i < ALLOCATORS_MAX; i++) {
		sum.blocks += c->blocks[i];
		sum.blocks_size += c->blocks_size[i];
	}
	return sum;
}

/* A row for each instance, and a sum for each type: instances of a type follow each other. */
static void make_rows(struct mem_reading *v)
{
	for (size_t i = 0; i < v->allocators.v.len; i++) {
		const struct allocator *a = &v->allocators.v.data[i];
		struct mem_row r = {
			.type = a->type,
			.instance = a->instance,
			.all = {a->blocks, a->blocks_size, a->carriers, a->carriers_size},
			.mbcs = carriers_of(&a->mbcs),
			.sbcs = carriers_of(&a->sbcs),
			.pool = carriers_of(&a->pool),
		};

		vec_push(&v->instances, r);
		if (v->types.len == 0 || v->types.data[v->types.len - 1].type != r.type)
			vec_push(&v->types, (struct mem_row){.type = r.type});
		mem_row_add(&v->types.data[v->types.len - 1], &r);
	}
}

/* ---- what is not known ----------------------------------------------------------------------- */

static const char *const unknown_total = "the size of the code, and so the total, is not known: a "
					 "table of this build could not be found";
static const char *const unknown_part = "some sizes are not known: a table of this build could not "
					"be found (see ebeam doctor)";
static const char *const unreadable = "some instances of allocators could not be read: the sizes "
				      "are too small";

/* Fills warnings[2], returns how many. */
static size_t find_warnings(const struct mem_reading *v, const char *warnings[2])
{
	const struct memory *m = &v->memory;
	size_t nr = 0;

	if (m->total == MEMORY_UNKNOWN)
		warnings[nr++] = unknown_total;
	else if (m->code == MEMORY_UNKNOWN || m->ets == MEMORY_UNKNOWN ||
		 m->atom == MEMORY_UNKNOWN || m->processes == MEMORY_UNKNOWN)
		warnings[nr++] = unknown_part;
	if (v->allocators.unreadable)
		warnings[nr++] = unreadable;
	return nr;
}

/* ---- as a panel of `ebeam top`: a row for each type ------------------------------------------ */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	((struct mem_reading *)view)->node = n;
	(void)err;
	return 0;
}

static int read_rows(void *view, struct error *err)
{
	struct mem_reading *v = view;
	int rc = target_need(v->node, v->node->anchors.allocators, "table of allocators", err);

	rc = rc ? rc : allocators_read(&v->allocators, v->node, err);
	rc = rc ? rc : memory_read(&v->memory, v->node, &v->allocators, err);
	if (!rc)
		make_rows(v);
	return rc;
}

static void forget_rows(void *view)
{
	struct mem_reading *v = view;

	vec_free(&v->instances);
	vec_free(&v->types);
	allocators_free(&v->allocators);
}

static void give_rows(void *view, struct table *out)
{
	struct mem_reading *v = view;

	out->rows = v->types.data;
	out->nr_rows = v->types.len;
}

static uint64_t row_id(const void *row)
{
	const char *type = ((const struct mem_row *)row)->type;

	return hash_bytes(type, strlen(type));
}

const struct row_source allocator_rows = {
	.view_size = sizeof(struct mem_reading),
	.open = open_rows,
	.read = read_rows,
	.forget = forget_rows,
	.rows = give_rows,
	.id = row_id,
	.table = &mem_table,
};

/* ---- the command ----------------------------------------------------------------------------- */

static struct mem_answer answer_of(struct mem_reading *v)
{
#define SIZE(name, ...) .name = v->memory.name,
#define AREA(name)	.name = v->memory.areas.name,
	struct mem_answer a = {MEM_SIZES(SIZE).areas = {MEM_AREAS(AREA)}, .types = mem_table,
			       .instances = mem_table};

	give_rows(v, &a.types);
	a.instances.rows = v->instances.data;
	a.instances.nr_rows = v->instances.len;
	return a;
}

static int write_json(struct command_context *ctx, struct mem_reading *v,
		      const struct table_options *o, struct error *err)
{
	struct envelope_counter counters[] = {{"unreadable", v->allocators.unreadable}};
	struct mem_answer answer = answer_of(v);
	struct jsonw w = JSONW(ctx->out);
	const char *warnings[2];
	size_t nr = find_warnings(v, warnings);

	target_json_begin(&w, ctx, v->node);
	mem_view_json(&w, &answer, o);
	return envelope_end(&w, warnings, nr, counters, ARRAY_SIZE(counters), err);
}

static int write_text(struct command_context *ctx, struct mem_reading *v, struct table_options *o,
		      struct error *err)
{
	struct mem_answer answer = answer_of(v);
	const char *warnings[2];
	size_t nr = find_warnings(v, warnings);
	int rc;

	if (!o->limit)
		o->limit = INSTANCES_SHOWN;
	rc = mem_view_write(ctx->out, &answer, o, err);
	if (rc)
		return rc;
	outfile_flush(ctx->out);
	if (v->instances.len > o->limit)
		log_warn("%zu more instances (-n shows them)", v->instances.len - o->limit);
	for (size_t i = 0; i < nr; i++)
		log_warn("ebeam: %s", warnings[i]);
	return 0;
}

int cmd_mem(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "wasted");
	struct mem_reading v = {0};
	int rc = table_check(&mem_table, &options, err);

	rc = rc ? rc : target_open(&v.node, ctx, err);
	if (rc)
		return rc;
	rc = read_rows(&v, err);
	if (!rc)
		rc = ctx->opt.json ? write_json(ctx, &v, &options, err)
				   : write_text(ctx, &v, &options, err);
	forget_rows(&v);
	return target_close(v.node, rc, err);
}
