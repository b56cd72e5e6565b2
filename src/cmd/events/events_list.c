/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam events --list`: the catalogue, and what a node has of it. */
#include <string.h>

#include "base/write_error.h"
#include "beam/node/node.h"
#include "cmd/events/events.h"
#include "probe/site/sources_usdt.h"

static const char *type_name(enum event_field_type type)
{
	static const char *const names[NR_FIELD_TYPES] = {
		[FIELD_PID] = "pid",	 [FIELD_PORT] = "port",	  [FIELD_ATOM] = "atom",
		[FIELD_TERM] = "term",	 [FIELD_MFA] = "mfa",	  [FIELD_CODE] = "mfa",
		[FIELD_TEXT] = "text",	 [FIELD_WORD] = "word",	  [FIELD_WORDS] = "words",
		[FIELD_COUNT] = "count", [FIELD_NS] = "ns",	  [FIELD_ALLOCATOR] = "text",
		[FIELD_STRING] = "text", [FIELD_BYTES] = "bytes",
	};

	return names[type];
}

static void list_text(FILE *f, enum event_kind kind, const struct source_plan *plan)
{
	const struct event_row *row = &event_rows[kind];
	const struct event_field *fields;
	char functions[256], why[SOURCE_REASON_SIZE] = "";
	unsigned int nr;

	fields = event_fields(kind, &nr);
	source_functions(kind, functions, sizeof(functions));
	if (plan && plan->missing[kind])
		source_missing(plan, kind, why, sizeof(why));
	fprintf(f, "%s (%s)%s%s\n    %s\n    fields:", row->name, event_group_name(row->group),
		*why ? ": not here, " : "", why, row->summary);
	for (unsigned int i = 0; i < nr; i++)
		fprintf(f, "%s %s (%s)", i ? "," : "", fields[i].name, type_name(fields[i].type));
	fprintf(f, "\n    from: %s\n", functions);
	sources_usdt_names(kind, functions, sizeof(functions));
	if (*functions)
		fprintf(f, "    USDT: %s%s%s%s\n", functions,
			plan && plan->usdt_kinds >> kind & 1 ? " (used here)" : "",
			*sources_usdt_differs(kind) ? ": " : "", sources_usdt_differs(kind));
	if (*row->differs)
		fprintf(f, "    note: %s\n", row->differs);
}

static void list_markdown(FILE *f, enum event_kind kind)
{
	const struct event_row *row = &event_rows[kind];
	const struct event_field *fields;
	char functions[256];
	unsigned int nr;

	fields = event_fields(kind, &nr);
	source_functions(kind, functions, sizeof(functions));
	fprintf(f, "| `%s` | %s |", row->name, row->summary);
	for (unsigned int i = 0; i < nr; i++)
		fprintf(f, "%s %s", i ? "," : "", fields[i].name);
	fprintf(f, " | %s | %s |\n", functions, row->differs);
}

/* `n` may be NULL, and then is `plan`. */
static void list_json(struct jsonw *w, enum event_kind kind, const struct source_plan *plan,
		      const struct beam_node *n)
{
	const struct event_row *row = &event_rows[kind];
	const struct event_field *fields;
	char functions[256], why[SOURCE_REASON_SIZE] = "";
	unsigned int nr;

	fields = event_fields(kind, &nr);
	source_functions(kind, functions, sizeof(functions));
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "kind", row->name);
	jsonw_string(w, "group", event_group_name(row->group));
	jsonw_string(w, "summary", row->summary);
	jsonw_string(w, "differs", row->differs);
	jsonw_string(w, "functions", functions);
	sources_usdt_names(kind, functions, sizeof(functions));
	jsonw_string(w, "usdt", *functions ? functions : NULL);
	jsonw_string(w, "usdt_differs", sources_usdt_differs(kind));
	jsonw_begin_array(w, "fields");
	for (unsigned int i = 0; i < nr; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "name", fields[i].name);
		jsonw_string(w, "type", type_name(fields[i].type));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	if (plan) {
		jsonw_bool(w, "available", !plan->missing[kind]);
		if (plan->missing[kind])
			source_missing(plan, kind, why, sizeof(why));
		jsonw_string(w, "why", *why ? why : NULL);
		jsonw_string(w, "source",
			     plan->missing[kind]	    ? NULL
			     : plan->usdt_kinds >> kind & 1 ? "usdt"
							    : "uprobe");
		if (n->untested[0])
			jsonw_string(w, "untested", n->untested);
	}
	jsonw_end_object(w);
}

int events_list(struct command_context *ctx, struct beam_node *n, struct error *err)
{
	uint64_t kinds = ctx->opt.events ? ctx->opt.events : (1ull << NR_EVENT_KINDS) - 1;
	struct jsonw w = JSONW(ctx->out);
	struct source_plan plan;
	int rc;

	if (n)
		source_plan_node(&plan, n, kinds, ctx->opt.source, ctx->opt.force);
	if (ctx->opt.json)
		jsonw_begin_rows(&w, NULL);
	else if (ctx->opt.markdown)
		fputs("| event | what happened | fields | seen at | note |\n"
		      "|---|---|---|---|---|\n",
		      ctx->out);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		if (ctx->opt.json)
			list_json(&w, (enum event_kind)kind, n ? &plan : NULL, n);
		else if (ctx->opt.markdown)
			list_markdown(ctx->out, (enum event_kind)kind);
		else
			list_text(ctx->out, (enum event_kind)kind, n ? &plan : NULL);
	}
	if (!ctx->opt.json)
		return 0;
	jsonw_end_array(&w);
	strbuf_addch(&w.buf, '\n');
	rc = jsonw_finish(&w);
	return rc ? write_error_set(err, "JSON", rc) : 0;
}
