/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Return sites of `ebeam trace` (trace.h).  Debug registers that entries of functions leave free
 * are used for the sites that most calls return to; sites are found in the code and from calls.
 */
#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/code/call_sites.h"
#include "beam/code/jit.h"
#include "cmd/trace/trace.h"

#define SITES_MAX 1024
#define PERIOD_NS 1000000000u /* after which the sites are chosen anew */

static void disarm_site(struct trace_points *p, struct trace_site *s)
{
	breakpoints_remove(p->breakpoints, s->addr);
	s->armed_ns = 0;
}

/* Called to free a register for an entry, which matters more. */
bool trace_sites_give_up(struct trace_points *p)
{
	struct trace_site *least = NULL;

	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		if (s->armed_ns && (!least || s->calls < least->calls))
			least = s;
	}
	if (least)
		disarm_site(p, least);
	return least != NULL;
}

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

/* If another program uses the registers, a breakpoint is tried again only after this time, as each
 * try takes a system call for each thread.  The warning comes once. */
#define REFUSED_NS 1000000000u

static void refused(struct trace_points *p, const struct error *why, uint64_t now)
{
	if (!p->refused_ns)
		log_warn("ebeam: returns and exceptions are not seen for now: %s", why->msg);
	else
		log_info("returns and exceptions are still not seen: %s", why->msg);
	p->refused_ns = now;
}

static bool may_arm(const struct trace_points *p, uint64_t now)
{
	return p->breakpoints && trace_points_nr(p) < EBEAM_BREAKPOINTS &&
	       (!p->refused_ns || now - p->refused_ns >= REFUSED_NS);
}

static void arm_site(struct trace *t, struct trace_site *s)
{
	const struct jit_code *jit = beam_resolver_jit(event_run_live(t->run)->resolver);
	struct call_point point = {.kind = CALL_KIND_RETURN};
	uint64_t now = clock_monotonic_ns();
	struct error why;

	if (!may_arm(&t->points, now))
		return;
	if (breakpoints_add(t->points.breakpoints, s->addr, &point, &why)) {
		refused(&t->points, &why, now);
		return;
	}
	s->armed_ns = clock_monotonic_ns();
	s->serial = jit_serial(jit, s->addr - 1); /* -1: inside of the call instruction */
}

/*
 * Finds all return sites of the functions in the code, if there are registers for all of them: then
 * even the end of the first call from each is seen.  They are armed later, with the entries, as the
 * search may take long.
 */
void trace_sites_predict(struct trace *t)
{
	const struct call_target *targets[EBEAM_BREAKPOINTS];
	size_t left = EBEAM_BREAKPOINTS - trace_nr_by_breakpoint(t), nr = 0;
	struct call_sites sites;
	struct error why;

	for (size_t i = 0; i < t->functions.v.len; i++) {
		const struct trace_function *f = &t->functions.v.data[i];

		if (f->returns && trace_by_breakpoint(f) && nr < ARRAY_SIZE(targets))
			targets[nr++] = &f->target;
	}
	if (!nr || !left)
		return;
	if (call_sites_find(&sites, event_run_node(t->run), targets, nr, left, &why)) {
		log_info("where calls return to is learned from them only: %s", why.msg);
		return;
	}
	log_info("sites that calls return to, predicted from the code: %s%zu",
		 sites.v.len > left ? "at least " : "", sites.v.len);
	for (size_t i = 0; sites.v.len <= left && i < sites.v.len; i++)
		site_at(&t->points, sites.v.data[i])->predicted = true;
	call_sites_free(&sites);
}

void trace_sites_arm(struct trace *t)
{
	for (size_t i = 0; i < t->points.sites.len; i++) {
		struct trace_site *s = &t->points.sites.data[i];

		arm_site(t, s);
		s->predicted = s->armed_ns != 0;
	}
}

/*
 * Records of calls are held back until it is known that no end was missed before them.  The return
 * sites of the next calls are needed earlier: they are taken from the raw records.  Such a site may
 * be of no use, as the call may turn out not to match a pattern.
 */
void trace_sites_predict_returns(void *arg, const struct rec_header *rec)
{
	const struct rec_raw_call *call = (const void *)rec;
	struct trace *t = arg;
	const struct jit_code *jit = beam_resolver_jit(event_run_live(t->run)->resolver);
	const struct trace_function *f;
	struct jit_function caller;
	struct trace_site *s;

	if (rec->type != REC_RAW_CALL || rec->size < sizeof(*call) ||
	    call->kind != CALL_KIND_CALL || !call->caller || call->point >= t->functions.v.len)
		return;
	f = &t->functions.v.data[call->point];
	if (!f->returns || !trace_by_breakpoint(f) || trace_is_full(t) ||
	    !jit_find(jit, call->caller - 1, &caller))
		return;
	s = site_at(&t->points, call->caller);
	if (!s || s->armed_ns || s->unwanted)
		return;
	arm_site(t, s);
	s->predicted = s->predicted_by_call = s->armed_ns != 0;
}

/* Disarms a site that was only predicted, for one that a call is known to return to. */
static void give_up_predicted(struct trace_points *p)
{
	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		if (s->armed_ns && s->predicted) {
			disarm_site(p, s);
			return;
		}
	}
}

bool trace_sites_caught(struct trace *t, uint64_t addr, uint64_t ts_ns)
{
	struct trace_points *p = &t->points;
	struct trace_site *s = addr ? site_at(p, addr) : NULL;
	enum trace_uncaught why = UNCAUGHT_FULL;

	if (s) {
		s->calls++;
		s->predicted = s->predicted_by_call = s->unwanted = false;
		if (!s->armed_ns && p->breakpoints && trace_points_nr(p) >= EBEAM_BREAKPOINTS)
			give_up_predicted(p);
		if (!s->armed_ns)
			arm_site(t, s); /* for the next calls */
		if (s->armed_ns && ts_ns >= s->armed_ns)
			return true;
		if (s->armed_ns || !p->breakpoints)
			why = UNCAUGHT_NEW;
		else if (trace_points_nr(p) < EBEAM_BREAKPOINTS)
			why = UNCAUGHT_HELD;
	}
	p->uncaught[why]++;
	return false;
}

bool trace_sites_watched(const struct trace *t, uint64_t addr)
{
	const struct trace_points *p = &t->points;

	for (size_t i = 0; i < p->sites.len; i++) {
		if (p->sites.data[i].addr == addr)
			return p->sites.data[i].armed_ns != 0;
	}
	return false;
}

/* Forgets sites that no call returned to in the last period. */
static void forget_sites(struct trace_points *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site s = p->sites.data[i];

		if (!s.armed_ns && !s.calls && !s.unwanted)
			continue;
		s.calls = 0;
		p->sites.data[kept++] = s;
	}
	p->sites.len = kept;
}

/* Disarms sites in code that was unloaded: other code may be at their addresses now. */
static void drop_dead_sites(struct trace *t)
{
	const struct jit_code *jit = beam_resolver_jit(event_run_live(t->run)->resolver);
	struct trace_points *p = &t->points;

	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		if (s->armed_ns && jit_serial(jit, s->addr - 1) != s->serial)
			disarm_site(p, s);
	}
}

/* Disarms predicted sites that no call that matches a pattern returned to for a whole period. */
static void give_up_predicted_by_call(struct trace_points *p, uint64_t now)
{
	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		if (!s->armed_ns || !s->predicted_by_call || now - s->armed_ns < PERIOD_NS)
			continue;
		disarm_site(p, s);
		s->unwanted = true;
	}
}

/* Arms the unarmed site of the most calls instead of the armed one of the fewest, if it has more
 * than twice as many. */
static void choose_sites(struct trace *t, uint64_t now)
{
	struct trace_points *p = &t->points;
	struct trace_site *least = NULL, *most = NULL;

	give_up_predicted_by_call(p, now);
	for (size_t i = 0; i < p->sites.len; i++) {
		struct trace_site *s = &p->sites.data[i];

		/* Calls that return to a site armed just now may not have arrived yet. */
		if (s->armed_ns && now - s->armed_ns >= PERIOD_NS &&
		    (!least || s->calls < least->calls))
			least = s;
		if (!s->armed_ns && (!most || s->calls > most->calls))
			most = s;
	}
	if (least && most && most->calls > 2 * least->calls) {
		disarm_site(p, least);
		arm_site(t, most);
	}
	forget_sites(p);
}

void trace_sites_tick(struct trace *t, uint64_t now)
{
	drop_dead_sites(t);
	if (t->functions.returns && now - t->points.period_ns >= PERIOD_NS) {
		choose_sites(t, now);
		t->points.period_ns = now;
	}
}
