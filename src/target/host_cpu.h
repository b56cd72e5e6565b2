/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes of the host use CPU time between two moments, by /proc/PID/stat. */
#ifndef EBEAM_TARGET_HOST_CPU_H
#define EBEAM_TARGET_HOST_CPU_H

#include <stddef.h>
#include <stdint.h>

struct host_cpu;

/* Reads all processes that can be seen.  NULL: /proc cannot be read. */
struct host_cpu *host_cpu_begin(void);
void host_cpu_free(struct host_cpu *h); /* NULL ok */

struct host_cpu_user {
	int os_pid;
	char comm[64];
	double cores; /* CPU time since host_cpu_begin(), or since it started, by elapsed time */
};
/* Those that used most, most first: at most `max`, without `but` and this program.  What they are
 * by the second reading: one that has exited meanwhile is not among them. */
size_t host_cpu_end(const struct host_cpu *h, int but, struct host_cpu_user *out, size_t max);

#endif
