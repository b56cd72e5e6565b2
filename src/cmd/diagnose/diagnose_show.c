/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnose: findings, in the format that was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/facts.h"
#include "cmd/diagnose/diagnose.h"
#include "cmd/output/envelope.h"
#include "cmd/run/target.h"
#include "export/export.h"
#include "view/diagnose/findings_view.h"

/* Completes a command: "ps --sort memory" becomes "ebeam ps -p 4711 --sort memory". */
static void complete_command(char **command, const struct command_context *ctx, int os_pid)
{
	int name = (int)strcspn(*command, " ");
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "ebeam %.*s", name, *command);
	if (ctx->opt.core)
		strbuf_addf(&text, " --core %s", ctx->opt.core);
	else
		strbuf_addf(&text, " -p %d", os_pid);
	strbuf_addstr(&text, *command + name);
	free(*command);
	*command = strbuf_detach(&text, NULL);
}

static int write_json(FILE *f, const struct findings_answer *a, const struct command_context *ctx,
		      struct beam_node *n, struct error *err)
{
	const struct envelope_counter counters[] = {
		{"scheduler_samples", a->d->scheduler_samples},
		{"samples", a->d->samples},
		{"processes", a->processes},
	};
	struct jsonw w = JSONW(f);

	target_json_begin(&w, ctx, n);
	findings_view_json(&w, a);
	return envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
}

static void write_html(FILE *f, const struct findings_answer *a)
{
	struct strbuf heading = STRBUF_INIT;
	char when[64];

	findings_add_heading(&heading, a);
	strbuf_addstr(&heading, a->d->limits.len ? "; " : "");
	findings_add_limits(&heading, a);
	strbuf_addf(&heading, "; %s", units_format_time(clock_realtime_ns(), when, sizeof(when)));
	export_findings_html(f, a->findings, heading.buf);
	strbuf_free(&heading);
}

int diagnose_show(const struct command_context *ctx, const struct diagnose *g, struct render *r,
		  struct findings *findings, struct error *err)
{
	struct findings_answer a = {
		.d = &g->d,
		.findings = findings,
		.processes = g->processes.len,
		.is_core = g->n->core,
	};
	struct beam_facts facts;
	struct outfile *o;
	char *stem;
	int rc;

	for (size_t i = 0; i < findings->v.len; i++)
		for (size_t k = 0; k < findings->v.data[i].commands.len; k++)
			complete_command(&findings->v.data[i].commands.data[k], ctx, g->n->os_pid);
	if (beam_node_facts(g->n, &facts, NULL) == 0)
		a.node = facts.name;
	stem = render_stem(a.node ? a.node : "node", clock_realtime_ns());
	render_name(r, stem);
	free(stem);
	rc = render_open(&o, r, ctx->out, err);
	if (rc)
		return rc;
	if (r->text)
		findings_view_write(outfile_file(o), &a, render_color(&ctx->opt, outfile_file(o)));
	else if (strcmp(r->format, "json") != 0)
		write_html(outfile_file(o), &a);
	else
		rc = write_json(outfile_file(o), &a, ctx, g->n, err);
	if (rc)
		outfile_abort(&o);
	else
		rc = outfile_commit(&o, err);
	if (!rc && r->chosen)
		fprintf(ctx->out, "%s\n", r->path);
	return rc;
}
