/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The current thread as raw records: registers, process, Erlang stack, a copy of its C stack.  To
 * be included by units that sample threads, each with a scratch of its own. */
#ifndef EBEAM_BPF_THREAD_H
#define EBEAM_BPF_THREAD_H

#include "abi/vm.h"
#include "maps.bpf.h"
#include "cstack.bpf.h"
#include "sample.bpf.h"
#include "process.bpf.h"
#include "sites.bpf.h"

/* What is too large for the BPF stack. */
struct sample_scratch {
	struct walk walk;
	struct saved_scan saved;
	struct site_scan site;
	struct rec_raw_gap gap;
	struct rec_raw_cstack cstack;
};
/* The scratch of the unit that includes this file; NULL only for the verifier. */
INLINE struct sample_scratch *scratch_here(void);

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

/* Fills a struct user_regs; OF(reg) = where the register is read. */
#define READ_REGS(r, OF)                                                                           \
	do {                                                                                       \
		(r)->ip = OF(ip);                                                                  \
		(r)->sp = OF(sp);                                                                  \
		(r)->bp = OF(bp);                                                                  \
		(r)->bx = OF(bx);                                                                  \
		(r)->r12 = OF(r12);                                                                \
		(r)->r13 = OF(r13);                                                                \
		(r)->r15 = OF(r15);                                                                \
		(r)->r14 = OF(r14);                                                                \
		(r)->di = OF(di);                                                                  \
		(r)->orig_ax = OF(orig_ax);                                                        \
	} while (0)

/* Registers of user code at the entry to the kernel. */
#define REG_HERE(reg) u->reg
INLINE void task_regs(struct user_regs *r)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pt_regs *u = (void *)bpf_task_pt_regs((void *)task);

	READ_REGS(r, REG_HERE);
}

/*
 * Registers of user code on kernels without bpf_task_pt_regs() (before 5.15): they are at the top
 * of the thread's kernel stack, which has 16 KiB on those kernels (THREAD_SIZE and task_pt_regs(),
 * arch/x86/include/asm).  False if cs is not that of user code: the stack is larger, as with KASAN.
 */
#define KERNEL_STACK_SIZE  16384
#define USER_CS		   0x33
#define REG_OF_KERNEL(reg) BPF_CORE_READ(u, reg)
INLINE bool task_regs_by_stack(struct user_regs *r)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char *stack = BPF_CORE_READ(task, stack);
	struct pt_regs *u;

	u = (void *)(stack + KERNEL_STACK_SIZE - bpf_core_type_size(struct pt_regs));
	if (BPF_CORE_READ(u, cs) != USER_CS)
		return false;
	READ_REGS(r, REG_OF_KERNEL);
	return true;
}

/* The same, the way that this kernel has; false = unknown. */
INLINE bool kernel_regs(struct user_regs *r)
{
	if (!config.kernel.task_regs)
		return task_regs_by_stack(r);
	task_regs(r);
	return true;
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

/* Of a sample with status AMBIGUOUS.  If it cannot be read the sample stays ambiguous. */
INLINE void read_gap(struct rec_raw_gap *g, const struct walk *w, const struct saved_scan *saved)
{
	/* Values far below the highest candidate are the heap top rather than E. */
	uint64_t top = saved->hend - saved->high > 32 ? saved->high + 32 : saved->hend;
	uint64_t low = saved->low, gap;

	if (top - low > sizeof(g->gap))
		low = top - sizeof(g->gap);
	gap = top - low;
	FORGET(gap);
	if (!saved->high || gap > sizeof(g->gap) || !read_user(low, g->gap, gap))
		return;
	g->h.type = REC_RAW_GAP;
	g->h.flags = 0;
	g->h.size = __builtin_offsetof(struct rec_raw_gap, gap) + (uint32_t)gap;
	g->os_tid = w->rec.os_tid;
	g->nr_gap = (uint32_t)gap / 8;
	g->low = low;
	g->high = saved->high;
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
		read_gap(&s->gap, w, &s->saved);
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

/* All of the current thread, from its registers; the kernel's frames are in s->walk already. */
INLINE void sample_read(struct sample_scratch *s, const struct user_regs *r)
{
	s->gap.h.size = s->cstack.h.size = 0;
	sample_thread(s, r);
	if (s->walk.rec.flags & RAW_SAMPLE_REGS && !is_jit(r->ip) && s->walk.rec.place != PLACE_JIT)
		fill_cstack(&s->cstack, &s->walk, r);
}

INLINE void emit_part(void *rb, void *rec, uint64_t size, uint64_t max_size)
{
	FORGET(size); /* else the compiler joins the comparison with the caller's */
	if (size <= max_size)
		bpf_ringbuf_output(rb, rec, size, BPF_RB_NO_WAKEUP);
}

/* Emits the records of a sample, with this time: what belongs to it, and then the sample.  If the
 * ring is full for the former, the sample says that it is missing. */
INLINE void sample_emit(struct sample_scratch *s, uint64_t ts_ns)
{
	struct walk *w = &s->walk;
	uint32_t nr = w->nr_addrs;
	uint64_t size = s->gap.h.size;
	void *rb = ring();

	if (!rb) {
		count(COUNTER_RING_FULL);
		return;
	}
	s->gap.h.ts_ns = s->cstack.h.ts_ns = w->rec.h.ts_ns = ts_ns;
	if (size)
		emit_part(rb, &s->gap, size, sizeof(s->gap));
	size = s->cstack.h.size;
	if (size)
		emit_part(rb, &s->cstack, size, sizeof(s->cstack));
	if (nr > WALK_MAX_ADDRS)
		nr = WALK_MAX_ADDRS;
	w->rec.h.size = sizeof(w->rec) + nr * 8;
	if (bpf_ringbuf_output(rb, w, sizeof(w->rec) + nr * 8, BPF_RB_NO_WAKEUP))
		count(COUNTER_RING_FULL);
}

#endif
