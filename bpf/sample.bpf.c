/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CPU sampling: one perf_event program on every CPU, for the threads of one node.  A thin shell
 * around sample.bpf.h: from registers to records, without names. */
#include "abi/vm.h"
#include "maps.bpf.h"
#include "cstack.bpf.h"
#include "sample.bpf.h"
#include "process.bpf.h"
#include "sites.bpf.h"

/* Too large for the BPF stack.  Only perf_event programs use it: a sample may interrupt another
 * kind of program on its CPU, but never another sample. */
struct sample_scratch {
	struct walk walk;
	struct saved_scan saved;
	struct site_scan site;
	struct rec_raw_gap gap;
	struct rec_raw_cstack cstack;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sample_scratch);
} scratch SEC(".maps");

INLINE struct sample_scratch *scratch_here(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

INLINE struct walk *walk_scratch(void)
{
	struct sample_scratch *s = scratch_here();

	return s ? &s->walk : 0;
}

INLINE struct saved_scan *saved_scratch(void)
{
	struct sample_scratch *s = scratch_here();

	return s ? &s->saved : 0;
}

INLINE struct site_scan *site_scratch(void)
{
	struct sample_scratch *s = scratch_here();

	return s ? &s->site : 0;
}

/* A volatile load, so that the compiler does not merge the branches of read_regs() into loads by
 * one computed pointer, which the verifier forbids for the context. */
#define CTX_REG(ctx, reg) (*(const volatile unsigned long *)&(ctx)->regs.reg)

/* Registers of user code at the entry to the kernel. */
INLINE void task_regs(struct user_regs *r)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pt_regs *u = (void *)bpf_task_pt_regs((void *)task);

	r->ip = u->ip;
	r->sp = u->sp;
	r->bp = u->bp;
	r->bx = u->bx;
	r->r12 = u->r12;
	r->r13 = u->r13;
	r->r15 = u->r15;
}

/*
 * Registers of user code on kernels without bpf_task_pt_regs() (before 5.15): they are at the top
 * of the thread's kernel stack, which has 16 KiB on those kernels (THREAD_SIZE and task_pt_regs(),
 * arch/x86/include/asm).  False if cs is not that of user code: the stack is larger, as with KASAN.
 */
#define KERNEL_STACK_SIZE 16384
#define USER_CS		  0x33
INLINE bool task_regs_by_stack(struct user_regs *r)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char *stack = BPF_CORE_READ(task, stack);
	struct pt_regs *u;

	u = (void *)(stack + KERNEL_STACK_SIZE - bpf_core_type_size(struct pt_regs));
	if (BPF_CORE_READ(u, cs) != USER_CS)
		return false;
	r->ip = BPF_CORE_READ(u, ip);
	r->sp = BPF_CORE_READ(u, sp);
	r->bp = BPF_CORE_READ(u, bp);
	r->bx = BPF_CORE_READ(u, bx);
	r->r12 = BPF_CORE_READ(u, r12);
	r->r13 = BPF_CORE_READ(u, r13);
	r->r15 = BPF_CORE_READ(u, r15);
	return true;
}

INLINE void read_regs(struct bpf_perf_event_data *ctx, struct user_regs *r,
		      struct rec_raw_sample *rec)
{
	/* cs & 3: privilege level of the interrupted code. */
	if (ctx->regs.cs & 3) {
		r->ip = CTX_REG(ctx, ip);
		r->sp = CTX_REG(ctx, sp);
		r->bp = CTX_REG(ctx, bp);
		r->bx = CTX_REG(ctx, bx);
		r->r12 = CTX_REG(ctx, r12);
		r->r13 = CTX_REG(ctx, r13);
		r->r15 = CTX_REG(ctx, r15);
	} else {
		rec->flags |= RAW_SAMPLE_KERNEL;
		if (config.kernel.task_regs)
			task_regs(r);
		else if (!task_regs_by_stack(r))
			return;
	}
	rec->flags |= RAW_SAMPLE_REGS;
	rec->user_ip = r->ip;
}

/* In JIT code rbx points to the scheduler's registers, and r13 to the process, which points to the
 * scheduler's data. */
INLINE bool learn_thread(struct thread_info *t, const struct user_regs *r, uint64_t key)
{
	uint64_t registers = r->bx - config.layout.registers_x, esdp, back, no;
	uint32_t type;

	if (!read_u64(r->r13 + config.layout.process_scheduler_data, &esdp) || !esdp)
		return false;
	if (!read_u64(esdp + config.layout.sched_registers, &back) || back != registers)
		return false;
	if (!read_u32(esdp + config.layout.sched_type, &type) || type != 0 ||
	    !read_u64(esdp + config.layout.sched_no, &no))
		return false;
	t->esdp = esdp;
	t->registers = registers;
	t->type = THREAD_NORMAL;
	t->scheduler = (uint16_t)no;
	if (bpf_map_update_elem(&threads, &key, t, BPF_ANY))
		count(COUNTER_THREAD_TABLE_FULL);
	return true;
}

INLINE void emit(struct walk *w)
{
	uint32_t nr = w->nr_addrs;
	void *rb = ring();

	if (nr > WALK_MAX_ADDRS)
		nr = WALK_MAX_ADDRS;
	w->rec.h.size = sizeof(w->rec) + nr * 8;
	if (!rb || bpf_ringbuf_output(rb, w, sizeof(w->rec) + nr * 8, BPF_RB_NO_WAKEUP))
		count(COUNTER_RING_FULL);
}

/* Emitted ahead of a sample with status AMBIGUOUS. */
INLINE void emit_gap(struct rec_raw_gap *g, const struct walk *w, const struct saved_scan *saved)
{
	/* Values far below the highest candidate are the heap top rather than E. */
	uint64_t top = saved->hend - saved->high > 32 ? saved->high + 32 : saved->hend;
	uint64_t low = saved->low, gap;
	void *rb = ring();

	if (top - low > sizeof(g->gap))
		low = top - sizeof(g->gap);
	gap = top - low;
	FORGET(gap);
	if (!rb || !saved->high || gap > sizeof(g->gap) || !read_user(low, g->gap, gap))
		return;
	g->h.type = REC_RAW_GAP;
	g->h.flags = 0;
	g->h.size = __builtin_offsetof(struct rec_raw_gap, gap) + (uint32_t)gap;
	g->h.ts_ns = w->rec.h.ts_ns;
	g->os_tid = w->rec.os_tid;
	g->nr_gap = (uint32_t)gap / 8;
	g->low = low;
	g->high = saved->high;
	FORGET(gap);
	if (gap > sizeof(g->gap))
		return; /* checked above, but the verifier no longer knows the bound */
	/* If the ring is full the sample stays ambiguous. */
	bpf_ringbuf_output(rb, g, __builtin_offsetof(struct rec_raw_gap, gap) + gap,
			   BPF_RB_NO_WAKEUP);
}

/* The C stack of a sample in C code, ahead of it. */
INLINE void emit_cstack(struct rec_raw_cstack *c, const struct walk *w, const struct user_regs *r)
{
	uint64_t size = fill_cstack(c, w, r);
	void *rb = ring();

	FORGET(size);
	if (!rb || !size || size > sizeof(c->stack))
		return; /* checked in fill_cstack(), but the verifier no longer knows the bound */
	/* If the ring is full the C stack is marked as missing in the sample's stack. */
	bpf_ringbuf_output(rb, c, __builtin_offsetof(struct rec_raw_cstack, stack) + size,
			   BPF_RB_NO_WAKEUP);
}

INLINE void kernel_stack(void *ctx, struct walk *w)
{
	long size;

	if (!(w->rec.flags & RAW_SAMPLE_KERNEL))
		return;
	size = bpf_get_stack(ctx, w->addrs, EBEAM_KERNEL_FRAMES * 8, 0);
	if (size > 0 && size <= EBEAM_KERNEL_FRAMES * 8)
		w->nr_addrs = w->rec.nr_kernel = (uint32_t)size / 8;
}

/* Marks a sample in which a process handles a signal or system task while a literal area is being
 * collected: its stack does not show that its heap is searched for literals. */
INLINE void sample_task(struct walk *w)
{
	uint64_t area = 0;

	if (config.literal_area && w->rec.process_state & PSFLG_RUNNING_SYS &&
	    read_u64(config.literal_area, &area) && area)
		w->rec.flags |= RAW_SAMPLE_LITERALS;
}

/* The process of a scheduler whose current process has no pid; 0 = not found. */
INLINE uint64_t process_called(struct sample_scratch *s, const struct user_regs *r,
			       const struct thread_info *t)
{
	if (t->type != THREAD_NORMAL || r->sp >= t->registers)
		return 0;
	if (runs_on(r->r13, t->esdp))
		return r->r13;
	return owner_find(&s->saved, t->esdp, r->sp, call_return_at(t->registers, &s->walk.pushed));
}

INLINE void sample_process(struct sample_scratch *s, const struct user_regs *r,
			   const struct thread_info *t, uint64_t process)
{
	struct walk *w = &s->walk;
	struct process_view p;

	if (!process_read(&p, process)) {
		w->rec.process = process;
		w->rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
		return;
	}
	if (TERM_IS_INVALID_PID(p.id)) {
		process = process_called(s, r, t);
		if (!process || !process_read(&p, process)) {
			w->rec.status = SAMPLE_STATUS_BAD_BOUNDS;
			return;
		}
	}
	w->rec.process = process;
	w->rec.epid = p.id;
	w->rec.process_state = p.process_state;
	w->rec.process_flags = p.flags;
	sample_task(w);
	sample_stack(w, &s->saved, &p, r, t);
	if (w->rec.status == SAMPLE_STATUS_AMBIGUOUS && !config.interpreted)
		emit_gap(&s->gap, w, &s->saved);
	sample_call(w, t, process);
	process_seen(&p, w->rec.h.ts_ns);
}

INLINE void sample_thread(struct sample_scratch *s, const struct user_regs *r)
{
	struct walk *w = &s->walk;
	uint64_t key = thread_pointer(), process = 0, port = 0, ssi = 0;
	struct thread_info *known = bpf_map_lookup_elem(&threads, &key), t = {};

	if (known)
		t = *known;
	else if (!is_jit(r->ip) || !learn_thread(&t, r, key)) {
		/* A scheduler without samples in JIT code so far, or no scheduler: user space knows
		 * the type of the thread by its name. */
		w->rec.thread_type = THREAD_UNKNOWN;
		return;
	}
	w->rec.thread_type = t.type;
	w->rec.scheduler = t.scheduler;
	if (!read_u64(t.esdp + config.layout.sched_current_process, &process)) {
		w->rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
		return;
	}
	if (process) {
		sample_process(s, r, &t, process);
		return;
	}
	if (is_jit(r->ip))
		w->rec.place = PLACE_JIT_RUNTIME;
	else
		called_from_jit(w, r, &t);
	if (read_u64(t.esdp + config.layout.sched_ssi, &ssi) && ssi)
		read_u32(ssi + config.layout.ssi_flags, &w->rec.sleep_flags);
	if (read_u64(t.esdp + config.layout.sched_current_port, &port) && port)
		read_u64(port + config.layout.port_id, &w->rec.port_id);
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	uint64_t pid_tgid = bpf_get_current_pid_tgid();
	struct sample_scratch *s;
	struct user_regs r = {};

	if (pid_tgid >> 32 != config.os_pid)
		return 0;
	count(COUNTER_HITS);
	s = scratch_here();
	if (!s)
		return 0;
	walk_begin(&s->walk, bpf_ktime_get_ns());
	read_regs(ctx, &r, &s->walk.rec);
	kernel_stack(ctx, &s->walk);
	sample_thread(s, &r);
	if (s->walk.rec.flags & RAW_SAMPLE_REGS && !is_jit(r.ip) && s->walk.rec.place != PLACE_JIT)
		emit_cstack(&s->cstack, &s->walk, &r);
	emit(&s->walk);
	count_time(s->walk.rec.h.ts_ns);
	return 0;
}
