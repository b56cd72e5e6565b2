/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing and printing of durations, counts and times; nothing here is locale dependent. */
#ifndef EBEAM_BASE_UNITS_H
#define EBEAM_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "10", "10s", "1.5s", "500ms", "2m", "1h" -> ns.  0, or -EINVAL (also for zero and negative). */
int units_parse_duration(const char *text, uint64_t *ns);

/* 1234567 -> "1,234,567"; returns buf. */
char *units_format_count(uint64_t n, char *buf, size_t size);

/* 1234567 -> "1.2 MiB", 999 -> "999 B"; returns buf. */
char *units_format_bytes(uint64_t n, char *buf, size_t size);

/* 999 -> "999 ns", 12345 -> "12.3 us", 12345678 -> "12.3 ms", 61000000000 -> "61.0 s"; returns buf.
 */
char *units_format_ns(uint64_t ns, char *buf, size_t size);

/* 93784 s -> "1d02h03m"; 59 -> "59s"; returns buf. */
char *units_format_uptime(uint64_t seconds, char *buf, size_t size);

/* ns since the epoch -> RFC 3339 in UTC, seconds resolution, "2026-01-31T12:00:00Z"; returns buf.
 */
char *units_format_time(uint64_t epoch_ns, char *buf, size_t size);
/* ns since the epoch -> time of day in local time, "12:00:00.123456"; returns buf. */
char *units_format_clock(uint64_t epoch_ns, char *buf, size_t size);

/* Estimated total if n were sampled, on average one of `scale`: n * scale, rounded, at most
 * UINT64_MAX / 2. */
static inline uint64_t units_scale(uint64_t n, double scale)
{
	double product = (double)n * scale + 0.5;

	if (scale == 1)
		return n;
	return product < (double)(UINT64_MAX >> 1) ? (uint64_t)product : UINT64_MAX >> 1;
}

/* Estimated total if n were seen, and they are the part `share` of it: 0 < share <= 1. */
static inline uint64_t units_of_share(uint64_t n, double share)
{
	return units_scale(n, 1 / share);
}

/* n per second; 0 if no time has passed. */
static inline double units_rate(double n, double seconds)
{
	return seconds > 0 ? n / seconds : 0;
}

/* Clocks, ns. */
uint64_t clock_monotonic_ns(void);	       /* the clock of bpf_ktime_get_ns() */
void clock_sleep_until(uint64_t monotonic_ns); /* or until a signal comes */
uint64_t clock_realtime_ns(void);
uint64_t clock_thread_ns(void); /* CPU time of this thread */

#endif
