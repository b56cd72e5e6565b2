/* SPDX-License-Identifier: BSD-2-Clause */
/* Weights of times off CPUs: sums of many are right, whatever was left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "event/off_cpu.h"

#define LEAST_NS 10000000u

static struct rec_raw_off_cpu blocked(uint64_t ns, uint64_t runnable_ns, uint32_t every)
{
	return (struct rec_raw_off_cpu){
		.h.ts_ns = 1000 + ns,
		.since_ns = 1000,
		.woken_ns = runnable_ns ? 1000 + ns - runnable_ns : 0,
		.every = every,
		.least_ns = LEAST_NS,
	};
}

static void long_ones_stand_for_themselves(void **state)
{
	struct rec_raw_off_cpu raw = blocked(30000000, 10000000, 7);
	struct off_cpu_part waited, runnable;

	(void)state;
	assert_true(off_cpu_parts(&raw, SAMPLE_OFF_FILE, &waited, &runnable));
	assert_int_equal(waited.ns, 20000000);
	assert_int_equal(waited.kind, SAMPLE_OFF_FILE);
	assert_int_equal(runnable.ns, 10000000);
	assert_int_equal(runnable.kind, SAMPLE_OFF_WOKEN);
	assert_true(waited.variance == 0 && runnable.variance == 0);
	/* Also if they were not copied. */
	raw.every = 0;
	raw.flags = OFF_CPU_ALONE;
	assert_true(off_cpu_parts(&raw, SAMPLE_OFF_FILE, &waited, &runnable));
	assert_int_equal(waited.ns, 20000000);
}

/* As the BPF program chooses: the mean of the sums is the sum of all. */
static void short_ones_stand_for_others(void **state)
{
	static const uint64_t lengths[] = {1000, 300000, 2000000, 9999999};
	static const uint32_t everys[] = {1, 3, 20};
	unsigned int random = 4711;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 3; k++) {
			struct rec_raw_off_cpu raw = blocked(lengths[i], 0, everys[k]);
			double sum = 0, variance = 0, off;
			struct off_cpu_part waited, runnable;

			for (int n = 0; n < 200000; n++) {
				uint64_t weighed = lengths[i] * everys[k];

				if (rand_r(&random) % everys[k] ||
				    (uint64_t)rand_r(&random) % LEAST_NS >= weighed)
					continue;
				assert_true(
					off_cpu_parts(&raw, SAMPLE_OFF_FUTEX, &waited, &runnable));
				sum += (double)waited.ns;
				variance += waited.variance;
			}
			off = sum - 200000.0 * (double)lengths[i];
			assert_true(off * off <= 16 * variance + 1);
		}
}

static void what_cannot_be_is_refused(void **state)
{
	struct rec_raw_off_cpu raw = blocked(1000, 0, 0);
	struct off_cpu_part waited, runnable;

	(void)state;
	assert_false(off_cpu_parts(&raw, SAMPLE_OFF_FILE, &waited, &runnable));
	raw.every = 1;
	assert_true(off_cpu_parts(&raw, SAMPLE_OFF_FILE, &waited, &runnable));
	raw.since_ns = 1u << 30;
	assert_false(off_cpu_parts(&raw, SAMPLE_OFF_FILE, &waited, &runnable));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_ones_stand_for_themselves),
		cmocka_unit_test(short_ones_stand_for_others),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
