/* SPDX-License-Identifier: BSD-2-Clause */
/* See carriers_view.h. */
#include "view/inspect/carriers_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct carriers_row *)(p))

static double use_of(const struct carriers_sum *s)
{
	return s->size ? (double)(s->size - s->unused) / (double)s->size : 1;
}

TABLE_VALUE(utilization, struct carriers_row, use_of(&r->all))

/* Lowest utilization first. */
static int by_utilization(const void *a, const void *b)
{
	return cell_by_number(utilization(b), utilization(a));
}

/* ---- flags ----------------------------------------------------------------------------------- */

/* The letter of an allocator in +M flags: erts_alloc(3). */
static char letter_of(const char *type)
{
	static const struct {
		const char *type;
		char letter;
	} letters[] = {{"temp_alloc", 'T'},  {"sl_alloc", 'S'},	     {"std_alloc", 'D'},
		       {"ll_alloc", 'L'},    {"eheap_alloc", 'H'},   {"ets_alloc", 'E'},
		       {"fix_alloc", 'F'},   {"literal_alloc", 'I'}, {"binary_alloc", 'B'},
		       {"driver_alloc", 'R'}};

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (strcmp(type, letters[i].type) == 0)
			return letters[i].letter;
	return 'u'; /* all of them */
}

/* What is worth a line: less is noise of a small node. */
#define WORTH	    ((uint64_t)16 << 20) /* bytes unused */
#define WORTH_SHARE 0.25		 /* of what the carriers hold */
#define MANY_SINGLE 1000
#define LOW_BANDS   3 /* use below 30 % */

struct advising {
	const struct carriers_row *r;
	char letter;
	struct carriers_sum many; /* carriers for many blocks that are not in the pool */
	struct carriers_sum low;  /* those of low use; pooled and single ones included */
	char *text;
};

static bool is_worth(const struct carriers_sum *s, const struct carriers_row *r)
{
	return s->unused >= WORTH && (double)s->unused >= WORTH_SHARE * (double)r->all.size;
}

/* Carriers that little is used of stay with their instance.  Those of temp_alloc and literal_alloc
 * always do. */
static bool advise_acul(const struct advising *a)
{
	char unused[32];

	units_format_bytes(a->low.unused, unused, sizeof(unused));
	if (a->r->acul != 0 || strchr("TI", a->letter) || !is_worth(&a->low, a->r))
		return false;
	snprintf(a->text, CARRIERS_ADVICE_SIZE,
		 "+M%cacul de: %s are unused in carriers with less than %d%% in use, and other "
		 "instances cannot take these: carriers do not migrate",
		 a->letter, unused, LOW_BANDS * 10);
	return true;
}

/* Much is free, but in small pieces. */
static bool advise_as(const struct advising *a)
{
	char unused[32], largest[32];

	if (!is_worth(&a->many, a->r) || a->r->largest_free > a->many.unused / 64 ||
	    a->low.unused > a->many.unused / 2)
		return false;
	units_format_bytes(a->many.unused, unused, sizeof(unused));
	units_format_bytes(a->r->largest_free, largest, sizeof(largest));
	snprintf(a->text, CARRIERS_ADVICE_SIZE,
		 "+M%cas: %s are free in %" PRIu64 " pieces, the largest of %s; a strategy by age "
		 "(ageffcbf) or address (aoffcbf) may keep them together",
		 a->letter, unused, a->r->free_blocks, largest);
	return true;
}

/* A few blocks hold large carriers. */
static bool advise_lmbcs(const struct advising *a)
{
	char unused[32], limit[32];

	if (a->r->lmbcs == UINT64_MAX || !is_worth(&a->low, a->r) || a->low.carriers == 0 ||
	    a->low.size / a->low.carriers < a->r->lmbcs / 2)
		return false;
	units_format_bytes(a->low.unused, unused, sizeof(unused));
	units_format_bytes(a->r->lmbcs, limit, sizeof(limit));
	snprintf(a->text, CARRIERS_ADVICE_SIZE,
		 "+M%clmbcs: %" PRIu64 " carriers with less than %d%% in use keep %s; smaller ones "
		 "(now up to %s) are empty sooner, and given back",
		 a->letter, a->low.carriers, LOW_BANDS * 10, unused, limit);
	return true;
}

/* Many blocks have a carrier of their own. */
static bool advise_sbct(const struct advising *a)
{
	char limit[32];

	if (a->r->sbct == UINT64_MAX || a->r->single.carriers < MANY_SINGLE)
		return false;
	units_format_bytes(a->r->sbct, limit, sizeof(limit));
	snprintf(a->text, CARRIERS_ADVICE_SIZE,
		 "+M%csbct: %" PRIu64 " blocks of %s and more have a carrier of their own, which "
		 "the kernel maps and unmaps each time; a higher limit puts them together",
		 a->letter, a->r->single.carriers, limit);
	return true;
}

bool carriers_advice(const struct carriers_row *r, unsigned int i, const char **flag,
		     char text[CARRIERS_ADVICE_SIZE])
{
	static const struct {
		const char *flag;
		bool (*advise)(const struct advising *a);
	} advices[CARRIERS_ADVICES] = {{"acul", advise_acul},
				       {"as", advise_as},
				       {"lmbcs", advise_lmbcs},
				       {"sbct", advise_sbct}};
	struct advising a = {.r = r, .letter = letter_of(r->type), .text = text};

	a.many = (struct carriers_sum){r->all.carriers - r->single.carriers - r->pooled.carriers,
				       r->all.size - r->single.size - r->pooled.size,
				       r->all.unused - r->single.unused - r->pooled.unused};
	for (size_t band = 0; band < LOW_BANDS; band++) {
		a.low.carriers += r->bands[band].carriers;
		a.low.size += r->bands[band].size;
		a.low.unused += r->bands[band].unused;
	}
	for (size_t k = 0; k < CARRIERS_ADVICES; k++) {
		if (!advices[k].advise(&a))
			continue;
		*flag = advices[k].flag;
		if (i-- == 0)
			return true;
	}
	return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add(struct carriers_sum *to, uint64_t size, uint64_t blocks_size)
{
	to->carriers++;
	to->size += size;
	to->unused += size - blocks_size;
}

void carriers_row_add(struct carriers_row *r, uint64_t size, uint64_t blocks_size, bool single,
		      bool pooled)
{
	size_t band = (size_t)((double)blocks_size / (double)size * CARRIERS_BANDS);

	add(&r->all, size, blocks_size);
	add(&r->bands[MIN(band, CARRIERS_BANDS - 1)], size, blocks_size);
	if (single)
		add(&r->single, size, blocks_size);
	if (pooled)
		add(&r->pooled, size, blocks_size);
}

static void json_sum(struct jsonw *w, const struct carriers_sum *s)
{
	jsonw_uint(w, "carriers", s->carriers);
	jsonw_uint(w, "carriers_size", s->size);
	jsonw_uint(w, "unused", s->unused);
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct carriers_row *r = row;
	char text[CARRIERS_ADVICE_SIZE];
	const char *flag;

	(void)name;
	(void)ctx;
	jsonw_known(w, "acul", r->acul);
	jsonw_known(w, "sbct", r->sbct);
	jsonw_known(w, "lmbcs", r->lmbcs);
	jsonw_begin_array(w, "use");
	for (uint64_t i = 0; i < CARRIERS_BANDS; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_uint(w, "from", i * 10);
		jsonw_uint(w, "to", (i + 1) * 10);
		json_sum(w, &r->bands[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "flags");
	for (unsigned int i = 0; carriers_advice(r, i, &flag, text); i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "flag", flag);
		jsonw_string(w, "text", text);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct carriers_row, member)

static const struct table_column columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{FIELD("unused", "UNUSED", BYTES, all.unused)},
	{TABLE_NUMBER("utilization", "USED", SHARE, utilization), .compare = by_utilization},
	{FIELD("carriers_size", "CARRIERS SIZE", BYTES, all.size)},
	{FIELD("carriers", "CARRIERS", COUNT, all.carriers)},
	{FIELD("pool_carriers", "POOLED", COUNT, pooled.carriers)},
	{FIELD("sbcs_carriers", "SINGLE", COUNT, single.carriers)},
	{FIELD("largest_free", "LARGEST FREE", BYTES, largest_free)},
	{FIELD("free_blocks", "FREE BLOCKS", COUNT, free_blocks)},
	{FIELD("blocks", "BLOCKS", COUNT, blocks)},
	{FIELD("blocks_size", "BLOCKS SIZE", BYTES, blocks_size), .hidden = true},
	{FIELD("pool_carriers_size", "POOLED SIZE", BYTES, pooled.size), .hidden = true},
	{FIELD("sbcs_carriers_size", "SINGLE SIZE", BYTES, single.size), .hidden = true},
	{.json = json_more},
};

const struct table carriers_table = {.columns = columns, .row_size = sizeof(struct carriers_row)};

/* ---- how full carriers are ------------------------------------------------------------------- */

struct band_row {
	const char *type;
	char use[16]; /* "0-10%" */
	struct carriers_sum sum;
};

#define BAND_FIELD(name, title, type, member)                                                      \
	TABLE_FIELD(name, title, type, struct band_row, member)

static const struct table_column band_columns[] = {
	{BAND_FIELD("type", "ALLOCATOR", TEXT, type)},
	{BAND_FIELD("use", "IN USE", TEXT, use), .align = TABLE_RIGHT},
	{BAND_FIELD("carriers", "CARRIERS", COUNT, sum.carriers)},
	{BAND_FIELD("carriers_size", "CARRIERS SIZE", BYTES, sum.size)},
	{BAND_FIELD("unused", "UNUSED", BYTES, sum.unused)},
	{0},
};

static int write_bands(FILE *f, const struct carriers_row *rows, const size_t *order, size_t nr,
		       const struct table_options *o, struct error *err)
{
	struct band_row *bands = xcalloc(nr * CARRIERS_BANDS + 1, sizeof(*bands));
	struct table t = {
		.columns = band_columns, .rows = bands, .row_size = sizeof(struct band_row)};
	const struct table_options options = {.width = o->width, .color = o->color};
	int rc;

	for (size_t i = 0; i < nr; i++) {
		const struct carriers_row *r = &rows[order[i]];

		for (int band = 0; band < CARRIERS_BANDS; band++) {
			struct band_row *b = &bands[t.nr_rows];

			if (r->bands[band].carriers == 0)
				continue;
			*b = (struct band_row){.type = r->type, .sum = r->bands[band]};
			snprintf(b->use, sizeof(b->use), "%d-%d%%", band * 10, band * 10 + 10);
			t.nr_rows++;
		}
	}
	rc = table_write(f, &t, &options, err);
	free(bands);
	return rc;
}

static void write_advice(FILE *f, const struct carriers_row *r, bool *begun)
{
	char text[CARRIERS_ADVICE_SIZE];
	const char *flag;

	for (unsigned int i = 0; carriers_advice(r, i, &flag, text); i++) {
		if (!*begun)
			fputc('\n', f);
		*begun = true;
		table_line(f, "%s", text);
	}
}

/* ---- who has the blocks ---------------------------------------------------------------------- */

#define HOLDERS_SHOWN 10
#define HOLDERS_SAID  3

#define HOLDER_FIELD(name, title, type, member)                                                    \
	TABLE_FIELD(name, title, type, struct carriers_holder, member)

static void col_holder(struct strbuf *out, const void *row, const void *ctx)
{
	const struct carriers_holder *h = row;

	(void)ctx;
	strbuf_addstr(out, h->holder ? h->holder : "(other)");
}

static void col_holders(struct strbuf *out, const void *row, const void *ctx)
{
	const struct carriers_holder *h = row;

	(void)ctx;
	if (h->holders)
		cell_count(out, h->holders);
}

static void json_holder(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)ctx;
	jsonw_string(w, name, ((const struct carriers_holder *)row)->holder);
}

static const struct table_column holder_columns[] = {
	{HOLDER_FIELD("allocator", "ALLOCATOR", TEXT, allocator)},
	{.name = "holder", .title = "WHO", .text = col_holder, .json = json_holder},
	{HOLDER_FIELD("kind", "KIND", TEXT, kind)},
	{HOLDER_FIELD("holders", "NUMBER", COUNT, holders), .text = col_holders},
	{HOLDER_FIELD("unused", "UNUSED", BYTES, in.unused)},
	{HOLDER_FIELD("carriers", "CARRIERS", COUNT, in.carriers)},
	{HOLDER_FIELD("carriers_size", "CARRIERS SIZE", BYTES, in.size)},
	{HOLDER_FIELD("alone", "ALONE", COUNT, alone)},
	{HOLDER_FIELD("blocks", "BLOCKS", COUNT, blocks)},
	{HOLDER_FIELD("blocks_size", "BLOCKS SIZE", BYTES, blocks_size)},
	{0},
};

const struct table carriers_holders_table = {.columns = holder_columns,
					     .row_size = sizeof(struct carriers_holder)};

/* "900 processes of import_batch:row/1 keep 47 carriers of eheap_alloc with 286.1 MiB: 18.9 MiB in
 * use, 17.8 MiB of it theirs; in 38 of them nobody else has a block" */
static void write_keeper(FILE *f, const struct carriers_holder *h)
{
	char size[32], used[32], theirs[32];
	struct strbuf text = STRBUF_INIT;

	cell_count(&text, h->holders);
	strbuf_addf(&text, " %s", h->kind);
	if (h->holders != 1)
		strbuf_addstr(&text, *h->kind == 'p' ? "es" : "s");
	strbuf_addf(&text, *h->kind == 'p' && h->holders != 1 ? " of %s keep" : " %s %s", h->holder,
		    h->holders == 1 ? "keeps" : "keep");
	strbuf_addf(&text, " %" PRIu64 " carrier%s of %s with %s: %s in use, %s of it theirs",
		    h->in.carriers, h->in.carriers == 1 ? "" : "s", h->allocator,
		    units_format_bytes(h->in.size, size, sizeof(size)),
		    units_format_bytes(h->in.size - h->in.unused, used, sizeof(used)),
		    units_format_bytes(h->blocks_size, theirs, sizeof(theirs)));
	if (h->alone && h->alone == h->in.carriers)
		strbuf_addstr(&text, ", where nobody else has a block");
	else if (h->alone)
		strbuf_addf(&text, "; in %" PRIu64 " of them nobody else has a block", h->alone);
	table_line(f, "%s", text.buf);
	strbuf_free(&text);
}

/* Those that keep much; but the first, only if there are carriers that nobody else keeps. */
static int write_keepers(FILE *f, const struct carriers_answer *a, bool *begun, struct error *err)
{
	const struct table_options o = {.sort = "unused"};
	const struct carriers_holder *rows = a->holders.rows;
	unsigned int said = 0;
	size_t *order, nr;
	int rc;

	if (a->holders.nr_rows == 0)
		return 0;
	rc = table_order(&a->holders, &o, &order, &nr, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < nr && said < HOLDERS_SAID; i++) {
		const struct carriers_holder *h = &rows[order[i]];

		if (!h->holder || h->in.unused < WORTH || (said && !h->alone))
			continue;
		if (!*begun)
			fputc('\n', f);
		*begun = true;
		said++;
		write_keeper(f, h);
	}
	free(order);
	return 0;
}

static int write_holders(FILE *f, const struct carriers_answer *a, const struct table_options *o,
			 struct error *err)
{
	const struct table_options options = {.sort = "unused",
					      .limit = o->limit,
					      .width = o->width,
					      .color = o->color,
					      .write_more = true};
	char heading[64];
	int rc;

	snprintf(heading, sizeof(heading),
		 "Who has blocks in carriers with less than %u%% in use\n", a->percent);
	rc = table_write_below(f, heading, &a->holders, &options, HOLDERS_SHOWN, err);
	if (!rc && a->holders.nr_rows)
		table_line(f, "a carrier counts for each who has a block in it; (other): blocks "
			      "of no process or table that was found, as those of drivers, NIFs "
			      "and the VM itself");
	return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

int carriers_view_write(FILE *f, const struct carriers_answer *a, const struct table_options *o,
			struct error *err)
{
	const struct carriers_row *rows = a->types.rows;
	struct table_options options = *o;
	struct carriers_sum sum = {0};
	struct strbuf count = STRBUF_INIT;
	char carriers[32], unused[32];
	size_t *order = NULL, nr;
	bool begun = false;
	int rc = table_order(&a->types, o, &order, &nr, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < a->types.nr_rows; i++) {
		sum.carriers += rows[i].all.carriers;
		sum.size += rows[i].all.size;
		sum.unused += rows[i].all.unused;
	}
	cell_count(&count, sum.carriers);
	fprintf(f, "%s carriers hold %s, %s of it unused (%.1f%% used)\n", count.buf,
		units_format_bytes(sum.size, carriers, sizeof(carriers)),
		units_format_bytes(sum.unused, unused, sizeof(unused)), 100 * use_of(&sum));
	options.write_more = true;
	for (size_t i = 0; i < nr; i++)
		write_advice(f, &rows[order[i]], &begun);
	rc = write_keepers(f, a, &begun, err);
	fputc('\n', f);
	rc = rc ? rc : table_write(f, &a->types, &options, err);
	rc = rc ? rc : write_holders(f, a, o, err);
	fputc('\n', f);
	rc = rc ? rc : write_bands(f, rows, order, nr, o, err);
	strbuf_free(&count);
	free(order);
	return rc;
}

void carriers_view_json(struct jsonw *w, const struct carriers_answer *a,
			const struct table_options *o)
{
	static const struct table_options by_unused = {.sort = "unused"};

	jsonw_begin_object(w, "data");
	table_json_rows(w, "carriers", &a->types, o);
	jsonw_uint(w, "sparse_below", a->percent);
	table_json_rows(w, "holders", &a->holders, &by_unused);
	jsonw_end_object(w);
}
