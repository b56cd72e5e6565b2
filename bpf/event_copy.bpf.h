/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of copying terms, and of calls of NIFs.
 */
#ifndef EBEAM_BPF_EVENT_COPY_H
#define EBEAM_BPF_EVENT_COPY_H

#include "abi/vm.h"
#include "event_alloc.bpf.h"

/* ---- copies -------------------------------------------------------------------------------- */

/* Eterm copy_struct_x(Eterm obj, Uint sz, Eterm **hpp, ErlOffHeap *off_heap, ...), copy.c; obj may
 * be an immediate, of which nothing is copied */
EVENT_ENTRY(event_copy_struct)
{
	uint64_t ts_ns = event_now(), process, epid;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted(EVENT_COPY_STRUCT) || (!TERM_IS_LIST(ctx->di) && !TERM_IS_BOXED(ctx->di)))
		return 0;
	if (counts_all()) {
		count_sums(EVENT_COPY_STRUCT, ctx->si, EVENT_UNKNOWN);
		return count_if_wanted(EVENT_COPY_STRUCT);
	}
	process = process_running();
	epid = epid_of(process);
	if (!wanted_of(EVENT_COPY_STRUCT, epid))
		return 0;
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_COPY_STRUCT, ts_ns, epid, flags, 1);
	if (rec) {
		rec->values[0] = ctx->si;
		event_end(rec, 1);
	}
	return 0;
}

INLINE void copied_object(struct pt_regs *ctx, uint64_t to, uint64_t size)
{
	uint64_t ts_ns = event_now(), epid = epid_of(to), process;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted_of(EVENT_COPY_OBJECT, epid))
		return;
	count_sums(EVENT_COPY_OBJECT, size, EVENT_UNKNOWN);
	process = process_running();
	event_seen(to, epid, ts_ns);
	if (process != to)
		event_seen(process, epid_of(process), ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_COPY_OBJECT, ts_ns, epid, flags, 1);
	if (rec) {
		rec->values[0] = size;
		event_end(rec, 1);
	}
}

/* Eterm copy_object_x(Eterm obj, Process *to, Uint extra), copy.c: its size is that of the
 * copy_struct_x() inside, which is called once. */
EVENT_ENTRY(event_copy_object)
{
	struct event_thread *t = thread_here();

	if (!t)
		return 0;
	t->copy_to.process = TERM_IS_LIST(ctx->di) || TERM_IS_BOXED(ctx->di) ? ctx->si : 0;
	t->copy_to.epoch = switches.epoch[EVENT_COPY_OBJECT];
	return 0;
}

EVENT_ENTRY(event_copy_object_struct)
{
	struct event_thread *t = thread_here();
	uint64_t to;

	if (!t || !t->copy_to.process)
		return 0;
	to = t->copy_to.process;
	t->copy_to.process = 0;
	if (t->copy_to.epoch == switches.epoch[EVENT_COPY_OBJECT])
		copied_object(ctx, to, ctx->si);
	return 0;
}

/* ---- NIFs ---------------------------------------------------------------------------------- */

/* ErtsCodeMFA {module, function, arity}: the end of the ErtsCodeInfo in front of every function,
 * code_ix.h of OTP 25 to 29 */
#define CODE_MFA_SIZE 24

INLINE void nif_event(struct pt_regs *ctx, enum event_kind kind, uint64_t process,
		      const uint64_t *mfa, uint64_t duration_ns, uint64_t ts_ns)
{
	uint64_t epid = counts_all() ? 0 : epid_of(process);
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted_of(kind, epid))
		return;
	if (kind == EVENT_NIF_RETURN)
		count_sums(kind, EVENT_UNKNOWN, duration_ns);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(kind, ts_ns, epid, flags, 4);
	if (rec) {
		rec->values[0] = mfa[0];
		rec->values[1] = mfa[1];
		rec->values[2] = mfa[2];
		rec->values[3] = duration_ns;
		event_end(rec, kind == EVENT_NIF_RETURN ? 4 : 3);
	}
}

/* True if only numbers of calls and returns are needed: then a return needs nothing of its call. */
INLINE bool nif_counts(void)
{
	return counts_all() && !config.count_sums;
}

INLINE void nif_entered(struct pt_regs *ctx, uint64_t process, uint64_t code)
{
	uint64_t ts_ns;
	struct event_thread *t;

	if (nif_counts()) {
		count_if_wanted(EVENT_NIF_ENTRY);
		return;
	}
	ts_ns = bpf_ktime_get_ns();
	t = thread_here();
	keep_return();
	if (!t)
		return;
	t->nif.process = process;
	t->nif.ts_ns = ts_ns;
	t->nif.epoch = epoch_of(EVENT_NIF_ENTRY, EVENT_NIF_RETURN);
	/* Read at the call: a dirty NIF ends in another function, which takes its result. */
	if (!config.counting && !read_user(code - CODE_MFA_SIZE, t->nif.mfa, CODE_MFA_SIZE))
		t->nif.mfa[2] = EVENT_UNKNOWN; /* an impossible arity: function not known */
	nif_event(ctx, EVENT_NIF_ENTRY, process, t->nif.mfa, 0, ts_ns);
}

/* Eterm beam_jit_call_nif(Process *c_p, ErtsCodePtr I, Eterm *reg, BeamJitNifF *fp,
 * struct erl_module_nif *NifMod), jit/beam_jit_common.cpp; I: where the NIF's function begins */
EVENT_ENTRY(event_nif)
{
	nif_entered(ctx, ctx->di, ctx->si);
	return 0;
}

/* int erts_call_dirty_nif(ErtsSchedulerData *esdp, Process *c_p, ErtsCodePtr I, Eterm *reg),
 * erl_nif.c */
EVENT_ENTRY(event_dirty_nif)
{
	nif_entered(ctx, ctx->si, ctx->dx);
	return 0;
}

EVENT_RETURN(event_nif_return)
{
	uint64_t ts_ns;
	struct event_thread *t;

	if (nif_counts())
		return count_if_wanted(EVENT_NIF_RETURN);
	ts_ns = bpf_ktime_get_ns();
	t = thread_here();
	drop_return();
	if (!t || !t->nif.process)
		return 0;
	if (t->nif.epoch == epoch_of(EVENT_NIF_ENTRY, EVENT_NIF_RETURN))
		nif_event(ctx, EVENT_NIF_RETURN, t->nif.process, t->nif.mfa,
			  between_probes(t->nif.ts_ns, ts_ns), ts_ns);
	t->nif.process = 0;
	return 0;
}

#endif
