/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resources that the kernel grants a process, and their use: open files, memory, and the CPU time
 * of its cgroup (versions 1 and 2).  Values that cannot be read are 0.
 */
#ifndef EBEAM_TARGET_RESOURCES_H
#define EBEAM_TARGET_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct resources {
	uint64_t rss; /* bytes */
	/* Bytes that `rss` can grow to: rss plus the host's available memory; or, if that is less,
	 * the lowest memory limit of the process's cgroup and the cgroup's ancestors. */
	uint64_t memory_max;
	/* nr_periods and nr_throttled of cpu.stat, of the cgroup and its ancestors with a CPU
	 * limit: the most periods of one, and the sum of throttled periods.  Both only grow. */
	uint64_t periods, throttled;
};

void resources_read(struct resources *out, int os_pid);

/* Number of open files and its limit (RLIMIT_NOFILE; UINT64_MAX: unlimited).  The time needed grows
 * with the number. */
void resources_files(int os_pid, uint64_t *nr, uint64_t *max);

/* What the kernel says of the memory of a process's cgroup; -1 and UINT64_MAX: not known. */
struct resources_cgroup {
	char path[512]; /* of the cgroup with the lowest limit, or of the process's own one if there
			 * is no limit; "" = no cgroup was found */
	uint64_t limit; /* bytes; UINT64_MAX = none */
	uint64_t current; /* bytes that this cgroup has, with file cache */
	/* Percent of the last 10 s in which some, or all, of its tasks waited for memory
	 * (memory.pressure: version 2 only). */
	double some_avg10, full_avg10;
	int oom_score; /* 0 .. 2000: whom the kernel ends first when memory is short */
};
void resources_cgroup_read(struct resources_cgroup *out, int os_pid);
/* For tests.  Reads the text of a file memory.pressure; numbers that are missing are -1. */
void resources_pressure(const char *text, double *some_avg10, double *full_avg10);

/* For tests.  The number in a line "NAME value", as in /proc/meminfo (with a colon) and cpu.stat;
 * `otherwise` if there is none. */
uint64_t resources_number(const char *text, const char *name, uint64_t otherwise);
/* Finds the cgroup of a controller ("memory") in the text of /proc/PID/cgroup, or that of version 2
 * if the controller has no line: its path in *path; *v2: it is of version 2.  False: not found. */
bool resources_cgroup(const char *text, const char *controller, char *path, int size, bool *v2);

#endif
