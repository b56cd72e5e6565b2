/* SPDX-License-Identifier: BSD-2-Clause */
/* See bin_view.h. */
#include "view/inspect/bin_view.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "view/table/histogram.h"

#define LARGEST_SHOWN 5
#define ADVICE_MIN    (1u << 20)

TABLE_VALUE(used_of, struct bin_row, r->used)
TABLE_VALUE(garbage_of, struct bin_row, r->garbage)
TABLE_VALUE(part_of, struct bin_row, r->part)
TABLE_VALUE(binary_used, struct bin_binary, r->used)

static void json_torn(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)name;
	(void)ctx;
	if (((const struct bin_row *)row)->torn)
		jsonw_bool(w, "torn", true);
}

#define HOLDER(id, title, type, member) TABLE_FIELD(id, title, type, struct bin_row, member)

static const struct table_column holder_columns[] = {
	{HOLDER("holder", "HOLDER", TEXT, id), .torn = offsetof(struct bin_row, torn)},
	{HOLDER("type", "TYPE", TEXT, type)},
	{HOLDER("binaries", "BINARIES", COUNT, binaries)},
	{HOLDER("references", "REFERENCES", COUNT, references), .hidden = true},
	{HOLDER("in_messages", "IN MESSAGES", COUNT, in_messages), .hidden = true},
	{HOLDER("memory", "MEMORY", BYTES, memory)},
	{TABLE_NUMBER("used", "USED", BYTES, used_of)},
	{TABLE_NUMBER("garbage", "GARBAGE", BYTES, garbage_of)},
	{HOLDER("held", "HELD", BYTES, held)},
	{HOLDER("share", "SHARE", BYTES, share), .hidden = true},
	{HOLDER("largest", "LARGEST", BYTES, largest)},
	{HOLDER("parts", "PARTS", COUNT, parts), .hidden = true},
	{HOLDER("part_memory", "OF PARTS", BYTES, part_memory), .hidden = true},
	{TABLE_NUMBER("part", "PART", BYTES, part_of), .hidden = true},
	{HOLDER("name", "NAME", TEXT, name)},
	{.json = json_torn},
};

const struct table bin_holders_table = {.columns = holder_columns,
					.row_size = sizeof(struct bin_row)};

static void col_address(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "0x%" PRIx64, ((const struct bin_binary *)row)->address);
}

static void col_holder(struct strbuf *out, const void *row, const void *ctx)
{
	const struct bin_row *r = ((const struct bin_binary *)row)->holder;

	(void)ctx;
	strbuf_addf(out, "%s%s%s", r->id, *r->id && r->name ? " " : "", r->name ? r->name : "");
}

#define BINARY(id, title, type, member) TABLE_FIELD(id, title, type, struct bin_binary, member)

static const struct table_column binary_columns[] = {
	{.name = "address", .title = "ADDRESS", .text = col_address},
	{BINARY("size", "SIZE", BYTES, size)},
	{TABLE_NUMBER("used", "USED", BYTES, binary_used)},
	{BINARY("refc", "REFC", COUNT, refc)},
	{BINARY("references", "FOUND", COUNT, found)},
	{BINARY("holders", "HOLDERS", COUNT, holders)},
	{.name = "holder", .title = "HOLDER", .text = col_holder},
	{0},
};

const struct table bin_largest_table = {.columns = binary_columns,
					.row_size = sizeof(struct bin_binary)};

/* ---- text ------------------------------------------------------------------------------------ */

static void write_totals(FILE *f, const struct bin_answer *a)
{
	char bytes[32], nr[32], used[32];

	table_line(f, "%s binaries outside of heaps, %s",
		   units_format_count(a->binaries, nr, sizeof(nr)),
		   units_format_bytes(a->memory, bytes, sizeof(bytes)));
	if (a->counted != UINT64_MAX && a->counted > a->memory)
		table_line(f,
			   "erlang:memory(binary) is %s: %s more, in drivers and NIFs, and what "
			   "blocks need beside their data",
			   units_format_bytes(a->counted, bytes, sizeof(bytes)),
			   units_format_bytes(a->counted - a->memory, used, sizeof(used)));
	if (a->elsewhere_binaries)
		table_line(f, "%s of the binaries, %s, have references from elsewhere, too",
			   units_format_count(a->elsewhere_binaries, nr, sizeof(nr)),
			   units_format_bytes(a->elsewhere_memory, bytes, sizeof(bytes)));
}

static const char *holder_text(const struct bin_row *r, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", r->id, *r->id && r->name ? " " : "", r->name ? r->name : "");
	return buf;
}

/* What to do about the first holders that keep much of which they use little. */
static void write_advice(FILE *f, const struct bin_answer *a)
{
	const struct bin_row *rows = a->holders.rows;
	const struct bin_row *most = NULL, *garbage = NULL;
	char who[160], nr[32], bytes[32], part[32];

	for (size_t i = 0; i < a->holders.nr_rows; i++) {
		if (!most || rows[i].part_memory > most->part_memory)
			most = &rows[i];
		if (!isnan(rows[i].garbage) && (!garbage || rows[i].garbage > garbage->garbage))
			garbage = &rows[i];
	}
	if (most && most->part_memory >= ADVICE_MIN)
		table_line(
			f,
			"%s: sub-binaries, which use %s of each (median), keep %s binaries of %s: "
			"copy them with binary:copy/1",
			holder_text(most, who, sizeof(who)),
			units_format_bytes((uint64_t)most->part, part, sizeof(part)),
			units_format_count(most->parts, nr, sizeof(nr)),
			units_format_bytes(most->part_memory, bytes, sizeof(bytes)));
	if (garbage && garbage->garbage >= ADVICE_MIN)
		table_line(f,
			   "%s: only garbage on its heap keeps %s, until it is collected "
			   "(erlang:garbage_collect/1, hibernation)",
			   holder_text(garbage, who, sizeof(who)),
			   units_format_bytes((uint64_t)garbage->garbage, bytes, sizeof(bytes)));
}

int bin_view_write(FILE *f, const struct bin_answer *a, const struct table_options *o,
		   struct error *err)
{
	struct table_options largest = {.sort = "size", .limit = LARGEST_SHOWN, .color = o->color};
	int rc;

	write_totals(f, a);
	if (!a->binaries)
		return 0;
	fputc('\n', f);
	rc = table_write(f, &a->holders, o, err);
	if (rc)
		return rc;
	if (o->limit && a->holders.nr_rows > o->limit)
		table_write_more(f, o->limit, a->holders.nr_rows);
	write_advice(f, a);
	fputc('\n', f);
	rc = table_write(f, &a->largest, &largest, err);
	if (rc)
		return rc;
	fputc('\n', f);
	histogram_write(f, "sizes", &a->sizes, HISTOGRAM_BYTES, 1);
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void bin_view_json(struct jsonw *w, const struct bin_answer *a, const struct table_options *o)
{
	struct table_options largest = {.sort = "size", .limit = o->limit};

	jsonw_begin_object(w, "data");
	jsonw_uint(w, "binaries", a->binaries);
	jsonw_uint(w, "memory", a->memory);
	if (a->counted == UINT64_MAX)
		jsonw_null(w, "counted");
	else
		jsonw_uint(w, "counted", a->counted);
	jsonw_uint(w, "elsewhere_binaries", a->elsewhere_binaries);
	jsonw_uint(w, "elsewhere_memory", a->elsewhere_memory);
	table_json_rows(w, "holders", &a->holders, o);
	table_json_rows(w, "largest", &a->largest, &largest);
	histogram_json(w, "sizes", &a->sizes, 1);
	jsonw_end_object(w);
}
