/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints of `ebeam trace` (trace.h): at the entries of the functions, and with what is left of
 * the debug registers at the places that most of their calls return to, as calls show them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cmd/trace.h"

#define SITES_MAX 1024
#define PERIOD_NS 1000000000u /* after which the places are chosen anew */

/* Without a C function an inlined BIF is Erlang code. */
static bool is_erlang(const struct trace_function *f)
{
	return f->target.kind == CALL_TARGET_ERLANG || !f->target.c_function;
}

static int too_many(struct trace *t, unsigned int nr, struct error *err)
{
	struct strbuf names = STRBUF_INIT;
	int rc;

	for (size_t i = 0; i < t->functions.v.len; i++) {
		const struct trace_function *f = &t->functions.v.data[i];

		if (!is_erlang(f))
			continue;
		strbuf_addstr(&names, names.len ? ", " : "");
		call_target_name(&names, event_run_node(t->run), &f->target);
	}
	rc = error_set(err, ERROR_KIND_USAGE, -E2BIG,
		       "%u Erlang functions, and x86 has %d debug registers: %s. Trace at most %d "
		       "at a time",
		       nr, EBEAM_BREAKPOINTS, names.buf, EBEAM_BREAKPOINTS);
	strbuf_free(&names);
	return rc;
}

static int probe_c_function(struct trace *t, size_t i, struct error *err)
{
	const struct trace_function *f = &t->functions.v.data[i];
	struct beam_node *n = event_run_node(t->run);
	struct strbuf name = STRBUF_INIT;
	struct call_code code;
	char path[96];
	int rc;

	call_target_name(&name, n, &f->target);
	if (f->target.kind == CALL_TARGET_INLINED_BIF)
		log_warn("ebeam: compiled code does %s by itself: only calls by apply, funs and "
			 "spawn are seen",
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

		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, n->os_pid,
			 code.map_start, code.map_end);
		rc = call_probes_add(t->points.probes, &probe, err);
	} else {
		rc = error_set(err, ERROR_KIND_FAILED, -ENOENT,
			       "%s is C code at 0x%" PRIx64 ", in no file that is mapped", name.buf,
			       f->target.c_function);
	}
	strbuf_free(&name);
	return rc;
}

/* What its calls must fulfil: of several patterns that mean it nothing is common. */
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

/* The breakpoint of one Erlang function where its calls arrive now. */
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
	if (f->addr) {
		breakpoints_remove(t->points.breakpoints, f->addr);
		t->points.nr_entries--;
	}
	rc = breakpoints_add(t->points.breakpoints, f->target.entry, &point, err);
	f->addr = rc ? 0 : f->target.entry;
	t->points.nr_entries += rc == 0;
	return rc;
}

static int arm_entries(struct trace *t, struct error *err)
{
	unsigned int nr = 0;
	int rc = 0;

	for (size_t i = 0; i < t->functions.v.len; i++)
		nr += is_erlang(&t->functions.v.data[i]);
	if (nr > EBEAM_BREAKPOINTS)
		return too_many(t, nr, err);
	for (size_t i = 0; i < t->functions.v.len && rc == 0; i++) {
		if (is_erlang(&t->functions.v.data[i]))
			rc = arm_entry(t, i, err);
		else
			rc = probe_c_function(t, i, err);
	}
	return rc;
}

/* What a hit costs, for whoever takes that off durations; again when it has changed. */
static void tell_hit_ns(struct trace *t, int i, const char *key, unsigned int ns)
{
	unsigned int *told = &t->points.hit_ns[i];
	char text[32];

	if (MAX(ns, *told) - MIN(ns, *told) <= *told / 20)
		return;
	snprintf(text, sizeof(text), "%u", ns);
	enrich_add_meta(event_run_live(t->run)->enrich, key, text);
	*told = ns;
}

/* Both ways to see calls are held within what is allowed, each by itself: half of it. */
static double part_of_overhead(const struct trace *t)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < t->functions.v.len; i++)
		nr += is_erlang(&t->functions.v.data[i]);
	return nr && nr < t->functions.v.len && t->ctx->opt.max_overhead < 100
		       ? t->ctx->opt.max_overhead / 2
		       : t->ctx->opt.max_overhead;
}

/* Those of C functions, which the session puts on and off. */
static int add_probes(struct trace *t, const struct breakpoints_config *config, struct error *err)
{
	struct session_calls calls = {
		.max_overhead = config->max_overhead,
		.rate = config->rate,
	};

	calls.points = call_probes_points(t->points.probes, &calls.nr);
	return calls.nr ? session_add_calls(event_run_live(t->run)->session, &calls, err) : 0;
}

int trace_points_open(struct trace *t, struct error *err)
{
	struct live *l = event_run_live(t->run);
	const struct options *o = &t->ctx->opt;
	struct breakpoints_config config = {
		.os_pid = l->node->os_pid,
		.rate = o->rate ? o->rate : TRACE_RATE,
		.max_overhead = part_of_overhead(t),
	};
	struct call_programs programs;
	int rc = breakpoints_calibrate(&config.hit_ns, err);

	if (rc)
		return rc;
	log_info("a hit of a breakpoint costs %u ns", config.hit_ns);
	session_call_programs(l->session, &programs);
	config.program = programs.breakpoint;
	config.points = programs.points;
	call_probes_open(&t->points.probes, &programs);
	for (size_t i = 0; i < t->functions.v.len && rc == 0; i++)
		rc = set_filter(t, i, err);
	rc = rc ? rc : breakpoints_open(&t->points.breakpoints, &config, err);
	rc = rc ? rc : arm_entries(t, err);
	if (rc == 0) {
		breakpoints_state(t->points.breakpoints, &t->last);
		tell_hit_ns(t, 0, "call_hit_ns", t->last.hit_ns);
	}
	return rc ? rc : add_probes(t, &config, err);
}

void trace_points_close(struct trace *t)
{
	if (t->points.breakpoints)
		breakpoints_state(t->points.breakpoints, &t->last);
	breakpoints_close(t->points.breakpoints);
	t->points.breakpoints = NULL;
}

void trace_points_free(struct trace *t)
{
	call_probes_close(t->points.probes);
	vec_free(&t->points.sites);
}

/* ---- places of return ----------------------------------------------------------------------- */

static struct trace_site *site_at(struct trace_points *p, uint64_t addr)
{
	for (size_t i = 0; i < p->sites.len; i++) {
		if (p->sites.data[i].addr == addr)
			return &p->sites.data[i];
	}
	if (p->sites.len >= SITES_MAX)
		return NULL;
	vec_push(&p->sites, ((struct trace_site){.addr = addr}));
	return &p->sites.data[p->sites.len - 1];
}

static bool arm_site(struct trace_points *p, struct trace_site *s)
{
	struct call_point point = {.kind = CALL_KIND_RETURN};
	struct error why;

	if (breakpoints_add(p->breakpoints, s->addr, &point, &why)) {
		log_info("no breakpoint where calls return to: %s", why.msg);
		return false;
	}
	s->armed_ns = clock_monotonic_ns();
	return true;
}

static void disarm_site(struct trace_points *p, struct trace_site *s)
{
	breakpoints_remove(p->breakpoints, s->addr);
	s->armed_ns = 0;
}

static unsigned int nr_armed(const struct trace_points *p)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < p->sites.len; i++)
		nr += p->sites.data[i].armed_ns != 0;
	return nr;
}

bool trace_points_caught(struct trace *t, uint64_t addr, uint64_t ts_ns)
{
	struct trace_points *p = &t->points;
	struct trace_site *s = addr ? site_at(p, addr) : NULL;

	if (s) {
		s->calls++;
		if (s->armed_ns && ts_ns >= s->armed_ns)
			return true;
		if (!s->armed_ns && p->breakpoints &&
		    p->nr_entries + nr_armed(p) < EBEAM_BREAKPOINTS)
			arm_site(p, s); /* of the next calls from there */
	}
	p->uncaught++;
	return false;
}

bool trace_points_watched(const struct trace *t, uint64_t addr)
{
	const struct trace_points *p = &t->points;

	for (size_t i = 0; i < p->sites.len; i++) {
		if (p->sites.data[i].addr == addr)
			return p->sites.data[i].armed_ns != 0;
	}
	return false;
}

/* Where more calls return to than to the least of those that are watched, that is watched instead.
 */
static void choose_sites(struct trace_points *p)
{
	struct trace_site *least = NULL, *most = NULL;

	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		if (s->armed_ns && (!least || s->calls < least->calls))
			least = s;
		if (!s->armed_ns && (!most || s->calls > most->calls))
			most = s;
	}
	if (least && most && most->calls > 2 * least->calls) {
		disarm_site(p, least);
		arm_site(p, most);
	}
	for (size_t i = 0; i < p->sites.len; i++)
		p->sites.data[i].calls = 0;
}

/* Code was loaded: calls of what is there now arrive elsewhere.  Processes that still run the old
 * code are not seen any more. */
static void follow_code(struct trace *t)
{
	size_t before = t->functions.v.len;
	struct error why;

	if (trace_functions_find(&t->functions, t, &why)) {
		log_warn("ebeam: code was loaded, and what to trace is not there now: %s", why.msg);
		return;
	}
	for (size_t i = 0; i < before; i++) {
		if (is_erlang(&t->functions.v.data[i]) && arm_entry(t, i, &why))
			log_warn("ebeam: code was loaded, and a breakpoint is lost: %s", why.msg);
	}
	if (t->functions.v.len > before)
		log_warn("ebeam: code was loaded with more functions that the patterns mean: "
			 "those are not traced");
}

/* What was loaded is known of once its record came through the reorder window. */
#define LOADED_NS (4 * SESSION_CALL_WINDOW_NS)
static void look_for_code(struct trace *t, uint64_t now)
{
	struct trace_points *p = &t->points;
	uint64_t loads = session_counter(event_run_live(t->run)->session, COUNTER_CODE_LOADS);

	if (loads != p->loads) {
		p->loads = loads;
		p->loaded_ns = now;
	}
	if (p->loaded_ns && now - p->loaded_ns >= LOADED_NS) {
		p->loaded_ns = 0;
		follow_code(t);
	}
}

/* Ends of calls were missed: whoever pairs them must know, of a capture, too. */
static void tell_missed(struct trace *t)
{
	struct rec_raw_coverage missed = {.state = COVERAGE_OFF};

	breakpoints_state(t->points.breakpoints, &t->last);
	missed.h.ts_ns = t->last.missed_ns;
	if (missed.h.ts_ns > t->points.missed_ns)
		enrich_add_call_coverage(event_run_live(t->run)->enrich, &missed);
	t->points.missed_ns = missed.h.ts_ns;
}

int trace_points_tick(struct trace *t, struct error *err)
{
	struct trace_points *p = &t->points;
	uint64_t now = clock_monotonic_ns();

	UNUSED(err);
	if (!p->breakpoints)
		return 0;
	breakpoints_tick(p->breakpoints);
	tell_missed(t);
	tell_hit_ns(t, 0, "call_hit_ns", t->last.hit_ns);
	tell_hit_ns(t, 1, "c_call_hit_ns", session_call_hit_ns(event_run_live(t->run)->session));
	look_for_code(t, now);
	if (t->functions.returns && now - p->period_ns >= PERIOD_NS) {
		choose_sites(p);
		p->period_ns = now;
	}
	return 0;
}
