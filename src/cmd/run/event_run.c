/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See event_run.h.  Of a live node: probes -> rings -> enricher -> capture writer and stream.  The
 * rings are drained every DRAIN_EVERY_NS, each time for SOURCE_DRAIN_NS at most, so that signals,
 * deadlines and the output are checked in between.
 */
#include "cmd/run/event_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/units.h"
#include "beam/locate/node_open.h"
#include "beam/process/process.h"
#include "cmd/command/loop.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/run/capture_input.h"
#include "cmd/run/event_probes.h"
#include "cmd/run/event_run_internal.h"
#include "cmd/run/target.h"

#define DRAIN_EVERY_NS 50000000u
#define FLUSH_EVERY_NS 1000000000u
#define LONG_NS	       10000000u /* threshold of long_gc and long_schedule without --longer-than */

/* ---- records --------------------------------------------------------------------------------- */

/* Warns at once of kinds that were dropped for good; event_run_report() repeats it at the end. */
static void take_coverage(struct event_run *run, const struct rec_header *rec)
{
	struct coverage *c = &run->stream.coverage, before = *c;
	uint64_t refused = run->stream.refused;
	enum event_kind kind;
	struct event ev;

	event_stream_take(&run->stream, rec, &ev, &kind);
	if (run->consumer->other && run->stream.refused == refused)
		run->consumer->other(run->consumer->arg, &ev);
	for (int i = 0; i < NR_EVENT_KINDS; i++) {
		if (coverage_dropped(c, (enum event_kind)i) &&
		    !coverage_dropped(&before, (enum event_kind)i))
			log_warn("ebeam: %s is not watched any more: %s", event_rows[i].name,
				 coverage_failed(c, (enum event_kind)i)
					 ? "its probes could not be placed again (-vv says why)"
					 : "even in short sampling windows its probes cost the "
					   "node more than --max-overhead allows");
	}
}

static void take_call(struct event_run *run, const struct event *ev)
{
	const struct event_consumer *c = run->consumer;

	run->stream.last_ns = MAX(run->stream.last_ns, ev->ts_ns);
	if (c->call && !run->stopped &&
	    event_filter_is_about(&run->filter, &run->stream, ev->u.call.process))
		run->stopped = c->call(c->arg, ev) != 0;
}

/* After the consumer has stopped, events are ignored; all other records are still processed. */
static void take_record(struct event_run *run, const struct rec_header *rec)
{
	const struct event_consumer *c = run->consumer;
	uint64_t refused = run->stream.refused;
	enum event_kind kind;
	struct event ev;

	if (rec->type == REC_COVERAGE) {
		take_coverage(run, rec);
		return;
	}
	if (!event_stream_take(&run->stream, rec, &ev, &kind)) {
		if (run->stream.refused != refused)
			return;
		if (rec->type == REC_CALL)
			take_call(run, &ev);
		else if (c->other)
			c->other(c->arg, &ev);
		return;
	}
	if (run->stopped || !(c->kinds >> kind & 1))
		return;
	if (!event_filter_takes(&run->filter, &run->stream, kind, &ev))
		return;
	/* A consumer of calls counts them itself, with event_run_count(); not what comes beside. */
	run->taken += !c->calls || c->calls->beside;
	coverage_seen(&run->stream.coverage, kind);
	run->stopped = c->event(c->arg, kind, &ev) != 0;
}

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct event_run *run = arg;

	take_record(run, rec);
	return run->writer ? capture_writer_add(run->writer, rec, err) : 0;
}

static int drained(struct event_run *run, struct error *err)
{
	const struct event_consumer *c = run->consumer;

	return c->drained ? c->drained(c->arg, err) : 0;
}

static int show(struct event_run *run, bool last, struct error *err)
{
	const struct event_consumer *c = run->consumer;
	int rc = run->out && c->show ? c->show(c->arg, last, err) : 0;

	run->answered = true;
	run->span_start_ns = MAX(run->span_start_ns, run->seen_until_ns);
	if (run->ctx->opt.watch_ns) {
		coverage_mark(&run->stream.coverage);
		run->shown_taken = run->taken;
		memcpy(run->shown_counters, run->stream.counters, sizeof(run->shown_counters));
	}
	return rc;
}

/* ---- of a node ------------------------------------------------------------------------------- */

/* Can the output take more lines?  Waits for a slow reader only if `wait`: at the end, when the
 * probes are detached.  Consumers that write answers and no lines never wait for room. */
static bool has_room(struct event_run *run, bool wait)
{
	if (!run->pipe || !run->consumer->either || !outpipe_full(run->pipe))
		return true;
	return wait && outpipe_finish(run->pipe) == 0;
}

/* has_room(), and remembers a slow reader, which event_run_report() names if events were lost. */
static bool reader_keeps_up(struct event_run *run, bool wait)
{
	bool room = has_room(run, wait);

	run->reader_waits |= !room;
	return room;
}

/* source_consumer.go_on while the probes are attached. */
static bool goes_on(void *arg)
{
	struct event_run *run = arg;

	return !run->stopped && reader_keeps_up(run, false);
}

/* source_consumer.go_on after the probes were detached: drains the rings to the end, unless writing
 * fails. */
static bool goes_on_at_end(void *arg)
{
	return reader_keeps_up(arg, true);
}

static int drain(struct event_run *run, uint64_t max_ns, struct error *err)
{
	bool last = max_ns == SOURCE_DRAIN_ALL;
	const struct source_consumer consumer = {
		.take = take, .go_on = last ? goes_on_at_end : goes_on, .arg = run};
	uint64_t now = clock_monotonic_ns();
	int rc;

	if (!reader_keeps_up(run, last))
		return 0;
	rc = live_drain(&run->live, max_ns, &consumer, err);
	if (run->consumer->counts)
		run->seen_until_ns = now;
	else
		run->seen_until_ns =
			MAX(run->seen_until_ns, rc ? run->stream.last_ns : now - SESSION_WINDOW_NS);
	return rc < 0 ? rc : drained(run, err);
}

/* The next drain comes after a random 50 to 150 % of the period: sampling windows of calls begin at
 * drains, and must not run in step with anything periodic in the node. */
static void set_next_drain(struct event_run *run, uint64_t now)
{
	uint64_t every = run->consumer->drain_every_ns;

	every = every ? every : DRAIN_EVERY_NS;
	loop_set_alarm(run->drain,
		       now + (uint64_t)((0.5 + random_uniform(&run->random)) * (double)every), 0);
}

static int on_drain(void *arg, struct error *err)
{
	struct event_run *run = arg;
	uint64_t now = clock_monotonic_ns();
	int rc = drain(run, SOURCE_DRAIN_NS, err);

	set_next_drain(run, now);
	live_add_schedulers(&run->live, false);
	live_add_slices(&run->live);
	rc = rc ? rc : event_run_check_output(run, err);
	if (rc)
		return rc;
	if (run->writer && now - run->flushed_ns >= FLUSH_EVERY_NS) {
		run->flushed_ns = now;
		rc = capture_writer_flush(run->writer, err);
	}
	return rc < 0 ? rc : run->stopped;
}

/* An interval of --watch ends now, though its events arrive SESSION_WINDOW_NS later: what the
 * schedulers did until now is recorded as part of it. */
static int on_edge(void *arg, struct error *err)
{
	struct event_run *run = arg;

	UNUSED(err);
	live_add_schedulers(&run->live, true);
	live_add_slices(&run->live);
	return 0;
}

static int on_watch(void *arg, struct error *err)
{
	struct event_run *run = arg;
	uint64_t now = clock_monotonic_ns();
	int rc;

	/* Less than half an interval would be left for the last answer: it covers both. */
	if (run->deadline_ns && run->deadline_ns < now + run->ctx->opt.watch_ns / 2)
		return 0;
	if (run->pipe && outpipe_waits(run->pipe)) {
		if (!run->skipped++)
			log_warn("ebeam: the last answer has not been read: the next one covers a "
				 "longer interval");
		return event_run_check_output(run, err);
	}
	/* Records of what was lost so far come before any newer event. */
	live_add_counters(&run->live, run->stream.refused, now);
	rc = drain(run, SOURCE_DRAIN_NS, err);
	rc = rc ? rc : show(run, false, err);
	return rc ? rc : event_run_check_output(run, err);
}

#define SCHEDULING (1ull << EVENT_PROCESS_SCHEDULED)
#define COLLECTING (1ull << EVENT_GC_MINOR_END | 1ull << EVENT_GC_MAJOR_END)

/* A capture has what `sched -i` and `gc -i` need, unless the consumer says otherwise. */
static int watch_schedulers(struct event_run *run, struct error *err)
{
	uint64_t kept = run->writer && !run->consumer->no_schedulers ? run->plan.kinds : 0;
	bool work = run->consumer->work || kept & SCHEDULING;
	/* GC samples are of all processes, so they are of no use for chosen ones (--process). */
	bool gc = (run->consumer->gc || kept & COLLECTING) && !run->unprobed &&
		  !options_choose_processes(&run->ctx->opt);

	if (run->unprobed) {
		const struct slice_watch_config config = {
			.kinds = run->unprobed,
			.longer_than_ns = event_run_longer_than(run),
			.unsure = run->consumer->either,
			.realtime = !run->ctx->opt.no_realtime,
		};
		int rc = live_watch_slices(&run->live, &config, err);

		if (rc)
			return rc;
	}
	if (!work && !gc && !run->consumer->cpu)
		return 0;
	return live_watch_schedulers(&run->live, &run->ctx->opt, work, gc, err);
}

/* Attaches the probes and runs the loop.  Positive: what ended it (enum loop_end). */
static int run_loop(struct event_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	struct loop_alarm *answer = NULL, *edge = NULL;
	struct loop *loop = NULL;
	int rc = loop_open(&loop, err);

	rc = rc ? rc : loop_watch_pid(loop, run->node->os_pid, err);
	rc = rc ? rc : loop_add_alarm(loop, &run->drain, on_drain, run, err);
	if (rc == 0) {
		run->random = clock_monotonic_ns() | 1;
		set_next_drain(run, clock_monotonic_ns());
	}
	if (rc == 0 && o->watch_ns && run->consumer->show)
		rc = loop_add_alarm(loop, &answer, on_watch, run, err);
	if (rc == 0 && answer)
		rc = loop_add_alarm(loop, &edge, on_edge, run, err);
	if (rc == 0 && run->consumer->begin)
		rc = run->consumer->begin(run->consumer->arg, err);
	/* From here on signals are caught, so probes are always detached in order. */
	if (rc == 0 && run->live.session)
		rc = session_start(run->live.session, err);
	if (rc == 0 && run->consumer->started)
		rc = run->consumer->started(run->consumer->arg, err);
	if (rc == 0) {
		live_add_watching(&run->live, run->plan.kinds | run->unprobed, run->unprobed);
		event_run_report_budget(run);
		event_run_check_stopped(run, false);
		rc = watch_schedulers(run, err);
	}
	if (rc == 0)
		log_info("%u probes attached", run->plan.nr_points);
	run->span_start_ns = run->seen_until_ns = clock_monotonic_ns();
	if (o->watch_ns) {
		coverage_take_work(&run->stream.coverage, 0, run->span_start_ns);
		coverage_mark(&run->stream.coverage);
	}
	/* The first interval begins when the probes are attached.  Its answer comes
	 * SESSION_WINDOW_NS after its end, when its events have come out of the rings. */
	if (answer) {
		loop_set_alarm(edge, run->span_start_ns + o->watch_ns, o->watch_ns);
		loop_set_alarm(answer, run->span_start_ns + o->watch_ns + SESSION_WINDOW_NS,
			       o->watch_ns);
	}
	if (rc == 0 && o->duration_ns) {
		run->deadline_ns = run->span_start_ns + o->duration_ns;
		rc = loop_set_deadline(loop, o->duration_ns, err);
	}
	if (rc == 0)
		rc = loop_run(loop, err);
	loop_close(loop);
	return rc;
}

static int finish(struct event_run *run, struct error *err)
{
	uint64_t end_ns = clock_monotonic_ns();
	int rc;

	if (run->consumer->end)
		run->consumer->end(run->consumer->arg);
	if (!run->node_stopped)
		event_run_check_stopped(run, true);
	live_end_schedulers(&run->live);
	live_end_slices(&run->live);
	if (run->live.session)
		live_stop(&run->live);
	rc = drain(run, SOURCE_DRAIN_ALL, err);
	if (rc)
		return rc;
	if (run->consumer->detached)
		run->consumer->detached(run->consumer->arg);
	live_add_end(&run->live, run->stream.refused, end_ns);
	return drain(run, SOURCE_DRAIN_ALL, err);
}

static int end(struct event_run *run, struct error *err)
{
	int rc = show(run, true, err);

	if (run->pipe)
		outpipe_finish(run->pipe);
	rc = rc ? rc : event_run_check_output(run, err);
	rc = rc ? rc : event_run_close_output(run, err);
	if (rc == 0)
		event_run_report(run);
	return rc;
}

static int add_meta(struct event_run *run, struct error *err)
{
	const struct event_consumer *c = run->consumer;
	int rc = live_add_meta(&run->live, run->ctx->command->name, c->mode ? c->mode : "events", 0,
			       err);

	if (rc == 0 && c->weight)
		enrich_add_meta(run->live.enrich, "weight", c->weight);
	return rc;
}

/* Opens `live`, and reports kinds that the node has, but whose programs the kernel refused. */
static int open_live(struct event_run *run, const struct live_config *config, struct error *err)
{
	uint64_t planned = config->events ? run->plan.kinds : 0;
	int rc = config->events || config->calls ? live_open(&run->live, run->node, config, err)
						 : live_open_memory(&run->live, run->node, err);

	planned &= ~run->plan.kinds;
	for (int kind = 0; rc == 0 && kind < NR_EVENT_KINDS; kind++)
		if (planned >> kind & 1)
			event_run_report_refused(&run->plan, planned, kind);
	return rc;
}

static bool is_chosen(const struct options *o)
{
	return options_choose_processes(o) || o->from || o->to;
}

static int watch(struct event_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	struct live_config config = {
		.opt = o,
		.events = run->consumer->kinds ? &run->plan : NULL,
		.calls = run->consumer->calls,
		.event_stacks = run->consumer->stacks,
		.libc_every = run->consumer->libc_every,
		.libc_frees = run->consumer->libc_frees,
		.max_overhead = o->max_overhead,
		.rate = run->consumer->rate,
		.longer_than_ns = event_run_longer_than(run),
		.gc_longer_than_ns = run->consumer->gc_longer_than_ns,
		.counting = run->consumer->counts,
	};
	int rc;

	event_run_plan_unprobed(run);
	if (!(run->consumer->kinds & ~run->unprobed))
		config.events = NULL;
	rc = config.events ? event_run_plan(run, err) : 0;
	/* Calls can be traced without events. */
	if (rc == -ENOTSUP && run->consumer->calls && !run->consumer->calls->beside) {
		log_warn("%s", err->msg);
		config.events = NULL;
		rc = 0;
	}
	if (rc == 0 && run->consumer->counts && !is_chosen(o))
		source_plan_count(&run->plan, false);
	if (rc == 0 && o->dry_run)
		event_run_report_unprobed(run);
	if (rc == 0 && o->dry_run)
		return event_probes_show(run->ctx, run->node, &run->plan, err);
	rc = rc ? rc : event_run_filter_node(run, &config, err);
	rc = rc ? rc : open_live(run, &config, err);
	rc = rc ? rc : event_run_open_output(run, err);
	rc = rc ? rc : add_meta(run, err);
	rc = rc ? rc : run_loop(run, err);
	if (rc < 0)
		return rc;
	if (rc == LOOP_END_EXITED)
		log_warn("ebeam: the node (pid %d) has exited, which ends the run",
			 run->node->os_pid);
	rc = finish(run, err);
	return rc ? rc : end(run, err);
}

/* ---- of a capture ---------------------------------------------------------------------------- */

/* Fails for a capture without the kinds that the command needs: zeros would be wrong. */
static int check_kinds(const struct event_run *run, struct error *err)
{
	const struct event_stream *s = &run->stream;
	struct strbuf names = STRBUF_INIT;
	int rc;

	if (run->consumer->calls && strcmp(s->mode, run->consumer->mode) == 0)
		return 0;
	if (run->consumer->calls)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "%s holds no calls: it was not recorded by 'ebeam %s'",
				 run->ctx->opt.input, run->ctx->command->name);
	if (s->watched & run->consumer->kinds)
		return 0;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (s->watched >> kind & 1)
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", event_rows[kind].name);
	}
	rc = error_set(err, ERROR_KIND_FAILED, -ENODATA,
		       "%s holds no events of '%s'; recorded kinds: %s", run->ctx->opt.input,
		       run->ctx->command->name, names.len ? names.buf : "none");
	strbuf_free(&names);
	return rc;
}

static bool wait_for_reader(void *arg)
{
	struct event_run *run = arg;

	has_room(run, true);
	return !run->out || !ferror(run->out);
}

static int read_capture(struct event_run *run, struct capture_reader *reader, struct error *err)
{
	const struct source_consumer consumer = {
		.take = take, .go_on = wait_for_reader, .arg = run};
	int rc = source_drain(capture_reader_source(reader), SOURCE_DRAIN_ALL, &consumer, err);

	rc = rc < 0 ? rc : check_kinds(run, err);
	rc = rc < 0 ? rc : drained(run, err);
	run->span_start_ns = MAX(run->stream.start_ns, run->stream.watching_ns);
	rc = rc < 0 ? rc : end(run, err);
	return rc ? rc
		  : capture_input_warn(run->ctx->opt.input, capture_reader_damage(reader), "shown");
}

static int replay(struct event_run *run, struct error *err)
{
	struct capture_input in;
	int rc = capture_input_open(&in, run->ctx->opt.input, err);

	if (rc)
		return rc;
	rc = event_run_open_output(run, err);
	if (rc == 0) {
		run->stream.start_epoch_ns = capture_reader_start_epoch_ns(in.reader);
		rc = read_capture(run, in.reader, err);
	}
	capture_input_close(&in);
	return rc;
}

/* ---- interface ------------------------------------------------------------------------------- */

static int check_options(const struct options *o, const struct event_consumer *c, struct error *err)
{
	const struct table table = {.columns = c->columns};
	const struct table_options options = {.columns = o->columns, .sort = o->sort};
	/* -n of lines ends the run; of a table it only limits the rows */
	bool ends = o->duration_ns || o->dry_run || (o->limit && c->either);
	int rc = c->columns ? table_check(&table, &options, err) : 0;

	if (rc)
		return rc;
	if (o->input && (o->pid || o->duration_ns || o->watch_ns))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-i reads a capture: it cannot be combined with -p, -d or "
				 "--watch");
	return options_check_end(o->input || ends, err);
}

int event_run(struct command_context *ctx, const struct event_consumer *c, struct event_run **out,
	      struct error *err)
{
	struct event_run *run;
	int rc = check_options(&ctx->opt, c, err);

	*out = NULL;
	if (rc)
		return rc;
	run = xcalloc(1, sizeof(*run));
	run->ctx = ctx;
	run->consumer = c;
	*out = run;
	rc = event_run_filter(run, err);
	if (rc)
		return rc;
	event_stream_open(&run->stream);
	if (c->ready)
		c->ready(c->arg);
	if (ctx->opt.input)
		return replay(run, err);
	rc = target_open(&run->node, ctx, err);
	return rc ? rc : target_failed(run->node, watch(run, err), err);
}

void event_run_close(struct event_run *run)
{
	if (!run)
		return;
	outpipe_close(run->pipe);
	outfile_abort(&run->output);
	outfile_abort(&run->capture);
	capture_writer_close(run->writer);
	live_close(&run->live);
	beam_node_close(run->node);
	event_stream_close(&run->stream);
	event_filter_free(&run->filter);
	free(run);
}

struct event_stream *event_run_stream(struct event_run *run)
{
	return &run->stream;
}

struct live *event_run_live(struct event_run *run)
{
	return &run->live;
}

struct beam_node *event_run_node(struct event_run *run)
{
	return run->node;
}

uint64_t event_run_start_epoch_ns(const struct event_run *run)
{
	return run->live.start_epoch_ns;
}

FILE *event_run_out(struct event_run *run)
{
	return run->out;
}

FILE *event_run_target(const struct event_run *run)
{
	return run->target ? run->target : run->out;
}

struct table_options event_run_table_options(const struct event_run *run, const char *sort,
					     unsigned int rows)
{
	const struct options *o = &run->ctx->opt;

	return (struct table_options){.columns = o->columns,
				      .sort = o->sort ? o->sort : sort,
				      .limit = o->limit || o->json ? o->limit : rows,
				      .color = render_color(o, event_run_target(run))};
}

void event_run_span(const struct event_run *run, uint64_t *start_ns, uint64_t *end_ns)
{
	*start_ns = run->span_start_ns;
	if (run->node)
		*end_ns = run->stream.duration_ns ? run->stream.start_ns + run->stream.duration_ns
						  : run->seen_until_ns;
	else
		*end_ns = run->stream.duration_ns ? run->stream.start_ns + run->stream.duration_ns
						  : run->stream.last_ns;
	*end_ns = MAX(*start_ns, *end_ns);
}

uint64_t event_run_longer_than(const struct event_run *run)
{
	uint64_t ns = run->ctx->opt.longer_than_ns;

	return ns ? ns : LONG_NS;
}

void event_run_count(struct event_run *run)
{
	run->taken++;
}

void event_run_count_more(struct event_run *run, uint64_t nr)
{
	run->taken += nr;
}

uint64_t event_run_taken(const struct event_run *run)
{
	return run->taken;
}
