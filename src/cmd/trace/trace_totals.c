/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of `ebeam trace` instead of lines: --count, --histogram, --args (trace.h). */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "cmd/trace/trace.h"
#include "view/trace/totals_view.h"

struct view {
	struct trace *t;
	struct names *names;
	struct arena texts;
	struct strbuf text;
	struct totals_answer a;
};

static const char *function_text(struct view *v, uint32_t id)
{
	const struct name_function *f = names_function(v->names, id);

	if (!f)
		return "[others]";
	names_format_function(&v->text, f);
	return arena_text(&v->texts, &v->text);
}

static struct totals_row *make_rows(struct view *v, const struct call_row *rows, size_t nr,
				    bool shapes)
{
	struct totals_row *made = xcalloc(nr, sizeof(*made));
	uint64_t all = 0;

	for (size_t i = 0; i < nr; i++)
		all += rows[i].calls;
	for (size_t i = 0; i < nr; i++) {
		const struct call_row *r = &rows[i];

		made[i] = (struct totals_row){
			.function = function_text(v, r->function),
			.share = all ? 100.0 * (double)r->calls / (double)all : NAN,
			.calls = r->calls,
			.ends = r->ends,
			.exceptions = r->exceptions,
			.total_ns = r->total_ns,
			.max_ns = r->max_ns,
		};
		if (!shapes)
			trace_add_frame(&v->text, v->names, r->what);
		made[i].what =
			shapes ? names_string(v->names, r->what) : arena_text(&v->texts, &v->text);
	}
	return made;
}

/* Histograms of durations, of the most frequently called functions first. */
static void make_durations(struct view *v)
{
	struct totals_answer *a = &v->a;
	size_t nr;
	const struct call_row *rows = call_stats_callers(v->t->stats, &nr);
	uint32_t ids[TRACE_FUNCTIONS_MAX];

	a->durations = xcalloc(TRACE_FUNCTIONS_MAX, sizeof(*a->durations));
	for (size_t i = 0; i < nr; i++) {
		size_t k = 0;

		while (k < a->nr_durations && ids[k] != rows[i].function)
			k++;
		if (k == a->nr_durations && rows[i].function && k < TRACE_FUNCTIONS_MAX)
			ids[a->nr_durations++] = rows[i].function;
	}
	for (size_t i = 0; i < a->nr_durations; i++)
		a->durations[i] = (struct totals_durations){
			function_text(v, ids[i]), call_stats_durations(v->t->stats, ids[i])};
}

static void make_answer(struct view *v)
{
	const struct event_stream_calls *c = &event_run_stream(v->t->run)->calls;
	const uint64_t *ended = v->t->ended;
	struct call_stats *stats = v->t->stats;
	struct totals_answer *a = &v->a;
	const struct call_row *rows;
	const struct call_slow *slow;

	make_durations(v);
	rows = call_stats_callers(stats, &a->nr_callers);
	a->callers = make_rows(v, rows, a->nr_callers, false);
	rows = call_stats_shapes(stats, &a->nr_shapes);
	a->shapes = make_rows(v, rows, a->nr_shapes, true);
	slow = call_stats_slowest(stats, &a->nr_slowest);
	a->slowest = xcalloc(a->nr_slowest, sizeof(*a->slowest));
	for (size_t i = 0; i < a->nr_slowest; i++)
		a->slowest[i] = (struct totals_slow){slow[i].ns, function_text(v, slow[i].function),
						     slow[i].args};
	a->hit_ns = MAX(ended[0] ? c->hit_ns[0] : 0, ended[1] ? c->hit_ns[1] : 0);
	a->unsure_ns = a->hit_ns / TRACE_UNSURE;
}

int trace_totals_show(struct trace *t, struct error *err)
{
	const struct options *o = &t->ctx->opt;
	struct view v = {
		.t = t,
		.names = event_run_stream(t->run)->names,
		.text = STRBUF_INIT,
		.a = {.count = o->count, .histogram = o->histogram, .args = o->args},
	};
	int rc;

	make_answer(&v);
	rc = event_run_show(t->run, &totals_view, &v.a, 0,
			    &(struct table_options){.limit = o->limit}, err);
	free(v.a.callers);
	free(v.a.shapes);
	free(v.a.durations);
	free(v.a.slowest);
	strbuf_free(&v.text);
	arena_free(&v.texts);
	return rc;
}
