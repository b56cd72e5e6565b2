/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of ports and drivers, on made-up ports: whose callback it was, by each way in which
 * that can be known, and what is said where it cannot.
 */
#include "bpf_host.h"
#include "maps.bpf.c"
#include "events.bpf.c"

#define ESDP	0x7f5460000000ull
#define RUNQ	0x7f5460002000ull
#define PORT	0x7f5470000000ull
#define OTHER	0x7f5470010000ull
#define DRIVER	0x7f5480000000ull
#define DRIVER2 0x7f5480001000ull
#define ENTRY	0x7f5480002000ull
#define NAMES	0x7f5490000000ull
#define PROCESS 0x7f54a0000000ull
#define DATA	0x1234ull
#define FSBASE	0x7f5449fff6c0ull
#define OWNER	0x283ull
#define CALLER	0x293ull
#define ID(n)	(((uint64_t)(n) << 4) | 7)
#define ALL	((1ull << NR_EVENT_KINDS) - 1)

static struct beam_layout *layout(void)
{
	return (struct beam_layout *)&config.layout;
}

static void put(uint64_t base, int32_t offset, uint64_t value)
{
	host_put_u64(base + (uint64_t)offset, value);
}

static void put_port(uint64_t port, uint64_t id, uint64_t driver, uint64_t data)
{
	put(port, config.layout.port_id, id);
	put(port, config.layout.port_drv_ptr, driver);
	put(port, config.layout.port_drv_data, data);
	put(port, config.layout.port_connected, OWNER);
	put(port, config.layout.port_caller, CALLER);
	put(port, config.layout.port_bytes_in, 17);
	put(port, config.layout.port_bytes_out, 42);
	host_put_u32(port + (uint64_t)config.layout.port_sched_flags, 0);
}

static int setup(void **unused)
{
	const struct thread_info scheduler = {.esdp = ESDP, .type = THREAD_NORMAL};
	int32_t *l = (int32_t *)layout();
	uint64_t key = FSBASE;

	(void)unused;
	host_reset();
	memset((void *)&config, 0, sizeof(config));
	memset(&state, 0, sizeof(state));
	/* Offsets of no release: each field has a place of its own. */
	for (size_t i = 0; i < sizeof(struct beam_layout) / 4; i++)
		l[i] = (int32_t)(8 * i);
	HOST_KERNEL(true);
	config.event_kinds = ALL;
	switches.kinds = ALL;
	HOST_ADD_RINGS(rings);
	HOST_ADD_MAP(counters);
	HOST_ADD_MAP(threads);
	HOST_ADD_MAP(processes);
	HOST_ADD_MAP(event_counts);
	HOST_ADD_MAP(event_threads);
	host_add_memory(ESDP, 0x4000);
	host_add_memory(PORT, 0x2000);
	host_add_memory(OTHER, 0x2000);
	host_add_memory(DRIVER, 0x3000);
	host_add_memory(NAMES, 0x100);
	host_add_memory(PROCESS, 0x2000);
	host.pid_tgid = 4711ull << 32 | 4712;
	host.cpu = 1;
	host.task.thread.fsbase = FSBASE;
	bpf_map_update_elem(&threads, &key, &scheduler, BPF_ANY);
	host_put(NAMES, "first\0second", 13);
	put(DRIVER, config.layout.driver_name, NAMES);
	put(DRIVER2, config.layout.driver_name, NAMES + 6);
	put_port(PORT, ID(1), DRIVER, DATA);
	put_port(OTHER, ID(2), DRIVER2, DATA + 8);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	host_reset();
	return 0;
}

static const struct rec_raw_event *event(unsigned int n)
{
	for (unsigned int i = 0; i < host.nr_records; i++) {
		const struct rec_header *h = host.records[i].bytes;

		if (h->type == REC_RAW_EVENT && n-- == 0)
			return host.records[i].bytes;
	}
	return NULL;
}

static void is_event(unsigned int n, enum event_kind kind, uint64_t epid, uint64_t port,
		     const char *driver)
{
	const struct rec_raw_event *e = event(n);

	assert_non_null(e);
	assert_int_equal(e->kind, kind);
	assert_int_equal(e->epid, epid);
	assert_int_equal(e->values[0], port);
	assert_string_equal((const char *)&e->values[1], driver);
}

/* The current port of the scheduler, if the callback got its data. */
static void current(void **unused)
{
	struct pt_regs ctx = {.di = DATA, .dx = 99};

	(void)unused;
	put(ESDP, config.layout.sched_current_port, PORT);
	host.cookie = DRIVER;
	event_driver_output(&ctx);
	is_event(0, EVENT_DRIVER_OUTPUT, CALLER, ID(1), "first");
	assert_int_equal(event(0)->values[5], 99);
	event_driver_stop(&ctx);
	is_event(1, EVENT_DRIVER_STOP, OWNER, ID(1), "first");
	assert_int_equal(event(1)->values[5], 17);
	assert_int_equal(event(1)->values[6], 42);
	ctx = (struct pt_regs){.di = DATA, .si = 0xffffffff00000007ull, .cx = 5};
	event_driver_control(&ctx);
	is_event(2, EVENT_DRIVER_CONTROL, CALLER, ID(1), "first");
	assert_int_equal(event(2)->values[5], 7); /* command: 32 bits */
	assert_int_equal(event(2)->values[6], 5);
	/* Called for the VM itself. */
	put(PORT, config.layout.port_caller, ~0ull << 4 | 3);
	event_driver_control(&ctx);
	is_event(3, EVENT_DRIVER_CONTROL, 0, ID(1), "first");
	put(PORT, config.layout.port_caller, ~0ull << 6 | 0x3b); /* [] */
	event_driver_call(&ctx);
	is_event(4, EVENT_DRIVER_CALL, 0, ID(1), "first");
	put(PORT, config.layout.port_caller, TERM_INVALID_PID_25);
	event_driver_control(&ctx);
	is_event(5, EVENT_DRIVER_CONTROL, 0, ID(1), "first");
}

/* Of a socket what inet_drv counts, if its descriptor leads back to the port. */
static void sockets(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS};

	(void)unused;
	config.inet_received = 560;
	put(ESDP, config.layout.sched_current_port, PORT);
	put(PORT, config.layout.port_drv_data, PROCESS);
	host_put_u64(PROCESS + 560, 5000);
	host_put_u64(PROCESS + 568, 3);
	host_put_u64(PROCESS + 576, 2000);
	event_driver_ready_input(&ctx);
	assert_int_equal(event(0)->values[5], 17);
	host_put_u64(PROCESS + INET_PORT, PORT);
	host_put_u64(PROCESS + INET_PORT + 8, ID(1));
	event_driver_ready_input(&ctx);
	assert_int_equal(event(1)->values[5], 5000);
	/* The largest is larger than all: another struct. */
	host_put_u64(PROCESS + 576, 6000);
	event_driver_stop(&ctx);
	assert_int_equal(event(2)->values[5], 17);
}

/* Another port's data: the driver is known from the cookie, if it has the function alone. */
static void unknown(void **unused)
{
	struct pt_regs ctx = {.di = DATA + 16};

	(void)unused;
	put(ESDP, config.layout.sched_current_port, PORT);
	host.cookie = DRIVER2;
	event_driver_timeout(&ctx);
	is_event(0, EVENT_DRIVER_TIMEOUT, 0, 0, "second");
	host.cookie = DRIVER2 | EVENT_COOKIE_SHARED;
	event_driver_timeout(&ctx);
	is_event(1, EVENT_DRIVER_TIMEOUT, 0, 0, "");
	event_driver_stop(&ctx);
	is_event(2, EVENT_DRIVER_STOP, 0, 0, "");
	assert_true(event(2)->values[5] == EVENT_UNKNOWN);
}

/* No current port: the one that a function before was called with. */
static void kept(void **unused)
{
	struct pt_regs ctx = {.di = OTHER};

	(void)unused;
	event_port_kept(&ctx);
	ctx.di = DATA + 8;
	host.cookie = DRIVER | EVENT_COOKIE_SHARED;
	event_driver_ready_async(&ctx);
	is_event(0, EVENT_DRIVER_READY_ASYNC, OWNER, ID(2), "second");
	/* Long ago, and for another. */
	ctx.di = DATA;
	event_driver_process_exit(&ctx);
	is_event(1, EVENT_DRIVER_PROCESS_EXIT, 0, 0, "");
	/* The scheduler's own comes first. */
	put(ESDP, config.layout.sched_current_port, PORT);
	event_driver_flush(&ctx);
	is_event(2, EVENT_DRIVER_FLUSH, OWNER, ID(1), "first");
}

/* Neither: the one port that the caller preserves in a register. */
static void preserved(void **unused)
{
	struct pt_regs ctx = {.di = DATA + 8, .bx = PORT, .bp = 0x1238, .r13 = OTHER + 8};

	(void)unused;
	config.ports = (struct id_table){.slots = RUNQ, .pix_mask = 3, .whole_word = 1};
	host_put_u64(RUNQ + 8, PORT);
	host_put_u64(RUNQ + 16, OTHER);
	host.cookie = DRIVER2;
	event_driver_ready_async(&ctx);
	is_event(0, EVENT_DRIVER_READY_ASYNC, 0, 0, "second");
	ctx.r14 = OTHER;
	event_driver_ready_async(&ctx);
	is_event(1, EVENT_DRIVER_READY_ASYNC, OWNER, ID(2), "second");
	ctx.r12 = OTHER; /* the same twice */
	event_driver_process_exit(&ctx);
	is_event(2, EVENT_DRIVER_PROCESS_EXIT, OWNER, ID(2), "second");
	/* A port of another driver with the same data; of any that share the callback: two. */
	put_port(PORT, ID(1), DRIVER, DATA + 8);
	event_driver_process_exit(&ctx);
	is_event(3, EVENT_DRIVER_PROCESS_EXIT, OWNER, ID(2), "second");
	host.cookie = DRIVER2 | EVENT_COOKIE_SHARED;
	event_driver_process_exit(&ctx);
	is_event(4, EVENT_DRIVER_PROCESS_EXIT, 0, 0, "");
	/* What once was a port: the table does not have it any more. */
	host.cookie = DRIVER2;
	host_put_u64(RUNQ + 16, 0);
	event_driver_process_exit(&ctx);
	is_event(5, EVENT_DRIVER_PROCESS_EXIT, 0, 0, "second");
}

static void busy(void **unused)
{
	struct pt_regs ctx = {.di = PORT, .si = 1};

	(void)unused;
	event_port_busy(&ctx);
	is_event(0, EVENT_PORT_BUSY, OWNER, ID(1), "first");
	host_put_u32(PORT + (uint64_t)config.layout.port_sched_flags, PTS_BUSY_PORT | 3);
	event_port_busy(&ctx);
	assert_null(event(1));
	ctx.si = 0;
	event_port_busy(&ctx);
	is_event(1, EVENT_PORT_NOT_BUSY, OWNER, ID(1), "first");
	host_put_u32(PORT + (uint64_t)config.layout.port_sched_flags, 3);
	event_port_busy(&ctx);
	assert_null(event(2));
	/* ERTS_INVALID_ERL_DRV_PORT */
	ctx.di = ~0ull;
	event_port_busy(&ctx);
	assert_null(event(2));
}

static void tasks(void **unused)
{
	struct pt_regs ctx = {.di = RUNQ};

	(void)unused;
	/* An empty queue. */
	event_port_task(&ctx);
	event_port_task_return(&ctx);
	assert_null(event(0));
	put(RUNQ, config.layout.runq_ports_start, PORT);
	event_port_task(&ctx);
	is_event(0, EVENT_PORT_SCHEDULED, OWNER, ID(1), "first");
	assert_int_equal(event(0)->values[5], EVENT_WORD_IN);
	put(RUNQ, config.layout.runq_ports_start, OTHER);
	event_port_task_return(&ctx);
	is_event(1, EVENT_PORT_SCHEDULED, OWNER, ID(1), "first");
	assert_int_equal(event(1)->values[5], EVENT_WORD_OUT);
	event_port_task_return(&ctx);
	assert_null(event(2));
	/* It began before the kind went on again. */
	event_port_task(&ctx);
	switches.epoch[EVENT_PORT_SCHEDULED]++;
	event_port_task_return(&ctx);
	assert_non_null(event(2));
	assert_null(event(3));
}

static void loading(void **unused)
{
	struct pt_regs ctx = {.di = ENTRY};

	(void)unused;
	host_put_u64(ENTRY + DRIVER_ENTRY_NAME, NAMES + 6);
	host_put_u32(ENTRY + DRIVER_ENTRY_MAJOR, 3);
	host_put_u32(ENTRY + DRIVER_ENTRY_MINOR, 2);
	host_put_u32(ENTRY + DRIVER_ENTRY_FLAGS, 1);
	/* Without init() there is no such event, but it is loaded all the same. */
	event_driver_init(&ctx);
	assert_null(event(0));
	host_put_u64(ENTRY + DRIVER_ENTRY_INIT, 0x401000);
	put(ESDP, config.layout.sched_current_process, PROCESS);
	put(PROCESS, config.layout.process_id, CALLER);
	event_driver_init(&ctx);
	assert_int_equal(event(0)->epid, CALLER);
	assert_string_equal((const char *)&event(0)->values[0], "second");
	assert_int_equal(event(0)->values[4], 3);
	assert_int_equal(event(0)->values[5], 2);
	assert_int_equal(event(0)->values[6], 1);
}

static void stop_select(void **unused)
{
	struct pt_regs ctx = {.di = 7};

	(void)unused;
	host.cookie = DRIVER;
	event_driver_stop_select(&ctx);
	assert_string_equal((const char *)&event(0)->values[0], "first");
	/* Shared: the current port's, if its driver has that function. */
	host.cookie = DRIVER2 | EVENT_COOKIE_SHARED;
	event_driver_stop_select(&ctx);
	assert_int_equal(event(1)->values[0], 0);
	put(ESDP, config.layout.sched_current_port, PORT);
	put(DRIVER, config.layout.driver_stop_select, 0x402000);
	put(DRIVER2, config.layout.driver_stop_select, 0x403000);
	event_driver_stop_select(&ctx);
	assert_int_equal(event(2)->values[0], 0);
	put(DRIVER, config.layout.driver_stop_select, 0x403000);
	event_driver_stop_select(&ctx);
	assert_string_equal((const char *)&event(3)->values[0], "first");
	event_driver_finish(&ctx);
	assert_int_equal(event(4)->values[0], 0);
	host.cookie = DRIVER2;
	event_driver_finish(&ctx);
	assert_string_equal((const char *)&event(5)->values[0], "second");
}

/* Nothing can be read: an event without facts, and no harm. */
static void faults(void **unused)
{
	struct pt_regs ctx = {.di = 0x10, .si = 0x20};
	uint64_t key = FSBASE;

	(void)unused;
	host.cookie = 0x30;
	event_driver_start(&ctx);
	is_event(0, EVENT_DRIVER_START, 0, 0, "");
	event_driver_outputv(&ctx);
	is_event(1, EVENT_DRIVER_OUTPUTV, 0, 0, "");
	assert_true(event(1)->values[5] == EVENT_UNKNOWN);
	event_port_busy(&ctx);
	event_port_task(&ctx);
	event_driver_init(&ctx);
	assert_null(event(2));
	/* A thread that is no scheduler. */
	bpf_map_delete_elem(&threads, &key);
	ctx.di = DATA;
	event_driver_ready_input(&ctx);
	is_event(2, EVENT_DRIVER_READY_INPUT, 0, 0, "");
	assert_true(event(2)->values[5] == EVENT_UNKNOWN);
}

static void filter(void **unused)
{
	struct pt_regs ctx = {.di = DATA};

	(void)unused;
	put(ESDP, config.layout.sched_current_port, PORT);
	config.event_epid = OWNER;
	event_driver_output(&ctx);
	assert_null(event(0));
	event_driver_ready_output(&ctx);
	is_event(0, EVENT_DRIVER_READY_OUTPUT, OWNER, ID(1), "first");
	config.event_kinds = 0;
	event_driver_ready_output(&ctx);
	assert_null(event(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(current),	   TEST(sockets), TEST(unknown), TEST(kept),
		TEST(preserved),   TEST(busy),	  TEST(tasks),	 TEST(loading),
		TEST(stop_select), TEST(faults),  TEST(filter),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
