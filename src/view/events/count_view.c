/* SPDX-License-Identifier: BSD-2-Clause */
/* See count_view.h. */
#include "view/events/count_view.h"

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/event_rate_columns.h"

static bool is_shown(const struct count_answer *a, const struct event_rate *r)
{
	return a->all || r->seen || r->state == EVENT_RATE_SAMPLED ||
	       r->state == EVENT_RATE_DROPPED;
}

static int write_text(FILE *f, const void *answer, const struct table_options *o, struct error *err)
{
	const struct count_answer *a = answer;
	struct event_rate shown[NR_EVENT_KINDS];
	struct table t = {
		.columns = event_rate_columns, .rows = shown, .row_size = sizeof(shown[0])};
	struct table_options options = *o;
	char text[32];
	int rc;

	for (unsigned int i = 0; i < a->rates->nr; i++)
		if (is_shown(a, &a->rates->rows[i]))
			shown[t.nr_rows++] = a->rates->rows[i];
	if (!o->columns) /* by default only these: other columns need a record of each event */
		options.columns = "event,rate,total,share,cost,state";
	rc = table_write(f, &t, &options, err);
	if (rc)
		return rc;
	fprintf(f, "\nIn %s", units_format_ns(a->duration_ns, text, sizeof(text)));
	if (t.nr_rows < a->rates->nr)
		fprintf(f, "; %zu other kinds did not happen", a->rates->nr - t.nr_rows);
	fputc('\n', f);
	if (o->limit)
		table_write_more(f, MIN(o->limit, t.nr_rows), t.nr_rows);
	return 0;
}

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct count_answer *a = answer;
	const struct table t = {.columns = event_rate_columns,
				.rows = a->rates->rows,
				.nr_rows = a->rates->nr,
				.row_size = sizeof(a->rates->rows[0])};

	jsonw_uint(w, "start_ns", a->start_ns);
	jsonw_uint(w, "duration_ns", a->duration_ns);
	table_json_rows(w, "rows", &t, o);
}

const struct answer_view count_view = {.write = write_text, .json = write_json};
