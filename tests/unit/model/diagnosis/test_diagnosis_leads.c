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

#include "lib/diagnosed.h"
#include "lib/series.h"

#define MIB 1048576.0

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
	assert_string_equal(x->commands.data[0], "mem --tags --watch 5s");
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

static void test_of_libc(void **state)
{
	struct diagnosis d = nothing();
	struct findings f;
	struct finding *x;

	UNUSED(state);
	d.rss = grows(160 * MIB, 0.12 * MIB);
	d.malloc = grows(90 * MIB, 0.12 * MIB);
	x = first(&f, &d, "malloc_grows");
	assert_string_equal(x->title.buf, "memory of malloc(3) grows by 245.8 KiB per second, "
					  "outside of the VM");
	assert_int_equal(x->severity, FINDING_WARNING);
	assert_true(has(x, "from 90.0 MiB to 91.2 MiB in 5.0 s"));
	assert_true(has(x, "that is 57% of the resident memory of 161.2 MiB"));
	assert_string_equal(x->commands.data[0], "record --mode malloc --leak -d 1m -f text");
	findings_free(&f);
	/* Small, and little of it; the same by chance; much that does not grow. */
	d.malloc = grows(10 * MIB, 0.06 * MIB);
	x = first(&f, &d, "malloc_grows");
	assert_int_equal(x->severity, FINDING_NOTE);
	findings_free(&f);
	d.malloc = SERIES(10 * MIB, 10 * MIB, 10.1 * MIB, 10 * MIB, 10 * MIB, 10.7 * MIB);
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 0);
	findings_free(&f);
	d.malloc = grows(90 * MIB, 0);
	x = first(&f, &d, "malloc_large");
	assert_int_equal(x->severity, FINDING_NOTE);
	assert_int_equal(f.v.len, 1);
	findings_free(&f);
	/* One finding of the same memory, not two. */
	d.rss = grows(600 * MIB, 2 * MIB);
	d.beyond = grows(500 * MIB, 2 * MIB);
	d.malloc = grows(400 * MIB, 2 * MIB);
	first(&f, &d, "malloc_grows");
	assert_int_equal(f.v.len, 1);
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_overdue(void **state)
{
	struct diagnosis d = nothing();
	struct diagnosed_process p = {
		.pid = "<0.80.0>", .name = "stats", .function = "timer:sleep/1"};
	struct findings f;
	struct finding *x;

	UNUSED(state);
	vec_push(&d.processes, p);
	vec_push(&d.overdue, ((struct diagnosed_overdue){0, 12300}));
	d.nr_overdue = 1;
	x = first(&f, &d, "timers_overdue");
	assert_string_equal(x->title.buf,
			    "1 timer is overdue: a scheduler does not handle its timers");
	assert_int_equal(x->severity, FINDING_WARNING);
	assert_true(has(x, "<0.80.0> stats waits in timer:sleep/1 for a time that was over 12.3 s "
			   "ago"));
	assert_string_equal(x->commands.data[1], "inspect '<0.80.0>'");
	findings_free(&f);
	d.nr_overdue = 10;
	x = first(&f, &d, "timers_overdue");
	assert_int_equal(x->severity, FINDING_CRITICAL);
	findings_free(&f);
	d.stopped = true;
	first(&f, &d, "stopped");
	assert_int_equal(f.v.len, 1);
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_table_of_a_lock(void **state)
{
	struct diagnosis d = nothing();
	struct findings f;
	struct finding *x;

	UNUSED(state);
	d.nr_running = 400;
	d.nr_blocked = 200;
	d.nr_blocked_schedulers = 4;
	x = first(&f, &d, "lock_contention");
	assert_string_equal(x->title.buf, "schedulers wait for locks of the VM");
	assert_string_equal(x->commands.data[0], "locks -d 10");
	findings_free(&f);
	vec_push(&d.blocked_on, ((struct diagnosed_lock){"hits", 150, false}));
	vec_push(&d.blocked_on, ((struct diagnosed_lock){"limits", 20, true}));
	x = first(&f, &d, "lock_contention");
	assert_string_equal(x->title.buf, "schedulers wait for locks of the VM, most for the ETS "
					  "table hits");
	assert_true(has(x, "150 of them used the ETS table hits, which has no write_concurrency"));
	assert_string_equal(x->commands.data[1], "ets 'hits'");
	findings_free(&f);
	diagnosis_free(&d);
}

/* When limits are reached; limits that nothing comes near are not spoken of. */
static void test_time_to_a_limit(void **state)
{
	const struct diagnosed_limit atoms = {"atoms", "mem", 48576, 1048576};
	const struct diagnosed_limit ports = {"ports", "port", 1000, 65536};
	struct diagnosis d = nothing();
	struct findings f;
	struct finding *x;

	UNUSED(state);
	d.atoms = grows(48476, 10); /* 20 a second */
	x = first(&f, &d, "atoms_grow");
	assert_false(has(x, "at this rate"));
	findings_free(&f);
	vec_push(&d.limits, atoms);
	x = first(&f, &d, "atoms_grow");
	assert_true(has(x, "at this rate the limit of 1,048,576 atoms is reached in 13h53m"));
	findings_free(&f);
	d.atoms = grows(48576, 0);
	vec_push(&d.limits, ports);
	d.nr_ports = grows(0, 100); /* 200 a second */
	x = first(&f, &d, "ports_grow");
	assert_string_equal(x->title.buf, "the number of ports grows by 200 per second");
	assert_true(has(x, "at this rate the limit of 65,536 ports is reached in 5m"));
	findings_free(&f);
	d.nr_ports = grows(1000, 0);
	d.nr_tables = grows(1000, 100);
	x = first(&f, &d, "ets_tables_grow");
	assert_false(has(x, "at this rate"));
	findings_free(&f);
	diagnosis_free(&d);
}

/* A process that is collected for much of the time is no fault, unless others wait for it. */
static void test_server_that_is_collected(void **state)
{
	struct diagnosis d = nothing();
	struct diagnosed_process p = {.pid = "<0.3.0>", .heap_last = 150 * (uint64_t)MIB};
	struct findings f;
	struct finding *x;

	UNUSED(state);
	d.scheduler_samples = 500;
	vec_push(&d.processes, p);
	vec_push(&d.collecting, ((struct diagnosed_busy){0, 125}));
	findings_make(&f, &d);
	for (size_t i = 0; i < f.v.len; i++)
		assert_string_not_equal(f.v.data[i].id, "server_collects");
	findings_free(&f);
	d.processes.data[0].waiting = 20;
	x = first(&f, &d, "server_collects");
	assert_int_equal(x->severity, FINDING_WARNING);
	assert_string_equal(x->title.buf, "<0.3.0>, for which 20 processes wait, is collected for "
					  "25% of the time");
	assert_true(has(x, "its heap has 150.0 MiB"));
	findings_free(&f);
	d.collecting.data[0].samples = 99;
	findings_make(&f, &d);
	for (size_t i = 0; i < f.v.len; i++)
		assert_string_not_equal(f.v.data[i].id, "server_collects");
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_binaries_that_are_hardly_used(void **state)
{
	struct diagnosis d = nothing();
	struct diagnosed_process p = {.pid = "<0.3.0>",
				      .binaries = 200 * (uint64_t)MIB,
				      .nr_binaries = 401,
				      .binaries_used = 28 * 1024,
				      .binaries_garbage = NAN};
	struct diagnosed_memory total = {.type = "total"}, binary = {.type = "binary"};
	struct findings f;
	struct finding *x;

	UNUSED(state);
	total.bytes = grows(300 * MIB, 0);
	binary.bytes = grows(210 * MIB, 0);
	vec_push(&d.memory, total);
	vec_push(&d.memory, binary);
	vec_push(&d.processes, p);
	x = first(&f, &d, "binaries");
	assert_int_equal(x->certainty, FINDING_LIKELY);
	assert_true(has(x, "<0.3.0> uses 28.0 KiB of these 200.0 MiB: its terms are parts"));
	findings_free(&f);
	d.processes.data[0].binaries_garbage = 0.5 * MIB;
	x = first(&f, &d, "binaries");
	assert_int_equal(x->certainty, FINDING_CERTAIN);
	assert_true(has(x, "its terms are parts"));
	assert_false(has(x, "only garbage"));
	findings_free(&f);
	d.processes.data[0].binaries_garbage = 150 * MIB;
	x = first(&f, &d, "binaries");
	assert_true(has(x, "only garbage on its heap refers to 150.0 MiB of these"));
	assert_false(has(x, "its terms are parts"));
	findings_free(&f);
	d.processes.data[0].binaries_garbage = NAN;
	d.processes.data[0].binaries_used = 190 * MIB;
	x = first(&f, &d, "binaries");
	assert_int_equal(x->certainty, FINDING_POSSIBLE);
	assert_true(has(x, "<0.3.0> uses 190.0 MiB of these 200.0 MiB"));
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_order_and_size(void **state)
{
	struct diagnosis d = nothing();
	struct diagnosed_table table = {.name = "carts", .seconds = 5, .bytes = 344 * 1024};
	struct findings f;

	UNUSED(state);
	/* A small cache that fills. */
	table.objects = grows(2154, 62.8);
	vec_push(&d.tables, table);
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 0);
	findings_free(&f);
	/* The host is short of CPU, whatever else: after what is of the node. */
	d.cpu_wait = 0.9;
	d.cpu_used = 2;
	d.literal_collector = 0.3;
	first(&f, &d, "literal_collection");
	assert_int_equal(f.v.len, 2);
	assert_int_equal(f.v.data[1].severity, FINDING_WARNING);
	findings_free(&f);
	diagnosis_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocator_that_grows),
		cmocka_unit_test(test_of_libc),
		cmocka_unit_test(test_overdue),
		cmocka_unit_test(test_table_of_a_lock),
		cmocka_unit_test(test_binaries_that_are_hardly_used),
		cmocka_unit_test(test_time_to_a_limit),
		cmocka_unit_test(test_server_that_is_collected),
		cmocka_unit_test(test_order_and_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
