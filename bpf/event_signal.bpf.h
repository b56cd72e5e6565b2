/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of exit signals.
 */
#ifndef EBEAM_BPF_EVENT_SIGNAL_H
#define EBEAM_BPF_EVENT_SIGNAL_H

#include "abi/vm.h"
#include "event_values.bpf.h"

INLINE void exit_signal(struct pt_regs *ctx, uint64_t from, uint64_t to, uint64_t reason)
{
	uint64_t ts_ns, epid = TERM_IS_PID(from) ? from : 0, process = 0, here;
	struct thread_info *t;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted(EVENT_PROCESS_EXIT_SIGNAL))
		return;
	if (counts_all()) {
		count_event(EVENT_PROCESS_EXIT_SIGNAL);
		return;
	}
	ts_ns = event_now();
	t = scheduler_here();
	if (epid && t && read_u64(t->esdp + config.layout.sched_current_process, &here) && here &&
	    epid_of(here) == epid)
		process = here;
	if (!is_about(epid) && !is_about(to))
		return;
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	if (!has_words(from) && !has_words(reason)) {
		rec = event_begin_short(EVENT_PROCESS_EXIT_SIGNAL, ts_ns, epid, flags, 3);
		if (rec) {
			rec->values[0] = from;
			rec->values[1] = to;
			rec->values[2] = reason;
			event_end(rec, 3);
		}
		return;
	}
	rec = event_begin_term(EVENT_PROCESS_EXIT_SIGNAL, ts_ns, epid, flags);
	if (rec) {
		rec->values[0] = from;
		rec->values[1] = to;
		rec->values[2] = reason;
		if (!config.unnamed)
			copy_block(from);
		copy_term(reason);
		event_end_term(rec, 3);
	}
}

/* void erts_proc_sig_send_exit(ErtsPTabElementCommon *sender, Eterm from, Eterm to, Eterm reason,
 * Eterm token, int normal_kills), erl_proc_sig_queue.c: exit/2 */
EVENT_ENTRY(event_send_exit)
{
	exit_signal(ctx, ctx->si, ctx->dx, ctx->cx);
	return 0;
}

/* void erts_proc_sig_send_link_exit(ErtsPTabElementCommon *sender, Eterm from, ErtsLink *lnk,
 * Eterm reason, Eterm token): a process or port with a link exits */
EVENT_ENTRY(event_send_link_exit)
{
	uint64_t to = 0;

	if (!counts_all())
		read_u64(ctx->dx + config.layout.link_item, &to);
	exit_signal(ctx, ctx->si, to, ctx->cx);
	return 0;
}

/* void erts_proc_sig_send_dist_exit(DistEntry *dep, Eterm from, Eterm to, ErtsDistExternal *,
 * ErlHeapFragment *, Eterm reason, Eterm token), erts_proc_sig_send_dist_link_exit() with the same
 * parameters: from another node; reason is THE_NON_VALUE (0) as long as it is not decoded */
EVENT_ENTRY(event_send_dist_exit)
{
	exit_signal(ctx, ctx->si, ctx->dx, ctx->r9);
	return 0;
}

#endif
