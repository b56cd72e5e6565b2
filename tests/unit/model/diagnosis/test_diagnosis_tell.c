/* SPDX-License-Identifier: BSD-2-Clause */
/* What findings say of where a process is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "model/diagnosis/diagnosis.h"

static void expect(const struct diagnosis *d, const char *told)
{
	struct findings f;

	findings_make(&f, d);
	assert_int_equal(f.v.len, 1);
	assert_string_equal(f.v.data[0].id, "busiest_process");
	assert_string_equal(f.v.data[0].evidence.data[1], told);
	findings_free(&f);
}

/* Where it stopped last is not where it runs; its scheduler may know that. */
static void test_running(void **state)
{
	struct diagnosed_process p = {.pid = "<0.9.0>",
				      .name = "burner",
				      .status = "running",
				      .function = "io:execute_request/3"};
	struct diagnosed_scheduler s = {
		.type = "normal", .pid = "<0.9.0> burner", .function = "burner:nif/1"};
	struct diagnosis d = {.duration_ns = 5000000000ull,
			      .samples = 11,
			      .looks = 100,
			      .busiest_looks = 96,
			      .cpu_wait = NAN,
			      .throttled = NAN};

	(void)state;
	vec_push(&d.processes, p);
	vec_push(&d.schedulers, s);
	expect(&d, "<0.9.0> burner is running, and last stopped in io:execute_request/3");
	d.schedulers.data[0].lasts = true;
	expect(&d, "<0.9.0> burner is running in burner:nif/1");
	d.schedulers.data[0].pid = "<0.9.01> other";
	expect(&d, "<0.9.0> burner is running, and last stopped in io:execute_request/3");
	d.processes.data[0].status = "runnable";
	expect(&d, "<0.9.0> burner is runnable in io:execute_request/3");
	diagnosis_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_running)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
