/* SPDX-License-Identifier: BSD-2-Clause */
/* Times off CPUs, by two tracepoints of the scheduler; see session_internal.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/session/session_internal.h"

/* What copying the stacks of a thread costs at most on common hosts, ns, to begin with; the limit
 * is then kept by what it is measured to cost (session_sample_less()). */
#define COPY_NS 15000
/* At most so many percent of a CPU, to begin with: the default of --max-overhead. */
#define COPY_PERCENT 1
#define COPIES	     (OFF_CPU_WINDOW_NS / 100 * COPY_PERCENT / COPY_NS / NR_OFF_CPU_CLASSES)

/* In windows so many times fewer are copied: by then it is their number that costs. */
#define WINDOW_WEIGHT 4

static int attach(struct session *s)
{
	/* First what ends a time: so no time is without its end. */
	s->off_cpu[0] = bpf_program__attach_trace(s->skel->progs.off_waking);
	if (!s->off_cpu[0])
		return -errno;
	s->off_cpu[1] = bpf_program__attach_trace(s->skel->progs.off_switch);
	return s->off_cpu[1] ? 0 : -errno;
}

int session_watch_off_cpu(struct session *s)
{
	struct probe_state *state = &s->skel->bss->state;

	state->off_least_ns = 1000000000ull / s->config.freq;
	state->off_copies = COPIES * (s->config.futexes ? NR_OFF_CPU_CLASSES : 1);
	state->off_classes = s->config.futexes ? 1u << OFF_CPU_CLASS_FUTEX : ~0u;
	return attach(s);
}

void session_off_cpu_pause(struct session *s)
{
	session_leave_off_cpu(s);
}

int session_off_cpu_resume(struct session *s)
{
	session_off_cpu_less(s, WINDOW_WEIGHT);
	return attach(s);
}

/* Runs off_finish for a thread: adds up, and emits, its current time off a CPU. */
static void finish(struct session *s, uint32_t os_tid, uint64_t end_ns)
{
	uint64_t args[] = {os_tid, end_ns};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.off_finish), &opts))
		log_debug("thread %u: its last time off a CPU is not known: %s", os_tid,
			  error_text(-errno));
}

void session_leave_off_cpu(struct session *s)
{
	bool attached = s->off_cpu[1];
	uint64_t end_ns = clock_monotonic_ns();
	uint32_t key, *last = NULL;
	int map;

	for (size_t i = ARRAY_SIZE(s->off_cpu); i-- > 0;) {
		bpf_link__destroy(s->off_cpu[i]);
		s->off_cpu[i] = NULL;
	}
	map = attached ? bpf_map__fd(s->skel->maps.off_threads) : -1;
	for (unsigned int i = 0; attached && i < EBEAM_THREADS; i++, last = &key) {
		if (bpf_map_get_next_key(map, last, &key))
			break;
		finish(s, key, end_ns);
	}
}

void session_off_cpu_less(struct session *s, unsigned int weight)
{
	s->skel->bss->state.off_copies =
		(uint32_t)MAX(COPIES * (s->config.futexes ? NR_OFF_CPU_CLASSES : 1) / weight, 1u);
}

static void sums_of_ended(struct session *s, session_off_cpu_fn *take, void *arg)
{
	int nr = libbpf_num_possible_cpus();
	struct off_cpu_sums *ended = xcalloc((size_t)MAX(nr, 1), sizeof(*ended));
	uint32_t zero = 0;

	if (nr > 0 && bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.off_ended), &zero, ended) == 0)
		for (int cpu = 0; cpu < nr; cpu++)
			take(arg, 0, &ended[cpu]);
	free(ended);
}

void session_off_cpu_sums(struct session *s, session_off_cpu_fn *take, void *arg)
{
	struct off_thread_head *value = xcalloc(1, bpf_map__value_size(s->skel->maps.off_threads));
	int map = bpf_map__fd(s->skel->maps.off_threads);
	uint32_t key, *last = NULL;

	for (unsigned int i = 0; i < EBEAM_THREADS; i++, last = &key) {
		if (bpf_map_get_next_key(map, last, &key))
			break;
		if (bpf_map_lookup_elem(map, &key, value) == 0)
			take(arg, key, &value->sums);
	}
	free(value);
	sums_of_ended(s, take, arg);
}
