/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says of a process's cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/resources.h"

static void pressure(void **state)
{
	static const struct {
		const char *text;
		double some, full;
	} all[] = {
		{"some avg10=1.53 avg60=0.87 avg300=0.30 total=123\n"
		 "full avg10=0.25 avg60=0.10 avg300=0.00 total=45\n",
		 1.53, 0.25},
		{"some avg10=100.00 avg60=0.87 avg300=0.30 total=123\n", 100, -1},
		{"full avg10=0.25\n", -1, 0.25},
		{"some avg60=0.87\nfull avg10=0.25\n", -1, 0.25},
		{"some avg10=\n", -1, -1},
		{"some avg10=nan", -1, -1},
		{"some avg10=-3.0", -1, -1},
		{"some avg10=1000.0", -1, -1},
		{"", -1, -1},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		double some, full;

		resources_pressure(all[i].text, &some, &full);
		assert_true(fabs(some - all[i].some) < 1e-9);
		assert_true(fabs(full - all[i].full) < 1e-9);
	}
}

static void this_process(void **state)
{
	struct resources_cgroup c;

	UNUSED(state);
	resources_cgroup_read(&c, getpid());
	assert_true(c.oom_score >= 0);
	if (*c.path)
		assert_true(c.current != UINT64_MAX);
	assert_true(c.some_avg10 <= 100 && c.full_avg10 <= 100);
	resources_cgroup_read(&c, 0x7ffffff);
	assert_int_equal(c.oom_score, -1);
	assert_string_equal(c.path, "");
	assert_true(c.limit == UINT64_MAX && c.current == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure),
		cmocka_unit_test(this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
