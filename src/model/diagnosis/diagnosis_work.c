/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: what waits, and what runs.  See diagnosis_internal.h. */
#include "model/diagnosis/diagnosis_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* So many timers that are overdue are critical. */
#define OVERDUE_CRITICAL 10u

/* ---- rules: nothing moves -------------------------------------------------------------------- */

void rule_stopped(struct making *m)
{
	struct finding *f;

	if (!m->d->stopped)
		return;
	f = finding_begin(m, "stopped", 100, FINDING_CERTAIN,
			  "the node is stopped by a signal or a debugger");
	finding_evidence(
		f,
		"its OS process is in state T (stopped) or t (traced): nothing in it runs until it "
		"gets SIGCONT, or until the debugger detaches");
	finding_command(f, "sched --now");
}

void rule_multi_scheduling(struct making *m)
{
	const struct diagnosis *d = m->d;
	struct finding *f;

	if (!d->nr_msched_blocked)
		return;
	f = finding_begin(m, "multi_scheduling_blocked",
			  d->nr_msched_blocked == d->samples ? 90 : 60, FINDING_CERTAIN,
			  "multi-scheduling is blocked by %s",
			  d->msched_blocker ? d->msched_blocker : "a process");
	finding_evidence(f, "seen in %u of %u samples; meanwhile only scheduler 1 runs processes%s",
			 d->nr_msched_blocked, d->samples,
			 d->dirty_blocked ? "" : ", beside the dirty schedulers");
	finding_evidence(f,
			 "it ends when the process calls erlang:system_flag(multi_scheduling, %s) "
			 "or exits",
			 d->dirty_blocked ? "unblock" : "unblock_normal");
	finding_command(f, "sched --now");
	finding_command(f, "gc");
}

void rule_deadlock(struct making *m)
{
	for (size_t i = 0; i < m->d->circles.len; i++) {
		const struct diagnosed_path *c = &m->d->circles.data[i];
		struct finding *f = finding_begin(
			m, "deadlock", 95, FINDING_CERTAIN, "%s",
			c->total == 1 ? "deadlock: a process waits for itself" : "deadlock");

		if (c->total > 1)
			strbuf_addf(&f->title, " of %" PRIu32 " processes", c->total);
		for (uint32_t k = 0; k < MIN(c->nr, 2 * FINDING_NAMES_SHOWN); k++) {
			const struct diagnosed_process *p = diagnosed_at(m->d, c->processes[k]);
			char *from = finding_process_text(p);
			bool shown = k + 1 < c->nr || c->nr == c->total;
			char *to = finding_process_text(
				shown ? diagnosed_at(m->d, c->processes[(k + 1) % c->nr]) : NULL);

			finding_evidence(f, "%s waits for the answer of %s%s%s", from, to,
					 p && p->function ? ", in " : "",
					 p && p->function ? p->function : "");
			free(from);
			free(to);
		}
		finding_evidence(f, "if these calls have no timeout (infinity), they never end");
		if (i + 1 == m->d->circles.len && m->d->nr_circles > m->d->circles.len)
			finding_evidence(f, "there are %zu more deadlocks",
					 m->d->nr_circles - m->d->circles.len);
		finding_command(f, "dump --waits");
	}
}

static bool is_long(const struct diagnosed_scheduler *s)
{
	return !s->dirty && s->longest_ns >= 100000000;
}

/* Time for which the slice kept its scheduler from other processes. */
static uint64_t kept_ns(const struct diagnosed_scheduler *s)
{
	return s->longest_ns + s->waited_ns;
}

bool diagnosed_is_stuck(const struct diagnosis *d, const struct diagnosed_scheduler *s)
{
	return is_long(s) && s->lasts && 10 * kept_ns(s) >= 8 * d->duration_ns;
}

/* True if the slice waits for a contended lock: rule_locks() reports that. */
static bool is_reported_by_locks(const struct diagnosis *d, const struct diagnosed_scheduler *s)
{
	return diagnosis_locks_are_contended(d) && s->syscall && strcmp(s->syscall, "futex") == 0 &&
	       !s->lock;
}

/* The end of a slice that lasts, and maybe its begin, was not seen. */
static const char *at_least(const struct diagnosed_scheduler *s)
{
	return s->lasts ? "at least " : "";
}

/* For whom a slice waits, as far as the lock of the C library tells. */
static void report_lock(struct finding *f, const struct diagnosis *d,
			const struct diagnosed_scheduler *s)
{
	const struct diagnosed_scheduler *by =
		s->lock_owner ? &d->schedulers.data[s->lock_owner - 1] : NULL;
	bool both =
		by && by->lock && by->lock_owner && &d->schedulers.data[by->lock_owner - 1] == s;

	if (by == s)
		finding_evidence(f, "its thread waits for a %s of C code that it has itself",
				 s->lock);
	else if (by)
		finding_evidence(
			f, "its thread waits for a %s of C code held by %s scheduler %u%s%s%s",
			s->lock, by->type, by->number, by->pid ? ", which runs " : "",
			by->pid ? by->pid : "", both ? " and waits for this one: a deadlock" : "");
	else if (s->lock_thread)
		finding_evidence(f, "its thread waits for a %s of C code held by the thread %s",
				 s->lock, s->lock_thread);
	else
		finding_evidence(f, "its thread waits for a %s of C code%s", s->lock,
				 s->lock_orphaned ? " that another thread had when that ended"
						  : "");
}

static void report_slice(struct finding *f, const struct diagnosis *d,
			 const struct diagnosed_scheduler *s)
{
	bool is_short = 10 * s->waited_ns > kept_ns(s);
	struct texts t = {.nr = 0};

	finding_evidence(
		f, "%s scheduler %u ran %s for %s%s%s%s%s%s%s%s%s%s", s->type, s->number,
		s->pid ? s->pid : "a process", at_least(s), text_time(&t, (double)kept_ns(s)),
		is_short ? " (its thread waited for a CPU for " : "",
		is_short ? text_time(&t, (double)s->waited_ns) : "", is_short ? " of it)" : "",
		s->lasts ? ", and still does" : "", s->function ? ", in " : "",
		s->function ? s->function : "", s->syscall ? ", blocked in the system call " : "",
		s->syscall ? s->syscall : "");
	if (s->lock)
		report_lock(f, d, s);
	if (!s->dirty && s->queue)
		finding_evidence(f, "%" PRIu64 " process%s waited in its run queue meanwhile",
				 s->queue, s->queue == 1 ? "" : "es");
}

/* "all 2 dirty CPU schedulers are taken", "the only scheduler is stuck" */
static void title_of_all(struct finding *f, unsigned int nr, const char *type, const char *what)
{
	const char *space = *type ? " " : "";

	if (nr == 1)
		strbuf_addf(&f->title, "the only %s%sscheduler is %s", type, space, what);
	else
		strbuf_addf(&f->title, "all %u %s%sschedulers are %s", nr, type, space, what);
}

/* Erlang code gives its scheduler back after 4000 reductions, some 1 ms. */
void rule_long_slices(struct making *m)
{
	const struct diagnosed_scheduler *longest = NULL;
	unsigned int nr_normal = 0, nr_stuck = 0;
	struct texts t = {.nr = 0};
	struct finding *f;
	bool all, lasts = false;

	for (size_t i = 0; i < m->d->schedulers.len; i++) {
		const struct diagnosed_scheduler *s = &m->d->schedulers.data[i];

		nr_normal += !s->dirty && !s->offline;
		nr_stuck += diagnosed_is_stuck(m->d, s);
		lasts |= diagnosed_is_stuck(m->d, s);
		if (is_long(s) && !is_reported_by_locks(m->d, s) &&
		    (!longest || kept_ns(s) > kept_ns(longest)))
			longest = s;
	}
	all = nr_stuck && nr_stuck == nr_normal;
	if ((!longest && !all) || m->d->stopped)
		return;
	if (all) {
		f = finding_begin(m, "schedulers_stuck", 97, FINDING_CERTAIN, "%s", "");
		title_of_all(f, nr_normal, "", "stuck: no other process runs");
	} else
		f = finding_begin(m, "long_slices",
				  MIN(45 + 20 * log10((double)longest->longest_ns / 1e8), 78.0) +
					  (diagnosed_is_stuck(m->d, longest) ? 8 : 0),
				  FINDING_CERTAIN,
				  "a process kept a scheduler for %s%s without yielding",
				  at_least(longest), text_time(&t, (double)kept_ns(longest)));
	for (size_t i = 0; i < m->d->schedulers.len; i++) {
		const struct diagnosed_scheduler *s = &m->d->schedulers.data[i];

		if (is_long(s) && (all || !is_reported_by_locks(m->d, s)) &&
		    f->evidence.len < FINDING_NAMES_SHOWN)
			report_slice(f, m->d, s);
	}
	finding_evidence(
		f, "a NIF or BIF that does not yield keeps all other processes of that scheduler "
		   "waiting, and may keep the whole VM from thread progress");
	finding_command(f, "sched --now");
	/* A slice that does not end makes no event; samples show what it spends its time in. */
	if (lasts)
		finding_command(f, "record -d 3 -f text");
	else
		finding_command(f, "events -e long_schedule --longer-than 20ms --stack -d 10");
}

/* A timer goes off when its scheduler comes to handle its timers: one that is stuck does not. */
void rule_overdue(struct making *m)
{
	const struct diagnosis *d = m->d;
	double weight = d->nr_overdue >= OVERDUE_CRITICAL ? 88 : 66;
	struct texts t = {.nr = 0};
	struct finding *f;

	if (!d->nr_overdue || d->stopped)
		return;
	/* A scheduler that gets no CPU is late, too. */
	if (d->cpu_wait >= 0.25 && d->nr_overdue < OVERDUE_CRITICAL)
		weight = 34;
	f = finding_begin(m, "timers_overdue", weight, FINDING_CERTAIN,
			  "%s%s timer%s overdue: a scheduler does not handle its timers",
			  d->more_overdue ? "at least " : "", text_count(&t, (double)d->nr_overdue),
			  d->nr_overdue == 1 ? " is" : "s are");
	for (size_t i = 0; i < d->overdue.len; i++) {
		const struct diagnosed_process *p = diagnosed_at(d, d->overdue.data[i].process);
		char *who = finding_process_text(p);

		finding_evidence(f, "%s waits%s%s for a time that was over %s ago", who,
				 p && p->function ? " in " : "",
				 p && p->function ? p->function : "",
				 text_time(&t, 1e6 * d->overdue.data[i].late_ms));
		free(who);
	}
	finding_evidence(f,
			 "a timer goes off only when the scheduler on which it was started comes "
			 "to it: whoever waits for one of these waits until then");
	finding_command(f, "sched --now");
	if (d->overdue.len && diagnosed_at(d, d->overdue.data[0].process))
		finding_command(f, "inspect '%s'",
				diagnosed_at(d, d->overdue.data[0].process)->pid);
}

/* All dirty schedulers of one type. */
struct dirty_pool {
	const char *type, *option;
	double queue;
	const uint32_t *samples; /* dirty_cpu_busy or dirty_io_busy of struct diagnosis */
	size_t nr_samples;
};

/* Part of the samples in which `nr` or more of the pool's schedulers were at work. */
static double taken_share(const struct dirty_pool *p, unsigned int nr)
{
	double all = 0, taken = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		all += p->samples[i];
		taken += i >= nr ? p->samples[i] : 0;
	}
	return all > 0 ? taken / all : 0;
}

/* Part of the samples with all of a pool at work that is reported: less may be chance. */
#define POOL_TAKEN_PART 0.4

static double pool_weight(const struct dirty_pool *p, double share)
{
	if (share >= 0.95)
		return p->queue >= 1 ? 72 + MIN(p->queue, 8.0) : 45;
	return p->queue >= 0.5 ? 42 + 25 * share : 28;
}

/* Reports a pool whose schedulers all worked in nearly every sample, or in a good part of them. */
static void find_dirty_pool(struct making *m, const struct dirty_pool *p)
{
	unsigned int nr = 0, seen = 0, busy = 0, shown = 0;
	struct strbuf what = STRBUF_INIT;
	struct finding *f;
	double share;

	for (size_t i = 0; i < m->d->schedulers.len; i++) {
		const struct diagnosed_scheduler *s = &m->d->schedulers.data[i];

		/* A scheduler that never works while processes wait is offline. */
		if (!s->dirty || strcmp(s->type, p->type) != 0 || (!s->nr_busy && p->queue >= 0.5))
			continue;
		nr++;
		seen += s->nr_seen;
		busy += s->nr_busy;
	}
	if (!nr || !seen)
		return;
	share = (double)busy / seen;
	if (share < 0.95)
		share = MIN(taken_share(p, nr), 0.94);
	if (share < POOL_TAKEN_PART)
		return;
	f = finding_begin(m, "dirty_pool_taken", pool_weight(p, share), FINDING_CERTAIN, "%s", "");
	strbuf_addstr(&what, "busy");
	if (share < 0.95)
		strbuf_addf(&what, " for %.0f%% of the time", 100 * share);
	title_of_all(f, nr, p->type, what.buf);
	strbuf_free(&what);
	finding_evidence(
		f,
		"on average each worked in %.0f%% of the samples, and %.1f processes waited "
		"for one",
		100.0 * busy / seen, p->queue);
	for (size_t i = 0; i < m->d->schedulers.len && shown < FINDING_NAMES_SHOWN; i++) {
		const struct diagnosed_scheduler *s = &m->d->schedulers.data[i];

		if (!s->dirty || strcmp(s->type, p->type) != 0 || !s->longest_ns)
			continue;
		report_slice(f, m->d, s);
		shown++;
	}
	finding_evidence(f, "their number is set by erl %s", p->option);
	finding_command(f, "sched --now");
}

void rule_dirty_pools(struct making *m)
{
	if (m->d->stopped)
		return;
	find_dirty_pool(m,
			&(struct dirty_pool){"dirty CPU", "+SDcpu", m->d->dirty_cpu_queue,
					     m->d->dirty_cpu_busy.data, m->d->dirty_cpu_busy.len});
	find_dirty_pool(m, &(struct dirty_pool){"dirty IO", "+SDio", m->d->dirty_io_queue,
						m->d->dirty_io_busy.data, m->d->dirty_io_busy.len});
}

/* ---- rules: who waits for whom --------------------------------------------------------------- */

static void add_rate(struct strbuf *out, double n)
{
	struct texts t = {.nr = 0};

	if (fabs(n) < 9.95)
		strbuf_addf(out, "%.1f", n);
	else
		strbuf_addf(out, "%s%s", n < 0 ? "-" : "", text_count(&t, fabs(n)));
}

/* "20 more per second, give or take 1.3" */
static void report_growth(struct strbuf *out, const struct growth *g)
{
	if (isnan(g->error))
		return;
	add_rate(out, fabs(g->per_s));
	strbuf_addf(out, " %s per second, give or take ", g->per_s < 0 ? "fewer" : "more");
	add_rate(out, g->error);
}

/* For a mailbox that is not reported as growing. */
static const char *trend(const struct growth *g)
{
	if (fabs(g->per_s) <= g->error)
		return "its growth may be chance";
	return g->per_s < 0 ? "it gets shorter" : "it grows at times";
}

/* A mailbox that is always long, and grows by more than chance, however slowly. */
static bool grows_slowly(const struct diagnosed_process *p)
{
	return growth_is_sure(&p->queue_growth) && 2 * p->queue_min >= p->queue_last;
}

void rule_mailboxes(struct making *m)
{
	for (size_t i = 0; i < m->d->processes.len; i++) {
		const struct diagnosed_process *p = &m->d->processes.data[i];
		double grew = (double)p->queue_last - (double)p->queue_first, weight;
		double last = MAX((double)p->queue_last, 1.0);
		bool grows = grew >= 200 && grew >= 0.05 * (double)p->queue_first &&
			     grew >= 40 * diagnosis_seconds(m->d) && p->queue_grew;
		struct strbuf rate = STRBUF_INIT;
		struct texts t = {.nr = 0};
		struct finding *f;
		char *who;

		if (p->queue_last < 1000)
			continue;
		who = finding_process_text(p);
		report_growth(&rate, &p->queue_growth);
		if (grows || grows_slowly(p)) {
			weight = grows ? 62 + 8 * log10(last / 1000)
				       : MIN(36 + 12 * log10(last / 1000), 76.0);
			f = finding_begin(m, "mailbox_grows", MIN(weight, 90.0), FINDING_CERTAIN,
					  "the mailbox of %s has %s messages, and grows", who,
					  text_count(&t, last));
			finding_evidence(f, "from %s to %s in %.1f s: %s%s",
					 text_count(&t, (double)p->queue_first),
					 text_count(&t, last), diagnosis_seconds(m->d),
					 rate.len ? rate.buf
						  : text_count(&t, grew / diagnosis_seconds(m->d)),
					 rate.len ? "" : " more per second");
		} else {
			weight = p->queue_min < p->queue_last / 2 ? 20
								  : 30 + 12 * log10(last / 1000);
			f = finding_begin(m, "mailbox_long", MIN(weight, 70.0), FINDING_CERTAIN,
					  "the mailbox of %s has %s messages", who,
					  text_count(&t, last));
			if (m->d->samples > 1)
				finding_evidence(
					f, "it had %s %.1f s before, and never fewer than %s since",
					text_count(&t, (double)p->queue_first),
					diagnosis_seconds(m->d),
					text_count(&t, (double)p->queue_min));
			if (rate.len && p->queue_growth.per_s != 0)
				finding_evidence(f, "%s: %s", trend(&p->queue_growth), rate.buf);
		}
		strbuf_free(&rate);
		finding_report_process(m, f, p);
		finding_command(f, "inspect '%s' --mailbox", p->pid);
		finding_command(f, "msg --to '%s' -d 10", p->pid);
		free(who);
	}
}

void rule_bottleneck(struct making *m)
{
	for (size_t i = 0; i < m->d->processes.len; i++) {
		const struct diagnosed_process *p = &m->d->processes.data[i];
		bool all_the_time = p->queue_min >= 5;
		double weight = 25;
		struct finding *f;
		char *who;

		if (p->waiting < 10 || (!all_the_time && p->queue_last))
			continue;
		if (all_the_time || p->suspended_by)
			weight = MIN(58 + 10 * log10(p->waiting / 10.0), 79.0);
		who = finding_process_text(p);
		f = finding_begin(m, "bottleneck", weight, FINDING_CERTAIN,
				  "%" PRIu32 " processes wait for the answer of %s", p->waiting,
				  who);
		if (p->behind > p->waiting)
			finding_evidence(f,
					 "with those that wait for these processes, %" PRIu32
					 " wait for it",
					 p->behind);
		if (all_the_time)
			finding_evidence(f,
					 "its mailbox was never shorter than %" PRIu64 " messages",
					 p->queue_min);
		finding_report_process(m, f, p);
		finding_command(f, "dump --waits");
		finding_command(f, "inspect '%s'", p->pid);
		free(who);
	}
}

void rule_connections(struct making *m)
{
	for (size_t i = 0; i < m->d->connections.len; i++) {
		const struct diagnosed_connection *c = &m->d->connections.data[i];
		struct texts t = {.nr = 0};
		struct finding *f;

		if (!c->busy && !c->waiting)
			continue;
		f = finding_begin(m, "busy_connection",
				  !c->always   ? 30
				  : c->waiting ? 75
					       : 50,
				  c->always ? FINDING_CERTAIN : FINDING_POSSIBLE,
				  "the connection to %s is busy", c->name);
		if (c->waiting)
			strbuf_addf(&f->title, ": %" PRIu32 " process%s suspended in a send",
				    c->waiting, c->waiting == 1 ? " is" : "es are");
		finding_evidence(
			f,
			"%s of data wait to be sent; beyond the limit +zdbbl (default: 1 MiB) "
			"senders are suspended",
			text_bytes(&t, (double)c->queue));
		if (!c->always)
			finding_evidence(f, "it was not busy in every sample: the cause may be "
					    "one large message");
		finding_command(f, "dist");
	}
}

void rule_ports(struct making *m)
{
	for (size_t i = 0; i < m->d->ports.len; i++) {
		const struct diagnosed_port *p = &m->d->ports.data[i];
		struct texts t = {.nr = 0};
		struct finding *f;

		if (!p->waiting && !(p->sending && p->always) && (!p->busy || p->queue < MIB))
			continue;
		f = finding_begin(m, "busy_port",
				  !p->always		     ? 30
				  : p->waiting || p->sending ? 64
							     : 42,
				  p->always ? FINDING_CERTAIN : FINDING_POSSIBLE,
				  "port %s (%s) is busy", p->id, p->name ? p->name : "no name");
		finding_evidence(f,
				 "%" PRIu32
				 " process%s suspended because of it; %s of data are in its queue",
				 p->waiting, p->waiting == 1 ? " is" : "es are",
				 text_bytes(&t, (double)p->queue));
		if (p->sending)
			finding_evidence(f,
					 "%" PRIu32 " process%s for its reply that data was sent",
					 p->sending, p->sending == 1 ? " waits" : "es wait");
		if (p->sender)
			finding_evidence(f, "the first of these processes is %s", p->sender);
		if (!p->always)
			finding_evidence(f, "it was not busy in every sample");
		if (p->owner)
			finding_evidence(f, "its owner is %s", p->owner);
		finding_evidence(
			f, "the program or socket at its other end reads slowly, or not at all");
		finding_command(f, "port");
	}
}

/* Fewer restarts may be processes that the node starts regularly for a job. */
#define RESTARTS_PER_S 0.1

void rule_restarts(struct making *m)
{
	for (size_t i = 0; i < m->d->restarts.len; i++) {
		const struct diagnosed_restart *r = &m->d->restarts.data[i];
		struct finding *f;

		if (r->times < 2 || r->times < RESTARTS_PER_S * diagnosis_seconds(m->d))
			continue;
		f = finding_begin(m, "restart_loop", MIN(70 + 2 * log2(r->times), 79.0),
				  r->name ? FINDING_LIKELY : FINDING_CERTAIN,
				  r->name ? "%s is started again and again"
					  : "a child of %s is started again and again",
				  r->name ? r->name : r->parent);
		if (r->name)
			finding_evidence(f,
					 "the name was registered for %" PRIu32
					 " other processes, one after the other, in %.1f s "
					 "(%u samples)",
					 r->times, diagnosis_seconds(m->d), m->d->samples);
		else
			finding_evidence(f,
					 "the supervisor counted at least %" PRIu32
					 " restarts of children in %.1f s",
					 r->times, diagnosis_seconds(m->d));
		if (r->child)
			finding_evidence(f, "the newest process: %s", r->child);
		if (r->name && r->parent)
			finding_evidence(f, "%s starts these processes", r->parent);
		finding_command(f, "proc -d 10");
		finding_command(f, "events -e process_exit -d 10");
	}
}

void rule_few_samples(struct making *m)
{
	struct finding *f;

	if (!m->d->duration_ns || m->d->samples >= SAMPLES_LEAST)
		return;
	f = finding_begin(m, "few_samples", 5, FINDING_CERTAIN,
			  "too few samples to see what grows");
	finding_evidence(
		f,
		"%u samples in %.1f s, as each takes long on a node of this size: choose a "
		"longer -d",
		m->d->samples, diagnosis_seconds(m->d));
	finding_command(f, "diagnose -d 30");
}
