/* SPDX-License-Identifier: BSD-2-Clause */
/* Findings as a self-contained HTML page. */
#include "export/export.h"
#include "export/formats.h"
#include "model/diagnosis/diagnosis.h"

static const char style[] =
	"body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
	"background:#fff;color:#222}h1{font-size:1.3rem}section{border-left:.4rem solid #999;"
	"padding:.1rem 1rem;margin:1rem 0;background:#f6f6f6}section.critical{border-color:#c62828}"
	"section.warning{border-color:#e69500}h2{font-size:1.05rem;margin:.5rem 0}"
	".how{color:#666;font-weight:normal}pre{background:#eaeaea;padding:.4rem .6rem;"
	"overflow-x:auto}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}"
	"section{background:#242424}pre{background:#333}.how{color:#aaa}}";

static void add_texts(struct strbuf *out, const char *tag, char *const *texts, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		strbuf_addf(out, "<%s>", tag);
		export_add_xml(out, texts[i]);
		strbuf_addf(out, "</%s>\n", tag);
	}
}

static void add_finding(struct strbuf *out, const struct finding *f)
{
	const char *severity = finding_severity_name(f->severity);

	strbuf_addf(out, "<section class=\"%s\"><h2>", severity);
	export_add_xml(out, f->title.buf);
	strbuf_addf(out, " <span class=\"how\">%s, %s</span></h2><ul>\n", severity,
		    finding_certainty_name(f->certainty));
	add_texts(out, "li", f->evidence.data, f->evidence.len);
	strbuf_addstr(out, "</ul>");
	add_texts(out, "pre", f->commands.data, f->commands.len);
	strbuf_addstr(out, "</section>\n");
}

void export_findings_html(FILE *f, const struct findings *findings, const char *heading)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out,
		    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
		    "<meta name=\"viewport\" content=\"width=device-width\">"
		    "<title>ebeam diagnose</title><style>%s</style></head><body>\n<h1>Findings</h1>"
		    "<p>",
		    style);
	export_add_xml(&out, heading);
	strbuf_addstr(&out, "</p>\n");
	if (!findings_above_notes(findings))
		strbuf_addf(&out, "<p>Nothing found%s.</p>\n",
			    findings->v.len ? ": notes only" : "");
	for (size_t i = 0; i < findings->v.len; i++)
		add_finding(&out, &findings->v.data[i]);
	strbuf_addstr(&out, "</body></html>\n");
	fwrite(out.buf, 1, out.len, f);
	strbuf_free(&out);
}
