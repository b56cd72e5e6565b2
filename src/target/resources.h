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
	/* Bytes that `rss` can grow to: rss and the host's available memory, or the lowest memory
	 * limit of its cgroup and the cgroup's ancestors if that is less. */
	uint64_t memory_max;
	/* Sums over its cgroup and those ancestors that have a CPU limit; both only grow. */
	uint64_t periods, throttled;
};

void resources_read(struct resources *out, int os_pid);

/* Open files and their limit (RLIMIT_NOFILE; UINT64_MAX: unlimited).  Slow if there are many. */
void resources_files(int os_pid, uint64_t *nr, uint64_t *max);

/* For tests.  The number in a line "NAME value", as in /proc/meminfo (with a colon) and cpu.stat;
 * `otherwise` if there is none. */
uint64_t resources_number(const char *text, const char *name, uint64_t otherwise);
/* Finds the cgroup of a controller ("memory") in the text of /proc/PID/cgroup, or that of version 2
 * if the controller has no line: its path in *path; *v2: it is of version 2.  False: not found. */
bool resources_cgroup(const char *text, const char *controller, char *path, int size, bool *v2);

#endif
