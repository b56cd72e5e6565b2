/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of run queues: who makes a process runnable, whom that says nothing of, and when
 * schedulers go to sleep.
 */
#include "abi/vm.h"
#include "event_node.h"

static void know_scheduler(enum thread_type type, uint64_t running)
{
	struct thread_info t = {.esdp = ESDP, .scheduler = 1, .type = (uint8_t)type};
	uint64_t key = FSBASE;

	bpf_map_update_elem(&threads, &key, &t, BPF_ANY);
	put(ESDP, config.layout.sched_current_process, running);
}

static void put_state(uint64_t process, uint32_t flags)
{
	host_put_u32(process + (uint64_t)config.layout.process_state, flags);
}

static void is_runnable(unsigned int n, uint64_t epid, uint64_t by)
{
	assert_non_null(event(n));
	assert_int_equal(event(n)->kind, EVENT_PROCESS_RUNNABLE);
	assert_int_equal(event(n)->epid, epid);
	assert_int_equal(event(n)->nr_values, 1);
	assert_true(event(n)->values[0] == by);
}

/* By a message: of one that is in a queue, gone, or suspended there is nothing to tell. */
static void messages(void **unused)
{
	const uint32_t none[] = {PSFLG_IN_RUNQ, PSFLG_FREE, PSFLG_SUSPENDED,
				 PSFLG_IN_RUNQ | PSFLG_ACTIVE, PSFLG_FREE | PSFLG_SUSPENDED};
	struct pt_regs ctx = {.di = OTHER};

	(void)unused;
	know_scheduler(THREAD_NORMAL, PROCESS);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		put_state(OTHER, none[i]);
		event_schedule_process(&ctx);
		assert_null(event(0));
	}
	put_state(OTHER, 0);
	event_schedule_process(&ctx);
	is_runnable(0, TO, EPID);
	put_state(OTHER, PSFLG_ACTIVE);
	event_schedule_process(&ctx);
	is_runnable(1, TO, EPID);
	assert_null(event(2));
}

/* By another signal: also one that is suspended. */
static void signals(void **unused)
{
	struct pt_regs ctx = {.di = OTHER};

	(void)unused;
	know_scheduler(THREAD_NORMAL, PROCESS);
	put_state(OTHER, PSFLG_IN_RUNQ);
	event_sys_schedule(&ctx);
	put_state(OTHER, PSFLG_FREE);
	event_sys_schedule(&ctx);
	assert_null(event(0));
	put_state(OTHER, PSFLG_SUSPENDED);
	event_sys_schedule(&ctx);
	is_runnable(0, TO, EPID);
}

/* By a timer or from a thread that is no scheduler: by nobody. */
static void by_nobody(void **unused)
{
	struct pt_regs ctx = {.di = OTHER};
	uint64_t key = FSBASE;

	(void)unused;
	know_scheduler(THREAD_NORMAL, 0);
	event_schedule_process(&ctx);
	is_runnable(0, TO, 0);
	bpf_map_delete_elem(&threads, &key);
	event_schedule_process(&ctx);
	is_runnable(1, TO, 0);
}

static void filtered(void **unused)
{
	struct pt_regs ctx = {.di = OTHER};

	(void)unused;
	know_scheduler(THREAD_NORMAL, PROCESS);
	config.event_epid = EPID;
	event_schedule_process(&ctx);
	assert_null(event(0));
	config.event_epid = TO;
	event_schedule_process(&ctx);
	is_runnable(0, TO, EPID);
	switches.kinds = 0;
	event_schedule_process(&ctx);
	assert_null(event(1));
}

/* Whichever read fails: no event, or one that is true. */
static void faults(void **unused)
{
	struct pt_regs ctx = {.di = OTHER};

	for (uint64_t nth = 1; nth < 12; nth++) {
		teardown(unused);
		setup(unused);
		know_scheduler(THREAD_NORMAL, PROCESS);
		host.fail_read = nth;
		event_schedule_process(&ctx);
		if (!event(0))
			continue;
		assert_true(event(0)->epid == TO || event(0)->epid == 0);
		assert_true(event(0)->values[0] == EPID || event(0)->values[0] == 0);
	}
}

/* A process is born: in the run queue, by its parent, and only if it was made. */
static void spawns(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1), .dx = ATOM(2), .cx = TERM_NIL};

	(void)unused;
	config.event_kinds = 1ull << EVENT_PROCESS_RUNNABLE;
	event_spawn(&ctx);
	ctx.ax = 0;
	event_spawn_return(&ctx);
	assert_null(event(0));
	event_spawn(&ctx);
	ctx.ax = TO;
	event_spawn_return(&ctx);
	is_runnable(0, TO, EPID);
	assert_null(event(1));
}

static void schedulers(void **unused)
{
	struct pt_regs ctx = {.si = 0};
	uint64_t key = FSBASE;

	(void)unused;
	know_scheduler(THREAD_NORMAL, 0);
	for (unsigned int on = 0; on < 2; on++) {
		ctx.si = 0xffffffff00000000ull | on; /* an int */
		event_scheduler_active(&ctx);
		assert_int_equal(event(on)->kind, EVENT_SCHEDULER_ACTIVE);
		assert_int_equal(event(on)->epid, 0);
		assert_int_equal(event(on)->nr_values, 1);
		assert_int_equal(event(on)->values[0],
				 on ? EVENT_WORD_ACTIVE : EVENT_WORD_INACTIVE);
	}
	/* Threads of other kinds take part in thread progress, too. */
	know_scheduler(THREAD_DIRTY_CPU, 0);
	event_scheduler_active(&ctx);
	bpf_map_delete_elem(&threads, &key);
	event_scheduler_active(&ctx);
	know_scheduler(THREAD_NORMAL, 0);
	switches.kinds = ~(1ull << EVENT_SCHEDULER_ACTIVE);
	event_scheduler_active(&ctx);
	assert_null(event(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(messages),	EVENT_TEST(signals), EVENT_TEST(by_nobody),
		EVENT_TEST(filtered),	EVENT_TEST(faults),  EVENT_TEST(spawns),
		EVENT_TEST(schedulers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
