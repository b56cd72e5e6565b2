/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_use.h. */
#include "model/stats/sched_use.h"

#include <math.h>

#include "event/event.h"

/* The VM's count is exact from this part of the time on: it begins a little after the recording. */
#define EXACT_PART 0.99

const char *sched_type_name(enum thread_type type)
{
	return type == THREAD_NORMAL	  ? "normal"
	       : type == THREAD_DIRTY_CPU ? "dirty_cpu"
	       : type == THREAD_DIRTY_IO  ? "dirty_io"
					  : "other";
}

/* Each record is weighted by its duration, as the sampling period differs between records. */
static void add_samples(struct sched_use *u, const struct event *ev)
{
	double ns = (double)ev->u.scheduler.duration_ns, samples = ev->u.scheduler.samples;
	double work_ns = ns * ev->u.scheduler.working / samples;
	/* Rule of succession (Laplace): one more sample at work and one more not, as a few samples
	 * that agree prove little. */
	double spread = (ev->u.scheduler.working + 1.0) / (samples + 2.0);

	u->all_seen_ns += ev->u.scheduler.duration_ns;
	u->all_seen_work_ns += work_ns;
	u->process_ns += ns * ev->u.scheduler.process / samples;
	u->port_ns += ns * ev->u.scheduler.port / samples;
	if (ev->u.scheduler.working_ns != SCHEDULER_UNKNOWN)
		return;
	u->seen_ns += ev->u.scheduler.duration_ns;
	u->seen_work_ns += work_ns;
	u->seen_variance += ns * ns * spread * (1 - spread) / samples;
}

static void add_gc(struct sched_use *u, const struct event *ev)
{
	uint32_t samples = ev->u.scheduler.gc_samples, gc = ev->u.scheduler.gc;

	u->gc_seen_ns += ev->u.scheduler.duration_ns;
	u->gc_ns += (double)ev->u.scheduler.duration_ns * gc / samples;
	u->gc_samples += samples;
	u->gc += gc;
}

void sched_use_add(struct sched_use *u, const struct event *ev)
{
	uint64_t ns = ev->u.scheduler.duration_ns;

	if (ev->u.scheduler.working_ns != SCHEDULER_UNKNOWN) {
		u->counted_ns += ns;
		u->counted_work_ns += ev->u.scheduler.working_ns;
	}
	if (ev->u.scheduler.samples)
		add_samples(u, ev);
	u->online_ns += ev->u.scheduler.offline ? 0 : ns;
	u->offline_ns += ev->u.scheduler.offline ? ns : 0;
	if (ev->u.scheduler.gc_samples && !ev->u.scheduler.offline)
		add_gc(u, ev);
	u->samples += ev->u.scheduler.samples;
	if (ev->u.scheduler.on_cpu_ns == SCHEDULER_UNKNOWN ||
	    ev->u.scheduler.cpu_wait_ns == SCHEDULER_UNKNOWN)
		return;
	u->thread_ns += ns;
	u->on_cpu_ns += ev->u.scheduler.on_cpu_ns;
	u->cpu_wait_ns += ev->u.scheduler.cpu_wait_ns;
}

static double percent(double ns, uint64_t of)
{
	return of ? 100 * ns / (double)of : NAN;
}

double sched_use_counted(const struct sched_use *u)
{
	return percent((double)u->counted_work_ns, u->counted_ns);
}

double sched_use_seen(const struct sched_use *u)
{
	return percent(u->all_seen_work_ns, u->all_seen_ns);
}

double sched_use_work(const struct sched_use *u)
{
	return percent((double)u->counted_work_ns + u->seen_work_ns, u->counted_ns + u->seen_ns);
}

double sched_use_on_cpu(const struct sched_use *u)
{
	return percent((double)u->on_cpu_ns, u->thread_ns);
}

double sched_use_cpu_wait(const struct sched_use *u)
{
	return percent((double)u->cpu_wait_ns, u->thread_ns);
}

double sched_use_waited(const struct sched_use *u)
{
	return percent((double)u->cpu_wait_ns, u->on_cpu_ns + u->cpu_wait_ns);
}

double sched_use_error(const struct sched_use *u)
{
	return percent(2 * sqrt(u->seen_variance), u->counted_ns + u->seen_ns);
}

double sched_use_gc(const struct sched_use *u)
{
	return percent(u->gc_ns, u->gc_seen_ns);
}

double sched_use_gc_error(const struct sched_use *u)
{
	/* Rule of succession, as above. */
	double samples = (double)u->gc_samples, part = ((double)u->gc + 1) / (samples + 2);

	return u->gc_samples ? 200 * sqrt(part * (1 - part) / samples) : NAN;
}

bool sched_use_is_offline(const struct sched_use *u)
{
	return u->offline_ns && !u->online_ns;
}

bool sched_use_is_exact(const struct sched_use *u)
{
	return u->counted_ns &&
	       (double)u->counted_ns >= EXACT_PART * (double)(u->counted_ns + u->seen_ns);
}

struct sched_parts sched_use_parts(const struct sched_use *u, double whole)
{
	struct sched_parts p = {NAN, NAN, NAN};

	if (u->samples && whole == 0)
		return (struct sched_parts){0};
	if (u->all_seen_work_ns <= 0 || isnan(whole))
		return p;
	p.process = whole * u->process_ns / u->all_seen_work_ns;
	p.port = whole * u->port_ns / u->all_seen_work_ns;
	p.other = fmax(0, whole - p.process - p.port);
	return p;
}
