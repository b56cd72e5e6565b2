/* SPDX-License-Identifier: BSD-2-Clause */
/* What a uprobe costs: where it can be measured, in the right order; where not, a reason. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "probe/kernel/calibrate.h"
#include "probe/kernel/multi.h"

static void check_measure(bool multi)
{
	struct calibrator *c;
	struct calibration cost;
	struct error err = {0};
	int rc = 0;

	calibrator_open(&c);
	/* Twice: the probes of the first are not hit by the second. */
	for (unsigned int i = 0; i < 2 && rc == 0; i++)
		rc = calibrator_measure(c, multi, &cost, &err);
	calibrator_close(c);
	if (rc) {
		/* Not as root, or in a container. */
		assert_true(err.kind == ERROR_KIND_PRIVILEGE || err.kind == ERROR_KIND_KERNEL);
		assert_true(err.msg[0] != '\0');
		print_message("%s\n", err.msg);
		skip();
	}
	/* A trap into the kernel takes tens of ns at least; two traps take more than one. */
	assert_in_range(cost.emulated_ns, 20, 100000);
	assert_true(cost.stepped_ns > cost.emulated_ns);
	assert_true(cost.return_ns > cost.emulated_ns);
}

static void test_perf(void **state)
{
	UNUSED(state);
	check_measure(false);
}

static void test_multi(void **state)
{
	UNUSED(state);
	if (!multi_available())
		skip();
	check_measure(true);
}

static void test_closed_unused(void **state)
{
	struct calibrator *c;

	UNUSED(state);
	calibrator_open(&c);
	calibrator_close(c);
	calibrator_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf),
		cmocka_unit_test(test_multi),
		cmocka_unit_test(test_closed_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
