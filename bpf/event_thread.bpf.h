/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events: state by thread, and stacks that are emitted ahead of an event.  To be included in one
 * unit only, events.bpf.c, as it defines maps. */
#ifndef EBEAM_BPF_EVENT_THREAD_H
#define EBEAM_BPF_EVENT_THREAD_H

#include "maps.bpf.h"

/* Global functions of these files need names of their own, as sample.bpf.c has them, too. */
#define in_jit_mapping	event_in_jit_mapping
#define walk_leaf_chunk event_walk_leaf_chunk
#define walk_root_chunk event_walk_root_chunk
#define site_classify	event_site_classify
#define saved_chunk	event_saved_chunk
#define owner_chunk	event_owner_chunk
#define runs_on		event_runs_on
#include "cstack.bpf.h"
#include "sample.bpf.h"
#include "process.bpf.h"
#include "sites.bpf.h"

struct event_counts_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_EVENT_KINDS);
	__type(key, uint32_t);
	__type(value, struct event_count);
} event_counts SEC(".maps");

/* Hits and run times by point of the plan, for probes that count their hits. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBEAM_EVENT_POINTS);
	__type(key, uint32_t);
	__type(value, struct event_work);
} event_work SEC(".maps");

struct event_switches switches = {};

/* A collection that a thread has entered and not left yet; of an older epoch it is ignored. */
struct entered_gc {
	uint64_t process, epid, ts_ns, need, heap, old_heap, collections, reclaimed;
	uint64_t start, htop, hend; /* of the young heap */
	/* Words since the last collection; older ones on the young heap, and on both heaps; words
	 * of large binaries to which the young heap refers. */
	uint64_t fresh, left, older, binaries;
	uint64_t used, last_message; /* if dirty: words in use; last message of the queues */
	uint32_t flags, state, dirty;
	uint16_t gen_gcs, max_gen_gcs;
	uint32_t epoch;
};
/* Position of a walk along a queue of messages. */
struct message_walk {
	uint64_t message, words, last;
};

/* A record with room for what its term points to. */
struct event_with_term {
	struct rec_raw_event rec;
	struct term_block blocks[EVENT_BLOCKS]; /* rec.blocks */
};

/* Candidates for a port whose driver has this data. */
struct port_search {
	uint64_t registers[6];
	uint64_t data, driver; /* driver 0 = any of those that share the callback */
};

/* State of a thread between probes, and memory for which the BPF stack is too small.  Functions
 * (GLOBAL_FN) find operands here, as kernels before 5.12 do not pass them pointers. */
struct event_thread {
	struct {
		/* A message to an alias that is reported when its size is known.  User space reads
		 * the first word when the probes are gone: 0 = there is none.  extra: words that
		 * are copied in addition to the message, or EVENT_UNKNOWN. */
		uint64_t sender, from, to, alias, extra, ts_ns;
		uint32_t epoch, pad;
	} to_alias;
	uint64_t esdp;	/* ErtsSchedulerData, known from the first collection on; 0 = not yet */
	uint64_t dirty; /* esdp is of a dirty scheduler */
	struct entered_gc gc, usdt_gc;
	struct entered_gc now;			  /* a process as it is when a probe is hit */
	uint64_t process_part[EBEAM_GC_PART / 8]; /* buffer for a struct part of struct process */
	/* If events are only counted: counters of this scheduler after the last collection. */
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
		uint64_t port, epoch; /* the port whose tasks run */
	} port_task;
	uint64_t port_kept; /* port whose driver the running function may call */
	struct {
		uint64_t allctr, size_at, old_size;
		uint32_t many, epoch, pool_epoch, pad;
	} carrier;
	uint64_t carrier_resizing; /* carrier_resizing_mark(), or 0 */
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
		uint64_t process, epoch; /* process for which copy_object_x() copies */
	} copy_to;
	struct {
		uint64_t process, x, epoch; /* process with the exception; its X registers */
		uint64_t stack_ns;	    /* time of the stack where it was raised; 0 = none */
	} error;
	struct {
		uint64_t op, size, sp;	   /* op 0: in none of malloc's functions */
		uint64_t result_at;	   /* where posix_memalign() stores the address */
		uint32_t depth, epoch;	   /* depth: calls of these functions by each other */
		uint64_t every, at, point; /* see libc_stands_for() */
	} libc;
	struct message_walk messages;
	struct port_search ports;
	struct event_with_term event; /* the record under construction */
};
/* User space removes threads that have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC: most elements are not used */
	__type(key, uint32_t);
	__type(value, struct event_thread);
} event_threads SEC(".maps");

static const struct event_thread no_thread;

/* Memory for a stack walk, by thread. */
struct event_scratch {
	struct user_regs regs;
	struct walk walk;
	struct saved_scan saved;
	struct site_scan site;
	struct thread_info thread;
	uint64_t process;
	uint64_t native; /* with the C stack, and also if no process runs */
	struct rec_raw_cstack cstack;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__uint(map_flags, 1);
	__type(key, uint32_t);
	__type(value, struct event_scratch);
} event_scratches SEC(".maps");

/* Zeros, with which a new element is initialised. */
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

/* ---- threads --------------------------------------------------------------------------------- */

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
	uint64_t key = thread_pointer();

	return bpf_map_lookup_elem(&threads, &key);
}

/* A return probe replaces the return address into JIT code by a trampoline's until the function
 * returns.  Keeps the original for those who walk the stack meanwhile; config.keep_returns is 0 if
 * nobody does. */
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
	kept.at = call_return_at(t->registers, &kept.ra);
	if (kept.at && read_u64(kept.at, &kept.ra) && is_jit(kept.ra))
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

/* Duration of a function whose entry and return have probes, without the cost of those: about half
 * of each is between the two time stamps. */
INLINE uint64_t between_probes(uint64_t entered_ns, uint64_t returned_ns)
{
	uint64_t ns = returned_ns - entered_ns, pair_ns = state.pair_ns;

	return ns > pair_ns ? ns - pair_ns : 0;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Walks the Erlang stack of the process that the thread's scratch names. */
INLINE bool walk_process(struct event_scratch *s)
{
	struct process_view p;

	if (!s->process || !process_read(&p, s->process) || TERM_IS_INVALID_PID(p.id))
		return false;
	s->walk.rec.process = s->process;
	s->walk.rec.epid = p.id;
	s->walk.rec.process_state = p.process_state;
	s->walk.rec.process_flags = p.flags;
	sample_stack(&s->walk, &s->saved, &p, &s->regs, &s->thread);
	sample_call(&s->walk, &s->thread, s->process);
	return true;
}

/* Walks the stack of the process that the thread's scratch names, and emits it; 1 = emitted.  With
 * C stacks also of a thread without a process. */
GLOBAL_FN int event_walk(void)
{
	struct event_scratch *s = event_scratch_here();
	uint32_t nr;
	void *rb = ring();

	if (!s || !rb)
		return 0;
	s->walk.rec.thread_type = s->thread.type;
	s->walk.rec.scheduler = s->thread.scheduler;
	if (!walk_process(s) && !(config.native_stacks && s->native))
		return 0;
	if (config.native_stacks && s->native)
		emit_cstack(&s->cstack, &s->walk, &s->regs);
	nr = s->walk.nr_addrs;
	if (nr > WALK_MAX_ADDRS)
		nr = WALK_MAX_ADDRS;
	s->walk.rec.h.size = sizeof(s->walk.rec) + nr * 8;
	return bpf_ringbuf_output(rb, &s->walk, sizeof(s->walk.rec) + nr * 8, BPF_RB_NO_WAKEUP) ==
	       0;
}

/* Scratch of the thread for a stack, of which the caller fills in the registers; 0 = none.
 * native: also of a thread that is no scheduler (t NULL). */
INLINE struct event_scratch *stack_begin(const struct thread_info *t, uint64_t ts_ns, bool native)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), zero = 0;
	struct event_scratch *s, *fresh;

	if (config.counting)
		return 0;
	s = bpf_map_lookup_elem(&event_scratches, &tid);
	if (!s) {
		fresh = bpf_map_lookup_elem(&event_scratch_new, &zero);
		if (fresh)
			bpf_map_update_elem(&event_scratches, &tid, fresh, BPF_ANY);
		s = bpf_map_lookup_elem(&event_scratches, &tid);
	}
	if (!s || (!t && !native)) {
		count(COUNTER_NO_STACK);
		return 0;
	}
	walk_begin(&s->walk, ts_ns);
	s->native = native;
	s->walk.rec.flags = RAW_SAMPLE_REGS | RAW_SAMPLE_EVENT;
	return s;
}

INLINE bool stack_end(struct event_scratch *s, const struct thread_info *t, uint64_t process)
{
	s->walk.rec.user_ip = s->regs.ip;
	s->thread = t ? *t : (struct thread_info){};
	if (!t && state.threads_known)
		s->thread.type = THREAD_OTHER;
	s->process = process;
	if (event_walk())
		return true;
	count(COUNTER_NO_STACK);
	return false;
}

/* Emits the stack of a process that runs on this thread, with these registers, as a raw sample
 * ahead of its event; true if that succeeded. */
INLINE bool stack_ahead(const struct user_regs *regs, const struct thread_info *t, uint64_t process,
			uint64_t ts_ns)
{
	struct event_scratch *s = stack_begin(t, ts_ns, false);

	if (!s)
		return false;
	s->regs = *regs;
	return stack_end(s, t, process);
}

/* Like stack_ahead(), for a process in C code; the registers are read from ctx one by one, as the
 * program has little stack.  raised: address where an exception was raised, which without native
 * stack is on no stack; else 0.  native: see stack_begin(). */
INLINE bool stack_ahead_of(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns, uint64_t raised,
			   bool native)
{
	const struct thread_info *t = scheduler_here();
	struct event_scratch *s = stack_begin(t, ts_ns, native);

	if (!s)
		return false;
	s->walk.raised = raised;
	s->regs.ip = ctx->ip;
	s->regs.sp = ctx->sp;
	s->regs.bp = ctx->bp;
	s->regs.bx = ctx->bx;
	s->regs.r12 = ctx->r12;
	s->regs.r13 = ctx->r13;
	s->regs.r15 = ctx->r15;
	return stack_end(s, t, process);
}

INLINE bool stack_ahead_here(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return stack_ahead_of(ctx, process, ts_ns, 0, false);
}

/* Emits the stack ahead of an event, even if stacks are not asked for; RAW_EVENT_STACK if that
 * succeeded. */
INLINE uint16_t event_stack_always(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return process && stack_ahead_here(ctx, process, ts_ns) ? RAW_EVENT_STACK : 0;
}

/* Like event_stack_always(), but only if stacks are asked for. */
INLINE uint16_t event_stack(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return config.event_stacks ? event_stack_always(ctx, process, ts_ns) : 0;
}

/* Like event_stack(), with the C stack, and also of a thread that runs no process. */
INLINE uint16_t event_native_stack(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	return config.native_stacks && stack_ahead_of(ctx, process, ts_ns, 0, true)
		       ? RAW_EVENT_STACK
		       : 0;
}

#endif
