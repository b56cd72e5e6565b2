/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel lets a process have, and how much of it is used: open files, memory, and the CPU
 * time of its cgroup (versions 1 and 2).  What cannot be read is 0.
 */
#ifndef EBEAM_TARGET_RESOURCES_H
#define EBEAM_TARGET_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct resources {
	uint64_t rss; /* bytes */
	/* Bytes that its memory may come to: what it has and what the host has left, or the least
	 * limit of its cgroup and those above, if that is less. */
	uint64_t memory_max;
	/* Of its cgroup and those above that have a limit of CPU time; both only grow. */
	uint64_t periods, throttled;
};

void resources_read(struct resources *out, int os_pid);

/* Open files, and how many there may be (RLIMIT_NOFILE; UINT64_MAX: unlimited).  Takes its time
 * where there are many. */
void resources_files(int os_pid, uint64_t *nr, uint64_t *max);

/* For tests.  "NAME value" lines, as in /proc/meminfo (with a colon) and cpu.stat: the number, or
 * `otherwise`. */
uint64_t resources_number(const char *text, const char *name, uint64_t otherwise);
/* The line of a controller ("memory") in /proc/PID/cgroup, else that of version 2: its path in
 * *path, and whether it is of version 2.  False: there is none. */
bool resources_cgroup(const char *text, const char *controller, char *path, int size, bool *v2);

#endif
