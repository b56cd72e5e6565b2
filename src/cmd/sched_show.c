/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam sched`, for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cmd/group_rows.h"
#include "cmd/render.h"
#include "cmd/sched.h"
#include "cmd/stack_show.h"
#include "view/cells.h"
#include "view/histogram.h"

/* What is shown, and what cells need besides their row. */
struct answer {
	const struct sched *sched;
	const struct sched_stats *stats;
	double scale;	    /* of counts of slices, for what was sampled */
	double long_scale;  /* of those that were long */
	double time_scale;  /* see scale_of_times() */
	double dirty_scale; /* likewise on dirty schedulers */
	bool by_memory;	    /* how long normal schedulers were busy was known for that */
	uint64_t from_ns;   /* since 1970 */
	uint64_t duration_ns;
};

static uint64_t mean(uint64_t sum, uint64_t nr)
{
	return nr ? sum / nr : 0;
}

static void add_count(struct strbuf *out, uint64_t n, double scale)
{
	cell_count(out, units_scale(n, scale));
}

static void add_percent(struct strbuf *out, double percent)
{
	if (!isnan(percent))
		strbuf_addf(out, "%.1f %%", percent);
}

/* ---- columns ------------------------------------------------------------------------------- */

#define SCALE(of)		  (((const struct answer *)(of))->scale)
#define TIME_SCALE(of)		  (((const struct answer *)(of))->time_scale)
#define DIRTY_SCALE(of)		  (((const struct answer *)(of))->dirty_scale)
#define COLUMN(name, value, cell) GROUP_COLUMN(sched_count, name, value, cell)

static uint64_t time_of(const struct sched_count *c, const struct answer *a)
{
	return units_scale(c->time_ns - c->dirty_ns, a->time_scale) +
	       units_scale(c->dirty_ns, a->dirty_scale);
}

#define TIME_OF(row, of) time_of(((const struct group_row *)(row))->count, of)

COLUMN(time, c->time_ns, (void)v; cell_ns(out, TIME_OF(row, ctx)))
COLUMN(dirty, c->dirty_ns, cell_ns(out, units_scale(v, DIRTY_SCALE(ctx))))
COLUMN(slices, c->slices, add_count(out, v, SCALE(ctx)))
COLUMN(mean, mean(c->time_ns, c->slices), cell_ns(out, v))
COLUMN(max, c->max_ns, cell_ns(out, v))
COLUMN(reductions, c->reductions, add_count(out, v, SCALE(ctx)))
COLUMN(wait, c->wait_ns, cell_ns(out, units_scale(v, TIME_SCALE(ctx))))
COLUMN(mean_wait, mean(c->wait_ns, c->waits), cell_ns(out, v))
COLUMN(max_wait, c->max_wait_ns, cell_ns(out, v))

static void text_share(struct strbuf *out, const void *row, const void *ctx)
{
	const struct answer *a = ctx;

	if (a->duration_ns)
		add_percent(out, 100 * (double)TIME_OF(row, a) / (double)a->duration_ns);
}

const struct table_column sched_columns[] = {
	{"time_ns", "TIME", TABLE_RIGHT, false, text_time, compare_time},
	{"share", "SHARE", TABLE_RIGHT, false, text_share, compare_time},
	{"dirty_ns", "DIRTY", TABLE_RIGHT, true, text_dirty, compare_dirty},
	{"slices", "SLICES", TABLE_RIGHT, false, text_slices, compare_slices},
	{"mean_ns", "MEAN", TABLE_RIGHT, true, text_mean, compare_mean},
	{"max_ns", "MAX", TABLE_RIGHT, false, text_max, compare_max},
	{"reductions", "REDS", TABLE_RIGHT, false, text_reductions, compare_reductions},
	{"wait_ns", "WAITED", TABLE_RIGHT, false, text_wait, compare_wait},
	{"mean_wait_ns", "MEAN WAIT", TABLE_RIGHT, true, text_mean_wait, compare_mean_wait},
	{"max_wait_ns", "MAX WAIT", TABLE_RIGHT, false, text_max_wait, compare_max_wait},
	{"group", "WHOSE", TABLE_LEFT, false, group_row_text, NULL},
	{"name", "NAME", TABLE_LEFT, true, group_row_name, NULL},
	{0},
};

/* ---- schedulers ---------------------------------------------------------------------------- */

static const char *type_name(enum thread_type type)
{
	return type == THREAD_NORMAL	  ? "normal"
	       : type == THREAD_DIRTY_CPU ? "dirty_cpu"
	       : type == THREAD_DIRTY_IO  ? "dirty_io"
					  : "other";
}

static double percent_of(const struct sched_stats *s, const struct sched_cpu *cpu)
{
	struct sched_utilization u;

	sched_cpu_utilization(s, cpu, &u);
	return u.percent;
}

/* Mean of all of a type; NaN if nothing is known. */
static double percent_of_type(const struct sched_stats *s, enum thread_type type)
{
	double sum = 0, percent;
	unsigned int nr = 0;

	for (size_t i = 0; i < s->cpus.len; i++) {
		percent = percent_of(s, &s->cpus.data[i]);
		if (s->cpus.data[i].type == type && !isnan(percent)) {
			sum += percent;
			nr++;
		}
	}
	return nr ? sum / nr : NAN;
}

static void text_type(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, type_name(((const struct sched_cpu *)row)->type));
}

static void text_number(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%u", ((const struct sched_cpu *)row)->number);
}

/* A cell of what sched_cpu_utilization() says. */
#define CPU_CELL(name, field)                                                                      \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		struct sched_utilization u;                                                        \
                                                                                                   \
		sched_cpu_utilization(((const struct answer *)ctx)->stats, row, &u);               \
		add_percent(out, u.field);                                                         \
	}

CPU_CELL(utilization, percent)
CPU_CELL(process, parts.process)
CPU_CELL(port, parts.port)
CPU_CELL(other, parts.other)

static void text_on_cpu(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_percent(out, sched_use_on_cpu(&((const struct sched_cpu *)row)->use));
}

static void text_cpu_wait(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_percent(out, sched_use_cpu_wait(&((const struct sched_cpu *)row)->use));
}

static void text_cpu_slices(struct strbuf *out, const void *row, const void *ctx)
{
	add_count(out, ((const struct sched_cpu *)row)->slices, SCALE(ctx));
}

static const struct table_column cpu_columns[] = {
	{"type", "SCHEDULER", TABLE_LEFT, false, text_type, NULL},
	{"number", "NO", TABLE_RIGHT, false, text_number, NULL},
	{"utilization", "UTILIZATION", TABLE_RIGHT, false, text_utilization, NULL},
	{"processes", "PROCESSES", TABLE_RIGHT, false, text_process, NULL},
	{"ports", "PORTS", TABLE_RIGHT, false, text_port, NULL},
	{"other", "OTHER", TABLE_RIGHT, false, text_other, NULL},
	{"on_cpu", "ON CPU", TABLE_RIGHT, false, text_on_cpu, NULL},
	{"cpu_wait", "CPU WAIT", TABLE_RIGHT, false, text_cpu_wait, NULL},
	{"slices", "SLICES", TABLE_RIGHT, false, text_cpu_slices, NULL},
	{0},
};

/* Of dirty schedulers there are many that do nothing: those are only counted. */
static bool is_idle(const struct sched_cpu *cpu)
{
	return cpu->type != THREAD_NORMAL && !cpu->slices && !cpu->busy.on_ns &&
	       !cpu->use.counted_work_ns && cpu->use.all_seen_work_ns <= 0;
}

#define ROUGH_POINTS 0.5 /* less is not worth a word */
#define WAITED_LONG  5.0 /* percent of the time */

/* What to bear in mind when reading the table above. */
static void write_notes(FILE *f, const struct sched_stats *s)
{
	double error = 0, waited = 0, percent;
	struct sched_utilization u;

	for (size_t i = 0; i < s->cpus.len; i++) {
		sched_cpu_utilization(s, &s->cpus.data[i], &u);
		error = fmax(error, u.error);
		percent = sched_use_cpu_wait(&s->cpus.data[i].use);
		waited = isnan(percent) ? waited : fmax(waited, percent);
	}
	if (error >= ROUGH_POINTS)
		fprintf(f, "utilization is seen at random moments: give or take %.1f points\n",
			error);
	if (waited >= WAITED_LONG)
		fprintf(f,
			"Schedulers were to run but had no CPU for up to %.1f %% of the time: "
			"slices and waits are longer by that\n",
			waited);
}

static int write_cpus(FILE *f, const struct answer *a, struct error *err)
{
	const struct sched_stats *s = a->stats;
	uint32_t *order = xcalloc(s->cpus.len + 1, sizeof(*order));
	VEC(struct sched_cpu) shown = {0};
	unsigned int idle = 0;
	struct table table;
	const struct table_options options = {
		.color = render_color(&a->sched->ctx->opt, f),
	};
	int rc = 0;

	sched_stats_order(s, order);
	for (size_t i = 0; i < s->cpus.len; i++) {
		if (is_idle(&s->cpus.data[order[i]]))
			idle++;
		else
			vec_push(&shown, s->cpus.data[order[i]]);
	}
	table = (struct table){.columns = cpu_columns,
			       .rows = shown.data,
			       .nr_rows = shown.len,
			       .row_size = sizeof(struct sched_cpu),
			       .ctx = a};
	if (shown.len)
		rc = table_write(f, &table, &options, err);
	write_notes(f, s);
	if (idle)
		fprintf(f, "%u dirty schedulers did nothing\n", idle);
	vec_free(&shown);
	free(order);
	return rc;
}

static void cpu_json(struct jsonw *w, const struct sched_stats *s, const struct sched_cpu *cpu)
{
	struct sched_utilization u;

	sched_cpu_utilization(s, cpu, &u);
	jsonw_double(w, "utilization", u.percent);
	jsonw_double(w, "processes", u.parts.process);
	jsonw_double(w, "ports", u.parts.port);
	jsonw_double(w, "other", u.parts.other);
	jsonw_double(w, "error", u.error);
	jsonw_string(w, "source", sched_source_name(u.source));
	jsonw_begin_object(w, "by");
	jsonw_double(w, "vm", sched_use_counted(&cpu->use));
	jsonw_double(w, "events", sched_cpu_by_events(cpu));
	jsonw_double(w, "looks", sched_use_seen(&cpu->use));
	jsonw_end_object(w);
	jsonw_uint(w, "looks", cpu->use.looks);
	jsonw_double(w, "on_cpu", sched_use_on_cpu(&cpu->use));
	jsonw_double(w, "cpu_wait", sched_use_cpu_wait(&cpu->use));
}

static void cpus_json(struct jsonw *w, const struct answer *a)
{
	const struct sched_stats *s = a->stats;
	uint32_t *order = xcalloc(s->cpus.len + 1, sizeof(*order));

	sched_stats_order(s, order);
	jsonw_begin_object(w, "utilization");
	for (int type = THREAD_NORMAL; type <= THREAD_DIRTY_IO; type++)
		jsonw_double(w, type_name((enum thread_type)type),
			     percent_of_type(s, (enum thread_type)type));
	jsonw_end_object(w);
	jsonw_begin_array(w, "schedulers");
	for (size_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[order[i]];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", type_name(cpu->type));
		jsonw_uint(w, "scheduler", cpu->number);
		cpu_json(w, s, cpu);
		jsonw_uint(w, "slices", units_scale(cpu->slices, a->scale));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	free(order);
}

/* ---- longest slices ------------------------------------------------------------------------ */

static void add_function(struct strbuf *out, const struct names *n, uint32_t function)
{
	const struct name_function *f = names_function(n, function);

	if (f)
		names_format_function(out, f);
}

static void write_long(FILE *f, const struct names *n, const struct sched_long *l)
{
	const struct name_process *p = names_process(n, l->process);
	const struct name_thread *t = names_thread(n, l->thread);
	const struct name_function *of;
	const struct name_frame *frame;
	struct strbuf line = STRBUF_INIT;
	uint32_t stack = l->stack;

	strbuf_addstr(&line, "  ");
	cell_ns(&line, l->ns);
	strbuf_addf(&line, "  %s  ", p ? p->pid : "-");
	process_group_name_of(n, l->process, &line);
	if (t)
		strbuf_addf(&line, "  on %s scheduler %u", type_name(t->type), t->scheduler);
	if (l->reductions != EVENT_UNKNOWN)
		strbuf_addf(&line, ", %" PRIu64 " reductions", l->reductions);
	table_clean_text(&line, false);
	fprintf(f, "%s\n", line.buf);
	while ((of = names_next_frame(n, &stack, &frame))) {
		strbuf_reset(&line);
		names_format_function(&line, of);
		if (frame->file) {
			strbuf_addstr(&line, "  ");
			names_format_text(&line, frame->file, strlen(frame->file));
			strbuf_addf(&line, ":%u", frame->line);
		}
		table_clean_text(&line, false);
		fprintf(f, "      %s\n", line.buf);
	}
	strbuf_free(&line);
}

static void write_longest(FILE *f, const struct answer *a)
{
	const struct sched_stats *s = a->stats;
	struct strbuf line = STRBUF_INIT;

	if (!s->nr_longest)
		return;
	add_count(&line, s->nr_long, a->long_scale);
	fprintf(f, "\nlongest slices (of %s that were long), with the stack at their end\n",
		line.buf);
	for (unsigned int i = 0; i < s->nr_longest; i++)
		write_long(f, s->stream->names, &s->longest[i]);
	strbuf_free(&line);
}

static void long_json(struct jsonw *w, const struct names *n, const struct sched_long *l)
{
	const struct name_process *p = names_process(n, l->process);
	const struct name_thread *t = names_thread(n, l->thread);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	jsonw_uint(w, "duration_ns", l->ns);
	jsonw_string(w, "pid", p ? p->pid : NULL);
	process_group_name_of(n, l->process, &text);
	jsonw_string(w, "name", text.len ? text.buf : NULL);
	strbuf_reset(&text);
	add_function(&text, n, l->entry);
	jsonw_string(w, "entry", text.len ? text.buf : NULL);
	if (l->reductions == EVENT_UNKNOWN)
		jsonw_null(w, "reductions");
	else
		jsonw_uint(w, "reductions", l->reductions);
	jsonw_string(w, "type", t ? type_name(t->type) : NULL);
	jsonw_uint(w, "scheduler", t ? t->scheduler : 0);
	stack_show_frames_json(w, n, l->stack);
	jsonw_end_object(w);
	strbuf_free(&text);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int order_rows(const struct answer *a, struct group_rows *r, struct error *err)
{
	const struct options *o = &a->sched->ctx->opt;

	for (size_t i = 0; i < a->stats->counts.len; i++) {
		const struct sched_count *c = &a->stats->counts.data[i];

		if (c->slices || c->time_ns || c->waits)
			group_rows_add(r, &a->stats->groups, (uint32_t)i, c);
	}
	return group_rows_order(r, sched_columns, a, "time_ns", o,
				render_color(o, event_run_target(a->sched->run)), err);
}

static void count_json(struct jsonw *w, const struct sched_count *c, const struct answer *a)
{
	jsonw_uint(w, "slices", units_scale(c->slices, a->scale));
	jsonw_uint(w, "time_ns", time_of(c, a));
	jsonw_uint(w, "dirty_ns", units_scale(c->dirty_ns, a->dirty_scale));
	jsonw_uint(w, "mean_ns", mean(c->time_ns, c->slices));
	jsonw_uint(w, "max_ns", c->max_ns);
	jsonw_uint(w, "reductions", units_scale(c->reductions, a->scale));
	jsonw_uint(w, "waits", units_scale(c->waits, a->scale));
	jsonw_uint(w, "wait_ns", units_scale(c->wait_ns, a->time_scale));
	jsonw_uint(w, "mean_wait_ns", mean(c->wait_ns, c->waits));
	jsonw_uint(w, "max_wait_ns", c->max_wait_ns);
}

static void row_json(struct jsonw *w, const struct group_row *r, const struct answer *a)
{
	jsonw_begin_object(w, NULL);
	group_row_json(w, r);
	count_json(w, r->count, a);
	jsonw_end_object(w);
}

/* A slice or a wait of which one end was not watched is in no sum, and the longer it is the more
 * likely that is: scaling by what was watched does not make up for it. */
static bool leaves_out_cut(const struct answer *a)
{
	return a->scale > 1;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static int show_json(const struct answer *a, const struct group_rows *r, struct error *err)
{
	const struct sched_stats *s = a->stats;
	bool watch = a->sched->ctx->opt.watch_ns;
	struct jsonw w;

	event_run_json_begin(a->sched->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "from_ns", a->from_ns);
	jsonw_uint(&w, "duration_ns", a->duration_ns);
	jsonw_double(&w, "share_seen", 1 / a->scale);
	jsonw_bool(&w, "cut_left_out", leaves_out_cut(a));
	jsonw_string(&w, "by", process_group_by_name(s->groups.by));
	cpus_json(&w, a);
	jsonw_begin_object(&w, "totals");
	count_json(&w, &s->total, a);
	jsonw_uint(&w, "unknown_waits", units_scale(s->unknown_waits, a->scale));
	jsonw_uint(&w, "untracked", units_scale(s->untracked, a->scale));
	jsonw_end_object(&w);
	jsonw_begin_object(&w, "left");
	for (int i = 0; i < NR_SCHED_LEFT; i++)
		jsonw_uint(&w, sched_left_name((enum sched_left)i),
			   units_scale(s->left[i], a->scale));
	jsonw_end_object(&w);
	histogram_json(&w, "run_queue", &s->run_queue, a->scale);
	histogram_json(&w, "dirty_run_queue", &s->dirty_run_queue, a->scale);
	histogram_json(&w, "slices", &s->slices, a->scale);
	histogram_json(&w, "dirty_slices", &s->dirty_slices, a->scale);
	histogram_json(&w, "reductions", &s->reductions, a->scale);
	jsonw_uint(&w, "long_slices", units_scale(s->nr_long, a->long_scale));
	(watch ? jsonw_begin_array : jsonw_begin_rows)(&w, "longest");
	for (unsigned int i = 0; i < s->nr_longest; i++)
		long_json(&w, s->stream->names, &s->longest[i]);
	jsonw_end_array(&w);
	(watch ? jsonw_begin_array : jsonw_begin_rows)(&w, "rows");
	for (size_t i = 0; i < r->nr; i++)
		row_json(&w, &r->v.data[r->order[i]], a);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return event_run_json_end(a->sched->run, &w, err);
}

static void write_left(FILE *f, const struct answer *a)
{
	static const char *const words[NR_SCHED_LEFT] = {
		[SCHED_LEFT_WAITING] = "to wait",
		[SCHED_LEFT_PREEMPTED] = "preempted",
		[SCHED_LEFT_YIELDED] = "yielded",
		[SCHED_LEFT_TO_DIRTY] = "to a dirty scheduler",
		[SCHED_LEFT_SUSPENDED] = "suspended",
		[SCHED_LEFT_EXITED] = "exited",
	};
	struct strbuf line = STRBUF_INIT;

	for (int i = 0; i < NR_SCHED_LEFT; i++) {
		if (!a->stats->left[i])
			continue;
		strbuf_addstr(&line, line.len ? ", " : "");
		add_count(&line, a->stats->left[i], a->scale);
		strbuf_addf(&line, " %s", words[i]);
	}
	if (line.len)
		fprintf(f, "slices ended: %s\n", line.buf);
	strbuf_free(&line);
}

static void write_head(FILE *f, const struct answer *a)
{
	const struct sched_stats *s = a->stats;
	double seconds = (double)a->duration_ns / 1e9;
	double busy = percent_of_type(s, THREAD_NORMAL);
	struct strbuf line = STRBUF_INIT;
	char text[32];

	strbuf_addf(&line, "%.1f s", seconds);
	if (!isnan(busy))
		strbuf_addf(&line, "  schedulers %.1f %% busy", busy);
	strbuf_addstr(&line, "  slices ");
	add_count(&line, s->total.slices, a->scale);
	if (seconds > 0) {
		strbuf_addstr(&line, " (");
		add_count(&line, s->total.slices, a->scale / seconds);
		strbuf_addstr(&line, "/s)");
	}
	strbuf_addf(&line, "  longer than %s: ",
		    units_format_ns(event_run_longer_than(a->sched->run), text, sizeof(text)));
	add_count(&line, s->nr_long, a->long_scale);
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

static int show_text(const struct answer *a, const struct group_rows *r, struct error *err)
{
	const struct sched_stats *s = a->stats;
	FILE *f = event_run_out(a->sched->run);
	struct strbuf line = STRBUF_INIT;
	int rc;

	event_run_begin_screen(a->sched->run);
	write_head(f, a);
	event_run_tell_sampled(a->sched->run, SCHED_STATS_KINDS | LONG_SCHEDULE);
	if (leaves_out_cut(a))
		fprintf(f,
			"What sampling cut is left out: %scounts are too small, those of what "
			"lasts long most of all%s\n",
			a->by_memory ? "" : "times and ",
			a->by_memory ? ". Times are how long schedulers were at it, divided as was "
				       "seen"
				     : "");
	fputc('\n', f);
	rc = write_cpus(f, a, err);
	fputs(s->cpus.len ? "\n" : "", f);
	histogram_write(f, "run-queue latency", &s->run_queue, HISTOGRAM_NS, a->scale);
	if (s->dirty_run_queue.nr)
		histogram_write(f, "the same of dirty schedulers", &s->dirty_run_queue,
				HISTOGRAM_NS, a->scale);
	if (s->unknown_waits) {
		add_count(&line, s->unknown_waits, a->scale);
		fprintf(f, "  (of %s slices it is not known since when they were to run)\n",
			line.buf);
	}
	histogram_write(f, "slices", &s->slices, HISTOGRAM_NS, a->scale);
	if (s->dirty_slices.nr)
		histogram_write(f, "slices on dirty schedulers", &s->dirty_slices, HISTOGRAM_NS,
				a->scale);
	histogram_write(f, "reductions of a slice", &s->reductions, HISTOGRAM_COUNT, a->scale);
	write_left(f, a);
	if (rc == 0)
		rc = group_rows_write(r, &s->groups, a->sched->run, err);
	if (s->untracked) {
		strbuf_reset(&line);
		add_count(&line, s->untracked, a->scale);
		fprintf(f, "%s events of processes left out: more than %u at one time\n", line.buf,
			s->max_processes);
	}
	write_longest(f, a);
	strbuf_free(&line);
	return rc;
}

/*
 * What was seen of times was seen while probes were on, which is no even part of a load that
 * changes, and lengthens what goes on.  How long schedulers were with processes is known without
 * probes: that is divided as what was seen.  Where it is not known (or events are of some processes
 * only), by how much of the time was watched.
 */
static double scale_of_times(const struct sched_stats *s, bool dirty, double by_watched,
			     uint64_t duration_ns)
{
	uint64_t dirty_ns = s->total.dirty_ns;
	uint64_t seen_ns = dirty ? dirty_ns : s->total.time_ns - dirty_ns;
	double whole_ns = 0, percent;

	if (by_watched <= 1 || s->partial || !seen_ns)
		return by_watched;
	for (size_t i = 0; i < s->cpus.len; i++) {
		struct sched_utilization u;

		if ((s->cpus.data[i].type != THREAD_NORMAL) != dirty)
			continue;
		sched_cpu_utilization(s, &s->cpus.data[i], &u);
		if (isnan(u.percent))
			return by_watched;
		percent = dirty || isnan(u.parts.process) ? u.percent : u.parts.process;
		whole_ns += percent / 100 * (double)duration_ns;
	}
	return whole_ns > 0 ? whole_ns / (double)seen_ns : by_watched;
}

int sched_show(struct sched *sched, uint64_t start_ns, uint64_t duration_ns, uint64_t watched_ns,
	       struct error *err)
{
	const struct event_stream *stream = sched->stats.stream;
	const struct coverage *coverage = &stream->coverage;
	double by_watched = watched_ns && watched_ns < duration_ns
				    ? (double)duration_ns / (double)watched_ns
				    : 1;
	double time_scale = scale_of_times(&sched->stats, false, by_watched, duration_ns);
	const struct answer a = {
		.sched = sched,
		.stats = &sched->stats,
		.scale = 1 / coverage_share(coverage, EVENT_PROCESS_SCHEDULED),
		.long_scale = 1 / coverage_share(coverage, EVENT_LONG_SCHEDULE),
		.time_scale = time_scale,
		.by_memory = time_scale != by_watched,
		.dirty_scale = scale_of_times(&sched->stats, true, by_watched, duration_ns),
		.from_ns = stream->start_epoch_ns + (start_ns - MIN(start_ns, stream->start_ns)),
		.duration_ns = duration_ns,
	};
	struct group_rows rows = {0};
	int rc = order_rows(&a, &rows, err);

	if (rc == 0)
		rc = sched->ctx->opt.json ? show_json(&a, &rows, err) : show_text(&a, &rows, err);
	group_rows_free(&rows);
	return rc;
}
