/* SPDX-License-Identifier: BSD-2-Clause */
/* That a filter which stops a process in a function with a return probe is noticed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/kernel/return_trial.h"

static void need_probes(void)
{
	if (return_trial_of(SYS_mount) == RETURN_UNTRIED)
		skip(); /* who may not place any */
}

static void test_other_calls_pass(void **state)
{
	UNUSED(state);
	need_probes();
	assert_int_equal(return_trial_of(SYS_mount), RETURN_PASSES);
}

static void test_a_filtered_call_is_seen(void **state)
{
	UNUSED(state);
	need_probes();
	assert_int_equal(return_trial_of(SYS_getppid), RETURN_KILLS);
}

/* Of processes without a filter nothing is tried; there is none of pid 0. */
static void test_unfiltered(void **state)
{
	struct error err;

	UNUSED(state);
	assert_int_equal(return_trial_check(getpid(), &err), 0);
	assert_int_equal(return_trial_check(0, &err), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_calls_pass),
		cmocka_unit_test(test_a_filtered_call_is_seen),
		cmocka_unit_test(test_unfiltered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
