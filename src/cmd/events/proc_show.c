/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam proc` answers, as text: storms and restart loops, then by initial call, by parent, by
 * reason, names, lifetimes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/events/proc.h"
#include "cmd/output/render.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"
#include "view/table/table.h"

#define ROWS_SHOWN    20
#define PARENTS_SHOWN 10
#define REASONS_SHOWN 10
#define NAMES_SHOWN   10

#define ALARMS_SHOWN 3

bool proc_living_known(const struct proc_view *v)
{
	return v->spawn_share >= 1 && v->exit_share >= 1 && !v->stats->lost_living &&
	       !v->stats->unnamed;
}

bool proc_is_storm(const struct proc_view *v, const struct spawn_row *n)
{
	return spawn_row_is_storm((double)units_of_share(n->spawned, v->spawn_share), v->seconds);
}

bool proc_is_pile(const struct proc_view *v, const struct spawn_row *n)
{
	return proc_living_known(v) && spawn_row_is_pile(n);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
	const struct proc_row *x = a, *y = b;
	uint64_t nx = x->n.spawned + x->n.exited, ny = y->n.spawned + y->n.exited;

	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->n.living != y->n.living)
		return x->n.living > y->n.living ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static struct proc_row *make_rows(const struct proc_view *v, const struct spawn_row *rows,
				  size_t nr, size_t *out)
{
	struct proc_row *made = xcalloc(nr ? nr : 1, sizeof(*made));

	*out = 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (rows[i].spawned || rows[i].exited || rows[i].living)
			made[(*out)++] = (struct proc_row){.view = v, .group = i, .n = rows[i]};
	}
	qsort(made, *out, sizeof(*made), most_first);
	return made;
}

/* Of equally many first those of crashes. */
static int most_exits(const void *a, const void *b)
{
	const struct spawn_reason *x = *(const struct spawn_reason *const *)a;
	const struct spawn_reason *y = *(const struct spawn_reason *const *)b;

	if (x->exits != y->exits)
		return x->exits > y->exits ? -1 : 1;
	return x->crash != y->crash ? (x->crash ? -1 : 1) : strcmp(x->text, y->text);
}

static void make_reasons(struct proc_view *v)
{
	const struct spawn_stats *s = v->stats;

	v->reasons = xcalloc(s->reasons.len, sizeof(struct spawn_reason *));
	for (size_t i = 0; i < s->reasons.len; i++) {
		if (s->reasons.data[i].exits)
			v->reasons[v->nr_reasons++] = &s->reasons.data[i];
	}
	qsort(v->reasons, v->nr_reasons, sizeof(struct spawn_reason *), most_exits);
}

/* ---- columns -------------------------------------------------------------------------------- */

#define ROW(r)	  (&((const struct proc_row *)(r))->n)
#define VIEW(c)	  ((const struct proc_view *)(c))
#define REASON(r) (*(const struct spawn_reason *const *)(r))

static void add_rate(struct strbuf *out, const struct proc_view *v, uint64_t n)
{
	cell_rate(out, units_rate((double)n, v->seconds));
}

#define VALUE(name, value) TABLE_VALUE(name, struct proc_row, value)

VALUE(spawned, units_of_share(r->n.spawned, r->view->spawn_share))
VALUE(spawn_rate, units_rate(spawned(r), r->view->seconds))
VALUE(exited, units_of_share(r->n.exited, r->view->exit_share))
VALUE(crashed, units_of_share(r->n.crashed, r->view->exit_share))
VALUE(living, proc_living_known(r->view) ? (double)r->n.living : NAN)
VALUE(mean_life, r->n.lifetimes ? (double)r->n.lifetime_ns / (double)r->n.lifetimes : NAN)
VALUE(max_life, r->n.lifetimes ? (double)r->n.max_lifetime_ns : NAN)

static void col_group(struct strbuf *out, const void *row, const void *ctx)
{
	process_group_text(VIEW(ctx)->groups, ((const struct proc_row *)row)->group, out);
}

static void add_reason(struct strbuf *out, const char *text)
{
	names_format_text(out, text, strlen(text));
}

static void col_last_crash(struct strbuf *out, const void *row, const void *ctx)
{
	if (ROW(row)->crashed)
		add_reason(out, VIEW(ctx)->stats->reasons.data[ROW(row)->reason].text);
}

#define COUNT_COLUMNS                                                                              \
	{TABLE_NUMBER("spawned", "SPAWNED", COUNT, spawned)},                                      \
		{TABLE_NUMBER("spawned_per_s", "/S", RATE, spawn_rate)},                           \
		{TABLE_NUMBER("exited", "EXITED", COUNT, exited)},                                 \
		{TABLE_NUMBER("crashed", "CRASHED", COUNT, crashed)},                              \
		{TABLE_NUMBER("living", "LIVING", COUNT, living)},                                 \
		{TABLE_NUMBER("mean_lifetime_ns", "MEAN LIFE", NS, mean_life)},                    \
	{                                                                                          \
		TABLE_NUMBER("max_lifetime_ns", "MAX LIFE", NS, max_life)                          \
	}
#define CRASH_COLUMN "last_crash", "LAST CRASH", .text = col_last_crash

/* The heading is that of the grouping. */
#define COLUMNS_BY(heading)                                                                        \
	{                                                                                          \
		COUNT_COLUMNS, {"group", heading, .text = col_group},                              \
			{CRASH_COLUMN, .hidden = true},                                            \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

static const struct table_column columns_by[NR_PROCESS_GROUP_BY][10] = {
	[PROCESS_GROUP_NAME] = COLUMNS_BY("NAME"),
	[PROCESS_GROUP_PROCESS] = COLUMNS_BY("PROCESS"),
	[PROCESS_GROUP_INITIAL_CALL] = COLUMNS_BY("INITIAL CALL"),
	[PROCESS_GROUP_FUNCTION] = COLUMNS_BY("SPAWNED TO RUN"),
};
static const struct table_column parent_columns[] = {
	COUNT_COLUMNS,
	{"parent", "PARENT", .text = col_group},
	{CRASH_COLUMN},
	{0},
};

static void reason_exits(struct strbuf *out, const void *row, const void *ctx)
{
	cell_count(out, units_of_share(REASON(row)->exits, VIEW(ctx)->exit_share));
}

static void reason_rate(struct strbuf *out, const void *row, const void *ctx)
{
	const struct proc_view *v = ctx;

	add_rate(out, v, units_of_share(REASON(row)->exits, v->exit_share));
}

static void reason_crash(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, REASON(row)->crash ? "yes" : "no");
}

static void reason_text(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_reason(out, REASON(row)->text);
}

static const struct table_column reason_columns[] = {
	{"exits", "EXITS", TABLE_RIGHT, .text = reason_exits},
	{"exits_per_s", "/S", TABLE_RIGHT, .text = reason_rate},
	{"crash", "CRASH", .text = reason_crash},
	{"reason", "REASON", .text = reason_text},
	{0},
};

/* ---- text ----------------------------------------------------------------------------------- */

static void add_word(struct strbuf *line, const struct proc *p, const struct proc_view *v,
		     const char *word, enum event_kind kind, uint64_t n)
{
	strbuf_addf(line, "  %s ", word);
	event_run_add_estimate(p->run, 1ull << kind, n, line);
	if (n) {
		strbuf_addstr(line, " (");
		add_rate(line, v, n);
		strbuf_addstr(line, "/s)");
	}
}

static void write_head(const struct proc *p, const struct proc_view *v, FILE *out)
{
	const struct spawn_stats *s = v->stats;
	const struct coverage *c = &s->stream->coverage;
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s", v->seconds);
	if (p->kinds >> EVENT_PROCESS_SPAWN & 1)
		add_word(&line, p, v, "spawned", EVENT_PROCESS_SPAWN,
			 units_of_share(s->all.spawned, v->spawn_share));
	if (p->kinds >> EVENT_PROCESS_EXIT & 1) {
		add_word(&line, p, v, "exited", EVENT_PROCESS_EXIT,
			 units_of_share(s->all.exited, v->exit_share));
		add_word(&line, p, v, "crashed", EVENT_PROCESS_EXIT,
			 units_of_share(s->all.crashed, v->exit_share));
	}
	if (s->links)
		add_word(&line, p, v, "linked", EVENT_PROCESS_LINK,
			 units_of_share(s->links, coverage_share(c, EVENT_PROCESS_LINK)));
	if (s->registered)
		add_word(&line, p, v, "names given", EVENT_PROCESS_REGISTER,
			 units_of_share(s->registered, coverage_share(c, EVENT_PROCESS_REGISTER)));
	if (s->unregistered)
		add_word(&line, p, v, "taken", EVENT_PROCESS_UNREGISTER,
			 units_of_share(s->unregistered,
					coverage_share(c, EVENT_PROCESS_UNREGISTER)));
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

static void write_alarm(const struct proc_view *v, const struct proc_row *r, const char *what,
			FILE *out)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "! %s ", what);
	col_group(&line, r, v);
	strbuf_addstr(&line, " started ");
	cell_count(&line, (uint64_t)spawned(r));
	strbuf_addstr(&line, " (");
	cell_rate(&line, spawn_rate(r));
	strbuf_addstr(&line, "/s)");
	if (r->n.crashed) {
		strbuf_addstr(&line, ", ");
		cell_count(&line, (uint64_t)crashed(r));
		strbuf_addstr(&line, " of its processes crashed: ");
		col_last_crash(&line, r, v);
	} else if (r->n.lifetimes) {
		strbuf_addstr(&line, " that lived for ");
		cell_ns(&line, mean_life(r));
	}
	if (proc_is_pile(v, &r->n)) {
		strbuf_addstr(&line, ", ");
		cell_count(&line, r->n.living);
		strbuf_addstr(&line, " live");
	}
	table_clean_text(&line, false);
	if (v->width)
		table_cut_text(&line, v->width);
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

/* Who keeps starting what crashes, and who starts very many. */
static void write_alarms(struct proc_view *v, FILE *out)
{
	size_t shown = 0;

	v->groups = &v->stats->parents;
	for (size_t i = 0; i < v->nr_parents && shown < ALARMS_SHOWN; i++) {
		if (spawn_stats_is_loop(v->stats, &v->parents[i].n)) {
			write_alarm(v, &v->parents[i], "restart loop?", out);
			shown++;
		}
	}
	for (size_t i = 0; i < v->nr_parents && shown < 2 * ALARMS_SHOWN; i++) {
		const struct spawn_row *n = &v->parents[i].n;

		if (spawn_stats_is_loop(v->stats, n) ||
		    (!proc_is_storm(v, n) && !proc_is_pile(v, n)))
			continue;
		write_alarm(v, &v->parents[i],
			    proc_is_pile(v, n) ? "processes pile up:" : "spawn storm:", out);
		shown++;
	}
}

/* What tables had no room for. */
static void write_overflows(const struct spawn_stats *s, FILE *out)
{
	uint64_t others = spawn_stats_overflows(s), living = s->lost_living + s->unnamed;
	char text[32];

	if (others)
		fprintf(out, "too many groups, reasons or names: [others] stands for %s of them\n",
			units_format_count(others, text, sizeof(text)));
	if (living)
		fprintf(out, "%s processes were too many to follow: who lives is not known\n",
			units_format_count(living, text, sizeof(text)));
}

static unsigned int limit_of(const struct proc *p, unsigned int usual)
{
	return p->ctx->opt.limit ? p->ctx->opt.limit : usual;
}

static struct table rows_table(const struct proc_view *v, enum process_group_by by)
{
	return (struct table){
		.columns = columns_by[by],
		.rows = v->rows,
		.nr_rows = v->nr_rows,
		.row_size = sizeof(*v->rows),
		.ctx = v,
	};
}

int proc_check(const struct options *o, enum process_group_by by, struct error *err)
{
	const struct proc_view none = {0};
	const struct table t = rows_table(&none, by);
	const struct table_options options = {.sort = o->sort, .columns = o->columns};

	return table_check(&t, &options, err);
}

int proc_order(const struct proc *p, const struct proc_view *v, unsigned int limit, size_t **order,
	       size_t *nr, struct error *err)
{
	const struct table t = rows_table(v, v->stats->groups.by);
	const struct table_options options = {.sort = p->ctx->opt.sort, .limit = limit};

	return table_order(&t, &options, order, nr, err);
}

/* A table, and how many rows there are that it does not show. */
static int write_table(const struct proc *p, const struct table *t,
		       const struct table_options *options, FILE *out, struct error *err)
{
	int rc = table_write(out, t, options, err);

	event_run_tell_more(p->run, MIN(t->nr_rows, options->limit), t->nr_rows);
	return rc;
}

static int write_rows(const struct proc *p, struct proc_view *v, FILE *out, struct error *err)
{
	const struct options *o = &p->ctx->opt;
	const struct table t = rows_table(v, v->stats->groups.by);
	const struct table_options options = {.sort = o->sort,
					      .columns = o->columns,
					      .limit = limit_of(p, ROWS_SHOWN),
					      .width = v->width};

	v->groups = &v->stats->groups;
	if (!v->nr_rows)
		return 0;
	fputc('\n', out);
	return write_table(p, &t, &options, out, err);
}

static int write_parents(const struct proc *p, struct proc_view *v, FILE *out, struct error *err)
{
	const struct table t = {
		.columns = parent_columns,
		.rows = v->parents,
		.nr_rows = v->nr_parents,
		.row_size = sizeof(*v->parents),
		.ctx = v,
	};
	const struct table_options options = {
		.limit = limit_of(p, PARENTS_SHOWN), .indent = 2, .width = v->width};
	uint64_t unknown = v->stats->all.exited;
	struct strbuf nr = STRBUF_INIT;

	v->groups = &v->stats->parents;
	if (!v->nr_parents)
		return 0;
	for (size_t i = 0; i < v->nr_parents; i++)
		unknown -= v->parents[i].n.exited;
	cell_count(&nr, units_of_share(unknown, v->exit_share));
	fprintf(out, "\nWho started them%s%s%s\n", unknown ? " (not seen of " : "",
		unknown ? nr.buf : "", unknown ? " that exited)" : "");
	strbuf_free(&nr);
	return write_table(p, &t, &options, out, err);
}

static int write_reasons(const struct proc *p, const struct proc_view *v, FILE *out,
			 struct error *err)
{
	const struct table t = {
		.columns = reason_columns,
		.rows = v->reasons,
		.nr_rows = v->nr_reasons,
		.row_size = sizeof(struct spawn_reason *),
		.ctx = v,
	};
	const struct table_options options = {
		.limit = limit_of(p, REASONS_SHOWN), .indent = 2, .width = v->width};

	if (!v->nr_reasons)
		return 0;
	fprintf(out, "\nWhy they exited\n");
	return write_table(p, &t, &options, out, err);
}

static uint64_t scaled_name(const struct spawn_stats *s, const struct spawn_name *n)
{
	double share = coverage_share(&s->stream->coverage, EVENT_PROCESS_REGISTER);

	return units_of_share(n->registered, share);
}

/* Names that were given more than once: who has them is started again and again. */
static void write_names(const struct proc *p, const struct proc_view *v, FILE *out)
{
	const struct spawn_stats *s = v->stats;
	struct strbuf line = STRBUF_INIT;
	size_t shown = 0, all = 0;

	for (size_t i = 1; i < s->names.len; i++) {
		const struct spawn_name *n = &s->names.data[i];
		const char *text = names_string(s->stream->names, n->name);

		if (n->registered < 2 || !text)
			continue;
		if (all++ >= limit_of(p, NAMES_SHOWN))
			continue;
		if (!shown++)
			fprintf(out, "\nNames that were given more than once\n");
		strbuf_reset(&line);
		names_format_module(&line, text, strlen(text));
		table_clean_text(&line, false);
		fprintf(out, "  %8" PRIu64 "  %s\n", scaled_name(s, n), line.buf);
	}
	event_run_tell_more(p->run, shown, all);
	strbuf_free(&line);
}

static int show_text(struct proc *p, struct proc_view *v, struct error *err)
{
	FILE *out = event_run_out(p->run);
	int rc;

	event_run_begin_screen(p->run);
	write_head(p, v, out);
	event_run_tell_sampled(p->run, p->kinds);
	write_overflows(v->stats, out);
	write_alarms(v, out);
	rc = write_rows(p, v, out, err);
	rc = rc ? rc : write_parents(p, v, out, err);
	rc = rc ? rc : write_reasons(p, v, out, err);
	if (rc)
		return rc;
	write_names(p, v, out);
	if (v->stats->lifetimes.nr) {
		fputc('\n', out);
		histogram_write(out, "lifetime", &v->stats->lifetimes, HISTOGRAM_NS,
				1 / MIN(v->spawn_share, v->exit_share));
	}
	return 0;
}

int proc_show(struct proc *p, struct error *err)
{
	const struct coverage *c = &p->stats.stream->coverage;
	struct proc_view v = {
		.stats = &p->stats,
		.spawn_share = coverage_share(c, EVENT_PROCESS_SPAWN),
		.exit_share = coverage_share(c, EVENT_PROCESS_EXIT),
	};
	uint64_t start_ns, end_ns;
	int rc;

	event_run_span(p->run, &start_ns, &end_ns);
	v.seconds = (double)(end_ns - start_ns) / 1e9;
	v.width = render_width(event_run_target(p->run));
	v.rows = make_rows(&v, p->stats.rows.data, p->stats.rows.len, &v.nr_rows);
	v.parents = make_rows(&v, p->stats.by_parent.data, p->stats.by_parent.len, &v.nr_parents);
	make_reasons(&v);
	rc = p->ctx->opt.json ? proc_json(p, &v, err) : show_text(p, &v, err);
	free(v.rows);
	free(v.parents);
	free(v.reasons);
	return rc;
}
