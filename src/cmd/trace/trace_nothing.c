/* SPDX-License-Identifier: BSD-2-Clause */
/* trace: what to try when no call was seen. */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "beam/resolve/resolve.h"
#include "beam/term/atoms.h"
#include "cmd/run/live.h"
#include "cmd/trace/trace.h"

/* Functions that are listed. */
#define LISTED 6

static bool is_traced(const struct trace *t, const struct call_target *target)
{
	for (size_t i = 0; i < t->functions.v.len; i++) {
		const struct call_target *have = &t->functions.v.data[i].target;

		if (have->module == target->module && have->function == target->function &&
		    have->arity == target->arity)
			return true;
	}
	return false;
}

/* Functions of the same name that the pattern leaves out by its arity. */
static void say_other_arities(struct trace *t, const struct call_pattern *p)
{
	struct live *l = event_run_live(t->run);
	const struct call_query query = {p->module, p->function, CALL_ARITY_ANY};
	struct strbuf text = STRBUF_INIT;
	struct call_targets targets;
	struct error ignored;
	unsigned int nr = 0;

	if (!p->module || !p->function || p->arity == CALL_ARITY_ANY ||
	    call_targets_find(&targets, l->node, beam_resolver_jit(l->resolver), &query,
			      &ignored) != 0)
		return;
	for (size_t i = 0; i < targets.v.len; i++) {
		if (is_traced(t, &targets.v.data[i]) || nr == LISTED)
			continue;
		strbuf_addstr(&text, nr++ ? ", " : "");
		call_target_name(&text, l->node, &targets.v.data[i]);
	}
	if (nr)
		trace_warn(t, "there %s also %s", nr == 1 ? "is" : "are", text.buf);
	call_targets_free(&targets);
	strbuf_free(&text);
}

static bool is_function(struct trace *t, const struct call_target *f, const char *module,
			const char *name)
{
	struct beam_atoms *atoms = event_run_live(t->run)->node->atoms;
	const char *text = beam_atom_text(atoms, f->module, NULL);

	if (!text || strcmp(text, module) != 0)
		return false;
	text = beam_atom_text(atoms, f->function, NULL);
	return text && strcmp(text, name) == 0;
}

/* Several functions make atoms. */
static void say_makers_of_atoms(struct trace *t)
{
	static const char *const makers[] = {"binary_to_atom", "list_to_atom", "binary_to_term"};
	bool traced[ARRAY_SIZE(makers)] = {false}, any = false;
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < t->functions.v.len; i++)
		for (size_t k = 0; k < ARRAY_SIZE(makers); k++)
			traced[k] |=
				is_function(t, &t->functions.v.data[i].target, "erlang", makers[k]);
	for (size_t k = 0; k < ARRAY_SIZE(makers); k++) {
		any |= traced[k];
		if (!traced[k])
			strbuf_addf(&text, " 'erlang:%s -> stack'", makers[k]);
	}
	if (any && text.len)
		trace_warn(t, "other functions make atoms, too: ebeam trace%s", text.buf);
	strbuf_free(&text);
}

/* Functions of a module that only that module can call. */
static void say_local(struct trace *t)
{
	struct strbuf text = STRBUF_INIT;
	unsigned int nr = 0;

	for (size_t i = 0; i < t->functions.v.len && nr < LISTED; i++) {
		const struct call_target *f = &t->functions.v.data[i].target;

		if (f->kind != CALL_TARGET_ERLANG || f->exported)
			continue;
		strbuf_addstr(&text, nr++ ? ", " : "");
		call_target_name(&text, event_run_live(t->run)->node, f);
	}
	if (nr)
		trace_warn(t,
			   "not exported, so that the compiler may have copied it into callers, "
			   "which then do not call it: %s",
			   text.buf);
	strbuf_free(&text);
}

void trace_report_nothing(struct trace *t, const char *time)
{
	const struct event_stream_limited *l = &event_run_stream(t->run)->calls.limited;
	char unseen[96] = "";
	bool args = false;

	if (l->tripped && l->time < 0.95)
		snprintf(unseen, sizeof(unseen),
			 "; for %.1f %% of the time calls were not seen (rate limit)",
			 100 * (1 - l->time));
	for (size_t i = 0; i < t->functions.patterns.len; i++)
		args |= t->functions.patterns.data[i].pattern->has_args;
	trace_warn(t, "no call%s was seen in %s: they are not called, or seldom (-d)%s%s",
		   args ? " that matches" : "", time,
		   args ? ", or not with such arguments (without them, --args shows what they are)"
			: "",
		   unseen);
	for (size_t i = 0; i < t->functions.patterns.len; i++)
		say_other_arities(t, t->functions.patterns.data[i].pattern);
	say_makers_of_atoms(t);
	say_local(t);
}
