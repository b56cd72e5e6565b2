/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnose: findings as text and JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/facts.h"
#include "cmd/diagnose/diagnose.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "view/table/table.h"

#define RESET "\033[0m"

static const char *const colors[] = {
	[FINDING_NOTE] = "\033[2m",
	[FINDING_WARNING] = "\033[33m",
	[FINDING_CRITICAL] = "\033[1;31m",
};

/* " -p 4711", as the user has named the node. */
static void add_target(struct strbuf *out, const struct command_context *ctx,
		       const struct diagnose *g)
{
	if (ctx->opt.core)
		strbuf_addf(out, " --core %s", ctx->opt.core);
	else
		strbuf_addf(out, " -p %d", g->n->os_pid);
}

void diagnose_add_command(struct strbuf *out, const struct command_context *ctx,
			  const struct diagnose *g, const char *command)
{
	int name = (int)strcspn(command, " ");

	strbuf_addf(out, "ebeam %.*s", name, command);
	add_target(out, ctx, g);
	strbuf_addstr(out, command + name);
}

/* Texts come from the node too: cleaned before colours are added. */
static void put(FILE *f, struct strbuf *text, bool keep_lines)
{
	table_clean_text(text, keep_lines);
	fputs(text->buf, f);
	strbuf_reset(text);
}

static void write_finding(FILE *out, const struct command_context *ctx, const struct diagnose *g,
			  const struct finding *f, bool color)
{
	struct strbuf text = STRBUF_INIT;

	fprintf(out, "\n%s%s%s: ", color ? colors[f->severity] : "",
		finding_severity_name(f->severity), color ? RESET : "");
	strbuf_addf(&text, "%s (%s)", f->title.buf, finding_certainty_name(f->certainty));
	put(out, &text, false);
	for (size_t i = 0; i < f->evidence.len; i++) {
		fprintf(out, "\n    ");
		strbuf_addstr(&text, f->evidence.data[i]);
		put(out, &text, false);
	}
	for (size_t i = 0; i < f->commands.len; i++) {
		fprintf(out, "\n%s", i ? "          " : "    more: ");
		diagnose_add_command(&text, ctx, g, f->commands.data[i]);
		put(out, &text, false);
	}
	fputc('\n', out);
	strbuf_free(&text);
}

size_t diagnose_above_notes(const struct findings *findings)
{
	size_t nr = 0;

	for (size_t i = 0; i < findings->v.len; i++)
		nr += findings->v.data[i].severity > FINDING_NOTE;
	return nr;
}

void diagnose_add_heading(struct strbuf *out, const struct diagnose *g)
{
	const struct diagnosis *d = &g->d;
	struct beam_facts facts;
	char buf[3][32];

	if (beam_node_facts(g->n, &facts, NULL) == 0)
		strbuf_addf(out, "%s, ", facts.name);
	strbuf_addf(out, "%s processes", units_format_count(g->processes.len, buf[0], 32));
	if (d->memory.len && d->memory.data[0].bytes.nr)
		strbuf_addf(out, ", %s of memory",
			    units_format_bytes((uint64_t)series_last(&d->memory.data[0].bytes),
					       buf[1], 32));
	if (!isnan(d->cpu_used))
		strbuf_addf(out, ", schedulers use %.2f cores", d->cpu_used);
	if (!g->n->core)
		strbuf_addf(out, "; %u samples of schedulers and %u of everything else in %s",
			    d->scheduler_samples, d->samples,
			    units_format_ns(d->duration_ns, buf[2], 32));
}

void diagnose_add_limits(struct strbuf *out, const struct diagnose *g)
{
	char used[32], max[32];

	for (size_t i = 0; i < g->d.limits.len; i++) {
		const struct diagnosed_limit *l = &g->d.limits.data[i];

		strbuf_addf(out, "%s%s %s of %s (%.1f%%)", i ? ", " : "usage of limits: ", l->what,
			    units_format_count(l->used, used, sizeof(used)),
			    units_format_count(l->max, max, sizeof(max)),
			    100 * (double)l->used / (double)l->max);
	}
}

int diagnose_text_write(const struct command_context *ctx, const struct diagnose *g,
			const struct findings *findings, FILE *f, struct error *err)
{
	bool color = render_color(&ctx->opt, f);
	struct strbuf text = STRBUF_INIT;

	(void)err;
	diagnose_add_heading(&text, g);
	put(f, &text, false);
	fputc('\n', f);
	diagnose_add_limits(&text, g);
	if (text.len)
		put(f, &text, false);
	strbuf_free(&text);
	fputc('\n', f);
	if (!diagnose_above_notes(findings))
		fprintf(f, "nothing found%s\n", findings->v.len ? ": notes only" : "");
	for (size_t i = 0; i < findings->v.len; i++)
		write_finding(f, ctx, g, &findings->v.data[i], color);
	return 0;
}

int diagnose_json(const struct command_context *ctx, const struct diagnose *g,
		  const struct findings *findings, FILE *f, struct error *err)
{
	const struct diagnosis *d = &g->d;
	const struct envelope_counter counters[] = {
		{"scheduler_samples", d->scheduler_samples},
		{"samples", d->samples},
		{"processes", g->processes.len},
	};
	struct strbuf text = STRBUF_INIT;
	struct jsonw w = JSONW(f);

	target_json_begin(&w, ctx, g->n);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", d->duration_ns);
	jsonw_begin_array(&w, "limits");
	for (size_t i = 0; i < d->limits.len; i++) {
		jsonw_begin_object(&w, NULL);
		jsonw_string(&w, "what", d->limits.data[i].what);
		jsonw_uint(&w, "used", d->limits.data[i].used);
		jsonw_uint(&w, "limit", d->limits.data[i].max);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "findings");
	for (size_t i = 0; i < findings->v.len; i++) {
		const struct finding *x = &findings->v.data[i];

		jsonw_begin_object(&w, NULL);
		jsonw_string(&w, "id", x->id);
		jsonw_string(&w, "severity", finding_severity_name(x->severity));
		jsonw_string(&w, "certainty", finding_certainty_name(x->certainty));
		jsonw_double(&w, "weight", x->weight);
		jsonw_string(&w, "title", x->title.buf);
		jsonw_begin_array(&w, "evidence");
		for (size_t k = 0; k < x->evidence.len; k++)
			jsonw_string(&w, NULL, x->evidence.data[k]);
		jsonw_end_array(&w);
		jsonw_begin_array(&w, "commands");
		for (size_t k = 0; k < x->commands.len; k++) {
			strbuf_reset(&text);
			diagnose_add_command(&text, ctx, g, x->commands.data[k]);
			jsonw_string(&w, NULL, text.buf);
		}
		jsonw_end_array(&w);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	strbuf_free(&text);
	return envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
}
