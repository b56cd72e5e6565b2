/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnose: findings as a page of HTML that needs nothing else. */
#include <stdio.h>

#include "base/units.h"
#include "cmd/diagnose/diagnose.h"
#include "export/formats.h"

static const char style[] =
	"body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
	"background:#fff;color:#222}h1{font-size:1.3rem}section{border-left:.4rem solid #999;"
	"padding:.1rem 1rem;margin:1rem 0;background:#f6f6f6}section.critical{border-color:#c62828}"
	"section.warning{border-color:#e69500}h2{font-size:1.05rem;margin:.5rem 0}"
	".how{color:#666;font-weight:normal}pre{background:#eaeaea;padding:.4rem .6rem;"
	"overflow-x:auto}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}"
	"section{background:#242424}pre{background:#333}.how{color:#aaa}}";

static void add_finding(struct strbuf *out, const struct command_context *ctx,
			const struct diagnose *g, const struct finding *f)
{
	const char *severity = finding_severity_name(f->severity);
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(out, "<section class=\"%s\"><h2>", severity);
	export_add_xml(out, f->title.buf);
	strbuf_addf(out, " <span class=\"how\">%s, %s</span></h2><ul>\n", severity,
		    finding_certainty_name(f->certainty));
	for (size_t i = 0; i < f->evidence.len; i++) {
		strbuf_addstr(out, "<li>");
		export_add_xml(out, f->evidence.data[i]);
		strbuf_addstr(out, "</li>\n");
	}
	strbuf_addstr(out, "</ul>");
	for (size_t i = 0; i < f->commands.len; i++) {
		strbuf_reset(&text);
		diagnose_add_command(&text, ctx, g, f->commands.data[i]);
		strbuf_addstr(out, "<pre>");
		export_add_xml(out, text.buf);
		strbuf_addstr(out, "</pre>\n");
	}
	strbuf_addstr(out, "</section>\n");
	strbuf_free(&text);
}

int diagnose_html(const struct command_context *ctx, const struct diagnose *g,
		  const struct findings *findings, FILE *f, struct error *err)
{
	struct strbuf out = STRBUF_INIT, heading = STRBUF_INIT;
	char when[64];

	(void)err;
	diagnose_add_heading(&heading, g);
	strbuf_addstr(&heading, g->d.limits.len ? "; " : "");
	diagnose_add_limits(&heading, g);
	strbuf_addf(&out,
		    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
		    "<meta name=\"viewport\" content=\"width=device-width\">"
		    "<title>ebeam diagnose</title><style>%s</style></head><body>\n<h1>Findings</h1>"
		    "<p>",
		    style);
	export_add_xml(&out, heading.buf);
	strbuf_addf(&out, "; %s</p>\n", units_format_time(clock_realtime_ns(), when, sizeof(when)));
	if (!diagnose_above_notes(findings))
		strbuf_addf(&out, "<p>Nothing found%s.</p>\n",
			    findings->v.len ? ": notes only" : "");
	for (size_t i = 0; i < findings->v.len; i++)
		add_finding(&out, ctx, g, &findings->v.data[i]);
	strbuf_addstr(&out, "</body></html>\n");
	fwrite(out.buf, 1, out.len, f);
	strbuf_free(&heading);
	strbuf_free(&out);
	return 0;
}
