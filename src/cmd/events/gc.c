/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam gc`: how long garbage collections took, how many there were, of which processes, and in
 * which functions; of a node or of a capture.
 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/events/node_wide.h"
#include "cmd/run/event_run.h"
#include "model/stats/gc_stats.h"
#include "model/stats/sched_use.h"
#include "view/events/gc_view.h"

#define ROWS_SHOWN 20 /* of text */

struct gc {
	struct command_context *ctx;
	struct event_run *run;
	struct gc_stats stats;
	bool any_stack;			/* an event had a stack: --by function needs stacks */
	struct sched_use threads;	/* CPU time of the threads of all schedulers */
	struct sched_use normal, dirty; /* time in GC, of normal and of dirty schedulers */
	struct node_wide wide;
	struct node_wide_probes *probes; /* live: the probes for `wide` */
	bool wide_watched;
};

#define FEW_SAMPLES 10 /* samples of GC: with fewer, its time is taken from the probes */

/* Normal schedulers that are online; on average, if the number changes. */
static unsigned int nr_online(const struct gc *gc)
{
	unsigned int nr = event_run_stream(gc->run)->schedulers;
	const struct sched_use *u = &gc->normal;
	uint64_t all_ns = u->online_ns + u->offline_ns;

	return all_ns ? (unsigned int)lround((double)nr * (double)u->online_ns / (double)all_ns)
		      : nr;
}

/*
 * The time in GC.  If probes are enabled for a small part of the time only, a long pause is either
 * missed or scaled up to many: then the sum comes from samples of the schedulers, and probes only
 * show how it is divided.
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
	/* Is the time on dirty schedulers that of the samples?  Not if there were no samples, nor
	 * if neither they nor the probes saw a collection there. */
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

/* The factor from the time that was seen to the whole; `other` if none was seen. */
static double ratio(double whole_ns, uint64_t seen_ns, double other)
{
	return seen_ns ? whole_ns / (double)seen_ns : other;
}

/* Divides the time on normal schedulers, and that on dirty ones, among rows in proportion to the
 * time that probes saw. */
static void estimate(struct gc_stats *s, const struct gc_time *t, double scale)
{
	double normal = ratio(t->normal_ns, s->total.total_ns - s->total.dirty_ns, scale);
	double dirty = ratio(t->dirty_ns, s->total.dirty_ns, scale);

	s->total.estimate_ns = (uint64_t)(t->normal_ns + t->dirty_ns);
	for (size_t i = 0; i < s->counts.len; i++) {
		struct gc_count *c = &s->counts.data[i];

		c->estimate_ns = units_scale(c->total_ns - c->dirty_ns, normal) +
				 units_scale(c->dirty_ns, dirty);
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

static uint64_t longer_than(const struct options *o)
{
	return o->given.has[OPTION_LONGER_THAN] ? o->longer_than_ns : 0;
}

static void on_ready(void *arg)
{
	struct gc *gc = arg;
	const struct options *o = &gc->ctx->opt;

	gc_stats_open(&gc->stats, event_run_stream(gc->run), o->group_by, 0, longer_than(o));
	node_wide_open(&gc->wide, event_run_stream(gc->run));
}

/* 0 = not known. */
static uint32_t nr_processes(struct beam_node *n)
{
	uint32_t nr = 0;

	if (n && n->anchors.proc_tab && n->layout.ptab_count != LAYOUT_ABSENT)
		mem_read_u32(n->mem, n->anchors.proc_tab + (raddr)n->layout.ptab_count, &nr);
	return nr;
}

static int show(void *arg, bool last, struct error *err)
{
	struct gc *gc = arg;
	struct gc_stats *s = &gc->stats;
	const struct table_options o = event_run_table_options(gc->run, "total_ns", ROWS_SHOWN);
	struct gc_answer a = {.stats = s};
	struct strbuf collections = STRBUF_INIT;
	uint64_t start_ns, end_ns;
	int rc;

	event_run_span(gc->run, &start_ns, &end_ns);
	a.duration_ns = end_ns - start_ns;
	a.scale = 1 / coverage_share_of(&event_run_stream(gc->run)->coverage, GC_STATS_KINDS);
	a.time = time_of(gc, a.duration_ns, a.scale);
	a.waited = sched_use_waited(&gc->threads);
	a.schedulers = nr_online(gc);
	a.no_stacks = s->groups.by == PROCESS_GROUP_FUNCTION && !gc->any_stack;
	estimate(s, &a.time, a.scale);
	event_run_add_estimate(gc->run, GC_STATS_KINDS,
			       units_scale(s->total.minor + s->total.major, a.scale), &collections);
	a.collections = collections.buf;
	node_wide_order(&gc->wide);
	a.wide = (struct node_wide_answer){.work = gc->wide_watched ? &gc->wide : NULL,
					   .names = s->groups.names,
					   .end_ns = end_ns,
					   .duration_ns = a.duration_ns,
					   .processes = nr_processes(event_run_node(gc->run)),
					   .all = log_level() > 0};
	rc = event_run_show(gc->run, &gc_view, &a, GC_STATS_KINDS, &o, err);
	strbuf_free(&collections);
	if (!last) {
		gc_stats_restart(s);
		node_wide_restart(&gc->wide, end_ns);
	}
	gc->threads = gc->normal = gc->dirty = (struct sched_use){0};
	return rc;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct gc *gc = arg;

	gc_stats_take(&gc->stats, kind, ev);
	gc->any_stack |= ev->u.vm.stack != 0;
	return 0;
}

static void on_other(void *arg, const struct event *ev)
{
	struct gc *gc = arg;

	if (ev->type == REC_SCHEDULER) {
		sched_use_add(&gc->threads, ev);
		sched_use_add(ev->u.scheduler.type == THREAD_NORMAL ? &gc->normal : &gc->dirty, ev);
	}
	gc->wide_watched |= event_is_meta(ev, NODE_WIDE_KEY);
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

	node_wide_take(&gc->wide, ev);
	return 0;
}

static int on_drained(void *arg, struct error *err)
{
	struct gc *gc = arg;

	UNUSED(err);
	node_wide_check_blockers(&gc->wide, gc->run);
	return 0;
}

/* Work of the whole node is left out of answers about some processes, and of answers about long
 * pauses, which need no probes. */
static bool wants_node_wide(const struct options *o)
{
	return !o->input && !options_choose_processes(o) && !longer_than(o);
}

int cmd_gc(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct gc gc = {.ctx = ctx};
	const struct event_consumer consumer = {
		.kinds = GC_STATS_KINDS,
		.stacks = o->group_by == PROCESS_GROUP_FUNCTION,
		.gc_longer_than_ns = longer_than(o),
		.cpu = true,
		.gc = !longer_than(o),
		.calls = wants_node_wide(o) ? &node_wide_calls : NULL,
		.call = on_call,
		.ready = on_ready,
		.begin = wants_node_wide(o) ? on_begin : NULL,
		.drained = on_drained,
		.columns = gc_columns,
		.arg = &gc,
		.other = on_other,
		.event = on_event,
		.show = show,
	};
	int rc = event_run(ctx, &consumer, &gc.run, err);

	if (rc == 0 && o->dry_run && !o->json && wants_node_wide(o))
		node_wide_probes_list(stdout);
	gc_stats_close(&gc.stats);
	node_wide_close(&gc.wide);
	node_wide_probes_close(gc.probes);
	event_run_close(gc.run);
	return rc;
}
