/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the totals of the node into the frame; see top.h. */
#include "cmd/top/top.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/facts.h"
#include "beam/vm/memory.h"
#include "target/proc.h"

/* VM_UNKNOWN, MEMORY_UNKNOWN and TOP_UNKNOWN are the same number. */
_Static_assert(VM_UNKNOWN == TOP_UNKNOWN && MEMORY_UNKNOWN == TOP_UNKNOWN, "unknown is unknown");
/* take_queues() copies queue types as numbers. */
_Static_assert((int)TOP_QUEUE_NORMAL == (int)VM_QUEUE_NORMAL &&
		       (int)TOP_QUEUE_DIRTY_CPU == (int)VM_QUEUE_DIRTY_CPU &&
		       (int)TOP_QUEUE_DIRTY_IO == (int)VM_QUEUE_DIRTY_IO,
	       "the same queues");

/* With more atoms, memory is not read for the first frame; see memory_can_wait(). */
#define ATOMS_AT_ONCE 100000

static void take_limits(struct top_totals *to, const struct vm_totals *from)
{
	static const struct {
		enum vm_total count, limit;
	} of[NR_TOP_LIMITS] = {
		[TOP_LIMIT_PROCESSES] = {VM_PROCESS_COUNT, VM_PROCESS_LIMIT},
		[TOP_LIMIT_PORTS] = {VM_PORT_COUNT, VM_PORT_LIMIT},
		[TOP_LIMIT_ATOMS] = {VM_ATOM_COUNT, VM_ATOM_LIMIT},
		[TOP_LIMIT_ETS] = {VM_ETS_COUNT, VM_ETS_LIMIT},
	};

	for (int i = 0; i < NR_TOP_LIMITS; i++) {
		to->limits[i].count = from->value[of[i].count];
		to->limits[i].limit = from->value[of[i].limit];
	}
}

static void take_counters(struct top_totals *to, const struct vm_totals *from)
{
	uint64_t words = from->value[VM_GC_WORDS];

	to->counters[TOP_RATE_REDUCTIONS] = from->value[VM_REDUCTIONS];
	to->counters[TOP_RATE_CONTEXT_SWITCHES] = from->value[VM_CONTEXT_SWITCHES];
	to->counters[TOP_RATE_GCS] = from->value[VM_GC_COUNT];
	to->counters[TOP_RATE_GC_BYTES] = words == VM_UNKNOWN ? TOP_UNKNOWN : 8 * words;
	to->counters[TOP_RATE_PORT_IN] = from->value[VM_INPUT];
	to->counters[TOP_RATE_PORT_OUT] = from->value[VM_OUTPUT];
}

static void take_queues(struct top_totals *to, const struct vm_totals *from)
{
	to->queues = xrealloc(to->queues, MAX(from->queues.len, 1u) * sizeof(*to->queues));
	to->nr_queues = (uint32_t)from->queues.len;
	for (size_t i = 0; i < from->queues.len; i++) {
		const struct vm_queue *q = &from->queues.data[i];

		to->queues[i] = (struct top_queue_totals){
			.queue = (enum top_queue)q->type,
			.number = q->scheduler,
			.length = q->length,
			.reductions = q->reductions,
			.context_switches = q->context_switches,
			.gcs = q->gcs,
		};
	}
}

static void take_memory(struct top_totals *to, const struct memory *m)
{
	to->memory[TOP_MEMORY_TOTAL] = m->total;
	to->memory[TOP_MEMORY_PROCESSES] = m->processes;
	to->memory[TOP_MEMORY_SYSTEM] = m->system;
	to->memory[TOP_MEMORY_ATOM] = m->atom;
	to->memory[TOP_MEMORY_BINARY] = m->binary;
	to->memory[TOP_MEMORY_CODE] = m->code;
	to->memory[TOP_MEMORY_ETS] = m->ets;
}

static void read_memory(struct top *t)
{
	struct allocators allocators = {0};
	struct error ignored = {0};
	struct memory m;

	if (!t->node->anchors.allocators || allocators_read(&allocators, t->node, &ignored) != 0)
		return;
	if (memory_read(&m, t->node, &allocators, &ignored) == 0)
		take_memory(&t->now, &m);
	allocators_free(&allocators);
}

/*
 * The first reading of memory reads the text of each atom (half a microsecond each), later ones
 * only of new atoms.  So the first frame on a terminal is shown without memory if there are many.
 */
static bool memory_can_wait(const struct top *t)
{
	uint64_t atoms = t->now.limits[TOP_LIMIT_ATOMS].count;

	return !t->read_ns && t->processes.yield && atoms != TOP_UNKNOWN && atoms > ATOMS_AT_ONCE;
}

/* CPU time, memory and state of the node's OS process, from the kernel. */
static void read_system(struct top *t)
{
	struct error ignored = {0};
	struct proc_stat stat;
	struct timespec cpu;
	clockid_t clock;

	t->now.os_ns = clock_monotonic_ns();
	if (clock_getcpuclockid(t->node->os_pid, &clock) == 0 && clock_gettime(clock, &cpu) == 0)
		t->now.os_cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	if (proc_stat_read(&stat, t->node->os_pid, &ignored) == 0) {
		t->now.os_rss = stat.rss;
		t->frame.state = proc_stat_stopped(&stat) ? TOP_STOPPED : TOP_RUNNING;
	}
}

static void read_own(struct top *t)
{
	uint64_t now = clock_monotonic_ns();
	struct error ignored = {0};
	struct proc_stat stat;
	struct timespec cpu = {0};
	uint64_t ns;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	t->frame.own_cpu =
		t->read_ns ? 100.0 * (double)(ns - t->own_cpu_ns) / (double)(now - t->own_ns) : NAN;
	t->own_cpu_ns = ns;
	t->own_ns = now;
	if (proc_stat_read(&stat, getpid(), &ignored) == 0)
		t->frame.own_rss = stat.rss;
}

/* Read in each step, as a node may get its name (net_kernel:start/1) meanwhile. */
static void read_name(struct top *t)
{
	struct beam_facts facts;
	struct error ignored = {0};
	struct top_node *n = &t->frame.node;

	if (beam_node_facts(t->node, &facts, &ignored) != 0)
		return;
	snprintf(n->name, sizeof(n->name), "%s", facts.name);
	n->uptime_s = facts.has_uptime ? facts.uptime_s : TOP_UNKNOWN;
}

static void set_schedulers(struct top *t)
{
	const struct beam_anchors *a = &t->node->anchors;

	top_frame_set_schedulers(&t->frame, a->nr_sched, a->nr_dirty_cpu, a->nr_dirty_io);
}

static bool is_offline(const struct top *t, const struct sched_one *one)
{
	for (size_t i = 0; i < t->totals.queues.len; i++) {
		const struct vm_queue *q = &t->totals.queues.data[i];

		if (q->type == VM_QUEUE_NORMAL && q->scheduler == one->number)
			return q->offline;
	}
	return false;
}

/* Is a dirty scheduler idle while processes wait in its queue?  Then it must be offline. */
static bool is_spare(const struct top *t, const struct sched_one *one)
{
	enum top_queue queue =
		one->type == THREAD_DIRTY_CPU ? TOP_QUEUE_DIRTY_CPU : TOP_QUEUE_DIRTY_IO;
	uint64_t waiting = t->frame.run_queues[queue];

	return one->now.doing == SCHED_DOING_NOTHING && waiting && waiting != TOP_UNKNOWN;
}

/* How long each scheduler has been in the same time slice, at least; see beam/sched/sched_now.h. */
static void sample_schedulers(struct top *t)
{
	uint64_t now = clock_monotonic_ns();
	const struct sched_one *all;
	size_t nr;

	if (!t->sched_now)
		return;
	sched_now_sample(t->sched_now, now);
	all = sched_now_all(t->sched_now, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct sched_one *one = &all[i];
		struct top_scheduler *s = top_frame_scheduler(&t->frame, one->type, one->number);
		bool works = one->now.known && (one->now.doing == SCHED_DOING_PROCESS ||
						one->now.doing == SCHED_DOING_PORT);

		if (!s)
			continue;
		s->offline = one->type == THREAD_NORMAL && is_offline(t, one);
		s->spare = one->type != THREAD_NORMAL && is_spare(t, one);
		s->at_least_ns = works ? now - MIN(now, one->same_ns) : 0;
	}
}

int top_node_open(struct top *t, struct error *err)
{
	const struct beam_identity *id = &t->node->identity;
	struct top_node *n = &t->frame.node;

	top_frame_init(&t->frame);
	top_totals_init(&t->now);
	top_totals_init(&t->before);
	snprintf(n->otp, sizeof(n->otp), "%s", id->otp_text);
	snprintf(n->erts, sizeof(n->erts), "%s", id->erts);
	snprintf(n->flavor, sizeof(n->flavor), "%s", beam_flavor(id));
	snprintf(n->untested, sizeof(n->untested), "%s", t->node->untested);
	n->os_pid = t->node->os_pid;
	set_schedulers(t);
	if (sched_now_open(&t->sched_now, t->node, (struct address_range){0}) != 0)
		t->sched_now = NULL;
	return vm_totals_open(&t->reader, t->node, err);
}

void top_node_close(struct top *t)
{
	vm_totals_close(t->reader);
	t->reader = NULL;
	vm_totals_free(&t->totals);
	sched_now_close(t->sched_now);
	t->sched_now = NULL;
	free(t->now.queues);
	free(t->before.queues);
	t->now = t->before = (struct top_totals){0};
	top_frame_free(&t->frame);
}

int top_node_read(struct top *t, struct error *err)
{
	struct top_totals old = t->before;
	int rc;

	t->before = t->now;
	top_totals_init(&t->now);
	t->now.queues = old.queues; /* reuses the memory of the reading before the last */
	rc = vm_totals_read(t->reader, &t->totals, err);
	if (rc)
		return rc;
	t->now.read_ns = clock_monotonic_ns();
	take_limits(&t->now, &t->totals);
	take_counters(&t->now, &t->totals);
	take_queues(&t->now, &t->totals);
	if (!memory_can_wait(t))
		read_memory(t);
	read_system(t);
	read_name(t);
	read_own(t);
	t->frame.epoch_ns = clock_realtime_ns();
	top_frame_update(&t->frame, t->read_ns ? &t->before : NULL, &t->now);
	sample_schedulers(t);
	t->since_ns = t->read_ns ? t->read_ns : t->now.read_ns;
	t->read_ns = t->now.read_ns;
	return 0;
}
