/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam sched --now`: what each scheduler is doing at this moment, only from the node's memory and
 * /proc.  Several samples are taken, to know for how long.  The state of the threads in the kernel
 * is read before and after the last sample, so that both are of one moment.
 */
#include "cmd/events/sched_now.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/resolve/native_function.h"
#include "beam/sched/sched.h"
#include "beam/sched/thread_stack.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "target/sockets.h"

/* How long it samples; with opening the node the command takes 0.3 s, and 0.4 s
 * of CPU more if functions of a stripped VM are to be named. */
#define SAMPLING_NS  200000000u
#define SAMPLE_NS    40000000u /* from one sample to the next */
#define MOST_SAMPLES 1000
/* A thread that used more CPU time than this in one time slice and one call cannot be in Erlang
 * code, which would have used up its 4000 reductions before. */
#define LONG_CALL_NS 25000000u

/* ---- opening --------------------------------------------------------------------------------- */

static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	struct now_view *v = arg;

	for (size_t k = 0; k < v->nr; k++) {
		if (v->rows[k].one->type == type && v->rows[k].one->number == number)
			v->rows[k].os_tid = os_tid;
	}
}

static int open_view(struct now_view *v, struct error *err)
{
	struct beam_node *n = v->node;
	const struct sched_one *all;
	struct error ignored;
	int rc = target_need(n, n->anchors.sched, "schedulers", err);

	rc = rc ? rc : target_need(n, n->anchors.proc_tab, "process table", err);
	rc = rc ? rc : stack_code_open(&v->code, n, err);
	if (rc)
		return rc;
	rc = id_format_read(&v->pids, n->mem, &n->layout, n->anchors.proc_tab, n->identity.otp);
	if (rc)
		return beam_node_unreadable(n, "process table", rc, err);
	v->has_ports =
		n->anchors.port_tab && id_format_read(&v->ports, n->mem, &n->layout,
						      n->anchors.port_tab, n->identity.otp) == 0;
	if (sched_now_open(&v->now, n, jit_fragments(v->code.jit)) != 0)
		return beam_node_lacks(n, "schedulers", err);
	v->sites = callsites_open(n, v->code.jit);
	unwinder_open(&v->unwinder, n->objects);
	all = sched_now_all(v->now, &v->nr);
	v->rows = xcalloc(v->nr, sizeof(*v->rows));
	v->a.rows = xcalloc(v->nr, sizeof(*v->a.rows));
	v->a.nr = v->nr;
	for (size_t i = 0; i < v->nr; i++) {
		v->rows[i].one = &all[i];
		v->rows[i].shown = &v->a.rows[i];
	}
	v->a.live = !n->core;
	if (v->a.live)
		sched_find_tids(n->os_pid, found_thread, v, &ignored);
	return 0;
}

static void close_view(struct now_view *v)
{
	free(v->rows);
	free(v->a.rows);
	arena_free(&v->texts);
	sched_now_close(v->now);
	unwinder_close(v->unwinder);
	callsites_close(v->sites);
	stack_code_close(&v->code);
}

/* ---- the native stack ------------------------------------------------------------------------ */

static void unwind(struct now_view *v, struct now_row *r)
{
	r->nr_native = thread_stack_read(v->node, v->unwinder, v->code.jit, &r->regs, r->native,
					 SCHED_NOW_FRAMES);
}

/* The lock that the thread waits for, if it does. */
static void find_lock(struct now_view *v, struct now_row *r, int64_t syscall, raddr futex,
		      uint64_t operation)
{
	if (syscall_is_futex_wait(syscall, operation))
		r->has_lock = thread_lock_find(v->node, futex, r->native, r->nr_native, &r->lock);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static void read_threads(struct now_view *v, bool first)
{
	for (size_t i = 0; i < v->nr; i++) {
		struct now_row *r = &v->rows[i];

		if (r->os_tid)
			thread_state_read(first ? &r->first : &r->before, v->node->os_pid,
					  r->os_tid);
	}
}

/* Reads where the thread is, if it has not run since `was`. */
static void sample_thread(struct now_view *v, struct now_row *r, const struct thread_state *was)
{
	struct thread_state after;
	bool fd;

	r->last = *was;
	thread_state_read(&after, v->node->os_pid, r->os_tid);
	if (!thread_state_stood(was, &after)) {
		r->last = after;
		r->last.where = after.where == THREAD_IN_SYSCALL ? after.where : THREAD_ON_CPU;
		return;
	}
	r->stood = true;
	r->regs = (struct unwind_regs){.ip = was->ip, .sp = was->sp, .exact = true};
	unwind(v, r);
	if (was->where == THREAD_IN_SYSCALL && r->one->now.doing != SCHED_DOING_NOTHING)
		find_lock(v, r, was->syscall, was->args[0], was->args[1]);
	thread_state_read(&after, v->node->os_pid, r->os_tid);
	if (!thread_state_stood(was, &after)) {
		r->stood = r->has_lock = false;
		r->nr_native = 0;
	}
	if (was->where == THREAD_IN_SYSCALL && syscall_name(was->syscall, &fd) && fd &&
	    proc_fd_target(v->node->os_pid, (int)was->args[0], r->shown->file,
			   sizeof(r->shown->file)) != 0)
		r->shown->file[0] = '\0';
}

static void keep_longest(struct now_view *v, uint64_t now_ns)
{
	for (size_t i = 0; i < v->nr; i++) {
		struct now_row *r = &v->rows[i];
		const struct sched_sample *s = &r->one->now;

		if (s->known && s->doing == SCHED_DOING_PROCESS && TERM_IS_PID(s->epid) &&
		    now_ns - r->one->same_ns > r->longest.ns) {
			r->longest.ns = now_ns - r->one->same_ns;
			r->longest.epid = s->epid;
			r->longest.registered = s->registered;
		}
	}
}

static void sample_last(struct now_view *v)
{
	struct thread_state *was = xcalloc(v->nr, sizeof(*was));

	for (size_t i = 0; i < v->nr; i++)
		if (v->rows[i].os_tid)
			thread_state_read(&was[i], v->node->os_pid, v->rows[i].os_tid);
	sched_now_sample(v->now, v->last_ns = clock_monotonic_ns());
	keep_longest(v, v->last_ns);
	v->a.nr_samples++;
	for (size_t i = 0; i < v->nr; i++)
		if (v->rows[i].os_tid)
			sample_thread(v, &v->rows[i], &was[i]);
	sched_block_read(v->node, &v->block); /* last, as it is slow */
	v->a.stopped = proc_is_stopped(v->node->os_pid);
	free(was);
}

static int sample_live(struct now_view *v, uint64_t duration_ns, struct error *err)
{
	uint64_t nr = MIN(MAX(duration_ns / SAMPLE_NS, 1u), MOST_SAMPLES), step = duration_ns / nr;

	read_threads(v, true);
	v->first_ns = clock_monotonic_ns();
	for (uint64_t i = 0; i < nr && beam_node_is_there(v->node); i++) {
		uint64_t now_ns = i ? clock_monotonic_ns() : v->first_ns;

		sched_now_sample(v->now, now_ns);
		keep_longest(v, now_ns);
		if (v->a.nr_samples++ == 0)
			log_info("%zu schedulers sampled, %" PRIu64 " more samples", v->nr, nr - 1);
		if (i == nr - 1)
			read_threads(v, false);
		clock_sleep_until(v->first_ns + (i + 1) * step);
	}
	if (!beam_node_is_there(v->node))
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "the node (pid %d) has exited",
				 v->node->os_pid);
	sample_last(v);
	return 0;
}

static void sample_core(struct now_view *v)
{
	const struct core_thread *threads;
	size_t nr = core_file_threads(v->node->core, &threads);

	v->first_ns = v->last_ns = 0;
	sched_now_sample(v->now, 0);
	sched_block_read(v->node, &v->block);
	v->a.nr_samples = 1;
	for (size_t i = 0; i < v->nr; i++) {
		struct now_row *r = &v->rows[i];

		for (size_t k = 0; k < nr; k++) {
			const struct core_thread *t = &threads[k];

			if (!t->thread_pointer || t->thread_pointer != r->one->thread_pointer)
				continue;
			r->os_tid = t->os_tid;
			r->stood = true;
			r->regs = (struct unwind_regs){
				.ip = t->ip, .sp = t->sp, .bp = t->bp, .bx = t->bx, .exact = true};
			r->last.where = t->syscall >= 0 ? THREAD_IN_SYSCALL : THREAD_OFF_CPU;
			r->last.syscall = t->syscall;
			unwind(v, r);
			find_lock(v, r, t->syscall, t->di, t->si);
			break;
		}
	}
}

static bool in_long_call(const struct now_view *v, const struct now_row *r)
{
	return v->a.live && r->first.has_times && r->last.has_times &&
	       MAX(r->one->same_ns, r->one->call_same_ns) <= v->first_ns &&
	       r->last.times.cpu_ns >= r->first.times.cpu_ns + LONG_CALL_NS;
}

static void name_native(struct now_view *v, struct now_row *r)
{
	struct object_function f;
	char buf[256];

	for (unsigned int i = 0; i < r->nr_native; i++) {
		const char *name = "[unknown]";

		if (native_function(v->node, r->native[i], true, &f) == 0)
			name = native_function_name(&f, buf, sizeof(buf));
		r->shown->native[r->shown->nr_native++] = arena_copy(&v->texts, name);
	}
}

static void name_functions(struct now_view *v)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < v->nr; i++) {
		struct now_row *r = &v->rows[i];
		enum function_from from;

		name_native(v, r);
		from = sched_function(v->node, &v->code, v->sites, r->one,
				      r->stood ? r->regs.ip : 0, in_long_call(v, r), &text);

		if (from != FUNCTION_UNKNOWN)
			r->shown->function = arena_copy(&v->texts, text.buf);
		r->shown->function_from = function_from_name(from);
		r->shown->slice_start = from == FUNCTION_SLICE_START;
		strbuf_reset(&text);
	}
	strbuf_free(&text);
}

/* When a dirty scheduler that works on a process last waited for work; 0 = not known. */
static uint64_t working_ns(const struct sched_one *one)
{
	return one->now.doing == SCHED_DOING_PROCESS ? one->working_ns : 0;
}

static uint64_t at_least(const struct now_view *v, const struct sched_one *one)
{
	uint64_t since = MAX(one->same_ns, working_ns(one));

	if (!v->a.live || !one->now.known || v->last_ns <= since)
		return SCHED_NOW_UNKNOWN;
	return v->last_ns - since;
}

static uint64_t at_most(const struct now_view *v, const struct sched_one *one)
{
	uint64_t since = MAX(one->before_ns, working_ns(one));

	if (!v->a.live || !one->now.known || one->now.doing == SCHED_DOING_OTHER)
		return SCHED_NOW_UNKNOWN;
	return since && since <= v->last_ns ? v->last_ns - since : SCHED_NOW_UNKNOWN;
}

/* CPU time, or time of waiting for a CPU, in percent of the time between two states; more than 100
 * if the kernel accounts it late; NAN = not known. */
static double percent_of(const struct thread_state *from, const struct thread_state *to, bool wait)
{
	uint64_t a = wait ? from->times.wait_ns : from->times.cpu_ns;
	uint64_t b = wait ? to->times.wait_ns : to->times.cpu_ns;

	if (!from->has_times || !to->has_times || b < a || to->at_ns <= from->at_ns)
		return NAN;
	return 100 * (double)(b - a) / (double)(to->at_ns - from->at_ns);
}

/* Percent by which CPU time and waiting may exceed 100 together, as both clocks are not read at
 * once. */
#define WAIT_SLACK 5

/* Percent of the time in which the thread waited for a CPU.  The kernel accounts a wait when it
 * ends: a thread that was runnable at both samples and never ran has waited all the time.  NAN if a
 * wait has ended that began before the first sample, as its part in the time is not known. */
static double cpu_wait_of(const struct now_row *r)
{
	double on_cpu = r->shown->on_cpu;
	double wait = percent_of(&r->first, &r->last, true);

	if (on_cpu == 0 && r->first.state == 'R' && r->last.state == 'R')
		return 100;
	if (wait > 100 - on_cpu + WAIT_SLACK)
		return NAN;
	return wait > 100 - on_cpu ? 100 - on_cpu : wait;
}

static void add_times(struct now_view *v)
{
	for (size_t i = 0; i < v->nr; i++) {
		const struct now_row *r = &v->rows[i];
		struct sched_now_row *shown = r->shown;

		shown->at_least_ns = at_least(v, r->one);
		shown->at_most_ns = at_most(v, r->one);
		shown->on_cpu = percent_of(&r->first, &r->last, false);
		shown->on_cpu = shown->on_cpu > 100 ? 100 : shown->on_cpu; /* NAN stays */
		shown->cpu_wait = cpu_wait_of(r);
		/* State R is running or runnable: the thread counts as runnable if it had less than
		 * half of a CPU since the last sample. */
		shown->runnable =
			r->last.state == 'R' && percent_of(&r->before, &r->last, false) < 50;
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Refuses options that --now does not use, as they are about events. */
static int check_options(const struct command_context *ctx, struct error *err)
{
	static const struct option_set of_now = OPTIONS(
		OPT(NOW), OPT(PID), OPT(TRY_LAYOUT), OPT(CORE), OPT(EXE), OPT(DURATION), OPT(JSON),
		OPT(COLUMNS), OPT(SORT), OPT(LIMIT), OPT(QUIET), OPT(VERBOSE), OPT(COLOR));

	for (int id = 0; id < NR_OPTIONS; id++) {
		if (ctx->opt.given.has[id] && !of_now.has[id])
			return error_set(
				err, ERROR_KIND_USAGE, -EINVAL,
				"--%s cannot be combined with --now, which watches no events",
				option_rows[id].long_name);
	}
	if (ctx->opt.core && ctx->opt.duration_ns)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-d cannot be combined with --core: a core file does not change");
	return 0;
}

int cmd_sched_now(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, NULL);
	struct now_view v = {0};
	uint64_t duration = ctx->opt.duration_ns ? ctx->opt.duration_ns : SAMPLING_NS;
	int rc = check_options(ctx, err);

	rc = rc ? rc : table_check(&sched_now_table, &options, err);
	rc = rc ? rc : target_open(&v.node, ctx, err);
	rc = rc ? rc : open_view(&v, err);
	if (rc == 0 && v.a.live)
		rc = sample_live(&v, duration, err);
	else if (rc == 0)
		sample_core(&v);
	if (rc == 0) {
		add_times(&v);
		name_functions(&v);
		rc = sched_now_show(ctx, &v, &options, err);
	}
	close_view(&v);
	return target_close(v.node, rc, err);
}
