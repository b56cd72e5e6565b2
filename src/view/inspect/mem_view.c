/* SPDX-License-Identifier: BSD-2-Clause */
/* See mem_view.h. */
#include "view/inspect/mem_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/inspect/atom_beginning.h"
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

/* What grew most first, then what wastes most. */
static int by_growth(const void *a, const void *b)
{
	int order = cell_by_number(ROW(a)->grew, ROW(b)->grew);

	return order ? order : cell_by_number(wasted(a), wasted(b));
}

static void col_size_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ROW(row)->size_per_s, cell_bytes);
}

static void col_blocks_per_s(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ROW(row)->blocks_per_s, cell_rate);
}

static void col_grew(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_growth(out, ROW(row)->grew, cell_bytes);
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
	if (!ROW(row)->growing)
		return;
	jsonw_double(w, "blocks_size_per_s", ROW(row)->size_per_s);
	jsonw_double(w, "blocks_per_s", ROW(row)->blocks_per_s);
	jsonw_double(w, "blocks_size_grew", ROW(row)->grew);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct mem_row, member)
#define HIDDEN(name, title, type, member)                                                          \
	{                                                                                          \
		FIELD(name, title, type, member), .hidden = true, .json = table_json_none          \
	}

#define GROWING(name, title, member)                                                               \
	FIELD(name, title, RATE, member), .hidden = true, .json = table_json_none

static const struct table_column columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{FIELD("instance", "INSTANCE", ID, instance), .text = col_instance},
	{GROWING("blocks_size_per_s", "GROWTH/S", size_per_s), .text = col_size_per_s},
	{GROWING("blocks_per_s", "BLOCKS/S", blocks_per_s), .text = col_blocks_per_s},
	{GROWING("blocks_size_grew", "GREW", grew), .text = col_grew, .compare = by_growth},
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

/* ---- growth --------------------------------------------------------------------------------- */

/* Of a figure, per second; NAN if it was not known both times, or there is no answer before. */
static double growth(const struct mem_answer *a, uint64_t now, uint64_t before)
{
	return a->before && a->seconds > 0 && now != UINT64_MAX && before != UINT64_MAX
		       ? ((double)now - (double)before) / a->seconds
		       : NAN;
}

#define GROWTH(a, member) growth(a, (a)->member, (a)->before ? (a)->before->member : UINT64_MAX)
#define RSS_GROWTH(a, member)                                                                      \
	growth(a, (a)->rss.known ? (a)->rss.member : UINT64_MAX,                                   \
	       (a)->before && (a)->before->rss.known ? (a)->before->rss.member : UINT64_MAX)

/* "  +1.2 MiB/s"; nothing if it did not change. */
static void write_growth(FILE *f, double per_s, void (*cell)(struct strbuf *out, double n))
{
	struct strbuf text = STRBUF_INIT;

	if (isnan(per_s) || per_s == 0)
		return;
	cell(&text, fabs(per_s));
	fprintf(f, "  %c%s/s", per_s < 0 ? '-' : '+', text.buf);
	strbuf_free(&text);
}

static void json_count_growth(struct jsonw *w, const struct mem_answer *a)
{
#define COUNT(name, ...) jsonw_double(w, #name, GROWTH(a, counts.name.count));
	jsonw_begin_object(w, "counts");
	MEM_COUNTS(COUNT)
	jsonw_end_object(w);
#undef COUNT
}

static void json_growth(struct jsonw *w, const struct mem_answer *a)
{
#define SIZE(name, ...) jsonw_double(w, #name, GROWTH(a, name));
#define PART(name, ...) jsonw_double(w, #name, RSS_GROWTH(a, name));
	jsonw_begin_object(w, "growth_per_s");
	MEM_SIZES(SIZE)
	jsonw_begin_object(w, "rss");
	jsonw_double(w, "total", RSS_GROWTH(a, total));
	MEM_PARTS(PART)
	jsonw_end_object(w);
	json_count_growth(w, a);
	jsonw_end_object(w);
#undef SIZE
#undef PART
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_percent(struct jsonw *w, const char *key, double percent)
{
	jsonw_double(w, key, percent < 0 ? NAN : percent);
}

static void json_rss(struct jsonw *w, const struct mem_rss *r)
{
#define PART(name, ...) jsonw_uint(w, #name, r->name);
	if (!r->known) {
		jsonw_null(w, "rss");
		return;
	}
	jsonw_begin_object(w, "rss");
	jsonw_uint(w, "total", r->total);
	MEM_PARTS(PART)
	jsonw_uint(w, "swap", r->swap);
	jsonw_uint(w, "huge_pages", r->huge_pages);
	jsonw_uint_if(w, "oom_score", r->oom_score >= 0, (uint64_t)r->oom_score);
	if (*r->cgroup) {
		jsonw_begin_object(w, "cgroup");
		jsonw_string(w, "path", r->cgroup);
		jsonw_known(w, "limit", r->limit);
		jsonw_known(w, "current", r->current);
		json_percent(w, "pressure_some_avg10", r->some);
		json_percent(w, "pressure_full_avg10", r->full);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "cgroup");
	}
	jsonw_end_object(w);
#undef PART
}

static void json_counts(struct jsonw *w, const struct mem_counts *c)
{
#define COUNT(name, ...)                                                                           \
	jsonw_begin_object(w, #name);                                                              \
	jsonw_known(w, "count", c->name.count);                                                    \
	jsonw_known(w, "limit", c->name.limit);                                                    \
	jsonw_end_object(w);
	jsonw_begin_object(w, "counts");
	MEM_COUNTS(COUNT)
	jsonw_end_object(w);
#undef COUNT
}

void mem_view_json(struct jsonw *w, const struct mem_answer *a, const struct table_options *o)
{
#define SIZE(name, ...) jsonw_known(w, #name, a->name);
#define AREA(name)	jsonw_known(w, #name, a->areas.name);
	jsonw_begin_object(w, "data");
	json_rss(w, &a->rss);
	json_counts(w, &a->counts);
	MEM_SIZES(SIZE)
	jsonw_begin_object(w, "areas");
	MEM_AREAS(AREA)
	jsonw_end_object(w);
	if (a->watch)
		json_growth(w, a);
	table_json_rows(w, "allocators", &a->instances, o);
	jsonw_end_object(w);
#undef SIZE
#undef AREA
}

/* ---- text ----------------------------------------------------------------------------------- */

static void write_size(FILE *f, const char *name, uint64_t bytes, uint64_t total, double per_s)
{
	char buf[32];

	if (bytes == UINT64_MAX) {
		fprintf(f, "%-18s%12s", name, "?");
		return;
	}
	fprintf(f, "%-18s%12s", name, units_format_bytes(bytes, buf, sizeof(buf)));
	if (total != UINT64_MAX && total > 0)
		fprintf(f, "  %5.1f%%", 100.0 * (double)bytes / (double)total);
	write_growth(f, per_s, cell_bytes);
}

/* Sizes of carriers are those of addresses: what was never touched, or is swapped, is not in the
 * RSS. */
static void write_carriers(FILE *f, const struct mem_row *sum)
{
	char in[32], none[32], size[32];

	if (!sum->all.carriers_size)
		return;
	fprintf(f, "  (of %s: %s in blocks, %s in no block)",
		units_format_bytes(sum->all.carriers_size, size, sizeof(size)),
		units_format_bytes(sum->all.blocks_size, in, sizeof(in)),
		units_format_bytes((uint64_t)wasted(sum), none, sizeof(none)));
}

static void write_cgroup(FILE *f, const struct mem_rss *r)
{
	char current[32], limit[32];

	if (!*r->cgroup)
		return;
	fputs("cgroup            ", f);
	fprintf(f, "%12s", units_format_bytes(r->current, current, sizeof(current)));
	if (r->limit != UINT64_MAX && r->limit)
		fprintf(f, "  %5.1f%% of its limit of %s",
			100.0 * (double)r->current / (double)r->limit,
			units_format_bytes(r->limit, limit, sizeof(limit)));
	else
		fputs("  no limit", f);
	if (r->some >= 0)
		fprintf(f, "; waited for memory: some tasks %.1f%%, all %.1f%% of 10 s", r->some,
			r->full < 0 ? 0 : r->full);
	fputs("  (", f);
	table_write_escaped(f, r->cgroup);
	fputs(")\n", f);
}

static void write_rss(FILE *f, const struct mem_answer *a, const struct mem_row *sum)
{
#define PART(name, title)                                                                          \
	write_size(f, title, r->name, r->total, RSS_GROWTH(a, name));                              \
	if (&r->name == &r->carriers)                                                              \
		write_carriers(f, sum);                                                            \
	fputc('\n', f);
	const struct mem_rss *r = &a->rss;

	if (!r->known)
		return;
	write_size(f, "RSS", r->total, r->total, RSS_GROWTH(a, total));
	fputc('\n', f);
	MEM_PARTS(PART)
	write_size(f, "swap", r->swap, 0, NAN);
	fputc('\n', f);
	write_size(f, "huge pages", r->huge_pages, r->total, NAN);
	fputc('\n', f);
	write_cgroup(f, r);
	if (r->oom_score >= 0)
		fprintf(f, "%-18s%12d\n", "oom_score", r->oom_score);
	fputc('\n', f);
#undef PART
}

static void write_count(FILE *f, const char *name, const struct mem_count *c, double per_s)
{
	char count[32] = "?", limit[32];

	if (c->count != UINT64_MAX)
		units_format_count(c->count, count, sizeof(count));
	fprintf(f, "%-18s%12s", name, count);
	if (c->limit != UINT64_MAX && c->limit) {
		if (c->count != UINT64_MAX)
			fprintf(f, "  %5.1f%%", 100.0 * (double)c->count / (double)c->limit);
		fprintf(f, " of %s", units_format_count(c->limit, limit, sizeof(limit)));
	}
	write_growth(f, per_s, cell_rate);
	fputc('\n', f);
}

#define OTHERS_SHOWN 2

/* Allocators that have memory of the row `other`, and `at most`: of other rows, too. */
static const struct {
	const char *type;
	bool at_most;
} other_types[] = {
	{"driver_alloc", false}, {"std_alloc", false},	  {"sl_alloc", false},
	{"temp_alloc", false},	 {"literal_alloc", true}, {"ll_alloc", true},
};

static int by_blocks_size(const void *a, const void *b)
{
	const struct mem_row *const *x = a, *const *y = b;

	return ((*x)->all.blocks_size < (*y)->all.blocks_size) -
	       ((*x)->all.blocks_size > (*y)->all.blocks_size);
}

static bool is_at_most(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_types); i++)
		if (strcmp(other_types[i].type, type) == 0)
			return other_types[i].at_most;
	return false;
}

/* "  (driver_alloc 104.5 MiB, ll_alloc at most 1.2 MiB)" */
static void write_others(FILE *f, const struct mem_answer *a)
{
	const struct mem_row *found[ARRAY_SIZE(other_types)];
	uint64_t left = a->other;
	const char *before = "  (";
	size_t nr = 0;
	char buf[32];

	if (a->other == UINT64_MAX)
		return;
	for (size_t i = 0; i < a->types.nr_rows; i++)
		for (size_t k = 0; k < ARRAY_SIZE(other_types) && nr < ARRAY_SIZE(found); k++)
			if (strcmp(ROW(a->types.rows)[i].type, other_types[k].type) == 0)
				found[nr++] = ROW(a->types.rows) + i;
	if (nr)
		qsort(found, nr, sizeof(found[0]), by_blocks_size);
	for (size_t i = 0; i < nr; i++)
		if (!is_at_most(found[i]->type))
			left -= MIN(left, found[i]->all.blocks_size);
	for (size_t i = 0; i < MIN(nr, (size_t)OTHERS_SHOWN); i++) {
		bool at_most = is_at_most(found[i]->type);
		uint64_t bytes = MIN(found[i]->all.blocks_size, at_most ? left : a->other);

		if (!bytes)
			continue;
		fprintf(f, "%s%s %s%s", before, found[i]->type, at_most ? "at most " : "",
			units_format_bytes(bytes, buf, sizeof(buf)));
		before = ", ";
	}
	fputs(before[0] == ',' ? ")" : "", f);
}

/* ---- what says more of what grows ------------------------------------------------------------ */

#define GROWERS_SHOWN 3
/* Less is not worth a line: bytes, and of what grew most. */
#define GREW_LEAST 65536
#define GREW_SHARE 0.05

static void write_pid(FILE *f, const struct mem_answer *a)
{
	if (a->os_pid)
		fprintf(f, " -p %d", a->os_pid);
}

/* Which command says more of an allocator: what follows `ebeam COMMAND -p PID`. */
static void write_more_of(FILE *f, const struct mem_answer *a, const char *type)
{
	static const struct {
		const char *type, *command, *args, *what;
	} all[] = {
		{"driver_alloc", "mem", " --tags --watch 5s", "NIFs and drivers that allocate"},
		{"binary_alloc", "bin", "", "who holds binaries"},
		{"eheap_alloc", "ps", " --watch 5s -s memory_per_s", "processes that grow"},
		{"ets_alloc", "ets", " --watch 5s", "tables that grow"},
		{"fix_alloc", "ps", " -s timers", "processes, and their timers"},
		{"literal_alloc", "mem", " --persistent-terms", "and 'ebeam mod': literals"},
		{"ll_alloc", "mem", " --atoms --watch 5s", "and 'ebeam mod': atoms and code"},
		{"malloc", "record", " --mode malloc --leak -d 1m -f text", "who allocates"},
		{NULL, "mem", " --tags --watch 5s", "if the node runs with +Muatags true"},
	};
	size_t i = 0;

	while (all[i].type && strcmp(type, all[i].type) != 0)
		i++;
	fprintf(f, "ebeam %s", all[i].command);
	write_pid(f, a);
	fprintf(f, "%s (%s)\n", all[i].args, all[i].what);
}

static void write_grower(FILE *f, const struct mem_answer *a, const char *type, double grew)
{
	struct strbuf text = STRBUF_INIT;

	cell_bytes(&text, grew / a->since_first);
	fprintf(f, "%s grew by %s/s in %.0f s: ", type, text.buf, a->since_first);
	write_more_of(f, a, type);
	strbuf_free(&text);
}

/* Parts that are worth a line: bytes, and of what they are a part. */
#define LARGE_LEAST (32u << 20)
#define LARGE_SHARE 0.3

static bool is_large(double part, double whole)
{
	return part >= LARGE_LEAST && part >= LARGE_SHARE * whole;
}

/* The same of what is large, if nothing is known of growth. */
static void write_large(FILE *f, const struct mem_answer *a, const struct mem_row *sum)
{
	const struct mem_row *rows = a->types.rows;
	const char *before = "\n"; /* the first line */
	char size[32];

	if (is_large(wasted(sum), (double)sum->all.carriers_size)) {
		fprintf(f, "%s%s of carriers are in no block (fragmentation): ebeam mem", before,
			units_format_bytes((uint64_t)wasted(sum), size, sizeof(size)));
		write_pid(f, a);
		fputs(" --carriers (who keeps them)\n", f);
		before = "";
	}
	for (size_t i = 0; i < a->types.nr_rows; i++) {
		if (!is_large((double)rows[i].all.blocks_size, (double)sum->all.blocks_size))
			continue;
		fprintf(f, "%s%s has %s: ", before, rows[i].type,
			units_format_bytes(rows[i].all.blocks_size, size, sizeof(size)));
		write_more_of(f, a, rows[i].type);
		before = "";
	}
	if (a->rss.known && is_large((double)a->rss.malloc, (double)a->rss.total)) {
		fprintf(f, "%smalloc has %s: ", before,
			units_format_bytes(a->rss.malloc, size, sizeof(size)));
		write_more_of(f, a, "malloc");
	}
}

/* Of the allocators that grew most, and of malloc, which command names who. */
static int write_growers(FILE *f, const struct mem_answer *a, struct error *err)
{
	const struct table_options o = {.sort = "blocks_size_grew", .limit = GROWERS_SHOWN};
	const struct mem_row *rows = a->types.rows;
	double malloc_grew = NAN;
	size_t *order, nr;
	double least;
	int rc;

	if (!a->first || a->since_first <= 0)
		return 0;
	rc = table_order(&a->types, &o, &order, &nr, err);
	if (rc)
		return rc;
	if (a->rss.known && a->first->rss.known)
		malloc_grew = (double)a->rss.malloc - (double)a->first->rss.malloc;
	least = fmax(fmax(nr ? rows[order[0]].grew : 0, malloc_grew) * GREW_SHARE, GREW_LEAST);
	for (size_t i = 0; i < nr; i++)
		if (rows[order[i]].grew >= least)
			write_grower(f, a, rows[order[i]].type, rows[order[i]].grew);
	free(order);
	if (malloc_grew >= least)
		write_grower(f, a, "malloc", malloc_grew);
	return 0;
}

#define WATCH_COLUMNS                                                                              \
	"type,instance,blocks_size_grew,blocks_size_per_s,blocks_per_s,wasted,utilization,"        \
	"blocks_size,carriers_size,blocks"

int mem_view_write(FILE *f, const struct mem_answer *a, const struct table_options *o,
		   struct error *err)
{
#define LINE(name, title)                                                                          \
	write_size(f, title, a->name, a->total, GROWTH(a, name));                                  \
	if (&a->name == &a->other)                                                                 \
		write_others(f, a);                                                                \
	fputc('\n', f);
#define COUNT(name, title) write_count(f, title, &a->counts.name, GROWTH(a, counts.name.count));
	struct table_options all, each = *o;
	struct mem_row sum = {0};
	char carriers[32], waste[32];
	int rc;

	if (a->before && !each.columns)
		each.columns = WATCH_COLUMNS;
	all = each;
	all.limit = 0;

	for (size_t i = 0; i < a->types.nr_rows; i++)
		mem_row_add(&sum, ROW(a->types.rows) + i);
	write_rss(f, a, &sum);
	MEM_COUNTS(COUNT)
	fputs("\nWhat erlang:memory() says, and what else of 'system' is left:\n", f);
	MEM_SIZES(LINE)
	if (a->types.nr_rows == 0)
		return 0;
	fprintf(f, "\nAllocators hold %s in carriers, %s of it unused (%.1f%% used)\n\n",
		units_format_bytes(sum.all.carriers_size, carriers, sizeof(carriers)),
		units_format_bytes((uint64_t)wasted(&sum), waste, sizeof(waste)),
		100 * utilization(&sum));
	rc = table_write(f, &a->types, &all, err);
	fputc('\n', f);
	if (!rc && a->watch)
		rc = write_growers(f, a, err);
	if (rc || (a->watch && !o->limit))
		return rc;
	rc = table_write(f, &a->instances, &each, err);
	if (!rc && !a->watch)
		write_large(f, a, &sum);
	return rc;
}

/* ---- atoms ---------------------------------------------------------------------------------- */

static const struct table_column atom_columns[] = {
	{TABLE_FIELD("index", "INDEX", ID, struct mem_atom, index)},
	{TABLE_FIELD("atom", "ATOM", TEXT, struct mem_atom, text)},
	{.name = NULL},
};

const struct table mem_atoms_table = {.columns = atom_columns, .row_size = sizeof(struct mem_atom)};

/* How long until the table is full, if atoms are made as since the first answer. */
static void write_atoms_left(FILE *f, const struct mem_answer *a)
{
	const struct mem_count *now = &a->counts.atoms;
	double made;
	char left[32];

	if (!a->first || a->since_first <= 0 || now->count == UINT64_MAX ||
	    now->limit == UINT64_MAX || now->limit < now->count)
		return;
	made = (double)now->count - (double)a->first->counts.atoms.count;
	if (made <= 0)
		return;
	fprintf(f,
		"%.0f new in %.0f s, %.1f/s: at this rate the table is full, and the node ends, "
		"in %s\n",
		made, a->since_first, made / a->since_first,
		units_format_uptime(
			(uint64_t)((double)(now->limit - now->count) / (made / a->since_first)),
			left, sizeof(left)));
}

static void write_beginning(FILE *f, const struct table *atoms)
{
	const struct atom_beginning b = atom_beginning(atoms->rows, atoms->nr_rows);

	if (b.len)
		table_line(f, "%zu of the newest %zu begin with '%.*s'", b.atoms, atoms->nr_rows,
			   (int)b.len, b.text);
}

void mem_atoms_json(struct jsonw *w, const struct mem_answer *a, const struct table *atoms,
		    const struct table_options *o)
{
	const struct atom_beginning b = atom_beginning(atoms->rows, atoms->nr_rows);

	jsonw_begin_object(w, "data");
	json_counts(w, &a->counts);
	if (a->watch) {
		jsonw_begin_object(w, "growth_per_s");
		json_count_growth(w, a);
		jsonw_end_object(w);
	}
	table_json_rows(w, "atoms", atoms, o);
	if (b.len)
		jsonw_stringn(w, "beginning", b.text, b.len);
	else
		jsonw_null(w, "beginning");
	jsonw_uint(w, "beginning_atoms", b.atoms);
	jsonw_end_object(w);
}

int mem_atoms_write(FILE *f, const struct mem_answer *a, const struct table *atoms,
		    const struct table_options *o, struct error *err)
{
	int rc;

	write_count(f, "atoms", &a->counts.atoms, GROWTH(a, counts.atoms.count));
	fputc('\n', f);
	rc = table_write(f, atoms, o, err);
	if (rc)
		return rc;
	write_beginning(f, atoms);
	write_atoms_left(f, a);
	if (a->os_pid)
		fprintf(f,
			"who makes them: ebeam trace -p %d 'erlang:binary_to_atom -> stack' "
			"'erlang:list_to_atom -> stack' -n 5\n",
			a->os_pid);
	return 0;
}

/* ---- persistent terms ------------------------------------------------------------------------ */

static const struct table_column persistent_columns[] = {
	{TABLE_FIELD("bytes", "MEMORY", BYTES, struct mem_persistent, bytes)},
	{TABLE_FIELD("words", "WORDS", COUNT, struct mem_persistent, words)},
	{TABLE_FIELD("key", "KEY", TEXT, struct mem_persistent, key)},
	{.name = NULL},
};

const struct table mem_persistent_table = {.columns = persistent_columns,
					   .row_size = sizeof(struct mem_persistent)};

void mem_persistent_json(struct jsonw *w, const struct table *t, uint64_t bytes,
			 const struct table_options *o)
{
	jsonw_begin_object(w, "data");
	jsonw_uint(w, "count", t->nr_rows);
	jsonw_uint(w, "memory", bytes);
	table_json_rows(w, "persistent_terms", t, o);
	jsonw_end_object(w);
}

int mem_persistent_write(FILE *f, const struct table *t, uint64_t bytes,
			 const struct table_options *o, struct error *err)
{
	char size[32];

	fprintf(f, "%zu persistent terms, %s with their table\n\n", t->nr_rows,
		units_format_bytes(bytes, size, sizeof(size)));
	return table_write(f, t, o, err);
}
