/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_probes.h. */
#include "cmd/run/event_probes.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "beam/node/node.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/live.h"
#include "cmd/run/target.h"
#include "event/catalogue.h"
#include "probe/attach/attach.h"
#include "view/events/probes_view.h"

/* `names` has room for NR_EVENT_KINDS names; the row points into it. */
static struct probes_row row_of(const struct source_point *p, const char **names)
{
	struct probes_row r = {
		.symbol = p->symbol,
		.is_instruction = p->is_instruction,
		.at = p->at_return	  ? "return"
		      : p->is_instruction ? "instruction"
					  : "call",
		.offset = p->site.offset,
		.path = p->path,
		.file_offset = p->offset,
		.instruction = p->site.instruction,
		.emulated = p->site.emulated,
		.stepped_because = p->site.reason,
		.program = p->program,
		.kinds = names,
	};

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (p->kinds >> kind & 1)
			names[r.nr_kinds++] = event_rows[kind].name;
	}
	return r;
}

static int show(struct command_context *ctx, struct beam_node *n, const struct probes_answer *a,
		struct error *err)
{
	struct jsonw w = JSONW(ctx->out);

	if (!ctx->opt.json)
		return probes_view_write(ctx->out, a, render_color(&ctx->opt, ctx->out), err);
	target_json_begin(&w, ctx, n);
	probes_view_json(&w, a);
	return envelope_end(&w, &a->no_cost, a->no_cost != NULL, NULL, 0, err);
}

int event_probes_show(struct command_context *ctx, struct beam_node *n,
		      const struct source_plan *plan, struct error *err)
{
	struct probes_answer a = {.nr = plan->nr_points, .max_overhead = ctx->opt.max_overhead};
	const char *(*names)[NR_EVENT_KINDS] = xcalloc(a.nr, sizeof(*names));
	struct calibrator *calibrator;
	struct calibration cost;
	struct attach *attach;
	unsigned int ns;
	struct error no_cost;
	int rc;

	attach_open(&attach, plan, n->os_pid, "", ctx->opt.uprobes);
	calibrator_open(&calibrator);
	if (calibrator_measure(calibrator, !attach_is_perf(attach), &cost, &no_cost))
		a.no_cost = no_cost.msg;
	a.nr_links = attach_nr_links(attach);
	a.nr_groups = attach_nr_groups(attach);
	a.rows = xcalloc(a.nr, sizeof(*a.rows));
	for (unsigned int i = 0; i < a.nr; i++) {
		a.rows[i] = row_of(&plan->points[i], names[i]);
		ns = a.no_cost ? 0 : attach_trap_ns(attach, i, &cost);
		a.rows[i].trap_ns = ns ? ns : UINT32_MAX;
		a.rows[i].group = attach_group_of(attach, i) + 1;
	}
	rc = show(ctx, n, &a, err);
	attach_close(attach);
	calibrator_close(calibrator);
	free(a.rows);
	free(names);
	return rc;
}
