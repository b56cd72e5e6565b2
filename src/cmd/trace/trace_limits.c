/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam trace` missed by throttling, and which limits would be enough (trace.h). */
#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"
#include "base/random.h"
#include "base/units.h"
#include "cmd/trace/trace.h"
#include "probe/limit/budget.h"

/* Higher limits are not advised if hits would take more than this part of the node's CPU time. */
#define MOST_OF_CPU 1

/* Calls of Erlang or of C functions, of which a part was missed by throttling. */
struct limited {
	uint64_t tripped, seen;
	double time;	     /* part of the time in which calls were seen */
	double share;	     /* part of the calls that was seen, estimated */
	double below, above; /* error of the number of calls, as breakpoints_state.error */
	bool least;	     /* the number is a lower bound: there may be many more calls */
	const char *of;
};

/* " (9,500 .. 10,600, 95 % confidence interval)", " (9,500 or more)" */
static void add_interval(struct strbuf *out, double calls, const struct limited *l)
{
	char from[32], to[32];

	units_format_count((uint64_t)MAX(calls / exp(l->below), (double)l->seen), from,
			   sizeof(from));
	units_format_count((uint64_t)MIN(calls * exp(l->above), 1e18), to, sizeof(to));
	if (l->least)
		strbuf_addf(out, " (%s or more)", from);
	else
		strbuf_addf(out, " (%s .. %s, 95 %% confidence interval)", from, to);
}

static void report_limited(struct trace *t, const struct limited *l)
{
	struct strbuf all = STRBUF_INIT;
	char seen[32], sum[32];
	double calls = l->share > 0 ? MIN((double)l->seen / l->share, 1e18) : 0;

	if (!l->tripped)
		return;
	/* With -n reached, the number of all calls is not known. */
	if (l->seen && calls > 0 && !trace_is_full(t)) {
		units_format_count(l->seen, seen, sizeof(seen));
		units_format_count((uint64_t)calls, sum, sizeof(sum));
		strbuf_addf(&all, "%.3g %% of calls%s traced, %s of about %s", 100 * l->share,
			    l->of, seen, sum);
		if (l->below > 0)
			add_interval(&all, calls, l);
		else if (l->share < 1)
			strbuf_addstr(&all, " (a guess)");
	}
	if (all.len)
		strbuf_addstr(&all, "; they were");
	else
		strbuf_addf(&all, "calls%s were", l->of);
	trace_warn(t,
		   "rate limit reached: %s seen %.3g %% of the time; --max-overhead and --rate "
		   "raise the limit",
		   all.buf, 100 * l->time);
	strbuf_free(&all);
}

/* Do hits take more than a tenth of the time in which calls were seen?  Then they slow the callers
 * down: while calls were not seen, there were more of them than an estimate says. */
static bool takes_much(double hits_ns, double on_ns)
{
	return 10 * hits_ns > on_ns;
}

/* The error (log of a factor) of an estimated number of calls.  It has two parts: the error of the
 * number of all hits, `of_all`, and that of the part of the hits that were wanted, `seen` of
 * `hits`, which is large if few were seen. */
static double error_of_part(uint64_t seen, double of_all, double hits)
{
	double part = hits > 0 ? MIN((double)seen / hits, 1) : 1;

	return seen ? hypot(of_all, NORMAL_95 * sqrt((1 - part) / (double)seen)) : of_all;
}

double trace_call_error(void *arg)
{
	const struct trace *t = arg;
	const struct event_stream_limited *l = &event_run_stream(t->run)->calls.limited;

	return trace_is_full(t) ? -1 : error_of_part(t->seen[0], l->error, l->hits);
}

/* As coverage_error(); 0 if there may be many more calls, negative if the error is not known. */
double trace_c_call_error(void *arg)
{
	const struct trace *t = arg;
	const struct event_stream *s = event_run_stream(t->run);
	double time = s->last_ns > s->start_ns ? (double)(s->last_ns - s->start_ns) : 0;

	if (trace_is_full(t) || !t->seen[1])
		return -1;
	if (coverage_is_cut(&s->coverage, COVERAGE_CALLS) ||
	    takes_much((double)t->seen[1] * s->calls.hit_ns[1], s->calls.share_ppm / 1e6 * time))
		return 0;
	return coverage_error(&s->coverage, COVERAGE_CALLS);
}

/* Rounds up to two significant digits: 123456 -> 130000. */
static double two_digits(double n)
{
	double unit = pow(10, floor(log10(MAX(n, 1))) - 1);

	return unit < 1 ? ceil(n) : ceil(n / unit) * unit;
}

/*
 * Warns which limits would let all calls of Erlang functions be seen: twice what all hits take on
 * average, as calls come unevenly.  An idle node counts as one that uses BUDGET_MIN_BUSY of a core.
 */
static void report_enough(struct trace *t)
{
	const struct breakpoints_state *b = &t->last;
	double all = b->share > 0 ? b->cost / 100 / b->share : 0, seconds, percent, rate, now_rate;
	const char *of = b->cost_of_core ? "a core" : "the CPU that its schedulers use";
	struct strbuf limits = STRBUF_INIT;

	if (!b->tripped || all <= 0 || trace_is_full(t))
		return;
	now_rate = t->ctx->opt.rate ? t->ctx->opt.rate : TRACE_RATE;
	seconds = (double)(clock_monotonic_ns() - t->points.begin_ns) / 1e9;
	percent = MIN(200 * all / (b->cost_of_core ? BUDGET_MIN_BUSY : 1), 100);
	rate = 2 * (double)b->most_hits / b->share / seconds; /* --rate is of each thread */
	if (percent <= t->ctx->opt.max_overhead && rate <= now_rate) { /* calls come in bursts */
		percent = MIN(4 * t->ctx->opt.max_overhead, 100);
		rate = 4 * now_rate;
	}
	rate = MIN(rate, OPTION_RATE_MAX);
	if (all > MOST_OF_CPU) {
		trace_warn(t,
			   "seeing all of these calls would cost too much: their hits would take "
			   "about %.*f times %s%s",
			   all < 10, all, of,
			   t->ctx->opt.longer_than_ns ? ". What long calls wait for, or do, 'ebeam "
							"record --mode wall' shows without probes"
						      : "");
		return;
	}
	if (percent > t->ctx->opt.max_overhead)
		strbuf_addf(&limits, " --max-overhead %.0f", two_digits(percent));
	if (rate > now_rate)
		strbuf_addf(&limits, " --rate %.0f", MIN(two_digits(rate), OPTION_RATE_MAX));
	if (limits.len)
		trace_warn(t,
			   "with %s all calls should be seen: their hits would take about %.2g %% "
			   "of %s",
			   limits.buf + 1, 100 * all, of);
	strbuf_free(&limits);
}

void trace_limits_report(struct trace *t)
{
	const struct event_stream *stream = event_run_stream(t->run);
	const struct event_stream_calls *c = &stream->calls;
	const struct event_stream_limited *s = &c->limited;
	struct limited erlang = {
		.tripped = s->tripped,
		.seen = t->seen[0],
		.time = s->time,
		.share = s->share,
		.below = error_of_part(t->seen[0], s->error, s->hits),
		.above = error_of_part(t->seen[0], MIN(s->error, log(MAX(s->most, 1))), s->hits),
		.of = t->seen[1] ? " of Erlang functions" : "",
	};
	double c_error = log(MAX(coverage_error(&stream->coverage, COVERAGE_CALLS), 1));
	struct limited c_code = {
		.tripped = c->tripped,
		.seen = t->seen[1],
		.time = c->share_ppm / 1e6,
		.share = coverage_share(&stream->coverage, COVERAGE_CALLS),
		.below = c_error,
		.above = c_error,
		.of = t->seen[0] ? " of C functions" : "",
	};
	size_t nr_callers = 0;

	c_code.least = trace_c_call_error(t) == 0;
	report_limited(t, &erlang);
	report_enough(t);
	report_limited(t, &c_code);
	if (!erlang.tripped && !c_code.tripped)
		return;
	if (t->stats)
		call_stats_callers(t->stats, &nr_callers);
	if (t->functions.v.len > 1)
		trace_warn(t, TRACE_EACH_BY_ITSELF);
	if (t->stats && nr_callers > 1)
		trace_warn(t, "of calls that come in bursts the first are seen most: the callers "
			      "of those have a larger share here than of all calls");
	if ((t->stats || t->ctx->opt.longer_than_ns) && t->functions.returns)
		trace_warn(t, "ends of long calls are missed most of all: the slowest may not be "
			      "among these");
}
