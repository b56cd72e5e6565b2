/* SPDX-License-Identifier: BSD-2-Clause */
/* See perf.h. */
#include "probe/kernel/perf.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/proc.h"

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

int perf_own_offset(const void *function, uint64_t *offset)
{
	uint64_t addr = (uint64_t)(uintptr_t)function;
	const struct proc_map *map;
	struct proc_maps maps;
	int rc;

	rc = proc_maps_read(&maps, getpid(), NULL);
	if (rc)
		return rc;
	map = proc_maps_find(&maps, addr);
	if (map)
		*offset = map->offset + (addr - map->start);
	proc_maps_free(&maps);
	return map ? 0 : -ENOENT;
}
