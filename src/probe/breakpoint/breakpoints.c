/* SPDX-License-Identifier: BSD-2-Clause */
/* See breakpoints.h.  Each event has a limit of hits, which the kernel counts down at each hit
 * (kernel/events/core.c, event_limit); at 0 it disables the event.  PERF_EVENT_IOC_REFRESH adds
 * to that limit. */
#include "probe/breakpoint/breakpoints_internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/sched/sched.h"
#include "probe/kernel/perf.h"
#include "probe/limit/budget.h"
#include "target/proc.h"

/* Hits that a thread has at the start, before its CPU time has earned any: calls on an idle node
 * are to be seen, too. */
#define FIRST_HITS 200
/* An event that is off is enabled again only for at least this many hits, as that costs the thread
 * an interrupt. */
#define LEAST_HITS 10
/* A thread saves at most the hits that it earns in this time. */
#define SAVED_S 0.5
/* A thread with fewer than LEAST_HITS is given up to this many of the hits that the idle part of
 * the node has earned (BUDGET_MIN_BUSY). */
#define FEW_HITS 20
/* Events of a thread that has spent its hits stay off for at least this long, unless
 * go_on_by_chance() enables them earlier.  So where returns are watched, a thread has few windows,
 * but each with enough hits for a burst. */
#define REST_NS 250000000u
/* Hits that a thread is charged for the interrupt by which an event is enabled again. */
#define START_HITS 1
/* With return sites, threads whose events could be enabled again wait at most this long for the
 * others; threads that still have no hits are then lent some. */
#define TOGETHER_NS 500000000u
#define LENT_HITS   LEAST_HITS

/* Fraction by which the maximum of a thread's speed decays with each sample of it. */
#define FORGOTTEN 0.01
/* At maximum speed one sample in ONE_SAMPLE_IN enables the events of a thread again. */
#define ONE_SAMPLE_IN 2

#define LIST_NS 1000000000u /* between searches for new threads */
/* What a run of the program is taken to cost, ns, until it has run ENOUGH times; then it is
 * measured. */
#define PROGRAM_NS 1000u
#define ENOUGH	   20u

/* CPU time of a thread; false if it is gone. */
static bool thread_used_ns(int os_pid, int os_tid, uint64_t *ns)
{
	struct proc_thread_times times;

	if (proc_thread_times_read(&times, os_pid, os_tid) != 0)
		return false;
	*ns = times.cpu_ns;
	return true;
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void disarm(struct armed *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

static unsigned int affordable(const struct watched_thread *t)
{
	return t->credit < 1 ? 0 : (unsigned int)t->credit;
}

/* Opens a disabled perf event for a thread, with the BPF program. */
static int prepare(struct breakpoints *b, struct watched_thread *t, unsigned int i)
{
	struct perf_event_attr attr = breakpoints_attr(b->sites[i].addr);
	struct armed *a = &t->armed[i];
	int fd = perf_open(&attr, t->os_tid, -1), rc;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, b->config.program)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	a->fd = fd;
	a->given = a->hits = a->on_ns = a->ticked_ns = a->ticked_hits = 0;
	a->fresh = false;
	return 0;
}

/* Enables the event for so many hits. */
static int start(struct breakpoints *b, struct watched_thread *t, unsigned int i, unsigned int hits,
		 bool by_chance)
{
	struct armed *a = &t->armed[i];

	breakpoints_position(b, t);
	if (ioctl(a->fd, PERF_EVENT_IOC_REFRESH, hits))
		return -errno;
	t->credit -= START_HITS;
	a->given = hits;
	a->fresh = a->begun = true;
	a->in_process = t->in_process;
	a->by_chance = by_chance && t->in_process;
	a->on = t->position;
	a->gap_from = a->off;
	a->off = 0;
	a->ticked = t->position;
	return 0;
}

static int arm(struct breakpoints *b, struct watched_thread *t, unsigned int i, unsigned int hits)
{
	int rc = prepare(b, t, i);

	rc = rc ? rc : start(b, t, i, hits, false);
	if (rc)
		disarm(&t->armed[i]);
	return rc;
}

/* Reads the hits of one event and charges them to its thread. */
static bool read_hits(struct breakpoints *b, struct watched_thread *t, unsigned int i)
{
	struct armed *a = &t->armed[i];
	struct entry_use *use = entry_use(b, i);
	uint64_t now[2]; /* hits, ns that it was enabled while the thread ran */

	if (read(a->fd, now, sizeof(now)) != sizeof(now))
		return false;
	b->state.hits += now[0] - a->hits;
	t->credit -= (double)(now[0] - a->hits);
	t->hits += now[0] - a->hits;
	if (use) {
		use->hits += now[0] - a->hits;
		use->on_ns += now[1] - a->on_ns;
	}
	a->hits = now[0];
	a->on_ns = now[1];
	return true;
}

static void report_gap(struct breakpoints *b, unsigned int i, int os_tid, uint64_t from_ns,
		       uint64_t to_ns)
{
	if (is_return_site(b, i) && b->config.gap)
		b->config.gap(b->config.arg, b->sites[i].addr, os_tid, from_ns, to_ns);
}

bool breakpoints_site_hit(const struct breakpoints *b, const struct watched_thread *t,
			  unsigned int i, struct call_site_hit *hit)
{
	const struct call_site_thread key = {
		.addr = b->sites[i].addr,
		.os_tid = (uint32_t)t->os_tid,
	};

	return bpf_map_lookup_elem(b->config.site_hits, &key, hit) == 0 && hit->last_ns;
}

/* From when on a return site may have been off for a thread: its last hit there, or the time at
 * which the event was enabled, if that is later. */
static uint64_t last_hit(struct breakpoints *b, const struct watched_thread *t, unsigned int i)
{
	struct call_site_hit hit;

	if (!is_return_site(b, i) || !breakpoints_site_hit(b, t, i, &hit))
		hit.last_ns = 0;
	return MAX(hit.last_ns, t->armed[i].since_ns);
}

/* Adds the map entries of a site and thread (or deletes them), as the BPF program cannot add
 * elements to this map. */
static void expect_hits(struct breakpoints *b, const struct watched_thread *t, unsigned int i,
			bool expected)
{
	const struct call_site_thread key = {
		.addr = b->sites[i].addr,
		.os_tid = (uint32_t)t->os_tid,
	};
	const struct call_site_hit never = {0};

	if (!b->sites[i].addr)
		return;
	if (expected)
		bpf_map_update_elem(b->config.site_hits, &key, &never, BPF_NOEXIST);
	else
		bpf_map_delete_elem(b->config.site_hits, &key);
}

/* Enables a breakpoint that is off, by a new perf event: from Linux 6.16 on an event that its limit
 * has stopped does not count when it is enabled again, but still takes the thread's time.  With 0
 * hits it stays off. */
static void again(struct breakpoints *b, struct watched_thread *t, unsigned int i,
		  unsigned int hits, bool by_chance)
{
	struct armed *a = &t->armed[i];
	uint64_t from_ns = a->since_ns, now;

	if (a->fd >= 0 && a->given) {
		b->state.tripped++;
		from_ns = last_hit(b, t, i);
		if (!a->off && a->fresh)
			breakpoints_keep_gap(b, t, i); /* the last window was not measured yet */
		breakpoints_spent(b, t, i);
		disarm(a);
	}
	/* What fails is tried again at the next tick. */
	if ((a->fd >= 0 || prepare(b, t, i) == 0) && hits && start(b, t, i, hits, by_chance) != 0)
		disarm(a);
	now = clock_monotonic_ns();
	a->since_ns = now;
	report_gap(b, i, t->os_tid, from_ns, now);
}

/* Gives more hits to an event that is on; if it turns out to have been off already, starts it
 * again. */
static void top_up(struct breakpoints *b, struct watched_thread *t, unsigned int i,
		   unsigned int hits)
{
	struct armed *a = &t->armed[i];
	uint64_t before = a->given;

	if (ioctl(a->fd, PERF_EVENT_IOC_REFRESH, hits))
		return;
	a->given += hits;
	/* The limit may have been reached before the ioctl(), with further hits since. */
	if (read_hits(b, t, i) && a->hits >= before)
		again(b, t, i, hits, false);
}

/* Hits that the thread may have for each ns of its CPU time. */
static double hits_of_ns(const struct breakpoints *b)
{
	return b->config.max_overhead / 100 / MAX(b->hit_ns, 1u);
}

static void earn(struct breakpoints *b, struct watched_thread *t, uint64_t now)
{
	double seconds = (double)(now - t->tick_ns) / 1e9, most = b->config.rate;
	uint64_t used;

	if (!thread_used_ns(b->config.os_pid, t->os_tid, &used))
		return;
	if (b->config.max_overhead < 100) {
		double hits = (double)(used - t->used_ns) * hits_of_ns(b);

		most = 1e9 * hits_of_ns(b);
		most = MIN(most, (double)b->config.rate);
		t->credit += MIN(hits, most * seconds);
	} else {
		t->credit += most * seconds;
	}
	t->credit = MIN(t->credit, MAX(most * SAVED_S, (double)FIRST_HITS));
	b->cpu_ns += used - t->used_ns;
	t->used_ns = used;
	t->tick_ns = now;
}

static void earn_idle(struct breakpoints *b, uint64_t wall_ns)
{
	double idle = BUDGET_MIN_BUSY * (double)wall_ns - (double)(b->cpu_ns - b->idle_cpu_ns);

	b->idle_cpu_ns = b->cpu_ns;
	if (idle > 0)
		b->idle_credit = MIN(b->idle_credit + idle * hits_of_ns(b),
				     BUDGET_MIN_BUSY * 1e9 * hits_of_ns(b));
}

static void take_idle(struct breakpoints *b, struct watched_thread *t)
{
	double more = MIN(FEW_HITS - t->credit, b->idle_credit);

	if (b->config.max_overhead >= 100 || t->credit >= LEAST_HITS || more <= 0)
		return;
	t->credit += more;
	b->idle_credit -= more;
}

static void tick_thread(struct breakpoints *b, struct watched_thread *t, uint64_t now)
{
	uint64_t used = t->used_ns;
	bool off = false;

	earn(b, t, now);
	take_idle(b, t);
	breakpoints_position(b, t);
	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		if (!b->sites[i].addr)
			continue;
		if (t->armed[i].fd >= 0)
			read_hits(b, t, i);
		off = off || is_spent(&t->armed[i]);
		if (entry_use(b, i))
			breakpoints_tick_entry(b, t, i, t->used_ns - used);
	}
	t->off_ns = !off ? 0 : t->off_ns ? t->off_ns : now;
}

static bool is_off(const struct breakpoints *b, const struct watched_thread *t)
{
	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		const struct armed *a = &t->armed[i];

		if (b->sites[i].addr && is_spent(a))
			return true;
	}
	return false;
}

static bool has_rested(const struct breakpoints *b, const struct watched_thread *t)
{
	return affordable(t) >= LEAST_HITS && (!t->off_ns || b->ticked_ns - t->off_ns >= REST_NS);
}

static bool owes(const struct watched_thread *t)
{
	return t->credit <= -(double)LENT_HITS;
}

static bool has_sites(const struct breakpoints *b)
{
	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		if (is_return_site(b, i))
			return true;
	}
	return false;
}

/* Gives hits to the return sites (`sites`) or the entries of a thread.  `go_on`: events that are
 * off may be enabled.  `lend`: a thread that cannot pay gets LENT_HITS, unless it owes as many
 * already. */
static void give_hits(struct breakpoints *b, struct watched_thread *t, bool sites, bool go_on,
		      bool lend)
{
	unsigned int hits = has_rested(b, t) ? affordable(t) : lend && !owes(t) ? LENT_HITS : 0;

	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		struct armed *a = &t->armed[i];
		uint64_t left;

		if (!b->sites[i].addr || is_return_site(b, i) != sites)
			continue;
		left = a->given - MIN(a->hits, a->given);
		if (a->fd < 0 || !left)
			again(b, t, i, go_on ? hits : 0, false);
		else if (left < affordable(t) / 2)
			top_up(b, t, i, affordable(t) - (unsigned int)left);
	}
}

static bool could_go_on(const struct watched_thread *t)
{
	return t->off_ns && affordable(t) >= LEAST_HITS;
}

/* A thread is sampled at times that are uniform in time, but windows are to begin uniformly in
 * reductions.  So a sample begins a window with a probability proportional to the thread's speed
 * (reductions a ns).  True: it does. */
static bool goes_on(struct breakpoints *b, struct watched_thread *t)
{
	double of_all = random_uniform(&b->random), speed;

	if (!t->sampled || !breakpoints_position(b, t))
		return false;
	speed = (double)(t->position - t->sampled) / (double)(clock_monotonic_ns() - t->sampled_ns);
	t->fastest = MAX(t->fastest * (1 - FORGOTTEN), speed);
	return t->in_process && speed > ONE_SAMPLE_IN * of_all * t->fastest;
}

/*
 * Without return sites the events of each thread are enabled again independently of the others, at
 * a moment while it runs a process whose probability depends on its speed alone: what is seen from
 * then on is an unbiased sample of what its processes do (gap_estimate.h).  After REST_NS they are
 * enabled again whatever the thread does (give_hits()).
 */
static void go_on_by_chance(struct breakpoints *b)
{
	uint64_t begin = clock_monotonic_ns();
	bool some = false;

	for (size_t k = 0; k < b->threads.len; k++) {
		struct watched_thread *t = &b->threads.data[k];

		t->sampled = could_go_on(t) && breakpoints_position(b, t) ? t->position : 0;
		t->sampled_ns = clock_monotonic_ns();
		some = some || t->sampled;
	}
	if (!some)
		return;
	clock_sleep_until(begin + BREAKPOINTS_SPEED_NS);
	for (size_t k = 0; k < b->threads.len; k++) {
		struct watched_thread *t = &b->threads.data[k];

		if (!goes_on(b, t))
			continue;
		for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
			if (b->sites[i].addr && is_spent(&t->armed[i]))
				again(b, t, i, affordable(t), true);
		}
		t->off_ns = 0;
	}
}

/* ---- all threads ----------------------------------------------------------------------------- */

static struct watched_thread *thread_of(struct breakpoints *b, int os_tid)
{
	for (size_t i = 0; i < b->threads.len; i++) {
		if (b->threads.data[i].os_tid == os_tid)
			return &b->threads.data[i];
	}
	return NULL;
}

static int watch_thread(struct breakpoints *b, int os_tid, uint16_t scheduler, uint64_t now)
{
	struct watched_thread t = {
		.os_tid = os_tid,
		.scheduler = scheduler,
		.seen = true,
		.tick_ns = now,
	};
	int rc = 0;

	if (!thread_used_ns(b->config.os_pid, os_tid, &t.used_ns))
		return 0; /* ended */
	t.credit = b->config.max_overhead < 100 ? FIRST_HITS : b->config.rate * SAVED_S;
	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++)
		t.armed[i].fd = -1;
	for (unsigned int n = 0; n < 2 * EBEAM_BREAKPOINTS && rc == 0; n++) {
		unsigned int i = n % EBEAM_BREAKPOINTS;

		/* Return sites first, as in breakpoints_tick(). */
		if (!b->sites[i].addr || is_return_site(b, i) != (n < EBEAM_BREAKPOINTS))
			continue;
		expect_hits(b, &t, i, true);
		rc = arm(b, &t, i, affordable(&t));
		t.armed[i].since_ns = clock_monotonic_ns();
		report_gap(b, i, os_tid, b->listed_ns, t.armed[i].since_ns);
	}
	vec_push(&b->threads, t);
	return rc == -ESRCH ? 0 : rc;
}

/* A call cannot be paired with its return if its process may have passed a return site that was
 * off.  So with return sites the events of all threads are enabled again together, when all threads
 * have earned hits, or after TOGETHER_NS.  True: now; *lend: threads without hits are lent some. */
static bool go_on_together(struct breakpoints *b, uint64_t now, bool *lend)
{
	bool some = false, all = true;

	*lend = false;
	if (!has_sites(b)) {
		b->waiting_ns = 0;
		return true; /* each as soon as it can */
	}
	for (size_t i = 0; i < b->threads.len; i++) {
		const struct watched_thread *t = &b->threads.data[i];
		bool can = has_rested(b, t);

		some = some || (can && is_off(b, t));
		all = all && (can || !is_off(b, t) || owes(t));
	}
	if (!some) {
		b->waiting_ns = 0;
		return false;
	}
	if (!b->waiting_ns)
		b->waiting_ns = now;
	*lend = !all && now - b->waiting_ns >= TOGETHER_NS;
	if (!all && !*lend)
		return false;
	b->waiting_ns = 0;
	return true;
}

/* True if a thread runs Erlang code, by its name; *number: that of the scheduler.  If no thread has
 * a name that the VM gives (`named` is false): true for all, and *number is 0. */
static bool is_normal(const struct proc_thread *t, bool named, uint16_t *number)
{
	bool normal = sched_type_of_name(t->name, number) == THREAD_NORMAL;

	if (!normal)
		*number = 0;
	return !named || normal;
}

static int list_threads(struct breakpoints *b, uint64_t now, struct error *err)
{
	struct proc_thread *threads;
	ssize_t nr = proc_threads_read(&threads, b->config.os_pid, err);
	unsigned int nr_normal = 0;
	bool named = false;
	uint16_t number;
	int rc = 0;

	if (nr < 0)
		return (int)nr;
	for (ssize_t i = 0; i < nr; i++)
		named = named || sched_type_of_name(threads[i].name, &number) == THREAD_NORMAL;
	for (ssize_t i = 0; i < nr; i++)
		nr_normal += is_normal(&threads[i], named, &number);
	breakpoints_raise_files(nr_normal);
	for (size_t i = 0; i < b->threads.len; i++)
		b->threads.data[i].seen = false;
	for (ssize_t i = 0; i < nr; i++) {
		struct watched_thread *t = thread_of(b, threads[i].os_tid);
		int failed = 0;

		if (!is_normal(&threads[i], named, &number))
			continue;
		if (t)
			t->seen = true;
		else
			failed = watch_thread(b, threads[i].os_tid, number, now);
		rc = rc ? rc : failed;
	}
	free(threads);
	for (size_t i = b->threads.len; i-- > 0;) {
		struct watched_thread *t = &b->threads.data[i];

		if (t->seen)
			continue;
		for (unsigned int k = 0; k < EBEAM_BREAKPOINTS; k++) {
			if (b->sites[k].addr)
				breakpoints_keep_gap(b, t, k);
			disarm(&t->armed[k]);
			expect_hits(b, t, k, false);
		}
		*t = b->threads.data[--b->threads.len];
	}
	b->listed_ns = now;
	return rc ? breakpoints_refuse(rc, err) : 0;
}

int breakpoints_open(struct breakpoints **out, const struct breakpoints_config *config,
		     struct error *err)
{
	struct breakpoints *b = xcalloc(1, sizeof(*b));
	int rc;

	*out = NULL;
	b->config = *config;
	b->opened_ns = clock_monotonic_ns();
	b->random = b->opened_ns | 1;
	b->hit_ns = config->hit_ns + PROGRAM_NS;
	rc = list_threads(b, clock_monotonic_ns(), err);
	if (rc) {
		breakpoints_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

void breakpoints_close(struct breakpoints *b)
{
	if (!b)
		return;
	b->closing = true;
	/* Entries first, so that no call is seen whose return can no longer be. */
	for (unsigned int n = 0; n < 2 * EBEAM_BREAKPOINTS; n++) {
		unsigned int i = n % EBEAM_BREAKPOINTS;

		if (b->sites[i].addr && is_return_site(b, i) == (n >= EBEAM_BREAKPOINTS))
			breakpoints_remove(b, b->sites[i].addr);
	}
	vec_free(&b->threads);
	free(b);
}

static int free_site(const struct breakpoints *b)
{
	for (int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		if (!b->sites[i].addr)
			return i;
	}
	return -1;
}

int breakpoints_add(struct breakpoints *b, uint64_t addr, const struct call_point *point,
		    struct error *err)
{
	int site = free_site(b), rc;

	if (site < 0)
		return breakpoints_refuse(-ENOSPC, err);
	rc = bpf_map_update_elem(b->config.points, &addr, point, BPF_ANY) ? -errno : 0;
	if (rc)
		return breakpoints_refuse(rc, err);
	b->sites[site].addr = addr;
	b->sites[site].point = *point;
	for (size_t i = 0; i < b->threads.len; i++) {
		struct watched_thread *t = &b->threads.data[i];

		t->armed[site] = (struct armed){.fd = -1};
		expect_hits(b, t, (unsigned int)site, true);
		rc = arm(b, t, (unsigned int)site, MAX(affordable(t), 1u));
		t->armed[site].since_ns = clock_monotonic_ns();
		if (rc && rc != -ESRCH) {
			breakpoints_remove(b, addr);
			return breakpoints_refuse(rc, err);
		}
	}
	return 0;
}

/* Removes the breakpoint of a site from all threads.  Returns since when it was off for some
 * thread. */
static uint64_t take_away(struct breakpoints *b, unsigned int i)
{
	uint64_t from_ns = clock_monotonic_ns();

	for (size_t k = 0; k < b->threads.len; k++) {
		struct watched_thread *t = &b->threads.data[k];
		struct armed *a = &t->armed[i];

		if (a->fd >= 0)
			read_hits(b, t, i);
		if (a->fd < 0)
			from_ns = MIN(from_ns, a->since_ns);
		else if (a->hits >= a->given)
			from_ns = MIN(from_ns, last_hit(b, t, i));
		disarm(a);
		breakpoints_keep_gap(b, t, i);
		expect_hits(b, t, i, false);
	}
	return from_ns;
}

void breakpoints_remove(struct breakpoints *b, uint64_t addr)
{
	for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
		if (b->sites[i].addr != addr)
			continue;
		uint64_t from_ns = take_away(b, i);

		report_gap(b, i, 0, from_ns, b->closing ? UINT64_MAX : clock_monotonic_ns());
		b->sites[i].addr = 0;
		bpf_map_delete_elem(b->config.points, &addr);
	}
}

/* Updates the cost of a hit by the kernel's run time statistics of the program, which exist while a
 * session has enabled them. */
static void learn_cost(struct breakpoints *b)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(b->config.program, &info, &size) == 0 && info.run_cnt >= ENOUGH)
		b->hit_ns = b->config.hit_ns + (unsigned int)(info.run_time_ns / info.run_cnt);
}

void breakpoints_tick(struct breakpoints *b)
{
	uint64_t now = clock_monotonic_ns();
	bool go_on, lend;
	struct error why;

	if (now - b->ticked_ns < BREAKPOINTS_TICK_NS) {
		if (!has_sites(b))
			go_on_by_chance(b);
		return;
	}
	learn_cost(b);
	if (b->ticked_ns)
		earn_idle(b, now - b->ticked_ns);
	b->ticked_ns = now;
	for (size_t i = 0; i < b->threads.len; i++)
		tick_thread(b, &b->threads.data[i], now);
	go_on = go_on_together(b, now, &lend);
	/* Return sites first, so that of each call that is seen the return is seen, too. */
	for (int sites = 1; sites >= 0; sites--) {
		for (size_t i = 0; i < b->threads.len; i++)
			give_hits(b, &b->threads.data[i], sites, go_on, lend);
	}
	b->state.known_ns = now;
	if (now - b->listed_ns >= LIST_NS && list_threads(b, now, &why))
		log_warn("ebeam: calls on new threads are not seen: %s", why.msg);
}
