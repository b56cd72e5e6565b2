/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam events --list`: the catalogue of kinds, and which of them a node has. */
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

/* A kind of event, and how it is seen in a node. */
struct listed {
	const struct event_row *row;
	const struct event_field *fields;
	unsigned int nr_fields;
	char functions[256], usdt[256], why[SOURCE_REASON_SIZE]; /* "" = none */
	const char *usdt_differs;				 /* see sources_usdt_differs() */
	bool by_usdt;
};

/* `plan` is of the node; NULL = no node was given. */
static void describe(struct listed *l, enum event_kind kind, const struct source_plan *plan)
{
	l->row = &event_rows[kind];
	l->fields = event_fields(kind, &l->nr_fields);
	source_functions(kind, l->functions, sizeof(l->functions));
	sources_usdt_names(kind, l->usdt, sizeof(l->usdt));
	l->usdt_differs = sources_usdt_differs(kind);
	l->by_usdt = plan && plan->usdt_kinds >> kind & 1;
	l->why[0] = '\0';
	if (plan && plan->missing[kind])
		source_missing(plan, kind, l->why, sizeof(l->why));
}

static void list_text(FILE *f, const struct listed *l)
{
	fprintf(f, "%s (%s)%s%s\n    %s\n    fields:", l->row->name,
		event_group_name(l->row->group), *l->why ? ": not in this node, " : "", l->why,
		l->row->summary);
	for (unsigned int i = 0; i < l->nr_fields; i++)
		fprintf(f, "%s %s (%s)", i ? "," : "", l->fields[i].name,
			type_name(l->fields[i].type));
	fprintf(f, "\n    from: %s\n", l->functions);
	if (*l->usdt)
		fprintf(f, "    USDT: %s%s%s%s\n", l->usdt, l->by_usdt ? " (used here)" : "",
			*l->usdt_differs ? ": " : "", l->usdt_differs);
	if (*l->row->differs)
		fprintf(f, "    note: %s\n", l->row->differs);
}

static void list_markdown(FILE *f, const struct listed *l)
{
	fprintf(f, "| `%s` | %s |", l->row->name, l->row->summary);
	for (unsigned int i = 0; i < l->nr_fields; i++)
		fprintf(f, "%s %s", i ? "," : "", l->fields[i].name);
	fprintf(f, " | %s | %s |\n", l->functions, l->row->differs);
}

/* `n` may be NULL. */
static void list_json(struct jsonw *w, const struct listed *l, const struct beam_node *n)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "kind", l->row->name);
	jsonw_string(w, "group", event_group_name(l->row->group));
	jsonw_string(w, "summary", l->row->summary);
	jsonw_string(w, "differs", l->row->differs);
	jsonw_string(w, "functions", l->functions);
	jsonw_string(w, "usdt", *l->usdt ? l->usdt : NULL);
	jsonw_string(w, "usdt_differs", l->usdt_differs);
	jsonw_begin_array(w, "fields");
	for (unsigned int i = 0; i < l->nr_fields; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "name", l->fields[i].name);
		jsonw_string(w, "type", type_name(l->fields[i].type));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	if (n) {
		jsonw_bool(w, "available", !*l->why);
		jsonw_string(w, "why", *l->why ? l->why : NULL);
		jsonw_string(w, "source", *l->why ? NULL : l->by_usdt ? "usdt" : "uprobe");
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
		struct listed l;

		if (!(kinds >> kind & 1))
			continue;
		describe(&l, (enum event_kind)kind, n ? &plan : NULL);
		if (ctx->opt.json)
			list_json(&w, &l, n);
		else if (ctx->opt.markdown)
			list_markdown(ctx->out, &l);
		else
			list_text(ctx->out, &l);
	}
	if (!ctx->opt.json)
		return 0;
	jsonw_end_array(&w);
	strbuf_addch(&w.buf, '\n');
	rc = jsonw_finish(&w);
	return rc ? write_error_set(err, "JSON", rc) : 0;
}
