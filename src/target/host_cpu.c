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

struct host_cpu {
	uint64_t begin_ns;
	VEC(struct used) v; /* by os_pid */
};

static int by_os_pid(const void *a, const void *b)
{
	int x = ((const struct used *)a)->os_pid, y = ((const struct used *)b)->os_pid;

	return x < y ? -1 : x > y;
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

size_t host_cpu_end(const struct host_cpu *h, int but, struct host_cpu_user *out, size_t max)
{
	double seconds = (double)(clock_monotonic_ns() - h->begin_ns) / 1e9;
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct error ignored;
	struct proc_stat s;
	size_t found = 0;
	ssize_t nr;
	int *pids;

	nr = proc_list(&pids, &ignored);
	for (ssize_t i = 0; i < nr; i++) {
		struct host_cpu_user new = {.os_pid = pids[i]};
		uint64_t before, now;

		if (pids[i] == but || pids[i] == getpid() ||
		    proc_stat_read(&s, pids[i], &ignored) != 0)
			continue;
		now = s.utime_ticks + s.stime_ticks;
		before = ticks_before(h, pids[i], s.start_ticks);
		if (now <= before)
			continue;
		new.cores = seconds > 0 ? (double)(now - before) * tick / seconds : 0;
		snprintf(new.comm, sizeof(new.comm), "%s", s.comm);
		insert(out, &found, max, &new);
	}
	if (nr >= 0)
		free(pids);
	return found;
}
