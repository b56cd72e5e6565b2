/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that is loaded while `ebeam trace` runs (trace.h): the functions then have new entries, to
 * which breakpoints must be moved.
 *
 * Each tick reads from the node's tables which code of the modules is current.  The JIT announces
 * new code to debuggers before it is current, long before if it has an on_load function, whose end
 * only changes the tables (beam_bif_load.c, finish_after_on_load_2(), OTP 25 to 29).  Functions of
 * new code become known a bit later, with the stream of records: until then breakpoints stay where
 * they are, and each tick tries again.  The time until they are moved is reported.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/trace/trace.h"

/* What cannot be found or armed is tried again at each tick; after PATIENCE_NS every RETRY_NS. */
#define PATIENCE_NS 1000000000u
#define RETRY_NS    1000000000u
/* Functions become NIFs a bit after the module has its library: checked again after this time. */
#define SETTLE_NS 50000000u
/* Patterns that name no module are looked up again after any load of code, once in this time at
 * most. */
#define ANY_NS 250000000u

static bool is_of_any_module(const struct trace *t)
{
	for (size_t i = 0; i < t->functions.patterns.len; i++) {
		if (!t->functions.patterns.data[i].pattern->module)
			return true;
	}
	return false;
}

/* Watches the module of a function.  It may not be loaded: BIFs of it can be called anyway. */
static void add_module(struct trace *t, const struct call_target *target)
{
	struct trace_module m = {.watch.name = target->module, .code = target->code};
	struct module now;

	for (size_t i = 0; i < t->code.modules.len; i++) {
		if (t->code.modules.data[i].watch.name == target->module)
			return;
	}
	if (module_watch_read(&m.watch, event_run_node(t->run), &now) == 0)
		m.nif = now.nif;
	vec_push(&t->code.modules, m);
}

void trace_code_open(struct trace *t)
{
	t->code.good_ns = clock_monotonic_ns();
	t->code.loads = session_counter(event_run_live(t->run)->session, COUNTER_CODE_LOADS);
	for (size_t i = 0; i < t->functions.v.len; i++)
		add_module(t, &t->functions.v.data[i].target);
}

/* Has a module got other code, or another library of NIFs, since the last check? */
static bool has_module_changed(struct trace *t, struct trace_module *m)
{
	struct module now = {0};
	int rc = module_watch_read(&m->watch, event_run_node(t->run), &now);

	if ((rc && rc != -ENOENT) || (now.code == m->code && now.nif == m->nif))
		return false;
	m->code = now.code;
	m->nif = now.nif;
	return true;
}

static bool has_changed(struct trace *t)
{
	uint64_t loads = session_counter(event_run_live(t->run)->session, COUNTER_CODE_LOADS);
	bool changed = loads != t->code.loads && is_of_any_module(t);

	t->code.loads = loads;
	for (size_t i = 0; i < t->code.modules.len; i++)
		changed = has_module_changed(t, &t->code.modules.data[i]) || changed;
	return changed;
}

/* Warns of functions that were traced and no longer exist. */
static void report_gone(struct trace *t, const bool *was_watched, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		struct trace_function *f = &t->functions.v.data[i];
		struct strbuf name = STRBUF_INIT;

		if (!f->gone || !was_watched[i])
			continue;
		call_target_name(&name, event_run_node(t->run), &f->target);
		trace_warn(t, "code was loaded, and %s does not exist any more", name.buf);
		strbuf_free(&name);
	}
}

/* 0: breakpoints are at the current entries; -EAGAIN: not all new code is known yet. */
static int follow(struct trace *t, struct error *err)
{
	size_t before = t->functions.v.len;
	bool was_watched[TRACE_FUNCTIONS_MAX];
	bool whole = true;
	int rc, armed;

	for (size_t i = 0; i < before; i++) {
		const struct trace_function *f = &t->functions.v.data[i];

		was_watched[i] = !f->gone && (f->addr || f->probed);
	}
	rc = trace_functions_find(&t->functions, t, &whole, err);
	if (rc)
		return rc;
	report_gone(t, was_watched, before);
	for (size_t i = before; i < t->functions.v.len; i++)
		add_module(t, &t->functions.v.data[i].target);
	/* Moves those of functions that were found, even if other code could not be read. */
	armed = trace_points_follow(t, err);
	if (armed)
		return armed;
	if (!whole)
		return error_set(err, ERROR_KIND_FAILED, -EAGAIN, "the new code could not be read");
	return 0;
}

static void try_to_follow(struct trace *t, uint64_t now)
{
	struct trace_code *c = &t->code;
	struct error why;

	if (follow(t, &why) == 0) {
		c->unwatched_ns += clock_monotonic_ns() - c->behind_ns;
		c->good_ns = clock_monotonic_ns();
		c->behind_ns = 0;
		c->reported = false;
		log_info("code was loaded (%" PRIu64 " times so far), and its calls are seen again",
			 c->changes);
		return;
	}
	if (now - c->behind_ns < PATIENCE_NS)
		return;
	c->next_ns = now + RETRY_NS;
	if (!c->reported)
		trace_warn(t, "code was loaded, and calls of it are not all seen: %s", why.msg);
	c->reported = true;
}

void trace_code_tick(struct trace *t, uint64_t now)
{
	struct trace_code *c = &t->code;
	struct error why;

	if (has_changed(t)) {
		c->changes++;
		if (!c->behind_ns)
			c->next_ns = is_of_any_module(t) ? now + ANY_NS : now;
		c->settle_ns = now + SETTLE_NS;
		c->behind_ns = c->behind_ns ? c->behind_ns : c->good_ns;
	}
	if (!c->behind_ns)
		c->good_ns = now;
	if (c->behind_ns && now >= c->next_ns)
		try_to_follow(t, now);
	if (!c->behind_ns && c->settle_ns && now >= c->settle_ns) {
		c->settle_ns = 0;
		if (follow(t, &why))
			log_info("code that was loaded is looked at again: %s", why.msg);
	}
}

void trace_code_report(struct trace *t)
{
	const struct trace_code *c = &t->code;
	uint64_t ns = c->unwatched_ns;
	char text[32];

	if (c->behind_ns)
		ns += clock_monotonic_ns() - c->behind_ns;
	if (c->changes)
		trace_warn(t,
			   "code of traced functions was loaded %" PRIu64
			   " time%s: calls in the %s until breakpoints were moved to it may be "
			   "missing",
			   c->changes, c->changes == 1 ? "" : "s",
			   units_format_ns(ns, text, sizeof(text)));
}

void trace_code_free(struct trace *t)
{
	vec_free(&t->code.modules);
}
