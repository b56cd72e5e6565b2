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
#include "model/diagnosis/diagnosis.h"
#include "target/resources.h"

#include "lib/diagnosed.h"
#include "lib/series.h"

#define MIB (1u << 20)

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

static void test_slow_growth(void **state)
{
	struct diagnosed_process p = {.pid = "<0.80.0>",
				      .queue_first = 50000,
				      .queue_min = 50000,
				      .queue_last = 50100,
				      .queue_growth = {20, 4}};
	struct diagnosed_memory total = {"total", SERIES(0)};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	vec_push(&d.processes, p);
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].title.buf,
			    "the mailbox of <0.80.0> has 50,100 messages, and grows");
	assert_string_equal(f.v.data[0].evidence.data[0], "from 50,000 to 50,100 in 5.0 s: 20 more "
							  "per second, give or take 4.0");
	assert_int_equal(f.v.data[0].severity, FINDING_WARNING);
	findings_free(&f);
	d.processes.data[0].queue_growth.error = 30;
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].id, "mailbox_long");
	assert_string_equal(f.v.data[0].evidence.data[1], "its growth may be chance: 20 "
							  "more per second, give or take 30");
	findings_free(&f);
	d.processes.data[0].queue_growth = (struct growth){-20, 3};
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].evidence.data[1],
			    "it gets shorter: 20 fewer per second, give or take 3.0");
	findings_free(&f);
	d.processes.len = 0;
	/* 300 KiB a second are a note, and more if they last. */
	vec_push(&d.memory, total);
	for (int i = 0; i <= 10; i++)
		series_add(&d.memory.data[0].bytes, (500.0 + 0.15 * i + 0.01 * (i % 2)) * MIB);
	d.memory.data[0].bytes.v[0] = 500.0 * MIB;
	check_one(&d, "memory_grows", FINDING_NOTE,
		  "memory of the VM grows by 307.2 KiB per second");
	d.duration_ns = 40000000000ull;
	for (unsigned int i = 0; i < d.memory.data[0].bytes.nr; i++)
		d.memory.data[0].bytes.v[i] = (500.0 + 1.2 * i) * MIB;
	d.memory.data[0].bytes.last = 512.0 * MIB;
	check_one(&d, "memory_grows", FINDING_WARNING,
		  "memory of the VM grows by 307.2 KiB per second");
	/* Garbage that comes and goes is none. */
	for (unsigned int i = 0; i < d.memory.data[0].bytes.nr; i++)
		d.memory.data[0].bytes.v[i] = (500.0 + 20 * (i % 3)) * MIB;
	check_one(&d, NULL, 0, NULL);
	diagnosis_free(&d);
}

/* What a node brings with it as it starts. */
static void test_code_is_loaded(void **state)
{
	struct diagnosed_memory total = {"total", SERIES(10.0 * MIB, 20.0 * MIB, 30.0 * MIB)};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	vec_push(&d.memory, total);
	d.atoms = SERIES(8000, 14000, 20000);
	d.code = SERIES(4.0 * MIB, 12.0 * MIB);
	d.duration_ns = 1000000000;

	findings_make(&f, &d);
	assert_int_equal(f.v.len, 2);
	assert_int_equal(f.v.data[0].severity, FINDING_NOTE);
	assert_string_equal(f.v.data[0].evidence.data[1],
			    "modules were loaded meanwhile: 8.0 MiB of code");
	findings_free(&f);
	/* One small module is no reason for that. */
	d.code = SERIES(4.0 * MIB, 4.01 * MIB);
	findings_make(&f, &d);
	assert_int_equal(f.v.data[0].severity, FINDING_WARNING);
	assert_int_equal(f.v.data[1].severity, FINDING_WARNING);
	findings_free(&f);
	diagnosis_free(&d);
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
	/* A batch came just now: once longer is not growing. */
	d.processes.data[0].queue_last = 1500;
	check_one(&d, "mailbox_long", FINDING_NOTE,
		  "the mailbox of <0.80.0> slow has 1,500 messages");
	d.processes.data[0].queue_grew = true;
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

static void test_multi_scheduling(void **state)
{
	struct diagnosis d = nothing();

	(void)state;
	d.samples = 4;
	d.nr_msched_blocked = 4;
	d.dirty_blocked = true;
	d.msched_blocker = "<0.80.0> deploy";
	check_one(&d, "multi_scheduling_blocked", FINDING_CRITICAL,
		  "multi-scheduling is blocked by <0.80.0> deploy");
	d.nr_msched_blocked = 1;
	check_one(&d, "multi_scheduling_blocked", FINDING_WARNING,
		  "multi-scheduling is blocked by <0.80.0> deploy");
	d.nr_msched_blocked = 0;
	check_one(&d, NULL, 0, NULL);
	diagnosis_free(&d);
}

static void test_waits(void **state)
{
	struct diagnosed_process a = {.pid = "<0.1.0>", .name = "a", .function = "gen:call/4"};
	struct diagnosed_process b = {.pid = "<0.2.0>", .waiting = 10, .behind = 12};
	const uint32_t circle[] = {0, 1};
	struct diagnosed_path path = {circle, 2, 2};
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
	/* Of many, and of large ones, a part is shown, and how many there are. */
	d.circles.data[0].total = 30;
	d.nr_circles = 3;
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].title.buf, "deadlock of 30 processes");
	assert_string_equal(f.v.data[0].evidence.data[1],
			    "<0.2.0> waits for the answer of a process");
	assert_string_equal(f.v.data[0].evidence.data[3], "there are 2 more deadlocks");
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
		  "a process kept a scheduler for 200.0 ms without yielding");
	for (int i = 0; i < 2; i++) {
		d.schedulers.data[i].longest_ns = 4900000000;
		d.schedulers.data[i].lasts = true;
	}
	check_one(&d, "schedulers_stuck", FINDING_CRITICAL,
		  "all 2 schedulers are stuck: no other process runs");
	/* Those that are offline do not count. */
	s.number = 3;
	s.offline = true;
	s.nr_busy = 0;
	vec_push(&d.schedulers, s);
	check_one(&d, "schedulers_stuck", FINDING_CRITICAL,
		  "all 2 schedulers are stuck: no other process runs");
	d.schedulers.data[1].offline = true;
	d.schedulers.data[1].longest_ns = 0;
	check_one(&d, "schedulers_stuck", FINDING_CRITICAL,
		  "the only scheduler is stuck: no other process runs");
	/* Of a node that is stopped it says nothing. */
	d.stopped = true;
	d.run_queue = 100;
	d.nr_running = d.nr_gc = 200;
	d.literal_collector = 1;
	check_one(&d, "stopped", FINDING_CRITICAL, "the node is stopped by a signal or a debugger");
	diagnosis_free(&d);
}

static void test_dirty(void **state)
{
	struct diagnosed_scheduler s = {
		.type = "dirty IO", .dirty = true, .nr_seen = 250, .nr_busy = 200};
	struct diagnosis d = nothing();

	(void)state;
	/* All for a good part of the time, and that with processes that wait. */
	vec_push(&d.dirty_io_busy, 100);
	vec_push(&d.dirty_io_busy, 150);
	/* A NIF may be long there. */
	s.longest_ns = 5000000000;
	d.dirty_io_queue = 3;
	vec_push(&d.schedulers, s);
	check_one(&d, "dirty_pool_taken", FINDING_WARNING,
		  "the only dirty IO scheduler is busy for 60% of the time");
	d.dirty_io_queue = 0.1;
	check_one(&d, "dirty_pool_taken", FINDING_NOTE,
		  "the only dirty IO scheduler is busy for 60% of the time");
	d.dirty_io_queue = 3;
	d.dirty_io_busy.data[0] = 300;
	check_one(&d, NULL, 0, NULL);
	d.schedulers.data[0].nr_busy = 250;
	check_one(&d, "dirty_pool_taken", FINDING_WARNING, "the only dirty IO scheduler is busy");
	d.dirty_io_queue = 30;
	check_one(&d, "dirty_pool_taken", FINDING_CRITICAL, "the only dirty IO scheduler is busy");
	/* While processes wait, one that does nothing is offline. */
	s.nr_busy = 250;
	vec_push(&d.schedulers, s);
	s.nr_busy = 0;
	vec_push(&d.schedulers, s);
	check_one(&d, "dirty_pool_taken", FINDING_CRITICAL, "all 2 dirty IO schedulers are busy");
	d.dirty_io_queue = 0;
	check_one(&d, NULL, 0, NULL);
	diagnosis_free(&d);
}

static void test_busiest(void **state)
{
	struct diagnosed_process p = {.pid = "<0.9.0>", .name = "burner"};
	struct diagnosed_busy busy = {.samples = 79};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.processes, p);
	vec_push(&d.busy, busy);
	d.scheduler_samples = 100;
	check_one(&d, NULL, 0, NULL);
	d.busy.data[0].samples = 96;
	check_one(&d, "busiest_process", FINDING_NOTE,
		  "<0.9.0> burner keeps one scheduler busy for 96% of the time");
	d.scheduler_samples = d.busy.data[0].samples = 49;
	check_one(&d, NULL, 0, NULL); /* too few */
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
	d.scheduler_samples = 500; /* 0.2 schedulers */
	check_one(&d, "gc", FINDING_NOTE, "50% of the work of schedulers is garbage collection");
	d.scheduler_samples = 250;
	d.nr_gc = 0;
	d.nr_blocked = 40;
	d.nr_blocked_schedulers = 1;
	check_one(&d, NULL, 0, NULL);
	d.nr_blocked_schedulers = 2;
	check_one(&d, "lock_contention", FINDING_WARNING, "schedulers wait for locks of the VM");
	d.nr_blocked = 0;
	d.cpu_wait = 0.5;
	d.cpu_used = 1;
	check_one(&d, "cpu_short", FINDING_WARNING,
		  "the host is short of CPU: schedulers wait for one");
	d.cpu_used = 0.05;
	check_one(&d, "cpu_short", FINDING_NOTE,
		  "the host is short of CPU: schedulers wait for one");
	/* Threads that are throttled want to run, too. */
	d.throttled = 0.5;
	check_one(&d, "cpu_throttled", FINDING_WARNING,
		  "the node's CPU is limited by its cgroup, and the limit is reached");
	d.throttled = NAN;
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

/* A process that waits for a lock as others do keeps no scheduler by what it does itself. */
static void test_locks(void **state)
{
	struct diagnosed_scheduler s = {.type = "normal",
					.number = 1,
					.nr_seen = 250,
					.nr_busy = 250,
					.longest_ns = 2000000000,
					.pid = "<0.9.0>",
					.syscall = "futex"};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	vec_push(&d.schedulers, s);
	d.nr_running = 500;
	d.nr_blocked = 200;
	d.nr_blocked_schedulers = 1;
	check_one(&d, "long_slices", FINDING_WARNING,
		  "a process kept a scheduler for 2.00 s without yielding");
	d.nr_blocked_schedulers = 2;
	check_one(&d, "lock_contention", FINDING_WARNING, "schedulers wait for locks of the VM");
	/* All are stuck in it, whatever it is. */
	d.schedulers.data[0].lasts = true;
	d.schedulers.data[0].longest_ns = 4900000000;
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 2);
	assert_string_equal(f.v.data[0].id, "schedulers_stuck");
	assert_string_equal(f.v.data[1].id, "lock_contention");
	findings_free(&f);
	diagnosis_free(&d);
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
	/* There are 50 seconds left. */
	d.rss = SERIES(200.0 * MIB);
	d.memory_max = 400ull * MIB;
	check_one(&d, "memory_grows", FINDING_CRITICAL,
		  "memory of the VM grows by 4.0 MiB per second");
	d.memory.data[0].bytes = SERIES(100.0 * MIB, 110.0 * MIB, 90.0 * MIB, 120.0 * MIB);
	check_one(&d, NULL, 0, NULL);
	vec_push(&d.allocators, heaps);
	check_one(&d, NULL, 0, NULL);
	d.allocators.data[0].carriers_size = 301u * MIB;
	check_one(&d, "fragmentation", FINDING_WARNING,
		  "fragmentation: carriers of eheap_alloc hold 201.0 MiB that no block uses");
	diagnosis_free(&d);
}

static void test_beyond_vm(void **state)
{
	struct diagnosis d = nothing();

	(void)state;
	d.rss = SERIES(900.0 * MIB, 900.0 * MIB, 900.0 * MIB);
	/* For a moment it may be what the VM keeps for later. */
	d.beyond = SERIES(200.0 * MIB, 100.0 * MIB, 400.0 * MIB);
	check_one(&d, NULL, 0, NULL);
	d.beyond = SERIES(300.0 * MIB, 290.0 * MIB, 310.0 * MIB);
	check_one(&d, "memory_beyond_vm", FINDING_NOTE,
		  "290.0 MiB of the resident memory are outside of the VM's allocators");
	d.rss = SERIES(400.0 * MIB, 450.0 * MIB, 500.0 * MIB);
	d.beyond = SERIES(100.0 * MIB, 150.0 * MIB, 200.0 * MIB);
	check_one(&d, "memory_beyond_vm_grows", FINDING_WARNING,
		  "memory outside of the VM's allocators grows by 20.0 MiB per second");
	/* Carriers were given back, and not to the kernel: nothing has grown. */
	d.rss = SERIES(500.0 * MIB, 500.0 * MIB, 500.0 * MIB);
	check_one(&d, NULL, 0, NULL);
	d.rss = SERIES(500.0 * MIB, 501.0 * MIB, 502.0 * MIB);
	check_one(&d, NULL, 0, NULL);
	d.beyond = SERIES(300.0 * MIB, 350.0 * MIB, 400.0 * MIB);
	check_one(&d, "memory_beyond_vm", FINDING_NOTE,
		  "300.0 MiB of the resident memory are outside of the VM's allocators");
}

static void test_tables_and_atoms(void **state)
{
	struct diagnosed_memory total = {"total", SERIES(100.0 * MIB)};
	struct diagnosed_memory code = {"code", SERIES(10.0 * MIB, 11.0 * MIB)};
	struct diagnosed_memory binary = {"binary", SERIES(60.0 * MIB)};
	struct diagnosed_table table = {"cache", "<0.8.0> owner", SERIES(0, 400, 800), 5,
					20ull * MIB};
	struct diagnosed_process holder = {
		.pid = "<0.3.0>", .binaries = 60ull * MIB, .nr_binaries = 20, .binaries_used = NAN};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.tables, table);
	check_one(&d, "ets_grows", FINDING_WARNING,
		  "the ETS table cache grows by 160 objects per second");
	d.tables.data[0].bytes = MIB;
	check_one(&d, "ets_grows", FINDING_NOTE,
		  "the ETS table cache grows by 160 objects per second");
	d.tables.data[0].seconds = 10;
	check_one(&d, NULL, 0, NULL);
	d.atoms = SERIES(1000, 1020, 1050);
	check_one(&d, "atoms_grow", FINDING_WARNING, "atoms are created steadily: 10 per second");
	vec_push(&d.memory, total);
	vec_push(&d.memory, code);
	d.code = code.bytes;
	check_one(&d, "atoms_grow", FINDING_NOTE, "50 new atoms while modules were loaded");
	d.duration_ns *= 10;
	check_one(&d, NULL, 0, NULL);
	vec_push(&d.memory, binary);
	vec_push(&d.processes, holder);
	check_one(&d, "binaries", FINDING_WARNING,
		  "60.0 MiB of 100.0 MiB of the VM's memory are off-heap binaries");
	d.processes.data[0].nr_binaries = 1;
	check_one(&d, "binaries", FINDING_NOTE,
		  "60.0 MiB of 100.0 MiB of the VM's memory are off-heap binaries");
	diagnosis_free(&d);
}

static void test_connections(void **state)
{
	struct diagnosed_connection c = {"b@host", true, true, 2 * MIB, 3};
	struct diagnosed_port p = {"#Port<0.5>", "tcp_inet", NULL, NULL, 2 * MIB, true, true, 0, 0};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.connections, c);
	check_one(&d, "busy_connection", FINDING_WARNING,
		  "the connection to b@host is busy: 3 processes are suspended in a send");
	d.connections.data[0].always = false;
	d.connections.data[0].waiting = 1;
	check_one(&d, "busy_connection", FINDING_NOTE,
		  "the connection to b@host is busy: 1 process is suspended in a send");
	d.connections.data[0].waiting = 0;
	check_one(&d, "busy_connection", FINDING_NOTE, "the connection to b@host is busy");
	d.connections.data[0].busy = false;
	vec_push(&d.ports, p);
	check_one(&d, "busy_port", FINDING_WARNING, "port #Port<0.5> (tcp_inet) is busy");
	d.ports.data[0].always = false;
	check_one(&d, "busy_port", FINDING_NOTE, "port #Port<0.5> (tcp_inet) is busy");
	/* What a socket does not send within the bounds of its queue. */
	d.ports.data[0] = (struct diagnosed_port){.id = "#Port<0.5>",
						  .name = "tcp_inet",
						  .queue = 190000,
						  .busy = true,
						  .sending = 1};
	check_one(&d, NULL, 0, NULL);
	d.ports.data[0].always = true;
	check_one(&d, "busy_port", FINDING_WARNING, "port #Port<0.5> (tcp_inet) is busy");
	diagnosis_free(&d);
}

static void test_samples(void **state)
{
	struct diagnosed_restart restart = {"worker", NULL, "<0.5.0> sup", 5};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	vec_push(&d.restarts, restart);
	check_one(&d, "restart_loop", FINDING_WARNING, "worker is started again and again");
	d.restarts.data[0].name = NULL;
	d.restarts.data[0].child = "<0.9.0> worker:init/1";
	check_one(&d, "restart_loop", FINDING_WARNING,
		  "a child of <0.5.0> sup is started again and again");
	d.duration_ns = 60000000000ull; /* five in a minute may be a schedule */
	check_one(&d, NULL, 0, NULL);
	d.samples = 2;
	findings_make(&f, &d);
	assert_int_equal(f.v.len, 1);
	assert_string_equal(f.v.data[0].id, "few_samples");
	findings_free(&f);
	diagnosis_free(&d);
}

static void test_processes_grow(void **state)
{
	struct diagnosed_limit limit = {"processes", "ps", 4000, 262144};
	struct diagnosis d = nothing();

	(void)state;
	vec_push(&d.limits, limit);
	d.nr_processes = SERIES(1000, 1600, 2200, 2800, 3400, 4000);
	d.spawner = "<0.7.0> leaker";
	check_one(&d, "processes_grow", FINDING_WARNING,
		  "the number of processes grows by 600 per second");
	d.limits.data[0].max = 8000; /* in 7 seconds */
	check_one(&d, "processes_grow", FINDING_CRITICAL,
		  "the number of processes grows by 600 per second");
	/* They come and go. */
	d.nr_processes = SERIES(1000, 1900, 1100, 1800, 1000, 1500);
	check_one(&d, NULL, 0, NULL);
	d.nr_processes = SERIES(1000, 1020, 1040, 1060, 1080, 1100);
	check_one(&d, NULL, 0, NULL);
	diagnosis_free(&d);
}

static void test_timers(void **state)
{
	struct diagnosed_receiver receiver = {"<0.8.0>", "<0.8.0> server", 100000};
	struct diagnosis d = nothing();
	struct findings f;

	(void)state;
	vec_push(&d.receivers, receiver);
	d.nr_receivers = 1;
	d.nr_timers = 99999;
	check_one(&d, NULL, 0, NULL);
	d.nr_timers = 1100000;
	check_one(&d, "timers", FINDING_WARNING, "1,100,000 timers wait to send a message");
	d.receivers.data[0].nr = 100;
	d.nr_receivers = 900000;
	d.more_timers = true;
	check_one(&d, "timers", FINDING_NOTE, "more than 1,100,000 timers wait to send a message");
	findings_make(&f, &d);
	assert_string_equal(f.v.data[0].evidence.data[0], "100 of them to <0.8.0> server");
	assert_string_equal(f.v.data[0].evidence.data[1], "to 900,000 processes in all");
	assert_string_equal(f.v.data[0].commands.data[0], "inspect '<0.8.0>'");
	findings_free(&f);
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
	struct diagnosed_restart restart = {"worker", NULL, "<0.5.0> sup", 3};
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
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_mailboxes),
		cmocka_unit_test(test_multi_scheduling),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_dirty),
		cmocka_unit_test(test_busiest),
		cmocka_unit_test(test_shares),

		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_processes_grow),
		cmocka_unit_test(test_slow_growth),
		cmocka_unit_test(test_code_is_loaded),
		cmocka_unit_test(test_beyond_vm),
		cmocka_unit_test(test_tables_and_atoms),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
