/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_event_open() with the attributes that ebeam uses. */
#ifndef EBEAM_PROBE_PERF_H
#define EBEAM_PROBE_PERF_H

#include <linux/perf_event.h>
#include <stdint.h>

/* The software CPU clock at freq Hz; idle tasks are left out. */
struct perf_event_attr perf_cpu_clock(unsigned int freq);
/* Descriptor (close-on-exec), or negative errno. */
int perf_open(struct perf_event_attr *attr, int os_pid, int cpu);
/* Sets *offset to that of a function of this program in the file /proc/self/exe.  0 or negative
 * errno. */
int perf_own_offset(const void *function, uint64_t *offset);

#endif
