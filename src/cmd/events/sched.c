/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam sched`: how busy schedulers are, how long processes wait to run, how long they run, and
 * what ran longest; of a node or of a capture.
 */
#include "cmd/events/sched.h"

#include <errno.h>

#include "base/compiler.h"

/* Of a capture watching may have begun later than at its first event, or not at all. */
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

static int show(void *arg, bool last, struct error *err)
{
	struct sched *sched = arg;
	uint64_t start_ns, end_ns, clock;
	int rc;

	event_run_span(sched->run, &start_ns, &end_ns);
	open_stats(sched, start_ns);
	sched_stats_advance(&sched->stats, end_ns, last);
	clock = coverage_clock(&event_run_stream(sched->run)->coverage, EVENT_PROCESS_SCHEDULED,
			       end_ns, NULL);
	rc = sched_show(sched, start_ns, end_ns - start_ns, clock - MIN(sched->watched_from, clock),
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
	const struct table table = {.columns = sched_columns};
	const struct table_options options = {.columns = o->columns, .sort = o->sort};
	const struct event_consumer consumer = {
		.kinds = SCHED_STATS_KINDS | LONG_SCHEDULE,
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
				 "--core goes with --now: nothing happens in a core file any more");
	rc = table_check(&table, &options, err);
	if (rc == 0 && o->group_by == PROCESS_GROUP_FUNCTION)
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			       "--by: 'function' is not one of name, process, initial-call");
	rc = rc ? rc : event_run(ctx, &consumer, &sched.run, err);
	if (sched.open)
		sched_stats_close(&sched.stats);
	event_run_close(sched.run);
	return rc;
}
