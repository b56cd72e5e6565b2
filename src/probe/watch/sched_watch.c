/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_watch.h. */
#include "probe/watch/sched_watch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/sched/sched.h"
#include "beam/sched/sched_work.h"
#include "target/proc.h"

#define CPU_PART     0.020     /* CPU that sampling may use, part of a core */
#define PERIOD_MIN   500000u   /* ns */
#define PERIOD_FIRST 1000000u  /* ns, until the cost of a sample is known */
#define PERIOD_MAX   20000000u /* ns, with thousands of schedulers */
#define PERIOD_EXACT 8000000u  /* ns, while the VM counts busy time itself */
#define PERIOD_GC    1000000u  /* ns: shortest period that collections need */
#define PERIOD_AGREE 10000000u /* ns, longest: so that a span has AGREE_SAMPLES */
#define PACE_SAMPLES 32	       /* samples after which period and CPU are chosen again */
#define MOVE_NS	     50000u    /* ns of a sleep after which the kernel chooses the CPU */
#define MOST_APART   64u       /* most rounds of PACE_SAMPLES from one move() to the next */
/* Accuracy that is enough after 10 s: a standard deviation of half a percentage point for whether a
 * scheduler works, of one point for what it works on.  In samples a second that this takes, times
 * p (1 - p), the variance of one sample. */
#define ENOUGH_WORKING 4000.0
#define ENOUGH_WORK    1000.0
/* The same for collections, which are a small part of the time: a tenth of a point. */
#define ENOUGH_GC 100000.0
/* One sample in DIRTY_EVERY includes dirty schedulers: many of them sleep, and their busy time is
 * counted by the VM. */
#define DIRTY_EVERY  16
#define SPAN_FEW_NS  500000000u
#define SPAN_MANY_NS 1000000000u
#define MANY	     64 /* with more schedulers spans are longer, as reading counts takes time */
/* When the VM's count agrees with the samples, see sched_watch_agrees(): samples needed to judge,
 * difference allowed, and standard deviations added to that; spans in doubt before the count is no
 * longer used. */
#define AGREE_SAMPLES 30
#define AGREE_POINTS  0.02
#define AGREE_SPREADS 5
#define MOST_DOUBTS   2
#define LATE_NS	      1000000u /* ns: a sample that is later was kept off the CPU */

struct watched {
	enum thread_type type;
	uint16_t number;
	int os_tid;	     /* 0 = not known */
	bool distrusted;     /* the VM's count is no longer used */
	unsigned int doubts; /* spans in a row in which the VM's count cannot be true */
	uint32_t samples, working, process, port, gc_samples, gc;
	struct sched_clock_read clock;
	struct proc_thread_times times;
	bool has_times;
};

struct sched_watch {
	int os_pid;
	struct mem *mem; /* used by the thread alone */
	struct sched_work *work;
	VEC(struct watched) all; /* by index in sched_work_all(); if `work` is set */
	VEC(struct sched_span) spans;
	bool counts; /* counts of the VM are used */
	bool gc;     /* collections are sampled */
	bool realtime;
	uint64_t cut_ns;
	pthread_t thread;
	bool running;
	unsigned int moves_apart;   /* used by the thread alone */
	atomic_bool stop, exact;    /* exact: the VM counted all of the last span */
	_Atomic uint64_t due_ns;    /* time of the next sample */
	_Atomic uint64_t enough_ns; /* longest period that is accurate enough */
	pthread_mutex_t lock;	    /* protects what follows, `work` and the counts of samples */
	uint64_t unseen_ns;	    /* time in this span in which due samples were late */
};

/* ---- the thread ------------------------------------------------------------------------------ */

uint64_t sched_watch_next(uint64_t *random, uint64_t begin_ns, uint64_t period_ns)
{
	*random = *random ? *random : 88172645463325252u;
	return begin_ns + (random_next(random) >> 11) % period_ns;
}

uint64_t sched_watch_period(uint64_t cost_ns, uint64_t samples)
{
	double period = samples ? (double)cost_ns / (double)samples / CPU_PART : PERIOD_FIRST;

	return period < PERIOD_MIN   ? PERIOD_MIN
	       : period > PERIOD_MAX ? PERIOD_MAX
				     : (uint64_t)period;
}

/* If all samples agree, their variance is 0, and few of them would be enough; but as long as they
 * are few, others may still differ: so p is estimated by the rule of succession (Laplace). */
uint64_t sched_watch_enough(double per_s, uint32_t samples, uint32_t seen)
{
	double part = (seen + 1.0) / (samples + 2.0);

	return (uint64_t)(1e9 / (per_s * part * (1 - part)));
}

static void sample(struct sched_watch *w, bool dirty)
{
	const struct sched_worker *all;
	uint32_t nr, nr_normal;

	sched_work_sample(w->work, dirty);
	if (w->gc)
		sched_work_sample_gc(w->work);
	all = sched_work_all(w->work, &nr, &nr_normal);
	for (uint32_t i = 0; i < (dirty ? nr : nr_normal); i++) {
		struct watched *one = &w->all.data[i];

		if (all[i].doing == SCHED_DOING_UNKNOWN)
			continue;
		one->samples++;
		one->working += all[i].doing != SCHED_DOING_NOTHING;
		one->process += all[i].doing == SCHED_DOING_PROCESS;
		one->port += all[i].doing == SCHED_DOING_PORT;
		one->gc_samples += all[i].gc_known;
		one->gc += all[i].gc;
	}
}

static uint64_t late_ns(uint64_t due_ns, uint64_t now_ns)
{
	return due_ns && now_ns > due_ns + LATE_NS ? now_ns - due_ns : 0;
}

/*
 * A real-time thread wakes up on the CPU where it slept, and takes it from whatever runs there.  So
 * now and then this thread sleeps once without real-time priority, so that the kernel wakes it up
 * on an idle CPU if there is one, and goes on there.  False: it may not have real-time priority.
 */
static bool move(struct sched_watch *w)
{
	uint64_t due = clock_monotonic_ns() + MOVE_NS, late;
	bool may = thread_come_first() == 0;

	if (may) {
		atomic_store(&w->due_ns, due);
		clock_sleep_until(due);
	}
	may = thread_come_at_once() == 0 && may;
	late = may ? late_ns(due, clock_monotonic_ns()) : 0;
	pthread_mutex_lock(&w->lock);
	w->unseen_ns += late;
	pthread_mutex_unlock(&w->lock);
	/* It was late without real-time priority: CPUs are busy, or limited, so it moves less
	 * often. */
	w->moves_apart = late ? MIN(2 * w->moves_apart, MOST_APART) : 1;
	return may;
}

/* Makes the thread a real-time one.  A thread that only gets a CPU when one is free mostly sees
 * schedulers that are about to sleep, so it must not wait for those that it samples.  False: it has
 * no real-time priority, and waits. */
static bool come_at_once(const struct sched_watch *w)
{
	int rc = w->realtime ? thread_come_at_once() : -ECANCELED;

	if (rc)
		log_debug("the thread that samples schedulers has no real-time priority: %s",
			  w->realtime ? error_text(-rc) : "--no-realtime");
	return rc == 0;
}

static void *watch_main(void *arg)
{
	struct sched_watch *w = arg;
	uint64_t begin = clock_monotonic_ns(), period = PERIOD_FIRST, random = begin;
	uint64_t paced_ns, cost, apart, due, paces = 0;
	bool moves = come_at_once(w);

	paced_ns = clock_thread_ns();
	for (uint64_t n = 1; !atomic_load(&w->stop); n++) {
		apart = MAX(period, atomic_load(&w->enough_ns));
		apart = atomic_load(&w->exact) && !w->gc ? MAX(apart, PERIOD_EXACT) : apart;
		due = sched_watch_next(&random, begin, apart);
		atomic_store(&w->due_ns, due);
		clock_sleep_until(due);
		pthread_mutex_lock(&w->lock);
		w->unseen_ns += late_ns(due, clock_monotonic_ns());
		sample(w, n % DIRTY_EVERY == 0);
		pthread_mutex_unlock(&w->lock);
		if (n % PACE_SAMPLES == 0) {
			moves = moves && (++paces % w->moves_apart || move(w));
			cost = clock_thread_ns() - paced_ns;
			paced_ns += cost;
			period = (3 * period + sched_watch_period(cost, PACE_SAMPLES)) / 4;
		}
		/* Missed samples are not made up for. */
		begin = MAX(begin + apart, clock_monotonic_ns());
	}
	return NULL;
}

/* ---- spans ----------------------------------------------------------------------------------- */

bool sched_watch_agrees(uint64_t working_ns, uint64_t duration_ns, uint64_t unseen_ns,
			uint32_t samples, uint32_t working)
{
	double counted, seen, spread, unseen;

	if (working_ns > duration_ns)
		return false;
	if (samples < AGREE_SAMPLES || !duration_ns)
		return true;
	counted = (double)working_ns / (double)duration_ns;
	seen = (double)working / samples;
	/* The variance is at least that of one sample that differs, in case none does. */
	spread = sqrt(MAX(seen * (1 - seen), 1.0 / samples) / samples);
	unseen = (double)unseen_ns / (double)duration_ns;
	return fabs(counted - seen) < AGREE_POINTS + AGREE_SPREADS * spread + unseen;
}

/* True if the node is stopped (SIGSTOP): its schedulers do nothing, though samples still show what
 * they were doing. */
static bool is_stopped(const struct sched_watch *w)
{
	return proc_is_stopped(w->os_pid);
}

/* Busy time that the VM has counted since the last cut, scaled to the duration of the span. */
static uint64_t clock_since(struct sched_watch *w, uint32_t at, uint64_t duration_ns,
			    uint64_t unseen_ns)
{
	struct watched *one = &w->all.data[at];
	struct sched_clock_read before = one->clock, *now = &one->clock;
	uint64_t ns, span;

	sched_work_clock(w->work, at, now);
	if (one->distrusted || !before.known || !now->known || before.start_ns != now->start_ns ||
	    now->working_ns < before.working_ns || now->at_ns <= before.at_ns)
		return SCHEDULER_UNKNOWN;
	ns = now->working_ns - before.working_ns;
	span = now->at_ns - before.at_ns;
	if (!sched_watch_agrees(ns, span, unseen_ns, one->samples, one->working)) {
		log_debug(
			"scheduler %u of type %d: %u of %u samples at work, not %.1f %% as the VM "
			"counts",
			one->number, (int)one->type, one->working, one->samples,
			100 * (double)ns / (double)span);
		one->doubts += ns <= span;
		one->distrusted = one->doubts >= MOST_DOUBTS;
		if (ns > span || one->distrusted)
			return SCHEDULER_UNKNOWN;
	} else if (one->samples >= AGREE_SAMPLES) {
		one->doubts = 0;
	}
	return (uint64_t)((double)ns / (double)span * (double)duration_ns);
}

static void add_times(struct sched_watch *w, struct watched *one, struct sched_span *out)
{
	struct proc_thread_times before = one->times;
	bool had = one->has_times;

	one->has_times =
		one->os_tid && proc_thread_times_read(&one->times, w->os_pid, one->os_tid) == 0;
	if (!had || !one->has_times || one->times.cpu_ns < before.cpu_ns ||
	    one->times.wait_ns < before.wait_ns)
		return;
	/* The kernel updates both only when it switches threads, or at its ticks: they may grow by
	 * more than the span. */
	out->on_cpu_ns = MIN(one->times.cpu_ns - before.cpu_ns, out->duration_ns);
	out->cpu_wait_ns = MIN(one->times.wait_ns - before.wait_ns, out->duration_ns);
}

static uint64_t enough_of(const struct watched *one)
{
	uint64_t working = sched_watch_enough(ENOUGH_WORKING, one->samples, one->working);
	uint64_t process = sched_watch_enough(ENOUGH_WORK, one->samples, one->process);
	uint64_t port = sched_watch_enough(ENOUGH_WORK, one->samples, one->port);
	uint64_t gc = one->gc_samples ? sched_watch_enough(ENOUGH_GC, one->gc_samples, one->gc)
				      : PERIOD_AGREE;

	return MIN(MIN(working, process), MIN(port, MAX(gc, PERIOD_GC)));
}

static void add_samples(const struct watched *one, struct sched_span *out)
{
	out->samples = one->samples;
	out->working = one->working;
	out->process = one->process;
	out->port = one->port;
	out->gc_samples = one->gc_samples;
	out->gc = one->gc;
}

uint64_t sched_watch_span_ns(const struct sched_watch *w)
{
	return w->all.len > MANY ? SPAN_MANY_NS : SPAN_FEW_NS;
}

uint32_t sched_watch_cut(struct sched_watch *w, const struct sched_span **spans)
{
	bool exact = w->work != NULL, stopped = is_stopped(w);
	uint64_t now, unseen_ns, enough_ns = PERIOD_AGREE;

	w->spans.len = 0;
	pthread_mutex_lock(&w->lock);
	now = clock_monotonic_ns();
	unseen_ns = w->unseen_ns + late_ns(atomic_load(&w->due_ns), now);
	w->unseen_ns = 0;
	for (size_t i = 0; i < w->all.len; i++) {
		struct watched *one = &w->all.data[i];
		struct sched_span span = {
			.type = one->type,
			.number = one->number,
			.end_ns = now,
			.duration_ns = now - w->cut_ns,
			.working_ns = SCHEDULER_UNKNOWN,
			.on_cpu_ns = SCHEDULER_UNKNOWN,
			.cpu_wait_ns = SCHEDULER_UNKNOWN,
			.offline = w->work && sched_work_is_suspended(w->work, (uint32_t)i),
		};

		if (w->work && w->counts)
			span.working_ns = clock_since(w, (uint32_t)i, span.duration_ns, unseen_ns);
		if (stopped)
			span.working_ns = SCHEDULER_UNKNOWN;
		else
			add_samples(one, &span);
		exact = exact && span.working_ns != SCHEDULER_UNKNOWN;
		if (one->type == THREAD_NORMAL)
			enough_ns = MIN(enough_ns, enough_of(one));
		else if (span.working_ns == SCHEDULER_UNKNOWN && one->working)
			enough_ns = MIN(enough_ns, enough_of(one) / DIRTY_EVERY);
		one->samples = one->working = one->process = one->port = 0;
		one->gc_samples = one->gc = 0;
		add_times(w, one, &span);
		if (span.samples || span.working_ns != SCHEDULER_UNKNOWN ||
		    span.on_cpu_ns != SCHEDULER_UNKNOWN)
			vec_push(&w->spans, span);
	}
	w->cut_ns = now;
	atomic_store(&w->exact, exact);
	atomic_store(&w->enough_ns, enough_ns);
	pthread_mutex_unlock(&w->lock);
	*spans = w->spans.data;
	return (uint32_t)w->spans.len;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct watched *find(struct sched_watch *w, enum thread_type type, uint16_t number)
{
	for (size_t i = 0; i < w->all.len; i++) {
		if (w->all.data[i].type == type && w->all.data[i].number == number)
			return &w->all.data[i];
	}
	return NULL;
}

/* Finds threads by their names; also adds the schedulers themselves if they are not known
 * otherwise. */
static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	const struct watched new = {.type = type, .number = number};
	struct sched_watch *w = arg;
	struct watched *one = find(w, type, number);

	if (!one && !w->work) {
		vec_push(&w->all, new);
		one = &w->all.data[w->all.len - 1];
	}
	if (one)
		one->os_tid = os_tid;
}

static int find_schedulers(struct sched_watch *w, struct beam_node *n, struct error *err)
{
	const struct sched_worker *all;
	uint32_t nr, nr_normal;
	int rc = mem_open_live(&w->mem, n->os_pid, err);

	if (rc)
		return rc;
	if (sched_work_open(&w->work, n, w->mem) != 0) {
		log_info("schedulers are not sampled: where this build of the VM keeps what they "
			 "run is not known");
		return 0;
	}
	all = sched_work_all(w->work, &nr, &nr_normal);
	for (uint32_t i = 0; i < nr; i++) {
		const struct watched one = {.type = all[i].type, .number = all[i].number};

		vec_push(&w->all, one);
	}
	return 0;
}

int sched_watch_open(struct sched_watch **out, struct beam_node *n, enum sched_watch_how how,
		     bool gc, bool realtime, struct error *err)
{
	struct sched_watch *w = xcalloc(1, sizeof(*w));
	const struct sched_span *ignored;
	int rc;

	*out = NULL;
	w->os_pid = n->os_pid;
	pthread_mutex_init(&w->lock, NULL);
	w->counts = how == SCHED_WATCH_BEST;
	w->gc = gc;
	w->realtime = realtime;
	w->moves_apart = 1;
	rc = how != SCHED_WATCH_THREADS ? find_schedulers(w, n, err) : 0;
	rc = rc ? rc : sched_find_tids(n->os_pid, found_thread, w, err);
	if (rc == 0) {
		w->cut_ns = clock_monotonic_ns();
		sched_watch_cut(w, &ignored);
	}
	if (rc == 0 && w->work) {
		w->running = thread_start(&w->thread, watch_main, w);
		if (!w->running)
			rc = error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				       "cannot start the thread that samples "
				       "schedulers: " THREAD_REFUSED);
	}
	if (rc) {
		sched_watch_close(w);
		return rc;
	}
	*out = w;
	return 0;
}

void sched_watch_close(struct sched_watch *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, true);
	if (w->running)
		pthread_join(w->thread, NULL);
	sched_work_close(w->work);
	mem_close(w->mem);
	vec_free(&w->all);
	vec_free(&w->spans);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
