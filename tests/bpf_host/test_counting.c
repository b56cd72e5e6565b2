/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where only numbers are wanted: the programs count what they would have reported, of all processes
 * and of those that are chosen, and tell nothing; hits are counted by point.
 */
#include "abi/vm.h"
#include "event_node.h"

static void does_spawn(void)
{
	struct pt_regs call = {
		.di = PROCESS, .si = ATOM(1), .dx = ATOM(2), .cx = TERM_NIL, .r8 = HEAP};
	struct pt_regs done = {.ax = TO};

	host_put_u32(HEAP, 1); /* SPO_LINK */
	event_spawn(&call);
	event_spawn_return(&done);
	done.ax = 0;
	event_spawn(&call);
	event_spawn_return(&done);
}

static void does_exit(void)
{
	struct pt_regs call = {.di = PROCESS, .si = ATOM(1)};

	event_exit(&call);
	call.di = OTHER;
	event_exit(&call);
}

static void does_links(void)
{
	struct pt_regs call = {.di = PROCESS, .si = EPID, .dx = TO};

	event_link(&call);
	call.si = 0x287; /* a port */
	event_link(&call);
	call.si = TO;
	call.dx = HEAP;
	event_unlink(&call);
}

static void does_names(void)
{
	struct pt_regs call = {.di = PROCESS, .si = NAME, .dx = EPID}, done = {.ax = 1};
	struct pt_regs gone = {.di = PROCESS, .cx = NAME};

	event_register(&call);
	event_register_return(&done);
	done.ax = 0;
	event_register(&call);
	event_register_return(&done);
	put_name(PROCESS, NAME);
	event_unregister(&gone);
	gone.cx = 0;
	event_unregister(&gone);
	put_name(PROCESS, 0);
	event_unregister(&gone); /* it has none */
}

static void does_slices(void)
{
	struct pt_regs out = {.di = ESDP, .si = PROCESS, .dx = 10}, in = {.ax = PROCESS};

	event_schedule(&out);
	in.ax = OTHER;
	event_schedule_return(&in);
	out.si = 0; /* the first time */
	event_schedule(&out);
	in.ax = PROCESS;
	event_schedule_return(&in);
}

static void does_wake(void)
{
	struct pt_regs call = {.di = PROCESS};

	host_put_u32(PROCESS + (uint64_t)config.layout.process_state, 0);
	event_schedule_process(&call);
	event_sys_schedule(&call);
	host_put_u32(PROCESS + (uint64_t)config.layout.process_state, PSFLG_IN_RUNQ);
	event_schedule_process(&call);
}

static void does_messages(void)
{
	struct pt_regs send = {.di = PROCESS, .si = OTHER, .cx = MESSAGE, .r8 = ATOM(1)};
	struct pt_regs alloc = {.di = OTHER, .cx = 3}, queue = {.di = OTHER, .dx = MESSAGE};
	struct pt_regs far = {.di = OTHER}, take = {.di = OTHER};

	event_alloc_message(&alloc);
	event_queue_proc_message(&send);
	event_queue_message(&queue);
	event_queue_dist_message(&far);
	event_receive(&take);
}

static void does_ports(void)
{
	struct pt_regs open = {.si = EPID}, opened = {.ax = HEAP}, failed = {.ax = (uint64_t)-2};
	struct pt_regs put = {.di = PROCESS, .dx = HEAP, .si = HEAP};

	event_port_open(&open);
	event_port_open_return(&opened);
	event_port_open(&open);
	event_port_open_return(&failed);
	event_port_output(&put);
	event_port_control(&put);
	event_port_link(&put);
	event_port_unlink(&put);
	event_port_exit(&put);
}

static void does_others(void)
{
	struct pt_regs exit = {.si = EPID, .dx = TO, .cx = ATOM(1)};
	struct pt_regs copy = {.di = HEAP | 2, .si = 7}, immediate = {.di = ATOM(1)};
	struct pt_regs nif = {.di = PROCESS, .si = HEAP + 0x100}, done = {.ax = TERM_NIL};
	struct pt_regs reg = {.di = PROCESS, .si = HEAP};

	event_send_exit(&exit);
	event_copy_struct(&copy);
	event_copy_struct(&immediate);
	event_nif(&nif);
	event_nif_return(&done);
	event_hibernate(&reg);
}

static void (*const happenings[])(void) = {does_spawn,	  does_exit,   does_links,
					   does_names,	  does_slices, does_wake,
					   does_messages, does_ports,  does_others};
#define HAPPENINGS (sizeof(happenings) / sizeof(happenings[0]))

/* `who`: the pid that is chosen, 0 = all. */
static void ready(void **unused, uint64_t who, uint32_t counting)
{
	teardown(unused);
	setup(unused);
	config.event_epid = who;
	config.chosen = who != 0;
	config.counting = config.unnamed = config.own_hits = counting;
}

static uint64_t check_same(void **unused, size_t i, uint64_t who, uint32_t sums)
{
	uint64_t produced[NR_EVENT_KINDS], all = 0;

	ready(unused, who, 0);
	happenings[i]();
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		produced[kind] = counted((enum event_kind)kind).produced;
	ready(unused, who, 1);
	config.count_sums = sums;
	happenings[i]();
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (counted((enum event_kind)kind).produced != produced[kind])
			fail_msg("happening %zu, kind %d: %llu counted, %llu reported", i, kind,
				 (unsigned long long)counted((enum event_kind)kind).produced,
				 (unsigned long long)produced[kind]);
		all += produced[kind];
	}
	assert_int_equal(host.nr_records, 0);
	return all;
}

static void as_reported(void **unused)
{
	for (size_t i = 0; i < HAPPENINGS; i++) {
		uint64_t all = check_same(unused, i, 0, 0);

		assert_true(all > 0);
		assert_int_equal(check_same(unused, i, 0, 1), all);
		assert_true(check_same(unused, i, EPID, 0) <= all);
		assert_int_equal(check_same(unused, i, 0xfff3, 0) < all, 1);
	}
}

/* Each on its own point; what is off is hit, and not counted. */
static void hits(void **unused)
{
	struct pt_regs call = {.di = PROCESS, .si = ATOM(1)};
	uint32_t key = 5;

	ready(unused, 0, 1);
	host.cookie = 5ull << EVENT_COOKIE_BITS | 0x7f5480000000ull;
	event_exit(&call);
	event_exit(&call);
	switches.kinds = 0;
	event_exit(&call);
	assert_int_equal(((struct event_work *)bpf_map_lookup_elem(&event_work, &key))->hits, 3);
	key = 0;
	assert_int_equal(((struct event_work *)bpf_map_lookup_elem(&event_work, &key))->hits, 0);
	assert_int_equal(counted(EVENT_PROCESS_EXIT).produced, 2);
}

/* What the events would have reported of sizes and times. */
static void sums(void **unused)
{
	struct pt_regs alloc = {.di = OTHER, .cx = 3};
	struct pt_regs send = {.di = PROCESS, .si = OTHER, .cx = MESSAGE, .r8 = HEAP | 2};
	struct pt_regs gc = {.di = PROCESS}, done = {0};
	uint16_t gen = 1, most = 9;

	ready(unused, 0, 1);
	config.count_sums = 1;
	host_put_u64(MESSAGE + (uint64_t)config.layout.message_data, 0);
	for (int i = 0; i < 4; i++) {
		event_alloc_message(&alloc);
		event_queue_proc_message(&send);
	}
	assert_int_equal(counted(EVENT_MESSAGE_SEND).size, 12);
	assert_int_equal(counted(EVENT_MESSAGE_QUEUED).size, 12);
	host.tick_ns = 1000;
	host_put(PROCESS + (uint64_t)config.layout.process_max_gen_gcs, &most, sizeof(most));
	for (uint64_t i = 1; i <= 3; i++) {
		host_put(PROCESS + (uint64_t)config.layout.process_gen_gcs, &gen, sizeof(gen));
		event_gc(&gc);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, i);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_reclaimed, i * i);
		event_gc_return(&done);
	}
	assert_int_equal(counted(EVENT_GC_MINOR_START).produced, 3);
	assert_int_equal(counted(EVENT_GC_MINOR_END).produced, 3);
	assert_int_equal(counted(EVENT_GC_MINOR_END).size, 9);
	assert_int_equal(counted(EVENT_GC_MINOR_END).ns, 3000);
	assert_int_equal(counted(EVENT_GC_MINOR_END).longest_ns, 1000);
	/* One that was put off: nothing was collected. */
	event_gc(&gc);
	event_gc_return(&done);
	assert_int_equal(counted(EVENT_GC_MINOR_END).produced, 3);
	assert_int_equal(host.nr_records, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(as_reported),
		EVENT_TEST(hits),
		EVENT_TEST(sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
