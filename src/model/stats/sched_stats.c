/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_stats.h.  Only running and runnable processes are kept, not those that wait. */
#include "model/stats/sched_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/config.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/stream/event_stream.h"

enum process_state { RUNNABLE = 1, RUNNING };

struct sched_process {
	uint64_t epid;	     /* the key */
	uint64_t since_ns;   /* since when it is runnable, or on the scheduler */
	uint64_t counted_ns; /* running: its time is counted up to then */
	uint32_t process;    /* id of the dictionary */
	uint8_t state;	     /* enum process_state */
	uint16_t cpu;	     /* running: its index in cpus + 1; 0 = not known */
	uint8_t left;	     /* runnable: enum sched_left + 1; 0 = it was waiting */
	bool dirty;	     /* running on a dirty scheduler */
	bool woken; /* running, and became runnable meanwhile: matters if it is about to wait */
};

const char *sched_left_name(enum sched_left left)
{
	static const char *const names[NR_SCHED_LEFT] = {
		[SCHED_LEFT_WAITING] = "waiting",     [SCHED_LEFT_PREEMPTED] = "preempted",
		[SCHED_LEFT_YIELDED] = "yielded",     [SCHED_LEFT_TO_DIRTY] = "to_dirty",
		[SCHED_LEFT_SUSPENDED] = "suspended", [SCHED_LEFT_EXITED] = "exited",
	};

	return names[left];
}

/* ---- processes that run or are to run -------------------------------------------------------- */

/* True if scheduling events since since_ns may have been missed. */
static bool is_gap(const struct sched_stats *s, uint64_t since_ns)
{
	return coverage_gap(&s->stream->coverage, EVENT_PROCESS_SCHEDULED, since_ns);
}

struct purge {
	const struct sched_stats *stats;
	bool lost; /* events were lost: forget also processes runnable since before the interval */
};

static bool outlives(const void *ctx, const void *item)
{
	const struct purge *purge = ctx;
	const struct sched_stats *s = purge->stats;
	const struct sched_process *p = item;

	return !is_gap(s, p->since_ns) &&
	       !(purge->lost && p->state == RUNNABLE && p->since_ns < s->interval_ns);
}

/* Forgets processes whose next event may have been missed. */
static void purge(struct sched_stats *s, bool lost)
{
	uint64_t off_ns = s->stream->coverage.kinds[EVENT_PROCESS_SCHEDULED].last_off_ns;
	const struct purge what = {.stats = s, .lost = lost};

	if (!s->processes.nr || (off_ns == s->purged_ns && !lost))
		return;
	s->purged_ns = off_ns;
	keytab_keep(&s->processes, outlives, &what);
}

/* Sets the state of a process; NULL if max_processes are kept already. */
static struct sched_process *set(struct sched_stats *s, uint64_t epid, uint32_t process,
				 enum process_state state, uint64_t ts_ns)
{
	const struct sched_process now = {.epid = epid,
					  .process = process,
					  .state = (uint8_t)state,
					  .since_ns = ts_ns,
					  .counted_ns = ts_ns};
	struct sched_process *p = keytab_find(&s->processes, epid);

	if (!p && s->processes.nr >= s->max_processes)
		purge(s, false);
	if (!p && s->processes.nr >= s->max_processes) {
		s->untracked++;
		return NULL;
	}
	if (!p)
		p = keytab_add(&s->processes, epid);
	*p = now;
	return p;
}

/* ---- schedulers ------------------------------------------------------------------------------ */

static void clock_pass(struct sched_clock *c, uint64_t now, uint64_t ts_ns)
{
	if (now > c->last) {
		c->known_ns += now - c->last;
		c->on_ns += c->state == SCHED_ON ? now - c->last : 0;
	}
	c->last = now;
	c->last_ns = ts_ns;
}

/* Sets the state of a clock when it changes, which shows that an unknown state was the other
 * one. */
static void clock_set(const struct sched_stats *s, struct sched_clock *c, enum event_kind kind,
		      bool on, uint64_t ts_ns)
{
	uint64_t resumed, now = coverage_clock(&s->stream->coverage, kind, ts_ns, &resumed);
	uint64_t began = now - MIN(now, ts_ns - MIN(ts_ns, s->start_ns));

	if (c->state == SCHED_UNKNOWN) {
		c->last = MAX(began, resumed);
		c->state = on ? SCHED_OFF : SCHED_ON;
	} else if (coverage_gap(&s->stream->coverage, kind, c->last_ns) && resumed > c->last) {
		clock_pass(c, resumed, ts_ns);
		c->state = on ? SCHED_OFF : SCHED_ON;
	}
	clock_pass(c, now, ts_ns);
	c->state = on ? SCHED_ON : SCHED_OFF;
}

/* The clock is on, as an event shows that happens only then.  If its state was unknown, it was on
 * since watching began, or resumed. */
static void clock_is_on(const struct sched_stats *s, struct sched_clock *c, enum event_kind kind,
			uint64_t ts_ns)
{
	if (c->state == SCHED_ON || !(s->stream->watched >> kind & 1) ||
	    coverage_gap(&s->stream->coverage, kind, ts_ns))
		return;
	clock_set(s, c, kind, false, ts_ns);
	c->state = SCHED_ON;
}

/* Off from now on; the state before stays unknown. */
static void clock_begin(const struct sched_stats *s, struct sched_clock *c, enum event_kind kind,
			uint64_t ts_ns)
{
	c->last = coverage_clock(&s->stream->coverage, kind, ts_ns, NULL);
	c->last_ns = ts_ns;
	c->state = SCHED_OFF;
}

static void clock_advance(const struct sched_stats *s, struct sched_clock *c, enum event_kind kind,
			  uint64_t ts_ns)
{
	if (c->state != SCHED_UNKNOWN && ts_ns > c->last_ns)
		clock_pass(c, coverage_clock(&s->stream->coverage, kind, ts_ns, NULL), ts_ns);
}

double sched_clock_percent(const struct sched_clock *c)
{
	return c->known_ns ? 100 * (double)c->on_ns / (double)c->known_ns : NAN;
}

static const struct sched_clock *clock_of(const struct sched_cpu *cpu)
{
	return cpu->type == THREAD_NORMAL ? &cpu->active : &cpu->busy;
}

double sched_cpu_by_events(const struct sched_cpu *cpu)
{
	return sched_clock_percent(clock_of(cpu));
}

const char *sched_source_name(enum sched_source source)
{
	static const char *const names[] = {
		[SCHED_SOURCE_VM] = "vm",
		[SCHED_SOURCE_EVENTS] = "events",
		[SCHED_SOURCE_SAMPLES] = "samples",
	};

	return names[source];
}

/* Events are preferred to memory if none was lost, and they cover this part of its time. */
#define WHOLE_PART 0.98

static bool events_are_whole(const struct sched_stats *s, const struct sched_cpu *cpu)
{
	uint64_t all_ns = cpu->use.counted_ns + cpu->use.seen_ns;

	return s->stream->counters[COUNTER_EVENTS_LOST] == s->lost &&
	       (double)clock_of(cpu)->known_ns >= WHOLE_PART * (double)all_ns;
}

void sched_cpu_utilization(const struct sched_stats *s, const struct sched_cpu *cpu,
			   struct sched_utilization *out)
{
	const struct sched_use *use = &cpu->use;
	double by_memory = sched_use_work(use), by_events = sched_cpu_by_events(cpu);

	*out = (struct sched_utilization){.percent = by_memory};
	if (sched_use_is_exact(use)) {
		out->source = SCHED_SOURCE_VM;
	} else if (!isnan(by_events) && !s->partial &&
		   (isnan(by_memory) || events_are_whole(s, cpu))) {
		out->source = SCHED_SOURCE_EVENTS;
		out->percent = by_events;
	} else if (!isnan(by_memory)) {
		out->source = SCHED_SOURCE_SAMPLES;
		out->error = sched_use_error(use);
	}
	out->parts = sched_use_parts(use, out->percent);
	/* A recording without samples of memory: events do not show the time of ports. */
	if (!use->samples)
		out->parts.process = fmin(sched_clock_percent(&cpu->busy), out->percent);
}

static struct sched_cpu *cpu_at(struct sched_stats *s, enum thread_type type, uint16_t number)
{
	const struct sched_cpu new = {.type = type, .number = number};

	for (size_t i = 0; i < s->cpus.len; i++) {
		if (s->cpus.data[i].type == type && s->cpus.data[i].number == number)
			return &s->cpus.data[i];
	}
	if (s->cpus.len >= SCHED_STATS_CPUS)
		return NULL;
	vec_push(&s->cpus, new);
	return &s->cpus.data[s->cpus.len - 1];
}

/* NULL if the thread is no scheduler. */
static struct sched_cpu *cpu_of(struct sched_stats *s, uint32_t thread)
{
	const struct name_thread *t = names_thread(s->stream->names, thread);
	struct sched_cpu *cpu;

	if (!t || !t->scheduler ||
	    (t->type != THREAD_NORMAL && t->type != THREAD_DIRTY_CPU && t->type != THREAD_DIRTY_IO))
		return NULL;
	if (thread < s->cpu_of.len && s->cpu_of.data[thread])
		return &s->cpus.data[s->cpu_of.data[thread] - 1];
	cpu = cpu_at(s, t->type, t->scheduler);
	while (s->cpu_of.len <= thread)
		vec_push(&s->cpu_of, 0);
	if (cpu)
		s->cpu_of.data[thread] = (uint16_t)(cpu - s->cpus.data + 1);
	return cpu;
}

void sched_stats_order(const struct sched_stats *s, uint32_t *order)
{
	for (uint32_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[i];
		uint32_t at = i;

		for (; at > 0; at--) {
			const struct sched_cpu *before = &s->cpus.data[order[at - 1]];

			if (before->type < cpu->type ||
			    (before->type == cpu->type && before->number < cpu->number))
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
}

void sched_stats_memory(struct sched_stats *s, const struct event *ev)
{
	struct sched_cpu *cpu = cpu_at(s, ev->u.scheduler.type, ev->u.scheduler.number);

	if (cpu)
		sched_use_add(&cpu->use, ev);
}

void sched_stats_begin(struct sched_stats *s, enum thread_type type, uint16_t number, bool busy)
{
	struct sched_cpu *cpu = cpu_at(s, type, number);

	if (cpu)
		cpu->began = busy ? SCHED_BEGAN_BUSY : SCHED_BEGAN_IDLE;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static struct sched_count *count_of(struct sched_stats *s, uint32_t process)
{
	static const struct sched_count none;
	uint32_t group = process_groups_of(&s->groups, process);

	while (s->counts.len <= group)
		vec_push(&s->counts, none);
	return &s->counts.data[group];
}

static void add_part(struct sched_part *part, uint64_t ns, bool dirty)
{
	part->ns += ns;
	part->dirty_ns += dirty ? ns : 0;
}

static bool is_long(const struct sched_stats *s, uint64_t ns)
{
	return s->long_ns && ns >= s->long_ns;
}

/* Counts time on a scheduler of a running process, up to ts_ns.  reported: if that is a long slice,
 * there is a long_schedule of it, too. */
static void count_time(struct sched_stats *s, struct sched_process *p, uint64_t ts_ns,
		       bool reported)
{
	struct sched_count *both[] = {count_of(s, p->process), &s->total};
	uint64_t ns = ts_ns - MIN(ts_ns, p->counted_ns);

	for (int i = 0; i < 2; i++) {
		both[i]->time_ns += ns;
		both[i]->dirty_ns += p->dirty ? ns : 0;
		if (reported && is_long(s, ts_ns - MIN(ts_ns, p->since_ns)))
			add_part(&both[i]->seen_long, ns, p->dirty);
	}
	p->counted_ns = ts_ns;
}

static void take_longest(struct sched_count *c, uint64_t ns, bool cut)
{
	if (ns <= c->max_ns)
		return;
	c->max_ns = ns;
	c->max_cut = cut;
}

static void count_slice(struct sched_stats *s, struct sched_process *p, uint64_t ts_ns,
			uint64_t reductions)
{
	struct sched_count *both[] = {count_of(s, p->process), &s->total};
	uint64_t ns = ts_ns - MIN(ts_ns, p->since_ns);

	count_time(s, p, ts_ns, true);
	for (int i = 0; i < 2; i++) {
		both[i]->slices++;
		both[i]->seen_long.nr += is_long(s, ns);
		take_longest(both[i], ns, false);
		both[i]->reductions += reductions == EVENT_UNKNOWN ? 0 : reductions;
	}
	histogram_add(p->dirty ? &s->dirty_slices : &s->slices, ns, 1);
	if (!p->dirty && reductions != EVENT_UNKNOWN)
		histogram_add(&s->reductions, reductions, 1);
}

static void count_wait(struct sched_stats *s, uint32_t process, uint64_t ns, bool dirty)
{
	struct sched_count *both[] = {count_of(s, process), &s->total};

	for (int i = 0; i < 2; i++) {
		both[i]->waits++;
		both[i]->wait_ns += ns;
		both[i]->max_wait_ns = MAX(both[i]->max_wait_ns, ns);
	}
	histogram_add(dirty ? &s->dirty_run_queue : &s->run_queue, ns, 1);
}

/* If another process was scheduled in last on this scheduler, its event `out` was missed: forgets
 * it. */
static void is_there(struct sched_stats *s, struct sched_cpu *cpu, uint64_t epid, bool in)
{
	uint16_t index = (uint16_t)(cpu - s->cpus.data + 1);
	struct sched_process *p;

	if (cpu->epid && cpu->epid != epid) {
		p = keytab_find(&s->processes, cpu->epid);
		if (p && p->state == RUNNING && p->cpu == index)
			keytab_remove(&s->processes, p);
	}
	cpu->epid = in ? epid : 0;
}

static void comes_in(struct sched_stats *s, uint64_t epid, const struct event *ev,
		     const struct sched_cpu *cpu)
{
	struct sched_process *p = keytab_find(&s->processes, epid);
	bool dirty = cpu && cpu->type != THREAD_NORMAL;
	unsigned int left = 0;

	if (p && p->state == RUNNABLE && !is_gap(s, p->since_ns)) {
		count_wait(s, ev->u.vm.process, ev->ts_ns - MIN(ev->ts_ns, p->since_ns), dirty);
		left = p->left;
	} else {
		s->unknown_waits++;
	}
	/* Only now it is known that the process left for a dirty scheduler. */
	if (dirty && (left == SCHED_LEFT_YIELDED + 1 || left == SCHED_LEFT_PREEMPTED + 1) &&
	    s->left[left - 1]) {
		s->left[left - 1]--;
		s->left[SCHED_LEFT_TO_DIRTY]++;
	}
	p = set(s, epid, ev->u.vm.process, RUNNING, ev->ts_ns);
	if (p) {
		p->dirty = dirty;
		p->cpu = cpu ? (uint16_t)(cpu - s->cpus.data + 1) : 0;
	}
}

static enum sched_left how_left(enum event_word word, enum event_word status, uint64_t reductions)
{
	if (word == EVENT_WORD_OUT_EXITED)
		return SCHED_LEFT_EXITED;
	if (status == EVENT_WORD_SUSPENDED)
		return SCHED_LEFT_SUSPENDED;
	if (status != EVENT_WORD_RUNNABLE)
		return SCHED_LEFT_WAITING;
	return reductions != EVENT_UNKNOWN && reductions >= BEAM_CONTEXT_REDS ? SCHED_LEFT_PREEMPTED
									      : SCHED_LEFT_YIELDED;
}

static void goes_out(struct sched_stats *s, uint64_t epid, const struct event *ev,
		     enum event_word word, enum event_word status, bool dirty)
{
	uint64_t reductions = event_value(ev, EVENT_AT(PROCESS_SCHEDULED, REDUCTIONS));
	struct sched_process *p = keytab_find(&s->processes, epid);
	enum sched_left left;
	bool woken = p && p->state == RUNNING && p->woken;

	if (p && p->state == RUNNING && !is_gap(s, p->since_ns))
		count_slice(s, p, ev->ts_ns, reductions);
	/* A message came after the process found its mailbox empty, and before it left. */
	if (woken && status == EVENT_WORD_WAITING)
		status = EVENT_WORD_RUNNABLE;
	left = how_left(word, status, reductions);
	if (!dirty)
		s->left[left]++;
	if (left == SCHED_LEFT_PREEMPTED || left == SCHED_LEFT_YIELDED) {
		p = set(s, epid, ev->u.vm.process, RUNNABLE, ev->ts_ns);
		if (p && !dirty)
			p->left = (uint8_t)(left + 1);
	} else if (p) {
		keytab_remove(&s->processes, p);
	}
}

static void is_scheduled(struct sched_stats *s, const struct event *ev, enum event_word word,
			 enum event_word status)
{
	const struct name_process *np = names_process(s->stream->names, ev->u.vm.process);
	struct sched_cpu *cpu = cpu_of(s, ev->u.vm.thread);
	bool dirty = cpu && cpu->type != THREAD_NORMAL;
	bool in = word == EVENT_WORD_IN || word == EVENT_WORD_IN_EXITING;

	if (cpu) {
		if (!in && cpu->busy.state == SCHED_UNKNOWN && cpu->began != SCHED_BEGAN_BUSY)
			clock_begin(s, &cpu->busy, EVENT_PROCESS_SCHEDULED, ev->ts_ns);
		else
			clock_set(s, &cpu->busy, EVENT_PROCESS_SCHEDULED, in, ev->ts_ns);
		cpu->slices += in;
		/* A scheduler that runs a process is active; see scheduler_wait(), erl_process.c of
		 * OTP 25 to 29. */
		if (!dirty)
			clock_is_on(s, &cpu->active, EVENT_SCHEDULER_ACTIVE, ev->ts_ns);
	}
	if (!np || !np->epid)
		return;
	if (cpu)
		is_there(s, cpu, np->epid, in);
	if (in)
		comes_in(s, np->epid, ev, cpu);
	else
		goes_out(s, np->epid, ev, word, status, dirty);
}

static void is_runnable(struct sched_stats *s, const struct event *ev)
{
	const struct name_process *np = names_process(s->stream->names, ev->u.vm.process);
	struct sched_process *p;

	if (!np || !np->epid)
		return;
	p = keytab_find(&s->processes, np->epid);
	if (p && is_gap(s, p->since_ns))
		p = NULL;
	if (!p)
		set(s, np->epid, ev->u.vm.process, RUNNABLE, ev->ts_ns);
	else if (p->state == RUNNING)
		p->woken = true;
	else if (!p->left) /* it was in the run queue to handle a signal, without a slice */
		p->since_ns = ev->ts_ns;
}

static bool is_dirty(const struct sched_stats *s, uint32_t thread)
{
	const struct name_thread *t = names_thread(s->stream->names, thread);

	return t && (t->type == THREAD_DIRTY_CPU || t->type == THREAD_DIRTY_IO);
}

/* True for a slice that began before anything was watched: no process_scheduled has its time. */
static bool is_unseen(struct sched_stats *s, const struct sched_long *l)
{
	const struct name_process *np = names_process(s->stream->names, l->process);
	const struct sched_process *p = np ? keytab_find(&s->processes, np->epid) : NULL;

	return l->cut && !(p && p->state == RUNNING && p->since_ns < l->ts_ns - l->ns / 2);
}

/* Counts a long slice; what of it was before the interval belongs to earlier intervals. */
static void count_long(struct sched_stats *s, const struct sched_long *l)
{
	struct sched_count *both[] = {&s->total, &s->total};
	uint64_t ns = MIN(l->ns, l->ts_ns - MIN(l->ts_ns, s->interval_ns));
	bool dirty = is_dirty(s, l->thread), unseen = is_unseen(s, l);

	if (!l->process)
		return; /* of a port */
	both[0] = count_of(s, l->process);
	for (int i = 0; i < 2; i++) {
		both[i]->all_long.nr++;
		add_part(&both[i]->all_long, ns, dirty);
		if (unseen) {
			both[i]->time_ns += ns;
			both[i]->dirty_ns += dirty ? ns : 0;
			both[i]->unseen_ns += ns;
			add_part(&both[i]->seen_long, ns, dirty);
		}
		take_longest(both[i], l->ns, l->cut);
	}
}

/* True if the begin or end of a long slice was not seen: of a whole one samples report the error,
 * and probes the reductions. */
static bool is_cut(const struct event *ev)
{
	return event_value(ev, EVENT_AT(LONG_SCHEDULE, ERROR)) == EVENT_UNKNOWN &&
	       event_value(ev, EVENT_AT(LONG_SCHEDULE, REDUCTIONS)) == EVENT_UNKNOWN;
}

static void was_long(struct sched_stats *s, const struct event *ev)
{
	struct sched_long new = {
		.ts_ns = ev->ts_ns,
		.ns = event_value(ev, EVENT_AT(LONG_SCHEDULE, DURATION)),
		.cut = is_cut(ev),
		.reductions = event_value(ev, EVENT_AT(LONG_SCHEDULE, REDUCTIONS)),
		.process = ev->u.vm.process,
		.thread = ev->u.vm.thread,
		.stack = ev->u.vm.stack,
		.entry = event_value_id(ev, EVENT_AT(LONG_SCHEDULE, ENTRY)),
		.port = event_value_id(ev, EVENT_AT(LONG_SCHEDULE, PORT)),
		.driver = event_value_id(ev, EVENT_AT(LONG_SCHEDULE, DRIVER)),
		.port_name = event_value_id(ev, EVENT_AT(LONG_SCHEDULE, NAME)),
	};
	unsigned int at = MIN(s->nr_longest, SCHED_STATS_LONGEST - 1);

	if (new.ns > new.ts_ns ||
	    coverage_gap(&s->stream->coverage, EVENT_LONG_SCHEDULE, new.ts_ns - new.ns))
		return;
	s->nr_long++;
	count_long(s, &new);
	if (s->nr_longest == SCHED_STATS_LONGEST && s->longest[at].ns >= new.ns)
		return;
	for (; at > 0 && s->longest[at - 1].ns < new.ns; at--)
		s->longest[at] = s->longest[at - 1];
	s->longest[at] = new;
	s->nr_longest += s->nr_longest < SCHED_STATS_LONGEST;
}

/* ---- interface ------------------------------------------------------------------------------- */

void sched_stats_open(struct sched_stats *s, struct event_stream *stream, enum process_group_by by,
		      uint32_t max_groups, uint32_t max_processes, uint64_t start_ns)
{
	memset(s, 0, sizeof(*s));
	s->stream = stream;
	s->processes = (struct keytab)KEYTAB_INIT(struct sched_process);
	s->max_processes = max_processes ? max_processes : SCHED_STATS_PROCESSES;
	s->start_ns = s->interval_ns = start_ns;
	process_groups_open(&s->groups, stream->names, by, max_groups);
}

void sched_stats_close(struct sched_stats *s)
{
	process_groups_close(&s->groups);
	vec_free(&s->counts);
	vec_free(&s->cpus);
	vec_free(&s->cpu_of);
	keytab_free(&s->processes);
}

static enum event_word word_at(const struct sched_stats *s, const struct event *ev,
			       unsigned int field)
{
	return event_stream_word(s->stream, event_value_id(ev, field));
}

void sched_stats_take(struct sched_stats *s, enum event_kind kind, const struct event *ev)
{
	struct sched_cpu *cpu;

	if (kind == EVENT_PROCESS_SCHEDULED) {
		is_scheduled(s, ev, word_at(s, ev, EVENT_AT(PROCESS_SCHEDULED, TYPE)),
			     word_at(s, ev, EVENT_AT(PROCESS_SCHEDULED, STATUS)));
	} else if (kind == EVENT_PROCESS_RUNNABLE) {
		is_runnable(s, ev);
	} else if (kind == EVENT_SCHEDULER_ACTIVE) {
		cpu = cpu_of(s, ev->u.vm.thread);
		if (cpu)
			clock_set(s, &cpu->active, kind,
				  word_at(s, ev, EVENT_AT(SCHEDULER_ACTIVE, STATE)) ==
					  EVENT_WORD_ACTIVE,
				  ev->ts_ns);
	} else if (kind == EVENT_LONG_SCHEDULE) {
		was_long(s, ev);
	}
}

/* A scheduler without events so far: it is still in its first state. */
static void clock_of_silent(const struct sched_stats *s, const struct sched_cpu *cpu,
			    struct sched_clock *c, enum event_kind kind)
{
	if (c->state != SCHED_UNKNOWN || cpu->began == SCHED_BEGAN_UNKNOWN ||
	    !(s->stream->watched >> kind & 1))
		return;
	clock_begin(s, c, kind, s->start_ns);
	c->last = MIN(c->last, s->start_ns); /* first state holds from the beginning on */
	c->state = cpu->began == SCHED_BEGAN_BUSY ? SCHED_ON : SCHED_OFF;
}

void sched_stats_advance(struct sched_stats *s, uint64_t end_ns, bool last)
{
	s->advanced_ns = end_ns;
	for (size_t i = 0; i < s->cpus.len; i++) {
		struct sched_cpu *cpu = &s->cpus.data[i];

		clock_of_silent(s, cpu, &cpu->active, EVENT_SCHEDULER_ACTIVE);
		clock_of_silent(s, cpu, &cpu->busy, EVENT_PROCESS_SCHEDULED);
		clock_advance(s, &cpu->active, EVENT_SCHEDULER_ACTIVE, end_ns);
		clock_advance(s, &cpu->busy, EVENT_PROCESS_SCHEDULED, end_ns);
	}
	for (struct sched_process *p = NULL; (p = keytab_next(&s->processes, p));) {
		if (p->state == RUNNING && !is_gap(s, p->since_ns) && end_ns > p->counted_ns)
			count_time(s, p, end_ns, last);
	}
}

void sched_stats_restart(struct sched_stats *s)
{
	const struct process_groups g = s->groups;
	uint64_t lost = s->stream->counters[COUNTER_EVENTS_LOST];

	purge(s, lost != s->lost);
	s->lost = lost;
	s->interval_ns = s->advanced_ns;
	process_groups_close(&s->groups);
	process_groups_open(&s->groups, g.names, g.by, g.max);
	s->counts.len = 0;
	memset(&s->total, 0, sizeof(s->total));
	memset(s->left, 0, sizeof(s->left));
	memset(&s->slices, 0, sizeof(s->slices));
	memset(&s->dirty_slices, 0, sizeof(s->dirty_slices));
	memset(&s->run_queue, 0, sizeof(s->run_queue));
	memset(&s->dirty_run_queue, 0, sizeof(s->dirty_run_queue));
	memset(&s->reductions, 0, sizeof(s->reductions));
	s->unknown_waits = s->untracked = s->nr_long = 0;
	s->nr_longest = 0;
	for (size_t i = 0; i < s->cpus.len; i++) {
		struct sched_cpu *cpu = &s->cpus.data[i];

		cpu->slices = 0;
		cpu->use = (struct sched_use){0};
		cpu->active.on_ns = cpu->active.known_ns = 0;
		cpu->busy.on_ns = cpu->busy.known_ns = 0;
	}
}

struct sched_part sched_count_seen(const struct sched_count *c, bool joined)
{
	struct sched_part part = {c->slices, c->time_ns, c->dirty_ns};

	if (joined) {
		part.nr -= c->seen_long.nr;
		part.ns -= c->seen_long.ns;
		part.dirty_ns -= c->seen_long.dirty_ns;
	}
	return part;
}
