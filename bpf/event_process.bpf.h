/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of processes and of their scheduling.
 */
#ifndef EBEAM_BPF_EVENT_PROCESS_H
#define EBEAM_BPF_EVENT_PROCESS_H

#include "abi/vm.h"
#include "event_gc.bpf.h"

/* ---- processes ------------------------------------------------------------------------------- */

/* Eterm erl_create_process(Process *parent, Eterm mod, Eterm func, Eterm args, ErlSpawnOpts *so),
 * erl_process.c; so->flags is an int at 0, SPO_LINK its bit 0. */
EVENT_ENTRY(event_spawn)
{
	struct event_thread *t;

	if (counts_all() && !asked(EVENT_PROCESS_LINK))
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	keep_return();
	t->spawn.entered = 1;
	t->spawn.epoch = epoch_of(EVENT_PROCESS_SPAWN, EVENT_PROCESS_LINK);
	t->spawn.parent = ctx->di;
	t->spawn.mfa[0] = ctx->si;
	t->spawn.mfa[1] = ctx->dx;
	t->spawn.mfa[2] = counts_all() ? 0 : (uint64_t)list_length(ctx->cx);
	t->spawn.link = 0;
	read_u32(ctx->r8, &t->spawn.link);
	return 0;
}

INLINE void spawned(struct pt_regs *ctx, struct event_thread *t, uint64_t parent, uint64_t child,
		    uint64_t ts_ns)
{
	struct rec_raw_event *rec;
	uint16_t flags = 0;

	who_starts(child, t->spawn.mfa);
	if (!from_usdt(EVENT_PROCESS_SPAWN) &&
	    (wanted_of(EVENT_PROCESS_SPAWN, child) || wanted_of(EVENT_PROCESS_SPAWN, parent))) {
		flags = event_stack(ctx, t->spawn.parent, ts_ns);
		rec = event_begin_short(EVENT_PROCESS_SPAWN, ts_ns, child, flags, 4);
		if (rec) {
			rec->values[0] = parent;
			rec->values[1] = t->spawn.mfa[0];
			rec->values[2] = t->spawn.mfa[1];
			rec->values[3] = t->spawn.mfa[2];
			event_end(rec, 4);
		}
	}
	if (wanted_of(EVENT_PROCESS_RUNNABLE, child)) {
		rec = event_begin_short(EVENT_PROCESS_RUNNABLE, ts_ns, child, 0, 1);
		if (rec) {
			rec->values[0] = parent;
			event_end(rec, 1);
		}
	}
	if (t->spawn.link & 1 && parent && wanted_of(EVENT_PROCESS_LINK, parent)) {
		flags = event_stack(ctx, t->spawn.parent, ts_ns);
		rec = event_begin_short(EVENT_PROCESS_LINK, ts_ns, parent, flags, 1);
		if (rec) {
			rec->values[0] = child;
			event_end(rec, 1);
		}
	}
}

/* Whether erl_create_process() succeeded: the result is a pid, not THE_NON_VALUE. */
#define SPAWNED(result) (((result)&0xf) == 3)

/* Counts a spawn when it returns; nothing of the call is needed, as links are not counted. */
INLINE int count_spawn(uint64_t child)
{
	if (!SPAWNED(child))
		return 0;
	if (!from_usdt(EVENT_PROCESS_SPAWN))
		count_if_wanted(EVENT_PROCESS_SPAWN);
	return count_if_wanted(EVENT_PROCESS_RUNNABLE);
}

EVENT_RETURN(event_spawn_return)
{
	uint64_t ts_ns, child = ctx->ax, parent;
	struct event_thread *t;

	if (counts_all() && !asked(EVENT_PROCESS_LINK))
		return count_spawn(child);
	ts_ns = event_now();
	t = thread_here();
	if (!t || !t->spawn.entered)
		return 0;
	drop_return();
	t->spawn.entered = 0;
	if (t->spawn.epoch != epoch_of(EVENT_PROCESS_SPAWN, EVENT_PROCESS_LINK))
		return 0;
	parent = epid_of(t->spawn.parent);
	event_seen(t->spawn.parent, parent, ts_ns);
	if (SPAWNED(child))
		spawned(ctx, t, parent, child, ts_ns);
	return 0;
}

/* void erts_do_exit_process(Process *p, Eterm reason), erl_process.c: once for each process, also
 * for one that is killed by a signal. */
EVENT_ENTRY(event_exit)
{
	uint64_t ts_ns, process = ctx->di, epid;
	struct event_thread *t;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (counts_all())
		return count_if_wanted(EVENT_PROCESS_EXIT);
	epid = epid_of(process);
	if (!wanted_of(EVENT_PROCESS_EXIT, epid))
		return 0;
	ts_ns = event_now();
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	t = thread_here();
	if (!t)
		return 0;
	heaps_read(process);
	/* Most reasons are immediates, such as normal. */
	if (!has_words(ctx->si)) {
		rec = event_begin_short(EVENT_PROCESS_EXIT, ts_ns, epid, flags, 3);
		if (rec) {
			rec->values[0] = ctx->si;
			rec->values[1] = t->now.fresh;
			rec->values[2] = t->now.binaries;
			event_end(rec, 3);
		}
		return 0;
	}
	rec = event_begin_term(EVENT_PROCESS_EXIT, ts_ns, epid, flags);
	if (rec) {
		rec->values[0] = ctx->si;
		rec->values[1] = t->now.fresh;
		rec->values[2] = t->now.binaries;
		copy_term(ctx->si);
		event_end_term(rec, 3);
	}
	return 0;
}

INLINE void link_event(struct pt_regs *ctx, enum event_kind kind, uint64_t from, uint64_t to)
{
	uint64_t ts_ns, process = 0, esdp_process;
	struct thread_info *t;
	struct rec_raw_event *rec;
	uint16_t flags;

	if ((from & 0xf) != 3 || !wanted(kind))
		return;
	if (counts_all()) {
		count_event(kind);
		return;
	}
	if (by_pid_only() && !is_about(from))
		return;
	ts_ns = event_now();
	t = scheduler_here();
	/* If the sender runs on this scheduler its name and stack are emitted, too. */
	if (t && read_u64(t->esdp + config.layout.sched_current_process, &esdp_process) &&
	    esdp_process && epid_of(esdp_process) == from)
		process = esdp_process;
	if (!is_about(from))
		return;
	event_seen(process, from, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(kind, ts_ns, from, flags, 1);
	if (rec) {
		rec->values[0] = to;
		event_end(rec, 1);
	}
}

/* int erts_proc_sig_send_link(ErtsPTabElementCommon *sender, Eterm from, Eterm to, ErtsLink *lnk),
 * erl_proc_sig_queue.c; OTP 24: (Process *c_p, Eterm to, ErtsLink *lnk) */
EVENT_ENTRY(event_link)
{
	uint64_t from = ctx->si, to = ctx->dx;

	if (config.otp == 24) {
		to = from;
		from = 0; /* a link from another node has no process here */
		if (ctx->di)
			read_u64(ctx->di + config.layout.process_id, &from);
	}
	link_event(ctx, EVENT_PROCESS_LINK, from, to);
	return 0;
}

/* Uint64 erts_proc_sig_send_unlink(ErtsPTabElementCommon *sender, Eterm from, ErtsLink *lnk) */
EVENT_ENTRY(event_unlink)
{
	uint64_t to = 0;

	if (!config.counting)
		read_u64(ctx->dx + config.layout.link_item, &to);
	link_event(ctx, EVENT_PROCESS_UNLINK, ctx->si, to);
	return 0;
}

/* int erts_register_name(Process *c_p, Eterm name, Eterm id), register.c; 1 = done */
EVENT_ENTRY(event_register)
{
	struct event_thread *t;

	if (counts_all())
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	keep_return();
	t->reg.process = ctx->di;
	t->reg.name = ctx->si;
	t->reg.id = ctx->dx;
	t->reg.epoch = switches.epoch[EVENT_PROCESS_REGISTER];
	return 0;
}

EVENT_RETURN(event_register_return)
{
	struct event_thread *t;
	struct rec_raw_event *rec;
	uint64_t ts_ns, id, epid;
	uint16_t flags;

	if (counts_all())
		return (int)ctx->ax == 1 ? count_if_wanted(EVENT_PROCESS_REGISTER) : 0;
	t = thread_here();
	if (!t || !t->reg.process)
		return 0;
	drop_return();
	id = t->reg.id;
	epid = TERM_IS_PID(id) ? id : 0;
	if ((int)ctx->ax == 1 && t->reg.epoch == switches.epoch[EVENT_PROCESS_REGISTER] &&
	    wanted(EVENT_PROCESS_REGISTER) &&
	    (is_about(epid) || (epid_of(t->reg.process) == epid && is_about(epid)))) {
		ts_ns = event_now();
		/* Name changed: emit the process anew. */
		bpf_map_delete_elem(&processes, &id);
		if (!config.unnamed)
			event_read_process(t->reg.process, ts_ns);
		flags = event_stack(ctx, t->reg.process, ts_ns);
		rec = event_begin_short(EVENT_PROCESS_REGISTER, ts_ns, epid, flags, 2);
		if (rec) {
			rec->values[0] = t->reg.name;
			rec->values[1] = epid ? 0 : id;
			event_end(rec, 2);
		}
	}
	t->reg.process = 0;
	return 0;
}

/* int erts_unregister_name(Process *c_p, ErtsProcLocks locks, Port *c_prt, Eterm name), register.c;
 * name 0: the name under which the process or port is registered. */
EVENT_ENTRY(event_unregister)
{
	uint64_t ts_ns, process = ctx->di, name = ctx->cx, by;
	uint64_t reg = 0, own = 0, epid = 0;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (counts_all() && name)
		return count_if_wanted(EVENT_PROCESS_UNREGISTER);
	by = epid_of(process);
	if (process && read_u64(process + config.layout.process_reg, &reg) && reg)
		read_u64(reg + config.layout.regproc_name, &own);
	if (!name)
		name = own;
	if (!name)
		return 0;
	if (name == own)
		epid = by;
	if (!wanted_of(EVENT_PROCESS_UNREGISTER, epid))
		return 0;
	ts_ns = event_now();
	event_seen(process, by, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_PROCESS_UNREGISTER, ts_ns, epid, flags, 2);
	if (rec) {
		rec->values[0] = name;
		rec->values[1] = by;
		event_end(rec, 2);
	}
	return 0;
}

/* What is new on the heap of a process that hibernates: erts_hibernate() collects all of it, unless
 * a message has come (beam_common.c of OTP 25 to 29). */
GLOBAL_FN int hibernate_read(uint64_t process)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);

	if (!t)
		return 0;
	if (queue_len(process) != 0)
		t->now.fresh = t->now.binaries = 0;
	else
		gc_read_heaps(process, t, &t->now);
	return 1;
}

/* A process hibernates.  regs: address of module, function and arguments to continue with; 0: it
 * continues where it is. */
INLINE int hibernates(struct pt_regs *ctx, uint64_t process, uint64_t regs)
{
	uint64_t ts_ns, epid, reg[3] = {0, 0, TERM_NIL};
	struct event_thread *t = thread_here();
	struct rec_raw_event *rec;
	uint16_t flags;

	if (counts_all())
		return count_if_wanted(EVENT_PROCESS_HIBERNATE);
	epid = epid_of(process);
	if (!t || !wanted_of(EVENT_PROCESS_HIBERNATE, epid) ||
	    (regs && !read_user(regs, reg, sizeof(reg))))
		return 0;
	ts_ns = event_now();
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	hibernate_read(process);
	rec = event_begin_short(EVENT_PROCESS_HIBERNATE, ts_ns, epid, flags, 5);
	if (rec) {
		rec->values[0] = reg[0];
		rec->values[1] = reg[1];
		rec->values[2] = (uint64_t)list_length(reg[2]);
		rec->values[3] = t->now.fresh;
		rec->values[4] = t->now.binaries;
		event_end(rec, 5);
	}
	return 0;
}

/* int erts_hibernate(Process *c_p, Eterm *reg), beam_common.c, up to OTP 27 */
EVENT_ENTRY(event_hibernate)
{
	return hibernates(ctx, ctx->di, ctx->si);
}

/* void erts_hibernate(Process *c_p, Eterm *regs, int arity), since then; arity is 3, or 0 of
 * hibernate/0 */
EVENT_ENTRY(event_hibernate_arity)
{
	return hibernates(ctx, ctx->di, (int)ctx->dx == 3 ? ctx->si : 0);
}

/* ---- scheduling ------------------------------------------------------------------------------ */

/* Process.state, erl_process.h of OTP 25 to 29.  A process that waits has ACTIVE cleared before
 * it is scheduled out (beam_jit_wait_locked(), beam_common.c).  ACTIVE_SYS alone means signals
 * or system tasks: erts_schedule() handles them, and need not return the process for that. */

INLINE enum event_word status_of(uint32_t state)
{
	if (state & PSFLG_SUSPENDED)
		return EVENT_WORD_SUSPENDED;
	return state & PSFLG_ACTIVE ? EVENT_WORD_RUNNABLE : EVENT_WORD_WAITING;
}

/* Fields of a process that leaves or enters a scheduler. */
struct running {
	uint64_t epid, at;
	uint32_t state, pad;
};

/* Single reads, as the buffer of a struct part, twice and with a stack walk, would not fit on the
 * BPF stack.  False if a field cannot be read. */
INLINE bool running_read(uint64_t process, struct running *r)
{
	return read_u64(process + config.layout.process_id, &r->epid) &&
	       read_u64(process + config.layout.process_i, &r->at) &&
	       read_u32(process + config.layout.process_state, &r->state);
}

/* Whether an event of this kind and process is wanted.  First updates what is known of the process,
 * if events are selected by name or initial call. */
INLINE bool running_wanted(enum event_kind kind, uint64_t process, const struct running *r)
{
	if (!wanted(kind))
		return false;
	if (chosen_by_what())
		who_read(process, r->epid);
	return is_about(r->epid);
}

INLINE void scheduled(struct pt_regs *ctx, uint64_t process, const struct running *r,
		      enum event_word word, uint64_t reductions, enum event_word status,
		      uint64_t ts_ns)
{
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!running_wanted(EVENT_PROCESS_SCHEDULED, process, r))
		return;
	event_seen(process, r->epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_PROCESS_SCHEDULED, ts_ns, r->epid, flags, 4);
	if (rec) {
		rec->values[0] = word;
		rec->values[1] = r->at;
		rec->values[2] = reductions;
		rec->values[3] = status;
		event_end(rec, 4);
	}
}

/* A process leaves a scheduler: emits long_schedule if its slice was long enough. */
INLINE void slice_ends(struct pt_regs *ctx, uint64_t process, const struct running *r,
		       uint64_t reductions, uint64_t ts_ns)
{
	struct event_thread *t = thread_here();
	uint64_t ns;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!t || !t->slice.process)
		return;
	ns = ts_ns - t->slice.ts_ns;
	if (t->slice.process != process || ns < config.longer_than_ns ||
	    t->slice.epoch != switches.epoch[EVENT_LONG_SCHEDULE]) {
		t->slice.process = 0;
		return;
	}
	t->slice.process = 0;
	if (!running_wanted(EVENT_LONG_SCHEDULE, process, r))
		return;
	event_seen(process, r->epid, ts_ns);
	flags = event_stack_always(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_LONG_SCHEDULE, ts_ns, r->epid, flags, 3);
	if (rec) {
		rec->values[0] = ns;
		rec->values[1] = r->at;
		rec->values[2] = reductions;
		event_end(rec, 3);
	}
}

INLINE void slice_begins(uint64_t process, uint64_t ts_ns)
{
	struct event_thread *t = thread_here();

	if (t) {
		t->slice.process = process;
		t->slice.ts_ns = ts_ns;
		t->slice.epoch = switches.epoch[EVENT_LONG_SCHEDULE];
	}
}

/* Reductions that a process used. erts_schedule() also counts those that were given away
 * unused. */
INLINE uint64_t reductions_of(uint64_t esdp, uint32_t calls)
{
	uint32_t given_away = 0;

	if (!esdp || !read_u32(esdp + config.layout.sched_virtual_reds, &given_away) ||
	    given_away > calls)
		return EVENT_UNKNOWN;
	return calls - given_away;
}

/* If events are selected by pid, most processes are left out before anything else is read. */
INLINE bool is_scheduled_wanted(uint64_t process)
{
	return !by_pid_only() || is_about(epid_of(process));
}

/* Process *erts_schedule(ErtsSchedulerData *esdp, Process *p, int calls), erl_process.c; p is NULL
 * the first time; calls = reductions that p used; esdp is NULL on normal schedulers. */
EVENT_ENTRY(event_schedule)
{
	uint64_t ts_ns, esdp = ctx->di, process = ctx->si, reductions;
	enum event_word word = EVENT_WORD_OUT, status;
	struct running r = {};

	if (counts_all()) {
		if (process && asked(EVENT_LONG_SCHEDULE))
			slice_ends(ctx, process, &r, 0, bpf_ktime_get_ns());
		return process ? count_if_wanted(EVENT_PROCESS_SCHEDULED) : 0;
	}
	keep_return();
	if (!process || !is_scheduled_wanted(process))
		return 0;
	ts_ns = bpf_ktime_get_ns();
	if (!running_read(process, &r))
		return 0;
	/* A process that is FREE but ACTIVE is scheduled again, to clean up:
	 * erts_continue_exit_process(), erl_process.c of OTP 25 to 29, clears ACTIVE last. */
	if ((r.state & (PSFLG_FREE | PSFLG_ACTIVE)) == PSFLG_FREE)
		word = EVENT_WORD_OUT_EXITED;
	else if (r.state & (PSFLG_EXITING | PSFLG_FREE))
		word = EVENT_WORD_OUT_EXITING;
	status = word == EVENT_WORD_OUT_EXITED ? EVENT_WORD_NONE : status_of(r.state);
	if (!esdp)
		read_u64(process + config.layout.process_scheduler_data, &esdp);
	reductions = reductions_of(esdp, (uint32_t)ctx->dx);
	scheduled(ctx, process, &r, word, reductions, status, ts_ns);
	if (wanted(EVENT_LONG_SCHEDULE))
		slice_ends(ctx, process, &r, reductions, ts_ns);
	return 0;
}

EVENT_RETURN(event_schedule_return)
{
	uint64_t ts_ns, process = ctx->ax;
	struct running r = {};

	if (counts_all()) {
		if (process && asked(EVENT_LONG_SCHEDULE))
			slice_begins(process, bpf_ktime_get_ns());
		return process ? count_if_wanted(EVENT_PROCESS_SCHEDULED) : 0;
	}
	drop_return();
	if (!process || !is_scheduled_wanted(process))
		return 0;
	ts_ns = bpf_ktime_get_ns();
	if (!running_read(process, &r))
		return 0;
	scheduled(ctx, process, &r, r.state & PSFLG_EXITING ? EVENT_WORD_IN_EXITING : EVENT_WORD_IN,
		  EVENT_UNKNOWN, EVENT_WORD_NONE, ts_ns);
	if (wanted(EVENT_LONG_SCHEDULE))
		slice_begins(process, bpf_ktime_get_ns());
	return 0;
}

/* Emits process_runnable; not if Process.state has one of the bits of `unless`. */
INLINE void runnable(struct pt_regs *ctx, uint64_t process, uint32_t unless)
{
	uint64_t ts_ns, epid, here = 0, by;
	struct rec_raw_event *rec;
	struct thread_info *t;
	uint32_t flags = 0;
	uint16_t stack;

	if (counts_all()) {
		if (wanted(EVENT_PROCESS_RUNNABLE) &&
		    read_u32(process + config.layout.process_state, &flags) && !(flags & unless))
			count_event(EVENT_PROCESS_RUNNABLE);
		return;
	}
	epid = epid_of(process);
	if (!wanted_of(EVENT_PROCESS_RUNNABLE, epid) ||
	    !read_u32(process + config.layout.process_state, &flags) || flags & unless)
		return;
	ts_ns = event_now();
	event_seen(process, epid, ts_ns);
	t = scheduler_here();
	if (t)
		read_u64(t->esdp + config.layout.sched_current_process, &here);
	by = here == process ? epid : epid_of(here);
	if (here != process)
		event_seen(here, by, ts_ns);
	stack = event_stack(ctx, here, ts_ns);
	rec = event_begin_short(EVENT_PROCESS_RUNNABLE, ts_ns, epid, stack, 1);
	if (rec) {
		rec->values[0] = by;
		event_end(rec, 1);
	}
}

/* void erts_schedule_process(Process *p, erts_aint32_t state, ErtsProcLocks locks),
 * erl_process.c: called by erts_proc_notify_new_message(), which is inlined, and by timers, if
 * the process is not active.  A suspended process is not scheduled. */
EVENT_ENTRY(event_schedule_process)
{
	runnable(ctx, ctx->di, PSFLG_IN_RUNQ | PSFLG_FREE | PSFLG_SUSPENDED);
	return 0;
}

/* erts_aint32_t erts_proc_sys_schedule(Process *p, erts_aint32_t state, erts_aint32_t enable_flag),
 * erl_process.c: for signals other than messages, also to a suspended process */
EVENT_ENTRY(event_sys_schedule)
{
	runnable(ctx, ctx->di, PSFLG_IN_RUNQ | PSFLG_FREE);
	return 0;
}

/*
 * void erts_thr_progress_active(ErtsThrPrgrData *tpd, int on), erl_thr_progress.c: of schedulers,
 * scheduler_wait() and suspend_normal_scheduler() call it wherever they call
 * sched_wall_time_change(), which is static (erl_process.c of OTP 25 to 29).
 */
EVENT_ENTRY(event_scheduler_active)
{
	uint64_t ts_ns = event_now();
	struct thread_info *t = scheduler_here();
	struct rec_raw_event *rec;

	if (!t || t->type != THREAD_NORMAL || !wanted_of(EVENT_SCHEDULER_ACTIVE, 0))
		return 0;
	rec = event_begin_short(EVENT_SCHEDULER_ACTIVE, ts_ns, 0, 0, 1);
	if (rec) {
		rec->values[0] = (uint32_t)ctx->si ? EVENT_WORD_ACTIVE : EVENT_WORD_INACTIVE;
		event_end(rec, 1);
	}
	return 0;
}

#endif
