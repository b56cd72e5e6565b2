/* SPDX-License-Identifier: BSD-2-Clause */
/* What findings lead to: who or what it is, and the command that shows more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "model/diagnosis/diagnosis.h"

#include "lib/series.h"

#define MIB 1048576.0

static struct diagnosis nothing(void)
{
	return (struct diagnosis){.duration_ns = 5000000000ull,
				  .scheduler_samples = 250,
				  .samples = 11,
				  .cpu_wait = NAN,
				  .cpu_used = NAN,
				  .throttled = NAN,
				  .spawned_per_s = NAN,
				  .run_queue = NAN,
				  .dirty_cpu_queue = NAN,
				  .dirty_io_queue = NAN,
				  .literal_collector = NAN};
}

static struct series grows(double from, double step)
{
	struct series s = {.nr = 0};

	for (int i = 0; i <= 10; i++)
		series_add(&s, from + step * i);
	return s;
}

static bool has(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->evidence.len; i++)
		if (strstr(f->evidence.data[i], text))
			return true;
	return false;
}

/* The first finding, which must be this one. */
static struct finding *first(struct findings *f, const struct diagnosis *d, const char *id)
{
	findings_make(f, d);
	assert_true(f->v.len > 0);
	assert_string_equal(f->v.data[0].id, id);
	return &f->v.data[0];
}

static void test_allocator_that_grows(void **state)
{
	struct diagnosis d = nothing();
	struct diagnosed_allocator a = {.type = "driver_alloc"};
	struct diagnosed_memory total = {.type = "total"}, processes = {.type = "processes"};
	struct findings f;
	struct finding *x;

	UNUSED(state);
	total.bytes = grows(100 * MIB, 0.6 * MIB);
	processes.bytes = grows(20 * MIB, 0);
	a.blocks = grows(60 * MIB, 0.6 * MIB);
	vec_push(&d.memory, total);
	vec_push(&d.memory, processes);
	vec_push(&d.allocators, a);
	x = first(&f, &d, "memory_grows");
	assert_string_equal(x->title.buf, "memory of NIFs and drivers (driver_alloc) grows by 1.2 "
					  "MiB per second");
	assert_int_equal(x->certainty, FINDING_LIKELY);
	assert_int_equal(x->severity, FINDING_WARNING);
	assert_true(has(x, "driver_alloc: 6.0 MiB more, 66.0 MiB now: what NIFs and drivers got"));
	assert_string_equal(x->commands.data[0], "mem --tags");
	findings_free(&f);
	/* Another allocator: no blocks of it have a tag. */
	d.allocators.data[0].type = "std_alloc";
	x = first(&f, &d, "memory_grows");
	assert_string_equal(x->title.buf, "memory of the VM grows by 1.2 MiB per second");
	assert_int_equal(x->certainty, FINDING_POSSIBLE);
	assert_true(has(x, "std_alloc: 6.0 MiB more"));
	assert_string_equal(x->commands.data[0], "mem");
	assert_int_equal(x->commands.len, 1);
	findings_free(&f);
	/* One of those that have a type of their own is named as that. */
	d.allocators.data[0].type = "eheap_alloc";
	d.memory.data[1].bytes = grows(20 * MIB, 0.6 * MIB);
	x = first(&f, &d, "memory_grows");
	assert_false(has(x, "eheap_alloc"));
	assert_true(has(x, "processes: 6.0 MiB more"));
	assert_string_equal(x->commands.data[1], "ps --sort memory");
	findings_free(&f);
	diagnosis_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocator_that_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
