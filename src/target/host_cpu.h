/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time of the host and of its processes since host_cpu_begin(), from /proc/stat and
 * /proc/PID/stat.  "In cores" is CPU time divided by elapsed time. */
#ifndef EBEAM_TARGET_HOST_CPU_H
#define EBEAM_TARGET_HOST_CPU_H

#include <stddef.h>
#include <stdint.h>

struct host_cpu;

/* Begins: reads the CPU times of all visible processes.  NULL: /proc cannot be read. */
struct host_cpu *host_cpu_begin(void);
void host_cpu_free(struct host_cpu *h); /* NULL ok */

/* CPU time of the host since host_cpu_begin(), in cores; nr == 0: unknown. */
struct host_cpu_total {
	unsigned int nr; /* CPUs that are online */
	double used;
	double stolen; /* taken by the hypervisor for other guests */
};
struct host_cpu_total host_cpu_total(const struct host_cpu *h);

struct host_cpu_user {
	int os_pid;
	char comm[64];
	double cores; /* 1.5 = it used one and a half CPUs on average */
};
/* CPU time of one process since host_cpu_begin(), in cores; 0 if it has exited. */
double host_cpu_of(const struct host_cpu *h, int os_pid);
/* Fills out[] with the processes that used most CPU time, in descending order: at most `max`,
 * without process `but` and ebeam itself, and without processes that have exited.  Returns how
 * many. */
size_t host_cpu_end(const struct host_cpu *h, int but, struct host_cpu_user *out, size_t max);

#endif
