/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs of events share: what is kept by thread, stacks, records.  For one unit only,
 * events.bpf.c: it defines maps.
 */
#ifndef EBEAM_BPF_EVENT_H
#define EBEAM_BPF_EVENT_H

#include "maps.bpf.h"

#define in_jit_mapping	event_in_jit_mapping
#define walk_leaf_chunk event_walk_leaf_chunk
#define walk_root_chunk event_walk_root_chunk
#define site_classify	event_site_classify
#define saved_chunk	event_saved_chunk
#include "sample.bpf.h"
#include "process.bpf.h"
#include "sites.bpf.h"

struct event_counts_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_EVENT_KINDS);
	__type(key, uint32_t);
	__type(value, struct event_count);
} event_counts SEC(".maps");

/* By point of the plan, if probes count their hits. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBEAM_EVENT_POINTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} event_hits SEC(".maps");

struct event_switches switches = {};

/* What a thread entered and has not left yet; what was entered in another epoch is forgotten. */
struct entered_gc {
	uint64_t process, epid, ts_ns, need, heap, old_heap, collections, reclaimed;
	uint64_t used, last_message; /* if dirty: words, and what was last in the queues */
	uint32_t flags, state, dirty;
	uint16_t gen_gcs, max_gen_gcs;
	uint32_t epoch;
};
struct event_thread {
	struct {
		/* A message to an alias that is told as soon as its size is known.  User space
		 * looks at the first word when the probes are gone: it is 0 if there is none.
		 * extra: words that are copied beside the message, EVENT_UNKNOWN */
		uint64_t sender, from, to, alias, extra, ts_ns;
		uint32_t epoch, pad;
	} to_alias;
	uint64_t esdp;	/* of a thread that collected; it stays the same scheduler; 0 = not known */
	uint64_t dirty; /* that is a dirty one */
	struct entered_gc gc, usdt_gc;
	/* Where collections are only counted: what was read last of a process, and what this
	 * scheduler had counted when the last one ended. */
	uint64_t gc_kind[EBEAM_GC_KIND / 8];
	struct {
		uint64_t collections, reclaimed;
		uint32_t epoch, pad;
	} gc_known;
	struct {
		uint64_t parent, mfa[3];
		uint32_t link, entered, epoch, pad;
	} spawn;
	struct {
		uint64_t process, name, id, epoch;
	} reg;
	struct {
		uint64_t pid;
		uint32_t entered, epoch;
	} open;
	struct {
		uint64_t receiver, size, epoch;
	} message;
	struct {
		uint64_t port, epoch; /* whose tasks run */
	} port_task;
	uint64_t port_kept; /* that a function was called with; its driver is called next, if any */
	struct {
		uint64_t allctr, size_at, old_size;
		uint32_t many, epoch;
	} carrier;
	struct {
		uint64_t port, bytes, context;
		uint32_t epoch, context_epoch;
	} dist;
	struct {
		uint64_t process, mfa[3], ts_ns, epoch;
	} nif;
	struct {
		uint64_t process, ts_ns, epoch;
	} slice;
	struct {
		uint64_t process, epoch; /* for which copy_object_x() copies */
	} copy_to;
	struct {
		uint64_t process, x, epoch; /* whose exception is handled; its X registers */
	} error;
};
/* User space removes those that ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC: few threads of those there may be */
	__type(key, uint32_t);
	__type(value, struct event_thread);
} event_threads SEC(".maps");

static const struct event_thread no_thread;

/* Room for a stack walk, by thread. */
struct event_scratch {
	struct user_regs regs;
	struct walk walk;
	struct saved_scan saved;
	struct site_scan site;
	struct thread_info thread;
	uint64_t process;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__uint(map_flags, 1);
	__type(key, uint32_t);
	__type(value, struct event_scratch);
} event_scratches SEC(".maps");

/* Zeros, from which a scratch is made. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct event_scratch);
} event_scratch_new SEC(".maps");

INLINE struct event_scratch *event_scratch_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&event_scratches, &tid);
}

INLINE struct walk *walk_scratch(void)
{
	struct event_scratch *s = event_scratch_here();

	return s ? &s->walk : 0;
}

INLINE struct saved_scan *saved_scratch(void)
{
	struct event_scratch *s = event_scratch_here();

	return s ? &s->saved : 0;
}

INLINE struct site_scan *site_scratch(void)
{
	struct event_scratch *s = event_scratch_here();

	return s ? &s->site : 0;
}

/* ---- threads ------------------------------------------------------------------------------- */

INLINE struct event_thread *thread_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);

	if (t)
		return t;
	if (bpf_map_update_elem(&event_threads, &tid, &no_thread, BPF_ANY))
		count(COUNTER_THREAD_TABLE_FULL);
	return bpf_map_lookup_elem(&event_threads, &tid);
}

INLINE struct thread_info *scheduler_here(void)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();
	uint64_t key = task->thread.fsbase;

	return bpf_map_lookup_elem(&threads, &key);
}

/*
 * A return probe puts its own address where the return address into JIT code stands.  What stood
 * there is kept for whoever samples meanwhile, if anybody walks stacks.
 */
INLINE void keep_return(void)
{
	struct kept_return kept = {};
	struct thread_info *t;
	uint32_t tid;

	if (!config.keep_returns)
		return;
	t = scheduler_here();
	tid = (uint32_t)bpf_get_current_pid_tgid();
	if (!t || t->type != THREAD_NORMAL)
		return;
	kept.at = t->registers - 8;
	if (read_u64(kept.at, &kept.ra) && is_jit(kept.ra))
		bpf_map_update_elem(&kept_returns, &tid, &kept, BPF_ANY);
}

INLINE void drop_return(void)
{
	struct kept_return *kept;
	uint32_t tid;

	if (!config.keep_returns)
		return;
	tid = (uint32_t)bpf_get_current_pid_tgid();
	kept = bpf_map_lookup_elem(&kept_returns, &tid);
	if (kept)
		kept->at = 0;
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* Walks the stack of the process in the scratch and emits it; 1 = it is in the ring. */
GLOBAL_FN int event_walk(void)
{
	struct event_scratch *s = event_scratch_here();
	struct process_view p;
	uint32_t nr;
	void *rb = ring();

	if (!s || !rb)
		return 0;
	s->walk.rec.thread_type = s->thread.type;
	s->walk.rec.scheduler = s->thread.scheduler;
	s->walk.rec.process = s->process;
	if (!process_read(&p, s->process))
		return 0;
	s->walk.rec.epid = p.id;
	s->walk.rec.process_state = p.process_state;
	s->walk.rec.process_flags = p.flags;
	sample_stack(&s->walk, &s->saved, &p, &s->regs, &s->thread);
	sample_call(&s->walk, &s->thread, s->process);
	nr = s->walk.nr_addrs;
	if (nr > WALK_MAX_ADDRS)
		nr = WALK_MAX_ADDRS;
	s->walk.rec.h.size = sizeof(s->walk.rec) + nr * 8;
	return bpf_ringbuf_output(rb, &s->walk, sizeof(s->walk.rec) + nr * 8, BPF_RB_NO_WAKEUP) ==
	       0;
}

/* The stack of a process that runs on this thread, with these registers, as a raw sample ahead of
 * what it is of: true if it is there. */
INLINE bool stack_ahead(const struct user_regs *regs, const struct thread_info *t, uint64_t process,
			uint64_t ts_ns)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), zero = 0;
	struct event_scratch *s, *fresh;

	if (config.counting)
		return false;
	s = bpf_map_lookup_elem(&event_scratches, &tid);
	if (!s) {
		fresh = bpf_map_lookup_elem(&event_scratch_new, &zero);
		if (fresh)
			bpf_map_update_elem(&event_scratches, &tid, fresh, BPF_ANY);
		s = bpf_map_lookup_elem(&event_scratches, &tid);
	}
	if (!s || !t) {
		count(COUNTER_NO_STACK);
		return false;
	}
	__builtin_memset(&s->walk.rec, 0, sizeof(s->walk.rec));
	s->walk.nr_addrs = s->walk.failed = s->walk.found = 0;
	s->walk.until = s->walk.skipped_at = 0;
	s->walk.rec.h.type = REC_RAW_SAMPLE;
	s->walk.rec.h.ts_ns = ts_ns;
	s->walk.rec.cpu = bpf_get_smp_processor_id();
	s->walk.rec.os_tid = tid;
	s->walk.rec.flags = RAW_SAMPLE_REGS | RAW_SAMPLE_EVENT;
	s->regs = *regs;
	s->walk.rec.user_ip = regs->ip;
	s->thread = *t;
	s->process = process;
	if (event_walk())
		return true;
	count(COUNTER_NO_STACK);
	return false;
}

/* The same in C code. */
INLINE bool stack_ahead_here(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	struct user_regs regs = {
		.ip = ctx->ip,
		.sp = ctx->sp,
		.bp = ctx->bp,
		.bx = ctx->bx,
		.r13 = ctx->r13,
		.r15 = ctx->r15,
	};

	return stack_ahead(&regs, scheduler_here(), process, ts_ns);
}

/* The stack ahead of an event, asked for or not: RAW_EVENT_STACK if it is there. */
INLINE uint16_t event_stack_always(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return process && stack_ahead_here(ctx, process, ts_ns) ? RAW_EVENT_STACK : 0;
}

/* The same, if stacks are asked for. */
INLINE uint16_t event_stack(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return config.event_stacks ? event_stack_always(ctx, process, ts_ns) : 0;
}

/* ---- what is on ----------------------------------------------------------------------------- */

INLINE bool wanted(enum event_kind kind)
{
	return (config.event_kinds & switches.kinds) >> kind & 1;
}

/* Of two kinds that go on and off together, if both are asked for. */
INLINE uint32_t epoch_of(enum event_kind a, enum event_kind b)
{
	return switches.epoch[a] + switches.epoch[b];
}

/* A USDT probe gives it: not for a uprobe that is there for other kinds. */
INLINE bool from_usdt(enum event_kind kind)
{
	return config.usdt_kinds >> kind & 1;
}

/* ---- whom events are about ------------------------------------------------------------------ */

/* What is known of a process where events are chosen by name or initial call. */
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

/* Is that the initial call of the process?  One of proc_lib tells it only after its start. */
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
	mfa[2] >>= 4; /* a small integer */
	return is_call(mfa) ? CALL_IS : CALL_IS_NOT;
}

/* Looks at a process, if events are chosen by what it is; 1 = what is known of it is up to date. */
GLOBAL_FN int who_look(uint64_t process, uint64_t epid)
{
	struct who_value *old = bpf_map_lookup_elem(&event_who_seen, &epid), now = {};
	uint32_t process_state;

	if (!read_u32(process + config.layout.process_state, &process_state))
		return 0;
	if (old)
		now = *old;
	/* One that exits has other things there: what was known stays. */
	if (process_state & (PSFLG_EXITING | PSFLG_FREE))
		return old != 0;
	if (config.event_who.name)
		now.named = name_of(process) == config.event_who.name;
	if (config.event_who.call[0] && now.call == CALL_UNKNOWN)
		now.call = call_of(process, process_state);
	if (old && old->named == now.named && old->call == now.call)
		return 1;
	/* User space must know it by what it is chosen by. */
	if (now.named || now.call == CALL_IS)
		bpf_map_delete_elem(&processes, &epid);
	bpf_map_update_elem(&event_who_seen, &epid, &now, BPF_ANY);
	return 1;
}

/* A process that was just made, before it ran. */
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

/* By what was known when epid_of() looked at it last. */
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

/* Nothing else chooses: then its pid alone tells of each process whether it is meant. */
INLINE bool by_pid_only(void)
{
	return config.event_epid && !chosen_by_what();
}

INLINE bool wanted_of(enum event_kind kind, uint64_t epid)
{
	return wanted(kind) && is_about(epid);
}

/* Sender or receiver of a message; `process` may be NULL: only the identifier can tell then. */
INLINE bool is_who(const volatile struct event_who *who, uint64_t process, uint64_t epid)
{
	if (who->epid)
		return epid == who->epid;
	return !who->name || (process && name_of(process) == who->name);
}

/* ---- numbers only --------------------------------------------------------------------------- */

/* A probe of events is hit. */
INLINE void event_hit(struct pt_regs *ctx)
{
	uint32_t key;
	uint64_t *n;

	if (!config.own_hits)
		return;
	key = EVENT_COOKIE_POINT(bpf_get_attach_cookie(ctx));
	n = bpf_map_lookup_elem(&event_hits, &key);
	/* As in count_by(). */
	if (n)
		*n += 1;
}

/* A program: what it does stands behind it, as a body. */
#define EVENT_PROGRAM_IN(section, name)                                                            \
	INLINE int name##_hit(struct pt_regs *ctx);                                                \
	SEC(section) int name(struct pt_regs *ctx)                                                 \
	{                                                                                          \
		event_hit(ctx);                                                                    \
		return name##_hit(ctx);                                                            \
	}                                                                                          \
	INLINE int name##_hit(struct pt_regs *ctx)
#define EVENT_ENTRY(name)  EVENT_PROGRAM_IN("uprobe", name)
#define EVENT_RETURN(name) EVENT_PROGRAM_IN("uretprobe", name)

/* For whoever counts the time of an event is nobody's. */
INLINE uint64_t event_now(void)
{
	return config.counting ? 0 : bpf_ktime_get_ns();
}

/* Only numbers are wanted, and of all: nothing has to be known of whom an event is about. */
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

/* Atomic, as another thread's program may run on this CPU meanwhile. */
INLINE void count_event(enum event_kind kind)
{
	struct event_count *n = count_of(kind);

	if (n)
		__sync_fetch_and_add(&n->produced, 1);
}

/* All that is to be done of an event, in counts_all(). */
INLINE int count_if_wanted(enum event_kind kind)
{
	if (wanted(kind))
		count_event(kind);
	return 0;
}

/* What an event that was counted tells beside that; either may be EVENT_UNKNOWN. */
INLINE void count_sums(enum event_kind kind, uint64_t size, uint64_t ns)
{
	struct event_count *n;

	if (!config.counting || !config.count_sums)
		return;
	n = count_of(kind);
	if (!n)
		return;
	if (size != EVENT_UNKNOWN)
		__sync_fetch_and_add(&n->size, size);
	if (ns == EVENT_UNKNOWN)
		return;
	__sync_fetch_and_add(&n->ns, ns);
	/* A lost race with another thread costs one of two maxima, which are both rare. */
	if (ns > n->longest_ns)
		n->longest_ns = ns;
}

/* ---- records -------------------------------------------------------------------------------- */

/* The same before the functions below need it: see epid_of(). */
INLINE uint64_t epid_of(uint64_t process);

/* Where all are counted nobody asks for it. */
INLINE uint64_t epid_if_told(uint64_t process)
{
	return counts_all() ? 0 : epid_of(process);
}

/* A record in the ring, zeroed but for its head; its size is constant. */
INLINE struct rec_raw_event *event_begin_size(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					      uint16_t flags, uint32_t size)
{
	struct event_count *n;
	struct rec_raw_event *rec = 0;
	void *rb;

	n = count_of(kind);
	if (n)
		__sync_fetch_and_add(&n->produced, 1);
	if (config.counting)
		return 0;
	rb = ring();
	if (rb)
		rec = bpf_ringbuf_reserve(rb, size, 0);
	if (!rec) {
		if (n)
			__sync_fetch_and_add(&n->lost, 1);
		return 0;
	}
	__builtin_memset(rec, 0, size < sizeof(*rec) ? size : sizeof(*rec));
	rec->h.type = REC_RAW_EVENT;
	rec->h.size = size;
	rec->h.ts_ns = ts_ns;
	rec->cpu = bpf_get_smp_processor_id();
	rec->os_tid = (uint32_t)bpf_get_current_pid_tgid();
	rec->kind = kind;
	rec->flags = flags;
	rec->epid = epid;
	return rec;
}

/* One with room for all values and so many blocks; that is constant.  Without names there are none,
 * whatever copies into them has to look. */
INLINE struct rec_raw_event *event_begin(enum event_kind kind, uint64_t ts_ns, uint64_t epid,
					 uint16_t flags, uint32_t blocks)
{
	if (blocks && config.unnamed)
		return event_begin_size(kind, ts_ns, epid, flags, sizeof(struct rec_raw_event));
	return event_begin_size(kind, ts_ns, epid, flags,
				sizeof(struct rec_raw_event) + blocks * sizeof(struct term_block));
}

/* One for so many words of values: of what happens often. */
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

/* See process_seen(). */
GLOBAL_FN int event_look(uint64_t process, uint64_t ts_ns)
{
	struct process_view p = {};

	p.addr = process;
	if (!read_u64(process + config.layout.process_id, &p.id) ||
	    !read_u32(process + config.layout.process_state, &p.process_state))
		return 0;
	process_seen(&p, ts_ns);
	return 1;
}

/* Name and initial call of a process, at first sight; 0 = no process. */
INLINE void event_seen(uint64_t process, uint64_t epid, uint64_t ts_ns)
{
	if (process && !config.unnamed && !process_known(epid, ts_ns))
		event_look(process, ts_ns);
}

/* Identifier of a process, 0 if it cannot be read; `process` may be NULL.  Also looks at what it is
 * if events are chosen by that. */
INLINE uint64_t epid_of(uint64_t process)
{
	uint64_t id = 0;

	if (process)
		read_u64(process + config.layout.process_id, &id);
	if (id && chosen_by_what())
		who_look(process, id);
	return id;
}

#endif
