/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints of `ebeam trace` (trace.h) at entries of Erlang functions, uprobes on C functions,
 * and reports of ends that were not seen.  Return sites are in trace_sites.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "beam/sched/sched.h"
#include "cmd/trace/trace.h"

unsigned int trace_nr_by_breakpoint(const struct trace *t)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < t->functions.v.len; i++)
		nr += trace_by_breakpoint(&t->functions.v.data[i]);
	return nr;
}

/* Functions that an error message names. */
#define NAMED_MAX 12u

static int too_many(struct trace *t, unsigned int nr, struct error *err)
{
	struct strbuf names = STRBUF_INIT;
	unsigned int named = 0;
	int rc;

	for (size_t i = 0; i < t->functions.v.len; i++) {
		const struct trace_function *f = &t->functions.v.data[i];

		if (!trace_by_breakpoint(f) || named++ >= NAMED_MAX)
			continue;
		strbuf_addstr(&names, names.len ? ", " : "");
		call_target_name(&names, event_run_node(t->run), &f->target);
	}
	if (nr > NAMED_MAX)
		strbuf_addf(&names, " and %u more", nr - NAMED_MAX);
	rc = error_set(err, ERROR_KIND_USAGE, -E2BIG,
		       "%u Erlang functions are chosen (%s), and x86 has %d debug registers, one "
		       "for each. Trace at most %d at a time, or use 'ebeam record', which shows "
		       "where time goes in all of them",
		       nr, names.buf, EBEAM_BREAKPOINTS, EBEAM_BREAKPOINTS);
	strbuf_free(&names);
	return rc;
}

static int probe_c_function(struct trace *t, size_t i, struct error *err)
{
	const struct trace_function *f = &t->functions.v.data[i];
	struct beam_node *n = event_run_node(t->run);
	struct strbuf name = STRBUF_INIT;
	struct call_code code;
	char path[OBJECTS_PATH_SIZE];
	int rc;

	call_target_name(&name, n, &f->target);
	if (f->target.kind == CALL_TARGET_INLINED_BIF)
		trace_warn(t,
			   "%s is inlined in compiled code: only calls by apply, funs and spawn "
			   "are seen",
			   name.buf);
	if (call_target_code(&code, n, &f->target)) {
		struct call_probe probe = {
			.path = path,
			.elf = code.elf,
			.addr = code.addr,
			.name = name.buf,
			.point = (uint32_t)i,
			.nif = f->target.kind == CALL_TARGET_NIF,
			.returns = f->returns,
		};

		rc = objects_file_path(n->os_pid, code.map, path);
		rc = rc ? error_set(err, ERROR_KIND_PRIVILEGE, rc,
				    "cannot open %s, the file of the node that has %s. Run as root "
				    "(see ebeam doctor)",
				    code.map->path, name.buf)
			: call_probes_add(t->points.probes, &probe, err);
	} else {
		rc = error_set(err, ERROR_KIND_FAILED, -ENOENT,
			       "%s is C code at 0x%" PRIx64 ", in no file that is mapped", name.buf,
			       f->target.c_function);
	}
	strbuf_free(&name);
	return rc;
}

/* Sets the filter of calls of a function in BPF.  Arguments are tested there only if just one
 * pattern matches the function. */
static int set_filter(struct trace *t, size_t i, struct error *err)
{
	const struct trace_function *f = &t->functions.v.data[i];
	struct call_filter filter = {.arity = f->target.arity, .stack = f->stack};

	for (size_t k = 0; k < t->functions.patterns.len; k++) {
		const struct call_matcher *m = t->functions.patterns.data[k].matcher;

		if (f->patterns == 1ull << k && m)
			filter.nr = call_tests(m, filter.tests);
	}
	return call_probes_filter(t->points.probes, (uint32_t)i, &filter, err);
}

unsigned int trace_points_nr(const struct trace_points *p)
{
	unsigned int nr = p->nr_entries;

	for (size_t i = 0; i < p->sites.len; i++)
		nr += p->sites.data[i].armed_ns != 0;
	return nr;
}

static void disarm_entry(struct trace_points *p, struct trace_function *f)
{
	if (!f->addr)
		return;
	breakpoints_remove(p->breakpoints, f->addr);
	p->nr_entries--;
	f->addr = 0;
}

/* Sets or moves the breakpoint of an Erlang function to its current entry. */
static int arm_entry(struct trace *t, size_t i, struct error *err)
{
	struct trace_function *f = &t->functions.v.data[i];
	struct call_point point = {
		.point = (uint32_t)i,
		.kind = CALL_KIND_CALL,
		.arity = f->target.arity,
	};
	int rc;

	if (f->addr == f->target.entry)
		return 0;
	disarm_entry(&t->points, f);
	if (trace_points_nr(&t->points) >= EBEAM_BREAKPOINTS)
		trace_sites_give_up(&t->points);
	do /* another program may use debug registers, too */
		rc = breakpoints_add(t->points.breakpoints, f->target.entry, &point, err);
	while (rc == -ENOSPC && trace_sites_give_up(&t->points));
	f->addr = rc ? 0 : f->target.entry;
	t->points.nr_entries += rc == 0;
	return rc;
}

static int probe_c_functions(struct trace *t, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->functions.v.len && rc == 0; i++) {
		if (!trace_by_breakpoint(&t->functions.v.data[i]))
			rc = probe_c_function(t, i, err);
	}
	return rc;
}

/* Records the cost of a hit, subtracted from durations; again when it has changed by 5 %. */
static void report_hit_ns(struct trace *t, int i, const char *key, unsigned int ns)
{
	unsigned int *before = &t->points.hit_ns[i];
	char text[32];

	if (MAX(ns, *before) - MIN(ns, *before) <= *before / 20)
		return;
	snprintf(text, sizeof(text), "%u", ns);
	enrich_add_meta(event_run_live(t->run)->enrich, key, text);
	*before = ns;
}

/* Breakpoints and uprobes are limited separately: if both are used, each gets half of
 * --max-overhead. */
static double part_of_overhead(const struct trace *t)
{
	unsigned int nr = trace_nr_by_breakpoint(t);

	return nr && nr < t->functions.v.len && t->ctx->opt.max_overhead < 100
		       ? t->ctx->opt.max_overhead / 2
		       : t->ctx->opt.max_overhead;
}

/* Adds the uprobes on C functions, which the session enables and disables. */
static int add_probes(struct trace *t, const struct breakpoints_config *config, struct error *err)
{
	struct session_calls calls = {
		.max_overhead = config->max_overhead,
		.rate = config->rate,
	};

	calls.points = call_probes_points(t->points.probes, &calls.nr);
	return calls.nr ? session_add_calls(event_run_live(t->run)->session, &calls, err) : 0;
}

static void on_gap(void *arg, uint64_t addr, int os_tid, uint64_t from_ns, uint64_t to_ns);
static uint64_t lost_so_far(struct trace *t);

/* breakpoints_config.reductions; takes a few microseconds. */
static bool on_reductions(void *arg, uint16_t scheduler, uint64_t *done, bool *in_process)
{
	const struct trace *t = arg;
	struct beam_node *n = event_run_live(t->run)->node;
	const struct trace_points *p = &t->points;

	for (int i = 0; i < p->nr_schedulers; i++) {
		const struct thread_info *s = &p->schedulers[i].info;
		uint64_t process = 0;

		if (s->type != THREAD_NORMAL || s->scheduler != scheduler)
			continue;
		if (mem_read_u64(n->mem, s->esdp + (raddr)n->layout.sched_reductions, done) ||
		    mem_read_u64(n->mem, s->esdp + (raddr)n->layout.sched_current_process,
				 &process))
			return false;
		*in_process = process != 0;
		return true;
	}
	return false;
}

int trace_points_open(struct trace *t, struct error *err)
{
	struct live *l = event_run_live(t->run);
	const struct options *o = &t->ctx->opt;
	struct breakpoints_config config = {
		.os_pid = l->node->os_pid,
		.rate = o->rate ? o->rate : TRACE_RATE,
		.max_overhead = part_of_overhead(t),
		.gap = on_gap,
		.reductions = on_reductions,
		.arg = t,
	};
	struct call_programs programs = {0};
	unsigned int nr = trace_nr_by_breakpoint(t);
	int rc;

	if (nr > EBEAM_BREAKPOINTS)
		return too_many(t, nr, err);
	/* Without breakpoints the privilege to use them is not needed. */
	if (nr || t->functions.returns) {
		rc = breakpoints_calibrate(&config.hit_ns, err);
		if (rc)
			return rc;
		log_info("a hit of a breakpoint costs %u ns", config.hit_ns);
	}
	session_call_programs(l->session, &programs);
	config.program = programs.breakpoint;
	config.points = programs.points;
	config.site_hits = programs.site_hits;
	call_probes_open(&t->points.probes, &programs);
	for (size_t i = 0; i < t->functions.v.len && rc == 0; i++)
		rc = set_filter(t, i, err);
	if (t->functions.returns) {
		session_hold(l->session, 0);
		session_peek(l->session, trace_sites_predict_returns, t);
	}
	t->points.nr_schedulers = sched_threads(l->node, &t->points.schedulers);
	rc = rc ? rc : breakpoints_open(&t->points.breakpoints, &config, err);
	rc = rc ? rc : probe_c_functions(t, err);
	if (rc == 0) {
		trace_sites_predict(t);
		breakpoints_state(t->points.breakpoints, &t->last);
		report_hit_ns(t, 0, "call_hit_ns", t->last.hit_ns);
	}
	return rc ? rc : add_probes(t, &config, err);
}

int trace_points_begin(struct trace *t, struct error *err)
{
	int rc = 0;

	t->points.lost = lost_so_far(t);
	t->points.begin_ns = clock_monotonic_ns();
	trace_sites_arm(t);
	for (size_t i = 0; i < t->functions.v.len && rc == 0; i++) {
		if (trace_by_breakpoint(&t->functions.v.data[i]))
			rc = arm_entry(t, i, err);
	}
	return rc;
}

/* Records a warning for profiles: some calls were missed by throttling, so the numbers of calls of
 * two functions cannot be compared. */
static void record_warning(struct trace *t, double time, bool erlang)
{
	const struct event_stream_calls *c = &event_run_stream(t->run)->calls;
	struct strbuf text = STRBUF_INIT;

	strbuf_addstr(&text, "--rate or --max-overhead limited tracing: calls");
	if (erlang)
		strbuf_addf(&text, "%s were watched %.3g %% of the time",
			    c->tripped ? " of Erlang functions" : "", 100 * time);
	if (c->tripped)
		strbuf_addf(&text, "%s of C functions%s %.3g %% of the time", erlang ? "," : "",
			    erlang ? "" : " be seen", c->share_ppm / 1e4);
	if (t->functions.v.len > 1)
		strbuf_addstr(&text, "; " TRACE_EACH_BY_ITSELF);
	enrich_add_meta(event_run_live(t->run)->enrich, "warnings", text.buf);
	strbuf_free(&text);
}

/* Records the calls that were missed by throttling, for captures and for the answer. */
static void record_limits(struct trace *t)
{
	const struct breakpoints_state *s = &t->last;
	char text[128];

	if (s->tripped) {
		snprintf(text, sizeof(text), "%" PRIu64 " %.9g %.9g %.9g %" PRIu64 " %.9g",
			 s->tripped, s->share, s->error, s->time, s->calls, s->most);
		enrich_add_meta(event_run_live(t->run)->enrich, EVENT_STREAM_LIMITED_KEY, text);
	}
	if (s->tripped || event_run_stream(t->run)->calls.tripped)
		record_warning(t, s->time, s->tripped);
}

void trace_points_close(struct trace *t)
{
	if (t->points.breakpoints) {
		breakpoints_state(t->points.breakpoints, &t->last);
		record_limits(t);
	}
	breakpoints_close(t->points.breakpoints);
	t->points.breakpoints = NULL;
}

void trace_points_free(struct trace *t)
{
	call_probes_close(t->points.probes);
	vec_free(&t->points.sites);
	free(t->points.schedulers);
}

int trace_points_follow(struct trace *t, struct error *err)
{
	struct trace_points *p = &t->points;
	struct error why;
	int rc = 0;

	for (size_t i = 0; i < t->functions.v.len; i++) {
		struct trace_function *f = &t->functions.v.data[i];

		if (!trace_by_breakpoint(f) || f->addr != f->target.entry)
			disarm_entry(p, f);
	}
	for (size_t i = 0; i < t->functions.v.len; i++) {
		const struct trace_function *f = &t->functions.v.data[i];
		int failed = 0;

		if (!trace_by_breakpoint(f) || f->addr)
			continue;
		if (p->nr_entries >= EBEAM_BREAKPOINTS)
			failed = too_many(t, trace_nr_by_breakpoint(t), &why);
		failed = failed ? failed : set_filter(t, i, &why);
		failed = failed ? failed : arm_entry(t, i, &why);
		if (failed)
			*err = why;
		rc = failed ? failed : rc;
	}
	return rc;
}

void trace_points_report(struct trace *t)
{
	static const char *const why[NR_UNCAUGHT] = {
		[UNCAUGHT_NEW] = "only the first call from a call site shows where calls return to",
		[UNCAUGHT_FULL] = "calls return to more sites than there are debug registers left",
		[UNCAUGHT_HELD] = "another program uses the debug registers",
	};

	for (int i = 0; i < NR_UNCAUGHT; i++) {
		if (t->points.uncaught[i])
			trace_warn(t, "how %" PRIu64 " call%s ended was not seen: %s",
				   t->points.uncaught[i], t->points.uncaught[i] == 1 ? "" : "s",
				   why[i]);
	}
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Records that returns to a site (0: any) may have been missed; for call_pairs_gap(). */
static void add_gap(struct trace *t, uint64_t addr, int os_tid, uint64_t from_ns, uint64_t to_ns)
{
	enrich_add_call_gap(event_run_live(t->run)->enrich, &(struct enrich_call_gap){
								    .site = addr,
								    .from_ns = from_ns,
								    .to_ns = to_ns,
								    .os_tid = (uint32_t)os_tid,
							    });
}

static void on_gap(void *arg, uint64_t addr, int os_tid, uint64_t from_ns, uint64_t to_ns)
{
	struct trace *t = arg;

	if (t->functions.returns)
		add_gap(t, addr, os_tid, from_ns, to_ns);
}

/* How many records were lost so far without which calls cannot be paired with their ends. */
static uint64_t lost_so_far(struct trace *t)
{
	static const enum counter_id lost[] = {COUNTER_CALLS_LOST,	  COUNTER_CALLS_SKIPPED,
					       COUNTER_CALLS_UNREAD,	  COUNTER_EVENTS_LOST,
					       COUNTER_THREAD_TABLE_FULL, COUNTER_LATE};
	struct session *s = event_run_live(t->run)->session;
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		sum += session_counter(s, lost[i]);
	return sum;
}

/*
 * Records the gaps in which ends may have been missed, and releases the records up to known_ns,
 * which session_hold() kept back until then.  A lost record may be SESSION_CALL_WINDOW_NS older
 * than the moment when it is counted as lost.
 */
static void report_gaps(struct trace *t)
{
	struct trace_points *p = &t->points;
	struct live *l = event_run_live(t->run);
	uint64_t lost, known_ns, from_ns = p->known_ns ? p->known_ns : p->begin_ns;

	breakpoints_state(p->breakpoints, &t->last);
	known_ns = t->last.known_ns;
	if (!t->functions.returns || known_ns <= p->known_ns)
		return;
	lost = lost_so_far(t);
	if (!p->known_ns) /* exceptions are only seen since begin_ns */
		add_gap(t, 0, 0, 0, p->begin_ns);
	if (lost > p->lost)
		add_gap(t, 0, 0, from_ns - SESSION_CALL_WINDOW_NS, clock_monotonic_ns());
	p->lost = lost;
	p->known_ns = known_ns;
	session_hold(l->session, known_ns - SESSION_CALL_WINDOW_NS);
}

int trace_points_tick(struct trace *t, struct error *err)
{
	struct trace_points *p = &t->points;
	uint64_t now = clock_monotonic_ns();

	UNUSED(err);
	if (!p->breakpoints)
		return 0;
	breakpoints_tick(p->breakpoints);
	report_gaps(t);
	report_hit_ns(t, 0, "call_hit_ns", t->last.hit_ns);
	report_hit_ns(t, 1, "c_call_hit_ns", session_call_hit_ns(event_run_live(t->run)->session));
	trace_code_tick(t, now);
	trace_sites_tick(t, now);
	return 0;
}
