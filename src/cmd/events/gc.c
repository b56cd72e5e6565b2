/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam gc`: how long collections of garbage took, how often, whose they were, and which function
 * ran into them; of a node or of a capture.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/events/group_rows.h"
#include "cmd/events/node_wide.h"
#include "cmd/output/render.h"
#include "cmd/run/event_run.h"
#include "model/stats/gc_stats.h"
#include "model/stats/sched_use.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

struct gc {
	struct command_context *ctx;
	struct event_run *run;
	struct gc_stats stats;
	bool open;
	bool any_stack;			/* --by function needs them */
	struct sched_use threads;	/* of all schedulers, what they got of the CPUs */
	struct sched_use normal, dirty; /* likewise: how much of their time is collection */
	struct node_wide wide;
	struct node_wide_probes *probes; /* of a node: that tell of it */
	bool wide_watched;
};

/* How long collections took, of normal schedulers (in of_normal_ns) and of dirty ones. */
struct gc_time {
	double normal_ns, dirty_ns, of_normal_ns;
	/* Half of the 95 % confidence interval: of both, of normal_ns; NaN = not known. */
	double error_ns, normal_error_ns;
};

/* What cells need besides their row. */
struct cells {
	double scale;			  /* of counts, for what was sampled */
	double normal_scale, dirty_scale; /* of times, likewise */
	struct gc_time time;
	uint64_t duration_ns; /* of the answer */
	uint64_t end_ns;      /* likewise */
};

static uint64_t nr_of(const struct gc_count *c)
{
	return c->minor + c->major;
}

/* Words of both heaps after the last collection; EVENT_UNKNOWN = not known. */
static uint64_t heap_after(const struct gc_count *c)
{
	uint64_t both;

	if (c->heap == EVENT_UNKNOWN || c->old_heap == EVENT_UNKNOWN)
		return EVENT_UNKNOWN;
	return __builtin_add_overflow(c->heap, c->old_heap, &both) ? UINT64_MAX - 1 : both;
}

/* Of a pause: a minor collection that went over into a major one has none of its own. */
static uint64_t mean_ns(const struct gc_count *c)
{
	uint64_t pauses = nr_of(c) - c->continued;

	return pauses ? c->total_ns / pauses : 0;
}

/* EVENT_UNKNOWN: none of them said it, as those that are seen without probes. */
static uint64_t words_reclaimed(const struct gc_count *c)
{
	return c->unknown && c->unknown == nr_of(c) ? EVENT_UNKNOWN : c->reclaimed;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void add_count(struct strbuf *out, uint64_t n, const void *ctx)
{
	cell_count(out, units_scale(n, ((const struct cells *)ctx)->scale));
}

#define VALUE(name, value) GROUP_VALUE(name, gc_count, cells, value)

VALUE(minor, units_scale(c->minor, ctx->scale))
VALUE(major, units_scale(c->major, ctx->scale))
VALUE(dirty, units_scale(c->dirty, ctx->scale))
VALUE(total, c->estimate_ns)
VALUE(longest, c->max_ns)
VALUE(mean, mean_ns(c))
VALUE(reclaimed,
      words_reclaimed(c) == EVENT_UNKNOWN ? NAN : (double)units_scale(c->reclaimed, ctx->scale))
VALUE(after, cell_known(heap_after(c)))
VALUE(heap, cell_known(c->heap))
VALUE(old_heap, cell_known(c->old_heap))
VALUE(max_heap, cell_known(c->max_heap))

static const struct table_column columns[] = {
	{TABLE_NUMBER("minor", "MINOR", COUNT, minor)},
	{TABLE_NUMBER("major", "MAJOR", COUNT, major)},
	{TABLE_NUMBER("dirty", "DIRTY", COUNT, dirty), .hidden = true},
	{TABLE_NUMBER("total_ns", "TOTAL", NS, total)},
	{TABLE_NUMBER("max_ns", "MAX", NS, longest)},
	{TABLE_NUMBER("mean_ns", "MEAN", NS, mean)},
	{TABLE_NUMBER("reclaimed", "RECLAIMED", COUNT, reclaimed)},
	{TABLE_NUMBER("heap_after", "HEAP AFTER", COUNT, after)},
	{TABLE_NUMBER("heap", "HEAP", COUNT, heap), .hidden = true},
	{TABLE_NUMBER("old_heap", "OLD HEAP", COUNT, old_heap), .hidden = true},
	{TABLE_NUMBER("max_heap", "MAX HEAP", COUNT, max_heap), .hidden = true},
	{"group", "WHOSE", .text = group_row_text},
	{"name", "NAME", .hidden = true, .text = group_row_name},
	{0},
};

/* ---- time ------------------------------------------------------------------------------------ */

#define FEW_SAMPLES 10 /* that saw a collection: they tell less than probes */

/* Normal schedulers; on average, if that changes meanwhile. */
static unsigned int nr_online(const struct gc *gc)
{
	unsigned int nr = event_run_stream(gc->run)->schedulers;
	const struct sched_use *u = &gc->normal;
	uint64_t all_ns = u->online_ns + u->offline_ns;

	return all_ns ? (unsigned int)lround((double)nr * (double)u->online_ns / (double)all_ns)
		      : nr;
}

/*
 * Where probes see a small part of the time, a long pause is either missed or counted for many:
 * then the sum is what samples of the schedulers saw, and probes tell only whose it is.
 */
static struct gc_time time_of(const struct gc *gc, uint64_t duration_ns, double scale)
{
	const struct gc_stats *s = &gc->stats;
	struct gc_time t = {
		.normal_ns = (double)(s->total.total_ns - s->total.dirty_ns) * scale,
		.dirty_ns = (double)s->total.dirty_ns * scale,
		.of_normal_ns = (double)duration_ns * nr_online(gc),
		.error_ns = NAN,
		.normal_error_ns = NAN,
	};
	/* Dirty schedulers are sampled seldom: where nothing was seen to collect they do not. */
	bool dirty = gc->dirty.gc || (gc->dirty.gc_samples && s->total.dirty_ns);

	if (scale <= 1 || s->longer_than_ns || options_choose_processes(&gc->ctx->opt) ||
	    !gc->normal.gc_samples || gc->normal.gc + gc->dirty.gc < FEW_SAMPLES)
		return t;
	t.normal_ns = sched_use_gc(&gc->normal) / 100 * t.of_normal_ns;
	t.error_ns = t.normal_error_ns = sched_use_gc_error(&gc->normal) / 100 * t.of_normal_ns;
	if (dirty) {
		t.dirty_ns = gc->dirty.gc_ns;
		t.error_ns = hypot(t.error_ns, sched_use_gc_error(&gc->dirty) / 100 *
						       (double)gc->dirty.gc_seen_ns);
	}
	return t;
}

static double ratio(double whole_ns, uint64_t seen_ns, double other)
{
	return seen_ns ? whole_ns / (double)seen_ns : other;
}

/* Both parts of a row as they are of the whole. */
static uint64_t time_of_row(const struct gc_count *c, const struct cells *cells)
{
	return units_scale(c->total_ns - c->dirty_ns, cells->normal_scale) +
	       units_scale(c->dirty_ns, cells->dirty_scale);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int order_rows(const struct gc *gc, const struct cells *cells, struct group_rows *r,
		      struct error *err)
{
	const struct gc_stats *s = &gc->stats;

	for (size_t i = 0; i < s->counts.len; i++) {
		if (nr_of(&s->counts.data[i]))
			group_rows_add(r, &s->groups, (uint32_t)i, &s->counts.data[i]);
	}
	return group_rows_order(r, columns, cells, "total_ns", &gc->ctx->opt,
				render_color(&gc->ctx->opt, event_run_target(gc->run)), err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void count_json(struct jsonw *w, const struct gc_count *c, const struct cells *cells)
{
	double scale = cells->scale;

	jsonw_uint(w, "minor", units_scale(c->minor, scale));
	jsonw_uint(w, "major", units_scale(c->major, scale));
	jsonw_uint(w, "dirty", units_scale(c->dirty, scale));
	jsonw_uint(w, "minor_continued", units_scale(c->continued, scale));
	jsonw_uint(w, "total_ns", c->estimate_ns);
	jsonw_uint(w, "max_ns", c->max_ns);
	jsonw_uint(w, "mean_ns", mean_ns(c));
	jsonw_uint(w, "reclaimed", units_scale(c->reclaimed, scale));
	jsonw_uint(w, "reclaimed_unknown", units_scale(c->unknown, scale));
}

static void row_json(struct jsonw *w, const struct group_row *r, const struct cells *cells)
{
	const struct gc_count *c = r->count;

	jsonw_begin_object(w, NULL);
	group_row_json(w, r);
	count_json(w, c, cells);
	jsonw_known(w, "heap_after", heap_after(c));
	jsonw_known(w, "heap", c->heap);
	jsonw_known(w, "old_heap", c->old_heap);
	jsonw_uint(w, "max_heap", c->max_heap);
	jsonw_end_object(w);
}

/* Percent of the time of normal schedulers that are online. */
static double share_of_time(const struct gc_time *t)
{
	return t->of_normal_ns > 0 ? 100 * t->normal_ns / t->of_normal_ns : NAN;
}

static int show_json(struct gc *gc, const struct group_rows *r, const struct cells *cells,
		     struct error *err)
{
	const struct gc_stats *s = &gc->stats;
	struct jsonw w;

	event_run_json_begin(gc->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", cells->duration_ns);
	jsonw_double(&w, "share_seen", 1 / cells->scale);
	jsonw_string(&w, "by", process_group_by_name(s->groups.by));
	jsonw_uint(&w, "longer_than_ns", s->longer_than_ns);
	jsonw_begin_object(&w, "totals");
	count_json(&w, &s->total, cells);
	jsonw_uint(&w, "dirty_ns", (uint64_t)cells->time.dirty_ns);
	jsonw_known(&w, "error_ns",
		    isnan(cells->time.error_ns) ? EVENT_UNKNOWN : (uint64_t)cells->time.error_ns);
	jsonw_double(&w, "scheduler_percent", share_of_time(&cells->time));
	jsonw_double(&w, "cpu_wait", sched_use_waited(&gc->threads));
	jsonw_end_object(&w);
	jsonw_begin_object(&w, "pauses");
	histogram_json(&w, "minor", &s->minor, cells->scale);
	histogram_json(&w, "major", &s->major, cells->scale);
	histogram_json(&w, "dirty", &s->dirty, cells->scale);
	jsonw_end_object(&w);
	node_wide_json(&w, &gc->wide, cells->end_ns, gc->wide_watched);
	if (gc->ctx->opt.watch_ns)
		jsonw_begin_array(&w, "rows");
	else
		jsonw_begin_rows(&w, "rows");
	for (size_t i = 0; i < r->nr; i++)
		row_json(&w, &r->v.data[r->order[i]], cells);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return event_run_json_end(gc->run, &w, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void write_totals(const struct gc *gc, FILE *f, const struct cells *cells)
{
	const struct gc_count *c = &gc->stats.total;
	const struct gc_time *t = &cells->time;
	double share = share_of_time(t);
	const char *about = cells->scale > 1 ? "~" : ""; /* an estimate */
	struct strbuf line = STRBUF_INIT;
	char text[32];

	strbuf_addstr(&line, "In ");
	cell_ns(&line, cells->duration_ns);
	strbuf_addstr(&line, ": ");
	event_run_add_estimate(gc->run, GC_STATS_KINDS, units_scale(nr_of(c), cells->scale), &line);
	strbuf_addstr(&line, " collections");
	if (gc->stats.longer_than_ns)
		strbuf_addf(&line, " longer than %s",
			    units_format_ns(gc->stats.longer_than_ns, text, sizeof(text)));
	strbuf_addstr(&line, " (");
	add_count(&line, c->minor, cells);
	strbuf_addstr(&line, " minor, ");
	add_count(&line, c->major, cells);
	strbuf_addstr(&line, " major; ");
	if (c->continued) {
		add_count(&line, c->continued, cells);
		strbuf_addstr(&line, " minor went over into a major one and share its pause; ");
	}
	add_count(&line, c->dirty, cells);
	strbuf_addf(&line, " on dirty schedulers), %s", about);
	cell_ns(&line, (uint64_t)(t->normal_ns + t->dirty_ns));
	if (!isnan(t->error_ns)) {
		strbuf_addstr(&line, " +- ");
		cell_ns(&line, (uint64_t)t->error_ns);
	}
	if (t->dirty_ns >= 1) {
		strbuf_addstr(&line, " (");
		cell_ns(&line, (uint64_t)t->dirty_ns);
		strbuf_addstr(&line, " of it on dirty schedulers)");
	}
	if (!isnan(share)) {
		int digits = share < 1 ? 2 : 1;

		strbuf_addf(&line, ", %s%.*f %%", about, digits, share);
		if (!isnan(t->error_ns))
			strbuf_addf(&line, " +- %.*f %%", digits,
				    100 * t->normal_error_ns / t->of_normal_ns);
		strbuf_addf(&line, " of the time of %u schedulers", nr_online(gc));
	}
	if (words_reclaimed(c) != EVENT_UNKNOWN) {
		strbuf_addstr(&line, c->unknown ? "; at least " : "; ");
		add_count(&line, c->reclaimed, cells);
		strbuf_addf(&line, " words reclaimed (%s)",
			    units_format_bytes(8 * units_scale(c->reclaimed, cells->scale), text,
					       sizeof(text)));
	}
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

#define WAITED_LONG 5.0 /* percent */

/* A thread that the kernel keeps from running in the middle makes a long pause of a short one. */
static void tell_waited(const struct gc *gc, FILE *f)
{
	double percent = sched_use_waited(&gc->threads);

	/* What an idle node waits for a CPU says nothing. */
	if (gc->stats.total.total_ns && percent >= WAITED_LONG)
		fprintf(f,
			"Schedulers had no CPU for %.1f %% of the time in which they were to run: "
			"pauses are longer by that\n",
			percent);
}

static int show_text(struct gc *gc, const struct group_rows *r, const struct cells *cells,
		     struct error *err)
{
	const struct gc_stats *s = &gc->stats;
	FILE *f = event_run_out(gc->run);
	int rc = 0;

	event_run_begin_screen(gc->run);
	write_totals(gc, f, cells);
	event_run_tell_sampled(gc->run, GC_STATS_KINDS);
	if (cells->scale > 1 && !s->longer_than_ns)
		fputs("MAX is of the collections that were seen: the longest pause may not be "
		      "among them (--longer-than 5ms finds every pause from there on)\n",
		      f);
	tell_waited(gc, f);
	fputc('\n', f);
	histogram_write(f, "minor pauses", &s->minor, HISTOGRAM_NS, cells->scale);
	histogram_write(f, "major pauses", &s->major, HISTOGRAM_NS, cells->scale);
	if (s->dirty.nr)
		histogram_write(f, "pauses on dirty schedulers", &s->dirty, HISTOGRAM_NS,
				cells->scale);
	if (gc->wide_watched)
		rc = node_wide_write(&gc->wide, gc->run, cells->end_ns, log_level() > 0, err);
	rc = rc ? rc : group_rows_write(r, &s->groups, gc->run, err);
	if (r->v.len && s->groups.by == PROCESS_GROUP_FUNCTION && !gc->any_stack)
		fputs("This capture has no stacks: nothing tells the functions.\n", f);
	return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static uint64_t longer_than(const struct options *o)
{
	return o->given.has[OPTION_LONGER_THAN] ? o->longer_than_ns : 0;
}

static void open_stats(struct gc *gc)
{
	const struct options *o = &gc->ctx->opt;

	if (gc->open)
		return;
	gc_stats_open(&gc->stats, event_run_stream(gc->run), o->group_by, 0, longer_than(o));
	node_wide_open(&gc->wide, event_run_stream(gc->run));
	gc->open = true;
}

static int show(void *arg, bool last, struct error *err)
{
	struct gc *gc = arg;
	struct coverage *coverage = &event_run_stream(gc->run)->coverage;
	struct cells cells = {.scale = 1 / coverage_share_of(coverage, GC_STATS_KINDS)};
	uint64_t start_ns, end_ns;
	struct group_rows rows = {0};
	int rc;

	open_stats(gc);
	event_run_span(gc->run, &start_ns, &end_ns);
	cells.duration_ns = end_ns - start_ns;
	cells.end_ns = end_ns;
	cells.time = time_of(gc, cells.duration_ns, cells.scale);
	cells.normal_scale =
		ratio(cells.time.normal_ns, gc->stats.total.total_ns - gc->stats.total.dirty_ns,
		      cells.scale);
	cells.dirty_scale = ratio(cells.time.dirty_ns, gc->stats.total.dirty_ns, cells.scale);
	gc->stats.total.estimate_ns = (uint64_t)(cells.time.normal_ns + cells.time.dirty_ns);
	for (size_t i = 0; i < gc->stats.counts.len; i++)
		gc->stats.counts.data[i].estimate_ns =
			time_of_row(&gc->stats.counts.data[i], &cells);
	rc = order_rows(gc, &cells, &rows, err);
	if (rc == 0)
		rc = gc->ctx->opt.json ? show_json(gc, &rows, &cells, err)
				       : show_text(gc, &rows, &cells, err);
	group_rows_free(&rows);
	if (!last) {
		gc_stats_restart(&gc->stats);
		node_wide_restart(&gc->wide, end_ns);
	}
	gc->threads = gc->normal = gc->dirty = (struct sched_use){0};
	return rc;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct gc *gc = arg;

	open_stats(gc);
	gc_stats_take(&gc->stats, kind, ev);
	gc->any_stack |= ev->u.vm.stack != 0;
	return 0;
}

static bool is_meta(const struct event *ev, const char *key)
{
	return ev->type == REC_META && ev->u.meta.key_len == strlen(key) &&
	       memcmp(ev->u.meta.key, key, strlen(key)) == 0;
}

static void on_other(void *arg, const struct event *ev)
{
	struct gc *gc = arg;

	if (ev->type == REC_SCHEDULER) {
		sched_use_add(&gc->threads, ev);
		sched_use_add(ev->u.scheduler.type == THREAD_NORMAL ? &gc->normal : &gc->dirty, ev);
	}
	gc->wide_watched |= is_meta(ev, NODE_WIDE_KEY);
}

static int on_begin(void *arg, struct error *err)
{
	struct gc *gc = arg;

	UNUSED(err);
	node_wide_probes_open(&gc->probes, gc->run, gc->ctx->opt.max_overhead);
	return 0;
}

static int on_call(void *arg, const struct event *ev)
{
	struct gc *gc = arg;

	open_stats(gc);
	node_wide_take(&gc->wide, ev);
	return 0;
}

static int on_drained(void *arg, struct error *err)
{
	struct gc *gc = arg;

	UNUSED(err);
	if (gc->open)
		node_wide_check_blockers(&gc->wide, gc->run);
	return 0;
}

/* It is no part of an answer about some processes, nor of one about long pauses, which need no
 * probes. */
static bool wants_node_wide(const struct options *o)
{
	return !o->input && !options_choose_processes(o) && !longer_than(o);
}

int cmd_gc(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct gc gc = {.ctx = ctx};
	const struct table table = {.columns = columns};
	const struct table_options options = {.columns = o->columns, .sort = o->sort};
	const struct event_consumer consumer = {
		.kinds = GC_STATS_KINDS,
		.stacks = o->group_by == PROCESS_GROUP_FUNCTION,
		.gc_longer_than_ns = longer_than(o),
		.cpu = true,
		.gc = !longer_than(o),
		.calls = wants_node_wide(o) ? &node_wide_calls : NULL,
		.call = on_call,
		.begin = wants_node_wide(o) ? on_begin : NULL,
		.drained = on_drained,
		.arg = &gc,
		.other = on_other,
		.event = on_event,
		.show = show,
	};
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : event_run(ctx, &consumer, &gc.run, err);
	if (rc == 0 && o->dry_run && !o->json && wants_node_wide(o))
		node_wide_probes_list(stdout);
	if (gc.open)
		gc_stats_close(&gc.stats);
	node_wide_close(&gc.wide);
	node_wide_probes_close(gc.probes);
	event_run_close(gc.run);
	return rc;
}
