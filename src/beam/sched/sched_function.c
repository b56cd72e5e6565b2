/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_function.h. */
#include "beam/sched/sched_function.h"

#include "abi/vm.h"
#include "beam/code/jit_name.h"
#include "beam/term/atoms.h"
#include "names/names.h"

const char *function_from_name(enum function_from from)
{
	static const char *const names[] = {
		[FUNCTION_NOW] = "now",
		[FUNCTION_CALL] = "call",
		[FUNCTION_SLICE_START] = "slice_start",
	};

	return names[from];
}

/* Appends the Erlang function that holds addr; false: none, or a fragment. */
static bool add_code(const struct stack_code *code, raddr addr, struct strbuf *out)
{
	struct stack_location l = {0};

	l.known = jit_find(code->jit, addr, &l.function);
	if (!l.known || l.function.fragment)
		return false;
	stack_location_format(&l, out);
	return true;
}

/* Appends the function in which the slice began.  For a BIF that was continued (a trap) Process.i
 * is in a fragment, and Process.current is its function, or a BIF or NIF called since. */
static bool add_start(struct beam_node *n, const struct stack_code *code,
		      const struct sched_sample *s, struct strbuf *out)
{
	return add_code(code, s->i, out) ||
	       (!(s->state & PSFLG_EXITING) && beam_mfa_format(n->atoms, s->current_mfa, out));
}

static bool is_code(const struct stack_code *code, raddr addr)
{
	struct jit_function j;

	return jit_find(code->jit, addr, &j);
}

/* Appends the function for which C code was called. */
static bool add_call(struct beam_node *n, const struct stack_code *code, struct callsites *sites,
		     const struct sched_sample *s, struct strbuf *out)
{
	struct callsite_callee callee;
	raddr caller = is_code(code, s->stack_top - 1) ? s->stack_top : 0;

	if (!s->call_ra || !is_code(code, s->call_ra - 1))
		return false;
	callsite_target(sites, s->call_ra, caller, s->light_bif, s->current_mfa, &callee);
	return beam_mfa_format(n->atoms, callee.mfa, out) || add_code(code, s->call_ra - 1, out) ||
	       (caller && add_code(code, caller - 1, out));
}

/* Process.current is the NIF or BIF; during a GC Process.i is in the interrupted function. */
static bool add_dirty(struct beam_node *n, const struct stack_code *code,
		      const struct sched_sample *s, struct strbuf *out)
{
	return (!(s->state & PSFLG_GC) && beam_mfa_format(n->atoms, s->current_mfa, out)) ||
	       add_code(code, s->i, out);
}

/* Has JIT code called the garbage collector?  The fragment that calls it has stored Process.i. */
static bool in_collection(const struct stack_code *code, const struct sched_sample *s)
{
	struct address_range f;

	return (s->state & PSFLG_GC) && jit_fragment(code->jit, "garbage_collect", &f) &&
	       s->call_ra > f.start && s->call_ra <= f.end;
}

enum function_from sched_function(struct beam_node *n, const struct stack_code *code,
				  struct callsites *sites, const struct sched_one *one, raddr ip,
				  bool long_call, struct strbuf *out)
{
	const struct sched_sample *s = &one->now;
	bool in_c = ip && !is_code(code, ip);

	if (s->doing != SCHED_DOING_PROCESS)
		return FUNCTION_UNKNOWN;
	if (one->type != THREAD_NORMAL)
		return add_dirty(n, code, s, out) ? FUNCTION_NOW : FUNCTION_UNKNOWN;
	if (ip && !in_c && add_code(code, ip, out))
		return FUNCTION_NOW;
	if (in_c && add_call(n, code, sites, s, out))
		return FUNCTION_NOW;
	if ((in_c || !ip) && in_collection(code, s) && add_code(code, s->i, out))
		return FUNCTION_NOW;
	if (!ip && long_call && add_call(n, code, sites, s, out))
		return FUNCTION_CALL;
	return add_start(n, code, s, out) ? FUNCTION_SLICE_START : FUNCTION_UNKNOWN;
}
