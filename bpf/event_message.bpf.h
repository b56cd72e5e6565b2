/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of messages.
 */
#ifndef EBEAM_BPF_EVENT_MESSAGE_H
#define EBEAM_BPF_EVENT_MESSAGE_H

#include "abi/vm.h"
#include "event_values.bpf.h"

/* ---- messages -------------------------------------------------------------------------------- */

/* Whether sizes of messages are needed. */
INLINE bool sizes_wanted(void)
{
	return !config.counting || config.count_sums;
}

/* Reads the data of a message, and the used size of the fragment that is part of it. */
INLINE bool message_data(uint64_t message, uint64_t *data, uint64_t *combined)
{
	uint64_t words[EBEAM_MESSAGE / 8];
	const int32_t used_at = config.layout.message_hfrag + HFRAG_USED_SIZE;
	const struct part p =
		part_of(message, config.layout.message_data, used_at, words, sizeof(words));

	/* A message without fragment is shorter, and its memory may end before these fields. */
	if (part_fits(&p) && try_read(message + (uint64_t)p.low, words, (uint32_t)(p.high - p.low)))
		return part_u64(&p, config.layout.message_data, data) &&
		       part_u64(&p, used_at, combined);
	if (!read_u64(message + config.layout.message_data, data))
		return false;
	return *data != COMBINED_HFRAG || read_u64(message + (uint64_t)used_at, combined);
}

/* Words that were copied for a message that is about to be queued.  Without fragment they were
 * copied to the heap of the receiver, and event_alloc_message() has seen their number. */
INLINE uint64_t message_words(uint64_t sender, uint64_t receiver, uint64_t message, uint64_t term)
{
	uint64_t data = 0, combined = 0, size;
	struct event_thread *t;
	uint32_t flags = 0;

	if (!TERM_IS_LIST(term) && !TERM_IS_BOXED(term))
		return 0;
	if (!message_data(message, &data, &combined))
		return EVENT_UNKNOWN;
	if (data == COMBINED_HFRAG)
		return combined;
	if (data)
		return read_u64(data + HFRAG_USED_SIZE, &size) ? size : EVENT_UNKNOWN;
	/* A process does not copy a message to itself, unless it keeps messages off heap. */
	if (sender == receiver) {
		if (!read_u32(receiver + config.layout.process_state, &flags))
			return EVENT_UNKNOWN;
		if (!(flags & PSFLG_OFF_HEAP_MSGQ))
			return 0;
	}
	t = thread_here();
	if (!t || t->message.receiver != receiver ||
	    t->message.epoch != epoch_of(EVENT_MESSAGE_SEND, EVENT_MESSAGE_QUEUED))
		return EVENT_UNKNOWN;
	t->message.receiver = 0;
	return t->message.size;
}

INLINE void is_queued(uint64_t receiver, uint64_t epid, uint64_t from, uint64_t size,
		      uint64_t ts_ns)
{
	struct rec_raw_event *rec;
	uint64_t len;

	if (config.counting) {
		count_event(EVENT_MESSAGE_QUEUED);
		count_sums(EVENT_MESSAGE_QUEUED, size, EVENT_UNKNOWN);
		return;
	}
	event_seen(receiver, epid, ts_ns);
	len = queue_len(receiver);
	rec = event_begin_short(EVENT_MESSAGE_QUEUED, ts_ns, epid, 0, 3);
	if (rec) {
		rec->values[0] = from;
		rec->values[1] = size;
		rec->values[2] = len;
		event_end(rec, 3);
	}
}

INLINE void queued(uint64_t receiver, uint64_t from, uint64_t size, uint64_t ts_ns)
{
	uint64_t epid = epid_of(receiver);

	if (wanted_of(EVENT_MESSAGE_QUEUED, epid))
		is_queued(receiver, epid, from, size, ts_ns);
}

/* ---- to aliases ------------------------------------------------------------------------------ */

/* ErtsPRefThing of a 64-bit VM, erl_term.h of OTP 25 to 29: header, marker (u32), num[5]; num[3]
 * and num[4] are the pid.  Other references have no owner. */
#define PID_REF_HEADER (3ull << 6 | 0x10)
#define PID_REF_WORDS  4
#define PID_REF_PID    24

/* Words of the tuple that a signal with a message to an alias has beside the message and a copy of
 * the alias: header, from, message, alias, and a pointer in two halves.  Without alias if the
 * message, one with priority, is sent to a pid. */
#define ALIAS_TUPLE 6
#define PRIO_TUPLE  5

/* Process that owns an alias; a pid is its own owner; 0 = none. */
INLINE uint64_t owner_of(uint64_t alias)
{
	uint64_t header, to = 0;

	if (!TERM_IS_BOXED(alias))
		return alias;
	if (read_u64(TERM_ADDR(alias), &header) && header == PID_REF_HEADER)
		read_u64(TERM_ADDR(alias) + PID_REF_PID, &to);
	return to;
}

INLINE void sent_to_alias(struct pt_regs *ctx, uint64_t sender, uint64_t from, uint64_t to,
			  uint64_t alias, uint64_t size, uint64_t ts_ns)
{
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted_of(EVENT_MESSAGE_SEND, from))
		return;
	count_sums(EVENT_MESSAGE_SEND, size, EVENT_UNKNOWN);
	event_seen(sender, from, ts_ns);
	flags = event_stack(ctx, sender, ts_ns);
	rec = event_begin(EVENT_MESSAGE_SEND, ts_ns, from, flags, 1);
	if (!rec)
		return;
	if (TERM_IS_BOXED(alias)) {
		rec->values[4] = alias;
		copy_only_block((struct event_with_block *)rec, alias);
	}
	rec->values[0] = to;
	rec->values[1] = size;
	event_end(rec, 5);
}

/* Reports a message to an alias for which nothing was allocated, as its receiver has just
 * exited. */
INLINE void alias_left(struct pt_regs *ctx, struct event_thread *t)
{
	if (t->to_alias.sender &&
	    t->to_alias.epoch == epoch_of(EVENT_MESSAGE_SEND, EVENT_MESSAGE_QUEUED))
		sent_to_alias(ctx, 0, t->to_alias.from, t->to_alias.to, 0, EVENT_UNKNOWN,
			      t->to_alias.ts_ns);
	t->to_alias.sender = 0;
}

/*
 * void erts_proc_sig_send_to_alias(Process *c_p, Eterm from, Eterm to, Eterm msg, Eterm token),
 * erl_proc_sig_queue.c; since OTP 28 erts_proc_sig_send_altact_msg(..., int prio), also for
 * messages with priority to a pid.
 *
 * The message goes to the receiver's signal queue.  Its size is known when memory is allocated for
 * it; if the receiver keeps messages off heap, the allocation is not seen.
 */
EVENT_ENTRY(event_send_to_alias)
{
	uint64_t ts_ns = event_now(), sender = ctx->di, from = epid_of(sender), to, receiver;
	struct event_thread *t = thread_here();
	uint32_t flags = 0;

	if (!t || !from)
		return 0;
	alias_left(ctx, t);
	to = owner_of(ctx->dx);
	receiver = process_with(to);
	if (!receiver || !read_u32(receiver + config.layout.process_state, &flags) ||
	    flags & PSFLG_EXITING)
		receiver = 0;
	if (!is_who(&config.message_from, sender, from) ||
	    !is_who(&config.message_to, receiver, to))
		return 0;
	if (receiver && !(flags & PSFLG_OFF_HEAP_MSGQ) && sizes_wanted()) {
		t->to_alias.sender = sender;
		t->to_alias.from = from;
		t->to_alias.to = to;
		t->to_alias.alias = ctx->dx;
		t->to_alias.extra =
			TERM_IS_BOXED(ctx->dx) ? ALIAS_TUPLE + PID_REF_WORDS : PRIO_TUPLE;
		if (ctx->r8 != TERM_NIL)
			t->to_alias.extra = EVENT_UNKNOWN; /* a token is copied, too */
		t->to_alias.ts_ns = ts_ns;
		t->to_alias.epoch = epoch_of(EVENT_MESSAGE_SEND, EVENT_MESSAGE_QUEUED);
		return 0;
	}
	sent_to_alias(ctx, sender, from, to, ctx->dx, EVENT_UNKNOWN, ts_ns);
	if (receiver)
		queued(receiver, from, EVENT_UNKNOWN, ts_ns);
	return 0;
}

/* Reports the message to an alias when memory for its signal is allocated; words: in total. */
INLINE void alias_allocated(struct pt_regs *ctx, struct event_thread *t, uint64_t receiver,
			    uint64_t words)
{
	uint64_t ts_ns = event_now(), size = EVENT_UNKNOWN, extra = t->to_alias.extra;

	if (extra != EVENT_UNKNOWN && words >= extra)
		size = words - extra;
	sent_to_alias(ctx, t->to_alias.sender, t->to_alias.from, t->to_alias.to, t->to_alias.alias,
		      size, ts_ns);
	queued(receiver, t->to_alias.from, size, ts_ns);
	t->to_alias.sender = 0;
}

/* ---- to pids and names ----------------------------------------------------------------------- */

/* ErtsMessage *erts_try_alloc_message_on_heap(Process *pp, erts_aint32_t *psp, ErtsProcLocks *plp,
 * Uint sz, Eterm **hpp, ErlOffHeap **ohpp, int *on_heap_p), erl_message.c */
EVENT_ENTRY(event_alloc_message)
{
	uint32_t epoch = epoch_of(EVENT_MESSAGE_SEND, EVENT_MESSAGE_QUEUED);
	struct event_thread *t;

	if (!sizes_wanted())
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	if (t->to_alias.sender) {
		if (t->to_alias.epoch == epoch && epid_of(ctx->di) == t->to_alias.to) {
			alias_allocated(ctx, t, ctx->di, ctx->cx);
			return 0;
		}
		alias_left(ctx, t);
	}
	t->message.receiver = ctx->di;
	t->message.size = ctx->cx;
	t->message.epoch = epoch;
	return 0;
}

/* Emits message_send and message_queued for a message from the process `from`; sender: its address,
 * 0 = not known. */
INLINE void queued_by_process(struct pt_regs *ctx, uint64_t sender, uint64_t from,
			      uint64_t receiver, uint64_t message, uint64_t term)
{
	uint64_t ts_ns, to = epid_if_wanted(receiver), size = EVENT_UNKNOWN;
	bool sends = wanted_of(EVENT_MESSAGE_SEND, from),
	     queues = wanted_of(EVENT_MESSAGE_QUEUED, to);
	struct rec_raw_event *rec;
	uint16_t flags;

	if ((!sends && !queues) || !is_who(&config.message_from, sender, from) ||
	    !is_who(&config.message_to, receiver, to))
		return;
	ts_ns = event_now();
	if (sizes_wanted())
		size = message_words(sender, receiver, message, term);
	if (sends) {
		count_sums(EVENT_MESSAGE_SEND, size, EVENT_UNKNOWN);
		event_seen(sender, from, ts_ns);
		event_seen(receiver, to, ts_ns);
		flags = event_stack(ctx, sender, ts_ns);
		rec = event_begin_short(EVENT_MESSAGE_SEND, ts_ns, from, flags, 5);
		if (rec) {
			rec->values[0] = to;
			rec->values[1] = size;
			event_end(rec, 5);
		}
	}
	if (queues)
		is_queued(receiver, to, from, size, ts_ns);
}

/* void erts_queue_proc_message(Process *sender, Process *receiver, ErtsProcLocks receiver_locks,
 * ErtsMessage *mp, Eterm msg), erl_message.c */
EVENT_ENTRY(event_queue_proc_message)
{
	queued_by_process(ctx, ctx->di, epid_if_wanted(ctx->di), ctx->si, ctx->cx, ctx->r8);
	return 0;
}

/* ErtsMessage.m, erl_message.h of OTP 24 */
#define MESSAGE_TERM 0
#define MESSAGE_FROM 16

/*
 * static void queue_messages(Process *receiver, ErtsProcLocks receiver_locks, ErtsMessage *first,
 * ErtsMessage **last, Uint len), erl_message.c of OTP 24, called by erts_send_message() where that
 * has an inlined copy of erts_queue_proc_message().  The message is complete by then.  A signal may
 * be in the list before it: `last` is the link of the message itself.  Lists of messages that a NIF
 * sends come here, too: they are no events, as in other releases.
 */
EVENT_ENTRY(event_queue_messages)
{
	uint64_t receiver = ctx->di, message = ctx->cx - (uint64_t)config.layout.message_next;
	uint64_t m = message + (uint64_t)config.layout.message_m, term, from;

	if (ctx->r8 != 1 || !read_u64(m + MESSAGE_TERM, &term) ||
	    !read_u64(m + MESSAGE_FROM, &from) || !TERM_IS_PID(from))
		return 0;
	queued_by_process(ctx, process_with(from), from, receiver, message, term);
	return 0;
}

/* void erts_queue_message(Process *receiver, ErtsProcLocks receiver_locks, ErtsMessage *mp,
 * Eterm msg, Eterm from), erl_message.c: of ports, timers and the VM itself */
EVENT_ENTRY(event_queue_message)
{
	uint64_t ts_ns = event_now(), receiver = ctx->di, from = ctx->r8;
	uint64_t to = epid_if_wanted(receiver), size = EVENT_UNKNOWN;

	if (!wanted_of(EVENT_MESSAGE_QUEUED, to) || !is_who(&config.message_from, 0, from) ||
	    !is_who(&config.message_to, receiver, to))
		return 0;
	if (sizes_wanted())
		size = message_words(0, receiver, ctx->dx, ctx->cx);
	is_queued(receiver, to, from, size, ts_ns);
	return 0;
}

/* ---- from other nodes ------------------------------------------------------------------------ */

/* ExternalThing {header, ErlNode *, ...}, erl_term.h of OTP 25 to 29 */
#define EXTERNAL_PID_TAG(header) (((header)&0x3f) == 0x30)

/* A message that is not decoded yet.  Its sender is the node, as for the VM itself, whichever
 * process sent it. */
INLINE void queued_from_node(uint64_t receiver, uint64_t from, uint64_t ts_ns)
{
	uint64_t to = epid_if_wanted(receiver), pid[2], node = 0;

	if (!wanted_of(EVENT_MESSAGE_QUEUED, to) || !is_who(&config.message_from, 0, 0) ||
	    !is_who(&config.message_to, receiver, to))
		return;
	if (!config.counting && TERM_IS_BOXED(from) &&
	    read_user(TERM_ADDR(from), pid, sizeof(pid)) && EXTERNAL_PID_TAG(pid[0]))
		read_u64(pid[1] + config.layout.node_sysname, &node);
	is_queued(receiver, to, node, EVENT_UNKNOWN, ts_ns);
}

/* void erts_queue_dist_message(Process *rcvr, ErtsProcLocks rcvr_locks, ErtsDistExternal *dist_ext,
 * ErlHeapFragment *hfrag, Eterm token, Eterm from), erl_message.c */
EVENT_ENTRY(event_queue_dist_message)
{
	queued_from_node(ctx->di, ctx->r9, event_now());
	return 0;
}

/*
 * void erts_proc_sig_send_dist_to_alias(Eterm from, Eterm alias, ErtsDistExternal *edep,
 * ErlHeapFragment *hfrag, Eterm token), erl_proc_sig_queue.c; since OTP 28
 * erts_proc_sig_send_dist_altact_msg(Eterm from, Eterm to, ..., int prio), also of messages with
 * priority to a pid.  OTP 24: (Eterm alias, ...), and who sent it is not known.
 */
EVENT_ENTRY(event_dist_to_alias)
{
	uint64_t from = ctx->di, to = ctx->si, ts_ns = event_now(), receiver;
	uint32_t flags = 0;

	FORGET(from); /* else the compiler makes one load of both, by a computed address */
	FORGET(to);
	if (config.otp == 24) {
		to = from;
		from = 0;
	}
	receiver = process_with(owner_of(to));
	if (receiver && read_u32(receiver + config.layout.process_state, &flags) &&
	    !(flags & PSFLG_EXITING))
		queued_from_node(receiver, from, ts_ns);
	return 0;
}

/* ---- to other nodes -------------------------------------------------------------------------- */

/* ErtsDSigSendContext, dist.h of OTP 25 to 29: int[3 or 4], ctl, msg, from, ctl_heap[8],
 * return_term, dep */
#define DSIG_CONTEXT_DEP 112

/*
 * int erts_dsig_send_msg(ErtsDSigSendContext *ctx, Eterm remote, Eterm message), dist.c; up to OTP
 * 27 to a pid or alias, and int erts_dsig_send_reg_msg(ErtsDSigSendContext *ctx, Eterm remote_name,
 * ...) to a name; since then for all: (ctx, Eterm remote, Eterm full_remote, Eterm message, int
 * prio).
 */
EVENT_ENTRY(event_send_remote)
{
	uint64_t context = ctx->di, name = TERM_IS_ATOM(ctx->si) ? ctx->si : 0;
	uint64_t ts_ns = event_now(), process = 0, epid, dep, node = 0;
	struct thread_info *t = scheduler_here();
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!t || !read_u64(t->esdp + config.layout.sched_current_process, &process) || !process)
		return 0;
	epid = epid_of(process);
	if (!wanted_of(EVENT_MESSAGE_SEND, epid) || !is_who(&config.message_from, process, epid) ||
	    config.message_to.epid || (config.message_to.name && config.message_to.name != name))
		return 0;
	if (read_u64(context + DSIG_CONTEXT_DEP, &dep) && dep)
		read_u64(dep + config.layout.dist_sysname, &node);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_MESSAGE_SEND, ts_ns, epid, flags, 5);
	if (rec) {
		rec->values[1] = EVENT_UNKNOWN;
		rec->values[2] = name;
		rec->values[3] = node;
		event_end(rec, 5);
	}
	return 0;
}

/* ---- taken out ------------------------------------------------------------------------------- */

INLINE void received(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	uint64_t epid = epid_if_wanted(process), from = 0, at;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted_of(EVENT_MESSAGE_RECEIVE, epid) || !is_who(&config.message_to, process, epid))
		return;
	if (config.counting) {
		count_event(EVENT_MESSAGE_RECEIVE);
		return;
	}
	/* sig_qs.save is the address of the pointer to the message. */
	if (read_u64(process + config.layout.process_sig_qs_save, &at) && read_u64(at, &at))
		read_u64(at + config.layout.message_m + 16, &from);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_MESSAGE_RECEIVE, ts_ns, epid, flags, 2);
	if (rec) {
		rec->values[0] = from;
		rec->values[1] = queue_len(process);
		event_end(rec, 2);
	}
}

/* Sint beam_jit_remove_message(Process *c_p, ...), jit/beam_jit_common.cpp: takes the message at
 * *c_p->sig_qs.save; m[2] of it is the sender. */
EVENT_ENTRY(event_receive)
{
	received(ctx, ctx->di, event_now());
	return 0;
}

#endif
