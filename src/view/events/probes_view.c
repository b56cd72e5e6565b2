/* SPDX-License-Identifier: BSD-2-Clause */
/* See probes_view.h. */
#include "view/events/probes_view.h"

#include <inttypes.h>

#include "base/compiler.h"

#define ROW(p) ((const struct probes_row *)(p))

static void function_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ROW(row)->symbol);
	if (ROW(row)->offset)
		strbuf_addf(out, "+%u", ROW(row)->offset);
}

static void function_json(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_string(w, name, ROW(row)->is_instruction ? NULL : ROW(row)->symbol);
}

static void offset_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "0x%" PRIx64, ROW(row)->file_offset);
}

static void run_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ROW(row)->emulated ? "emulated" : "stepped");
}

static void cost_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (ROW(row)->trap_ns != UINT32_MAX)
		strbuf_addf(out, "%u ns", ROW(row)->trap_ns);
}

static void kinds_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	for (size_t i = 0; i < ROW(row)->nr_kinds; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", ROW(row)->kinds[i]);
}

static void kinds_json(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_begin_array(w, name);
	for (size_t i = 0; i < ROW(row)->nr_kinds; i++)
		jsonw_string(w, NULL, ROW(row)->kinds[i]);
	jsonw_end_array(w);
}

static void more_json(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const char *why = ROW(row)->stepped_because;

	UNUSED(name);
	UNUSED(ctx);
	jsonw_uint(w, "offset", ROW(row)->offset);
	jsonw_bool(w, "emulated", ROW(row)->emulated);
	jsonw_string(w, "stepped_because", *why ? why : NULL);
	jsonw_string(w, "program", ROW(row)->program);
	jsonw_uint(w, "group", ROW(row)->group);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct probes_row, member)

static const struct table_column columns[] = {
	{"function", "FUNCTION", .text = function_text, .json = function_json},
	{FIELD("at", "AT", TEXT, at)},
	{FIELD("file_offset", "OFFSET", COUNT, file_offset), .text = offset_text},
	{FIELD("instruction", "INSTRUCTION", TEXT, instruction)},
	{"run", "RUN", .text = run_text, .json = table_json_none},
	{FIELD("trap_ns", "TRAP", COUNT, trap_ns), .text = cost_text},
	{"kinds", "FOR", .text = kinds_text, .json = kinds_json},
	{FIELD("file", "FILE", TEXT, path), .hidden = true},
	{.json = more_json},
};

static struct table table_of(const struct probes_answer *a)
{
	return (struct table){columns, a->rows, a->nr, sizeof(*a->rows), NULL};
}

int probes_view_write(FILE *out, const struct probes_answer *a, bool color, struct error *err)
{
	const struct table t = table_of(a);
	struct table_options o = {.color = color};
	int rc;

	for (unsigned int i = 0; i < a->nr; i++)
		o.also = a->rows[i].path ? "file" : o.also;
	rc = table_write(out, &t, &o, err);
	if (rc)
		return rc;
	fprintf(out,
		"\n%u probes in %u BPF links and %u groups; the probes of a group are enabled "
		"together\n",
		a->nr, a->nr_links, a->nr_groups);
	if (a->no_cost)
		fprintf(out, "the cost of a hit is not known: %s\n", a->no_cost);
	else
		fprintf(out,
			"TRAP: CPU time that one hit costs on this host, without its BPF program "
			"(0.2 to 2 us more);\n"
			"all hits together may cost --max-overhead %g %% of the node's own CPU "
			"time\n",
			a->max_overhead);
	return 0;
}

void probes_view_json(struct jsonw *w, const struct probes_answer *a)
{
	const struct table t = table_of(a);

	table_json_rows(w, "data", &t, &(struct table_options){0});
}
