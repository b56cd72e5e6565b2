/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations, counts, times: as people write and read them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/units.h"

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10000000000},	   {"10s", 10000000000},
		{"1.5s", 1500000000},	   {"500ms", 500000000},
		{"2m", 120000000000},	   {"1h", 3600000000000},
		{"1d", 86400000000000},	   {"250us", 250000},
		{".5", 500000000},	   {"0.001s", 1000000},
		{"86400", 86400000000000}, {"1000000000", 1000000000000000000},
	};
	static const char *const bad[] = {
		"",	 "0",	  "0s",	  "-1",		"-1s",
		"s",	 "ms",	  "10 s", " 10",	"10x",
		"10sec", "inf",	  "nan",  "1e",		"0x",
		"10S",	 "10.s.", "+5",	  "1D",		"0.0000000001s",
		"1e30",	 "1e3",	  "0x10", "999999999h", "1000000001",
	};
	uint64_t ns;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(units_parse_duration(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(units_parse_duration(bad[i], &ns), -EINVAL);
	assert_int_equal(units_parse_duration(NULL, &ns), -EINVAL);
}

static void test_counts(void **state)
{
	char buf[32];

	UNUSED(state);
	assert_string_equal(units_format_count(0, buf, sizeof(buf)), "0");
	assert_string_equal(units_format_count(999, buf, sizeof(buf)), "999");
	assert_string_equal(units_format_count(1000, buf, sizeof(buf)), "1,000");
	assert_string_equal(units_format_count(1234567, buf, sizeof(buf)), "1,234,567");
	assert_string_equal(units_format_count(UINT64_MAX, buf, sizeof(buf)),
			    "18,446,744,073,709,551,615");
	assert_string_equal(units_format_count(1234567, buf, 4), "1,2"); /* cut, not overrun */
}

static void test_bytes(void **state)
{
	char buf[32];

	UNUSED(state);
	assert_string_equal(units_format_bytes(0, buf, sizeof(buf)), "0 B");
	assert_string_equal(units_format_bytes(1023, buf, sizeof(buf)), "1023 B");
	assert_string_equal(units_format_bytes(1024, buf, sizeof(buf)), "1.0 KiB");
	assert_string_equal(units_format_bytes(1234567, buf, sizeof(buf)), "1.2 MiB");
	assert_string_equal(units_format_bytes((1 << 20) - 1, buf, sizeof(buf)), "1.0 MiB");
	assert_string_equal(units_format_bytes(UINT64_MAX, buf, sizeof(buf)), "16.0 EiB");
}

static void test_uptimes(void **state)
{
	char buf[32];

	UNUSED(state);
	assert_string_equal(units_format_uptime(0, buf, sizeof(buf)), "0s");
	assert_string_equal(units_format_uptime(59, buf, sizeof(buf)), "59s");
	assert_string_equal(units_format_uptime(60, buf, sizeof(buf)), "1m00s");
	assert_string_equal(units_format_uptime(3599, buf, sizeof(buf)), "59m59s");
	assert_string_equal(units_format_uptime(3600, buf, sizeof(buf)), "1h00m");
	assert_string_equal(units_format_uptime(93784, buf, sizeof(buf)), "1d02h03m");
}

static void test_times(void **state)
{
	char buf[32];

	UNUSED(state);
	setenv("TZ", "UTC-1", 1); /* an hour ahead */
	tzset();
	assert_string_equal(units_format_clock(0, buf, sizeof(buf)), "01:00:00.000000");
	assert_string_equal(units_format_clock(1769860800123456789, buf, sizeof(buf)),
			    "13:00:00.123456");
	assert_string_equal(units_format_time(0, buf, sizeof(buf)), "1970-01-01T00:00:00Z");
	assert_string_equal(units_format_time(1769860800123456789, buf, sizeof(buf)),
			    "2026-01-31T12:00:00Z");
	assert_string_equal(units_format_time(951782399999999999, buf, sizeof(buf)),
			    "2000-02-28T23:59:59Z");
}

static void test_scales(void **state)
{
	UNUSED(state);
	assert_int_equal(units_scale(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(units_scale((1ull << 60) + 1, 1), (1ull << 60) + 1);
	assert_int_equal(units_scale(3, 1 / 0.3), 10);
	assert_int_equal(units_scale(0, 1000), 0);
	assert_int_equal(units_scale(1ull << 62, 100), UINT64_MAX >> 1);
	assert_int_equal(units_of_share(3, 0.3), 10);
	assert_int_equal(units_of_share(7, 1), 7);
	assert_int_equal(units_of_share(1, 1e-300), UINT64_MAX >> 1);
	assert_true(units_rate(3, 1.5) == 2);
	assert_true(units_rate(3, 0) == 0);
}

static void test_clocks(void **state)
{
	uint64_t a = clock_monotonic_ns(), b = clock_monotonic_ns();

	UNUSED(state);
	assert_true(b >= a);
	assert_true(a > 0);
	/* After 2020, in nanoseconds. */
	assert_true(clock_realtime_ns() > 1577836800000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_bytes),	  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_uptimes),	  cmocka_unit_test(test_times),
		cmocka_unit_test(test_clocks),	  cmocka_unit_test(test_scales),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
