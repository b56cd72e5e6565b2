/* SPDX-License-Identifier: BSD-2-Clause */
/* What findings say of where a process is, of who uses the CPUs, and of what grew at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "lib/series.h"
#include "model/diagnosis/diagnosis.h"

static void expect(const struct diagnosis *d, const char *reported)
{
	struct findings f;

	findings_make(&f, d);
	assert_int_equal(f.v.len, 1);
	assert_string_equal(f.v.data[0].id, "busiest_process");
	assert_string_equal(f.v.data[0].evidence.data[1], reported);
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
			      .scheduler_samples = 100,
			      .cpu_wait = NAN,
			      .throttled = NAN};

	struct diagnosed_busy busy = {.samples = 96};
	struct diagnosed_process other = {.pid = "<0.10.0>", .name = "second"};
	struct findings f;

	(void)state;
	vec_push(&d.processes, p);
	vec_push(&d.busy, busy);
	vec_push(&d.schedulers, s);
	expect(&d, "<0.9.0> burner is running, and was last scheduled out in io:execute_request/3");
	d.schedulers.data[0].lasts = true;
	expect(&d, "<0.9.0> burner is running in burner:nif/1");
	d.schedulers.data[0].pid = "<0.9.01> other";
	expect(&d, "<0.9.0> burner is running, and was last scheduled out in io:execute_request/3");
	d.processes.data[0].status = "runnable";
	expect(&d, "<0.9.0> burner is runnable in io:execute_request/3");
	/* Another one does the same. */
	vec_push(&d.processes, other);
	busy = (struct diagnosed_busy){.process = 1, .samples = 90};
	vec_push(&d.busy, busy);
	busy.samples = 79;
	vec_push(&d.busy, busy);
	findings_make(&f, &d);
	assert_int_equal(f.v.data[0].evidence.len, 3);
	assert_string_equal(f.v.data[0].evidence.data[2],
			    "so does <0.10.0> second, in 90 of these samples");
	findings_free(&f);
	diagnosis_free(&d);
}

/* What was used adds up. */
static void test_host_cpu(void **state)
{
	struct diagnosis d = {.duration_ns = 5000000000ull, .samples = 11, .throttled = NAN};
	struct findings f;

	(void)state;
	d.cpu_wait = 0.5;
	d.cpu_used = 0.5;
	vec_push(&d.cpu_users, "bash (pid 5): 0.9 cores");
	d.nr_cpus = 2;
	d.host_cpu = 1.9;
	d.other_cpu = 0.4;
	findings_make(&f, &d);
	assert_int_equal(f.v.data[0].evidence.len, 4);
	assert_string_equal(
		f.v.data[0].evidence.data[2],
		"other processes, also those that have exited, and interrupts used 0.4 cores");
	assert_string_equal(f.v.data[0].evidence.data[3],
			    "the host has 2 CPUs, of which 1.9 were used");
	findings_free(&f);
	d.stolen_cpu = 0.3;
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].evidence.data[4],
			    "the hypervisor gave 0.3 of these to other virtual machines (steal)");
	findings_free(&f);
	diagnosis_free(&d);
}

static void expect_atoms(struct series atoms, const char *title)
{
	struct diagnosis d = {.duration_ns = 5000000000ull,
			      .samples = 11,
			      .scheduler_samples = 100,
			      .cpu_wait = NAN,
			      .throttled = NAN};
	struct findings f;

	d.atoms = atoms;
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 1);
	assert_string_equal(f.v.data[0].title.buf, title);
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_burst(void **state)
{
	(void)state;
	expect_atoms(SERIES(1000, 1000, 1700, 2000, 2000, 2000, 2000, 2000, 2001),
		     "1,001 new atoms in one burst");
	/* Two of them; one that goes on. */
	expect_atoms(SERIES(1000, 1500, 1500, 1500, 1500, 1500, 1500, 2000, 2000),
		     "atoms are created steadily: 200 per second");
	expect_atoms(SERIES(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1500, 2000),
		     "atoms are created steadily: 200 per second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_running),
					   cmocka_unit_test(test_host_cpu),
					   cmocka_unit_test(test_burst)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
