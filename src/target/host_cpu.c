/* SPDX-License-Identifier: BSD-2-Clause */
/* See host_cpu.h. */
#include "target/host_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "target/proc.h"

struct used {
	int os_pid;
	uint64_t start_ticks, ticks;
};

struct cpu_ticks {
	uint64_t used, stolen;
};

struct host_cpu {
	uint64_t begin_ns;
	struct cpu_ticks ticks; /* of all CPUs; 0 = unknown */
	VEC(struct used) v;	/* by os_pid */
};

static int by_os_pid(const void *a, const void *b)
{
	int x = ((const struct used *)a)->os_pid, y = ((const struct used *)b)->os_pid;

	return x < y ? -1 : x > y;
}

/* proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal. */
static struct cpu_ticks read_ticks(void)
{
	unsigned long long t[8];
	struct cpu_ticks ticks = {0};
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return ticks;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) == 8) {
		ticks.used = t[0] + t[1] + t[2] + t[5] + t[6];
		ticks.stolen = t[7];
	}
	fclose(f);
	return ticks;
}

struct host_cpu_total host_cpu_total(const struct host_cpu *h)
{
	double ticks =
		(double)(clock_monotonic_ns() - h->begin_ns) / 1e9 * (double)sysconf(_SC_CLK_TCK);
	struct cpu_ticks now = read_ticks();
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	if (!h->ticks.used || now.used < h->ticks.used || now.stolen < h->ticks.stolen ||
	    ticks <= 0 || nr < 1)
		return (struct host_cpu_total){0};
	return (struct host_cpu_total){
		.nr = (unsigned int)nr,
		.used = (double)(now.used - h->ticks.used) / ticks,
		.stolen = (double)(now.stolen - h->ticks.stolen) / ticks,
	};
}

struct host_cpu *host_cpu_begin(void)
{
	struct host_cpu *h;
	struct error ignored;
	struct proc_stat s;
	ssize_t nr;
	int *pids;

	nr = proc_list(&pids, &ignored);
	if (nr < 0)
		return NULL;
	h = xcalloc(1, sizeof(*h));
	h->begin_ns = clock_monotonic_ns();
	h->ticks = read_ticks();
	for (ssize_t i = 0; i < nr; i++) {
		struct used new = {.os_pid = pids[i]};

		if (proc_stat_read(&s, pids[i], &ignored) != 0)
			continue;
		new.start_ticks = s.start_ticks;
		new.ticks = s.utime_ticks + s.stime_ticks;
		vec_push(&h->v, new);
	}
	free(pids);
	if (h->v.len)
		qsort(h->v.data, h->v.len, sizeof(*h->v.data), by_os_pid);
	return h;
}

void host_cpu_free(struct host_cpu *h)
{
	if (!h)
		return;
	vec_free(&h->v);
	free(h);
}

static uint64_t ticks_before(const struct host_cpu *h, int os_pid, uint64_t start_ticks)
{
	const struct used key = {.os_pid = os_pid};
	const struct used *u =
		h->v.len ? bsearch(&key, h->v.data, h->v.len, sizeof(key), by_os_pid) : NULL;

	return u && u->start_ticks == start_ticks ? u->ticks : 0;
}

static void insert(struct host_cpu_user *out, size_t *nr, size_t max,
		   const struct host_cpu_user *new)
{
	size_t at = *nr;

	while (at > 0 && out[at - 1].cores < new->cores)
		at--;
	if (at == max)
		return;
	*nr = *nr < max ? *nr + 1 : max;
	for (size_t i = *nr - 1; i > at; i--)
		out[i] = out[i - 1];
	out[at] = *new;
}

static double cores_of(const struct host_cpu *h, int os_pid, struct proc_stat *s)
{
	double seconds = (double)(clock_monotonic_ns() - h->begin_ns) / 1e9;
	uint64_t now, before;
	struct error ignored;

	if (proc_stat_read(s, os_pid, &ignored) != 0 || seconds <= 0)
		return 0;
	now = s->utime_ticks + s->stime_ticks;
	before = ticks_before(h, os_pid, s->start_ticks);
	return now <= before ? 0 : (double)(now - before) / (double)sysconf(_SC_CLK_TCK) / seconds;
}

double host_cpu_of(const struct host_cpu *h, int os_pid)
{
	struct proc_stat s;

	return cores_of(h, os_pid, &s);
}

size_t host_cpu_end(const struct host_cpu *h, int but, struct host_cpu_user *out, size_t max)
{
	struct error ignored;
	struct proc_stat s;
	size_t found = 0;
	ssize_t nr;
	int *pids;

	nr = proc_list(&pids, &ignored);
	for (ssize_t i = 0; i < nr; i++) {
		struct host_cpu_user new = {.os_pid = pids[i]};

		if (pids[i] == but || pids[i] == getpid())
			continue;
		new.cores = cores_of(h, pids[i], &s);
		if (new.cores <= 0)
			continue;
		snprintf(new.comm, sizeof(new.comm), "%s", s.comm);
		insert(out, &found, max, &new);
	}
	if (nr >= 0)
		free(pids);
	return found;
}
