/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Times in which threads of one node are off a CPU: blocked in the kernel, or runnable while others
 * have the CPU.  When a thread leaves its CPU it is copied like a sample of a CPU, to memory of its
 * own; when it is back, and it is known how long it took, that is emitted or not.  Every time is
 * added to the thread's sums.
 *
 * What a copy stands for is known before it is made: one of `every` times, a number that follows
 * from how many there were in the window before; and what an emission stands for by its length
 * (struct rec_raw_off_cpu).  So sums of weights are unbiased, and long times are never left out
 * because of their number.
 *
 * Tracepoints of the scheduler run with interrupts off: nothing of ours but a sample in an NMI may
 * interrupt them, and that has a scratch of its own.
 */
#include "maps.bpf.h"

/* Global functions need names of their own, as sample.bpf.c has them, too. */
#define in_jit_mapping	off_in_jit_mapping
#define walk_leaf_chunk off_walk_leaf_chunk
#define walk_root_chunk off_walk_root_chunk
#define site_classify	off_site_classify
#define saved_chunk	off_saved_chunk
#define owner_chunk	off_owner_chunk
#define runs_on		off_runs_on
#include "thread.bpf.h"

/* Numbers of system calls, arch/x86/entry/syscalls/syscall_64.tbl. */
#define SYSCALL_POLL	    7
#define SYSCALL_SELECT	    23
#define SYSCALL_SCHED_YIELD 24
#define SYSCALL_FUTEX	    202
#define SYSCALL_EPOLL_WAIT  232
#define SYSCALL_PSELECT6    270
#define SYSCALL_PPOLL	    271
#define SYSCALL_EPOLL_PWAIT 281

#define TASK_DEAD 0x80 /* include/linux/sched.h */

struct off_thread {
	struct off_thread_head head;
	struct sample_scratch copy;
};
/* By kernel thread.  Elements are added by programs, and removed when a thread ends.  User space
 * makes room for them before the load. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct off_thread);
} off_threads SEC(".maps");

/* Zeros, with which a new element is initialised. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct off_thread);
} off_thread_new SEC(".maps");

/* Sums of threads that have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct off_cpu_sums);
} off_ended SEC(".maps");

/* How many times of a class there were in the current window of this CPU, and of how many one is
 * copied. */
struct off_pace {
	uint64_t began_ns;
	uint32_t seen, every;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_OFF_CPU_CLASSES);
	__type(key, uint32_t);
	__type(value, struct off_pace);
} off_paces SEC(".maps");

INLINE struct sample_scratch *scratch_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &tid);

	return t ? &t->copy : 0;
}

/* The current thread's element, new if it has none. */
INLINE struct off_thread *off_thread_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), zero = 0;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &tid), *fresh;

	if (t)
		return t;
	fresh = bpf_map_lookup_elem(&off_thread_new, &zero);
	if (!fresh || bpf_map_update_elem(&off_threads, &tid, fresh, BPF_ANY)) {
		count(COUNTER_THREAD_TABLE_FULL);
		return 0;
	}
	return bpf_map_lookup_elem(&off_threads, &tid);
}

/* TASK_* bits of a thread. */
INLINE uint32_t state_of(const struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct task_struct___named *)0)->__state))
		return (uint32_t)((const struct task_struct___before *)task)->state;
	return ((const struct task_struct___named *)task)->__state;
}

/* One of how many times of this class is copied, including this one; 0 = this one is not. */
INLINE uint32_t off_every(uint32_t of_class, uint64_t ts_ns)
{
	struct off_pace *p = bpf_map_lookup_elem(&off_paces, &of_class);
	uint32_t copies = state.off_copies ? state.off_copies : 1;

	if (!p)
		return 0;
	if (ts_ns - p->began_ns >= OFF_CPU_WINDOW_NS) {
		p->every = p->seen / copies + 1;
		p->began_ns = ts_ns;
		p->seen = 0;
	}
	p->seen++;
	return p->every <= 1 || bpf_get_prandom_u32() % p->every == 0 ? p->every : 0;
}

/* Number of the system call that the current thread is in; not one of them if it is in none. */
INLINE uint64_t off_syscall(void)
{
	struct user_regs r = {};
	struct task_struct *task;
	struct pt_regs *u;

	if (config.kernel.task_regs) {
		task = (void *)bpf_get_current_task_btf();
		u = (void *)bpf_task_pt_regs((void *)task);
		return u->orig_ax;
	}
	return task_regs_by_stack(&r) ? r.orig_ax : ~0ull;
}

/* A scheduler keeps its data: so what is found is noted. */
INLINE bool find_scheduler(struct off_thread_head *head)
{
	uint64_t key;
	struct thread_info *t;

	if (!head->esdp) {
		key = thread_pointer();
		t = bpf_map_lookup_elem(&threads, &key);
		if (!t)
			return false;
		head->esdp = t->esdp;
	}
	/* Its page may not be there at this moment. */
	if (!head->ssi && !read_u64(head->esdp + config.layout.sched_ssi, &head->ssi))
		head->ssi = 0;
	return true;
}

/* Does a thread that waits in this system call wait for work?  A scheduler that sleeps says so in
 * its flags; what polls without a process is the polling of the VM itself.  Sets the process or the
 * port that it runs. */
INLINE bool is_idle(uint64_t syscall, struct off_thread_head *head)
{
	struct off_cpu_now *now = &head->now;
	uint64_t process = 0, port = 0;
	uint32_t flags = 0;
	bool polls;

	polls = syscall == SYSCALL_EPOLL_WAIT || syscall == SYSCALL_EPOLL_PWAIT ||
		syscall == SYSCALL_POLL || syscall == SYSCALL_PPOLL || syscall == SYSCALL_SELECT ||
		syscall == SYSCALL_PSELECT6;
	if (!find_scheduler(head))
		return polls;
	if (!read_u64(head->esdp + config.layout.sched_current_process, &process))
		return false;
	if (process) {
		read_u64(process + config.layout.process_id, &now->epid);
		return false;
	}
	if (!polls && syscall != SYSCALL_FUTEX)
		return false;
	if (!read_u64(head->esdp + config.layout.sched_current_port, &port))
		return false;
	if (port) {
		read_u64(port + config.layout.port_id, &now->port_id);
		return false;
	}
	return polls || (head->ssi && read_u32(head->ssi + config.layout.ssi_flags, &flags) &&
			 flags & SSI_FLG_WAITING);
}

/*
 * Which lock of the VM the current thread waits for.  A mutex is that of the C library: its futex
 * is its first word.  For other locks each thread has one event (ethr_ts_event: next, prev, event;
 * ethread.h), on whose futex it waits, and which is in the queue of the lock, a circular list: the
 * lock points to one of its elements.  So a lock is told by its pointer; its address is on the
 * stack, or in a register, of the function that waits.
 */
#define TSE_FUTEX   16 /* offset in ethr_ts_event of the futex */
#define TSE_SIZE    64 /* of ethr_ts_event: a cache line */
#define LOCK_QUEUED 8  /* elements of the queue that are compared: this thread and the next ones */
#define LOCK_WORDS  96 /* words of the stack that are searched: frames of the waiting functions */
/* Offset of `q` in ethr_mutex_base_ (ethr_mutex.h): flgs, spin counts, qlck, q.  qlck is a mutex of
 * the C library; builds with spin locks there are not known. */
#define LOCK_QUEUE	48
#define LOCK_WAITED_FOR (3u << 29) /* in flgs: ETHR_RWMTX_W_WAIT_FLG__, ETHR_RWMTX_R_WAIT_FLG__ */
#define STACK_SIZE	(1u << 20)
/* erts_proc_lock_t (erl_process_lock.h): flags, of which one says that a lock has waiters, and a
 * queue for each lock: main, msgq, btm, status, trace. */
#define PROCESS_LOCK_WAITER 5
#define NR_PROCESS_LOCKS    5
struct lock_scan {
	uint64_t queue[LOCK_QUEUED];
	uint64_t words[LOCK_QUEUE / 8 + 1];
	uint64_t sp;
	uint64_t lock, epid; /* epid: of a lock of a process, else 0 */
	uint32_t nr, pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct lock_scan);
} lock_scans SEC(".maps");

INLINE struct lock_scan *lock_scan_here(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&lock_scans, &zero);
}

INLINE bool is_queued(const struct lock_scan *s, uint64_t q)
{
	bool found = false;

	UNROLL
	for (int i = 0; i < LOCK_QUEUED; i++)
		found |= q == s->queue[i];
	return found && q;
}

/* Of executables, the heap, libraries, mapped memory: 0x5xxxxxxxxxxx, 0x7xxxxxxxxxxx. */
INLINE bool is_pointer(uint64_t word)
{
	return word >> 47 == 0 && word >> 44 >= 5;
}

/* Is it the address of a lock in whose queue the thread is, or of a process with such a lock?
 * Then 1, and it is noted. */
GLOBAL_FN int off_is_lock(uint64_t at)
{
	struct lock_scan *s = lock_scan_here();

	if (!s || at < EBEAM_PAGE_SIZE || at & 7 || at >> 47 || at - s->sp < STACK_SIZE)
		return 0;
	if (!try_read(at, s->words, LOCK_QUEUE + 8))
		return 0;
	/* A pointer at this place is none of flags and spin counts.  The futex of the thread's own
	 * event looks like flags, and what follows that event may be the event of another. */
	if (s->words[0] & LOCK_WAITED_FOR && !is_pointer(s->words[0]) &&
	    at - s->queue[0] >= TSE_SIZE && is_queued(s, s->words[LOCK_QUEUE / 8])) {
		s->lock = at;
		s->nr = 0;
		return 1;
	}
	at += config.layout.process_lock;
	if (!try_read(at, s->words, 8 * (1 + NR_PROCESS_LOCKS)))
		return 0;
	for (uint32_t i = 0; i < NR_PROCESS_LOCKS; i++) {
		if (s->words[0] >> (PROCESS_LOCK_WAITER + i) & 1 && is_queued(s, s->words[1 + i])) {
			s->lock = at;
			s->nr = i;
			at -= config.layout.process_lock;
			return try_read(at + config.layout.process_id, &s->epid, 8) &&
			       TERM_IS_PID(s->epid);
		}
	}
	return 0;
}

INLINE bool read_queue(struct lock_scan *s, uint64_t futex)
{
	uint64_t at = futex - TSE_FUTEX;

	UNROLL
	for (int i = 0; i < LOCK_QUEUED; i++) {
		s->queue[i] = at;
		if (at && !try_read(at, &at, 8))
			at = 0;
	}
	return s->queue[1] != 0;
}

INLINE void off_lock(struct off_thread *t, const struct user_regs *r)
{
	struct rec_raw_cstack *c = &t->copy.cstack;
	struct rec_raw_sample *rec = &t->copy.walk.rec;
	struct lock_scan *s = lock_scan_here();
	bool found;

	if (!s || !c->h.size)
		return;
	s->sp = r->sp;
	s->lock = s->epid = 0;
	rec->lock = r->di;
	rec->lock_nr = RAW_LOCK_FUTEX;
	if (!read_queue(s, r->di))
		return;
	found = off_is_lock(r->bx) || off_is_lock(r->bp) || off_is_lock(r->r12) ||
		off_is_lock(r->r13) || off_is_lock(r->r14) || off_is_lock(r->r15);
	for (uint32_t i = 0; !found && i < LOCK_WORDS; i++) {
		if (i >= c->nr_leaf)
			break;
		IN_MEMORY();
		found = off_is_lock(c->stack[i]);
	}
	if (!found)
		return;
	rec->lock = s->lock;
	rec->lock_nr = (uint8_t)s->nr;
	rec->lock_epid = s->epid;
}

INLINE void off_copy(void *ctx, struct off_thread *t)
{
	struct walk *w = &t->copy.walk;
	struct user_regs r = {};

	if (!kernel_regs(&r))
		return;
	walk_begin(w, t->head.now.since_ns);
	w->rec.flags = RAW_SAMPLE_KERNEL | RAW_SAMPLE_REGS | RAW_SAMPLE_OFF_CPU;
	w->rec.user_ip = r.ip;
	w->rec.syscall = t->head.now.syscall;
	kernel_stack(ctx, w);
	sample_read(&t->copy, &r);
	if (r.orig_ax == SYSCALL_FUTEX && !(t->head.now.flags & OFF_CPU_PREEMPTED))
		off_lock(t, &r);
	t->head.now.flags |= OFF_CPU_COPIED;
	t->head.sums.copied++;
	t->head.copied_ns = t->head.now.since_ns;
}

/* Class and flags of the current thread's time off its CPU. */
INLINE enum off_cpu_class off_class(bool preempt, uint32_t left, uint64_t syscall, uint32_t *flags)
{
	*flags = preempt || !left ? OFF_CPU_PREEMPTED : 0;
	if (!preempt && !left && syscall == SYSCALL_SCHED_YIELD) {
		*flags |= OFF_CPU_YIELDED;
		return OFF_CPU_CLASS_YIELDED;
	}
	if (*flags)
		return OFF_CPU_CLASS_PREEMPTED;
	return syscall == SYSCALL_FUTEX ? OFF_CPU_CLASS_FUTEX : OFF_CPU_CLASS_OTHER;
}

/* The current thread ends. */
INLINE void off_thread_ends(uint32_t tid)
{
	uint32_t zero = 0;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &tid);
	struct off_cpu_sums *ended = bpf_map_lookup_elem(&off_ended, &zero);

	if (!t || !ended)
		return;
	ended->idle_ns += t->head.sums.idle_ns;
	ended->blocked_ns += t->head.sums.blocked_ns;
	ended->runnable_ns += t->head.sums.runnable_ns;
	ended->woken_ns += t->head.sums.woken_ns;
	ended->idle += t->head.sums.idle;
	ended->times += t->head.sums.times;
	ended->copied += t->head.sums.copied;
	bpf_map_delete_elem(&off_threads, &tid);
}

/* The current thread leaves its CPU, at ts_ns; 0 = now.  Returns the time, if that is recorded. */
INLINE uint64_t off_begin(void *ctx, bool preempt, const struct task_struct *task, uint64_t ts_ns)
{
	uint32_t left = state_of(task), flags, every;
	uint64_t syscall;
	enum off_cpu_class of_class;
	struct off_cpu_now *now;
	struct off_thread *t;

	if (left & TASK_DEAD) {
		off_thread_ends((uint32_t)task->pid);
		return ts_ns;
	}
	syscall = off_syscall();
	of_class = off_class(preempt, left, syscall, &flags);
	/* Threads that spin for a lock yield their CPU many thousand times a second: that all of
	 * them are added up would cost more than it tells. */
	if (!(state.off_classes >> of_class & 1))
		return ts_ns;
	if (!ts_ns)
		ts_ns = bpf_ktime_get_ns();
	every = off_every(of_class, ts_ns);
	if (!every && flags & OFF_CPU_YIELDED)
		return ts_ns;
	t = off_thread_here();
	if (!t)
		return ts_ns;
	/* One time of each window is copied of each thread, so that those with few have theirs. */
	if (ts_ns - t->head.copied_ns >= OFF_CPU_WINDOW_NS && !(flags & OFF_CPU_YIELDED))
		every = 1;
	now = &t->head.now;
	__builtin_memset(now, 0, sizeof(*now));
	if (is_idle(syscall, &t->head) && !(flags & OFF_CPU_PREEMPTED))
		flags |= OFF_CPU_IDLE;
	now->flags = flags;
	/* orig_ax is the number of an interrupt, inverted, or -1, if it is no system call. */
	now->syscall = (int64_t)syscall >= 0 ? (uint32_t)syscall + 1 : 0;
	now->every = flags & OFF_CPU_IDLE ? 0 : every;
	now->since_ns = ts_ns;
	if (now->every) {
		off_copy(ctx, t);
		/* Until now it was on its CPU. */
		now->since_ns = bpf_ktime_get_ns();
	}
	return ts_ns;
}

INLINE void off_add(struct off_thread *t, uint64_t ts_ns)
{
	const struct off_cpu_now *now = &t->head.now;
	struct off_cpu_sums *sums = &t->head.sums;
	uint64_t ns = ts_ns - now->since_ns, runnable = 0;

	if (now->flags & OFF_CPU_YIELDED) {
		sums->times += now->every;
		sums->runnable_ns += now->every * ns;
		return;
	}
	if (now->flags & OFF_CPU_PREEMPTED)
		runnable = ns;
	else if (now->woken_ns >= now->since_ns && now->woken_ns < ts_ns)
		runnable = ts_ns - now->woken_ns;
	sums->runnable_ns += runnable;
	if (now->flags & OFF_CPU_IDLE) {
		sums->idle++;
		sums->idle_ns += ns - runnable;
		sums->woken_ns += runnable;
	} else {
		sums->times++;
		sums->blocked_ns += ns - runnable;
	}
}

INLINE void off_emit(struct off_thread *t, uint32_t tid, uint64_t ts_ns)
{
	const struct off_cpu_now *now = &t->head.now;
	struct rec_raw_off_cpu rec = {
		.h = {.type = REC_RAW_OFF_CPU, .size = sizeof(rec), .ts_ns = ts_ns},
		.os_tid = tid,
		.flags = now->flags & (OFF_CPU_PREEMPTED | OFF_CPU_YIELDED | OFF_CPU_GOES_ON),
		.syscall = now->syscall,
		.every = now->every,
		.since_ns = now->since_ns,
		.woken_ns = now->woken_ns,
		.least_ns = state.off_least_ns,
		.epid = now->epid,
		.port_id = now->port_id,
		.waker_epid = now->waker_epid,
	};
	void *rb = ring();

	if (now->flags & OFF_CPU_COPIED)
		sample_emit(&t->copy, ts_ns);
	else
		rec.flags |= OFF_CPU_ALONE;
	if (rb && bpf_ringbuf_output(rb, &rec, sizeof(rec), BPF_RB_NO_WAKEUP))
		count(COUNTER_RING_FULL);
}

/* Whether a time of this length is emitted, see struct rec_raw_off_cpu; least_ns is below 2^32. */
INLINE bool off_is_chosen(const struct off_cpu_now *now, uint64_t ns)
{
	uint64_t least_ns = state.off_least_ns, weighed = ns * now->every;

	if (now->flags & OFF_CPU_IDLE)
		return false;
	if (!(now->flags & OFF_CPU_COPIED))
		return ns >= least_ns;
	return now->flags & OFF_CPU_GOES_ON || weighed >= least_ns ||
	       (bpf_get_prandom_u32() * least_ns) >> 32 < weighed;
}

/* The thread is on a CPU again, or the recording ends: then `end_ns` is when.  Returns the time, or
 * 0 if it was not off its CPU. */
INLINE uint64_t off_end(uint32_t tid, uint64_t end_ns)
{
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &tid);
	uint64_t ts_ns = end_ns;
	struct off_cpu_now *now;

	if (!t)
		return 0;
	now = &t->head.now;
	if (!now->since_ns)
		return 0;
	if (!end_ns)
		ts_ns = bpf_ktime_get_ns();
	if (ts_ns < now->since_ns)
		return 0;
	/* A thread that waits does not come back without being woken: that was before this was
	 * noted. */
	if (!end_ns && !(now->flags & OFF_CPU_PREEMPTED) && now->woken_ns < now->since_ns)
		now->woken_ns = now->since_ns;
	off_add(t, ts_ns);
	if (end_ns)
		now->flags |= OFF_CPU_GOES_ON;
	if (off_is_chosen(now, ts_ns - now->since_ns))
		off_emit(t, tid, ts_ns);
	now->since_ns = 0;
	return ts_ns;
}

/* The time that programs take is measured of some runs only, as that takes long itself. */
#define TIMED_RUNS 8
/* What takes longer was interrupted by a hypervisor or in an NMI. */
#define MOST_RUN_NS 100000
INLINE void off_count_time(uint64_t ts_ns)
{
	uint64_t ns;

	if (ts_ns / 16 % TIMED_RUNS)
		return;
	ns = bpf_ktime_get_ns() - ts_ns;
	count_by(COUNTER_PROBE_NS, TIMED_RUNS * (ns < MOST_RUN_NS ? ns : MOST_RUN_NS));
}

/*
 * TP_PROTO(bool preempt, struct task_struct *prev, struct task_struct *next, ...), which is the
 * same on all kernels; prev is the current task.  It runs at each switch of the host: what is not
 * of the node, or not recorded, costs a few loads, and no look at the clock.
 */
SEC("tp_btf/sched_switch")
int off_switch(uint64_t *ctx)
{
	const struct task_struct *prev = (const struct task_struct *)ctx[1];
	const struct task_struct *next = (const struct task_struct *)ctx[2];
	uint64_t began_ns = 0;

	if ((uint32_t)next->tgid == config.os_pid)
		began_ns = off_end((uint32_t)next->pid, 0);
	if ((uint32_t)prev->tgid == config.os_pid)
		began_ns = off_begin(ctx, (uint8_t)ctx[0], prev, began_ns);
	if (began_ns)
		off_count_time(began_ns);
	return 0;
}

/* For which process a thread of the node woke t; others wake it in interrupts, too. */
INLINE void off_waker(struct off_thread *t)
{
	uint64_t key = thread_pointer(), process = 0;
	struct thread_info *waker;
	struct user_regs r = {};

	if (bpf_get_current_pid_tgid() >> 32 != config.os_pid || !kernel_regs(&r) ||
	    r.orig_ax != SYSCALL_FUTEX)
		return;
	waker = bpf_map_lookup_elem(&threads, &key);
	if (waker && try_read(waker->esdp + config.layout.sched_current_process, &process, 8) &&
	    process)
		try_read(process + config.layout.process_id, &t->head.now.waker_epid, 8);
}

/* TP_PROTO(struct task_struct *p): the task is about to become runnable. */
SEC("tp_btf/sched_waking")
int off_waking(uint64_t *ctx)
{
	const struct task_struct *task = (const struct task_struct *)ctx[0];
	struct off_thread *t;
	uint32_t tid;

	if ((uint32_t)task->tgid != config.os_pid)
		return 0;
	tid = (uint32_t)task->pid;
	t = bpf_map_lookup_elem(&off_threads, &tid);
	if (!t || !t->head.now.since_ns || t->head.now.woken_ns)
		return 0;
	t->head.now.woken_ns = bpf_ktime_get_ns();
	/* Only of what was copied it can be known that it waits for a lock. */
	if (t->head.now.flags & OFF_CPU_COPIED)
		off_waker(t);
	off_count_time(t->head.now.woken_ns);
	return 0;
}

/* Run by user space when the other two are gone, for each thread: its number, and the time. */
SEC("raw_tp")
int off_finish(uint64_t *ctx)
{
	off_end((uint32_t)ctx[0], ctx[1]);
	return 0;
}
