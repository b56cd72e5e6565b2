/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows from what was seen of a node: rules at and below their thresholds, and the order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "model/diagnosis.h"
#include "target/resources.h"

#define MIB (1u << 20)

static struct series series(unsigned int nr, const double *v)
{
	struct series s = {.nr = 0};

	for (unsigned int i = 0; i < nr; i++)
		series_add(&s, v[i]);
	return s;
}
#define SERIES(...)                                                                                \
	series(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static struct diagnosis nothing(void)
{
	return (struct diagnosis){.duration_ns = 5000000000ull,
				  .looks = 250,
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

/* The only finding; NULL id: there must be none.  Its weight. */
static double check_one(struct diagnosis *d, const char *id, enum finding_severity severity,
			const char *title)
{
	double weight = 0;
	struct findings f;

	findings_make(&f, d);
	assert_int_equal(f.v.len, id != NULL);
	if (id) {
		assert_string_equal(f.v.data[0].id, id);
		assert_int_equal(f.v.data[0].severity, severity);
		assert_string_equal(f.v.data[0].title.buf, title);
		assert_true(f.v.data[0].evidence.len > 0);
		assert_true(f.v.data[0].commands.len > 0);
		weight = f.v.data[0].weight;
		assert_true(weight >= 0 && weight <= 100);
	}
	findings_free(&f);
	return weight;
}

static void test_series(void **state)
{
	struct series s = {.nr = 0};

	(void)state;
	assert_true(isnan(series_first(&s)) && isnan(series_last(&s)));
	assert_true(series_growth(&s) == 0);
	s = SERIES(1, 2, 3, 4);
	assert_true(series_growth(&s) == 3);
	s = SERIES(4, 3, 2, 1);
	assert_true(series_growth(&s) == 0);
	s = SERIES(1, 1, 1, 9, 9); /* one leap may be all there is */
	assert_true(series_growth(&s) == 0);
	s = SERIES(10, 20, 19, 19, 30, 29); /* leaps, and a little less after each */
	assert_true(series_growth(&s) == 19);
	s = SERIES(10, 50, 12, 48, 14, 50); /* garbage comes and goes */
	assert_true(series_growth(&s) == 0);
	for (unsigned int i = 0; i < 3 * SERIES_MAX; i++)
		series_add(&s, i);
	assert_int_equal(s.nr, SERIES_MAX);
	assert_true(series_last(&s) == 3 * SERIES_MAX - 1);
}

static void test_nothing(void **state)
{
	struct diagnosis d = nothing(), zero = {0};

	(void)state;
	check_one(&d, NULL, 0, NULL);
	check_one(&zero, NULL, 0, NULL);
}

static void test_mailboxes(void **state)
{
	struct diagnosed_process p = {
		.pid = "<0.80.0>", .name = "slow", .queue_first = 800, .queue_min = 800};
	struct diagnosis d = nothing();

	(void)state;
	p.queue_last = 999;
	vec_push(&d.processes, p);
	check_one(&d, NULL, 0, NULL);
	d.processes.data[0].queue_last = 1000;
	check_one(&d, "mailbox_grows", FINDING_WARNING,
		  "the mailbox of <0.80.0> slow has 1,000 messages, and grows");
	d.processes.data[0].queue_last = 100000000;
	check_one(&d, "mailbox_grows", FINDING_CRITICAL,
		  "the mailbox of <0.80.0> slow has 100,000,000 messages, and grows");
	/* It has them, and no more come; it was nearly empty in between. */
	d.processes.data[0].queue_first = d.processes.data[0].queue_min = 20000;
	d.processes.data[0].queue_last = 20000;
	check_one(&d, "mailbox_long", FINDING_WARNING,
		  "the mailbox of <0.80.0> slow has 20,000 messages");
	d.processes.data[0].queue_min = 10;
	check_one(&d, "mailbox_long", FINDING_NOTE,
		  "the mailbox of <0.80.0> slow has 20,000 messages");
	diagnosis_free(&d);
}

static void test_waits(void **state)
{
	struct diagnosed_process a = {.pid = "<0.1.0>", .name = "a", .function = "gen:call/4"};
	struct diagnosed_process b = {.pid = "<0.2.0>", .waiting = 10, .behind = 12};
	const uint32_t circle[] = {0, 1};
	struct diagnosed_path path = {circle, 2};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	b.queue_min = b.queue_first = b.queue_last = 9;
	vec_push(&d.processes, a);
	vec_push(&d.processes, b);
	check_one(&d, "bottleneck", FINDING_WARNING, "10 processes wait for the answer of <0.2.0>");
	d.processes.data[1].waiting = 9;
	check_one(&d, NULL, 0, NULL);
	vec_push(&d.circles, path);
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 1);
	assert_int_equal(f.v.data[0].severity, FINDING_CRITICAL);
	assert_string_equal(f.v.data[0].title.buf, "deadlock of 2 processes");
	assert_string_equal(f.v.data[0].evidence.data[0],
			    "<0.1.0> a waits for the answer of <0.2.0>, in gen:call/4");
	assert_string_equal(f.v.data[0].evidence.data[1],
			    "<0.2.0> waits for the answer of <0.1.0> a");
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_slices(void **state)
{
	struct diagnosed_scheduler s = {.type = "normal",
					.number = 1,
					.nr_seen = 250,
					.nr_busy = 250,
					.longest_ns = 99000000,
					.pid = "<0.9.0>"};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.schedulers, s);
	s.longest_ns = 0;
	s.number = 2;
	vec_push(&d.schedulers, s);
	check_one(&d, NULL, 0, NULL);
	d.schedulers.data[0].longest_ns = 200000000;
	check_one(&d, "long_slices", FINDING_WARNING,
		  "a process kept a scheduler for 200.0 ms without a pause");
	for (int i = 0; i < 2; i++) {
		d.schedulers.data[i].longest_ns = 4900000000;
		d.schedulers.data[i].lasts = true;
	}
	check_one(&d, "schedulers_stuck", FINDING_CRITICAL,
		  "all 2 schedulers are stuck: no other process runs");
	/* Of a node that is stopped it says nothing. */
	d.stopped = true;
	d.run_queue = 100;
	check_one(&d, "stopped", FINDING_CRITICAL, "the node is stopped by a signal or a debugger");
	diagnosis_free(&d);
}

static void test_dirty(void **state)
{
	struct diagnosed_scheduler s = {
		.type = "dirty IO", .dirty = true, .nr_seen = 250, .nr_busy = 200};
	struct diagnosis d = nothing();

	(void)state;
	/* A NIF may be long there. */
	s.longest_ns = 5000000000;
	d.dirty_io_queue = 3;
	vec_push(&d.schedulers, s);
	check_one(&d, NULL, 0, NULL);
	d.schedulers.data[0].nr_busy = 250;
	check_one(&d, "dirty_pool_taken", FINDING_WARNING, "all 1 dirty IO schedulers are taken");
	d.dirty_io_queue = 30;
	check_one(&d, "dirty_pool_taken", FINDING_CRITICAL, "all 1 dirty IO schedulers are taken");
	diagnosis_free(&d);
}

static void test_shares(void **state)
{
	struct diagnosis d = nothing();

	(void)state;
	d.nr_running = 49;
	d.nr_gc = 49;
	check_one(&d, NULL, 0, NULL); /* too little work */
	d.nr_running = 200;
	d.nr_gc = 30;
	check_one(&d, "gc", FINDING_NOTE, "15% of the work of schedulers is garbage collection");
	d.nr_gc = 100;
	check_one(&d, "gc", FINDING_WARNING, "50% of the work of schedulers is garbage collection");
	d.nr_gc = 0;
	d.nr_blocked = 40;
	check_one(&d, "lock_contention", FINDING_WARNING, "schedulers wait for locks of the VM");
	d.nr_blocked = 0;
	d.cpu_wait = 0.5;
	d.cpu_used = 1;
	check_one(&d, "cpu_short", FINDING_WARNING,
		  "the host is short of CPU: schedulers wait for one");
	d.cpu_wait = 0.1;
	d.literal_collector = 0.2;
	check_one(&d, NULL, 0, NULL);
	d.literal_collector = 1;
	check_one(&d, "literal_collection", FINDING_WARNING, "literals are collected all the time");
	d.literal_collector = 0;
	d.run_queue = 4;
	check_one(&d, "run_queues", FINDING_NOTE,
		  "more processes want to run than there are schedulers");
}

static void test_memory(void **state)
{
	struct diagnosed_memory total = {"total", SERIES(100.0 * MIB, 110.0 * MIB, 120.0 * MIB)};
	struct diagnosed_allocator heaps = {"eheap_alloc", 100u * MIB, 250u * MIB};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.memory, total);
	check_one(&d, "memory_grows", FINDING_WARNING,
		  "memory of the VM grows by 4.0 MiB per second");
	/* There are 4 minutes left. */
	d.rss = SERIES(200.0 * MIB);
	d.memory_max = 1160ull * MIB;
	check_one(&d, "memory_grows", FINDING_CRITICAL,
		  "memory of the VM grows by 4.0 MiB per second");
	d.memory.data[0].bytes = SERIES(100.0 * MIB, 110.0 * MIB, 90.0 * MIB, 120.0 * MIB);
	check_one(&d, NULL, 0, NULL);
	vec_push(&d.allocators, heaps);
	check_one(&d, NULL, 0, NULL);
	d.allocators.data[0].carriers_size = 301u * MIB;
	check_one(&d, "fragmentation", FINDING_WARNING,
		  "eheap_alloc holds 201.0 MiB that no block uses");
	diagnosis_free(&d);
}

static void test_limits(void **state)
{
	struct diagnosed_limit limit = {"processes", "ps", 59, 100};
	struct diagnosis d = nothing();
	double before;

	(void)state;
	vec_push(&d.limits, limit);
	check_one(&d, NULL, 0, NULL);
	d.limits.data[0].used = 60;
	check_one(&d, "limit", FINDING_NOTE, "60% of the limit of processes are used");
	d.limits.data[0].used = 80;
	before = check_one(&d, "limit", FINDING_WARNING, "80% of the limit of processes are used");
	d.limits.data[0].used = 99;
	assert_true(check_one(&d, "limit", FINDING_CRITICAL,
			      "99% of the limit of processes are used") > before);
	diagnosis_free(&d);
}

static void test_order(void **state)
{
	struct diagnosed_restart restart = {"worker", "<0.5.0> sup", 3};
	struct diagnosed_limit limit = {"atoms", NULL, 99, 100};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	d.atoms = SERIES(1000, 1010, 1030);
	vec_push(&d.restarts, restart);
	vec_push(&d.limits, limit);
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 3);
	assert_string_equal(f.v.data[0].id, "limit");
	assert_string_equal(f.v.data[1].id, "restart_loop");
	assert_string_equal(f.v.data[2].id, "atoms_grow");
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_resources(void **state)
{
	static const char stat[] = "usage_usec 5\nnr_periods 70\nnr_throttled 7\n";
	static const char hybrid[] = "5:cpu,cpuacct:/a\n4:memory:/b\n0::/c\n";
	char path[64];
	bool v2;

	(void)state;
	assert_int_equal(resources_number(stat, "nr_periods", 1), 70);
	assert_int_equal(resources_number(stat, "nr_throttled", 1), 7);
	assert_int_equal(resources_number(stat, "nr", 1), 1);
	assert_int_equal(resources_number("MemAvailable:   12 kB\n", "MemAvailable", 0), 12);
	assert_int_equal(resources_number("", "nr_periods", 3), 3);
	assert_true(resources_cgroup(hybrid, "cpu", path, sizeof(path), &v2));
	assert_string_equal(path, "/a");
	assert_false(v2);
	assert_true(resources_cgroup(hybrid, "memory", path, sizeof(path), &v2));
	assert_string_equal(path, "/b");
	assert_true(resources_cgroup("0::/c\n", "memory", path, sizeof(path), &v2));
	assert_string_equal(path, "/c");
	assert_true(v2);
	assert_false(resources_cgroup("5:cpu:/a\n", "memory", path, sizeof(path), &v2));
	assert_false(resources_cgroup("nonsense", "memory", path, sizeof(path), &v2));
	assert_false(resources_cgroup("", "memory", path, sizeof(path), &v2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series),	  cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_mailboxes), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_slices),	  cmocka_unit_test(test_dirty),
		cmocka_unit_test(test_shares),	  cmocka_unit_test(test_memory),
		cmocka_unit_test(test_limits),	  cmocka_unit_test(test_order),
		cmocka_unit_test(test_resources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
