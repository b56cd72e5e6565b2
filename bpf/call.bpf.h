/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of functions: hardware breakpoints at the first instruction of Erlang functions, and at
 * their return sites; uprobes on C functions (BIFs and NIFs).
 *
 * In JIT code (OTP 25 to 29 on x86-64): rbx = X registers, r13 = Process, r14d = reductions left in
 * the slice, rsp = Erlang stack with the return address on top; at a return site that address has
 * been popped and X0 is the result.  Without native stack rbp is the Erlang stack at both (OTP 24:
 * r12).  Arguments of C functions: src/beam/code/call_targets.h.
 */
#ifndef EBEAM_BPF_CALL_H
#define EBEAM_BPF_CALL_H

#include "abi/vm.h"
#include "event.bpf.h"
#include "term_copy.bpf.h"

struct call_points_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * EBEAM_BREAKPOINTS);
	__type(key, uint64_t);
	__type(value, struct call_point);
} call_points SEC(".maps");

/* Hits of a site by a thread.  User space makes the elements, as programs of perf events cannot on
 * all kernels. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_CALL_SITE_HITS);
	__type(key, struct call_site_thread);
	__type(value, struct call_site_hit);
} call_site_hits SEC(".maps");

/* Conditions of calls, by number of the function. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBEAM_CALL_FUNCTIONS);
	__type(key, uint32_t);
	__type(value, struct call_filter);
} call_filters SEC(".maps");

/* The C function that a thread is in, and its buffer for copies.  Breakpoints may use the buffer,
 * too: a thread in a C function, whose uprobe program may be preempted, does not hit any. */
struct call_thread {
	uint64_t process, height; /* process 0: in no C function */
	uint64_t epoch;		  /* epoch of the probes at the entry */
	uint32_t point, pad;
	struct term_copy copy;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, uint32_t);
	__type(value, struct call_thread);
} call_threads SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct call_thread);
} call_thread_new SEC(".maps");

INLINE struct term_copy *copy_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct call_thread *t = bpf_map_lookup_elem(&call_threads, &tid);

	return t ? &t->copy : 0;
}

INLINE struct call_thread *call_thread_here(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), zero = 0;
	struct call_thread *t = bpf_map_lookup_elem(&call_threads, &tid), *fresh;

	if (t)
		return t;
	fresh = bpf_map_lookup_elem(&call_thread_new, &zero);
	if (fresh && bpf_map_update_elem(&call_threads, &tid, fresh, BPF_ANY))
		count(COUNTER_THREAD_TABLE_FULL);
	return bpf_map_lookup_elem(&call_threads, &tid);
}

/* ---- which calls ----------------------------------------------------------------------------- */

/* Test i of a function; it fails if the argument cannot be read. */
GLOBAL_FN int call_test_holds(uint32_t point, uint32_t i, uint64_t args)
{
	struct call_filter *f = bpf_map_lookup_elem(&call_filters, &point);
	const struct call_test *t;
	uint64_t term = 0, header;

	if (!f || i >= CALL_TESTS_MAX)
		return 0;
	t = &f->tests[i];
	if (!try_read(args + 8 * t->arg, &term, sizeof(term)))
		return 0;
	if (t->element >= 0 &&
	    !try_read(TERM_ADDR(term) + 8 + 8 * (uint64_t)t->element, &term, sizeof(term)))
		return 0;
	if (t->op != CALL_TEST_HEADER)
		return call_test_word(t->op, t->value, term);
	return TERM_IS_BOXED(term) && try_read(TERM_ADDR(term), &header, sizeof(header)) &&
	       call_test_header(t->value, header);
}

/* Whether all tests of group 0 hold, and those of one other group if there are any. */
GLOBAL_FN int call_passes(uint32_t point, uint64_t args)
{
	struct call_filter *f = bpf_map_lookup_elem(&call_filters, &point);
	bool passed = false, others = false, holds = true;
	uint32_t group = 0;

	if (!f)
		return 1;
	for (uint32_t i = 0; i < CALL_TESTS_MAX; i++) {
		struct call_test *t = &f->tests[i];

		if (i >= f->nr)
			break;
		if (t->group != group) {
			passed = passed || (group && holds);
			others = holds = true;
			group = t->group;
		}
		if (holds && !call_test_holds(point, i, args)) {
			if (!group)
				return 0;
			holds = false;
		}
	}
	return !others || passed || holds;
}

/* ---- records --------------------------------------------------------------------------------- */

INLINE struct rec_raw_call *call_begin(struct term_copy *c, enum call_kind kind, uint32_t point,
				       uint64_t epid)
{
	struct rec_raw_call *rec = (struct rec_raw_call *)c->head;

	_Static_assert(sizeof(*rec) == sizeof(c->head), "the head of a copy is that of a call");
	c->used = c->scan = c->cut = 0;
	c->size = config.call_words;
	c->depth = config.call_depth;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->h.type = REC_RAW_CALL;
	rec->h.ts_ns = bpf_ktime_get_ns();
	rec->cpu = bpf_get_smp_processor_id();
	rec->os_tid = (uint32_t)bpf_get_current_pid_tgid();
	rec->kind = kind;
	rec->point = point;
	rec->epid = epid;
	return rec;
}

/* Number of the process's slice: its reductions are updated when it leaves a scheduler, and a call
 * is one reduction, so they differ between slices (erts_schedule(), erl_process.c of OTP 25 to
 * 29). */
INLINE void call_slice(struct rec_raw_call *rec, uint64_t process)
{
	if (read_u64(process + config.layout.process_reds, &rec->slice))
		rec->slice++;
}

INLINE void call_end(struct term_copy *c)
{
	struct rec_raw_call *rec = (struct rec_raw_call *)c->head;
	uint32_t used = c->used;
	void *rb = ring();
	uint64_t size;

	if (used > TERM_COPY_WORDS)
		used = TERM_COPY_WORDS;
	rec->used = used;
	rec->cut = c->cut;
	rec->h.size = sizeof(*rec) + used * 8;
	count(COUNTER_CALLS);
	/* Checked above, but some kernels no longer know the bound. */
	size = rec->h.size;
	FORGET(size);
	if (size > sizeof(*rec) + 8 * TERM_COPY_WORDS)
		return;
	if (!rb || bpf_ringbuf_output(rb, rec, size, BPF_RB_NO_WAKEUP))
		count(COUNTER_CALLS_LOST);
}

/* ---- Erlang functions ------------------------------------------------------------------------ */

/* Whether each call of the function is reported with the stack of its callers. */
INLINE bool call_wants_stack(uint32_t point)
{
	struct call_filter *f = bpf_map_lookup_elem(&call_filters, &point);

	return f && f->stack;
}

/* Emits the stack of a call in JIT code.  On an unknown scheduler a dummy is used, as JIT code does
 * not need the scheduler's data. */
INLINE uint32_t call_stack(const struct user_regs *hit, uint64_t ts_ns)
{
	const struct thread_info any = {.type = THREAD_NORMAL}, *t = scheduler_here();

	return stack_ahead(hit, t ? t : &any, hit->r13, ts_ns) ? RAW_CALL_STACK : 0;
}

/* Reductions of the scheduler up to now: its sum, which is updated when a process leaves
 * (erts_schedule(), erl_process.c of OTP 25 to 29), and those of the current slice. */
INLINE uint64_t call_reductions(uint64_t process, uint32_t left)
{
	uint64_t esdp = 0, reductions = 0;

	if (!read_u64(process + config.layout.process_scheduler_data, &esdp) || !esdp ||
	    !read_u64(esdp + config.layout.sched_reductions, &reductions))
		return 0;
	return reductions + BEAM_CONTEXT_REDS - (uint64_t)(int32_t)left;
}

/*
 * Finds the element of a site and thread, and counts hits that the program missed: the kernel
 * counts a hit without running the program if another program is active on the CPU
 * (bpf_prog_active), as when the thread has preempted a system call about BPF.  A new perf event
 * counts from 1.
 */
INLINE struct call_site_hit *call_site_hit(const struct user_regs *hit, uint64_t nr)
{
	struct call_site_thread key = {
		.addr = hit->ip,
		.os_tid = (uint32_t)bpf_get_current_pid_tgid(),
	};
	struct call_site_hit *h = bpf_map_lookup_elem(&call_site_hits, &key);

	if (!h || !nr)
		return h;
	if (nr != 1 && nr != h->nr + 1)
		count_by(COUNTER_CALLS_SKIPPED, nr > h->nr ? nr - h->nr - 1 : nr - 1);
	h->nr = nr;
	return h;
}

/* A hit of a breakpoint.  left: reductions left in the slice; nr: how many hits its perf event has
 * counted (0 = not known); on_ns: time for which the perf event has been enabled. */
INLINE void call_hit(const struct user_regs *hit, uint32_t left, uint64_t nr, uint64_t on_ns)
{
	struct call_point *p = bpf_map_lookup_elem(&call_points, &hit->ip);
	struct call_site_hit *last;
	struct rec_raw_call *rec;
	uint64_t epid, hend, e = config.c_stack ? register_saved(hit) : hit->sp;
	struct call_thread *t;

	if (!p)
		return; /* the site was removed, but not on all threads yet */
	t = call_thread_here();
	if (!t)
		return;
	last = call_site_hit(hit, nr);
	if (last) {
		last->last_ns = bpf_ktime_get_ns();
		if (p->kind == CALL_KIND_CALL) {
			last->last.on_ns = on_ns;
			last->last.reductions = call_reductions(hit->r13, left);
			if (nr == 1)
				last->first = last->last;
		}
	}
	if (p->kind == CALL_KIND_CALL && !call_passes(p->point, hit->bx)) {
		count(COUNTER_CALLS_REJECTED);
		return;
	}
	epid = epid_of(hit->r13);
	if (!epid || !is_about(epid))
		return;
	if (!read_u64(hit->r13 + config.layout.process_hend, &hend)) {
		count(COUNTER_CALLS_UNREAD);
		return;
	}
	rec = call_begin(&t->copy, p->kind, p->point, epid);
	if (last)
		last->last_ns = rec->h.ts_ns;
	rec->addr = hit->ip;
	rec->terms = hit->bx;
	rec->height = (hend - e) / 8;
	rec->nr_terms = 1;
	if (p->kind == CALL_KIND_CALL) {
		read_u64(e, &rec->caller);
		rec->nr_terms = p->arity;
		if (call_wants_stack(p->point))
			rec->flags |= call_stack(hit, rec->h.ts_ns);
	} else {
		rec->height += !config.c_stack; /* the return address was popped */
		rec->caller = hit->ip;
	}
	call_slice(rec, hit->r13);
	event_seen(hit->r13, epid, rec->h.ts_ns);
	copy_terms(hit->bx, rec->nr_terms);
	call_end(&t->copy);
}

#define CALL_REG(ctx, reg) (*(const volatile unsigned long *)&(ctx)->regs.reg)

/* Returns 1, so that the kernel counts the hit against the limit of the perf event. */
SEC("perf_event")
int call_breakpoint(struct bpf_perf_event_data *ctx)
{
	struct user_regs hit = {
		.ip = CALL_REG(ctx, ip),
		.sp = CALL_REG(ctx, sp),
		.bp = CALL_REG(ctx, bp),
		.bx = CALL_REG(ctx, bx),
		.r12 = CALL_REG(ctx, r12),
		.r13 = CALL_REG(ctx, r13),
		.r15 = CALL_REG(ctx, r15),
	};
	struct bpf_perf_event_value event = {0};

	bpf_perf_prog_read_value(ctx, &event, sizeof(event));
	call_hit(&hit, (uint32_t)CALL_REG(ctx, r14), event.counter, event.enabled);
	return 1;
}

/* ---- C functions ----------------------------------------------------------------------------- */

/* Whether probes of C functions are enabled. */
INLINE bool calls_wanted(void)
{
	return switches.kinds >> EVENT_CALLS & 1;
}

EVENT_ENTRY(call_function)
{
	uint64_t cookie = cookie_of(ctx), args = ctx->si, caller = ctx->dx;
	uint64_t process = ctx->di, epid, hend = 0, stop = 0;
	struct call_thread *t = call_thread_here();
	uint32_t point = CALL_COOKIE_POINT(cookie);
	struct call_filter *f = bpf_map_lookup_elem(&call_filters, &point);
	struct rec_raw_call *rec;

	keep_return();
	if (!t || !f)
		return 0;
	t->process = 0;
	if (!calls_wanted())
		return 0;
	if (CALL_COOKIE_IS_NIF(cookie)) {
		args = ctx->dx;
		caller = 0;
		if (!read_u64(ctx->di + BEAM_NIF_ENV_PROC, &process))
			return 0;
	}
	if (!call_passes(point, args)) {
		count(COUNTER_CALLS_REJECTED);
		return 0;
	}
	epid = epid_of(process);
	if (!epid || !is_about(epid))
		return 0;
	if (!read_u64(process + config.layout.process_hend, &hend) ||
	    !read_u64(process + config.layout.process_stop, &stop)) {
		count(COUNTER_CALLS_UNREAD);
		return 0;
	}
	if (CALL_COOKIE_IS_NIF(cookie))
		try_read(stop, &caller, sizeof(caller));
	rec = call_begin(&t->copy, CALL_KIND_CALL, point, epid);
	rec->terms = args;
	/* One more than the Erlang stack, as the C function was called from there. */
	rec->height = (hend - stop) / 8 + 1;
	rec->nr_terms = f->arity;
	rec->caller = caller;
	/* After apply the caller is a stub with the name of the C function. */
	try_read(stop, &rec->outer, sizeof(rec->outer));
	if (f->stack && stack_ahead_here(ctx, process, rec->h.ts_ns))
		rec->flags |= RAW_CALL_STACK;
	call_slice(rec, process);
	event_seen(process, epid, rec->h.ts_ns);
	t->process = process;
	t->height = rec->height;
	t->point = point;
	t->epoch = switches.epoch[EVENT_CALLS];
	copy_terms(args, rec->nr_terms);
	call_end(&t->copy);
	return 0;
}

/* Process.freason of a BIF or NIF that returns no value but continues as another function: TRAP,
 * error.h of OTP 25 to 29. */
#define FREASON_TRAP (1u << 10)

/* True if a C function that returned no value raised an exception, which is an event of its own. */
INLINE bool call_raised(uint64_t process)
{
	uint64_t reason = FREASON_TRAP;

	return read_u64(process + config.layout.process_freason, &reason) && reason != FREASON_TRAP;
}

EVENT_RETURN(call_function_return)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct call_thread *t = bpf_map_lookup_elem(&call_threads, &tid);
	struct rec_raw_call *rec;
	uint64_t epid = 0;

	drop_return();
	if (!t || !t->process)
		return 0;
	/* While probes were off the thread may have left the function unseen. */
	if (calls_wanted() && t->epoch == switches.epoch[EVENT_CALLS])
		epid = epid_of(t->process);
	if (epid && (ctx->ax || !call_raised(t->process))) {
		rec = call_begin(&t->copy, CALL_KIND_RETURN, t->point, epid);
		rec->height = t->height;
		call_slice(rec, t->process);
		if (!ctx->ax) {
			rec->flags |= RAW_CALL_GOES_ON;
		} else {
			rec->nr_terms = 1;
			rec->terms = COPY_REGISTER;
			copy_register(&t->copy, ctx->ax);
			copy_rest();
		}
		call_end(&t->copy);
	}
	t->process = 0;
	return 0;
}

#endif
