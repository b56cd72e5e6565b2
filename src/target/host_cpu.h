/* SPDX-License-Identifier: BSD-2-Clause */
/* Who uses the CPUs of the host between two moments, by /proc/stat and /proc/PID/stat. */
#ifndef EBEAM_TARGET_HOST_CPU_H
#define EBEAM_TARGET_HOST_CPU_H

#include <stddef.h>
#include <stdint.h>

struct host_cpu;

/* Reads all processes that can be seen.  NULL: /proc cannot be read. */
struct host_cpu *host_cpu_begin(void);
void host_cpu_free(struct host_cpu *h); /* NULL ok */

/* Of all CPUs since host_cpu_begin(), in cores; nr == 0: it is not known. */
struct host_cpu_total {
	unsigned int nr; /* CPUs that are online */
	double used;
	double stolen; /* the hypervisor gave them to others */
};
struct host_cpu_total host_cpu_total(const struct host_cpu *h);

struct host_cpu_user {
	int os_pid;
	char comm[64];
	double cores; /* CPU time since host_cpu_begin(), or since it started, by elapsed time */
};
/* Of one process, in cores; 0 if it has exited. */
double host_cpu_of(const struct host_cpu *h, int os_pid);
/* Those that used most, most first: at most `max`, without `but` and this program.  What they are
 * by the second reading: one that has exited meanwhile is not among them. */
size_t host_cpu_end(const struct host_cpu *h, int but, struct host_cpu_user *out, size_t max);

#endif
