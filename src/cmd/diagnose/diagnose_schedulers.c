/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diagnose: samples of schedulers.  Each sample reads the VM twice, and the state of the threads in
 * the kernel in between: if both readings see the same time slice, the thread state belongs to it.
 */
#include "abi/vm.h"
#include "cmd/diagnose/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/sched/sched.h"
#include "beam/sched/sched_function.h"
#include "beam/sched/thread_stack.h"
#include "beam/term/term_print.h"
#include "target/proc.h"

/* The function of a time slice is searched for if the slice is at least this long. */
#define LONG_NS 50000000u
/* A thread that used more CPU time than this in one time slice and one call cannot be in Erlang
 * code, which would have used up its reductions before. */
#define LONG_CALL_NS 25000000u
#define RUNNING_MAX  1024u /* processes that are counted, at most: the first ones seen */
#define BLOCKED_MAX  64u   /* functions that are counted, at most */
#define LOCK_FRAMES  8u	   /* of a C stack, to see for which lock its thread waits */

static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	struct diagnose *g = arg;

	for (size_t k = 0; k < g->nr_schedulers; k++) {
		struct watched_scheduler *s = &g->schedulers[k];

		if (s->one->type == type && s->one->number == number)
			s->os_tid = os_tid;
	}
}

static void find_threads(struct diagnose *g)
{
	struct error ignored;

	sched_find_tids(g->n->os_pid, found_thread, g, &ignored);
	for (size_t i = 0; i < g->nr_schedulers; i++) {
		struct watched_scheduler *s = &g->schedulers[i];

		s->has_first = s->os_tid &&
			       proc_thread_times_read(&s->first, g->n->os_pid, s->os_tid) == 0;
	}
}

int diagnose_schedulers_open(struct diagnose *g, struct error *err)
{
	const struct sched_one *all;

	unwinder_open(&g->unwinder, g->n->objects);
	g->sites = callsites_open(g->n, g->source.code.jit);
	if (sched_now_open(&g->now, g->n, jit_fragments(g->source.code.jit)) != 0)
		return beam_node_lacks(g->n, "schedulers", err);
	all = sched_now_all(g->now, &g->nr_schedulers);
	g->schedulers = xcalloc(g->nr_schedulers + 1, sizeof(*g->schedulers));
	vec_reserve(&g->d.schedulers, g->nr_schedulers + 1);
	for (size_t i = 0; i < g->nr_schedulers; i++) {
		struct diagnosed_scheduler out = {.number = all[i].number};

		out.dirty = all[i].type != THREAD_NORMAL;
		out.type = all[i].type == THREAD_NORMAL	     ? "normal"
			   : all[i].type == THREAD_DIRTY_CPU ? "dirty CPU"
							     : "dirty IO";
		vec_push(&g->d.schedulers, out);
		g->schedulers[i].one = &all[i];
		g->schedulers[i].out = &g->d.schedulers.data[i];
	}
	if (!g->n->core)
		find_threads(g);
	return 0;
}

void diagnose_schedulers_close(struct diagnose *g)
{
	sched_now_close(g->now);
	unwinder_close(g->unwinder);
	callsites_close(g->sites);
	free(g->schedulers);
	vec_free(&g->running.v);
	vec_free(&g->collecting.v);
	vec_free(&g->blocked_on);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static bool is_working(const struct sched_sample *s)
{
	return s->known && (s->doing == SCHED_DOING_PROCESS || s->doing == SCHED_DOING_PORT);
}

/* In C code of a NIF or a driver: then it is no lock of the VM. */
static void find_lock(struct diagnose *g, struct watched_scheduler *s)
{
	const struct unwind_regs regs = {.ip = s->now.ip, .sp = s->now.sp, .exact = true};
	raddr frames[LOCK_FRAMES];
	struct thread_state after;
	unsigned int nr;

	s->has_lock = false;
	if (s->now.where != THREAD_IN_SYSCALL ||
	    !syscall_is_futex_wait(s->now.syscall, s->now.args[1]))
		return;
	nr = thread_stack_read(g->n, g->unwinder, g->source.code.jit, &regs, frames, LOCK_FRAMES);
	if (!thread_lock_find(g->n, s->now.args[0], frames, nr, &s->lock))
		return;
	thread_state_read(&after, g->n->os_pid, s->os_tid);
	s->has_lock = thread_state_stood(&s->now, &after);
}

static void take_lock(struct diagnose *g, const struct watched_scheduler *s)
{
	struct diagnosed_scheduler *out = s->out;
	char name[32] = "";

	out->lock = s->has_lock ? libc_lock_type_name(s->lock.type) : NULL;
	out->lock_owner = 0;
	out->lock_thread = NULL;
	out->lock_orphaned = s->has_lock && s->lock.ended;
	if (!s->has_lock || !s->lock.owner)
		return;
	for (size_t i = 0; i < g->nr_schedulers; i++)
		if (g->schedulers[i].os_tid == s->lock.owner)
			out->lock_owner = (unsigned int)i + 1;
	proc_thread_name(g->n->os_pid, s->lock.owner, name, sizeof(name));
	out->lock_thread = *name ? diagnose_text(g, name) : NULL;
}

static const char *function_of(struct diagnose *g, const struct watched_scheduler *s)
{
	bool times = s->begin.has_times && s->now.has_times;
	bool off_cpu = s->now.where == THREAD_IN_SYSCALL || s->now.where == THREAD_OFF_CPU;
	struct strbuf text = STRBUF_INIT;
	const char *name = NULL;
	enum function_from from;

	from = sched_function(g->n, &g->source.code, g->sites, s->one, off_cpu ? s->now.ip : 0,
			      times && s->now.times.cpu_ns >= s->begin.times.cpu_ns + LONG_CALL_NS,
			      &text);
	/* A long slice need not still be in the function in which it began. */
	if (from != FUNCTION_UNKNOWN && from != FUNCTION_SLICE_START)
		name = diagnose_text(g, text.buf);
	strbuf_free(&text);
	return name;
}

/* Keeps the slice under way if it is the longest so far. */
static void take_slice(struct diagnose *g, struct watched_scheduler *s)
{
	const struct sched_one *one = s->one;
	struct diagnosed_scheduler *out = s->out;
	uint64_t ns = g->last_ns - one->same_ns, waited = 0;
	bool blocked = s->now.where == THREAD_IN_SYSCALL, fd, same;

	/* Time of waiting for a CPU is not part of a slice, except on a dirty scheduler. */
	if (!out->dirty && s->now.has_times && s->begin.has_times)
		waited = s->now.times.wait_ns - s->begin.times.wait_ns;
	/* The kernel accounts a wait for a CPU when it ends: the length of one that is under way is
	 * not known. */
	if (!out->dirty && s->now.state == 'R' && s->now.times.cpu_ns == s->before.times.cpu_ns)
		return;
	waited = MIN(waited, ns);
	ns -= waited;
	if (ns < LONG_NS || ns <= out->longest_ns)
		return;
	same = out->lasts && out->pid;
	out->longest_ns = ns;
	out->waited_ns = waited;
	out->lasts = true;
	out->queue = one->now.run_queue == SCHED_NOW_UNKNOWN ? 0 : one->now.run_queue;
	if (!same) {
		out->pid = one->now.doing == SCHED_DOING_PROCESS
				   ? diagnose_pid_text(g, one->now.epid)
				   : "a port";
		out->function = NULL;
	}
	if (!out->function)
		out->function = function_of(g, s);
	out->syscall = blocked ? syscall_name(s->now.syscall, &fd) : NULL;
	take_lock(g, s);
}

/* Of functions, or of tables; takes the text. */
static void count_text(struct diagnose *g, struct diagnosed_function *v, size_t len,
		       struct strbuf *text, struct diagnosed_function *new)
{
	*new = (struct diagnosed_function){NULL, 1};
	for (size_t i = 0; i < len && new->nr; i++)
		if (strcmp(v[i].name, text->buf) == 0) {
			v[i].nr++;
			new->nr = 0;
		}
	if (new->nr && len < BLOCKED_MAX)
		new->name = diagnose_text(g, text->buf);
	strbuf_free(text);
}

/* The table is the first argument, in register x0 while the function runs. */
static void count_table(struct diagnose *g, const struct watched_scheduler *s)
{
	struct diagnosed_function new;
	struct strbuf text = STRBUF_INIT;
	uint64_t x0;

	if (!g->n->identity.jit || !s->one->registers ||
	    mem_read_u64(g->n->mem, s->one->registers + (raddr)g->n->layout.registers_x, &x0) != 0)
		return;
	term_print(&g->source.reader, &text, x0);
	count_text(g, g->blocked_on.data, g->blocked_on.len, &text, &new);
	if (new.name)
		vec_push(&g->blocked_on, new);
}

static void count_blocked(struct diagnose *g, struct watched_scheduler *s)
{
	struct diagnosis *d = &g->d;
	struct diagnosed_function new;
	const char *syscall;
	struct strbuf text = STRBUF_INIT;
	bool fd;

	if (s->now.where != THREAD_IN_SYSCALL || !(syscall = syscall_name(s->now.syscall, &fd)) ||
	    strcmp(syscall, "futex") != 0)
		return;
	d->nr_blocked++;
	d->nr_blocked_schedulers += !s->blocked;
	s->blocked = true;
	if (sched_function(g->n, &g->source.code, g->sites, s->one, s->now.ip, false, &text) ==
	    FUNCTION_UNKNOWN)
		strbuf_addstr(&text, "an unknown function");
	if (strncmp(text.buf, "ets:", 4) == 0)
		count_table(g, s);
	count_text(g, d->blocked_in.data, d->blocked_in.len, &text, &new);
	if (new.name)
		vec_push(&d->blocked_in, new);
}

/* Counts a process once per sample, as it may move to another scheduler while schedulers are
 * read. */
static void count_running(struct running_counts *counts, uint64_t epid, unsigned int sample)
{
	for (size_t i = 0; i < counts->v.len; i++) {
		struct running_count *r = &counts->v.data[i];

		if (r->epid == epid) {
			r->nr += r->sample != sample;
			r->sample = sample;
			return;
		}
	}
	if (counts->v.len < RUNNING_MAX)
		vec_push(&counts->v, ((struct running_count){epid, 1, sample}));
}

static void take(struct diagnose *g, struct watched_scheduler *s, uint64_t same_before)
{
	const struct sched_sample *now = &s->one->now;
	struct diagnosed_scheduler *out = s->out;

	if (!now->known)
		return;
	out->nr_seen++;
	out->nr_busy += now->doing != SCHED_DOING_NOTHING;
	if (!is_working(now)) {
		out->lasts = false;
		return;
	}
	if (s->since_ns != s->one->same_ns) { /* another slice than last time */
		s->since_ns = s->one->same_ns;
		s->begin = (struct thread_state){0};
		out->lasts = false;
	}
	if (!s->begin.has_times) /* the slice began between the two readings */
		s->begin = s->now;
	find_lock(g, s);
	if (now->doing == SCHED_DOING_PROCESS && s->one->type != THREAD_DIRTY_IO) {
		g->d.nr_running++;
		count_running(&g->running, now->epid, g->d.scheduler_samples);
		if (now->state & PSFLG_GC) {
			g->d.nr_gc++;
			count_running(&g->collecting, now->epid, g->d.scheduler_samples);
		}
		/* Both readings saw this slice: so the state of the thread, read in between,
		 * belongs to it. */
		else if (same_before == s->one->same_ns && !out->dirty && !s->has_lock)
			count_blocked(g, s);
	}
	if (g->last_ns > s->one->same_ns)
		take_slice(g, s);
}

static bool is_of(const struct watched_scheduler *s, enum thread_type type)
{
	return s->one->type == type && s->one->now.known &&
	       s->one->now.doing != SCHED_DOING_NOTHING;
}

/* Counts how many dirty schedulers of each type are working. */
static void count_dirty(struct diagnose *g)
{
	uint32_t nr_cpu = 0, nr_io = 0;

	for (size_t i = 0; i < g->nr_schedulers; i++) {
		nr_cpu += is_of(&g->schedulers[i], THREAD_DIRTY_CPU);
		nr_io += is_of(&g->schedulers[i], THREAD_DIRTY_IO);
	}
	while (g->d.dirty_cpu_busy.len <= nr_cpu)
		vec_push(&g->d.dirty_cpu_busy, 0);
	while (g->d.dirty_io_busy.len <= nr_io)
		vec_push(&g->d.dirty_io_busy, 0);
	g->d.dirty_cpu_busy.data[nr_cpu]++;
	g->d.dirty_io_busy.data[nr_io]++;
}

void diagnose_schedulers_sample(struct diagnose *g)
{
	uint64_t *same = xcalloc(g->nr_schedulers + 1, sizeof(*same));

	sched_now_sample(g->now, clock_monotonic_ns());
	for (size_t i = 0; i < g->nr_schedulers; i++) {
		struct watched_scheduler *s = &g->schedulers[i];

		same[i] = s->one->same_ns;
		s->before = s->now;
		if (s->os_tid && is_working(&s->one->now))
			thread_state_read(&s->now, g->n->os_pid, s->os_tid);
		else
			s->now = (struct thread_state){0};
	}
	sched_now_sample(g->now, g->last_ns = clock_monotonic_ns());
	g->d.scheduler_samples++;
	count_dirty(g);
	for (size_t i = 0; i < g->nr_schedulers; i++)
		take(g, &g->schedulers[i], same[i]);
	free(same);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_nr(const void *a, const void *b)
{
	const struct running_count *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static int by_blocked(const void *a, const void *b)
{
	const struct diagnosed_function *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

/* Sums CPU time of the threads of normal schedulers, and their time of waiting for a CPU. */
static void add_times(struct diagnose *g)
{
	double cpu = 0, wait = 0, ns = (double)(g->last_ns - g->first_ns);

	for (size_t i = 0; i < g->nr_schedulers; i++) {
		const struct watched_scheduler *s = &g->schedulers[i];
		struct proc_thread_times last;

		if (!s->has_first || proc_thread_times_read(&last, g->n->os_pid, s->os_tid) != 0)
			continue;
		cpu += (double)(last.cpu_ns - s->first.cpu_ns);
		wait += (double)(last.wait_ns - s->first.wait_ns);
	}
	g->d.cpu_used = ns > 0 ? cpu / ns : NAN;
	/* The share is too inexact if the threads wanted less than 20 % of a core. */
	g->d.cpu_wait = ns > 0 && cpu + wait >= 0.2 * ns ? wait / (cpu + wait) : NAN;
}

#define MOST_BUSY 5

static void add_busiest(struct diagnose *g)
{
	if (g->running.v.len)
		qsort(g->running.v.data, g->running.v.len, sizeof(*g->running.v.data), by_nr);
	for (size_t i = 0; i < MIN(g->running.v.len, (size_t)MOST_BUSY); i++) {
		const struct diagnosed_busy busy = {
			.process = diagnose_process(g, g->running.v.data[i].epid),
			.samples = g->running.v.data[i].nr};

		vec_push(&g->d.busy, busy);
	}
}

void diagnose_schedulers_finish(struct diagnose *g)
{
	struct diagnosis *d = &g->d;

	add_times(g);
	if (g->collecting.v.len)
		qsort(g->collecting.v.data, g->collecting.v.len, sizeof(*g->collecting.v.data),
		      by_nr);
	if (d->blocked_in.len)
		qsort(d->blocked_in.data, d->blocked_in.len, sizeof(*d->blocked_in.data),
		      by_blocked);
	add_busiest(g);
	for (size_t i = 0; i < MIN(g->collecting.v.len, (size_t)5); i++) {
		const struct diagnosed_busy busy = {
			.process = diagnose_process(g, g->collecting.v.data[i].epid),
			.samples = g->collecting.v.data[i].nr};

		vec_push(&d->collecting, busy);
	}
}
