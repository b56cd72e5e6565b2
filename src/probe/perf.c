/* SPDX-License-Identifier: BSD-2-Clause */
/* See perf.h. */
#include "probe/perf.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

struct perf_event_attr perf_cpu_clock(unsigned int freq)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = freq,
		.exclude_idle = 1,
		.disabled = 1,
	};
}

int perf_open(struct perf_event_attr *attr, int os_pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, os_pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
