/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam mem`: memory by type, as erlang:memory/0 has it, and the allocators with what they hold
 * beyond it: bytes of carriers in which no block lies.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/vm/memory.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "view/table/table.h"

/* Instances that are shown without -n: those that waste most. */
#define INSTANCES_SHOWN 10

/* An instance, or all those of a type. */
struct mem_row {
	const char *type;
	uint32_t instance;  /* if `instances` is 0 */
	uint32_t instances; /* that were added up */
	uint64_t blocks, blocks_size, carriers, carriers_size;
	uint64_t pool_carriers, pool_carriers_size;
	uint64_t sbcs_carriers, sbcs_carriers_size;
	const struct allocator *of; /* of which; NULL: of many */
};

#define ROW(p) ((const struct mem_row *)(p))

/* ---- columns --------------------------------------------------------------------------------- */

/* Counters of a busy node may be of slightly different times. */
static uint64_t wasted(const struct mem_row *r)
{
	return r->carriers_size > r->blocks_size ? r->carriers_size - r->blocks_size : 0;
}

static double wasted_bytes(const void *row)
{
	return (double)wasted(row);
}

static double utilization(const void *row)
{
	const struct mem_row *r = row;

	return r->carriers_size ? (double)r->blocks_size / (double)r->carriers_size : 1;
}

/* The worst first. */
static int by_utilization(const void *a, const void *b)
{
	double x = utilization(a), y = utilization(b);

	return x < y ? -1 : x > y;
}

static void col_instance(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->instances)
		strbuf_addf(out, "all %" PRIu32, ROW(row)->instances);
	else
		strbuf_addf(out, "%" PRIu32, ROW(row)->instance);
}

static int by_instance(const void *a, const void *b)
{
	uint32_t x = ROW(a)->instance, y = ROW(b)->instance;

	return x < y ? -1 : x > y;
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct mem_row, member)
#define HIDDEN(name, title, type)                                                                  \
	{                                                                                          \
		FIELD(#name, title, type, name), .hidden = true                                    \
	}

static const struct table_column mem_columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{"instance", "INSTANCE", TABLE_RIGHT, .text = col_instance, .compare = by_instance},
	{TABLE_NUMBER("wasted", "WASTED", BYTES, wasted_bytes)},
	{TABLE_NUMBER("utilization", "USED", SHARE, utilization), .compare = by_utilization},
	{FIELD("blocks_size", "BLOCKS SIZE", BYTES, blocks_size)},
	{FIELD("carriers_size", "CARRIERS SIZE", BYTES, carriers_size)},
	{FIELD("blocks", "BLOCKS", COUNT, blocks)},
	{FIELD("carriers", "CARRIERS", COUNT, carriers)},
	HIDDEN(pool_carriers, "POOLED", COUNT),
	HIDDEN(pool_carriers_size, "POOLED SIZE", BYTES),
	HIDDEN(sbcs_carriers, "SINGLE", COUNT),
	HIDDEN(sbcs_carriers_size, "SINGLE SIZE", BYTES),
	{0},
};

/* ---- rows ------------------------------------------------------------------------------------ */

struct mem_view {
	struct beam_node *node;
	struct memory memory;
	struct allocators allocators;
	VEC(struct mem_row) instances;
	VEC(struct mem_row) types;
};

static void add_row(struct mem_row *to, const struct mem_row *r)
{
	to->instances++;
	to->blocks += r->blocks;
	to->blocks_size += r->blocks_size;
	to->carriers += r->carriers;
	to->carriers_size += r->carriers_size;
	to->pool_carriers += r->pool_carriers;
	to->pool_carriers_size += r->pool_carriers_size;
	to->sbcs_carriers += r->sbcs_carriers;
	to->sbcs_carriers_size += r->sbcs_carriers_size;
}

/* Instances of a type stand together. */
static void make_rows(struct mem_view *v)
{
	for (size_t i = 0; i < v->allocators.v.len; i++) {
		const struct allocator *a = &v->allocators.v.data[i];
		struct mem_row r = {
			.type = a->type,
			.instance = a->instance,
			.blocks = a->blocks,
			.blocks_size = a->blocks_size,
			.carriers = a->carriers,
			.carriers_size = a->carriers_size,
			.pool_carriers = a->pool.carriers,
			.pool_carriers_size = a->pool.carriers_size,
			.sbcs_carriers = a->sbcs.carriers,
			.sbcs_carriers_size = a->sbcs.carriers_size,
			.of = a,
		};

		vec_push(&v->instances, r);
		if (v->types.len == 0 || v->types.data[v->types.len - 1].type != r.type)
			vec_push(&v->types, (struct mem_row){.type = r.type});
		add_row(&v->types.data[v->types.len - 1], &r);
	}
}

static struct table table_of(const struct mem_row *rows, size_t nr)
{
	return (struct table){.columns = mem_columns,
			      .rows = rows,
			      .nr_rows = nr,
			      .row_size = sizeof(struct mem_row)};
}

/* ---- what is not known ----------------------------------------------------------------------- */

static const char *const unknown_total = "the size of the code, and so the total, is not known: a "
					 "table of this build could not be found";
static const char *const unknown_part = "some sizes are not known: a table of this build could not "
					"be found (see ebeam doctor)";
static const char *const unreadable = "some instances of allocators could not be read: the sizes "
				      "are too small";

/* Fills warnings[2]; how many there are. */
static size_t find_warnings(const struct mem_view *v, const char *warnings[2])
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

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_areas(struct jsonw *w, const struct memory_areas *a)
{
	jsonw_begin_object(w, "areas");
	jsonw_known(w, "atom_space", a->atom_space);
	jsonw_known(w, "atom_space_used", a->atom_space_used);
	jsonw_known(w, "atom_table", a->atom_table);
	jsonw_known(w, "module_table", a->module_table);
	jsonw_known(w, "export_table", a->export_table);
	jsonw_known(w, "export_list", a->export_list);
	jsonw_known(w, "fun_table", a->fun_table);
	jsonw_known(w, "fun_list", a->fun_list);
	jsonw_known(w, "module_refs", a->module_refs);
	jsonw_known(w, "loaded_code", a->loaded_code);
	jsonw_known(w, "ets_misc", a->ets_misc);
	jsonw_known(w, "process_table", a->process_table);
	jsonw_end_object(w);
}

/* As erlang:system_info({allocator, Type}) tells them apart. */
static void json_carriers(struct jsonw *w, const char *key, const struct allocator_count *c)
{
	uint64_t blocks = 0, blocks_size = 0;

	for (size_t i = 0; i < ALLOCATORS_MAX; i++) {
		blocks += c->blocks[i];
		blocks_size += c->blocks_size[i];
	}
	jsonw_begin_object(w, key);
	jsonw_uint(w, "blocks", blocks);
	jsonw_uint(w, "blocks_size", blocks_size);
	jsonw_uint(w, "carriers", c->carriers);
	jsonw_uint(w, "carriers_size", c->carriers_size);
	jsonw_end_object(w);
}

static void json_row(struct jsonw *w, const struct mem_row *r)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "type", r->type);
	jsonw_uint(w, "instance", r->instance);
	jsonw_uint(w, "blocks", r->blocks);
	jsonw_uint(w, "blocks_size", r->blocks_size);
	jsonw_uint(w, "carriers", r->carriers);
	jsonw_uint(w, "carriers_size", r->carriers_size);
	jsonw_double(w, "utilization", utilization(r));
	jsonw_uint(w, "wasted", wasted(r));
	json_carriers(w, "mbcs", &r->of->mbcs);
	json_carriers(w, "sbcs", &r->of->sbcs);
	json_carriers(w, "mbcs_pool", &r->of->pool);
	jsonw_end_object(w);
}

static int write_json(struct command_context *ctx, const struct mem_view *v,
		      const struct table_options *o, struct error *err)
{
	struct envelope_counter counters[] = {{"unreadable", v->allocators.unreadable}};
	struct table table = table_of(v->instances.data, v->instances.len);
	const struct memory *m = &v->memory;
	struct jsonw w = JSONW(ctx->out);
	const char *warnings[2];
	size_t *order, nr;
	int rc = table_order(&table, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, v->node);
	jsonw_begin_object(&w, "data");
	jsonw_known(&w, "total", m->total);
	jsonw_known(&w, "processes", m->processes);
	jsonw_known(&w, "processes_used", m->processes_used);
	jsonw_known(&w, "system", m->system);
	jsonw_known(&w, "atom", m->atom);
	jsonw_known(&w, "atom_used", m->atom_used);
	jsonw_known(&w, "binary", m->binary);
	jsonw_known(&w, "code", m->code);
	jsonw_known(&w, "ets", m->ets);
	json_areas(&w, &m->areas);
	jsonw_begin_rows(&w, "allocators");
	for (size_t i = 0; i < nr; i++)
		json_row(&w, &v->instances.data[order[i]]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	free(order);
	nr = find_warnings(v, warnings);
	return envelope_end(&w, warnings, nr, counters, 1, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void write_size(FILE *f, const char *name, uint64_t bytes, uint64_t total)
{
	char buf[32];

	if (bytes == MEMORY_UNKNOWN) {
		fprintf(f, "%-18s%12s\n", name, "?");
		return;
	}
	fprintf(f, "%-18s%12s", name, units_format_bytes(bytes, buf, sizeof(buf)));
	if (total != MEMORY_UNKNOWN && total > 0)
		fprintf(f, "  %5.1f%%", 100.0 * (double)bytes / (double)total);
	fputc('\n', f);
}

/* The parts of "system" that the node knows; the rest has no name. */
static void write_sizes(FILE *f, const struct memory *m)
{
	write_size(f, "total", m->total, m->total);
	write_size(f, "  processes", m->processes, m->total);
	write_size(f, "    used", m->processes_used, m->total);
	write_size(f, "  system", m->system, m->total);
	write_size(f, "    code", m->code, m->total);
	write_size(f, "    ets", m->ets, m->total);
	write_size(f, "    binary", m->binary, m->total);
	write_size(f, "    atom", m->atom, m->total);
	write_size(f, "      used", m->atom_used, m->total);
}

static void write_carriers(FILE *f, const struct mem_view *v)
{
	struct mem_row all = {0};
	char carriers[32], waste[32];

	for (size_t i = 0; i < v->types.len; i++)
		add_row(&all, &v->types.data[i]);
	fprintf(f, "\nAllocators hold %s in carriers, %s of it unused (%.1f%% used)\n\n",
		units_format_bytes(all.carriers_size, carriers, sizeof(carriers)),
		units_format_bytes(wasted(&all), waste, sizeof(waste)), 100 * utilization(&all));
}

static int write_text(struct command_context *ctx, const struct mem_view *v,
		      const struct table_options *o, struct error *err)
{
	struct table types = table_of(v->types.data, v->types.len);
	struct table instances = table_of(v->instances.data, v->instances.len);
	struct table_options all = *o, some = *o;
	const char *warnings[2];
	size_t nr;
	int rc;

	all.limit = 0;
	if (!some.limit)
		some.limit = INSTANCES_SHOWN;
	write_sizes(ctx->out, &v->memory);
	write_carriers(ctx->out, v);
	rc = table_write(ctx->out, &types, &all, err);
	if (rc)
		return rc;
	fputc('\n', ctx->out);
	rc = table_write(ctx->out, &instances, &some, err);
	outfile_flush(ctx->out);
	if (!rc && v->instances.len > some.limit)
		log_warn("%zu more instances (-n shows them)", v->instances.len - some.limit);
	nr = find_warnings(v, warnings);
	for (size_t i = 0; i < nr; i++)
		log_warn("ebeam: %s", warnings[i]);
	return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int read_view(struct mem_view *v, struct error *err)
{
	int rc = target_need(v->node, v->node->anchors.allocators, "table of allocators", err);

	rc = rc ? rc : allocators_read(&v->allocators, v->node, err);
	rc = rc ? rc : memory_read(&v->memory, v->node, &v->allocators, err);
	if (!rc)
		make_rows(v);
	return rc;
}

static void free_view(struct mem_view *v)
{
	vec_free(&v->instances);
	vec_free(&v->types);
	allocators_free(&v->allocators);
}

/* ---- again and again: a row for each type ------------------------------------------------ */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct mem_view *v = view;

	v->node = n;
	(void)err;
	return 0;
}

static int read_into(void *view, struct error *err)
{
	return read_view(view, err);
}

static void rows_table(void *view, struct table *out)
{
	struct mem_view *v = view;

	*out = table_of(v->types.data, v->types.len);
}

static uint64_t row_id(const void *row)
{
	return hash_bytes(ROW(row)->type, strlen(ROW(row)->type));
}

static void forget_rows(void *view)
{
	free_view(view);
}

static const struct table table_of_rows = {.columns = mem_columns,
					   .row_size = sizeof(struct mem_row)};

const struct row_source allocator_rows = {
	.view_size = sizeof(struct mem_view),
	.open = open_rows,
	.read = read_into,
	.forget = forget_rows,
	.rows = rows_table,
	.id = row_id,
	.table = &table_of_rows,
};

int cmd_mem(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "wasted");
	struct table table = table_of(NULL, 0);
	struct mem_view view = {0};
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : target_open(&view.node, ctx, err);
	if (rc)
		return rc;
	rc = read_view(&view, err);
	if (!rc)
		rc = ctx->opt.json ? write_json(ctx, &view, &options, err)
				   : write_text(ctx, &view, &options, err);
	free_view(&view);
	return target_close(view.node, rc, err);
}
