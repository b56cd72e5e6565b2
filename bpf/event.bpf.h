/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the programs of events: enabled kinds, selection of processes, cookies, records.  To
 * be included in one unit only, events.bpf.c, as it defines maps. */
#ifndef EBEAM_BPF_EVENT_H
#define EBEAM_BPF_EVENT_H

#include "abi/vm.h"
#include "event_thread.bpf.h"

/* ---- enabled kinds --------------------------------------------------------------------------- */

INLINE bool wanted(enum event_kind kind)
{
	return (config.event_kinds & switches.kinds) >> kind & 1;
}

/* Epoch of two kinds that share a probe: the sum changes when either kind is enabled. */
INLINE uint32_t epoch_of(enum event_kind a, enum event_kind b)
{
	return switches.epoch[a] + switches.epoch[b];
}

/* True if a USDT probe emits events of this kind: then a uprobe, attached for other kinds, must
 * not. */
INLINE bool from_usdt(enum event_kind kind)
{
	return config.usdt_kinds >> kind & 1;
}

/* ---- selected processes ---------------------------------------------------------------------- */

/* What is known of a process if events are selected by name or initial call. */
enum { CALL_UNKNOWN, CALL_IS, CALL_IS_NOT };
struct who_value {
	uint32_t named, call;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct who_value);
} event_who_seen SEC(".maps");

INLINE bool chosen_by_what(void)
{
	return config.event_who.name || config.event_who.call[0];
}

INLINE uint64_t name_of(uint64_t process)
{
	uint64_t reg = 0, name = 0;

	if (process && read_u64(process + config.layout.process_reg, &reg) && reg)
		read_u64(reg + config.layout.regproc_name, &name);
	return name;
}

INLINE bool is_call(const uint64_t mfa[3])
{
	return mfa[0] == config.event_who.call[0] && mfa[1] == config.event_who.call[1] &&
	       mfa[2] == config.event_who.call[2];
}

/* Whether the process has the selected initial call.  That of a process of proc_lib is in its
 * dictionary only after its start: until then CALL_UNKNOWN. */
INLINE uint32_t call_of(uint64_t process, uint32_t process_state)
{
	uint64_t mfa[3], dictionary, term = 0;

	if (!read_user(process + config.layout.process_initial, mfa, sizeof(mfa)))
		return CALL_UNKNOWN;
	if (is_call(mfa))
		return CALL_IS;
	if ((process_state & PSFLG_GC) ||
	    !read_u64(process + config.layout.process_dictionary, &dictionary) ||
	    !dictionary_get(dictionary, &config.initial_call, &term))
		return CALL_UNKNOWN;
	if (!term)
		return mfa[0] == config.proc_lib ? CALL_UNKNOWN : CALL_IS_NOT;
	mfa[0] = 0;
	read_initial_call(term, mfa);
	mfa[2] >>= 4; /* untag the small integer */
	return is_call(mfa) ? CALL_IS : CALL_IS_NOT;
}

/* Updates what is known of a process, if events are selected by name or initial call; 1 = it is
 * known. */
GLOBAL_FN int who_read(uint64_t process, uint64_t epid)
{
	struct who_value *old = bpf_map_lookup_elem(&event_who_seen, &epid), now = {};
	uint32_t process_state;

	if (!read_u32(process + config.layout.process_state, &process_state))
		return 0;
	if (old)
		now = *old;
	/* In an exiting process these fields have other uses: keep what is known. */
	if (process_state & (PSFLG_EXITING | PSFLG_FREE))
		return old != 0;
	if (config.event_who.name)
		now.named = name_of(process) == config.event_who.name;
	if (config.event_who.call[0] && now.call == CALL_UNKNOWN)
		now.call = call_of(process, process_state);
	if (old && old->named == now.named && old->call == now.call)
		return 1;
	/* Emit the process anew, so that user space knows the selected name or call, too. */
	if (now.named || now.call == CALL_IS)
		bpf_map_delete_elem(&processes, &epid);
	bpf_map_update_elem(&event_who_seen, &epid, &now, BPF_ANY);
	return 1;
}

/* Stores what is known of a process that was just created to run `mfa`, and has not run yet. */
INLINE void who_starts(uint64_t epid, const uint64_t mfa[3])
{
	struct who_value now = {};

	if (!chosen_by_what())
		return;
	if (is_call(mfa))
		now.call = CALL_IS;
	else if (mfa[0] != config.proc_lib)
		now.call = CALL_IS_NOT;
	bpf_map_update_elem(&event_who_seen, &epid, &now, BPF_ANY);
}

/* Whether events of this process are selected.  Its name and initial call are as the last epid_of()
 * has read them. */
INLINE bool is_about(uint64_t epid)
{
	struct who_value *v;

	if (config.event_epid && config.event_epid != epid)
		return false;
	if (!chosen_by_what())
		return true;
	v = bpf_map_lookup_elem(&event_who_seen, &epid);
	return v && (!config.event_who.name || v->named) &&
	       (!config.event_who.call[0] || v->call == CALL_IS);
}

/* True if processes are selected by pid alone, so that nothing of a process has to be read. */
INLINE bool by_pid_only(void)
{
	return config.event_epid && !chosen_by_what();
}

INLINE bool wanted_of(enum event_kind kind, uint64_t epid)
{
	return wanted(kind) && is_about(epid);
}

/* Whether a sender or receiver of a message is selected; `process` may be NULL: then only a pid can
 * match. */
INLINE bool is_who(const volatile struct event_who *who, uint64_t process, uint64_t epid)
{
	if (who->epid)
		return epid == who->epid;
	return !who->name || (process && name_of(process) == who->name);
}

/* ---- cookies, hits and counts ---------------------------------------------------------------- */

struct no_programs_map event_no_programs SEC(".maps");

/* Cookies of entry probes by address, on kernels without BPF cookies (before 5.15).  On those a
 * return probe has no cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_EVENT_POINTS);
	__type(key, uint64_t);
	__type(value, uint64_t);
} event_cookies SEC(".maps");

INLINE uint64_t cookie_of(struct pt_regs *ctx)
{
	uint64_t ip = ctx->ip, *cookie;

	if (config.kernel.cookies)
		return bpf_get_attach_cookie(ctx);
	cookie = bpf_map_lookup_elem(&event_cookies, &ip);
	return cookie ? *cookie : 0;
}

/* Counters of this probe on this CPU; 0 = none, as the kernel counts. */
INLINE struct event_work *work_of(struct pt_regs *ctx)
{
	uint32_t key;

	if (!config.own_hits)
		return 0;
	key = EVENT_COOKIE_POINT(bpf_get_attach_cookie(ctx));
	return bpf_map_lookup_elem(&event_work, &key);
}

/* Counts a hit of an event's probe; returns its counters if run time is measured, else 0.  If
 * another thread preempts this one and hits the same probe, the run times of both programs are
 * counted from the second hit on. */
INLINE struct event_work *event_hit(struct pt_regs *ctx)
{
	struct event_work *w = work_of(ctx);

	if (!w)
		return 0;
	/* Atomic, as in count_by(). */
	__sync_fetch_and_add(&w->hits, 1);
	if (!config.own_times)
		return 0;
	w->since_ns = bpf_ktime_get_ns();
	return w;
}

/* Adds the run time of the program, at its end; w is what event_hit() returned. */
INLINE void event_done(struct event_work *w)
{
	if (w)
		__sync_fetch_and_add(&w->ns, bpf_ktime_get_ns() - w->since_ns);
}

/* Defines a program; its body follows the macro. */
#define EVENT_PROGRAM_IN(section, name)                                                            \
	INLINE int name##_hit(struct pt_regs *ctx);                                                \
	SEC(section) int name(struct pt_regs *ctx)                                                 \
	{                                                                                          \
		struct event_work *w;                                                              \
                                                                                                   \
		no_private_stack(ctx, &event_no_programs);                                         \
		w = event_hit(ctx);                                                                \
		name##_hit(ctx);                                                                   \
		event_done(w);                                                                     \
		return 0;                                                                          \
	}                                                                                          \
	INLINE int name##_hit(struct pt_regs *ctx)
#define EVENT_ENTRY(name)  EVENT_PROGRAM_IN("uprobe", name)
#define EVENT_RETURN(name) EVENT_PROGRAM_IN("uretprobe", name)

/* The time stamp of an event; 0 if events are only counted, as that needs no time. */
INLINE uint64_t event_now(void)
{
	return config.counting ? 0 : bpf_ktime_get_ns();
}

/* True if only numbers of events are needed, of all processes: so the process does not matter. */
INLINE bool counts_all(void)
{
	return config.counting && !config.chosen;
}

INLINE bool asked(enum event_kind kind)
{
	return config.event_kinds >> kind & 1;
}

INLINE struct event_count *count_of(enum event_kind kind)
{
	uint32_t key = kind;

	return bpf_map_lookup_elem(&event_counts, &key);
}

/* Atomic, as a program of another thread may preempt this one on this CPU. */
INLINE void count_event(enum event_kind kind)
{
	struct event_count *n = count_of(kind);

	if (n)
		__sync_fetch_and_add(&n->produced, 1);
}

/* If counts_all() is true, this is all that is done for an event.  Returns 0, for the program. */
INLINE int count_if_wanted(enum event_kind kind)
{
	if (wanted(kind))
		count_event(kind);
	return 0;
}

/* Adds size and duration of a counted event; either may be EVENT_UNKNOWN. */
INLINE void count_sums(enum event_kind kind, uint64_t size, uint64_t ns)
{
	struct event_count *n;

	if (!config.counting || !config.count_sums)
		return;
	n = count_of(kind);
	if (!n)
		return;
	/* Not for 0: for a constant 0 the compiler emits another atomic operation, which kernels
	 * before 5.12 lack. */
	if (size && size != EVENT_UNKNOWN)
		__sync_fetch_and_add(&n->size, size);
	if (ns == EVENT_UNKNOWN)
		return;
	__sync_fetch_and_add(&n->ns, ns);
	/* Not atomic: a race may lose one of two new maxima, which is rare. */
	if (ns > n->longest_ns)
		n->longest_ns = ns;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Defined at the end; declared here, as the functions in between call it. */
INLINE uint64_t epid_of(uint64_t process);

/* The identifier of a process; 0 if counts_all() is true, as it is not needed then. */
INLINE uint64_t epid_if_wanted(uint64_t process)
{
	return counts_all() ? 0 : epid_of(process);
}

INLINE void count_lost(enum event_kind kind)
{
	struct event_count *n = count_of(kind);

	if (n)
		__sync_fetch_and_add(&n->lost, 1);
}

/* Fills in the head of a record; the rest is zeroed. */
INLINE void event_head(struct rec_raw_event *rec, enum event_kind kind, uint64_t ts_ns,
		       uint64_t epid, uint16_t flags, uint32_t size)
{
	__builtin_memset(rec, 0, size < sizeof(*rec) ? size : sizeof(*rec));
	rec->h.type = REC_RAW_EVENT;
	rec->h.size = size;
	rec->h.ts_ns = ts_ns;
	rec->cpu = bpf_get_smp_processor_id();
	rec->os_tid = (uint32_t)bpf_get_current_pid_tgid();
	rec->kind = kind;
	rec->flags = flags;
	rec->epid = epid;
}

/* Reserves a record in the ring, zeroed but for its head; `size` must be constant. */
INLINE struct rec_raw_event *event_begin_size(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					      uint16_t flags, uint32_t size)
{
	struct rec_raw_event *rec = 0;
	void *rb;

	count_event(kind);
	if (config.counting)
		return 0;
	rb = ring();
	if (rb)
		rec = bpf_ringbuf_reserve(rb, size, 0);
	if (rec)
		event_head(rec, kind, ts_ns, epid, flags, size);
	else
		count_lost(kind);
	return rec;
}

/* A record with room for all values and `blocks`, which must be constant.  Without names
 * (config.unnamed) it has no blocks, which code that copies into them must check. */
INLINE struct rec_raw_event *event_begin(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					 uint16_t flags, uint32_t blocks)
{
	if (blocks && config.unnamed)
		return event_begin_size(kind, ts_ns, epid, flags, sizeof(struct rec_raw_event));
	return event_begin_size(kind, ts_ns, epid, flags,
				sizeof(struct rec_raw_event) + blocks * sizeof(struct term_block));
}

/* A record for `words` of values, for frequent events. */
INLINE struct rec_raw_event *event_begin_short(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					       uint16_t flags, uint32_t words)
{
	return event_begin_size(kind, ts_ns, epid, flags,
				__builtin_offsetof(struct rec_raw_event, values) + 8 * words);
}

INLINE void event_end(struct rec_raw_event *rec, uint16_t nr_values)
{
	rec->nr_values = nr_values;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* A record with a term, see copy_term(): built in memory of the thread, and emitted with the size
 * that it needs. */
INLINE struct rec_raw_event *event_begin_term(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					      uint16_t flags)
{
	struct event_thread *t;

	count_event(kind);
	if (config.counting)
		return 0;
	t = thread_here();
	if (!t) {
		count_lost(kind);
		return 0;
	}
	event_head(&t->event.rec, kind, ts_ns, epid, flags, sizeof(t->event.rec));
	return &t->event.rec;
}

INLINE void event_end_term(struct rec_raw_event *rec, uint16_t nr_values)
{
	uint64_t size = sizeof(*rec) + rec->nr_blocks * sizeof(struct term_block);
	void *rb = ring();

	rec->nr_values = nr_values;
	rec->h.size = (uint32_t)size;
	FORGET(size);
	if (size > sizeof(struct event_with_term))
		return;
	if (!rb || bpf_ringbuf_output(rb, rec, size, BPF_RB_NO_WAKEUP))
		count_lost(rec->kind);
}

/* Reads a process for process_seen(), which emits it; 0 = it cannot be read. */
GLOBAL_FN int event_read_process(uint64_t process, uint64_t ts_ns)
{
	struct process_view p = {};

	p.addr = process;
	if (!read_u64(process + config.layout.process_id, &p.id) ||
	    !read_u32(process + config.layout.process_state, &p.process_state))
		return 0;
	process_seen(&p, ts_ns);
	return 1;
}

/* Emits name and initial call of a process if it was not seen before; nothing if process is 0. */
INLINE void event_seen(uint64_t process, uint64_t epid, uint64_t ts_ns)
{
	if (process && epid && !config.unnamed && !process_known(epid, ts_ns))
		event_read_process(process, ts_ns);
}

/* Identifier of a process, 0 if it cannot be read; `process` may be NULL.  Also updates what is
 * known of it, if events are selected by that. */
INLINE uint64_t epid_of(uint64_t process)
{
	uint64_t id = 0;

	if (process)
		read_u64(process + config.layout.process_id, &id);
	if (TERM_IS_INVALID_PID(id))
		return 0; /* in a match specification; whose, is not known here */
	if (id && chosen_by_what())
		who_read(process, id);
	return id;
}

#endif
