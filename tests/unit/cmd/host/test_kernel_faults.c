/* SPDX-License-Identifier: BSD-2-Clause */
/* The table is complete, and trials of a kernel's faults answer the same twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "cmd/host/kernel_faults.h"
#include "probe/kernel/multi.h"

static void test_rows(void **state)
{
	UNUSED(state);
	for (const struct kernel_fault *k = kernel_faults; k->name; k++) {
		assert_true(k->kernels && k->what && k->ebeam);
		/* One sentence after the other in the manual. */
		assert_int_equal(k->what[strlen(k->what) - 1], '.');
		assert_int_equal(k->ebeam[strlen(k->ebeam) - 1], '.');
		/* A row of doctor holds both. */
		assert_true(strlen(k->what) + strlen(k->ebeam) < 1000);
		for (const struct kernel_fault *other = kernel_faults; other != k; other++)
			assert_string_not_equal(k->name, other->name);
	}
}

static void test_samples(void **state)
{
	UNUSED(state);
	for (const struct kernel_fault *k = kernel_faults; k->name; k++) {
		enum fault_state seen = k->find ? k->find() : FAULT_ABSENT;

		assert_true(seen <= FAULT_PRESENT);
		/* Who loses something is shown what to do. */
		assert_true(seen != FAULT_PRESENT || k->fix);
		assert_true(!k->find || k->find() == seen);
	}
	assert_false(multi_available() && multi_filters_threads());
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
