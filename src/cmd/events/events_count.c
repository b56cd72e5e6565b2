/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam events --count`: how often each kind of event happened.  Of a node the probes themselves
 * count, which costs it less than a record of each; of a capture its records are counted.
 */
#include <errno.h>
#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/events/events.h"
#include "cmd/output/render.h"
#include "cmd/output/timeline_output.h"
#include "cmd/run/event_costs.h"
#include "cmd/run/event_run.h"
#include "model/stream/event_filter.h"
#include "view/events/count_view.h"
#include "view/table/event_rate_columns.h"

struct events_count {
	struct command_context *ctx;
	struct event_run *run;
	uint64_t kinds;
	bool open;
	struct event_rates rates;
	struct event_costs costs;
	struct event_count before[NR_EVENT_KINDS]; /* counts when all probes were attached */
	uint64_t began_ns;			   /* time of `before`; 0 = use event_run_span() */
	uint64_t ended_ns; /* when counts were last read, before detaching; 0 = not yet */
};

static void open_rates(struct events_count *e)
{
	const struct event_stream *s = event_run_stream(e->run);
	uint64_t kinds = e->kinds;

	if (e->open)
		return;
	e->open = true;
	/* Rows: the kinds that a capture recorded; live, all kinds that were asked for. */
	if (!event_run_node(e->run))
		kinds &= s->watched;
	event_rates_init(&e->rates, kinds);
}

/* ---- of a node ------------------------------------------------------------------------------ */

static int on_started(void *arg, struct error *err)
{
	struct events_count *e = arg;
	struct session *s = event_run_live(e->run)->session;

	UNUSED(err);
	open_rates(e);
	event_run_miss(e->run, &e->rates);
	e->rates.no_sums = true;
	event_costs_begin(&e->costs, s, &e->rates);
	for (unsigned int i = 0; i < e->rates.nr; i++)
		session_event_count(s, e->rates.rows[i].kind, &e->before[e->rates.rows[i].kind]);
	e->began_ns = clock_monotonic_ns();
	return 0;
}

static void take_counts(struct events_count *e)
{
	struct session *s = event_run_live(e->run)->session;
	uint64_t events = 0;

	for (unsigned int i = 0; i < e->rates.nr; i++) {
		enum event_kind kind = e->rates.rows[i].kind;
		struct event_count now;

		session_event_count(s, kind, &now);
		now.produced -= MIN(now.produced, e->before[kind].produced);
		event_rates_count(&e->rates, kind, &now);
		event_rates_lost(&e->rates, kind, 0);
		events += e->rates.now[kind].count;
	}
	event_run_count_more(e->run, events);
}

/* Called before the probes are detached, one after the other: reads the counts. */
static void on_end(void *arg)
{
	struct events_count *e = arg;

	if (!e->open)
		return; /* counting never began */
	take_counts(e);
	e->ended_ns = clock_monotonic_ns();
}

/* ---- of a capture --------------------------------------------------------------------------- */

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct events_count *e = arg;

	open_rates(e);
	event_rates_take(&e->rates, kind, ev);
	return 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* A time of CLOCK_MONOTONIC as ns since 1970. */
static uint64_t epoch_of(const struct events_count *e, uint64_t ns)
{
	const struct event_stream *s = event_run_stream(e->run);
	bool live = event_run_node(e->run) != NULL;

	if (!live)
		return s->start_epoch_ns + ns - s->start_ns;
	return event_run_start_epoch_ns(e->run) + ns - event_run_live(e->run)->start_ns;
}

static int show(void *arg, bool last, struct error *err)
{
	struct events_count *e = arg;
	const struct options *o = &e->ctx->opt;
	const struct table_options options = {
		.columns = o->columns,
		.sort = o->sort ? o->sort : "total",
		.limit = o->limit,
		.color = render_color(o, event_run_target(e->run)),
	};
	uint64_t start_ns, end_ns;
	double seconds;

	UNUSED(last);
	open_rates(e);
	event_run_span(e->run, &start_ns, &end_ns);
	if (e->began_ns)
		start_ns = e->began_ns;
	e->began_ns = 0;
	if (e->ended_ns)
		end_ns = MAX(e->ended_ns, start_ns);
	seconds = MAX((double)(end_ns - start_ns), 1) / 1e9;
	if (event_run_node(e->run)) {
		if (!e->ended_ns)
			take_counts(e);
		event_costs_take(&e->costs, event_run_live(e->run)->session, &e->rates, seconds, 0,
				 NAN);
	}
	event_rates_step(&e->rates, &event_run_stream(e->run)->coverage, seconds);
	return event_run_show(e->run, &count_view,
			      &(struct count_answer){.rates = &e->rates,
						     .all = o->events,
						     .start_ns = epoch_of(e, start_ns),
						     .duration_ns = end_ns - start_ns},
			      0, &options, err);
}

static int check_options(const struct options *o, uint64_t kinds, struct error *err)
{
	if (o->stack)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--count cannot be combined with --stack: counts have no stacks");
	if (o->output && (timeline_output_is_wanted(o->output) || event_run_is_capture(o->output)))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--count writes a table, not events: -o cannot be a capture or a "
				 "time line. Name a text file, or give -j for JSON");
	/* Counting probes do not filter by duration. */
	if (o->longer_than_ns && !o->input && kinds & event_filter_lasting_kinds())
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--count counts all events of a kind, however long: leave it out, "
				 "or count long ones only with -e long_gc,long_schedule");
	return 0;
}

int events_count(struct command_context *ctx, uint64_t kinds, struct error *err)
{
	struct events_count e = {.ctx = ctx, .kinds = kinds};
	const struct event_consumer consumer = {
		.kinds = kinds,
		.counts = true,
		.columns = event_rate_columns,
		.arg = &e,
		.started = on_started,
		.end = on_end,
		.event = on_event,
		.show = show,
	};
	int rc = check_options(&ctx->opt, kinds, err);

	rc = rc ? rc : event_run(ctx, &consumer, &e.run, err);
	event_run_close(e.run);
	return rc;
}
