/* SPDX-License-Identifier: BSD-2-Clause */
/* Findings of `ebeam diagnose` as text, JSON and HTML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "export/export.h"
#include "lib/page.h"
#include "view/diagnose/findings_view.h"

static const struct diagnosis quiet = {.cpu_used = NAN, .duration_ns = 2000000000u, .samples = 5};

/* A node with one limit and one finding, whose texts are the node's. */
static void each_way(void **state)
{
	const struct diagnosed_limit limit = {.what = "ports", .used = 1500, .max = 2000};
	struct diagnosis d = quiet;
	struct findings findings = {0};
	struct finding f = {.id = "mailbox_grows",
			    .severity = FINDING_WARNING,
			    .certainty = FINDING_LIKELY,
			    .weight = 40,
			    .title = STRBUF_INIT};
	const struct findings_answer a = {
		.node = "a\033@h", .d = &d, .findings = &findings, .processes = 1200};
	char evidence[] = "it grows\n", command[] = "ebeam ps -p 7 '<0.8.0>'";
	struct page p;

	UNUSED(state);
	vec_push(&d.limits, limit);
	strbuf_addstr(&f.title, "mailbox of <0.8.0>");
	vec_push(&f.evidence, evidence);
	vec_push(&f.commands, command);
	vec_push(&findings.v, f);
	findings_view_write(page_open(&p), &a, true);
	page_expect(&p, "a?@h, 1,200 processes; 0 samples of schedulers and 5 of everything else "
			"in 2.00 s\n"
			"usage of limits: ports 1,500 of 2,000 (75.0%)\n"
			"\n"
			"\033[33mwarning\033[0m: mailbox of <0.8.0> (likely)\n"
			"    it grows?\n"
			"    more: ebeam ps -p 7 '<0.8.0>'\n");
	findings_view_json(page_open_json(&p), &a);
	page_expect(&p, "{\"data\": {\"duration_ns\": 2000000000, \"limits\": [{\"what\": "
			"\"ports\", \"used\": 1500, \"limit\": 2000}], \"findings\": [{\"id\": "
			"\"mailbox_grows\", \"severity\": \"warning\", \"certainty\": \"likely\", "
			"\"weight\": 40, \"title\": \"mailbox of <0.8.0>\", \"evidence\": "
			"[\"it grows\\n\"], \"commands\": [\"ebeam ps -p 7 '<0.8.0>'\"]}]}}");
	export_findings_html(page_open(&p), &findings, "a < b");
	page_has(&p, "<p>a &lt; b</p>\n<section class=\"warning\"><h2>mailbox of &lt;0.8.0&gt; "
		     "<span class=\"how\">warning, likely</span></h2><ul>\n<li>it grows");
	page_has(&p, "</li>\n</ul><pre>ebeam ps -p 7 ");
	page_close(&p);
	strbuf_free(&f.title);
	vec_free(&findings.v.data[0].evidence);
	vec_free(&findings.v.data[0].commands);
	vec_free(&findings.v);
	vec_free(&d.limits);
}

static void nothing_is_found(void **state)
{
	struct findings findings = {0};
	const struct findings_answer a = {.d = &quiet, .findings = &findings, .is_core = true};
	struct finding note = {.id = "few_samples", .title = STRBUF_INIT};
	struct page p;

	UNUSED(state);
	findings_view_write(page_open(&p), &a, false);
	page_expect(&p, "0 processes\n\nnothing found\n");
	strbuf_addstr(&note.title, "few samples");
	vec_push(&findings.v, note);
	findings_view_write(page_open(&p), &a, false);
	page_expect(&p,
		    "0 processes\n\nnothing found: notes only\n\nnote: few samples (possible)\n");
	export_findings_html(page_open(&p), &findings, "");
	page_has(&p, "<p>Nothing found: notes only.</p>\n");
	page_close(&p);
	strbuf_free(&note.title);
	vec_free(&findings.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way),
		cmocka_unit_test(nothing_is_found),
	};

	return cmocka_run_group_tests_name("findings_view", tests, NULL, NULL);
}
