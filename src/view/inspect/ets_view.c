/* SPDX-License-Identifier: BSD-2-Clause */
/* See ets_view.h. */
#include "view/inspect/ets_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "names/names.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct ets_row *)(p))

static int by_owner(const void *a, const void *b)
{
	uint64_t x = ROW(a)->owner_term, y = ROW(b)->owner_term;

	return x < y ? -1 : x > y;
}

static void json_write_concurrency(struct jsonw *w, const char *name, const void *row,
				   const void *ctx)
{
	const char *word = ROW(row)->write_concurrency;

	(void)ctx;
	if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
		jsonw_raw(w, name, word);
	else
		jsonw_string(w, name, word);
}

static void json_torn(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)name;
	(void)ctx;
	if (ROW(row)->torn)
		jsonw_bool(w, "torn", true);
}

static void col_bytes_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	cell_growth(out, ROW(row)->bytes_per_s, cell_bytes);
}

static void col_size_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	cell_growth(out, ROW(row)->size_per_s, cell_rate);
}

static void json_growth(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (ROW(row)->rates)
		jsonw_double(w, name, *name == 'b' ? ROW(row)->bytes_per_s : ROW(row)->size_per_s);
}

/* Options read_concurrency (r) and write_concurrency (w). */
static void col_concurrency(struct strbuf *out, const void *row, const void *ctx)
{
	const struct ets_row *r = ROW(row);
	bool writes = strcmp(r->write_concurrency, "false") != 0;

	UNUSED(ctx);
	strbuf_addf(out, "%s%s", r->read_concurrency ? "r" : writes ? "" : "-", writes ? "w" : "");
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct ets_row, member)
#define SAME(name, title, type)		 FIELD(#name, title, type, name)

static const struct table_column columns[] = {
	{SAME(name, "NAME", NAME), .torn = offsetof(struct ets_row, torn)},
	{SAME(bytes, "MEMORY", BYTES)},
	{SAME(bytes_per_s, "MEMORY/S", RATE), .hidden = true, .text = col_bytes_per_s,
	 .json = json_growth},
	{FIELD("memory", "WORDS", COUNT, words), .hidden = true},
	{FIELD("size", "OBJECTS", COUNT, objects)},
	{SAME(size_per_s, "OBJECTS/S", RATE), .hidden = true, .text = col_size_per_s,
	 .json = json_growth},
	{SAME(type, "TYPE", TEXT)},
	{SAME(protection, "ACCESS", TEXT)},
	{.name = "concurrency", .title = "CONC", .text = col_concurrency, .json = table_json_none},
	{SAME(owner, "OWNER", TEXT), .compare = by_owner},
	{SAME(owner_name, "OWNER NAME", NAME)},
	{SAME(id, "ID", TEXT)},
	{SAME(keypos, "KEYPOS", COUNT), .hidden = true},
	{SAME(heir, "HEIR", TEXT), .hidden = true},
	{SAME(compressed, "COMPRESSED", FLAG), .hidden = true},
	{FIELD("named_table", "NAMED", FLAG, named), .hidden = true},
	{SAME(read_concurrency, "READ CONC", FLAG), .hidden = true},
	{SAME(write_concurrency, "WRITE CONC", TEXT), .hidden = true,
	 .json = json_write_concurrency},
	{FIELD("decentralized_counters", "DECENTRALIZED", FLAG, decentralized), .hidden = true},
	{SAME(fixed, "FIXED", FLAG), .hidden = true},
	{.json = json_torn},
};

const struct table ets_table = {.columns = columns, .row_size = sizeof(struct ets_row)};

/* ---- one table ------------------------------------------------------------------------------- */

void ets_view_json(struct jsonw *w, const struct ets_answer *a)
{
	static const struct table_column objects = {
		TABLE_FIELD("objects", "", LIST, struct ets_answer, objects)};

	jsonw_begin_rows(w, "data");
	jsonw_begin_object(w, NULL);
	table_json_fields(columns, w, a->row, NULL);
	jsonw_begin_array(w, "fixed_by");
	for (size_t i = 0; i < a->nr_fixed_by; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "pid", a->fixed_by[i].pid);
		jsonw_uint(w, "count", a->fixed_by[i].count);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	if (a->fixed_by_truncated)
		jsonw_bool(w, "fixed_by_truncated", true);
	table_json_field(&objects, w, a, NULL);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static void add_name(struct strbuf *out, const struct table_name *name)
{
	if (name->text)
		names_format_module(out, name->text, name->len);
}

static void add_owner(struct strbuf *out, const struct ets_row *r)
{
	strbuf_addf(out, "\n  owner        %s", r->owner);
	if (r->owner_name.text) {
		strbuf_addstr(out, " (");
		add_name(out, &r->owner_name);
		strbuf_addch(out, ')');
	}
	strbuf_addf(out, ", %s%s", *r->heir ? "heir " : "no heir", r->heir);
}

static void add_sizes(struct strbuf *out, const struct ets_answer *a)
{
	const struct ets_row *r = a->row;
	char buf[32], words[32];

	strbuf_addf(out, "\n  objects      %s", units_format_count(r->objects, buf, sizeof(buf)));
	if (a->hash)
		strbuf_addf(out, " in %s buckets",
			    units_format_count(a->buckets, buf, sizeof(buf)));
	strbuf_addf(out, "\n  memory       %s (%s words)",
		    units_format_bytes(r->bytes, buf, sizeof(buf)),
		    units_format_count(r->words, words, sizeof(words)));
	if (r->objects)
		strbuf_addf(out, ", %.1f words per object on average",
			    (double)r->words / (double)r->objects);
}

static void add_fixed_by(struct strbuf *out, const struct ets_answer *a)
{
	if (!a->nr_fixed_by && !a->fixed_by_truncated)
		return;
	strbuf_addstr(out, "  fixed by     ");
	for (size_t i = 0; i < a->nr_fixed_by; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", a->fixed_by[i].pid);
	if (a->fixed_by_truncated)
		strbuf_addstr(out, a->nr_fixed_by ? " and others" : "unknown, as that changes");
	strbuf_addstr(out,
		      a->hash ? "  (deleted objects stay in memory until they unfix it)\n" : "\n");
}

static void add_details(struct strbuf *out, const struct ets_answer *a)
{
	const struct ets_row *r = a->row;

	add_name(out, &r->name);
	strbuf_addf(out, "%s\n  id           %s\n", r->torn ? "~" : "", r->id);
	strbuf_addf(out, "  type         %s, %s, %s%s", r->type, r->protection,
		    r->named ? "named" : "not named", r->fixed ? ", fixed now" : "");
	add_owner(out, r);
	add_sizes(out, a);
	strbuf_addf(out, "\n  key          element %" PRIu32 "\n", r->keypos);
	strbuf_addf(out, "  concurrency  read %s, write %s\n",
		    r->read_concurrency ? "true" : "false", r->write_concurrency);
	strbuf_addf(out, "  compressed   %s\n", r->compressed ? "yes" : "no");
	strbuf_addf(out, "  counters     %s\n",
		    r->decentralized ? "decentralized" : "in one place");
	add_fixed_by(out, a);
}

void ets_view_write(FILE *f, const struct ets_answer *a)
{
	struct strbuf text = STRBUF_INIT;
	char shown[32], size[32];

	add_details(&text, a);
	/* Objects may hold escape sequences, which table_write_text() replaces. */
	table_write_text(f, &text);
	if (a->objects.nr)
		fprintf(f, "\n%s of %s objects, %s:\n%s",
			units_format_count(a->objects.nr, shown, sizeof(shown)),
			units_format_count(a->row->objects, size, sizeof(size)),
			a->hash ? "in the order of the hash buckets" : "by key",
			a->row->compressed ? "(... stands for compressed terms: all but keys, "
					     "atoms and small integers)\n"
					   : "");
	for (size_t i = 0; i < a->objects.nr; i++) {
		strbuf_addstr(&text, a->objects.texts[i]);
		table_clean_text(&text, false);
		strbuf_addch(&text, '\n');
		table_write_text(f, &text);
	}
	strbuf_free(&text);
}
