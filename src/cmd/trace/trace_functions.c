/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of `ebeam trace` -> functions of a node (trace.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "cmd/trace/trace.h"

int trace_functions_parse(struct trace_functions *f, struct command_context *ctx, struct error *err)
{
	if (ctx->nr_args > TRACE_FUNCTIONS_MAX)
		return error_set(err, ERROR_KIND_USAGE, -E2BIG, "at most %d patterns",
				 TRACE_FUNCTIONS_MAX);
	for (int i = 0; i < ctx->nr_args; i++) {
		struct trace_pattern p = {0};
		int rc = call_pattern_parse(&p.pattern, ctx->args[i], err);

		if (rc)
			return rc;
		vec_push(&f->patterns, p);
		p.pattern->is_return |= f->returns;
		p.pattern->is_stack |= f->stacks;
	}
	for (size_t i = 0; i < f->patterns.len; i++) {
		const struct call_pattern *p = f->patterns.data[i].pattern;

		if (ctx->opt.input && p->has_args)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 "'%s' has conditions on arguments, which cannot be tested "
					 "in a capture (it holds them as text): give "
					 "module:function/arity",
					 p->text);
		f->returns |= p->is_return;
		f->stacks |= p->is_stack;
	}
	return 0;
}

bool trace_functions_mean(const struct trace_functions *f, const struct name_function *function)
{
	for (size_t i = 0; function && i < f->patterns.len; i++) {
		const struct call_pattern *p = f->patterns.data[i].pattern;

		if ((!p->module ||
		     (function->module && strcmp(p->module, function->module) == 0)) &&
		    (!p->function || strcmp(p->function, function->name) == 0) &&
		    (p->arity < 0 || p->arity == function->arity))
			return true;
	}
	return !f->patterns.len;
}

void trace_functions_free(struct trace_functions *f)
{
	for (size_t i = 0; i < f->patterns.len; i++) {
		call_matcher_close(f->patterns.data[i].matcher);
		call_pattern_free(f->patterns.data[i].pattern);
	}
	vec_free(&f->patterns);
	vec_free(&f->v);
	vec_free(&f->named);
}

/* Is a call wanted?  One pattern that matches its function and arguments is enough. */
static bool accept(void *ctx, struct term_reader *reader, const uint64_t *args, uint32_t nr)
{
	struct trace_function *f = ctx;
	struct trace_functions *all = &f->trace->functions;
	bool undecided = false;

	if (trace_is_full(f->trace))
		return false;
	for (size_t i = 0; i < all->patterns.len; i++) {
		const struct trace_pattern *p = &all->patterns.data[i];
		enum call_verdict verdict;

		if (!(f->patterns >> i & 1))
			continue;
		if (!p->matcher)
			return true;
		verdict = call_match(p->matcher, reader, args, nr);
		if (verdict == CALL_MATCHES)
			return true;
		undecided = undecided || verdict == CALL_UNDECIDED;
	}
	all->undecided += undecided;
	return false;
}

/* Will the end of a call be seen?  Of a C function always: it has a uprobe on its return. */
static bool ends(void *ctx, uint64_t site, uint64_t ts_ns)
{
	struct trace_function *f = ctx;

	if (!f->returns)
		return false;
	return (!f->gone && !trace_by_breakpoint(f)) || trace_sites_caught(f->trace, site, ts_ns);
}

/* ---- patterns -> functions ------------------------------------------------------------------ */

/* The new list of functions; the resolver uses the old one until take_over(). */
struct found {
	VEC(struct trace_function) v;
	bool again; /* not the first time: functions beyond TRACE_FUNCTIONS_MAX are no error */
	bool whole; /* all code could be read */
};

static struct trace_function *same_function(struct found *f, const struct call_target *t)
{
	for (size_t i = 0; i < f->v.len; i++) {
		const struct call_target *have = &f->v.data[i].target;

		if (have->module == t->module && have->function == t->function &&
		    have->arity == t->arity)
			return &f->v.data[i];
	}
	return NULL;
}

static int add_target(struct found *f, struct trace *t, const struct call_target *target,
		      size_t pattern, struct error *err)
{
	const struct call_pattern *p = t->functions.patterns.data[pattern].pattern;
	struct trace_function *have = same_function(f, target);

	if (!have) {
		if (f->v.len >= TRACE_FUNCTIONS_MAX && f->again)
			return 0;
		if (f->v.len >= TRACE_FUNCTIONS_MAX)
			return error_set(
				err, ERROR_KIND_USAGE, -E2BIG,
				"'%s' matches more than %d functions: choose fewer, or use 'ebeam "
				"record', which shows where time goes in all of them",
				p->text, TRACE_FUNCTIONS_MAX);
		vec_push(&f->v, ((struct trace_function){.trace = t}));
		have = &f->v.data[f->v.len - 1];
	}
	have->gone = false;
	have->target = *target;
	have->patterns |= 1ull << pattern;
	have->returns |= p->is_return;
	have->stack |= p->is_stack;
	return 0;
}

static int find_pattern(struct found *f, struct trace *t, size_t i, struct error *err)
{
	struct live *l = event_run_live(t->run);
	struct call_pattern *p = t->functions.patterns.data[i].pattern;
	struct call_query query = {p->module, p->function, p->arity};
	struct call_targets targets;
	int rc = call_targets_find(&targets, l->node, beam_resolver_jit(l->resolver), &query, err);

	if (rc)
		return rc;
	f->whole = f->whole && !targets.moved && !targets.unreadable;
	for (size_t k = 0; k < targets.v.len && rc == 0; k++)
		rc = add_target(f, t, &targets.v.data[k], i, err);
	call_targets_free(&targets);
	return rc;
}

static enum frame_kind frame_kind_of(const struct trace_function *f)
{
	if (trace_by_breakpoint(f) && f->target.kind == CALL_TARGET_NIF)
		return FRAME_ERLANG; /* its breakpoint is at the Erlang entry */
	switch ((enum call_target_kind)f->target.kind) {
	case CALL_TARGET_BIF:
	case CALL_TARGET_INLINED_BIF:
		return FRAME_BIF;
	case CALL_TARGET_NIF:
		return FRAME_NIF;
	case CALL_TARGET_ERLANG:
		break;
	}
	return FRAME_ERLANG;
}

/* Replaces the list of functions by the new one, for the resolver, too. */
static void take_over(struct trace_functions *f, struct trace *t, struct found *found)
{
	struct live *l = event_run_live(t->run);

	vec_free(&f->v);
	f->v.data = found->v.data;
	f->v.len = found->v.len;
	f->v.cap = found->v.cap;
	f->named.len = 0;
	for (size_t i = 0; i < f->v.len; i++) {
		struct trace_function *of = &f->v.data[i];

		if (!found->again && of->target.kind != CALL_TARGET_ERLANG)
			of->probed = of->target.c_function;
		vec_push(&f->named,
			 ((struct call_function){
				 .mfa = {of->target.module, of->target.function, of->target.arity},
				 .kind = frame_kind_of(of),
				 .accept = accept,
				 .ends = ends,
				 .ctx = of,
			 }));
	}
	beam_resolver_watch_calls(l->resolver, f->named.data, (unsigned int)f->named.len,
				  t->text_size, t->shapes);
}

int trace_functions_find(struct trace_functions *f, struct trace *t, bool *whole, struct error *err)
{
	struct live *l = event_run_live(t->run);
	size_t before = f->v.len;
	struct found found = {.again = before > 0, .whole = true};
	struct term_formats formats;
	struct term_reader reader;
	int rc = term_reader_init(&reader, &formats, l->node);

	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the process table: %s",
				 error_text(rc));
	for (size_t i = 0; i < before; i++) {
		vec_push(&found.v, f->v.data[i]);
		found.v.data[i].gone = true;
	}
	for (size_t i = 0; i < f->patterns.len && rc == 0; i++) {
		struct trace_pattern *p = &f->patterns.data[i];

		if (p->pattern->has_args && !p->matcher)
			call_matcher_open(&p->matcher, p->pattern, &reader);
		rc = find_pattern(&found, t, i, err);
		/* Functions that are gone are no error: others may remain. */
		if (rc == -ENOENT && found.again)
			rc = 0;
	}
	if (rc) {
		vec_free(&found.v);
		return rc;
	}
	for (size_t i = 0; i < before && !found.whole; i++)
		found.v.data[i].gone = found.v.data[i].gone && f->v.data[i].gone;
	if (whole)
		*whole = found.whole;
	take_over(f, t, &found);
	return 0;
}
