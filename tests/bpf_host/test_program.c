/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampling program around the stack: whose samples are taken, how schedulers become known, what
 * a thread without a process shows, what is lost when there is no room.
 */
#include "node.h"

/* Forgets the scheduler that the fixture made known. */
static int setup(void **unused)
{
	node_setup(unused);
	host_free_entries(host_map(&threads));
	push_bottom();
	push_frames(3, 1);
	return 0;
}

static const struct thread_info *known_thread(void)
{
	uint64_t key = NODE_FSBASE;

	return bpf_map_lookup_elem(&threads, &key);
}

static void assert_learned(const struct rec_raw_sample *s)
{
	const struct thread_info *t = known_thread();

	assert_whole(s);
	assert_non_null(t);
	assert_int_equal(t->esdp, NODE_ESDP);
	assert_int_equal(t->registers, NODE_REGISTERS);
	assert_int_equal(t->type, THREAD_NORMAL);
	assert_int_equal(t->scheduler, 3);
	assert_int_equal(s->scheduler, 3);
	assert_int_equal(s->thread_type, THREAD_NORMAL);
}

static void assert_unknown(const struct rec_raw_sample *s)
{
	assert_int_equal(s->thread_type, THREAD_UNKNOWN);
	assert_int_equal(s->scheduler, 0);
	assert_int_equal(s->process, 0);
	assert_int_equal(s->nr_leaf, 0);
	assert_int_equal(s->os_tid, NODE_OS_TID);
	assert_int_equal(s->flags & RAW_SAMPLE_REGS, RAW_SAMPLE_REGS);
	assert_null(known_thread());
}

/* ---- which samples ------------------------------------------------------------------------ */

static void other_processes(void **unused)
{
	struct bpf_perf_event_data ctx = {.regs = regs_in_jit()};

	(void)unused;
	host.pid_tgid = (uint64_t)(NODE_OS_PID + 1) << 32 | NODE_OS_PID;
	assert_int_equal(sample_cpu(&ctx), 0);
	assert_int_equal(host.nr_records, 0);
	assert_int_equal(host.reads, 0);
	assert_int_equal(counter(COUNTER_HITS), 0);
	host.pid_tgid = (uint64_t)NODE_OS_PID << 32 | (NODE_OS_PID + 1);
	sample_cpu(&ctx);
	assert_int_equal(counter(COUNTER_HITS), 1);
	assert_int_equal(nr_records(REC_RAW_SAMPLE), 1);
}

/* What an earlier sample left in the scratch is not in the next one. */
static void nothing_is_left_over(void **unused)
{
	struct rec_raw_sample *s;
	struct pt_regs r = regs_in_c(NODE_FRAGMENTS + 7, 9);

	(void)unused;
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_no, 3);
	sample_in_jit();
	host.kernel_stack_size = 16;
	host.task_regs = r;
	sample(r);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0);
	host.cpu = 2;
	host.now_ns++;
	s = sample(r);
	assert_int_equal(s->h.ts_ns, host.now_ns);
	assert_int_equal(s->cpu, 2);
	assert_int_equal(s->nr_kernel + s->nr_leaf + s->nr_root, 0);
	assert_int_equal(s->saved_ra | s->light_bif | s->process | s->epid, 0);
	assert_int_equal(s->call_ra, NODE_FRAGMENTS + 7); /* of this one, too */
	assert_int_equal(s->place, PLACE_OTHER);
	assert_int_equal(s->stack_source, STACK_NONE);
	assert_int_equal(s->lock_nr, 0);
	assert_int_equal(s->h.flags, 0);
}

/* ---- schedulers --------------------------------------------------------------------------- */

static void learned_from_jit_code(void **unused)
{
	(void)unused;
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_no, 3);
	assert_learned(sample_in_jit());
	/* From then on also where the registers do not show it. */
	assert_int_equal(sample(regs_in_c(NODE_BEAM_TEXT, 9))->scheduler, 3);
}

static void learned_in_the_kernel(void **unused)
{
	struct pt_regs in_kernel = {.cs = 0x10};

	(void)unused;
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_no, 3);
	host.task_regs = regs_in_jit();
	assert_learned(sample(in_kernel));
}

static void not_in_jit_code(void **unused)
{
	struct pt_regs r = regs_in_jit();

	(void)unused;
	r.ip = NODE_BEAM_TEXT;
	assert_unknown(sample(r));
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* Registers and memory must agree on which scheduler it is. */
static void not_a_scheduler(void **unused)
{
	struct pt_regs r = regs_in_jit();
	uint64_t type = NODE_ESDP + (uint64_t)config.layout.sched_type;

	(void)unused;
	r.r13 = 0; /* no process yet */
	assert_unknown(sample(r));
	r.r13 = NODE_PROCESS;
	r.bx += 8;
	assert_unknown(sample(r));
	r.bx -= 8;
	set_process(config.layout.process_scheduler_data, 0);
	assert_unknown(sample(r));
	set_process(config.layout.process_scheduler_data, 0x1000);
	assert_unknown(sample(r));
	set_process(config.layout.process_scheduler_data, NODE_ESDP);
	host_put_u32(type, 1); /* a dirty one */
	assert_unknown(sample(r));
	host_put_u32(type, 0);
	assert_whole(sample(r));
	assert_non_null(known_thread());
}

static void unreadable_while_learning(void **unused)
{
	(void)unused;
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_no, 3);
	for (uint64_t n = 1; n <= 4; n++) {
		host.fail_read = n;
		assert_unknown(sample_in_jit());
		assert_int_equal(counter(COUNTER_READ_FAULT), n);
	}
	host.fail_read = 0;
	assert_learned(sample_in_jit());
}

/* The sample is whole also when the thread can not be remembered. */
static void thread_table_full(void **unused)
{
	(void)unused;
	for (uint64_t i = 0; i < EBEAM_THREADS; i++) {
		struct thread_info t = {.type = THREAD_DIRTY_IO};
		uint64_t key = 0x1000 + i;

		assert_int_equal(bpf_map_update_elem(&threads, &key, &t, BPF_ANY), 0);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		assert_whole(sample_in_jit());
		assert_int_equal(counter(COUNTER_THREAD_TABLE_FULL), i);
	}
	assert_null(known_thread());
}

/* ---- no process --------------------------------------------------------------------------- */

static void idle_scheduler(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	know_thread(THREAD_NORMAL);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0);
	s = sample(regs_in_c(NODE_BEAM_TEXT, 9));
	assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(s->place, PLACE_OTHER);
	assert_int_equal(s->process, 0);
	assert_int_equal(s->port_id, 0);
	assert_int_equal(s->nr_leaf, 0);
	s = sample_in_jit(); /* the code of process_main */
	assert_int_equal(s->place, PLACE_JIT_RUNTIME);
	assert_int_equal(s->nr_leaf, 0);
}

static void running_a_port(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	know_thread(THREAD_NORMAL);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_port, NODE_TERMS);
	host_put_u64(NODE_TERMS + (uint64_t)config.layout.port_id, 0x600000000067ull);
	s = sample(regs_in_c(NODE_BEAM_TEXT, 9));
	assert_int_equal(s->port_id, 0x600000000067ull);
	host.fail_addr = NODE_TERMS;
	assert_int_equal(sample(regs_in_c(NODE_BEAM_TEXT, 9))->port_id, 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
}

/* Which process runs cannot be read: that is not the same as none. */
static void unreadable_scheduler(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	know_thread(THREAD_NORMAL);
	host.fail_addr = NODE_ESDP + (uint64_t)config.layout.sched_current_process;
	s = sample_in_jit();
	assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
	assert_int_equal(s->process, 0);
	assert_int_equal(s->thread_type, THREAD_NORMAL);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
}

/* A process that is gone from under its scheduler. */
static void unreadable_process(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	know_thread(THREAD_NORMAL);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0x7f0000001000ull);
	s = sample_in_jit();
	assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
	assert_int_equal(s->process, 0x7f0000001000ull);
	assert_int_equal(s->epid, 0);
	assert_int_equal(s->nr_leaf, 0);
	assert_int_equal(nr_records(REC_RAW_PROCESS), 0);
}

/* ---- losses ------------------------------------------------------------------------------- */

static void ring_full(void **unused)
{
	struct bpf_perf_event_data ctx = {.regs = regs_in_jit()};

	(void)unused;
	host.ring_room = 1; /* the process's record takes it */
	sample_cpu(&ctx);
	assert_int_equal(nr_records(REC_RAW_SAMPLE), 0);
	assert_int_equal(counter(COUNTER_RING_FULL), 1);
	assert_int_equal(counter(COUNTER_HITS), 1);
	host.ring_room = HOST_NO_LIMIT;
	assert_whole(sample_in_jit());
	assert_int_equal(counter(COUNTER_RING_FULL), 1);
	assert_int_equal(counter(COUNTER_HITS), 2);
}

/* What the programs take from the node adds up; samples of others take nothing. */
static void time_taken(void **unused)
{
	struct bpf_perf_event_data ctx = {.regs = regs_in_jit()};

	(void)unused;
	host.tick_ns = 700;
	sample_cpu(&ctx);
	assert_int_equal(counter(COUNTER_PROBE_NS), 700);
	sample_cpu(&ctx);
	assert_int_equal(counter(COUNTER_PROBE_NS), 1400);
	host.pid_tgid++;
	host.pid_tgid += 1ull << 32;
	sample_cpu(&ctx);
	assert_int_equal(counter(COUNTER_PROBE_NS), 1400);
}

static void every_sample_has_its_cpu(void **unused)
{
	(void)unused;
	for (uint32_t cpu = 0; cpu < host.nr_rings; cpu++) {
		host.cpu = cpu;
		assert_int_equal(sample_in_jit()->cpu, cpu);
	}
	host.cpu = host.nr_rings;
	sample_cpu(&(struct bpf_perf_event_data){.regs = regs_in_jit()});
	assert_int_equal(counter(COUNTER_RING_FULL), 1);
}

/* Registers that are all wrong lead to no read outside what is there, and to no crash. */
static void any_registers(void **unused)
{
	static const uint64_t values[] = {
		0,
		1,
		7,
		8,
		NODE_REGISTERS,
		NODE_PROCESS,
		NODE_HEAP,
		0xffffffffffffffffull,
		0x8000000000000000ull,
		NODE_CODE,
		NODE_FRAGMENTS + 1,
		NODE_NORMAL_EXIT,
	};
	uint32_t nr = sizeof(values) / sizeof(values[0]);

	(void)unused;
	for (uint32_t i = 0; i < nr * nr * nr; i++) {
		struct pt_regs r = {.ip = values[i % nr], .cs = 0x33};

		r.sp = values[i / nr % nr];
		r.bp = values[i / nr / nr];
		r.bx = values[(i + 3) % nr];
		r.r13 = values[(i + 5) % nr];
		r.r15 = values[(i + 7) % nr];
		if (i % 2)
			know_thread(THREAD_NORMAL);
		sample(r);
	}
	assert_int_equal(counter(COUNTER_HITS), nr * nr * nr);
}

/* ---- C stacks of threads that JIT code does not run on --------------------------------------- */

#define THREAD_DATA 2304u

static const struct rec_raw_cstack *cstack_below(uint64_t end, uint64_t size)
{
	struct pt_regs r = {.ip = NODE_BEAM_TEXT, .sp = end - size, .cs = 0x33};

	sample(r);
	return (const struct rec_raw_cstack *)last_record(REC_RAW_CSTACK);
}

static void stack_of_a_thread(void **unused)
{
	const uint64_t top = NODE_FSBASE - THREAD_DATA;
	const uint32_t nr_root = RAW_CSTACK_WORDS - RAW_CSTACK_LEAF;
	const struct rec_raw_cstack *c;

	(void)unused;
	know_thread(THREAD_DIRTY_CPU);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0);
	host_add_memory(NODE_FSBASE - 65536, 65536);
	for (uint64_t at = 8; at <= 65536; at += 8)
		host_put_u64(NODE_FSBASE - at, at);
	state.thread_data = THREAD_DATA;
	c = cstack_below(top, 1600);
	assert_int_equal(c->nr_stack, 200);
	assert_int_equal(c->nr_leaf, 200);
	assert_int_equal(c->end | c->call_ra | c->root, 0);
	assert_memory_equal(c->stack, host_at(top - 1600, 1600), 1600);
	c = cstack_below(top, 40000);
	assert_int_equal(c->nr_leaf, RAW_CSTACK_LEAF);
	assert_int_equal(c->root, top - 8ull * nr_root);
	assert_int_equal(c->nr_stack, RAW_CSTACK_WORDS);
	assert_int_equal(c->stack[RAW_CSTACK_WORDS - 1], THREAD_DATA + 8);
}

/* Where its stack began is not known: as much as there is from its pointer on. */
static void stack_without_end(void **unused)
{
	const uint64_t top = NODE_FSBASE - THREAD_DATA;
	const struct rec_raw_cstack *c;

	(void)unused;
	know_thread(THREAD_DIRTY_CPU);
	host_put_u64(NODE_ESDP + (uint64_t)config.layout.sched_current_process, 0);
	host_add_memory(NODE_FSBASE - 65536, 65536);
	c = cstack_below(top, 40000);
	assert_int_equal(c->nr_stack, RAW_CSTACK_WORDS);
	assert_int_equal(c->nr_leaf, RAW_CSTACK_WORDS);
	/* Behind the thread pointer nothing is mapped. */
	c = cstack_below(top, 2600);
	assert_int_equal(c->nr_leaf, RAW_CSTACK_LEAF);
	assert_int_equal(c->root, 0);
	assert_int_equal(c->nr_stack, RAW_CSTACK_LEAF);
	assert_null(cstack_below(NODE_FSBASE + 65536, 8)); /* of no memory */
}

#define PROGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROGRAM_TEST(other_processes),
		PROGRAM_TEST(nothing_is_left_over),
		PROGRAM_TEST(learned_from_jit_code),
		PROGRAM_TEST(learned_in_the_kernel),
		PROGRAM_TEST(not_in_jit_code),
		PROGRAM_TEST(not_a_scheduler),
		PROGRAM_TEST(unreadable_while_learning),
		PROGRAM_TEST(thread_table_full),
		PROGRAM_TEST(idle_scheduler),
		PROGRAM_TEST(running_a_port),
		PROGRAM_TEST(unreadable_scheduler),
		PROGRAM_TEST(unreadable_process),
		PROGRAM_TEST(ring_full),
		PROGRAM_TEST(time_taken),
		PROGRAM_TEST(every_sample_has_its_cpu),
		PROGRAM_TEST(any_registers),
		PROGRAM_TEST(stack_of_a_thread),
		PROGRAM_TEST(stack_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
