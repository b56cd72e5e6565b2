/* SPDX-License-Identifier: BSD-2-Clause */
/* What event_run reports about the run: the closing line, the JSON envelope, sampled kinds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/output/envelope.h"
#include "cmd/run/event_run_internal.h"
#include "cmd/run/watch.h"
#include "model/stats/event_rates.h"
#include "view/table/cells.h"
#include "view/table/table.h"

/* Counters that are reported if they are not 0. */
static const struct {
	enum counter_id id;
	const char *name;
} noted[] = {
	{COUNTER_LATE, "late"},
	{COUNTER_RING_FULL, "ring_full"},
	{COUNTER_CALLS_LOST, "calls_lost"},
	{COUNTER_CALLS_SKIPPED, "calls_skipped"},
	{COUNTER_CALLS_UNREAD, "calls_unread"},
	{COUNTER_READ_FAULT, "read_fault"},
	{COUNTER_NO_STACK, "no_stack"},
	{COUNTER_ALIAS_TRUNCATED, "alias_truncated"},
	{COUNTER_DRIVERS_LOADED, "drivers_loaded"},
	{COUNTER_THREAD_TABLE_FULL, "thread_table_full"},
	{COUNTER_NAMES_FULL, "names_full"},
	{COUNTER_BAD_RECORD, "bad_record"},
};

/* How many decimals show a share in percent with two significant digits. */
static int decimals(double share)
{
	int nr = 0;

	for (double least = 0.0995; share < least && nr < 4; least /= 10)
		nr++;
	return nr;
}

/* The largest coverage_error() of the kinds that were seen; 0 = that of a kind is not known. */
static double error_of(const struct coverage *c, uint64_t kinds)
{
	double widest = 1;
	bool any = false;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		any |= kinds >> kind & 1 && coverage_any_seen(c, (enum event_kind)kind);

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		double error = coverage_error(c, (enum event_kind)kind);

		if (!(kinds >> kind & 1) || coverage_dropped(c, (enum event_kind)kind))
			continue;
		if (any && !coverage_any_seen(c, (enum event_kind)kind))
			continue;
		if (error <= 0)
			return 0;
		widest = MAX(widest, error);
	}
	return widest;
}

/* An estimate with a larger error, as a factor, is shown as a guess. */
#define ERROR_MAX 100.0

/* ": totals +-12 %"; the error of a row is larger, as it has fewer events. */
static void add_error(struct strbuf *out, double error)
{
	if (error <= 0 || error > ERROR_MAX)
		strbuf_addstr(out, ": totals are guesses");
	else if (error < 1.5)
		strbuf_addf(out, ": totals +-%.*f %%", error < 1.0995, (error - 1) * 100);
	else if (error > 1)
		strbuf_addf(out, ": totals within a factor of %.*f", error < 9.95, error);
}

/* Was only a part of the kind's events seen, so that counts are estimates? */
static bool is_sampled(const struct coverage *c, enum event_kind kind)
{
	return !coverage_dropped(c, kind) && coverage_watched(c, kind) &&
	       coverage_share(c, kind) < 0.9995;
}

/* "sampled 12 %" or "dropped ..."; false if the kind's probes were enabled all the time.  `total`:
 * of the whole run, else since the last answer. */
static bool add_state(struct strbuf *out, const struct coverage *c, enum event_kind kind,
		      bool total)
{
	double share = total ? coverage_share_total(c, kind) : coverage_share(c, kind);

	if (coverage_failed(c, kind))
		strbuf_addstr(out, "dropped (its probes could not be placed again)");
	else if (coverage_dropped(c, kind))
		strbuf_addstr(out, "dropped (over --max-overhead)");
	else if (!total && !coverage_watched(c, kind))
		strbuf_addstr(
			out,
			"not watched (its sampling windows are further apart than this interval)");
	else if (share < 0.9995)
		strbuf_addf(out, "sampled %.*f %%", decimals(share), share * 100);
	else
		return false;
	return true;
}

/* "message_send, message_queued sampled 12 %: totals +-5 %": kinds in the same state share one
 * text.  Errors are those of this answer, and left out for the whole run (`total`). */
static void add_states(struct strbuf *out, const struct coverage *c, uint64_t kinds, bool total,
		       const char *before, const char *after)
{
	struct strbuf state = STRBUF_INIT, other = STRBUF_INIT;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		uint64_t same = 1ull << kind;

		strbuf_reset(&state);
		if (!(kinds >> kind & 1) || !add_state(&state, c, (enum event_kind)kind, total))
			continue;
		strbuf_addf(out, "%s%s", before, event_rows[kind].name);
		for (int k = kind + 1; k < NR_EVENT_KINDS; k++) {
			strbuf_reset(&other);
			if (!(kinds >> k & 1) || !add_state(&other, c, (enum event_kind)k, total) ||
			    strcmp(other.buf, state.buf) != 0)
				continue;
			strbuf_addf(out, ", %s", event_rows[k].name);
			same |= 1ull << k;
		}
		kinds &= ~same;
		strbuf_addf(out, " %s", state.buf);
		if (!total && is_sampled(c, (enum event_kind)kind))
			add_error(out, error_of(c, same));
		strbuf_addstr(out, after);
	}
	strbuf_free(&state);
	strbuf_free(&other);
}

static void add_lost(struct event_run *run, struct strbuf *line)
{
	uint64_t lost = run->stream.counters[COUNTER_EVENTS_LOST];
	char text[32];
	bool any = false;

	strbuf_addf(line, "  lost %s", units_format_count(lost, text, sizeof(text)));
	for (int kind = 0; lost && run->live.session && kind < NR_EVENT_KINDS; kind++) {
		struct event_count c;

		session_event_count(run->live.session, (enum event_kind)kind, &c);
		if (c.lost)
			strbuf_addf(line, "%s%s %" PRIu64, any ? ", " : " (", event_rows[kind].name,
				    c.lost);
		any |= c.lost != 0;
	}
	if (any)
		strbuf_addch(line, ')');
}

static void add_noted(struct event_run *run, struct strbuf *line)
{
	const struct event_stream *s = &run->stream;

	for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
		if (s->counters[noted[i].id])
			strbuf_addf(line, "  %s %" PRIu64, noted[i].name, s->counters[noted[i].id]);
	}
	if (run->plan.unwatched)
		strbuf_addf(line, "  callbacks of drivers not watched %u", run->plan.unwatched);
	if (s->unknown)
		strbuf_addf(line, "  events of kinds that this version does not know: %" PRIu64,
			    s->unknown);
}

/* "gc_minor_end, gc_major_end" */
static void add_names(struct strbuf *out, uint64_t kinds)
{
	const char *between = "";

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		strbuf_addf(out, "%s%s", between, event_rows[kind].name);
		between = ", ";
	}
}

void event_run_report_unprobed(const struct event_run *run)
{
	struct strbuf names = STRBUF_INIT;

	add_names(&names, run->unprobed & SLICE_WATCH_KINDS);
	if (names.len)
		log_warn("ebeam: %s: read from the node's memory, without probes", names.buf);
	strbuf_free(&names);
}

static void add_unprobed(const struct event_run *run, struct strbuf *out)
{
	char text[32];

	if (!run->live.slices_least_ns)
		return;
	strbuf_addstr(out, "  ");
	add_names(out, run->unprobed & SLICE_WATCH_KINDS);
	strbuf_addf(out, " without probes: complete from %s on",
		    units_format_ns(run->live.slices_least_ns, text, sizeof(text)));
}

void event_run_report(struct event_run *run)
{
	struct strbuf line = STRBUF_INIT;
	char text[32];
	struct live_cost cost;

	strbuf_addf(&line, "Events: %s", units_format_count(run->taken, text, sizeof(text)));
	add_lost(run, &line);
	add_states(&line, &run->stream.coverage, run->consumer->kinds, true, "  ", "");
	add_unprobed(run, &line);
	add_noted(run, &line);
	if (run->skipped)
		strbuf_addf(&line,
			    "  intervals merged, as the answer before was not read yet: %" PRIu64,
			    run->skipped);
	if (run->live.session) {
		strbuf_addf(&line, "  own CPU %.2f%%", live_own_cpu(&run->live));
		live_event_cost(&run->live, &cost);
		live_cost_add(&cost, &line);
	}
	if (run->consumer->closing)
		run->consumer->closing(run->consumer->arg, &line);
	else if (run->ctx->opt.output && strcmp(run->ctx->opt.output, "-") != 0)
		strbuf_addf(&line, "  -> %s", run->ctx->opt.output);
	if (run->stream.counters[COUNTER_EVENTS_LOST])
		log_warn(
			"ebeam: events were lost because %s",
			run->reader_waits
				? "whoever reads the output is too slow; write them to a file (-o "
				  "FILE, or -o FILE.ebeam, which is faster), or ask for fewer (-e, "
				  "--process)"
				: "a ring buffer was full; ask for fewer kinds (-e), or give "
				  "ebeam more CPU");
	/* Of a live node target_open() has warned already. */
	if (run->ctx->opt.input && *run->stream.untested)
		log_warn("ebeam: OTP %s was read %s", run->stream.otp, run->stream.untested);
	log_warn("%s", line.buf);
	strbuf_free(&line);
}

void event_run_miss(struct event_run *run, struct event_rates *rates)
{
	char why[SOURCE_REASON_SIZE];

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!run->plan.missing[kind])
			continue;
		source_missing(&run->plan, (enum event_kind)kind, why, sizeof(why));
		event_rates_miss(rates, (enum event_kind)kind, why);
	}
}

void event_run_report_budget(struct event_run *run)
{
	struct controller_cost cost;
	const char *why;

	if (run->live.session && !session_event_cost(run->live.session, &cost, &why) && *why)
		log_warn("ebeam: the overhead of the probes is not known, and not limited: %s",
			 why);
}

void event_run_check_stopped(struct event_run *run, bool at_end)
{
	run->node_stopped = proc_is_stopped(run->node->os_pid);
	/* target_open() has reported it at the start. */
	if (run->node_stopped && at_end)
		log_warn("ebeam: the node (pid %d) is stopped (SIGSTOP): nothing happens in it any "
			 "more",
			 run->node->os_pid);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void begin_json(struct event_run *run, struct jsonw *w)
{
	const struct event_stream *s = &run->stream;
	const struct envelope_node of = {
		.os_pid = s->os_pid,
		.name = s->node,
		.otp = s->otp,
		.erts = s->erts,
		.flavor = s->flavor,
		.untested = s->untested,
	};

	*w = (struct jsonw)JSONW(run->out);
	w->one_line = run->ctx->opt.watch_ns;
	envelope_begin(w, run->ctx->command->name, &of);
}

/* A counter of the stream; with --watch only what was added since the last answer. */
static uint64_t counted(const struct event_run *run, enum counter_id id)
{
	return run->stream.counters[id] - MIN(run->shown_counters[id], run->stream.counters[id]);
}

static void sampled_kind_json(struct jsonw *w, const char *kind, double share, double error)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "kind", kind);
	jsonw_double(w, "share", share);
	jsonw_double(w, "error_factor", error > 0 ? error : NAN);
	jsonw_end_object(w);
}

/* Kinds of which only a part was seen.  "error_factor" is how far counts may be off, either way;
 * null: by any factor.  "call" is of Erlang functions, "c_call" of C functions. */
static void sampled_json(const struct event_run *run, struct jsonw *w)
{
	const struct event_stream_limited *calls = &run->stream.calls.limited;
	const struct event_consumer *consumer = run->consumer;
	double call_error =
		consumer->call_error ? consumer->call_error(consumer->arg) : calls->error;
	const struct coverage *c = &run->stream.coverage;
	double c_call_error = consumer->c_call_error ? consumer->c_call_error(consumer->arg)
						     : coverage_error(c, COVERAGE_CALLS);

	jsonw_begin_array(w, "sampled");
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		double error = coverage_error(c, (enum event_kind)kind);

		if (!(consumer->kinds >> kind & 1) || !is_sampled(c, (enum event_kind)kind))
			continue;
		sampled_kind_json(w, event_rows[kind].name,
				  coverage_share(c, (enum event_kind)kind), error);
	}
	if (calls->tripped && calls->share > 0 && call_error >= 0)
		sampled_kind_json(w, "call", calls->share, exp(call_error));
	if (run->stream.calls.tripped && c_call_error >= 0)
		sampled_kind_json(w, "c_call", coverage_share(c, COVERAGE_CALLS), c_call_error);
	jsonw_end_array(w);
}

static int end_json(struct event_run *run, struct jsonw *w, struct error *err)
{
	const struct event_stream *s = &run->stream;
	struct envelope_counter counters[2 + ARRAY_SIZE(noted) + 1];
	struct strbuf texts[1 + NR_EVENT_KINDS];
	size_t nr = 0, nr_texts = 0, more = 0;
	const char *const *others = NULL;
	VEC(const char *) warnings = {0};
	int rc;

	counters[nr++] = (struct envelope_counter){"events", run->taken - run->shown_taken};
	counters[nr++] = (struct envelope_counter){"lost", counted(run, COUNTER_EVENTS_LOST)};
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
		uint64_t value = counted(run, noted[i].id);

		if (value)
			counters[nr++] = (struct envelope_counter){noted[i].name, value};
	}
	if (s->unknown)
		counters[nr++] = (struct envelope_counter){"unknown_kinds", s->unknown};
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		struct strbuf *text = &texts[nr_texts];

		if (!(run->consumer->kinds >> kind & 1))
			continue;
		strbuf_init(text);
		strbuf_addf(text, "%s ", event_rows[kind].name);
		if (!add_state(text, &s->coverage, (enum event_kind)kind, false)) {
			strbuf_free(text);
			continue;
		}
		if (is_sampled(&s->coverage, (enum event_kind)kind))
			add_error(text, coverage_error(&s->coverage, (enum event_kind)kind));
		nr_texts++;
		vec_push(&warnings, text->buf);
	}
	sampled_json(run, w);
	if (run->node_stopped) {
		strbuf_init(&texts[nr_texts]);
		strbuf_addstr(&texts[nr_texts], "the node is stopped (SIGSTOP)");
		vec_push(&warnings, texts[nr_texts].buf);
		nr_texts++;
	}
	if (run->consumer->warnings)
		others = run->consumer->warnings(run->consumer->arg, &more);
	for (size_t i = 0; i < more; i++)
		vec_push(&warnings, others[i]);
	rc = envelope_end(w, warnings.data, warnings.len, counters, nr, err);
	for (size_t i = 0; i < nr_texts; i++)
		strbuf_free(&texts[i]);
	vec_free(&warnings);
	return rc;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "lost 12  names_full 3", if any were. */
static void write_missing(struct event_run *run)
{
	uint64_t lost = counted(run, COUNTER_EVENTS_LOST), names = counted(run, COUNTER_NAMES_FULL);
	char text[32];

	if (lost)
		fprintf(run->out, "  lost %s", units_format_count(lost, text, sizeof(text)));
	if (names)
		fprintf(run->out, "  names_full %s", units_format_count(names, text, sizeof(text)));
}

/* The first line of an answer of --watch: time, pid, losses.  Clears a terminal first. */
static void begin_screen(struct event_run *run)
{
	if (!run->ctx->opt.watch_ns || !run->node)
		return;
	watch_begin_screen(run->out, event_run_target(run), run->node->os_pid, run->answered);
	write_missing(run);
	fputc('\n', run->out);
}

/* A line such as "message_send sampled 12 %: totals +-5 %" for sampled and dropped kinds. */
static void write_sampled(struct event_run *run, uint64_t kinds)
{
	struct strbuf lines = STRBUF_INIT;

	add_states(&lines, &run->stream.coverage, kinds, false, "", "\n");
	if (lines.len)
		fputs(lines.buf, run->out);
	strbuf_free(&lines);
}

int event_run_show(struct event_run *run, const struct answer_view *view, const void *answer,
		   uint64_t kinds, const struct table_options *o, struct error *err)
{
	struct jsonw w;

	if (run->ctx->opt.json) {
		begin_json(run, &w);
		jsonw_begin_object(&w, "data");
		view->json(&w, answer, o);
		jsonw_end_object(&w);
		return end_json(run, &w, err);
	}
	begin_screen(run);
	if (view->head)
		view->head(run->out, answer);
	write_sampled(run, kinds);
	return view->write(run->out, answer, o, err);
}

/* A bound of a confidence interval, rounded to two significant digits. */
static void add_bound(struct strbuf *out, double bound)
{
	double unit = bound >= 100 ? pow(10, floor(log10(bound)) - 1) : 1;

	cell_count(out, (uint64_t)llround(round(bound / unit) * unit));
}

void event_run_add_estimate(const struct event_run *run, uint64_t kinds, uint64_t n,
			    struct strbuf *out)
{
	const struct coverage *c = &run->stream.coverage;
	double share = coverage_share_of(c, kinds), error = error_of(c, kinds);

	if (share >= 0.9995 || !n) {
		cell_count(out, n);
		return;
	}
	strbuf_addch(out, '~');
	cell_count(out, n);
	if (error <= 0 || error > ERROR_MAX) {
		strbuf_addstr(out, " (a guess)");
		return;
	}
	strbuf_addstr(out, " (");
	/* There are at least as many as were seen. */
	add_bound(out, MAX((double)n / error, (double)n * share));
	strbuf_addstr(out, " .. ");
	add_bound(out, (double)n * error);
	strbuf_addch(out, ')');
}
