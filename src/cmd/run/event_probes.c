/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_probes.h. */
#include "cmd/run/event_probes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/node/node.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/live.h"
#include "cmd/run/target.h"
#include "event/catalogue.h"
#include "probe/attach/attach.h"
#include "view/table/table.h"

struct probes {
	const struct source_plan *plan;
	struct attach *attach;
	struct calibration cost; /* all 0: not known */
	struct error no_cost;
};

struct probe_row {
	const struct source_point *point;
	unsigned int group;
	unsigned int ns; /* of one hit, without the program; 0 = not known */
};

static void add_kinds(struct strbuf *out, uint64_t kinds)
{
	size_t start = out->len;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1)
			strbuf_addf(out, "%s%s", out->len > start ? ", " : "",
				    event_rows[kind].name);
	}
}

static void function_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->point->symbol);
	if (r->point->site.offset)
		strbuf_addf(out, "+%u", r->point->site.offset);
}

static void at_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->point->at_return	      ? "return"
			   : r->point->is_instruction ? "instruction"
						      : "call");
}

static void offset_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addf(out, "0x%" PRIx64, r->point->offset);
}

static void file_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->point->path ? r->point->path : "");
}

static void instruction_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->point->site.instruction);
}

static void run_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->point->site.emulated ? "emulated" : "stepped");
}

static void cost_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	if (r->ns)
		strbuf_addf(out, "%u ns", r->ns);
}

static void kinds_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct probe_row *r = row;

	UNUSED(ctx);
	add_kinds(out, r->point->kinds);
}

static const struct table_column columns[] = {
	{"function", "FUNCTION", TABLE_LEFT, .text = function_text},
	{"at", "AT", TABLE_LEFT, .text = at_text},
	{"file_offset", "OFFSET", TABLE_RIGHT, .text = offset_text},
	{"instruction", "INSTRUCTION", TABLE_LEFT, .text = instruction_text},
	{"run", "RUN", TABLE_LEFT, .text = run_text},
	{"trap_ns", "TRAP", TABLE_RIGHT, .text = cost_text},
	{"kinds", "FOR", TABLE_LEFT, .text = kinds_text},
	{"file", "FILE", TABLE_LEFT, .hidden = true, .text = file_text},
	{0},
};

static void row_json(struct jsonw *w, const struct probe_row *r)
{
	const struct source_point *p = r->point;

	jsonw_begin_object(w, NULL);
	jsonw_string(w, "function", p->is_instruction ? NULL : p->symbol);
	jsonw_string(w, "at", p->at_return ? "return" : p->is_instruction ? "instruction" : "call");
	jsonw_uint(w, "offset", p->site.offset);
	jsonw_string(w, "file", p->path);
	jsonw_uint(w, "file_offset", p->offset);
	jsonw_string(w, "instruction", *p->site.instruction ? p->site.instruction : NULL);
	jsonw_bool(w, "emulated", p->site.emulated);
	jsonw_string(w, "stepped_because", *p->site.reason ? p->site.reason : NULL);
	jsonw_uint_if(w, "trap_ns", r->ns, r->ns);
	jsonw_string(w, "program", p->program);
	jsonw_uint(w, "group", r->group + 1);
	jsonw_begin_array(w, "kinds");
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (p->kinds >> kind & 1)
			jsonw_string(w, NULL, event_rows[kind].name);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static int show_json(struct command_context *ctx, struct beam_node *n, const struct probes *p,
		     const struct probe_row *rows, struct error *err)
{
	const char *warnings[] = {p->no_cost.msg};
	struct jsonw w = JSONW(ctx->out);

	target_json_begin(&w, ctx, n);
	jsonw_begin_rows(&w, "data");
	for (unsigned int i = 0; i < p->plan->nr_points; i++)
		row_json(&w, &rows[i]);
	jsonw_end_array(&w);
	return envelope_end(&w, warnings, p->cost.emulated_ns == 0, NULL, 0, err);
}

static int show_text(struct command_context *ctx, const struct probes *p,
		     const struct probe_row *rows, struct error *err)
{
	const struct table table = {columns, rows, p->plan->nr_points, sizeof(*rows), NULL};
	struct table_options options = {.color = render_color(&ctx->opt, ctx->out)};
	bool other_files = false;
	int rc;

	for (unsigned int i = 0; i < p->plan->nr_points; i++)
		other_files |= rows[i].point->path != NULL;
	options.also = other_files ? "file" : NULL;
	rc = table_write(ctx->out, &table, &options, err);
	if (rc)
		return rc;
	fprintf(ctx->out, "\n%u probes in %u links and %u groups that go on and off together\n",
		p->plan->nr_points, attach_nr_links(p->attach), attach_nr_groups(p->attach));
	if (p->cost.emulated_ns)
		fprintf(ctx->out,
			"TRAP: what one hit costs the node on this host, beside the time of the "
			"BPF "
			"program (0.2 to 2 us);\nat most --max-overhead %g %% of the node's own "
			"CPU "
			"in all\n",
			ctx->opt.max_overhead);
	else
		fprintf(ctx->out, "what a hit costs is not known: %s\n", p->no_cost.msg);
	return 0;
}

int event_probes_show(struct command_context *ctx, struct beam_node *n,
		      const struct source_plan *plan, struct error *err)
{
	struct probe_row *rows = xcalloc(plan->nr_points, sizeof(*rows));
	struct probes p = {.plan = plan};
	struct calibrator *calibrator;
	int rc;

	attach_open(&p.attach, plan, n->os_pid, "", ctx->opt.uprobes);
	calibrator_open(&calibrator);
	if (calibrator_measure(calibrator, !attach_is_perf(p.attach), &p.cost, &p.no_cost))
		p.cost.emulated_ns = 0;
	for (unsigned int i = 0; i < plan->nr_points; i++) {
		rows[i].point = &plan->points[i];
		rows[i].group = attach_group_of(p.attach, i);
		if (p.cost.emulated_ns)
			rows[i].ns = attach_trap_ns(p.attach, i, &p.cost);
	}
	rc = ctx->opt.json ? show_json(ctx, n, &p, rows, err) : show_text(ctx, &p, rows, err);
	attach_close(p.attach);
	calibrator_close(calibrator);
	free(rows);
	return rc;
}
