/* SPDX-License-Identifier: BSD-2-Clause */
/* See tags_view.h. */
#include "view/inspect/tags_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "names/names.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define ROWS_SHOWN	 20 /* without -n */
#define HISTOGRAMS_SHOWN 5

static const char *const by_names[NR_TAGS_BY] = {
	[TAGS_BY_MODULE] = "module", [TAGS_BY_FUNCTION] = "function", [TAGS_BY_PROCESS] = "process",
	[TAGS_BY_PORT] = "port",     [TAGS_BY_NIF] = "nif",	      [TAGS_BY_TYPE] = "type",
};

const char *tags_by_name(enum tags_by by)
{
	return by_names[by];
}

TABLE_VALUE(mean, struct tags_row, r->blocks ? (double)r->size / (double)r->blocks : 0)

static void add_origin(struct strbuf *out, const void *row, const void *ctx)
{
	const struct tags_row *r = row;

	(void)ctx;
	if (r->origin && r->is_module)
		names_format_module(out, r->origin, strlen(r->origin));
	else if (r->origin)
		strbuf_addstr(out, r->origin);
}

static void json_origin(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)ctx;
	jsonw_string(w, name, ((const struct tags_row *)row)->origin);
}

static void make_histogram(const struct tags_answer *a, const struct tags_row *r,
			   struct histogram *out)
{
	uint64_t first, last;

	*out = (struct histogram){0};
	for (size_t i = 0; i < r->nr_sizes; i++) {
		const struct tags_size *s = &a->sizes[r->sizes + i];

		histogram_bounds(s->key & ((1u << TAGS_SIZE_BITS) - 1), &first, &last);
		histogram_add(out, first, s->blocks);
	}
	out->sum = r->size;
	out->min = r->smallest;
	out->max = r->largest;
}

/* What grew most first, then what is largest. */
static int by_growth(const void *a, const void *b)
{
	const struct tags_row *x = a, *y = b;
	int order = cell_by_number(x->grew, y->grew);

	return order ? order : cell_by_number((double)x->size, (double)y->size);
}

static void col_size_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ((const struct tags_row *)row)->size_per_s, cell_bytes);
}

static void col_blocks_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ((const struct tags_row *)row)->blocks_per_s, cell_rate);
}

static void col_grew(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ((const struct tags_row *)row)->grew, cell_bytes);
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct tags_answer *a = ctx;
	const struct tags_row *r = row;
	struct histogram sizes;

	(void)name;
	make_histogram(a, r, &sizes);
	histogram_json(w, "sizes", &sizes, 1);
	if (!a->watch)
		return;
	jsonw_double(w, "blocks_size_per_s", r->size_per_s);
	jsonw_double(w, "blocks_per_s", r->blocks_per_s);
	jsonw_double(w, "blocks_size_grew", r->grew);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct tags_row, member)

#define GROWING(name, title, member)                                                               \
	FIELD(name, title, RATE, member), .hidden = true, .json = table_json_none

static const struct table_column columns[] = {
	{.name = "origin", .title = "ORIGIN", .text = add_origin, .json = json_origin},
	{FIELD("type", "TYPE", TEXT, type)},
	{GROWING("blocks_size_grew", "GREW", grew), .text = col_grew, .compare = by_growth},
	{GROWING("blocks_size_per_s", "GROWTH/S", size_per_s), .text = col_size_per_s},
	{GROWING("blocks_per_s", "BLOCKS/S", blocks_per_s), .text = col_blocks_per_s},
	{FIELD("blocks_size", "BLOCKS SIZE", BYTES, size)},
	{FIELD("blocks", "BLOCKS", COUNT, blocks)},
	{TABLE_NUMBER("mean", "MEAN", BYTES, mean)},
	{FIELD("largest", "LARGEST", BYTES, largest)},
	{FIELD("name", "NAME", TEXT, name), .hidden = true},
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

/* If no block can be tagged with what was asked for: which flag does that. */
static void write_flag(FILE *f, const struct tags_answer *a)
{
	bool functions = false, terms = false;

	for (size_t i = 0; i < a->nr_allocators; i++) {
		functions |= a->allocators[i].function_tags;
		terms |= a->allocators[i].tags && !a->allocators[i].function_tags;
	}
	if (a->by == TAGS_BY_FUNCTION && !functions)
		fputs("(erl +Muatags code tags blocks with functions)\n", f);
	if (a->by == TAGS_BY_PROCESS && functions && !terms)
		fputs("(blocks are tagged with functions instead of processes: +M...atags code)\n",
		      f);
}

static int write_histograms(FILE *f, const struct tags_answer *a, const struct table_options *o,
			    struct error *err)
{
	const struct tags_row *rows = a->rows.rows;
	struct strbuf title = STRBUF_INIT;
	struct histogram sizes;
	size_t *order, nr;
	int rc = table_order(&a->rows, o, &order, &nr, err);

	for (size_t i = 0; !rc && i < nr; i++) {
		const struct tags_row *r = &rows[order[i]];

		title.len = 0;
		add_origin(&title, r, NULL);
		strbuf_addf(&title, "%s%s", r->origin && r->type ? " " : "",
			    r->type ? r->type : "others");
		if (r->name)
			strbuf_addf(&title, " (%s)", r->name);
		table_clean_text(&title, false);
		make_histogram(a, r, &sizes);
		fputc('\n', f);
		histogram_write(f, title.buf, &sizes, HISTOGRAM_BYTES, 1);
	}
	if (!rc) {
		table_write_more(f, nr, a->rows.nr_rows);
		free(order);
	}
	strbuf_free(&title);
	return rc;
}

#define SIZE_COLUMNS  "blocks_size,blocks,mean,largest"
#define WATCH_COLUMNS "blocks_size_grew,blocks_size_per_s,blocks_per_s," SIZE_COLUMNS

/* Columns that are shown if the user chooses none; NULL: all that are not hidden. */
static const char *usual_columns(const struct tags_answer *a)
{
	bool named = a->by == TAGS_BY_PROCESS || a->by == TAGS_BY_PORT;

	if (a->by == TAGS_BY_TYPE)
		return a->grows ? "type," WATCH_COLUMNS : "type," SIZE_COLUMNS;
	if (a->grows)
		return named ? "origin,type," WATCH_COLUMNS ",name" : "origin,type," WATCH_COLUMNS;
	return NULL;
}

int tags_view_write(FILE *f, const struct tags_answer *a, const struct table_options *o,
		    bool histogram, struct error *err)
{
	struct table_options options = *o;
	uint64_t size = 0, nr = 0;

	if (!options.limit)
		options.limit = histogram ? HISTOGRAMS_SHOWN : ROWS_SHOWN;
	for (size_t i = 0; i < a->nr_allocators; i++) {
		size += a->allocators[i].tagged_size;
		nr += a->allocators[i].tagged;
	}
	write_sum(f, "Tagged", nr, size);
	fputc('\n', f);
	write_untagged(f, a);
	write_flag(f, a);
	if (a->rows.nr_rows == 0)
		return 0;
	if (histogram)
		return write_histograms(f, a, &options, err);
	fputc('\n', f);
	options.write_more = true;
	if (a->by == TAGS_BY_PROCESS || a->by == TAGS_BY_PORT)
		options.also = "name";
	if (!options.columns)
		options.columns = usual_columns(a);
	return table_write(f, &a->rows, &options, err);
}

void tags_view_json(struct jsonw *w, const struct tags_answer *a, const struct table_options *o)
{
	jsonw_begin_object(w, "data");
	jsonw_string(w, "by", by_names[a->by]);
	table_json_rows(w, "tags", &a->rows, o);
	jsonw_begin_array(w, "allocators");
	for (size_t i = 0; i < a->nr_allocators; i++) {
		const struct tags_allocator *t = &a->allocators[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", t->type);
		jsonw_bool(w, "tags", t->tags);
		jsonw_bool(w, "function_tags", t->function_tags);
		jsonw_uint(w, "tagged", t->tagged);
		jsonw_uint(w, "tagged_size", t->tagged_size);
		jsonw_uint(w, "untagged", t->untagged);
		jsonw_uint(w, "untagged_size", t->untagged_size);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}
