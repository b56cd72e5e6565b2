/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam sched`: how busy schedulers are, how long processes wait to run, how long they run, and
 * what ran longest; of a node or of a capture.
 */
#include <errno.h>
#include <math.h>

#include "base/compiler.h"
#include "cmd/run/event_run.h"
#include "model/stats/sched_stats.h"
#include "view/events/sched_view.h"

#define LONG_SCHEDULE (1ull << EVENT_LONG_SCHEDULE)
#define ROWS_SHOWN    20 /* rows of text without -n */

struct sched {
	struct command_context *ctx;
	struct event_run *run;
	struct sched_stats stats;
	bool open;
	uint64_t watched_from; /* coverage_clock() where the interval begins */
	bool one_process;      /* --process: utilization of schedulers is not known */
};

/* Opens the statistics.  In a capture, watching may begin later than the first event, or never. */
static void open_stats(struct sched *sched, uint64_t first_ns)
{
	struct event_stream *stream = event_run_stream(sched->run);
	uint64_t start_ns, end_ns;

	if (sched->open)
		return;
	sched->open = true;
	event_run_span(sched->run, &start_ns, &end_ns);
	if (!event_run_node(sched->run))
		start_ns = stream->watching_ns ? stream->watching_ns : first_ns;
	sched_stats_open(&sched->stats, stream, sched->ctx->opt.group_by, 0, 0,
			 MIN(start_ns, first_ns));
	sched->stats.partial = sched->one_process;
	sched->stats.long_ns = event_run_longer_than(sched->run);
	sched->watched_from = coverage_clock(&stream->coverage, EVENT_PROCESS_SCHEDULED,
					     MIN(start_ns, first_ns), NULL);
	for (size_t i = 0; !sched->one_process && i < stream->at_start.len; i++) {
		const struct event_scheduler *one = &stream->at_start.data[i];

		sched_stats_begin(&sched->stats, one->type, one->number, one->busy);
	}
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct sched *sched = arg;

	open_stats(sched, ev->ts_ns);
	sched_stats_take(&sched->stats, kind, ev);
	return 0;
}

static void on_other(void *arg, const struct event *ev)
{
	struct sched *sched = arg;

	if (ev->type != REC_SCHEDULER)
		return;
	open_stats(sched, ev->ts_ns - ev->u.scheduler.duration_ns);
	sched_stats_memory(&sched->stats, ev);
}

/*
 * The factor by which times that were seen are scaled up.  Times are seen only while probes are
 * enabled, which is no even part of a changing load, and probes make slices longer.  How long
 * schedulers were busy with processes is known without probes: the factor is that time divided by
 * the time that was seen, without long slices if those are counted apart (`joined`).  If that time
 * is not known (or only some processes are watched), the factor follows from how much of the time
 * probes were enabled.
 */
static double scale_of_times(const struct sched_stats *s, bool dirty, bool joined,
			     double by_watched, uint64_t duration_ns)
{
	const struct sched_part part = sched_count_seen(&s->total, joined),
				*all_long = &s->total.all_long;
	uint64_t seen_ns = dirty ? part.dirty_ns : part.ns - part.dirty_ns;
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
	if (joined)
		whole_ns -=
			(double)(dirty ? all_long->dirty_ns : all_long->ns - all_long->dirty_ns);
	return whole_ns > 0 ? whole_ns / (double)seen_ns : joined ? 1 : by_watched;
}

/* Makes the answer about duration_ns from start_ns on; probes were enabled for watched_ns. */
static struct sched_answer make_answer(const struct sched *sched, uint64_t start_ns,
				       uint64_t duration_ns, uint64_t watched_ns)
{
	const struct event_stream *stream = sched->stats.stream;
	const struct coverage *coverage = &stream->coverage;
	double by_watched = watched_ns && watched_ns < duration_ns
				    ? (double)duration_ns / (double)watched_ns
				    : 1;
	struct sched_answer a = {
		.stats = &sched->stats,
		.scale = 1 / coverage_share(coverage, EVENT_PROCESS_SCHEDULED),
		.long_scale = 1 / coverage_share(coverage, EVENT_LONG_SCHEDULE),
		.from_ns = stream->start_epoch_ns + (start_ns - MIN(start_ns, stream->start_ns)),
		.duration_ns = duration_ns,
	};

	a.joined = a.scale > 1 && a.long_scale == 1 && stream->watched >> EVENT_LONG_SCHEDULE & 1;
	a.time_scale = scale_of_times(&sched->stats, false, a.joined, by_watched, duration_ns);
	a.dirty_scale = scale_of_times(&sched->stats, true, a.joined, by_watched, duration_ns);
	a.by_memory = a.time_scale != by_watched;
	return a;
}

static int show(void *arg, bool last, struct error *err)
{
	struct sched *sched = arg;
	const struct table_options o = event_run_table_options(sched->run, "time_ns", ROWS_SHOWN);
	struct sched_answer a;
	uint64_t start_ns, end_ns, clock;
	int rc;

	event_run_span(sched->run, &start_ns, &end_ns);
	open_stats(sched, start_ns);
	sched_stats_advance(&sched->stats, end_ns, last);
	clock = coverage_clock(&event_run_stream(sched->run)->coverage, EVENT_PROCESS_SCHEDULED,
			       end_ns, NULL);
	a = make_answer(sched, start_ns, end_ns - start_ns,
			clock - MIN(sched->watched_from, clock));
	rc = event_run_show(sched->run, &sched_view, &a, SCHED_STATS_KINDS | LONG_SCHEDULE, &o,
			    err);
	sched->watched_from = clock;
	if (!last)
		sched_stats_restart(&sched->stats);
	return rc;
}

int cmd_sched(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct sched sched = {.ctx = ctx, .one_process = o->process};
	const struct event_consumer consumer = {
		.kinds = SCHED_STATS_KINDS | LONG_SCHEDULE,
		.columns = sched_columns,
		.arg = &sched,
		.work = true,
		.event = on_event,
		.other = on_other,
		.show = show,
	};
	int rc;

	if (o->now)
		return cmd_sched_now(ctx, err);
	if (o->core || o->exe)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--core needs --now: no events happen in a core file");
	if (o->group_by == PROCESS_GROUP_FUNCTION)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--by: 'function' is not one of name, process, initial-call");
	rc = event_run(ctx, &consumer, &sched.run, err);
	if (sched.open)
		sched_stats_close(&sched.stats);
	event_run_close(sched.run);
	return rc;
}
