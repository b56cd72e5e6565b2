/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam trace`: calls of functions, each a line: patterns -> functions -> breakpoints -> records
 * -> lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/trace/trace.h"

#define TRACE_LIMIT	  10
#define TRACE_DURATION_NS 15000000000ull
/* Bytes of text of a term.  A word of 8 bytes that is copied makes about 8 bytes of text. */
#define TRACE_SIZE  4096
#define TRACE_DEPTH 32
/* Words copied with each call, at least: enough for 255 arguments and a bit of their contents. */
#define TRACE_WORDS_MIN 320u
/* Rings are drained soon, as records of calls show which return sites need a breakpoint. */
#define TRACE_DRAIN_NS 10000000u

static int on_begin(void *arg, struct error *err)
{
	struct trace *t = arg;
	int rc = trace_functions_find(&t->functions, t, NULL, err);

	rc = rc ? rc : trace_points_open(t, err);
	if (rc == 0)
		trace_code_open(t);
	return rc;
}

static int on_started(void *arg, struct error *err)
{
	return trace_points_begin(arg, err);
}

static void on_end(void *arg)
{
	trace_points_close(arg);
}

void trace_warn(struct trace *t, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	log_warn("ebeam: %s", text.buf);
	vec_push(&t->warnings, strbuf_detach(&text, NULL));
}

static const char *const *warnings(void *arg, size_t *nr)
{
	struct trace *t = arg;

	*nr = t->warnings.len;
	return (const char *const *)t->warnings.data;
}

void trace_count(struct trace *t, const struct event *ev)
{
	struct event_stream *s = event_run_stream(t->run);
	bool is_c = event_stream_call_is_c(s, ev);

	t->seen[is_c]++;
	if (is_c)
		coverage_seen(&s->coverage, COVERAGE_CALLS);
}

/* Warns of calls whose end was not seen, by reason. */
static void report_ends(struct trace *t)
{
	const struct event_stream *s = event_run_stream(t->run);
	/* call_pairs_under_way() must be first: it moves calls to `unseen`. */
	uint64_t under_way = call_pairs_under_way(t->pairs), unseen = call_pairs_unseen(t->pairs);
	uint64_t refused = call_pairs_refused(t->pairs), textless = call_pairs_textless(t->pairs);
	bool sure = call_follow_is_sure(s);

	/* A capture may have no ends of calls. */
	if (t->functions.returns && !sure && (!t->ctx->opt.input || t->has_ends))
		trace_warn(
			t,
			"exceptions or hibernating processes of this node cannot be watched: of "
			"tail calls only the end of the last one is shown, and if a call raised, "
			"the end of a later call from the same site may be shown as its end");
	if (unseen)
		trace_warn(t,
			   "how %" PRIu64
			   " call%s ended is not known: the rate limit was reached meanwhile%s, "
			   "the process hibernated or did not come back to the return site, or the "
			   "breakpoint there was removed too early",
			   unseen, trace_plural(unseen),
			   coverage_share_of(&s->coverage, CALL_FOLLOW_KINDS) < 1
				   ? ", exceptions were not watched all the time (--max-overhead)"
				   : "");
	if (refused)
		trace_warn(t,
			   "the ends of %" PRIu64 " call%s were not waited for: too many were "
			   "under way",
			   refused, trace_plural(refused));
	if (under_way)
		trace_warn(t, "%" PRIu64 " call%s had not ended", under_way,
			   trace_plural(under_way));
	if (textless)
		trace_warn(t,
			   "of %" PRIu64 " call%s the arguments were not kept: too many were "
			   "under way",
			   textless, trace_plural(textless));
}

/* Says of how many calls the end was seen, as "none took longer" means little for few calls. */
static void report_longer(struct trace *t)
{
	const struct event_stream_limited *l = &event_run_stream(t->run)->calls.limited;
	char longer[32], seen[128] = "";

	if (l->tripped && l->time < 0.95)
		snprintf(seen, sizeof(seen),
			 "; calls were not seen for %.1f %% of the time (rate limit), and long "
			 "ones may be among those",
			 100 * (1 - l->time));
	trace_warn(t, "%" PRIu64 " of %" PRIu64 " calls whose end was seen took longer than %s%s",
		   t->shown, t->ended[0] + t->ended[1],
		   units_format_ns(t->ctx->opt.longer_than_ns, longer, sizeof(longer)), seen);
}

static void report_nothing(struct trace *t)
{
	uint64_t start_ns, end_ns;
	char time[32];

	event_run_span(t->run, &start_ns, &end_ns);
	trace_report_nothing(t, units_format_ns(end_ns - start_ns, time, sizeof(time)));
}

void trace_report(struct trace *t)
{
	if (t->reported)
		return;
	t->reported = true;
	if (t->ctx->opt.longer_than_ns)
		report_longer(t);
	if (!t->ctx->opt.limit && trace_is_full(t))
		trace_warn(t,
			   "ended after the first %u calls: -n says how many are shown, --count "
			   "counts all",
			   t->limit);
	trace_limits_report(t);
	if (t->functions.undecided)
		trace_warn(t,
			   "%" PRIu64 " call%s left out, as it is not known whether the pattern "
			   "matches: arguments were truncated (--size, --depth)",
			   t->functions.undecided, trace_plural(t->functions.undecided));
	trace_points_report(t);
	if (!t->ctx->opt.input && !t->seen[0] && !t->seen[1] && !t->functions.undecided)
		report_nothing(t);
	report_ends(t);
	trace_code_report(t);
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct trace *t = arg;
	bool first = t->stats && t->ctx->opt.json; /* warnings are part of the answer */
	int rc;

	if (!last)
		return 0;
	if (first)
		trace_report(t);
	rc = t->stats ? trace_totals_show(t, err) : 0;
	if (rc == 0 && !first)
		trace_report(t);
	return rc;
}

static int on_drained(void *arg, struct error *err)
{
	return trace_points_tick(arg, err);
}

bool trace_is_full(const struct trace *t)
{
	return t->limit && t->shown >= t->limit;
}

bool trace_takes(const struct trace *t, const struct event *ev)
{
	const struct names *names = event_run_stream(t->run)->names;

	return !t->ctx->opt.input ||
	       trace_functions_mean(&t->functions, names_function(names, ev->u.call.function));
}

static bool is_enough(const struct trace *t)
{
	return trace_is_full(t) &&
	       (t->ctx->opt.longer_than_ns || call_pairs_under_way(t->pairs) == 0);
}

/* Was the call made before its return site got a breakpoint, so that only ends of later calls can
 * be seen?  It does not count for -n: else the one call of -n 1 would have no end. */
static bool is_extra(struct trace *t, const struct event *ev)
{
	return t->functions.returns && !(ev->u.call.flags & CALL_ENDS) &&
	       trace_sites_watched(t, ev->u.call.site);
}

static int take_call(struct trace *t, const struct event *ev)
{
	const struct event_stream *s = event_run_stream(t->run);
	struct call_under_way call = {.caller = ev->u.call.caller, .shape = ev->u.call.shape};
	bool extra = is_extra(t, ev);
	char *line = NULL;

	call_follow_hit(t->pairs, s, ev);
	trace_count(t, ev);
	if (trace_is_full(t) || !trace_takes(t, ev) || (extra && t->limit && t->extra >= t->limit))
		return is_enough(t);
	if (t->stats && !t->ctx->opt.longer_than_ns) {
		call_stats_begin(t->stats, ev->u.call.function, call.caller, call.shape);
		event_run_count(t->run);
	}
	if (!t->stats)
		line = trace_call_line(t, ev);
	if (t->functions.returns && t->ctx->opt.args)
		call.args = trace_args_text(ev);
	else if (t->ctx->opt.longer_than_ns)
		call.args = line; /* shown when the call has ended */
	if (t->functions.returns)
		call_follow_begin(t->pairs, s, ev, &call);
	if (t->ctx->opt.longer_than_ns)
		return is_enough(t);
	if (!t->stats)
		trace_show_line(t, line);
	t->extra += extra;
	t->shown += !extra;
	return is_enough(t);
}

/* A call took longer than --longer-than: only now it is counted, and its line shown. */
static void begin_late(struct trace *t, struct call_under_way *call)
{
	t->shown++;
	if (t->stats) {
		call_stats_begin(t->stats, call->function, call->caller, call->shape);
		event_run_count(t->run);
	} else if (call->args) { /* NULL: there was no room for the text */
		trace_show_line(t, call->args);
		call->args = NULL;
	}
}

/* A call ended: it returned, or `ev` is a process_exception.  The time that tracing took, an
 * average, is subtracted from its duration, which is 0 if less time passed. */
static void ended(struct trace *t, const struct event *ev, struct call_under_way *call)
{
	uint64_t ns;

	t->ended[call->c_code]++;
	call->unsure_ns = call->tracing_ns / TRACE_UNSURE;
	call->tracing_ns = MIN(call->tracing_ns, ev->ts_ns - call->ts_ns);
	ns = ev->ts_ns - call->ts_ns - call->tracing_ns;
	if (t->ctx->opt.longer_than_ns && (ns < t->ctx->opt.longer_than_ns || trace_is_full(t))) {
		free(call->args);
		return;
	}
	if (t->ctx->opt.longer_than_ns)
		begin_late(t, call);
	if (t->stats)
		call_stats_end(t->stats, &(struct call_ended){
						 .function = call->function,
						 .caller = call->caller,
						 .shape = call->shape,
						 .ns = ns,
						 .exception = ev->type == REC_EVENT,
						 .args = call->args,
					 });
	else
		trace_show_line(t, trace_end_line(t, ev, call));
	free(call->args);
}

static int take_end(struct trace *t, const struct event *ev)
{
	const struct event_stream *s = event_run_stream(t->run);
	struct call_under_way call;

	call_follow_hit(t->pairs, s, ev);
	while (call_follow_end(t->pairs, s, ev, &call))
		ended(t, ev, &call);
	return is_enough(t);
}

/* An exception ends all calls above the height that it unwinds the stack to. */
static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct call_under_way call;
	struct trace *t = arg;

	call_follow_hit(t->pairs, event_run_stream(t->run), ev);
	while (call_follow_event(t->pairs, event_run_stream(t->run), kind, ev, &call))
		ended(t, ev, &call);
	return is_enough(t);
}

static void on_other(void *arg, const struct event *ev)
{
	struct trace *t = arg;

	if (ev->type == REC_COVERAGE)
		call_follow_coverage(t->pairs, event_run_stream(t->run), ev);
}

/* Adds the cost of breakpoints: the session's cost, shown elsewhere, is that of uprobes only. */
void trace_add_cost(const struct trace *t, struct strbuf *line)
{
	if (t->last.hits)
		strbuf_addf(line, "  breakpoints ~%.2f%% of %s", t->last.cost,
			    t->last.cost_of_core ? "a core" : "the CPU of its schedulers");
}

static void closing(void *arg, struct strbuf *line)
{
	struct trace *t = arg;
	const struct options *o = &t->ctx->opt;

	trace_report(t); /* if show() was not called, as with a capture */
	trace_add_cost(t, line);
	if (o->output && strcmp(o->output, "-") != 0)
		strbuf_addf(line, "  -> %s", o->output);
}

static int on_call(void *arg, const struct event *ev)
{
	struct trace *t = arg;
	bool is_call = ev->u.call.kind == CALL_KIND_CALL;

	t->has_ends |= !is_call || ev->u.call.flags & CALL_ENDS;
	return is_call ? take_call(t, ev) : take_end(t, ev);
}

/* Chooses the answer: lines, tables, a profile or a capture; and what is recorded of each call. */
static int choose(struct trace *t, struct event_consumer *consumer, struct error *err)
{
	const struct options *o = &t->ctx->opt;

	t->shapes = o->args || o->capture || event_run_is_capture(o->output);
	/* Durations need ends; those that a capture has are always used. */
	t->functions.returns = o->input || o->histogram || o->args || o->longer_than_ns;
	if (o->longer_than_ns &&
	    (trace_profile_is_wanted(o) || o->capture || event_run_is_capture(o->output)))
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"--longer-than chooses which calls are shown as lines or counted: "
			"flame graphs and captures are of all calls (of a capture, -i FILE "
			"--longer-than shows those)");
	if (trace_profile_is_wanted(o))
		return trace_profile_choose(t, consumer, err);
	if (o->weight && !o->capture && !event_run_is_capture(o->output))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--weight is for a flame graph (-f html, -o x.html) or a capture "
				 "that one is made of later (-o x.ebeam)");
	/* A capture needs ends if a profile by time may be made of it later. */
	t->functions.returns |= o->weight && strcmp(o->weight, "time") == 0;
	if (o->count || o->histogram || o->args) {
		call_stats_open(&t->stats, o->limit);
	} else {
		bool all = o->input || event_run_is_capture(o->output);

		consumer->either = true;
		t->limit = o->limit || all ? o->limit : TRACE_LIMIT;
	}
	return 0;
}

/* Are terms of arguments needed?  Copying them is most of the cost of a hit. */
static bool wants_terms(const struct trace *t)
{
	bool shown = !t->stats && !trace_profile_is_wanted(&t->ctx->opt);

	for (size_t i = 0; i < t->functions.patterns.len; i++)
		shown |= t->functions.patterns.data[i].pattern->has_args;
	return shown || t->shapes;
}

/* Does -o name a file in .json, such as calls.json? */
static bool is_json_file(const struct options *o)
{
	const struct exporter *e = o->output ? exporter_by_suffix(o->output) : NULL;

	return !o->format && e && strcmp(e->name, "json") == 0;
}

/* Were calls of a live node missed by throttling, so that the answer is partial? */
static bool is_partial(const struct trace *t)
{
	return !t->ctx->opt.input && !trace_is_full(t) &&
	       (t->last.tripped || event_run_stream(t->run)->calls.tripped);
}

int cmd_trace(struct command_context *ctx, struct error *err)
{
	struct options *o = &ctx->opt;
	unsigned int size = o->size ? o->size : TRACE_SIZE;
	struct trace t = {.ctx = ctx, .text_size = size};
	struct live_calls calls = {
		.words = MIN(MAX(size / 8, TRACE_WORDS_MIN), (unsigned int)TERM_COPY_WORDS),
		.depth = o->depth ? o->depth : TRACE_DEPTH,
	};
	struct event_consumer consumer = {
		.calls = &calls,
		.mode = "trace",
		.weight = o->weight ? o->weight : "calls",
		.drain_every_ns = TRACE_DRAIN_NS,
		.arg = &t,
		.begin = on_begin,
		.started = on_started,
		.end = on_end,
		.drained = on_drained,
		.call = on_call,
		.call_error = trace_call_error,
		.c_call_error = trace_c_call_error,
		.event = on_event,
		.other = on_other,
		.show = on_show,
		.closing = closing,
		.warnings = warnings,
	};
	int rc;

	if (!o->input && !o->duration_ns)
		o->duration_ns = TRACE_DURATION_NS;
	o->json |= is_json_file(o);
	if (!o->input && !ctx->nr_args)
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"a pattern of the calls is missing, as in: ebeam trace 'lists:sort/1'");
	call_pairs_open(&t.pairs);
	rc = choose(&t, &consumer, err);
	rc = rc ? rc : trace_functions_parse(&t.functions, ctx, err);
	calls.stacks = t.functions.stacks;
	calls.depth = wants_terms(&t) ? calls.depth : 0;
	if (t.functions.returns)
		consumer.kinds = CALL_FOLLOW_KINDS;
	rc = rc ? rc : event_run(ctx, &consumer, &t.run, err);
	trace_points_close(&t);
	if (rc == 0 && is_partial(&t))
		rc = ERROR_KIND_PARTIAL;
	trace_profile_close(&t);
	event_run_close(t.run);
	trace_points_free(&t);
	trace_code_free(&t);
	trace_functions_free(&t.functions);
	call_pairs_close(t.pairs);
	call_stats_close(t.stats);
	for (size_t i = 0; i < t.warnings.len; i++)
		free(t.warnings.data[i]);
	vec_free(&t.warnings);
	return rc;
}
