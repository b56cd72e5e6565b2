/* SPDX-License-Identifier: BSD-2-Clause */
/* See units.h. */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int units_parse_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"", 1e9},	  {"s", 1e9},	 {"ms", 1e6},	{"us", 1e3},
		     {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	char *end;
	double value;

	/* strtod() alone would accept signs, blanks, hexadecimal, exponents and words. */
	if (!text || (*text != '.' && (*text < '0' || *text > '9')))
		return -EINVAL;
	value = strtod(text, &end);
	if (end != text + strspn(text, "0123456789."))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double scaled = value * units[i].ns;

		if (strcmp(end, units[i].suffix) == 0 && scaled >= 1 && scaled <= 1e18) {
			*ns = (uint64_t)scaled;
			return 0;
		}
	}
	return -EINVAL;
}

char *units_format_count(uint64_t n, char *buf, size_t size)
{
	char digits[24], out[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	snprintf(buf, size, "%s", out);
	return buf;
}

char *units_format_bytes(uint64_t n, char *buf, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)n;
	unsigned int unit = 0;

	/* "%.1f" would round 1023.95 to 1024.0: from there on it is 1.0 of the next unit. */
	while (unit ? value >= 1023.95 : value >= 1024) {
		value /= 1024;
		unit++;
	}
	if (unit)
		snprintf(buf, size, "%.1f %s", value, units[unit]);
	else
		snprintf(buf, size, "%" PRIu64 " B", n);
	return buf;
}

char *units_format_ns(uint64_t ns, char *buf, size_t size)
{
	static const char *const names[] = {"us", "ms", "s"};
	double value = (double)ns / 1e3;
	size_t unit = 0;

	if (ns < 1000) {
		snprintf(buf, size, "%u ns", (unsigned int)ns);
		return buf;
	}
	/* "%.1f" would round 999.95 to 1000.0: from there on it is 1.0 of the next unit. */
	while (value >= 999.95 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1e3;
		unit++;
	}
	snprintf(buf, size, value < 9.995 ? "%.2f %s" : "%.1f %s", value, names[unit]);
	return buf;
}

char *units_format_uptime(uint64_t seconds, char *buf, size_t size)
{
	uint64_t d = seconds / 86400, h = seconds / 3600 % 24, m = seconds / 60 % 60;

	if (d)
		snprintf(buf, size, "%" PRIu64 "d%02" PRIu64 "h%02" PRIu64 "m", d, h, m);
	else if (h)
		snprintf(buf, size, "%" PRIu64 "h%02" PRIu64 "m", h, m);
	else if (m)
		snprintf(buf, size, "%" PRIu64 "m%02" PRIu64 "s", m, seconds % 60);
	else
		snprintf(buf, size, "%" PRIu64 "s", seconds);
	return buf;
}

char *units_format_time(uint64_t epoch_ns, char *buf, size_t size)
{
	time_t t = (time_t)(epoch_ns / 1000000000u);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, size, "1970-01-01T00:00:00Z");
	return buf;
}

char *units_format_clock(uint64_t epoch_ns, char *buf, size_t size)
{
	time_t t = (time_t)(epoch_ns / 1000000000u);
	struct tm tm = {0};

	localtime_r(&t, &tm);
	snprintf(buf, size, "%02d:%02d:%02d.%06u", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (unsigned int)(epoch_ns % 1000000000u / 1000));
	return buf;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void clock_sleep_until(uint64_t monotonic_ns)
{
	const struct timespec t = {.tv_sec = (time_t)(monotonic_ns / 1000000000u),
				   .tv_nsec = (long)(monotonic_ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

uint64_t clock_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}
