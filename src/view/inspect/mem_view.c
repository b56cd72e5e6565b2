/* SPDX-License-Identifier: BSD-2-Clause */
/* See mem_view.h. */
#include "view/inspect/mem_view.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct mem_row *)(p))

/* fdim(), so that it is never negative: both sizes change while they are read. */
TABLE_VALUE(wasted, struct mem_row, fdim((double)r->all.carriers_size, (double)r->all.blocks_size))
TABLE_VALUE(utilization, struct mem_row,
	    r->all.carriers_size ? (double)r->all.blocks_size / (double)r->all.carriers_size : 1)

/* Lowest utilization first. */
static int by_utilization(const void *a, const void *b)
{
	return cell_by_number(utilization(b), utilization(a));
}

static void col_instance(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->instances)
		strbuf_addf(out, "all %" PRIu32, ROW(row)->instances);
	else
		strbuf_addf(out, "%" PRIu32, ROW(row)->instance);
}

/* The carriers of one kind (mbcs, sbcs, pool), as in erlang:system_info({allocator, Type}). */
static void json_carriers(struct jsonw *w, const char *key, const struct mem_carriers *c)
{
	jsonw_begin_object(w, key);
	jsonw_uint(w, "blocks", c->blocks);
	jsonw_uint(w, "blocks_size", c->blocks_size);
	jsonw_uint(w, "carriers", c->carriers);
	jsonw_uint(w, "carriers_size", c->carriers_size);
	jsonw_end_object(w);
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)name;
	(void)ctx;
	json_carriers(w, "mbcs", &ROW(row)->mbcs);
	json_carriers(w, "sbcs", &ROW(row)->sbcs);
	json_carriers(w, "mbcs_pool", &ROW(row)->pool);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct mem_row, member)
#define HIDDEN(name, title, type, member)                                                          \
	{                                                                                          \
		FIELD(name, title, type, member), .hidden = true, .json = table_json_none          \
	}

static const struct table_column columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{FIELD("instance", "INSTANCE", ID, instance), .text = col_instance},
	{TABLE_NUMBER("wasted", "WASTED", BYTES, wasted)},
	{TABLE_NUMBER("utilization", "USED", SHARE, utilization), .compare = by_utilization},
	{FIELD("blocks_size", "BLOCKS SIZE", BYTES, all.blocks_size)},
	{FIELD("carriers_size", "CARRIERS SIZE", BYTES, all.carriers_size)},
	{FIELD("blocks", "BLOCKS", COUNT, all.blocks)},
	{FIELD("carriers", "CARRIERS", COUNT, all.carriers)},
	HIDDEN("pool_carriers", "POOLED", COUNT, pool.carriers),
	HIDDEN("pool_carriers_size", "POOLED SIZE", BYTES, pool.carriers_size),
	HIDDEN("sbcs_carriers", "SINGLE", COUNT, sbcs.carriers),
	HIDDEN("sbcs_carriers_size", "SINGLE SIZE", BYTES, sbcs.carriers_size),
	{.json = json_more},
};

const struct table mem_table = {.columns = columns, .row_size = sizeof(struct mem_row)};

static void add(struct mem_carriers *to, const struct mem_carriers *c)
{
	to->blocks += c->blocks;
	to->blocks_size += c->blocks_size;
	to->carriers += c->carriers;
	to->carriers_size += c->carriers_size;
}

void mem_row_add(struct mem_row *to, const struct mem_row *r)
{
	to->instances++;
	add(&to->all, &r->all);
	add(&to->mbcs, &r->mbcs);
	add(&to->sbcs, &r->sbcs);
	add(&to->pool, &r->pool);
}

void mem_view_json(struct jsonw *w, const struct mem_answer *a, const struct table_options *o)
{
#define SIZE(name, ...) jsonw_known(w, #name, a->name);
#define AREA(name)	jsonw_known(w, #name, a->areas.name);
	jsonw_begin_object(w, "data");
	MEM_SIZES(SIZE)
	jsonw_begin_object(w, "areas");
	MEM_AREAS(AREA)
	jsonw_end_object(w);
	table_json_rows(w, "allocators", &a->instances, o);
	jsonw_end_object(w);
}

static void write_size(FILE *f, const char *name, uint64_t bytes, uint64_t total)
{
	char buf[32];

	if (bytes == UINT64_MAX) {
		fprintf(f, "%-18s%12s\n", name, "?");
		return;
	}
	fprintf(f, "%-18s%12s", name, units_format_bytes(bytes, buf, sizeof(buf)));
	if (total != UINT64_MAX && total > 0)
		fprintf(f, "  %5.1f%%", 100.0 * (double)bytes / (double)total);
	fputc('\n', f);
}

int mem_view_write(FILE *f, const struct mem_answer *a, const struct table_options *o,
		   struct error *err)
{
#define LINE(name, title) write_size(f, title, a->name, a->total);
	struct table_options all = *o;
	struct mem_row sum = {0};
	char carriers[32], waste[32];
	int rc;

	MEM_SIZES(LINE)
	all.limit = 0;
	for (size_t i = 0; i < a->types.nr_rows; i++)
		mem_row_add(&sum, ROW(a->types.rows) + i);
	fprintf(f, "\nAllocators hold %s in carriers, %s of it unused (%.1f%% used)\n\n",
		units_format_bytes(sum.all.carriers_size, carriers, sizeof(carriers)),
		units_format_bytes((uint64_t)wasted(&sum), waste, sizeof(waste)),
		100 * utilization(&sum));
	rc = table_write(f, &a->types, &all, err);
	if (rc)
		return rc;
	fputc('\n', f);
	return table_write(f, &a->instances, o, err);
}
