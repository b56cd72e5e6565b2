/* SPDX-License-Identifier: BSD-2-Clause */
/* See tags_view.h. */
#include "view/inspect/tags_view.h"

#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define ROWS_SHOWN 20 /* without -n */

TABLE_VALUE(mean, struct tags_row, r->sizes.nr ? (double)r->sizes.sum / (double)r->sizes.nr : 0)

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct tags_row *r = row;

	(void)name;
	(void)ctx;
	histogram_json(w, "sizes", &r->sizes, 1);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct tags_row, member)

static const struct table_column columns[] = {
	{FIELD("origin", "ORIGIN", NAME, origin)},
	{FIELD("type", "TYPE", TEXT, type)},
	{FIELD("blocks_size", "BLOCKS SIZE", BYTES, sizes.sum)},
	{FIELD("blocks", "BLOCKS", COUNT, sizes.nr)},
	{TABLE_NUMBER("mean", "MEAN", BYTES, mean)},
	{FIELD("largest", "LARGEST", BYTES, sizes.max)},
	{.json = json_more},
};

const struct table tags_table = {.columns = columns, .row_size = sizeof(struct tags_row)};

/* "Tagged: 12,345 blocks, 1.2 MiB" */
static void write_sum(FILE *f, const char *what, uint64_t blocks, uint64_t size)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%s: ", what);
	cell_count(&text, blocks);
	strbuf_addstr(&text, " blocks, ");
	cell_bytes(&text, (double)size);
	fputs(text.buf, f);
	strbuf_free(&text);
}

/* "eheap_alloc 3.1 MiB, ets_alloc 1.2 MiB" of those with untagged blocks. */
static void write_untagged(FILE *f, const struct tags_answer *a)
{
	uint64_t size = 0, nr = 0, off = 0;
	char buf[32];

	for (size_t i = 0; i < a->nr_allocators; i++) {
		size += a->allocators[i].untagged_size;
		nr += a->allocators[i].untagged;
		off += !a->allocators[i].tags && a->allocators[i].untagged;
	}
	if (nr == 0)
		return;
	write_sum(f, "Not tagged", nr, size);
	fputs(", of", f);
	for (size_t i = 0, k = 0; i < a->nr_allocators; i++) {
		const struct tags_allocator *t = &a->allocators[i];

		if (t->untagged)
			fprintf(f, "%s %s %s", k++ ? "," : "", t->type,
				units_format_bytes(t->untagged_size, buf, sizeof(buf)));
	}
	fputc('\n', f);
	if (off)
		fputs("(erl +Muatags true tags the blocks of all allocators)\n", f);
}

int tags_view_write(FILE *f, const struct tags_answer *a, const struct table_options *o,
		    struct error *err)
{
	struct table_options options = *o;
	uint64_t size = 0, nr = 0;

	if (!options.limit)
		options.limit = ROWS_SHOWN;
	for (size_t i = 0; i < a->nr_allocators; i++) {
		size += a->allocators[i].tagged_size;
		nr += a->allocators[i].tagged;
	}
	write_sum(f, "Tagged", nr, size);
	fputc('\n', f);
	write_untagged(f, a);
	if (a->rows.nr_rows == 0)
		return 0;
	fputc('\n', f);
	options.write_more = true;
	return table_write(f, &a->rows, &options, err);
}

void tags_view_json(struct jsonw *w, const struct tags_answer *a, const struct table_options *o)
{
	jsonw_begin_object(w, "data");
	table_json_rows(w, "tags", &a->rows, o);
	jsonw_begin_array(w, "allocators");
	for (size_t i = 0; i < a->nr_allocators; i++) {
		const struct tags_allocator *t = &a->allocators[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", t->type);
		jsonw_bool(w, "tags", t->tags);
		jsonw_uint(w, "tagged", t->tagged);
		jsonw_uint(w, "tagged_size", t->tagged_size);
		jsonw_uint(w, "untagged", t->untagged);
		jsonw_uint(w, "untagged_size", t->untagged_size);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}
