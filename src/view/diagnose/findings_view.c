/* SPDX-License-Identifier: BSD-2-Clause */
/* See findings_view.h. */
#include "view/diagnose/findings_view.h"

#include <math.h>

#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/table.h"

static const char *const colors[] = {
	[FINDING_NOTE] = "\033[2m",
	[FINDING_WARNING] = "\033[33m",
	[FINDING_CRITICAL] = "\033[1;31m",
};

/* Writes `before`, which may have colours, and a text that may come from the node, cleaned. */
static void put(FILE *f, const char *before, const char *text)
{
	struct strbuf clean = STRBUF_INIT;

	strbuf_addstr(&clean, text);
	table_clean_text(&clean, false);
	fprintf(f, "%s%s", before, clean.buf);
	strbuf_free(&clean);
}

static void write_finding(FILE *out, const struct finding *f, bool color)
{
	fprintf(out, "\n%s%s%s", color ? colors[f->severity] : "",
		finding_severity_name(f->severity), color ? "\033[0m" : "");
	put(out, ": ", f->title.buf);
	fprintf(out, " (%s)", finding_certainty_name(f->certainty));
	for (size_t i = 0; i < f->evidence.len; i++)
		put(out, "\n    ", f->evidence.data[i]);
	for (size_t i = 0; i < f->commands.len; i++)
		put(out, i ? "\n          " : "\n    more: ", f->commands.data[i]);
	fputc('\n', out);
}

void findings_add_heading(struct strbuf *out, const struct findings_answer *a)
{
	const struct diagnosis *d = a->d;

	if (a->node)
		strbuf_addf(out, "%s, ", a->node);
	cell_count(out, a->processes);
	strbuf_addstr(out, " processes");
	if (d->memory.len && d->memory.data[0].bytes.nr) {
		strbuf_addstr(out, ", ");
		cell_bytes(out, series_last(&d->memory.data[0].bytes));
		strbuf_addstr(out, " of memory");
	}
	if (!isnan(d->cpu_used))
		strbuf_addf(out, ", schedulers use %.2f cores", d->cpu_used);
	if (!a->is_core) {
		strbuf_addf(out, "; %u samples of schedulers and %u of everything else in ",
			    d->scheduler_samples, d->samples);
		cell_ns(out, (double)d->duration_ns);
	}
}

void findings_add_limits(struct strbuf *out, const struct findings_answer *a)
{
	for (size_t i = 0; i < a->d->limits.len; i++) {
		const struct diagnosed_limit *l = &a->d->limits.data[i];

		strbuf_addf(out, "%s%s ", i ? ", " : "usage of limits: ", l->what);
		cell_count(out, l->used);
		strbuf_addstr(out, " of ");
		cell_count(out, l->max);
		strbuf_addf(out, " (%.1f%%)", 100 * (double)l->used / (double)l->max);
	}
}

void findings_view_write(FILE *f, const struct findings_answer *a, bool color)
{
	const struct findings *findings = a->findings;
	struct strbuf text = STRBUF_INIT;

	findings_add_heading(&text, a);
	put(f, "", text.buf);
	strbuf_reset(&text);
	findings_add_limits(&text, a);
	put(f, "\n", text.buf);
	strbuf_free(&text);
	fputc('\n', f);
	if (!findings_above_notes(findings))
		fprintf(f, "nothing found%s\n", findings->v.len ? ": notes only" : "");
	for (size_t i = 0; i < findings->v.len; i++)
		write_finding(f, &findings->v.data[i], color);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void texts_json(struct jsonw *w, const char *key, char *const *texts, size_t nr)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < nr; i++)
		jsonw_string(w, NULL, texts[i]);
	jsonw_end_array(w);
}

void findings_view_json(struct jsonw *w, const struct findings_answer *a)
{
	const struct diagnosis *d = a->d;

	jsonw_begin_object(w, "data");
	jsonw_uint(w, "duration_ns", d->duration_ns);
	jsonw_begin_array(w, "limits");
	for (size_t i = 0; i < d->limits.len; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "what", d->limits.data[i].what);
		jsonw_uint(w, "used", d->limits.data[i].used);
		jsonw_uint(w, "limit", d->limits.data[i].max);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_rows(w, "findings");
	for (size_t i = 0; i < a->findings->v.len; i++) {
		const struct finding *x = &a->findings->v.data[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "id", x->id);
		jsonw_string(w, "severity", finding_severity_name(x->severity));
		jsonw_string(w, "certainty", finding_certainty_name(x->certainty));
		jsonw_double(w, "weight", x->weight);
		jsonw_string(w, "title", x->title.buf);
		texts_json(w, "evidence", x->evidence.data, x->evidence.len);
		texts_json(w, "commands", x->commands.data, x->commands.len);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}
