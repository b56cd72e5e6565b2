/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: what uses CPUs, and waits for locks of the VM.  See diagnosis_internal.h. */
#include "model/diagnosis/diagnosis_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* ---- rules: CPU ------------------------------------------------------------------------------ */

#define WAITED_LEAST 0.1 /* cores */

void rule_host_cpu(struct making *m)
{
	const struct diagnosis *d = m->d;
	double waited = d->cpu_used * d->cpu_wait / (1 - MIN(d->cpu_wait, 0.999)); /* cores */
	struct finding *f;

	if (d->throttled >= 0.1) {
		f = finding_begin(
			m, "cpu_throttled", 55 + 25 * d->throttled, FINDING_CERTAIN,
			"the node's CPU is limited by its cgroup, and the limit is reached");
		finding_evidence(f,
				 "the cgroup was throttled in %.0f%% of its CPU periods (cpu.max, "
				 "cpu.cfs_quota_us)",
				 100 * d->throttled);
		finding_command(f, "sched --now");
	}
	/* Throttled threads count as waiting for a CPU, too. */
	if (!(d->cpu_wait >= 0.25) || d->stopped || d->throttled >= 0.1)
		return;
	/* Waiting for a CPU does not slow down a node that needs next to none: a note.  What is
	 * of the node itself comes before it. */
	f = finding_begin(m, "cpu_short", waited < WAITED_LEAST ? 4 : 40 + d->cpu_wait,
			  FINDING_CERTAIN, "the host is short of CPU: schedulers wait for one");
	finding_evidence(f,
			 "scheduler threads had no CPU for %.0f%% of the time in which they wanted "
			 "one; they used %.2g cores, and waited for %.2g more",
			 100 * d->cpu_wait, d->cpu_used, waited);
	for (size_t i = 0; i < d->cpu_users.len; i++)
		finding_evidence(f, "another process uses CPU: %s", d->cpu_users.data[i]);
	if (d->nr_cpus && d->other_cpu >= 0.05)
		finding_evidence(
			f,
			"other processes, also those that have exited, and interrupts used "
			"%.1f cores",
			d->other_cpu);
	if (d->nr_cpus)
		finding_evidence(f, "the host has %u CPUs, of which %.1f were used", d->nr_cpus,
				 d->host_cpu);
	if (d->nr_cpus && d->stolen_cpu >= 0.05)
		finding_evidence(
			f, "the hypervisor gave %.1f of these to other virtual machines (steal)",
			d->stolen_cpu);
	finding_command(f, "sched --now -d 5");
}

void rule_run_queues(struct making *m)
{
	double q = m->d->run_queue;
	struct finding *f;

	if (!(q >= 3) || m->d->stopped)
		return;
	f = finding_begin(m, "run_queues", q >= 10 ? MIN(44 + 8 * log10(q / 10), 60.0) : 30,
			  FINDING_CERTAIN, "more processes want to run than there are schedulers");
	finding_evidence(f, "%.1f processes waited for each scheduler, on average", q);
	finding_command(f, "record -d 10");
	finding_command(f, "sched -d 10");
}

static bool keeps_busy(const struct diagnosis *d, const struct diagnosed_busy *b)
{
	return d->scheduler_samples >= 50 && b->samples >= 0.8 * d->scheduler_samples;
}

/* rule_long_slices() reports it, with what it is in. */
static bool is_on_stuck_scheduler(const struct diagnosis *d, const struct diagnosed_process *p)
{
	for (size_t i = 0; p && i < d->schedulers.len; i++) {
		const struct diagnosed_scheduler *s = &d->schedulers.data[i];

		if (s->pid && diagnosed_is_stuck(d, s) &&
		    strncmp(s->pid, p->pid, strlen(p->pid)) == 0)
			return true;
	}
	return false;
}

/* A note: that a process uses CPU is no fault, but users ask first which one does. */
void rule_busiest(struct making *m)
{
	const struct diagnosis *d = m->d;
	const struct diagnosed_busy *most = d->busy.data;
	struct finding *f;
	char *who;

	if (!d->busy.len || !keeps_busy(d, most) || d->stopped ||
	    is_on_stuck_scheduler(d, diagnosed_at(d, most->process)))
		return;
	who = finding_process_text(diagnosed_at(d, most->process));
	f = finding_begin(m, "busiest_process", 12, FINDING_CERTAIN,
			  "%s keeps one scheduler busy for %.0f%% of the time", who,
			  100.0 * most->samples / d->scheduler_samples);
	finding_evidence(f, "it ran in %u of %u samples of the schedulers", most->samples,
			 d->scheduler_samples);
	finding_report_process(m, f, diagnosed_at(d, most->process));
	free(who);
	for (size_t i = 1; i < d->busy.len && keeps_busy(d, &d->busy.data[i]); i++) {
		who = finding_process_text(diagnosed_at(d, d->busy.data[i].process));
		finding_evidence(f, "so does %s, in %u of these samples", who,
				 d->busy.data[i].samples);
		free(who);
	}
	finding_command(f, "record -d 10");
}

#define GC_SCHEDULERS 0.25 /* mean number that collects; if less, the finding is a note */

#define STANDS_STILL                                                                               \
	0.2 /* share of the time in which a process is collected that is worth a warning */

/* Processes for which others wait, and that are collected for much of the time. */
static void servers_collect(struct making *m)
{
	const struct diagnosis *d = m->d;

	for (size_t i = 0; i < d->collecting.len && d->scheduler_samples >= 50; i++) {
		const struct diagnosed_process *p = diagnosed_at(d, d->collecting.data[i].process);
		double share = (double)d->collecting.data[i].samples / d->scheduler_samples;
		struct texts t = {.nr = 0};
		struct finding *f;
		char *who;

		if (!p || !p->waiting || share < STANDS_STILL)
			continue;
		who = finding_process_text(p);
		f = finding_begin(
			m, "server_collects", 46 + 20 * share, FINDING_LIKELY,
			"%s, for which %s process%s wait%s, is collected for %.0f%% of the "
			"time",
			who, text_count(&t, p->waiting), p->waiting == 1 ? "" : "es",
			p->waiting == 1 ? "s" : "", 100 * share);
		free(who);
		if (p->heap_last)
			finding_evidence(f, "its heap has %s",
					 text_bytes(&t, (double)p->heap_last));
		finding_evidence(f,
				 "in %u of %u samples; it stands still meanwhile, and those that "
				 "wait for it do, too",
				 d->collecting.data[i].samples, d->scheduler_samples);
		finding_command(f, "gc --by function -d 10");
		finding_command(f, "inspect '%s' --heap", p->pid);
	}
}

void rule_gc(struct making *m)
{
	const struct diagnosis *d = m->d;
	double share = d->nr_running ? (double)d->nr_gc / d->nr_running : 0;
	double collecting =
		d->scheduler_samples ? (double)d->nr_gc / d->scheduler_samples : 0; /* schedulers */
	bool much = share >= 0.3 && collecting >= GC_SCHEDULERS;
	struct finding *f;

	if (d->stopped)
		return;
	servers_collect(m);
	/* Too few samples of work for a share. */
	if (d->nr_running < 50 || share < 0.1)
		return;
	f = finding_begin(m, "gc", much ? 42 + 50 * share : 25, FINDING_LIKELY,
			  "%.0f%% of the work of schedulers is garbage collection", 100 * share);
	finding_evidence(
		f,
		"in %u of %u samples of a scheduler with a process, the process was collecting: on "
		"average that takes %.0f%% of one scheduler",
		d->nr_gc, d->nr_running, 100 * collecting);
	for (size_t i = 0; i < MIN(d->collecting.len, (size_t)FINDING_NAMES_SHOWN); i++) {
		const struct diagnosed_process *p = diagnosed_at(d, d->collecting.data[i].process);
		struct texts t = {.nr = 0};
		char *who = finding_process_text(p);

		if (p && p->heap_last)
			finding_evidence(f, "%s collects, with a heap of %s", who,
					 text_bytes(&t, (double)p->heap_last));
		free(who);
	}
	finding_command(f, "gc --by function -d 10");
}

bool diagnosis_locks_are_contended(const struct diagnosis *d)
{
	double share = d->nr_running ? (double)d->nr_blocked / d->nr_running : 0;

	return d->nr_running >= 50 && share >= 0.15 && d->nr_blocked_schedulers >= 2 && !d->stopped;
}

void rule_locks(struct making *m)
{
	const struct diagnosis *d = m->d;
	double share = d->nr_running ? (double)d->nr_blocked / d->nr_running : 0;
	struct finding *f;

	if (!diagnosis_locks_are_contended(d))
		return;
	f = finding_begin(m, "lock_contention", MIN(38 + 50 * share, 79.0), FINDING_LIKELY,
			  "schedulers wait for locks of the VM");
	finding_evidence(
		f,
		"in %u of %u samples of a scheduler with a process, its thread slept in futex(2)",
		d->nr_blocked, d->nr_running);
	for (size_t i = 0; i < MIN(d->blocked_in.len, (size_t)FINDING_NAMES_SHOWN); i++)
		finding_evidence(f, "%u of these samples were in %s", d->blocked_in.data[i].nr,
				 d->blocked_in.data[i].name);
	for (size_t i = 0; i < MIN(d->blocked_on.len, (size_t)FINDING_NAMES_SHOWN); i++)
		finding_evidence(f, "%u of them used the ETS table %s%s", d->blocked_on.data[i].nr,
				 d->blocked_on.data[i].table,
				 d->blocked_on.data[i].write_concurrency
					 ? ""
					 : ", which has no write_concurrency");
	if (d->blocked_on.len && 2 * d->blocked_on.data[0].nr >= d->nr_blocked)
		strbuf_addf(&f->title, ", most for the ETS table %s", d->blocked_on.data[0].table);
	finding_command(f, "locks -d 10");
	if (d->blocked_on.len && !strchr(d->blocked_on.data[0].table, '\''))
		finding_command(f, "ets '%s'", d->blocked_on.data[0].table);
	else
		finding_command(f, "ets");
}

void rule_literals(struct making *m)
{
	struct finding *f;

	if (!(m->d->literal_collector >= 0.3) || m->d->samples < 4 || m->d->stopped)
		return;
	f = finding_begin(m, "literal_collection", 45 + 25 * m->d->literal_collector,
			  FINDING_LIKELY, "literals are collected all the time");
	finding_evidence(f, "the literal area collector had work in %.0f%% of %u samples",
			 100 * m->d->literal_collector, m->d->samples);
	finding_evidence(
		f, "each persistent_term:put/2 or erase/1 that replaces or removes a term, and "
		   "each purge of a module, makes the VM scan all processes");
	finding_command(f, "gc -d 10");
	finding_command(f, "trace 'persistent_term:put/2 -> stack' -d 10 -n 5");
}

void rule_spawns(struct making *m)
{
	struct texts t = {.nr = 0};
	struct finding *f;

	if (!(m->d->spawned_per_s >= 5000))
		return;
	f = finding_begin(m, "spawns", 28, FINDING_POSSIBLE,
			  "up to about %s processes are spawned per second",
			  text_count(&t, m->d->spawned_per_s));
	finding_evidence(f, "estimated from the numbers of new pids, which the node gives out in "
			    "order. After as many spawns as its limit of processes it reuses "
			    "them in the order of exits: the estimate may be too high then");
	finding_command(f, "proc -d 10");
}
